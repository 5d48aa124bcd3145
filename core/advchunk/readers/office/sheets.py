"""Read the sheets of Excel files from their XML (ECMA-376, part 1)."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from functools import cache, reduce
from itertools import groupby
from typing import Any, NamedTuple

from advchunk.errors import require
from advchunk.readers.office.drawings import add_paragraphs, read_drawing
from advchunk.readers.office.flow import Flow, field_target, link
from advchunk.readers.office.number_formats import BUILT_IN, format_number
from advchunk.readers.office.package import Package, child_at, every, full, is_on, number, short, value
from advchunk.readers.table_layout import Cell, count_heads, spanned_table
from advchunk.readers.writing import pipe_table, squeeze

_MAX_CELLS = 5_000_000  # of a file, also empty ones between others
_BOOLEANS = {"0": "FALSE", "1": "TRUE"}
_VALUE, _FORMULA = full("x:v"), full("x:f")
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")


class SheetCells(NamedTuple):
    """The texts of the cells of a sheet by row and column, from 0, and the (rows, columns) that merged cells span."""

    rows: dict[int, dict[int, str]]
    spans: dict[tuple[int, int], tuple[int, int]]

    def shown(self, flow: Flow, hidden_rows: Collection[int], hidden_columns: Collection[int]) -> "SheetCells":
        """Return the sheet without hidden rows and columns, unless they are read; those with text are counted."""
        if flow.hidden or not (hidden_rows or hidden_columns):
            return self
        filled = {j for i, row in self.rows.items() if i not in hidden_rows for j in row}
        flow.left_out["hidden rows"] += sum(bool(self.rows.get(i)) for i in hidden_rows)
        flow.left_out["hidden columns"] += len(filled.intersection(hidden_columns))
        hidden = sorted(hidden_rows), sorted(hidden_columns)

        def moved(place: int, axis: int) -> int:
            return place - bisect_left(hidden[axis], place)

        rows = {
            moved(i, 0): {moved(j, 1): text for j, text in row.items() if j not in hidden_columns}
            for i, row in self.rows.items()
            if i not in hidden_rows
        }
        spans = dict[tuple[int, int], tuple[int, int]]()
        for (i, j), (down, across) in self.spans.items():
            top, left = moved(i, 0), moved(j, 1)
            if (height := moved(i + down, 0) - top) > 0 and (width := moved(j + across, 1) - left) > 0:
                spans[top, left] = height, width
        return SheetCells(rows, spans)


def read_sheets(package: Package, flow: Flow) -> bool:
    """Read the sheets that are not blank, with values as displayed; return True if any. `_MAX_CELLS` is their limit."""
    book, relations = package.xml(package.main), package.relations(package.main)
    reader = _Reader(package, flow, bool(is_on(child_at(book, "x:workbookPr"), key="date1904", default="0")))
    sheets = [*every(child_at(book, "x:sheets"), "x:sheet")]
    for sheet in sheets:
        _, part = relations.get(value(sheet, key="r:id"), ("", ""))
        if not flow.hides("sheets", value(sheet, key="state", default="visible") != "visible"):
            add_sheet(flow, squeeze(value(sheet, key="name")), reader.read(part or "a sheet"))
            reader.read_drawings(part)
    return bool(sheets)


def add_sheet(flow: Flow, name: str, sheet: SheetCells) -> None:
    """Add a sheet that is not blank: its name as heading, a table for each run of rows, a lone cell as a paragraph."""
    flow.metadata = {"sheet": name}
    filled = {i: columns for i, row in sorted(sheet.rows.items()) if (columns := [j for j in row if row[j].strip()])}
    if filled:
        flow.add("heading", name, 1)
    for _, run in groupby(enumerate(filled), lambda pair: pair[1] - pair[0]):
        _add_run(flow, sheet, {i: filled[i] for _, i in run})


def _add_run(flow: Flow, sheet: SheetCells, filled: dict[int, list[int]]) -> None:
    """Add the rows of a run, by the columns that are filled."""
    numbers = [*filled]
    while len(numbers) > 1 and len(filled[numbers[0]]) == 1 < len(filled[numbers[1]]):  # a title above a table
        title = numbers.pop(0)
        flow.paragraph("paragraph", sheet.rows[title][filled[title][0]])
    left, right = min(min(filled[i]) for i in numbers), 1 + max(max(filled[i]) for i in numbers)
    area = len(numbers) * (right - left)
    require(area <= _MAX_CELLS, f"a sheet must have at most {_MAX_CELLS:,} cells", area)
    lines = [[sheet.rows[i].get(j, "") for j in range(left, right)] for i in numbers]
    if area == 1:
        flow.paragraph("paragraph", lines[0][0])
    elif not sheet.spans:
        flow.add("table", pipe_table(lines))
    else:
        last, covered, rows = numbers[-1], set[tuple[int, int]](), list[list[Cell]]()
        for i, line in zip(numbers, lines, strict=True):
            rows.append([])
            for j, text in enumerate(line, left):
                if (i, j) not in covered:
                    down, across = sheet.spans.get((i, j), (1, 1))
                    down, across = min(down, last - i + 1), min(across, right - j)
                    covered.update((i + k, j + m) for k in range(down) for m in range(across) if k or m)
                    rows[-1].append(Cell(text, rows=down, columns=across))
        flow.add("table", spanned_table([rows], count_heads(rows)))


class _Reader:
    def __init__(self, package: Package, flow: Flow, from_1904: bool) -> None:
        self._package, self._flow, self._from_1904, self._room = package, flow, from_1904, _MAX_CELLS
        self._strings = [*map(_rich_text, package.stream(package.target(package.main, "sharedStrings"), "x:si"))]
        styles = package.related(package.main, "styles")
        formats = every(child_at(styles, "x:numFmts"), "x:numFmt")
        codes = {number(own, key="numFmtId"): value(own, key="formatCode") for own in formats}
        ids = (number(own, key="numFmtId") for own in every(child_at(styles, "x:cellXfs"), "x:xf"))
        self._codes = [codes.get(id) or BUILT_IN.get(id, "") for id in ids]

    def read(self, part: str) -> SheetCells:
        """Return the cells of a sheet, without those that are hidden."""
        sheet, hidden_rows, hidden_columns, at = SheetCells({}, {}), set[int](), set[int](), -1
        targets = self._package.targets(part) if self._flow.links else {}
        for element in self._package.stream(part, "x:row", "x:mergeCell", "x:col", "x:hyperlink"):
            name, is_hidden = short(element.tag), is_on(element, key="hidden", default="0")
            if name == "x:mergeCell":
                sheet.spans.update(_span(value(element, key="ref")))
            elif name == "x:hyperlink":
                for i, j in _span(value(element, key="ref")):
                    row = sheet.rows.get(i, {})
                    row |= {j: _linked(row[j], targets.get(value(element, key="r:id"), ""))} if j in row else {}
            elif name == "x:col":
                first, last = (number(element, key=key, default=1) for key in ("min", "max"))
                hidden_columns |= {*range(first - 1, min(last, 16384))} if is_hidden else set()
            else:
                at = number(element, key="r", default=at + 2) - 1
                hidden_rows |= {at} if is_hidden else set()
                sheet.rows[at] = dict(self._cells(element))
                self._room -= max(sheet.rows[at], default=-1) + 1
                require(self._room >= 0, f"a spreadsheet must have at most {_MAX_CELLS:,} cells", f"more in {part}")
        return sheet.shown(self._flow, hidden_rows, hidden_columns)

    def _cells(self, row: Any) -> Iterator[tuple[int, str]]:
        column = -1
        for cell in every(row, "x:c"):
            letters = cell.get("r", "").rstrip("0123456789")
            column = _column(letters) if letters.isalpha() and len(letters) <= 3 else column + 1
            if text := self._text(cell):
                formula = cell.find(_FORMULA) if self._flow.links and text[0] != "=" else None
                yield column, text if formula is None else _linked(text, field_target(formula.text or ""))

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
            return _at(self._strings, text)
        if kind != "n":
            return _BOOLEANS.get(text, text) if kind == "b" else text
        try:
            return format_number(float(text), _at(self._codes, cell.get("s", "0")), from_1904=self._from_1904)
        except (ValueError, OverflowError):
            return text

    def read_drawings(self, part: str) -> None:
        """Add the texts and the charts that lie on a sheet, and count comments and pictures."""
        for kind, target in self._package.relations(part).values():
            if kind == "comments":
                self._flow.left_out["comments"] += len([*every(self._package.xml(target), "x:comment", deep=True)])
            elif kind == "drawing":
                own = {"xdr:txBody": lambda body: add_paragraphs(self._flow, body, None)}
                for write in read_drawing(self._package.xml(target), target, self._package, self._flow, own):
                    write()


def _linked(text: str, target: str) -> str:
    return "".join(piece for piece, _ in link([(text, "")], target))


def _at(texts: list[str], index: str) -> str:
    return texts[int(index)] if index.isdecimal() and int(index) < len(texts) else ""


def _rich_text(item: Any) -> str:
    """Return the text of a string, without the readings of its characters."""
    return "".join(t.text or "" for t in every(item, "x:t", deep=True) if short(t.getparent().tag) != "x:rPh")


@cache
def _column(letters: str) -> int:
    """Return the number of a column, from 0: "AB" is 27."""
    return reduce(lambda count, letter: 26 * count + ord(letter) - 64, letters.upper(), 0) - 1


def _span(reference: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the first cell of a range such as "B1:C2", with the rows and columns that it spans."""
    if not (match := _REFERENCE.fullmatch(reference)):
        return {}
    left, top = _column(match[1]), int(match[2]) - 1
    return {(top, left): (int(match[4] or match[2]) - top, _column(match[3] or match[1]) - left + 1)}
