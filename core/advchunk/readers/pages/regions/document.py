"""Build a document from the regions of its pages."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from statistics import median
from typing import Any, NamedTuple

from advchunk.readers.pages.regions.assignment import build_regions, sort_regions
from advchunk.readers.pages.regions.code import find_code
from advchunk.readers.pages.regions.grids import Grid, GridTable, aligned_tables, read_grid
from advchunk.readers.pages.regions.prose import continues_sentence, group_rows, join_lines, region_text
from advchunk.readers.pages.regions.setting import Setting
from advchunk.readers.pages.regions.shapes import (
    Detected,
    Line,
    Region,
    Sheet,
    bounding_box,
    fraction_inside,
    interval_overlap,
)
from advchunk.readers.writing import Furniture, Writer, squeeze
from advchunk.records import BlockKind, Document, Place

_MARGIN = 0.12  # of a page, at its top and bottom, where headers and footers are
_RUNNING = 3  # rows of a header or footer
_SHIFT = 0.02  # of a page, by which their height may differ between pages
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|p\.|seite|página|pagina)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2})*(?=[.)]?\s)")
_EDGE = 0.05  # of the width of a table, by which the edges of its parts may differ
_LEAST_PROSE = 0.2  # of the characters of a file
_LARGE = 1.2  # times the usual size: a title above the other headings
_FLOATING: frozenset[BlockKind] = frozenset({"figure", "table", "caption", "footnote", "furniture"})


class DetectedPage(NamedTuple):
    """A page, its lines, what a detector finds on it, and the tables that are drawn with lines."""

    sheet: Sheet
    lines: list[Line]
    detections: list[Detected]
    grids: Sequence[Grid] = ()


class Page(NamedTuple):
    """A page and its regions in reading order."""

    sheet: Sheet
    regions: list[Region]


def build_pages(pages: Sequence[DetectedPage]) -> list[Page]:
    """Find the regions of all pages of a file.

    Running headers, tables that are drawn with lines, code, and lines that run up or down the page are found first, by what
    repeats, by the drawing, by fonts and by heights, because detectors find them badly.
    """
    pages = [page if page.detections else page._replace(detections=aligned_tables(page.lines)) for page in pages]
    usual, built = _usual(pages), list[Page]()
    for page, running in zip(pages, _running_lines(pages, usual), strict=True):
        setting = usual.on_page(page.lines)
        tilted = _tilted_lines(page.lines)
        lines = _without(page.lines, [*running, *tilted])
        drawn = list[GridTable]()
        for grid in page.grids:
            if table := read_grid(grid, lines, usual.hyphenated):
                drawn.append(table)
                lines = _without(lines, table.lines)
        code = find_code(lines, setting)
        for piece in code:
            lines = _without(lines, piece)
        regions = build_regions(page.sheet, lines, page.detections, usual)
        regions += [_fixed_region("furniture", page.sheet, row) for row in group_rows(running)]
        regions += [_fixed_region("paragraph", page.sheet, [line]) for line in tilted]
        regions += [_fixed_region("code", page.sheet, piece) for piece in code]
        regions += [Region("table", page.sheet.page, table.box, table.text) for table in drawn]
        built.append(Page(page.sheet, sort_regions(page.sheet, regions, right_to_left=setting.right_to_left)))
    return built


def _usual(pages: Sequence[DetectedPage]) -> Setting:
    """Return the setting of the lines outside of tables and code, which may be most of a file; of all lines if prose is rare."""
    lines, prose = [line for page in pages for line in page.lines], list[Line]()
    for page in pages:
        boxes = [detection.box for detection in page.detections if detection.kind == "table"]
        boxes += [bounding_box(box for row in grid for box in row if box) for grid in page.grids]
        others = (line for line in page.lines if not line.font.mono)
        prose += [line for line in others if not any(fraction_inside(line.box, box) > 1 / 2 for box in boxes)]
    everything, usual = Setting.of(lines), Setting.of(prose)
    is_rare = sum(len(line.text) for line in prose) < _LEAST_PROSE * sum(len(line.text) for line in lines)
    return everything if is_rare or not usual.height else everything._replace(font=usual.font, height=usual.height)


def _tilted_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that run up or down the page, such as stamps; none if most lines do, as on a turned page."""
    tilted = [line for line in lines if not line.is_level]
    return tilted if 2 * len(tilted) < len(lines) else []


