"""Choose cuts from gap scores, costs or labels. See `records` for the conventions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from advchunk.costs import Cost
from advchunk.records import Floats, Ints

_ROUNDING = 1e-12  # costs that differ by less are equal, so that a tie is broken by rule on every machine
_DIGITS = 6  # to which similarities are compared, likewise: rows are in float32


def at(inner: Ints, n: int) -> Ints:
    """Cuts for ``n`` units from the inner unit indices where a segment starts.

    >>> at(np.array([3, 1]), 5).tolist()
    [0, 1, 3, 5]
    """
    return np.unique(np.r_[0, inner, n]).astype(np.int64)


def above(gaps: Floats, threshold: float) -> Ints:
    """Cut every gap that is above ``threshold``.

    >>> above(np.array([0.1, 0.9, 0.2]), 0.15).tolist()
    [0, 2, 3, 4]
    """
    return at(np.flatnonzero(gaps > threshold) + 1, len(gaps) + 1)


def runs(labels: Ints | Floats) -> Ints:
    """Cut wherever neighbouring units carry different labels (labels may recur later)."""
    return at(np.flatnonzero(np.diff(labels)) + 1, len(labels))


def cheapest(
    cost: Cost,
    sizes: Ints,
    budget: Ints,
    *,
    minimum: int = 0,
    penalty: float = 0.0,
    segments: int | None = None,
) -> tuple[Ints, float]:
    """Cut so that the summed cost, plus ``penalty`` a segment, is least: the exact optimum.

    The limits on sizes are part of the search, so they make it faster as well as bounded:
    O(n m d) for segments of at most m units, whatever the number of ``segments`` asked for.

    Parameters
    ----------
    sizes : (n,) tokens of each unit.
    budget : (n,) most tokens of a segment that starts at each unit; one unit is always allowed.
    minimum : least tokens of a segment. As few segments as possible are smaller, where not all can be.
    segments : how many, if that is known; taken to the nearest number that the budget allows.

    Returns
    -------
    The cuts, and their summed cost with penalties. Of equal optima, the one whose last segment is longest.
    """
    n = len(sizes)
    total = np.r_[0, np.cumsum(sizes)]
    first = np.minimum(np.searchsorted(total, total[1:] - budget.max()), np.arange(n))
    known = segments is not None
    wanted = min(max(segments or 1, fewest(sizes, budget)), n) if known else 1
    best = np.full((wanted + 1, n + 1), np.inf)
    best[0, 0] = 0.0
    short = np.zeros((wanted + 1, n + 1), dtype=np.int64)  # segments under the minimum, of which few come before cheap
    previous = np.zeros((wanted + 1, n + 1), dtype=np.int64)
    reach = total[:-1] + budget  # where a segment from each unit must have ended
    rows, before = (slice(1, None), slice(0, -1)) if known else (slice(0, 1), slice(0, 1))
    for end, (start, value) in enumerate(zip(first.tolist(), cost(first), strict=True), start=1):
        sums = best[before, start:end] + value + penalty
        sums[:, :-1][:, reach[start : end - 1] < total[end]] = np.inf
        if minimum:
            few = short[before, start:end] + (total[end] - total[start:end] < minimum)
            few[np.isinf(sums)] = n + 1
            short[rows, end] = few.min(axis=1)
            sums[few > short[rows, end, None]] = np.inf
        least = sums.min(axis=1, keepdims=True)
        choice = (sums <= least + _ROUNDING * np.abs(least)).argmax(axis=1)
        best[rows, end] = sums[np.arange(len(choice)), choice]
        previous[rows, end] = start + choice
    row, path = wanted if known else 0, [n]
    while path[-1]:
        path.append(int(previous[row, path[-1]]))
        row -= known
    return np.array(path[::-1], dtype=np.int64), float(best[wanted if known else 0, n])


def probable(cost: Cost, backwards: Cost, n: int, penalty: float = 0.0) -> Floats:
    """Return the probability of a boundary in each gap, where a segmentation's is proportional to exp(-its cost).

    Sums over all segmentations by the forward-backward recursion, where `cheapest` takes the best.

    Parameters
    ----------
    backwards : the cost of segments of the same units in reverse.

    Returns
    -------
    (n - 1,) in 0..1.
    """
    before, after = _evidence(cost, n, penalty), _evidence(backwards, n, penalty)
    return np.asarray(np.exp(before[1:-1] + after[-2:0:-1] - before[-1]))


def _evidence(cost: Cost, n: int, penalty: float) -> Floats:
    """Return the logarithm of the summed weights of all segmentations of the first 0..n units."""
    found = np.zeros(n + 1)
    for end, value in enumerate(cost(np.zeros(n, dtype=np.int64)), start=1):
        found[end] = np.logaddexp.reduce(found[:end] - value - penalty)
    return found


def fewest(sizes: Ints, budget: Ints) -> int:
    """Return the least number of segments within the budget."""
    total, n = np.r_[0, np.cumsum(sizes)], len(sizes)
    furthest = np.maximum(np.searchsorted(total, total[:-1] + budget, "right") - 1, np.arange(1, n + 1))
    furthest = np.maximum.accumulate(furthest)  # a segment may end early, so that the next starts where there is room
    end = count = 0
    while end < n:
        end, count = int(furthest[end]), count + 1
    return count


def projected(labels: Ints, rows: Floats, least: int, *, contiguous: bool) -> Ints:
    """Return clusters as they stand in a text: every unit has a label, and none stands out of its passage.

    Parameters
    ----------
    labels : (n,) the cluster of each unit, or -1: such a unit joins the run around it (see `around`).
    rows : (n, d) unit rows, by which a unit or run joins the neighbour more like it.
    least : units of a run at least, >= 1 (see `long_enough`); if clusters need not be ``contiguous``, units of a
        cluster: those of a smaller one join the runs around them.
    """
    if contiguous:
        return long_enough(around(labels, rows), rows, least)
    _, cluster, count = np.unique(labels, return_inverse=True, return_counts=True)
    return around(np.where(count[cluster] < least, -1, labels), rows)


def around(labels: Ints, rows: Floats) -> Ints:
    """Let every unit without a label (-1) join the run around it; without any label, all are one run.

    A stretch of them between two runs is parted once, where in sum its units are most like the mean of the run
    that they join. Of places as good, it is the last, so what is alike joins the left.

    >>> rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.2, 0.8], [0.0, 1.0]])
    >>> around(np.array([5, -1, -1, 7]), rows).tolist()
    [5, 5, 7, 7]
    """
    found = labels.copy()
    ends = runs(labels).tolist()
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
            lean = np.cumsum(rows[start:end] @ (_scaled(right) - _scaled(left)))
            worth = -np.r_[0.0, lean].round(_DIGITS)
            place = end - int(worth[::-1].argmax())
            found[start:place], found[place:end] = labels[start - 1], labels[end]
    return found


def long_enough(labels: Ints, rows: Floats, least: int) -> Ints:
    """Join every run of fewer than ``least`` units to the neighbour whose mean is more like its own, or to the left.

    The shortest go first, and of those the first. A run between two of one label makes the three one.

    >>> long_enough(np.array([0, 0, 1, 2, 2]), np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [0, 1]]), 2).tolist()
    [0, 0, 2, 2, 2]
    """
    total = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, dtype=np.float64, out=total[1:])

    def likeness(a: int, b: int, c: int) -> float:
        return round(float(_scaled(total[b] - total[a]) @ _scaled(total[c] - total[b])), _DIGITS)

    found = [(start, end, int(labels[start])) for start, end in pairwise(runs(labels).tolist())]
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


def _scaled(total: Floats) -> Floats:
    """Return the mean's direction, or nothing where there is none."""
    return total / max(float(np.linalg.norm(total)), 1e-12)


