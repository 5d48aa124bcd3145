"""Read what layoutparser and docTR found on pages: their JSON, or their objects, of which nothing is imported.

References
----------
layoutparser 0.3, ``Layout.to_dict``; docTR 1.1, ``Document.export``, with or without ``detect_layout`` and tables.
"""

from __future__ import annotations

import json as std
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from advchunk.errors import ConfigurationError, require
from advchunk.readers import docling, json
from advchunk.readers.grids import Cell, laid_out
from advchunk.readers.json import Object
from advchunk.readers.regions.document import Page, build_document
from advchunk.readers.regions.page import build_regions, sort_regions
from advchunk.readers.regions.prose import hyphenated_words, is_right_to_left, join_lines
from advchunk.readers.regions.shapes import (
    Box,
    Detected,
    Line,
    Region,
    Sheet,
    bounding_box,
    fraction_inside,
    label_kind,
)
from advchunk.readers.writing import Furniture, pipe_table
from advchunk.records import Document

Source = Literal["docling", "layoutparser", "doctr"]

MOST_CELLS = 200_000
"""Cells of a table, its spans filled."""

_VERBATIM = frozenset({"table", "figure", "code", "formula"})
_FARTHEST = 1e15
_AT_ONCE = 256  # characters at the start of a text that show what made it


def detect_source(text: str) -> Source | None:
    """Tell which of the three made a JSON text, by the keys it has; None if none did.

    >>> detect_source('{"page_data": {}, "blocks": []}'), source_of('{"pages": [{"page_idx": 0}]}'), source_of("Tea.")
    ('layoutparser', 'doctr', None)
    """
    head = text[:_AT_ONCE].lstrip("\ufeff \t\r\n")
    if not head.startswith(("{", "[")):
        return None
    marks: Iterable[tuple[str, Source]] = (
        ('"schema_name"', "docling"),
        ('"page_idx"', "doctr"),
        ('"page_data"', "layoutparser"),
        ('"block_type"', "layoutparser"),
    )
    first = min(((at, source) for mark, source in marks if (at := text.find(mark)) >= 0), default=(0, None))
    return first[1]


def read_layoutparser(
    layout: Any, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
) -> Document:
    """Read what layoutparser found: the JSON of a layout or of a list of them, one a page, or the objects.

    Blocks with a text are regions by their ``type``. Where some have none, as what a detector alone returns, those are the
    regions, and the others, such as the words of its OCR or of ``load_pdf``, stand in them. Boxes keep layoutparser's unit,
    pixels. Types are to be names: give the model its ``label_map``.

    Raises
    ------
    ConfigurationError : JSON that cannot be read or is no layout; with the path.
    """
    pages = [_layout(page, i) for i, page in enumerate(_layouts(layout), start=1)]
    return _document(pages, "layoutparser", id, metadata, furniture)


def read_doctr(
    result: Any, *, id: str = "", metadata: Mapping[str, Any] | None = None, furniture: Furniture = "drop"
) -> Document:
    """Read what docTR found: the JSON of ``Document.export()``, the dict, or the document itself.

    Where it has detected the layout, its regions are taken, and its tables as it recognized them; else its blocks, which
    are read column by column. Boxes are in pixels of the pictures that docTR was given.

    Raises
    ------
    ConfigurationError : JSON that cannot be read or is no such document; with the path.
    """
    said = json.parse(result) if isinstance(result, str) else Object(_plain(result, "export"))
    require("pages" in said, "a docTR document must have pages", list(said))
    pages = [_exported(page) for page in said.objects("pages")]
    return _document(pages, "doctr", id, metadata, furniture)


def _document(
    pages: Sequence[Page], source: Source, id: str, metadata: Mapping[str, Any] | None, furniture: Furniture
) -> Document:
    document = build_document(
        pages, furniture=furniture, id=id, metadata={"page_count": len(pages), **(metadata or {})}
    )
    rule = f"what {source} found must have text: run its OCR, or give the PDF itself (readers.pdf.read)"
    require(bool(document.text) or not any(page.regions for page in pages), rule, f"{len(pages)} pages of boxes")
    return document


def _plain(value: Any, method: str) -> Any:
    """Return an object as JSON would: by its own method, arrays as lists."""
    said = getattr(value, method)() if hasattr(value, method) else value
    try:
        return std.loads(std.dumps(said, default=lambda each: each.tolist() if hasattr(each, "tolist") else vars(each)))
    except (TypeError, ValueError):
        msg = f"a result must be JSON, a dict, or an object with {method}(); got {type(value).__name__}"
        raise ConfigurationError(msg) from None


def _layouts(layout: Any) -> list[Object]:
    """Return the pages of layoutparser's: one layout, a list of them, or a list of blocks, which is a page."""
    if isinstance(layout, str):
        one = layout.lstrip("\ufeff \t\r\n").startswith("{")
        said = json.parse(layout if one else f'{{"blocks": {layout}}}')
    elif hasattr(layout, "to_dict") or isinstance(layout, Mapping):
        said = Object(_plain(layout, "to_dict"))
    else:
        require(isinstance(layout, Iterable), "layoutparser's must be a Layout, a list of them, or their JSON", layout)
        said = Object({"blocks": [_plain(page, "to_dict") for page in layout]})
    require("blocks" in said, "a layout of layoutparser's must have blocks", sorted(said))
    pages = said.objects("blocks")
    return pages if pages and all("blocks" in page for page in pages) else [said]


