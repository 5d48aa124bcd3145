"""Cut a document where its sections meet, and each section as another chunker would."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from advchunk.chunkers.base import SegmentingChunker, VectorsChunker
from advchunk.chunkers.optimal import OptimalSemanticChunker
from advchunk.chunkers.params import RESOURCE
from advchunk.engine import Plan, completed, gather
from advchunk.errors import require
from advchunk.records import Document, Ints, Segmentation, Strength, Units
from advchunk.sizes import Limits


@dataclass(kw_only=True)
class SectionedChunker(VectorsChunker):
    """Cuts a document at its sections, which no chunk crosses: a subclass writes `hard_breaks`.

    Parameters
    ----------
    inner : a chunker that decides where each section is cut; its own sizes are not used, nor what else it would do to its
        chunks. None is `OptimalSemanticChunker`, with this one's embedder.
    """

    inner: Any = field(default=None, repr=False, metadata=RESOURCE)

    @abstractmethod
    def hard_breaks(self, document: Document) -> Iterable[int]:
        """Return the offsets at which sections start, in any order."""

    def check(self) -> None:
        """Add the rule for ``inner``."""
        super().check()
        right = self.inner is None or isinstance(self.inner, SegmentingChunker)
        require(right, "inner must be a chunker of units, such as OptimalSemanticChunker, or None", self.inner)
        repeats = getattr(self.inner, "boundary", "after") != "after"
        require(
            not repeats,
            'inner must have boundary="after": overlap_tokens of the sections says what is repeated',
            self.inner,
        )

    def load(self) -> None:
        """Load the inner chunker too."""
        super().load()
        self.within.load()

    @property
    def within(self) -> SegmentingChunker:
        """The chunker that decides within sections."""
        if isinstance(self.inner, SegmentingChunker):
            return self.inner
        return OptimalSemanticChunker(embedder=self.embedder, batch_size=self.batch_size, cache=self.cache)

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return units with a wall before each section, but for one between a heading and what stands under it."""
        units = super().tile(document, limits)
        strength = units.strength.copy()
        inside = units.edges[1:-1]
        strength[1:-1][np.isin(inside, list(self.hard_breaks(document))) & (strength[1:-1] >= 0)] = Strength.HARD_BREAK
        return replace(units, strength=strength)

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Decide within all sections side by side, so that a model is asked once for all."""
        rooms = list(pairwise([*units.hard_breaks().tolist(), len(units)]))
        inner = self.within
        parts = yield from gather(
            inner.decide(units.part(a, b), limits) if b - a > 1 else completed(Segmentation(np.array([0, 1])))
            for a, b in rooms
        )
        return _joined(rooms, parts)


def _joined(rooms: Sequence[tuple[int, int]], parts: Sequence[Segmentation]) -> Segmentation:
    """Return the decisions on all sections as one on the document."""
    n = rooms[-1][1]
    cuts, reasons, labels = [0], list[str](), np.zeros(n, dtype=np.int64)
    gaps, rows = np.full(n - 1, np.nan), None
    for (start, end), part in zip(rooms, parts, strict=True):
        inner = [part.reason] * (len(part.cuts) - 2) if isinstance(part.reason, str) else list(part.reason)
        reasons += [*(["section"] if start else []), *inner]
        cuts += (part.cuts[1:] + start).tolist()
        labels[start:end] = labels[:start].max(initial=-1) + 1 + _labels(part)
        if part.gaps is not None:
            gaps[start : end - 1] = part.gaps
        if part.rows is not None:
            rows = np.zeros((n, part.rows.shape[1]), part.rows.dtype) if rows is None else rows
            rows[start:end] = part.rows
    grouped = any(part.labels is not None for part in parts)
    return Segmentation(
        np.array(cuts), labels if grouped else None, reasons, None if np.isnan(gaps).all() else gaps, rows=rows
    )


def _labels(part: Segmentation) -> Ints:
    """Return labels from 0; those of its segments where a section was not grouped."""
    if part.labels is None:
        return np.repeat(np.arange(len(part.cuts) - 1), np.diff(part.cuts))
    found: Ints = np.unique(part.labels, return_inverse=True)[1].astype(np.int64)
    return found
