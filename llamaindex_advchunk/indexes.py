"""Retrieval from an index of the core, in a file or in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode

from advchunk.chunkers.base import Chunker
from advchunk.errors import checked, require
from advchunk.records import Document
from advchunk.retrieval.base import BaseRetriever as CoreRetriever
from advchunk.retrieval.indexing import add_documents
from advchunk.retrieval.passages import Passage, PassageOrder, check_order, check_sizes
from advchunk.retrieval.stored import StoredRetriever
from llamaindex_advchunk.collection import to_node


class IndexRetriever(BaseRetriever):
    """Retrieves from an index of the core, which needs no vector store: a file (`advchunk.retrieval.StoredRetriever`)
    or memory.

    The file outlives the process, and ``advchunk index`` and ``advchunk ask`` use it, too. A `StoredRetriever` lists
    and removes its documents::

        retriever = IndexRetriever("guides.index")
        retriever.add_documents(documents)  # chunks and embeds them; replaces documents with the same ids
        retriever.retrieve("How are tokens counted?")

    Returns what `AdvchunkRetriever` does: passages with a ``budget``, else chunks.

    Parameters
    ----------
    index : the path of a file, created if it does not exist, or a `StoredRetriever` or `Retriever`.
    chunker : a chunker of the core, for `add_documents`; None is ``RecursiveChunker(max_tokens=100)``.
    budget : tokens of all passages, >= 1; None returns ``similarity_top_k`` chunks.
    similarity_top_k : chunks to return, >= 1.
    order : order of the passages: "rank", or "document" for reading order.

    Raises
    ------
    ConfigurationError : parameters are out of range, or the file is no index.
    """

    def __init__(
        self,
        index: str | Path | CoreRetriever,
        *,
        chunker: Chunker | None = None,
        budget: int | None = 1000,
        similarity_top_k: int = 5,
        order: PassageOrder = "rank",
        **kwargs: Any,
    ) -> None:
        is_index = isinstance(index, (str, Path, CoreRetriever))
        require(is_index, "index must be a path, a StoredRetriever or a Retriever", index)
        check_sizes(budget=budget, similarity_top_k=similarity_top_k)
        check_order(order)
        self._index = index if isinstance(index, CoreRetriever) else StoredRetriever(index)
        self._chunker, self._budget, self._top_k, self._order = chunker, budget, similarity_top_k, order
        super().__init__(**kwargs)

    @checked
    def add_documents(self, documents: Sequence[BaseNode]) -> None:
        """Chunk documents and add them to the index, all or none; replace documents with the same ids."""
        sources = [
            Document(document.get_content(MetadataMode.NONE), document.node_id, metadata=document.metadata)
            for document in documents
        ]
        add_documents(self._index, sources, self._chunker)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        if self._budget is None:
            return _to_nodes(map(Passage.of, self._index.search(query, self._top_k)))
        return _to_nodes(self._index.passages(query, self._budget, order=self._order))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _to_nodes(passages: Iterable[Passage]) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=to_node(passage, TextNode(metadata=passage.hits[0].chunk.metadata)), score=passage.score)
        for passage in passages
    ]
