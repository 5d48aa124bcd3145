"""Read Word files from their XML (ECMA-376, part 1)."""

import re
from functools import partial
from typing import Any

from advchunk.readers.counting import PRIVATE
from advchunk.readers.office.drawings import description, read_drawing, visible
from advchunk.readers.office.flow import Flow, TableRows, field_target, link
from advchunk.readers.office.formulas import read_formula
from advchunk.readers.office.package import Package, child_at, children, every, holders, is_on, number, short, value
from advchunk.readers.office.word_styles import SCRIPTS, Numbering, Style, Styles
from advchunk.readers.table_layout import TableCell

_SIGNS = {"w:tab": "\t", "w:ptab": "\t", "w:cr": "\n", "w:noBreakHyphen": "-"}
_SYMBOL = dict(zip(range(0x41, 0x7B), "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True))
_SYMBOL |= dict(zip(bytes.fromhex("a3a5aeb0b1b3b4b6b7b9babbced6d7e5f2"), "≤∞→°±≥×∂•≠≡≈∈√⋅∑∫", strict=True))
_DINGS = dict(zip(b"\x6f\x71\xa8\xfb\xfc\xfd\xfe\xe0", "☐☐☐✗✓☒☑→", strict=True))
_PROPERTIES = frozenset({"w:sdtPr", "w:tcPr", "w:sectPr", "w:pPr"})
_FORMULAS = frozenset({"m:oMath", "m:oMathPara"})
_MAX_COLUMNS = 1000


def read_word(package: Package, flow: Flow) -> bool:
    """Read a Word file, and return True if it has a body."""
    return _Reader(package, flow).read()


class _Reader:
    def __init__(self, package: Package, flow: Flow) -> None:
        self._package, self.flow = package, flow
        self._styles = Styles(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"), self._styles)
        self._notes = dict[tuple[str, str], int]()
        # That are open: instruction, and piece at which the result begins.
        self._fields = list[tuple[str, int | None]]()
        # Of the open paragraph: style, pieces, which may begin with those of the one before, and whether text is hidden
        self._style, self._pieces, self._has_hidden = Style(), list[tuple[str, str]](), False

    def read(self) -> bool:
        """Read the body, and the notes that it refers to."""
        self.flow.targets = self._package.targets(self._package.main)
        bodies = [*every(self._package.xml(self._package.main), "w:body")]
        for body in bodies:
            self._blocks(body)
        elements = ((kind, every(self._part(f"{kind}s"), f"w:{kind}")) for kind in ("footnote", "endnote"))
        notes = {(kind, value(note, key="w:id")): note for kind, own in elements for note in own}
        self.flow.left_out["missing notes"] += len(self._notes.keys() - notes)
        for key in [*self._notes]:
            self.flow.targets = self._package.targets(self._package.target(self._package.main, f"{key[0]}s"))
            self.flow.note(self.flow.collected(self._blocks, notes.get(key, ())))
        self.flow.write_notes()
        self.flow.left_out["comments"] = len([*every(self._part("comments"), "w:comment")])
        for kind, target in self._package.relations(self._package.main).values():
            if kind in {"header", "footer"}:
                texts = every(self._package.xml(target), "w:t", deep=True)
                self.flow.left_out[f"{kind}s"] += any((text.text or "").strip() for text in texts)
        return bool(bodies)

    def _part(self, kind: str) -> Any:
        return self._package.related(self._package.main, kind)

    def _blocks(self, parent: Any) -> None:
        for element in children(parent):
            name = short(element.tag)
            if name == "w:p":
                self._paragraph(element)
            elif name == "w:tbl":
                self._table(element)
            elif name in _FORMULAS:
                self.flow.add("formula", read_formula(element))
            elif name in {"w:altChunk", "w:subDoc"}:
                self.flow.left_out["embedded documents"] += 1
            elif name in {"w:r", "w:t"}:
                self._inline([element])  # begins the next paragraph
            elif name not in {"w:del", "w:moveFrom", *_PROPERTIES}:
                self._blocks(element)  # of content controls, insertions ...
        pieces, self._pieces = self._pieces, []
        if pieces:
            self.flow.paragraph("paragraph", pieces)

    def _paragraph(self, paragraph: Any) -> None:
        properties = child_at(paragraph, "w:pPr")
        self._style, self._has_hidden = self._styles[value(properties, "w:pStyle") or self._styles.default], False
        self._inline(paragraph)
        self._fields = [field for field in self._fields if field[1] is not None]  # others must not swallow what follows
        following, is_deleted = paragraph.getnext(), child_at(properties, "w:rPr/w:del") is not None
        is_cut = is_deleted or self._has_hidden or child_at(properties, "w:rPr/w:moveFrom") is not None
        is_start = is_deleted or value(properties, "w:framePr", "w:dropCap") in {"drop", "margin"}
        if not (is_start and following is not None and short(following.tag) == "w:p"):  # else the next goes on with it
            pieces, self._pieces = self._pieces, []
            if any(text.strip() for text, _ in pieces) or not is_cut:  # a paragraph without text counts, too
                self._write(properties, self._style, pieces)
        self.flow.write_shapes()

    def _write(self, properties: Any, style: Style, pieces: list[tuple[str, str]]) -> None:
        num, depth = value(properties, "w:numPr/w:numId", default=style.num), number(properties, "w:numPr/w:ilvl", -1)
        if depth < 0:
            linked = self._numbering.depth(num, style.numbered_by)
            depth = style.depth if linked is None else linked
        label, level = self._numbering.label(num, depth), number(properties, "w:outlineLvl", style.level - 1) + 1
        level = level if 0 < level < 10 else 0
        depth = max(depth, style.nesting)
        self.flow.paragraph(style.kind, pieces, label=label, depth=depth, level=level, is_contents=style.is_contents)

    # Text in paragraphs.

    def _add(self, text: str, script: str = "") -> None:
        self._pieces.append((text, script))

    def _inline(self, parent: Any) -> None:
        for element in children(parent):
            name = short(element.tag)
            if name == "w:r":
                self._run(element)
            elif name == "w:t":
                self._add(element.text or "")
            elif name in _FORMULAS:
                self._add(f" {read_formula(element)} ", "formula")
            elif name == "w:del":
                self.flow.left_out["deletions"] += next(every(element, "w:delText", deep=True), None) is not None
            elif name not in {"w:moveFrom", *_PROPERTIES}:  # such as links, insertions, content controls, simple fields
                id, instruction = value(element, key="r:id"), value(element, key="w:instr")
                target = self.flow.targets.get(id) or field_target(instruction)
                start = len(self._pieces)
                self._inline(element)
                self._pieces[start:] = link(self._pieces[start:], target)

    def _run(self, run: Any) -> None:
        properties = child_at(run, "w:rPr")
        own = self._styles[value(properties, "w:rStyle")] if properties is not None else Style()
        hidden = (is_on(properties, "w:vanish"), own.hidden, self._style.hidden)
        is_hidden = not self.flow.hidden and bool(next((is_set for is_set in hidden if is_set is not None), False))
        script = SCRIPTS.get(value(properties, "w:vertAlign"), own.script)
        font = value(properties, "w:rFonts", "w:ascii")
        for child in children(run):
            name, text = short(child.tag), child.text or ""
            if name == "w:fldChar":
                self._field(child)
            elif name == "w:instrText":
                self._fields[-1:] = [(instruction + text, start) for instruction, start in self._fields[-1:]]
            elif name == "w:rPr" or any(start is None for _, start in self._fields):
                continue
            elif is_hidden:
                is_new = bool(text.strip()) and not self._has_hidden
                self.flow.left_out["hidden texts"] += is_new
                self._has_hidden |= is_new
            elif name == "w:t":
                self._add(PRIVATE.sub(lambda sign: _symbol(font, ord(sign[0])), text), script)
            elif name == "w:sym":
                code = value(child, key="w:char")
                is_code = re.fullmatch("[0-9A-Fa-f]{1,5}", code)
                self._add(_symbol(value(child, key="w:font"), int(code, 16)) if is_code else "", script)
            else:
                self._other(name, child)

    def _other(self, name: str, child: Any) -> None:
        if name in _SIGNS:
            self._add(_SIGNS[name])
        elif name == "w:br":
            self._add("\f" if value(child, key="w:type") in {"page", "column"} else "\n")
        elif name in {"w:footnoteReference", "w:endnoteReference"}:
            key = name[2:].removesuffix("Reference"), value(child, key="w:id")
            self._add(f"[^{self._notes.setdefault(key, len(self._notes) + 1)}]")
        elif name == "w:ruby":
            self._inline(child_at(child, "w:rubyBase"))
            self._add(" (")
            self._inline(child_at(child, "w:rt"))
            self._add(")")
        elif name in {"w:drawing", "w:pict", "w:object"}:  # its texts, or else the descriptions of pictures
            texts = read_drawing(child, self._package.main, self._package, self.flow, {"w:txbxContent": self._blocks})
            self.flow.shapes += texts
            if not self.flow.shapes:
                about = dict.fromkeys(map(description, visible(child, ())))
                self.flow.shapes += (partial(self.flow.add, "figure", text) for text in about)
        else:
            self._inline(child)  # of elements that are not known

    def _field(self, sign: Any) -> None:
        """Follow the signs of a field: its instruction is not text, its result is."""
        kind = value(sign, key="w:fldCharType")
        if kind == "begin":
            self._fields.append(("", None))
            if (box := child_at(sign, "w:ffData/w:checkBox")) is not None:
                checked = is_on(box, "w:checked")
                self._add("☒" if (is_on(box, "w:default") if checked is None else checked) else "☐")
        elif kind == "separate" and self._fields:
            self._fields[-1] = self._fields[-1][0], len(self._pieces)
        elif kind == "end" and self._fields:
            instruction, start = self._fields.pop()
            button = re.match(r"\s*MACROBUTTON\s+\S+\s+(.+)", instruction, re.DOTALL)
            if start is not None:
                self._pieces[start:] = link(self._pieces[start:], field_target(instruction))
            elif button:
                self._add(button[1].rstrip())

    def _table(self, source: Any) -> None:
        table = TableRows()
        for line in holders(source, "w:tr", "w:tc"):
            properties = child_at(line, "w:trPr")
            if child_at(properties, "w:del") is not None:
                self.flow.left_out["deletions"] += 1
                continue
            table.begin_row(is_head=bool(is_on(properties, "w:tblHeader")))
            if (before := min(number(properties, "w:gridBefore"), _MAX_COLUMNS)) > 0:
                table.add(TableCell([], columns=before))
            for cell in holders(line, "w:tc", "w:p", "w:tbl"):
                width = min(max(number(cell, "w:tcPr/w:gridSpan", 1), 1), _MAX_COLUMNS)
                merges = (child_at(cell, f"w:tcPr/w:{kind}Merge") for kind in "vh")
                below, after = (own is not None and value(own, default="continue") == "continue" for own in merges)
                blocks = self.flow.collected(self._blocks, cell)
                table.add(TableCell(blocks, columns=width), is_below=below, is_after=after)
        table.write(self.flow)


def _symbol(font: str, code: int) -> str:
    """Return a sign of a font of symbols; "" if it is not known."""
    table = _DINGS if font.lower().startswith("wingdings") else _SYMBOL
    if 0xF000 <= code <= 0xF0FF or font.lower() in {"symbol", "wingdings"}:
        return table.get(code & 0xFF, "")
    return "" if 0xE000 <= code <= 0xF8FF or 0xD800 <= code < 0xE000 else chr(code)
