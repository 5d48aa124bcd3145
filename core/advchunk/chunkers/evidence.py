"""Measure the evidence of an algorithm, in a text and in the same sentences shuffled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from advchunk.chunkers.boundaries import labels_of
from advchunk.chunkers.explanations import SHUFFLES, Chance
from advchunk.engine import Job, Plan, drive, gather
from advchunk.records import Ints, Segmentation, Strength, Units

_SEED = 0
_MOST = 1000  # units that are shuffled, from the start of the text: the time for a longer one stays the same


def planned_measure(
    decide: Callable[[Units], Plan[Segmentation]], units: Units, *, at_once: bool
) -> Plan[Callable[[], Chance | None]]:
    """Return a function that measures the evidence in units when it is called; with ``at_once``, measure it now."""
    if at_once:
        chance = yield from measure_evidence(decide, units)
        return lambda: chance
    return partial(_measure, decide, units)


def _measure(decide: Callable[[Units], Plan[Segmentation]], units: Units) -> Chance | None:
    (chance,) = drive([Job(measure_evidence(decide, units))])
    return chance


def measure_evidence(decide: Callable[[Units], Plan[Segmentation]], units: Units) -> Plan[Chance | None]:
    """Decide on a text and on shuffles of it, side by side; return the evidence in each, or None if it has no figure.

    The null hypothesis is that the order of the sentences means nothing. Then the text is one shuffle among others, and the
    probability that its evidence exceeds that of all 19 others is 1 / 20, for any algorithm and any kind of evidence
    (a permutation test: Good 2005, "Permutation, Parametric and Bootstrap Tests of Hypotheses", chapter 3).
    """
    units = units.part(0, min(len(units), _MOST))
    rng = np.random.default_rng(_SEED)
    texts = [units, *(shuffled(units, rng) for _ in range(SHUFFLES))]
    own, *others = [evidence_of(made) for made in (yield from gather(map(decide, texts)))]
    return None if own is None else Chance(own, tuple(other or 0.0 for other in others))


def evidence_of(segmentation: Segmentation) -> float | None:
    """Return the evidence of a segmentation: its own figure, else what its segments explain of its rows; None without rows."""
    if segmentation.evidence is not None:
        return segmentation.evidence
    if segmentation.rows is None:
        return None
    from advchunk.chunkers.numerics.runs import explained_scatter

    return explained_scatter(segmentation.rows, labels_of(segmentation))


def shuffled(units: Units, rng: np.random.Generator) -> Units:
    """Return units in random order within each section between hard breaks.

    Clauses of a sentence, and a heading and the sentence below it, stay together. The j-th edge between these groups keeps the
    strength of the j-th edge before.
    """
    starts = np.flatnonzero(units.strength[:-1] >= Strength.SENTENCE)
    starts = np.union1d([0], starts)
    sections = [*np.searchsorted(starts, units.hard_breaks()).tolist(), len(starts)]
    order = np.concatenate([first + rng.permutation(last - first) for first, last in pairwise(sections)])
    groups: list[Ints] = [np.arange(a, b) for a, b in pairwise([*starts.tolist(), len(units)])]
    members = [groups[group] for group in order.tolist()]
    index, text = np.concatenate(members), units.strings()
    strength = units.strength[:-1][index]
    strength[np.cumsum([0, *map(len, members[:-1])])] = units.strength[starts]
    return Units(
        "".join([text[i] for i in index.tolist()]),
        np.r_[0, np.cumsum(np.diff(units.edges)[index])],
        None if units.sizes is None else units.sizes[index],
        np.r_[strength, units.strength[-1]],
    )
