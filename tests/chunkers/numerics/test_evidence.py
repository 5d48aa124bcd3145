"""The discounted evidence against slow, readable twins, and what the self-consistent one finds in planted texts."""

from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from advchunk import OptimalSemanticChunker
from advchunk.chunkers.numerics import costs, cutting, evidence
from advchunk.text.terms import terms_of
from growing import check_growth

rows = hnp.arrays(float, st.tuples(st.integers(2, 9), st.integers(1, 3)), elements=st.sampled_from([-1.0, 0.0, 1.0, 3]))
some = st.integers(0, 2**32 - 1)


def draw(seed, n):
    """Return sizes, cuts, and a noise of random inflation."""
    rng = np.random.default_rng(seed)
    inner = np.flatnonzero(rng.random(n - 1) < 0.3) + 1
    noise = evidence.Noise(*rng.uniform(0.1, 2, 2).tolist(), rng.uniform(1, 3, n + 1))
    return rng.integers(1, 40, n), cutting.cuts_at(inner, n), noise


def weigh(x, sizes):
    """Return the weights, and the rows less their weighted mean."""
    roots = [size**0.5 for size in sizes]
    weights = [root / (sum(roots) / len(roots)) for root in roots]
    x = x - x.mean(axis=0)
    return weights, x - sum(w * row for w, row in zip(weights, x, strict=True)) / len(x)


def segment_cost(x, sizes, noise, coordinates, start, end):
    weights, x = weigh(x, sizes)
    total = sum(weights[i] * x[i] for i in range(start, end))
    phi, r = noise.inflation[end - start], noise.shared / noise.variance
    m = sum(weights[start:end])
    return coordinates / 2 * (log(1 + m * r / phi) - total @ total * r / (noise.variance * phi * (phi + m * r)))


def discounted(sums, noise):
    return costs.BlockCost(lambda: lambda block: evidence.discounted(sums, noise, block, sums.squares(block)))


def moments(x, sizes, cuts, before):
    """Return the variance, the inflation, and the shared variance: pair by pair, segment by segment."""
    weights, x = weigh(x, sizes)
    n = len(x)
    spread = sum(w * row @ row for w, row in zip(weights, x, strict=True)) / n or 1.0
    segments = [range(a, b) for a, b in pairwise(cuts)]
    sums = [sum(weights[i] * x[i] for i in segment) for segment in segments]
    masses = [sum(weights[i] for i in segment) for segment in segments]
    y = [x[i] - sums[k] / masses[k] for k, segment in enumerate(segments) for i in segment]
    phi = before.inflation[min(n, 16)]
    measured = sum(w * row @ row for w, row in zip(weights, y, strict=True)) / max(n - len(segments) * phi, 0.3 * n)
    variance = max(measured, 0.01 * spread)
    rho = {}
    for lag in range(1, min(9, n)):
        pairs = [(i, i + lag, len(s)) for s in segments for i in s if i + lag in s]
        if not pairs:
            break
        scales = [(weights[i] * weights[j]) ** 0.5 for i, j, _ in pairs]
        values = [y[i] @ y[j] + measured * phi / k for i, j, k in pairs]
        mean = sum(s * v for s, v in zip(scales, values, strict=True)) / sum(scales)
        rho[lag] = mean / variance * len(pairs) / (len(pairs) + 30)
    inflation = [max(1, 1 + 2 * sum(r * max(0, 1 - lag / max(k, 1)) for lag, r in rho.items())) for k in range(n + 1)]
    excess = sum(
        total @ total - m * inflation[len(s)] * variance for total, m, s in zip(sums, masses, segments, strict=True)
    )
    return variance, inflation, max(excess / sum(m**2 for m in masses), 0.01 * spread / n)


@given(rows, some)
def test_the_cost_of_a_segment_is_its_formula(x, seed):
    sizes, _, noise = draw(seed, len(x))
    sums = evidence.weighted_sums(x, sizes)
    first = np.arange(len(x)) // 2
    for end, row in enumerate(discounted(sums, noise)(first), start=1):
        expected = [segment_cost(x, sizes, noise, sums.coordinates, i, end) for i in range(first[end - 1], end)]
        assert row == pytest.approx(expected, abs=1e-9)


@given(rows, some)
def test_noise_is_learned_by_its_moments(x, seed):
    sizes, cuts, before = draw(seed, len(x))
    noise = evidence.learn_noise(evidence.weighted_sums(x, sizes), cuts, before)
    variance, inflation, shared = moments(x, sizes, cuts.tolist(), before)
    assert (noise.variance, noise.shared) == pytest.approx((variance, shared), rel=1e-9, abs=1e-12)
    assert noise.inflation == pytest.approx(inflation)


