"""The chapters that a chat model proposes: parse its answers, merge those of several windows, move them to headings."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from advchunk.errors import require_answer
from advchunk.models import signals
from advchunk.models.prompts import single_line
from advchunk.records import Floats, Ints

_MIN_UNITS = 4  # per window; two are repeated, so each window advances
_MIN_WIDTH = 4  # units of the smallest window that is compared
_MAX_TITLE = 120  # characters
_MAX_QUOTE = 80  # characters of an answer in an error
_HEADING = re.compile(
    r"^ {0,3}\#{1,6}[ \t]*"
    r"[\[(*]{0,3}(?P<number>[0-9]{1,9})(?:[-–][0-9]{1,9})?[\])*.:]{0,3}"  # also "**[12]**" and "12-17:"
    r"[ \t]+(?P<title>\S.*)$",  # without a title the answer may have been cut off within the number
    re.MULTILINE,
)


class Chapter(NamedTuple):
    """A chapter that begins with a unit."""

    unit: int
    title: str


class ChapterWindow(NamedTuple):
    """Units ``start`` to ``end``, and the messages that ask for their chapters."""

    start: int
    end: int
    messages: tuple[tuple[str, str], ...]


class Answer(NamedTuple):
    """The chapters of an answer in ascending order, and the number of its headings that are ignored."""

    chapters: list[Chapter]
    ignored: int


def parse_answer(answer: str, start: int, end: int) -> Answer:
    """Return the longest ascending run of an answer's chapters from ``start`` to ``end``, or raise `BadModelOutput`."""
    headings = parse_chapters(answer)
    run = longest_ascending_run(headings, start, end)
    rule = "a chat model must answer with headings such as '## 12 Title', in ascending order"
    are_most = bool(run) and 2 * len(run) >= len(headings)  # else the numbers mean nothing
    require_answer(are_most, f"{rule}, got {answer[:_MAX_QUOTE]!r}")
    return Answer(run, len(headings) - len(run))


def parse_chapters(answer: str) -> list[Chapter]:
    r"""Return the chapters of an answer: its Markdown headings with a number. Other text is ignored.

    >>> parse_chapters("Sure:\n## 1 Cats\n## Dogs\n### **7.** Of *courts*")
    [Chapter(unit=0, title='Cats'), Chapter(unit=6, title='Of courts')]
    """
    titles = ((match, re.sub(r"[*_`#]+", "", match["title"])) for match in _HEADING.finditer(answer))
    return [
        Chapter(int(match["number"]) - 1, truncate(single_line(title).lstrip("-–—:. "), _MAX_TITLE))
        for match, title in titles
    ]


def longest_ascending_run(chapters: Sequence[Chapter], start: int, end: int) -> list[Chapter]:
    """Return the longest ascending chapters within ``start`` to ``end``; ties go to the first (Fredman 1975)."""
    inside = [chapter for chapter in chapters if start <= chapter.unit < end]
    highest = list[int]()  # minus the highest start of a run of each length
    lengths = list[int]()  # of the longest run from each chapter, the last chapter first
    for chapter in inside[::-1]:
        place = bisect_left(highest, -chapter.unit)
        highest[place : place + 1] = [-chapter.unit]
        lengths.append(place + 1)
    run = list[Chapter]()
    for chapter, length in zip(inside, lengths[::-1], strict=True):
        if length == len(highest) - len(run) and (not run or chapter.unit > run[-1].unit):
            run.append(chapter)
    return run


