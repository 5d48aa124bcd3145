"""Group the lines of a page into paragraphs by their distances."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from statistics import median

from advchunk.readers.pages.regions.prose import is_marker
from advchunk.readers.pages.regions.shapes import Line, interval_overlap

TIGHT, LOOSE, LOOSEST = 0.15, 0.3, 0.4
"""Distances beyond the usual line spacing, in line heights: of lines surely of one paragraph, at most, and at most on
scans."""
FARTHEST = 2.0
"""Distance beyond the usual spacing even of widely set lines, in line heights."""

_SPACE, _TAB = 0.5, 3.0  # between pieces of one line, and after a bullet
_AHEAD = 100  # lines, from the top, to search for neighbors: a page has few side by side


def line_spacing(lines: Sequence[Line]) -> float:
    """Return the usual distance from a line of this page to the next below, in line heights."""
    gaps, by_top = list[float](), sorted(lines, key=lambda line: line.box[1])
    for i, line in enumerate(by_top):
        for below in by_top[i + 1 : i + 1 + _AHEAD]:
            if below.box[1] > line.box[3] + FARTHEST * line.height:
                break
            if below.box[1] > (line.box[1] + line.box[3]) / 2 and belong_together(line, below, FARTHEST):
                gaps.append(-interval_overlap(line.box[1::2], below.box[1::2]) / line.height)
                break
    return median(gaps or [0.0])


def belong_together(a: Line, b: Line, leading: float) -> bool:
    """Return True if two lines are pieces of one, or neighbors in one paragraph."""
    height = min(a.height, b.height)
    across, down = interval_overlap(a.box[::2], b.box[::2]), interval_overlap(a.box[1::2], b.box[1::2])
    if down > height / 2:
        if across > -_SPACE * height or across <= -_TAB * height:
            return across > -_SPACE * height
        return is_marker(min(a, b, key=lambda line: line.box[0]).text)  # it marks only the text after it
    similar = max(a.height, b.height) <= 1.25 * height
    return similar and down > -leading * height and across > min(a.box[2] - a.box[0], b.box[2] - b.box[0]) / 2


def cluster(lines: Sequence[Line], leading: float) -> list[list[Line]]:
    """Group lines into paragraphs."""
    root = list(range(len(lines)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = i = root[root[i]]
        return i

    by_top = sorted(range(len(lines)), key=lambda i: lines[i].box[1])
    for place, i in enumerate(by_top):
        end = lines[i].box[3] + max(leading, 0) * lines[i].height
        for j in takewhile(lambda j: lines[j].box[1] <= end, by_top[place + 1 : place + 1 + _AHEAD]):  # noqa: B023
            if belong_together(lines[i], lines[j], leading):
                first, second = sorted((find(i), find(j)))
                root[second] = first
    clusters = defaultdict[int, list[Line]](list)
    for i, line in enumerate(lines):
        clusters[find(i)].append(line)
    return list(clusters.values())