def _layout(page: Object, number: int) -> Page:
    blocks = [(block, box) for block in page.objects("blocks") if (box := _rectangle(block))]
    data = page.object("page_data") or Object({})
    extent = bounding_box(box for _, box in blocks) if blocks else (0.0, 0.0, 0.0, 0.0)
    number = data.whole("index") + 1 if "index" in data else number
    sheet = Sheet(number, data.number("width") or extent[2], data.number("height") or extent[3])
    said = [(block, box) for block, box in blocks if block.text("text").strip()]
    leftwards = is_right_to_left(block.text("text") for block, _ in said)
    if len(said) < len(blocks):
        silent = [(block, box) for block, box in blocks if not block.text("text").strip()]
        found = [Detected(block.name("type"), box, _score(block)) for block, box in silent]
        lines = [Line(block.text("text"), box) for block, box in said]
        return Page(sheet, build_regions(sheet, lines, found, right_to_left=leftwards))
    regions = list[Region]()
    for block, box in said:
        kind, level = label_kind(block.name("type"))
        text = block.text("text") if kind in _VERBATIM else join_lines(block.text("text").splitlines())
        regions.append(Region(kind, number, box, text, _score(block), level))
    return Page(sheet, sort_regions(sheet, regions, right_to_left=leftwards))


def _score(block: Object) -> float:
    return block.number("score") if "score" in block else 1.0


def _rectangle(block: Object) -> Box | None:
    """Return the box of a rectangle or a quadrilateral; an interval has none."""
    if "points" in block:
        return _box(block, "points")
    if "x_1" not in block:
        return None
    return block.number("x_1"), block.number("y_1"), block.number("x_2"), block.number("y_2")


def _box(of: Object, key: str) -> Box | None:
    """Return the box around points, which are pairs, or x and y in turn."""
    points = _numbers(of, key)
    x, y = points[::2], points[1::2]
    return (min(x), min(y), max(x), max(y)) if len(x) == len(y) > 1 else None


def _numbers(of: Object, key: str) -> list[float]:
    """Return the numbers of a list, or of lists within it."""
    found, rest = list[float](), of.values(key)[::-1]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest += value[::-1]
        else:
            right = isinstance(value, int | float) and abs(value) < _FARTHEST
            require(right, f"{of.at(key)} must be a list of numbers", value)
            found.append(float(value))
    return found


def _exported(page: Object) -> Page:
    height, width = (*_numbers(page, "dimensions"), 0.0, 0.0)[:2]
    sheet = Sheet(page.whole("page_idx") + 1, width or 1.0, height or 1.0)

    def placed(of: Object) -> Box:
        left, top, right, bottom = _box(of, "geometry") or (0.0, 0.0, 0.0, 0.0)
        return left * sheet.width, top * sheet.height, right * sheet.width, bottom * sheet.height

    blocks = [(placed(block), _read(block, placed)) for block in page.objects("blocks")]
    lines = [line for _, its_lines in blocks for line in its_lines]
    texts = [line.text for line in lines]
    known, leftwards = hyphenated_words(texts), is_right_to_left(texts)
    layout = [Detected(one.text("type"), placed(one), one.number("confidence")) for one in page.objects("layout")]
    tables = [_table(table, sheet.page, placed(table)) for table in page.objects("tables")]
    if layout:  # of a table that was recognized, docTR has taken the words out of the blocks
        layout = [one for one in layout if not any(fraction_inside(one.box, table.box) > 0.5 for table in tables)]
        regions = build_regions(sheet, lines, layout, known=known, right_to_left=leftwards)
    else:
        regions = [
            region
            for box, its_lines in blocks
            for region in build_regions(sheet, its_lines, [Detected("text", box)], known=known, right_to_left=leftwards)
        ]
        regions += [
            Region(label_kind(one.text("type"))[0], sheet.page, placed(one), "", one.number("confidence"))
            for block in page.objects("blocks")
            for one in block.objects("artifacts")
        ]
    return Page(sheet, sort_regions(sheet, [*regions, *tables], right_to_left=leftwards))


def _read(block: Object, placed: Callable[[Object], Box]) -> list[Line]:
    lines = ((" ".join(word.text("value") for word in line.objects("words")), line) for line in block.objects("lines"))
    return [Line(text, placed(line)) for text, line in lines if text.strip()]


def _table(table: Object, page: int, box: Box) -> Region:
    """Write a table; what spans several rows or columns is said in each, so that every row can be read by itself."""
    cells = table.objects("cells")
    ends = [(cell.whole("row_end") + 1, cell.whole("col_end") + 1) for cell in cells]
    starts = [(cell.whole("row_start"), cell.whole("col_start")) for cell in cells]
    height, width = (max((end[i] for end in ends), default=0) for i in (0, 1))
    right = all(0 <= start[i] < end[i] for start, end in zip(starts, ends, strict=True) for i in (0, 1))
    require(right, f"{table.at('cells')} must have row_start <= row_end and col_start <= col_end, from 0", starts[:3])
    rule = f"{table.path} must have at most {MOST_CELLS:,} cells, its spans filled"
    require(height * width <= MOST_CELLS, rule, f"{height} x {width}")
    placed = zip(cells, starts, ends, strict=True)
    rows, _ = laid_out([Cell(cell.text("value"), *a, b[0] - a[0], b[1] - a[1]) for cell, a, b in placed])
    return Region("table", page, box, pipe_table(rows), table.number("confidence"))


READERS: Mapping[str, Callable[..., Document]] = {
    "docling": docling.read,
    "layoutparser": read_layoutparser,
    "doctr": read_doctr,
}
"""What reads the JSON text of each."""
