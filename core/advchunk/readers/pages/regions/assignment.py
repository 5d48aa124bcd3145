"""Cut the rows of a page into parts by the regions that a detector finds, and put lines without an order into one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median

from advchunk.readers.pages.regions import shapes
from advchunk.readers.pages.regions.corrections import Part
from advchunk.readers.pages.regions.grouping import Setting, belong_together, cluster
from advchunk.readers.pages.regions.order import reading_order
from advchunk.readers.pages.regions.prose import group_rows, is_marker, join_rows, region_text, row_text, split_marked
from advchunk.readers.pages.regions.shapes import Box, Detected, Line, Region, Sheet, box_area, fraction_inside
from advchunk.readers.writing import cell_texts
from advchunk.records import BlockKind

_ATOMIC: frozenset[BlockKind] = frozenset({"table", "figure"})  # regions inside them are dropped
_GROWING: frozenset[BlockKind] = frozenset({"paragraph", "item", "caption", "footnote", "reference"})
_PROSE = _GROWING - {"item"}
_SAME = 0.75  # of one box inside another: both detect the same thing
_SPECIFIC = 1.25  # score factor of labels other than text, which is unspecific
_TAB = 1.5  # in line heights, between a label and its value
_INSIDE = 0.5  # of a line inside a box that owns it


def arrange(lines: Sequence[Line], detections: Iterable[Detected], fixed: Iterable[Part]) -> list[list[Line]]:
    """Return the rows of unordered lines, by column; those of a detection, a fixed part, or close by are together."""
    detections, owned = deduplicate(detections), defaultdict[int, list[Line]](list)
    tables = [detection.box for detection in detections if detection.kind == "table"]
    prose = [line for line in lines if not any(fraction_inside(line.box, box) > _INSIDE for box in tables)]
    reach = Setting.of(lines).on_page(prose or lines).reach
    for line, owner in zip(lines, _find_owners(detections, lines), strict=True):
        owned[owner].append(line)
    groups = [part.lines for part in fixed]
    for i, group in owned.items():  # a figure may be a whole page
        groups += [group] if i >= 0 and detections[i].kind != "figure" else cluster(group, reach)
    order = reading_order([shapes.bounding_box(line.box for line in group) for group in groups])
    return join_rows(line for i in order for row in group_rows(groups[i]) for line in row)


def pictures(sheet: Sheet, lines: Sequence[Line], detections: Iterable[Detected]) -> list[Region]:
    """Return the tables and figures on a page that have no text."""
    return [
        Region(detection.kind, sheet.page, detection.box)
        for detection in detections
        if detection.kind in _ATOMIC and not any(fraction_inside(line.box, detection.box) >= _INSIDE for line in lines)
    ]


def cut_rows(
    rows: Iterable[list[Line]], detections: Sequence[Detected], fixed: Iterable[Part], setting: Setting
) -> list[Part]:
    """Cut the rows of a page, in reading order, into parts; ``fixed`` ones are in place of their first lines.

    A row belongs to the detection that most of it is in, and begins a part where the detection changes, or where it
    does not continue the paragraph above. Rows with gaps as those of fields have are lines of their own.
    """
    places, placed = {id(line): part for part in fixed for line in part.lines}, set[int]()
    parts, owner, last = list[Part](), -1, None  # the detection and the row that the next one may continue
    was_field = False
    for row in (part for whole_row in rows for part in _divide(whole_row, detections)):
        for part in (places[id(line)] for line in row if id(line) in places):
            if id(part) not in placed:
                parts.append(part)
            placed.add(id(part))
            last = None
        if not (rest := [line for line in row if id(line) not in places]):
            continue
        whole, is_field = _whole(rest), _is_field(rest)
        (new,) = _find_owners(detections, [whole])
        kinds = [detections[i].kind if i >= 0 else "paragraph" for i in (owner, new)]
        if last is None:
            is_same = False
        elif owner == new >= 0 and kinds[0] not in _PROSE:
            is_same = True
        elif is_field or was_field:
            is_same = is_field and was_field and owner == new
        else:
            may_be = owner == new or (_GROWING.issuperset(kinds) and (-1 in (owner, new) or kinds[0] == kinds[1]))
            is_same = may_be and whole.box[3] > last.box[3] and belong_together(last, whole, setting.reach)
        owner, was_field = max(owner, new) if is_same else new, is_field
        kind, level = shapes.label_kind(detections[owner].label) if owner >= 0 else ("paragraph", 0)
        if not is_same:
            parts.append(Part(kind, level, rest))
        else:
            above = parts[-1]
            text = f"{above.text or last.text}\n{whole.text}" if last and is_field and kind in _PROSE else ""
            parts[-1] = above._replace(kind=kind, lines=[*above.lines, *rest], text=text)
        last = whole
    return parts


def _whole(row: Sequence[Line]) -> Line:
    """Return a row as one line, as high as its highest one: a raised number is nearer to the row above."""
    (left, _, right, _), highest = shapes.bounding_box(line.box for line in row), max(row, key=lambda line: line.height)
    return Line(row_text(row), (left, highest.box[1], right, highest.box[3]))


def _divide(row: Sequence[Line], detections: Sequence[Detected]) -> Iterator[list[Line]]:
    """Yield the parts of a row that are in different detections, as captions of two figures are."""
    owners = dict(zip(map(id, row), _find_owners(detections, row), strict=True))
    if len({*owners.values()} - {-1}) > 1 and {detections[i].kind for i in owners.values()} != {"heading"}:
        yield from (list(lines) for _, lines in groupby(row, key=lambda line: owners[id(line)]))
    else:
        yield list(row)


def _is_field(row: Sequence[Line]) -> bool:
    """Return True if a row has a gap as wide as that between a label and its value, but not just one after a marker."""
    gaps = [-shapes.interval_overlap(a.box[::2], b.box[::2]) >= _TAB * b.height for a, b in pairwise(row)]
    return any(gaps[1:] if is_marker(row[0].text) else gaps)


def part_regions(sheet: Sheet, part: Part, setting: Setting) -> Iterator[Region]:
    """Yield the regions of a part: each item of a list, each reference, or the whole part."""
    for lines in split_marked(part.kind, part.lines):
        own = "\n".join(map(row_text, join_rows(lines))) if part.kind == "figure" else ""
        text = part.text or own or region_text(part.kind, lines, setting.words)
        size = 0.0 if part.is_whole else median(line.height for line in lines)
        written = cell_texts(text) if part.kind == "table" else text
        hyphens = sum(line.text.count("-") for line in lines) - written.count("-")
        box = shapes.bounding_box(line.box for line in lines)
        yield Region(part.kind, sheet.page, box, text, part.level, size, hyphens)


def deduplicate(detections: Iterable[Detected]) -> list[Detected]:
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
