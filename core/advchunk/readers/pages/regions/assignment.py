"""Assign the lines of a page to its regions, and sort the regions into reading order."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from advchunk.readers.pages.regions import corrections, shapes
from advchunk.readers.pages.regions.corrections import Part
from advchunk.readers.pages.regions.grouping import FARTHEST, belong_together, cluster, cluster_rows, pairs
from advchunk.readers.pages.regions.order import reading_order
from advchunk.readers.pages.regions.prose import region_text, split_items, split_references
from advchunk.readers.pages.regions.setting import Setting
from advchunk.readers.pages.regions.shapes import (
    Box,
    Detected,
    Line,
    Region,
    Sheet,
    box_area,
    fraction_inside,
)
from advchunk.records import BlockKind

_ATOMIC: frozenset[BlockKind] = frozenset({"table", "figure"})  # regions inside them are dropped
_GROWING: frozenset[BlockKind] = frozenset({"paragraph", "item", "caption", "footnote", "reference"})
_PROSE = _GROWING - {"item"}
_SAME = 0.75  # of one box inside another: both detect the same thing
_SPECIFIC = 1.25  # score factor of labels other than text, which is unspecific
_INSIDE = 0.5  # of a line inside a box that owns it


def build_regions(
    sheet: Sheet, lines: Sequence[Line], detections: Iterable[Detected], setting: Setting | None = None
) -> list[Region]:
    """Return the regions of a page in reading order; each line is in one.

    Detections are only approximate: of two in the same place the more confident one counts, a table or figure absorbs
    everything inside it except its caption, and a paragraph absorbs lines just outside its box that continue it. Lines
    outside detections become paragraphs. Then `rules` correct what the lines disprove. The boxes of regions are those of
    their lines. ``setting`` is that of the document, by default of the lines.
    """
    detections = _deduplicate(detections)
    tables = [detection.box for detection in detections if detection.kind == "table"]
    prose = [line for line in lines if not any(fraction_inside(line.box, box) > _INSIDE for box in tables)]
    setting = (setting or Setting.of(lines)).on_page(prose or lines)
    owners = _grow(detections, lines, _find_owners(detections, lines), setting.reach)
    owned = defaultdict[int, list[Line]](list)
    for line, owner in zip(lines, owners, strict=True):
        owned[owner].append(line)
    pictures = [
        Region(detection.kind, sheet.page, detection.box, "", detection.score)
        for i, detection in enumerate(detections)
        if detection.kind in _ATOMIC and not owned[i]
    ]
    parts = corrections.join_headings(corrections.correct([*_parts(detections, owned, setting)], setting))
    regions = [_region(sheet, part, group, setting) for part in parts for group in _split(part, setting)]
    return sort_regions(sheet, [*regions, *pictures], right_to_left=setting.right_to_left)


def _parts(detections: Sequence[Detected], owned: Mapping[int, list[Line]], setting: Setting) -> list[Part]:
    """Return the lines of each detection, divided into paragraphs, and those of none, -1, as paragraphs."""
    parts = list[Part]()
    for i, detection in enumerate(detections):
        kind, level = shapes.label_kind(detection.label)
        if lines := owned.get(i):
            groups = cluster_rows(lines, setting.reach) if kind in _PROSE else [lines]
            parts += [Part(kind, level, detection.score, group) for group in groups]
    parts += [Part("paragraph", 0, 1.0, group) for group in cluster(owned.get(-1, []), setting.reach)]
    return _merge_single_lines(parts, setting.near)


def _split(part: Part, setting: Setting) -> list[list[Line]]:
    if part.kind == "item":
        return split_items(part.lines, right_to_left=setting.right_to_left)
    if part.kind == "reference":
        return split_references(part.lines, right_to_left=setting.right_to_left)
    return [part.lines]


def _region(sheet: Sheet, part: Part, lines: list[Line], setting: Setting) -> Region:
    if part.kind == "figure":
        text = _figure_text(lines, setting)
    else:
        text = region_text(part.kind, lines, setting.hyphenated, right_to_left=setting.right_to_left)
    box, size = shapes.bounding_box(line.box for line in lines), median(line.height for line in lines)
    return Region(part.kind, sheet.page, box, text, part.score, part.level, size)


def sort_regions(sheet: Sheet, regions: Sequence[Region], *, right_to_left: bool = False) -> list[Region]:
    """Return the regions of a page in reading order: headers, the page, its footnotes, footers."""
    parts: list[list[Region]] = [[], [], [], []]
    for region in regions:
        is_header = region.kind == "furniture" and region.box[1] + region.box[3] < sheet.height
        parts[0 if is_header else {"furniture": 3, "footnote": 2}.get(region.kind, 1)].append(region)
    orders = (reading_order([region.box for region in part], right_to_left=right_to_left) for part in parts)
    return [part[i] for part, order in zip(parts, orders, strict=True) for i in order]


def _figure_text(lines: Sequence[Line], setting: Setting) -> str:
    """Return the texts of a figure, one per line; a figure that is really a whole page is read by its columns."""
    texts = cluster(lines, setting.reach)
    boxes, mirrored = [shapes.bounding_box(line.box for line in text) for text in texts], setting.right_to_left
    order = reading_order(boxes, right_to_left=mirrored)
    return "\n".join(region_text("paragraph", texts[i], setting.hyphenated, right_to_left=mirrored) for i in order)


def _deduplicate(detections: Iterable[Detected]) -> list[Detected]:
    """Return detections without duplicates and parts of tables and figures, the most confident first."""
    unique = list[Detected]()
    for new in sorted(detections, key=lambda a: (-a.score * (1.0 if a.kind == "paragraph" else _SPECIFIC), a.box)):
        pairs = ((new.box, old.box) for old in unique)
        if box_area(new.box) and not any(min(fraction_inside(a, b), fraction_inside(b, a)) > _SAME for a, b in pairs):
            unique.append(new)
    atomic = [detection.box for detection in unique if detection.kind in _ATOMIC]

    def is_part(box: Box) -> bool:
        return any(fraction_inside(box, outer) > _SAME and box_area(box) < box_area(outer) for outer in atomic)

    return [detection for detection in unique if detection.kind == "caption" or not is_part(detection.box)]


def _find_owners(detections: Sequence[Detected], lines: Iterable[Line]) -> list[int]:
    """Return the index of the smallest detection that contains most of each line; -1 if there is none."""
    owners, boxes = list[int](), [detection.box for detection in detections]
    for line in lines:
        fractions = ((round(fraction_inside(line.box, box), 1), -box_area(box), -i) for i, box in enumerate(boxes))
        fraction, _, minus = max(fractions, default=(0.0, 0.0, 0))
        owners.append(-minus if fraction >= _INSIDE else -1)
    return owners


def _grow(detections: Sequence[Detected], lines: Sequence[Line], owners: Sequence[int], leading: float) -> list[int]:
    """Return the owners of lines after paragraphs absorb the lines that continue them, the most confident first."""
    kinds = [detection.kind for detection in detections]
    # A heading absorbs only pieces on its line, such as its number.
    reach = {i: leading if kind in _GROWING else -FARTHEST for i, kind in enumerate(kinds) if kind not in _ATOMIC}
    grown, neighbors = list(owners), defaultdict[int, list[int]](list)
    for i, j in pairs(lines, leading):
        neighbors[i].append(j)
        neighbors[j].append(i)
    queue = deque(sorted((i for i, owner in enumerate(owners) if owner in reach), key=owners.__getitem__))
    while queue:
        i = queue.popleft()
        for j in neighbors[i]:
            if grown[j] < 0 and belong_together(lines[i], lines[j], reach[grown[i]]):
                grown[j] = grown[i]
                queue.append(j)
    return grown


def _merge_single_lines(parts: Sequence[Part], leading: float) -> list[Part]:
    """Merge each paragraph of a single line into a paragraph close to it."""
    merged, single = list[Part](), list[Part]()
    for part in parts:
        (single if part.kind == "paragraph" and len(part.lines) == 1 else merged).append(part)
    for part in single:
        (line,) = part.lines
        for other in merged:
            if other.kind == "paragraph" and any(belong_together(line, near, leading) for near in other.lines):
                other.lines.append(line)
                break
        else:
            merged.append(part)
    return merged
