"""Assign the lines of a page to its regions, and sort the regions into reading order."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import median
from typing import TypeAlias

from advchunk.readers.regions import shapes
from advchunk.readers.regions.order import reading_order
from advchunk.readers.regions.prose import is_list, is_marker, is_right_to_left, region_text, split_items
from advchunk.readers.regions.shapes import (
    Box,
    Detected,
    Line,
    Region,
    Sheet,
    box_area,
    fraction_inside,
    interval_overlap,
)
from advchunk.records import BlockKind

_ATOMIC: frozenset[BlockKind] = frozenset({"table", "figure"})  # regions inside them are dropped
_GROWING: frozenset[BlockKind] = frozenset({"paragraph", "item", "caption", "footnote", "reference"})
_PROSE = _GROWING - {"item"}
_SAME = 0.75  # of one box inside another: both detect the same thing
_SPECIFIC = 1.25  # score factor of labels other than text, which is unspecific
_INSIDE = 0.5  # of a line inside a box that owns it
# Distances in line heights.
_LOOSE, _TIGHT = 0.4, 0.15  # beyond the usual line spacing, for lines of one paragraph, and for lines surely of one
_FARTHEST = 2.0  # beyond the usual spacing even of widely set lines
_SPACE, _TAB = 0.5, 3.0  # between pieces of one line, and after a bullet
_AHEAD = 100  # lines, from the top, to search for neighbors: a page has few side by side

_Part: TypeAlias = tuple[BlockKind, int, float, list[Line]]


def build_regions(
    sheet: Sheet,
    lines: Sequence[Line],
    detections: Iterable[Detected],
    *,
    hyphenated: Collection[str] = (),
    right_to_left: bool = False,
) -> list[Region]:
    """Return the regions of a page in reading order; each line is in one.

    Detections are only approximate: of two in the same place the more confident one counts, a table or figure absorbs
    everything inside it except its caption, and a paragraph absorbs lines just outside its box that continue it. Lines
    outside detections become paragraphs. The boxes of regions are those of their lines. ``hyphenated`` are the hyphenated words of
    the document (`prose.join_lines`).
    """
    detections, leading = _deduplicate(detections), _line_spacing(lines)
    owners = _grow(detections, lines, _find_owners(detections, lines), leading + _LOOSE)
    owned = defaultdict[int, list[Line]](list)
    for line, owner in zip(lines, owners, strict=True):
        owned[owner].append(line)
    parts, pictures = list[_Part](), list[Region]()
    for i, detection in enumerate(detections):
        kind, level = shapes.label_kind(detection.label)
        if not owned[i]:
            if kind in _ATOMIC:
                pictures.append(Region(kind, sheet.page, detection.box, "", detection.score))
            continue
        if kind in {"heading", "paragraph"} and is_list(owned[i]):
            kind, level = "item", 0
        groups = _cluster(owned[i], leading + _LOOSE) if kind in _PROSE else [owned[i]]
        parts += [(kind, level, detection.score, group) for group in groups]
    loose = _cluster(owned[-1], leading + _LOOSE)
    parts += [("item" if is_list(group) else "paragraph", 0, 1.0, group) for group in loose]
    regions = list[Region]()
    for kind, level, score, part in _merge_single_lines(parts, leading + _TIGHT):
        for group in split_items(part, right_to_left=right_to_left) if kind == "item" else [part]:
            if kind == "figure":
                text = _figure_text(group, hyphenated, right_to_left, leading + _LOOSE)
            else:
                text = region_text(kind, group, hyphenated, right_to_left=right_to_left)
            box, size = shapes.bounding_box(line.box for line in group), median(line.height for line in group)
            regions.append(Region(kind, sheet.page, box, text, score, level, size))
    return sort_regions(sheet, [*regions, *pictures], right_to_left=right_to_left)


def sort_regions(sheet: Sheet, regions: Sequence[Region], *, right_to_left: bool = False) -> list[Region]:
    """Return the regions of a page in reading order: headers, the page, its footnotes, footers."""
    parts: list[list[Region]] = [[], [], [], []]
    for region in regions:
        is_header = region.kind == "furniture" and region.box[1] + region.box[3] < sheet.height
        parts[0 if is_header else {"furniture": 3, "footnote": 2}.get(region.kind, 1)].append(region)
    orders = (reading_order([region.box for region in part], right_to_left=right_to_left) for part in parts)
    return [part[i] for part, order in zip(parts, orders, strict=True) for i in order]


def _figure_text(lines: Sequence[Line], hyphenated: Collection[str], right_to_left: bool, leading: float) -> str:
    """Return the texts of a figure, one per line; a figure that is really a whole page is read by its columns."""
    texts = _cluster(lines, leading)
    order = reading_order(
        [shapes.bounding_box(line.box for line in text) for text in texts], right_to_left=right_to_left
    )
    return "\n".join(region_text("paragraph", texts[i], hyphenated, right_to_left=right_to_left) for i in order)


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


def _line_spacing(lines: Sequence[Line]) -> float:
    """Return the usual distance from a line of this page to the next below, in line heights."""
    gaps, by_top = list[float](), sorted(lines, key=lambda line: line.box[1])
    for i, line in enumerate(by_top):
        for below in by_top[i + 1 : i + 1 + _AHEAD]:
            if below.box[1] > line.box[3] + _FARTHEST * line.height:
                break
            if below.box[1] > (line.box[1] + line.box[3]) / 2 and _belong_together(line, below, _FARTHEST):
                gaps.append(max(-interval_overlap(line.box[1::2], below.box[1::2]), 0) / line.height)
                break
    return median(gaps or [0.0])


def _grow(detections: Sequence[Detected], lines: Sequence[Line], owners: Sequence[int], leading: float) -> list[int]:
    """Return the owners of lines after paragraphs absorb the lines that continue them, the most confident first."""
    kinds = [detection.kind for detection in detections]
    # A heading absorbs only pieces on its line, such as its number.
    reach = {i: leading if kind in _GROWING else -_FARTHEST for i, kind in enumerate(kinds) if kind not in _ATOMIC}
    grown, neighbors = list(owners), defaultdict[int, list[int]](list)
    for i, j in _pairs(lines, leading):
        neighbors[i].append(j)
        neighbors[j].append(i)
    queue = deque(sorted((i for i, owner in enumerate(owners) if owner in reach), key=owners.__getitem__))
    while queue:
        i = queue.popleft()
        for j in neighbors[i]:
            if grown[j] < 0 and _belong_together(lines[i], lines[j], reach[grown[i]]):
                grown[j] = grown[i]
                queue.append(j)
    return grown


def _merge_single_lines(parts: Sequence[_Part], leading: float) -> list[_Part]:
    """Merge each paragraph of a single line into a paragraph close to it."""
    merged, single = list[_Part](), list[_Part]()
    for part in parts:
        (single if part[0] == "paragraph" and len(part[3]) == 1 else merged).append(part)
    for part in single:
        (line,) = part[3]
        for kind, _, _, others in merged:
            if kind == "paragraph" and any(_belong_together(line, other, leading) for other in others):
                others.append(line)
                break
        else:
            merged.append(part)
    return merged


def _belong_together(a: Line, b: Line, leading: float) -> bool:
    """Return True if two lines are pieces of one, or neighbors in one paragraph."""
    height = min(a.height, b.height)
    across, down = interval_overlap(a.box[::2], b.box[::2]), interval_overlap(a.box[1::2], b.box[1::2])
    if down > height / 2:
        first, last = sorted((a, b), key=lambda line: line.box[0])
        marker = last if is_right_to_left([a.text, b.text]) else first  # it marks only the text after it
        return across > -height * (_TAB if is_marker(marker.text) else _SPACE)
    similar = max(a.height, b.height) <= 1.25 * height
    return similar and down > -leading * height and across > min(a.box[2] - a.box[0], b.box[2] - b.box[0]) / 2


def _cluster(lines: Sequence[Line], leading: float) -> list[list[Line]]:
    """Group lines into paragraphs."""
    root = list(range(len(lines)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = i = root[root[i]]
        return i

    for i, j in _pairs(lines, leading):
        first, second = sorted((find(i), find(j)))
        root[second] = first
    clusters = defaultdict[int, list[Line]](list)
    for i, line in enumerate(lines):
        clusters[find(i)].append(line)
    return list(clusters.values())


def _pairs(lines: Sequence[Line], leading: float) -> Iterator[tuple[int, int]]:
    """Yield each pair of lines that belong together, once."""
    by_top = sorted(range(len(lines)), key=lambda i: lines[i].box[1])
    for place, i in enumerate(by_top):
        end = lines[i].box[3] + max(leading, 0) * lines[i].height
        for j in by_top[place + 1 : place + 1 + _AHEAD]:
            if lines[j].box[1] > end:
                break
            if _belong_together(lines[i], lines[j], leading):
                yield i, j
