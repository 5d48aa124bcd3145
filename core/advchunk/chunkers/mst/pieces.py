"""Division of a document into many short pieces, for clustering."""

from itertools import pairwise
from typing import Literal

import numpy as np

from advchunk.layout import fit_to_blocks, protected, tile_prose
from advchunk.records import Document, Units
from advchunk.sizes import Limits
from advchunk.text import tiling
from advchunk.text.tiling import Tiler

_HARD_WRAP = 120  # characters: if no line of a paragraph is longer, its line breaks carry no meaning


def tile_pieces(
    document: Document, granularity: Literal["paragraph", "sentence"], sentences: Tiler, limits: Limits
) -> Units:
    """Return a piece for every heading, list item, quote, code block, table, formula and paragraph, with its tokens.

    With granularity "sentence", prose is split into sentences as well. A paragraph over ``max_tokens`` is split into
    lines, unless it is hard-wrapped, and a line over ``max_tokens`` into sentences.
    """
    tiler = sentences if granularity == "sentence" else tiling.paragraphs
    pieces = fit_to_blocks(tile_prose(document, tiler), document)
    protected_starts = {start for start, _ in protected(document).spans}
    counts = limits.counter.counts(pieces.strings())
    edges, sizes = [0], list[int]()
    for (start, end), size in zip(pairwise(pieces.edges.tolist()), counts.tolist(), strict=True):
        if size <= limits.max_tokens or start in protected_starts:
            edges.append(end)
            sizes.append(size)
        else:
            parts = _split_paragraph(document.text[start:end], sentences, limits)
            edges += (parts.edges[1:] + start).tolist()
            sizes += parts.token_counts().tolist()
    return Units(document.text, np.array(edges, dtype=np.int64), np.array(sizes, dtype=np.int64))


def _split_paragraph(paragraph: str, sentences: Tiler, limits: Limits) -> Units:
    """Return the pieces of a long paragraph, with their tokens."""
    lines = tiling.lines(paragraph)
    if max(map(len, lines.strings())) <= _HARD_WRAP:
        lines = Units(paragraph, lines.edges[[0, -1]])
    sizes = limits.counter.counts(lines.strings())
    long = np.flatnonzero(sizes > limits.max_tokens).tolist()
    if not long:
        return Units(paragraph, lines.edges, sizes)
    inner = [sentences(paragraph[a:b]).edges + a for a, b in (lines.edges[i : i + 2].tolist() for i in long)]
    parts = Units(paragraph, np.unique(np.concatenate([lines.edges, *inner])))
    return Units(paragraph, parts.edges, limits.counter.counts(parts.strings()))
