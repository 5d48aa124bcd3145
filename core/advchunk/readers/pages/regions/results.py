"""Read the results of layoutparser and docTR: their JSON, or their objects, without importing either library.

See layoutparser 0.3, ``Layout.to_dict``; docTR 1.1, ``Document.export``, with or without ``detect_layout`` and tables.
"""

import json as std
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Literal

from advchunk.errors import ConfigurationError, require
from advchunk.readers import json
from advchunk.readers.json import Object
from advchunk.readers.pages import docling
from advchunk.readers.pages.regions.assignment import build_regions, sort_regions
from advchunk.readers.pages.regions.document import Page, build_document, mark_running
from advchunk.readers.pages.regions.prose import is_right_to_left, join_lines
from advchunk.readers.pages.regions.setting import Setting
from advchunk.readers.pages.regions.shapes import (
    Box,
    Detected,
    Line,
    Region,
    Sheet,
    bounding_box,
    fraction_inside,
    is_label,
    label_kind,
)
from advchunk.readers.table_layout import Cell, lay_out
from advchunk.readers.writing import Furniture, pipe_table
from advchunk.records import Document

Source = Literal["docling", "layoutparser", "doctr"]

_MOST_CELLS = 200_000  # of a table, its spans filled
_VERBATIM = frozenset({"table", "figure", "code", "formula"})
_INSIDE = 0.5  # of a text inside a block without text, whose content it is
_JSON_START = 256  # characters within which a JSON text begins
_KEYS: Mapping[str, Source] = {
    "schema_name": "docling", "page_idx": "doctr", "page_data": "layoutparser", "block_type": "layoutparser",
}  # fmt: skip
_KEY = re.compile(f'"({"|".join(_KEYS)})"')


def detect_source(text: str) -> Source | None:
    """Return the library that wrote a JSON text, by the first key that only it uses; None if there is no such key.

    >>> [detect_source(text) for text in ('{"page_data": {}, "blocks": []}', '{"pages": [{"page_idx": 0}]}', "Tea.")]
    ['layoutparser', 'doctr', None]
    """
    is_json = text[:_JSON_START].lstrip("\ufeff \t\r\n").startswith(("{", "["))
    key = _KEY.search(text) if is_json else None
    return _KEYS[key[1]] if key else None


def read_layoutparser(
    layout: Any, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
) -> Document:
    """Read a result of layoutparser: the JSON of a layout or of a list of them, one per page, or the objects.

    Blocks with text are regions of their ``type``, and those without are pictures. If texts lie inside blocks without
    text, as the words of OCR or of ``load_pdf`` in the result of a detector alone, they are their contents, and texts
    beside them whose type no detector uses are paragraphs. Boxes keep
    layoutparser's unit, pixels. Types must be names: pass a ``label_map`` to the model. JSON that cannot be read or is
    not a layout raises `ConfigurationError` with the path.
    """
    pages = [_layout_page(page, i) for i, page in enumerate(_layouts(layout), start=1)]
    return _build(pages, "layoutparser", id, metadata, furniture)


def read_doctr(
    result: Any, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
) -> Document:
    """Read a result of docTR: the JSON of ``Document.export()``, the dict, or the document itself.

    If it includes a layout, its regions and its recognized tables are used; else its blocks, read column by column.
    Boxes are in pixels of docTR's input images. JSON that cannot be read or is not such a document raises
    `ConfigurationError` with the path.
    """
    export = json.parse_json(result) if isinstance(result, str) else Object(_to_plain(result, "export"))
    require("pages" in export, "a docTR document must have pages", list(export))
    pages = [_doctr_page(page) for page in export.objects("pages")]
    return _build(pages, "doctr", id, metadata, furniture)


READERS: Mapping[str, Callable[..., Document]]
READERS = {"docling": docling.read, "layoutparser": read_layoutparser, "doctr": read_doctr}
"""The reader of each source."""


def _build(
    pages: Sequence[Page], source: Source, id: str, metadata: Mapping[str, Any] | None, furniture: Furniture
) -> Document:
    metadata = {"page_count": len(pages), **(metadata or {})}
    document = build_document(mark_running(pages), furniture=furniture, id=id, metadata=metadata)
    rule = f"a result of {source} must have text: run its OCR, or read the PDF itself (readers.pdf.read)"
    require(bool(document.text) or not any(page.regions for page in pages), rule, f"{len(pages)} pages of boxes")
    return document


def _to_plain(value: Any, method: str) -> Any:
    """Return the JSON value of an object: the result of its own method, with arrays as lists."""
    value = getattr(value, method)() if hasattr(value, method) else value
    try:
        return std.loads(std.dumps(value, default=lambda x: x.tolist() if hasattr(x, "tolist") else vars(x)))
    except (TypeError, ValueError):
        msg = f"a result must be JSON, a dict, or an object with {method}(); got {type(value).__name__}"
        raise ConfigurationError(msg) from None


def _layouts(layout: Any) -> list[Object]:
    """Return the pages of layoutparser's result: one layout, a list of them, or a list of blocks, which is one page."""
    if isinstance(layout, str):
        is_object = layout.lstrip("\ufeff \t\r\n").startswith("{")
        whole = json.parse_json(layout if is_object else f'{{"blocks": {layout}}}')
    elif hasattr(layout, "to_dict") or isinstance(layout, Mapping):
        whole = Object(_to_plain(layout, "to_dict"))
    else:
        rule = "a result of layoutparser must be a Layout, a list of them, or their JSON"
        require(isinstance(layout, Iterable), rule, layout)
        whole = Object({"blocks": [_to_plain(page, "to_dict") for page in layout]})
    require("blocks" in whole, "a layout of layoutparser must have blocks", sorted(whole))
    pages = whole.objects("blocks")
    if not any("blocks" in page for page in pages):
        return [whole]
    loose = [page.path for page in pages if _rectangle(page)]
    require(not loose, "a list must hold layouts of layoutparser, one per page, or blocks, not both", loose)
    return pages


