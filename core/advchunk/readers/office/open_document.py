"""Read texts, sheets, and slides of OpenDocument (ODF 1.3, part 3) from their XML."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

from advchunk.errors import import_extra
from advchunk.readers.counting import bullet, format_count
from advchunk.readers.inline import join_scripts
from advchunk.readers.mathml import formula_text
from advchunk.readers.office.flow import Flow, TableRows, link
from advchunk.readers.office.package import Package, child_at, children, every, fields, holders, number, short, value
from advchunk.readers.office.sheets import SheetCells, add_sheet
from advchunk.readers.office.word_styles import Style, kind_of_style
from advchunk.readers.table_layout import TableCell
from advchunk.readers.writing import squeeze
from advchunk.readers.xml import parse_xml
from advchunk.records import Place

_NAMES: Mapping[str, Any] = json.loads(files(__package__).joinpath("open_document.json").read_text("utf-8"))
_COUNTED, _FOOTERS, _SHAPES = _NAMES["counted"], _NAMES["footers"], frozenset(_NAMES["shapes"])
_PARAGRAPHS = frozenset({"text:h", "text:p"})
_HIDDEN, _SPACE = frozenset({"collapse", "filter"}), re.compile(r"[ \t\r\n]+")
_MAX_ROWS, _MAX_COLUMNS = 2**20, 2**14
_MAX_REPEATED = 100  # columns and rows; spreadsheets repeat empty ones up to their size


def read_open_document(package: Package, flow: Flow) -> bool:
    """Read a text, sheets, or slides of OpenDocument, and return True if there is a body."""
    about, content, styles = map(package.xml, ("meta.xml", "content.xml", "styles.xml"))
    flow.fields = fields(() if about is None else about.iter(), ("title", "authors"))
    reader = _Reader(package, flow, [styles, content])
    readers = {"office:spreadsheet": reader.sheets, "office:presentation": reader.slides}
    body = child_at(content, "office:body")
    for part in children(body):
        readers.get(short(part.tag), reader.blocks)(part)
    flow.write_notes()
    for kind in "header", "footer":
        texts = (squeeze("".join(own.itertext())) for own in every(styles, f"style:{kind}", deep=True))
        flow.left_out[f"{kind}s"] += sum(map(bool, texts))
    return body is not None


class _Reader:
    def __init__(self, package: Package, flow: Flow, roots: list[Any]) -> None:
        self.flow, self._package = flow, package
        self._elements, self._levels, self._styles = dict[str, Any](), dict[str, dict[int, Any]](), {"": Style()}
        for root in roots:
            self._elements |= {value(own, key="style:name"): own for own in every(root, "style:style", deep=True)}
            for kind in "text:list-style", "text:outline-style":
                for style in every(root, kind, deep=True):
                    name = value(style, key="style:name") if kind == "text:list-style" else ""
                    self._levels[name] = {number(level, key="text:level", default=1): level for level in style}
        self._counts = dict[str, dict[int, int]]()  # of lists by their ids, else by their styles

    def _style(self, name: str) -> Style:
        """Return a style; the kind of one that is not defined follows from its name."""
        if name not in self._styles:
            self._styles[name] = Style()  # if it is based on itself
            element = self._elements.get(name)
            base = self._style(value(element, key="style:parent-style-name"))
            shown = (value(element, key="style:display-name") or name).replace("_20_", " ").lower()
            kind, level, _ = kind_of_style(_NAMES["styles"].get(shown, shown))
            text = child_at(element, "style:text-properties")
            position = value(text, key="style:text-position").split(" ")[0].lstrip("0%")
            script = "sub" if position.startswith(("-", "sub")) else "sup" if position else base.script
            display = value(text, key="text:display")
            level = (shown == "title" and level) or base.level
            self._styles[name] = Style(kind or base.kind, level, script, display == "none" if display else base.hidden)
        return self._styles[name]

    def blocks(self, parent: Any, *, is_contents: bool = False) -> None:
        """Write the headings, paragraphs, lists, and tables in an element."""
        for element in parent:
            name = short(element.tag)
            if name in _COUNTED:
                self.flow.left_out[_COUNTED[name]] += 1
            elif name in _NAMES["skipped"] or self.flow.hides("texts", value(element, key="text:display") == "none"):
                continue
            elif name in _PARAGRAPHS or (element.text or "").strip():
                self._paragraph(element, is_contents=is_contents)
            elif name == "text:list":
                self._list(element, "", 1)
            elif name == "table:table":
                self._table(element)
            elif name in _SHAPES:
                self._shape(element)
                self.flow.write_shapes()
            else:
                self.blocks(element, is_contents=is_contents or name in _NAMES["indexes"])

    def _paragraph(self, element: Any, label: str = "", depth: int = 0, *, is_contents: bool = False) -> None:
        style = self._style(value(element, key="text:style-name"))
        pieces, level = [*self._inline(element, style)], style.level
        if short(element.tag) == "text:h":
            level = number(element, key="text:outline-level", default=1)
            label = label or self._label("", "", level, element)
        if any(text.strip() for text, _ in pieces) or not self.flow.shapes:
            self.flow.paragraph(style.kind, pieces, label=label, depth=depth, level=level, is_contents=is_contents)
        self.flow.write_shapes()

    def _list(self, element: Any, style: str, level: int, key: str = "") -> None:
        style = value(element, key="text:style-name") or style
        if level == 1:
            key = value(element, key="text:continue-list") or style
            if value(element, key="text:continue-numbering") != "true" and key == style:
                self._counts.pop(key, None)
            if own := value(element, key="xml:id"):
                self._counts[own] = self._counts.setdefault(key, {})
        for item in element:
            if short(item.tag) in _PARAGRAPHS or (item.text or "").strip():
                self.blocks([item])
                continue
            is_counted = short(item.tag) == "text:list-item" and any(short(own.tag) in _PARAGRAPHS for own in item)
            label = self._label(style, key, level, item) if is_counted else ""
            for own in item:
                if (name := short(own.tag)) == "text:list":
                    self._list(own, style, level + 1, key)
                elif name in _PARAGRAPHS:
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
            return bullet(value(level, key="text:bullet-char") or "•")
        counts = self._counts.setdefault(key, {})
        start = number(item, key="text:start-value", default=-1)
        first = number(level, key="text:start-value", default=1)
        counts[depth] = start if start >= 0 else counts.get(depth, first - 1) + 1
        for deeper in [own for own in counts if own > depth]:
            del counts[deeper]
        if not value(level, key="style:num-format"):
            return ""
        shown = range(depth - number(level, key="text:display-levels", default=1) + 1, depth + 1)
        forms = ((at, value(levels.get(at), key="style:num-format")) for at in shown if at > 0)
        names = _NAMES["number_forms"]
        texts = [format_count(counts.get(at, 1), names.get(form, "decimal")) for at, form in forms if form]
        before, after = (value(level, key=f"style:num-{side}fix") for side in ("pre", "suf"))
        return squeeze(f"{before}{'.'.join(texts)}{after}")

    # Text in paragraphs.

    def _inline(self, element: Any, style: Style) -> Iterator[tuple[str, str]]:
        is_hidden = bool(style.hidden) and self.flow.hides("texts", bool((element.text or "").strip()))
        if not is_hidden:
            yield _SPACE.sub(" ", element.text or ""), style.script
        for child in element:
            yield from self._piece(child, style)
            if not is_hidden:
                yield _SPACE.sub(" ", child.tail or ""), style.script

    def _piece(self, child: Any, style: Style) -> Iterator[tuple[str, str]]:
        name = short(child.tag)
        if name == "text:s":
            yield " " * min(number(child, key="text:c", default=1), 1000), ""
        elif name in {"text:tab", "text:line-break"}:
            yield "\t" if name == "text:tab" else "\n", ""
        elif name == "text:note":
            body = [own for own in child if short(own.tag) != "text:note-citation"]
            yield self.flow.note(self.flow.collected(self.blocks, body)), ""
        elif name == "text:ruby-text":
            yield from ((" (", ""), *self._inline(child, style), (")", ""))
        elif name in _COUNTED:
            self.flow.left_out[_COUNTED[name]] += 1
        elif name in _SHAPES:
            if formula := self._formula(child):
                yield f" {formula} ", "formula"
            else:
                self._shape(child)
        elif name == "text:a":
            yield from link([*self._inline(child, style)], value(child, key="xlink:href"))
        elif name != "office:annotation-end":
            own = self._style(value(child, key="text:style-name")) if name == "text:span" else style
            hidden = own.hidden or style.hidden
            yield from self._inline(child, own._replace(script=own.script or style.script, hidden=hidden))

    # Shapes and tables.

    def _formula(self, frame: Any) -> str:
        """Return the text of a formula that a frame holds."""
        target = value(child_at(frame, "draw:object"), key="xlink:href").removeprefix("./").strip("/")
        root = self._package.xml(f"{target}/content.xml") if target else child_at(frame, "draw:object/math:math")
        if root is None or short(root.tag) != "math:math":
            return ""
        source = import_extra("lxml.etree", "office").tostring(root, encoding="unicode", with_tail=False)
        return formula_text(parse_xml(source, namespaces=False))

    def _shape(self, element: Any) -> None:
        """Put the text of a shape after the paragraph, or else the description of a picture."""
        names = {short(child.tag) for child in element}
        if shapes := [child for child in element if short(child.tag) in _SHAPES]:  # of a group
            for shape in shapes:
                self._shape(shape)
        elif formula := self._formula(element):
            self.flow.shapes.append(partial(self.flow.add, "formula", formula))
        elif next(every(element, "text:p", deep=True), None) is not None:
            contents = [child for child in element if not short(child.tag).startswith("svg:")]
            self.flow.shapes.append(partial(self.blocks, contents))
        else:
            self.flow.left_out["embedded objects"] += any(name.startswith("draw:object") for name in names)
            self.flow.left_out["pictures"] += names & {"draw:image", "draw:object"} == {"draw:image"}
            texts = (child_at(element, f"svg:{name}") for name in ("title", "desc"))
            about = " ".join(text.text or "" for text in texts if text is not None)
            self.flow.shapes.append(partial(self.flow.add, "figure", squeeze(about)))

    def _table(self, source: Any) -> None:
        table = TableRows()
        for row in holders(source, "table:table-row", "table:table-cell"):
            table.begin_row(is_head=short(row.getparent().tag) == "table:table-header-rows")
            for cell in holders(row, "table:table-cell", "text:p", skip=["table:covered-table-cell"]):
                blocks = self.flow.collected(self.blocks, cell)
                for _ in range(_repeated(cell, "columns", _MAX_REPEATED if blocks else 1)):
                    table.add(TableCell(blocks, *_spans(cell)))
        table.write(self.flow)

    def sheets(self, parent: Any) -> None:
        """Write the sheets of a spreadsheet."""
        for table in every(parent, "table:table"):
            style = self._elements.get(value(table, key="table:style-name"))
            if not self.flow.hides("sheets", value(style, "style:table-properties", "table:display") == "false"):
                add_sheet(self.flow, squeeze(value(table, key="table:name")), self._sheet(table))
                for shapes in every(table, "table:shapes"):
                    self.blocks(shapes)

    def _sheet(self, table: Any) -> SheetCells:
        sheet, hidden_rows, hidden_columns, i, j = SheetCells({}, {}), set[int](), set[int](), 0, 0
        for column in every(table, "table:table-column", deep=True):
            times = _repeated(column, "columns", _MAX_COLUMNS)
            if value(column, key="table:visibility") in _HIDDEN:
                hidden_columns |= {*range(j, j + times)}
            j += times
        for row in holders(table, "table:table-row", "table:table-cell"):
            cells, times = self._cells(row), _repeated(row, "rows", _MAX_ROWS)
            for k in range(i, i + min(times, _MAX_REPEATED if cells else 0)):
                sheet.rows[k] = {column: text for column, (text, _) in cells.items()}
                if value(row, key="table:visibility") in _HIDDEN:
                    hidden_rows.add(k)
            sheet.spans.update({(i, column): span for column, (_, span) in cells.items() if span != (1, 1)})
            i += times
        return sheet.shown(self.flow, hidden_rows, hidden_columns)

    def _cells(self, row: Any) -> dict[int, tuple[str, tuple[int, int]]]:
        """Return the text and the spans of the cells of a row that are not empty, by their columns."""
        cells, place = dict[int, tuple[str, tuple[int, int]]](), 0
        for cell in row:
            if short(cell.tag) in {"table:table-cell", "table:covered-table-cell"}:
                times = _repeated(cell, "columns", _MAX_COLUMNS)
                if text := self._cell_text(cell):
                    columns = range(place, place + min(times, _MAX_REPEATED))
                    cells |= dict.fromkeys(columns, (text, _spans(cell)))
                place += times
        return cells

    def _cell_text(self, cell: Any) -> str:
        self.flow.left_out["comments"] += len([*every(cell, "office:annotation")])
        lines = (join_scripts(self._inline(line, Style())) for line in every(cell, "text:p"))
        if text := "\n".join(lines):
            return text
        formula = value(cell, key="table:formula").partition(":=")[2]
        if formula and not any(value(cell, key=f"office:{kind}value") for kind in ("", "string-")):
            self.flow.left_out["values of formulas"] += 1
            return "=" + re.sub(r"\[\.?|(?<=:)\.|\]", "", formula)
        return value(cell, key="office:value")

    def slides(self, parent: Any) -> None:
        """Write slides, each a page with its notes."""
        for page, slide in enumerate(every(parent, "draw:page"), 1):
            style = self._elements.get(value(slide, key="draw:style-name"))
            visibility = value(style, "style:drawing-page-properties", "presentation:visibility")
            if self.flow.hides("slides", visibility == "hidden"):
                continue
            self.flow.places = (Place(page),)
            kinds = [(value(shape, key="presentation:class"), shape) for shape in slide]
            for kind, shape in sorted(kinds, key=lambda pair: pair[0] != "title"):
                if kind == "title":
                    lines = every(shape, "text:p", deep=True)
                    text = " ".join(join_scripts(self._inline(line, Style())) for line in lines)
                    self.flow.paragraph("paragraph", text, level=1)
                elif kind in _FOOTERS:
                    self.flow.left_out[_FOOTERS[kind]] += 1
                else:
                    self.blocks([shape])
            notes = children(child_at(slide, "presentation:notes"))
            texts = (own for own in notes if value(own, key="presentation:class") == "notes")
            self.flow.add_talk(self.flow.collected(self.blocks, texts))


def _repeated(element: Any, kind: str, most: int) -> int:
    return max(min(number(element, key=f"table:number-{kind}-repeated", default=1), most), 1)


def _spans(cell: Any) -> tuple[int, int]:
    """Return the rows and the columns that a cell spans."""
    down, across = (number(cell, key=f"table:number-{side}s-spanned", default=1) for side in ("row", "column"))
    return max(down, 1), max(across, 1)
