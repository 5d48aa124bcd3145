"""Rankings of chunks, and their fusion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import checked, is_integer, require
from advchunk.records import Floats, Ints
from advchunk.text.search_terms import split_words

FusionMethod: TypeAlias = Literal["standardized", "reciprocal"]

DEPTH = 100
"""Chunks of a ranking that fusion and neighbors use."""

_RECIPROCAL = 60  # k of Cormack et al.
_SHOWN = 60  # characters of a query in a message


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Chunks found for a query, best first.

    Parameters
    ----------
    chunks : (n,) indices of chunks, each once.
    scores : (n,) their scores, not rising; on any scale, higher is better.
    floor : the score of chunks that are not in the ranking, if it is known: 0 in a search by words.
    reason : why there is no chunk; "" if there is one, or nothing is known.
    """

    chunks: Ints
    scores: Floats
    floor: float | None = None
    reason: str = ""

    @classmethod
    def from_scores(cls, scores: Floats, depth: int | None = None, *, above: float = -np.inf) -> Self:
        """Return the chunks with the highest scores; equal scores are ordered by index.

        Parameters
        ----------
        scores : (c,) one for each chunk.
        depth : chunks to return, >= 1; None for all.
        above : only chunks with a higher score are returned.

        >>> Ranking.from_scores(np.array([0.5, 2.0, 0.0, 2.0]), 3, above=0).chunks.tolist()
        [1, 3, 0]
        """
        require(depth is None or is_integer(depth, 1), "depth must be >= 1 or None", depth)
        chunks = np.flatnonzero(scores > above)
        if depth is not None and depth < len(chunks):
            # All that tie with the last are kept until they are ordered.
            least = np.partition(scores[chunks], len(chunks) - depth)[len(chunks) - depth]
            chunks = chunks[scores[chunks] >= least]
        chunks = chunks[np.argsort(-scores[chunks], kind="stable")][:depth]
        return cls(chunks, scores[chunks], None if above == -np.inf else above)

    @classmethod
    @checked
    def from_hits(cls, chunks: Sequence[int], scores: Sequence[float] | None = None) -> Self:
        """Return the ranking of the hits of a vector store, or another retriever, which come best first.

        Scores that rise are distances, and negated. They are rounded to a ten-thousandth of their range or less,
        because their last bits differ from store to store; equal ones are ordered by index. So all stores rank alike.

        Raises `ConfigurationError` for scores that are not finite, neither fall nor rise, or do not match the chunks.

        Parameters
        ----------
        chunks : (h,) their indices; of a chunk with several hits, such as its sentences, the first counts.
        scores : (h,) similarities or distances; None if there are none: 1 / (60 + rank).

        >>> distances = Ranking.from_hits([4, 2, 4, 0], [0.1, 0.3, 0.5, 0.6])
        >>> distances.chunks.tolist(), distances.scores.tolist()
        ([4, 2, 0], [-0.1, -0.3, -0.6])
        """
        values = _reciprocals(len(chunks)) if scores is None else np.array(scores, dtype=np.float64)
        matches = values.shape == (len(chunks),) and bool(np.isfinite(values).all())
        require(matches, f"scores must be {len(chunks)} finite numbers, one for each hit", scores)
        if len(values) and (spread := float(np.ptp(values))) > 0:
            values = np.round(values, 4 - int(np.floor(np.log10(spread))))
        steps = np.diff(values)
        rule = "the scores of hits, best first, must not rise; or not fall, if they are distances"
        require(bool((steps <= 0).all() or (steps >= 0).all()), rule, scores)
        if (steps > 0).any():
            values = -values
        numbers, first = np.unique(np.array(chunks, dtype=np.int64), return_index=True)
        best = np.argsort(-values[first], kind="stable")
        return cls(numbers[best], values[first][best])

    def __len__(self) -> int:
        return len(self.chunks)

    def explained(self, query: str) -> Self:
        """Return the ranking of a search by words, with a reason if it is empty."""
        if len(self):
            return self
        reason = "no text has a word of it, or a piece of one" if split_words(query) else "it has no word"
        return replace(self, reason=f"nothing is found for {query[:_SHOWN]!r}: {reason}")

    @checked
    def first(self, depth: int) -> Self:
        """Return the first ``depth`` chunks."""
        return type(self)(self.chunks[:depth], self.scores[:depth], self.floor, self.reason)

    @checked
    def keep(self, allowed: NDArray[np.bool_]) -> Self:
        """Return the part of the ranking whose chunks are ``allowed``, (c,) flags."""
        kept = allowed[self.chunks]
        return type(self)(self.chunks[kept], self.scores[kept], self.floor, self.reason)

    @checked
    def padded_scores(self, depth: int) -> Floats:
        """Return the scores of the first ``depth`` chunks; if there are fewer, the floor is that of the others."""
        missing = 0 if self.floor is None else max(depth - len(self), 0)
        return np.concatenate([self.scores[:depth], np.full(missing, self.floor or 0.0)])


