"""Excerpts of a document around a chunk, for a chat model."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import Final

import numpy as np

from advchunk import sizes
from advchunk.layout import Headings
from advchunk.models.prompts import escape, fit_outline, single_line
from advchunk.records import Chunk, Document, Ints, Span, Units
from advchunk.sizes import Limits
from advchunk.text import tiling
from advchunk.text.counters import Counter

_UNIT_TOKENS: Final = 128  # maximum of the units that excerpts are made of
_OUTLINE_SHARE: Final = 4  # an outline takes at most 1/4 of the tokens
_MARKERS: Final = {"own": "\n[passage]\n", "hidden": "\n[...]\n"}
_MARKER = re.compile(r"\[(?=passage\])")  # which the document must not contain


class DocumentContext:
    """A document, prepared for excerpts around each of its chunks."""

    def __init__(self, document: Document, chunks: Iterable[Chunk], counter: Counter) -> None:
        self.document, self._counter = document, counter
        self._headings = Headings(document.text, document.blocks or ())
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

    def place(self, chunk: Chunk) -> str:
        """Return the title of the document and the headings above the start of a chunk."""
        title = self.document.metadata.get("title")
        path = [*([str(title)] if title else []), *self._headings.path(chunk.start)]
        return " > ".join(path) or "unknown"

    def excerpt(self, chunk: Chunk, max_tokens: int) -> dict[str, str]:
        """Return the ``document`` if it fits, else its ``outline`` and the text nearest to the chunk."""
        if int(self.units.token_counts().sum()) <= max_tokens:
            return {"outline": "see the document", "document": escape(self.document.text, _MARKER)}
        headings = [
            (block.level, "  " * (block.level - 1) + single_line(block.title or self.document.text[slice(*block.span)]))
            for block in self.document.blocks or ()
            if block.kind == "heading"
        ]
        outline = fit_outline(headings, max_tokens // _OUTLINE_SHARE, self._counter)
        text = nearest_text(self.units, chunk.spans, max_tokens - self._counter(outline))
        return {"outline": outline or "unknown", "document": text}


def nearest_text(units: Units, spans: Sequence[Span], max_tokens: int) -> str:
    r"""Return the text nearest to a chunk, with markers in place of the chunk and of omitted text.

    Distance is counted in tokens. ``units`` have sizes, and each is either inside or outside of the chunk.

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
    strings = [escape(string, _MARKER) for string in units.strings()]
    runs = groupby(zip(kinds, strings, strict=True), lambda unit: unit[0])
    return "".join(_MARKERS.get(kind) or "".join(string for _, string in run) for kind, run in runs)


def token_distances(units: Units, spans: Sequence[Span]) -> Ints:
    """Return the (n,) numbers of tokens between each unit and the nearest span; -1 for units in a span."""
    total = np.r_[0, np.cumsum(units.token_counts())]
    ends = np.array(list(chain.from_iterable(spans)), dtype=np.int64).reshape(-1, 2)
    number, distance = np.arange(len(units)), np.full(len(units), np.iinfo(np.int64).max)
    for a, b in np.searchsorted(units.edges, ends).tolist():
        distance = np.minimum(distance, np.maximum(total[a] - total[1:], total[:-1] - total[b]))
        distance[(a <= number) & (number < b)] = -1
    return distance


def fold_case_and_space(text: str) -> str:
    """Fold case and white space, so that quotes can be compared."""
    return " ".join(text.casefold().split())
