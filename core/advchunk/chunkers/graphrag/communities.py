"""Communities of entities on several levels, by hierarchical Leiden, and the tree of a corpus made of them.

graspologic-native finds the communities. Its version decides them: at equal edges and seed, 1.2.5 and 1.3.1 differ on
nearly every graph. Within a version they are deterministic, and microsoft's graphrag has the same.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import NamedTuple, TypeAlias

from advchunk.errors import import_extra, require

WeightedEdge: TypeAlias = tuple[str, str, float]

SEED = 0xDEADBEEF  # microsoft's
_RANDOMNESS = 0.001  # microsoft's; of the refinement of Leiden


class Community(NamedTuple):
    """A community of entities."""

    level: int  # depth, 0 the coarsest
    number: int  # unique over all levels
    parent: int  # number of the community that it is a part of; -1 at level 0
    # names of entities, sorted. A community's members are also its parent's; not all of a parent's are in its parts
    members: tuple[str, ...]


def leiden_version() -> str:
    """Return the version of graspologic-native, which decides the communities."""
    import_extra("graspologic_native", "graphrag")
    return version("graspologic-native")


def detect_hierarchy(
    edges: Iterable[WeightedEdge], max_size: int = 10, *, seed: int = SEED, resolution: float = 1.0
) -> list[Community]:
    """Find communities, and communities within those of at least ``max_size`` entities, by maximizing modularity.

    Equal to the ``cluster_graph`` of microsoft's graphrag 3.3 with ``use_lcc=False`` (Traag et al. 2019; Edge et al.
    2024): of a repeated pair the last weight counts, whatever the order of the two.

    Communities are by level, then number; an entity without an edge is in none. Weights that are not finite and > 0
    raise `ConfigurationError`. ``seed`` is >= 0; a higher ``resolution`` (> 0) makes communities smaller.
    """
    weights = {(min(a, b), max(a, b)): float(weight) for a, b, weight in edges}
    for pair, weight in weights.items():
        require(math.isfinite(weight) and weight > 0, "weights must be finite and > 0", (*pair, weight))
    if not weights:
        return []
    rows = import_extra("graspologic_native", "graphrag").hierarchical_leiden(
        edges=sorted((*pair, weight) for pair, weight in weights.items()),
        max_cluster_size=max_size,
        seed=seed,
        starting_communities=None,
        resolution=resolution,
        randomness=_RANDOMNESS,
        use_modularity=True,
        iterations=1,
    )
    members = defaultdict[tuple[int, int, int], list[str]](list)
    for row in rows:
        members[row.level, row.cluster, -1 if row.parent_cluster is None else row.parent_cluster].append(row.node)
    return [Community(*key, tuple(sorted(names))) for key, names in sorted(members.items())]


class Node(NamedTuple):
    """The root or a community."""

    depth: int  # 0 for the root
    parent: int | None  # index of its parent among the nodes; None for the root
    members: tuple[str, ...]  # canonical names of its entities that leaves below mention; those of all for the root
    leaves: tuple[int, ...]  # indices of the leaves whose parent it is, in order
    below: tuple[int, ...]  # indices of the leaves below it on all levels, in order


def place_leaves(communities: Sequence[Community], leaves: Sequence[Mapping[str, int]]) -> list[int]:
    """Return each leaf's finest community of most mentions (-1: the root), given these by canonical name."""
    parts = defaultdict[int, dict[str, int]](dict)  # by community, the part of each of its members
    for community in communities:
        parts[community.parent].update(dict.fromkeys(community.members, community.number))
    return [_finest(mentions, parts) for mentions in leaves]


def _finest(mentions: Mapping[str, int], parts: Mapping[int, Mapping[str, int]], number: int = -1) -> int:
    votes, inner = Counter[int](), parts.get(number, {})
    for name in mentions.keys() & inner.keys():
        votes[inner[name]] += mentions[name]
    return _finest(mentions, parts, min(votes, key=lambda part: (-votes[part], part))) if votes else number


def build_tree(
    communities: Sequence[Community], leaves: Sequence[Collection[str]], places: Sequence[int]
) -> list[Node]:
    """Return the root and the communities with two children or more, parents first, by depth, then first leaf."""
    children, own, below = (defaultdict[int, list[int]](list) for _ in range(3))
    for leaf, number in enumerate(places):
        own[number].append(leaf)
        below[number].append(leaf)
    for community in reversed(communities):  # parts before what they are part of
        number, parent = community.number, community.parent
        below[parent] += below[number]
        if len(children[number]) + len(own[number]) < 2:
            children[parent] += children.pop(number)
            own[parent] += own.pop(number)
        else:
            children[parent].append(number)
    members = {community.number: community.members for community in communities}
    members[-1] = tuple(sorted(set().union(*leaves)))

    def node(depth: int, parent: int | None, number: int) -> Node:
        mentioned = set[str]().union(*(leaves[leaf] for leaf in below[number]))
        names = tuple(name for name in members[number] if name in mentioned)
        return Node(depth, parent, names, tuple(sorted(own[number])), tuple(sorted(below[number])))

    nodes, depth, queue = list[Node](), 0, list[tuple[int, int | None]]([(-1, None)])
    while queue:
        inner = list[tuple[int, int | None]]()
        for number, place in queue:
            inner += [(child, len(nodes)) for child in children[number]]
            nodes.append(node(depth, place, number))
        queue, depth = sorted(inner, key=lambda item: min(below[item[0]])), depth + 1
    return nodes
