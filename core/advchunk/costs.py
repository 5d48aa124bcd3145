"""Additive costs of a segment, from prefix sums, for `boundaries.cheapest`.

A cost is called as ``cost(first, end)`` and returns the costs of the segments of units that end
at ``end`` and start at ``first``, ``first + 1``, ...: (end - first,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from advchunk.records import Floats

Cost: TypeAlias = Callable[[int, int], Floats]


def scatter(rows: Floats) -> Cost:
    """Within-segment scatter: the summed squared distance of rows to their segment's mean.

    With unit rows this is kernel change-point detection with the cosine kernel (Truong,
    Oudre & Vayatis 2020, "Selective review of offline change point detection methods",
    section 4.2.3). Prefix sums make it O(d) a segment and O(n d) in memory: no Gram matrix.
    """
    total = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, dtype=np.float64, out=total[1:])
    squares = np.r_[0.0, np.cumsum(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))]
    counts = np.arange(len(total), dtype=np.float64)

    def cost(first: int, end: int) -> Floats:
        inside = total[end] - total[first:end]
        return np.asarray(
            squares[end] - squares[first:end] - np.einsum("ij,ij->i", inside, inside) / counts[end - first : 0 : -1]
        )

    return cost
