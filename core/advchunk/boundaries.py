"""Choose cuts from gap scores, costs or labels. See `records` for the conventions."""

from __future__ import annotations

import numpy as np

from advchunk.costs import Cost
from advchunk.records import Floats, Ints


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


def runs(labels: Ints) -> Ints:
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
        choice = sums.argmin(axis=1)
        best[rows, end] = sums[np.arange(len(choice)), choice]
        previous[rows, end] = start + choice
    row, path = wanted if known else 0, [n]
    while path[-1]:
        path.append(int(previous[row, path[-1]]))
        row -= known
    return np.array(path[::-1], dtype=np.int64), float(best[wanted if known else 0, n])


def fewest(sizes: Ints, budget: Ints) -> int:
    """Return the least number of segments within the budget."""
    total, n = np.r_[0, np.cumsum(sizes)], len(sizes)
    furthest = np.maximum(np.searchsorted(total, total[:-1] + budget, "right") - 1, np.arange(1, n + 1))
    furthest = np.maximum.accumulate(furthest)  # a segment may end early, so that the next starts where there is room
    end = count = 0
    while end < n:
        end, count = int(furthest[end]), count + 1
    return count
