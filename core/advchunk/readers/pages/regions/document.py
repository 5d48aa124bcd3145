"""Build a document from the regions of its pages."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from statistics import median
from typing import Any, NamedTuple

from advchunk.errors import require
from advchunk.readers.pages.regions import prose
from advchunk.readers.pages.regions.assignment import arrange, cut_rows, deduplicate, part_regions, pictures
from advchunk.readers.pages.regions.corrections import Part, correct, find_code, fixed_part
from advchunk.readers.pages.regions.grids import Grid, aligned_tables, read_grid
from advchunk.readers.pages.regions.grouping import Setting
from advchunk.readers.pages.regions.running import is_in_margin, running_heads
from advchunk.readers.pages.regions.shapes import Detected, Line, Region, Sheet, bounding_box, fraction_inside
from advchunk.readers.pages.regions.stream import read_rows
from advchunk.readers.writing import Furniture, Writer, left_out, squeeze
from advchunk.records import BlockKind, Document, Place

_NUMBERED = re.compile(r"(?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2})*(?=[.)]?\s)")
_EDGE = 0.05  # of the width of a table, by which the edges of its parts may differ
_LEAST_PROSE = 0.2  # of the characters of a file
_LARGE = 1.2  # times the usual size: a title above the other headings
_FLOATING: frozenset[BlockKind] = frozenset({"figure", "table", "caption", "footnote", "furniture"})


class DetectedPage(NamedTuple):
    """A page, its lines, detections, and drawn tables. ``fixed`` are parts that a detector has read, whose lines are
    not in ``lines``; with ``is_ordered``, the order of the file is kept unless the page disproves it.
    """

    sheet: Sheet
    lines: list[Line]
    detections: Sequence[Detected] = ()
    grids: Sequence[Grid] = ()
    fixed: Sequence[Part] = ()
    is_ordered: bool = True


def find_regions(pages: Iterable[DetectedPage]) -> tuple[list[Region], prose.WordList]:
    """Return the regions of all pages in reading order, each line in one, and the words of the document.

    Running heads, drawn tables, code, and lines up or down the page are found first, because detectors find them badly;
    tables without lines by their columns, where a detector finds none. Of two detections in the same place the more
    confident one counts; a table or figure absorbs all inside it except its caption, a paragraph lines just outside its
    box that continue it. Boxes are those of the lines. Pages from right to left are read in a mirror.
    """
    pages = [*pages]
    mirrored = [prose.is_right_to_left(line.text for line in _all_lines(page)) for page in pages]
    pages = [_mirror(page) if is_mirrored else page for page, is_mirrored in zip(pages, mirrored, strict=True)]
    running = running_heads((page.sheet, _all_lines(page)) for page in pages)
    rows = [_read_rows(page, running) for page in pages]
    words = prose.WordList.of(line.text for page in pages for line in page.lines)
    for i, page in enumerate(pages):
        drawn, rest = [*page.fixed], rows[i]
        for grid in page.grids:
            drawn += [table] if (table := read_grid(grid, rest, words)) else []
            rest = _without(rest, drawn)
        tables = aligned_tables(rest) if page.is_ordered else []
        pages[i] = page._replace(detections=deduplicate([*page.detections, *tables]), fixed=drawn)
    usual, regions = _usual(pages), list[Region]()
    for page, page_rows, is_mirrored in zip(pages, rows, mirrored, strict=True):
        for region in _page_regions(page, page_rows, running, usual):
            regions.append(region._replace(box=page.sheet.mirror(region.box)) if is_mirrored else region)
    return regions, usual.words


def _all_lines(page: DetectedPage) -> list[Line]:
    return [*page.lines, *(line for part in page.fixed for line in part.lines)]


def _mirror(page: DetectedPage) -> DetectedPage:
    mirror = page.sheet.mirror

    def turned(lines: Iterable[Line]) -> list[Line]:
        return [line._replace(box=mirror(line.box), cells=tuple(turned(line.cells))) for line in lines]

    return page._replace(
        lines=turned(page.lines),
        detections=[detection._replace(box=mirror(detection.box)) for detection in page.detections],
        grids=[[[box and mirror(box) for box in reversed(row)] for row in grid] for grid in page.grids],
        fixed=[part._replace(lines=turned(part.lines)) for part in page.fixed],
    )


def _read_rows(page: DetectedPage, running: Set[int]) -> list[list[Line]]:
    """Return the rows of a page that are its text: without running heads, and lines that run up or down."""
    apart = running | {id(line) for line in _tilted(page.lines)}
    body = [line for line in page.lines if id(line) not in apart]
    fixed = [part for part in page.fixed if id(part.lines[0]) not in running]
    return read_rows(body) if page.is_ordered else arrange(body, page.detections, fixed)


def _page_regions(
    page: DetectedPage, rows: Sequence[list[Line]], running: Set[int], usual: Setting
) -> Iterator[Region]:
    """Yield the regions of a page: running heads, the page, its footnotes, running feet."""
    rest = _without(rows, page.fixed)
    setting = usual.on_page(_outside_tables(page, [line for row in rest for line in row]))
    fixed = [*page.fixed, *find_code(rest, setting)]
    heads = prose.group_rows(line for line in _all_lines(page) if id(line) in running)
    body = _listed(correct(cut_rows(rows, page.detections, fixed, setting), setting))
    tilted = [fixed_part("paragraph", [line]) for line in _tilted(page.lines) if id(line) not in running]
    parts = [*(_checked(page, part) for part in body), *tilted, *(fixed_part("furniture", row) for row in heads)]
    for part in sorted(parts, key=lambda part: _rank(page, part)):
        yield from part_regions(page.sheet, part, setting)
    yield from pictures(page.sheet, page.lines, page.detections)


def _without(rows: Sequence[list[Line]], parts: Iterable[Part]) -> list[list[Line]]:
    taken = {id(line) for part in parts for line in part.lines}
    return [rest for row in rows if (rest := [line for line in row if id(line) not in taken])]


def _listed(parts: Sequence[Part]) -> list[Part]:
    """Return parts of which those that begin with numbers, and follow each other, are items."""
    counted = [part.kind in {"item", "paragraph"} and prose.starts_item(part.lines[0].text) for part in parts]
    beside = [any(counted[max(i - 1, 0) : i] + counted[i + 1 : i + 2]) for i in range(len(parts))]
    are_items = (a and b for a, b in zip(counted, beside, strict=True))
    return [part._replace(kind="item") if is_item else part for part, is_item in zip(parts, are_items, strict=True)]


def _checked(page: DetectedPage, part: Part) -> Part:
    """Return a part of a page, which is no running head in a file, where those are known, or outside of the margins."""
    is_text = page.is_ordered or not all(is_in_margin(page.sheet, line) for line in part.lines)
    return part._replace(kind="paragraph") if part.kind == "furniture" and is_text else part


def _rank(page: DetectedPage, part: Part) -> int:
    if part.kind == "furniture":
        return 3 if part.lines[0].box[1] > page.sheet.height / 2 else 0
    return 2 if part.kind == "footnote" and not page.is_ordered else 1


def _usual(pages: Sequence[DetectedPage]) -> Setting:
    """Return the setting of lines outside of tables and code, which may be most of a file; of all if prose is rare."""
    lines, text = [line for page in pages for line in page.lines], list[Line]()
    for page in pages:
        text += _outside_tables(page, [line for line in page.lines if not line.font.mono])
    everything, usual = Setting.of(lines), Setting.of(text)
    is_rare = sum(len(line.text) for line in text) < _LEAST_PROSE * sum(len(line.text) for line in lines)
    return everything if is_rare or not usual.height else everything._replace(font=usual.font, height=usual.height)


def _outside_tables(page: DetectedPage, lines: Sequence[Line]) -> list[Line]:
    boxes = [detection.box for detection in page.detections if detection.kind == "table"]
    boxes += [bounding_box(box for row in grid for box in row if box) for grid in page.grids]
    return [line for line in lines if not any(fraction_inside(line.box, box) > 1 / 2 for box in boxes)]


def _tilted(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that run up or down the page, such as stamps; none if most lines do, as on a turned page."""
    tilted = [line for line in lines if not line.is_level]
    return tilted if 2 * len(tilted) < len(lines) else []


