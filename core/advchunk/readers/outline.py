"""Recognize the numbered units of a text, such as articles and clauses, and make them blocks.

A mark is the beginning of a line that may begin a unit: "Article 5", "§ 12", "3.1", "(a)", "第十二条". Marks are counted:
each continues a sequence that is open (its next number) or begins one (its first number); all others are prose. Of the
sequences, those are an outline that `_accept` admits, which rejects what authors number in passing: lists, tables of
contents, references, dates. The text never changes. Time is linear in its length.
"""  # noqa: E501
# ruff: noqa: RUF001 - numbers and punctuation of many scripts

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from typing import Any, Final, TypeAlias

from advchunk.readers import numbering
from advchunk.readers.markdown import heading_text, trim
from advchunk.readers.numbering import EDGES, RANKS, WIDE, Mark, Value, find_marks, is_title
from advchunk.records import Block, BlockKind, Document, Span
from advchunk.text.patterns import Patterns, find_all, named
from advchunk.text.tiling import end_of_line, flatten, next_non_space, paragraph_edges

_RUN_IN = re.compile(r"[^\n.:;]{2,70}?(?=[.:][*_]*\s[\s*_]*\S)")
_PLAIN_LENGTH: Final = 120  # mean characters of units that are plainly not items of a list
_TOC_LENGTH: Final = 200  # most mean characters of an entry in a table of contents
_WEAK: Final = frozenset({"1.1", "1)", "I.", "I)", "A.", "A)", "一、", "（一）"})  # styles that lists have, too
_SMALL: Final = frozenset({"(1)", "(a)", "(A)", "(i)", "(I)", "a.", "a)", "i.", "i)"})  # styles of units without titles
_DEEPEST: Final = 12
_CODE: Final = 100
_MISSING: Final = 8  # units for each number that may be missing
_MAX_STEP: Final = 3  # of a number that skips others


@dataclass(eq=False, slots=True)
class _Run:
    """Members of one style that are numbered on under one parent."""

    style: str
    parent: _Unit | None
    outer: _Run | None = None  # the open run of the same style in which this one began at its first number again
    continues: bool = False  # a run under another parent, as articles do across chapters
    skips: int = 0  # members that do not have the next number
    members: list[_Unit] = field(default_factory=list)
    accepted: bool = False

    @property
    def is_named(self) -> bool:
        """True if its units have a word, as in "Article 5"."""
        return self.style.split(" ")[0] in RANKS

    @property
    def form(self) -> tuple[str, int]:
        """The style, and the number of parts of a number."""
        return self.style, len(self.members[0].value)


# The place of a mark: its run, the depth of that on the stack, and its style and value.
_Place: TypeAlias = tuple[_Run, int, str, Value]


@dataclass(eq=False, slots=True)
class _Unit:
    """A numbered unit."""

    mark: Mark
    style: str
    value: Value
    run: _Run
    index: int  # its place among the marks
    title: str = ""  # its label and its title, as one line
    body: int = 0  # where its text begins, after the lines of its title; 0 if its title is run in
    clause: str = ""


def outlined(document: Document) -> Document:
    r"""Return a document whose numbered units are blocks with ``clause`` in their metadata, or itself if it has none. A
    line that is a title is a heading; a unit whose text begins in its line is a paragraph with its label as ``title``.
    ``outline`` has the number of units by kind.

    >>> text = "Article 5\n\n(1) Tea is hot.\n(2) Milk is cold.\n\nArticle 6\n\nWater is wet."
    >>> document = outlined(Document(text))
    >>> [(block.kind, block.title, block.metadata["clause"]) for block in document.blocks][:3]
    [('heading', 'Article 5', '5'), ('paragraph', '(1)', '5(1)'), ('paragraph', '(2)', '5(2)')]
    """
    flat = flatten(document.text) if "\r" in document.text else document.text
    blocks = document.blocks or ()
    marks = find_marks(flat, blocks)
    if len(marks) < numbering.FEWEST:
        return document
    blocks = blocks or _paragraphs(flat)
    units = _accept(flat, _read_runs(marks), marks, blocks)
    _clauses(units, blocks)
    return _with_units(document, flat, blocks, units) if units else document


