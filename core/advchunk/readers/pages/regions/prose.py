"""Join the lines of a page into paragraphs, list items and tables."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple
from unicodedata import bidirectional, east_asian_width

from advchunk.readers.hyphens import HYPHENATED, keeps_hyphen
from advchunk.readers.pages.regions.shapes import Line, bounding_box, interval_overlap, union
from advchunk.readers.writing import pipe_table, squeeze
from advchunk.records import BlockKind

_DIVIDED = re.compile(r"(?<!\S)(?P<before>\S*?)(?<!\w)(?P<left>\w++)- ?\n(?=(?P<right>\w++)(?P<after>\S*+))")
_SECOND_HALF = re.compile(r"-\n\w+")
_ADDRESS = re.compile(r"[/@_\\=]|\w\.\w")
_WORD = re.compile(r"\w+")
_UNSPACED = frozenset("WF")  # East Asian wide characters: a line of them ends with a space only if it is intended
_BULLET = re.compile(r"[•‣◦▪■□●○∙]")
_MARKER = re.compile(r"\s*(?:[•‣◦▪■□●○∙–—*-]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)])\s")
_COUNTED = re.compile(r"\s*\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s")
_REFERENCE = re.compile(r"\s*(?:\[\d{1,4}\]|\d{1,3}[.)])\s")
_NUMBER = re.compile(r"\d{1,2}(?:\.\d{1,2})*")
_FEWEST = 3  # rows of a table whose order is that of the file
_ROW, _MOST_LINES = 0.3, 6  # in line heights, by which rows overlap; lines of a cell
_SEEN_ROWS = 100  # of a table, in which its columns are seen
_TIGHT = 0.8  # of the distance of rows: lines of a cell are nearer
_TOUCHING = 0.12  # gap between pieces of a line without a space, in line heights
_BLANK_LINE = 1.7  # distances of lines of code: a larger one is a blank line
OPENERS, _CLOSERS = "\"'“\u2018«([", "\"'”’»)]}"
_ENDS = frozenset(".!?…:;。！？؟।")


class WordList(NamedTuple):
    """The words of a document, in lower case, and whether it divides words at line ends."""

    forms: frozenset[str] = frozenset()
    divides: bool = True

    @classmethod
    def of(cls, lines: Iterable[str]) -> "WordList":
        """Return the words of lines, hyphenated ones also whole, but not the halves of those at line ends. The document
        divides words if more of those are joined elsewhere than hyphenated, by two at least.
        """
        text = "\n".join(lines).lower()
        halves = {(match["left"], match["right"]) for match in _DIVIDED.finditer(text)}
        text = _SECOND_HALF.sub(" ", _DIVIDED.sub("-\n", text))
        forms = frozenset([*_WORD.findall(text), *HYPHENATED.findall(text)])
        joined, hyphenated = (sum(f"{a}{hyphen}{b}" in forms for a, b in halves) for hyphen in ("", "-"))
        return cls(forms, joined > hyphenated + 1)


UNKNOWN = WordList()
"""The words of a document that is not known."""


def join_lines(lines: Iterable[str], words: WordList = UNKNOWN) -> str:
    """Join the lines of a paragraph, and the words divided at line ends. A hyphen goes if ``words`` has the joined
    word, or divides words, except in words that it has with the hyphen, or as two; before numbers and names; after
    first halves such as "well"; and in addresses and names of files.

    >>> join_lines(["Weight in the pla-", "cebo group, a double-", "blind trial at https://tea-", "cup.org"])
    'Weight in the placebo group, a double-blind trial at https://tea-cup.org'
    """
    text = "\n".join(squeeze(line) + " " * line[-1:].isspace() for line in lines if line.strip())
    forms = words.forms or frozenset(HYPHENATED.findall(text.lower()))

    def join_halves(match: re.Match[str]) -> str:
        left, right = match["left"].lower(), match["right"].lower()
        are_two = not words.divides or (left in forms and right in forms) or keeps_hyphen(match, forms)
        is_address = _ADDRESS.search("{before}{left}-{right}{after}".format_map(match.groupdict()))
        return match["before"] + match["left"] + "-" * bool(is_address or (left + right not in forms and are_two))

    def join_pair(match: re.Match[str]) -> str:
        widths = {east_asian_width(match[1]), east_asian_width(match[2])}
        return match[1] if match[1] == " " or widths <= _UNSPACED else f"{match[1]} "

    return re.sub(r"(.)\n(?=(.))", join_pair, _DIVIDED.sub(join_halves, text)).rstrip()


def continues_sentence(above: str, below: str, *, has_case: bool = True) -> bool:
    """Return True if the first text does not end a sentence, and the second begins in lower case, without a marker.

    Without ``has_case``, letters of scripts that have no case will do.
    """
    end, start = above.rstrip().rstrip(_CLOSERS)[-1:], below.lstrip(OPENERS)[:1]
    is_low = start.islower() if has_case else start.isalpha() and start == start.lower()
    return bool(end) and end not in _ENDS and is_low and not starts_item(below)


def is_right_to_left(texts: Iterable[str]) -> bool:
    """Return True if most letters are of a script written from right to left."""
    counts = Counter(bidirectional(c) in {"R", "AL"} for text in texts for c in text if c.isalpha())
    return counts[True] > counts[False]


def group_rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines into rows, from the top, each row from left to right."""
    rows, band = list[list[Line]](), (0.0, 0.0)
    for line in sorted(lines, key=lambda line: (line.box[1] + line.box[3], line.box[0])):
        top, bottom = line.box[1], line.box[3]
        if rows and interval_overlap((top, bottom), band) >= min(bottom - top, band[1] - band[0]) / 2:
            rows[-1].append(line)
            band = min(band[0], top), max(band[1], bottom)
        else:
            rows.append([line])
            band = top, bottom
    return [sorted(row, key=lambda line: line.box[0] + line.box[2]) for row in rows]


