"""The surroundings of a chunk in its document: excerpts for a chat model, headings, first sentence, and captions."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, groupby
from typing import Final

import numpy as np

from advchunk.building import sizes
from advchunk.building.layout import Headings, section_path
from advchunk.building.sizes import Limits
from advchunk.models.prompts import escape, fit_outline, single_line
from advchunk.records import Block, Chunk, Document, Ints, Span, Units
from advchunk.text import tiling
from advchunk.text.counters import Counter
from advchunk.text.scripts import count_words
from advchunk.text.sentences import sentences

_UNIT_TOKENS: Final = 128  # maximum of the units that excerpts are made of
_OUTLINE_SHARE: Final = 4  # an outline takes at most 1/4 of the tokens
_MAX_LETTERS: Final = 16  # characters per token of a text whose beginning or end is shown
_MIN_LEAD: Final = 4  # words of a first sentence; a shorter one is a label, a date, or a name
_MAX_LEAD: Final = 2000  # characters in which a first sentence must end
_CAPTIONED: Final = ("table", "figure")
_MARKERS: Final = {"own": "\n[passage]\n", "hidden": "\n[...]\n"}
_MARKER = re.compile(r"\[(?=passage\])")  # which the document must not contain


class DocumentContext:
    """A document, prepared for the surroundings of its chunks."""

    def __init__(self, document: Document, chunks: Iterable[Chunk], counter: Counter) -> None:
        self.document, self._counter, self._chunks = document, counter, [chunk for chunk in chunks if chunk.spans]
        self._headings = Headings(document.text, document.blocks or (), document.above)
        self.beginning = cache(lambda max_tokens: first_words(document.text, max_tokens, counter))

    @cached_property
    def units(self) -> Units:
        """Paragraphs, or parts of long ones, each either inside or outside of every chunk."""
        text, ends = self.document.text, [offset for chunk in self._chunks for span in chunk.spans for offset in span]
        whole = tiling.from_ends(text, [*ends, *tiling.paragraphs(text).edges.tolist()])
        return sizes.fit(whole, Limits(_UNIT_TOKENS, 0, 0, self._counter))

    @cached_property
    def comparable_text(self) -> str:
        """The document's text in the form of `fold_case_and_space`."""
        return fold_case_and_space(self.document.text)

    def place(self, chunk: Chunk) -> str:
        """Return the title of the document and the headings above the start of a chunk."""
        return " > ".join(self._titled(self._headings.path(chunk.start))) or "unknown"

    def _titled(self, path: tuple[str, ...]) -> tuple[str, ...]:
        title, path = self.document.metadata.get("title"), section_path(self.document, path)
        return (str(title), *path) if title and path[:1] != (str(title),) else path

    def neighbors(self, chunk: Chunk, max_tokens: int, shown: int) -> tuple[str, str]:
        """Return the last words before a chunk and the first after it, from its neighbors, past the first ``shown``."""
        text, same, at = self.document.text, *self._neighbors[id(chunk)]
        start = same[at - 1].start if at else chunk.start
        end = same[at + 1].end if at + 1 < len(same) else chunk.end
        before, after = text[max(start, shown) : chunk.start], text[max(chunk.end, shown) : end]
        return last_words(before, max_tokens, self._counter), first_words(after, max_tokens, self._counter)

    @cached_property
    def _neighbors(self) -> dict[int, tuple[list[Chunk], int]]:
        """The chunks of the level of each chunk in reading order, and its place among them."""
        levels = dict[int, list[Chunk]]()
        for chunk in sorted(self._chunks, key=lambda chunk: chunk.spans[0]):
            levels.setdefault(chunk.level, []).append(chunk)
        return {id(chunk): (same, at) for same in levels.values() for at, chunk in enumerate(same)}

    def own_words(self, chunk: Chunk) -> Iterator[str]:
        """Yield a document's words about a chunk: headings, the caption of its table or figure, the first sentence."""
        text = self.document.text
        start = tiling.next_non_space(text, chunk.start)
        start = max(text.rfind("\n", chunk.start, start) + 1, chunk.start)  # a line owns its indentation
        yield " > ".join(self._titled(self._headings.above(start)))
        yield from self._captions(chunk)
        yield self._lead

    @cached_property
    def _lead(self) -> str:
        """The first sentence of the document, in one line; "" if it has none."""
        text = self.document.text
        blocks = self.document.blocks or [Block("paragraph", Span(0, len(text)))]
        for start, end in (block.span for block in blocks if block.kind in ("paragraph", "turn")):
            piece = text[start : min(end, start + _MAX_LEAD)]
            first = single_line(next(iter(sentences(piece).strings()), ""))
            if count_words(first) >= _MIN_LEAD and len(first) < _MAX_LEAD:
                return first
        return ""

    def _captions(self, chunk: Chunk) -> Iterator[str]:
        """Yield the captions of the tables and figures that a chunk has text of, unless it has them itself."""
        blocks = self.document.blocks or ()
        for start, end in chunk.spans:
            first = max(bisect_right(blocks, start, key=lambda block: block.span.start) - 1, 0)
            for place in range(first, bisect_right(blocks, end - 1, key=lambda block: block.span.start)):
                if blocks[place].kind in _CAPTIONED and blocks[place].span.end > start:
                    for caption in _captions_of(blocks, place):
                        yield single_line(self.document.text[slice(*caption.span)])

    def excerpt(self, chunk: Chunk, max_tokens: int) -> dict[str, str]:
        """Return the ``document`` if it fits, else its ``outline``, its beginning, and the text near the chunk."""
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