def with_headings(document: Document, headings: Patterns) -> Document:
    """Return a document with what matches the user's patterns as blocks: of several the outermost, none in code."""
    flat = flatten(document.text)
    blocks = document.blocks or _paragraphs(flat)
    matches = sorted(_matches(flat, blocks, headings), key=lambda pair: (pair[1].start, pair[0]))
    runs, units, stack = dict[Any, _Run](), list[_Unit](), list[tuple[int, _Unit]]()
    names = [name for name, _ in named(headings)]
    for rank, mark in matches:
        if units and mark.start < units[-1].mark.end:
            continue
        while stack and stack[-1][0] >= rank:
            stack.pop()
        parent = stack[-1][1] if stack else None
        run = runs.setdefault((parent, rank), _Run(names[rank], parent))
        unit = _Unit(mark, names[rank], (), run, len(units))
        inherited = parent.clause if parent else ""
        is_whole = not inherited or mark.number.startswith(f"{inherited}.")
        unit.clause = mark.number if is_whole or not mark.number else f"{inherited}({mark.number})"
        run.members.append(unit)
        stack.append((rank, unit))
        units.append(unit)
    _read_titles(flat, units, blocks, {unit.mark.line for unit in units})
    return _with_units(document, flat, blocks, units) if units else document


def _matches(flat: str, blocks: Sequence[Block], headings: Patterns) -> Iterator[tuple[int, Mark]]:
    """Yield the matches of the user's patterns, each with the number of its pattern."""
    ends = [block.span.end for block in blocks]
    heads = [block for block in blocks if block.kind == "heading"]
    titles = [_one_line(flat[slice(*block.span)]) if block.title is None else block.title for block in heads]
    title_starts = [0, *accumulate(len(title) + 1 for title in titles)]
    of_title = dict(zip(title_starts, heads, strict=False))
    for rank, (name, pattern) in enumerate(named(headings)):
        for match in find_all("headings", name, pattern, flat):
            start = match.end() - len(match[0].lstrip())
            place = bisect_left(ends, start + 1)
            is_inside = place < len(blocks) and blocks[place].span.start <= start < match.end()
            if is_inside and blocks[place].kind in {"paragraph", "item"}:
                line = flat.rfind("\n", 0, start) + 1
                line = start if flat[line:start].strip() else line
                yield rank, Mark(line, start, match.end(), (), _first_group(match), in_heading=False)
        for match in find_all("headings", name, pattern, "\n".join(titles)):
            if block := of_title.get(match.start()):
                start = next_non_space(flat, block.span.start)
                yield rank, Mark(block.span.start, start, start + 1, (), _first_group(match), in_heading=True)


def _first_group(match: Any) -> str:
    """Return the text of the first group of a match that has any, else ""."""
    return next((group.strip() for group in match.groups() if group), "")


def _paragraphs(text: str) -> tuple[Block, ...]:
    spans = ((start, start + len(text[start:end].rstrip())) for start, end in pairwise(paragraph_edges(text)))
    return tuple(Block("paragraph", Span(start, end)) for start, end in spans if end > start)


# Runs.


def _read_runs(marks: Sequence[Mark]) -> list[_Run]:
    """Return the runs that marks form, in the order in which they begin."""
    runs, stack = list[_Run](), list[_Run]()  # the stack has the open runs, outermost first
    last = dict[str, Value]()  # of each style
    for index, mark in enumerate(marks):
        place = _continued(mark, stack) or _begun(mark, stack, last) or _continued(mark, stack, skipping=True)
        if place is None:
            continue
        run, depth, style, value = place
        del stack[depth:]
        if not run.members:
            if len(stack) >= _DEEPEST:
                continue
            run.parent = stack[-1].members[-1] if stack else None
            runs.append(run)
        stack.append(run)
        run.members.append(_Unit(mark, style, value, run, index))
        last[style] = value
    return runs


def _continued(mark: Mark, stack: Sequence[_Run], *, skipping: bool = False) -> _Place | None:
    """Return the place of a mark in the innermost open run that it continues, or with ``skipping`` nearly continues."""
    # Headings of the text's format first continue runs of such headings, and other lines those of other lines.
    for i in sorted(range(len(stack)), key=lambda i: (stack[i].members[-1].mark.in_heading != mark.in_heading, -i)):
        run, before = stack[i], stack[i].members[-1].value
        for style, value in mark.readings:
            if style != run.style or len(value) != len(before):
                continue
            if not skipping and _is_next(style, before, value):
                return run, i, style, value
            at = 0 if style in RANKS else -1  # a letter is after the number of an article
            step = value[at] - before[at]
            is_near = value[:at] == before[:at] or at == 0
            is_code = mark.in_heading and value[at] >= _CODE  # the sections of a code are numbered with gaps
            if skipping and is_near and step > 0 and (is_code or 1 < step <= _MAX_STEP):
                run.skips += not is_code
                return run, i, style, value
    return None


