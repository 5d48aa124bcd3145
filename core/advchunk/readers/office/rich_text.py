"""Read RTF (version 1.9.1 of its specification)."""

import codecs
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

from advchunk.readers.counting import bullet
from advchunk.readers.inline import join_scripts
from advchunk.readers.office.flow import Flow, TableRows, field_target, link
from advchunk.readers.office.word_styles import kind_of_style
from advchunk.readers.table_layout import TableCell
from advchunk.readers.writing import TextBlock, squeeze

_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[\da-fA-F]{2})|\\(?P<sign>[^a-zA-Z])"
    r"|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)",
    re.DOTALL,
)
# Words by what they do: the code pages of charsets, signs, groups with a text of their own, groups that are counted ...
_WORDS: Mapping[str, Any] = json.loads(files(__package__).joinpath("rich_text.json").read_text("utf-8"))
_SIGNS, _PARTS, _COUNTED = _WORDS["signs"], _WORDS["parts"], _WORDS["counted"]
_SKIPPED, _LAYOUT = frozenset(_WORDS["skipped"]), frozenset(_WORDS["layout"])
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
    target: str = ""  # of a link


_PROPERTIES: Mapping[str, Callable[[int], dict[str, Any]]] = {  # of the state, by the number of the word
    "pard": lambda _: {"style": 0, "level": 0, "depth": 0, "in_table": False},
    "plain": lambda _: {"script": "", "is_hidden": False, "is_deleted": False},
    "super": lambda on: {"script": "sup" if on else ""},
    "sub": lambda on: {"script": "sub" if on else ""},
    "nosupersub": lambda _: {"script": ""},
    "v": lambda on: {"is_hidden": bool(on)},
    "deleted": lambda on: {"is_deleted": bool(on)},
    "s": lambda style: {"style": style},
    "outlinelevel": lambda level: {"level": level + 1 if 0 <= level < 9 else 0},
    "ilvl": lambda depth: {"depth": min(max(depth, 0), 8)},
    "intbl": lambda on: {"in_table": bool(on)},
    "uc": lambda count: {"fallback": min(max(count, 0), 10)},
}


def read_rich_text(data: bytes, flow: Flow) -> None:
    """Read a file of RTF."""
    _Reader(flow).read(data.decode("latin-1"))