def is_on_row(a: Line, b: Line) -> bool:
    """Return True if two lines are on one row."""
    return interval_overlap(a.box[1::2], b.box[1::2]) > min(a.height, b.height) / 2


def join_rows(lines: Iterable[Line]) -> list[list[Line]]:
    """Join lines that follow each other on a row."""
    rows = list[list[Line]]()
    for line in lines:
        if rows and is_on_row(rows[-1][-1], line) and line.box[0] >= rows[-1][-1].box[0]:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def region_text(kind: BlockKind, lines: Sequence[Line], words: WordList = UNKNOWN) -> str:
    """Return the text of a region: a pipe table for a table, separate lines for code and formulas, else a paragraph."""
    rows = group_rows(lines)
    if kind == "table":
        return _table(own if len(own := table_rows([[line] for line in lines])) >= _FEWEST else rows, words)
    if kind == "code" and all(line.font.mono for line in lines):
        return _code(rows)
    texts = [row_text(row) for row in rows]
    return "\n".join(map(squeeze, texts)) if kind in {"code", "formula"} else join_lines(texts, words)


def _code(rows: Sequence[Sequence[Line]]) -> str:
    """Write rows in a monospaced font, with the indentation, columns and blank lines that their positions show."""
    lines, texts = [line for row in rows for line in row], list[str]()
    left = min(line.box[0] for line in lines)
    width = median((line.box[2] - line.box[0]) / len(line.text.strip()) for line in lines)
    tops = [min(line.box[1] for line in row) for row in rows]
    pitch = min((below - above for above, below in pairwise(tops)), default=0.0)
    for above, top, row in zip([tops[0], *tops], tops, rows, strict=False):
        text = ""
        for line in row:
            column = round((line.box[0] - left) / width)
            text = text.ljust(max(column, len(text) + bool(text))) + line.text.strip()
        texts += [""] * (top - above > _BLANK_LINE * pitch) + [text]
    return "\n".join(texts)


def table_rows(rows: Iterable[Sequence[Line]]) -> list[list[Line]]:
    """Join the rows of a table, in the order of the file, from the first line of a cell to the last one in other cells.

    Where the file goes up again, to the next cell, the rows are one; not where it goes up many, to the next column.
    """
    joined, bottoms = list[list[Line]](), list[float]()
    for row in rows:
        top, bottom = min(line.box[1] for line in row), max(line.box[3] for line in row)
        start = len(joined)
        height = _ROW * row[0].height
        while 0 < start >= len(joined) - _MOST_LINES and top < bottoms[start - 1] - height:
            start -= 1
        if 0 < len(joined) - start <= _MOST_LINES:
            joined[start] += [line for other in [*joined[start + 1 :], row] for line in other]
            bottoms[start:] = [max(bottom, *bottoms[start:])]
            del joined[start + 1 :]
        else:
            joined.append([*row])
            bottoms.append(bottom)
    return joined


