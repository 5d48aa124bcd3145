"""Chunks of frameworks, which hand on nothing of their documents, as chunks of documents again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from advchunk.records import Chunk, Document, Span

_STRIPPED: Final = 8  # characters: what a splitter takes off between chunks is white space
_GAP: Final = ("\n\n", "\n\n[...]\n\n")  # in the place of so many, and of more


class Piece(NamedTuple):
    """A chunk of a framework: its text, where it stood in its document if that is known, and what was said of it."""

    text: str
    spans: tuple[Span, ...] = ()
    context: str = ""
    metadata: Mapping[str, Any] = MappingProxyType({})


def paired(pieces: Sequence[Piece], name: str, text: str | None = None) -> tuple[Document, list[Chunk]]:
    """Return a document and its chunks, to be enriched.

    Parameters
    ----------
    name : of the document.
    text : of the document, if it is known; else it is `rebuilt`.
    """
    spans = [piece.spans for piece in pieces]
    if text is None or not all(spans):
        text, spans = rebuilt(pieces)
    chunks = [
        Chunk(
            piece.text, where, piece.metadata.get("token_count", 0), i, "", piece.context, metadata=dict(piece.metadata)
        )
        for i, (piece, where) in enumerate(zip(pieces, spans, strict=True))
    ]
    title = pieces[0].metadata.get("title")
    return Document(text, name, metadata={"title": title} if title else {}), chunks


def written(chunk: Chunk, *, rewritten: bool) -> tuple[str, dict[str, Any]]:
    """Return the text that is shown of an enriched chunk, and its metadata, for a framework.

    Parameters
    ----------
    rewritten : whether that is what it was rewritten to, if it was; it is if that was so before.
    """
    metadata = dict(chunk.metadata)
    replaces = metadata.pop("original_text", None) is not None or rewritten
    if "token_count" in metadata:
        metadata["token_count"] = chunk.tokens
    if not replaces or "rewritten" not in metadata:
        return chunk.text, metadata
    return metadata["rewritten"], metadata | {"original_text": chunk.text}


def rebuilt(pieces: Sequence[Piece]) -> tuple[str, list[tuple[Span, ...]]]:
    r"""Return a text that holds all pieces in reading order, each once, and where each stands in it.

    It is the document's own where pieces cover that. What is between them is a mark. Where a piece does not say where it
    stood, or says what cannot be, all follow each other as they come.

    >>> rebuilt([Piece("cats. ", (Span(4, 10),)), Piece("The cats", (Span(0, 8),)), Piece("Bye", (Span(90, 93),))])
    ('The cats. \n\n[...]\n\nBye', [(Span(start=4, end=10),), (Span(start=0, end=8),), (Span(start=19, end=22),)])
    """
    return _by_place(pieces) or _in_order(pieces)


def _by_place(pieces: Sequence[Piece]) -> tuple[str, list[tuple[Span, ...]]] | None:
    strings, shifts, end = list[str](), list[tuple[int, int]](), 0
    length = 0
    for span, string in sorted(part for piece in pieces for part in _parts(piece)):
        if not strings or span.start > end:
            gap = _GAP[span.start - end > _STRIPPED] if strings else ""
            strings.append(gap)
            length += len(gap)
            shifts.append((span.start, length - span.start))
            end = span.start
        if span.end > end:
            strings.append(string[end - span.start :])
            length += span.end - end
            end = span.end
    text = "".join(strings)
    moved = [tuple(_moved(span, shifts) for span in piece.spans) for piece in pieces]
    right = all(
        spans and "".join(text[slice(*span)] for span in spans) == piece.text
        for piece, spans in zip(pieces, moved, strict=True)
    )
    return (text, moved) if right else None


def _parts(piece: Piece) -> list[tuple[Span, str]]:
    """Return the text of each span of a piece."""
    parts, at = list[tuple[Span, str]](), 0
    for span in piece.spans:
        parts.append((span, piece.text[at : at + span.end - span.start]))
        at += span.end - span.start
    return parts


def _moved(span: Span, shifts: Sequence[tuple[int, int]]) -> Span:
    """Return where a span stands now: in the last run that starts before it."""
    shift = next(shift for start, shift in reversed(shifts) if start <= span.start)
    return Span(span.start + shift, span.end + shift)


def _in_order(pieces: Sequence[Piece]) -> tuple[str, list[tuple[Span, ...]]]:
    spans, at = list[tuple[Span, ...]](), 0
    for piece in pieces:
        spans.append((Span(at, at + len(piece.text)),))
        at += len(piece.text) + len(_GAP[0])
    return _GAP[0].join(piece.text for piece in pieces), spans


def spans_in(metadata: Mapping[str, Any], start: int | None, end: int | None, length: int) -> tuple[Span, ...]:
    """Return where a chunk stood, as a framework says it: several spans in metadata, else from ``start`` to ``end``.

    Parameters
    ----------
    length : of its text, if there is no ``end``.

    Examples
    --------
    >>> spans_in({"spans": "0-2 7-9"}, 0, 9, 4)
    (Span(start=0, end=2), Span(start=7, end=9))
    """
    if "spans" in metadata:
        ends = (part.partition("-") for part in str(metadata["spans"]).split())
        return tuple(Span(int(first), int(last)) for first, _, last in ends)
    if start is None or start < 0:
        return ()
    return (Span(start, start + length if end is None else end),)
