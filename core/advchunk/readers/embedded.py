r"""Find HTML and LaTeX in Markdown, as parsers of PDFs write it: tables, listings, headings, and what marks pages.

Such an inset may begin or end within a line, and contain blank lines. All searches together are linear in the text:
what is not closed ends at a blank line, and is not searched twice.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar

from advchunk.records import Block, BlockKind, Place, Span
from advchunk.text.tables import TABLE_ENVIRONMENT


class Inset(NamedTuple):
    """An inset: a part of a text that is one block."""

    start: int
    end: int
    kind: BlockKind
    level: int = 0


class PageMark(NamedTuple):
    """A place where a page begins."""

    offset: int
    page: int | None  # None for the number after the one before


_Span = TypeVar("_Span", bound=tuple[Any, ...])  # start, end, and perhaps more

# The markers of quotes and list items before the first text of a line.
MARKS = r"(?:[ \t]*(?:>|[-+*](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])))*+[ \t]*+"

_TAG_END = r"""(?:[^<>"']|"[^"<]*+"|'[^'<]*+'|["'])*+>"""
_TABLE_TAG = re.compile(rf"<(?P<close>/?)table(?![\w-]){_TAG_END}", re.IGNORECASE)
_BEGINS_ROWS = re.compile(
    r"(?:[\s>]++|<!--(?:[^-]|-(?!->)){0,300}+-->)*+(?:<(?:t(?:head|body|foot|r|d|h)|caption|colgroup|col)(?![\w-])|[ "
    r"\t>]*\|)",
    re.IGNORECASE,
)
_ROW_TAG = re.compile(rf"</?t(?:head|body|foot|r|d|h)(?![\w-]){_TAG_END}", re.IGNORECASE)
_GOES_ON = re.compile(rf"{MARKS}(?:</?(?:t(?:able|head|body|foot|r|d|h)|caption|colgroup|col)(?![\w-]))", re.IGNORECASE)
_TAGS_BEFORE = re.compile(rf"{MARKS}(?P<tags>(?:<(?!/?table)[a-zA-Z!/]{_TAG_END}[ \t]*)*+)", re.IGNORECASE)
_TAGS_AFTER = re.compile(r"(?:[ \t]*</[a-zA-Z]++\s*>)*+", re.IGNORECASE)
_DETAILS_TAG = re.compile(rf"<(?P<close>/?)details(?![\w-]){_TAG_END}", re.IGNORECASE)
_SUMMARY = re.compile(
    rf"\s*+<details(?![\w-]){_TAG_END}(?:\s*+<summary(?![\w-]){_TAG_END}(?P<title>(?:[^<]|<(?!/summary))*+))?",
    re.IGNORECASE,
)
# The beginning of a block that is none of prose, of a heading, a comment, or other details.
_NOT_PROSE = re.compile(
    r"\n[ \t>]*+(?:\#{1,6}[ \t]|```|~~~|\$\$|\\[\[a-z]|\+[-=]|[-=]{3}|\|?[ \t]*:?-+:?[ \t]*\|)"
    r"|<(?:table|pre|h[1-6]|t[rdh]|img)(?![\w-])|<!--|!\[|\f",
    re.IGNORECASE,
)
_AT_LINE_END, _AT_SENTENCE_END = re.compile(r"[ \t]*(?:\n|\Z)"), re.compile(r"[ \t.,;]*(?:\n|\Z)")
_BLANK_LINE = re.compile(r"\n[ \t>]*(?=\n)|\Z")

# A search for patterns that begin with a character is many times as fast as one that looks around first.
_ENVIRONMENT = re.compile(r"\\(?<!\\\\)(?P<kind>begin|end)\{(?P<name>[a-zA-Z]+\*?)\}")
_IS_TABLE = re.compile(TABLE_ENVIRONMENT)
VERBATIM = r"(?:lstlisting|[vV]erbatim|minted|alltt|listing)\*?"
"""Pattern of the names of the environments that are code."""
_IS_VERBATIM = re.compile(VERBATIM)
# of a title, which may be wrapped, but has no blank line, and no line of another command
_TITLE = r"(?:[^{}\n]|\n(?![ \t]*(?:\n|\\)))"
SECTION = (
    r"\\(?P<name>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?[ ]?(?:\[[^\[\]\n]*+\])?"
    rf"\{{(?P<title>(?:{_TITLE}|\{{(?:{_TITLE}|\{{{_TITLE}*+\}})*+\}})++)\}}(?:[ \t]*\\label\{{[^{{}}\n]*+\}})?"
)
"""Pattern of a heading of LaTeX, with its ``name`` and ``title``."""
_SECTION = re.compile(SECTION)
SECTION_LEVELS = {
    "part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6
}  # fmt: skip
"""Level of the headings of LaTeX."""
_HTML_HEADING = re.compile(rf"(?i)<h(?P<level>[1-6])(?![\w-]){_TAG_END}(?:[^<\n]|<(?!/?h[1-6]))*+</h(?P=level)[ ]?>")

# Marks of pages, each alone in its line: where one begins, the number that is printed on it, its header and footer.
_BEGINS = r"<!--\s*+(?:begin\s|start\s(?:of\s)?)?page\s*+(?:no\.?|num(?:ber)?\s)?\s*+[:=\#]?\s*+\"?(?P<page>\d{1,6})\"?(?:\s*(?:of|/)\s*\d{1,6})?\s*-->"  # noqa: E501
_BREAK = r"(?P<break><!--\s*+(?:page[ _-]?break|new[ _-]?page)\s*+/?-->|\\(?:newpage|pagebreak|clearpage)(?![a-zA-Z]))"
_PRINTED = r"<!--\s*+PageNumber\s*+[:=]\s*+\"?\D{0,20}?(?P<printed>\d{1,6})\D{0,20}?\"?\s*-->|<page_number>\D{0,20}?(?P<numbered>\d{1,6})[^<\n]{0,20}</page_number>"  # noqa: E501
_FURNITURE = r"<!--\s*+Page(?:Header|Footer|Number)\b(?:[^\n-]|-(?!->))*+-->|<page_(?:header|footer)>[^<\n]*+</page_(?:header|footer)>"  # noqa: E501
_NUMBERED = r"\{(?P<counted>\d{1,6})\}-{10,}+"
_PAGE = re.compile(rf"{_BEGINS}|{_BREAK}|{_PRINTED}|{_FURNITURE}|{_NUMBERED}", re.IGNORECASE)
_PAGE_LINE = re.compile(
    rf"(?:(?:{re.sub(r'P<[a-z]+>', ':', '|'.join((_BEGINS, _BREAK, _PRINTED, _FURNITURE, _NUMBERED)))})[ "
    r"\t]*)++(?=\n|\Z)",
    re.IGNORECASE,
)
_PAGE_OPENS = {
    sign: re.compile(opens, re.IGNORECASE)
    for sign, opens in {"<": "<(?:!--|page_)", "\\": r"\\(?:new|clear)?page", "}-": r"\{\d"}.items()
}


def insets(flat: str) -> list[Inset]:
    """Return the outermost insets that are blocks by their HTML or LaTeX, ascending and disjoint."""
    has_html, has_latex = "<" in flat, "\\" in flat
    if not (has_html or has_latex or "}-" in flat):
        return []
    all_insets = [*_html_insets(flat)] if has_html else []
    if has_latex:
        headings = (match for match in _SECTION.finditer(flat) if _begins_line(flat, match.start()))
        all_insets += (Inset(*match.span(), "heading", SECTION_LEVELS[match["name"]]) for match in headings)
        all_insets += _environments(flat) if "\\begin{" in flat else ()
    all_insets += _page_insets(flat)
    return _outermost(all_insets)


def breaks(flat: str, of: Sequence[Inset]) -> list[int]:
    """Return the offsets within lines at which insets begin and end, ascending: lines of their own begin there."""
    ends = (inset.end for inset in of if not _AT_LINE_END.match(flat, inset.end))
    return sorted({*(inset.start for inset in of if not _begins_line(flat, inset.start)), *ends})


# HTML.


def _html_insets(flat: str) -> Iterator[Inset]:
    for match in _HTML_HEADING.finditer(flat):
        if _begins_line(flat, match.start()):
            yield Inset(*match.span(), "heading", int(match["level"]))
    yield from _details(flat)
    unclosed, spans = list[int](), list[tuple[int, int]]()
    for tag in _TABLE_TAG.finditer(flat):
        if tag["close"] and unclosed:
            spans.append((unclosed.pop(), tag.end()))
        elif not tag["close"] and _BEGINS_ROWS.match(flat, tag.end()) and not _is_in_line(flat, tag.start()):
            unclosed.append(tag.start())
    spans = _outermost(spans)
    for start, end in spans:
        yield Inset(_with_tags_before(flat, start), _TAGS_AFTER.match(flat, end).end(), "table")  # type: ignore[union-attr]
    halves = (tag.start() for tag in _ROW_TAG.finditer(flat) if _begins_line(flat, tag.start()))
    yield from _unclosed(flat, sorted({*halves, *unclosed}), spans, _half_end)


def _unclosed(
    flat: str, starts: Iterable[int], whole: list[tuple[int, int]], find_end: Callable[[str, int, int], int]
) -> Iterator[Inset]:
    """Yield tables that are not closed, or not opened, from ascending ``starts`` on, up to the next whole one."""
    last = 0
    for start in starts:
        if start >= last and not _is_inside(start, whole):
            place = bisect_right(whole, (start, start))
            last = find_end(flat, start, whole[place][0] if place < len(whole) else len(flat))
            yield Inset(start, last, "table")


def _details(flat: str) -> Iterator[Inset]:
    """Yield details that contain nothing but prose; those that contain other blocks are none of their own."""
    start = None
    for tag in _DETAILS_TAG.finditer(flat):
        if not tag["close"]:
            start = tag.start() if _begins_line(flat, tag.start()) else None
        elif start is not None:
            if _AT_LINE_END.match(flat, tag.end()) and not _NOT_PROSE.search(flat, start, tag.end()):
                yield Inset(start, tag.end(), "quote")
            start = None


def details_summary(block: str) -> str | None:
    """Return the summary of details, as it is written, "" if they have none; None for another block."""
    match = _SUMMARY.match(block)
    return (match["title"] or "") if match else None


def _outermost(spans: Iterable[_Span]) -> list[_Span]:
    outermost = list[_Span]()
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not outermost or span[0] >= outermost[-1][1]:
            outermost.append(span)
    return outermost


def _is_inside(offset: int, spans: list[tuple[int, int]]) -> bool:
    place = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    return place >= 0 and offset < spans[place][1]


def _is_in_line(flat: str, offset: int) -> bool:
    """Return True if an offset is in inline code or a row of pipes, as far as the 1,000 characters before tell."""
    first = max(offset - 1000, 0)
    line = max(flat.rfind("\n", first, offset) + 1, first)
    before = flat[line:offset]
    return before.count("`") % 2 == 1 or before.lstrip("> \t").startswith("|")


def _with_tags_before(flat: str, start: int) -> int:
    """Return the start of the tags before a table if nothing else but marks is before it in its line."""
    line = flat.rfind("\n", max(start - 200, 0), start) + 1
    if start - line > 200:
        return start
    match = _TAGS_BEFORE.match(flat, line, start)
    return match.start("tags") if match and match.end() == start else start


def _half_end(flat: str, start: int, most: int) -> int:
    """Return the end of a table that is not closed: a blank line after which no tag of a table follows."""
    for blank in _BLANK_LINE.finditer(flat, start, most):
        after = blank.end()
        while after < most and flat[after] in "\n \t":
            after += 1
        after = flat.rfind("\n", 0, after) + 1
        if blank.start() >= most or not _GOES_ON.match(flat, after, most):
            return _stripped(flat, start, blank.start())
    return _stripped(flat, start, most)


def _stripped(flat: str, start: int, end: int) -> int:
    return start + len(flat[start:end].rstrip())


# LaTeX.


def _environments(flat: str) -> Iterator[Inset]:
    tokens = [*_ENVIRONMENT.finditer(flat)]
    listings = [*_listings(flat, tokens)]
    stack, names, spans = list[tuple[str, int]](), Counter[str](), list[tuple[int, int]]()
    for token in tokens:
        name, start = token["name"], token.start()
        if not _IS_TABLE.fullmatch(name) or _is_inside(start, listings):
            continue
        if token["kind"] == "begin":
            stack.append((name, start))
            names[name] += 1
        elif names[name]:
            pending = ""
            while pending != name:
                pending, begin = stack.pop()
                names[pending] -= 1
            if _is_table(flat, name, begin, token.end()):
                spans.append((begin, token.end()))
    spans = _outermost(spans)
    yield from (Inset(*span, "code") for span in listings)
    yield from (Inset(*span, "table") for span in spans)
    lost = (start for name, start in stack if name != "array" and _begins_line(flat, start))
    yield from _unclosed(flat, lost, spans, _paragraph_end)


def _paragraph_end(flat: str, start: int, most: int) -> int:
    blank = _BLANK_LINE.search(flat, start, most)
    return _stripped(flat, start, blank.start() if blank else most)


def _listings(flat: str, tokens: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of environments of code, in which nothing else is LaTeX."""
    at, unclosed = 0, set[str]()
    for token in tokens:
        name, start = token["name"], token.start()
        if token["kind"] == "end" or start < at or name in unclosed or not _IS_VERBATIM.fullmatch(name):
            continue
        closing = f"\\end{{{name}}}"
        end = flat.find(closing, start)
        if end < 0:
            unclosed.add(name)
        elif _begins_line(flat, start):
            at = end + len(closing)
            yield start, at


