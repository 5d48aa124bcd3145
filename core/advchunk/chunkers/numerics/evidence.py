"""Evidence of topics in text whose neighboring units are alike whatever its topic.

`costs.evidence` takes the units of a segment for independent, given its topic. Real text is coherent over some 2 to 8
sentences within a topic, too. `learn_noise` measures the coherence that is left inside the segments found so far,
`discounted` discounts the evidence by it, and both alternate until the segments stay.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.numerics.costs import Block, BlockCost, by_length, effective_coordinates
from advchunk.models.signals import deviations, prefix_sums
from advchunk.records import Floats, Ints

_LAGS = 8  # units over which coherence is measured
_REACH = 600  # units of the longest segment from which the noise is learned: time grows in proportion to the text
_ROUNDS = 6
_FEW_PAIRS = 30  # weight of "no coherence", in pairs of units: short texts have too few pairs to measure it
_MIN_SHARED = 0.01  # of spread / n, as in `costs.evidence`
_MIN_FREEDOM = 0.3  # of n: least degrees of freedom of the residuals
_PENALTY = 2.0  # of a segment while the noise is learned, in units of ln(n)
_VECTORS, _WORDS = 0.75, 0.15  # weights of the two kinds of evidence, chosen by leaving one set of texts out


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Prefix sums of n weighted rows, about their weighted mean."""

    rows: Floats  # (n, d) rows less their weighted mean
    weights: Floats  # (n,) the precision of each row, with mean 1
    total: Floats  # (n + 1, d) prefix sums of weights * rows
    powers: Floats  # (n + 1,) squared lengths of total
    mass: Floats  # (n + 1,) prefix sums of weights
    spread: float  # weighted mean of the squared lengths of rows
    coordinates: float  # effective number of independent coordinates (costs.effective_coordinates)
    products: tuple[Floats, ...]  # for each lag from 0, (n - lag,) products of each row with the one so far behind it

    def __len__(self) -> int:
        return len(self.rows)

    def squares(self, block: Block) -> Floats:
        """Return the squared length of the sum of each segment of a block."""
        ends, starts = block
        values = self.powers[ends, None] + self.powers[starts] - 2 * (self.total[ends] @ self.total[starts].T)
        return np.asarray(np.maximum(values, 0, out=values))


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """The noise of the units of a topic, and the variance of topics."""

    variance: float  # of the noise of a unit with weight 1, > 0
    shared: float  # variance of the topics' means, > 0
    inflation: Floats  # (n + 1,) for 0..n units, >= 1: variance of a segment's sum over that of independent units


def weighted_sums(rows: Floats, sizes: Ints) -> Sums:
    """Return the sums of rows whose precision grows with the square root of their units' sizes in tokens."""
    weights = np.sqrt(np.maximum(sizes, 1).astype(np.float64))
    weights /= weights.mean()
    rows = deviations(rows.astype(np.float64))
    rows = rows - weights @ rows / len(rows)
    weighted = weights[:, None] * rows
    total = prefix_sums(weighted)
    spread = float(np.einsum("ij,ij->", weighted, rows)) / len(rows) or 1.0
    coordinates = effective_coordinates(np.sqrt(weights)[:, None] * rows)
    powers, mass = np.einsum("ij,ij->i", total, total), np.r_[0.0, np.cumsum(weights)]
    lags = range(min(_LAGS + 1, len(rows)))
    products = tuple(np.einsum("ij,ij->i", rows[: len(rows) - lag], rows[lag:]) for lag in lags)
    return Sums(rows, weights, total, powers, mass, spread, coordinates, products)


def discounted(sums: Sums, noise: Noise, block: Block, squares: Floats) -> Floats:
    """Return the negative log evidence, in nats, that each segment of a block has a topic of its own, against none.

    As `costs.evidence`, with rows of unequal precision, whose noise is correlated. A segment of k units with weights of
    sum m, and weighted rows of sum S, costs

        c/2 (ln(1 + m r / phi) - |S|^2 r / (v phi (phi + m r))),    r = shared / v

    for noise of variance v, inflated to phi(k) v (`Noise`), and c effective coordinates. With equal weights and phi = 1
    this is `costs.evidence` less a constant for each row. ``squares`` are `Sums.squares` of the block, which do not
    depend on the noise; the result has their precision.
    """
    ends, starts = block
    kind, ratio, phi = squares.dtype, noise.shared / noise.variance, noise.inflation[: ends.stop - starts.start]
    before, after = (ratio * (sums.mass[part] - sums.mass[starts.start]) for part in (starts, ends))
    variances = np.subtract.outer(after.astype(kind), before.astype(kind))
    np.maximum(variances, 0, out=variances)
    variances += by_length(phi.astype(kind), block)
    explained = squares * by_length((ratio / noise.variance / phi).astype(kind), block)
    explained /= variances
    values = np.log(variances, out=variances)
    values -= by_length(np.log(phi).astype(kind), block)
    values -= explained
    values *= sums.coordinates / 2
    return values


