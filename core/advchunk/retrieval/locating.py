"""Find the places of texts, such as the chunks of another library, in their document."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import require
from advchunk.records import Chunk, Ints, Span

_LEAST_OVERLAP = 10  # characters that two texts hardly share by chance
_SURE_OVERLAP = 20  # characters, of which half are letters, that two texts in no order do not share by chance
_LAST_WHITE = 0x3000  # the ideographic space
_APART = 3  # characters between chunks that do not overlap, so that no passage joins them


class Finder:
    """Finds parts of a text in reading order, ignoring white space, which most splitters change: first at the end of
    the previous part, then after its start, so that parts may overlap.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._start, self._end = -1, 0  # of the latest part
        self._last = len(text.rstrip())

    @property
    def done(self) -> bool:
        """True if nothing but white space follows the latest part."""
        return self._end >= self._last

    def has(self, part: str, spans: Sequence[Span]) -> bool:
        """Return True if a part is the text of its spans, and does not start before the previous part."""
        is_there = spans[0].start >= self._start and "".join(self.text[start:end] for start, end in spans) == part
        if is_there:
            self._start, self._end = spans[0].start, spans[-1].end
        return is_there

    def find(self, part: str) -> Span | None:
        """Return the span of a part, without white space around it; None if it is blank or not found."""
        places, squeezed = self._squeezed
        content, place = "".join(part.split()), int(places.searchsorted(self._end))
        if not squeezed.startswith(content, place):
            place = squeezed.find(content, int(places.searchsorted(self._start, "right")))
        if span := self._span(place, content):
            self._start, self._end = span
        return span

    def find_anywhere(self, part: str, near: int = 0) -> Span | None:
        """Return the span of a part, with its white space if it is there, nearest to ``near``; or None."""
        before, after = self.text.rfind(part, 0, near + len(part)), self.text.find(part, near)
        starts = [start for start in (before, after) if start >= 0]
        if starts:
            start = min(starts, key=lambda start: abs(start - near))
            return Span(start, start + len(part))
        content = "".join(part.split())
        return self._span(self._squeezed[1].find(content), content)

    def _span(self, place: int, content: str) -> Span | None:
        """Return the span in the text of a content found in the squeezed text; None if it is empty or not found."""
        places = self._squeezed[0]
        if place < 0 or not content:
            return None
        return Span(int(places[place]), int(places[place + len(content) - 1]) + 1)

    @cached_property
    def _squeezed(self) -> tuple[Ints, str]:
        """The offsets of the characters that are not white space, and these characters."""
        codes = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)
        places = np.flatnonzero(~_white_space()[np.minimum(codes, _LAST_WHITE + 1)])
        return places, "".join(self.text.split())


@cache
def _white_space() -> NDArray[np.bool_]:
    """Return for each character up to the one after the last white space whether it is white space."""
    return np.array([chr(code).isspace() for code in range(_LAST_WHITE + 2)])


def locate(
    text: str, parts: Iterable[str], rule: str = "texts must be parts of their document, in order"
) -> list[Span]:
    """Return the spans of parts of a text, in reading order, without the white space around them; blank ones are left
    out. Raises `ConfigurationError` with the ``rule`` for a part that is not found.
    """
    finder, spans = Finder(text), list[Span]()
    for part in parts:
        if part.strip():
            span = finder.find(part)
            require(span is not None, rule, part[:60])
            spans += [span] if span else []
    return spans


