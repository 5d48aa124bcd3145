"""Chunk a text in parts, with the chunks of the whole: as it comes in pieces, or around an edit.

Greedy packing from the left restarts at the end of any chunk. The units that are packed restart where a paragraph does: after
a blank line at which the layout has a block. Between two such places a part of the text has the chunks that the whole has there,
except for the last ones, which depend on what follows.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from advchunk.building.ids import IdGenerator
from advchunk.building.layout import LINES, headings_above, inherited_metadata, is_uncut
from advchunk.chunkers.explanations import Explanation
from advchunk.chunkers.params import varied
from advchunk.engine import Job, drive
from advchunk.errors import require
from advchunk.readers import formats, markdown
from advchunk.readers.numbering import has_marks
from advchunk.readers.outline import outlined
from advchunk.records import Chunk, Document, Span, write_metadata, written_keys, written_metadata
from advchunk.text.tiling import line_ends, unit_end

_log = logging.getLogger("advchunk")
_MARKUPS = ("markdown", "plain")
_VECTORS = ("none", "plain")  # of a chunk alone
_ABOVE = ("heading", "caption")  # which stay with what follows
_AFTER_BLANK = re.compile(r"(?>\r\n?|\n)[ \t]*(?>\r\n?|\n)(?=\S)")
_WORD_START = re.compile(r"(?<=\s)\S")
_LAST_SPACE = re.compile(r"(?<=\S)\s++(?=\S++\Z)")
_JOINED = 8  # last chunks that may change with what follows, because short ones join their neighbors
_NEAR = 16  # chunks of a first part around an edit


@dataclass(frozen=True, slots=True)
class Rechunked:
    """The chunks of an edited document, and the ids of those that it had before or not, and of those that are gone."""

    chunks: list[Chunk]
    kept: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


def chunk_pieces(chunker: Any, pieces: Iterable[str], document: Document, window: int) -> Iterator[Chunk]:
    """Yield the chunks of a text in pieces; see `Chunker.chunk_stream`. ``document`` has no text."""
    require(isinstance(window, int) and window >= 1, "window must be a whole number >= 1", window)
    is_iterable = isinstance(pieces, Iterable) and not isinstance(pieces, str)
    require(is_iterable, "pieces must be an iterable of text; chunk takes a single text", pieces)
    rule = "chunk_stream needs recursive or sliding-window; other algorithms need the whole text, as chunk takes it"
    require(chunker.restarts is not None, rule, chunker.algorithm)
    require(chunker.markup in _MARKUPS, f"markup must be one of {_MARKUPS} for chunk_stream", chunker.markup)
    require(chunker.vectors in _VECTORS, f"vectors must be one of {_VECTORS} for chunk_stream", chunker.vectors)
    for name in ("headings", "boundaries"):
        rule = f"chunk_stream must be without {name}, which need the whole text, as chunk takes it"
        require(not getattr(chunker, name), rule, getattr(chunker, name))
    has_outline, chunker = chunker.outline, varied(chunker, outline=False)
    chunker.load()
    return _number(
        _Parts(chunker, _slices(pieces, window // 2 + 1), document, window, has_outline=has_outline), document
    )


def _number(parts: _Parts, document: Document) -> Iterator[Chunk]:
    ids = IdGenerator()
    for index, chunk in enumerate(parts.chunks()):
        yield ids.assign(document.source, [chunk], index)[0]


def _slices(pieces: Iterable[str], length: int) -> Iterator[str]:
    for piece in pieces:
        require(isinstance(piece, str), "pieces must be text", piece)
        for start in range(0, len(piece), length):
            yield piece[start : start + length]


class _Part:
    """A part of a text with its layout, and the places where chunking can restart.

    Parameters
    ----------
    above : the headings that it is under.
    is_first : True for the start of a text.
    page : the page that it begins on, if it is known.
    """

    def __init__(
        self, chunker: Any, text: str, above: tuple[tuple[int, str], ...], is_first: bool, page: int | None = None
    ) -> None:
        self.text, self._restarts, self._is_plain = text, chunker.restarts, chunker.markup == "plain"
        blocks = () if self._is_plain else markdown.blocks(text, is_start=is_first, page=page)
        self._is_open = is_first and not self._is_plain and markdown.front_matter_end(text) is None
        self.document = Document(text, blocks=blocks, above=above)
        self._starts = [block.span.start for block in blocks]
        paragraphs = {match.end() for match in _AFTER_BLANK.finditer(text)}
        if not self._is_plain:
            # A caption is one by what is above or below it, and a part of what follows it.
            bound = {b.span.start for a, b in pairwise([None, *blocks]) if b and "caption" in {b.kind, a and a.kind}}
            last = markdown.open_from(text)
            paragraphs = {at for at in paragraphs.intersection(self._starts) - bound if at <= last}
        self.paragraphs = sorted(paragraphs)

    def is_restart(self, offset: int) -> bool:
        """Return True if a text from an offset on, where a chunk starts, has the chunks that the whole has there."""
        place = bisect_left(self._starts, offset) - 1  # the last block that starts before it
        blocks = self.document.blocks or ()
        before = blocks[place] if place >= 0 else None
        if before is not None and offset < before.span.end and (before.kind == "heading" or is_uncut(before)):
            return False
        if before is not None and before.kind in _ABOVE and offset >= before.span.end:
            return False
        if self._restarts == "word":
            return _WORD_START.match(self.text, offset) is not None
        at = bisect_left(self.paragraphs, offset)
        return self.paragraphs[at : at + 1] == [offset]

    def last_end(self, start: int) -> int | None:
        """Return the last place after ``start`` up to which what follows does not change the units."""
        if self._is_open:
            return None
        if self._is_plain and self._restarts == "word":
            last = _LAST_SPACE.search(self.text, start)
            return unit_end(self.text, last.start()) if last else None
        # The last block may still become a table, and the one before it its caption.
        place = len(self.paragraphs) - (1 if self._is_plain else 2)
        return self.paragraphs[place] if place >= 0 and self.paragraphs[place] > start else None

    def page(self, offset: int) -> int | None:
        """Return the page that the block at an offset begins on, if it is known."""
        place = bisect_left(self._starts, offset)
        places = (self.document.blocks or ())[place].places if place < len(self._starts) else ()
        return places[0].page if places else None

    def anchor(self, offset: int) -> int:
        """Return the last place up to an offset from which the layout can be read."""
        if self._is_plain:
            return offset
        return ([0, *self.paragraphs])[bisect_right(self.paragraphs, offset)]

    def next_anchor(self, offset: int) -> int | None:
        """Return the first place from an offset on from which the layout can be read; None if there is none."""
        if self._is_plain:
            return offset
        return next(iter(self.paragraphs[bisect_left(self.paragraphs, offset) :]), None)

    def clip(self, start: int, end: int, of: Document) -> Document:
        """Return the text from ``start`` to ``end`` with its layout, as a document like ``of``."""
        blocks = tuple(
            replace(block, span=Span(max(block.span.start, start) - start, min(block.span.end, end) - start))
            for block in self.document.blocks or ()
            if block.span.start < end and block.span.end > start
        )
        return replace(of, text=self.text[start:end], blocks=blocks, above=headings_above(self.document, start))


class _Parts:
    """The chunks of a text in parts.

    Parameters
    ----------
    pieces : the text from ``base`` on.
    document : name and metadata of the chunks.
    window : most characters that are held.
    target : characters after which a part is chunked; None is half of the window.
    base, lines, above : where the text starts in the whole, the lines before it, and the headings that it is under.
    start : where the first chunk starts in the text.
    skip : number of the first chunks that are left out, because they only lead to the overlap of the next.
    has_outline : True if `chunk` would recognize numbered units, which a warning then says.
    """

    def __init__(
        self, chunker: Any, pieces: Iterable[str], document: Document, window: int, *, target: int | None = None,
        base: int = 0, lines: int = 0, above: tuple[tuple[int, str], ...] = (), start: int = 0, skip: int = 0,
        has_outline: bool = False,
    ) -> None:  # fmt: skip
        self._chunker, self._pieces, self._of = chunker, iter(pieces), document
        self._window, self._target = window, target or window // 2 + 1
        self._base, self._lines, self._above, self._start, self._skip = base, lines, above, start, skip
        self._has_outline = has_outline
        self._page: int | None = None  # that the text begins on, if it is known
        self._repeats = int(chunker.size("overlap_tokens") > 0)
        self.restarts = set[int]()  # ends of the chunks of the last part at which chunking can restart, in the whole

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks, with spans in the whole."""
        text, start, target, is_complete = "", self._start, self._target, False
        while True:
            parts, length = [text], len(text)
            while length - start < target and not is_complete:
                piece = next(self._pieces, None)
                is_complete = piece is None
                parts.append(piece or "")
                length += len(parts[-1])
            text = "".join(parts)
            part = _Part(self._chunker, text, self._above, is_first=self._base == 0, page=self._page)
            if not self._base and _is_refined(part.document, self._chunker.markup):
                _log.warning("%r: only chunk, with the whole text, finds the turns of speakers", self._of.source)
            if not self._base and self._has_outline and outlined(part.document).outline:
                _log.warning("%r: only chunk, with the whole text, finds numbered units", self._of.source)
            if not self._base and self._chunker.markup == "markdown":
                self._of = _with_front_matter(self._of, text)
            if not self._base:
                self._chunker = self._chunker.in_language_of(replace(self._of, text=text))
            is_forced = len(text) >= self._window
            end = len(text) if is_complete else part.last_end(start)
            chunks = self._chunk(part, start, end or len(text)) if end or is_forced else []
            starts = [0, *(chunk.end for chunk in chunks)]
            self.restarts = {self._base + start + offset for offset in starts if part.is_restart(start + offset)}
            if is_complete:
                yield from self._shifted(chunks[self._skip :], text, start)
                return
            last = len(chunks) - _JOINED - self._repeats
            restarts = (i for i in range(last, 0, -1) if part.is_restart(start + starts[i]))
            place = next(restarts, 0) if end else 0
            at, repeats = start + starts[place], self._repeats
            anchor = part.anchor(at)
            if not place and is_forced:
                last = len(chunks) - _JOINED
                place = next((i for i in range(last, 0, -1) if not text[start + starts[i] :].isspace()), 0)
                at, repeats = start + starts[place], 0
                anchor = at
                message = "%r: cut at %d, because no chunk ends with a paragraph in the window of %d characters"
                _log.warning(message, self._of.source, self._base + at, self._window)
            if not place:
                target = 2 * (len(text) - start)
                continue
            yield from self._shifted(chunks[self._skip : place + repeats], text, start)
            self._above, self._page = headings_above(part.document, anchor), part.page(anchor)
            self._base, self._lines = self._base + anchor, self._lines + line_ends(text, 0, anchor)
            self._skip = repeats
            text, start, target = text[anchor:], at - anchor, self._target

    def _chunk(self, part: _Part, start: int, end: int) -> list[Chunk]:
        jobs: Iterable[Job[Explanation]] = self._chunker.jobs([part.clip(start, end, self._of)])
        (explanation,) = drive(jobs)
        return explanation.chunks

    def _shifted(self, chunks: Iterable[Chunk], text: str, start: int) -> Iterator[Chunk]:
        lines = self._lines + line_ends(text, 0, start)
        return (_shift(chunk, self._base + start, lines) for chunk in chunks)


