"""Re-ranking by neighbors: a chunk is more likely to answer a question if the chunks around it match it, too."""

import numpy as np

from advchunk.building.positions import ChunkPositions
from advchunk.errors import checked, require
from advchunk.retrieval.evidence import soften
from advchunk.retrieval.rankings import DEPTH, Ranking

TEMPERATURE = 0.2
REACH = 200.0
WEIGHT = 0.2
_REACHES = 3  # a neighbor farther away gets less than a twentieth of the support
FARTHEST = _REACHES * REACH
"""Tokens between a hit and the farthest chunk that it supports."""


@checked
def rerank_by_neighbors(
    ranking: Ranking,
    positions: ChunkPositions,
    *,
    temperature: float = TEMPERATURE,
    reach: float = REACH,
    weight: float = WEIGHT,
    depth: int = DEPTH,
    hits_only: bool = False,
) -> Ranking:
    """Re-rank the first ``depth`` chunks of a ranking, with the chunks beside them, by how well they all match.

    Questions are about passages, and passages cross chunks. The scores become evidence, which neighbors share:

        p_i = exp((s_i - s_1) / (temperature (s_1 - s_depth)))         for the chunks in the ranking, else 0
        y_i = p_i + weight * sum over j != i of p_j exp(-|m_i - m_j| / reach)

    where m is the middle of a chunk in its document, in tokens; chunks of other documents, and those at the same place,
    such as duplicates, do not count. If the words of a query match fewer chunks than ``depth``, s_depth is 0; if all
    scores are equal, p is 1. So the rule does not depend on the scale of the scores, and only good matches support
    others. Ours; see benchmarks/RETRIEVAL.md for how the constants were chosen, and where it gains.

    Do not use it with vectors that include the context already (``vectors="context"`` or "late"), or for rows of less
    than 60 tokens: both already bring in the neighbors.

    The rest of a ranking longer than ``depth`` follows in its order, with scores of 0. Takes time in proportion to the
    chunks near the ranking times ``depth``. Raises `ConfigurationError` for a parameter out of range, or a ranking of
    chunks without a position.

    Parameters
    ----------
    positions : positions of all chunks of the index, or of the ranking alone if no others are known.
    temperature : the share of the range of the scores by which a score falls to 1/e in evidence, > 0.
    reach : distance in tokens at which support falls to 1/e, > 0; what matters is about reach * weight.
    weight : support of a neighbor at distance 0, >= 0.
    depth : chunks of the ranking that are used, >= 1; results hardly change from 100 on, and are uneven below 30.
    hits_only : do not let in chunks that are not in the ranking; about three quarters of the gain remain.

    >>> positions = ChunkPositions(np.zeros(6, dtype=int), np.arange(6) * 100.0)
    >>> hits = Ranking(np.array([0, 4, 5, 1]), np.array([0.9, 0.89, 0.88, 0.1]))
    >>> rerank_by_neighbors(hits, positions).chunks.tolist()
    [4, 0, 5, 3, 1, 2]
    """
    require(temperature > 0, "temperature must be > 0", temperature)
    require(0 < reach <= 1e5, "reach must be > 0 and <= 100,000", reach)
    require(0 <= weight < np.inf, "weight must be finite and >= 0", weight)
    require(depth >= 1, "depth must be >= 1", depth)
    inside = not len(ranking) or 0 <= int(ranking.chunks.min()) <= int(ranking.chunks.max()) < len(positions)
    require(inside, f"a ranking must be of the {len(positions)} chunks with positions", ranking.chunks)
    hits = ranking.first(depth)
    if not len(hits):
        return ranking
    evidence = soften(hits.scores, hits.padded_scores(depth)[-1], temperature)
    others = np.arange(0) if hits_only else np.setdiff1d(positions.near(hits.chunks, _REACHES * reach), hits.chunks)
    chunks = np.concatenate([hits.chunks, others])
    distances = np.abs(positions.line[chunks][:, None] - positions.line[hits.chunks])
    support, near = np.zeros_like(distances), np.nonzero((distances > 0) & (distances < 1000 * reach))
    support[near] = np.exp(-distances[near] / reach)  # farther away, as in other documents, it is 0 in floating point
    scores = weight * (support @ evidence)
    scores[: len(hits)] += evidence
    best = Ranking.from_scores(scores)
    rest = ranking.chunks[depth:]
    rest = rest[~np.isin(rest, others)]
    return Ranking(np.concatenate([chunks[best.chunks], rest]), np.concatenate([best.scores, np.zeros(len(rest))]))
