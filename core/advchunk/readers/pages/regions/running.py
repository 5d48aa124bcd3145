"""Find running heads and page numbers: what several pages have at the same place in their margins."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from advchunk.readers.counting import format_count
from advchunk.readers.pages.regions.prose import group_rows
from advchunk.readers.pages.regions.shapes import Line, Sheet, bounding_box
from advchunk.readers.writing import squeeze

_FEWEST = 3  # pages
_MARGIN, _SHIFT = 0.12, 0.01  # of the height of a page: where running heads are, and how much they move
_APART, _FARTHER = 0.7, 1.3  # in line heights, and times the usual distance of rows: the first row of a table is nearer
_FAR = 4.0  # in line heights: a distance that is enough on any page
_ROMAN = {format_count(number, "lowerRoman"): number for number in range(1, 90)}
_COUNT = re.compile(
    rf"(?:[\s|(\[·•–—-]|page|p\.|seite|s\.|página|pagina)*(?P<number>\d{{1,4}}|{'|'.join(_ROMAN)})"
    r"(?:\s*(?:/|of|von|de|sur)\s*\d{1,4})?[\W_]*",
    re.IGNORECASE,
)


def running_heads(pages: Iterable[tuple[Sheet, Sequence[Line]]]) -> set[int]:
    """Return the lines, by ``id``, that three pages have at the same place, apart from text, or that count pages."""
    groups = defaultdict[tuple[object, ...], list[tuple[int, Line]]](list)
    for sheet, lines in pages:
        for line, is_apart in _edge_lines(sheet, lines):
            text, place = squeeze(line.text), int(line.box[1] / sheet.height / _SHIFT)
            keys: list[tuple[object, ...]] = [(text,)] if is_apart and any(map(str.isalpha, text)) else []
            if match := _COUNT.fullmatch(text):
                number = match["number"].lower()
                keys.append((text[: match.start("number")], int(_ROMAN.get(number, number)) - sheet.page))
            for key in keys:
                groups[*key, place].append((sheet.page, line))
                groups[*key, place + 1].append((sheet.page, line))
    proven = (group for group in groups.values() if len({page for page, _ in group}) >= _FEWEST)
    return {id(line) for group in proven for _, line in group}


def is_in_margin(sheet: Sheet, line: Line) -> bool:
    """Return True if a line is where headers and footers are."""
    return line.box[3] <= _MARGIN * sheet.height or line.box[1] >= (1 - _MARGIN) * sheet.height


def _edge_lines(sheet: Sheet, lines: Iterable[Line]) -> Iterator[tuple[Line, bool]]:
    """Yield the lines in the margins of a page, and whether space that is wider than between its rows sets them apart.

    Those that nothing sets apart are alone on the first or last row.
    """
    rows = group_rows(line for line in lines if line.is_level)
    boxes = [bounding_box(line.box for line in row) for row in rows]
    gaps = [below[1] - above[3] for above, below in pairwise(boxes)]
    usual, heights = median(gaps or [0.0]), [row[0].height for row in rows]
    least = (max(_APART * height, min(_FARTHER * usual, _FAR * height)) for height in heights)
    apart = [i for i, (gap, own) in enumerate(zip(gaps, least, strict=False)) if gap >= own]
    here = [is_in_margin(sheet, row[0]) for row in rows]
    half = sheet.height / 2
    last = max((i for i in apart if here[i] and boxes[i][3] < half), default=-1)
    first = min((i + 1 for i in apart if here[i + 1] and boxes[i + 1][1] > half), default=len(rows))
    for i, row in enumerate(rows):
        is_apart = i <= last or i >= first
        if is_apart or (len(row) == 1 and here[i] and i in {0, len(rows) - 1}):
            yield from ((line, is_apart) for line in row)
