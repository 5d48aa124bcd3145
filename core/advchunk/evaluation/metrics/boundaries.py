"""Compare the cuts that were found with those of a reference, and make the trivial ones to beat.

Pk and WindowDiff slide a window over T positions: units or, where ``weights`` says how many each unit has, words.
Published figures differ in its width k and in where its ends stand, so they compare within one *convention* and one
unit only. With S segments in the reference:

``nltk``      k = round(T / 2S), half to even. T - k windows, which compare the positions i and i + k. What this
              project reports, in sentences. `nltk.metrics` says the same if given this k and the T - 1 gaps between
              positions; its own default k counts gaps and boundaries instead.
``choi``      k = round(T / 2S), half up. The same windows. Choi (2000), Utiyama and Isahara (2001); in words.
``bayesseg``  k = T // 2S. T - k windows, which hold the boundaries before the positions i ... i + k, so they are one
              wider. What bayes-seg prints (Eisenstein and Barzilay 2008); in words.

Unlike in all three, a k that nobody gave is never 0, with which every segmentation would be right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from advchunk.errors import require
from advchunk.records import Ints

Convention: TypeAlias = Literal["nltk", "choi", "bayesseg"]
Cuts: TypeAlias = Sequence[int] | Ints

_HALF_A_SEGMENT: Mapping[Convention, Callable[[int, int], int]] = {
    "nltk": lambda total, segments: round(total / (2 * segments)),
    "choi": lambda total, segments: (total + segments) // (2 * segments),
    "bayesseg": lambda total, segments: total // (2 * segments),
}


class BoundaryScores(NamedTuple):
    """How many boundaries were found and right, 0..1, and the segments on either side."""

    precision: float
    recall: float
    f1: float
    reference_segments: int
    found_segments: int


def pk(
    reference: Cuts,
    found: Cuts,
    *,
    k: int | None = None,
    weights: Sequence[int] | Ints | None = None,
    convention: Convention = "nltk",
) -> float:
    """Return how often two positions k apart are wrongly said to share a segment, or wrongly said not to.

    Parameters
    ----------
    reference, found : the true cuts and those to judge (see `records`), of the same units.
    k : distance in positions, 1..T - 1; None for half the mean reference segment, as the convention rounds it.
    weights : (n,) positions in each unit, usually its words; None for one each.
    convention : where the windows stand (see the module).

    Returns
    -------
    0..1, lower is better; 0 for a text of one position, which has no windows.

    Raises
    ------
    ConfigurationError : cuts that do not rise from 0 to the same n, and what is out of range.

    References
    ----------
    Beeferman, Berger and Lafferty (1999), Statistical models for text segmentation, section 4.

    >>> pk([0, 4, 8], [0, 5, 8])  # k is 2: of six pairs, (2, 4) and (4, 6) are wrong
    0.3333333333333333
    """
    true, said = _crossed(reference, found, k, weights, convention)
    return float(np.mean((true > 0) != (said > 0))) if len(true) else 0.0


def window_diff(
    reference: Cuts,
    found: Cuts,
    *,
    k: int | None = None,
    weights: Sequence[int] | Ints | None = None,
    convention: Convention = "nltk",
) -> float:
    """Return how often a window of k positions holds a wrong number of boundaries.

    So it also punishes two boundaries where one is right, which `pk` cannot see. Parameters, result and errors are
    those of `pk`.

    References
    ----------
    Pevzner and Hearst (2002), A critique and improvement of an evaluation metric for text segmentation, section 5.

    >>> pk([0, 4, 8], [0, 4, 5, 8], k=3), window_diff([0, 4, 8], [0, 4, 5, 8], k=3)
    (0.2, 0.6)
    """
    true, said = _crossed(reference, found, k, weights, convention)
    return float(np.mean(true != said)) if len(true) else 0.0


def boundary_scores(reference: Cuts, found: Cuts, *, tolerance: int = 0) -> BoundaryScores:
    """Count a boundary as right if it has a reference boundary to itself within ``tolerance`` units.

    The matching is the largest there is. Without boundaries on either side all is right and every score is 1;
    without any on one side every score is 0.

    Parameters
    ----------
    reference, found : the true cuts and those to judge, of the same units. Their ends are no boundaries.
    tolerance : in units, >= 0.

    Raises
    ------
    ConfigurationError : cuts that do not rise from 0 to the same n, or a negative tolerance.

    >>> boundary_scores([0, 4, 8, 12], [0, 5, 6, 7, 12], tolerance=1)
    BoundaryScores(precision=0.6666666666666666, recall=1.0, f1=0.8, reference_segments=3, found_segments=4)
    """
    require(tolerance >= 0, "tolerance must be >= 0", tolerance)
    true, said = _of_one_text(reference, found)
    segments = len(true) - 1, len(said) - 1
    wanted, given = segments[0] - 1, segments[1] - 1
    if not (wanted or given):
        return BoundaryScores(1.0, 1.0, 1.0, *segments)
    right = _matched(true[1:-1].tolist(), said[1:-1].tolist(), tolerance)
    return BoundaryScores(right / max(given, 1), right / max(wanted, 1), 2 * right / (wanted + given), *segments)


def no_boundary(n: int) -> Ints:
    """Return the cuts that make ``n`` units one segment.

    >>> no_boundary(7).tolist()
    [0, 7]
    """
    return even_split(n, 1)


def even_split(n: int, segments: int) -> Ints:
    """Return the cuts that make ``n`` units segments of equal length, to the nearest unit.

    >>> even_split(10, 4).tolist()
    [0, 2, 5, 8, 10]
    """
    _splittable(n, segments)
    cuts: Ints = np.rint(np.arange(segments + 1) * n / segments).astype(np.int64)
    return cuts


def random_cuts(n: int, segments: int, seed: int) -> Ints:
    """Return one of all the ways to cut ``n`` units into so many segments, each equally likely.

    >>> len(random_cuts(10, 4, seed=1))
    5
    """
    _splittable(n, segments)
    inner = np.random.default_rng(seed).choice(n - 1, segments - 1, replace=False) + 1
    cuts: Ints = np.r_[0, np.sort(inner), n].astype(np.int64)
    return cuts


def rising(cuts: Cuts, what: str = "cuts") -> Ints:
    """Return ``cuts`` as an array if they rise strictly from 0; raise `ConfigurationError` if not.

    >>> rising([0, 3, 3])
    Traceback (most recent call last):
    advchunk.errors.ConfigurationError: cuts must be at least two whole numbers that rise strictly from 0, got [0, 3, 3]
    """
    array = np.asarray(cuts)
    right = array.ndim == 1 and array.dtype.kind in "iu" and len(array) > 1
    right = right and array[0] == 0 and bool(np.all(array[:-1] < array[1:]))
    require(right, f"{what} must be at least two whole numbers that rise strictly from 0", cuts)
    return array.astype(np.int64)


def _crossed(
    reference: Cuts, found: Cuts, k: int | None, weights: Sequence[int] | Ints | None, convention: Convention
) -> tuple[Ints, Ints]:
    """Return the number of boundaries in each window, in the reference and as found."""
    true, said = _of_one_text(reference, found)
    require(convention in _HALF_A_SEGMENT, f"convention must be one of {get_args(Convention)}", convention)
    words = np.ones(true[-1], dtype=np.int64) if weights is None else np.asarray(weights)
    right = words.shape == (true[-1],) and words.dtype.kind in "iu" and bool(np.all(words >= 0)) and bool(words.any())
    require(right, f"weights must be {true[-1]} whole numbers >= 0 and not all 0", weights)
    edges = np.r_[0, np.cumsum(words, dtype=np.int64)]
    total = int(edges[-1])
    if k is None:
        k = max(_HALF_A_SEGMENT[convention](total, len(true) - 1), 1)
    else:
        require(1 <= k < total, f"k must be in 1..{total - 1}", k)
    # bayes-seg's windows see a boundary before their first position too: so there is one more, before the text's first.
    lead = int(convention == "bayesseg")

    def crossed(cuts: Ints) -> Ints:
        lengths = np.diff(edges[cuts])
        lengths[0] += lead
        segment = np.repeat(np.arange(len(lengths)), lengths)
        return segment[k + lead :] - segment[: -k - lead]

    return crossed(true), crossed(said)


def _of_one_text(reference: Cuts, found: Cuts) -> tuple[Ints, Ints]:
    """Return both cuts as arrays; raise unless they end at the same unit."""
    true, said = rising(reference, "reference"), rising(found, "found")
    require(true[-1] == said[-1], f"found must cut the {true[-1]} units of the reference", int(said[-1]))
    return true, said


def _matched(reference: list[int], found: list[int], tolerance: int) -> int:
    """Return the size of the largest one-to-one matching of two rising lists.

    Each takes the leftmost partner still free: as all reach equally far, no later one could use it better.
    """
    right = j = 0
    for boundary in reference:
        while j < len(found) and found[j] < boundary - tolerance:
            j += 1
        if j < len(found) and found[j] <= boundary + tolerance:
            right, j = right + 1, j + 1
    return right


def _splittable(n: int, segments: int) -> None:
    """Raise unless ``n`` units can make so many segments."""
    require(n >= 1, "n must be >= 1", n)
    require(1 <= segments <= n, f"segments must be in 1..{n}", segments)
