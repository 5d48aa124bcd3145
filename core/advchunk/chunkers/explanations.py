"""The explanation of a chunker's decision: its cuts, their origins, and the distance of its evidence from chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

import numpy as np

from advchunk.records import Chunk, Document, Figures, Origin, Segmentation, Units, origin_of

SHUFFLES: Final = 19
"""Shuffled texts: the text's own evidence is above all of them by chance once in twenty times."""
_BEYOND_CHANCE = 2.5  # standard deviations above the mean of shuffled texts; chosen on Choi's texts with an even index
_FARTHEST = 99.0
_TIE = 1e-9  # relative difference of evidence that rounding makes
_MOSTLY = 0.75  # share of cuts by size, and at the first place allowed, from which a method cuts like `recursive`
MANY: Final = 20
"""Cuts of a document from which the log says that they are like those of `recursive`."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The evidence that an algorithm sees in a text, and in the same sentences shuffled.

    Parameters
    ----------
    own : evidence in the text, in the algorithm's own unit; the higher, the more.
    shuffled : evidence in each shuffled text.
    """

    own: float
    shuffled: tuple[float, ...]

    def __add__(self, other: Chance) -> Chance:
        """Return the evidence of two parts of a text, which are shuffled apart."""
        pairs = zip(self.shuffled, other.shuffled, strict=True)
        return Chance(self.own + other.own, tuple(a + b for a, b in pairs))

    @property
    def distance(self) -> float:
        """The evidence less the mean of shuffled texts, in their standard deviations, -99..99.

        >>> Chance(5.0, (1.0, 2.0, 3.0)).distance
        3.0
        """
        least = _TIE * max(map(abs, (self.own, *self.shuffled)))
        above = self.own - fmean(self.shuffled)
        if abs(above) <= least:
            return 0.0
        return max(min(above / max(stdev(self.shuffled), least), _FARTHEST), -_FARTHEST)

    @property
    def is_evidence(self) -> bool:
        """True if the text has more than every shuffled text, by 2.5 standard deviations or more; a tie is no evidence.

        >>> Chance(5.0, (1.0, 2.0, 3.0)).is_evidence, Chance(3.0, (3.0, 3.0, 3.0)).is_evidence
        (True, False)
        """
        above = self.own - max(self.shuffled)
        return above > _TIE * abs(self.own) and self.distance >= _BEYOND_CHANCE


