"""Measure whether the order of the sentences means anything to an algorithm: a permutation test."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any, Final

import numpy as np

from advchunk.chunkers.base import Chunker, SegmentingChunker
from advchunk.chunkers.boundaries import labels_of
from advchunk.chunkers.numerics.runs import explained_scatter
from advchunk.errors import checked, require
from advchunk.records import Document, Ints, Segmentation, Strength, Units

SHUFFLES: Final = 19
"""Shuffled texts: the text's own evidence is above all of them by chance once in twenty times."""
_BEYOND_CHANCE = 2.5  # standard deviations above the mean of shuffled texts; chosen on Choi's texts with an even index
_FARTHEST = 99.0
_TIE = 1e-9  # relative difference of evidence that rounding makes
_SEED = 0
_MOST = 1000  # units that are shuffled, from the start of the text: the time for a longer one stays the same


@dataclass(frozen=True, slots=True)
class Chance:
    """The evidence that an algorithm sees in a text, in its own unit, and in each shuffle of the same sentences."""

    own: float
    shuffled: tuple[float, ...]

    @property
    def distance(self) -> float:
        """The evidence less the mean of shuffled texts, in their standard deviations, -99..99."""
        least, above = _TIE * max(map(abs, (self.own, *self.shuffled))), self.own - fmean(self.shuffled)
        of = above / max(stdev(self.shuffled), least) if abs(above) > least else 0.0
        return max(min(of, _FARTHEST), -_FARTHEST)

    @property
    def is_evidence(self) -> bool:
        """True if the text has more than every shuffled text, by >= 2.5 standard deviations; a tie is no evidence."""
        above = self.own - max(self.shuffled)
        return above > _TIE * abs(self.own) and self.distance >= _BEYOND_CHANCE


@checked
def measure_evidence(chunker: Chunker, units: Units) -> Chance | None:
    """Segment a text and 19 shuffles of it; return the evidence in each, or None if the algorithm has no figure for it.

    The null hypothesis is that the order of the sentences means nothing. Then the text is one shuffle among others, and
    the probability that its evidence exceeds that of all 19 others is 1 / 20, for any algorithm and any kind of
    evidence (Good 2005, "Permutation, Parametric and Bootstrap Tests of Hypotheses", chapter 3). Models are asked 20
    times; with a ``cache``, the chunker, which must not cut by size alone, embeds each sentence once. The first 1,000
    of the ``units``, two or more, are used.
    """
    decides = isinstance(chunker, SegmentingChunker) and not chunker.by_size
    require(decides, "chunker must be one that segments, and not by size alone", type(chunker).__name__)
    require(isinstance(units, Units) and len(units) > 1, "units must be two or more Units", units)
    own: Any = chunker.in_language_of(Document(units.text))
    units = units.part(0, min(len(units), _MOST))
    rng = np.random.default_rng(_SEED)
    evidence = list[float | None]()
    for text in (units, *(shuffled(units, rng) for _ in range(SHUFFLES))):
        made: Segmentation = own.segmentation(text)
        rows = made.rows if made.evidence is None else None  # which its segments explain in part
        evidence.append(made.evidence if rows is None else explained_scatter(rows, labels_of(made)))
    first, *others = evidence
    return None if first is None else Chance(first, tuple(other or 0.0 for other in others))


def shuffled(units: Units, rng: np.random.Generator) -> Units:
    """Return units in random order within each section between hard breaks.

    Clauses of a sentence, and a heading and the sentence below it, stay together; edges keep their strengths.
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
