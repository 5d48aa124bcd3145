"""Evidence of topics in text whose neighboring units are alike whatever its topic.

`costs.evidence` takes the units of a segment for independent, given its topic. Real text is coherent over some 2 to 8
sentences within a topic, too, which that model takes for more topics. `learn_noise` measures the coherence that is left
inside the segments found so far, `discounted` discounts the evidence by it, and both alternate until the segments stay.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from advchunk.numerics import search
from advchunk.numerics.costs import SegmentCost, effective_coordinates
from advchunk.numerics.signals import deviations
from advchunk.records import Floats, Ints

_LAGS = 8  # units over which coherence is measured
_REACH = 1000  # units of the longest segment from which the noise is learned: time grows in proportion to the text
_ROUNDS = 6
_FEW_PAIRS = 30  # weight of "no coherence", in pairs of units: short texts have too few pairs to measure it
_BLOCK = 64  # ends whose sums are multiplied at once
_MIN_SHARED = 0.01  # of spread / n, as in `costs.evidence`
_MIN_FREEDOM = 0.3  # of n: least degrees of freedom of the residuals
_PENALTY = 2.0  # of a segment while the noise is learned, in units of ln(n)
_VECTORS, _WORDS = 0.75, 0.15  # weights of the two kinds of evidence, chosen by leaving one set of texts out


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Prefix sums of n weighted rows, about their weighted mean.

    Parameters
    ----------
    rows : (n, d) rows less their weighted mean.
    weights : (n,) the precision of each row, with mean 1.
    total : (n + 1, d) prefix sums of weights * rows.
    mass : (n + 1,) prefix sums of weights.
    spread : weighted mean of the squared lengths of rows.
    coordinates : effective number of independent coordinates (`costs.effective_coordinates`).
    """

    rows: Floats
    weights: Floats
    total: Floats
    mass: Floats
    spread: float
    coordinates: float

    def __len__(self) -> int:
        return len(self.rows)

    def squares(self, first: Ints) -> Iterator[Floats]:
        """Yield the squared length of the sum of each segment, in the order of `costs.SegmentCost`."""
        total, n = self.total, len(self)
        lengths = np.einsum("ij,ij->i", total, total)
        for low in range(1, n + 1, _BLOCK):
            ends = np.arange(low, min(low + _BLOCK, n + 1))
            start = int(first[low - 1])
            products = total[ends] @ total[start : ends[-1]].T
            for end, row in zip(ends.tolist(), products, strict=True):
                inside = slice(int(first[end - 1]), end)
                near = row[inside.start - start : end - start]
                yield np.maximum(lengths[end] + lengths[inside] - 2 * near, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """The noise of the units of a topic, and the variance of topics.

    Parameters
    ----------
    variance : of the noise of a unit with weight 1, > 0.
    shared : variance of the topics' means, > 0.
    inflation : (n + 1,) for 0..n units, >= 1: how much larger the variance of a segment's sum is than if its units were
        independent.
    """

    variance: float
    shared: float
    inflation: Floats


def weighted_sums(rows: Floats, sizes: Ints) -> Sums:
    """Return the sums of rows whose precision grows with the square root of their units' sizes in tokens."""
    weights = np.sqrt(np.maximum(sizes, 1).astype(np.float64))
    weights /= weights.mean()
    rows = deviations(rows.astype(np.float64))
    rows = rows - weights @ rows / len(rows)
    weighted = weights[:, None] * rows
    zero = np.zeros((1, rows.shape[1]))
    spread = float(np.einsum("ij,ij->", weighted, rows)) / len(rows) or 1.0
    coordinates = effective_coordinates(np.sqrt(weights)[:, None] * rows)
    return Sums(
        rows,
        weights,
        np.vstack([zero, np.cumsum(weighted, axis=0)]),
        np.r_[0.0, np.cumsum(weights)],
        spread,
        coordinates,
    )


def discounted(sums: Sums, noise: Noise, squares: SegmentCost | None = None) -> SegmentCost:
    """Return the negative log evidence, in nats, that a segment has a topic of its own, against none.

    As `costs.evidence`, with rows of unequal precision, whose noise is correlated. A segment of k units with weights of
    sum m, and weighted rows of sum S, costs

        c/2 (ln(1 + m r / phi) - |S|^2 r / (v phi (phi + m r))),    r = shared / v

    for noise of variance v, inflated to phi(k) v (`Noise`), and c effective coordinates. With equal weights and phi = 1
    this is `costs.evidence` less a constant for each row.

    Parameters
    ----------
    squares : `Sums.squares`, if they are stored.
    """
    ratio, half = noise.shared / noise.variance, sums.coordinates / 2
    squares = squares or sums.squares

    def cost(first: Ints) -> Iterator[Floats]:
        for end, (start, square) in enumerate(zip(first.tolist(), squares(first), strict=True), start=1):
            phi = noise.inflation[end - start : 0 : -1]
            signal = (sums.mass[end] - sums.mass[start:end]) * ratio
            yield half * (np.log1p(signal / phi) - square * (ratio / noise.variance) / (phi * (phi + signal)))

    return cost


def first_noise(sums: Sums) -> Noise:
    """Return the noise if neighbors share a topic and nothing else: the largest covariance at lags 1 to 4 is the topics'.

    Lag 1 alone is negative where speakers alternate.
    """
    n = len(sums)
    scale = np.sqrt(sums.weights)
    rows = scale[:, None] * sums.rows
    covariances = [
        float(np.einsum("ij,ij->", rows[:-lag], rows[lag:])) / float(scale[:-lag] @ scale[lag:])
        for lag in range(1, min(5, n))
    ]
    shared = max(*covariances, 0.0, _MIN_SHARED * sums.spread / n)
    return Noise(max(sums.spread - shared, _MIN_SHARED * sums.spread), shared, np.ones(n + 1))


def learn_noise(sums: Sums, cuts: Ints, before: Noise) -> Noise:
    """Return the noise inside the segments of ``cuts``, given the ``before`` they were found with.

    With residuals y about the means of K segments, all by moments:

        v      = sum of w |y|^2 / (n - K phi), at least .3 n
        rho_l  = mean of (y_i . y_(i+l) + v phi / k) / v over pairs of one segment of k units, weighted by sqrt(w_i w_(i+l))
        phi(k) = max(1, 1 + 2 sum over lags l <= 8 of rho_l max(0, 1 - l / k))
        shared = sum of (|S|^2 - m phi(k) v) / sum of m^2, over segments

    Residuals about a mean are negatively related, by v phi / k. Each rho of p pairs is multiplied by p / (p + 30). The phi
    of the first two formulas is the one ``before``, of 16 units.
    """
    n, lengths, weights = len(sums), np.diff(cuts), sums.weights
    segment = np.repeat(np.arange(len(lengths)), lengths)
    segment_sums, masses = np.diff(sums.total[cuts], axis=0), np.diff(sums.mass[cuts])
    residuals = sums.rows - (segment_sums / masses[:, None])[segment]
    phi = float(before.inflation[min(n, 2 * _LAGS)])
    scatter = float(weights @ np.einsum("ij,ij->i", residuals, residuals))
    measured = scatter / max(n - len(lengths) * phi, _MIN_FREEDOM * n)
    variance = max(measured, _MIN_SHARED * sums.spread)
    count, inflation = np.maximum(np.arange(n + 1.0), 1), np.ones(n + 1)
    for lag in range(1, min(_LAGS + 1, n)):
        (pairs,) = np.nonzero(segment[lag:] == segment[:-lag])
        if not len(pairs):
            break
        scale = np.sqrt(weights[pairs] * weights[pairs + lag])
        products = np.einsum("ij,ij->i", residuals[pairs], residuals[pairs + lag])
        products += measured * phi / lengths[segment[pairs]]
        rho = float(scale @ products) / float(scale.sum()) / variance * len(pairs) / (len(pairs) + _FEW_PAIRS)
        inflation += 2 * rho * np.maximum(1 - lag / count, 0)
    inflation = np.maximum(inflation, 1)
    excess = np.einsum("ij,ij->i", segment_sums, segment_sums) - masses * inflation[lengths] * variance
    shared = max(float(excess.sum()) / float(masses @ masses), _MIN_SHARED * sums.spread / n)
    return Noise(variance, shared, inflation)


def self_consistent(rows: Floats, sizes: Ints, words: SegmentCost) -> tuple[SegmentCost, Noise]:
    """Return the cost of a segment by its vectors and words, with noise that agrees with the segments it leads to.

    The penalty is 2 ln(n) a segment, and half of it in the first round: coherence inside coarse segments may be topics, so
    the search starts from many. A text of sharp topics is left as it is, and one that drifts becomes coarser. The evidence of the vectors
    counts .75, that of the words .15: the words of neighbors repeat, too, and both see the same topics. Segments are at
    most 1,000 units long here, so the time of n units is O(n), beyond that of ``words``, after 1,000 of them.

    Parameters
    ----------
    rows : (n, d) unit vectors.
    sizes : (n,) tokens of each unit; only their ratios matter.
    words : cost of a segment's words, in nats.
    """
    n, sums = len(rows), weighted_sums(rows, sizes)
    first = np.maximum(np.arange(1, n + 1) - _REACH, 0)
    squares, lexical = stored(sums.squares, first), stored(words, first)
    noise, price, cuts = first_noise(sums), _PENALTY / 2 * np.log(n), np.arange(n + 1)
    for _ in range(_ROUNDS + 1):
        cost = both(discounted(sums, noise, squares), lexical)
        result, _ = search.cheapest_cuts(cost, np.ones(n, dtype=np.int64), np.full(n, _REACH), penalty=price)
        if len(result) == 2 or np.array_equal(result, cuts):
            break
        cuts, price = result, _PENALTY * np.log(n)
        noise = learn_noise(sums, cuts, noise)
    return both(discounted(sums, noise), words), noise


def both(vectors: SegmentCost, words: SegmentCost) -> SegmentCost:
    """Return the weighted sum of the costs by vectors and by words."""

    def cost(first: Ints) -> Iterator[Floats]:
        for semantic, lexical in zip(vectors(first), words(first), strict=True):
            yield _VECTORS * semantic + _WORDS * lexical

    return cost


def stored(cost: SegmentCost, first: Ints) -> SegmentCost:
    """Return a cost that keeps its values for segments from ``first``, to be asked for these again."""
    rows = [np.asarray(row) for row in cost(first)]
    return lambda _: iter(rows)
