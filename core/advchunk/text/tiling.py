"""Cut a text into units. Every function returns a tiling: no character is lost.

A unit owns the white space after it up to the last line end in it, or all of it where there is none: indentation
stays with its line. White space at the start of the text is the first unit's, at its end the last one's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np

from advchunk.errors import require
from advchunk.records import Units

Tiler: TypeAlias = Callable[[str], Units]

# Each pattern matches where a unit ends, with the white space that the unit then owns. (?>...) keeps "\r\n" whole.
OWN_SPACE = r"(?:\s++\Z|\s*[\r\n]|\s++)"
_LINES_OWN = r"[\r\n](?:\s++\Z|\s*[\r\n])?"
_PARAGRAPH_END = re.compile(rf"(?>\r\n?|\n)[^\S\r\n]*{_LINES_OWN}")
_LINE_END = re.compile(_LINES_OWN)
_CLAUSE_END = re.compile(rf"""[,;:]["'”’)\]]*{OWN_SPACE}|[，；：、][”’」』）]*{OWN_SPACE}?|{_LINES_OWN}""")
_WORD_END = re.compile(rf"(?<=\S){OWN_SPACE}")
_SPACE = re.compile(rf"(?P<own>{OWN_SPACE}?)\s*+")


def from_ends(text: str, ends: Iterable[int]) -> Units:
    """Tile ``text`` with units that end at ``ends``, in any order; the end of the text is understood.

    >>> from_ends("abcd", [3, 1]).strings()
    ['a', 'bc', 'd']
    """
    return Units(text, np.unique(np.array([0, *ends, len(text)], dtype=np.int64)))


def leading_space(text: str) -> int:
    """Length of the leading white space: it belongs to the first unit, so no unit may end in it."""
    return len(text) - len(text.lstrip())


def unit_end(text: str, ink: int) -> int:
    r"""Return where a unit ends whose last character that is not white space stands before ``ink``.

    >>> unit_end("One. Two.", 4), past_space("One.\n  Two.", 4)
    (5, 5)
    """
    return _SPACE.match(text, ink).end("own")  # type: ignore[union-attr]  # it matches everywhere


def next_non_space(text: str, offset: int) -> int:
    """Return the offset of the first character from ``offset`` on that is not white space."""
    return _SPACE.match(text, offset).end()  # type: ignore[union-attr]


def after(text: str, pattern: re.Pattern[str]) -> Units:
    """Tile ``text`` with units that end where ``pattern`` matches."""
    return from_ends(text, (match.end() for match in pattern.finditer(text, leading_space(text))))


def owning_space(text: str, ends: Iterable[int]) -> Units:
    """Tile with ascending ``ends``, each moved to where the white space it touches is divided."""

    def moved() -> Iterator[int]:
        at = leading_space(text)
        for end in ends:
            if end > at:  # else inside white space that is divided already
                yield (own := unit_end(text, at + len(text[at:end].rstrip())))
                at = next_non_space(text, own)

    return from_ends(text, moved())


def paragraphs(text: str) -> Units:
    r"""Split at blank lines.

    >>> paragraphs("One.\nStill one.\n\n  Two.").strings()
    ['One.\nStill one.\n\n', '  Two.']
    """
    return after(text, _PARAGRAPH_END)


def lines(text: str) -> Units:
    r"""Split at line ends; a line keeps its indentation and owns the blank lines after it.

    >>> lines("if x:\r\n    y\n\nz").strings()
    ['if x:\r\n', '    y\n\n', 'z']
    """
    return after(text, _LINE_END)


def clauses(text: str) -> Units:
    """Split after commas, semicolons, colons and line ends.

    >>> clauses("Once, twice; then no more").strings()
    ['Once, ', 'twice; ', 'then no more']
    """
    return after(text, _CLAUSE_END)


def words(text: str) -> Units:
    """Split after runs of white space.

    >>> words("to  be or").strings()
    ['to  ', 'be ', 'or']
    """
    return after(text, _WORD_END)


def graphemes(text: str) -> Units:
    r"""Split between user-perceived characters (Unicode extended grapheme clusters, UAX 29).

    >>> graphemes("e\u0301a").strings() == ["e\u0301", "a"]
    True
    """
    import regex

    return from_ends(text, (match.end() for match in regex.finditer(r"\X", text)))


def characters(text: str) -> Units:
    """Split between code points: the last resort, when one grapheme is over the budget.

    >>> characters("abc").strings()
    ['a', 'b', 'c']
    """
    return Units(text, np.arange(len(text) + 1, dtype=np.int64))


def align(text: str, pieces: Iterable[str]) -> Units:
    """Locate verbatim ``pieces`` of ``text``, in order, and tile the text with them.

    White space between two pieces goes to the first, indentation to the second.

    Raises
    ------
    ConfigurationError : a piece that is not where it should be, or text that no piece holds.

    >>> align("One.  Two. ", ["One.", "Two."]).strings()
    ['One.  ', 'Two. ']
    """
    return from_spans(text, _located(text, pieces))


def _located(text: str, pieces: Iterable[str]) -> Iterator[tuple[int, int]]:
    at = 0
    for piece in pieces:
        start = text.find(piece, at)
        require(start >= 0, f"a splitter's pieces must be verbatim and in order after character {at}", piece[:80])
        at = start + len(piece)
        yield start, at


def from_spans(text: str, spans: Iterable[tuple[int, int]]) -> Units:
    """Tile ``text`` with ascending ``spans`` that leave out white space only.

    It goes to the span before, indentation to the span after.

    >>> from_spans("One.  Two. ", [(0, 4), (6, 10)]).strings()
    ['One.  ', 'Two. ']
    """
    ends, at = [], 0
    for start, end in [*spans, (len(text), len(text))]:
        require(at <= start <= end <= len(text), f"a splitter's spans must ascend from {at} in the text", (start, end))
        left_out = text[at:start].strip()
        require(not left_out, f"a splitter must leave out white space only before {text[start:end][:80]!r}", left_out)
        ends.append(end)
        at = end
    return owning_space(text, ends)