def peaks(gaps: Floats, threshold: float = -np.inf, apart: int = 0) -> Ints:
    """Find the gaps above ``threshold`` that are higher than both their neighbours, and well apart.

    Equal neighbours are one peak, in their middle. Peaks are taken from the highest down, of equals the first, each
    unless an end of the text or a peak that is taken already is within ``apart`` gaps.

    Returns
    -------
    Ascending indices of the gaps.

    >>> gaps = np.array([3.0, 4.0, 4.0, 4.0, 0.0, 2.5, 1.0])
    >>> peaks(gaps, 2.0).tolist(), peaks(gaps, 2.0, apart=3).tolist()
    ([2, 5], [])
    """
    ends = runs(gaps)
    height = gaps[ends[:-1]]
    walled = np.r_[-np.inf, height, -np.inf]
    top = np.flatnonzero((height > walled[:-2]) & (height > walled[2:]) & (height > threshold))
    middle = (ends[top] + ends[top + 1] - 1) // 2
    taken, free = list[int](), np.ones(len(gaps), dtype=bool)
    free[:apart] = free[max(len(gaps) - apart, 0) :] = False
    for i in middle[np.argsort(-height[top], kind="stable")].tolist():
        if free[i]:
            taken.append(i)
            free[max(i - apart, 0) : i + apart + 1] = False
    return np.array(sorted(taken), dtype=np.int64)