def _begins_line(flat: str, start: int) -> bool:
    """Return True if only white space, or marks of quotes and items, is before an offset in its line."""
    line = flat.rfind("\n", max(start - 200, 0), start) + 1
    before = flat[line:start]
    return start - line <= 200 and (not before.strip() or re.fullmatch(MARKS, before) is not None)


def _is_table(flat: str, name: str, start: int, end: int) -> bool:
    """Return True if an environment is a table: an array only on lines of its own, since most are parts of formulas."""
    if name != "array":
        return not _is_in_line(flat, start)
    before = flat[max(start - 20, 0) : start].rstrip()
    is_alone = _begins_line(flat, start) and _AT_SENTENCE_END.match(flat, end) is not None
    return is_alone and not before.endswith(("$", "\\[", "(", "=", "{", "|"))


# Pages.


def _page_insets(flat: str) -> Iterator[Inset]:
    openings = (opens.finditer(flat) for sign, opens in _PAGE_OPENS.items() if sign in flat)
    for opening in chain.from_iterable(openings):
        match = _PAGE_LINE.match(flat, opening.start())
        if match and _begins_line(flat, match.start()):
            yield Inset(match.start(), match.start() + len(match[0].rstrip()), "furniture")


def page_marks(flat: str, of: Sequence[Inset]) -> list[PageMark]:
    """Return the marks of pages in the furniture of a text, and its form feeds; without any, the printed numbers."""
    marks, printed = [PageMark(feed.end(), None) for feed in re.finditer("\f", flat.rstrip())], list[PageMark]()
    for match in (m for part in of if part.kind == "furniture" for m in _PAGE.finditer(flat, part.start, part.end)):
        if (name := match.lastgroup) is not None:
            number = None if name == "break" else int(match[name]) + (name == "counted")  # Marker counts from 0
            (printed if name in {"printed", "numbered"} else marks).append(PageMark(match.end(), number))
    marks.sort(key=lambda mark: mark.offset)
    if marks or not printed:
        return marks
    if not flat[: of[0].start].strip() and of[0].end == printed[0].offset:  # printed at the top of its page
        return printed
    below = (PageMark(before.offset, after.page) for before, after in pairwise(printed))
    return [PageMark(0, printed[0].page), *below, PageMark(printed[-1].offset, (printed[-1].page or 0) + 1)]


def with_pages(flat: str, marks: list[PageMark], layout: Iterable[Block], page: int | None) -> Iterator[Block]:
    """Yield the blocks of a text, and their parts, with their pages; the text begins on ``page``, if that is known."""
    # Text before a first mark that has a number is on no page.
    starts, numbers = [0], [page or (1 if marks and marks[0].page is None else 0)]
    for mark in marks:
        starts.append(mark.offset)
        numbers.append(numbers[-1] + 1 if mark.page is None else mark.page)
    for block in layout:
        start, end = block.span
        first = bisect_right(starts, end - len(flat[start:end].lstrip())) - 1
        last = max(bisect_right(starts, end - 1), first + 1)
        on = [(Place(number),) if number else () for number in numbers[first:last]]
        spans = map(Span, [start, *starts[first + 1 : last]], [*starts[first + 1 : last], end])
        parts = (Block(block.kind, span, places=own) for span, own in zip(spans, on, strict=True))
        yield replace(block, places=tuple(dict.fromkeys(chain(*on))), parts=tuple(parts) if len(on) > 1 else ())
