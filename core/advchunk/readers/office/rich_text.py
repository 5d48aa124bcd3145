"""Read RTF (version 1.9.1 of its specification)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from advchunk.readers.inline import join_scripts
from advchunk.readers.office.counting import bullet
from advchunk.readers.office.flow import Flow
from advchunk.readers.office.word_styles import kind_of_style
from advchunk.readers.table_layout import TableCell, add_table
from advchunk.readers.writing import TextBlock, squeeze

_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<sign>[^a-zA-Z])|(?P<brace>[{}])"
    r"|[\r\n]+|(?P<text>[^\\{}\r\n]+)",
    re.DOTALL,
)
_CHARSETS = {128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250}
_SIGNS = {
    "tab": "\t", "line": "\n", "softline": "\n", "page": "\f", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’",  # noqa: RUF001
    "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ", "nestcell": "\t",
}  # fmt: skip
_ESCAPED = {"\\": "\\", "{": "{", "}": "}", "~": "\xa0", "_": "-", "\n": "\n", "\r": "\n"}
_READ = frozenset({"shpinst", "shppict", "footnote", "ud", "shptxt"})  # starred groups that are read
_PARTS = {"listtext": "label", "pntext": "label", "footnote": "note", "shptxt": "box", "title": "title", "author": "authors"}
_COUNTED = {
    **dict.fromkeys(("pict",), "pictures"), "annotation": "comments", "objdata": "embedded objects", "moMath": "formulas",
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "headers"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "footers"),
}  # fmt: skip
_SKIPPED = frozenset(
    """fonttbl colortbl fldinst nonshppict info xe tc nonesttables upr bkmkstart bkmkend ftnsep ftnsepc aftnsep sp themedata
    filetbl revtbl rxe txe""".split()  # noqa: SIM905
)
_BULLET = re.compile(r"[•·][ \t]+")


class _State(NamedTuple):
    """The properties of a group; ``part`` is where its text goes, "" nowhere."""

    part: str = "text"
    script: str = ""
    is_hidden: bool = False
    is_deleted: bool = False
    fallback: int = 1  # characters that follow \u for readers without Unicode
    encoding: str = "cp1252"
    style: int = 0
    level: int = 0
    depth: int = 0
    in_table: bool = False

    def without_paragraph(self) -> _State:
        return self._replace(style=0, level=0, depth=0, in_table=False)


def read_rich_text(data: bytes, hidden: bool) -> tuple[Flow, dict[str, str]]:
    """Return the blocks of a file of RTF, and its title and authors."""
    reader = _Reader(Flow(hidden=hidden))
    reader.read(data.decode("latin-1"))
    return reader.flow, reader.fields


class _Reader:
    def __init__(self, flow: Flow) -> None:
        self.flow, self.fields = flow, dict[str, str]()
        self._state, self._stack = _State(), list[_State]()
        self._parts = {"text": list[tuple[str, str]]()}  # the pieces of the parts that are open
        self._bytes, self._ignored = bytearray(), 0  # those to decode; characters to pass over
        self._shapes, self._seen = list[Callable[[], None]](), set[str]()  # of the open paragraph
        self._fonts, self._font, self._names, self._levels = dict[int, str](), 0, dict[int, str](), dict[int, int]()
        self._rows, self._heads, self._cells = list[list[TableCell]](), 0, list[list[TextBlock]]()
        self._row_start: int | None = None  # the first block of the open cell
        self._defined, self._merges = list[set[str]](), set[str]()  # cells of the row, and flags of the next

    def read(self, text: str) -> None:
        """Read the tokens of a file."""
        place = 0
        while match := _TOKEN.match(text, place):
            place = match.end()
            word = match["word"]
            if word == "bin" and match["number"]:
                place += max(int(match["number"]), 0)
            elif word or match["brace"] or match["sign"]:
                self._decode()
                if match["brace"] == "{":
                    self._stack.append(self._state)
                elif match["brace"]:
                    self._close()
                elif word:
                    place = self._word(word, None if match["number"] is None else int(match["number"]), text, place)
                elif match["sign"] == "*":
                    place = self._starred(text, place)
                else:
                    self._write(_ESCAPED.get(match["sign"], ""))
            elif match["hex"] or match["text"]:
                own = bytes.fromhex(match["hex"]) if match["hex"] else match["text"].encode("latin-1")
                skipped = min(self._ignored, len(own))
                self._ignored -= skipped
                self._bytes += own[skipped:]
        self._decode()
        self._end_paragraph()
        self._end_table()
        self.flow.write_notes()

    def _starred(self, text: str, place: int) -> int:
        """Skip the group of an unknown destination."""
        match = _TOKEN.match(text, place)
        if match and match["word"] and match["word"] not in _READ:
            self._state = self._state._replace(part="")
            if kind := _COUNTED.get(match["word"]):
                self.flow.left_out[kind] += 1
            return match.end()
        return place

    def _close(self) -> None:
        outer = self._stack.pop() if self._stack else self._state
        inner, style, self._state = self._state.part, self._state.style, outer
        if inner == outer.part or inner in {"", "text"}:
            return
        text = join_scripts(self._parts.pop(inner, []))
        if inner == "note":
            note = self.flow.note([TextBlock("paragraph", text)] if text.strip() else [])
            self._parts.setdefault(outer.part, []).append((note, ""))
        elif inner == "box":
            self._shapes.append(partial(self.flow.paragraph, "paragraph", text.replace("\n", "\n\n")))
        elif inner == "style":
            self._names[style] = text.strip().rstrip(";")
        elif inner == "label":
            self._parts["label"] = [(text, "")]  # of the open paragraph
        elif inner in {"title", "authors"} and squeeze(text):
            self.fields[inner] = squeeze(text)

    def _word(self, word: str, number: int | None, text: str, place: int) -> int:
        state, value = self._state, 1 if number is None else number
        if word in _SIGNS:
            self._write(_SIGNS[word])
        elif word == "u":
            self._ignored = state.fallback
            self._write(chr(value % 65536))
        elif word in {"par", "sect", "cell", "row", "trowd", "trhdr", "cellx", "clmgf", "clmrg", "clvmgf", "clvmrg"}:
            if state.part == "text":
                self._layout(word)
            elif word == "par":
                self._write("\n")
        elif word in {"pard", "plain"}:
            self._state = state.without_paragraph() if word == "pard" else state._replace(script="", is_hidden=False, is_deleted=False)
        elif word in {"super", "sub", "nosupersub"}:
            self._state = state._replace(script={"super": "sup", "sub": "sub"}.get(word, "") if value else "")
        elif word in {"v", "deleted"}:
            self._state = state._replace(**{{"v": "is_hidden", "deleted": "is_deleted"}[word]: bool(value)})
        elif word in {"s", "outlinelevel", "ilvl", "intbl", "uc"}:
            self._property(word, value)
        elif word in {"ansicpg", "f", "fcharset"}:
            self._set_encoding(word, value)
        elif word == "stylesheet":
            self._state = state._replace(part="styles")
        elif word in _PARTS and (state.part or word in {"title", "author"}):
            self._state = state._replace(part=_PARTS[word], script="", is_hidden=False)
            self._parts[_PARTS[word]] = []
        elif word in _COUNTED or word in _SKIPPED:
            if state.part and word in _COUNTED:
                self.flow.left_out[_COUNTED[word]] += 1
            self._state = state._replace(part="")
        return place

    def _property(self, word: str, value: int) -> None:
        state = self._state
        if word == "s":
            self._state = state._replace(style=value, part="style" if state.part == "styles" else state.part)
            if self._state.part == "style":
                self._parts["style"] = []
        elif word == "outlinelevel":
            if state.part == "style":
                self._levels[state.style] = value + 1
            self._state = state._replace(level=value + 1 if 0 <= value < 9 else 0)
        elif word == "ilvl":
            self._state = state._replace(depth=min(max(value, 0), 8))
        elif word == "intbl":
            self._state = state._replace(in_table=bool(value))
        else:
            self._state = state._replace(fallback=min(max(value, 0), 10))

    def _set_encoding(self, word: str, value: int) -> None:
        name = f"cp{_CHARSETS.get(value, 0) if word == 'fcharset' else value}"
        if word == "f":
            self._font = value
            self._state = self._state._replace(encoding=self._fonts.get(value, self._fonts.get(-1, "cp1252")))
            return
        try:
            codecs.lookup(name)
        except LookupError:
            return
        self._fonts[self._font if word == "fcharset" else -1] = name
        if word == "ansicpg":
            self._state = self._state._replace(encoding=name)
            self._stack = [outer._replace(encoding=name) for outer in self._stack]

    def _decode(self) -> None:
        if self._bytes:
            text, self._bytes = self._bytes.decode(self._state.encoding, "replace"), bytearray()
            self._write(text)

    def _write(self, text: str) -> None:
        state = self._state
        if not state.part or state.part == "styles":
            return
        for name, is_left in ("hidden texts", state.is_hidden and not self.flow.hidden), ("deletions", state.is_deleted):
            if is_left:
                self.flow.left_out[name] += bool(text.strip()) and name not in self._seen
                self._seen.add(name)
                return
        self._parts.setdefault(state.part, []).append((text, state.script))

    # Paragraphs and tables.

    def _layout(self, word: str) -> None:
        if word in {"par", "sect"}:
            self._end_paragraph()
        elif word == "trowd":
            if self._row_start is None:
                if any(text.strip() for text, _ in self._parts["text"]):
                    self._end_paragraph()
                self.flow.finish()
                self._row_start = len(self.flow.blocks)
            self._defined, self._merges = [], set()
        elif word == "trhdr":
            self._heads += self._heads == len(self._rows)
        elif word == "cellx":
            self._defined.append(self._merges)
            self._merges = set()
        elif word in {"cell", "row"}:
            self._end_cell() if word == "cell" else self._end_row()
        else:
            self._merges.add(word)

    def _end_paragraph(self, *, in_cell: bool = False) -> None:
        pieces, self._parts["text"] = self._parts["text"], []
        label = join_scripts(self._parts.pop("label", [])).strip()
        shapes, self._shapes, was_left, self._seen = self._shapes, [], bool(self._seen), set()
        text = join_scripts(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not (in_cell or self._row_start is not None or self._state.in_table):
            self._end_table()
        if not label and (typed := _BULLET.match(text)):
            label, text = "•", text[typed.end() :]
        name = self._names.get(self._state.style, "")
        kind, level, is_contents = kind_of_style(name)
        level = self._state.level or self._levels.get(self._state.style, 0) or level
        if label:
            label = label if any(map(str.isalnum, label)) else bullet(label)
        if text.strip() or not was_left:
            self.flow.paragraph(kind or "paragraph", text, label=label, depth=self._state.depth, level=level if level < 10 else 0, is_contents=is_contents)
        for shape in shapes:
            self.flow.finish()
            shape()

    def _end_cell(self) -> None:
        if self._row_start is None:
            self._row_start = len(self.flow.blocks)
        self._end_paragraph(in_cell=True)
        self.flow.finish()
        self._cells.append(self.flow.blocks[self._row_start :])
        del self.flow.blocks[self._row_start :]

    def _end_row(self) -> None:
        row, above = list[TableCell](), self._rows[-1] if self._rows else []
        for i, blocks in enumerate(self._cells):
            merges = self._defined[i] if i < len(self._defined) else set()
            if "clmrg" in merges and row:
                row[-1].columns += 1
                row[-1].blocks += blocks
            elif "clvmrg" in merges and i < len(above):
                row.append(above[i])
                above[i].rows += 1
                above[i].blocks += blocks
            else:
                row.append(TableCell(blocks))
        self._rows.append(row)
        self._cells, self._row_start = [], None

    def _end_table(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            seen = set[int]()
            own = [[cell for cell in row if not (id(cell) in seen or seen.add(id(cell)))] for row in rows]
            add_table(self.flow, [own], self._heads)
        self._heads = 0
