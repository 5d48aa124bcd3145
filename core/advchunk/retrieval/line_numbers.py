"""The lines of passages: counted in the text of their document, or in chunks that state their own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from advchunk.records import Chunk, Span, written_metadata
from advchunk.text.tiling import line_ends

LineRanges: TypeAlias = tuple[tuple[int, int], ...]
"""The first and the last line of each span, from 1; () if they are not known."""


def line_ranges(places: Sequence[tuple[Sequence[Span], Sequence[Chunk]]], text: str | None) -> list[LineRanges]:
    """Return the lines of passages of one document, each given by its spans and its chunks.

    Lines are known if the chunks state theirs (``start_line``), and if these are the lines of ``text``: those of a text
    that a reader derived from another, or that has changed, are not. Without ``text``, lines are counted in the chunks.
    """
    if text is None:
        return [_in_chunks(spans, chunks) for spans, chunks in places]
    stated = [
        [chunk for chunk in chunks if chunk.spans and "start_line" in written_metadata(chunk.metadata)]
        for _, chunks in places
    ]
    if not any(stated):
        return [() for _ in places]
    bounds = [[_bounds(text, span) for span in spans] for spans, _ in places]
    starts = [[(_bounds(text, chunk.spans[0])[0], chunk) for chunk in chunks] for chunks in stated]
    lines = _count(
        text, {at for own in bounds for pair in own for at in pair} | {at for own in starts for at, _ in own}
    )
    agree = [any(lines[at] == written_metadata(chunk.metadata)["start_line"] for at, chunk in own) for own in starts]
    return [
        tuple((lines[a], lines[b]) for a, b in own) if agrees else () for own, agrees in zip(bounds, agree, strict=True)
    ]


def _bounds(text: str, span: Span) -> tuple[int, int]:
    """Return the offsets of the first and the last character of a span that is not white space."""
    part = text[slice(*span)]
    return span.end - len(part.lstrip() or part[-1:]), span.start + len(part.rstrip() or part[-1:]) - 1


def _count(text: str, offsets: Iterable[int]) -> Mapping[int, int]:
    """Return the line of each offset, in one pass over the text."""
    lines, line, last = dict[int, int](), 1, 0
    for offset in sorted(offsets):
        line += line_ends(text, last, offset)
        lines[offset], last = line, offset
    return lines


def _in_chunks(spans: Sequence[Span], chunks: Sequence[Chunk]) -> LineRanges:
    ranges = list[tuple[int, int]]()
    for span in spans:
        first = next(filter(None, (_line_in(chunk, span, "start_line") for chunk in chunks)), None)
        last = next(filter(None, (_line_in(chunk, span, "end_line") for chunk in chunks)), None)
        if first is None or last is None:
            return ()
        ranges.append((first, last))
    return tuple(ranges)


def _line_in(chunk: Chunk, span: Span, key: str) -> int | None:
    """Return the line of the start of a span, or of its end, by a chunk that starts or ends in it; else None."""
    own = written_metadata(chunk.metadata)
    if not {"start_line", "end_line"} <= own.keys() or not chunk.spans:
        return None
    at_start = key == "start_line"
    (start, end), piece = (chunk.spans[0], chunk.passages[0]) if at_start else (chunk.spans[-1], chunk.passages[-1])
    low, high = max(span.start, start) - start, min(span.end, end) - start
    if low >= high or not piece[low:high].strip() or (span.start < start if at_start else span.end > end):
        return None
    stated, asked = _bounds(piece, Span(0, len(piece))), _bounds(piece, Span(low, high))
    if stated[not at_start] == asked[not at_start]:
        return int(own[key])
    if len(chunk.spans) > 1 or own["end_line"] - own["start_line"] != line_ends(piece, *stated):
        return None  # lines of another text
    return int(own[key]) + (
        line_ends(piece, stated[0], asked[0]) if at_start else -line_ends(piece, asked[1], stated[1])
    )
