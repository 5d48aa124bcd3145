"""Make blocks of the elements of other parsers."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from advchunk.errors import ConfigurationError, first_line, require
from advchunk.readers import html, markdown
from advchunk.readers.imrad import NumberedHeadings
from advchunk.readers.json import Object, load_json
from advchunk.readers.table_layout import Cell, filled_length, lay_out
from advchunk.readers.writing import Furniture, Writer, pipe_table, squeeze
from advchunk.records import Block, BlockKind, Document, Place

MAX_TABLE_LENGTH = 25_000_000
"""Characters of all tables of a document, with their spans filled."""

_MARKED = re.compile(r"(?:[^\w\s(]|\[[ x]\]|\(?\w{1,4}[.)])(?!\S)")  # a list item with its marker
_EXPORTS: Mapping[str, Mapping[str, Any]] = {
    "as_dict": {}, "export_to_dict": {}, "model_dump": {"mode": "json", "by_alias": True}, "to_dict": {}, "export": {},
    "tolist": {},
}  # fmt: skip


def kinds_of(parser: str) -> Mapping[str, BlockKind]:
    """Return the block kinds of the types of elements of a parser."""
    table = json.loads(files(__package__).joinpath("kinds.json").read_text("utf-8"))[parser]
    return {name: kind for kind, names in table.items() for name in names}


class ElementWriter(Writer):
    """A `Writer` of elements: text, Markdown, HTML or cells; without ``keeps_furniture``, that is left out."""

    def __init__(self, markup: str, *, keeps_furniture: bool = False) -> None:
        super().__init__(markup)
        self.keeps_furniture, self._headings, self._table_length = keeps_furniture, NumberedHeadings(), 0

    def add_element(
        self, kind: BlockKind, text: str, level: int = 0, *, title: str | None = None, places: Iterable[Place] = ()
    ) -> None:
        """Add an element as a block.

        A heading is one line, and below that of its number's first part; an item gets a marker unless it has one.
        """
        if kind == "furniture" and not self.keeps_furniture:
            return
        if kind == "heading":
            text = squeeze(text)
            level = self._headings.level(text, max(level, 1))
        elif kind == "item" and text.strip() and not _MARKED.match(text.strip()):
            text = f"- {text.strip()}"
        self.add(kind, text, level, title=title, places=places)

    def add_markdown(self, text: str, places: Sequence[Place] = ()) -> None:
        """Add the blocks of a Markdown text."""
        self._add_blocks(text, markdown.blocks(text), places)

    def add_html(self, text: str, kind: BlockKind | None = None, places: Sequence[Place] = ()) -> None:
        """Add the blocks of an HTML fragment, or its text as one block of a kind; a table keeps its rows."""
        part = html.read(text)
        if kind is None or (kind == "table" and any(block.kind == "table" for block in part.blocks or ())):
            self._add_blocks(part.text, part.blocks or (), places)
        else:
            self.add_element(kind, part.text, int(kind == "item"), places=places)

    def _add_blocks(self, text: str, blocks: Iterable[Block], places: Sequence[Place]) -> None:
        for block in blocks:
            own = (block.kind == "heading" and block.title) or text[slice(*block.span)]
            self.add_element(block.kind, own, block.level, places=places)

    def table_text(self, cells: Sequence[Cell], path: str) -> str:
        """Return the text of a table; `ConfigurationError` with the path if its cells are nowhere, or too large."""
        wrong = [tuple(cell[1:5]) for cell in cells if min(cell.row, cell.column, cell.rows - 1, cell.columns - 1) < 0]
        require(not wrong, f"{path} must have rows and columns >= 0, and spans >= 1", wrong[:3])
        self._table_length += filled_length(cells)
        rule = f"tables must have at most {MAX_TABLE_LENGTH:,} characters, their spans filled, at {path}"
        require(self._table_length <= MAX_TABLE_LENGTH, rule, self._table_length)
        return pipe_table(*lay_out(cells))


@dataclass(frozen=True)
class ElementReader:
    """Reads the documents of a parser. ``write`` writes the elements, and returns the document, with its own metadata;
    ``key`` is that of the elements, if they are a list without anything else.
    """

    markup: str
    write: Callable[[Object, ElementWriter], Document]
    key: str = ""

    def read(
        self, result: Any, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
    ) -> Document:
        """Read the JSON of a document, or a result of the parser: its objects, or what is in its JSON. Raise
        `ConfigurationError`, with the path, for other JSON, and `MissingExtra` without the parser of its HTML.
        """
        require(furniture in {"drop", "keep"}, "furniture must be 'drop' or 'keep'", furniture)
        value = load_json(result) if isinstance(result, str) else _to_plain(result)
        root = Object({self.key: value} if self.key and isinstance(value, list) else value)
        own = self.write(root, ElementWriter(self.markup, keeps_furniture=furniture == "keep"))
        about = {key: value for key, value in own.metadata.items() if value} | dict(metadata or {})
        return replace(own, id=id, metadata=about)


def _to_plain(result: Any) -> Any:
    """Return the content of an object, or of a list of them, as in its JSON."""
    try:
        return json.loads(json.dumps(result, default=_export))
    except (TypeError, ValueError, RecursionError) as error:
        rule = f"a result must be JSON, or objects with {', '.join(_EXPORTS)}"
        msg = f"{rule}, got {type(result).__name__}: {first_line(error)}"
        raise ConfigurationError(msg) from None


def _export(item: Any) -> Any:
    name = next((name for name in _EXPORTS if hasattr(item, name)), None)
    require(name is not None, "a value must be of a type that JSON has", type(item).__name__)
    return getattr(item, str(name))(**_EXPORTS[str(name)])


def check_keys(item: Object, *keys: str) -> Object:
    """Return an object that has one of the keys that all of its kind have, or raise `ConfigurationError`."""
    rule = f"{item.path or 'the root'} must have {' or '.join(keys)}"
    require(any(key in item for key in keys), rule, [*item][:10])
    return item


def points_box(points: Sequence[float]) -> tuple[float, float, float, float] | None:
    """Return the box around points, alternating x and y; None for less than two."""
    x, y = points[::2], points[1::2]
    return (min(x), min(y), max(x), max(y)) if len(x) == len(y) > 1 else None


def points_place(page: int, points: Sequence[float], scale: float = 1.0) -> Place:
    """Return a place with the box around points (`points_box`), times ``scale``."""
    if (box := points_box(points)) is None:
        return Place(page)
    left, top, right, bottom = (round(side * scale, 2) for side in box)
    return Place(page, (left, top, right, bottom))