def build_document(
    regions: Iterable[Region],
    words: prose.WordList = prose.UNKNOWN,
    *,
    furniture: Furniture = "drop",
    metadata: Mapping[str, Any] | None = None,
    unread: int = 0,
) -> Document:
    """Build a document from the regions of all pages; join paragraphs across columns and pages, tables across pages.

    A paragraph that does not end a sentence continues in the next one if that begins in lower case, also across
    floating regions. The level of a heading is that of its number, else the detector's, else 2, or 1 for a larger one.
    The place of a picture without text is added to its caption. ``left_out`` counts running heads, repeated headers of
    tables, and ``unread`` characters.
    """
    everything, counts = [*regions], Counter[str]()
    regions = [region for region in everything if region.kind != "furniture" or furniture == "keep"]
    counts["running heads"] = len(everything) - len(regions)
    counts["hyphens"] = sum(region.hyphens for region in regions)
    usual, writer = median([region.size for region in regions if region.kind == "heading"] or [0.0]), Writer("pages")
    for region, places in _join_regions(regions, words, counts):
        title = squeeze(region.text) if region.kind == "heading" else None
        writer.add(region.kind, region.text, _level(region, usual), title=title, places=dict.fromkeys(places))
    return writer.document(metadata={**left_out({**counts, "unreadable characters": unread}), **(metadata or {})})