@checked
def fuse(
    rankings: Sequence[Ranking],
    weights: Sequence[float] | None = None,
    *,
    method: FusionMethod = "standardized",
    depth: int = DEPTH,
) -> Ranking:
    """Merge rankings of different retrievers, such as vectors and words, into one.

    "standardized" adds scores after each ranking's are shifted and scaled to a minimum of 0 and a standard deviation of
    1 among its first ``depth`` chunks; a chunk that a ranking lacks adds 0. Where words match fewer chunks, such as an
    error code, the others count as chunks with a score of 0, so that rare matches lead. "reciprocal" adds 1 / (60 +
    rank) (Cormack et al. 2009, reciprocal rank fusion, SIGIR); it loses several points where one ranking is much better
    than the other (benchmarks/RETRIEVAL.md).

    Raises `ConfigurationError` for no rankings, and for weights that do not match or are negative.

    Parameters
    ----------
    weights : one for each ranking, >= 0; None for equal ones.
    depth : chunks of each ranking to use, >= 1.

    >>> words = Ranking(np.array([7, 3]), np.array([9.0, 4.0]))
    >>> vectors = Ranking(np.array([3, 5, 7]), np.array([0.9, 0.8, 0.1]))
    >>> fuse([words, vectors]).chunks.tolist()
    [3, 7, 5]
    """
    require(len(rankings) > 0, "rankings must not be empty", len(rankings))
    require(depth >= 1, "depth must be >= 1", depth)
    weights = [1.0] * len(rankings) if weights is None else weights
    valid = len(weights) == len(rankings) and all(0 <= weight < np.inf for weight in weights)
    require(valid, f"weights must be {len(rankings)} finite numbers >= 0", weights)
    used = [ranking.first(depth) for ranking in rankings]
    is_by_rank = method == "reciprocal"
    rescaled = [_reciprocals(len(ranking)) if is_by_rank else standardize(ranking, depth) for ranking in used]
    parts = [weight * scores for weight, scores in zip(weights, rescaled, strict=True)]
    chunks, owners = np.unique(np.concatenate([ranking.chunks for ranking in used]), return_inverse=True)
    scores: Floats = np.bincount(owners, np.concatenate(parts), len(chunks)).astype(np.float64)
    ranking = Ranking.from_scores(scores)
    return Ranking(chunks[ranking.chunks], ranking.scores, floor=0.0)


def standardize(ranking: Ranking, depth: int = DEPTH) -> Floats:
    """Return the first ``depth`` scores of a ranking, shifted and scaled as by "standardized" fusion: (n,)."""
    if not len(ranking):
        return np.zeros(0)
    scores = ranking.padded_scores(depth)
    spread = float(np.std(scores))
    # Without a spread, all that were found are equally good, and better than the others.
    return (ranking.scores - scores[-1]) / spread if spread > 0 else np.ones(len(ranking))


def _reciprocals(count: int) -> Floats:
    ranks: Floats = 1 / (_RECIPROCAL + 1.0 + np.arange(count))
    return ranks
