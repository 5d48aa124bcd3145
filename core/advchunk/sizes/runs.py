"""Divide segments into runs of units that fit: as few as can be, or near a target."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from advchunk.records import Ints
from advchunk.sizes.limits import Limits, Ruler
from advchunk.sizes.units import RUNGS


def packed(
    ruler: Ruler, start: int, end: int, limits: Limits, *, full: bool = False, at: Ints | None = None
) -> Iterable[tuple[int, int]]:
    """Yield runs of units ``start`` to ``end`` that are within the budget, packed from the left.

    A run ends at the strongest edge of its second half, the last of equals, or to be ``full`` at
    the last that fits; before that if it would leave a heading without its text. The units begin
    ``at`` these offsets of the document, if not at their edges.
    """
    units = ruler.units
    starts = units.edges if at is None else at
    while start < end:
        budget = limits.budget(int(starts[start]))
        stop = ruler.furthest(start, end, budget)
        if stop < end and units.strength is not None and full:
            stop = next((edge for edge in range(stop, start, -1) if units.strength[edge] >= 0), stop)
        elif stop < end and units.strength is not None:
            middle = min(ruler.about(start, (budget - 1) // 2) + 1, stop)
            while middle > start + 1 and units.strength[middle : stop + 1].max() < 0:
                middle -= 1
            best = sorted(range(stop, middle - 1, -1), key=units.strength.__getitem__, reverse=True)
            # To some tokenizers less text is more tokens: "cat dog" may be one, "cat " two.
            stop = next(edge for edge in best if edge == stop or ruler.size(start, edge) <= budget)
        yield start, stop
        start = stop


def windows(ruler: Ruler, start: int, end: int, limits: Limits) -> Iterable[tuple[int, int]]:
    """Yield runs of units ``start`` to ``end`` within a fifth of the target, from the left, and what is left.

    A run ends at the strongest edge there is within a fifth, of equals at the nearest to the target. Where there is
    none but one after a heading, as before a protected block, it ends as near the target as it can.
    """
    strength, target = np.asarray(ruler.units.strength), limits.target or 0
    while start < end:
        offset = int(ruler.units.edges[start])
        (least, most), budget = limits.window(offset), limits.budget(offset)
        stop = ruler.furthest(start, end, most)
        if stop < end:
            aim = ruler.furthest(start, stop, target)
            near = range(ruler.furthest(start, stop, least - 1), stop + 1)
            best = sorted(near, key=lambda edge: (-strength[edge], abs(ruler.sum(aim, edge))))
            good = (e for e in best if strength[e] > -RUNGS and least <= ruler.size(start, e) <= most)
            stop = next(good, 0) or _nearest(ruler, start, ruler.furthest(start, end, budget), budget, target)
        yield start, stop
        start = stop


def _nearest(ruler: Ruler, start: int, end: int, budget: int, target: int) -> int:
    """Return the end, up to ``end``, of the run from ``start`` that is nearest the target, best not at a heading."""
    strength = np.asarray(ruler.units.strength)
    edges = range(start + 1, end + 1)
    best = sorted(edges, key=lambda edge: (strength[edge] <= -RUNGS, abs(ruler.sum(start, edge) - target)))
    return next(edge for edge in best if edge == end or ruler.size(start, edge) <= budget)
