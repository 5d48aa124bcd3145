"""Read the sheets of Excel files from their XML (ECMA-376, part 1)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from advchunk.errors import require
from advchunk.readers.office.drawings import add_paragraphs, read_drawing
from advchunk.readers.office.flow import Flow
from advchunk.readers.office.number_formats import BUILT_IN, format_number
from advchunk.readers.office.package import Package, child_at, every, full, number, short, value
from advchunk.readers.table_layout import Cell, count_heads, spanned_table
from advchunk.readers.writing import pipe_table, squeeze

_MAX_CELLS = 5_000_000
"""Cells of a file, also empty ones between others."""
_BOOLEANS = {"0": "FALSE", "1": "TRUE"}
_VALUE, _FORMULA = full("x:v"), full("x:f")
_ON = frozenset({"1", "true"})
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")


class SheetCells(NamedTuple):
    """The texts of the cells of a sheet by row and column, from 0, and the (rows, columns) that merged cells span."""

    rows: dict[int, dict[int, str]]
    spans: dict[tuple[int, int], tuple[int, int]]


def read_sheets(data: bytes, flow: Flow) -> None:
    """Read the sheets that are not blank (`add_sheet`).

    Values are as they are displayed (`format_number`); a formula whose value is not stored is the formula.

    Raises
    ------
    ConfigurationError : there are more than 5,000,000 cells, such as between two that are far apart.
    """
    package = Package(data, "xl/workbook.xml")
    flow.fields = package.properties()
    book, relations = package.xml(package.main), package.relations(package.main)
    reader = _Reader(package, flow, value(child_at(book, "x:workbookPr"), key="date1904") in _ON)
    sheets = [*every(child_at(book, "x:sheets"), "x:sheet")]
    for sheet in sheets:
        _, part = relations.get(value(sheet, key="r:id"), ("", ""))
        if not flow.hides("sheets", (value(sheet, key="state") or "visible") != "visible"):
            add_sheet(flow, squeeze(value(sheet, key="name")), reader.read(part or "a sheet"))
            reader.read_drawings(part)
    flow.left_out["damaged parts"] = len(package.damaged) or not sheets


def add_sheet(flow: Flow, name: str, sheet: SheetCells) -> None:
    """Add a sheet that is not blank: its name as heading, a table for each run of rows, a lone cell as a paragraph.

    Empty columns at the left, and empty cells at the right, are left out.
    """
    flow.metadata = {"sheet": name}
    numbers = sorted(i for i, row in sheet.rows.items() if any(text.strip() for text in row.values()))
    if numbers:
        flow.add("heading", name, 1)
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        _add_run(flow, sheet, [i for _, i in run])


def _add_run(flow: Flow, sheet: SheetCells, numbers: list[int]) -> None:
    filled = {i: [j for j, text in sheet.rows[i].items() if text.strip()] for i in numbers}
    while len(numbers) > 1 and len(filled[numbers[0]]) == 1 < len(filled[numbers[1]]):  # a title above a table
        flow.paragraph("paragraph", sheet.rows[numbers[0]][filled[numbers[0]][0]])
        numbers = numbers[1:]
    left, right = min(min(filled[i]) for i in numbers), 1 + max(max(filled[i]) for i in numbers)
    area = len(numbers) * (right - left)
    require(area <= _MAX_CELLS, f"a sheet must have at most {_MAX_CELLS:,} cells", area)
    if area == 1:
        flow.paragraph("paragraph", sheet.rows[numbers[0]][left])
        return
    if not sheet.spans:
        flow.add("table", pipe_table([[sheet.rows[i].get(j, "") for j in range(left, right)] for i in numbers]))
        return
    last, covered, rows = numbers[-1], set[tuple[int, int]](), list[list[Cell]]()
    for i in numbers:
        rows.append([])
        for j in range(left, right):
            if (i, j) not in covered:
                down, across = sheet.spans.get((i, j), (1, 1))
                down, across = min(down, last - i + 1), min(across, right - j)
                if down * across > 1:
                    covered.update((i + k, j + m) for k in range(down) for m in range(across))
                rows[-1].append(Cell(sheet.rows[i].get(j, ""), rows=down, columns=across))
    flow.add("table", spanned_table([rows], count_heads(rows)))


class _Reader:
    def __init__(self, package: Package, flow: Flow, from_1904: bool) -> None:
        self._package, self._flow, self._from_1904, self._room = package, flow, from_1904, _MAX_CELLS
        strings = package.stream(package.target(package.main, "sharedStrings"), "x:si")
        self._strings = [_rich_text(item) for item in strings]
        styles = package.related(package.main, "styles")
        codes = {
            number(own, key="numFmtId"): value(own, key="formatCode")
            for own in every(child_at(styles, "x:numFmts"), "x:numFmt")
        }
        ids = (number(own, key="numFmtId") for own in every(child_at(styles, "x:cellXfs"), "x:xf"))
        self._codes = [codes.get(id) or BUILT_IN.get(id, "") for id in ids]

    def read(self, part: str) -> SheetCells:
        """Return the cells of a sheet, without those that are hidden."""
        rows, merged = dict[int, dict[int, str]](), list[str]()
        hidden_rows, hidden_columns, at = list[int](), set[int](), -1
        for element in self._package.stream(part, "x:row", "x:mergeCell", "x:col"):
            name, is_hidden = short(element.tag), value(element, key="hidden") in _ON and not self._flow.hidden
            if name == "x:mergeCell":
                merged.append(value(element, key="ref"))
            elif name == "x:col":
                first, last = (number(element, key=key, default=1) for key in ("min", "max"))
                hidden_columns |= {*range(first - 1, min(last, 16384))} if is_hidden else set()
            else:
                at = number(element, key="r", default=at + 2) - 1
                if is_hidden:
                    hidden_rows.append(at)
                    self._flow.left_out["hidden rows"] += any(True for _ in self._cells(element))
                else:
                    rows[at] = dict(self._cells(element))
                    self._room -= max(rows[at], default=-1) + 1
                    require(self._room >= 0, f"a spreadsheet must have at most {_MAX_CELLS:,} cells", f"more in {part}")
        lost = {j for row in rows.values() for j in row if j in hidden_columns}
        self._flow.left_out["hidden columns"] += len(lost)
        return _without(SheetCells(rows, dict(filter(None, map(_span, merged)))), hidden_rows, sorted(hidden_columns))

    def _cells(self, row: Any) -> Iterator[tuple[int, str]]:
        column = -1
        for cell in every(row, "x:c"):
            letters = cell.get("r", "").rstrip("0123456789")
            column = _column(letters) if letters.isalpha() and len(letters) <= 3 else column + 1
            if text := self._text(cell):
                yield column, text

    def _text(self, cell: Any) -> str:
        kind, parts = cell.get("t", "n"), {child.tag: child for child in cell}
        text = parts[_VALUE].text or "" if _VALUE in parts else ""
        if kind == "inlineStr":
            return _rich_text(child_at(cell, "x:is"))
        if not text and _FORMULA in parts:
            formula = parts[_FORMULA].text
            self._flow.left_out["values of formulas"] += kind != "str"
            return f"={formula}" if formula and kind != "str" else ""
        if kind == "s":
            return self._strings[int(text)] if text.isdecimal() and int(text) < len(self._strings) else ""
        return self._number(cell, text) if kind == "n" else _BOOLEANS.get(text, text) if kind == "b" else text

    def _number(self, cell: Any, text: str) -> str:
        style = cell.get("s", "0")
        code = self._codes[int(style)] if style.isdecimal() and int(style) < len(self._codes) else ""
        try:
            return format_number(float(text), code, from_1904=self._from_1904)
        except (ValueError, OverflowError):
            return text

    def read_drawings(self, part: str) -> None:
        """Add the texts and the charts that lie on a sheet, and count comments and pictures."""
        for kind, target in self._package.relations(part).values():
            if kind == "comments":
                comments = every(self._package.xml(target), "x:comment", deep=True)
                self._flow.left_out["comments"] += sum(1 for _ in comments)
            elif kind == "drawing":
                own = {"xdr:txBody": lambda body: add_paragraphs(self._flow, body, None)}
                for write in read_drawing(self._package.xml(target), target, self._package, self._flow, own):
                    write()


def _rich_text(item: Any) -> str:
    """Return the text of a string, without the readings of its characters."""
    texts = (t.text or "" for t in every(item, "x:t", deep=True) if short(t.getparent().tag) != "x:rPh")
    return "".join(texts)


@cache
def _column(letters: str) -> int:
    """Return the number of a column, from 0.

    >>> _column("A"), _column("AB")
    (0, 27)
    """
    count = 0
    for letter in letters:
        count = 26 * count + ord(letter.upper()) - 64
    return count - 1


def _span(reference: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the first cell of a range such as "B1:C2", and the rows and columns that it spans."""
    if len(ends := [_REFERENCE.fullmatch(end) for end in reference.split(":")]) != 2 or not (ends[0] and ends[1]):
        return None
    (top, left), (bottom, right) = ((int(end[2]) - 1, _column(end[1])) for end in ends if end)
    return (top, left), (bottom - top + 1, right - left + 1)


def _without(sheet: SheetCells, hidden_rows: list[int], hidden_columns: list[int]) -> SheetCells:
    """Return a sheet without hidden rows and columns."""
    if not (hidden_rows or hidden_columns):
        return sheet

    def moved(place: int, hidden: list[int]) -> int:
        return place - bisect_left(hidden, place)

    gone: Mapping[int, None] = dict.fromkeys(hidden_columns)
    rows = {
        moved(i, hidden_rows): {moved(j, hidden_columns): text for j, text in row.items() if j not in gone}
        for i, row in sheet.rows.items()
    }
    spans = dict[tuple[int, int], tuple[int, int]]()
    for (i, j), (down, across) in sheet.spans.items():
        top, left = moved(i, hidden_rows), moved(j, hidden_columns)
        spans[top, left] = (moved(i + down, hidden_rows) - top, moved(j + across, hidden_columns) - left)
    return SheetCells(rows, {place: span for place, span in spans.items() if min(span) > 0})