def _row_kind(row: Sequence[Line], setting: Setting) -> BlockKind:
    return "heading" if all(map(setting.is_large, row)) else "paragraph"


def _without(lines: Sequence[Line], taken: Sequence[Line]) -> list[Line]:
    ids = {id(line) for line in taken}
    return [line for line in lines if id(line) not in ids]


def _fixed_region(kind: BlockKind, sheet: Sheet, lines: Sequence[Line]) -> Region:
    box, size = bounding_box(line.box for line in lines), median(line.height for line in lines)
    return Region(kind, sheet.page, box, region_text(kind, lines, ()), 1.0, 0, size)


def _running_lines(pages: Sequence[DetectedPage], setting: Setting) -> list[list[Line]]:
    """Return the lines of each page that are headers, footers or page numbers: its first or last rows that repeat.

    A row that repeats inside a page, or a row of several numbers, may be one of a table.
    """
    rows = [group_rows(line for line in page.lines if line.is_level) for page in pages]
    ends = [
        page_rows if len(page_rows) <= 2 * _RUNNING else page_rows[:_RUNNING] + page_rows[-_RUNNING:]
        for page_rows in rows
    ]
    marked = mark_furniture(
        [
            Page(page.sheet, [_fixed_region(_row_kind(row, setting), page.sheet, row) for row in page_ends])
            for page, page_ends in zip(pages, ends, strict=True)
        ]
    )
    running = list[list[Line]]()
    for page_ends, page in zip(ends, marked, strict=True):
        repeated = [
            region.kind == "furniture" and (len(row) <= 2 or any(map(str.isalpha, region.text)))
            for row, region in zip(page_ends, page.regions, strict=True)
        ]
        first = len([*takewhile(bool, repeated)])
        last = len([*takewhile(bool, reversed(repeated[first:]))])
        running.append([line for row in page_ends[:first] + page_ends[len(page_ends) - last :] for line in row])
    return running


def build_document(
    pages: Sequence[Page], *, furniture: Furniture = "drop", id: str = "", metadata: Mapping[str, Any] | None = None
) -> Document:
    """Build a document from the regions of all pages, and join paragraphs across columns and pages, and tables across pages.

    A paragraph that does not end a sentence continues in the next one if that begins in lower case, also across floating
    regions; both are one block with several places. The level of a heading is that of its number, else the detector's, else
    2, or 1 for a larger one. The place of a picture without text is added to its caption. Headers, footers and page numbers
    are dropped, or kept as blocks.
    """
    regions = [region for page in mark_furniture(pages) for region in page.regions]
    if furniture == "drop":
        regions = [region for region in regions if region.kind != "furniture"]
    usual, writer = median([region.size for region in regions if region.kind == "heading"] or [0.0]), Writer("pages")
    for region, places in _join_regions(regions):
        title = squeeze(region.text) if region.kind == "heading" else None
        writer.add(region.kind, region.text, _level(region, usual), title=title, places=dict.fromkeys(places))
    return writer.document(id, metadata)