def row_text(row: Sequence[Line]) -> str:
    """Return the text of a row, with a space for each visible gap: a raised digit is a piece of its own."""
    text = row[0].text
    for a, b in pairwise(row):
        text += " " * (abs(interval_overlap(a.box[::2], b.box[::2])) >= _TOUCHING * b.height) + b.text
    return text


def is_marker(text: str) -> bool:
    """Return True if a text is just a bullet or a number, such as "2.1"."""
    return (_MARKER.fullmatch(text.strip() + " ") or _NUMBER.fullmatch(text.strip())) is not None


def starts_with_bullet(text: str) -> bool:
    """Return True if a text begins with a bullet, which a number is not."""
    return _BULLET.match(text) is not None


def starts_item(text: str) -> bool:
    """Return True if a text begins with a number, or a small letter, of a list."""
    return _COUNTED.match(text) is not None


def is_list(rows: Sequence[Sequence[Line]]) -> bool:
    """Return True if the first row begins with a bullet, or the first and another one with a number."""
    marked = [bool(_MARKER.match(row[0].text + " ")) for row in rows]
    return starts_with_bullet(rows[0][0].text) or (marked[0] and sum(marked) > 1)


def split_marked(kind: BlockKind, lines: Sequence[Line]) -> list[list[Line]]:
    """Group the lines of a list, or of a numbered bibliography, into items by their markers; other kinds are one."""
    rows, items = group_rows(lines), list[list[Line]]()
    marker = {"item": _MARKER, "reference": _REFERENCE}.get(kind)
    if not marker or (kind == "reference" and not marker.match(rows[0][0].text + " ")):
        return [[*lines]]
    for row in rows:
        if not items or marker.match(row[0].text + " "):
            items.append([])
        items[-1] += row
    return items


def _table(rows: Sequence[Sequence[Line]], words: WordList) -> str:
    """Write rows as a table with the columns of the fullest rows; a single column is written line by line."""
    rows = _split_cells(rows)
    fields = [union(line.box[::2] for line in row) for row in rows]  # lines above each other are in one cell
    width = max(map(len, fields), default=0)
    if width < 2:
        return "\n".join(squeeze(line.text) for row in rows for line in row)
    full = zip(*(row for row in fields if len(row) == width), strict=True)
    columns = [(min(left for left, _ in column), max(right for _, right in column)) for column in full]
    cells = [[""] * width for _ in rows]
    for row, texts in zip(rows, cells, strict=True):
        column = 0
        for line in row:  # in their order, whatever the columns
            column = max(range(column, width), key=lambda i: interval_overlap(line.box[::2], columns[i]))
            texts[column] = join_lines([texts[column], line.text], words)
    return pipe_table(_join_wrapped(cells, [bounding_box(line.box for line in row)[1] for row in rows], words))


def _join_wrapped(cells: Sequence[list[str]], tops: Sequence[float], words: WordList) -> list[list[str]]:
    """Join rows with one cell, which is not the first, to the row above if they are nearer than other rows."""
    pitches = [below - above for above, below in pairwise(tops)]
    usual = median([pitch for pitch, row in zip(pitches, cells[1:], strict=True) if row[0]] or [0.0])
    rows = [cells[0]]
    for pitch, row in zip(pitches, cells[1:], strict=True):
        if not row[0] and sum(map(bool, row)) == 1 and pitch < _TIGHT * usual:
            rows[-1] = [join_lines(texts, words) for texts in zip(rows[-1], row, strict=True)]
        else:
            rows.append(row)
    return rows


def _split_cells(rows: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Divide lines into cells at the gaps that run through most rows, which may be as narrow as some spaces."""
    fine = [[cell for line in row for cell in (line.cells or (line,))] for row in rows]
    seen, split = fine[:_SEEN_ROWS], list[list[Line]]()

    def is_gutter(left: float, right: float) -> bool:
        middle = (left + right) / 2
        crossed = sum(any(cell.box[0] < middle < cell.box[2] for cell in row) for row in seen)
        beside = sum(row[0].box[0] < middle < row[-1].box[2] for row in seen)
        return 2 * crossed < beside

    for row in rows:
        split.append([])
        for line in row:
            split[-1].append(line.cells[0] if line.cells else line)
            for cell in line.cells[1:]:
                last = split[-1][-1]
                if is_gutter(last.box[2], cell.box[0]):
                    split[-1].append(cell)
                else:
                    split[-1][-1] = Line(f"{last.text} {cell.text}", bounding_box([last.box, cell.box]))
    return split
