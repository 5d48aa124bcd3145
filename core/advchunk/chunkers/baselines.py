"""The honest baselines: windows of a fixed size, and recursive splitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.params import Params
from advchunk.records import Document, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text import tiling


@dataclass(kw_only=True)
class SlidingWindowParams(Params):
    """Cut windows of a fixed number of tokens; with ``overlap_tokens``, each repeats the end of the one before.

    Windows end between words, so no word, and no character of a script without spaces, is cut
    in two. Code, tables and formulas stay whole while they fit.
    """

    algorithm: ClassVar[str] = "sliding-window"


@dataclass(kw_only=True)
class SlidingWindowChunker(SlidingWindowParams, LinearChunker):
    """Cut windows of a fixed number of tokens (`SlidingWindowParams`).

    >>> [c.text for c in SlidingWindowChunker(max_tokens=3, overlap_tokens=1).chunk("one two three four five")]
    ['one two ', 'two three four ', 'four five']
    """

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return words."""
        units = self.fit_units(document, tiling.words(document.text), limits)
        return Units(units.text, units.edges, units.sizes)  # a window ends where it is full, not where a block does

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Leave all to the token budget."""
        return Segmentation(np.array([0, len(units)]))


@dataclass(kw_only=True)
class RecursiveParams(Params):
    """Fill each chunk as far as it goes, and end it at the best place in its second half.

    The best place is before the highest heading, else between blocks (paragraphs, list items,
    tables ...), else between sentences, else clauses, words, graphemes. This is the semantics of
    LangChain's RecursiveCharacterTextSplitter (coarse separators before fine ones) without its
    small leftovers.
    """

    algorithm: ClassVar[str] = "recursive"


@dataclass(kw_only=True)
class RecursiveChunker(RecursiveParams, LinearChunker):
    r"""Fill chunks, and end each at the best place (`RecursiveParams`).

    >>> [c.text for c in RecursiveChunker(max_tokens=8).chunk("# Tea\n\nGreen. Black.\n\n# Milk\n\nWhole.")]
    ['# Tea\n\nGreen. Black.\n\n', '# Milk\n\nWhole.']
    """

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Leave all to the token budget."""
        return Segmentation(np.array([0, len(units)]))
