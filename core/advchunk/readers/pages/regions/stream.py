"""The rows of a page of a PDF, in the order of the file unless the page disproves it.

Three things do:

1. The file has the title last: what is above all other text goes before it.
2. The file reads across columns of prose, line by line. They are read one after the other.
3. The file reads a table with a column of numbers, or of labels, or a list of fields, by column. It is read by row.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from statistics import median
from typing import TypeAlias

from advchunk.readers.pages.regions.prose import OPENERS, group_rows, is_on_row, join_rows
from advchunk.readers.pages.regions.shapes import Line, bounding_box, interval_overlap

_Gap: TypeAlias = tuple[float, float]

_MOST = 2_000  # texts of a page that are put in order; more are a drawing
_ROW, _UP = 0.3, 0.5  # in line heights: bottoms on one row differ less; a text this far above the last is a jump
_APART = 0.7  # in line heights, of columns
_FEWEST = 3  # rows of columns that prove something
_NARROWEST, _FULL = 9.0, 0.7  # width of a column of prose in line heights; of a full line in column widths
_FILLED, _RUN_ON, _GAPPED = 0.8, 0.3, 0.3  # shares of lines: that are full, begin in lower case, have gaps like cells
_MOSTLY = 0.6  # of a column's texts, which are numbers, labels, or level with those beside

_UNIT = r"\s?(?:%|[$€£]|[A-Za-zµ°]{1,4})?"
_NUMBER = re.compile(
    rf"[(\[]?[-+−–±<>≈~]?\s?(?:[$€£¥]|[A-Z]{{3}}\s)?\s?\d[\d.,\s'’:/–-]*{_UNIT}[)\]]?\*?|[-–—]|n/?a", re.IGNORECASE
)


def read_rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines in reading order, by row; a line is divided where other text comes between its cells."""
    pieces = [piece for line in lines for piece in (line.cells if not line.font.mono and line.cells else (line,))]
    whole = {id(piece): line for line in lines for piece in line.cells}
    if 2 <= len(pieces) <= _MOST and all(piece.is_level for piece in pieces):
        pieces = _tables(_title_first(_columns(pieces)))
    ordered = list[Line]()
    for line, group in groupby(pieces, key=lambda piece: whole.get(id(piece), piece)):
        parts = list(group)
        ordered += [line] if len(parts) == len(line.cells) else parts
    return join_rows(ordered)


def _width(piece: Line) -> float:
    return piece.box[2] - piece.box[0]


def _title_first(pieces: list[Line]) -> list[Line]:
    """Move what is after a jump back, and above all before it and over its first text, to the front."""
    tops = [*accumulate((piece.box[1] for piece in pieces), min)]
    for start in (i for i in range(1, len(pieces)) if pieces[i].box[3] <= tops[i - 1]):
        end = next((i for i in range(start, len(pieces)) if pieces[i].box[1] >= tops[start - 1]), len(pieces))
        title = pieces[start:end]
        if interval_overlap(bounding_box(piece.box for piece in title)[::2], pieces[0].box[::2]) > 0:
            return [*title, *pieces[:start], *pieces[end:]]
    return pieces


def _tables(pieces: Sequence[Line]) -> list[Line]:
    """Read row by row what is read column by column, if rows are level and a column has numbers or labels."""
    segments, ordered = [[pieces[0]]], list[Line]()
    for a, b in pairwise(pieces):
        if (b.box[1] + b.box[3]) / 2 < a.box[1] - _UP * min(a.height, b.height):
            segments.append([])
        segments[-1].append(b)
    while segments:
        columns, table = [segments.pop(0)], set[int]()
        while segments and (beside := _beside(columns[-1], segments[0])):
            table |= {id(piece) for piece in beside}
            columns.append(segments.pop(0))
        inner = {id(piece) for column in columns[1:-1] for piece in column}
        inside = [piece for column in columns for piece in column if id(piece) in table | inner]
        before, after = ([p for p in column if id(p) not in table] for column in (columns[0], columns[-1]))
        rows = [piece for row in group_rows(inside) for piece in row]
        ordered += [*before, *rows, *after] if len(columns) > 1 else before
    return ordered


