"""Chunks of the core into vector stores."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from advchunk.chunkers.by_size import RecursiveChunker
from advchunk.errors import require
from advchunk.models.embedders import EmbedderLike, as_embedder
from advchunk.records import Chunk, evolve
from langchain_advchunk.base import ChunkerSplitter
from langchain_advchunk.embeddings import ChunkEmbeddings


class ChunkWriter:
    """Writes chunks of the core into a vector store, for `advchunk.tables.store_shards`.

    They become the documents that a splitter makes, with offsets in the text that was chunked, and those that have a vector are
    not embedded again. The store is opened when it is needed, once in each process that writes.

    Parameters
    ----------
    open_store : returns the store, given its embeddings. ``add_documents`` of the store must replace documents with the same ids,
        as that of most stores does. For several processes, it must be picklable, such as a function of a module.
    embeddings : embeds queries, and chunks without a vector, as the chunker did; None is the built-in default.

    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> from advchunk import RecursiveChunker
    >>> write = ChunkWriter(InMemoryVectorStore)
    >>> write({"tea": RecursiveChunker(vectors="plain").chunk("Green tea.")})
    >>> write.store.similarity_search("Which tea?")[0].metadata["source_id"]
    'tea'
    """

    def __init__(self, open_store: Callable[[ChunkEmbeddings], VectorStore], embeddings: EmbedderLike = None) -> None:
        require(callable(open_store), "open_store must be a function that returns a store", open_store)
        self._open, self._model = open_store, embeddings

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._open, self._model)

    @cached_property
    def _embeddings(self) -> ChunkEmbeddings:
        return ChunkEmbeddings(as_embedder(self._model), ())

    @cached_property
    def store(self) -> VectorStore:
        """The store."""
        return self._open(self._embeddings)

    def __call__(self, documents: Mapping[str, Sequence[Chunk]]) -> None:
        """Write the chunks of documents, which are given by their ids."""
        pieces = [piece for name, chunks in documents.items() for piece in _to_documents(name, chunks)]
        chunks = [chunk for group in documents.values() for chunk in group]
        rows = ((piece.page_content, chunk.vector) for piece, chunk in zip(pieces, chunks, strict=True))
        self._embeddings.serve((text, vector) for text, vector in rows if vector is not None)
        if pieces:
            self.store.add_documents(pieces, ids=[piece.id for piece in pieces])


def _to_documents(name: str, chunks: Sequence[Chunk]) -> list[Document]:
    """Return chunks as the documents of a splitter, which takes offsets in the source as they are."""
    placed = [evolve(chunk, source_spans=chunk.source_spans or chunk.spans) for chunk in chunks]
    return ChunkerSplitter(RecursiveChunker())._convert(Document("", id=name), placed)
