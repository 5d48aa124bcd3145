"""Retrieval from any index of LlamaIndex by vectors and words, re-ranked by neighbors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.vector_stores import MetadataFilters
from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from advchunk.errors import checked, is_integer, require
from advchunk.models.embedders import as_embedder
from advchunk.retrieval.cutting import DEPTH_TO_CUT, PassageCutter, as_cutter
from advchunk.retrieval.passages import PassageOrder, check_order, check_sizes
from advchunk.retrieval.query_language import fit_to_language
from advchunk.retrieval.rankings import DEPTH
from advchunk.retrieval.search import Search, SearchMode
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.detection import AUTO
from llamaindex_advchunk.base import check_nodes
from llamaindex_advchunk.collection import Pool, PoolReader, nodes_in, with_sections
from llamaindex_advchunk.plain import UNCHECKED, PlainFields
from llamaindex_advchunk.surroundings import AnySource, can_find, documents_in, surroundings_of

_log = logging.getLogger("advchunk")

_ROWS = 4  # times more rows (sentences) than chunks are fetched
_LEVELS = 2  # times more nodes of several levels than of each are fetched
_EXPONENTIAL = ("ChromaVectorStore",)  # vector stores whose scores are exp(-distance)


class AdvchunkRetriever(BaseRetriever):
    """Retrieves nodes from any index by vectors and words, and re-ranks them by their neighbors, as the core does.

    The nodes may be those of any node parser, and an existing index is used as it is::

        retriever = AdvchunkRetriever(index)               # an index in memory, or with its nodes in its docstore
        retriever = AdvchunkRetriever(index, nodes=nodes)  # an index over a vector store that keeps the nodes to itself

    Nodes beside good hits are found even if they do not match the query (`advchunk.retrieval.rerank_by_neighbors`).
    Nodes that are known are also searched by their words. Those in the docstore of an index are read at the first
    search, and again when the index has changed; after other changes, call `refresh`. Without nodes, those beside hits
    come from ``texts``, or from a vector store that has ``get_nodes`` (`StoreNodes`).

    Offsets are read from the metadata of our parsers (`chunk_spans`) or from ``start_char_idx``. Without them, a node
    is found in its document by its text, if the document is known, and else keeps the order of its links. The log
    names nodes without a place, and hits that are not among the nodes.

    Results are nodes with a ``citation`` in their metadata or, with a ``budget``, passages like those of
    `PassagePostprocessor`. What is added is hidden from embedder and language model. A blank query has no results in
    an index. Of nodes of several levels, the index may have the leaves alone, with all in its docstore or in
    ``nodes``. Rows of a chunk, such as those of ``vectors="units"``, count as their chunk, which ranks by its best row.

    Parameters
    ----------
    index : any index over vectors.
    retriever : any other retriever, in place of an index; it returns as many nodes as it is set to.
    nodes : the nodes of the index, those of a document in reading order; documents among them are the text of their
        nodes. None reads them from the docstore of the index.
    search : how to search (`advchunk.retrieval.Search`); None is by words without an index or a retriever, by vectors
        and words if nodes are known, else by vectors, each with neighbors.
    similarity_top_k : nodes to return, >= 1; None is 5.
    budget : tokens of all passages, >= 1; returns passages instead of nodes.
    order, whole_chunks : see `advchunk.retrieval.Retriever.passages`.
    cutter : cuts passages, and has the language of the words and the tokenizer that counts; None is
        ``PassageCutter()``, with the tokenizer of the embed model.
    depth : nodes that are fetched from the index, and found by words, >= 1; at least similarity_top_k, and 200 for
        passages.
    filters : restrict vectors, words, neighbors, and the text around hits.
    texts : as in `PassagePostprocessor`.

    Raises
    ------
    ConfigurationError : parameters are out of range or contradict each other, or a mode needs nodes and there are none.

    >>> from llama_index.core import Document, VectorStoreIndex
    >>> from llamaindex_advchunk import DefaultEmbedding, RecursiveNodeParser
    >>> guide = Document(text="Boil the water. Add green tea. Wait two minutes. Pour it into cups.", id_="guide")
    >>> nodes = RecursiveNodeParser(max_tokens=8).get_nodes_from_documents([guide])
    >>> index = VectorStoreIndex(nodes, embed_model=DefaultEmbedding())
    >>> [hit.text for hit in AdvchunkRetriever(index, similarity_top_k=1).retrieve("How long should I wait?")]
    ['Wait two minutes. ']
    >>> (passage,) = AdvchunkRetriever(index, budget=5).retrieve("How long should I wait?")
    >>> passage.text, passage.metadata["citation"]
    ('Wait two minutes.', 'guide, line 1, characters 31-48')
    """

    def __init__(
        self,
        index: VectorStoreIndex | None = None,
        *,
        retriever: BaseRetriever | None = None,
        nodes: Iterable[BaseNode] | None = None,
        search: Search | None = None,
        similarity_top_k: int | None = None,
        budget: int | None = None,
        order: PassageOrder = "rank",
        whole_chunks: bool = False,
        cutter: PassageCutter | None = None,
        depth: int = DEPTH,
        filters: MetadataFilters | None = None,
        texts: AnySource | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        require(search is None or isinstance(search, Search), "search must be a Search", search)
        self._search, mode = search or Search("hybrid", neighbors=True), search.mode if search else None
        sources = [source for source in (index, retriever) if source is not None]
        require(len(sources) < 2, "index and retriever must not both be given", sources)
        require(len(sources) + (nodes is not None) > 0, "an index, a retriever or nodes must be given", None)
        rule = "index must be a VectorStoreIndex; pass a retriever as retriever=, and nodes as nodes="
        require(index is None or isinstance(index, VectorStoreIndex), rule, index)
        rule = "retriever must be a BaseRetriever"
        require(retriever is None or isinstance(retriever, BaseRetriever), rule, retriever)
        if not sources:
            require(mode in ("lexical", None), "mode must be 'lexical' without an index or a retriever", mode)
            mode = "lexical"
        rule = "nodes must be given for this mode"
        require(mode in ("dense", None) or index is not None or nodes is not None, rule, mode)
        rule = "similarity_top_k and budget must not both be given"
        require(similarity_top_k is None or budget is None, rule, (similarity_top_k, budget))
        check_sizes(similarity_top_k=similarity_top_k, budget=budget)
        require(is_integer(depth, 1), "depth must be a whole number >= 1", depth)
        check_order(order)
        rule = "filters must be MetadataFilters, such as MetadataFilters.from_dict({'lang': 'en'})"
        require(filters is None or isinstance(filters, MetadataFilters), rule, filters)
        self._index, self._retriever, self._mode = index, retriever, mode
        self._top_k, self._budget, self._order = similarity_top_k or 5, budget, order
        self._depth, self._filters = max(depth, self._top_k if budget is None else DEPTH_TO_CUT), filters
        cutter = as_cutter(cutter).within(AUTO, getattr(index, "_embed_model", None))
        self._nodes = None if nodes is None else check_nodes(nodes)
        self._ids = list[str]()  # of the nodes in the index when it was last read
        self._pool: Pool | None = None
        self._is_partial = False  # the index has nodes that cannot be read
        self._once = WarningLog()
        object_map = getattr(index, "_object_map", None)
        super().__init__(callback_manager=callback_manager, object_map=object_map, verbose=verbose)
        sources_of_texts: list[Any] = [texts] + ([] if index is None else [documents_in(index.docstore)])
        store = index.vector_store if index is not None and texts is None and can_find(index.vector_store) else None
        self._asks_store = store is not None
        self._source = PoolReader(
            self._once,
            surroundings_of(sources_of_texts, self._once),
            surroundings_of([*sources_of_texts, store], self._once),
            self.object_map,
            filters,
            mode != "dense",
            cutter,
            whole_chunks,
        )

    def refresh(self, nodes: Iterable[BaseNode] | None = None) -> None:
        """Read the nodes again from the docstore of the index, or replace them by ``nodes``."""
        if nodes is not None:
            self._nodes = check_nodes(nodes)
        self._pool, self._is_partial = None, False

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._is_blank(query_bundle):
            return []
        pool = self._read()
        inner = self._inner(pool)
        return self._respond(query_bundle, pool, [] if inner is None else inner.retrieve(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._is_blank(query_bundle):
            return []
        pool = await asyncio.to_thread(self._read)
        inner = self._inner(pool)
        hits = [] if inner is None else await inner.aretrieve(query_bundle)
        return await asyncio.to_thread(self._respond, query_bundle, pool, hits)

    def _is_blank(self, query_bundle: QueryBundle) -> bool:
        """Return True if a query has nothing that an index can search for."""
        return self._index is not None and not (
            query_bundle.embedding or any(map(str.strip, query_bundle.embedding_strs))
        )

    def _inner(self, pool: Pool) -> BaseRetriever | None:
        """Return a retriever by vectors; that of an index is a new one each time, since it knows only present nodes."""
        mode = self._search_mode(pool)
        rule = f"mode {mode!r} needs nodes: the index's docstore has none, so pass nodes"
        require(mode == "dense" or len(pool) > 0 or self._nodes is not None, rule, 0)
        if mode == "lexical":
            return None
        if self._index is None:
            return self._retriever
        depth = self._depth * (_ROWS if pool.has_rows else 1) * (1 if pool.nodes.hierarchy.is_flat else _LEVELS)
        return self._index.as_retriever(similarity_top_k=depth, filters=self._filters)

    def _search_mode(self, pool: Pool) -> SearchMode:
        return self._mode or ("hybrid" if len(pool) else "dense")

    def _read(self) -> Pool:
        """Return the nodes that are known."""
        if self._nodes is None and self._index is not None:
            ids = list(self._index.index_struct.nodes_dict.values())
            if ids != self._ids:
                self._ids = ids
                self.refresh()
        if self._pool is None:
            nodes = self._nodes or []
            if self._nodes is None and self._index is not None:
                docstore = self._index.docstore
                nodes = docstore.get_nodes(self._ids, raise_error=False) if self._ids else nodes_in(docstore)
                nodes = with_sections(nodes, docstore)
            self._pool = self._source.read(nodes)
        return self._pool

    def _respond(self, query_bundle: QueryBundle, pool: Pool, hits: Sequence[NodeWithScore]) -> list[NodeWithScore]:
        """Return the results of a search from its hits by vectors."""
        mode = self._search_mode(pool)
        if self._nodes is None and len(pool) and not self._is_partial and pool.lacks(hits):
            self.refresh()
            pool = self._read()
            self._is_partial = pool.lacks(hits)
        if hits and not len(pool) and not self._asks_store and (self._search.neighbors or self._mode is None):
            reason = "no nodes are known, so hits are re-ranked among themselves, without a search by words: pass nodes"
            self._once.warn("nodes", reason)
        if self._index is not None and self._index.vector_store.class_name() in _EXPONENTIAL:
            tiny = np.finfo(float).tiny
            hits = [NodeWithScore(node=hit.node, score=float(np.log(max(hit.get_score(), tiny)))) for hit in hits]
        search = replace(self._search, mode=mode)
        embed_model = getattr(self._index, "_embed_model", None)
        if embed_model is not None:
            model = as_embedder(embed_model)
            search = fit_to_language(search, query_bundle.query_str, pool.nodes.languages, model, self._once)
        if search.mode == "lexical":
            hits = []
        sizes: dict[str, Any] = {"depth": self._depth, "size": self._top_k, "budget": self._budget}
        return pool.respond(query_bundle.query_str, hits, search, order=self._order, **sizes)


class PassagePostprocessor(PlainFields, BaseNodePostprocessor):
    """Cuts passages for the query from the nodes that any retriever found, in any query engine.

    Retrieve many nodes, such as ``similarity_top_k=50``. Their text, and the text around them in ``texts``, is cut
    again: the sentences that answer the query fill the ``budget``, and those that touch are one passage
    (`advchunk.retrieval.PassageCutter`). Needs no model, and nothing is indexed again. The nodes may overlap, repeat
    each other and come from any parser; those without text are left out. The order in which they come does not matter
    if they have scores. A blank query takes the sentences of the best nodes.

    A passage is a `TextNode` with the metadata of its first node, or of the nearest if it is beside nodes, and
    ``citation``, ``token_count``, and ``node_ids``. Its place is ``start_char_idx`` to ``end_char_idx``, or
    `chunk_spans` if it has gaps. The headings above it are its ``context``, which the language model sees before the
    text, and which counts toward the budget. All else that is added is hidden from embedder and language model.

    Raises `advchunk.ConfigurationError` for parameters that are unknown or out of range, and without a query.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> found = TextNode(text="Boil the water. Add green tea. Wait two minutes. Pour it into cups.", start_char_idx=0)
    >>> hits = [NodeWithScore(node=found, score=0.5)]
    >>> processor = PassagePostprocessor(budget=5)
    >>> [hit.text for hit in processor.postprocess_nodes(hits, query_str="How long should I wait?")]
    ['Wait two minutes.']
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", strict=True)
    texts: Annotated[AnySource | None, UNCHECKED] = Field(
        default=None,
        exclude=True,
        repr=False,
        description="The texts of documents by their ids or names, or the nodes around hits: a mapping, a function, "
        "the path of a folder, a docstore with the documents or the nodes, a vector store (`StoreNodes`), any "
        "`advchunk.retrieval.Surroundings`, or several of these.",
    )
    budget: int = Field(default=1000, ge=1, description="Tokens of all passages.")
    order: PassageOrder = Field(default="rank", description="Of passages: 'rank' or 'document'.")
    depth: int = Field(default=DEPTH_TO_CUT, ge=1, le=DEPTH_TO_CUT, description="Nodes that are cut, best first.")
    distances: bool = Field(default=False, description="Scores are distances: lower is better.")
    cutter: Annotated[PassageCutter, UNCHECKED, BeforeValidator(as_cutter)] = Field(
        default=PassageCutter(), exclude=True, description="Cuts the passages, and has the language and the tokenizer."
    )

    _reader: PoolReader | None = PrivateAttr(default=None)
    _once: Any = PrivateAttr(default_factory=WarningLog)

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._read()  # raises on a bad parameter
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in type(self).model_fields:
            self._reader = None

    @checked
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        rule = "a query must be given, for which passages are cut: pass query_str or query_bundle"
        require(query_bundle is not None, rule, query_bundle)
        sizes = {"depth": self.depth, "size": len(nodes), "budget": self.budget}
        query, pool = query_bundle.query_str if query_bundle else "", self._read().read(())
        return pool.respond(query, nodes, None, order=self.order, distances=self.distances, **sizes)

    def _read(self) -> PoolReader:
        if self._reader is None:
            source = surroundings_of(self.texts, self._once)
            self._reader = PoolReader(self._once, source, source, cutter=self.cutter.within(AUTO))
        return self._reader
