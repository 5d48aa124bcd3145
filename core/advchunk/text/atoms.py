r"""Inline Markdown that a text is not cut in while it can be cut elsewhere: tags, entities, code, links, formulas."""

import re
from collections.abc import Iterator
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
    return next(atom_spans(text), None) is not None


def atom_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of inline Markdown that must not be cut.

    >>> list(atom_spans("A [link](url) and `code`, ![x](y)."))
    [(2, 13), (18, 24), (26, 33)]
    """
    # A search for the pattern itself takes thirty times as long as one for the characters that begin it.
    at = 0
    while begin := MAY_BEGIN.search(text, at):
        start = begin.start()
        is_image = text[start] == "[" and start > at and text[start - 1] == "!"
        atom = _ATOM.match(text, start - is_image)
        at = atom.end() if atom else begin.end()
        if atom:
            yield atom.span()


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
        spans = np.array(list(atom_spans(text)), dtype=np.int64).reshape(-1, 2)
        before = np.searchsorted(spans[:, 0], units.edges, "left") - 1  # the last atom that begins before an edge
        inside = (before >= 0) & (units.edges < spans[before, 1]) if len(spans) else np.zeros(len(units.edges), bool)
        return Units(text, units.edges[~inside]) if inside.any() else units
