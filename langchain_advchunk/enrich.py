"""Enrichment of LangChain documents by their documents' own words or a chat model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

from langchain_core.documents import BaseDocumentTransformer, Document

from advchunk import Chunk, Failure
from advchunk import Document as Source
from advchunk.chunkers.reassembly import text_and_metadata, to_document
from advchunk.enrich import Enricher, Estimate
from advchunk.errors import checked, require
from advchunk.records import with_context, written_metadata
from langchain_advchunk.reassembly import group_by_source, source_name, to_framework_chunk


@dataclass(eq=False)
class ChunkEnricher(BaseDocumentTransformer):
    """Add the context that chunks need to be read alone: ``ChunkEnricher(ContextualEnricher(llm=ChatOpenAI(...)))``.

    It transforms the chunks of any splitter, wherever LangChain chains transformers. As it receives chunks only, it
    reassembles documents by ``start_index`` and ``source_id``, or else in the order of the chunks; with our splitters
    the result is exact. If some chunks of a document are missing, pass the documents as well:
    ``transform_documents(chunks, parents=documents)``. They are matched by ``id``, which our splitters write into
    ``source_id``.

    An added context precedes the text in ``page_content``, like titles and headings with ``include_context``, and is
    also in ``metadata["added_context"]``, a summary in ``metadata["summary"]``. A rewritten chunk is in
    ``metadata["rewritten"]``. ``start_index``, ``end_index`` and ids remain those of the original text.

    Parameters
    ----------
    enricher : an `advchunk.enrich.ContextualEnricher`, `Summaries`, or `Rewriting`.
    rewritten : whether a rewritten chunk replaces the text in ``page_content``; the original text is then in
        ``metadata["original_text"]``.
    on_error : handling of a chunk that fails: "skip" logs a warning for the first of each kind of error; "raise"; or a
        callable that receives an `advchunk.enrich.ChunkFailure`.
    show_progress : whether to show a progress bar.
    """

    enricher: Enricher
    rewritten: bool = field(default=False, kw_only=True)
    on_error: Literal["raise", "skip"] | Callable[[Failure], None] = field(default="skip", kw_only=True)
    show_progress: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        rule = "enricher must be ContextualEnricher, Summaries, or Rewriting"
        require(isinstance(self.enricher, Enricher), rule, self.enricher)

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the enriched chunks in the same order."""
        groups, pairs = _grouped(documents, kwargs.get("parents", ()))
        results = self.enricher.enrich_many(pairs, on_error=self.on_error, progress=self.show_progress)
        return self._update(documents, groups, results)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Await `transform_documents`."""
        groups, pairs = _grouped(documents, kwargs.get("parents", ()))
        results = await self.enricher.aenrich_many(pairs, on_error=self.on_error, progress=self.show_progress)
        return self._update(documents, groups, results)

    def estimate(self, documents: Sequence[Document], *, parents: Iterable[Document] = ()) -> Estimate:
        """Return the requests that `transform_documents` would send, and their tokens (`Enricher.estimate`)."""
        return self.enricher.estimate(_grouped(documents, parents)[1])

    def _update(
        self, documents: Sequence[Document], groups: list[list[int]], results: list[list[Chunk]]
    ) -> list[Document]:
        chunks = dict(zip(chain.from_iterable(groups), chain.from_iterable(results), strict=True))
        enriched = list[Document]()
        for i, document in enumerate(documents):
            text, metadata = text_and_metadata(chunks[i], rewritten=self.rewritten)
            enriched.append(Document(with_context(chunks[i].context, text), id=document.id, metadata=metadata))
        return enriched


@checked
def _grouped(
    documents: Sequence[Document], parents: Iterable[Document] = ()
) -> tuple[list[list[int]], list[tuple[Source, list[Chunk]]]]:
    """Return the numbers of the chunks of each document, and the documents with these chunks."""
    texts = {parent.id: parent.page_content for parent in parents}
    require(None not in texts, "parents must have ids that match the source_id of chunks", None)
    groups, pairs = group_by_source(documents), list[tuple[Source, list[Chunk]]]()
    for indices in groups:
        own, first = [to_framework_chunk(documents[i]) for i in indices], documents[indices[0]]
        source_id = written_metadata(first.metadata).get("source_id")
        pairs.append(to_document(own, source_id or source_name(first), texts.get(source_id)))
    return groups, pairs
