"""Build a document from the regions of its pages."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from advchunk.readers.regions.prose import continues_sentence, join_lines
from advchunk.readers.regions.shapes import Region, Sheet
from advchunk.readers.writing import Furniture, Writer, squeeze
from advchunk.records import BlockKind, Document, Place

_MARGIN = 0.12  # of a page, at its top and bottom, where headers and footers are
_SHIFT = 0.02  # of a page, by which their height may differ between pages
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|p\.|seite|página|pagina)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2})*(?=[.)]?\s)")
_LARGE = 1.2  # times the usual size: a title above the other headings
_FLOATING: frozenset[BlockKind] = frozenset({"figure", "table", "caption", "footnote", "furniture"})


class Page(NamedTuple):
    """A page and its regions in reading order."""

    sheet: Sheet
    regions: list[Region]


def build_document(
    pages: Sequence[Page], *, furniture: Furniture = "drop", id: str = "", metadata: Mapping[str, Any] | None = None
) -> Document:
    """Build a document from the regions of all pages, and join paragraphs across columns and pages.

    A paragraph that does not end a sentence continues in the next one if that begins in lower case, also across floating
    regions; both are one block with several places. The level of a heading is that of its number, else the detector's, else
    2, or 1 for a larger one. The place of a picture without text is added to its caption. Headers, footers and page numbers
    are dropped, or kept as blocks.
    """
    regions = [region for page in mark_furniture(pages) for region in page.regions]
    if furniture == "drop":
        regions = [region for region in regions if region.kind != "furniture"]
    usual, writer = median([region.size for region in regions if region.kind == "heading"] or [0.0]), Writer("pages")
    for region, places in _join_paragraphs(regions):
        title = squeeze(region.text) if region.kind == "heading" else None
        writer.add(region.kind, region.text, _level(region, usual), title=title, places=dict.fromkeys(places))
    return writer.document(id, metadata)


def mark_furniture(pages: Sequence[Page]) -> list[Page]:
    """Return pages whose headers, footers and page numbers are of the kind "furniture".

    These are texts in the margin that, apart from their digits, are at the same height on three pages, or on most pages;
    page numbers; and texts that a detector labels as furniture, here or on another page. Furniture outside the margin
    becomes a paragraph.
    """
    repeats = defaultdict[str, list[tuple[float, int, bool]]](list)  # height, page, and whether a detector says so
    for sheet, regions in pages:
        for region in regions:
            if _in_margin(sheet, region) and region.text:
                repeats[_pattern(region)].append((region.box[1] / sheet.height, sheet.page, region.kind == "furniture"))
    minimum = min(3, max(len(pages) // 2 + 1, 2))

    def is_furniture(sheet: Sheet, region: Region) -> bool:
        if not _in_margin(sheet, region) or region.kind in {"table", "figure"}:
            return False
        top = region.box[1] / sheet.height
        level = [repeat for repeat in repeats[_pattern(region)] if abs(repeat[0] - top) <= _SHIFT]
        repeated = len({page for _, page, _ in level}) >= minimum or any(detected for *_, detected in level)
        return repeated or region.kind == "furniture" or bool(_PAGE_NUMBER.fullmatch(region.text))

    def mark(sheet: Sheet, region: Region) -> Region:
        if is_furniture(sheet, region):
            return region._replace(kind="furniture", level=0)
        return region._replace(kind="paragraph") if region.kind == "furniture" else region

    return [Page(sheet, [mark(sheet, region) for region in regions]) for sheet, regions in pages]


def _in_margin(sheet: Sheet, region: Region) -> bool:
    return region.box[3] <= _MARGIN * sheet.height or region.box[1] >= (1 - _MARGIN) * sheet.height


def _pattern(region: Region) -> str:
    return _DIGITS.sub("0", squeeze(region.text).casefold())


def _level(region: Region, usual: float) -> int:
    """Return the level of a block; ``usual`` is the median size of headings."""
    if region.kind != "heading":
        return 1 if region.kind == "item" else 0
    if number := _NUMBERED.match(region.text):
        return number[0].count(".") + 2
    return region.level or (1 if region.size > usual * _LARGE else 2)


def _join_paragraphs(regions: Iterable[Region]) -> list[tuple[Region, list[Place]]]:
    """Return the regions that become blocks, and their places: paragraphs joined, and pictures as places of captions."""
    parts, pictures = list[tuple[Region, list[Place]]](), list[Region]()
    last = -1  # index of the paragraph that may continue
    for region in regions:
        if not region.text.strip():
            pictures.append(region)
        elif region.kind == "paragraph" and last >= 0 and _continues(above := parts[last][0], region):
            places = [*parts[last][1], _place(region)]
            parts[last] = above._replace(text=join_lines([above.text, region.text])), places
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


def _distance(a: Region, b: Region) -> float:
    """Return the vertical plus the horizontal gap between two regions."""
    down = max(a.box[1] - b.box[3], b.box[1] - a.box[3], 0)
    return down + max(a.box[0] - b.box[2], b.box[0] - a.box[2], 0)
