r"""Tables of AsciiDoc, between lines of ``|===``: their rows, cells and header, at exact places.

A cell begins with a bar, which digits may precede that say how many columns it spans. A row is as many cells as the
table has columns, in one line or several.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_FENCE = re.compile(r"^\|={3,}[ \t]*$", re.MULTILINE)
_TABLE = re.compile(r"(?:[ \t]*(?:\[[^\n]*\]|\.[^\s.][^\n]*)?\n)*\|={3,}[ \t]*(?:\n|\Z)")
_CELL = re.compile(
    r"(?:^|(?<=[ "
    r"\t]))(?:(?P<copies>\d{1,3})\*|(?P<span>\d{1,3})?(?:\.\d{1,3})?\+)?[<^>]?(?:\.[<^>])?[adehlmsv]?\|(?!={3})",
    re.MULTILINE,
)
_COLUMNS = re.compile(r"\bcols\s*=\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|(\d{1,3}))")
_CAPTION = re.compile(r"^\.(?P<caption>[^\s.][^\n]*)", re.MULTILINE)
_MOST_COLUMNS = 100


class _Cell(NamedTuple):
    """The offsets of a cell and of its text, and the columns that it takes."""

    start: int
    text: int
    columns: int


def is_table(text: str) -> bool:
    """Return True if a text begins as a table of AsciiDoc does, with its attributes and title."""
    return _TABLE.match(text) is not None


def row_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each row; attributes are part of the first, and the closing line of the last."""
    starts = [row[0].start for row in _rows(text)]
    return list(pairwise([0, *starts[1:], len(text)])) if starts else [(0, len(text))]


def cell_starts(text: str) -> list[int]:
    """Return the offsets of the cells after the first."""
    return [cell.start for cell in _cells(text)][1:]


def header(text: str) -> tuple[str, list[str], int]:
    """Return the title of a table, the texts of its first row, which is its header, and the offset of its end."""
    rows = _rows(text)
    if not rows:
        return "", [], 0
    start, end = _inside(text)
    end = rows[1][0].start if len(rows) > 1 else end
    caption = _CAPTION.search(text, 0, start)
    ends = [*(cell.start for cell in rows[0][1:]), end]
    names = [" ".join(text[cell.text : stop].split()) for cell, stop in zip(rows[0], ends, strict=True)]
    return caption["caption"].strip() if caption else "", names, end


def _inside(text: str) -> tuple[int, int]:
    """Return the span between the lines around a table."""
    opening = _FENCE.search(text)
    start = opening.end() if opening else 0
    closing = _FENCE.search(text, start)
    return start, closing.start() if closing else len(text)


def _cells(text: str) -> Iterator[_Cell]:
    for match in _CELL.finditer(text, *_inside(text)):
        columns = min(int(match["copies"] or match["span"] or 1), _MOST_COLUMNS)
        yield _Cell(match.start(), match.end(), columns)


def _rows(text: str) -> list[list[_Cell]]:
    cells, width = list(_cells(text)), _width(text)
    rows, room = list[list[_Cell]](), 0
    for cell in cells:
        if room <= 0:
            rows.append([])
            room = width
        rows[-1].append(cell)
        room -= cell.columns
    return rows


def _width(text: str) -> int:
    """Return the number of columns: that of the attributes, or of the cells in the first line."""
    declared = _COLUMNS.search(text, 0, _inside(text)[0])
    if declared and declared[3]:
        return max(min(int(declared[3]), _MOST_COLUMNS), 1)
    if declared:
        copies = (re.match(r"\s*(\d{1,3})\*", part) for part in (declared[1] or declared[2] or "").split(","))
        return min(sum(int(match[1]) if match else 1 for match in copies), _MOST_COLUMNS)
    cells = list(_cells(text))
    line_end = text.find("\n", cells[0].text) if cells else 0
    return max(sum(cell.columns for cell in cells if cell.start < line_end or line_end < 0), 1)
