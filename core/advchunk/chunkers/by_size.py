"""Baselines: windows of a fixed size, and recursive splitting. They decide on nothing: the limits divide the text."""

from typing import ClassVar

from advchunk.building.sizes import Limits
from advchunk.chunkers.base import SizeChunker
from advchunk.chunkers.params import Params
from advchunk.records import Document, Units
from advchunk.text import tiling


class SlidingWindowParams(Params):
    """Cut windows of a fixed number of tokens; with ``overlap_tokens``, each repeats the end of the previous one.

    Windows end between words, or between characters in scripts without spaces. Code, tables and formulas stay whole
    if they fit.
    """

    algorithm: ClassVar[str] = "sliding-window"
    version: ClassVar[int] = 2


class SlidingWindowChunker(SlidingWindowParams, SizeChunker):
    """Cut windows of a fixed number of tokens (`SlidingWindowParams`).

    >>> [c.text for c in SlidingWindowChunker(max_tokens=3, overlap_tokens=1).chunk("one two three four five")]
    ['one two three ', 'three four five']
    """

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return the words of a document, so that windows ignore sentences and blocks."""
        units = self.fit_units(document, tiling.words(document.text), limits)
        return Units(units.text, units.edges, units.sizes)  # without strengths: windows end only when they are full


class RecursiveParams(Params):
    """Fill each chunk, and end it at the best boundary in its second half.

    The best boundary is the one before the highest heading, else between blocks (paragraphs, list items, tables ...),
    sentences, clauses, words or graphemes, in this order. Like LangChain's RecursiveCharacterTextSplitter it prefers
    coarse separators to fine ones, but it leaves no small remainders.
    """

    algorithm: ClassVar[str] = "recursive"
    version: ClassVar[int] = 2


class RecursiveChunker(RecursiveParams, SizeChunker):
    r"""Fill chunks, and end each at the best boundary (`RecursiveParams`).

    >>> [c.text for c in RecursiveChunker(max_tokens=8).chunk("# Tea\n\nGreen. Black.\n\n# Milk\n\nWhole.")]
    ['# Tea\n\nGreen. Black.\n\n', '# Milk\n\nWhole.']
    """
