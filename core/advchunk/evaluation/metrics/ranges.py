"""Set operations on half-open integer ranges, for many owners at once.

The ranges of each owner are placed on a line of their own, and the lines end to end, so that one sort handles them all.
"""

import numpy as np

from advchunk.records import Floats, Ints


def merge_ranges(owner: Ints, ranges: Ints, length: int) -> Ints:
    """Return the union of each owner's ranges: (m, 3) owner, start, end; ascending, disjoint, not empty."""
    ranges = (ranges + owner[:, None] * length)[ranges[:, 0] < ranges[:, 1]]
    ranges = ranges[np.argsort(ranges[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ranges[:, 1])
    opens = np.ones(len(ranges), dtype=np.bool_)
    opens[1:] = ranges[1:, 0] > reach[:-1]
    owner, start = np.divmod(ranges[opens, 0], length)
    return np.column_stack([owner, start, reach[np.roll(opens, -1)] - owner * length])


def total_lengths(merged: Ints, owners: int) -> Ints:
    """Return the total length of each owner's ranges from `merge_ranges`: (owners,)."""
    return sum_by_owner(merged[:, 0], merged[:, 2] - merged[:, 1], owners).astype(np.int64)


def sum_by_owner(owner: Ints, amounts: Floats | Ints, owners: int) -> Floats:
    """Return the sum of each owner's amounts: (owners,).

    >>> sum_by_owner(np.array([1, 1]), np.array([2, 3]), 3).tolist()
    [0.0, 5.0, 0.0]
    """
    return np.bincount(owner, amounts, owners).astype(np.float64)


def split_at_edges(question: Ints, start: Ints, end: Ints, length: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Split each question's ranges at every start and end, into atoms.

    Returns (m,) and (m,) pairs of a range and an atom of it, and (a,) and (a,) question and length of each atom.
    """
    start, end = start + question * length, end + question * length
    edges = np.unique(np.r_[start, end])
    piece, atom = expand_ranges(np.searchsorted(edges, start), np.searchsorted(edges, end))
    return piece, atom, edges[:-1] // length, np.diff(edges)


def expand_ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return each i with each j of first[i] ... last[i] - 1."""
    counts = np.maximum(last - first, 0)
    i = np.repeat(np.arange(len(first)), counts)
    return i, np.arange(len(i)) + np.repeat(first - np.cumsum(counts) + counts, counts)
