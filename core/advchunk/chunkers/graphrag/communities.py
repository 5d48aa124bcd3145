"""Communities of entities on several levels, by hierarchical Leiden, and their update.

graspologic-native finds the communities. Its version decides them: at equal edges and seed, 1.2.5 and 1.3.1 differ on nearly
every graph. Within a version they are deterministic, and equal to those of microsoft's graphrag under that version.
"""

import html
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import count
from typing import NamedTuple, TypeAlias

from advchunk.errors import import_extra, require

WeightedEdge: TypeAlias = tuple[str, str, float]

SEED = 0xDEADBEEF  # microsoft's
_RANDOMNESS = 0.001  # microsoft's; of the refinement of Leiden


class Community(NamedTuple):
    """A community of entities.

    Parameters
    ----------
    level : depth, 0 the coarsest.
    number : unique over all levels.
    parent : number of the community that it is a part of; -1 at level 0.
    members : names of entities, sorted. A community's members are also its parent's; not all of a parent's are in its parts.
    """

    level: int
    number: int
    parent: int
    members: tuple[str, ...]


def leiden_version() -> str:
    """Return the version of graspologic-native, which decides the communities."""
    import_extra("graspologic_native", "graphrag")
    return version("graspologic-native")


def detect_hierarchy(
    edges: Iterable[WeightedEdge],
    max_size: int = 10,
    *,
    seed: int = SEED,
    resolution: float = 1.0,
    largest_component: bool = False,
) -> list[Community]:
    """Find communities, and communities within those of at least ``max_size`` entities, by maximizing modularity.

    Equal to the ``cluster_graph`` of microsoft's graphrag 3.3 at its settings: of a repeated pair the last weight counts,
    whatever the order of the two.

    Returns communities by level, then number; none without edges. An entity without an edge is in none.

    Parameters
    ----------
    edges : two names and a weight, finite and > 0, else `ConfigurationError` is raised.
    max_size : number of entities from which a community is divided, >= 1.
    seed : seed of the order in which entities are visited, >= 0.
    resolution : resolution of the modularity, > 0; higher values give smaller communities.
    largest_component : keep only the largest connected component, and its names in upper case, as graphrag does by
        default. The entities outside of it are then in no community.

    References
    ----------
    Traag, Waltman & van Eck 2019, "From Louvain to Leiden: guaranteeing well-connected communities". Edge et al. 2024, "From
    local to global: A GraphRAG approach to query-focused summarization".

    >>> triangles = [("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 1.0), ("x", "y", 1.0), ("y", "z", 1.0), ("x", "z", 1.0)]
    >>> [community.members for community in detect_hierarchy([*triangles, ("c", "x", 0.1)])]
    [('a', 'b', 'c'), ('x', 'y', 'z')]
    """
    weights = {(min(a, b), max(a, b)): float(weight) for a, b, weight in edges}
    for pair, weight in weights.items():
        require(math.isfinite(weight) and weight > 0, "weights must be finite and > 0", (*pair, weight))
    if largest_component:
        weights = _largest_component(weights)
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


