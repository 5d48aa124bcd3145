"""The order in which the boxes of a page are read: column by column, between what runs across the columns.

References
----------
Ours, after the recursive X-Y cut: Nagy & Seth 1984, "Hierarchical representation of optically scanned documents"; Ha,
Haralick & Phillips 1995, "Recursive X-Y cut using bounding boxes of connected components". Theirs cuts at the widest
gap, which reads row by row where paragraphs of two columns happen to end side by side. Here a band of the page is only cut
off from the next if something in one of them runs across the columns of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from advchunk.readers.regions.shapes import Box, bounding_box

_SLACK = 0.005  # of the width, and of the height, that boxes may lap over each other
_NARROW = 0.08  # of the width: less is no column, but a mark or a number beside one
_WIDE = 0.6  # of the width: more is a line across the page
_AHEAD = 100  # bands that are looked at for another column to begin
_DEEPEST = 50  # columns within bands within columns


def reading_order(boxes: Sequence[Box], *, right_to_left: bool = False) -> list[int]:
    """Return the indices of boxes in the order in which they are read.

    Boxes that lap over each other, so that nothing parts them, are read from top to bottom.

    Parameters
    ----------
    boxes : of one page, in any unit; they may be a little too large.
    right_to_left : whether the right column is read first, as in Arabic and Hebrew.

    Examples
    --------
    >>> title, left, right, below = (0, 0, 90, 10), (0, 15, 40, 60), (50, 15, 90, 40), (50, 42, 90, 60)
    >>> reading_order([below, right, title, left])
    [2, 3, 1, 0]
    >>> reading_order([below, right, title, left], right_to_left=True)
    [2, 1, 0, 3]
    """
    if right_to_left:
        boxes = [(-right, top, -left, bottom) for left, top, right, bottom in boxes]
    return _ordered(boxes, list(range(len(boxes))), _DEEPEST) if boxes else []


def _ordered(boxes: Sequence[Box], members: list[int], depth: int) -> list[int]:
    if len(members) < 2:
        return members
    by_top = sorted(members, key=lambda i: (boxes[i][1], boxes[i][0], i))
    if not depth:
        return by_top
    extent = bounding_box(boxes[i] for i in members)
    width, slack = extent[2] - extent[0], (extent[3] - extent[1]) * _SLACK
    bands, order, at = _bands(boxes, by_top, slack), list[int](), 0
    while at < len(bands):
        end, columns = _reach(boxes, bands, at, width)
        group = [i for band in bands[at:end] for i in band]
        if len(columns) < 2:
            order += group
        else:
            for left, right in columns:
                inside = [i for i in group if left <= (boxes[i][0] + boxes[i][2]) / 2 < right]
                order += _ordered(boxes, inside, depth - 1)
        at = end
    return order


def _bands(boxes: Sequence[Box], by_top: list[int], slack: float) -> list[list[int]]:
    """Return the boxes, from the top, in bands with white space between them."""
    bands, bottom = list[list[int]](), float("-inf")
    for i in by_top:
        inset = min(slack, (boxes[i][3] - boxes[i][1]) / 4)
        if not bands or boxes[i][1] + inset >= bottom:
            bands.append([])
        bands[-1].append(i)
        bottom = max(bottom, boxes[i][3] - inset)
    return bands


def _reach(
    boxes: Sequence[Box], bands: Sequence[list[int]], start: int, width: float
) -> tuple[int, list[tuple[float, float]]]:
    """Return how far the bands from ``start`` on stand in the same columns, and these; one band if there are none."""
    best, inked = (start + 1, list[tuple[float, float]]()), list[tuple[float, float]]()
    for end in range(start, len(bands)):
        inset = [min(width * _SLACK, (boxes[i][2] - boxes[i][0]) / 4) for i in bands[end]]
        inked += [(boxes[i][0] + by, boxes[i][2] - by) for i, by in zip(bands[end], inset, strict=True)]
        inked = _merged(inked)
        columns = _columns(inked, width)
        if len(columns) > 1:
            best = end + 1, columns
        elif inked[-1][1] - inked[0][0] > width * _WIDE or end - best[0] > _AHEAD:
            break
    return best


def _merged(intervals: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the union of intervals, from the left."""
    found = list[tuple[float, float]]()
    for left, right in sorted(intervals):
        if found and left <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], right)
        else:
            found.append((left, right))
    return found


def _columns(inked: Sequence[tuple[float, float]], width: float) -> list[tuple[float, float]]:
    """Return columns around what is inked, which leave no room between them; what is narrow is part of the nearest."""
    wide = [each for each in inked if each[1] - each[0] >= width * _NARROW]
    edges = [(a[1] + b[0]) / 2 for a, b in pairwise(wide)]
    # A narrow mark in the gutter: the edge moves to its farther side, so that the nearer column has all of it.
    for left, right in inked:
        if right - left < width * _NARROW:
            edges = [
                (right if left - a[1] <= b[0] - right else left) if a[1] <= left and right <= b[0] else edge
                for edge, (a, b) in zip(edges, pairwise(wide), strict=True)
            ]
    return list(pairwise([float("-inf"), *edges, float("inf")]))