def locate_chunks(text: str, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks at their places in a text: those stated, if they are there. Chunks without one are in reading
    order, and become the text at theirs; one that is not found has no spans.
    """
    finder, located = Finder(text), list[Chunk]()
    for chunk in chunks:
        if (chunk.spans and (finder.has(chunk.text, chunk.spans) or chunk.spans_in(text))) or not chunk.text.strip():
            located.append(chunk)
        elif span := finder.find(chunk.text):
            located.append(replace(chunk, text=text[slice(*span)], spans=(span,)))
        else:
            located.append(replace(chunk, spans=()))
    return located


def is_verbatim(chunk: Chunk, text: str) -> bool:
    """Return True if a chunk is the text of its spans."""
    return "".join(text[start:end] for start, end in chunk.spans) == chunk.text


def is_whole(chunk: Chunk) -> bool:
    """Return True if a chunk is as long as its spans."""
    return sum(end - start for start, end in chunk.spans) == len(chunk.text)


def place_in_text(chunk: Chunk, finder: Finder) -> Chunk:
    """Return a chunk at its spans in a text if it is there, else where its text is, else without spans."""
    text = finder.text
    if is_verbatim(chunk, text):
        return chunk
    span = finder.find_anywhere(chunk.text, chunk.start)
    own = text[slice(*span)] if span else chunk.text
    return replace(chunk, text=own, spans=(span,) if span else (), source_spans=(), row_spans=())


def place_in_order(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks with spans; one without stands after the one before, or over the end that it repeats."""
    placed, last, end = list[Chunk](), "", -_APART
    for chunk in chunks:
        start = end - (find_overlap(last, chunk.text) or -_APART)
        spans = chunk.spans or (Span(start, start + len(chunk.text)),)
        last, end = chunk.text, spans[-1].end
        placed.append(replace(chunk, spans=spans))
    return placed


def find_overlap(before: str, after: str) -> int:
    """Return the length of the longest end of a text that is the start of the next; 0 if it may be so by chance."""
    beginning, start = after[:_LEAST_OVERLAP], max(len(before) - len(after), 0)
    while 0 <= (start := before.find(beginning, start)) <= len(before) - _LEAST_OVERLAP:
        if after.startswith(before[start:]):
            return len(before) - start
        start += 1
    return 0


def place_by_overlap(texts: Sequence[str]) -> list[tuple[int, Span]]:
    """Return the places of parts, in any order: the index of the part that their common text starts with, and the span.

    A part that starts with the end of another stands over that end, and one that another contains, in it.

    >>> place_by_overlap(["over the end of a part stands the next", "is there", "One starts over the end of a part"])
    [(2, Span(start=11, end=49)), (1, Span(start=0, end=8)), (2, Span(start=0, end=33))]
    """
    indices = {text: i for i, text in enumerate(texts)}
    inside, overlaps = _shared(sorted(indices, key=lambda text: (-len(text), text)))
    before, after = dict[str, tuple[str, int]](), dict[str, str]()
    for at, part, other in overlaps:
        last = other
        while last in after:
            last = after[last]
        if part not in after and other not in before and last != part:  # no circle
            before[other], after[part] = (part, at), other
    places = list[tuple[int, Span]]()
    for text in texts:
        first, start = text, 0
        while step := inside.get(first) or before.get(first):
            first, start = step[0], start + step[1]
        places.append((indices[first], Span(start, start + len(text))))
    return places


def _shared(parts: Sequence[str]) -> tuple[dict[str, tuple[str, int]], list[tuple[int, str, str]]]:
    """Return the place of each part inside another, and the overlaps of the others (offset in a part from which on it
    starts another), the longest first. ``parts`` are different, the longest first.
    """
    starts, inside = dict[str, list[str]](), dict[str, tuple[str, int]]()
    for part in parts:
        starts.setdefault(part[:_SURE_OVERLAP], []).append(part)
    overlaps = list[tuple[int, str, str]]()
    for part in parts:
        for at in range(len(part) - _SURE_OVERLAP + 1):
            for other in starts.get(part[at : at + _SURE_OVERLAP], ()):
                if other != part and part.startswith(other, at):
                    inside.setdefault(other, (part, at))
                elif at and other.startswith(part[at:]) and 2 * sum(map(str.isalpha, part[at:])) >= len(part) - at:
                    overlaps.append((at, part, other))
    overlaps.sort(key=lambda overlap: (overlap[0] - len(overlap[1]), overlap))
    return inside, [overlap for overlap in overlaps if not inside.keys() & overlap[1:]]
