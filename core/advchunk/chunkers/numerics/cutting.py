"""Choice of cuts from gap scores, segment costs or labels. See `records` for the conventions."""

from collections.abc import Iterable, Sequence

import numpy as np

from advchunk.chunkers.numerics.costs import Block, SegmentCost
from advchunk.records import Floats, Ints

_RTOL = 1e-12  # costs that differ by less are ties, so that all machines break them the same way


def cuts_at(inner: Ints, n: int) -> Ints:
    """Return the cuts of ``n`` units: 0, the starts ``inner`` of segments in ascending order, and ``n``."""
    return np.unique(np.r_[0, inner, n]).astype(np.int64)


def cuts_above(gaps: Floats, threshold: float) -> Ints:
    """Return cuts at every gap whose score exceeds ``threshold``."""
    return cuts_at(np.flatnonzero(gaps > threshold) + 1, len(gaps) + 1)


def run_cuts(labels: Ints | Floats) -> Ints:
    """Return cuts wherever neighboring units have different labels (labels may recur later)."""
    return cuts_at(np.flatnonzero(np.diff(labels)) + 1, len(labels))


def cheapest_cuts(
    cost: SegmentCost, sizes: Ints, budget: Ints, *, minimum: int = 0, penalty: float = 0.0, segments: int | None = None
) -> tuple[Ints, float]:
    """Return the segmentation of least summed cost plus ``penalty`` per segment, and its total cost.

    Exact, ties to the longest last segment, in O(n m d) for segments of at most m units. ``sizes`` and ``minimum`` are
    in tokens, as is ``budget``, of the largest segment from each unit; one unit is always allowed. If ``minimum`` is
    out of reach, as few as possible are smaller; ``segments`` is the number, or the nearest in the budget.
    """
    n = len(sizes)
    total = np.r_[0, np.cumsum(sizes)]
    most = max(int(budget.max()), 1)  # units of a segment: units without tokens do not limit it
    furthest = np.maximum(np.arange(n) - most + 1, 0)
    first = np.clip(np.searchsorted(total, total[1:] - budget.max()), furthest, np.arange(n))
    fixed = segments is not None
    number = min(max(segments or 1, fewest_segments(sizes, budget)), n) if fixed else 1
    if fixed and number == n:  # each unit is a segment
        return np.arange(n + 1), float(sum(row[-1] for row in cost(np.arange(n)))) + n * penalty
    if not (fixed or minimum) and np.all(budget == budget[0]):
        return _cheapest_of_any_number(cost, first, penalty)
    best = np.full((number + 1, n + 1), np.inf)
    best[0, 0] = 0.0
    short = np.zeros((number + 1, n + 1), dtype=np.int64)  # segments below the minimum: fewest first, then cheapest
    previous = np.zeros((number + 1, n + 1), dtype=np.int64)
    reach = total[:-1] + budget  # limit on the end of a segment that starts at each unit
    rows, before = (slice(1, None), slice(0, -1)) if fixed else (slice(0, 1), slice(0, 1))
    for end, (start, value) in enumerate(zip(first.tolist(), cost(first), strict=True), start=1):
        sums = best[before, start:end] + value + penalty
        sums[:, :-1][:, reach[start : end - 1] < total[end]] = np.inf
        if minimum:
            few = short[before, start:end] + (total[end] - total[start:end] < minimum)
            few[np.isinf(sums)] = n + 1
            short[rows, end] = few.min(axis=1)
            sums[few > short[rows, end, None]] = np.inf
        least = sums.min(axis=1, keepdims=True)
        choice = (sums <= least + _RTOL * np.abs(least)).argmax(axis=1)
        best[rows, end] = sums[np.arange(len(choice)), choice]
        previous[rows, end] = start + choice
    row, path = number if fixed else 0, [n]
    total_cost = float(best[row, n])
    while path[-1]:
        path.append(int(previous[row, path[-1]]))
        row -= fixed
    return np.array(path[::-1], dtype=np.int64), total_cost


def _cheapest_of_any_number(cost: SegmentCost, first: Ints, penalty: float) -> tuple[Ints, float]:
    """Return the cheapest segmentation if all segments that may end at a unit start at or after its ``first`` one."""
    best, previous = np.zeros(len(first) + 1), [0]
    for end, (start, value) in enumerate(zip(first.tolist(), cost(first), strict=True), start=1):
        sums = best[start:end] + value + penalty
        least = sums.min()
        choice = int((sums <= least + _RTOL * abs(least)).argmax())
        best[end] = sums[choice]
        previous.append(start + choice)
    return _path(previous), float(best[-1])


def _path(previous: Sequence[int]) -> Ints:
    """Return the cuts of a search that came to each end from a ``previous`` one."""
    path = [len(previous) - 1]
    while path[-1]:
        path.append(previous[path[-1]])
    return np.array(path[::-1], dtype=np.int64)


