"""Search by vectors and words together, re-ranked by neighbors."""

from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias, get_args

from advchunk.errors import require
from advchunk.retrieval.neighbors import rerank_by_neighbors
from advchunk.retrieval.places import Places
from advchunk.retrieval.rankings import DEPTH, FusionMethod, Ranking, fuse

SearchMode: TypeAlias = Literal["dense", "lexical", "hybrid"]

LEXICAL_WEIGHT = 2.0


@dataclass(frozen=True)
class Search:
    """A way to search chunks: the parameters of `combine`.

    Raises `ConfigurationError` for a parameter out of range.

    Parameters
    ----------
    mode : "dense" searches by vectors, "lexical" by words (BM25), "hybrid" by both.
    neighbors : re-rank by neighbors (`neighbors.rerank_by_neighbors`).
    fusion, lexical_weight : of a hybrid search (`rankings.fuse`): the method, and the weight of the words, where vectors have
        1, >= 0.

    >>> Search("hybrid", neighbors=True).label, Search("hybrid", fusion="reciprocal", lexical_weight=1).label
    ('hybrid, neighbors', 'hybrid, reciprocal')
    """

    mode: SearchMode = "dense"
    neighbors: bool = False
    fusion: FusionMethod = "standardized"
    lexical_weight: float = LEXICAL_WEIGHT

    def __post_init__(self) -> None:
        require(self.mode in get_args(SearchMode), f"mode must be one of {get_args(SearchMode)}", self.mode)
        methods = get_args(FusionMethod)
        require(self.fusion in methods, f"fusion must be one of {methods}", self.fusion)
        require(0 <= self.lexical_weight < inf, "lexical_weight must be finite and >= 0", self.lexical_weight)

    @property
    def label(self) -> str:
        """The name in tables."""
        if self.mode != "hybrid":
            return self.mode + ", neighbors" * self.neighbors
        reciprocal = self.fusion == "reciprocal"
        weight = f", weight {self.lexical_weight:g}" * (self.lexical_weight != (1 if reciprocal else LEXICAL_WEIGHT))
        return self.mode + ", reciprocal" * reciprocal + weight + ", neighbors" * self.neighbors


SEARCHES = tuple(Search(mode, neighbors) for mode in get_args(SearchMode) for neighbors in (False, True))
"""Each mode without and with neighbors."""


def combine(
    dense: Ranking | None,
    lexical: Ranking | None,
    places: Places | None = None,
    *,
    lexical_weight: float = LEXICAL_WEIGHT,
    fusion: FusionMethod = "standardized",
    depth: int = DEPTH,
) -> Ranking:
    """Return the ranking of a query from the rankings by vectors and by words, fused, and re-ranked by neighbors.

    Raises `ConfigurationError` without a ranking.

    Parameters
    ----------
    dense, lexical : one of them may be None.
    places : of all chunks (`neighbors.rerank_by_neighbors`); None to leave neighbors out.
    lexical_weight : of the words, where vectors have 1, >= 0.
    """
    rankings = [ranking for ranking in (dense, lexical) if ranking is not None]
    require(len(rankings) > 0, "a ranking by vectors or by words must be given", rankings)
    ranking = rankings[0]
    if len(rankings) > 1:
        ranking = fuse(rankings, [1.0, lexical_weight], method=fusion, depth=depth)
    return ranking if places is None else rerank_by_neighbors(ranking, places, depth=depth)
