"""Project clusters of units, which know no order, to passages of the text."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from advchunk.numerics import search
from advchunk.numerics.signals import DIGITS, unit_rows
from advchunk.records import Floats, Ints


def project_labels(labels: Ints, rows: Floats, least: int, *, contiguous: bool) -> Ints:
    """Return clusters as they stand in a text: every unit has a label, and none stands out of its passage.

    Parameters
    ----------
    labels : (n,) the cluster of each unit, or -1: such a unit joins the run around it (see `assign_noise`).
    rows : (n, d) unit rows, by which a unit or run joins the neighbor more like it.
    least : units of a run at least, >= 1 (see `merge_short_runs`); if clusters need not be ``contiguous``, units of a
        cluster: those of a smaller one join the runs around them.
    """
    if contiguous:
        return merge_short_runs(assign_noise(labels, rows), rows, least)
    _, cluster, count = np.unique(labels, return_inverse=True, return_counts=True)
    return assign_noise(np.where(count[cluster] < least, -1, labels), rows)


def assign_noise(labels: Ints, rows: Floats) -> Ints:
    """Let every unit without a label (-1) join the run around it; without any label, all are one run.

    A stretch of them between two runs is parted once, where in sum its units are most like the mean of the run
    that they join. Of places as good, it is the last, so what is alike joins the left.

    >>> rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.2, 0.8], [0.0, 1.0]])
    >>> assign_noise(np.array([5, -1, -1, 7]), rows).tolist()
    [5, 5, 7, 7]
    """
    found = labels.copy()
    ends = search.run_cuts(labels).tolist()
    for i, (start, end) in enumerate(pairwise(ends)):
        if labels[start] >= 0:
            continue
        if end == len(labels):
            found[start:] = labels[start - 1] if start else 0
        elif start == 0:
            found[:end] = labels[end]
        else:
            left, right = (
                rows[a:b].sum(axis=0, dtype=np.float64) for a, b in (ends[i - 1 : i + 1], ends[i + 1 : i + 3])
            )
            lean = np.cumsum(rows[start:end] @ (unit_rows(right) - unit_rows(left)))
            worth = -np.r_[0.0, lean].round(DIGITS)
            place = end - int(worth[::-1].argmax())
            found[start:place], found[place:end] = labels[start - 1], labels[end]
    return found


def merge_short_runs(labels: Ints, rows: Floats, least: int) -> Ints:
    """Join every run of fewer than ``least`` units to the neighbor whose mean is more like its own, or to the left.

    The shortest go first, and of those the first. A run between two of one label makes the three one.

    >>> merge_short_runs(np.array([0, 0, 1, 2, 2]), np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [0, 1]]), 2).tolist()
    [0, 0, 2, 2, 2]
    """
    total = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, dtype=np.float64, out=total[1:])

    def likeness(a: int, b: int, c: int) -> float:
        return round(float(unit_rows(total[b] - total[a]) @ unit_rows(total[c] - total[b])), DIGITS)

    found = [(start, end, int(labels[start])) for start, end in pairwise(search.run_cuts(labels).tolist())]
    for short in range(1, min(least, len(labels))):
        kept, rest = list[tuple[int, int, int]](), found[::-1]
        while rest:
            start, end, label = rest.pop()
            if end - start > short or not (kept or rest):
                kept.append((start, end, label))
            elif kept and rest and kept[-1][2] == rest[-1][2]:
                rest[-1] = (kept.pop()[0], *rest[-1][1:])
            elif not rest or (kept and likeness(kept[-1][0], start, end) >= likeness(start, end, rest[-1][1])):
                kept[-1] = (kept[-1][0], end, kept[-1][2])
            else:
                rest[-1] = (start, *rest[-1][1:])
        found = kept
    return np.repeat([label for *_, label in found], [end - start for start, end, _ in found])
