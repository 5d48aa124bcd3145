"""The tree of a corpus: a root, communities of entities, and leaves."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from advchunk.chunkers.graphrag.communities import Community


@dataclass(frozen=True, slots=True)
class Node:
    """The root or a community."""

    depth: int  # 0 for the root
    parent: int | None  # index of its parent among the nodes; None for the root
    members: tuple[str, ...]  # canonical names of its entities that leaves below mention; those of all for the root
    leaves: tuple[int, ...]  # indices of the leaves whose parent it is, in order
    below: tuple[int, ...]  # indices of the leaves below it on all levels, in order


def place_leaves(communities: Sequence[Community], leaves: Sequence[Mapping[str, int]]) -> list[int]:
    """Return each leaf's community (-1 is the root), given its numbers of mentions by canonical name.

    A leaf descends into the community of most mentions (ties to the lower number) as far as any mention is in one.
    """
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
    """Return the root and the communities, by depth, then first leaf, so that parents come before children.

    A community with fewer than two children is replaced by its child. ``leaves`` are the canonical names in each.
    """
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
