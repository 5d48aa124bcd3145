"""Numbers about units and the gaps between them. Pure numpy: no text, no models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np

from advchunk.records import Floats, Ints
from advchunk.terms import Terms

_ROUNDING = 1e-6  # of a unit row in float32
_CACHED = 2**15  # values compared at once
_ROWS = 512  # of a similarity matrix at once

ThresholdRule: TypeAlias = Literal["percentile", "standard_deviation", "interquartile", "gradient"]


def unit_rows(x: Floats) -> Floats:
    """Scale rows to length 1, leaving zero rows zero, so that ``a @ b`` is their cosine."""
    norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(np.divide(x, norm, out=np.zeros_like(x), where=norm > 0))


def centred(x: Floats) -> Floats:
    """Return unit rows of ``x`` less its mean row: takes out what all units of a document share.

    Rows that differ from the mean by rounding only become zero, not that rounding blown up.
    """
    rest = x - x.mean(axis=0)
    rest[np.linalg.norm(rest, axis=1) < _ROUNDING] = 0
    return unit_rows(rest)


def neighbour_similarity(vectors: Floats) -> Floats:
    """Return the (n - 1,) cosines of neighbouring unit rows.

    >>> neighbour_similarity(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist()
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
        return distances, float(distances.mean() + amount * distances.std())
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

    A product of two counts is part of the sums of a run of neighbouring gaps, so it is added where the run begins,
    taken off behind its end, and summed up once: O(t block) time for t distinct terms of units, and O(t) memory,
    whatever the vocabulary.

    Returns
    -------
    (n - 1,) similarities, 0..1; 0 where a block has no term.

    References
    ----------
    Hearst 1997, "TextTiling: Segmenting Text into Multi-paragraph Subtopic Passages", Computational Linguistics
    23(1), section 5.

    >>> from advchunk.terms import terms_of
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
    for lag in range(
        2 * block
    ):  # the cells of a term stand side by side: where one has none in reach, no later lag has
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


def running_mean(scores: Floats, width: int) -> Floats:
    """Return the mean of each score and its neighbours, ``width`` (odd) in all, or as many of them as there are.

    >>> running_mean(np.array([0.0, 3.0, 6.0, 0.0]), 3).tolist()
    [1.5, 3.0, 3.0, 3.0]
    """
    n = len(scores)
    total, number = (
        sum(padded[i : i + n] for i in range(width)) for padded in (np.pad(x, width // 2) for x in (scores, np.ones(n)))
    )
    return np.asarray(total / number)


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


def cosine_band(words: Terms, reach: int) -> Floats:
    """Return the cosines of the term counts of units less than ``reach`` apart.

    Returns
    -------
    (reach, n) in float32; ``[d, i]`` is of the units i and i + d, and 0 where there is no unit i + d. A unit without
    terms is like nothing, itself included.

    >>> from advchunk.terms import terms_of
    >>> cosine_band(terms_of([["cat", "nap"], ["cat"], []]), 2).round(2)
    array([[1.  , 1.  , 0.  ],
           [0.71, 0.  , 0.  ]], dtype=float32)
    """
    counts, n = words.counts().astype(np.float32), len(words)
    squares = counts.power(2).sum(axis=1)
    band = np.zeros((reach, n), dtype=np.float32)
    for top in range(0, n, _ROWS):
        dots = (counts[top : top + _ROWS] @ counts[top : top + _ROWS + reach].T).tocoo()
        apart = dots.col - dots.row
        near = (apart >= 0) & (apart < reach)
        i, d = top + dots.row[near], apart[near]
        band[d, i] = dots.data[near] / np.sqrt(squares[i] * squares[i + d])  # in Choi's order, which decides ties
    return band


def local_rank(band: Floats, width: int, reach: int) -> Floats:
    """Replace each similarity by the share of those around it that it exceeds: all that is left is their order.

    Parameters
    ----------
    band : (m, n); ``band[d, i]`` is the similarity of units i and i + d, and means nothing where there is no
        unit i + d. A rank depends on similarities up to ``width - 1`` further from the diagonal than its own.
    width : side of the square around it in units, odd; at the edges of the matrix it holds fewer.
    reach : of how many diagonals the ranks are wanted, <= n; m >= min(n, reach + width - 1).

    Returns
    -------
    (reach, n) in 0..1, of the type of ``band``.

    References
    ----------
    Choi 2000, "Advances in domain independent linear text segmentation", section 3.2.

    >>> local_rank(np.array([[0.9, 0.8, 0.7], [0.1, 0.6, np.nan], [0.2, np.nan, np.nan]]), 3, 1).round(2)
    array([[1.  , 0.88, 0.67]])
    """
    rank = np.zeros((reach, band.shape[1]), dtype=band.dtype)
    counted = np.uint8 if width**2 <= 256 else np.uint32
    for rows, here, others, area in _squares(band, width, reach, np.inf):
        lesser, less = np.empty(here.shape, dtype=bool), np.zeros(here.shape, dtype=counted)
        for other in others:
            less += np.greater(here, other, out=lesser).view(np.uint8)
        rank[rows, : here.shape[1]] = less / (area - 1)
    return rank


def smoothed(band: Floats, width: int, reach: int) -> Floats:
    """Replace each value of a matrix by the mean of the square around it. Parameters are those of `local_rank`.

    >>> smoothed(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, np.nan], [0.0, np.nan, np.nan]]), 3, 1).round(2)
    array([[0.25, 0.11, 0.  ]])
    """
    mean = np.zeros((reach, band.shape[1]), dtype=band.dtype)
    for rows, here, others, area in _squares(band, width, reach, 0):
        mean[rows, : here.shape[1]] = sum(others, np.zeros_like(here)) / area
    return mean


def _squares(
    band: Floats, width: int, reach: int, outside: float
) -> Iterator[tuple[slice, Floats, Iterator[Floats], Ints]]:
    """Yield some diagonals at a time: which, their values, those at each place of a square around them, its area.

    Places past the edges of the matrix have the value ``outside``, and are no part of the area.
    """
    half, n = width // 2, band.shape[1]
    around = np.full((reach + 4 * half, n + 2 * half), outside, dtype=band.dtype)  # [d + 2 half, i + half]
    for d in range(min(reach + 2 * half, n)):
        around[2 * half + d, half : half + n - d] = band[d, : n - d]
        if d <= 2 * half:  # the other side of the diagonal, which squares reach into
            around[2 * half - d, half + d : half + n] = band[d, : n - d]
    unit = np.arange(n)
    side = np.minimum(unit + half, n - 1) - np.maximum(unit - half, 0) + 1
    height = max(1, _CACHED // n)
    for top in range(0, reach, height):
        stop, long = min(top + height, reach), n - top

        def value(a: int, b: int, top: int = top, stop: int = stop, long: int = long) -> Floats:
            down = 2 * half + b - a
            return around[top + down : stop + down, half + a : half + a + long]

        places = (value(a, b) for a in range(-half, half + 1) for b in range(-half, half + 1))
        other = np.minimum(unit[:long] + np.arange(top, stop)[:, None], n - 1)
        yield slice(top, stop), value(0, 0), places, side[:long] * side[other]


def block_sums(band: Floats) -> Floats:
    """Return the sum of a symmetric matrix over the square of each run of units.

    In the order in which the original C99 adds, so that float32 rounds as there.

    Parameters
    ----------
    band : (m, n); ``band[d, i]`` is the matrix at i, i + d (see `local_rank`).

    Returns
    -------
    (m, n); ``[d, i]`` is the sum over the units i, ..., i + d.

    >>> block_sums(np.array([[1.0, 2.0, 3.0], [0.5, 0.1, np.nan]]))[:, :2]
    array([[1. , 2. ],
           [4. , 5.2]])
    """
    m, n = band.shape
    sums = np.zeros_like(band)
    sums[0] = band[0]
    for d in range(1, m):
        long = n - d
        sums[d, :long] = 2 * band[d, :long] + sums[d - 1, :long] + sums[d - 1, 1 : long + 1]
        if d > 1:
            sums[d, :long] -= sums[d - 2, 1 : long + 1]
    return sums