def _captions_of(blocks: Sequence[Block], place: int) -> Iterator[Block]:
    """Yield the caption of a table or figure: the one above it, else the one below, unless that is of the next."""
    above, below = blocks[max(place - 1, 0)], blocks[place + 1 : place + 3]
    if above.kind == "caption":
        yield above
    elif below and below[0].kind == "caption" and not (below[1:] and below[1].kind in _CAPTIONED):
        yield below[0]


def first_words(text: str, max_tokens: int, counter: Counter) -> str:
    """Return as many of the first words of a text as have at most ``max_tokens``."""
    text = text[: max_tokens * _MAX_LETTERS]
    if counter(text) <= max_tokens:
        return text
    edges = tiling.graphemes(text).edges.tolist()
    end = edges[bisect_right(edges, max_tokens, key=lambda end: counter(text[:end])) - 1]
    return text[:end] if text[end].isspace() else re.sub(r"\s\S*\Z", "", text[:end])


def last_words(text: str, max_tokens: int, counter: Counter) -> str:
    """Return as many of the last words of a text as have at most ``max_tokens``."""
    text = text[max(len(text) - max_tokens * _MAX_LETTERS, 0) :]
    if counter(text) <= max_tokens:
        return text
    edges = tiling.graphemes(text).edges.tolist()[::-1]
    start = edges[bisect_right(edges, max_tokens, key=lambda start: counter(text[start:])) - 1]
    return text[start:] if text[start - 1].isspace() else re.sub(r"\A\S*\s", "", text[start:])


def nearest_text(units: Units, spans: Sequence[Span], max_tokens: int) -> str:
    """Return the beginning of a text and what is nearest to a chunk in tokens, each half of ``max_tokens``, with
    markers for the chunk and for omitted text. Each of the ``units``, which have sizes, is inside or outside of it.
    """
    count, distance = units.token_counts(), token_distances(units, spans)
    outside = np.flatnonzero(distance >= 0)
    first = outside[: int(np.searchsorted(np.cumsum(count[outside]), max_tokens // 2, "right"))]
    others = outside[len(first) :]
    nearest = others[np.argsort(distance[others], kind="stable")]
    left = max_tokens - int(count[first].sum())
    shown = np.zeros(len(units), dtype=bool)
    shown[first] = True
    shown[nearest[: int(np.searchsorted(np.cumsum(count[nearest]), left, "right"))]] = True
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