def _shift(chunk: Chunk, by: int, lines: int) -> Chunk:
    """Return a chunk so many characters and lines further down."""
    spans, metadata = tuple(Span(start + by, end + by) for start, end in chunk.spans), dict(chunk.metadata)
    for name, key in written_keys(metadata).items():
        if name in LINES:
            metadata[key] += lines
    return replace(chunk, spans=spans, metadata=metadata)


def rechunk(chunker: Any, old: Sequence[Chunk], document: Document) -> Rechunked:
    """Return the chunks of an edited document; see `Chunker.rechunk`."""
    require(all(isinstance(chunk, Chunk) for chunk in old), "old_chunks must be Chunks", old)
    read = _with_front_matter(document, document.text) if chunker.markup == "markdown" else document
    chunks = _around_edit(chunker, old, read) if _can_restart(chunker, old, read) else None
    chunks = chunker.chunk(document) if chunks is None else IdGenerator().assign(document.source, chunks)
    before, after = {chunk.id for chunk in old}, {chunk.id for chunk in chunks}
    return Rechunked(
        chunks,
        kept=tuple(chunk.id for chunk in chunks if chunk.id in before),
        added=tuple(chunk.id for chunk in chunks if chunk.id not in before),
        removed=tuple(chunk.id for chunk in old if chunk.id not in after),
    )


