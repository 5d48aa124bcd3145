"""Score cuts against reference cuts, and make trivial baselines.

Pk and WindowDiff slide a window over T positions: units or, with ``weights``, words. Published figures differ in the
width k of the window and the placement of its ends, so compare only figures of the same *convention* and unit. With
S segments in the reference:

``nltk``      k = round(T / 2S), half to even. T - k windows, which compare the positions i and i + k. The convention
              of this project's figures, in sentences. `nltk.metrics` agrees if it is given this k and the T - 1 gaps
              between positions; its own default k counts gaps and boundaries instead.
``choi``      k = round(T / 2S), half up. The same windows. Choi (2000), Utiyama and Isahara (2001); in words.
``bayesseg``  k = T // 2S. T - k windows, which hold the boundaries before the positions i ... i + k, so they are one
              wider. Printed by bayes-seg (Eisenstein and Barzilay 2008); in words.

Unlike in all three, the default k is never 0, because then every segmentation would score as correct.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from advchunk.errors import checked, require
from advchunk.records import Ints

Convention: TypeAlias = Literal["nltk", "choi", "bayesseg"]
Cuts: TypeAlias = Sequence[int] | Ints

_HALF_A_SEGMENT: Mapping[Convention, Callable[[int, int], int]] = {
    "nltk": lambda total, segments: round(total / (2 * segments)),
    "choi": lambda total, segments: (total + segments) // (2 * segments),
    "bayesseg": lambda total, segments: total // (2 * segments),
}


class BoundaryScores(NamedTuple):
    """Precision, recall and F1 of boundaries, 0..1, and the number of segments in the reference and the hypothesis."""

    precision: float
    recall: float
    f1: float
    reference_segments: int
    hypothesis_segments: int


@checked
def pk(
    reference: Cuts,
    hypothesis: Cuts,
    *,
    k: int | None = None,
    weights: Sequence[int] | Ints | None = None,
    convention: Convention = "nltk",
) -> float:
    """Return the share of position pairs k apart that are wrongly put into one segment or wrongly separated.

    Lower is better; a text of one position has no windows and scores 0. See Beeferman, Berger and Lafferty (1999),
    Statistical models for text segmentation, section 4.

    Parameters
    ----------
    reference, hypothesis : the true cuts and the cuts to score (see `records`), of the same units.
    k : distance in positions, 1..T - 1; None for half the mean reference segment, rounded as the convention does.
    weights : (n,) positions in each unit, usually its words; None for 1 per unit.
    convention : placement of the windows (see the module).

    >>> pk([0, 4, 8], [0, 5, 8])  # k is 2: of six pairs, (2, 4) and (4, 6) are wrong
    0.3333333333333333
    """
    true, predicted = _boundaries_per_window(reference, hypothesis, k, weights, convention)
    return float(np.mean((true > 0) != (predicted > 0))) if len(true) else 0.0


@checked
def window_diff(
    reference: Cuts,
    hypothesis: Cuts,
    *,
    k: int | None = None,
    weights: Sequence[int] | Ints | None = None,
    convention: Convention = "nltk",
) -> float:
    """Return the share of windows of k positions with a wrong number of boundaries.

    Unlike `pk`, it also penalizes two boundaries in place of one. Parameters, result and errors are those of `pk`. See
    Pevzner and Hearst (2002), A critique and improvement of an evaluation metric for text segmentation, section 5.

    >>> pk([0, 4, 8], [0, 4, 5, 8], k=3), window_diff([0, 4, 8], [0, 4, 5, 8], k=3)
    (0.2, 0.6)
    """
    true, predicted = _boundaries_per_window(reference, hypothesis, k, weights, convention)
    return float(np.mean(true != predicted)) if len(true) else 0.0


@checked
def boundary_scores(reference: Cuts, hypothesis: Cuts, *, tolerance: int = 0) -> BoundaryScores:
    """Return the scores of inner boundaries, matched one to one with reference boundaries within ``tolerance`` units.

    The matching is the largest possible one. If neither side has boundaries, every score is 1; if only one has, 0.

    >>> boundary_scores([0, 4, 8, 12], [0, 5, 6, 7, 12], tolerance=1)
    BoundaryScores(precision=0.6666666666666666, recall=1.0, f1=0.8, reference_segments=3, hypothesis_segments=4)
    """
    require(tolerance >= 0, "tolerance must be >= 0", tolerance)
    true, predicted = _check_pair(reference, hypothesis)
    segments = len(true) - 1, len(predicted) - 1
    relevant, retrieved = segments[0] - 1, segments[1] - 1
    if not (relevant or retrieved):
        return BoundaryScores(1.0, 1.0, 1.0, *segments)
    correct = _count_matches(true[1:-1].tolist(), predicted[1:-1].tolist(), tolerance)
    f1 = 2 * correct / (relevant + retrieved)
    return BoundaryScores(correct / max(retrieved, 1), correct / max(relevant, 1), f1, *segments)


@checked
def even_split(n: int, segments: int) -> Ints:
    """Return the cuts of ``n`` units into segments of equal length, to the nearest unit.

    >>> even_split(10, 4).tolist()
    [0, 2, 5, 8, 10]
    """
    require(1 <= segments <= n, f"segments must be in 1..{n}", segments)
    return np.rint(np.arange(segments + 1) * n / segments).astype(np.int64)


def check_cuts(cuts: Cuts, name: str = "cuts") -> Ints:
    """Return ``cuts`` as an array; raise `ConfigurationError` unless they increase strictly from 0."""
    array = np.asarray(cuts)
    valid = array.ndim == 1 and array.dtype.kind in "iu" and len(array) > 1
    valid = valid and array[0] == 0 and bool(np.all(array[:-1] < array[1:]))
    require(valid, f"{name} must be at least two whole numbers that increase strictly from 0", cuts)
    return array.astype(np.int64)


def _boundaries_per_window(
    reference: Cuts, hypothesis: Cuts, k: int | None, weights: Sequence[int] | Ints | None, convention: Convention
) -> tuple[Ints, Ints]:
    true, predicted = _check_pair(reference, hypothesis)
    words = np.ones(true[-1], dtype=np.int64) if weights is None else np.asarray(weights)
    valid = words.shape == (true[-1],) and words.dtype.kind in "iu" and bool(np.all(words >= 0)) and bool(words.any())
    require(valid, f"weights must be {true[-1]} whole numbers >= 0 and not all 0", weights)
    edges = np.r_[0, np.cumsum(words, dtype=np.int64)]
    total = int(edges[-1])
    require(k is None or 1 <= k < total, f"k must be in 1..{total - 1}", k)
    k = k or max(_HALF_A_SEGMENT[convention](total, len(true) - 1), 1)
    # bayes-seg's windows include a boundary before their first position, so the text's first position needs one too.
    lead = int(convention == "bayesseg")

    def crossed(cuts: Ints) -> Ints:
        lengths = np.diff(edges[cuts])
        lengths[0] += lead
        segment = np.repeat(np.arange(len(lengths)), lengths)
        return segment[k + lead :] - segment[: -k - lead]

    return crossed(true), crossed(predicted)


def _check_pair(reference: Cuts, hypothesis: Cuts) -> tuple[Ints, Ints]:
    true, predicted = check_cuts(reference, "reference"), check_cuts(hypothesis, "hypothesis")
    require(true[-1] == predicted[-1], f"hypothesis must end at {true[-1]} as the reference does", int(predicted[-1]))
    return true, predicted


def _count_matches(reference: list[int], hypothesis: list[int], tolerance: int) -> int:
    """Return the size of the largest one-to-one matching of two increasing lists."""
    # The leftmost free partner is best: all boundaries reach equally far, so no later one could use it better.
    matches = j = 0
    for boundary in reference:
        while j < len(hypothesis) and hypothesis[j] < boundary - tolerance:
            j += 1
        if j < len(hypothesis) and hypothesis[j] <= boundary + tolerance:
            matches, j = matches + 1, j + 1
    return matches
