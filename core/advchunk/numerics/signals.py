"""Numbers about units and the gaps between them. Pure numpy: no text, no models."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from advchunk.records import Floats, Ints
from advchunk.text.terms import Terms

DIGITS = 6  # to which likeness is compared, so that ties are broken by rule: rows are in float32
_ROUNDING = 1e-6  # of a unit row in float32

ThresholdRule: TypeAlias = Literal["percentile", "standard_deviation", "interquartile", "gradient"]


def unit_rows(x: Floats) -> Floats:
    """Scale rows to length 1, leaving zero rows zero, so that ``a @ b`` is their cosine."""
    with np.errstate(over="ignore"):
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
    if not np.isfinite(norm).all():  # squares overflow where the rows do not
        largest = np.abs(x).max(axis=-1, keepdims=True)
        x = np.divide(x, largest, out=np.zeros_like(x), where=largest > 0)
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(np.divide(x, norm, out=np.zeros_like(x), where=norm > 0))


def centered(x: Floats) -> Floats:
    """Return unit rows of ``x`` less its mean row: takes out what all units of a document share."""
    return unit_rows(deviations(x))


def deviations(x: Floats) -> Floats:
    """Return unit rows less their mean row; zero, where they differ from it by rounding only."""
    rest = x - x.mean(axis=0)
    rest[np.linalg.norm(rest, axis=1) < _ROUNDING] = 0
    return np.asarray(rest)


def neighbor_similarity(vectors: Floats) -> Floats:
    """Return the (n - 1,) cosines of neighboring unit rows.

    >>> neighbor_similarity(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(np.einsum("ij,ij->i", vectors[:-1], vectors[1:], dtype=np.float64))


def breakpoint_threshold(distances: Floats, rule: ThresholdRule, amount: float) -> tuple[Floats, float]:
    """Return what is compared, and the threshold above which it is a break.

    The four rules of LangChain's SemanticChunker: a percentile of the distances; mean plus
    ``amount`` standard deviations; mean plus ``amount`` interquartile ranges; a percentile
    of the distances' gradient.
    """
    if rule == "percentile":
        return distances, float(np.percentile(distances, amount))
    if rule == "standard_deviation":
        return distances, cutoff(distances, amount)
    if rule == "interquartile":
        low, high = np.percentile(distances, [25, 75])
        return distances, float(distances.mean() + amount * (high - low))
    gradient = np.gradient(distances) if len(distances) > 1 else np.zeros_like(distances)
    return gradient, float(np.percentile(gradient, amount))


def threshold_for_chunks(distances: Floats, number: int) -> float:
    """Return the threshold above which ``number`` - 1 of the distances lie (fewer, where some are equal).

    LangChain goes by way of a percentile, where rounding can make it one more or one less.
    """
    if number > len(distances):
        return -np.inf
    return float(np.sort(distances)[len(distances) - number])


def block_similarity(words: Terms, block: int) -> Floats:
    """Return the cosine of the term counts of up to ``block`` units before and after each gap.

    Blocks are cut short at the ends of the text, to the same length on both sides. The sums are whole numbers, so
    blocks that say the same have equal cosines to the last bit.

    A product of two counts is part of the sums of a run of neighboring gaps, so it is added where the run begins,
    taken off behind its end, and summed up once: O(t block) time for t distinct terms of units, and O(t) memory,
    whatever the vocabulary.

    Returns
    -------
    (n - 1,) similarities, 0..1; 0 where a block has no term.

    References
    ----------
    Hearst 1997, "TextTiling: Segmenting Text into Multi-paragraph Subtopic Passages", Computational Linguistics
    23(1), section 5.

    >>> from advchunk.text.terms import terms_of
    >>> block_similarity(terms_of([["cat"], ["cat"], ["dog"], ["dog"]]), 2).tolist()
    [1.0, 0.0, 1.0]
    """
    n = len(words)
    cells, count = np.unique(words.ids * n + np.repeat(np.arange(n), np.diff(words.edges)), return_counts=True)
    term, unit = np.divmod(cells, n)
    both, left, right = np.zeros((3, n + 1))

    def add(sums: Floats, first: Ints, last: Ints, product: Floats) -> None:
        some = first <= last
        sums += np.bincount(first[some], product[some], n + 1) - np.bincount(last[some] + 1, product[some], n + 1)

    earlier = np.arange(len(cells))
    # The cells of a term stand side by side: where one has none in reach, no later lag has.
    for lag in range(2 * block):
        earlier = earlier[earlier + lag < len(cells)]
        later = earlier + lag
        earlier = earlier[(term[earlier] == term[later]) & (unit[later] - unit[earlier] < 2 * block)]
        if not len(earlier):
            break
        p, q, product = unit[earlier], unit[earlier + lag], (count[earlier] * count[earlier + lag]).astype(np.float64)
        # The blocks of gap g reach from max(g - block, 2 g - n) up to min(g + block, 2 g).
        reached, reaching = np.minimum(p + block, (p + n) // 2), np.maximum(q - block, q // 2) + 1
        add(both, np.maximum(p + 1, reaching), np.minimum(q, reached), product)
        each = product * 2 if lag else product  # p with q, and q with p
        add(left, q + 1, reached, each)
        add(right, reaching, p, each)
    shared, *lengths = (np.cumsum(sums)[1:n] for sums in (both, left, right))
    product = lengths[0] * lengths[1]
    return np.asarray(np.divide(shared, np.sqrt(product), out=np.zeros(n - 1), where=product > 0))


def running_mean(scores: Floats, weights: Floats) -> Floats:
    """Return the mean of each score and its neighbors, or as many of them as there are.

    Parameters
    ----------
    weights : an odd number, symmetric; that of the score itself stands in the middle.

    >>> running_mean(np.array([0.0, 3.0, 6.0, 0.0]), np.ones(3)).tolist()
    [1.5, 3.0, 3.0, 3.0]
    """
    if not len(scores):
        return scores
    inside = slice(len(weights) // 2, len(weights) // 2 + len(scores))
    total, weight = (np.convolve(x, weights)[inside] for x in (scores, np.ones(len(scores))))
    return np.asarray(total / weight)


def cutoff(scores: Floats, z: float) -> float:
    """Return the score ``z`` standard deviations above the mean; 0 of none."""
    return float(scores.mean() + z * scores.std()) if len(scores) else 0.0


def depth(similarity: Floats) -> Floats:
    """Return how far each gap lies below the peaks that surround it.

    From each gap climb left, and right, while the similarity does not fall; the depth is the sum of the two climbs.

    Returns
    -------
    Array of the same shape, >= 0; a higher value is a likelier boundary.

    References
    ----------
    Hearst 1997, section 5.3.

    >>> depth(np.array([4.0, 1.0, 1.0, 3.0, 2.0])).tolist()
    [0.0, 5.0, 5.0, 0.0, 1.0]
    """

    def climb(s: Floats) -> Floats:
        wall = np.r_[False, s[:-1] < s[1:]]  # from here the next one back is lower
        return np.asarray(s[np.maximum.accumulate(np.where(wall, np.arange(len(s)), 0))])

    return climb(similarity) + climb(similarity[::-1])[::-1] - 2 * similarity


def sums_around(rows: Floats, width: int) -> tuple[Floats, Floats]:
    """Return the sums of up to ``width`` rows before each gap, and after it; of fewer where the text ends.

    Returns
    -------
    Twice (n - 1, d).

    >>> before, after = sums_around(np.array([[1.0], [2.0], [4.0]]), 2)
    >>> before.tolist(), after.tolist()
    ([[1.0], [3.0]], [[6.0], [4.0]])
    """
    n, total = len(rows), np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    gap = np.arange(1, n)
    first, last = np.maximum(gap - width, 0), np.minimum(gap + width, n)
    return total[gap] - total[first], total[last] - total[gap]


def jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Return the divergence of the rows of ``p`` from those of ``q``, which are scaled to sum to 1, in bits.

    Half the mean of log2(p / m) under p, and half that of log2(q / m) under q, where m is the mean of both: 0 for
    equal rows, 1 for rows that share nothing.

    Parameters
    ----------
    p, q : (n, k), >= 0, no row all zero.

    Returns
    -------
    (n,) in 0..1.

    References
    ----------
    Lin 1991, "Divergence measures based on the Shannon entropy", IEEE Transactions on Information Theory 37(1).

    >>> jensen_shannon(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 2.0], [2.0, 2.0]])).tolist()
    [1.0, 0.0]
    """
    p, q = (x / x.sum(axis=1, keepdims=True) for x in (p, q))
    m = (p + q) / 2

    def from_mean(x: Floats) -> Floats:
        ratio = np.divide(x, m, out=np.ones_like(x), where=x > 0)
        return np.asarray((x * np.log2(ratio)).sum(axis=1))

    return np.clip((from_mean(p) + from_mean(q)) / 2, 0.0, 1.0)
