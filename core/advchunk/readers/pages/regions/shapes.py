"""The contents of a page: boxes, lines of text, and regions."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from advchunk.records import BlockKind

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, origin top left."""


class Font(NamedTuple):
    """A font: its name, "" if unknown, and whether it is monospaced and bold."""

    name: str = ""
    mono: bool = False
    bold: bool = False


class Line(NamedTuple):
    """A piece of text on one baseline, without a gap wider than it is high. ``font`` is of most of it; ``cells`` are
    its parts between gaps wider than a space, () if there are none; ``is_level`` is False up or down the page.
    """

    text: str
    box: Box
    font: Font = Font()
    is_level: bool = True
    cells: "tuple[Line, ...]" = ()

    @property
    def height(self) -> float:
        """Height of the line, about its font size."""
        return self.box[3] - self.box[1]


class Region(NamedTuple):
    """A part of a page that is read as a unit: a paragraph, a table, a figure ...; ``text`` is "" for a picture.

    ``box`` is in one unit for the whole document, as is ``size``, the height of the lines, which ranks headings.
    ``page`` is from 1; ``level`` and ``size`` are 0 if unknown; ``hyphens`` are those that the text is without.
    """

    kind: BlockKind
    page: int
    box: Box
    text: str = ""
    level: int = 0
    size: float = 0.0
    hyphens: int = 0


class Detected(NamedTuple):
    """A detection: the detector's own label, a box, and a confidence."""

    label: str
    box: Box
    score: float = 1.0

    @property
    def kind(self) -> BlockKind:
        """Block kind of the label."""
        return label_kind(self.label)[0]


class Sheet(NamedTuple):
    """The number of a page, from 1, and its size."""

    page: int
    width: float
    height: float

    def mirror(self, box: Box) -> Box:
        """Return a box as in a mirror: pages that are read from right to left are read in one."""
        return self.width - box[2], box[1], self.width - box[0], box[3]


_SECTIONS = frozenset({"section header", "section title", "paragraph title", "subtitle"})
_SEPARATOR = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s_-]+")


def label_kind(label: object) -> tuple[BlockKind, int]:
    """Return the block kind of a detector's label, and the heading level if the label implies one, else 0."""
    name = _label_name(label)
    return _kinds().get(name, "paragraph"), 2 if name in _SECTIONS else 0


def is_label(label: object) -> bool:
    """Return True if a detector uses a label, such as "Text", but not "Times-Roman"."""
    return _label_name(label) in _kinds()


def _label_name(label: object) -> str:
    return _SEPARATOR.sub(" ", str(label)).strip().lower()


@cache
def _kinds() -> Mapping[str, BlockKind]:
    """Return the kinds of the labels of PubLayNet, DocLayNet, CDLA, PRImA, DocStructBench, PP-DocLayout, and others."""
    table = json.loads(files("advchunk.readers.pages.regions").joinpath("labels.json").read_text(encoding="utf-8"))
    return {label: kind for kind, labels in table.items() for label in labels}


def box_area(box: Box) -> float:
    """Return the area of a box, 0 if its sides are swapped."""
    return float(max(box[2] - box[0], 0) * max(box[3] - box[1], 0))


def bounding_box(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that contains all boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def fraction_inside(box: Box, outer: Box) -> float:
    """Return the fraction of a box's area inside another; for a box without area, 1 if its center is inside, else 0.

    >>> fraction_inside((0, 0, 2, 1), (1, 0, 9, 9)), fraction_inside((1, 1, 1, 5), (0, 0, 2, 9))
    (0.5, 1.0)
    """
    if area := box_area(box):
        return box_area((*map(max, box[:2], outer[:2]), *map(min, box[2:], outer[2:]))) / area  # type: ignore[arg-type]
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return float(outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3])


def union(intervals: Iterable[tuple[float, float]], gap: float = 0.0) -> list[tuple[float, float]]:
    """Return the union of intervals, from left to right; those nearer than a gap are one.

    >>> union([(4, 6), (0, 2), (1, 3)]), union([(4, 6), (0, 3)], gap=2)
    ([(0, 3), (4, 6)], [(0, 6)])
    """
    joined = list[tuple[float, float]]()
    for left, right in sorted(intervals):
        if joined and left - joined[-1][1] < gap:
            joined[-1] = joined[-1][0], max(joined[-1][1], right)
        else:
            joined.append((left, right))
    return joined


def interval_overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the length of the overlap of two intervals; negative for the gap between them."""
    return min(a[1], b[1]) - max(a[0], b[0])