def read_detected(pages: Sequence[DetectedPage], *, keeps_furniture: bool) -> Document:
    """Return the document of the pages that a detector, or OCR, results in; an error if they have no text."""
    regions, words = find_regions(pages)
    furniture: Furniture = "keep" if keeps_furniture else "drop"
    document = build_document(regions, words, furniture=furniture, metadata={"page_count": len(pages)})
    rule = "a result of a detector must have text: run its OCR, or read the PDF itself (readers.pages.pdf.read)"
    require(bool(document.text) or not regions, rule, f"{len(pages)} pages of boxes")
    return document


def _level(region: Region, usual: float) -> int:
    """Return the level of a block; ``usual`` is the median size of headings."""
    if region.kind != "heading":
        return 1 if region.kind == "item" else 0
    if number := _NUMBERED.match(region.text):
        return number[0].count(".") + 2
    return region.level or (1 if region.size > usual * _LARGE else 2)


def _join_regions(
    regions: Iterable[Region], words: prose.WordList, counts: Counter[str]
) -> list[tuple[Region, list[Place]]]:
    """Return the regions that become blocks, joined, and their places; those of pictures are in captions."""
    parts, pictures = list[list[Region]](), list[Region]()
    last = -1  # index of the paragraph that may continue
    for region in regions:
        if not region.text.strip():
            pictures.append(region)
        elif region.kind == "paragraph" and last >= 0 and _continues(parts[last][-1], region):
            parts[last].append(region)
        elif parts and _continues_table(parts[-1][-1], region):
            parts[-1].append(region)
        else:
            parts.append([region])
            if region.kind not in _FLOATING:
                last = len(parts) - 1 if region.kind == "paragraph" else -1
    joined = [(_join(part, words, counts), [*map(_place, part)]) for part in parts]
    for picture in pictures:
        captions = [part for part in joined if part[0].kind == "caption" and part[0].page == picture.page]
        if captions:
            min(captions, key=lambda part: _distance(part[0], picture))[1].append(_place(picture))
    return joined


def _join(parts: Sequence[Region], words: prose.WordList, counts: Counter[str]) -> Region:
    """Return the parts of a paragraph, or of a table, as one region; a header that is repeated is in it once."""
    first, *rest = parts
    if not rest:
        return first
    if first.kind == "paragraph":
        text = prose.join_lines([part.text for part in parts], words)
        counts["hyphens"] += sum(part.text.count("-") for part in parts) - text.count("-")
        return first._replace(text=text)
    tables = [part.text.split("\n") for part in parts]
    repeats = [table[:2] == tables[0][:2] for table in tables[1:]]
    counts["repeated table headers"] += sum(repeats)
    pairs = zip(tables[1:], repeats, strict=True)
    rows = [table[2:] if is_same else [table[0], *table[2:]] for table, is_same in pairs]
    return first._replace(text="\n".join([first.text, *(row for own in rows for row in own)]))


def _place(region: Region) -> Place:
    left, top, right, bottom = (round(x, 1) for x in region.box)
    return Place(region.page, (left, top, right, bottom))


def _continues(above: Region, below: Region) -> bool:
    sizes = sorted([above.size, below.size])
    return (not sizes[0] or sizes[1] <= 1.25 * sizes[0]) and prose.continues_sentence(above.text, below.text)


def _continues_table(above: Region, below: Region) -> bool:
    """Return True if a table continues one of as many columns, which ends the page before, at the same edge."""
    first, second = (region.text.split("\n", 1)[0] for region in (above, below))
    return (
        above.kind == below.kind == "table"
        and below.page == above.page + 1
        and first[:1] == second[:1] == "|"
        and first.count("|") == second.count("|")
        and abs(above.box[0] - below.box[0]) <= _EDGE * (above.box[2] - above.box[0])
    )


def _distance(a: Region, b: Region) -> float:
    """Return the vertical plus the horizontal gap between two regions."""
    down = max(a.box[1] - b.box[3], b.box[1] - a.box[3], 0)
    return down + max(a.box[0] - b.box[2], b.box[0] - a.box[2], 0)
