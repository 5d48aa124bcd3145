"""What a chat model is shown of a document around a chunk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import Final, NamedTuple

import numpy as np

from advchunk import sizes
from advchunk.layout import Headings
from advchunk.records import Chunk, Document, Ints, Span, Units
from advchunk.sizes import Limits
from advchunk.text import tiling
from advchunk.text.counters import Counter

_PIECE: Final = 128  # tokens: a window ends within as many of where it could
_OUTLINE: Final = 4  # an outline takes a part of so many of the room, at most
_TAG = re.compile(
    r"<(?=\s*/?\s*(?:outline|document|place|passage|needs|says|questions|facts)\b)", re.IGNORECASE
)  # of our prompts
_MARKS: Final = {"own": "[passage]", "hidden": "[...]"}


class Shown(NamedTuple):
    """What is shown of a document: its outline, if it is not shown whole, and its text."""

    outline: str
    document: str


class Surroundings:
    """A document, ready to be shown around each of its chunks."""

    def __init__(self, document: Document, chunks: Iterable[Chunk], counter: Counter) -> None:
        self.document, self._counter = document, counter
        self._ends = [offset for chunk in chunks for span in chunk.spans for offset in span]

    @cached_property
    def units(self) -> Units:
        """The pieces that windows are made of: paragraphs, or parts of them; each is in a chunk or out of it."""
        text = self.document.text
        whole = tiling.from_ends(text, [*self._ends, *tiling.paragraphs(text).edges.tolist()])
        return sizes.fit(whole, Limits(_PIECE, 0, 0, self._counter))

    @cached_property
    def plain(self) -> str:
        """The document's text for comparison (`plain`)."""
        return plain(self.document.text)

    @cached_property
    def _headings(self) -> Headings:
        return Headings(self.document.text, self.document.blocks or ())

    def place(self, chunk: Chunk) -> str:
        """Return the title and the headings that a chunk starts under."""
        title = self.document.metadata.get("title")
        first = tiling.next_non_space(self.document.text, 0)
        path = self._headings.path(max(chunk.start, first))
        return shielded(" > ".join([*([str(title)] if title else []), *path])) or "unknown"

    def shown(self, chunk: Chunk, room: int) -> Shown:
        """Return the document if it has at most ``room`` tokens; else its outline, and what stands nearest to the chunk."""
        if int(self.units.token_counts().sum()) <= room:
            return Shown("see the document", shielded(self.document.text))
        outline = self._outline(room // _OUTLINE)
        return Shown(
            shielded(outline) or "unknown",
            shielded(window(self.units, chunk.spans, room - self._counter(outline))),
        )

    def _outline(self, most: int) -> str:
        """Return the headings, the deepest left out until they have at most so many tokens."""
        blocks = [block for block in self.document.blocks or () if block.kind == "heading"]
        for depth in sorted({block.level for block in blocks}, reverse=True):
            lines = [
                "  " * (block.level - 1) + flat(block.title or self.document.text[slice(*block.span)])
                for block in blocks
                if block.level <= depth
            ]
            if self._counter(outline := "\n".join(lines)) <= most:
                return outline
        return ""


def window(units: Units, spans: Sequence[Span], room: int) -> str:
    r"""Return what stands nearest to a chunk, up to ``room`` tokens, with marks for the chunk and for what is left out.

    Nearness is counted in tokens, so there is as much before the chunk as after it, unless the text begins or ends there.

    Parameters
    ----------
    units : with sizes; each is in the chunk or out of it.
    spans : of the chunk.

    Examples
    --------
    >>> units = Units("abcdefgh", np.arange(9), np.ones(8, dtype=np.int64))
    >>> window(units, [Span(2, 4)], 3)
    'ab\n[passage]\ne\n[...]\n'
    """
    count, distance = units.token_counts(), away(units, spans)
    outside = np.flatnonzero(distance >= 0)
    nearest = outside[np.argsort(distance[outside], kind="stable")]
    seen = np.zeros(len(units), dtype=bool)
    seen[nearest[: int(np.searchsorted(np.cumsum(count[nearest]), room, "right"))]] = True
    kinds = np.where(distance < 0, "own", np.where(seen, "seen", "hidden")).tolist()
    parts = list[str]()
    for kind, run in groupby(zip(kinds, units.strings(), strict=True), lambda unit: unit[0]):
        text = "".join(string for _, string in run)
        parts.append(text if kind == "seen" else f"\n{_MARKS[kind]}\n")
    return "".join(parts)


def away(units: Units, spans: Sequence[Span]) -> Ints:
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


def flat(text: str) -> str:
    r"""Return a text as one line of what can be seen.

    >>> flat(" one\n  two\x00 ")
    'one two'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def plain(text: str) -> str:
    """Return a text for comparison: without case, and with white space that counts as one space."""
    return " ".join(text.casefold().split())


def shielded(text: str) -> str:
    """Return a text in which nothing looks like a tag of our prompts.

    >>> shielded("a </document> <b>")
    'a &lt;/document> <b>'
    """
    return _TAG.sub("&lt;", text)
