"""Cut a document between its sections, and each section with another chunker."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.base import SegmentingChunker, VectorsChunker
from advchunk.chunkers.boundaries import join_segmentations
from advchunk.chunkers.catalog import default_chunker
from advchunk.chunkers.params import RESOURCE
from advchunk.engine import Plan, completed, gather
from advchunk.errors import require
from advchunk.records import Document, Segmentation, Strength, Units


@dataclass(kw_only=True)
class SectionedChunker(VectorsChunker):
    """Cuts a document at its sections, which no chunk crosses: a subclass implements `hard_breaks`.

    Parameters
    ----------
    inner : chunker of each section (only its decisions count); None is ``optimal-semantic`` with the same embedder.
    """

    inner: SegmentingChunker | None = field(default=None, repr=False, metadata=RESOURCE)

    @abstractmethod
    def hard_breaks(self, document: Document) -> Iterable[int]:
        """Return the offsets at which sections start, in any order."""

    def groups(self, document: Document, offsets: Sequence[int]) -> Sequence[object]:
        """Return the group of each section, by its start; a short one may share a chunk within its group."""
        return offsets

    def check(self) -> None:
        """Add the rule for ``inner``."""
        super().check()
        is_valid = self.inner is None or isinstance(self.inner, SegmentingChunker)
        require(is_valid, "inner must be a chunker of units, such as OptimalSemanticChunker, or None", self.inner)

    def load(self) -> None:
        """Load the inner chunker too."""
        super().load()
        self.inner_chunker.load()

    @property
    def inner_chunker(self) -> SegmentingChunker:
        """The chunker that cuts sections."""
        if isinstance(self.inner, SegmentingChunker):
            return self.inner
        inner: Any = default_chunker()
        shared: dict[str, Any] = {"batch_size": self.batch_size, "cache": self.cache, "language": self.language}
        chunker: SegmentingChunker = inner(embedder=self.embedder, **shared)
        return chunker

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return units with a hard break before each section, except between a heading and the text below it.

        A section under ``min_tokens`` is joined with a neighbor of its group if both fit in a chunk.
        """
        units = super().tile(document, limits)
        strength, text_start = units.strength.copy(), document.text_start
        is_start = np.isin(units.edges, list(self.hard_breaks(document))) & (strength >= 0)
        is_start[0], is_start[-1] = True, False
        starts = np.flatnonzero(is_start)
        if limits.min_tokens:
            sizes = np.add.reduceat(units.token_counts(), starts).tolist()
            groups = self.groups(document, [max(edge, text_start) for edge in units.edges[starts].tolist()])
            starts = starts[_join_short(sizes, groups, limits)]
        strength[starts[1:]] = Strength.HARD_BREAK
        return replace(units, strength=strength)

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Decide on all sections side by side, so that a model gets them in one batch."""
        return decide_between_breaks(self.inner_chunker, units, limits)


def decide_between_breaks(inner: SegmentingChunker, units: Units, limits: Limits) -> Plan[Segmentation]:
    """Let a chunker decide on the units between each two hard breaks, all side by side; return one segmentation."""
    inner = inner.in_language_of(Document(units.text))
    sections = list(pairwise([*units.hard_breaks().tolist(), len(units)]))
    single = Segmentation(np.array([0, 1]))
    pieces = [units.part(start, end) for start, end in sections]
    plans = (inner.decide(piece, limits.for_units(piece)) if len(piece) > 1 else completed(single) for piece in pieces)
    parts = yield from gather(plans)
    least = limits.min_tokens
    parts = [part.with_origins(piece, least) for part, piece in zip(parts, pieces, strict=True)]
    return join_segmentations(sections, parts)


def _join_short(sizes: Sequence[int], groups: Sequence[object], limits: Limits) -> list[int]:
    """Return the sections that start a chunk when each short one has joined its smaller neighbor of the same group."""
    joined, i = list(zip(range(len(sizes)), sizes, groups, strict=True)), 0
    while i < len(joined):
        lefts = [left for left in (i - 1, i) if 0 <= left < len(joined) - 1 and joined[left][2] == joined[left + 1][2]]
        sums = {left: joined[left][1] + joined[left + 1][1] for left in lefts}
        sums = {left: total for left, total in sums.items() if total <= limits.max_tokens}
        if joined[i][1] >= limits.min_tokens or not sums:
            i += 1
            continue
        i = min(sums, key=sums.__getitem__)
        joined[i : i + 2] = [(joined[i][0], sums[i], joined[i][2])]  # this may still be short, so look again
    return [first for first, _, _ in joined]
