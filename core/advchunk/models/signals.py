"""Similarities of units and scores of the gaps between them."""

from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from advchunk.records import Floats, Ints
from advchunk.text.terms import Terms

DIGITS = 6  # decimals to which similarities of float32 rows are rounded, so that ties are broken deterministically
_ROUNDING = 1e-6  # error of a unit row in float32

ThresholdRule: TypeAlias = Literal["percentile", "standard_deviation", "interquartile", "gradient"]


def unit_rows(x: Floats) -> Floats:
    """Scale rows to length 1, leaving zero rows zero, so that ``a @ b`` is their cosine."""
    with np.errstate(over="ignore"):
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
    if not np.isfinite(norm).all():  # the squares overflow
        largest = np.abs(x).max(axis=-1, keepdims=True)
        x = np.divide(x, largest, out=np.zeros_like(x), where=largest > 0)
        norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.where(norm > 0, norm, 1))


def center_rows(x: Floats) -> Floats:
    """Subtract the mean row, and scale rows to length 1."""
    return unit_rows(deviations(x))


def deviations(x: Floats) -> Floats:
    """Subtract the mean row from unit rows; differences within rounding error become zero."""
    difference = np.asarray(x - x.mean(axis=0))
    difference[np.linalg.norm(difference, axis=1) < _ROUNDING] = 0
    return difference


def neighbor_similarity(vectors: Floats) -> Floats:
    """Return the (n - 1,) cosines of neighboring unit rows."""
    return np.asarray(np.einsum("ij,ij->i", vectors[:-1], vectors[1:], dtype=np.float64))


def breakpoint_threshold(distances: Floats, rule: ThresholdRule, amount: float) -> tuple[Floats, float]:
    """Return gap scores (distances, or their gradient) and the threshold of breaks, as LangChain's SemanticChunker."""
    if rule == "standard_deviation":
        return distances, cutoff(distances, amount)
    if rule == "interquartile":
        low, high = np.percentile(distances, [25, 75])
        return distances, float(distances.mean() + amount * (high - low))
    if rule == "gradient":
        distances = np.gradient(distances) if len(distances) > 1 else np.zeros_like(distances)
    return distances, float(np.percentile(distances, amount))


def block_similarity(words: Terms, block: int) -> Floats:
    """Return the (n - 1,) cosines of the term counts of up to ``block`` units before and after each gap.

    0 if a block has no terms; at the ends both blocks are shortened to the same length. Sums are integers, so equal
    blocks have bitwise equal cosines. A product of two counts is added at the start of its run of gaps and subtracted
    after its end, so a cumulative sum takes O(t block) time and O(t) memory for t distinct (unit, term) pairs. Hearst
    1997, "TextTiling", section 5.
    """
    n = len(words)
    cells, count = np.unique(words.ids * n + np.repeat(np.arange(n), np.diff(words.edges)), return_counts=True)
    term, unit = np.divmod(cells, n)
    both, left, right = np.zeros((3, n + 1))

    def add(sums: Floats, first: Ints, last: Ints, product: Floats) -> None:
        valid = first <= last
        sums += np.bincount(first[valid], product[valid], n + 1) - np.bincount(last[valid] + 1, product[valid], n + 1)

    earlier = np.arange(len(cells))
    # Cells are sorted by term: a cell without a partner in reach at one lag has none at longer lags.
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
        product = product * 2 if lag else product  # p with q, and q with p
        add(left, q + 1, reached, product)
        add(right, reaching, p, product)
    shared, *lengths = (np.cumsum(sums)[1:n] for sums in (both, left, right))
    product = lengths[0] * lengths[1]
    return np.asarray(np.divide(shared, np.sqrt(product), out=np.zeros(n - 1), where=product > 0))


def running_mean(scores: Floats, weights: Floats) -> Floats:
    """Return the mean of each score and its neighbors by an odd number of symmetric weights, fewer at the ends."""
    if not len(scores):
        return scores
    inside = slice(len(weights) // 2, len(weights) // 2 + len(scores))
    total, weight = (np.convolve(x, weights)[inside] for x in (scores, np.ones(len(scores))))
    return np.asarray(total / weight)


def cutoff(scores: Floats, z: float) -> float:
    """Return the mean plus ``z`` standard deviations; 0 if there are no scores."""
    return float(scores.mean() + z * scores.std()) if len(scores) else 0.0


def depth_scores(similarity: Floats) -> Floats:
    """Return each gap's climbs to the peaks left and right, >= 0 (Hearst 1997, "TextTiling", section 5.3)."""

    def climb(s: Floats) -> Floats:
        is_peak = np.r_[False, s[:-1] < s[1:]]  # the value to the left is lower
        return np.asarray(s[np.maximum.accumulate(np.where(is_peak, np.arange(len(s)), 0))])

    return climb(similarity) + climb(similarity[::-1])[::-1] - 2 * similarity


def prefix_sums(rows: Floats) -> Floats:
    """Return the (n + 1, d) sums of the first 0 to n rows, in double; several times as fast as `numpy.cumsum`."""
    total = np.zeros((len(rows) + 1, rows.shape[1]))
    total[1:] = rows
    for before, row in pairwise(total):
        np.add(before, row, out=row)
    return total


def window_sums(rows: Floats, width: int) -> tuple[Floats, Floats]:
    """Return the sums of up to ``width`` rows before and after each gap: two arrays of shape (n - 1, d)."""
    total, gap = prefix_sums(rows), np.arange(1, len(rows))
    return total[gap] - total[np.maximum(gap - width, 0)], total[np.minimum(gap + width, len(rows))] - total[gap]


def jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Return the (n,) Jensen-Shannon divergences, 0..1 bits, of the rows of two (n, k) arrays of values >= 0. Rows are
    scaled to sum to 1; none may be all zero. Lin 1991, "Divergence measures based on the Shannon entropy".
    """
    p, q = (x / x.sum(axis=1, keepdims=True) for x in (p, q))
    m = (p + q) / 2

    def from_mean(x: Floats) -> Floats:
        ratio = np.divide(x, m, out=np.ones_like(x), where=x > 0)
        return np.asarray((x * np.log2(ratio)).sum(axis=1))

    return np.clip((from_mean(p) + from_mean(q)) / 2, 0.0, 1.0)
