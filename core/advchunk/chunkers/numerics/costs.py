"""Additive segment costs for `cutting.cheapest_cuts`.

``cost(first)`` takes, for each unit, the first unit that a segment ending after it may start at, (n,), non-decreasing.
For end = 1..n it yields the costs of the segments that end there and start at ``first[end - 1]``, ..., ``end - 1``, so
a cost may compute each row from the previous one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from advchunk.models.signals import deviations, neighbor_similarity, prefix_sums
from advchunk.records import Floats, Ints
from advchunk.text.terms import Terms

SegmentCost: TypeAlias = Callable[[Ints], Iterator[Floats]]
Block: TypeAlias = tuple[slice, slice]
"""Successive ends, and all starts of their segments, of which the matrix of costs is computed at once."""

_BLOCK = 64  # ends
_MIN_SHARED = 0.01  # of spread / n, the level of chance; at this minimum n rows form one segment


def block_slices(first: Ints) -> Iterator[Block]:
    """Yield blocks that cover the segments of a `SegmentCost`, in the order of their ends.

    >>> list(block_slices(np.array([0, 0, 1])))
    [(slice(1, 4, None), slice(0, 3, None))]
    """
    for low in range(1, len(first) + 1, _BLOCK):
        high = min(low + _BLOCK, len(first) + 1)
        yield slice(low, high), slice(int(first[low - 1]), high - 1)


def by_length(values: Floats, block: Block) -> Floats:
    """Return ``values[m]`` for the m units from each start of a block to each end, (ends, starts); ``values[0]`` if
    none.
    """
    ends, starts = block
    lengths = np.arange(ends.stop - 1 - starts.start, ends.start - starts.stop, -1)
    line = values[np.maximum(lengths, 0)]
    shape, step = (ends.stop - ends.start, starts.stop - starts.start), line.itemsize
    # A view of `line`: each row starts one value before the row above.
    return np.ndarray(shape, line.dtype, line, offset=(shape[0] - 1) * step, strides=(-step, step))


@dataclass(frozen=True, slots=True)
class BlockCost:
    """A `SegmentCost` whose values are computed for a block at once.

    Parameters
    ----------
    start : returns a function of a block that returns its costs, (ends, starts); those of no segment are ignored. It is
        called for each block in the order of `block_slices`, and may keep what it needs for the next one.
    """

    start: Callable[[], Callable[[Block], Floats]]

    def blocks(self, first: Ints) -> Iterator[tuple[Block, Floats]]:
        """Yield each block with its costs."""
        values = self.start()
        return ((block, values(block)) for block in block_slices(first))

    def __call__(self, first: Ints) -> Iterator[Floats]:
        """Yield the costs of the segments that end at each unit."""
        lows = first.tolist()
        for (ends, starts), values in self.blocks(first):
            for end, row in enumerate(values, start=ends.start):
                yield row[lows[end - 1] - starts.start : end - starts.start]


def by_blocks(cost: Callable[[Block], Floats]) -> BlockCost:
    """Return the cost of a function that keeps nothing from one block to the next."""
    return BlockCost(lambda: cost)


def evidence(rows: Floats) -> SegmentCost:
    """Return the negative log evidence, in nats, that the rows of a segment share a mean of their own.

    One-way analysis of variance with random effects, with all parameters estimated from the rows: row = document mean
    + segment mean + noise. The variance of segment means is estimated by the covariance of neighbors, which nearly
    always share a segment; the noise is the rest of the spread. With the segment mean integrated out, m rows x cost,
    up to a constant for each row,

        c/2 ((sum of |x|^2 - |sum of x|^2 / (m + noise/shared)) / noise + ln(1 + m shared/noise))

    c is the effective number of independent coordinates, the number that would give the observed mean squared product
    of two rows. If a few topics make rows similar, c is too small, which makes the evidence conservative. Prefix sums
    make a segment O(d), without a Gram matrix. From Searle, Casella & McCulloch 1992, "Variance Components", chapter 3.
    """
    n = len(rows)
    rows = deviations(rows.astype(np.float64))
    squares = np.einsum("ij,ij->i", rows, rows)
    spread = float(squares.mean()) or 1.0
    shared = max(float(neighbor_similarity(rows).sum()) / n, _MIN_SHARED * spread / n)
    noise = spread - shared
    half = effective_coordinates(rows) / 2
    total = prefix_sums(rows)
    powers = np.r_[0.0, np.cumsum(squares)]
    counts = np.arange(n + 1, dtype=np.float64)
    log_determinant = np.log1p(counts * shared / noise)

    def cost(first: Ints) -> Iterator[Floats]:
        for end, start in enumerate(first.tolist(), start=1):
            inside = total[end] - total[start:end]
            m = slice(end - start, 0, -1)
            about_mean = np.einsum("ij,ij->i", inside, inside) / (counts[m] + noise / shared)
            yield half * ((powers[end] - powers[start:end] - about_mean) / noise + log_determinant[m])

    return cost


def effective_coordinates(rows: Floats) -> float:
    """Return the number of independent coordinates, 1..d, that would give the observed mean squared product of two
    rows.
    """
    n, width = rows.shape
    squares = np.einsum("ij,ij->i", rows, rows)
    spread = float(squares.mean()) or 1.0
    products = rows @ rows.T if n < width else rows.T @ rows  # both have the same Frobenius norm
    mean_squared_product = (np.square(products).sum() - squares @ squares) / max(n * (n - 1), 1)
    return float(spread**2 / max(mean_squared_product, spread**2 / width))


def dirichlet(terms: Terms, pseudo: float | Floats) -> SegmentCost:
    """Return the negative log-likelihood of a segment's terms with their distribution integrated out.

    The Dirichlet compound multinomial: for counts n_w with sum N and prior counts ``pseudo`` a_w > 0 with sum A,

        ln G(A) - ln G(N + A) + sum over w of (ln G(n_w + a_w) - ln G(a_w))

    From Eisenstein & Barzilay 2008, "Bayesian Unsupervised Topic Segmentation", EMNLP, section 3.1.
    """
    from scipy.special import gammaln

    prior = np.broadcast_to(np.asarray(pseudo, dtype=np.float64), max(terms.size, 1))
    counts, mass = np.arange(len(terms.ids) + 1), prior.sum()

    def growth(before: Ints, term: Ints) -> Floats:
        return np.asarray(np.log1p(1 / (prior[term] + before)))

    return _count_cost(terms, np.log(prior), growth, gammaln(counts + mass) - gammaln(mass))


def utiyama_isahara(terms: Terms) -> BlockCost:
    """Return the negative log-probability of a segment and its terms, with Laplace's estimator.

    For counts n_w with sum N, in a text of M terms, V of them distinct:

        ln M + sum over w of n_w ln((N + V) / (n_w + 1))

    From Utiyama & Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation", ACL, section 3.
    """
    counts, types, length = np.arange(len(terms.ids) + 2.0), len(np.unique(terms.ids)), max(len(terms.ids), 1)
    value = np.diff(counts * np.log1p(counts))
    price = np.log(length) + counts[:-1] * np.log(np.maximum(counts[:-1] + types, 1))
    steps = np.diff(value)
    return _count_cost(terms, np.full(terms.size, value[0]), lambda before, _: steps[before], price)


def _count_cost(
    terms: Terms, first_value: Floats, growth: Callable[[Ints, Ints], Floats], length_cost: Floats
) -> BlockCost:
    """Return ``length_cost[N] - sum over w of value(w, n_w)`` as the cost of a segment of N terms with counts n_w.

    The first occurrence of w has the value ``first_value[w]``; each later one adds ``growth(k, w)`` to the value of the
    occurrence before it, number k from 0. As the start of the segment moves back, n_w grows by 1 at each earlier
    occurrence. Each new end therefore takes time linear in the occurrences of its terms within reach, plus sums over
    starts; there is no loop over the vocabulary or over pairs of units. A term with more occurrences than that is
    counted for each pair of a start and an end.
    """
    n, order = len(terms), np.argsort(terms.ids, kind="stable")
    unit = np.repeat(np.arange(n), np.diff(terms.edges))[order]  # of each occurrence, sorted by term
    key = terms.ids[order] * n + unit
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))

    def value_of(term: int, height: int, starts: slice) -> Floats:
        """Return the value of a term, by its counts, that each end of a block adds: (ends, starts)."""
        places = unit[slice(*np.searchsorted(key, [term * n + starts.start, term * n + starts.stop]))] - starts.start
        count = np.r_[0, np.cumsum(np.bincount(places, minlength=starts.stop - starts.start))]
        grown = growth(np.arange(max(len(places) - 1, 0)), np.full(max(len(places) - 1, 0), term))
        value = np.r_[0.0, np.cumsum(first_value[term] + np.r_[0.0, np.cumsum(grown)])]
        inside = value[np.maximum(count[-height - 1 :, None] - count[:-1], 0)]
        return np.asarray(np.diff(inside, axis=0))

    def start() -> Callable[[Block], Floats]:
        value = np.zeros(n)

        def values(block: Block) -> Floats:
            ends, starts = block
            height, width = ends.stop - ends.start, starts.stop - starts.start
            edges = terms.edges[ends.start - 1 : ends.stop]
            new, rows = slice(edges[0], edges[-1]), np.arange(height)
            row, ids = np.repeat(rows, np.diff(edges)), terms.ids[new]
            earlier = position[new] - np.searchsorted(key, ids * n + starts.start)  # occurrences within reach
            distinct, which = np.unique(ids, return_inverse=True)
            is_frequent = np.bincount(which, earlier, len(distinct)) > height * width
            kept = ~is_frequent[which]
            row, ids, earlier, last = row[kept], ids[kept], earlier[kept], position[new][kept] - 1
            before = np.arange(earlier.sum()) - np.repeat(np.cumsum(earlier) - earlier, earlier)
            start = unit[np.repeat(last, earlier) - before] - starts.start
            index, more = np.repeat(row, earlier) * width + start, growth(before, np.repeat(ids, earlier))
            added = np.bincount(index, more, height * width).astype(np.float64).reshape(height, width)
            added[rows, rows - height] += np.bincount(row, first_value[ids], height)
            added = np.cumsum(added[:, ::-1], axis=1)[:, ::-1]
            for term in distinct[is_frequent].tolist():
                added += value_of(term, height, starts)
            added[0] += value[starts]
            sums = np.add.accumulate(added, axis=0, out=added)
            value[starts] = sums[-1]
            return np.asarray(length_cost[edges[1:, None] - terms.edges[starts]] - sums)

        return values

    return BlockCost(start)