@dataclass(frozen=True)
class Signal:
    """The signal of a chunker on a document.

    Parameters
    ----------
    chunker : its name.
    cuts : number of cuts by `Origin`.
    pieces, unknown : pieces that the algorithm compared, and those of which it knew nothing: without words that count, or
        without a vector.
    by_size : True for a chunker that cuts by size alone, and has no evidence by nature.
    measure : computes the evidence, and returns None if the algorithm has no figure for it; None if the algorithm asks a
        language model, which would have to read each shuffled text, or decides on nothing.
    """

    chunker: str
    cuts: Mapping[Origin, int] = field(default_factory=dict)
    pieces: int = 0
    unknown: int = 0
    by_size: bool = False
    measure: Callable[[], Chance | None] | None = field(default=None, repr=False, compare=False)

    def __add__(self, other: Signal) -> Signal:
        """Return the signal of two parts of a document, or of two levels."""
        cuts = {origin: self.cuts.get(origin, 0) + other.cuts.get(origin, 0) for origin in {**self.cuts, **other.cuts}}
        signals = [signal for signal in (self, other) if signal.measure is not None]
        return replace(
            self,
            cuts=cuts,
            pieces=self.pieces + other.pieces,
            unknown=self.unknown + other.unknown,
            by_size=self.by_size and other.by_size,
            measure=None if not signals else lambda: total_evidence(signal.evidence for signal in signals),
        )

    @cached_property
    def evidence(self) -> Chance | None:
        """The evidence of the algorithm beside that in the same sentences shuffled; None if it is not measured.

        The algorithm runs 20 times, on at most 1,000 sentences (`chunkers.evidence`); the vectors of sentences are computed
        once more, or come from the chunker's ``cache``.
        """
        return None if self.measure is None else self.measure()

    def share(self, *origins: Origin) -> float:
        """Return the share of the cuts with these origins among those that are not the structure's; 0 without cuts."""
        chosen = sum(number for origin, number in self.cuts.items() if origin != "structure")
        return sum(self.cuts.get(origin, 0) for origin in origins) / chosen if chosen else 0.0

    @property
    def resembles(self) -> str:
        """Name the method that cuts like this: `recursive` if three quarters are by size or at the first place allowed; else "".

        >>> Signal("universal-semantic", {"algorithm": 5, "first": 33, "size": 3}).resembles
        'recursive'
        """
        return "recursive" if self.share("size", "first") >= _MOSTLY else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the signal as JSON, with the evidence if it can be measured."""
        evidence = self.evidence
        return {
            "chunker": self.chunker,
            "cuts": dict(self.cuts),
            "pieces": self.pieces,
            "unknown": self.unknown,
            "resembles": self.resembles,
            "evidence": None if evidence is None else round(evidence.distance, 2),
            "is_evidence": None if evidence is None else evidence.is_evidence,
        }

    def metadata(self) -> dict[str, Any]:
        """Return the signal as metadata of chunks: shares of cuts, and the evidence if there is any to measure."""
        shares = {f"signal_{origin}": round(self.share(origin), 3) for origin in ("algorithm", "first", "size")}
        unknown = {"signal_unknown": round(self.unknown / self.pieces, 3)} if self.unknown else {}
        like = {"signal_like": self.resembles} if self.resembles and not self.by_size else {}
        evidence = {} if self.evidence is None else {"signal_evidence": round(self.evidence.distance, 2)}
        return {**shares, **unknown, **like, **evidence}

    @property
    def counts(self) -> str:
        """The cuts by origin, in words; "" without cuts.

        >>> Signal("universal-semantic", {"algorithm": 5, "first": 33, "size": 3}).counts
        '41 cuts: 5 by the algorithm, 33 at the first place allowed, 3 by size'
        """
        words: dict[Origin, str] = {
            "algorithm": "by the algorithm",
            "first": "at the first place allowed",
            "size": "by size",
            "structure": "by the structure",
        }
        total = sum(self.cuts.values())
        parts = [f"{self.cuts[origin]} {word}" for origin, word in words.items() if self.cuts.get(origin)]
        return f"{total} cut{'s' * (total != 1)}: {', '.join(parts)}" if total else ""

    @property
    def decides(self) -> bool:
        """False if the algorithm leaves most cuts to the limits, or its evidence is measured, and is that of shuffled text."""
        return not self.resembles and (self.evidence is None or self.evidence.is_evidence)

    @property
    def summary(self) -> str:
        """The signal in words, with the evidence if there is any to measure; "" without cuts.

        >>> Signal("universal-semantic", {"algorithm": 5, "first": 33, "size": 3}).summary
        '41 cuts: 5 by the algorithm, 33 at the first place allowed, 3 by size; universal-semantic cuts like recursive here'
        """
        if not self.counts:
            return ""
        parts = [self.counts]
        if self.resembles and not self.by_size:
            parts.append(f"{self.chunker} cuts like {self.resembles} here")
        if self.unknown:
            parts.append(f"nothing is known of {self.unknown} of {self.pieces} pieces")
        if self.evidence is not None:
            word = "evidence" if self.evidence.is_evidence else "no evidence"
            parts.append(f"{word}: {self.evidence.distance:+.1f} standard deviations from shuffled text")
        elif self.measure is not None:
            parts.append("evidence: not measured, as the algorithm has no figure for it")
        return "; ".join(parts)


def total_evidence(parts: Iterable[Chance | None]) -> Chance | None:
    """Return the evidence in all parts of a text; None if it is measured in none of them."""
    measured = [part for part in parts if part is not None]
    return sum(measured[1:], measured[0]) if measured else None


class Cut(NamedTuple):
    """A boundary between chunks.

    ``reason`` is the algorithm's, or "size" where only the limits forced the cut; ``score`` is the algorithm's score of
    the gap, if it has one; ``origin`` says whose the cut is (`records.Origin`).
    """

    offset: int
    reason: str
    score: float | None
    origin: Origin = "size"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The chunks of a document, with the decision behind them.

    Parameters
    ----------
    chunks : the chunks that `Chunker.chunk` returns.
    units, segmentation : input and output of the algorithm; None if no decision was needed.
    language : code of the language whose rules applied; "" if none were needed, as for a text that is one chunk.
    chunker : the name of the chunker.
    by_size : True if it cuts by size alone.
    measure : computes the evidence of the algorithm (`Signal`); None if there is none.
    levels : the explanation of each level, coarsest first, if there are several.
    """

    document: Document
    chunks: list[Chunk]
    units: Units | None = None
    segmentation: Segmentation | None = None
    language: str = ""
    chunker: str = ""
    by_size: bool = False
    measure: Callable[[], Chance | None] | None = None
    levels: tuple[Explanation, ...] = ()

    @property
    def signal(self) -> Signal:
        """The origins of the cuts, and the distance of the evidence from chance, which is computed when it is read.

        >>> from advchunk import UniversalSemanticChunker
        >>> text = "Cats purr. Cats nap in the sun. Judges sit in court. Courts rule on law."
        >>> UniversalSemanticChunker(min_chunk_size=2).explain(text).signal.cuts
        {'first': 2}
        """
        if self.levels:
            first, *others = [replace(level, chunker=self.chunker).signal for level in self.levels]
            return sum(others, first)
        numbers = Counter(cut.origin for cut in self.cuts)
        return Signal(self.chunker, dict(numbers), *self._pieces, self.by_size, self.measure)

    @property
    def _pieces(self) -> tuple[int, int]:
        """The number of pieces that were compared, and of those of which nothing was known."""
        segmentation = self.segmentation
        if segmentation is None or self.units is None or self.by_size:
            return 0, 0
        blank = segmentation.blank
        return len(self.units), 0 if blank is None else int(blank.sum())

    @property
    def figures(self) -> Mapping[str, Any]:
        """The intermediate results of the algorithm, by name, and ``outline``, the numbered units of the document by kind.

        The algorithm has none if no decision was needed, as for a single unit.
        """
        own = self.segmentation.figures if self.segmentation else {}
        return Figures({**own, "outline": self.document.outline} if self.document.outline else own)

    @property
    def cuts(self) -> list[Cut]:
        """The boundaries between chunks, in reading order, each with its reason."""
        ends = {span.end for chunk in self.chunks for span in chunk.spans}
        return [self.cut_at(offset) for offset in sorted(ends - {len(self.document.text)})]

    def cut_at(self, offset: int) -> Cut:
        """Return the boundary at ``offset`` with its reason."""
        if self.units is None or self.segmentation is None:
            return Cut(offset, "size", None)
        segmentation = self.segmentation
        cuts, reason, gaps, origins = segmentation.cuts, segmentation.reason, segmentation.gaps, segmentation.origins
        unit = int(np.searchsorted(self.units.edges, offset))
        has_score = gaps is not None and 0 < unit <= len(gaps) and bool(np.isfinite(gaps[unit - 1]))
        score = float(gaps[unit - 1]) if gaps is not None and has_score else None
        place = int(np.searchsorted(cuts, unit))
        if unit >= len(self.units) or self.units.edges[unit] != offset or cuts[place] != unit:
            return Cut(offset, "size", score)
        word = reason if isinstance(reason, str) else reason[place - 1]
        listed = None if origins is None or isinstance(origins, str) else origins[place - 1]
        return Cut(offset, word, score, listed or origin_of(word, first=False))
