"""Bootstrap intervals over questions, paired differences, and corrections for multiple comparisons."""

from typing import NamedTuple

import numpy as np

from advchunk.errors import require
from advchunk.records import Floats

CONFIDENCE, RESAMPLES, SEED = 0.95, 9999, 0  # of all intervals: the same samples for the same number of questions
_BATCH = 128  # samples drawn together, whose scores stay in the cache of a processor


class Interval(NamedTuple):
    """A mean and its confidence bounds."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """A mean difference, its confidence bounds, and its p-value under the hypothesis of no difference."""

    mean: float
    low: float
    high: float
    p: float


def mean_interval(values: Floats) -> Interval:
    """Return the mean of (n,) scores, n >= 2, and its bootstrap interval (Efron and Tibshirani 1993, section 13.3)."""
    return Interval(float(np.mean(values)), *_bounds(_bootstrap_means(values, RESAMPLES, SEED)))


def paired_difference(scores: Floats, baseline: Floats, *, resamples: int = RESAMPLES, seed: int = SEED) -> Difference:
    """Return the mean of ``scores - baseline``, (n,) each, n >= 2, paired by question, with interval and p-value.

    p is two-sided: the lowest level at which the interval excludes 0, at least 2 / (resamples + 1), and at least that
    of a sign test, 2^(1 - n). Many questions on few documents are not independent, so the interval is too narrow and p
    too low. See Efron and Tibshirani (1993), An Introduction to the Bootstrap, sections 13.3 and 15.4; for the pairing,
    Koehn (2004), Statistical significance tests for machine translation evaluation.
    """
    scores, baseline = np.asarray(scores), np.asarray(baseline)
    require(scores.shape == baseline.shape, f"baseline must score the same {len(scores)} questions", len(baseline))
    values = scores - baseline
    means = _bootstrap_means(values, resamples, seed)
    beyond = 1 + min(int(np.sum(means <= 0)), int(np.sum(means >= 0)))
    # The bootstrap is overconfident on few questions, so p is never below that of a sign test.
    p = max(min(1.0, 2 * beyond / (resamples + 1)), 2.0 ** (1 - len(values)))
    return Difference(float(np.mean(values)), *_bounds(means), p)


def holm(p: Floats) -> Floats:
    """Return the (n,) p-values of all n comparisons, adjusted by Holm's (1979) step-down method, none lowered."""
    p = np.asarray(p, dtype=np.float64)
    require(p.ndim == 1 and bool(np.all((p >= 0) & (p <= 1))), "p must be (n,) numbers in 0..1", p)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted


def _bootstrap_means(values: Floats, resamples: int, seed: int) -> Floats:
    """Return the (resamples,) means of bootstrap samples, as `scipy.stats.bootstrap` has them, but imported at once."""
    values = np.asarray(values, dtype=np.float64)
    valid = values.ndim == 1 and len(values) >= 2 and bool(np.isfinite(values).all())
    require(valid, "scores must be (n,) finite numbers of n >= 2 questions", values)
    random, n = np.random.default_rng(seed), len(values)
    sizes = [min(_BATCH, resamples - start) for start in range(0, resamples, _BATCH)]
    return np.concatenate([values[random.integers(n, size=(size, n))].mean(axis=-1) for size in sizes])


def _bounds(means: Floats) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
