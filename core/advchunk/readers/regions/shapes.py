"""What a page holds: boxes, lines of text, and regions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from advchunk.records import BlockKind

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom, origin top left."""


class Line(NamedTuple):
    """A piece of text on one baseline, without a gap as wide as it is high."""

    text: str
    box: Box

    @property
    def height(self) -> float:
        """How high it is: about the size of its letters."""
        return self.box[3] - self.box[1]


class Region(NamedTuple):
    """A part of a page that is read as one: a paragraph, a table, a figure ...

    Parameters
    ----------
    kind : what it is; "paragraph" where a detector's label is not known.
    page : from 1.
    box : where it stands, in one unit for the whole document.
    text : what it says, as it is to be read; "" for a picture.
    score : how sure the detector is, 0..1.
    level : depth of a heading as its detector tells it, 0 if it does not.
    size : height of its lines in the unit of the box, 0 if unknown; headings are told apart by it.
    """

    kind: BlockKind
    page: int
    box: Box
    text: str = ""
    score: float = 1.0
    level: int = 0
    size: float = 0.0


class Detected(NamedTuple):
    """What a detector says of a page: a label of its own, where, and how sure it is."""

    label: str
    box: Box
    score: float = 1.0


class Sheet(NamedTuple):
    """How large a page is, by its number from 1."""

    page: int
    width: float
    height: float


# The labels of PubLayNet, DocLayNet, CDLA, PRImA, Newspaper Navigator, DocStructBench and PP-DocLayout, in lower case.
_NAMES: Mapping[BlockKind, str] = {
    "heading": "title, doc title, document title, section header, section title, paragraph title, headline, subtitle",
    "item": "list, list item",
    "table": "table, table region",
    "figure": """figure, image, image region, picture, photograph, illustration, map, chart, comics/cartoon, cartoon,
        editorial cartoon, logo, seal, stamp, signature, qr code, bar code, separator region""",
    "caption": "caption, figure caption, table caption, image caption, figure title, table title, chart title",
    "furniture": "header, footer, page header, page footer, page number, number, abandon, furniture",
    "footnote": "footnote, table footnote, figure footnote, vision footnote",
    "reference": "reference, references, bibliography, reference content",
    "formula": "formula, equation, maths region, isolate formula, display formula",
    "code": "code, algorithm",
}
_LABELS = {name: kind for kind, names in _NAMES.items() for name in re.split(r",\s+", names)}
_SECTIONS = frozenset({"section header", "section title", "paragraph title", "subtitle"})
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|[\s_-]+")


def label_kind(label: object) -> tuple[BlockKind, int]:
    """Return what a detector's label means, and the depth of a heading if it tells.

    >>> label_kind("Section-header"), kind_of("figure_caption"), kind_of("TableRegion"), kind_of("Advertisement")
    (('heading', 2), ('caption', 0), ('table', 0), ('paragraph', 0))
    """
    name = _WORDS.sub(" ", str(label)).strip().lower()
    return _LABELS.get(name, "paragraph"), 2 if name in _SECTIONS else 0


def box_area(box: Box) -> float:
    """Return the area of a box, 0 for one that is turned inside out.

    >>> box_area((0, 0, 2, 3)), area((2, 0, 0, 3))
    (6.0, 0.0)
    """
    return float(max(box[2] - box[0], 0) * max(box[3] - box[1], 0))


def intersection(a: Box, b: Box) -> Box:
    """Return what two boxes have in common; its area is 0 if that is nothing."""
    return max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])


def bounding_box(boxes: Iterable[Box]) -> Box:
    """Return the box around boxes.

    >>> bounding_box([(0, 0, 1, 1), (2, 3, 4, 5)])
    (0, 0, 4, 5)
    """
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def fraction_inside(box: Box, outer: Box) -> float:
    """Return the share of a box that lies within another; of a line without area, whether its middle does.

    >>> fraction_inside((0, 0, 2, 1), (1, 0, 9, 9)), within((1, 1, 1, 5), (0, 0, 2, 9))
    (0.5, 1.0)
    """
    if box_area(box):
        return box_area(intersection(box, outer)) / box_area(box)
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return float(outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3])


def interval_overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return how far two intervals overlap, negative for how far they are apart."""
    return min(a[1], b[1]) - max(a[0], b[0])
