"""Make a document of the regions of its pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from advchunk.readers.regions.prose import continues_sentence, join_lines
from advchunk.readers.regions.shapes import Region, Sheet
from advchunk.readers.writing import Furniture, Writer, squeezed
from advchunk.records import BlockKind, Document, Place

_MARGIN = 0.12  # of a page, at its top and its bottom, in which headers and footers stand
_SHIFT = 0.02  # of a page, that they may stand higher or lower on another
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|p\.|seite|página|pagina)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von|de)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2})*(?=[.)]?\s)")
_LARGE = 1.2  # times the usual size: a title above the others
_BETWEEN: frozenset[BlockKind] = frozenset({"figure", "table", "caption", "footnote", "furniture"})


class Page(NamedTuple):
    """A page and its regions, in the order in which they are read."""

    sheet: Sheet
    regions: list[Region]


class _Part(NamedTuple):
    """What becomes a block."""

    region: Region
    places: list[Place]


def build_document(
    pages: Sequence[Page], *, furniture: Furniture = "drop", id: str = "", metadata: Mapping[str, Any] | None = None
) -> Document:
    """Write the regions of all pages into one document, with what runs over columns and pages put together.

    A paragraph that does not end a sentence goes on in the next that begins in lower case, across what floats between;
    it is one block with several places. Headings are as deep as they are numbered, else as their detector says, else 2,
    or 1 for larger ones. A picture without text is a place of its caption.

    Parameters
    ----------
    furniture : whether what pages repeat at their top and bottom, and page numbers, are left out or kept as blocks.
    """
    regions = [region for page in mark_furniture(pages) for region in page.regions]
    if furniture == "drop":
        regions = [region for region in regions if region.kind != "furniture"]
    writer = Writer("pages")
    for region, places in _continued(_levelled(regions)):
        title = squeezed(region.text) if region.kind == "heading" else None
        writer.add(region.kind, region.text, region.level, title=title, places=dict.fromkeys(places))
    return writer.document(id, metadata)


def mark_furniture(pages: Sequence[Page]) -> list[Page]:
    """Return pages with what is found to be a header, a footer or a page number marked as furniture.

    That is a text in the margin which, up to its digits, stands at the same height of three pages, or of most; one that is
    nothing but a page number; and what a detector says is one, here or on another page, if it is in the margin: else it is
    a paragraph.
    """
    heights = defaultdict[str, list[tuple[float, int, bool]]](list)
    for sheet, regions in pages:
        for region in regions:
            if _in_margin(sheet, region) and region.text:
                heights[_pattern(region)].append((region.box[1] / sheet.height, sheet.page, region.kind == "furniture"))
    least = min(3, max(len(pages) // 2 + 1, 2))

    def told(sheet: Sheet, region: Region) -> Region:
        is_one = False
        if _in_margin(sheet, region) and region.kind not in {"table", "figure"}:
            top = region.box[1] / sheet.height
            level = [each for each in heights[_pattern(region)] if abs(each[0] - top) <= _SHIFT]
            several = len({page for _, page, _ in level}) >= least or any(named for *_, named in level)
            is_one = several or region.kind == "furniture" or bool(_PAGE_NUMBER.fullmatch(region.text))
        if is_one:
            return region._replace(kind="furniture", level=0)
        return region._replace(kind="paragraph") if region.kind == "furniture" else region

    return [Page(sheet, [told(sheet, region) for region in regions]) for sheet, regions in pages]


def _in_margin(sheet: Sheet, region: Region) -> bool:
    return region.box[3] <= _MARGIN * sheet.height or region.box[1] >= (1 - _MARGIN) * sheet.height


def _pattern(region: Region) -> str:
    return _DIGITS.sub("0", squeezed(region.text).casefold())


def _levelled(regions: Sequence[Region]) -> list[Region]:
    usual = median([region.size for region in regions if region.kind == "heading"] or [0.0])

    def level(region: Region) -> int:
        if region.kind != "heading":
            return 1 if region.kind == "item" else 0
        if number := _NUMBERED.match(region.text):
            return number[0].count(".") + 2
        return region.level or (1 if region.size > usual * _LARGE else 2)

    return [region._replace(level=level(region)) for region in regions]


def _continued(regions: Iterable[Region]) -> list[_Part]:
    """Return what becomes a block: paragraphs in parts put together, pictures as places of their captions."""
    parts, last = list[_Part](), -1  # the last paragraph that may still go on
    pictures = list[Region]()
    for region in regions:
        place = Place(region.page, tuple(round(x, 1) for x in region.box))  # type: ignore[arg-type]
        if not region.text.strip():
            pictures.append(region)
            continue
        if region.kind == "paragraph" and last >= 0 and _goes_on(parts[last].region, region):
            above = parts[last]
            text = join_lines([above.region.text, region.text])
            parts[last] = _Part(above.region._replace(text=text), [*above.places, place])
            continue
        parts.append(_Part(region, [place]))
        if region.kind == "paragraph":
            last = len(parts) - 1
        elif region.kind not in _BETWEEN:
            last = -1
    for picture in pictures:
        captions = [part for part in parts if part.region.kind == "caption" and part.region.page == picture.page]
        if captions:
            nearest = min(captions, key=lambda part: _apart(part.region, picture))
            nearest.places.append(Place(picture.page, tuple(round(x, 1) for x in picture.box)))  # type: ignore[arg-type]
    return parts


def _goes_on(above: Region, below: Region) -> bool:
    sizes = sorted([above.size, below.size])
    return (not sizes[0] or sizes[1] <= 1.25 * sizes[0]) and continues_sentence(above.text, below.text)


def _apart(a: Region, b: Region) -> float:
    """Return how far two regions are apart, up or down, else sideways."""
    down = max(a.box[1] - b.box[3], b.box[1] - a.box[3], 0)
    across = max(a.box[0] - b.box[2], b.box[0] - a.box[2], 0)
    return down + across