def _is_next(style: str, before: Value, value: Value) -> bool:
    """Return True if a value is the next one of a style: 5, 5a, 6; or 2.1, 2.2."""
    if style in RANKS:
        return value in {(before[0], before[1] + 1), (before[0] + 1, 0)}
    return before[:-1] == value[:-1] and value[-1] == before[-1] + 1


def _begun(mark: Mark, stack: Sequence[_Run], last: Mapping[str, Value]) -> _Place | None:
    """Return the place of a mark in a run that it begins."""
    for style, value in mark.readings:
        if style in RANKS and style in last and _is_next(style, last[style], value):
            return _Run(style, None, continues=True), _depth(style, stack), style, value
    for style, value in mark.readings:
        if style.endswith("1.1"):
            depth = _decimal_depth(style, value, stack, mark.in_heading and style not in last)
            if depth is not None:
                return _Run(style, None, _outer(style, value, stack[:depth])), depth, style, value
        elif value == ((1, 0) if style in RANKS else (1,)):
            depth = _depth(style, stack)
            return _Run(style, None, _outer(style, value, stack[:depth])), depth, style, value
    for style, value in mark.readings:
        if style in RANKS and style not in last:  # a part of a document begins with any article
            return _Run(style, None), _depth(style, stack), style, value
    return None


def _outer(style: str, value: Value, stack: Sequence[_Run]) -> _Run | None:
    """Return the open run of the style that a new run may be inside of, or take the place of."""
    alike = (run for run in reversed(stack) if (run.style, len(run.members[-1].value)) == (style, len(value)))
    return next(alike, None)


def _depth(style: str, stack: Sequence[_Run]) -> int:
    """Return the number of open runs that can hold a new one: not two of its style, and none of narrower kinds."""
    depth = len(stack)
    if style in RANKS:
        most = RANKS[style] if style in WIDE else RANKS["item"]
        while depth and RANKS.get(stack[depth - 1].style.split(" ")[0], len(RANKS)) > most:
            depth -= 1
    same = [i for i, run in enumerate(stack[:depth]) if run.style == style]
    same = same if style in RANKS else [i for i in same if len(stack[i].members[-1].value) == 1]
    return same[1] if len(same) > 1 else depth


def _decimal_depth(style: str, value: Value, stack: Sequence[_Run], is_free: bool) -> int | None:
    """Return the number of open runs that hold a new run of numbers such as 2.1; None if it cannot begin there."""
    if value[-1] > 1 and not is_free:
        return None
    if len(value) == 1:
        return _depth(style, stack)
    for i in reversed(range(len(stack))):
        before = stack[i].members[-1].value
        if stack[i].style == style and before == value[:-1]:
            return i + 1
        if stack[i].style == style and len(before) == len(value) and _is_next(style, before[:-1], value[:-1]):
            return i
        if stack[i].style in RANKS and before[0] == value[0] and set(value[1:]) == {1}:
            return i + 1
    is_first = not any(run.style == style for run in stack) and set(value) == {1}
    return len(stack) if is_first or is_free else None


# The outline among the runs.


def _accept(flat: str, runs: Sequence[_Run], marks: Sequence[Mark], blocks: Sequence[Block]) -> list[_Unit]:
    """Return the units of those runs that are an outline, in reading order; trees of titles alone are contents."""
    # At the top, units have a word ("Article 5") or several parts ("2.3"), or are plainly no list: they number most of
    # the text, and most have titles or several paragraphs. A run below needs an accepted parent and two units.
    for run in runs:
        if run.outer is not None and run.outer.members[-1].index < run.members[0].index:
            run.parent = run.outer.parent  # the outer run never went on
    _admit(flat, runs, blocks)
    units = sorted((unit for run in runs if run.accepted for unit in run.members), key=lambda unit: unit.index)
    _read_titles(flat, units, blocks, {mark.line for mark in marks})
    trees, parts = dict[_Run, list[_Unit]](), dict[int, _Run]()
    for unit in units:
        root = _root(unit)
        if root.style == "1.1" and (depth := len(root.members[0].value)) > 1:
            root = parts.setdefault(depth, root)  # 1.1, 1.2, 2.1: one tree without the units 1 and 2
        trees.setdefault(root, []).append(unit)
    contents = _contents(flat, trees)
    kept = [tree for root, tree in trees.items() if root not in contents and _has_text(flat, tree)]
    return list(chain.from_iterable(kept)) if sum(map(len, kept)) >= numbering.FEWEST else []


