"""Find the places of texts, such as the chunks of another library, in their document."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from advchunk.errors import require
from advchunk.records import Chunk, Span

_LEAST_OVERLAP = 10  # characters that two texts hardly share by chance
_APART = 3  # characters between chunks that do not overlap, so that no passage joins them


class Finder:
    """Finds parts of a text in reading order, ignoring white space, which most splitters change.

    A part is first searched for at the end of the previous one, then after its start, so that parts may overlap.

    >>> finder = Finder("One  two. One two. Three.")
    >>> finder.find("One two."), finder.find("One two."), finder.find("Four.")
    (Span(start=0, end=9), Span(start=10, end=18), None)
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
        content, end = "".join(part.split()), bisect_left(places, self._end)
        is_next = squeezed.startswith(content, end)
        place = end if is_next else squeezed.find(content, bisect_right(places, self._start))
        if place < 0 or not content:
            return None
        self._start, self._end = span = Span(places[place], places[place + len(content) - 1] + 1)
        return span

    @cached_property
    def _squeezed(self) -> tuple[list[int], str]:
        """The offsets of the characters that are not white space, and these characters."""
        places = [i for i, character in enumerate(self.text) if not character.isspace()]
        return places, "".join([self.text[i] for i in places])


def locate(
    text: str, parts: Iterable[str], rule: str = "texts must be parts of their document, in order"
) -> list[Span]:
    r"""Return the spans of parts of a text, in reading order, without the white space around them; blank ones are left out.

    Raises `ConfigurationError` with the ``rule`` for a part that is not found.

    >>> locate("One. Two.\n\nThree.", ["One.\nTwo.", "Two. Three."])
    [Span(start=0, end=9), Span(start=5, end=17)]
    """
    finder, spans = Finder(text), list[Span]()
    for part in parts:
        if part.strip():
            span = finder.find(part)
            require(span is not None, rule, part[:60])
            spans += [span] if span else []
    return spans


def locate_chunks(text: str, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks at their places in a text, which are those that they state if they are there.

    Chunks without a stated place are in reading order, and become the text at theirs; one that is not found has no spans.

    >>> found, stated = locate_chunks("One.  Two. One.", [Chunk("One. Two.", (), 2), Chunk("One.", (Span(11, 15),), 1)])
    >>> found.text, found.spans, stated.spans
    ('One.  Two.', (Span(start=0, end=10),), (Span(start=11, end=15),))
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


def is_whole(chunk: Chunk) -> bool:
    """Return True if a chunk is as long as its spans."""
    return sum(end - start for start, end in chunk.spans) == len(chunk.text)


def place_in_text(chunk: Chunk, text: str) -> Chunk:
    """Return a chunk at its spans in a text if it is there, or else where its text is; without spans if it is nowhere.

    >>> place_in_text(Chunk("Add tea.", (Span(0, 8),), 3), "Boil. Add tea.").spans
    (Span(start=6, end=14),)
    """
    if "".join(text[start:end] for start, end in chunk.spans) == chunk.text:
        return chunk
    start = text.find(chunk.text)
    if start >= 0:
        return replace(chunk, spans=(Span(start, start + len(chunk.text)),))
    return locate_chunks(text, [replace(chunk, spans=(), source_spans=())])[0]


def place_in_order(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return chunks with spans; one without stands after the one before, or over the end that it repeats.

    >>> first, second = place_in_order([Chunk("Green tea is steamed.", (), 5), Chunk("tea is steamed. Rum is", (), 5)])
    >>> first.spans, second.spans
    ((Span(start=0, end=21),), (Span(start=6, end=28),))
    """
    placed, last, end = list[Chunk](), "", -_APART
    for chunk in chunks:
        start = end - (find_overlap(last, chunk.text) or -_APART)
        spans = chunk.spans or (Span(start, start + len(chunk.text)),)
        last, end = chunk.text, spans[-1].end
        placed.append(replace(chunk, spans=spans))
    return placed


def find_overlap(before: str, after: str) -> int:
    """Return the length of the longest end of a text that is the start of the next; 0 if it may be so by chance.

    >>> find_overlap("One two. Three four.", "Three four. Five."), find_overlap("By the sea", "a boat")
    (11, 0)
    """
    beginning, start = after[:_LEAST_OVERLAP], max(len(before) - len(after), 0)
    while 0 <= (start := before.find(beginning, start)) <= len(before) - _LEAST_OVERLAP:
        if after.startswith(before[start:]):
            return len(before) - start
        start += 1
    return 0