def mark_furniture(pages: Sequence[Page]) -> list[Page]:
    """Return pages whose headers, footers and page numbers are of the kind "furniture".

    These are texts in the margin that, apart from the digits of those that are not headings, are at the same height on three pages, or on most pages;
    texts that a detector labels as furniture, here or on another page; and numbers without other text beside them. Furniture
    outside the margin becomes a paragraph.
    """
    repeats = defaultdict[str, list[tuple[float, int, bool]]](list)  # height, page, and whether a detector says so
    for sheet, regions in pages:
        for region in regions:
            if _in_margin(sheet, region) and region.text:
                repeats[_pattern(region)].append((region.box[1] / sheet.height, sheet.page, region.kind == "furniture"))
    minimum = min(3, max(len(pages) // 2 + 1, 2))

    def is_repeated(sheet: Sheet, region: Region) -> bool:
        top = region.box[1] / sheet.height
        level = [repeat for repeat in repeats[_pattern(region)] if abs(repeat[0] - top) <= _SHIFT]
        return len({page for _, page, _ in level}) >= minimum or any(detected for *_, detected in level)

    def mark(sheet: Sheet, regions: list[Region]) -> Iterator[Region]:
        may_be = [_in_margin(sheet, region) and region.kind not in {"table", "figure"} for region in regions]
        repeated = [here and is_repeated(sheet, region) for here, region in zip(may_be, regions, strict=True)]
        sure = [
            here and (region.kind == "furniture" or any(map(str.isalpha, region.text)))
            for here, region in zip(repeated, regions, strict=True)
        ]
        for i, region in enumerate(regions):
            is_number = repeated[i] or (may_be[i] and _PAGE_NUMBER.fullmatch(region.text))
            if sure[i] or (is_number and not _has_neighbor(i, regions, sure)):
                yield region._replace(kind="furniture", level=0)
            else:
                yield region._replace(kind="paragraph") if region.kind == "furniture" else region

    return [Page(sheet, [*mark(sheet, regions)]) for sheet, regions in pages]


def _has_neighbor(i: int, regions: Sequence[Region], furniture: Sequence[bool]) -> bool:
    """Return True if a region has another on its row that is not furniture, as the numbers of a table have."""
    top, bottom = regions[i].box[1::2]
    others = (other for j, other in enumerate(regions) if j != i and not furniture[j])
    return any(interval_overlap((top, bottom), other.box[1::2]) > (bottom - top) / 2 for other in others)


def _in_margin(sheet: Sheet, region: Region) -> bool:
    return region.box[3] <= _MARGIN * sheet.height or region.box[1] >= (1 - _MARGIN) * sheet.height


def _pattern(region: Region) -> str:
    """Return the text by which a region repeats: without its digits, unless it is a heading, such as that of a chapter."""
    text = squeeze(region.text).casefold()
    return text if region.kind == "heading" else _DIGITS.sub("0", text)


def _level(region: Region, usual: float) -> int:
    """Return the level of a block; ``usual`` is the median size of headings."""
    if region.kind != "heading":
        return 1 if region.kind == "item" else 0
    if number := _NUMBERED.match(region.text):
        return number[0].count(".") + 2
    return region.level or (1 if region.size > usual * _LARGE else 2)


def _join_regions(regions: Iterable[Region]) -> list[tuple[Region, list[Place]]]:
    """Return the regions that become blocks, and their places: paragraphs joined, and pictures as places of captions."""
    parts, pictures = list[tuple[Region, list[Place]]](), list[Region]()
    last = -1  # index of the paragraph that may continue
    for region in regions:
        if not region.text.strip():
            pictures.append(region)
        elif region.kind == "paragraph" and last >= 0 and _continues(above := parts[last][0], region):
            places = [*parts[last][1], _place(region)]
            parts[last] = above._replace(text=join_lines([above.text, region.text])), places
        elif parts and _continues_table(*parts[-1], region):
            above, places = parts[-1]
            parts[-1] = above._replace(text=_join_tables(above.text, region.text)), [*places, _place(region)]
        else:
            parts.append((region, [_place(region)]))
            if region.kind not in _FLOATING:
                last = len(parts) - 1 if region.kind == "paragraph" else -1
    for picture in pictures:
        captions = [part for part in parts if part[0].kind == "caption" and part[0].page == picture.page]
        if captions:
            min(captions, key=lambda part: _distance(part[0], picture))[1].append(_place(picture))
    return parts


def _place(region: Region) -> Place:
    left, top, right, bottom = (round(x, 1) for x in region.box)
    return Place(region.page, (left, top, right, bottom))


def _continues(above: Region, below: Region) -> bool:
    sizes = sorted([above.size, below.size])
    return (not sizes[0] or sizes[1] <= 1.25 * sizes[0]) and continues_sentence(above.text, below.text)


def _continues_table(above: Region, places: Sequence[Place], below: Region) -> bool:
    """Return True if a table has as many columns as the one before it, which ends the page before and begins at the same edge."""
    first, second = (region.text.split("\n", 1)[0] for region in (above, below))
    return (
        above.kind == below.kind == "table"
        and below.page == places[-1].page + 1
        and first.startswith("|")
        and second.startswith("|")
        and first.count("|") == second.count("|")
        and abs(above.box[0] - below.box[0]) <= _EDGE * (above.box[2] - above.box[0])
    )


def _join_tables(above: str, below: str) -> str:
    """Join the parts of a table; a header that is repeated is in it once."""
    head, rule, *rows = below.split("\n")
    return "\n".join([above, *([] if above.startswith(f"{head}\n{rule}") else [head]), *rows])


def _distance(a: Region, b: Region) -> float:
    """Return the vertical plus the horizontal gap between two regions."""
    down = max(a.box[1] - b.box[3], b.box[1] - a.box[3], 0)
    return down + max(a.box[0] - b.box[2], b.box[0] - a.box[2], 0)
