"""Cut a document into many short, well separated pieces, as clustering needs them."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from advchunk.layout import fit_to_blocks, protected, tile_prose
from advchunk.records import Document, Units
from advchunk.sizes import Limits
from advchunk.text import tiling
from advchunk.text.tiling import Tiler

_HARD_WRAP = 120  # characters: if no line of a paragraph is longer, its lines are typography, not meaning


def prechunks(
    document: Document, granularity: Literal["paragraph", "sentence"], sentences: Tiler, limits: Limits
) -> Units:
    """Return one piece for every heading, list item, quote, code, table, formula and paragraph.

    Of granularity "sentence", prose is cut into its sentences too. A paragraph over ``max_tokens``
    falls back to its lines, unless it is hard-wrapped, and a line over it to its sentences.
    """
    pieces = fit_to_blocks(
        tile_prose(document, sentences if granularity == "sentence" else tiling.paragraphs), document
    )
    whole = {start for start, _ in protected(document).spans}
    sizes = limits.counter.counts(pieces.strings())
    edges, counted = [0], list[int]()
    for (start, end), size in zip(pairwise(pieces.edges.tolist()), sizes.tolist(), strict=True):
        if size <= limits.max_tokens or start in whole:
            edges.append(end)
            counted.append(size)
        else:
            finer = _loosened(document.text[start:end], sentences, limits)
            edges += (finer.edges[1:] + start).tolist()
            counted += finer.token_counts().tolist()
    return Units(document.text, np.array(edges, dtype=np.int64), np.array(counted, dtype=np.int64))


def _loosened(paragraph: str, sentences: Tiler, limits: Limits) -> Units:
    """Return the pieces of a long paragraph, counted."""
    lines = tiling.lines(paragraph)
    if max(map(len, lines.strings())) <= _HARD_WRAP:
        lines = Units(paragraph, lines.edges[[0, -1]])
    sizes = limits.counter.counts(lines.strings())
    long = np.flatnonzero(sizes > limits.max_tokens).tolist()
    if not long:
        return Units(paragraph, lines.edges, sizes)
    inner = [sentences(paragraph[a:b]).edges + a for a, b in (lines.edges[i : i + 2].tolist() for i in long)]
    finer = Units(paragraph, np.unique(np.concatenate([lines.edges, *inner])))
    return Units(paragraph, finer.edges, limits.counter.counts(finer.strings()))
