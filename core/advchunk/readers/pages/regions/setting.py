"""The typography of a document: its usual font and line height, its direction, its words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from advchunk.readers.pages.regions.grouping import LOOSE, LOOSEST, TIGHT, line_spacing
from advchunk.readers.pages.regions.prose import UNKNOWN, WordList
from advchunk.readers.pages.regions.shapes import Font, Line

_FEWEST = 5  # lines of a document that show what is usual in it
# times the usual height: sizes of text and headings differ by at least 1.2, small capitals and accents by less
_LARGE = 1.15


class Setting(NamedTuple):
    """The typography of a document.

    Parameters
    ----------
    font, height : of most characters; `Font` () and 0 if fonts are unknown, or the lines too few to tell.
    words : all words (`prose.join_lines`).
    leading : usual distance from a line to the next, in line heights; negative if their boxes overlap.
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
        """Largest distance of the lines of one paragraph, in line heights: boxes of scans vary more than those of
        fonts.
        """
        return self.leading + (LOOSE if self.height else LOOSEST)

    @property
    def near(self) -> float:
        """Distance of lines that are surely of one paragraph, in line heights."""
        return self.leading + TIGHT

    def is_large(self, line: Line) -> bool:
        """Return True if a line is set larger than the text; False if fonts are unknown."""
        return bool(self.height) and line.height >= _LARGE * self.height

    def is_usual(self, line: Line) -> bool:
        """Return True if a line is in the font and size of the text; False if fonts are unknown."""
        return bool(self.height) and line.font == self.font and not self.is_large(line)

    def on_page(self, lines: Sequence[Line]) -> "Setting":
        """Return the setting with the leading of a page."""
        return self._replace(leading=line_spacing(lines))
