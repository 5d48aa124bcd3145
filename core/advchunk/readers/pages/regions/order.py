"""The reading order of the boxes of a page: column by column, between boxes that span the columns.

Ours, after the recursive X-Y cut: Nagy & Seth 1984, "Hierarchical representation of optically scanned documents"; Ha,
Haralick & Phillips 1995, "Recursive X-Y cut using bounding boxes of connected components". Theirs cuts at the widest
gap, which reads row by row where paragraphs of two columns happen to end side by side. Ours separates a band of the
page from the next only if a box in one of them spans the columns of the other. Columns are those that stand side by
side somewhere: a centered table is not a column beside the headings above and below it.
"""

from collections.abc import Sequence
from itertools import pairwise

from advchunk.readers.pages.regions.shapes import Box, bounding_box, union

_SLACK = 0.005  # overlap of neighboring boxes that is tolerated, as a fraction of the width and the height
_NARROW = 0.08  # of the width: anything narrower is not a column but a mark or a number beside one
_WIDE = 0.6  # of the width: anything wider spans the page
_AHEAD = 100  # bands to search for the start of another column
_DEEPEST = 50  # levels of columns within bands within columns


def reading_order(boxes: Sequence[Box]) -> list[int]:
    """Return the indices of a page's boxes, maybe slightly too large, in reading order; overlapping ones go down."""
    return _sort(boxes, list(range(len(boxes))), _DEEPEST)


def _sort(boxes: Sequence[Box], members: list[int], depth: int) -> list[int]:
    by_top = sorted(members, key=lambda i: (boxes[i][1], boxes[i][0], i))
    if len(members) < 2 or not depth:
        return by_top
    extent = bounding_box(boxes[i] for i in members)
    width, slack = extent[2] - extent[0], (extent[3] - extent[1]) * _SLACK
    bands, order, start = _bands(boxes, by_top, slack), list[int](), 0
    while start < len(bands):
        end, columns = _extend_columns(boxes, bands, start, width)
        group = [i for band in bands[start:end] for i in band]
        if len(columns) < 2:
            order += group
        else:
            for left, right in columns:
                column = [i for i in group if left <= (boxes[i][0] + boxes[i][2]) / 2 < right]
                order += _sort(boxes, column, depth - 1)
        start = end
    return order


def _bands(boxes: Sequence[Box], by_top: list[int], slack: float) -> list[list[int]]:
    """Return the boxes from top to bottom in bands with white space between them."""
    bands, bottom = list[list[int]](), float("-inf")
    for i in by_top:
        inset = min(slack, (boxes[i][3] - boxes[i][1]) / 4)
        if not bands or boxes[i][1] + inset >= bottom:
            bands.append([])
        bands[-1].append(i)
        bottom = max(bottom, boxes[i][3] - inset)
    return bands


def _extend_columns(
    boxes: Sequence[Box], bands: Sequence[list[int]], start: int, width: float
) -> tuple[int, list[tuple[float, float]]]:
    """Return the end of the bands from ``start`` on that share columns, and the columns; one band if there are none."""
    best, covered, is_beside = (start + 1, list[tuple[float, float]]()), list[tuple[float, float]](), False
    for end in range(start, len(bands)):
        insets = [min(width * _SLACK, (boxes[i][2] - boxes[i][0]) / 4) for i in bands[end]]
        own = union((boxes[i][0] + inset, boxes[i][2] - inset) for i, inset in zip(bands[end], insets, strict=True))
        is_beside = is_beside or len(_columns(own, width)) > 1
        covered = union([*covered, *own])
        if len(columns := _columns(covered, width)) > 1:
            best = (end + 1, columns) if is_beside else best
        elif covered[-1][1] - covered[0][0] > width * _WIDE or end - best[0] > _AHEAD:
            break
    return best


def _columns(covered: Sequence[tuple[float, float]], width: float) -> list[tuple[float, float]]:
    """Return adjacent columns around wide intervals; a narrow interval joins the nearest."""
    wide = [interval for interval in covered if interval[1] - interval[0] >= width * _NARROW]
    edges = [(a[1] + b[0]) / 2 for a, b in pairwise(wide)]
    # A narrow mark in the gutter: the edge moves to its far side, so that the nearer column contains it.
    for left, right in covered:
        if right - left < width * _NARROW:
            edges = [
                (right if left - a[1] <= b[0] - right else left) if a[1] <= left and right <= b[0] else edge
                for edge, (a, b) in zip(edges, pairwise(wide), strict=True)
            ]
    return list(pairwise([float("-inf"), *edges, float("inf")]))
