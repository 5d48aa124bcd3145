"""Tell a difference from noise: intervals over questions, and many comparisons at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from advchunk.errors import require
from advchunk.records import Floats


class Interval(NamedTuple):
    """A mean, and the bounds that hold it at the confidence asked for."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """A mean difference, its bounds, and how likely one as large would be if there were none."""

    mean: float
    low: float
    high: float
    p: float


def mean_interval(values: Floats, *, confidence: float = 0.95, resamples: int = 9999, seed: int = 0) -> Interval:
    """Return the mean of a score over questions, with the interval that questions drawn anew would leave it in.

    Parameters
    ----------
    values : (n,) one score a question, n >= 2.
    confidence : of the interval, 0..1.
    resamples : how often n questions are drawn, with replacement, >= 1.
    seed : of the draws: equal for equal questions, so that intervals can be compared.

    Raises
    ------
    ConfigurationError : what is out of range or not a number.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 13.3: the percentile interval.

    >>> mean_interval(np.array([0.0, 1.0, 1.0, 1.0]))
    Interval(mean=0.75, low=0.25, high=1.0)
    """
    means = _means(values, confidence, resamples, seed)
    return Interval(float(np.mean(values)), *_bounds(means, confidence))


def paired_difference(
    ours: Floats, theirs: Floats, *, confidence: float = 0.95, resamples: int = 9999, seed: int = 0
) -> Difference:
    """Return by how much ``ours`` is more on the mean over questions, and whether that is noise.

    Each question is compared with itself, so that hard and easy ones cancel. p is two-sided, the least level at which
    the interval leaves out 0, and never less than 2 / (resamples + 1), nor than a sign test can give, 2^(1 - n). Questions are taken as independent: those of
    few documents are less so, and then both are somewhat too good.

    Parameters
    ----------
    ours, theirs : (n,) scores of the same n >= 2 questions.
    confidence, resamples, seed : as in `mean_interval`.

    Raises
    ------
    ConfigurationError : scores of different questions; what is out of range or not a number.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, sections 13.3 and 15.4. Koehn (2004), Statistical
    significance tests for machine translation evaluation, for the pairing.

    >>> paired_difference(np.array([0.5, 0.7, 0.9]), np.array([0.4, 0.7, 0.7])).low
    0.0
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    require(ours.shape == theirs.shape, f"theirs must score the {len(ours)} questions of ours", len(theirs))
    values = ours - theirs
    means = _means(values, confidence, resamples, seed)
    beyond = 1 + min(int(np.sum(means <= 0)), int(np.sum(means >= 0)))
    # Of few questions the bootstrap makes too much: less than a sign test can give it does not get.
    p = max(min(1.0, 2 * beyond / (resamples + 1)), 2.0 ** (1 - len(values)))
    return Difference(float(np.mean(values)), *_bounds(means, confidence), p)


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for their number: one below a level is a finding among all of them at that level.

    Parameters
    ----------
    p : (n,) of the n comparisons made, 0..1.

    Returns
    -------
    (n,) in the same order, each at least what it was.

    Raises
    ------
    ConfigurationError : what is no p-value.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=np.float64)
    require(p.ndim == 1 and bool(np.all((p >= 0) & (p <= 1))), "p must be (n,) numbers in 0..1", p)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted


def _means(values: Floats, confidence: float, resamples: int, seed: int) -> Floats:
    """Return the (resamples,) means of questions drawn anew."""
    from scipy.stats import bootstrap

    values = np.asarray(values, dtype=np.float64)
    right = values.ndim == 1 and len(values) >= 2 and bool(np.isfinite(values).all())
    require(right, "scores must be (n,) finite numbers of n >= 2 questions", values)
    require(0 < confidence < 1, "confidence must be in 0..1", confidence)
    require(resamples >= 1, "resamples must be >= 1", resamples)
    drawn = bootstrap(
        (values,), np.mean, n_resamples=resamples, vectorized=True, method="percentile",
        random_state=np.random.default_rng(seed), batch=256,
    )  # fmt: skip
    means: Floats = drawn.bootstrap_distribution
    return means


def _bounds(means: Floats, confidence: float) -> tuple[float, float]:
    """Return the percentiles that leave out half of the rest on either side."""
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
