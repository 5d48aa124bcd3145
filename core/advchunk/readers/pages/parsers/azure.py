"""Read the ``AnalyzeResult`` of Azure Document Intelligence: its JSON, that of the service, or the object.

If its content is Markdown, that is the text, unchanged, so that chunks are spans of it. If it is plain text, the text
is made of the paragraphs and tables in their order; a paragraph in a table comes in the table only. Boxes of PDFs are
in points, those of pictures in pixels. See azure-ai-documentintelligence 1.0.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from advchunk.errors import require
from advchunk.readers import markdown
from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter, check_keys, kinds_of, points_place
from advchunk.readers.table_layout import Cell
from advchunk.readers.writing import squeeze
from advchunk.records import Block, BlockKind, Document, Ints, Place, Span, SpanSet
from advchunk.text import tiling

_ROLES = kinds_of("azure")
_KEYS = frozenset({
    "apiVersion", "modelId", "stringIndexType", "contentFormat", "content", "pages", "paragraphs", "tables", "figures", "sections",  # noqa: E501
    "keyValuePairs", "styles", "languages", "documents", "warnings",
})  # fmt: skip
_INCH = 72.0  # points


def restore_layout(loaded: Document) -> Document | None:
    """Return a loaded document with the layout of the result in its metadata, which is left out; None for others."""
    if not {"stringIndexType", "content"} <= loaded.metadata.keys():
        return None
    rest = {key: value for key, value in loaded.metadata.items() if key not in _KEYS}
    return document(dict(loaded.metadata), id=loaded.id, metadata=rest)


class _Element(NamedTuple):
    """A paragraph or a table, its reference, its spans in the content, and its places."""

    item: Object
    ref: str
    spans: Sequence[Span]
    places: Sequence[Place]


class _Result:
    """A result: ``elements`` are its tables, and its paragraphs outside them, in order."""

    def __init__(self, root: Object) -> None:
        root = check_keys(root, "stringIndexType", "analyzeResult")
        self.root = check_keys(root.object("analyzeResult") or root, "content")
        self.content = self.root.text("content")
        self._offsets = _unit_offsets(self.content, self.root.text("stringIndexType"))
        pages = self.root.objects("pages")
        self._scales = {page.integer("pageNumber"): _INCH if page.text("unit") == "inch" else 1.0 for page in pages}
        self.notes = self._notes()
        tables, paragraphs = ([*self._read(key)] for key in ("tables", "paragraphs"))
        in_tables = SpanSet(sorted(span for table in tables for span in table.spans))
        inside = {item.ref for item in paragraphs if item.spans and item.spans[0].start in in_tables} - {*self.notes}
        elements = [*tables, *(item for item in paragraphs if item.ref not in inside)]
        self.elements = sorted(elements, key=lambda element: tuple(element.spans[:1]))
        titles = [squeeze(item.text("content")) for item, *_ in paragraphs if item.text("role") == "title"]
        self.title = titles[0] if len(titles) == 1 else ""
        self.metadata = {"title": self.title, "page_count": len(pages)}

    def _read(self, key: str) -> Iterator[_Element]:
        last = len(self._offsets) - 1
        for i, item in enumerate(self.root.objects(key)):
            spans, places = list[Span](), list[Place]()
            for span in item.objects("spans"):
                start, end = span.integer("offset"), span.integer("offset") + span.integer("length")
                require(0 <= start <= end <= last, f"{span.path} must be in the content, 0 to {last}", (start, end))
                spans.append(Span(int(self._offsets[start]), int(self._offsets[end])))
            for region in item.objects("boundingRegions"):
                page, points = region.integer("pageNumber"), region.numbers("polygon")
                places.append(points_place(page, points, self._scales.get(page, 1.0)))
            yield _Element(item, f"/{key}/{i}", spans, places)

    def _notes(self) -> dict[str, BlockKind]:
        """Return the references of paragraphs that are captions or footnotes of tables and figures."""
        kinds = dict[str, BlockKind]()
        for owner in [*self.root.objects("tables"), *self.root.objects("figures")]:
            kinds |= dict.fromkeys((owner.object("caption") or Object({})).texts("elements"), "caption")
            for note in owner.objects("footnotes"):
                kinds |= dict.fromkeys(note.texts("elements"), "footnote")
        return kinds

    def levels(self) -> dict[str, int]:
        """Return the depth of the section of each element, by its reference."""
        levels = dict[str, int]()
        for i, section in enumerate(self.root.objects("sections")):  # those above come first
            depth = levels.get(f"/sections/{i}", -1) + 1
            levels = dict.fromkeys(section.texts("elements"), depth) | levels
        return levels


def _write(root: Object, writer: ElementWriter) -> Document:
    result = _Result(root)
    if result.root.text("contentFormat") == "markdown":
        blocks = tuple(_block_places(result, markdown.blocks(result.content)))
        return Document(result.content, blocks=blocks, metadata=result.metadata, markup="azure")
    levels = result.levels()
    for item, ref, _, places in result.elements:
        text, role = item.text("content"), item.text("role")
        kind = result.notes.get(ref) or _ROLES.get(role, "paragraph")
        if ref.startswith("/tables/"):
            cells = [*map(_cell, item.objects("cells"))]
            writer.add_element("table", writer.table_text(cells, item.at("cells")), places=places)
        elif kind == "heading":
            title = "" if role == "title" and squeeze(text) == result.title else None
            writer.add_element(kind, text, levels.get(ref, 1), title=title, places=places)
        else:
            writer.add_element(kind, text, places=places)
    return writer.document(metadata=result.metadata)


def _cell(cell: Object) -> Cell:
    row, column = cell.integer("rowIndex"), cell.integer("columnIndex")
    rows, columns = max(cell.integer("rowSpan"), 1), max(cell.integer("columnSpan"), 1)
    return Cell(cell.text("content"), row, column, rows, columns, cell.text("kind") in {"columnHeader", "stubHead"})


def _unit_offsets(content: str, unit: str) -> Ints:
    """Return the offset in the content of each of its units, and of its end."""
    units = ("unicodeCodePoint", "utf16CodeUnit", "textElements")
    require(unit in units, f"stringIndexType must be one of {', '.join(units)}", unit)
    if unit == "textElements":
        return tiling.graphemes(content).edges
    points = np.arange(len(content) + 1)
    if unit == "unicodeCodePoint" or content.isascii():
        return points
    is_astral = np.frombuffer(content.encode("utf-32-le", "surrogatepass"), np.uint32) > 0xFFFF
    return np.repeat(points, np.r_[1 + is_astral, 1])


def _block_places(result: _Result, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks with the places of the elements that they overlap."""
    pairs = sorted(((span, element.places) for element in result.elements for span in element.spans), key=itemgetter(0))
    first = 0
    for block in blocks:
        while first < len(pairs) and pairs[first][0].end <= block.span.start:
            first += 1
        over = takewhile(lambda pair: pair[0].start < block.span.end, islice(pairs, first, None))  # noqa: B023 - used at once
        places = dict.fromkeys(place for _, own in over for place in own)
        title = "" if block.kind == "heading" and squeeze(block.title or "") == result.title else block.title
        yield replace(block, title=title, places=tuple(places) or block.places)


read = document = ElementReader("azure", _write).read
