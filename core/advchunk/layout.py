"""What the layout of a document means for its chunks: where they may end, what they stand under."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from advchunk.readers.writing import table_head
from advchunk.records import Block, BlockKind, Document, Ints, Place, Segmentation, Span, Units
from advchunk.sizes import PROSE, VERBATIM, Limits
from advchunk.text import tiling
from advchunk.text.sentences import sentences as default_sentences
from advchunk.text.tiling import Tiler, from_ends

_PROTECTED: frozenset[BlockKind] = frozenset({"code", "table", "formula", "figure"})

KEEP_WITH_NEXT, WITHIN, SENTENCE, BLOCK, HEADING = -1, 0, 1, 2, 3  # see `records.Units`


def protected(blocks: Iterable[Block]) -> tuple[Span, ...]:
    """Return the spans that must not be cut while they fit: code, tables, formulas and figures."""
    return tuple(block.span for block in blocks if block.kind in _PROTECTED)


def split_levels(document: Document, sentences: Tiler) -> Callable[[int], Sequence[Tiler]]:
    """Return what a unit that is too long is cut into: lines in protected blocks, sentences elsewhere."""
    whole = np.array(protected(document.blocks or ()), dtype=np.int64).reshape(-1, 2)
    prose = tuple(sentences if rung is default_sentences else rung for rung in PROSE)

    first = tiling.next_non_space(document.text, 0)

    def rungs(offset: int) -> Sequence[Tiler]:
        offset = max(offset, first)  # the first unit owns the white space before it
        block = int(np.searchsorted(whole[:, 0], offset, "right")) - 1
        return VERBATIM if block >= 0 and offset < whole[block, 1] else prose

    return rungs


def tile_prose(document: Document, tiler: Tiler) -> Units:
    """Return the units of a tiler that reads prose: each heading, list item and quote by itself, and nothing verbatim."""
    text, blocks = document.text, document.blocks or ()
    edges, whole = [0], {start for start, _ in protected(blocks)}
    starts = [b.span.start for a, b in pairwise(blocks) if not a.kind == b.kind == "paragraph"]
    for start, end in pairwise([0, *starts, len(text)]):
        if start not in whole:
            edges += (tiler(text[start:end]).edges + start).tolist()
    return from_ends(text, edges)


def with_blocks(units: Units, document: Document) -> Units:
    """Return units that also end where blocks do, but never inside a protected one or the white space before a block.

    Returns
    -------
    Units with ``strength``.
    """
    text, blocks = document.text, document.blocks or ()
    starts = np.array([block.span.start for block in blocks], dtype=np.int64)
    whole = np.array(protected(blocks), dtype=np.int64).reshape(-1, 2)
    ends = np.array(
        [max(end, tiling.unit_end(text, _ink_end(text, start, end))) for start, end in whole.tolist()], dtype=np.int64
    )
    edges = np.unique(np.r_[units.edges, starts, ends])
    outside = edges > tiling.next_non_space(text, 0)  # white space at the start is no unit of its own
    if len(blocks):
        first, last = _space_before(text, blocks)
        block = np.searchsorted(first, edges, "right") - 1  # the last whose white space starts up to the edge
        outside &= (block < 0) | (edges > last[block]) | np.isin(edges, starts)
    edges = edges[outside | np.isin(edges, [0, len(text)])]
    if len(whole):
        block = np.searchsorted(whole[:, 0], edges) - 1  # the last that starts before the edge
        edges = edges[(block < 0) | (edges >= whole[block, 1])]
    titles = np.array([block.span for block in blocks if block.kind == "heading"], dtype=np.int64).reshape(-1, 2)
    if len(titles):  # "## 2. Methods" is no two sentences
        block = np.searchsorted(titles[:, 0], edges) - 1
        edges = edges[(block < 0) | (edges >= titles[block, 1])]
    strength = np.full(len(edges), SENTENCE)
    strength[np.isin(edges, starts) | np.isin(edges, ends)] = BLOCK
    after = [block.span.start for above, block in pairwise(blocks) if above.kind == "heading"]
    levels = {block.span.start: block.level for block in blocks if block.kind == "heading"}
    heads = np.isin(edges, list(levels))
    strength[heads] = [HEADING + max(6 - levels[edge], 0) for edge in edges[heads].tolist()]
    strength[np.isin(edges, after)] = KEEP_WITH_NEXT
    sizes = units.sizes if np.array_equal(edges, units.edges) else None
    return Units(text, edges, sizes, strength)


def keep_headings(units: Units, found: Segmentation) -> Segmentation:
    """Return a decision that parts no heading from its text: a cut between them moves before the heading.

    A cut that the algorithm was forced to make stays.
    """
    if units.strength is None or not np.any(units.strength < 0):
        return found
    stranded = np.flatnonzero(units.strength < 0)
    cuts, labels = found.cuts.copy(), found.labels
    forced = np.zeros(len(cuts), dtype=bool)
    if not isinstance(found.reason, str):
        forced[1:-1] = np.array(found.reason) == "forced"
    for edge in stranded[::-1].tolist():  # from the end, so that a heading under a heading takes it along
        cuts[(cuts == edge) & ~forced] = edge - 1
    if labels is not None:
        labels = labels.copy()
        for edge in stranded[::-1].tolist():
            labels[edge - 1] = labels[edge]
    cuts, kept = np.unique(cuts, return_index=True)
    reason = found.reason if isinstance(found.reason, str) else [found.reason[i - 1] for i in kept[1:-1].tolist()]
    return replace(found, cuts=cuts, labels=labels, reason=reason)


class Headings:
    r"""The headings of a document, found by character.

    Parameters
    ----------
    text : what the blocks' spans index.
    blocks : a layout, ascending; blocks other than headings are passed over.

    Examples
    --------
    >>> from advchunk.readers.markdown import blocks
    >>> text = "# Guide\n\nHello.\n\n## Install\n\nRun make."
    >>> Headings(text, blocks(text)).path(text.index("Run"))
    ('Guide', 'Install')
    """

    def __init__(self, text: str, blocks: Iterable[Block]) -> None:
        self._starts: list[int] = []
        self._paths: list[tuple[str, ...]] = [()]
        self._above: list[tuple[str, ...]] = []
        above: list[tuple[int, str]] = []
        for block in blocks:
            if block.kind == "heading":
                above = [(level, title) for level, title in above if level < block.level]
                self._above.append(tuple(title for _, title in above if title))
                title = " ".join(text[slice(*block.span)].split()) if block.title is None else block.title
                above.append((block.level, title))
                self._starts.append(block.span.start)
                self._paths.append(tuple(title for _, title in above if title))

    def path(self, offset: int) -> tuple[str, ...]:
        """Return the headings above a character, innermost last; a heading stands under itself."""
        return self._paths[bisect_right(self._starts, offset)]

    def above(self, offset: int) -> tuple[str, ...]:
        """Return the headings above a text that starts at a character, without the one it starts with."""
        place = bisect_right(self._starts, offset)
        own = place and self._starts[place - 1] == offset
        return self._above[place - 1] if own else self._paths[place]


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


class TableHeads:
    """The context of a chunk, and the head of a table if it begins further down in one."""

    def __init__(self, document: Document, limits: Limits) -> None:
        tables = [block for block in document.blocks or () if block.kind == "table"]
        self._starts = [table.span.start for table in tables]
        self._tables = [(table.span.end, table_head(document.text, table)) for table in tables]
        self._limits, self._known = limits, dict[tuple[str, str], tuple[str, int]]()

    def __call__(self, offset: int) -> tuple[str, int]:
        """Return the context of a chunk that starts at ``offset``, and its tokens; a head may take half of a chunk."""
        said = self._limits.context(offset)
        place = bisect_right(self._starts, offset - 1) - 1
        end, head = self._tables[place] if place >= 0 else (0, "")
        if not head or offset >= end or offset < self._starts[place] + len(head) or said[0].endswith(head):
            return said
        if (said[0], head) not in self._known:
            context = f"{said[0]}\n\n{head}" if said[0] else head
            tokens = self._limits.counter(f"{context}\n\n")
            most = (self._limits.max_tokens - self._limits.overlap_tokens) // 2
            self._known[said[0], head] = (context, tokens) if tokens <= most else said
        return self._known[said[0], head]


class Pages:
    """Where on paper a chunk stands: of each block that it has a part of, all of its places."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._placed = [block for block in blocks if block.places]
        self._ends = [block.span.end for block in self._placed]

    def __call__(self, spans: Iterable[Span]) -> dict[str, Any]:
        """Return ``page``, the first; ``pages`` if they are several; ``boxes``, each [page, left, top, right, bottom]."""
        places = dict[Place, None]()
        for start, end in spans:
            for block in self._placed[bisect_right(self._ends, start) :]:
                if block.span.start >= end:
                    break
                places |= dict.fromkeys(block.places)
        if not places:
            return {}
        pages = sorted({place.page for place in places})
        boxes = [[place.page, *place.box] for place in places if place.box]
        return {"page": pages[0]} | ({"pages": pages} if len(pages) > 1 else {}) | ({"boxes": boxes} if boxes else {})


def _ink_end(text: str, start: int, end: int) -> int:
    """Return where ``text[start:end]`` ends without the white space after it."""
    return start + len(text[start:end].rstrip())


def _space_before(text: str, blocks: Sequence[Block]) -> tuple[Ints, Ints]:
    """Return where the white space before each block starts, and where it ends behind the block's indentation."""
    starts = [block.span.start for block in blocks]
    first = [_ink_end(text, above, start) for above, start in pairwise([0, *starts])]
    last = [tiling.next_non_space(text, start) for start in starts]
    return np.array(first, dtype=np.int64), np.array(last, dtype=np.int64)
