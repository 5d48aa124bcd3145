"""Correct what detectors get wrong, by the lines inside their boxes, and find what they do not see.

Detectors see the shapes of a page and cannot read: a list is a heading, a page of prose a figure, code a table. Each
rule takes one part of a page and returns the parts that it really is.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import chain, pairwise
from statistics import median
from typing import NamedTuple, TypeAlias, get_args

from advchunk.readers.pages.regions.grouping import Setting, belong_together, cluster
from advchunk.readers.pages.regions.prose import group_rows, is_list, region_text, starts_with_bullet
from advchunk.readers.pages.regions.shapes import Line, bounding_box, interval_overlap
from advchunk.records import BlockKind


class Part(NamedTuple):
    """Lines of a page that a detector puts into one box, or that lie close together; with their text, they are not
    corrected. The lines of a text without any of its own, as ``is_whole``, say nothing of its size.
    """

    kind: BlockKind
    level: int
    lines: list[Line]
    text: str = ""
    is_whole: bool = False


Rule: TypeAlias = Callable[[Part, Setting], Iterator[Part]]

_FULL = 20  # times as wide as high, 40 Latin or 20 Chinese characters: more than labels of a figure or cells have
_MOST_WORDS, _MOST_ROWS = 20, 4  # of a heading
_ENDED = 4.0  # before the right edge of a paragraph, in line heights: a line that ends here has room for a word
_INDENT, _DEEPEST = 0.6, 4.0  # of the first line of a paragraph, in line heights
_EDGE = 0.3  # in line heights, by which lines that begin alike may differ
_BLANK = 1.7  # in line heights: a larger gap ends a piece of code
_TIGHT = 0.15  # distance beyond the usual line spacing, in line heights, of lines surely of one paragraph
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d[a-z]?\b|\bn\.\s?d\.|\bin press\b", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\s?[.·…]){4,}\s*(?=(?:\d+|[ivxlc]+)\s*$)")
_WORD = re.compile(r"[^\W\d_]{2}|[\u3041-\ud7ff]|\A[^\W\d_]\Z")  # a formula has single letters between other signs
_SENTENCE_END = re.compile(r"[.,;。，；]\s*$")  # headings may ask or exclaim


def fixed_part(kind: BlockKind, lines: list[Line]) -> Part:
    """Return a part that is not corrected."""
    return Part(kind, 0, lines, region_text(kind, lines))


def find_code(rows: Sequence[Sequence[Line]], setting: Setting) -> Iterator[Part]:
    """Yield the code of a page: rows in a monospaced font, unless the text is in one; a single row if it is apart."""

    def may_be(line: Line) -> bool:
        return line.font.mono and not setting.is_large(line) and not starts_with_bullet(line.text)

    def is_below(above: Line, below: Line) -> bool:
        gap = -interval_overlap(above.box[1::2], below.box[1::2])
        return below.box[1] > above.box[1] and gap <= _BLANK * below.height

    is_code = [not setting.font.mono and all(map(may_be, row)) for row in rows]
    start = 0
    for end in range(1, len(rows) + 1):
        if end < len(rows) and is_code[start] and is_code[end] and is_below(rows[end - 1][0], rows[end][0]):
            continue
        around = [line for row in (*rows[max(start - 1, 0) : start], *rows[end : end + 1]) for line in row]
        piece = [line for row in rows[start:end] for line in row]
        is_apart = not any(belong_together(line, other, setting.leading + _TIGHT) for line in piece for other in around)
        if is_code[start] and (end - start > 1 or is_apart):
            yield fixed_part("code", piece)
        start = end


def correct(parts: Sequence[Part], setting: Setting) -> list[Part]:
    """Apply all rules to the parts of a page."""
    corrected = list(parts)
    for kinds, rule in RULES:
        applied = (rule(part, setting) if part.kind in kinds and not part.text else [part] for part in corrected)
        corrected = [*chain.from_iterable(applied)]
    return corrected


def prose_in_figures(part: Part, setting: Setting) -> Iterator[Part]:
    """Read a figure, or a table with one column, as text if most of it is full lines, which dense pages have."""
    may_be = part.kind == "figure" or max(map(len, group_rows(part.lines))) == 1
    full = [line for line in part.lines if line.box[2] - line.box[0] >= _FULL * line.height]
    of_full, of_all = (sum(len(line.text) for line in lines) for lines in (full, part.lines))
    if may_be and len(full) > 1 and 2 * of_full > of_all:
        for lines in cluster(part.lines, setting.reach):
            yield Part("paragraph", 0, lines)
    else:
        yield part


def contents(part: Part, _: Setting) -> Iterator[Part]:
    """Read each line of a table of contents as an item: its dots and page numbers look like headings and columns."""
    rows = group_rows(part.lines)
    ends = [bool(_LEADERS.search(" ".join(line.text for line in row))) for row in rows]
    if sum(ends) * 2 <= len(rows) or (part.kind == "figure" and sum(ends) < 2):
        yield part
        return
    entry = list[Line]()
    for row, is_end in zip(rows, ends, strict=True):
        entry += row
        if is_end:
            yield Part("item", 0, [line._replace(text=_LEADERS.sub(" … ", line.text)) for line in entry])
            entry = []
    if entry:
        yield part._replace(kind="paragraph", level=0, lines=entry)


def headings_of_prose(part: Part, setting: Setting) -> Iterator[Part]:
    """Read a heading as text if it is too long, breaks off, or looks like the text: it has space above it."""
    text = " ".join(line.text for line in part.lines).strip()
    is_known = bool(setting.height)
    is_usual = is_known and all(line.font == setting.font and not setting.is_large(line) for line in part.lines)
    is_plain = is_known and not any(_is_prominent(line, setting) for line in part.lines)
    is_prose = (
        len(text.split()) > _MOST_WORDS
        or text.endswith("-")
        or not any(map(str.isalnum, text))
        or (is_plain and text.endswith((".", "。")) and not text[0].isdigit())
        or (is_usual and not text.isupper() and not text[0].isdigit())
    )
    yield part._replace(kind="paragraph", level=0) if is_prose else part


def references_of_prose(part: Part, _: Setting) -> Iterator[Part]:
    """Read references without a year as text: any text in small print is taken for references."""
    yield part if any(_YEAR.search(line.text) for line in part.lines) else part._replace(kind="paragraph")


def lists(part: Part, _: Setting) -> Iterator[Part]:
    """Read text as a list from its first bullet on, or if it begins with a number, and others follow."""
    rows = group_rows(part.lines)
    first = next((i for i, row in enumerate(rows) if starts_with_bullet(row[0].text)), len(rows))
    if part.kind != "reference" and is_list(rows):
        first = 0
    if first:
        yield part._replace(lines=[line for row in rows[:first] for line in row])
    if first < len(rows):
        yield Part("item", 0, [line for row in rows[first:] for line in row])


def run_in_headings(part: Part, setting: Setting) -> Iterator[Part]:
    """Separate a heading from the paragraph right below it: boxes are drawn around both."""
    rows, count = group_rows(part.lines), 0
    most = min(len(rows) - 1, _MOST_ROWS) if setting.height else 0
    while count < most and _is_run_in(rows[count], rows[count + 1 :], setting):
        count += 1
    if count:
        head = [line for row in rows[:count] for line in row]
        yield Part("heading" if _may_be_heading(head) else "paragraph", 0, head)
    yield part._replace(lines=[line for row in rows[count:] for line in row])


def undetected_headings(part: Part, setting: Setting) -> Iterator[Part]:
    """Read a short paragraph as a heading if it is larger than the text, or bold: detectors miss some, lines have no
    labels. Running headers, which have been found before, and captions may be bold.
    """
    bold = part.kind == "paragraph" and not setting.font.bold
    is_seen = all(setting.is_large(line) or (bold and line.font.bold) for line in part.lines)
    is_heading = bool(setting.height) and is_seen and _may_be_heading(part.lines)
    yield part._replace(kind="heading", level=0) if is_heading else part


def indented_paragraphs(part: Part, _: Setting) -> Iterator[Part]:
    """Divide text at indented lines: books have no space between paragraphs, and boxes are drawn around several."""
    rows = group_rows(part.lines)
    for start, end in pairwise([0, *_indented(rows), len(rows)]):
        yield part._replace(lines=[line for row in rows[start:end] for line in row])


_PROSE: Set[BlockKind] = frozenset({"paragraph", "reference"})
RULES: tuple[tuple[Set[BlockKind], Rule], ...] = (
    ({"figure", "table"}, prose_in_figures),
    (frozenset(get_args(BlockKind)), contents),
    ({"heading"}, headings_of_prose),
    ({"reference"}, references_of_prose),
    ({"heading", *_PROSE}, lists),
    (_PROSE, run_in_headings),
    (_PROSE, indented_paragraphs),
    ({"paragraph", "furniture", "caption"}, undetected_headings),
)
"""The rules and the kinds of parts that each is for, in the order in which they are applied: from what a region is to
where its paragraphs end."""


def _is_prominent(line: Line, setting: Setting) -> bool:
    return setting.is_large(line) or (line.font.bold and not setting.font.bold)


def _may_be_heading(lines: Sequence[Line]) -> bool:
    """Return True if a text is as short as a heading, has a word, and does not end like a sentence or in a hyphen."""
    text = " ".join(line.text for line in lines).rstrip()
    is_short = len(text.split()) <= _MOST_WORDS and len(group_rows(lines)) <= _MOST_ROWS
    return is_short and bool(_WORD.search(text)) and not _SENTENCE_END.search(text) and not text.endswith("-")


def _is_run_in(row: Sequence[Line], below: Sequence[Sequence[Line]], setting: Setting) -> bool:
    """Return True if a row is prominent, or of another font and short, and the text below it is neither."""
    others = [line for other in below for line in other]
    ((usual, _),) = Counter(line.font for line in others).most_common(1)
    right = max(line.box[2] for line in others)
    if any(line.font == usual for line in row) or usual != setting.font:
        return False
    is_short = bounding_box(line.box for line in row)[2] < right - _ENDED * setting.height
    is_title = is_short and _may_be_heading(row) and not row[0].text[0].islower() and not row[0].font.mono
    return is_title or all(_is_prominent(line, setting) for line in row)


def _indented(rows: Sequence[Sequence[Line]]) -> Iterator[int]:
    """Yield the rows that begin paragraphs: indented ones between rows that are not, or the other way round."""
    boxes = [bounding_box(line.box for line in row) for row in rows]
    height, usual = median(line.height for row in rows for line in row), median(box[0] for box in boxes)
    offsets = [(box[0] - usual) / height for box in boxes]
    for i in range(1, len(rows)):
        followed = i + 1 == len(rows) or abs(offsets[i + 1]) <= _EDGE
        is_centered = abs(sum(boxes[i][::2]) - sum(boxes[i - 1][::2])) <= _EDGE * height
        if _INDENT <= abs(offsets[i]) <= _DEEPEST and followed and abs(offsets[i - 1]) <= _EDGE and not is_centered:
            yield i