def split_windows(sizes: Ints, max_size: int, overlap: int) -> list[tuple[int, int]]:
    """Return runs of four units or at most ``max_size``; each repeats two units to half of a run, up to ``overlap``."""
    n, total, start = len(sizes), np.r_[0, np.cumsum(sizes)], 0
    windows = list[tuple[int, int]]()
    while True:
        end = int(np.searchsorted(total, total[start] + max_size, "right")) - 1
        end = min(max(end, start + _MIN_UNITS), n)
        windows.append((start, end))
        if end == n:
            return windows
        repeated = int(np.searchsorted(total, total[end] - overlap))
        advancing = int(np.searchsorted(total, total[end + 1] - max_size))  # first start with room for the next unit
        start = min(max(repeated, (start + end) // 2, advancing), end - _MIN_UNITS // 2)


def merge_windows(windows: Sequence[ChapterWindow], chapters: Sequence[Iterable[Chapter]], n: int) -> list[Chapter]:
    """Merge the chapters of windows over ``n`` units; each counts up to the middle of its overlap with the next."""
    borders = [0, *((before.end + after.start + 1) // 2 for before, after in pairwise(windows)), n]
    windowed = zip(chapters, pairwise(borders), strict=True)
    return [chapter for proposed, (start, end) in windowed for chapter in proposed if start <= chapter.unit < end]


class Coherence:
    """The similarity of the units before and after a gap, in windows of 4 (or fewer) to ``width`` units."""

    def __init__(self, rows: Floats, width: int) -> None:
        centered = signals.center_rows(rows).astype(np.float64)
        self._sums = np.vstack([np.zeros_like(centered[:1]), np.cumsum(centered, axis=0)])
        self._widths = np.arange(min(width, _MIN_WIDTH), width + 1)

    def between(self, start: int, unit: int, end: int) -> float:
        """Return the mean cosine of the centered sums before ``unit`` and from it on, between ``start`` and ``end``."""
        before = self._sums[unit] - self._sums[np.maximum(unit - self._widths, start)]
        after = self._sums[np.minimum(unit + self._widths, end)] - self._sums[unit]
        cosines = np.einsum("ij,ij->i", signals.unit_rows(before), signals.unit_rows(after))
        return round(float(cosines.mean()), signals.DIGITS)

    def gaps(self) -> Floats:
        """Return the (n - 1,) coherence at each gap."""
        n = len(self._sums) - 1
        return np.array([self.between(0, unit, n) for unit in range(1, n)])

    def discard(self, boundaries: Sequence[int], kept: Set[int], threshold: float) -> dict[int, float]:
        """Return the coherence at the boundaries; discard those above the threshold, the most coherent first."""
        places, coherence, queue = [0, *boundaries, len(self._sums) - 1], dict[int, float](), list[tuple[float, int]]()

        def measure(at: int) -> None:
            if 0 < at < len(places) - 1:
                unit = places[at]
                coherence[unit] = self.between(*places[at - 1 : at + 2])
                if coherence[unit] > threshold and unit not in kept:
                    heappush(queue, (-coherence[unit], unit))

        for at in range(len(places)):
            measure(at)
        while queue:
            value, unit = heappop(queue)
            at = bisect_left(places, unit)
            if places[at] == unit and coherence[unit] == -value:  # neither discarded nor measured again
                del places[at]
                measure(at - 1)
                measure(at)
        return coherence


def snap_to_headings(chapters: Sequence[Chapter], headings: Sequence[int], reach: int) -> list[Chapter]:
    """Move chapters, one per heading, to the nearest within ``reach``; one that begins with the text stays."""
    candidates = list[tuple[int, int, int]]()  # distance, index of the chapter, heading
    for i, (unit, _) in enumerate(chapters):
        place = bisect_left(headings, unit)
        nearest = headings[max(place - 1, 0) : place + 1] if unit else [0]
        nearby = ((abs(heading - unit), i, heading) for heading in nearest)
        candidates.append(min(nearby, default=(reach + 1, i, unit)))
    moved = dict[int, int]()  # by heading, the index of its chapter
    for distance, i, heading in sorted(candidates):
        if distance <= reach:
            moved.setdefault(heading, i)
    units = {i: heading for heading, i in moved.items()}
    return [chapter._replace(unit=units.get(i, chapter.unit)) for i, chapter in enumerate(chapters)]


def truncate(text: str, max_characters: int) -> str:
    """Return a text of at most ``max_characters``; an ellipsis replaces the rest."""
    return text if len(text) <= max_characters else f"{text[: max_characters - 1]}…"
