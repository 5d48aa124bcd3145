"""Give each line of a page to the region that holds it, and read the regions in their order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import median
from typing import TypeAlias

from advchunk.readers.regions.order import reading_order
from advchunk.readers.regions.prose import is_list, is_marker, is_right_to_left, region_text, split_items
from advchunk.readers.regions.shapes import (
    Detected,
    Line,
    Region,
    Sheet,
    bounding_box,
    box_area,
    fraction_inside,
    interval_overlap,
    label_kind,
)
from advchunk.records import BlockKind

_WHOLE: frozenset[BlockKind] = frozenset({"table", "figure"})  # what stands within them is theirs
_GROWING: frozenset[BlockKind] = frozenset({"paragraph", "item", "caption", "footnote", "reference"})
_PROSE = _GROWING - {"item"}
_SAME = 0.75  # of one box within another: both are about the same thing
_TELLING = 1.25  # times its score, any label but text
_HELD = 0.5  # of a line within a box
_LOOSE, _TIGHT = 0.4, 0.15  # of its height: farther apart than usual are lines of a paragraph, and those surely of one
_FARTHEST = 2.0  # of its height: nor is the usual distance any more
_AHEAD = 100  # lines, from the top, among which one that stands with a line is looked for: a page has few side by side
_SPACE, _TAB = 0.5, 3.0  # of its height: nor are pieces of one line, and what follows a bullet


def build_regions(
    sheet: Sheet,
    lines: Sequence[Line],
    found: Iterable[Detected],
    *,
    known: Collection[str] = (),
    right_to_left: bool = False,
) -> list[Region]:
    """Return the regions of a page, in the order in which they are read; each line is in one.

    Detected boxes are taken for rough: where two say the same the surer counts, within tables and figures nothing but
    their captions, and a line just outside a paragraph that it continues is part of it. Lines that no region holds
    become paragraphs. Boxes are then those of the lines.

    Parameters
    ----------
    lines : the text of the page.
    found : what a detector found there, in the unit of the lines.
    known : words with a hyphen that the document has (`prose.join_lines`).
    right_to_left : whether right columns are read first.
    """
    detected, leading = _distinct(found), _leading(lines)
    owners = _grown(detected, lines, _owners(detected, lines), leading + _LOOSE)
    held = [[line for line, owner in zip(lines, owners, strict=True) if owner == i] for i in range(len(detected))]
    rest = [line for line, owner in zip(lines, owners, strict=True) if owner < 0]
    parts = [
        (kind, level, one.score, part)
        for one, its_lines in zip(detected, held, strict=True)
        for kind, level in [_said(one, its_lines)]
        for part in (_clusters(its_lines, leading + _LOOSE) if kind in _PROSE else [its_lines] if its_lines else [])
    ]
    parts += [("item" if is_list(part) else "paragraph", 0, 1.0, part) for part in _clusters(rest, leading + _LOOSE)]
    regions = list[Region]()
    for kind, level, score, part in _rejoined(parts, leading + _TIGHT):
        for each in split_items(part, leftwards=right_to_left) if kind == "item" else [part]:
            if kind == "figure":
                text = _shown(each, known, right_to_left, leading + _LOOSE)
            else:
                text = region_text(kind, each, known, leftwards=right_to_left)
            size = median(line.height for line in each)
            regions.append(Region(kind, sheet.page, bounding_box(line.box for line in each), text, score, level, size))
    pictures = (one for one, its_lines in zip(detected, held, strict=True) if not its_lines)
    regions += [
        Region(label_kind(one.label)[0], sheet.page, one.box, "", one.score)
        for one in pictures
        if label_kind(one.label)[0] in _WHOLE
    ]
    return sort_regions(sheet, regions, right_to_left=right_to_left)


def sort_regions(sheet: Sheet, regions: Sequence[Region], *, right_to_left: bool = False) -> list[Region]:
    """Return the regions of a page as they are read: what runs above it, the page, its footnotes, what runs below it."""
    parts: list[list[Region]] = [[], [], [], []]
    for region in regions:
        if region.kind == "furniture":
            parts[0 if region.box[1] + region.box[3] < sheet.height else 3].append(region)
        else:
            parts[2 if region.kind == "footnote" else 1].append(region)
    return [
        part[i]
        for part in parts
        for i in reading_order([region.box for region in part], right_to_left=right_to_left)
    ]  # fmt: skip


def _said(one: Detected, lines: Sequence[Line]) -> tuple[BlockKind, int]:
    """Return the kind of a region, and the depth of a heading: what looks like a list is one."""
    kind, level = label_kind(one.label)
    return ("item", 0) if kind in {"heading", "paragraph"} and is_list(lines) else (kind, level)


def _shown(lines: Sequence[Line], known: Collection[str], leftwards: bool, leading: float) -> str:
    """Return what a figure says, a line for each of its texts; one that is really a page has columns."""
    texts = _clusters(lines, leading)
    order = reading_order([bounding_box(line.box for line in text) for text in texts], right_to_left=leftwards)
    return "\n".join(region_text("paragraph", texts[i], known, leftwards=leftwards) for i in order)


def _distinct(found: Iterable[Detected]) -> list[Detected]:
    """Return what was detected, once each, the surest first; that it is text says little."""

    def sureness(one: Detected) -> float:
        return one.score * (1.0 if label_kind(one.label)[0] == "paragraph" else _TELLING)

    kept = list[Detected]()
    for one in sorted(found, key=lambda one: (-sureness(one), one.box)):
        if box_area(one.box) and not any(
            min(fraction_inside(one.box, k.box), fraction_inside(k.box, one.box)) > _SAME for k in kept
        ):
            kept.append(one)
    whole = [one for one in kept if label_kind(one.label)[0] in _WHOLE]
    return [one for one in kept if not _is_part(one, whole)]


def _is_part(one: Detected, whole: Iterable[Detected]) -> bool:
    """Whether something stands within a table or figure, and is not its caption."""
    if label_kind(one.label)[0] == "caption":
        return False
    return any(
        fraction_inside(one.box, outer.box) > _SAME and box_area(one.box) < box_area(outer.box) for outer in whole
    )


def _owners(detected: Sequence[Detected], lines: Iterable[Line]) -> list[int]:
    """Return which region holds each line, -1 for none; of two, the one that has more of it, or is smaller."""
    owners = list[int]()
    for line in lines:
        shares = (
            (round(fraction_inside(line.box, one.box), 1), -box_area(one.box), -i) for i, one in enumerate(detected)
        )
        share, _, minus = max(shares, default=(0.0, 0.0, 0))
        owners.append(-minus if share >= _HELD else -1)
    return owners


def _leading(lines: Sequence[Line]) -> float:
    """Return how far lines of this page are apart, in their height: the usual distance to the next one below."""
    gaps, by_top = list[float](), sorted(lines, key=lambda line: line.box[1])
    for i, line in enumerate(by_top):
        for below in by_top[i + 1 : i + 1 + _AHEAD]:
            if below.box[1] > line.box[3] + _FARTHEST * line.height:
                break
            if below.box[1] > (line.box[1] + line.box[3]) / 2 and _together(line, below, _FARTHEST):
                gaps.append(max(-interval_overlap(line.box[1::2], below.box[1::2]), 0) / line.height)
                break
    return median(gaps or [0.0])


def _grown(detected: Sequence[Detected], lines: Sequence[Line], owners: Sequence[int], leading: float) -> list[int]:
    """Return which region holds each line once paragraphs have the lines that continue them, the surer ones first."""
    kinds = [label_kind(one.label)[0] for one in detected]
    # Of a heading, what stands on its line, such as its number.
    reach = {i: leading if kind in _GROWING else -_FARTHEST for i, kind in enumerate(kinds) if kind not in _WHOLE}
    grown, near = list(owners), defaultdict[int, list[int]](list)
    for i, j in _pairs(lines, leading):
        near[i].append(j)
        near[j].append(i)
    growing = deque(sorted((i for i, owner in enumerate(owners) if owner in reach), key=owners.__getitem__))
    while growing:
        i = growing.popleft()
        for j in near[i]:
            if grown[j] < 0 and _together(lines[i], lines[j], reach[grown[i]]):
                grown[j] = grown[i]
                growing.append(j)
    return grown


_Part: TypeAlias = tuple[BlockKind, int, float, list[Line]]


def _rejoined(parts: Sequence[_Part], leading: float) -> list[_Part]:
    """Return parts of regions; one line by itself is part of a paragraph that it stands close to."""
    kept, single = list[_Part](), list[_Part]()
    for part in parts:
        (single if part[0] == "paragraph" and len(part[3]) == 1 else kept).append(part)
    for part in single:
        (line,) = part[3]
        near = (k for k in kept if k[0] == "paragraph" and any(_together(line, other, leading) for other in k[3]))
        if owner := next(near, None):
            owner[3].append(line)
        else:
            kept.append(part)
    return kept


def _together(a: Line, b: Line, leading: float) -> bool:
    """Whether two lines are pieces of one, or follow each other in one paragraph."""
    height = min(a.height, b.height)
    across, down = interval_overlap(a.box[::2], b.box[::2]), interval_overlap(a.box[1::2], b.box[1::2])
    if down > height / 2:
        first, last = sorted((a, b), key=lambda line: line.box[0])
        marker = last if is_right_to_left([a.text, b.text]) else first  # of what is before it, in a column, it is none
        return across > -height * (_TAB if is_marker(marker.text) else _SPACE)
    alike = max(a.height, b.height) <= 1.25 * height
    return alike and down > -leading * height and across > min(a.box[2] - a.box[0], b.box[2] - b.box[0]) / 2


def _clusters(lines: Sequence[Line], leading: float) -> list[list[Line]]:
    """Return lines by the paragraphs that they seem to form."""
    root = list(range(len(lines)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = i = root[root[i]]
        return i

    for i, j in _pairs(lines, leading):
        first, second = sorted((find(i), find(j)))
        root[second] = first
    found = dict[int, list[Line]]()
    for i, line in enumerate(lines):
        found.setdefault(find(i), []).append(line)
    return list(found.values())


def _pairs(lines: Sequence[Line], leading: float) -> Iterator[tuple[int, int]]:
    """Yield which lines stand together, each pair once."""
    by_top = sorted(range(len(lines)), key=lambda i: lines[i].box[1])
    for place, i in enumerate(by_top):
        end = lines[i].box[3] + max(leading, 0) * lines[i].height
        for j in by_top[place + 1 : place + 1 + _AHEAD]:
            if lines[j].box[1] > end:
                break
            if _together(lines[i], lines[j], leading):
                yield i, j
