"""Optimal semantic chunking against the best of all segmentations, tried one by one."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from advchunk.chunkers.numerics import costs, cutting

rows = hnp.arrays(float, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.sampled_from([-1.0, 0.0, 1.0, 3]))
sizes = st.lists(st.integers(1, 6), min_size=7, max_size=7)
penalties = st.sampled_from([0.0, 0.7, 5.0])


@st.composite
def budgets(draw, lengths):
    """Most tokens from each unit on: as chunks have them, whose context never grows faster than the text before
    them."""
    sizes = [draw(st.integers(1, 20))]
    for size in lengths[:-1]:
        sizes.append(draw(st.integers(max(sizes[-1] - size, 1), 20)))
    return sizes


@st.composite
def problems(draw):
    x = draw(rows)
    lengths = draw(sizes)[: len(x)]
    return x, lengths, draw(budgets(lengths))


def scatter(x):
    """Summed squared distance to the mean."""
    return float(((x - x.mean(axis=0)) ** 2).sum())


def scattered(x):
    """Cost a segment its scatter."""
    return lambda first: (
        np.array([scatter(x[i:end]) for i in range(start, end)]) for end, start in enumerate(first.tolist(), start=1)
    )


def evidence(x, start, end):
    """Minus the log density of a segment, from dense covariances; less that of as many rows of unit noise."""
    n, width = x.shape
    gram = (x - x.mean(axis=0)) @ (x - x.mean(axis=0)).T
    spread = sum(gram[i, i] for i in range(n)) / n or 1.0
    shared = max(sum(gram[i, i + 1] for i in range(n - 1)) / n, 0.01 * spread / n)
    others = [gram[i, j] ** 2 for i in range(n) for j in range(n) if i != j]
    coordinates = min(spread**2 / np.mean(others), width) if any(others) else width
    noise = spread - shared
    covariance = (noise * np.eye(end - start) + shared) / coordinates
    inside = gram[start:end, start:end]
    squares = np.trace(np.linalg.inv(covariance) @ inside)
    return (squares + coordinates * np.linalg.slogdet(covariance * coordinates / noise)[1]) / 2


def every(n):
    return [(0, *inner, n) for k in range(n) for inner in combinations(range(1, n), k)]


def fits(cuts, lengths, budget):
    return all(b - a == 1 or sum(lengths[a:b]) <= budget[a] for a, b in pairwise(cuts))


def total(cuts, x, penalty):
    return sum(scatter(x[a:b]) + penalty for a, b in pairwise(cuts))


def short(cuts, lengths, minimum):
    return sum(sum(lengths[a:b]) < minimum for a, b in pairwise(cuts))


@given(rows)
def test_evidence_is_the_density_of_correlated_rows(x):
    first = np.arange(len(x)) // 2
    for end, row in enumerate(costs.evidence(x)(first), start=1):
        assert row == pytest.approx([evidence(x, start, end) for start in range(first[end - 1], end)], abs=1e-9)


@given(problems(), penalties, st.integers(0, 12))
def test_cheapest_is_the_best_of_all_that_fit(problem, penalty, minimum):
    x, lengths, budget = problem
    cuts, cost = cutting.cheapest_cuts(
        scattered(x), np.array(lengths), np.array(budget), minimum=minimum, penalty=penalty
    )
    allowed = [other for other in every(len(x)) if fits(other, lengths, budget)]
    best = min((short(other, lengths, minimum), total(other, x, penalty)) for other in allowed)
    assert tuple(cuts.tolist()) in allowed
    assert (short(cuts, lengths, minimum), cost) == pytest.approx(best, abs=1e-9)
    assert cost == pytest.approx(total(cuts, x, penalty), abs=1e-9)


@given(problems(), penalties, st.integers(1, 9), st.integers(0, 12))
def test_number_of_segments_is_the_nearest_within_the_budget(problem, penalty, requested, minimum):
    x, lengths, budget = problem
    cuts, cost = cutting.cheapest_cuts(
        scattered(x), np.array(lengths), np.array(budget), minimum=minimum, penalty=penalty, segments=requested
    )
    allowed = [other for other in every(len(x)) if fits(other, lengths, budget)]
    nearest = min({len(other) - 1 for other in allowed}, key=lambda number: abs(number - requested))
    allowed = [other for other in allowed if len(other) - 1 == nearest]
    best = min((short(other, lengths, minimum), total(other, x, penalty)) for other in allowed)
    assert tuple(cuts.tolist()) in allowed
    assert (short(cuts, lengths, minimum), cost) == pytest.approx(best, abs=1e-9)


@given(problems())
def test_fewest_segments(problem):
    _, lengths, budget = problem
    allowed = [cuts for cuts in every(len(lengths)) if fits(cuts, lengths, budget)]
    assert cutting.fewest_segments(np.array(lengths), np.array(budget)) == min(map(len, allowed)) - 1


def test_of_equal_optima_the_last_segment_is_the_longest():
    """Three units of which two fit: [a][bc] and [ab][c] cost the same."""
    cuts, _ = cutting.cheapest_cuts(scattered(np.zeros((3, 1))), np.ones(3, int), np.full(3, 2), penalty=1.0)
    assert cuts.tolist() == [0, 1, 3]
