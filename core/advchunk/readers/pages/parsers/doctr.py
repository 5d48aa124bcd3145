"""Read docTR's results: the JSON of ``Document.export()``, the dict, or the document itself.

If it includes a layout, its regions and its recognized tables are used; else its blocks, read column by column. Boxes
are in pixels of docTR's input images. See docTR 1.1, with or without ``detect_layout`` and tables.
"""

from advchunk.readers.json import Object
from advchunk.readers.pages.parsers.elements import ElementReader, ElementWriter, check_keys, points_box
from advchunk.readers.pages.regions.corrections import Part
from advchunk.readers.pages.regions.document import DetectedPage, read_detected
from advchunk.readers.pages.regions.shapes import Box, Detected, Line, Sheet, fraction_inside
from advchunk.readers.table_layout import Cell
from advchunk.records import Document

_INSIDE = 0.5  # of a region inside a recognized table


def _write(root: Object, writer: ElementWriter) -> Document:
    pages = [_page(page, writer) for page in check_keys(root, "pages").objects("pages")]
    return read_detected(pages, keeps_furniture=writer.keeps_furniture)


def _page(page: Object, writer: ElementWriter) -> DetectedPage:
    height, width = (*page.numbers("dimensions"), 0.0, 0.0)[:2]
    sheet = Sheet(page.integer("page_idx") + 1, width or 1.0, height or 1.0)

    def box_of(item: Object) -> Box:
        left, top, right, bottom = points_box(item.numbers("geometry")) or (0.0, 0.0, 0.0, 0.0)
        return left * sheet.width, top * sheet.height, right * sheet.width, bottom * sheet.height

    blocks, lines = page.objects("blocks"), list[Line]()
    for line in (line for block in blocks for line in block.objects("lines")):
        if (text := " ".join(word.text("value") for word in line.objects("words"))).strip():
            lines.append(Line(text, box_of(line)))
    layout = page.objects("layout")
    items = layout or [item for block in blocks for item in block.objects("artifacts")]
    detections = [Detected(item.text("type"), box_of(item), item.number("confidence")) for item in items]
    if not layout:
        detections += [Detected("text", box_of(block)) for block in blocks]
    tables = [(box_of(table), _table(table, writer)) for table in page.objects("tables")]
    # docTR removes the words of recognized tables from the blocks
    detections = [item for item in detections if not any(fraction_inside(item.box, box) > _INSIDE for box, _ in tables)]
    parts = [Part("table", 0, [Line(text, box)], text, is_whole=True) for box, text in tables]
    return DetectedPage(sheet, lines, detections, fixed=parts, is_ordered=False)


def _table(table: Object, writer: ElementWriter) -> str:
    cells = list[Cell]()
    for cell in table.objects("cells"):
        row, column = cell.integer("row_start"), cell.integer("col_start")
        rows, columns = cell.integer("row_end") + 1 - row, cell.integer("col_end") + 1 - column
        cells.append(Cell(cell.text("value"), row, column, rows, columns, is_head=row == 0))
    return writer.table_text(cells, table.at("cells"))


read = document = ElementReader("doctr", _write).read