def _admit(flat: str, runs: Sequence[_Run], blocks: Sequence[Block]) -> None:
    """Accept runs by their numbers and their place among the others."""
    skips, sizes, below = Counter[tuple[str, int]](), Counter[tuple[str, int]](), dict[_Run, Counter[str]]()
    for run in runs:
        skips[run.form] += run.skips
        sizes[run.form] += len(run.members)
        if run.parent is not None:
            kind = run.style if run.form[1] > 1 or run.style in RANKS else ""
            below.setdefault(run.parent.run, Counter())[kind] += len(run.members)
    parts = sum(len(run.members) for run in runs if run.style == "1.1" and len(run.members[0].value) > 1)
    for run in runs:
        is_explicit = run.is_named or run.form[1] > 1
        of, among = (skips[run.form], sizes[run.form]) if is_explicit else (run.skips, len(run.members))
        if run.skips and _MISSING * of > among:
            continue
        while run.parent is not None and not run.parent.run.accepted:
            run.parent = run.parent.run.parent
        run.accepted = _is_below(run, run.parent) if run.parent else _is_root(flat, run, below, parts, blocks)


def _contents(flat: str, trees: Mapping[_Run, Sequence[_Unit]]) -> set[_Run]:
    """Return the trees that are tables of contents: with little text, and numbered again in a much longer tree."""
    contents, later, end = set[_Run](), dict[str, int](), len(flat)
    for root, tree in reversed([*trees.items()]):
        length = end - tree[0].mark.line
        if length < _TOC_LENGTH * len(tree) and 4 * length < later.get(root.style, 0):
            contents.add(root)
        else:
            later[root.style] = max(length, later.get(root.style, 0))
        end = tree[0].mark.line
    return contents


def _is_root(flat: str, run: _Run, below: Mapping[_Run, Counter[str]], parts: int, blocks: Sequence[Block]) -> bool:
    """Return True if a run without a parent is an outline."""
    if run.is_named:
        return len(run.members) > 1 or run.continues or any(style in RANKS for style in below.get(run, ()))
    if run.style == "1.1" and parts >= numbering.FEWEST:
        return len(run.members[0].value) > 1 or below.get(run, Counter())["1.1"] > 1 or _is_plain(flat, run, blocks)
    return run.style in _WEAK and _is_plain(flat, run, blocks)


def _is_below(run: _Run, parent: _Unit) -> bool:
    """Return True if a run below an accepted unit belongs to the outline: "1." in a section named 2.3 is a list."""
    if run.is_named or run.form[1] > 1:
        return True
    above = parent.style.split(" ")[0]
    is_list = run.style in {"1.1", "1)"} and (above in WIDE or (above == "1.1" and run.style == "1.1"))
    return len(run.members) > 1 and not is_list


def _is_plain(flat: str, run: _Run, blocks: Sequence[Block]) -> bool:
    """Return True if a run without words or parts is plainly not a list."""
    units, n = run.members, len(run.members)
    length = units[-1].mark.line - units[0].mark.line
    if n < numbering.FEWEST or run.skips or 5 * length < 2 * len(flat):
        return False
    starts = [block.span.start for block in blocks]
    places = [bisect_left(starts, unit.mark.start) for unit in units]
    headings = sum(block.kind == "heading" for block in blocks[places[0] : places[-1]])
    headings -= sum(unit.mark.in_heading for unit in units)
    if 4 * headings > n or length < _PLAIN_LENGTH * (n - 1):
        return False
    titled = sum(unit.mark.in_heading or bool(_title(flat, unit.mark)[0]) for unit in units)
    rich = sum(b - a > 2 for a, b in pairwise(place + unit.index for place, unit in zip(places, units, strict=True)))
    return 2 * max(titled, rich) >= n


def _root(unit: _Unit) -> _Run:
    return unit.run if unit.run.parent is None else _root(unit.run.parent)


