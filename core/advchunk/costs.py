"""Additive costs of a segment, from prefix sums, for `boundaries.cheapest`.

A cost is called as ``cost(starts, end)`` and returns the cost of each segment
``[starts[i], end)`` of units: an (m,) array for an (m,) array of starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from advchunk.records import Floats, Ints

Cost: TypeAlias = Callable[[Ints, int], Floats]


def scatter(rows: Floats) -> Cost:
    """Within-segment scatter: the summed squared distance of rows to their segment's mean.

    With unit rows this is kernel change-point detection with the cosine kernel (Truong,
    Oudre & Vayatis 2020, "Selective review of offline change point detection methods",
    section 4.2.3). Prefix sums make it O(d) a segment and O(n d) in memory: no Gram matrix.
    """
    rows = rows.astype(np.float64)
    total = np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    squares = np.r_[0.0, np.cumsum(np.einsum("ij,ij->i", rows, rows))]

    def cost(starts: Ints, end: int) -> Floats:
        inside = total[end] - total[starts]
        return np.asarray(squares[end] - squares[starts] - np.einsum("ij,ij->i", inside, inside) / (end - starts))

    return cost
