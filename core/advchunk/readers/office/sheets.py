"""Read the sheets of an Excel file as Markdown tables."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, time
from io import BytesIO
from itertools import groupby
from typing import Any

from advchunk.errors import import_extra, require
from advchunk.readers.writing import pipe_table

_MAX_CELLS = 5_000_000
"""Cells of a file, also empty ones between others."""


def read_sheets(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name of each sheet that is not blank, and its Markdown: a table for each run of rows, a lone cell as a paragraph.

    Formulas are the values that were computed last. Empty columns at the left, and empty cells at the right, are left out.

    Raises
    ------
    ConfigurationError : there are more than 5,000,000 cells, such as between two that are far apart.
    MissingExtra : openpyxl is not installed.
    """
    book = import_extra("openpyxl", "office").load_workbook(
        BytesIO(data), read_only=True, data_only=True, keep_links=False
    )
    room = _MAX_CELLS
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # which a file may state wrongly
        rows = list[list[str]]()
        for values in sheet.iter_rows(values_only=True):
            room -= len(values)
            require(room >= 0, f"a spreadsheet must have at most {_MAX_CELLS:,} cells", f"more in {sheet.title!r}")
            rows.append(_trimmed([_text(value) for value in values]))
        area = len(rows) * max(map(len, rows), default=0)
        require(area <= _MAX_CELLS, f"a sheet must have at most {_MAX_CELLS:,} cells", area)
        if markdown := "\n\n".join(_runs(rows)):
            yield sheet.title, markdown


def _text(value: Any) -> str:
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    return "" if value is None else str(value)


def _trimmed(cells: Sequence[str]) -> list[str]:
    end = len(cells)
    while end and not cells[end - 1].strip():
        end -= 1
    return [*cells[:end]]


def _runs(rows: Iterable[list[str]]) -> Iterator[str]:
    """Yield a table, or the text of a lone cell, for each run of rows that are not blank."""
    for has_text, run in groupby(rows, bool):
        if has_text:
            table = [*run]
            first = min(next(i for i, cell in enumerate(row) if cell.strip()) for row in table)
            table = [row[first:] for row in table]
            while len(table) > 1 and len(table[0]) == 1 and len(table[1]) > 1:  # a title above a table
                yield table.pop(0)[0]
            yield table[0][0] if len(table) == len(table[0]) == 1 else pipe_table(table)