def _has_text(flat: str, tree: Sequence[_Unit]) -> bool:
    """Return True if a tree of units has enough of them, with text, and is not what the headings of the format say."""
    main = [unit for unit in tree if unit.run.is_named or unit.style in _WEAK]
    ends = [*(unit.mark.line for unit in main[1:]), len(flat)]
    parents = [*(unit.run.parent for unit in main[1:]), None]
    leaves = [(unit, end) for unit, end, parent in zip(main, ends, parents, strict=True) if parent is not unit]
    bare = sum(_is_bare(flat, unit, end) for unit, end in leaves)
    is_named = any(unit.run.is_named for unit in main)
    inside = sum(not unit.mark.in_heading for unit in tree)
    are_enough = len(tree) >= (2 if is_named else numbering.FEWEST)
    return are_enough and 2 * bare <= len(leaves) and (is_named or 3 * inside > len(tree))


def _is_bare(flat: str, unit: _Unit, end: int) -> bool:
    """Return True if a unit is only a title, or another line that does not end as text does."""
    text = flat[unit.mark.start : end].rstrip("\n \t\xa0*_")
    if unit.body:
        return not flat[unit.body : end].strip(EDGES + "\n")
    return len(text) <= 2 * numbering.TITLE_LENGTH and "\n" not in text and text[-1:] not in ".:;,。：；，)"


# Titles.


def _read_titles(flat: str, units: Sequence[_Unit], blocks: Sequence[Block], lines: Set[int]) -> None:
    """Set the title of each unit and where its text begins, given the starts of the lines of all marks."""
    ends = [block.span.end for block in blocks]
    for unit, later in zip(units, [*units[1:], None], strict=False):
        mark, place = unit.mark, bisect_left(ends, unit.mark.start + 1)
        block = blocks[place]
        if mark.in_heading:
            unit.title, unit.body = block.title or _one_line(flat[slice(*block.span)]), block.span.end
            continue
        line_end = end_of_line(flat, mark.end)
        title, is_whole = _title(flat, mark)
        is_label = not flat[mark.end : line_end].strip(EDGES)
        below = next_non_space(flat, line_end)
        goes_on = below < block.span.end and flat[below].islower()  # in the same block, with a small letter
        is_line = is_whole and unit.style not in _SMALL and not goes_on
        if is_line and title.rstrip()[-1] in ".:：":  # a short sentence, unless it has something below it
            next_text = later.mark.line if later is not None and later.run.parent is not unit else len(flat)
            is_line = below < next_text
        if is_label or is_line:
            unit.body = line_end
            if is_label and (unit.style in RANKS or not mark.readings):
                unit.body = _end_of_title_below(flat, line_end, blocks, place, lines) or line_end
            unit.title = _one_line(flat[mark.start : unit.body])
        else:
            unit.title = _one_line(flat[mark.start : mark.end] + ("" if is_whole else title))


def _title(flat: str, mark: Mark) -> tuple[str, bool]:
    """Return the title behind a label, and True if it is the rest of the line; "" if the text goes on at once."""
    rest = flat[mark.end : end_of_line(flat, mark.end)]
    if is_title(rest):
        return rest, True
    run_in = _RUN_IN.match(rest, len(rest) - len(rest.lstrip(EDGES)))
    if run_in and len(run_in[0].split()) <= numbering.RUN_IN_WORDS and numbering.is_capitalized(run_in[0]):
        return rest[: run_in.end()], False
    return "", False


def _end_of_title_below(flat: str, line_end: int, blocks: Sequence[Block], place: int, lines: Set[int]) -> int:
    """Return the end of the line below a label if that is its title, as in the laws of the European Union; else 0."""
    start = line_end + 1
    if line_end >= blocks[place].span.end:  # in the next block, which is a line
        below = blocks[place + 1] if place + 2 < len(blocks) else None
        if below is None or below.kind != "paragraph" or end_of_line(flat, below.span.start) < below.span.end:
            return 0
        start = below.span.start
    end = end_of_line(flat, start)
    is_whole = start not in lines and is_title(flat[start:end]) and flat[start:end].strip()[-1:] not in ".:："
    return end if is_whole and next_non_space(flat, end) < len(flat) else 0


def _one_line(source: str) -> str:
    title = " ".join(source.split())
    return heading_text(title) if not title.isalnum() and any(letter in title for letter in "*_`#[") else title


