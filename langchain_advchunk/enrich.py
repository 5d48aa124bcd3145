"""What chunks lack for standing alone, written to LangChain documents by a chat model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.documents import BaseDocumentTransformer, Document

from advchunk import Chunk, Failure
from advchunk import Document as Source
from advchunk.enrich import Enricher
from advchunk.enrich.rebuilt import Piece, paired, spans_in, written
from advchunk.errors import require
from advchunk.records import with_context


@dataclass(eq=False)
class ChunkEnricher(BaseDocumentTransformer):
    """Give chunks what they lack for standing alone: ``ChunkEnricher(Summaries(llm=ChatOpenAI(...)))``.

    It takes the chunks that a splitter made, one of ours or another, and returns them enriched, so it can stand after a
    splitter wherever LangChain takes several transformers. That is all they are handed, so documents are put together
    again from their chunks, by ``start_index`` and ``source_id``, or in their order; from those of our splitters exactly.
    For chunks that are not all of their document give it too: ``transform_documents(chunks, parents=documents)``; a document
    goes by its ``id``, which a splitter of ours writes into ``source_id``.

    A summary stands before the text in ``page_content``, as titles and headings do with ``include_context``, and in
    ``metadata["summary"]``. What a chunk was rewritten to is in ``metadata["rewritten"]``. ``start_index``, ``end_index``
    and ids stay those of the text.

    Parameters
    ----------
    enricher : an `advchunk.enrich.Summaries` or `advchunk.enrich.Rewriting`.
    rewritten : whether what a chunk was rewritten to takes the place of its text in ``page_content``; the text is then in
        ``metadata["original_text"]``.
    on_error : what to do about a chunk that fails, which stays as it was: "skip" it, with a warning in the log; "raise"; or a
        callable that is given each `advchunk.enrich.ChunkFailure`.
    show_progress : whether to show a bar.
    """

    enricher: Enricher
    rewritten: bool = field(default=False, kw_only=True)
    on_error: Literal["raise", "skip"] | Callable[[Failure], None] = field(default="skip", kw_only=True)
    show_progress: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        require(isinstance(self.enricher, Enricher), "enricher must be Summaries or Rewriting", self.enricher)

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the chunks with what was found, in their order."""
        groups = _groups(documents)
        pairs = _pairs(documents, groups, kwargs.get("parents", ()))
        found = self.enricher.enrich_many(pairs, on_error=self.on_error, progress=self.show_progress)
        return self._written(documents, groups, found)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Await `transform_documents`."""
        groups = _groups(documents)
        pairs = _pairs(documents, groups, kwargs.get("parents", ()))
        found = await self.enricher.aenrich_many(pairs, on_error=self.on_error, progress=self.show_progress)
        return self._written(documents, groups, found)

    def _written(
        self, documents: Sequence[Document], groups: list[list[int]], found: list[list[Chunk]]
    ) -> list[Document]:
        enriched = {
            place: self._document(documents[place], chunk)
            for places, chunks in zip(groups, found, strict=True)
            for place, chunk in zip(places, chunks, strict=True)
        }
        return [enriched[place] for place in range(len(documents))]

    def _document(self, document: Document, chunk: Chunk) -> Document:
        text, metadata = written(chunk, rewritten=self.rewritten)
        return Document(with_context(chunk.context, text), id=document.id, metadata=metadata)


def _groups(documents: Sequence[Document]) -> list[list[int]]:
    """Return the places of the chunks of each document: of one ``source_id``, else where places rise within a source."""
    groups, run, last = dict[Any, list[int]](), 0, None
    for i, document in enumerate(documents):
        metadata = document.metadata
        if name := metadata.get("source_id"):
            groups.setdefault(name, []).append(i)
            continue
        source = metadata.get("source"), metadata.get("page")
        place = metadata.get("chunk_index", metadata.get("start_index"))
        follows = last is not None and source == last[0]
        if place is None or last is None or last[1] is None:
            follows = follows and place is None and any(source)  # nothing says where one ends, but its source
        else:
            follows = follows and place > last[1]
        run, last = run + (not follows), (source, place)
        groups.setdefault(run, []).append(i)
    return list(groups.values())


def _pairs(
    documents: Sequence[Document], groups: Iterable[Sequence[int]], parents: Iterable[Document]
) -> Iterator[tuple[Source, list[Chunk]]]:
    texts = {parent.id: parent.page_content for parent in parents}
    require(None not in texts, "parents must have ids, as chunks have in source_id", None)
    for places in groups:
        metadata = documents[places[0]].metadata
        name = metadata.get("source_id") or str(metadata.get("source") or "")
        yield paired([_piece(documents[place]) for place in places], name, texts.get(metadata.get("source_id")))


def _piece(document: Document) -> Piece:
    metadata, content = document.metadata, document.page_content
    spans = spans_in(metadata, metadata.get("start_index"), metadata.get("end_index"), len(content))
    length = sum(end - start for start, end in spans)
    shown = metadata["rewritten"] if "original_text" in metadata else content[max(len(content) - length, 0) :]
    text, context = metadata.get("original_text", shown), content.removesuffix(shown)
    if not spans or len(text) != length or not (context == "" or context.endswith("\n\n")):
        return Piece(content, metadata=metadata)  # another splitter's, whose place is not that of this text
    return Piece(text, spans, context.removesuffix("\n\n"), metadata)
