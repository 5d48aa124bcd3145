"""Enrichment of LangChain documents by a chat model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from langchain_core.documents import BaseDocumentTransformer, Document

from advchunk import Chunk, Failure
from advchunk import Document as Source
from advchunk.enrich import Enricher
from advchunk.enrich.reassembly import FrameworkChunk, text_and_metadata, to_document
from advchunk.errors import require
from advchunk.records import Span, with_context, written_keys, written_metadata
from langchain_advchunk.base import chunk_spans


@dataclass(eq=False)
class ChunkEnricher(BaseDocumentTransformer):
    """Add the context that chunks need to be read alone: ``ChunkEnricher(Summaries(llm=ChatOpenAI(...)))``.

    It transforms the chunks of any splitter, wherever LangChain chains transformers. As it receives chunks only, it
    reassembles documents by ``start_index`` and ``source_id``, or else in the order of the chunks; with our splitters
    the result is exact. If some chunks of a document are missing, pass the documents as well:
    ``transform_documents(chunks, parents=documents)``. They are matched by ``id``, which our splitters write into
    ``source_id``.

    A summary precedes the text in ``page_content``, like titles and headings with ``include_context``, and is also in
    ``metadata["summary"]``. A rewritten chunk is in ``metadata["rewritten"]``. ``start_index``, ``end_index`` and ids
    remain those of the original text.

    Parameters
    ----------
    enricher : an `advchunk.enrich.Summaries` or `advchunk.enrich.Rewriting`.
    rewritten : whether a rewritten chunk replaces the text in ``page_content``; the original text is then in
        ``metadata["original_text"]``.
    on_error : handling of a chunk that fails, which stays unchanged: "skip" logs a warning; "raise"; or a callable that
        receives an `advchunk.enrich.ChunkFailure`.
    show_progress : whether to show a progress bar.
    """

    enricher: Enricher
    rewritten: bool = field(default=False, kw_only=True)
    on_error: Literal["raise", "skip"] | Callable[[Failure], None] = field(default="skip", kw_only=True)
    show_progress: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        require(isinstance(self.enricher, Enricher), "enricher must be Summaries or Rewriting", self.enricher)

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the enriched chunks in the same order."""
        groups = group_by_source(documents)
        pairs = _pairs(documents, groups, kwargs.get("parents", ()))
        results = self.enricher.enrich_many(pairs, on_error=self.on_error, progress=self.show_progress)
        return self._update(documents, groups, results)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Await `transform_documents`."""
        groups = group_by_source(documents)
        pairs = _pairs(documents, groups, kwargs.get("parents", ()))
        results = await self.enricher.aenrich_many(pairs, on_error=self.on_error, progress=self.show_progress)
        return self._update(documents, groups, results)

    def _update(
        self, documents: Sequence[Document], groups: list[list[int]], results: list[list[Chunk]]
    ) -> list[Document]:
        chunks = dict(zip(chain.from_iterable(groups), chain.from_iterable(results), strict=True))
        return [self._update_document(document, chunks[i]) for i, document in enumerate(documents)]

    def _update_document(self, document: Document, chunk: Chunk) -> Document:
        text, metadata = text_and_metadata(chunk, rewritten=self.rewritten)
        return Document(with_context(chunk.context, text), id=document.id, metadata=metadata)


def _source(document: Document) -> str:
    return str(document.metadata.get("source") or "")


def group_by_source(documents: Sequence[Document], name: Callable[[Document], str] = _source) -> list[list[int]]:
    """Return the indices of each document's chunks: those of one ``source_id``, or runs of one name in reading order."""
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
        place = metadata[keys["chunk_index"]] if "chunk_index" in keys else _start_by_others(metadata)
        follows = last is not None and source == last[0]
        if place is None or last is None or last[1] is None:
            follows = follows and place is None and any(source)  # only the source separates documents
        else:
            follows = follows and place > last[1]
        run, last = run + (not follows), (source, place)
        groups.setdefault(run, []).append(i)
    return list(groups.values())


def _pairs(
    documents: Sequence[Document], groups: Iterable[Sequence[int]], parents: Iterable[Document]
) -> Iterator[tuple[Source, list[Chunk]]]:
    texts = {parent.id: parent.page_content for parent in parents}
    require(None not in texts, "parents must have ids that match the source_id of chunks", None)
    for indices in groups:
        metadata = documents[indices[0]].metadata
        source_id = written_metadata(metadata).get("source_id")
        name = source_id or _source(documents[indices[0]])
        yield to_document([to_framework_chunk(documents[i]) for i in indices], name, texts.get(source_id))


def to_framework_chunk(document: Document) -> FrameworkChunk:
    """Return the text of a chunk, with its spans if they are known, and its context."""
    metadata, content, written = document.metadata, document.page_content, written_metadata(document.metadata)
    spans, start = chunk_spans(document), _start_by_others(metadata)
    if not spans and start is not None:
        spans = (Span(start, start + len(content)),)
    length = sum(end - start for start, end in spans)
    shown = written["rewritten"] if "original_text" in written else content[max(len(content) - length, 0) :]
    text, context = written.get("original_text", shown), content.removesuffix(shown)
    if not spans or len(text) != length or not (context == "" or context.endswith("\n\n")):
        return FrameworkChunk(content, metadata=metadata)  # from another splitter, whose offsets are not of this text
    return FrameworkChunk(text, spans, context.removesuffix("\n\n"), metadata)


def _start_by_others(metadata: Mapping[str, Any]) -> int | None:
    """Return the ``start_index`` of LangChain's splitters, or None if there is none."""
    start = metadata.get("start_index")
    return start if isinstance(start, int) and start >= 0 else None
