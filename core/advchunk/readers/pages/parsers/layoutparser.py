"""Read layoutparser's results: the JSON of a layout or of a list of them, one a page, or the objects.

Blocks with text are regions of their ``type``, and those without are pictures. If texts lie inside blocks without
text, as the words of OCR or of ``load_pdf`` in the result of a detector alone, they are their contents, and texts
beside them whose type no detector uses are paragraphs. Types must be names: pass a ``label_map`` to the model. Boxes
are in layoutparser's unit, pixels. See layoutparser 0.3, ``Layout.to_dict``.
"""

from advchunk.errors import require
from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter, check_keys, points_box
from advchunk.readers.pages.regions import shapes
from advchunk.readers.pages.regions.corrections import Part
from advchunk.readers.pages.regions.document import DetectedPage, read_detected
from advchunk.readers.pages.regions.prose import join_lines
from advchunk.readers.pages.regions.shapes import Box, Detected, Line, Sheet, bounding_box, fraction_inside
from advchunk.records import Document

_VERBATIM = frozenset({"table", "figure", "code", "formula"})
_INSIDE = 0.5  # of a text inside a block without text, whose content it is


def _write(root: Object, writer: ElementWriter) -> Document:
    pages = check_keys(root, "blocks").objects("blocks")
    if not any("blocks" in page for page in pages):
        pages = [root]
    loose = [page.path for page in pages if _rectangle(page)]
    require(not loose, "a list must hold layouts of layoutparser, one per page, or blocks, not both", loose)
    detected = [_page(page, i) for i, page in enumerate(pages, start=1)]
    return read_detected(detected, keeps_furniture=writer.keeps_furniture)


def _page(page: Object, number: int) -> DetectedPage:
    blocks = [(block, box) for block in page.objects("blocks") if (box := _rectangle(block))]
    data = page.object("page_data") or Object({})
    extent = bounding_box(box for _, box in blocks) if blocks else (0.0, 0.0, 0.0, 0.0)
    number = data.integer("index") + 1 if "index" in data else number
    sheet = Sheet(number, data.number("width") or extent[2], data.number("height") or extent[3])
    texts = [(block, box) for block, box in blocks if block.text("text").strip()]
    empty = [(block, box) for block, box in blocks if not block.text("text").strip()]
    inside = [any(fraction_inside(box, outer) > _INSIDE for _, outer in empty) for _, box in texts]
    lines, parts = list[Line](), list[Part]()
    for (block, box), is_inside in zip(texts, inside, strict=True):
        (kind, level), text = shapes.label_kind(block.name("type")), block.text("text")
        if is_inside or (any(inside) and not shapes.is_label(block.name("type"))):
            lines.append(Line(text, box))
        else:
            own = text if kind in _VERBATIM else join_lines(text.splitlines())
            parts.append(Part(kind, level, [Line(text, box)], own, is_whole=True))
    scores = (block.number("score") if "score" in block else 1.0 for block, _ in empty)
    detections = [Detected(block.name("type"), box, own) for (block, box), own in zip(empty, scores, strict=True)]
    return DetectedPage(sheet, lines, detections, fixed=parts, is_ordered=False)


def _rectangle(block: Object) -> Box | None:
    """Return the box of a rectangle or a quadrilateral; None for an interval."""
    points = block.numbers("points") or [block.number(side) for side in ("x_1", "y_1", "x_2", "y_2") if side in block]
    return points_box(points)


read = document = ElementReader("layoutparser", _write, key="blocks").read
