"""Chunks of the core into vector stores."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode, Document
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from advchunk.chunkers.by_size import RecursiveChunker
from advchunk.errors import require
from advchunk.records import Chunk, evolve
from llamaindex_advchunk.base import ChunkerNodeParser, users_metadata
from llamaindex_advchunk.embedding import DefaultEmbedding


class NodeWriter:
    """Writes chunks of the core into a vector store, for `advchunk.tables.store_shards`.

    They become the nodes that a node parser makes, with offsets in the text that was chunked, and those that have a vector are
    not embedded again. Nodes with the same ids are deleted before, as stores may keep both. The store is opened when it is
    needed, once in each process that writes.

    Parameters
    ----------
    open_store : returns the store, which must delete nodes by their ids. For several processes, it must be picklable, such as a
        function of a module.
    embed_model : embeds nodes of chunks without a vector; None is the built-in default.

    >>> from llama_index.core.vector_stores import SimpleVectorStore
    >>> from advchunk import RecursiveChunker
    >>> write = NodeWriter(SimpleVectorStore)
    >>> write({"tea": RecursiveChunker(vectors="plain").chunk("Green tea.")})
    >>> list(write.store.data.text_id_to_ref_doc_id.values())
    ['tea']
    """

    def __init__(
        self, open_store: Callable[[], BasePydanticVectorStore], embed_model: BaseEmbedding | None = None
    ) -> None:
        require(callable(open_store), "open_store must be a function that returns a store", open_store)
        self._open, self._model = open_store, embed_model

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._open, self._model)

    @cached_property
    def store(self) -> BasePydanticVectorStore:
        """The store."""
        store = self._open()
        can_delete = type(store).delete_nodes is not BasePydanticVectorStore.delete_nodes
        require(can_delete, "a store must delete nodes by their ids", type(store).__name__)
        return store

    def __call__(self, documents: Mapping[str, Sequence[Chunk]]) -> None:
        """Write the chunks of documents, which are given by their ids."""
        nodes = [node for name, chunks in documents.items() for node in _to_nodes(name, chunks)]
        if not nodes:
            return
        if missing := [node for node in nodes if node.embedding is None]:
            (self._model or DefaultEmbedding())(missing)  # sets the embedding of each
        self.store.delete_nodes([node.node_id for node in nodes])
        self.store.add(nodes)


def _to_nodes(name: str, chunks: Sequence[Chunk]) -> list[BaseNode]:
    """Return chunks as the nodes of a node parser, which takes offsets in the source as they are."""
    metadata = users_metadata(chunks[0].metadata) if chunks else {}
    parent = Document(id_=name, text="", metadata=metadata)
    placed = [evolve(chunk, source_spans=chunk.source_spans or chunk.spans) for chunk in chunks]
    return ChunkerNodeParser(chunker=RecursiveChunker())._convert([parent], [placed])
