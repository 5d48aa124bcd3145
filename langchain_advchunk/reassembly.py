"""Chunks of one document, found again among LangChain documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from advchunk.chunkers.frameworks import TextPlace, parse_spans
from advchunk.chunkers.reassembly import FrameworkChunk
from advchunk.errors import checked
from advchunk.records import Span, written_keys, written_metadata


@checked
def chunk_spans(document: Document) -> tuple[Span, ...]:
    r"""Return the spans of a chunk in the text that was split; () if its metadata has none.

    >>> from langchain_advchunk import RecursiveSplitter
    >>> text = "# Tea\n\nGreen tea.\n\nBlack tea."
    >>> *_, last = RecursiveSplitter(max_tokens=6, include_context=True).create_documents([text])
    >>> last.page_content, "".join(text[start:end] for start, end in chunk_spans(last))
    ('Tea\n\nBlack tea.', 'Black tea.')
    """
    return _spans(written_metadata(document.metadata))


def _spans(written: Mapping[str, Any]) -> tuple[Span, ...]:
    if "spans" in written:
        return parse_spans(written["spans"])
    return (Span(written["start_index"], written["end_index"]),) if "start_index" in written else ()


def source_name(document: Document) -> str:
    """Return the ``source`` of a document; "" if it has none."""
    return str(document.metadata.get("source") or "")


def group_by_source(documents: Sequence[Document], name: Callable[[Document], str] = source_name) -> list[list[int]]:
    """Return the indices of each document's chunks: those of one ``source_id``, or runs of one name in reading
    order.
    """
    groups, run, last = dict[Any, list[int]](), 0, None
    for i, document in enumerate(documents):
        metadata, keys = document.metadata, written_keys(document.metadata)
        if "source_id" in keys:
            groups.setdefault(metadata[keys["source_id"]], []).append(i)
            continue
        page = (
            None if keys.get("page") == "page" else metadata.get("page")
        )  # of a loader, which makes a document of each
        source = name(document), page
        place = metadata[keys["chunk_index"]] if "chunk_index" in keys else _start(document)
        follows = last is not None and source == last[0]
        if place is None or last is None or last[1] is None:
            follows = follows and place is None and any(source)  # only the source separates documents
        else:
            follows = follows and place > last[1]
        run, last = run + (not follows), (source, place)
        groups.setdefault(run, []).append(i)
    return list(groups.values())


def to_framework_chunk(document: Document, written: Mapping[str, Any] | None = None) -> FrameworkChunk:
    """Return the text of a chunk, with its spans if they are known, and its context.

    ``written`` is our metadata of the chunk, if it has been read.
    """
    metadata, content = document.metadata, document.page_content
    written = written_metadata(metadata) if written is None else written
    spans, start = _spans(written), _start_by_others(metadata)
    if not spans and start is not None:
        spans = (Span(start, start + len(content)),)
    length = sum(end - start for start, end in spans)
    shown = written["rewritten"] if "original_text" in written else content[max(len(content) - length, 0) :]
    text, context = written.get("original_text", shown), content.removesuffix(shown)
    if not spans or len(text) != length or not (context == "" or context.endswith("\n\n")):
        return FrameworkChunk(content, metadata=metadata)  # from another splitter, whose offsets are not of this text
    return FrameworkChunk(text, spans, context.removesuffix("\n\n"), metadata)


def text_place(document: Document) -> TextPlace:
    """Return the place of the text of a document in the one that it is a chunk of, by its metadata; else it is a whole
    one.
    """
    content, written = document.page_content, written_metadata(document.metadata)
    if not written and "start_index" not in document.metadata:  # most often
        return TextPlace()
    part = to_framework_chunk(document, written)
    if part.spans and content.endswith(part.text):
        return TextPlace(part.spans, len(content) - len(part.text), written.get("start_line"))
    return TextPlace(() if part.spans or "token_count" in written else None)


def _start(document: Document) -> int | None:
    """Return the offset of a chunk, or None if its metadata has none."""
    spans = chunk_spans(document)
    return spans[0].start if spans else _start_by_others(document.metadata)


def _start_by_others(metadata: Mapping[str, Any]) -> int | None:
    """Return the ``start_index`` of LangChain's splitters, or None if there is none."""
    start = metadata.get("start_index")
    return start if isinstance(start, int) and start >= 0 else None
