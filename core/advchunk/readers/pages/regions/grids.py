"""Find and read tables without a model: those whose cells are drawn with lines, and those whose columns are apart."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from io import BytesIO
from itertools import accumulate, pairwise
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from advchunk.errors import import_extra
from advchunk.readers.pages.regions.corrections import Part
from advchunk.readers.pages.regions.prose import UNKNOWN, WordList, is_marker, region_text, table_rows
from advchunk.readers.pages.regions.shapes import Box, Detected, Line, bounding_box, box_area, fraction_inside, union
from advchunk.readers.writing import pipe_table

Grid: TypeAlias = list[list[Box | None]]
"""The cells of each row of a table, in points, origin top left; None where one of another row or column is."""
FEWEST_PATHS = 4
"""Lines and other shapes of a page that may have tables."""

_LIBRARY = logging.getLogger("pdfminer")
_log = logging.getLogger("advchunk")

_LONGEST = 300  # mean characters of a cell: boxes with more are not cells but the columns of a page
_FEWEST = 3  # rows of a table without lines that have text in two columns or more
_FAR = 2.5  # distance of the rows of a table, in line heights
_SIMILAR = 1.15  # times the height of a row: a larger line is a heading
_GUTTER = 0.8  # narrowest space between two columns, in line heights
_LONG = 12.0  # median length of texts, in line heights, that are not in more than one column
_EDGE = 0.3  # in line heights, by which texts that begin or end alike differ
_MOSTLY = 0.75  # of the texts of a column, or of the rows
_MOST_OUTSIDE = 0.1  # of the texts: lines between some cells are missing
_MOST_ROWS = 2  # of a grid, over which a cell of several lines may reach
_FILLED = 1 / 3  # of the cells: those of a drawing are mostly empty


@contextmanager
def open_grids(data: bytes, password: str | None, name: str) -> Iterator[Callable[[int], list[Grid]]]:
    """Open a PDF with pdfplumber, and yield a function that returns the grids on a page; pages that fail are logged."""
    failures, before = dict[int, str](), _LIBRARY.level
    with ExitStack() as stack:

        @cache
        def opened() -> Any:
            library = import_extra("pdfplumber", "pdf")
            return stack.enter_context(library.open(BytesIO(data), password=password))

        def find(number: int) -> list[Grid]:
            _LIBRARY.setLevel(logging.ERROR)  # it warns of fonts, which are not used here
            try:
                with closing(opened().pages[number - 1]) as page:
                    left, top = page.bbox[:2]
                    rows = [[row.cells for row in table.rows] for table in page.find_tables()]
            except ImportError:
                raise
            except Exception as error:  # noqa: BLE001 - it raises whatever a damaged page leads it to
                failures[number] = type(error).__name__
                return []
            finally:
                _LIBRARY.setLevel(before)
            return [[[cell and _shifted(cell, left, top) for cell in row] for row in table] for table in rows]

        yield find
    if failures:
        pages, reasons = ", ".join(map(str, failures)), ", ".join(sorted({*failures.values()}))
        _log.warning("%s: tables that are drawn with lines are not recognized on pages %s: %s", name, pages, reasons)


def _shifted(cell: Box, left: float, top: float) -> Box:
    return cell[0] - left, cell[1] - top, cell[2] - left, cell[3] - top


def read_grid(grid: Grid, page: Sequence[Sequence[Line]], words: WordList = UNKNOWN) -> Part | None:
    """Return the table in a grid on a page, given its rows; None if the grid has no two rows and columns with text.

    A grid that frames something else, a part of many rows, or cells that the file reads line by line, is no table.
    """
    boxes = [box for row in grid for box in row if box]
    outer = bounding_box(boxes)
    parts = [[line for line in row if fraction_inside(line.box, outer) > 1 / 2] for row in page]
    inside = [line for part in parts for line in part]
    torn = [0 < len(a) < len(b) for a, b in zip(parts, page, strict=True)]
    pieces = [piece for line in inside for piece in line.cells or (line,)]
    texts, outside, order = defaultdict[Box, list[Line]](list), 0, list[tuple[int, int]]()
    places = {box: (i, j) for i, row in enumerate(grid) for j, box in enumerate(row) if box}
    for piece, (place, fraction) in zip(pieces, _owners(pieces, boxes), strict=True):
        texts[boxes[place]].append(piece)
        order.append(places[boxes[place]])
        outside += fraction < 1 / 2
    most = min(_MOST_ROWS, len(grid) - 2)  # that the file goes up to the next cell
    jumps = [range(above + 1, below + 1) for (below, _), (above, _) in pairwise(order) if 0 < below - above <= most]
    continued = {i for jump in jumps for i in jump}
    starts = list(accumulate(i not in continued for i in range(len(grid))))
    cells = [(starts[i], j) for i, j in order]  # one after the other, unless lines between rows are missing
    merged = list[list[list[Line]]]()
    for i, row in enumerate(grid):
        own = [texts[box] if box else [] for box in row]
        if i in continued:
            own = [[*above, *below] for above, below in zip(merged.pop(), own, strict=True)]
        merged.append(own)
    rows = [[region_text("paragraph", cell, words) if cell else "" for cell in row] for row in merged]
    columns = [column for column in zip(*(row for row in rows if any(row)), strict=True) if any(column)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    filled = [cell for row in rows for cell in row if cell]
    is_table = (
        len(rows) > 1
        and len(columns) > 1
        and len(filled) >= _FILLED * len(boxes)
        and sum(a != b for a, b in pairwise(cells)) <= (1 + _MOST_OUTSIDE) * len({*cells})
        and outside <= _MOST_OUTSIDE * len(pieces)
        and sum(torn) <= _MOST_OUTSIDE * sum(map(bool, parts))
        and sum(map(len, filled)) <= _LONGEST * len(filled)
    )
    return Part("table", 0, inside, pipe_table(rows)) if is_table else None


def _owners(pieces: Sequence[Line], boxes: Sequence[Box]) -> Iterator[tuple[int, float]]:
    """Yield for each piece of text the place of the box that most of it is in, and the fraction that is."""
    edges = np.array(boxes)
    for piece in pieces:
        low, high = np.maximum(edges[:, :2], piece.box[:2]), np.minimum(edges[:, 2:], piece.box[2:])
        areas = (high - low).clip(0).prod(axis=1)
        place = int(areas.argmax())
        yield place, float(areas[place]) / (box_area(piece.box) or 1.0)


def aligned_tables(rows: Sequence[Sequence[Line]]) -> list[Detected]:
    """Return the tables without lines among the rows of a page, which have text in the same columns; code is none."""
    rows = [[piece for line in row if not line.font.mono for piece in line.cells or (line,)] for row in rows]
    return [Detected("table", box) for box in _search(table_rows(row for row in rows if row))]


def _search(rows: Sequence[list[Line]]) -> Iterator[Box]:
    start = 0
    while start < len(rows):
        columns, end = _columns(rows[start]), start + 1
        while end < len(rows) and _is_near(rows[end - 1], rows[end]):
            wider = union([*columns, *_columns(rows[end])], _GUTTER * _height(rows[end]))
            if len(wider) < 2 or (len(wider) < len(columns) and end - start >= _FEWEST):
                break
            columns, end = wider, end + 1
        table = _trim(rows[start:end])
        if len(columns) > 1 and _is_table(table, columns):
            yield bounding_box(piece.box for row in table for piece in row)
        start = end if len(columns) > 1 else start + 1


def _is_near(above: Sequence[Line], below: Sequence[Line]) -> bool:
    gap = min(piece.box[1] for piece in below) - max(piece.box[3] for piece in above)
    smaller, larger = sorted([_height(above), _height(below)])
    return -_height(below) <= gap <= _FAR * _height(below) and larger <= _SIMILAR * smaller


def _height(row: Sequence[Line]) -> float:
    return max(piece.height for piece in row)


def _columns(row: Sequence[Line]) -> list[tuple[float, float]]:
    return union((piece.box[::2] for piece in row), _GUTTER * _height(row))


def _trim(rows: Sequence[list[Line]]) -> list[list[Line]]:
    """Return rows without those at both ends that have text in one column, but not those below that end a cell."""
    several = [i for i, row in enumerate(rows) if len(row) > 1]
    if not several:
        return []
    last = several[-1]
    while last + 1 < len(rows) and rows[last + 1][0].box[0] > rows[several[-1]][0].box[2]:
        last += 1
    return list(rows[several[0] : last + 1])


def _is_table(rows: Sequence[Sequence[Line]], columns: Sequence[tuple[float, float]]) -> bool:
    """Return True if rows begin on one line in all columns, one of which at most has long texts, and most have an edge.

    Columns of a page have long texts, and those of its authors are centered. Marks before a column make a list.
    """
    columns = [column for column in columns if any(_is_in(piece, column) for row in rows for piece in row)]
    cells = [[piece for row in rows for piece in row if _is_in(piece, column)] for column in columns]
    is_long = [median((piece.box[2] - piece.box[0]) / piece.height for piece in column) > _LONG for column in cells]
    starts = [row for row in rows if _is_in(row[0], columns[0])]
    several = [row for row in starts if len(row) > 1]
    level = sum(
        max(piece.box[3] for piece in row) - min(piece.box[3] for piece in row) <= _EDGE * _height(row)
        or max(piece.box[1] for piece in row) >= min(piece.box[3] for piece in row)  # cells of several lines
        for row in several
    )
    if len(cells) == 2 and (is_long[0] or 2 * sum(is_marker(piece.text) for piece in cells[0]) > len(cells[0])):
        return False
    return (
        len(several) >= _FEWEST
        and sum(is_long) <= 1
        and 2 * len(several) > len(starts)
        and level >= _MOSTLY * len(several)
        and 2 * sum(map(_has_edge, cells)) > len(cells)
    )


def _is_in(piece: Line, column: tuple[float, float]) -> bool:
    return column[0] <= (piece.box[0] + piece.box[2]) / 2 <= column[1]


def _has_edge(column: Sequence[Line]) -> bool:
    """Return True if most texts of a column begin or end at the same place."""
    for edges in ([piece.box[side] for piece in column] for side in (0, 2)):
        middle = median(edges)
        if sum(abs(edge - middle) <= _EDGE * column[0].height for edge in edges) >= _MOSTLY * len(edges):
            return True
    return False
