"""Lay out the cells of tables that say at which row and column they start, as those of Docling and docTR do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Cell(NamedTuple):
    """What a cell says, where it starts (from 0), and how many rows and columns it spans."""

    text: str
    row: int
    column: int
    rows: int = 1
    columns: int = 1
    is_head: bool = False


_LEAST = 10  # characters that a cell takes, even if it says nothing


def length(cells: Sequence[Cell]) -> int:
    """Return how many characters a table takes at most with its spans written out, without doing it.

    >>> length([Cell("a", 0, 0, rows=10**9, columns=10**9)]) > 10**19
    True
    """
    height, width = _size(cells)
    return _LEAST * height * width + sum(len(cell.text) * cell.rows * cell.columns for cell in cells)


def laid_out(cells: Sequence[Cell]) -> tuple[list[list[str]], int]:
    """Return the rows of a table, and how many of them are its head.

    A cell that spans several rows or columns is said again in each, so that every row can be read by itself, under the
    whole head of every column; one as wide as the table is said once a row. Of two cells in one place the later one
    stands there. A row belongs to the head if it has a column header, and beside those nothing but a label in the first
    column.

    >>> laid_out([Cell("group", 0, 0, 2, 1, True), Cell("dose", 0, 1, 1, 2, True), Cell("low", 1, 1, 1, 1, True),
    ...           Cell("high", 1, 2, 1, 1, True), Cell("tea", 2, 0), Cell("7", 2, 2), Cell("adults", 3, 0, 1, 3)])
    ([['group', 'dose', 'dose'], ['group', 'low', 'high'], ['tea', '', '7'], ['adults', '', '']], 2)
    """
    height, width = _size(cells)
    rows, named, said = [[""] * width for _ in range(height)], [False] * height, [False] * height
    for cell in cells:
        again = "" if cell.columns == width else cell.text
        for row in range(cell.row, cell.row + cell.rows):
            rows[row][cell.column : cell.column + cell.columns] = [cell.text, *[again] * (cell.columns - 1)]
            named[row] |= cell.is_head
            said[row] |= cell.column > 0 and not cell.is_head and bool(cell.text.strip())
    heads = (is_named and not is_said for is_named, is_said in zip(named, said, strict=True))
    return rows, next((i for i, is_head in enumerate(heads) if not is_head), height)


def _size(cells: Sequence[Cell]) -> tuple[int, int]:
    height = max((cell.row + cell.rows for cell in cells), default=0)
    return height, max((cell.column + cell.columns for cell in cells), default=0)
