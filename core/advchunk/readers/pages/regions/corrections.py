"""Correct what detectors get wrong, by the lines inside their boxes.

Detectors see the shapes of a page and cannot read: a list is a heading, a page of prose a figure, code a table. Each
rule takes one part of a page and returns the parts that it really is.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple, TypeAlias

from advchunk.readers.pages.regions.grouping import cluster
from advchunk.readers.pages.regions.prose import group_rows, is_list, starts_with_bullet
from advchunk.readers.pages.regions.setting import Setting
from advchunk.readers.pages.regions.shapes import Line, bounding_box
from advchunk.records import BlockKind


class Part(NamedTuple):
    """Lines of a page that a detector puts into one box, or that lie close together; with their text, they are not
    corrected.
    """

    kind: BlockKind
    level: int
    score: float
    lines: list[Line]
    text: str = ""


Rule: TypeAlias = Callable[[Part, Setting], Iterator[Part]]

# times as wide as high: 40 Latin or 20 Chinese characters, more than the labels of a figure or the cells of a table
# have
_FULL = 20
_MOST_WORDS, _MOST_ROWS = 20, 4  # of a heading
_ENDED = 4.0  # before the right edge of a paragraph, in line heights: a line that ends here has room for a word
_INDENT, _DEEPEST = 0.6, 4.0  # of the first line of a paragraph, in line heights
_TAB = 3.0  # between a number and its title, in line heights
_EDGE = 0.3  # in line heights, by which lines that begin alike may differ
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d[a-z]?\b|\bn\.\s?d\.|\bin press\b", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\s?[.·…]){4,}\s*(?=(?:\d+|[ivxlc]+)\s*$)")
_SENTENCE_END = re.compile(r"[.,;。，；]\s*$")  # headings may ask or exclaim


def correct(parts: Sequence[Part], setting: Setting) -> list[Part]:
    """Apply all rules to the parts of a page."""
    corrected = list(parts)
    for rule in RULES:
        corrected = [new for part in corrected for new in ([part] if part.text else rule(part, setting))]
    return corrected


def prose_in_figures(part: Part, setting: Setting) -> Iterator[Part]:
    """Read a figure, or a table with one column, as text if most of it is full lines, which dense pages have."""
    may_be = part.kind == "figure" or (part.kind == "table" and max(map(len, _rows(part, setting))) == 1)
    if may_be and _is_mostly_full(part.lines):
        for lines in cluster(part.lines, setting.reach):
            yield Part("paragraph", 0, part.score, lines)
    else:
        yield part


def contents(part: Part, setting: Setting) -> Iterator[Part]:
    """Read each line of a table of contents as an item: its dots and page numbers look like headings and columns."""
    rows = _rows(part, setting)
    ends = [bool(_LEADERS.search(" ".join(line.text for line in row))) for row in rows]
    if sum(ends) * 2 <= len(rows) or (part.kind == "figure" and sum(ends) < 2):
        yield part
        return
    entry = list[Line]()
    for row, is_end in zip(rows, ends, strict=True):
        entry += row
        if is_end:
            shortened = [line._replace(text=_LEADERS.sub(" … ", line.text)) for line in entry]
            yield Part("item", 0, part.score, shortened)
            entry = []
    if entry:
        yield part._replace(kind="paragraph", level=0, lines=entry)


def headings_of_prose(part: Part, setting: Setting) -> Iterator[Part]:
    """Read a heading as text if it is too long, breaks off in a hyphen, or looks like the text: detectors see the space
    above it.
    """
    text = " ".join(line.text for line in part.lines).strip()
    is_plain = bool(setting.height) and not any(_is_prominent(line, setting) for line in part.lines)
    is_prose = (
        len(text.split()) > _MOST_WORDS
        or text.endswith("-")
        or not any(map(str.isalnum, text))
        or (is_plain and text.endswith((".", "。")) and not text[0].isdigit())
        or (all(map(setting.is_usual, part.lines)) and not text.isupper() and not text[0].isdigit())
    )
    yield part._replace(kind="paragraph", level=0) if part.kind == "heading" and is_prose else part


def references_of_prose(part: Part, _: Setting) -> Iterator[Part]:
    """Read references without a year as text: any text in small print is taken for references."""
    has_year = any(_YEAR.search(line.text) for line in part.lines)
    yield part._replace(kind="paragraph") if part.kind == "reference" and not has_year else part


def lists(part: Part, setting: Setting) -> Iterator[Part]:
    """Read text as a list from its first bullet on, or if it begins with a number, and others follow, whatever its
    label.
    """
    if part.kind not in {"heading", "paragraph", "reference"}:
        yield part
        return
    rows = _rows(part, setting)
    first = next((i for i, row in enumerate(rows) if starts_with_bullet(row[0].text)), len(rows))
    if part.kind != "reference" and is_list(part.lines):
        first = 0
    if first:
        yield part._replace(lines=[line for row in rows[:first] for line in row])
    if first < len(rows):
        yield Part("item", 0, part.score, [line for row in rows[first:] for line in row])


def run_in_headings(part: Part, setting: Setting) -> Iterator[Part]:
    """Separate a heading from the paragraph right below it: boxes are drawn around both."""
    if part.kind not in {"paragraph", "reference"} or not setting.height:
        yield part
        return
    rows = _rows(part, setting)
    count = 0
    while count < min(len(rows) - 1, _MOST_ROWS) and _is_run_in(rows[count], rows[count + 1 :], setting):
        count += 1
    if count:
        head = Part("heading", 0, part.score, [line for row in rows[:count] for line in row])
        yield head._replace(kind="heading" if _may_be_heading(head.lines) else "paragraph")
    yield part._replace(lines=[line for row in rows[count:] for line in row])


def undetected_headings(part: Part, setting: Setting) -> Iterator[Part]:
    """Read a short paragraph as a heading if it is larger than the text, or bold: detectors miss some, lines have no
    labels.
    """
    is_seen = all(_is_prominent(line, setting) for line in part.lines)
    if part.kind in {"furniture", "caption"}:  # these may be bold; running headers have been found before
        is_seen = all(map(setting.is_large, part.lines))
    may_be = part.kind in {"paragraph", "furniture", "caption"} and bool(setting.height)
    is_heading = may_be and is_seen and _may_be_heading(part.lines)
    yield part._replace(kind="heading", level=0) if is_heading else part


def indented_paragraphs(part: Part, setting: Setting) -> Iterator[Part]:
    """Divide text at indented lines: books have no space between paragraphs, and boxes are drawn around several."""
    if part.kind not in {"paragraph", "reference"}:
        yield part
        return
    rows = _rows(part, setting)
    starts = [0, *_indented(rows, setting), len(rows)]
    for start, end in pairwise(starts):
        yield part._replace(lines=[line for row in rows[start:end] for line in row])


RULES: tuple[Rule, ...] = (
    prose_in_figures,
    contents,
    headings_of_prose,
    references_of_prose,
    lists,
    run_in_headings,
    indented_paragraphs,
    undetected_headings,
)
"""The rules, in the order in which they are applied: from what a region is to where its paragraphs end."""


def _is_mostly_full(lines: Sequence[Line]) -> bool:
    """Return True if most characters are in lines as long as those of prose, at least two."""
    full = [line for line in lines if line.box[2] - line.box[0] >= _FULL * line.height]
    return len(full) > 1 and 2 * sum(len(line.text) for line in full) > sum(len(line.text) for line in lines)


def _rows(part: Part, setting: Setting) -> list[list[Line]]:
    return group_rows(part.lines, right_to_left=setting.right_to_left)


def _is_prominent(line: Line, setting: Setting) -> bool:
    return setting.is_large(line) or (line.font.bold and not setting.font.bold)


def _may_be_heading(lines: Sequence[Line]) -> bool:
    """Return True if a text is as short as a heading, has letters, and does not end like a sentence or in a hyphen."""
    text = " ".join(line.text for line in lines).rstrip()
    is_short = len(text.split()) <= _MOST_WORDS and len(group_rows(lines)) <= _MOST_ROWS
    return is_short and any(map(str.isalpha, text)) and not _SENTENCE_END.search(text) and not text.endswith("-")


def _is_run_in(row: Sequence[Line], below: Sequence[Sequence[Line]], setting: Setting) -> bool:
    """Return True if a row is prominent, or of another font and short, and the text below it is neither."""
    others = [line for other in below for line in other]
    usual = max((line.font for line in others), key=[line.font for line in others].count)
    right = bounding_box(line.box for line in others)[2]
    if any(line.font == usual for line in row) or usual != setting.font:
        return False
    is_short = bounding_box(line.box for line in row)[2] < right - _ENDED * setting.height
    is_title = is_short and _may_be_heading(row) and not row[0].text[0].islower() and not row[0].font.mono
    return is_title or all(_is_prominent(line, setting) for line in row)


def _indented(rows: Sequence[Sequence[Line]], setting: Setting) -> Iterator[int]:
    """Yield the rows that begin paragraphs: indented ones between rows that are not, or the other way round."""
    boxes = [bounding_box(line.box for line in row) for row in rows]
    edges = [-box[2] if setting.right_to_left else box[0] for box in boxes]
    height = median(line.height for row in rows for line in row)
    usual = median(edges)
    for i in range(1, len(rows)):
        offset = (edges[i] - usual) / height
        is_start = _INDENT <= abs(offset) <= _DEEPEST
        followed = i + 1 == len(rows) or abs(edges[i + 1] - usual) <= _EDGE * height
        is_centered = abs(sum(boxes[i][::2]) - sum(boxes[i - 1][::2])) <= _EDGE * height
        if is_start and followed and abs(edges[i - 1] - usual) <= _EDGE * height and not is_centered:
            yield i
