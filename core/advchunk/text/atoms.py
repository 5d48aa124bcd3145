r"""Inline Markdown that a text is not cut in while it can be cut elsewhere: tags, entities, code, links, formulas."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from advchunk.records import Units
from advchunk.text.patterns import lazy_pattern
from advchunk.text.tiling import Tiler

# Each alternative ends at its next delimiter or at a blank line, so that all searches together take linear time.
_LINE_END = r"\n(?![^\S\n]*\n)"
_ATOM = lazy_pattern(
    rf"""
    (?<!`)(?P<ticks>`{{1,3}})(?!`)(?:[^`\n]++|{_LINE_END})++(?P=ticks)(?!`)
  | <[a-zA-Z/!?](?:[^<>\n"']++|{_LINE_END}|"[^"<\n]*+"|'[^'<\n]*+'|["'])*+>
  | &(?:\#[0-9]{{1,7}}|\#[xX][0-9a-fA-F]{{1,6}}|[a-zA-Z][a-zA-Z0-9]{{1,31}});
  | !?\[(?:[^\[\]\n]++|{_LINE_END})*+\](?:\((?:[^()\s]|\([^()\s]*+\)|[^\S\n](?=["'<]|[^\S\n]*\))|"[^"\n]*+")*+\)|\[[^\[\]\n]*+\])
  | \$\$(?:[^$\n]++|{_LINE_END})++\$\$
  | (?<![\\$\w])\$(?![\s$])(?:[^$\n.!?]++|{_LINE_END}|[.!?](?!\s))++(?<![\s\\])\$(?![\d$])
  | \\\((?:[^\\\n]++|{_LINE_END}|\\(?![()]))*+\\\)
  | \\\[(?:[^\\\n]++|{_LINE_END}|\\(?![\[\]]))*+\\\]
    """,  # noqa: E501
    re.VERBOSE,
)
SIGNS = ("`", "<", "&", "[", "$", "\\")
"""One of these begins each."""
_SIGNS = [lazy_pattern(re.escape(sign)) for sign in SIGNS]


def has_atoms(text: str) -> bool:
    """Return True if a text may have inline Markdown that must not be cut."""
    return any(_ATOM.match(text, match.start()) for sign in _SIGNS for match in sign.finditer(text))


def atom_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of inline Markdown that must not be cut, such as links and code."""
    # Searches for the characters that begin them take a thirtieth of the time of one for the pattern, or of less.
    at, begins = 0, sorted(match.start() for sign in _SIGNS for match in sign.finditer(text))
    for start in begins:
        if start < at:
            continue
        is_image = text[start] == "[" and start > at and text[start - 1] == "!"
        atom = _ATOM.match(text, start - is_image)
        at = atom.end() if atom else start + 1
        if atom:
            yield atom.span()


@dataclass(frozen=True, eq=False)
class AtomKeeper:
    """A tiler that joins the units of another one where an edge would be in an atom; none spans one of ``starts``."""

    tiler: Tiler
    starts: Sequence[int] = ()

    def __call__(self, text: str) -> Units:
        """Tile a text."""
        units, parts = self.tiler(text), pairwise([0, *self.starts, len(text)])
        is_cut = len(units) > 1
        atoms = [(a + start, a + end) for a, b in parts for start, end in atom_spans(text[a:b])] if is_cut else []
        if not atoms:
            return units
        starts, ends = np.array(atoms, dtype=np.int64).T
        before = np.searchsorted(starts, units.edges, "left") - 1  # the last atom that begins before an edge
        inside = (before >= 0) & (units.edges < ends[before])
        return Units(text, units.edges[~inside]) if inside.any() else units
