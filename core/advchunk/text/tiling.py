"""Split a text into units that tile it, so that no character is lost.

A unit owns the white space after it up to its last line end, or all of it if there is none: indentation stays with its
line. White space at the start of the text belongs to the first unit, at the end to the last.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from advchunk.errors import require
from advchunk.records import Strength, Units, evolve
from advchunk.text.patterns import lazy_pattern
from advchunk.text.scripts import has_unspaced, syllable_places, word_places

Tiler: TypeAlias = Callable[[str], Units]

# Each pattern matches at the end of a unit, with the white space that the unit owns. (?>...) keeps "\r\n" whole.
OWN_SPACE = r"(?: (?=\S)|\s++\Z|\s*[\r\n]|\s++)"
_LINES_OWN = r"[\r\n](?:\s++\Z|\s*[\r\n])?"
_PARAGRAPH_END = lazy_pattern(rf"[\r\n](?:(?<=\r)\n)?+[^\S\r\n]*{_LINES_OWN}")
_UNIX_PARAGRAPH_END = lazy_pattern(
    r"\n[^\S\n]*\n(?:\s++\Z|\s*\n)?"
)  # a search for one character is eight times as fast
_LINE_END = lazy_pattern(_LINES_OWN)
_CLAUSE_END = lazy_pattern(rf"""[,;:]["'”’)\]]*{OWN_SPACE}|[，；：、][”’」』）]*{OWN_SPACE}?|{_LINES_OWN}""")
_CODE_LINE = lazy_pattern(
    r"(?P<margin>[^\S\r\n]*+)(?P<closing>[)\]}>]|(?:end|else|elif|elsif|except|catch|finally|done|fi|esac|then|do)\b)?"
)
_WORD = lazy_pattern(rf"\S++{OWN_SPACE}?|\s++(?:\S++{OWN_SPACE}?)?")
# Kinds of code points that may be in one grapheme with the next or the last one (Unicode's Grapheme_Cluster_Break).
_JOINING = ("CR", "Extend", "L", "Prepend", "RI", "SpacingMark", "T", "V", "ZWJ")
_SPACE = lazy_pattern(rf"(?P<own>{OWN_SPACE}?)\s*+")  # of which "own" belongs to the unit before
_NO_UNITS = Units("", np.array([0]))


@dataclass(frozen=True, eq=False)
class RowTiler:
    """A tiler of rows or cells: none of those that fit is split because it is beside one that does not."""

    tiler: Tiler

    def __call__(self, text: str) -> Units:
        """Tile a text."""
        return self.tiler(text)


def from_ends(text: str, ends: Iterable[int]) -> Units:
    """Tile ``text`` with units that end at ``ends``, in any order, and at the end of the text."""
    edges = sorted({0, *ends, len(text)})
    require(edges[0] == 0 and edges[-1] == len(text), "units must end inside the text", edges)
    strength = np.array([Strength.SENTENCE] * len(edges))
    return evolve(_NO_UNITS, text=text, edges=np.array(edges, dtype=np.int64), strength=strength)


def has_one(text: str, pieces: Iterable[str]) -> bool:
    """Return True if a piece is in a text; a loop of constant searches is faster than one pattern or a generator."""
    for piece in pieces:  # noqa: SIM110
        if piece in text:
            return True
    return False


def leading_space(text: str) -> int:
    """Return the length of the leading white space, which belongs to the first unit, so no unit ends in it."""
    return len(text) - len(text.lstrip())


def flatten(text: str) -> str:
    """Return a text of the same length in which lines end in one way."""
    return text.replace("\r\n", " \n").replace("\r", "\n")


def line_ends(text: str, start: int, end: int) -> int:
    """Return the number of line ends in a part of a text that does not start or end inside one."""
    return text.count("\n", start, end) + text.count("\r", start, end) - text.count("\r\n", start, end)


def unit_end(text: str, offset: int) -> int:
    r"""Return the end of a unit, with the white space that it owns, whose other characters end at ``offset``.

    >>> unit_end("One. Two.", 4), unit_end("One.\n  Two.", 4)
    (5, 5)
    """
    return _SPACE.match(text, offset).end("own")  # type: ignore[union-attr]  # it always matches


def next_non_space(text: str, offset: int) -> int:
    """Return the offset of the first character from ``offset`` on that is not white space."""
    return _SPACE.match(text, offset).end()  # type: ignore[union-attr]  # it always matches


def after(text: str, pattern: re.Pattern[str]) -> Units:
    """Tile ``text`` with units that end where ``pattern`` matches."""
    return from_ends(text, (match.end() for match in pattern.finditer(text, leading_space(text))))


def owning_space(text: str, ends: Iterable[int], starts: Sequence[int] = ()) -> Units:
    """Tile with ascending ``ends``, each moved within the white space around it to the end of the unit that owns it;
    units begin at ascending ``starts``, whatever owns the white space.
    """
    moved, at, match = list[int](), leading_space(text), _SPACE.match
    for end in ends:
        if end > at:  # otherwise in white space that already has an owner
            last = at + len(text[at:end].rstrip()) if text[end - 1].isspace() else end
            space: Any = match(text, last)
            at = space.end()
            if not starts or (place := bisect_left(starts, last)) == len(starts) or starts[place] > at:
                moved.append(space.end("own"))
    return from_ends(text, [*moved, *starts])