def cheapest_path(n: int, matrices: Iterable[tuple[Block, Floats]], penalty: float) -> Ints:
    """Return the `cheapest_cuts` without size limits, for costs (ends, starts) in memory, infinite for no segment."""
    best, previous = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    best[0] = 0.0
    for (ends, starts), matrix in matrices:
        middle, row = ends.start, np.arange(len(matrix))
        sums = matrix[:, : middle - starts.start] + best[starts.start : middle]
        choice = sums.argmin(axis=1)
        best[ends], previous[ends] = sums[row, choice] + penalty, starts.start + choice
        near = matrix[:, middle - starts.start :] + penalty
        while near.size:  # until paths with several ends in the block stay
            sums = near + best[middle : starts.stop]
            choice = sums.argmin(axis=1)
            better = sums[row, choice] < best[ends]
            if not better.any():
                break
            best[ends] = np.where(better, sums[row, choice], best[ends])
            previous[ends] = np.where(better, middle + choice, previous[ends])
    return _path(previous.tolist())


def fewest_segments(sizes: Ints, budget: Ints) -> int:
    """Return the minimum number of segments within the budget."""
    total, n = np.r_[0, np.cumsum(sizes)], len(sizes)
    ends, most = np.arange(1, n + 1), max(int(budget.max()), 1)  # as in `cheapest_cuts`
    furthest = np.clip(np.searchsorted(total, total[:-1] + budget, "right") - 1, ends, ends + most - 1)
    furthest = np.maximum.accumulate(furthest)  # a segment may end early so that the next has a larger budget
    end = count = 0
    while end < n:
        end, count = int(furthest[end]), count + 1
    return count


def find_peaks(gaps: Floats, threshold: float = -np.inf, apart: int = 0) -> Ints:
    """Return local maxima (plateau middles), selected from the highest, not within ``apart`` of another or an end."""
    ends = run_cuts(gaps)
    height = gaps[ends[:-1]]
    padded = np.r_[-np.inf, height, -np.inf]
    top = np.flatnonzero((height > padded[:-2]) & (height > padded[2:]) & (height > threshold))
    middle = (ends[top] + ends[top + 1] - 1) // 2
    selected, free = list[int](), np.ones(len(gaps), dtype=bool)
    free[:apart] = free[max(len(gaps) - apart, 0) :] = False
    for i in middle[np.argsort(-height[top], kind="stable")].tolist():
        if free[i]:
            selected.append(i)
            free[max(i - apart, 0) : i + apart + 1] = False
    return np.array(sorted(selected), dtype=np.int64)


def divisive_cuts(sums: Floats, sizes: Ints, minimum: int = 0) -> tuple[Ints, Floats]:
    """Return the inner cuts in the order of splits, (k,), and the inside density before the first and after each.

    The inside density, the summed similarity within segments over their area, is no additive cost, so `cheapest_cuts`
    cannot optimize it. Each segment is split where its own halves are densest; the split that makes the whole text
    densest comes first; ties go to the last position, as in Choi's code. Memory is O(n m), time up to O(n^2). From Choi
    2000, section 3.3. ``sums`` are (m, n), of `bands.block_sums`; sum and area count only pairs less than m units
    apart. ``sizes`` and ``minimum`` are in tokens.
    """
    m, n = sums.shape
    token = np.r_[0, np.cumsum(sizes)]
    length = np.arange(n + 1)
    far = np.maximum(length - m, 0)
    areas = (length**2 - far * (far + 1)).astype(sums.dtype)
    added = np.zeros(n + 1)  # sum that each unit adds to a window of the m - 1 units before it
    added[m:] = sums[m - 1, : n - m + 1] - (sums[m - 2, : n - m + 1] if m > 1 else 0)
    added = np.cumsum(added)

    def inside(start: Ints | int, end: Ints | int) -> Floats:
        near = np.minimum(end - start, m)
        rest = added[end] - added[start + near]
        return np.asarray(sums[near - 1, start] + rest.astype(sums.dtype))

    # Indexed by the first unit of a segment: its sum and area, and those of its halves after its best split.
    whole, area, left, right, halved = (np.zeros(n, dtype=sums.dtype) for _ in range(5))
    cut, ends = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)

    def add_segment(start: int, end: int) -> None:
        whole[start], area[start], ends[start] = inside(start, end), areas[end - start], end
        first = max(start + 1, int(np.searchsorted(token, token[start] + minimum)))
        last = min(end - 1, int(np.searchsorted(token, token[end] - minimum, "right")) - 1)
        left[start] = -np.inf  # unless it can be split
        if first <= last:
            middle = np.arange(first, last + 1)
            before, after = inside(start, middle), inside(middle, end)
            both = areas[middle - start] + areas[end - middle]
            best = _last_argmax((before + after) / both)
            cut[start], left[start], right[start], halved[start] = middle[best], before[best], after[best], both[best]

    left[:] = -np.inf
    add_segment(0, n)
    total, extent = whole[0], area[0]
    order, density = list[int](), [total / extent]
    while True:
        totals, extents = total - whole + left + right, extent - area + halved
        densities = totals / extents
        best = _last_argmax(densities)
        if np.isinf(densities[best]):
            return np.array(order, dtype=np.int64), np.array(density, dtype=np.float64)
        total, extent = totals[best], extents[best]
        order.append(int(cut[best]))
        density.append(densities[best])
        end = int(ends[best])
        add_segment(best, order[-1])
        add_segment(order[-1], end)


def _last_argmax(values: Floats) -> int:
    return len(values) - 1 - int(values[::-1].argmax())