def _largest_component(weights: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Return the edges of the largest component, between names in the form that graphrag gives them."""
    renamed = dict[tuple[str, str], float]()
    for (a, b), weight in weights.items():
        first, other = sorted(html.unescape(name).upper().strip() for name in (a, b))
        renamed.setdefault((first, other), weight)
    largest = max(_components(renamed), key=len, default=set())
    return {pair: weight for pair, weight in renamed.items() if pair[0] in largest}


def _components(pairs: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Return the connected components, in the order of their first names."""
    component = dict[str, set[str]]()
    for a, b in pairs:
        first, other = component.setdefault(a, {a}), component.setdefault(b, {b})
        if first is not other:
            small, large = sorted((first, other), key=len)
            large |= small
            component.update(dict.fromkeys(small, large))
    return list({id(names): names for names in component.values()}.values())


def update_hierarchy(
    communities: Sequence[Community],
    neighbors: Mapping[str, Mapping[str, float]],
    max_size: int = 10,
    *,
    seed: int = SEED,
    resolution: float = 1.0,
) -> list[Community]:
    """Update communities for a changed graph: an entity that was in one stays there.

    Entities without edges leave. New ones are grouped by Leiden among themselves. A group joins the community of level 0 where
    modularity gains most, and each of its entities goes on to the part that it is most strongly tied to; or, if it gains
    nowhere, the group becomes a community of its own. A community without parts is divided when it has grown beyond twice
    ``max_size``.

    The communities depend on the order of updates. Detect them again after many.

    Parameters
    ----------
    communities : of `detect_hierarchy`, or of an update.
    neighbors : the weights of the edges of each entity, both ways.
    max_size, seed, resolution : see `detect_hierarchy`.
    """

    def detect(names: Collection[str]) -> list[Community]:
        edges = ((a, b, weight) for a in names for b, weight in neighbors[a].items() if a < b and b in names)
        return detect_hierarchy(edges, max_size, seed=seed, resolution=resolution)

    tree = _Tree(communities, neighbors)
    fresh = neighbors.keys() - tree.top.keys()
    groups, joined = detect(fresh), set[int]()
    alone = sorted(fresh.difference(*(group.members for group in groups)))
    for number, names in [(g.number, g.members) for g in groups if g.level == 0] + [(-1, (name,)) for name in alone]:
        home = tree.best_home(names, resolution)
        if home is not None:
            joined |= {tree.join(name, home) for name in names}
        elif number >= 0:
            tree.graft(-1, _below(groups, number))
    for number in sorted(joined):
        if len(tree.members[number]) > 2 * max_size:
            tree.graft(number, detect(tree.members[number]))
    return tree.communities()


def _below(communities: Sequence[Community], number: int) -> list[Community]:
    """Return a community and its parts, of all levels."""
    numbers = {number}
    for community in communities:  # parents come first
        if community.parent in numbers:
            numbers.add(community.number)
    return [community for community in communities if community.number in numbers]


class _Tree:
    """Communities that entities can join."""

    def __init__(self, communities: Sequence[Community], neighbors: Mapping[str, Mapping[str, float]]) -> None:
        self.neighbors = neighbors
        self.degree = {name: sum(edges.values()) for name, edges in neighbors.items()}
        self.members = dict[int, set[str]]()
        self.top = dict[str, int]()  # community of level 0 by entity
        self._parent, self._parts = dict[int, int](), defaultdict[int, list[int]](list)
        self._weight = defaultdict[int, float](float)  # summed degrees of a community of level 0
        self._numbers = count(max((community.number for community in communities), default=-1) + 1)
        for community in communities:
            if names := neighbors.keys() & set(community.members):
                self._insert(community.number, community.parent, names)

    def _insert(self, number: int, parent: int, names: Iterable[str]) -> None:
        self.members[number], self._parent[number] = set(names), parent
        self._parts[parent].append(number)
        if parent < 0:
            self.top.update(dict.fromkeys(self.members[number], number))
            self._weight[number] = sum(self.degree[name] for name in sorted(self.members[number]))

    def _ties(self, names: Iterable[str], home: Mapping[str, int]) -> dict[int, float]:
        """Return the summed weight of the edges from entities to each community."""
        ties = defaultdict[int, float](float)
        for name in names:
            for other, weight in self.neighbors[name].items():
                if other in home:
                    ties[home[other]] += weight
        return ties

    def best_home(self, names: Collection[str], resolution: float) -> int | None:
        """Return the community of level 0 at which modularity gains most when a group joins it; None without a gain."""
        total, weight = sum(self.degree.values()), sum(self.degree[name] for name in names)
        ties = self._ties(names, self.top)
        gains = {home: tie - resolution * weight * self._weight[home] / total for home, tie in ties.items()}
        best = min(gains, key=lambda home: (-gains[home], home), default=None)
        return best if best is not None and gains[best] > 0 else None

    def join(self, name: str, number: int) -> int:
        """Add an entity to a community and, on each level below, the part that it is tied to most; return the last."""
        self.top[name] = number
        self._weight[number] += self.degree[name]
        while True:
            self.members[number].add(name)
            parts = {member: part for part in self._parts[number] for member in self.members[part]}
            ties = self._ties([name], parts)
            if not ties:
                return number
            number = min(ties, key=lambda part: (-ties[part], part))

    def graft(self, parent: int, communities: Sequence[Community]) -> None:
        """Add communities and their parts, with new numbers, as parts of a community; a single one would repeat it."""
        if parent >= 0 and (
            self._parts[parent] or len([community for community in communities if community.level == 0]) < 2
        ):
            return
        numbers = {community.number: next(self._numbers) for community in communities}
        for community in communities:
            self._insert(numbers[community.number], numbers.get(community.parent, parent), community.members)

    def communities(self) -> list[Community]:
        """Return all communities by level, then number."""
        level, queue, result = 0, sorted(self._parts[-1]), list[Community]()
        while queue:
            result += [Community(level, n, self._parent[n], tuple(sorted(self.members[n]))) for n in queue]
            level, queue = level + 1, sorted(part for n in queue for part in self._parts[n])
        return result