def paragraphs(text: str) -> Units:
    """Split at blank lines."""
    return from_ends(text, paragraph_edges(text))


def paragraph_edges(text: str) -> list[int]:
    """Return the ascending edges of `paragraphs`."""
    pattern = _PARAGRAPH_END if "\r" in text else _UNIX_PARAGRAPH_END
    ends = [match.end() for match in pattern.finditer(text, leading_space(text))]
    return [0, *ends] if ends and ends[-1] == len(text) else [0, *ends, len(text)]


def lines(text: str) -> Units:
    """Split at line ends; a line keeps its indentation and owns the blank lines after it."""
    return after(text, _LINE_END)


def outermost(tiler: Tiler) -> Tiler:
    """Return a tiler of code that joins units of whole lines to the least indented one above, at the least indentation
    that leaves no part over half of the text. A line that only closes brackets or a block stays with what it
    closes.
    """

    def joined(text: str) -> Units:
        units = tiler(text)
        starts = [m for m in map(partial(_CODE_LINE.match, text), units.edges[:-1].tolist()) if m]
        margins = {m.start(): len(m["margin"].expandtabs()) for m in starts if not m["closing"]}
        depths = sorted(set(margins.values()))

        def cut(depth: int) -> Units:
            return from_ends(text, [start for start, margin in margins.items() if margin <= depth])

        def is_fine(depth: int) -> bool:
            return bool(2 * np.diff(cut(depth).edges).max(initial=0) <= len(text))

        place = bisect_left(depths, True, key=is_fine)
        return cut(depths[min(place, len(depths) - 1)]) if depths else from_ends(text, [])

    return joined


def clauses(text: str) -> Units:
    """Split after commas, semicolons, colons and line ends."""
    return after(text, _CLAUSE_END)


def words(text: str) -> Units:
    """Split after runs of white space, and in scripts without spaces where no word goes on (`word_places`)."""
    edges = np.array([*accumulate(map(len, _WORD.findall(text)), initial=0)], dtype=np.int64)
    return from_ends(text, [*edges.tolist(), *word_places(text)]) if has_unspaced(text) else Units(text, edges)


def syllables(text: str) -> Units:
    """Split between syllables, in scripts in which a long run of letters has several (`scripts.syllable_places`)."""
    return from_ends(text, syllable_places(text))


def graphemes(text: str) -> Units:
    """Split between user-perceived characters (Unicode extended grapheme clusters, UAX 29)."""
    joining, cluster = _grapheme_patterns()
    inside = list[int]()
    for region in joining.finditer(text):
        for match in cluster.finditer(text, max(region.start() - 1, 0), region.end()):
            inside += range(match.start() + 1, match.end())
    is_edge = np.ones(len(text) + 1, dtype=bool)
    is_edge[inside] = False
    return Units(text, np.flatnonzero(is_edge))


@cache
def _grapheme_patterns() -> tuple[Any, Any]:
    """Compile a pattern for where code points may join, with the next one, and a pattern for a grapheme."""
    import regex

    joins = "[" + "".join(rf"\p{{GCB={kind}}}" for kind in _JOINING) + "]"
    # \X looks back to the first of a run of regional indicators, so it would take quadratic time for many flags.
    flag = r"\p{GCB=RI}{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*+"
    return regex.compile(rf"(?s){joins}++(?:.?{joins}++)*+.?"), regex.compile(rf"{flag}|\X")


def characters(text: str) -> Units:
    """Split between code points, as a last resort for a grapheme over the limits."""
    return Units(text, np.arange(len(text) + 1, dtype=np.int64))


def align(text: str, pieces: Iterable[str]) -> Units:
    """Tile ``text`` with verbatim ``pieces`` (as `from_spans`); raise `ConfigurationError` if they do not cover it."""
    spans, at = list[tuple[int, int]](), 0
    for piece in pieces:
        start = text.find(piece, at)
        require(start >= 0, f"a splitter's pieces must be verbatim and in order after character {at}", piece[:80])
        at = start + len(piece)
        spans.append((start, at))
    return from_spans(text, spans)


def from_spans(text: str, spans: Iterable[tuple[int, int]]) -> Units:
    """Tile ``text`` with ascending ``spans`` that leave out only white space.

    White space goes to the span before it, indentation to the span after it.

    >>> from_spans("One.  Two. ", [(0, 4), (6, 10)]).strings()
    ['One.  ', 'Two. ']
    """
    ends, at = [], 0
    for start, end in [*spans, (len(text), len(text))]:
        rule = f"a splitter's spans must ascend within {at}..{len(text)}"
        require(at <= start <= end <= len(text), rule, (start, end))
        gap = text[at:start].strip()
        require(not gap, f"a splitter may leave out only white space before {text[start:end][:80]!r}", gap)
        ends.append(end)
        at = end
    return owning_space(text, ends)


def end_of_line(flat: str, offset: int) -> int:
    """Return the end of the line at an offset."""
    end = flat.find("\n", offset)
    return len(flat) if end < 0 else end
