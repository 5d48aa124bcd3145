r"""Inline Markdown that a text is not cut in while it can be cut elsewhere: tags, entities, code, links, formulas."""

import re
from dataclasses import dataclass

import numpy as np

from advchunk.records import Units
from advchunk.text.tiling import Tiler

# Each alternative ends at its next delimiter or at a blank line, so that all searches together take linear time.
_LINE_END = r"\n(?![^\S\n]*\n)"
_ATOM = re.compile(
    rf"""
    (?<!`)(?P<ticks>`{{1,3}})(?!`)(?:[^`\n]|{_LINE_END})++(?P=ticks)(?!`)
  | <[a-zA-Z/!?](?:[^<>\n"']|{_LINE_END}|"[^"<\n]*+"|'[^'<\n]*+'|["'])*+>
  | &(?:\#[0-9]{{1,7}}|\#[xX][0-9a-fA-F]{{1,6}}|[a-zA-Z][a-zA-Z0-9]{{1,31}});
  | !?\[(?:[^\[\]\n]|{_LINE_END})*+\](?:\((?:[^()\s]|\([^()\s]*+\)|[^\S\n](?=["'<]|[^\S\n]*\))|"[^"\n]*+")*+\)|\[[^\[\]\n]*+\])
  | \$\$(?:[^$\n]|{_LINE_END})++\$\$
  | (?<![\\$\w])\$(?![\s$])(?:[^$\n.!?]|{_LINE_END}|[.!?](?!\s))++(?<![\s\\])\$(?![\d$])
  | \\\((?:[^\\\n]|{_LINE_END}|\\(?![()]))*+\\\)
  | \\\[(?:[^\\\n]|{_LINE_END}|\\(?![\[\]]))*+\\\]
    """,
    re.VERBOSE,
)
MAY_BEGIN = re.compile(r"[`<&\[$\\]")
"""Pattern of the characters that begin them."""


def has_atoms(text: str) -> bool:
    """Return True if a text may have inline Markdown that must not be cut."""
    return _ATOM.search(text) is not None


def atom_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of inline Markdown that must not be cut.

    >>> atom_spans("A [link](url) and `code`, $x$.")
    [(2, 13), (18, 24), (26, 29)]
    """
    return [match.span() for match in _ATOM.finditer(text)]


@dataclass(frozen=True)
class AtomKeeper:
    """A tiler that joins the units of another one where an edge would be in an atom.

    >>> from advchunk.text.tiling import words
    >>> AtomKeeper(words)("See `a b` now").strings()
    ['See ', '`a b` ', 'now']
    """

    tiler: Tiler

    def __call__(self, text: str) -> Units:
        """Tile a text."""
        units = self.tiler(text)
        if len(units) < 2 or not MAY_BEGIN.search(text):
            return units
        spans = np.array(atom_spans(text), dtype=np.int64).reshape(-1, 2)
        before = np.searchsorted(spans[:, 0], units.edges, "left") - 1  # the last atom that begins before an edge
        inside = (before >= 0) & (units.edges < spans[before, 1]) if len(spans) else np.zeros(len(units.edges), bool)
        return Units(text, units.edges[~inside]) if inside.any() else units