def _with_front_matter(document: Document, text: str) -> Document:
    own = markdown.read_metadata(text)
    return replace(document, metadata={**own, **document.metadata}) if own else document


def _can_restart(chunker: Any, old: Sequence[Chunk], document: Document) -> bool:
    is_local = chunker.restarts is not None and chunker.markup in _MARKUPS and chunker.vectors in _VECTORS
    is_read_alike = document.blocks is None and document.offsets is None and not document.markup
    has_own_structure = bool(chunker.headings or chunker.boundaries)
    if has_own_structure or not (is_local and is_read_alike and old and document.text.strip()):
        return False
    if any("speakers" in written_metadata(chunk.metadata) for chunk in old[:_NEAR]):
        return False
    return not chunker.include_context or old[0].metadata.get("title") == document.metadata.get("title")


def _may_restart(chunker: Any, before: str, document: Document) -> bool:
    """Return True if nothing that the whole text decides is another in an edited document than it was before."""
    texts = before, document.text
    if chunker.outline and any(map(has_marks, texts)):
        return False
    if chunker.markup == "markdown" and not all(map(markdown.is_local, texts)):
        return False
    languages = [chunker.in_language_of(replace(document, text=text)).language for text in texts]
    return len(set(languages)) == 1


def _is_refined(document: Document, markup: str) -> bool:
    """Return True if another reader finds more blocks in a text than its format has, which takes the whole text."""
    return formats.may_be_refined(document.text, markup) and formats.refine_document(document, markup) is not document


