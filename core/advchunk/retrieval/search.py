"""Search by vectors and words together, re-ranked by neighbors."""

from typing import Literal, TypeAlias

from advchunk.errors import require
from advchunk.retrieval.neighbors import rerank_by_neighbors
from advchunk.retrieval.places import Places
from advchunk.retrieval.rankings import DEPTH, FusionMethod, Ranking, fuse

SearchMode: TypeAlias = Literal["dense", "lexical", "hybrid"]

LEXICAL_WEIGHT = 2.0


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
