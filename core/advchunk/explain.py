"""What an algorithm decided, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from advchunk.records import Chunk, Document, Floats, Ints, Units


@dataclass(frozen=True, slots=True, eq=False)
class Segmentation:
    """Where an algorithm cuts the units, or which it puts together, and why.

    Parameters
    ----------
    cuts : (k + 1,) see `records`.
    labels : (n,) if distant units with one label make one chunk; then ``cuts`` is where labels change.
    reason : in a word, why it cuts; or one word for each inner cut.
    gaps : (n - 1,) its score of every gap, if it has one; nan where it looked at none.
    rows : (n, d) unit rows, if it has any, by which a short piece joins the more similar neighbour.
    figures : whatever else it computed on the way: thresholds, weights, totals, by name. What is
        costly and seldom wanted is a function that computes it.
    """

    cuts: Ints
    labels: Ints | None = None
    reason: str | Sequence[str] = "score"
    gaps: Floats | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    rows: Floats | None = None


class _Figures(Mapping[str, Any]):
    """Figures, of which the costly ones are computed when they are asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def __getitem__(self, name: str) -> Any:
        figure = self._given[name]
        return figure() if callable(figure) else figure

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: ...' if callable(it) else f'{name!r}: {it!r}' for name, it in self._given.items())}}}"


class Cut(NamedTuple):
    """A boundary between chunks.

    ``reason`` is the algorithm's, or "size" where only the token budget forced it; ``score``
    is the algorithm's for that gap, if it has one.
    """

    offset: int
    reason: str
    score: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The chunks of a document, and how they came about.

    Parameters
    ----------
    chunks : what `Chunker.chunk` returns.
    units, segmentation : what the algorithm saw and decided; None if there was nothing to decide.
    """

    document: Document
    chunks: list[Chunk]
    units: Units | None = None
    segmentation: Segmentation | None = None

    @property
    def figures(self) -> Mapping[str, Any]:
        """Whatever the algorithm computed on the way, by name."""
        return _Figures(self.segmentation.figures if self.segmentation else {})

    @property
    def cuts(self) -> list[Cut]:
        """The boundaries between chunks, in reading order, each with its reason."""
        ends = {span.end for chunk in self.chunks for span in chunk.spans}
        return [self.cut_at(offset) for offset in sorted(ends - {len(self.document.text)})]

    def cut_at(self, offset: int) -> Cut:
        """Say why there is a boundary at ``offset``."""
        if self.units is None or self.segmentation is None:
            return Cut(offset, "size", None)
        found = self.segmentation
        unit = int(np.searchsorted(self.units.edges, offset))
        known = found.gaps is not None and 0 < unit <= len(found.gaps) and bool(np.isfinite(found.gaps[unit - 1]))
        score = float(found.gaps[unit - 1]) if found.gaps is not None and known else None
        place = int(np.searchsorted(found.cuts, unit))
        if unit >= len(self.units) or self.units.edges[unit] != offset or found.cuts[place] != unit:
            return Cut(offset, "size", score)
        return Cut(offset, found.reason if isinstance(found.reason, str) else found.reason[place - 1], score)
