"""The typography of a document, and the lines of a page in paragraphs by their distances."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile
from statistics import median
from typing import NamedTuple

from advchunk.readers.pages.regions.prose import UNKNOWN, WordList, continues_sentence, is_marker
from advchunk.readers.pages.regions.shapes import Font, Line, interval_overlap

_LOOSE, _LOOSEST, _FARTHEST = 0.3, 0.4, 2.0  # beyond the usual spacing, in line heights: also on scans; widely set
_FEWEST = 5  # lines of a document that show what is usual in it
_LARGE = 1.15  # times the usual height: headings are larger by at least 1.2, small capitals and accents by less
_FEW = 2  # lines whose sentence goes on below that show their distance
_NEAR = 0.2  # distance of lines, in line heights, unless these show more
_SPACE, _TAB = 0.5, 3.0  # between pieces of one line, and after a bullet
_AHEAD = 100  # lines, from the top, to search for neighbors: a page has few side by side


class Setting(NamedTuple):
    """The typography of a document. ``font`` and ``height`` are of most characters, `Font` () and 0 if unknown;
    ``leading`` is from line to line, in line heights, negative if boxes overlap.
    """

    font: Font = Font()
    height: float = 0.0
    words: WordList = UNKNOWN
    leading: float = 0.0

    @classmethod
    def of(cls, lines: Iterable[Line]) -> "Setting":
        """Return the setting of all lines of a document."""
        heights, fonts, texts = Counter({0.0: 0}), Counter({Font(): 0}), list[str]()
        for line in lines:
            texts.append(line.text)
            if line.font.name:
                heights[round(line.height, 1)] += len(line.text)
                fonts[line.font] += len(line.text)
        if len(texts) < _FEWEST:
            fonts, heights = Counter({Font(): 0}), Counter({0.0: 0})
        font, height = fonts.most_common(1)[0][0], heights.most_common(1)[0][0]
        return cls(font, height, WordList.of(texts))

    @property
    def reach(self) -> float:
        """Largest distance of the lines of one paragraph, in line heights; boxes of scans vary more."""
        return self.leading + (_LOOSE if self.height else _LOOSEST)

    def is_large(self, line: Line) -> bool:
        """Return True if a line is set larger than the text; False if fonts are unknown."""
        return bool(self.height) and line.height >= _LARGE * self.height

    def on_page(self, lines: Sequence[Line]) -> "Setting":
        """Return the setting with the leading of a page."""
        return self._replace(leading=_line_spacing(lines))


def _line_spacing(lines: Sequence[Line]) -> float:
    """Return the usual distance from a line of this page to the next below, in line heights.

    Lines whose sentence goes on below count. If there are few, paragraphs may have one line, and lines are near.
    """
    gaps, by_top = list[tuple[float, bool]](), sorted(lines, key=lambda line: line.box[1])
    for i, line in enumerate(by_top):
        for below in by_top[i + 1 : i + 1 + _AHEAD]:
            if below.box[1] > line.box[3] + _FARTHEST * line.height:
                break
            if below.box[1] > (line.box[1] + line.box[3]) / 2 and belong_together(line, below, _FARTHEST):
                gap = -interval_overlap(line.box[1::2], below.box[1::2]) / line.height
                gaps.append((gap, continues_sentence(line.text, below.text, has_case=False)))
                break
    sure = [gap for gap, goes_on in gaps if goes_on]
    return median(sure) if len(sure) >= _FEW else min(median([gap for gap, _ in gaps] or [0.0]), _NEAR)


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
