"""Find code on a page: lines in a monospaced font."""

from collections.abc import Sequence

from advchunk.readers.pages.regions.grouping import belong_together
from advchunk.readers.pages.regions.prose import group_rows, starts_with_bullet
from advchunk.readers.pages.regions.setting import Setting
from advchunk.readers.pages.regions.shapes import Line, bounding_box, box_area, fraction_inside, interval_overlap

# in line heights or distances of lines: a larger gap ends a piece of code; two lines of code may have one between them
_BLANK = 1.7
_AHEAD = 100  # pieces of code, the last ones, that a line may continue


def find_code(lines: Sequence[Line], setting: Setting) -> list[list[Line]]:
    """Return the lines of each piece of code; [] if the text itself is set in a monospaced font.

    A single row is code only if it stands apart from the prose around it: the last word of a paragraph may be
    monospaced.
    """
    if setting.font.mono:
        return []
    code = [line for line in lines if _is_code(line, setting)]
    others = [line for line in lines if not _is_code(line, setting)]
    pieces = list[list[Line]]()
    for row in group_rows(code):
        for line in row:
            for piece in reversed(pieces[-_AHEAD:]):
                if _continues(piece, line, others):
                    piece.append(line)
                    break
            else:
                pieces.append([line])
    return [piece for piece in pieces if len(group_rows(piece)) > 1 or _is_apart(piece, others, setting)]


def _is_code(line: Line, setting: Setting) -> bool:
    return line.font.mono and not setting.is_large(line) and not starts_with_bullet(line.text)


def _continues(piece: Sequence[Line], line: Line, others: Sequence[Line]) -> bool:
    """Return True if a line is on the last row of a piece of code, or right below it, with nothing else between
    them.
    """
    last = piece[-1]
    gap = -interval_overlap(last.box[1::2], line.box[1::2])
    extent = bounding_box(other.box for other in piece)
    beside = sorted([extent, line.box])
    if beside[0][2] < beside[1][0] and _is_gutter(beside[0][2], beside[1][0], others):
        return False
    joint = bounding_box([extent, line.box])
    return gap <= _BLANK * line.height and not any(_touches(joint, other) for other in others)


def _is_gutter(left: float, right: float, others: Sequence[Line]) -> bool:
    """Return True if a gap is one between columns of text: more lines begin to its right than cross it."""
    beyond = sum(other.box[0] >= left for other in others)
    return beyond > sum(other.box[0] < left and other.box[2] > right for other in others)


def _touches(box: tuple[float, float, float, float], line: Line) -> bool:
    return fraction_inside(line.box, box) > 0 if box_area(line.box) else False


def _is_apart(piece: Sequence[Line], others: Sequence[Line], setting: Setting) -> bool:
    return not any(belong_together(line, other, setting.near) for line in piece for other in others)
