"""Communities of entities on several levels, by hierarchical Leiden.

graspologic-native finds the communities. Its version decides them: at equal edges and seed, 1.2.5 and 1.3.1 differ on
nearly every graph. Within a version they are deterministic, and equal to those of microsoft's graphrag under that
version.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
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
    raise `ConfigurationError`. ``seed`` (>= 0) is of the order in which entities are visited; at a higher
    ``resolution`` (> 0), communities are smaller.
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