@given(some, st.integers(1, 200), st.integers(1, 200), st.sampled_from([0.0, 0.5, 3.0]))
def test_the_cheapest_path_is_that_of_the_search_row_by_row(seed, n, reach, penalty):
    table = np.random.default_rng(seed).normal(size=(n + 1, n + 1)).cumsum(axis=0)
    first = np.maximum(np.arange(1, n + 1) - reach, 0)

    def matrix(block):
        ends, starts = block
        values = table[ends, starts].copy()
        values[costs.by_length(np.arange(n + 1), block) < 1] = np.inf
        for end, row in enumerate(values, start=ends.start):
            row[: first[end - 1] - starts.start] = np.inf
        return values

    rows = lambda first: (table[end, first[end - 1] : end] for end in range(1, n + 1))  # noqa: E731
    expected, _ = cutting.cheapest_cuts(rows, np.ones(n, int), np.full(n, reach), penalty=penalty)
    matrices = ((block, matrix(block)) for block in costs.block_slices(first))
    assert cutting.cheapest_path(n, matrices, penalty).tolist() == expected.tolist()


def planted(seed, lengths, correlation=0.0, width=64):
    """Return unit rows about a topic per segment, whose noise drifts: an autoregression of the first order."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    noise = rng.standard_normal((n, width))
    for i in range(1, n):
        noise[i] = correlation * noise[i - 1] + (1 - correlation**2) ** 0.5 * noise[i]
    topics = rng.standard_normal((len(lengths), width))
    x = 0.7 * np.repeat(topics, lengths, axis=0) + noise
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def find(x, kind="consistent", sizes=None, penalty=2.0):
    """Return the cuts of rows without words."""
    n = len(x)
    sizes = np.full(n, 20) if sizes is None else sizes
    cost = costs.evidence(x)
    if kind == "consistent":
        cost, _ = evidence.self_consistent(x, sizes, costs.utiyama_isahara(terms_of([[]] * n)))
    return cutting.cheapest_cuts(cost, np.ones(n, int), np.full(n, n), penalty=penalty * log(n))[0]


@pytest.mark.parametrize("seed", range(5))
def test_planted_topics_are_found_whether_or_not_the_text_drifts(seed):
    lengths = [30, 50, 20, 40]
    for correlation in (0.0, 0.3):
        assert find(planted(seed, lengths, correlation)).tolist() == np.cumsum([0, *lengths]).tolist()


def test_a_drifting_text_on_one_topic_is_hardly_cut():
    def mean_number(kind):
        return np.mean([len(find(planted(seed, [200], 0.3), kind)) - 1 for seed in range(8)])

    assert mean_number("consistent") <= 1.5
    assert mean_number("independent") > 4


def test_speakers_who_alternate_do_not_hide_the_topics():
    """Each has a manner, so that neighbors differ more than turns further apart."""
    rng = np.random.default_rng(3)
    x = planted(2, [40, 60, 50]) + 0.08 * np.array([[1.0], [-1.0]] * 75) * rng.standard_normal(64)
    assert np.einsum("ij,ij->i", x[1:], x[:-1]).mean() < np.einsum("ij,ij->i", x[2:], x[:-2]).mean()
    assert find(x).tolist() == [0, 40, 100, 150]


def test_units_that_are_all_alike_are_one_segment():
    assert find(np.ones((30, 4)) / 2).tolist() == [0, 30]
    assert find(np.zeros((30, 4))).tolist() == [0, 30]


def test_words_alone_can_separate_topics():
    x = np.random.default_rng(5).standard_normal((80, 16))
    words = terms_of([[f"{'ab'[i // 40]}{k}" for k in np.random.default_rng(i).integers(0, 12, 12)] for i in range(80)])
    cost, _ = evidence.self_consistent(x, np.full(80, 12), costs.utiyama_isahara(words))
    cuts, _ = cutting.cheapest_cuts(cost, np.ones(80, int), np.full(80, 80), penalty=2 * log(80))
    assert cuts.tolist() == [0, 40, 80]


def test_the_chunker_cuts_by_it():
    x, text = planted(1, [30, 50, 20, 40], 0.3), "".join(f"No. {i:03}! " for i in range(140))
    chunker = OptimalSemanticChunker(embedder=lambda _: x, max_tokens=2000)
    assert [chunk.text.count("!") for chunk in chunker.chunk(text)] == [30, 50, 20, 40]


def test_time_does_not_grow_with_the_square_of_how_often_units_repeat_a_word():
    def process(words):
        list(costs.utiyama_isahara(words).blocks(np.maximum(np.arange(len(words)) - 99, 0)))

    check_growth(process, lambda times: terms_of([["cat"] * times] * 400), 10)


def test_time_grows_with_units_without_tokens():
    def process(n):
        x, none, budget = np.ones((n, 2)), np.zeros(n, dtype=np.int64), np.full(n, 20)
        cuts, _ = cutting.cheapest_cuts(costs.evidence(x), none, budget, penalty=1.0)
        assert np.diff(cuts).max() == 20
        cuts, _ = cutting.cheapest_cuts(costs.evidence(x), none, budget, segments=3)
        assert len(cuts) == n // 20 + 1

    check_growth(process, lambda n: n, 1000)
