"""The explanation of a chunker's decision: its cuts and their origins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from advchunk.records import Chunk, Document, Figures, Origin, Segmentation, Units, origin_of

_MOSTLY = 0.75  # share of cuts by size, and at the first place allowed, from which a method cuts like `recursive`
_WORDS: Final[dict[Origin, str]] = {
    "algorithm": "by the algorithm", "first": "at the first place allowed",
    "size": "by size", "structure": "by the structure",
}  # fmt: skip
MANY: Final = 20
"""Cuts of a document from which the log says that they are like those of `recursive`."""


class Signal(NamedTuple):
    """The cuts of a chunker in a document, counted by `Origin`.

    ``pieces`` are those that the algorithm compared; ``unknown`` are without words that count, or without a vector.
    ``by_size`` is True for a chunker that cuts by size alone.
    """

    chunker: str
    cuts: Mapping[Origin, int]
    pieces: int = 0
    unknown: int = 0
    by_size: bool = False

    def __add__(self, other: Signal) -> Signal:  # type: ignore[override]  # no tuple is longer
        """Return the signal of two parts of a document, or of two levels."""
        pieces, unknown = self.pieces + other.pieces, self.unknown + other.unknown
        cuts = dict(Counter(self.cuts) + Counter(other.cuts))
        return Signal(self.chunker, cuts, pieces, unknown, self.by_size and other.by_size)

    def share(self, *origins: Origin) -> float:
        """Return the share of the cuts with these origins among those that are not the structure's; 0 without cuts."""
        chosen = sum(number for origin, number in self.cuts.items() if origin != "structure")
        return sum(self.cuts.get(origin, 0) for origin in origins) / chosen if chosen else 0.0

    @property
    def resembles(self) -> str:
        """The method that cuts like this: "recursive" if most cuts are by size or at the first place allowed."""
        return "recursive" if self.share("size", "first") >= _MOSTLY else ""

    def metadata(self) -> dict[str, Any]:
        """Return the signal as metadata of chunks: shares of cuts."""
        shares = {f"signal_{origin}": round(self.share(origin), 3) for origin in ("algorithm", "first", "size")}
        unknown = {"signal_unknown": round(self.unknown / self.pieces, 3)} if self.unknown else {}
        like = {"signal_like": self.resembles} if self.resembles and not self.by_size else {}
        return {**shares, **unknown, **like}

    @property
    def counts(self) -> str:
        """The cuts by origin, in words; "" without cuts."""
        total = sum(self.cuts.values())
        parts = [f"{self.cuts[origin]} {word}" for origin, word in _WORDS.items() if self.cuts.get(origin)]
        return f"{total} cut{'s' * (total != 1)}: {', '.join(parts)}" if total else ""

    @property
    def summary(self) -> str:
        """The signal in words; "" without cuts."""
        like = f"{self.chunker} cuts like {self.resembles} here" if self.resembles and not self.by_size else ""
        unknown = f"nothing is known of {self.unknown} of {self.pieces} pieces" if self.unknown else ""
        return "; ".join(filter(None, (self.counts, like, unknown))) if self.counts else ""


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
    levels : the explanation of each level, coarsest first, if there are several.
    """

    document: Document
    chunks: list[Chunk]
    units: Units | None = None
    segmentation: Segmentation | None = None
    language: str = ""
    chunker: str = ""
    by_size: bool = False
    levels: tuple[Explanation, ...] = ()

    @property
    def signal(self) -> Signal:
        """The cuts, counted by their origins.

        >>> from advchunk import UniversalSemanticChunker
        >>> text = "Cats purr. Cats nap in the sun. Judges sit in court. Courts rule on law."
        >>> UniversalSemanticChunker(min_chunk_size=2).explain(text).signal.cuts
        {'first': 2}
        """
        if self.levels:
            first, *others = [replace(level, chunker=self.chunker).signal for level in self.levels]
            return sum(others, first)
        pieces = unknown = 0
        if self.segmentation is not None and self.units is not None and not self.by_size:
            blank = self.segmentation.blank
            pieces, unknown = len(self.units), 0 if blank is None else int(blank.sum())
        return Signal(self.chunker, dict(Counter(cut.origin for cut in self.cuts)), pieces, unknown, self.by_size)

    @property
    def figures(self) -> Mapping[str, Any]:
        """The algorithm's results by name, if a decision was needed, and ``outline``, the numbered units by kind."""
        own = self.segmentation.figures if self.segmentation else {}
        return Figures({**own, "outline": self.document.outline} if self.document.outline else own)

    @property
    def cuts(self) -> list[Cut]:
        """The boundaries between chunks, in reading order, each with its reason."""
        ends = {span.end for chunk in self.chunks for span in chunk.spans}
        return [self.cut_at(offset) for offset in sorted(ends - {len(self.document.text)})]

    def cut_at(self, offset: int) -> Cut:
        """Return the boundary at ``offset`` with its reason."""
        if self.units is None or (own := self.segmentation) is None:
            return Cut(offset, "size", None)
        cuts, reason, gaps, origins = own.cuts, own.reason, own.gaps, own.origins
        unit = int(np.searchsorted(self.units.edges, offset))
        has_score = gaps is not None and 0 < unit <= len(gaps) and bool(np.isfinite(gaps[unit - 1]))
        score = float(gaps[unit - 1]) if gaps is not None and has_score else None
        place = int(np.searchsorted(cuts, unit))
        if unit >= len(self.units) or self.units.edges[unit] != offset or cuts[place] != unit:
            return Cut(offset, "size", score)
        word = reason if isinstance(reason, str) else reason[place - 1]
        listed = None if origins is None or isinstance(origins, str) else origins[place - 1]
        return Cut(offset, word, score, listed or origin_of(word, first=False))
