"""Cut a document into many short, well separated pieces, as clustering needs them."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from advchunk import tiling
from advchunk.layout import tiled, with_blocks
from advchunk.readers.markdown import protected
from advchunk.records import Document, Units
from advchunk.sizes import Limits
from advchunk.tiling import Tiler

_HARD_WRAP = 120  # characters: if no line of a paragraph is longer, its lines are typography, not meaning


def prechunks(
    document: Document, granularity: Literal["paragraph", "sentence"], sentences: Tiler, limits: Limits
) -> Units:
    """Return one piece for every heading, list item, quote, code, table, formula and paragraph.

    Of granularity "sentence", prose is cut into its sentences too. A paragraph over ``max_tokens``
    falls back to its lines, unless it is hard-wrapped, and a line over it to its sentences.
    """
    pieces = with_blocks(tiled(document, sentences if granularity == "sentence" else tiling.paragraphs), document)
    whole = {start for start, _ in protected(document.blocks or ())}
    sizes = limits.counter.counts(pieces.strings())
    ends: list[int] = []
    for (start, end), size in zip(pairwise(pieces.edges.tolist()), sizes.tolist(), strict=True):
        if size <= limits.max_tokens or start in whole:
            ends.append(end)
        else:
            ends += _loosened(document.text[start:end], start, sentences, limits)
    return tiling.from_ends(document.text, ends)


def _loosened(paragraph: str, offset: int, sentences: Tiler, limits: Limits) -> list[int]:
    """Return where the pieces of a long paragraph end."""
    lines = tiling.lines(paragraph)
    if max(map(len, lines.strings())) <= _HARD_WRAP:
        lines = Units(paragraph, lines.edges[[0, -1]])
    ends: list[int] = []
    for (start, end), size in zip(pairwise(lines.edges.tolist()), limits.counter.counts(lines.strings()), strict=True):
        if size <= limits.max_tokens:
            ends.append(offset + end)
        else:
            ends += (sentences(paragraph[start:end]).edges[1:] + (offset + start)).tolist()
    return ends
