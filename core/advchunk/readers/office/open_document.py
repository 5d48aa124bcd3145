"""Read texts, sheets, and slides of OpenDocument (ODF 1.3, part 3) from their XML."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from advchunk.errors import Unreadable, import_extra
from advchunk.readers.counting import bullet, format_count
from advchunk.readers.inline import join_scripts
from advchunk.readers.mathml import formula_text
from advchunk.readers.office.flow import Flow
from advchunk.readers.office.package import Package, children, every, find, number, short, value
from advchunk.readers.office.sheets import SheetCells, add_sheet
from advchunk.readers.office.word_styles import kind_of_style
from advchunk.readers.table_layout import TableCell, add_table
from advchunk.readers.writing import TextBlock, squeeze
from advchunk.readers.xml import parse_xml
from advchunk.records import BlockKind, Place

_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_INDEXES = frozenset({"text:table-of-content", "text:illustration-index", "text:table-index", "text:object-index"})
_SKIPPED = frozenset(
    {
        "text:sequence-decls",
        "office:forms",
        "text:index-title",
        "text:alphabetical-index-source",
        "text:table-of-content-source",
        "office:settings",
        "presentation:notes",
        "text:variable-decls",
    }
)
_SHAPES = frozenset(f"draw:{kind}" for kind in ("frame", "custom-shape", "rect", "ellipse", "circle", "line", "connector", "polygon", "path", "caption", "g", "a"))  # fmt: skip
_SPACES = {"text:s": " ", "text:tab": "\t", "text:line-break": "\n"}
_HIDDEN = frozenset({"collapse", "filter"})
_FOOTERS = {"footer": "footers", "date-time": "footers", "page-number": "footers", "header": "headers"}
_COUNTED = {"office:annotation": "comments", "text:hidden-text": "hidden texts"}
_MAX_REPEATED = 100  # columns and rows; spreadsheets repeat empty ones up to their size
_NAMES = {
    "quotations": "quote",
    "illustration": "caption",
    "table": "caption",
    "figure": "caption",
}  # of LibreOffice's styles


class _Style(NamedTuple):
    kind: BlockKind = "paragraph"
    level: int = 0
    script: str = ""
    is_hidden: bool = False
    lists: str = ""


def read_open_document(data: bytes, hidden: bool) -> tuple[Flow, dict[str, str]]:
    """Return the blocks of a text, of sheets, or of slides of OpenDocument, and the title and the author of the file."""
    package, fields = Package(data, "content.xml"), dict[str, str]()
    for name, tag in ("title", "dc:title"), ("authors", "dc:creator"):
        texts = (squeeze(own.text or "") for own in every(package.xml("meta.xml"), tag, deep=True))
        if text := next(texts, ""):
            fields[name] = text
    reader = _Reader(package, Flow(fields.get("title", ""), hidden=hidden))
    body = find(package.xml("content.xml"), "office:body")
    if body is None:
        msg = "must not be damaged, got none of its text"
        raise Unreadable(msg)
    for part in body:
        kind = short(part.tag)
        (
            reader.sheets
            if kind == "office:spreadsheet"
            else reader.slides
            if kind == "office:presentation"
            else reader.blocks
        )(part)
    reader.flow.write_notes()
    reader.flow.left_out["damaged parts"] = len(package.damaged)
    return reader.flow, fields


class _Reader:
    def __init__(self, package: Package, flow: Flow) -> None:
        self.flow, self._package = flow, package
        self._elements, self._levels, self._known = dict[str, Any](), dict[str, dict[int, Any]](), dict[str, _Style]()
        for root in package.xml("styles.xml"), package.xml("content.xml"):
            for style in every(root, "style:style", deep=True):
                self._elements[value(style, key="style:name") or ""] = style
            for kind in "text:list-style", "text:outline-style":
                for style in every(root, kind, deep=True):
                    name = (value(style, key="style:name") or "") if kind == "text:list-style" else ""
                    self._levels[name] = {number(level, key="text:level", default=1): level for level in style}
        self._counts = dict[str, dict[int, int]]()  # of lists by their ids, else by their styles
        self._shapes = list[Callable[[], None]]()  # after the open paragraph

    def _style(self, name: str | None) -> _Style:
        chain, name = list[str](), name or ""
        while name not in self._known and name not in chain and name in self._elements:
            chain.append(name)
            name = value(self._elements[name], key="style:parent-style-name") or ""
        style = self._known.get(name, _Style()) if name in self._elements or not name else self._named(name, _Style())
        for own in reversed(chain):
            element = self._elements[own]
            text = find(element, "style:text-properties")
            position = (value(text, key="style:text-position") or "").split(" ")[0]
            raised = position == "super" or (position.endswith("%") and position[0] not in "-0")
            script = "sup" if raised else "sub" if position == "sub" or position.startswith("-") else style.script
            display = value(text, key="text:display")
            style = self._known[own] = self._named(value(element, key="style:display-name") or own, style)._replace(
                script=script,
                is_hidden=style.is_hidden if display is None else display == "none",
                lists=value(element, key="style:list-style-name", default=style.lists) or "",
            )
        return style

    @staticmethod
    def _named(name: str, base: _Style) -> _Style:
        name = name.replace("_20_", " ").lower()
        kind, level, _ = kind_of_style(_NAMES.get(name, name))
        return base._replace(kind=kind or base.kind, level=(level == 1 and name == "title") or base.level)

    # Blocks.

    def blocks(self, parent: Any, *, is_contents: bool = False) -> None:
        """Write the headings, paragraphs, lists, and tables in an element."""
        for element in parent:
            name = short(element.tag)
            if name in {"text:h", "text:p"}:
                self._paragraph(element, is_contents=is_contents)
            elif name == "text:list":
                self._list(element, "", 1)
            elif name == "table:table":
                self._table(element)
            elif name == "text:tracked-changes":
                self.flow.left_out["deletions"] += sum(1 for _ in every(element, "text:deletion", deep=True))
            elif name in _SHAPES or name == "office:annotation":
                self._shape(element)
                self._write_shapes()
            elif value(element, key="text:display") == "none" and not self.flow.hidden:
                self.flow.left_out["hidden texts"] += 1
            elif name not in _SKIPPED:
                self.blocks(element, is_contents=is_contents or name in _INDEXES)

    def _collect(self, parent: Any) -> list[TextBlock]:
        outer, self._shapes = self._shapes, []
        with self.flow.collect() as blocks:
            self.blocks(parent)
        self._shapes = outer
        return blocks

    def _paragraph(self, element: Any, label: str = "", depth: int = 0, *, is_contents: bool = False) -> None:
        style = self._style(value(element, key="text:style-name"))
        pieces = [*self._inline(element, style)]
        level = style.level
        if short(element.tag) == "text:h":
            level = number(element, key="text:outline-level", default=1)
            label = label or self._label("", "", level, element)
        is_formula = bool(pieces) and not any(text.strip() for text, kind in pieces if kind != "formula")
        text = join_scripts(pieces)
        if text.strip() or not (label and self._shapes):
            kind = "formula" if is_formula and text.strip() else style.kind
            self.flow.paragraph(kind, text, label=label, depth=depth, level=level, is_contents=is_contents)
        self._write_shapes()

    def _write_shapes(self) -> None:
        shapes, self._shapes = self._shapes, []
        for shape in shapes:
            self.flow.finish()
            shape()
            self.flow.finish()

    # Lists.

    def _list(self, element: Any, style: str, level: int, key: str = "") -> None:
        style = value(element, key="text:style-name") or style
        if level == 1:
            key = value(element, key="text:continue-list") or style
            if value(element, key="text:continue-numbering") != "true" and key == style:
                self._counts.pop(key, None)
            if own := value(element, key="xml:id"):
                self._counts[own] = self._counts.setdefault(key, {})
        for item in element:
            label = ""
            if short(item.tag) == "text:list-item" and any(short(own.tag) in {"text:p", "text:h"} for own in item):
                label = self._label(style, key, level, item)
            for own in item:
                name = short(own.tag)
                if name == "text:list":
                    self._list(own, style, level + 1, key)
                elif name in {"text:p", "text:h"}:
                    self._paragraph(own, label, level - 1)
                    label = ""
                else:
                    self.blocks([own])

    def _label(self, style: str, key: str, depth: int, item: Any) -> str:
        """Count an item, or a heading (the style ""), and return its number, or "-" for a bullet."""
        levels = self._levels.get(style, {})
        if (level := levels.get(depth)) is None:
            return "-" if style or short(item.tag) == "text:list-item" else ""
        if not short(level.tag).endswith(("-number", "outline-level-style")):
            return bullet(value(level, key="text:bullet-char") or "")
        counts = self._counts.setdefault(key, {})
        start = number(item, key="text:start-value", default=-1)
        first = number(level, key="text:start-value", default=1)
        counts[depth] = start if start >= 0 else counts.get(depth, first - 1) + 1
        for deeper in [own for own in counts if own > depth]:
            del counts[deeper]
        if not value(level, key="style:num-format"):
            return ""
        shown = range(depth - number(level, key="text:display-levels", default=1) + 1, depth + 1)
        forms = ((at, value(levels.get(at), key="style:num-format") or "") for at in shown if at > 0)
        texts = [format_count(counts.get(at, 1), _FORMS.get(form, "decimal")) for at, form in forms if form]
        before, after = (value(level, key=f"style:num-{side}fix") or "" for side in ("pre", "suf"))
        return squeeze(f"{before}{'.'.join(texts)}{after}")

    # Text in paragraphs.

    def _inline(self, element: Any, style: _Style) -> Iterator[tuple[str, str]]:
        hidden = style.is_hidden and not self.flow.hidden
        if hidden and (element.text or "").strip():
            self.flow.left_out["hidden texts"] += 1
        if element.text and not hidden:
            yield element.text, style.script
        for child in element:
            yield from self._piece(child, style)
            if child.tail and not hidden:
                yield child.tail, style.script

    def _piece(self, child: Any, style: _Style) -> Iterator[tuple[str, str]]:
        name = short(child.tag)
        if name in _SPACES:
            yield _SPACES[name], ""
        elif name == "text:note":
            yield self.flow.note(self._collect(children(find(child, "text:note-body")))), ""
        elif name == "text:ruby":
            for part, marks in ("text:ruby-base", ("", "")), ("text:ruby-text", ("(", ")")):
                if (found := find(child, part)) is not None:
                    yield from ((marks[0], ""), *self._inline(found, style), (marks[1], ""))
        elif name in _COUNTED:
            self.flow.left_out[_COUNTED[name]] += 1
        elif name in _SHAPES:
            if formula := self._formula(child):
                yield f" {formula} ", "formula"
            else:
                self._shape(child)
        elif name != "office:annotation-end":
            own = self._style(value(child, key="text:style-name")) if name == "text:span" else style
            yield from self._inline(
                child, own._replace(script=own.script or style.script, is_hidden=own.is_hidden or style.is_hidden)
            )

    # Shapes and tables.

    def _formula(self, frame: Any) -> str:
        """Return the text of a formula that a frame holds."""
        target = (value(find(frame, "draw:object"), key="xlink:href") or "").removeprefix("./").strip("/")
        root = self._package.xml(f"{target}/content.xml") if target else find(frame, "draw:object/math:math")
        if root is None or short(root.tag) != "math:math":
            return ""
        return formula_text(
            parse_xml(import_extra("lxml.etree", "office").tostring(root, encoding="unicode"), namespaces=False)
        )

    def _shape(self, element: Any) -> None:
        """Put the text of a shape after the paragraph, or else the description of a picture."""
        name = short(element.tag)
        if name == "office:annotation":
            self.flow.left_out["comments"] += 1
            return
        if name in {"draw:g", "draw:a"}:
            for child in element:
                if short(child.tag) in _SHAPES:
                    self._shape(child)
            return
        about = "".join(
            find(element, path).text or "" for path in ("svg:desc", "svg:title") if find(element, path) is not None
        )
        has_text = next(every(element, "text:p", deep=True), None) is not None
        if formula := self._formula(element):
            self._shapes.append(partial(self.flow.add, "formula", formula))
        elif has_text:
            contents = [own for own in element if not short(own.tag).startswith("svg:")]
            self._shapes.append(partial(self.blocks, contents))
        else:
            kinds = {short(own.tag) for own in element}
            self.flow.left_out["pictures"] += "draw:image" in kinds and "draw:object" not in kinds
            self.flow.left_out["embedded objects"] += bool({"draw:object", "draw:object-ole"} & kinds)
            self._shapes.append(partial(self.flow.add, "figure", squeeze(about)))

    def _table(self, table: Any) -> None:
        rows, heads = list[list[TableCell]](), 0
        for row in _rows(table):
            if short(row.getparent().tag) == "table:table-header-rows":
                heads += heads == len(rows)
            rows.append([])
            for cell in every(row, "table:table-cell"):
                blocks = self._collect(cell)
                down, across = (
                    number(cell, key=f"table:number-{side}s-spanned", default=1) for side in ("row", "column")
                )
                times = _repeated(cell, "columns", _MAX_REPEATED if blocks else 1)
                rows[-1] += [TableCell(blocks, down, across)] * times
        add_table(self.flow, [rows], heads)

    # Sheets and slides.

    def sheets(self, parent: Any) -> None:
        """Write the sheets of a spreadsheet."""
        for table in every(parent, "table:table"):
            style = self._elements.get(value(table, key="table:style-name") or "")
            if value(style, "style:table-properties", "table:display") == "false" and not self.flow.hidden:
                self.flow.left_out["hidden sheets"] += 1
                continue
            add_sheet(self.flow, squeeze(value(table, key="table:name") or ""), self._sheet(table))
            for shapes in every(table, "table:shapes"):
                self.blocks(shapes)

    def _sheet(self, table: Any) -> SheetCells:
        sheet, i = SheetCells({}, {}), 0
        visible = list[bool]()
        for column in every(table, "table:table-column", deep=True):
            is_shown = self.flow.hidden or value(column, key="table:visibility") not in _HIDDEN
            visible += [is_shown] * _repeated(column, "columns", 16384)
        for row in _rows(table):
            cells, spans = self._cells(row, visible)
            if value(row, key="table:visibility") in _HIDDEN and not self.flow.hidden:
                self.flow.left_out["hidden rows"] += bool(cells)
                continue
            for k in range(_repeated(row, "rows", _MAX_REPEATED if cells else 1)):
                sheet.rows[i + k] = cells
            sheet.spans.update({(i, j): span for j, span in spans.items()})
            i += _repeated(row, "rows", 2**20)
        return sheet

    def _cells(self, row: Any, visible: list[bool]) -> tuple[dict[int, str], dict[int, tuple[int, int]]]:
        cells, spans, place, j = dict[int, str](), dict[int, tuple[int, int]](), 0, 0
        for cell in row:
            if short(cell.tag) not in {"table:table-cell", "table:covered-table-cell"}:
                continue
            text = self._cell_text(cell)
            for k in range(_repeated(cell, "columns", 16384)):
                if place < len(visible) and not visible[place]:
                    self.flow.left_out["hidden cells"] += bool(text)
                elif text and k < _MAX_REPEATED:
                    cells[j] = text
                place, j = place + 1, j + (place >= len(visible) or visible[place])
            across, down = (number(cell, key=f"table:number-{side}s-spanned", default=1) for side in ("column", "row"))
            if text and max(across, down) > 1:
                spans[j - 1] = (max(down, 1), max(across, 1))
        return cells, spans

    def _cell_text(self, cell: Any) -> str:
        self.flow.left_out["comments"] += sum(1 for _ in every(cell, "office:annotation"))
        lines = (join_scripts(self._inline(line, _Style())) for line in every(cell, "text:p"))
        if text := "\n".join(lines):
            return text
        formula = (value(cell, key="table:formula") or "").partition(":=")[2]
        if formula and value(cell, key="office:value") is None and value(cell, key="office:string-value") is None:
            self.flow.left_out["values of formulas"] += 1
            return f"={formula.replace('[.', '').replace(']', '')}"
        return value(cell, key="office:value") or ""

    def slides(self, parent: Any) -> None:
        """Write slides, each a page with its notes."""
        for page, slide in enumerate(every(parent, "draw:page"), 1):
            style = self._elements.get(value(slide, key="draw:style-name") or "")
            if (
                value(style, "style:drawing-page-properties", "presentation:visibility") == "hidden"
                and not self.flow.hidden
            ):
                self.flow.left_out["hidden slides"] += 1
                continue
            self.flow.places = (Place(page),)
            kinds = [(value(shape, key="presentation:class") or "", shape) for shape in slide]
            for kind, shape in sorted(kinds, key=lambda pair: pair[0] != "title"):
                if kind == "title":
                    text = " ".join(
                        join_scripts(self._inline(own, _Style())) for own in every(shape, "text:p", deep=True)
                    )
                    self.flow.paragraph("paragraph", text, level=1)
                elif kind in _FOOTERS:
                    self.flow.left_out[_FOOTERS[kind]] += 1
                else:
                    self.blocks([shape])
            notes = [
                shape
                for shape in children(find(slide, "presentation:notes"))
                if value(shape, key="presentation:class") == "notes"
            ]
            if blocks := self._collect(notes):
                self.flow.add("heading", "Notes", 2)
                self.flow.blocks += blocks


def _rows(table: Any) -> Iterator[Any]:
    """Yield the rows of a table, also those in groups."""
    for element in table:
        name = short(element.tag)
        if name == "table:table-row":
            yield element
        elif name in {"table:table-header-rows", "table:table-rows", "table:table-row-group"}:
            yield from _rows(element)


def _repeated(element: Any, kind: str, most: int) -> int:
    return max(min(number(element, key=f"table:number-{kind}-repeated", default=1), most), 1)
