"""What the layout of a document means for its chunks: where they may end, what they stand under."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from advchunk import tiling
from advchunk.headings import Headings
from advchunk.records import Block, BlockKind, Document, Span, Units
from advchunk.sizes import PROSE, VERBATIM, Ladder, Limits
from advchunk.tiling import Tiler, from_ends

_PROTECTED: frozenset[BlockKind] = frozenset({"code", "table", "formula", "figure"})

STRANDED, WITHIN, SENTENCE, BLOCK, HEADING = -1, 0, 1, 2, 3  # see `records.Units`


def protected(blocks: Iterable[Block]) -> tuple[Span, ...]:
    """Return the spans that must not be cut while they fit: code, tables, formulae and figures."""
    return tuple(block.span for block in blocks if block.kind in _PROTECTED)


def ladder(document: Document, sentences: Tiler) -> Ladder:
    """Return what a unit that is too long is cut into: lines in protected blocks, sentences elsewhere."""
    whole = np.array(protected(document.blocks or ()), dtype=np.int64).reshape(-1, 2)
    prose = tuple(sentences if rung is tiling.sentences else rung for rung in PROSE)

    def rungs(offset: int) -> Sequence[Tiler]:
        block = int(np.searchsorted(whole[:, 0], offset, "right")) - 1
        return VERBATIM if block >= 0 and offset < whole[block, 1] else prose

    return rungs


def tiled(document: Document, tiler: Tiler) -> Units:
    """Return the units of a tiler that reads prose: each heading, list item and quote by itself, and nothing verbatim."""
    text, blocks = document.text, document.blocks or ()
    edges, whole = [0], {start for start, _ in protected(blocks)}
    starts = [b.span.start for a, b in pairwise(blocks) if not a.kind == b.kind == "paragraph"]
    for start, end in pairwise([0, *starts, len(text)]):
        if start not in whole:
            edges += (tiler(text[start:end]).edges + start).tolist()
    return from_ends(text, edges)


def with_blocks(units: Units, document: Document) -> Units:
    """Return units that also end where blocks do, but never inside a protected one.

    Returns
    -------
    Units with ``strength``.
    """
    text, blocks = document.text, document.blocks or ()
    starts = np.array([block.span.start for block in blocks], dtype=np.int64)
    whole = np.array(protected(blocks), dtype=np.int64).reshape(-1, 2)
    ends = np.array([_next_ink(text, end) for end in whole[:, 1].tolist()], dtype=np.int64)
    edges = np.unique(np.r_[units.edges, starts, ends])
    edges = edges[(edges == 0) | (edges > _next_ink(text, 0))]  # white space at the start has no unit of its own
    if len(whole):
        block = np.searchsorted(whole[:, 0], edges) - 1  # the last that starts before the edge
        edges = edges[(block < 0) | (edges >= whole[block, 1])]
    strength = np.full(len(edges), SENTENCE)
    strength[np.isin(edges, starts) | np.isin(edges, ends)] = BLOCK
    after = [block.span.start for above, block in pairwise(blocks) if above.kind == "heading"]
    levels = {block.span.start: block.level for block in blocks if block.kind == "heading"}
    heads = np.isin(edges, list(levels))
    strength[heads] = [HEADING + max(6 - levels[edge], 0) for edge in edges[heads].tolist()]
    strength[np.isin(edges, after)] = STRANDED
    sizes = units.sizes if np.array_equal(edges, units.edges) else None
    return Units(text, edges, sizes, strength)


class Contexts:
    """The title and headings above an offset, outermost dropped until they take half of a chunk at most."""

    def __init__(self, document: Document, limits: Limits) -> None:
        title = document.metadata.get("title")
        self._title = (str(title),) if title else ()
        self._headings = Headings(document.text, document.blocks or ())
        self._most, self._count = (limits.max_tokens - limits.overlap_tokens) // 2, limits.counter
        self._known: dict[tuple[str, ...], tuple[str, int]] = {}

    def __call__(self, offset: int) -> tuple[str, int]:
        """Return the context of a chunk that starts at ``offset``, and its tokens."""
        path = (*self._title, *self._headings.above(offset))
        if path not in self._known:
            said = ("", 0)
            for outermost in range(len(path)):
                context = " > ".join(path[outermost:])
                tokens = self._count(f"{context}\n\n")
                if tokens <= self._most:
                    said = (context, tokens)
                    break
            self._known[path] = said
        return self._known[path]


def _next_ink(text: str, offset: int) -> int:
    """Return the offset of the first character from ``offset`` on that is not white space."""
    return len(text) - len(text[offset:].lstrip()) if text[offset : offset + 1].isspace() else offset
