"""Matrices of likeness between units, of which only a band along the diagonal is kept.

``band[d, i]`` is the value of the units i and i + d, and means nothing where there is no unit i + d.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from advchunk.records import Floats, Ints
from advchunk.text.terms import Terms

_CACHED = 2**15  # values compared at once
_ROWS = 512  # of a similarity matrix at once


def cosine_band(words: Terms, reach: int) -> Floats:
    """Return the cosines of the term counts of units less than ``reach`` apart.

    Returns
    -------
    (reach, n) in float32; ``[d, i]`` is of the units i and i + d, and 0 where there is no unit i + d. A unit without
    terms is like nothing, itself included.

    >>> from advchunk.text.terms import terms_of
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
    band : (m, n) similarities. A rank depends on those up to ``width - 1`` further from the diagonal than its own.
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
    band : (m, n), of the matrix.

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