def divide(sums: Floats, sizes: Ints, minimum: int = 0) -> tuple[Ints, Floats]:
    """Divide greedily, each time so that the inside density grows most, until nothing can be divided.

    The inside density is the sum of a similarity within segments over their area. It is a ratio of two sums over
    all segments, so no additive cost, and `cheapest` cannot search it. Each segment is divided where its own
    halves are densest; of all segments, the one goes first that leaves the whole text densest. Of places as good,
    it is the last. O(n m) in memory; O(n) a division and O(n) for each new segment, up to O(n^2).

    Parameters
    ----------
    sums : (m, n); ``sums[d, i]`` is the sum over the units i, ..., i + d (see `signals.block_sums`). Only pairs
        less than m units apart count, in sum and area, so where m < n what is further apart plays no part.
    sizes : (n,) tokens of each unit.
    minimum : least tokens of a segment.

    Returns
    -------
    The inner cuts in the order they are made, (k,); the density before the first and after each, (k + 1,).

    References
    ----------
    Choi 2000, "Advances in domain independent linear text segmentation", section 3.3, and the ties of his code.
    """
    m, n = sums.shape
    token = np.r_[0, np.cumsum(sizes)]
    length = np.arange(n + 1)
    far = np.maximum(length - m, 0)
    areas = (length**2 - far * (far + 1)).astype(sums.dtype)
    added = np.zeros(n + 1)  # by each unit to the m - 1 before it
    added[m:] = sums[m - 1, : n - m + 1] - (sums[m - 2, : n - m + 1] if m > 1 else 0)
    added = np.cumsum(added)

    def inside(start: Ints | int, end: Ints | int) -> Floats:
        near = np.minimum(end - start, m)
        rest = added[end] - added[start + near]
        return np.asarray(sums[near - 1, start] + rest.astype(sums.dtype))

    # By the unit that a segment starts at: its sum and area, and those of its halves if it is divided at its cut.
    whole, area, left, right, halved = (np.zeros(n, dtype=sums.dtype) for _ in range(5))
    cut, ends = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)

    def enter(start: int, end: int) -> None:
        whole[start], area[start], ends[start] = inside(start, end), areas[end - start], end
        first = max(start + 1, int(np.searchsorted(token, token[start] + minimum)))
        last = min(end - 1, int(np.searchsorted(token, token[end] - minimum, "right")) - 1)
        left[start] = -np.inf  # until there is a place
        if first <= last:
            at = np.arange(first, last + 1)
            before, after = inside(start, at), inside(at, end)
            both = areas[at - start] + areas[end - at]
            best = _last_best((before + after) / both)
            cut[start], left[start], right[start], halved[start] = at[best], before[best], after[best], both[best]

    left[:] = -np.inf
    enter(0, n)
    total, extent = whole[0], area[0]
    order, density = list[int](), [total / extent]
    while True:
        totals, extents = total - whole + left + right, extent - area + halved
        densities = totals / extents
        best = _last_best(densities)
        if np.isinf(densities[best]):
            return np.array(order, dtype=np.int64), np.array(density, dtype=np.float64)
        total, extent = totals[best], extents[best]
        order.append(int(cut[best]))
        density.append(densities[best])
        end = int(ends[best])
        enter(best, order[-1])
        enter(order[-1], end)


def _last_best(values: Floats) -> int:
    return len(values) - 1 - int(values[::-1].argmax())
