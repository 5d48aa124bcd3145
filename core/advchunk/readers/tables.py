"""Write tables whose cells may span several rows and columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple, TypeAlias

from advchunk.readers.writing import pipe_table, squeezed

# How much longer than its cells a table may become by filling it up; a page may ask for a million columns.
_LONGER, _LEAST = 10, 100_000


class Cell(NamedTuple):
    """What a cell says, and how many columns and rows it takes, >= 1."""

    text: str
    columns: int = 1
    rows: int = 1


Rows: TypeAlias = Sequence[Sequence[Cell]]
"""The cells that start in each row."""


class _Placed(NamedTuple):
    start: int
    stop: int
    last: int
    text: str


def spanned_table(groups: Sequence[Rows], heads: int = 1) -> str:
    r"""Write a table as Markdown does (`pipe_table`).

    A cell that spans rows or columns is said in each of them, so that each row can be read by itself; one as wide as the
    table is said once. A row without cells that none reaches into is left out. A table that would be far longer than what its cells say has a line for each row, without bars.

    Parameters
    ----------
    groups : the rows of each part of the table, such as its head and its body; no cell reaches into the next part.
    heads : how many of the rows are its head, >= 0.

    >>> head = [[Cell("group", rows=2), Cell("weight", columns=2)], [Cell("mean"), Cell("SD")]]
    >>> print(spanned_table([head, [[Cell("tea"), Cell("7"), Cell("1")], [Cell("adults", columns=3)]]], 2))
    | group | weight | weight |
    | group | mean | SD |
    | --- | --- | --- |
    | tea | 7 | 1 |
    | adults |  |  |
    """
    rows = [row for group in groups for row in group]
    most = max(_LEAST, _LONGER * sum(1 + len(cell.text) for row in rows for cell in row))
    placed = _placed(groups, most)
    columns = sorted({cell.start for row in placed for cell in row})  # where no cell starts there is no column
    grid, length = list[list[str]](), 0
    for row in placed:
        line = [""] * len(columns)
        for cell in row:
            first, stop = bisect_left(columns, cell.start), bisect_left(columns, cell.stop)
            wide = stop - first == len(columns)
            length += len(cell.text) * (1 if wide else stop - first)
            if length > most:
                break
            line[first:stop] = [cell.text, *[""] * (len(columns) - 1)] if wide else [cell.text] * (stop - first)
        length += len(columns)
        if length > most:
            break
        grid.append(line)
    if len(grid) < len(rows):
        return "\n".join(squeezed(" ".join(cell.text for cell in row)) for row in rows)
    filled = [bool(row) for row in placed]
    return pipe_table(list(compress(grid, filled)), sum(filled[:heads]))


def span(said: str | None, least: int = 1) -> int:
    """Return how many rows or columns an attribute says; what is no such number counts as the least.

    >>> span("2"), span("two"), span("-1"), span(None)
    (2, 1, 1, 1)
    """
    return max(int(said), least) if said and re.fullmatch(r"[0-9]{1,9}", said) else least


def _placed(groups: Sequence[Rows], most: int) -> list[list[_Placed]]:
    """Return the cells of each row with those that reach into it from above; of the first rows, if they are too many."""
    found, count = list[list[_Placed]](), 0
    for at, row, rows in ((at, row, group) for group in groups for at, row in enumerate(group)):
        above = found[-1] if at else []
        waiting = sorted((cell for cell in above if cell.last >= at), reverse=True)
        line, column = list[_Placed](), 0
        for cell in row:
            while waiting and waiting[-1].start <= column:
                line.append(waiting.pop())
                column = line[-1].stop
            stop = column + max(cell.columns, 1)
            stop = min(stop, waiting[-1].start) if waiting else stop
            line.append(_Placed(column, stop, min(at + max(cell.rows, 1), len(rows)) - 1, cell.text))
            column = stop
        count += len(line) + len(waiting)
        if count > most:
            break
        found.append([*line, *reversed(waiting)])
    return found
