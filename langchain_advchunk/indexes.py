"""Retrieval from an index of the core, in a file or in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr, SkipValidation

from advchunk.errors import checked, require
from advchunk.records import Document as CoreDocument
from advchunk.retrieval.base import BaseRetriever as CoreRetriever
from advchunk.retrieval.indexing import add_documents
from advchunk.retrieval.passages import Passage, PassageOrder, check_sizes
from advchunk.retrieval.stored import StoredRetriever
from langchain_advchunk.collection import document_name, to_document
from langchain_advchunk.settings import CheckedModel


class IndexRetriever(CheckedModel, BaseRetriever):
    """Retrieves from an index of the core, which needs no vector store: a file (`advchunk.retrieval.StoredRetriever`)
    or memory.

    The file outlives the process, and ``advchunk index`` and ``advchunk ask`` use it, too. A `StoredRetriever` lists
    and removes its documents::

        retriever = IndexRetriever(index="guides.index")
        retriever.add_documents(documents)  # chunks and embeds them; replaces documents of the same names
        retriever.invoke("How are tokens counted?")

    Returns what `AdvchunkRetriever` does: passages with a ``budget``, else chunks.

    Parameters
    ----------
    index : the path of a file, created if it does not exist, or a `StoredRetriever` or `Retriever`.
    chunker : a chunker of the core, for `add_documents`; None is ``RecursiveChunker(max_tokens=100)``.
    budget : tokens of all passages, >= 1; None returns ``k`` chunks.
    k : chunks to return, >= 1; ``invoke(query, k=3)`` returns so many chunks.
    order : order of the passages: "rank", or "document" for reading order.
    document_key : metadata key of a document's name, or a function that returns it; None is the first of "source",
        "document_id", "doc_id" and "file_path", or the document's id.

    Raises
    ------
    ConfigurationError : parameters are out of range, or the file is no index.
    """

    index: Any
    chunker: Any = None
    budget: SkipValidation[int | None] = 1000
    k: SkipValidation[int] = 5
    order: PassageOrder = "rank"
    document_key: str | Callable[[Document], str] | None = None

    _retriever: CoreRetriever = PrivateAttr()

    def __init__(self, **kwargs: Any) -> None:
        """Take the parameters that the class documents."""
        super().__init__(**kwargs)
        index = self.index
        is_index = isinstance(index, (str, Path, CoreRetriever))
        require(is_index, "index must be a path, a StoredRetriever or a Retriever", index)
        check_sizes(budget=self.budget, k=self.k)
        self._retriever = index if isinstance(index, CoreRetriever) else StoredRetriever(index)

    @checked
    def add_documents(self, documents: Sequence[Document]) -> None:
        """Chunk documents and add them to the index, all or none; replace documents of the same names."""
        sources = [
            CoreDocument(own.page_content, document_name(own, self.document_key) or own.id or "", metadata=own.metadata)
            for own in documents
        ]
        add_documents(self._retriever, sources, self.chunker)

    @checked
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        k = options.pop("k", None)
        require(not options, "a query takes k alone, and an index has no filters", ", ".join(options))
        check_sizes(k=k)
        if k is not None or self.budget is None:
            return [to_document(Passage.of(hit)) for hit in self._retriever.search(query, k or self.k)]
        return list(map(to_document, self._retriever.passages(query, self.budget, order=self.order)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        ask = self._get_relevant_documents
        return await asyncio.to_thread(ask, query, run_manager=run_manager.get_sync(), **options)
