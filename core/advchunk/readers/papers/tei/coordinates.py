"""GROBID's coordinates."""

import re

from advchunk.records import Place

_BOX = re.compile(r"(?P<page>[0-9]{1,6})(?P<box>(?:,-?[0-9]{1,9}(?:\.[0-9]{1,9})?){4})")


def parse_coords(coords: str | None) -> tuple[Place, ...]:
    """Parse GROBID's coordinates ("page,x,y,width,height;..."), and join the boxes of lines, one for each column."""
    boxes = list[tuple[int, float, float, float, float]]()
    for text in (coords or "").split(";"):
        if not (match := _BOX.fullmatch(text.strip())):
            continue
        page = int(match["page"])
        left, top, width, height = map(float, match["box"][1:].split(","))
        right, bottom = left + width, top + height
        if boxes and boxes[-1][0] == page and _touch(boxes[-1][1:], (left, top, right, bottom)):
            _, a, b, c, d = boxes.pop()
            left, top, right, bottom = min(a, left), min(b, top), max(c, right), max(d, bottom)
        boxes.append((page, left, top, right, bottom))
    return tuple(Place(page, (round(a, 2), round(b, 2), round(c, 2), round(d, 2))) for page, a, b, c, d in boxes)


def _touch(above: tuple[float, ...], below: tuple[float, ...]) -> bool:
    """Return True if two boxes are in one column: one below the other, or in one line."""
    gap, height = below[1] - above[3], below[3] - below[1]
    is_below = min(above[2], below[2]) > max(above[0], below[0]) and below[3] >= above[1] and gap <= 2 * height
    return is_below or above[1] <= (below[1] + below[3]) / 2 <= above[3]
