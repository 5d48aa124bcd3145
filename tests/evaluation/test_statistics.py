from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.errors import ConfigurationError
from advchunk.evaluation.metrics.statistics import holm, mean_interval, paired_difference


def test_an_interval_has_the_percentiles_of_all_samples():
    # The mean of four draws of 0 or 1, three to one for 1, is binomial.
    below = np.cumsum([comb(4, k) * 0.75**k * 0.25 ** (4 - k) for k in range(5)])
    expected = [np.searchsorted(below, at) / 4 for at in (0.025, 0.975)]
    assert mean_interval(np.array([0, 1, 1, 1]))[1:] == tuple(expected)


def test_p_is_the_share_of_samples_on_the_other_side_twice():
    # Differences of -1, 1, 1, 1: the mean is <= 0 with at most two of four draws positive.
    other = sum(comb(4, k) * 0.75**k * 0.25 ** (4 - k) for k in range(3))
    difference = paired_difference(np.array([1, 3, 5, 7]), np.array([2, 2, 4, 6]), resamples=99_999)
    assert difference.mean == 0.5
    assert difference.p == pytest.approx(2 * other, abs=0.01)
    back = paired_difference(np.array([2, 2, 4, 6]), np.array([1, 3, 5, 7]), resamples=99_999)
    assert back == pytest.approx((-difference.mean, -difference.high, -difference.low, difference.p), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 50, 300])
def test_samples_are_those_of_scipy(n):
    from scipy.stats import bootstrap

    values, rng = np.random.default_rng(n).normal(size=n), np.random.default_rng(0)
    samples = bootstrap((values,), np.mean, n_resamples=9999, method="percentile", random_state=rng)
    bounds = np.quantile(samples.bootstrap_distribution, [(1 - 0.95) / 2, (1 + 0.95) / 2])
    assert mean_interval(values)[1:] == tuple(bounds)


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    runs = [paired_difference(rng.normal(1.3, 2, 60), rng.normal(1, 1, 60), resamples=499) for _ in range(300)]
    inside = np.mean([run.low <= 0.3 <= run.high for run in runs])
    assert 0.91 < inside < 0.98


def test_p_says_noise_as_often_as_it_may():
    rng = np.random.default_rng(1)
    p_values = [paired_difference(rng.normal(0, 2, 60), rng.normal(0, 1, 60), resamples=499).p for _ in range(300)]
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.1
    assert 0.4 < np.mean(p_values) < 0.6


def test_equal_scores_do_not_differ():
    same = np.array([0.2, 0.5, 0.9])
    assert paired_difference(same, same) == (0, 0, 0, 1)
    assert mean_interval(np.full(5, 0.25)) == (0.25, 0.25, 0.25)


def test_p_is_never_less_than_the_samples_can_tell():
    assert paired_difference(np.arange(20) + 1.0, np.arange(20.0), resamples=999).p == 2 / 1000


@given(st.lists(st.integers(0, 40).map(lambda n: n / 40), max_size=8))
def test_holm_adjusts_to_the_least_level_that_rejects(p):
    def rejected(level):
        """Holm's procedure, as he states it."""
        left = sorted(range(len(p)), key=lambda i: p[i])
        while left and p[left[0]] <= level / len(left):
            left.pop(0)
        return set(range(len(p))) - set(left)

    adjusted = holm(np.array(p))
    for i, level in enumerate(adjusted.tolist()):
        assert level == 1 or i in rejected(level * (1 + 1e-12))
        assert i not in rejected(level * (1 - 1e-12)) or level == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval(np.array([1.0])), r"scores must be \(n,\) finite numbers of n >= 2"),
        (lambda: mean_interval(np.array([1.0, np.nan])), "finite"),
        (lambda: mean_interval(np.ones((2, 2))), r"\(n,\)"),
        (lambda: paired_difference(np.ones(3), np.ones(2)), "baseline must score the same 3 questions, got 2"),
        (lambda: holm(np.array([0.5, 1.1])), "p must be"),
        (lambda: holm(np.array([np.nan])), "p must be"),
        (lambda: holm(np.array([[0.5]])), "p must be"),
    ],
)
def test_refuses_what_it_cannot_judge(call, message):
    with pytest.raises(ConfigurationError, match=message):
        call()
