"""Build a document from the regions of its pages."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from statistics import median
from typing import Any, NamedTuple

from advchunk.readers.pages.regions.assignment import cut_rows, part_regions, pictures
from advchunk.readers.pages.regions.code import find_code
from advchunk.readers.pages.regions.corrections import Part, correct
from advchunk.readers.pages.regions.grids import Grid, aligned_tables, read_grid
from advchunk.readers.pages.regions.prose import (
    UNKNOWN,
    WordList,
    continues_sentence,
    group_rows,
    join_lines,
    region_text,
)
from advchunk.readers.pages.regions.running import is_in_margin, running_heads
from advchunk.readers.pages.regions.setting import Setting
from advchunk.readers.pages.regions.shapes import (
    Detected,
    Line,
    Region,
    Sheet,
    bounding_box,
    fraction_inside,
)
from advchunk.readers.pages.regions.stream import read_rows
from advchunk.readers.writing import Furniture, Writer, left_out, squeeze
from advchunk.records import BlockKind, Document, Place

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
    """A page and its regions in reading order, and the words of the document."""

    sheet: Sheet
    regions: list[Region]
    words: WordList = UNKNOWN


def build_pages(pages: Sequence[DetectedPage]) -> list[Page]:
    """Find the regions of all pages of a PDF, in the order of its text (`stream`).

    Running heads, tables that are drawn with lines, code, and lines that run up or down the page are found first, by
    what repeats, by the drawing, by fonts and by heights, because detectors find them badly; tables without lines by
    their columns, where a detector finds none.
    """
    running = running_heads((page.sheet, page.lines) for page in pages)
    rows, read = [read_rows(_body(page.lines, running)) for page in pages], list[DetectedPage]()
    for page, page_rows in zip(pages, rows, strict=True):
        read.append(page._replace(detections=[*page.detections, *aligned_tables(page_rows)]))
    usual = _usual(read)
    return [_build_page(page, page_rows, running, usual) for page, page_rows in zip(read, rows, strict=True)]


def _build_page(page: DetectedPage, rows: Sequence[list[Line]], running: Set[int], usual: Setting) -> Page:
    setting, fixed, rest = usual.on_page([line for row in rows for line in row]), list[Part](), rows
    for grid in page.grids:
        if table := read_grid(grid, rest, usual.words):
            fixed.append(Part("table", 0, 1.0, table.lines, table.text))
            rest = [_without(row, table.lines) for row in rest]
    fixed += [_fixed_part("code", piece) for piece in find_code([line for row in rest for line in row], setting)]
    heads = [_fixed_part("furniture", row) for row in group_rows(line for line in page.lines if id(line) in running)]
    foot = [head for head in heads if head.lines[0].box[1] > page.sheet.height / 2]
    tilted = [_fixed_part("paragraph", [line]) for line in _tilted(page.lines) if id(line) not in running]
    body = correct(cut_rows(rows, page.detections, fixed, setting), setting)
    body = [part._replace(kind="paragraph") if part.kind == "furniture" else part for part in body]  # repeats are known
    parts = [*heads[: len(heads) - len(foot)], *body, *tilted, *foot]
    regions = [region for part in parts for region in part_regions(page.sheet, part, setting)]
    return Page(page.sheet, [*regions, *pictures(page.sheet, page.lines, page.detections)], usual.words)


def _fixed_part(kind: BlockKind, lines: list[Line]) -> Part:
    return Part(kind, 0, 1.0, lines, region_text(kind, lines))


def _body(lines: Sequence[Line], running: Set[int]) -> list[Line]:
    """Return the lines of a page that are its text: without running heads, and lines that run up or down."""
    tilted = {id(line) for line in _tilted(lines)}
    return [line for line in lines if id(line) not in running | tilted]


def _usual(pages: Sequence[DetectedPage]) -> Setting:
    """Return the setting of the lines outside of tables and code, which may be most of a file; of all lines if prose is
    rare.
    """
    lines, prose = [line for page in pages for line in page.lines], list[Line]()
    for page in pages:
        boxes = [detection.box for detection in page.detections if detection.kind == "table"]
        boxes += [bounding_box(box for row in grid for box in row if box) for grid in page.grids]
        others = (line for line in page.lines if not line.font.mono)
        prose += [line for line in others if not any(fraction_inside(line.box, box) > 1 / 2 for box in boxes)]
    everything, usual = Setting.of(lines), Setting.of(prose)
    is_rare = sum(len(line.text) for line in prose) < _LEAST_PROSE * sum(len(line.text) for line in lines)
    return everything if is_rare or not usual.height else everything._replace(font=usual.font, height=usual.height)


def _tilted(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that run up or down the page, such as stamps; none if most lines do, as on a turned page."""
    tilted = [line for line in lines if not line.is_level]
    return tilted if 2 * len(tilted) < len(lines) else []


