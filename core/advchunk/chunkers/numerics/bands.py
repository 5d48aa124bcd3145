"""Diagonal bands of symmetric similarity matrices.

``band[d, i]`` is the value for units i and i + d; entries with i + d >= n are undefined.
"""

from collections.abc import Iterator

import numpy as np

from advchunk.records import Floats, Ints
from advchunk.text.terms import Terms

_BLOCK_VALUES = 2**15  # processed at once, to stay in the processor's cache
_BLOCK_ROWS = 512


def cosine_band(words: Terms, reach: int) -> Floats:
    """Return cosines of units i and i + d, d < reach, at [d, i], float32; 0 if i + d >= n or one has no terms."""
    counts, n = words.counts().astype(np.float32), len(words)
    squares = counts.power(2).sum(axis=1)
    band = np.zeros((reach, n), dtype=np.float32)
    for top in range(0, n, _BLOCK_ROWS):
        dots = (counts[top : top + _BLOCK_ROWS] @ counts[top : top + _BLOCK_ROWS + reach].T).tocoo()
        offset = dots.col - dots.row
        near = (offset >= 0) & (offset < reach)
        i, d = top + dots.row[near], offset[near]
        band[d, i] = dots.data[near] / np.sqrt(squares[i] * squares[i + d])  # in Choi's order, which decides ties
    return band


def local_rank(band: Floats, width: int, reach: int) -> Floats:
    """Return the fraction of neighbors each similarity exceeds, (reach, n) in 0..1. From Choi 2000, section 3.2.

    The square is ``width`` (odd) units, clipped at the edges; ``band`` is (m, n), with m >= min(n, reach + width - 1).
    """
    rank = np.zeros((reach, band.shape[1]), dtype=band.dtype)
    count_type = np.uint8 if width**2 <= 256 else np.uint32
    for rows, values, neighbors, area in _squares(band, width, reach, np.inf):
        is_less, less = np.empty(values.shape, dtype=bool), np.zeros(values.shape, dtype=count_type)
        for neighbor in neighbors:
            less += np.greater(values, neighbor, out=is_less).view(np.uint8)
        rank[rows, : values.shape[1]] = less / (area - 1)
    return rank


def local_mean(band: Floats, width: int, reach: int) -> Floats:
    """Replace each value by the mean of the square centered on it. The parameters are those of `local_rank`."""
    mean = np.zeros((reach, band.shape[1]), dtype=band.dtype)
    for rows, values, neighbors, area in _squares(band, width, reach, 0):
        mean[rows, : values.shape[1]] = sum(neighbors, np.zeros_like(values)) / area
    return mean


def _squares(
    band: Floats, width: int, reach: int, outside: float
) -> Iterator[tuple[slice, Floats, Iterator[Floats], Ints]]:
    """Yield each block of diagonals: slice, values, values at each square position, area not counting ``outside``."""
    half, n = width // 2, band.shape[1]
    padded = np.full((reach + 4 * half, n + 2 * half), outside, dtype=band.dtype)  # [d + 2 half, i + half]
    for d in range(min(reach + 2 * half, n)):
        padded[2 * half + d, half : half + n - d] = band[d, : n - d]
        if d <= 2 * half:  # mirrored below the main diagonal, where squares extend
            padded[2 * half - d, half + d : half + n] = band[d, : n - d]
    unit = np.arange(n)
    side = np.minimum(unit + half, n - 1) - np.maximum(unit - half, 0) + 1
    height = max(1, _BLOCK_VALUES // n)
    for top in range(0, reach, height):
        stop, length = min(top + height, reach), n - top

        def shift(a: int, b: int, top: int = top, stop: int = stop, length: int = length) -> Floats:
            down = 2 * half + b - a
            return padded[top + down : stop + down, half + a : half + a + length]

        neighbors = (shift(a, b) for a in range(-half, half + 1) for b in range(-half, half + 1))
        other = np.minimum(unit[:length] + np.arange(top, stop)[:, None], n - 1)
        yield slice(top, stop), shift(0, 0), neighbors, side[:length] * side[other]


def block_sums(band: Floats) -> Floats:
    """Return at [d, i] the sum over the square of units i to i + d, in the original C99's order, to round the same."""
    m, n = band.shape
    sums = np.zeros_like(band)
    sums[0] = band[0]
    for d in range(1, m):
        sums[d, : n - d] = 2 * band[d, : n - d] + sums[d - 1, : n - d] + sums[d - 1, 1 : n - d + 1]
        if d > 1:
            sums[d, : n - d] -= sums[d - 2, 1 : n - d + 1]
    return sums