def first_noise(sums: Sums) -> Noise:
    """Return the noise if the largest covariance at lags 1 to 4 is the topics'; speakers may alternate at lag 1."""
    n = len(sums)
    scale = np.sqrt(sums.weights)
    rows = scale[:, None] * sums.rows
    pairs = [(slice(n - lag), slice(lag, n)) for lag in range(1, min(5, n))]
    covariances = [float(np.einsum("ij,ij->", rows[a], rows[b])) / float(scale[a] @ scale[b]) for a, b in pairs]
    shared = max(*covariances, 0.0, _MIN_SHARED * sums.spread / n)
    return Noise(max(sums.spread - shared, _MIN_SHARED * sums.spread), shared, np.ones(n + 1))


def learn_noise(sums: Sums, cuts: Ints, before: Noise) -> Noise:
    """Return the noise inside the segments of ``cuts``, by moments, given the ``before`` they were found with.

    With residuals y about the means of K segments, k units in one, and, in v and rho, phi ``before`` of 16 units:

        v      = sum of w |y|^2 / (n - K phi), at least .3 n
        rho_l  = mean of (y_i . y_(i+l) + v phi / k) / v over pairs of one segment, weighted by sqrt(w_i w_(i+l))
        phi(k) = max(1, 1 + 2 sum over lags l <= 8 of rho_l max(0, 1 - l / k))
        shared = sum of (|S|^2 - m phi(k) v) / sum of m^2, over segments

    Residuals are negatively related, by v phi / k. Each rho of p pairs is multiplied by p / (p + 30).
    """
    n, lengths, weights = len(sums), np.diff(cuts), sums.weights
    segment = np.repeat(np.arange(len(lengths)), lengths)
    segment_sums, masses = np.diff(sums.total[cuts], axis=0), np.diff(sums.mass[cuts])
    means = segment_sums / masses[:, None]
    along = np.einsum("ij,ij->i", sums.rows, means[segment])
    square = np.einsum("ij,ij->i", means, means)[segment]
    phi = float(before.inflation[min(n, 2 * _LAGS)])
    scatter = float(weights @ (sums.products[0] - 2 * along + square))
    measured = scatter / max(n - len(lengths) * phi, _MIN_FREEDOM * n)
    variance = max(measured, _MIN_SHARED * sums.spread)
    own = (measured * phi / lengths)[segment]
    count, inflation = np.maximum(np.arange(n + 1.0), 1), np.ones(n + 1)
    for lag, products in enumerate(sums.products[1:], start=1):
        inside = segment[lag:] == segment[:-lag]
        pairs = int(inside.sum())
        if not pairs:
            break
        scale = inside * np.sqrt(weights[:-lag] * weights[lag:])
        residual = products - along[:-lag] - along[lag:] + square[:-lag] + own[:-lag]
        rho = float(scale @ residual) / float(scale.sum()) / variance * pairs / (pairs + _FEW_PAIRS)
        inflation += 2 * rho * np.maximum(1 - lag / count, 0)
    inflation = np.maximum(inflation, 1)
    excess = np.einsum("ij,ij->i", segment_sums, segment_sums) - masses * inflation[lengths] * variance
    shared = max(float(excess.sum()) / float(masses @ masses), _MIN_SHARED * sums.spread / n)
    return Noise(variance, shared, inflation)


def self_consistent(rows: Floats, sizes: Ints, words: BlockCost) -> tuple[BlockCost, Noise]:
    """Return a segment's cost by vectors and words, with noise that agrees with the segments it leads to.

    The penalty is 2 ln(n) a segment, half in the first round: coherence in coarse segments may be topics, so the search
    starts from many. Vectors count .75, words .15, as both see the same topics. With at most 600 units a segment, time
    and memory are O(n). ``rows`` are unit vectors; only ratios of ``sizes`` matter; ``words`` is in nats.
    """
    n, sums = len(rows), weighted_sums(rows, sizes)
    stored = list(_stored_blocks(sums, words, np.maximum(np.arange(1, n + 1) - _REACH, 0)))
    noise, price, cuts = first_noise(sums), _PENALTY / 2 * np.log(n), np.arange(n + 1)
    for _ in range(_ROUNDS + 1):
        costs = ((block, _weighted(discounted(sums, noise, block, seen), lexical)) for block, seen, lexical in stored)
        result = cutting.cheapest_path(n, costs, price)
        if len(result) == 2 or np.array_equal(result, cuts):
            break
        cuts, price = result, _PENALTY * np.log(n)
        noise = learn_noise(sums, cuts, noise)

    def start() -> Callable[[Block], Floats]:
        lexical = words.start()
        return lambda block: _weighted(discounted(sums, noise, block, sums.squares(block)), _WORDS * lexical(block))

    return BlockCost(start), noise


def _weighted(vectors: Floats, words: Floats) -> Floats:
    """Return the sum of the costs by vectors, which are overwritten, and the weighted costs by words."""
    vectors *= _VECTORS
    vectors += words
    return vectors


def _stored_blocks(sums: Sums, words: BlockCost, first: Ints) -> Iterator[tuple[Block, Floats, Floats]]:
    """Yield each block, squares, weighted word costs (infinite: no segment); float32 makes learning noise 4x faster."""
    for block, values in words.blocks(first):
        ends, starts = (np.arange(part.start, part.stop) for part in block)
        lexical = (_WORDS * values).astype(np.float32)
        np.copyto(lexical, np.inf, where=(starts < first[ends - 1, None]) | (starts >= ends[:, None]))
        yield block, sums.squares(block).astype(np.float32), lexical
