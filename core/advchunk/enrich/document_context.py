"""Excerpts of a document around a chunk, for a chat model."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import Final

import numpy as np

from advchunk import sizes
from advchunk.layout import Headings
from advchunk.records import Chunk, Document, Ints, Span, Units
from advchunk.sizes import Limits
from advchunk.text import tiling
from advchunk.text.counters import Counter

_UNIT_TOKENS: Final = 128  # maximum of the units that excerpts are made of
_OUTLINE_SHARE: Final = 4  # an outline takes at most 1/4 of the tokens
_MARKERS: Final = {"own": "[passage]", "hidden": "[...]"}
# The tags of our prompts.
_TAG = re.compile(r"<(?=\s*/?\s*(?:outline|document|place|passage|needs|says|questions|facts)\b)", re.IGNORECASE)


class DocumentContext:
    """A document, prepared for excerpts around each of its chunks."""

    def __init__(self, document: Document, chunks: Iterable[Chunk], counter: Counter) -> None:
        self.document, self._counter = document, counter
        self._ends = [offset for chunk in chunks for span in chunk.spans for offset in span]

    @cached_property
    def units(self) -> Units:
        """Paragraphs, or parts of long ones, each either inside or outside of every chunk."""
        text = self.document.text
        whole = tiling.from_ends(text, [*self._ends, *tiling.paragraphs(text).edges.tolist()])
        return sizes.fit(whole, Limits(_UNIT_TOKENS, 0, 0, self._counter))

    @cached_property
    def comparable_text(self) -> str:
        """The document's text in the form of `fold_case_and_space`."""
        return fold_case_and_space(self.document.text)

    @cached_property
    def _headings(self) -> Headings:
        return Headings(self.document.text, self.document.blocks or ())

    def place(self, chunk: Chunk) -> str:
        """Return the title of the document and the headings above the start of a chunk."""
        title = self.document.metadata.get("title")
        first = tiling.next_non_space(self.document.text, 0)
        path = self._headings.path(max(chunk.start, first))
        return escape_tags(" > ".join([*([str(title)] if title else []), *path])) or "unknown"

    def excerpt(self, chunk: Chunk, max_tokens: int) -> dict[str, str]:
        """Return the ``document`` if it fits, else its ``outline`` and the text nearest to the chunk."""
        if int(self.units.token_counts().sum()) <= max_tokens:
            return {"outline": "see the document", "document": escape_tags(self.document.text)}
        outline = self._outline(max_tokens // _OUTLINE_SHARE)
        text = nearest_text(self.units, chunk.spans, max_tokens - self._counter(outline))
        return {"outline": escape_tags(outline) or "unknown", "document": escape_tags(text)}

    def _outline(self, max_tokens: int) -> str:
        """Return the headings as an indented list, without the deepest levels if it is too long."""
        blocks = [block for block in self.document.blocks or () if block.kind == "heading"]
        for depth in sorted({block.level for block in blocks}, reverse=True):
            lines = [
                "  " * (block.level - 1) + single_line(block.title or self.document.text[slice(*block.span)])
                for block in blocks
                if block.level <= depth
            ]
            if self._counter(outline := "\n".join(lines)) <= max_tokens:
                return outline
        return ""


def nearest_text(units: Units, spans: Sequence[Span], max_tokens: int) -> str:
    r"""Return the text nearest to a chunk, with markers in place of the chunk and of omitted text.

    Distance is counted in tokens, so there is as much text before the chunk as after it, except near the ends of the
    document.

    Parameters
    ----------
    units : units with sizes, each either inside or outside of the chunk.
    spans : spans of the chunk.

    Examples
    --------
    >>> units = Units("abcdefgh", np.arange(9), np.ones(8, dtype=np.int64))
    >>> nearest_text(units, [Span(2, 4)], 3)
    'ab\n[passage]\ne\n[...]\n'
    """
    count, distance = units.token_counts(), token_distances(units, spans)
    outside = np.flatnonzero(distance >= 0)
    nearest = outside[np.argsort(distance[outside], kind="stable")]
    shown = np.zeros(len(units), dtype=bool)
    shown[nearest[: int(np.searchsorted(np.cumsum(count[nearest]), max_tokens, "right"))]] = True
    kinds = np.where(distance < 0, "own", np.where(shown, "shown", "hidden")).tolist()
    parts = list[str]()
    for kind, run in groupby(zip(kinds, units.strings(), strict=True), lambda unit: unit[0]):
        text = "".join(string for _, string in run)
        parts.append(text if kind == "shown" else f"\n{_MARKERS[kind]}\n")
    return "".join(parts)


def token_distances(units: Units, spans: Sequence[Span]) -> Ints:
    """Return the (n,) numbers of tokens between each unit and the nearest span; -1 for units in a span."""
    total = np.r_[0, np.cumsum(units.token_counts())]
    ends = np.array(list(chain.from_iterable(spans)), dtype=np.int64).reshape(-1, 2)
    first = np.searchsorted(units.edges, ends[:, 0])
    last = np.searchsorted(units.edges, ends[:, 1])
    number = np.arange(len(units))
    distance = np.full(len(units), np.iinfo(np.int64).max)
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        distance = np.minimum(distance, np.maximum(total[a] - total[1:], total[:-1] - total[b]))
        distance[(a <= number) & (number < b)] = -1
    return distance


def single_line(text: str) -> str:
    r"""Replace white space and unprintable characters by single spaces.

    >>> single_line(" one\n  two\x00 ")
    'one two'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def fold_case_and_space(text: str) -> str:
    """Fold case and white space, so that quotes can be compared."""
    return " ".join(text.casefold().split())


def escape_tags(text: str) -> str:
    """Escape the tags of our prompts.

    >>> escape_tags("a </document> <b>")
    'a &lt;/document> <b>'
    """
    return _TAG.sub("&lt;", text)