def _layout_page(page: Object, number: int) -> Page:
    blocks = [(block, box) for block in page.objects("blocks") if (box := _rectangle(block))]
    data = page.object("page_data") or Object({})
    extent = bounding_box(box for _, box in blocks) if blocks else (0.0, 0.0, 0.0, 0.0)
    number = data.integer("index") + 1 if "index" in data else number
    sheet = Sheet(number, data.number("width") or extent[2], data.number("height") or extent[3])
    texts = [(block, box) for block, box in blocks if block.text("text").strip()]
    right_to_left = is_right_to_left(block.text("text") for block, _ in texts)
    empty = [(block, box) for block, box in blocks if not block.text("text").strip()]
    inside = [any(fraction_inside(box, outer) > _INSIDE for _, outer in empty) for _, box in texts]
    regions = list[Region]()
    if empty:
        are_lines = [
            own or (any(inside) and not is_label(block.name("type")))
            for (block, _), own in zip(texts, inside, strict=True)
        ]
        lines = [Line(block.text("text"), box) for block, box in compress(texts, are_lines)]
        detections = [Detected(block.name("type"), box, _score(block)) for block, box in empty]
        regions += build_regions(sheet, lines, detections)
        texts = [text for text, is_line in zip(texts, are_lines, strict=True) if not is_line]
    for block, box in texts:
        kind, level = label_kind(block.name("type"))
        text = block.text("text") if kind in _VERBATIM else join_lines(block.text("text").splitlines())
        regions.append(Region(kind, number, box, text, _score(block), level))
    return Page(sheet, sort_regions(sheet, regions, right_to_left=right_to_left))


def _score(block: Object) -> float:
    return block.number("score") if "score" in block else 1.0


def _rectangle(block: Object) -> Box | None:
    """Return the box of a rectangle or a quadrilateral; None for an interval."""
    if "points" in block:
        return _box(block, "points")
    if "x_1" not in block:
        return None
    return block.number("x_1"), block.number("y_1"), block.number("x_2"), block.number("y_2")


def _box(item: Object, key: str) -> Box | None:
    """Return the bounding box of points: pairs, or alternating x and y."""
    points = item.numbers(key)
    x, y = points[::2], points[1::2]
    return (min(x), min(y), max(x), max(y)) if len(x) == len(y) > 1 else None


def _doctr_page(page: Object) -> Page:
    height, width = (*page.numbers("dimensions"), 0.0, 0.0)[:2]
    sheet = Sheet(page.integer("page_idx") + 1, width or 1.0, height or 1.0)

    def box_of(item: Object) -> Box:
        left, top, right, bottom = _box(item, "geometry") or (0.0, 0.0, 0.0, 0.0)
        return left * sheet.width, top * sheet.height, right * sheet.width, bottom * sheet.height

    blocks = [(box_of(block), _block_lines(block, box_of)) for block in page.objects("blocks")]
    lines = [line for _, block_lines in blocks for line in block_lines]
    setting = Setting.of(lines)

    def build(lines: Sequence[Line], detections: Iterable[Detected]) -> list[Region]:
        return build_regions(sheet, lines, detections, setting)

    layout = [Detected(item.text("type"), box_of(item), item.number("confidence")) for item in page.objects("layout")]
    tables = [_table(table, sheet.page, box_of(table)) for table in page.objects("tables")]
    if layout:  # docTR removes the words of recognized tables from the blocks
        layout = [item for item in layout if not any(fraction_inside(item.box, table.box) > 0.5 for table in tables)]
        regions = build(lines, layout)
    else:
        regions = [region for box, block_lines in blocks for region in build(block_lines, [Detected("text", box)])]
        regions += [
            Region(label_kind(item.text("type"))[0], sheet.page, box_of(item), "", item.number("confidence"))
            for block in page.objects("blocks")
            for item in block.objects("artifacts")
        ]
    return Page(sheet, sort_regions(sheet, [*regions, *tables], right_to_left=setting.right_to_left))


def _block_lines(block: Object, box_of: Callable[[Object], Box]) -> list[Line]:
    lines = ((" ".join(word.text("value") for word in line.objects("words")), line) for line in block.objects("lines"))
    return [Line(text, box_of(line)) for text, line in lines if text.strip()]


def _table(table: Object, page: int, box: Box) -> Region:
    """Read a table; a cell that spans several rows or columns is repeated in each."""
    cells = table.objects("cells")
    starts = [(cell.integer("row_start"), cell.integer("col_start")) for cell in cells]
    ends = [(cell.integer("row_end") + 1, cell.integer("col_end") + 1) for cell in cells]
    height, width = (max((end[i] for end in ends), default=0) for i in (0, 1))
    valid = all(0 <= start[i] < end[i] for start, end in zip(starts, ends, strict=True) for i in (0, 1))
    require(valid, f"{table.at('cells')} must have row_start <= row_end and col_start <= col_end, from 0", starts[:3])
    rule = f"{table.path} must have at most {_MOST_CELLS:,} cells, its spans filled"
    require(height * width <= _MOST_CELLS, rule, f"{height} x {width}")
    placed = zip(cells, starts, ends, strict=True)
    rows, _ = lay_out([Cell(cell.text("value"), *a, b[0] - a[0], b[1] - a[1]) for cell, a, b in placed])
    return Region("table", page, box, pipe_table(rows), table.number("confidence"))
