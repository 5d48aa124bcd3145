"""Additive segment costs for `cutting.cheapest_cuts`.

``cost(first)`` takes, for each unit, the first unit that a segment ending after it may start at, (n,), non-decreasing.
For end = 1..n it yields the costs of the segments that end there and start at ``first[end - 1]``, ..., ``end - 1``.
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
    """Yield blocks that cover the segments of a `SegmentCost`, in the order of their ends."""
    for low in range(1, len(first) + 1, _BLOCK):
        high = min(low + _BLOCK, len(first) + 1)
        yield slice(low, high), slice(int(first[low - 1]), high - 1)


def by_length(values: Floats, block: Block) -> Floats:
    """Return ``values[m]`` for the m >= 0 units from each start of a block to each end, (ends, starts)."""
    ends, starts = block
    lengths = np.arange(ends.stop - 1 - starts.start, ends.start - starts.stop, -1)
    line = values[np.maximum(lengths, 0)]
    shape, step = (ends.stop - ends.start, starts.stop - starts.start), line.itemsize
    # A view of `line`: each row starts one value before the row above.
    return np.ndarray(shape, line.dtype, line, offset=(shape[0] - 1) * step, strides=(-step, step))


@dataclass(frozen=True, slots=True)
class BlockCost:
    """A `SegmentCost` whose values are computed for a block at once."""

    # Returns a function that gives the (ends, starts) costs of a block; those of no segment are ignored. It is called
    # for the blocks in the order of `block_slices`, and may keep what it needs for the next one.
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


def evidence(rows: Floats) -> SegmentCost:
    """Return the negative log evidence, in nats, that the rows of a segment share a mean of their own.

    Row = document mean + segment mean + noise, with random effects. The variance of segment means is the covariance of
    neighbors, which nearly always share a segment. m rows cost, up to a constant for each row,

        c/2 ((sum of |x|^2 - |sum of x|^2 / (m + noise/shared)) / noise + ln(1 + m shared/noise))

    for c `effective_coordinates`: too few if a few topics make rows similar, which is conservative. From Searle,
    Casella & McCulloch 1992, "Variance Components".
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
    """Return the number of independent coordinates, 1..d, with the observed mean squared product of two rows."""
    n, width = rows.shape
    squares = np.einsum("ij,ij->i", rows, rows)
    spread = float(squares.mean()) or 1.0
    products = rows @ rows.T if n < width else rows.T @ rows  # both have the same Frobenius norm
    mean_squared_product = (np.square(products).sum() - squares @ squares) / max(n * (n - 1), 1)
    return float(spread**2 / max(mean_squared_product, spread**2 / width))


def dirichlet(terms: Terms, pseudo: float | Floats) -> SegmentCost:
    """Return the negative log Dirichlet compound multinomial of `BayesSegParams`, with prior counts ``pseudo`` > 0."""
    from scipy.special import gammaln

    prior = np.broadcast_to(np.asarray(pseudo, dtype=np.float64), max(terms.size, 1))
    counts, mass, least = np.arange(len(terms.ids) + 1), prior.sum(), gammaln(prior)

    def value(count: Ints, term: Ints) -> Floats:
        return np.asarray(gammaln(count + prior[term]) - least[term])

    table, length_cost = value(counts, np.zeros_like(counts)), gammaln(counts + mass) - gammaln(mass)
    is_uniform = bool(np.all(prior == prior[0]))
    return _count_cost(terms, (lambda count, _: table[count]) if is_uniform else value, length_cost)


def utiyama_isahara(terms: Terms) -> BlockCost:
    """Return a segment's negative log-probability with Laplace's estimator (Utiyama & Isahara, ACL 2001, section 3).

    For counts n_w with sum N, in a text of M terms, V distinct, ln M + sum over w of n_w ln((N + V) / (n_w + 1)).
    """
    counts, types, length = np.arange(len(terms.ids) + 1.0), len(np.unique(terms.ids)), max(len(terms.ids), 1)
    table = counts * np.log1p(counts)
    price = np.log(length) + counts * np.log(np.maximum(counts + types, 1))
    return _count_cost(terms, lambda count, _: table[count], price)


def _count_cost(terms: Terms, value: Callable[[Ints, Ints], Floats], length_cost: Floats) -> BlockCost:
    """Return ``length_cost[N] - sum of value(n_w, w)`` as the cost of a segment of N terms with counts n_w."""
    n = len(terms)
    units = np.repeat(np.arange(n), np.diff(terms.edges))
    # An entry for each term of a unit, sorted by term.
    key, count = np.unique(terms.ids * n + units, return_counts=True)
    term, unit = key // n, key % n
    total = np.r_[0, np.cumsum(count)]
    by_unit = np.argsort(unit, kind="stable")
    bounds = np.r_[0, np.cumsum(np.bincount(unit, minlength=n))]

    def start() -> Callable[[Block], Floats]:
        kept = np.zeros(n)

        def values(block: Block) -> Floats:
            ends, starts = block
            height, width, rows = ends.stop - ends.start, starts.stop - starts.start, np.arange(ends.stop - ends.start)
            own = bounds[ends.start - 1 : ends.stop]
            new, row = by_unit[own[0] : own[-1]], np.repeat(rows, np.diff(own))
            earlier = new - np.searchsorted(key, term[new] * n + starts.start)  # entries of the same term within reach
            alone, nearest, is_repeated = value(count[new], term[new]), np.cumsum(earlier) - earlier, earlier > 0
            entry = np.repeat(new, earlier)
            place = entry - 1 - np.arange(len(entry)) + np.repeat(nearest, earlier)
            occurrences, ids = total[entry] - total[place], term[entry]  # from that place on, without the entry
            worth = value(occurrences + count[entry], ids) - value(occurrences, ids)  # of the entry behind these
            more = np.diff(worth, prepend=0.0)  # than behind the occurrences from the next place on
            more[nearest[is_repeated]] = worth[nearest[is_repeated]] - alone[is_repeated]
            index = np.repeat(row, earlier) * width + starts.stop - 1 - unit[place]  # the last start comes first
            added = np.bincount(index, more, height * width).astype(np.float64, copy=False).reshape(height, width)
            added[rows, height - 1 - rows] += np.bincount(row, alone, height)
            np.add.accumulate(added, axis=1, out=added)
            added[0] += kept[starts][::-1]
            np.add.accumulate(added, axis=0, out=added)
            kept[starts] = added[-1, ::-1]
            edges = terms.edges[ends.start - 1 : ends.stop]
            costs: Floats = length_cost.take(edges[1:, None] - terms.edges[starts])
            costs -= added[:, ::-1]
            return costs

        return values

    return BlockCost(start)