# Blocks.


def _clauses(units: Sequence[_Unit], blocks: Sequence[Block]) -> None:
    """Set the clause of each unit, its number with those of the units it is in, as in 5(1)(a), or II.3 in a play."""
    # Numbers that begin again under the same unit and the same heading are ambiguous, so they have none.
    of_units = {unit.mark.line for unit in units if unit.mark.in_heading}
    headings = [b.span.start for b in blocks if b.kind == "heading" and b.span.start not in of_units]
    runs = Counter(run.style for run in dict.fromkeys(unit.run for unit in units))
    continued = {unit.style for unit in units if unit.run.continues}
    ends, ambiguous = dict[Any, int](), set[_Run]()
    for unit in units:
        parent, number, is_named = unit.run.parent, unit.mark.number, unit.style in RANKS
        key, first = (unit.style, unit.value[:-1], parent), unit.run.members[0]
        if unit is first and key in ends and bisect_left(headings, ends[key]) == bisect_left(headings, unit.mark.line):
            ambiguous.add(unit.run)
        ends[key] = unit.mark.start
        is_absolute = runs[unit.style] == 1 or unit.style in continued if is_named else len(unit.value) > 1
        if unit.run in ambiguous:
            unit.clause = ""
        elif parent is None or is_absolute or unit.style.endswith(" 1.1"):
            unit.clause = number
        elif parent.clause:
            unit.clause = f"{parent.clause}.{number}" if is_named else f"{parent.clause}({number})"


def _with_units(document: Document, flat: str, blocks: Sequence[Block], units: Sequence[_Unit]) -> Document:
    """Return the document with its units as blocks, and what blocks are of them in their metadata."""
    counts = Counter("1." if u.style == "1.1" and len(u.value) == 1 else u.style.removesuffix(" 1.1") for u in units)
    return replace(document, blocks=tuple(_Layout().place(flat, blocks, units)), outline=dict(counts))


class _Layout:
    """The blocks of a text, divided where its units begin."""

    def __init__(self) -> None:
        self._open = list[tuple[int, _Unit | None]]()  # level of each open heading, and its unit
        self._clause = ""  # of the innermost open unit
        self._levels = dict[_Run, int]()

    def place(self, flat: str, blocks: Sequence[Block], units: Sequence[_Unit]) -> Iterator[Block]:
        """Yield the blocks with the clauses of their units in their metadata."""
        starts, end = [unit.mark.start for unit in units], 0  # end: of a title, which may take the next block
        for block in blocks:
            first, stop = max(block.span.start, end), block.span.end
            inside = units[bisect_left(starts, block.span.start) : bisect_left(starts, stop)]
            if block.kind == "heading":
                self._enter(block.level, inside[0] if inside else None)
                yield self._part(block, block.span, block.kind, block.level, block.title)
                continue
            lines = [unit.mark.line for unit in inside]
            if before := trim(flat, first, lines[0] if lines else stop):
                yield self._part(block, before, block.kind, block.level, block.title)
            for unit, next_line in zip(inside, [*lines, stop][1:], strict=True):
                level, start = self._level(unit), max(unit.mark.line, block.span.start)
                self._enter(level, unit)
                end = unit.body or next_line
                if span := trim(flat, start, end):
                    yield self._part(block, span, "heading" if unit.body else "paragraph", level, unit.title)
                if span := trim(flat, end, next_line):
                    yield self._part(block, span, "paragraph", 0, block.title)

    def _level(self, unit: _Unit) -> int:
        """Return the level of a unit: that of the unit before in its run, or one below the heading that it is under."""
        above = (level for level, other in reversed(self._open) if other is None or other is unit.run.parent)
        return self._levels.get(unit.run) or self._levels.setdefault(unit.run, next(above, 0) + 1)

    def _enter(self, level: int, unit: _Unit | None) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, unit))
        self._clause = next((own.clause for _, own in reversed(self._open) if own is not None), "")
        if unit is not None:
            self._levels.setdefault(unit.run, level)

    def _part(self, block: Block, span: Span, kind: BlockKind, level: int, title: str | None) -> Block:
        """Return a part of a block with the clause that it is in."""
        metadata = {**(block.metadata or {}), "clause": self._clause} if self._clause else block.metadata
        return block.cut(span, kind=kind, level=level, title=title, metadata=metadata)
