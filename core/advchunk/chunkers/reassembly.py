"""Reassemble documents from the chunks of a framework, which passes chunks without their documents."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from advchunk.records import Chunk, Document, Span, remove_written, write_metadata, written_metadata

_MAX_STRIPPED: Final = 8  # characters between chunks that a splitter may have stripped as white space
_GAPS: Final = ("\n\n", "\n\n[...]\n\n")  # in place of stripped white space, and of missing text


class FrameworkChunk(NamedTuple):
    """A framework's chunk: its text, its spans in the document if they are known, its context and metadata."""

    text: str
    spans: tuple[Span, ...] = ()
    context: str = ""
    metadata: Mapping[str, Any] = MappingProxyType({})


def to_document(chunks: Sequence[FrameworkChunk], name: str, text: str | None = None) -> tuple[Document, list[Chunk]]:
    """Return the document ``name`` and its chunks (>= 1), from `reassemble` if ``text`` or any spans are missing."""
    spans = [chunk.spans for chunk in chunks]
    if text is None or not all(spans):
        text, spans = reassemble(chunks)
    title = chunks[0].metadata.get("title")
    made = list[Chunk]()
    for i, ((own, _, context, metadata), where) in enumerate(zip(chunks, spans, strict=True)):
        tokens = written_metadata(metadata).get("token_count", 0)
        made.append(Chunk(own, where, tokens, i, "", context, metadata=write_metadata(metadata, {})))
    return Document(text, name, metadata={"title": title} if title else {}), made


def text_and_metadata(chunk: Chunk, *, rewritten: bool) -> tuple[str, dict[str, Any]]:
    """Return a chunk for a framework, its text the rewritten version if ``rewritten`` or replaced in an earlier run."""
    written = written_metadata(chunk.metadata)
    values: dict[str, Any] = {"token_count": chunk.tokens} if "token_count" in written else {}
    text, replaced = chunk.text, "original_text" in written
    if (rewritten or replaced) and "rewritten" in written:
        text, values = written["rewritten"], values | {"original_text": chunk.text}
    return text, write_metadata(remove_written(chunk.metadata, ["original_text"]), values)


def reassemble(chunks: Sequence[FrameworkChunk]) -> tuple[str, list[tuple[Span, ...]]]:
    """Return a text with all chunks in reading order, and their spans in it: the document's own where they cover it.

    Gaps are marked ``[...]``. If a chunk's spans are missing or contradict its text, all are joined in the order given.
    """
    if joined := _join_by_span(chunks):
        return joined
    texts = [chunk.text for chunk in chunks]
    starts = accumulate((len(text) + len(_GAPS[0]) for text in texts), initial=0)
    return _GAPS[0].join(texts), [(Span(a, a + len(text)),) for a, text in zip(starts, texts, strict=False)]


def _join_by_span(chunks: Sequence[FrameworkChunk]) -> tuple[str, list[tuple[Span, ...]]] | None:
    parts = list[tuple[Span, str]]()
    for chunk in chunks:
        ends = pairwise(accumulate((end - start for start, end in chunk.spans), initial=0))
        parts += [(span, chunk.text[start:end]) for span, (start, end) in zip(chunk.spans, ends, strict=True)]
    strings, shifts, end, length = list[str](), list[tuple[int, int]](), 0, 0
    for span, string in sorted(parts):
        if not strings or span.start > end:
            strings.append(_GAPS[span.start - end > _MAX_STRIPPED] if strings else "")
            length += len(strings[-1])
            shifts.append((span.start, length - span.start))
            end = span.start
        if span.end > end:
            strings.append(string[end - span.start :])
            length += span.end - end
            end = span.end
    text = "".join(strings)

    def shifted(span: Span) -> Span:
        by = next(by for start, by in reversed(shifts) if start <= span.start)  # of the last run that starts before it
        return Span(span.start + by, span.end + by)

    spans = [tuple(map(shifted, chunk.spans)) for chunk in chunks]
    texts = ["".join(text[slice(*span)] for span in where) for where in spans]
    return (text, spans) if all(spans) and texts == [chunk.text for chunk in chunks] else None