def _beside(left: Sequence[Line], right: Sequence[Line]) -> list[Line]:
    """Return the last texts of a column and the first ones of the next that are level, if they are those of a table."""
    a = [p for p in left if p.box[3] > right[0].box[1] + _ROW * p.height]
    if any(p.box[2] > right[0].box[0] + _ROW * p.height for p in a):
        return []
    bottom = max((p.box[3] for p in a), default=0.0)
    b = [p for p in right if p.box[1] < bottom - _ROW * p.height]
    level = sum(any(abs(row[0].box[3] - q.box[3]) <= _ROW * q.height for q in a) for row in group_rows(b))
    numbers = sum(_NUMBER.fullmatch(p.text) is not None for p in b)
    labels = sum(p.text.rstrip().endswith(":") for p in a)
    are_fields = len(a) == len(b) == level and _is_fields(a, b)
    is_table = numbers >= _MOSTLY * len(b) or labels >= _MOSTLY * len(a) or are_fields
    return [*a, *b] if is_table and level >= max(_FEWEST, _MOSTLY * max(len(a), len(b))) else []


def _is_fields(labels: Sequence[Line], values: Sequence[Line]) -> bool:
    """Return True if values are in another font than their labels, or most have digits, and no label has."""
    digits = [sum(any(map(str.isdigit, piece.text)) for piece in column) for column in (labels, values)]
    other = not {piece.font for piece in labels} & {piece.font for piece in values}
    return other or (not digits[0] and 2 * digits[1] >= len(values))


def _columns(pieces: list[Line]) -> list[Line]:
    """Read column by column what is read across columns of prose, on most of their rows."""
    across = [(a, b) for a, b in pairwise(pieces) if is_on_row(a, b) and b.box[0] - a.box[2] >= _APART * b.height]
    if sum(min(_width(a), _width(b)) >= _NARROWEST * b.height for a, b in across) < _FEWEST:
        return pieces
    rows, start = group_rows(pieces), 0
    while start + _FEWEST <= len(rows):
        end, gaps = _gutters(rows, start)
        band = {id(p) for row in rows[start:end] for p in row}
        for middles in (sorted(sum(gap) / 2 for gap in chosen) for chosen in (gaps, gaps[:1])):  # all, then the widest
            columns = [list[Line]() for _ in (*middles, None)]
            for piece in (p for p in pieces if id(p) in band):
                columns[sum(middle <= piece.box[0] for middle in middles)].append(piece)
            both = sum(row[0].box[0] < middle <= row[-1].box[0] for row in rows[start:end] for middle in middles)
            crossed = sum(a.box[2] <= middle <= b.box[0] for a, b in across if id(a) in band for middle in middles)
            if 2 * crossed >= both and all(map(_is_prose, columns)):
                parts = iter([piece for column in columns for piece in _columns(column)])
                pieces, start = [next(parts) if id(p) in band else p for p in pieces], end - 1
                break
        start += 1
    return pieces


def _gutters(rows: Sequence[Sequence[Line]], start: int) -> tuple[int, list[_Gap]]:
    """Return the end of the rows that share white space with a row, and where it is; the widest first."""
    gaps, end = _gaps(rows[start])[1:-1], start + 1
    while gaps and end < len(rows):
        least = _APART * rows[end][0].height
        shared = [(max(a[0], b[0]), min(a[1], b[1])) for a in gaps for b in _gaps(rows[end])]
        if not (shared := [gap for gap in shared if gap[1] - gap[0] >= least]):
            break
        gaps, end = shared, end + 1
    return end, sorted(gaps, key=lambda gap: gap[0] - gap[1])


def _gaps(row: Sequence[Line]) -> list[_Gap]:
    """Return the white space of a row: left of it, between its texts, right of it."""
    ends = [max(p.box[2] for p in row[: i + 1]) for i in range(len(row))]
    between = [(end, p.box[0]) for end, p in zip(ends, row[1:], strict=False) if p.box[0] - end >= _APART * p.height]
    return [(float("-inf"), row[0].box[0]), *between, (ends[-1], float("inf"))]


def _is_prose(pieces: Iterable[Line]) -> bool:
    """Return True if texts are lines of a column of prose: they fill it, begin in lower case, have no gaps."""
    rows = group_rows(pieces)
    if len(rows) < _FEWEST:
        return False
    boxes, height = [bounding_box(p.box for p in row) for row in rows], median(row[0].height for row in rows)
    width = max(box[2] for box in boxes) - min(box[0] for box in boxes)
    full = sum(box[2] - box[0] >= _FULL * width for box in boxes)
    starts = [row[0].text.lstrip(OPENERS)[:1] for row in rows]
    going_on = sum(c.isalpha() and (c.islower() or c.lower() == c.upper()) for c in starts)  # or have no case
    gapped = sum(len(_gaps(row)) > 2 for row in rows)
    is_filled = width >= _NARROWEST * height and full >= _FILLED * len(rows)
    return is_filled and gapped <= _GAPPED * len(rows) and going_on >= _RUN_ON * len(rows)