def _around_edit(chunker: Any, old: Sequence[Chunk], document: Document) -> list[Chunk] | None:
    """Return the chunks of an edited document, most of them from before; None if those do not tile a text."""
    before, after = _joined(old), document.text
    if before is None or not _may_restart(chunker, before, document):
        return None
    chunker = varied(chunker, outline=False).in_language_of(document)
    same = _common_length(before, after)
    if chunker.markup == "markdown":
        front = markdown.front_matter_end(after)
        if front != markdown.front_matter_end(before) or (front or 0) > same:
            return None
    edited = len(after) - _common_length(before[same:], after[same:], at_end=True)
    shift, repeats = len(after) - len(before), int(chunker.size("overlap_tokens") > 0)
    ends = [chunk.end for chunk in old]
    if formats.may_be_refined(after, chunker.markup) and _is_refined(
        _Part(chunker, after, (), True).document, chunker.markup
    ):
        return None
    part = _Part(chunker, after[:same], (), is_first=True)
    unchanged = bisect_right(ends, part.last_end(0) or 0) - _JOINED - repeats
    first = next((i for i in range(unchanged, 0, -1) if part.is_restart(ends[i - 1])), 0)
    start = ends[first - 1] if first else 0
    anchor = part.anchor(start) if first else 0
    step = 1 + _NEAR * len(before) // len(old)
    above = headings_above(part.document, anchor)
    parts = _Parts(
        chunker, _slices([after[anchor:]], step), document, len(after) + 1, target=step, base=anchor, above=above,
        lines=line_ends(after, 0, anchor), start=start - anchor, skip=repeats if first else 0,
    )  # fmt: skip
    regions = [_Region(chunker, text[anchor:], anchor, above) for text in (before, after)]

    def is_back(end: int) -> bool:
        """Return True if what follows the end of a chunk has the chunks that it had before."""
        place = bisect_left(ends, end - shift)
        if end < edited or ends[place : place + 1] != [end - shift] or end not in parts.restarts:
            return False
        layouts = [region.layout_from(at) for region, at in zip(regions, (end - shift, end), strict=True)]
        return layouts[0] is not None and layouts[0] == layouts[1]

    metadata = inherited_metadata(document.metadata)
    kept = [_with_metadata(chunk, metadata) for chunk in old[: first + repeats * bool(first)]]
    was_back = not repeats
    for chunk in parts.chunks():
        kept.append(chunk)
        back = is_back(chunk.end)
        if back and was_back:
            rest = old[bisect_left(ends, chunk.end - shift) + 1 :]
            lines = line_ends(after, 0, len(after)) - line_ends(before, 0, len(before))
            return kept + [_with_metadata(_shift(chunk, shift, lines), metadata) for chunk in rest]
        was_back = back or not repeats
    return kept


class _Region:
    """The layout of a text from an anchor on, as far as it is needed.

    Parameters
    ----------
    text : the text from ``base`` in the whole on.
    """

    _BEYOND = 1000  # characters, so that a line is whole

    def __init__(self, chunker: Any, text: str, base: int, above: tuple[tuple[int, str], ...]) -> None:
        self._chunker, self._text, self._base, self._above = chunker, text, base, above
        self._part = _Part(chunker, "", above, is_first=False)

    def layout_from(self, offset: int) -> tuple[object, ...] | None:
        """Return the headings above an offset in the whole, and the blocks up to the next place to read the layout from.

        None if chunking cannot restart at the offset, or if that place is far away.
        """
        at = offset - self._base
        if at + self._BEYOND > len(self._part.text) < len(self._text):
            text = self._text[: 2 * at + self._BEYOND]
            self._part = _Part(self._chunker, text, self._above, is_first=self._base == 0)
        end = self._part.next_anchor(at) if self._part.is_restart(at) else None
        if end is None:
            return None
        between = self._part.clip(at, end, Document(""))
        return between.above, between.blocks


def _joined(chunks: Sequence[Chunk]) -> str | None:
    """Return the text that chunks tile, apart from overlap; None if they do not."""
    parts, end = list[str](), 0
    for chunk in chunks:
        if len(chunk.spans) != 1 or not chunk.start <= end < chunk.end:
            return None
        parts.append(chunk.text[end - chunk.start :])
        end = chunk.end
    return "".join(parts)


def _common_length(a: str, b: str, *, at_end: bool = False) -> int:
    """Return the length of the longest common start of two texts, or end."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        is_same = (
            a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]
            if at_end
            else a[low:middle] == b[low:middle]
        )
        low, high = (middle, high) if is_same else (low, middle - 1)
    return low


def _with_metadata(chunk: Chunk, metadata: Mapping[str, Any]) -> Chunk:
    return replace(chunk, metadata=write_metadata(metadata, written_metadata(chunk.metadata)))
