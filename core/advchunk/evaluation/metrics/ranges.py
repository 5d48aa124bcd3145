"""Arithmetic of half-open ranges of whole numbers, many owners at once.

Each owner's ranges are put on a line of their own, the lines end to end: so all are sorted, and joined, together.
"""

from __future__ import annotations

import numpy as np

from advchunk.records import Floats, Ints


def apart(owner: Ints, ranges: Ints, length: int) -> Ints:
    """Return the ranges that each owner's make together: (m, 3) owner, start, end; ascending, not empty, and apart."""
    ranges = (ranges + owner[:, None] * length)[ranges[:, 0] < ranges[:, 1]]
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ranges[:, 1])
    opens = np.ones(len(ranges), dtype=np.bool_)
    opens[1:] = ranges[1:, 0] > reach[:-1]
    owner, start = np.divmod(ranges[opens, 0], length)
    return np.column_stack([owner, start, reach[np.roll(opens, -1)] - owner * length])


def totals(apart: Ints, owners: int) -> Ints:
    """Return how much each owner has of what `apart` says: (owners,)."""
    return summed(apart[:, 0], apart[:, 2] - apart[:, 1], owners).astype(np.int64)


def summed(owner: Ints, amounts: Floats | Ints, owners: int) -> Floats:
    """Return the sum of each owner's amounts: (owners,).

    >>> summed(np.array([1, 1]), np.array([2, 3]), 3).tolist()
    [0.0, 5.0, 0.0]
    """
    return np.bincount(owner, amounts, owners).astype(np.float64)


def atoms(question: Ints, start: Ints, end: Ints, length: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Part each question's line at every start and end.

    Returns
    -------
    (m,) and (m,) pieces and the atoms they are made of; (a,) and (a,) question and length of each atom.
    """
    start, end = start + question * length, end + question * length
    edges = np.unique(np.r_[start, end])
    piece, atom = through(np.searchsorted(edges, start), np.searchsorted(edges, end))
    return piece, atom, edges[:-1] // length, np.diff(edges)


def through(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return i and each j of first[i] ... last[i] - 1, for all i in turn."""
    counts = np.maximum(last - first, 0)
    i = np.repeat(np.arange(len(first)), counts)
    return i, np.arange(len(i)) + np.repeat(first - np.cumsum(counts) + counts, counts)
