"""Projection of clusters of units, which ignore their order, onto passages of the text."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from advchunk.chunkers.numerics import cutting
from advchunk.models.signals import DIGITS, prefix_sums, unit_rows
from advchunk.records import Floats, Ints, Segmentation


def segment_labels(
    labels: Ints, *, contiguous: bool, gaps: Floats | None = None, figures: Mapping[str, Any], least: int = 0
) -> Segmentation:
    """Return the segmentation by labels: passages of ``least`` units or more if ``contiguous``, else groups."""
    minimum = (np.ones_like(labels), least) if contiguous and least > 1 else None
    cuts, groups = cutting.run_cuts(labels), None if contiguous else labels
    return Segmentation(cuts, labels=groups, reason="label", gaps=gaps, figures=figures, least=minimum)


def project_labels(labels: Ints, rows: Floats, least: int, *, contiguous: bool) -> Ints:
    """Join noise (-1) and clusters, or runs if ``contiguous``, of under ``least`` units to the runs around them."""
    if contiguous:
        return merge_short_runs(assign_noise(labels, rows), rows, least)
    _, cluster, count = np.unique(labels, return_inverse=True, return_counts=True)
    return assign_noise(np.where(count[cluster] < least, -1, labels), rows)


def assign_noise(labels: Ints, rows: Floats) -> Ints:
    """Assign every unit without a label (-1) to an adjacent run; without any labels, all units form one run.

    A stretch between two is divided once, where similarity to the runs' means sums highest; ties go to the last place.
    """
    assigned = labels.copy()
    ends = cutting.run_cuts(labels).tolist()
    for i, (start, end) in enumerate(pairwise(ends)):
        if labels[start] >= 0:
            continue
        if end == len(labels):
            assigned[start:] = labels[start - 1] if start else 0
        elif start == 0:
            assigned[:end] = labels[end]
        else:
            runs = ends[i - 1 : i + 1], ends[i + 1 : i + 3]
            left, right = (unit_rows(rows[a:b].sum(axis=0, dtype=np.float64)) for a, b in runs)
            gain = np.cumsum(rows[start:end] @ (right - left))
            score = -np.r_[0.0, gain].round(DIGITS)
            middle = end - int(score[::-1].argmax())
            assigned[start:middle], assigned[middle:end] = labels[start - 1], labels[end]
    return assigned


def merge_short_runs(labels: Ints, rows: Floats, least: int) -> Ints:
    """Merge runs under ``least`` units, shortest first, into the neighbor of more similar mean; ties go to the left."""
    total = prefix_sums(rows)

    def similarity(a: int, b: int, c: int) -> float:
        return round(float(unit_rows(total[b] - total[a]) @ unit_rows(total[c] - total[b])), DIGITS)

    runs = [(start, end, int(labels[start])) for start, end in pairwise(cutting.run_cuts(labels).tolist())]
    for short in range(1, min(least, len(labels))):
        kept, rest = list[tuple[int, int, int]](), runs[::-1]
        while rest:
            start, end, label = rest.pop()
            if end - start > short or not (kept or rest):
                kept.append((start, end, label))
            elif kept and rest and kept[-1][2] == rest[-1][2]:
                rest[-1] = (kept.pop()[0], *rest[-1][1:])
            elif not rest or (kept and similarity(kept[-1][0], start, end) >= similarity(start, end, rest[-1][1])):
                kept[-1] = (kept[-1][0], end, kept[-1][2])
            else:
                rest[-1] = (start, *rest[-1][1:])
        runs = kept
    return np.repeat([label for *_, label in runs], [end - start for start, end, _ in runs])