class _Reader:
    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._state, self._stack = _State(), list[_State]()
        self._parts = {"text": list[tuple[str, str]]()}  # the pieces of the parts that are open
        self._bytes, self._ignored = bytearray(), 0  # those to decode; characters to pass over
        self._target, self._link_start = "", 0  # of the link that is open, and the piece at which it begins
        self._counted = set[str]()  # kinds of text that the open paragraph leaves out
        self._fonts, self._font = dict[int, str](), 0  # encodings; -1 is that of the file
        self._styles = dict[int, tuple[str, int]]()  # their names, and the levels of their headings
        self._table, self._cells, self._is_head = TableRows(), list[list[TextBlock]](), False
        self._row_start: int | None = None  # the first block of the open cell
        self._defined, self._merges = list[set[str]](), set[str]()  # cells of the row, and flags of the next

    def read(self, text: str) -> None:
        """Read the tokens of a file."""
        place = 0
        while match := _TOKEN.match(text, place):
            place = match.end()
            if match["word"] == "bin" and match["number"]:
                place += max(int(match["number"]), 0)
            elif match["hex"] or match["text"]:
                own = bytes.fromhex(match["hex"]) if match["hex"] else match["text"].encode("latin-1")
                self._bytes += own[self._ignored :]
                self._ignored = max(self._ignored - len(own), 0)
            elif match["sign"] == "*":
                self._decode()
                following = _TOKEN.match(text, place)
                if following and following["word"] not in {None, *_WORDS["starred"]}:  # a destination that is not known
                    self._skip(following["word"])
                    place = following.end()
            elif match.lastgroup:
                self._decode()
                self._token(match)
        self._decode()
        self.flow.left_out["damaged parts"] += bool(self._stack)  # groups that are not closed
        self._end_paragraph()
        self._end_table()
        self.flow.write_notes()

    def _token(self, match: re.Match[str]) -> None:
        if match["brace"] == "{":
            self._stack.append(self._state)
        elif match["brace"]:
            self._close()
        elif match["sign"] in {"\r", "\n"}:  # so TextEdit ends paragraphs
            self._word("par", 1)
        elif match["sign"]:
            self._write(_WORDS["escaped"].get(match["sign"], ""))
        elif match["word"] == "u":
            self._ignored = self._state.fallback
            self._write(chr(int(match["number"] or 1) % 65536))
        else:
            self._word(match["word"], int(match["number"] or 1))

    def _skip(self, word: str) -> None:
        if self._state.part and word in _COUNTED:
            self.flow.left_out[_COUNTED[word]] += 1
        self._state = self._state._replace(part="")

    def _close(self) -> None:
        inner, self._state = self._state, self._stack.pop() if self._stack else self._state
        if inner.part and inner.target != self._state.target and inner.part in self._parts:
            start, pieces = self._link_start, self._parts[inner.part]
            pieces[start:] = link(pieces[start:], inner.target)
        if inner.part in {"", "text"} or (inner.part == self._state.part and inner.part != "styles"):
            return
        text = join_scripts(self.flow.shown(self._parts.pop(inner.part, [])))
        if inner.part == "instruction":
            self._target = field_target(text)
        elif inner.part == "styles":
            self._styles.setdefault(inner.style, (text.strip().rstrip(";"), inner.level))
        elif inner.part == "note":
            note = self.flow.note([TextBlock("paragraph", text)])
            self._parts.setdefault(self._state.part, []).append((note, ""))
        elif inner.part == "box":
            self.flow.shapes.append(partial(self.flow.paragraph, "paragraph", text.replace("\n", "\n\n")))
        elif inner.part == "label":
            self._parts["label"] = [(text, "")]  # of the open paragraph
        elif squeeze(text):
            self.flow.fields[inner.part] = squeeze(text)

    def _word(self, word: str, number: int) -> None:
        state = self._state
        if word in _SIGNS:
            self._write(_SIGNS[word])
        elif word in _LAYOUT:
            if state.part == "text":
                self._layout(word)
            elif word == "par":
                self._write("\n")
        elif word in _PROPERTIES:
            self._state = state._replace(**_PROPERTIES[word](number))
        elif word in {"ansicpg", "f", "fcharset"}:
            self._set_encoding(word, number)
        elif word == "fldrslt":
            self._state, self._target = state._replace(target=self._target), ""
            self._link_start = len(self._parts.get(state.part, ()))
        elif word in _PARTS and (state.part or word in {"title", "author"}):
            self._state = state._replace(part=_PARTS[word], script="", is_hidden=False)
            self._parts[_PARTS[word]] = []
        elif word in _COUNTED or word in _SKIPPED:
            self._skip(word)

    def _set_encoding(self, word: str, number: int) -> None:
        if word == "f":
            self._font = number
            self._state = self._state._replace(encoding=self._fonts.get(number, self._fonts.get(-1, "cp1252")))
            return
        name = f"cp{_WORDS['code_pages'].get(str(number), 0) if word == 'fcharset' else number}"
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
        if state.part and (state.is_deleted or (state.is_hidden and not self.flow.hidden)):
            name = "deletions" if state.is_deleted else "hidden texts"
            self.flow.left_out[name] += bool(text.strip()) and name not in self._counted
            self._counted.add(name)
        elif state.part:
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
            self._is_head = True
        elif word == "cellx":
            self._defined.append(self._merges)
            self._merges = set()
        elif word in {"cell", "row"}:
            self._end_cell() if word == "cell" else self._end_row()
        else:
            self._merges.add(word)

    def _end_paragraph(self) -> None:
        pieces, self._parts["text"] = self._parts["text"], []
        label = join_scripts(self._parts.pop("label", [])).strip()
        was_left, self._counted = bool(self._counted), set()
        if self._row_start is None and not self._state.in_table:
            self._end_table()
        name, outline = self._styles.get(self._state.style, ("", 0))
        kind, level, is_contents = kind_of_style(name)
        level = self._state.level or outline or level
        text = join_scripts(self.flow.shown(pieces, is_plain=bool(level) or kind == "code" or is_contents))
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not label and (typed := _BULLET.match(text)):
            label, text = "•", text[typed.end() :]
        if label and (label == "o" or not any(map(str.isalnum, label))):
            label = bullet(label)
        if text.strip() or not was_left:
            about: dict[str, Any] = {"label": label, "depth": self._state.depth, "level": level}
            self.flow.paragraph(kind or "paragraph", text, is_contents=is_contents, **about)
        self.flow.write_shapes()

    def _end_cell(self) -> None:
        if self._row_start is None:
            self._row_start = len(self.flow.blocks)
        self._end_paragraph()
        self.flow.finish()
        self._cells.append(self.flow.blocks[self._row_start :])
        del self.flow.blocks[self._row_start :]

    def _end_row(self) -> None:
        self._table.begin_row(is_head=self._is_head)
        for i, blocks in enumerate(self._cells):
            merges = self._defined[i] if i < len(self._defined) else set()
            self._table.add(TableCell(blocks), is_below="clvmrg" in merges, is_after="clmrg" in merges)
        self._cells, self._row_start, self._is_head = [], None, False

    def _end_table(self) -> None:
        if self._table.rows:
            self._table.write(self.flow)
        self._table = TableRows()
