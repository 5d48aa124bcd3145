"""Choose cuts from gap scores, costs or labels. See `records` for the conventions."""

from __future__ import annotations

import numpy as np

from advchunk.numerics.costs import Cost
from advchunk.records import Floats, Ints

_ROUNDING = 1e-12  # costs that differ by less are equal, so that a tie is broken by rule on every machine


def cuts_at(inner: Ints, n: int) -> Ints:
    """Cuts for ``n`` units from the inner unit indices where a segment starts.

    >>> cuts_at(np.array([3, 1]), 5).tolist()
    [0, 1, 3, 5]
    """
    return np.unique(np.r_[0, inner, n]).astype(np.int64)


def cuts_above(gaps: Floats, threshold: float) -> Ints:
    """Cut every gap that is above ``threshold``.

    >>> cuts_above(np.array([0.1, 0.9, 0.2]), 0.15).tolist()
    [0, 2, 3, 4]
    """
    return cuts_at(np.flatnonzero(gaps > threshold) + 1, len(gaps) + 1)


def run_cuts(labels: Ints | Floats) -> Ints:
    """Cut wherever neighboring units carry different labels (labels may recur later)."""
    return cuts_at(np.flatnonzero(np.diff(labels)) + 1, len(labels))


def cheapest_cuts(
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
    wanted = min(max(segments or 1, fewest_segments(sizes, budget)), n) if known else 1
    if known and wanted == n:  # each unit is a segment
        return np.arange(n + 1), float(sum(row[-1] for row in cost(np.arange(n)))) + n * penalty
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


def boundary_probabilities(cost: Cost, backwards: Cost, n: int, penalty: float = 0.0) -> Floats:
    """Return the probability of a boundary in each gap, where a segmentation's is proportional to exp(-its cost).

    Sums over all segmentations by the forward-backward recursion, where `cheapest_cuts` takes the best.

    Parameters
    ----------
    backwards : the cost of segments of the same units in reverse.

    Returns
    -------
    (n - 1,) in 0..1.
    """
    before, after = _log_weights(cost, n, penalty), _log_weights(backwards, n, penalty)
    return np.asarray(np.exp(before[1:-1] + after[-2:0:-1] - before[-1]))


def _log_weights(cost: Cost, n: int, penalty: float) -> Floats:
    """Return the logarithm of the summed weights of all segmentations of the first 0..n units."""
    found = np.zeros(n + 1)
    for end, value in enumerate(cost(np.zeros(n, dtype=np.int64)), start=1):
        found[end] = np.logaddexp.reduce(found[:end] - value - penalty)
    return found


def fewest_segments(sizes: Ints, budget: Ints) -> int:
    """Return the least number of segments within the budget."""
    total, n = np.r_[0, np.cumsum(sizes)], len(sizes)
    furthest = np.maximum(np.searchsorted(total, total[:-1] + budget, "right") - 1, np.arange(1, n + 1))
    furthest = np.maximum.accumulate(furthest)  # a segment may end early, so that the next starts where there is room
    end = count = 0
    while end < n:
        end, count = int(furthest[end]), count + 1
    return count


def peaks(gaps: Floats, threshold: float = -np.inf, apart: int = 0) -> Ints:
    """Find the gaps above ``threshold`` that are higher than both their neighbors, and well apart.

    Equal neighbors are one peak, in their middle. Peaks are taken from the highest down, of equals the first, each
    unless an end of the text or a peak that is taken already is within ``apart`` gaps.

    Returns
    -------
    Ascending indices of the gaps.

    >>> gaps = np.array([3.0, 4.0, 4.0, 4.0, 0.0, 2.5, 1.0])
    >>> peaks(gaps, 2.0).tolist(), peaks(gaps, 2.0, apart=3).tolist()
    ([2, 5], [])
    """
    ends = run_cuts(gaps)
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


def divisive_cuts(sums: Floats, sizes: Ints, minimum: int = 0) -> tuple[Ints, Floats]:
    """Divide greedily, each time so that the inside density grows most, until nothing can be divided.

    The inside density is the sum of a similarity within segments over their area. It is a ratio of two sums over
    all segments, so no additive cost, and `cheapest_cuts` cannot search it. Each segment is divided where its own
    halves are densest; of all segments, the one goes first that leaves the whole text densest. Of places as good,
    it is the last. O(n m) in memory; O(n) a division and O(n) for each new segment, up to O(n^2).

    Parameters
    ----------
    sums : (m, n); ``sums[d, i]`` is the sum over the units i, ..., i + d (see `bands.block_sums`). Only pairs
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
            place = np.arange(first, last + 1)
            before, after = inside(start, place), inside(place, end)
            both = areas[place - start] + areas[end - place]
            best = _last_best((before + after) / both)
            cut[start], left[start], right[start], halved[start] = place[best], before[best], after[best], both[best]

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
