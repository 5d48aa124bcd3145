"""The layout of a document: where its chunks may end, which headings they are under, and on which pages they are."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise, takewhile
from os.path import commonprefix
from typing import Any, Final

import numpy as np

from advchunk.readers.writing import table_head
from advchunk.records import (
    Block,
    BlockKind,
    Document,
    Segmentation,
    Span,
    SpanSet,
    Strength,
    Units,
    remove_written,
    with_context,
    written_keys,
)
from advchunk.sizes import Limits, RunSizes
from advchunk.text.tiling import Tiler, from_ends, leading_space, next_non_space, unit_end

_PROTECTED: frozenset[BlockKind] = frozenset({"code", "table", "formula", "figure"})
_CAPTIONED = _PROTECTED | {"caption"}
_WHOLE = _PROTECTED | {"heading"}  # such as "## 2. Methods"
_TITLED: frozenset[BlockKind] = frozenset({"heading", "code"})  # the kinds of blocks that may begin a section
_NO_SPANS = SpanSet()
LINES: Final = frozenset({"start_line", "end_line"})
"""Metadata that change where lines are added above."""
_LINE_END = re.compile(r"\r\n?|\n")
_UNCHANGED: Final = frozenset({"", "code"})  # markup of documents whose text no reader derived from another
_INHERITED: Final = frozenset({"section", "title_path", "page"})  # metadata of a chunk that is also true of its parts


def protected(document: Document, kinds: Iterable[BlockKind] = _PROTECTED) -> SpanSet:
    """Return the spans of blocks that are cut only if they are over the limits: code, tables, formulas and figures."""
    blocks = [block for block in document.blocks or () if block.kind in kinds]
    return block_spans(document, blocks) if blocks else _NO_SPANS


def block_spans(document: Document, blocks: Sequence[Block]) -> SpanSet:
    """Return the spans of blocks; as with units, the first owns the white space at the start of the text."""
    spans = [block.span for block in blocks]
    if spans and spans[0].start <= document.text_start:
        spans[0] = Span(0, spans[0].end)
    return SpanSet(spans)


def tile_prose(document: Document, tiler: Tiler) -> Units:
    """Tile the prose of a document: each heading, list item and quote separately; protected blocks are not split."""
    text, blocks = document.text, document.blocks or ()
    edges, whole = [0], {block.span.start for block in blocks if block.kind in _PROTECTED}
    starts = [b.span.start for a, b in pairwise(blocks) if not a.kind == b.kind == "paragraph"]
    if not (starts or whole):
        return tiler(text)
    for start, end in pairwise([0, *starts, len(text)]):
        edges += [end] if start in whole else (start + tiler(text[start:end]).edges[1:]).tolist()
    return Units(text, np.array(edges, dtype=np.int64))


def fit_to_blocks(units: Units, document: Document) -> Units:
    """Return units that also end where blocks end, but not inside a protected one or the white space before a block.

    A heading stays with the block below it, and a caption with what it is above.

    Returns
    -------
    Units with the ``strength`` of their edges.
    """
    text, blocks, lead = document.text, document.blocks or (), document.text_start
    # From a first to a last offset, only a block begins: in the white space before it, and inside one that is kept whole.
    spans, starts, ends, strength_at = [(0, lead)], [0], list[int](), dict[int, int]()
    for block in blocks:
        start, end = block.span
        last = max(next_non_space(text, start), end - 1 if block.kind in _WHOLE else 0)
        spans.append((_text_end(text, starts[-1], start), last))
        starts.append(start)
        strength_at[start] = Strength.HEADING + max(6 - block.level, 0) if _is_titled(block) else Strength.BLOCK
        if block.kind in _PROTECTED:
            after = max(end, unit_end(text, _text_end(text, start, end)))
            ends.append(after)
            strength_at.setdefault(after, Strength.BLOCK)
    candidates = sorted({*units.edges.tolist(), *ends}) if ends else units.edges.tolist()
    places = [*(bisect_left(candidates, first) for first, _ in spans), len(candidates)]
    edges = list[int]()
    for start, (_, last), (i, j) in zip(starts, spans, pairwise(places), strict=True):
        if start > lead or not edges:
            edges.append(start)
        edges += candidates[bisect_right(candidates, last, i) : j]
    if edges[-1] < len(text):
        edges.append(len(text))
    strength = [Strength.SENTENCE] * len(edges)
    for offset, value in strength_at.items():
        if edges[place := bisect_left(edges, offset)] == offset:
            strength[place] = value
    for block, below in pairwise(blocks):
        if block.kind == "heading" or (block.kind == "caption" and below.kind in _CAPTIONED):
            i, j = bisect_right(edges, block.span.start), bisect_right(edges, below.span.start)
            strength[i:j] = [Strength.KEEP_WITH_NEXT] * (j - i)
    sizes = units.sizes if edges == units.edges.tolist() else None
    return Units(text, np.array(edges, dtype=np.int64), sizes, np.array(strength, dtype=np.int64))


def keep_headings(units: Units, segmentation: Segmentation) -> Segmentation:
    """Move each cut between a heading or caption and what is below before the heading, except cuts that were forced."""
    edges = np.flatnonzero(units.strength < 0)[::-1].tolist()  # from the end: stacked headings move together
    if not edges:
        return segmentation
    cuts, labels, reason = segmentation.cuts.copy(), segmentation.labels, segmentation.reason
    forced = np.zeros(len(cuts), dtype=bool)
    if not isinstance(reason, str):
        forced[1:-1] = np.array(reason) == "forced"
    for edge in edges:
        cuts[(cuts == edge) & ~forced] = edge - 1
    if labels is not None:
        labels = labels.copy()
        for edge in edges:
            labels[edge - 1] = labels[edge]
    cuts, kept = np.unique(cuts, return_index=True)
    reason = reason if isinstance(reason, str) else [reason[i - 1] for i in kept[1:-1].tolist()]
    return replace(segmentation, cuts=cuts, labels=labels, reason=reason)


def join_definitions(document: Document, limits: Limits) -> Document:
    """Return source code with each definition that fits in a chunk as one block, with all inside it and the comment above."""
    blocks = document.blocks or ()
    units = from_ends(document.text, [block.span.start for block in blocks[1:]])
    runs = RunSizes(units, limits.counter, limits.more)
    joined, i = list[Block](), 0
    while i < len(blocks):
        first, start, end = i, blocks[i].span.start, i + 1
        if blocks[i].kind == "heading" and not blocks[i].title and end < len(blocks):
            first, end = i + 1, i + 2
        while blocks[first].kind == "heading" and end < len(blocks) and blocks[end].level > blocks[first].level:
            end += 1
        if runs.fits(i, end, limits.budget(start) + limits.overlap_tokens):
            span = Span(start, blocks[end - 1].span.end)
            joined.append(replace(blocks[first], kind="code", span=span))
        else:
            joined.append(blocks[i])
            end = i + 1
        i = end
    return replace(document, blocks=tuple(joined))


def _is_titled(block: Block) -> bool:
    """Return True if a block begins a section: a heading, or a definition or other statements in source code."""
    return block.kind == "heading" or (block.kind == "code" and block.title is not None)


def _section_path(document: Document, path: Sequence[str]) -> tuple[str, ...]:
    """Return a path of headings as it is written: in source code as one qualified name."""
    return (".".join(path),) if document.markup == "code" and path else tuple(path)


class Headings:
    r"""The headings of a document, and the definitions of source code, searched by offset.

    Parameters
    ----------
    text : the text that the blocks' spans index.
    blocks : a layout, ascending; blocks without a title are skipped.
    above : level and title of each heading that the text is under.

    Examples
    --------
    >>> from advchunk.readers.markdown import blocks
    >>> text = "# Guide\n\nHello.\n\n## Install\n\nRun make."
    >>> Headings(text, blocks(text)).path(text.index("Run"))
    ('Guide', 'Install')
    """

    def __init__(self, text: str, blocks: Iterable[Block], above: Iterable[tuple[int, str]] = ()) -> None:
        self._lead = leading_space(text)
        stack = [*above]
        self._starts: list[int] = []
        self._paths: list[tuple[str, ...]] = [tuple(title for _, title in stack if title)]
        self._above: list[tuple[str, ...]] = []
        for block in blocks:
            if _is_titled(block):
                stack = [(level, title) for level, title in stack if level < block.level]
                self._above.append(tuple(title for _, title in stack if title))
                stack.append(_heading(text, block))
                self._starts.append(block.span.start)
                self._paths.append(tuple(title for _, title in stack if title))

    def path(self, offset: int) -> tuple[str, ...]:
        """Return the headings that a character is under, innermost last; a heading is under itself."""
        return self._paths[bisect_right(self._starts, max(offset, self._lead))]

    def above(self, offset: int) -> tuple[str, ...]:
        """Return the headings that a text starting at a character is under, without the one it starts with."""
        offset = max(offset, self._lead)
        place = bisect_right(self._starts, offset)
        return self._above[place - 1] if place and self._starts[place - 1] == offset else self._paths[place]


def headings_above(document: Document, offset: int) -> tuple[tuple[int, str], ...]:
    """Return level and title of each heading that a text from ``offset`` on is under, outermost first."""
    stack = [*document.above]
    for block in document.blocks or ():
        if block.span.start >= offset:
            break
        if _is_titled(block):
            stack = [(level, title) for level, title in stack if level < block.level]
            stack.append(_heading(document.text, block))
    return tuple(stack)


def _heading(text: str, block: Block) -> tuple[int, str]:
    """Return the level and the title of a heading."""
    return block.level, " ".join(text[slice(*block.span)].split()) if block.title is None else block.title


class Contexts:
    """The context of an offset: the title and the headings above it, and the head of the table that it is in.

    The outermost headings are dropped until the rest fits in half a chunk; a head that does not fit with it is left out.

    Parameters
    ----------
    limits : of the chunks; its own context is not used.
    titled : False for the heads of tables alone.
    """

    def __init__(self, document: Document, limits: Limits, *, titled: bool = True) -> None:
        blocks, title = document.blocks or (), document.metadata.get("title")
        self._document, self._limits, self._titled = document, limits, titled
        self._title = (str(title),) if title else ()
        self._headings = Headings(document.text, blocks, document.above)
        tables = [block for block in blocks if block.kind == "table"]
        self._starts = [table.span.start for table in tables]
        self._tables = [(table.span.end, *table_head(document.text, table)) for table in tables]
        self._sizes = dict[str, int]()

    def __call__(self, offset: int) -> tuple[str, int]:
        """Return the context of a chunk that starts at an offset, and its tokens."""
        titles, head = self._titles(offset) if self._titled else "", self._table_head(offset)
        with_head = titles if titles.endswith(head) else with_context(titles, head)
        context = with_head if self._size(with_head) <= self._limits.max_context else titles
        return context, self._size(context)

    def _titles(self, offset: int) -> str:
        headings = _section_path(self._document, self._headings.above(offset))
        path = headings if headings[:1] == self._title else (*self._title, *headings)
        contexts = (" > ".join(path[outermost:]) for outermost in range(len(path)))
        return next((context for context in contexts if self._size(context) <= self._limits.max_context), "")

    def _table_head(self, offset: int) -> str:
        place = bisect_right(self._starts, offset - 1) - 1
        end, head, head_end = self._tables[place] if place >= 0 else (0, "", 0)
        return head if head_end <= offset < end else ""

    def _size(self, context: str) -> int:
        """Return the tokens of a context and the blank line after it, counted once."""
        if context not in self._sizes:
            self._sizes[context] = self._limits.counter(f"{context}\n\n") if context else 0
        return self._sizes[context]


class Locator:
    """Locates spans in a document: headings above them, lines, places on pages, and what blocks say of themselves."""

    def __init__(self, document: Document) -> None:
        blocks = document.blocks or ()
        may_have_headings = document.above or not _TITLED.isdisjoint([block.kind for block in blocks])
        self._headings = Headings(document.text, blocks, document.above) if may_have_headings else None
        self._document = document
        self._placed = [block for block in blocks if block.places or block.metadata]
        self._ends = [block.span.end for block in self._placed]
        stays = document.offsets is None and document.markup in _UNCHANGED
        self._line_starts = [0, *[match.end() for match in _LINE_END.finditer(document.text)]] if stays else []

    def __call__(self, spans: Sequence[Span]) -> dict[str, Any]:
        """Return metadata of spans.

        ``section`` and ``title_path`` are the headings that the starts of all spans are under, in source code the qualified
        name of the definition; ``start_line`` and ``end_line``, from 1, the lines of the first and the last character that
        is not white space, if no reader derived the text from another, with ``start_column`` and ``end_column`` in source
        code; ``page`` the first page; ``pages`` all of them, if several; ``boxes`` the places of each
        block, each as [page, left, top, right, bottom]. Of the metadata of their blocks, lists are united, and of other
        values the first is taken, or the last if the key begins with "end".
        """
        metadata: dict[str, Any] = {}
        if self._headings is not None:
            # commonprefix also works on tuples.
            path = _section_path(self._document, commonprefix([self._headings.path(start) for start, _ in spans]))  # noqa: RUF071
            metadata |= {"section": path[-1], "title_path": " > ".join(path)} if path else {}
        if (starts := self._line_starts) and spans:
            text, first, last = self._document.text, spans[0], spans[-1]
            start = min(first.end - len(text[slice(*first)].lstrip()), first.end - 1)
            end = max(last.start + len(text[slice(*last)].rstrip()) - 1, start)
            metadata["start_line"], metadata["end_line"] = lines = (
                bisect_right(starts, start),
                bisect_right(starts, end),
            )
            if self._document.markup == "code":
                columns = (offset - starts[line - 1] + 1 for offset, line in zip((start, end), lines, strict=True))
                metadata["start_column"], metadata["end_column"] = columns
        if not self._placed:
            return metadata
        blocks = [
            block
            for start, end in spans
            for block in takewhile(
                partial(_starts_before, end), islice(self._placed, bisect_right(self._ends, start), None)
            )
        ]
        return metadata | _on_pages(blocks) | _united(block.metadata for block in blocks if block.metadata)


def _starts_before(offset: int, block: Block) -> bool:
    return block.span.start < offset


def _on_pages(blocks: Iterable[Block]) -> dict[str, Any]:
    """Return the pages of blocks, and their places there."""
    places = dict.fromkeys(place for block in blocks for place in block.places)
    pages = sorted({place.page for place in places})
    boxes = [[place.page, *place.box] for place in places if place.box]
    metadata: dict[str, Any] = {"page": pages[0]} if pages else {}
    return metadata | ({"pages": pages} if len(pages) > 1 else {}) | ({"boxes": boxes} if boxes else {})


def _united(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metadata of several blocks as one.

    >>> _united([{"speakers": ["Ann"], "start_time": 1, "end_time": 2}, {"speakers": ["Bob"], "start_time": 2, "end_time": 5}])
    {'speakers': ['Ann', 'Bob'], 'start_time': 1, 'end_time': 5}
    """
    united = dict[str, Any]()
    for part in parts:
        for key, value in part.items():
            if isinstance(value, list):
                united[key] = united.get(key, []) + [item for item in value if item not in united.get(key, [])]
            elif key not in united or key.startswith("end"):
                united[key] = value
    return united


def inherited_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata that parts of a chunk inherit: the user's, and the headings and the page.

    >>> inherited_metadata({"source": "s", "level": 0, "section": "Tea", "advchunk_keys": "level section"})
    {'source': 's', 'section': 'Tea', 'advchunk_keys': 'section'}
    """
    own = written_keys(metadata).keys() - _INHERITED
    return remove_written(metadata, own) if own else metadata


def _text_end(text: str, start: int, end: int) -> int:
    """Return the end of ``text[start:end]`` without the white space after it."""
    return start + len(text[start:end].rstrip())
