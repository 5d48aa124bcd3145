"""Blocks that are split over the limits: the levels of tables and formulas, and what later pieces need to be read."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import replace

from advchunk.building.layout import Headings, block_spans, section_path
from advchunk.building.sizes import VERBATIM, Levels, Limits
from advchunk.records import Block, BlockKind, Document, with_context
from advchunk.text import tables
from advchunk.text.tiling import RowTiler, next_non_space

_OWN: frozenset[BlockKind] = frozenset({"table", "formula"})  # split at levels of their own
_MAX_OPENING = 2000  # characters of a table without a head that are read for one
_LABEL = 200  # characters of a line up to a name
_BEFORE_NAME = "*_>-–— \t[](){}<0123456789:.,|"  # time stamps, and the like


def with_contexts(limits: Limits, document: Document, *, titled: bool) -> Limits:
    """Return limits with levels of tables and formulas, and contexts: headings above every chunk if ``titled``, else
    only those of the later pieces of tables and turns.
    """
    limits = with_own_levels(limits, document)
    text, blocks = document.text, document.blocks or ()
    ends = ((block.span.start, next_non_space(text, block.span.end)) for block in blocks if block.kind == "table")
    is_long = any(end - start > limits.max_tokens for start, end in ends)  # with the white space after it
    if titled or is_long or any(block.kind == "turn" for block in blocks):
        return replace(limits, context=Contexts(document, limits, titled=titled))
    return limits


def with_own_levels(limits: Limits, document: Document) -> Limits:
    """Return limits with the levels of tables and formulas."""
    has_own = any(block.kind in _OWN for block in document.blocks or ())
    return replace(limits, own_levels=OwnLevels(document, limits.prose)) if has_own else limits


class OwnLevels:
    """The levels at which tables and formulas are split: rows, then cells, then as ``prose`` in a cell."""

    def __init__(self, document: Document, prose: Levels) -> None:
        blocks = [block for block in document.blocks or () if block.kind in _OWN]
        self._text, self._prose, self._blocks = document.text, prose, blocks
        self._spans = block_spans(document, blocks).spans
        self._starts = [start for start, _ in self._spans]
        self._levels = dict[int, Levels]()

    def __call__(self, offset: int) -> Levels | None:
        """Return the levels of the table or formula at an offset; None if none is there."""
        offset = next_non_space(self._text, offset)  # a unit may begin with the white space after a table
        place = bisect_right(self._starts, offset) - 1
        if place < 0 or offset >= self._spans[place].end:
            return None
        if place not in self._levels:
            kind, text = self._blocks[place].kind, self._text[slice(*self._spans[place])]
            own = tables.tilers(tables.form(text)) if kind == "table" else (RowTiler(tables.formula_rows),)
            self._levels[place] = (*own, *(self._prose if kind == "table" else VERBATIM))
        return self._levels[place]


class Contexts:
    """The context of an offset: title and headings if ``titled``, caption and head of its table, or its speaker.

    A piece that begins within a row also has the key of the row, and either the head of all columns and empty cells
    before its own, or the head of its own columns. What has no room in half a chunk is left out: the outermost headings
    first, then the caption. Of a head that is too long alone, each cell has its first words.
    """

    def __init__(self, document: Document, limits: Limits, *, titled: bool = True) -> None:
        blocks, title = document.blocks or (), document.metadata.get("title")
        self._document, self._limits = document, limits
        self._title = (str(title),) if title else ()
        self._headings = Headings(document.text, blocks, document.above) if titled else None
        pairs = zip([None, *blocks], blocks, strict=False)
        self._headed = [(above, block) for above, block in pairs if block.kind == "table" or _speaker(block)]
        self._starts = [block.span.start for _, block in self._headed]
        self._heads = dict[int, tuple[str, tables.Head, tables.Form]]()
        self._rows = dict[int, list[int]]()  # the offsets at which the rows of a table begin, and its end
        self._cells = dict[int, tuple[str, list[int]]]()  # of the row that begins at an offset
        self._contexts = dict[tuple[tuple[int, int], tuple[str, int], tuple[str, ...]], str]()
        self._sizes = dict[str, int]()

    def __call__(self, offset: int) -> tuple[str, int]:
        """Return the context of a chunk that starts at an offset, and its tokens."""
        text = self._document.text  # a unit may begin with the blank lines after a table
        offset = max(text.rfind("\n", offset, next_non_space(text, offset)) + 1, offset)
        path: tuple[str, ...] = ()
        if self._headings is not None:
            path = section_path(self._document, self._headings.above(offset))
            path = path if path[:1] == self._title else (*self._title, *path)
        block = self._block_at(offset)
        key = block, self._place_in_row(*block, offset), path
        if key not in self._contexts:
            self._contexts[key] = next(filter(self._fits, self._candidates(*key)), "")
        context = self._contexts[key]
        return context, self._size(context)

    def _candidates(self, at: tuple[int, int], row: tuple[str, int], path: tuple[str, ...]) -> Iterable[str]:
        """Yield contexts of a place (`_block_at`, `_place_in_row`), the fullest first; the first that fits is taken."""
        (place, inside), (key, before) = at, row
        titles = [" > ".join(path[outermost:]) for outermost in range(len(path))]
        block = self._headed[place][1] if place >= 0 else None
        if block and block.kind != "table":
            yield from (with_context(title, f"{_speaker(block)}:") for title in [*titles, ""])
        elif block:
            caption, head, kind = self._head(place)
            if inside:
                head = tables.opening(self._document.text[slice(*block.span)], inside, kind)
            most = self._limits.max_context  # of columns, as each has a token or more; one more does not fit
            first, blank = head.own(1, most), "  |" * min(before - 1, most)
            named = caption if path[-1:] != (caption,) else ""
            whole = "\n".join(filter(None, [named, first.text(), f"| {key} |{blank}" if before else ""]))
            yield from (title if title.endswith(whole) else with_context(title, whole) for title in [*titles, ""])
            for own, after in [(head.own(before, most), f"\n| {key} |")] * (before > 0) + [(first, "")]:
                yield own.text() + after
                yield from self._shortened(own, after)
        yield from titles

    def _shortened(self, head: tables.Head, after: str) -> Iterable[str]:
        """Yield a head in one line, with the most words of each cell that fit, else the most cells of one word."""
        by_words, by_cells = range(1, head.most_words + 1), range(1, len(head.columns()) + 1)
        if words := bisect_left(by_words, True, key=lambda most: not self._fits(head.line(most) + after)):
            yield head.line(words) + after
        elif cells := bisect_left(by_cells, True, key=lambda most: not self._fits(head.line(1, most) + after)):
            yield head.line(1, cells) + after

    def _block_at(self, offset: int) -> tuple[int, int]:
        """Return the number of the table or turn that an offset continues, else -1, and the text read as its head."""
        place = bisect_right(self._starts, offset) - 1
        block = self._headed[place][1] if place >= 0 else None
        if block is None or offset >= block.span.end:
            return -1, 0
        at = offset - block.span.start
        beginning = self._document.text[block.span.start : block.span.start + _LABEL].lstrip(_BEFORE_NAME)
        if at == 0 and (block.kind == "table" or beginning.startswith(_speaker(block))):
            return -1, 0
        if block.kind != "table":
            return place, 0
        _, head, _ = self._head(place)
        return place, 0 if head.rows and head.end <= at else min(at, _MAX_OPENING)

    def _place_in_row(self, place: int, inside: int, offset: int) -> tuple[str, int]:
        """Return the key of the row that an offset is in, and the number of cells before it; 0 if it begins a row."""
        if place < 0 or inside or self._headed[place][1].kind != "table":
            return "", 0
        text, (start, end), kind = self._document.text, self._headed[place][1].span, self._head(place)[2]
        if place not in self._rows:
            self._rows[place] = [*(start + at for at in tables.row_starts(text[start:end], kind)), end]
        number = bisect_right(self._rows[place], offset) - 1
        start, end = self._rows[place][number : number + 2]
        if next_non_space(text, start) >= offset:
            return "", 0
        if start not in self._cells:
            self._cells[start] = tables.keyed_cells(text[start:end], kind)
        key, starts = self._cells[start]
        return key, bisect_right(starts, offset - start) - 1

    def _head(self, place: int) -> tuple[str, tables.Head, tables.Form]:
        """Return the caption and the head of a table, and its form."""
        if place not in self._heads:
            above, table = self._headed[place]
            text = self._document.text[slice(*table.span)]
            kind, caption = tables.form(text), ""
            head = tables.head(text, kind)
            if above and above.kind == "caption":
                caption = " ".join(self._document.text[slice(*above.span)].split())
            self._heads[place] = head.caption or caption, head, kind
        return self._heads[place]

    def _fits(self, context: str) -> bool:
        return self._size(context) <= self._limits.max_context

    def _size(self, context: str) -> int:
        """Return the tokens of a context and the blank line after it, counted once."""
        if context not in self._sizes:
            self._sizes[context] = self._limits.counter(f"{context}\n\n") if context else 0
        return self._sizes[context]


def _speaker(block: Block) -> str:
    """Return the speaker of a block, "" if it has none, or several."""
    speakers = (block.metadata or {}).get("speakers", ())
    return str(speakers[0]) if len(speakers) == 1 else ""