def _without(lines: Sequence[Line], taken: Sequence[Line]) -> list[Line]:
    ids = {id(line) for line in taken}
    return [line for line in lines if id(line) not in ids]


def build_document(
    pages: Sequence[Page],
    *,
    furniture: Furniture = "drop",
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    unread: Mapping[str, int] | None = None,
) -> Document:
    """Build a document from the regions of all pages, and join paragraphs across columns and pages, and tables across
    pages.

    A paragraph that does not end a sentence continues in the next one if that begins in lower case, also across
    floating regions; both are one block with several places. The level of a heading is that of its number, else the
    detector's, else 2, or 1 for a larger one. The place of a picture without text is added to its caption. Running
    heads are dropped, or kept as blocks; ``left_out`` in the metadata counts them, and repeated headers of tables.
    """
    regions = [region for page in pages for region in page.regions]
    counts = Counter[str]()
    if furniture == "drop":
        counts["running heads"] = sum(region.kind == "furniture" for region in regions)
        regions = [region for region in regions if region.kind != "furniture"]
    counts["hyphens"] = sum(region.hyphens for region in regions)
    usual, writer = median([region.size for region in regions if region.kind == "heading"] or [0.0]), Writer("pages")
    for region, places in _join_regions(regions, pages[0].words if pages else UNKNOWN, counts):
        title = squeeze(region.text) if region.kind == "heading" else None
        writer.add(region.kind, region.text, _level(region, usual), title=title, places=dict.fromkeys(places))
    return writer.document(id, {**left_out({**counts, **(unread or {})}), **(metadata or {})})


def mark_running(pages: Sequence[Page]) -> list[Page]:
    """Return pages whose running heads are of the kind "furniture", as are those in the margins that a detector calls
    so.
    """
    lines = [[Line(region.text, region.box) for region in regions] for _, regions, _ in pages]
    running = running_heads((page.sheet, page_lines) for page, page_lines in zip(pages, lines, strict=True))

    def mark(sheet: Sheet, region: Region, line: Line) -> Region:
        if id(line) in running or (region.kind == "furniture" and is_in_margin(sheet, line)):
            return region._replace(kind="furniture", level=0)
        return region._replace(kind="paragraph") if region.kind == "furniture" else region

    return [
        Page(sheet, [mark(sheet, region, line) for region, line in zip(regions, page_lines, strict=True)], words)
        for (sheet, regions, words), page_lines in zip(pages, lines, strict=True)
    ]


def _level(region: Region, usual: float) -> int:
    """Return the level of a block; ``usual`` is the median size of headings."""
    if region.kind != "heading":
        return 1 if region.kind == "item" else 0
    if number := _NUMBERED.match(region.text):
        return number[0].count(".") + 2
    return region.level or (1 if region.size > usual * _LARGE else 2)


def _join_regions(regions: Iterable[Region], words: WordList, counts: Counter[str]) -> list[tuple[Region, list[Place]]]:
    """Return the regions that become blocks, and their places: paragraphs joined, and pictures as places of
    captions.
    """
    parts, pictures = list[tuple[Region, list[Place]]](), list[Region]()
    last = -1  # index of the paragraph that may continue
    for region in regions:
        if not region.text.strip():
            pictures.append(region)
        elif region.kind == "paragraph" and last >= 0 and _continues(above := parts[last][0], region):
            text, places = join_lines([above.text, region.text], words), [*parts[last][1], _place(region)]
            counts["hyphens"] += above.text.count("-") + region.text.count("-") - text.count("-")
            parts[last] = above._replace(text=text), places
        elif parts and _continues_table(*parts[-1], region):
            above, places = parts[-1]
            joined = _join_tables(above.text, region.text)
            counts["repeated table headers"] += joined.count("\n") < f"{above.text}\n{region.text}".count("\n") - 1
            parts[-1] = above._replace(text=joined), [*places, _place(region)]
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
    """Return True if a table has as many columns as the one before it, which ends the page before and begins at the
    same edge.
    """
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
