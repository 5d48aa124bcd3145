"""Retrieval from any index of LlamaIndex by vectors and words, re-ranked by neighbors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self, get_args

import numpy as np
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    BaseNode,
    NodeWithScore,
    QueryBundle,
)
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores import MetadataFilters
from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from advchunk.chunkers.other_names import check_names
from advchunk.errors import is_integer, require
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.models.embedders import as_embedder
from advchunk.retrieval.cutting import DEPTH_TO_CUT, PassageCutter, as_cutter
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.query_language import fit_to_language
from advchunk.retrieval.rankings import DEPTH, FusionMethod
from advchunk.retrieval.search import LEXICAL_WEIGHT, AnswerLength, Search, SearchedLevels, SearchMode
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.detection import AUTO
from llamaindex_advchunk.base import UNCHECKED, first_error
from llamaindex_advchunk.collection import Pool, PoolReader, check_nodes, nodes_in, with_sections
from llamaindex_advchunk.surroundings import AnySource, can_find, surroundings_of

_log = logging.getLogger("advchunk")

_ROWS = 4  # times more rows (sentences) than chunks are fetched
_LEVELS = 2  # times more nodes of several levels than of each are fetched
_READ = {"nodes", "docstore", "tokenizer", "texts", "language", "cutter"}  # fields on which what is known depends
_BY_NEIGHBORS = Search("dense", neighbors=True)
_EXPONENTIAL = ("ChromaVectorStore",)  # vector stores whose scores are exp(-distance)


class AdvchunkRetriever(BaseRetriever):
    """Retrieves nodes from any index by vectors and words, and re-ranks them by their neighbors.

    The nodes may be those of any node parser, and an existing index is used as it is::

        retriever = AdvchunkRetriever(index)               # an index in memory, or with its nodes in its docstore
        retriever = AdvchunkRetriever(index, nodes=nodes)  # an index over a vector store that keeps the nodes to itself

    With the nodes, they are also searched by their words (BM25), and a node beside good hits is found even if it does not match
    the query itself (`advchunk.retrieval.rerank_by_neighbors`). Nodes in the docstore of an index are read at the first search,
    and again when the index has changed; after other changes, such as of ``nodes``, call `refresh`. Hits that are not among the
    nodes are ranked with them, with a warning in the log. Without nodes, hits are re-ranked by their neighbors in ``texts`` or in a
    vector store that has ``get_nodes`` (`StoreNodes`), else among the hits.

    The place of a node in its document, which is that of its ``ref_doc_id``, is read from our metadata (`chunk_spans`), or else
    from ``start_char_idx``. Nodes without, and those of LlamaIndex's `HierarchicalNodeParser`, which count from their parent,
    are located exactly in their document, if that is among the nodes or in the docstore; else they are in the order of their
    previous and next nodes. A warning in the log says so.

    Over the nodes of several levels, such as those of our `HierarchicalNodeParser` or `GraphRAGNodeParser`, sections score with the
    nodes in them (``levels``, ``answer``, ``merge``). The index may have all of them, or the leaves alone, with all in its
    docstore or in ``nodes``; sections that are not in the index score by their words. `AutoMergingRetriever` merges the
    results of ``retriever.retrieve``, too, if all nodes are in its docstore.

    A blank query has no results in an index. Results are the nodes, with a score that is comparable within one search only.
    Their metadata has one more value, ``citation``, such as "guide.md, Guide > Install, lines 9-14, characters 120-480"; a key that
    it has already is preceded by ``advchunk_``. What is added is hidden from embedder and language model.

    With a ``budget``, results are passages that are cut for the query from the best nodes and the text around them, as by
    `PassagePostprocessor`; with ``whole_chunks``, and always over nodes of several levels, `TextNode`s of whole nodes, of which
    those that touch or overlap are merged. No text occurs twice. The text around them is that of the nodes that are known and, without
    ``filters``, the documents in the docstore of the index.

    Rows of a chunk, which are `IndexNode`s such as those of ``vectors="units"``, count as their chunk: its best row ranks it, and
    it is returned once. Do not use ``neighbors`` with vectors that include the context already (``vectors="context"``), or for
    nodes of a single sentence.

    Parameters
    ----------
    index : any index over vectors.
    retriever : any other retriever, in place of an index; it returns as many nodes as it is set to.
    nodes : the nodes of the index, those of a document in reading order; documents among them are the text of their nodes. None
        reads them from the docstore of the index.
    mode : "dense" searches by vectors, "lexical" by words, which needs only nodes, "hybrid" by both; None is "lexical" without
        an index or a retriever, "hybrid" if nodes are known, else "dense".
    neighbors : re-rank by neighbors.
    similarity_top_k : nodes to return, >= 1; None is 5.
    budget : tokens of all passages, >= 1; returns passages instead of nodes.
    order : of passages: "rank", or "document" (`advchunk.retrieval.assemble_passages`).
    lexical_weight, fusion : of a hybrid search: the weight of the words, where vectors have 1, >= 0, and how the scores are
        combined: "standardized" or "reciprocal" (`advchunk.retrieval.fuse`).
    levels : of nodes of several levels: "both" ranks the leaves, by their own scores and those of their sections; "local" by
        their own alone; "global" ranks sections or communities, and divides those over the ``budget`` into leaves.
    answer, section_weight : of "both": "short" expects answers of a sentence or two, "long" those that take a whole section, and gives sections
        more weight: ``section_weight``, where leaves have 1; None is .6, and 1.5 for "long" (`advchunk.retrieval.Search`).
    merge : a section takes the place of the leaves in it that were found if they have more than this share of its text, between
        0 and 1; None never merges. There may then be fewer results than ``similarity_top_k``.
    whole_chunks : make passages of whole nodes.
    cutter : cuts passages, and has the rest of their settings; None is ``PassageCutter()``.
    language : code of the language of the texts, such as "en", for the sentences of passages, and for embedders that do not know
        all; "auto" is their own.
    depth : nodes that are fetched from the index, and found by words, >= 1; at least similarity_top_k, and 200 for passages.
    filters : restrict vectors, words, neighbors, and the text around hits.
    texts : the texts of documents by their ids or names, or another source of the text around hits: a mapping, a function that
        returns None for a name that it does not know, the path of a folder, a docstore, `StoreNodes`, any
        `advchunk.retrieval.Surroundings`, or several of these. None asks the vector store if no nodes are known.
    tokenizer : counts the tokens of a budget, as in the node parsers; None uses the tokenizer of the index's embed model, else
        the built-in WordPiece.

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
        mode: SearchMode | None = None,
        neighbors: bool = True,
        similarity_top_k: int | None = None,
        budget: int | None = None,
        order: PassageOrder = "rank",
        lexical_weight: float = LEXICAL_WEIGHT,
        fusion: FusionMethod = "standardized",
        levels: SearchedLevels = "both",
        answer: AnswerLength = "short",
        section_weight: float | None = None,
        merge: float | None = None,
        whole_chunks: bool = False,
        cutter: PassageCutter | None = None,
        language: str = AUTO,
        depth: int = DEPTH,
        filters: MetadataFilters | None = None,
        texts: AnySource | None = None,
        tokenizer: TokenizerLike = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        likely_mode: SearchMode = "hybrid" if mode is None else mode
        self._search = Search(likely_mode, neighbors, fusion, lexical_weight, levels, answer, section_weight, merge)
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
        for name, size in {"similarity_top_k": similarity_top_k, "budget": budget}.items():
            require(size is None or is_integer(size, 1), f"{name} must be a whole number >= 1 or None", size)
        require(order in get_args(PassageOrder), f"order must be one of {get_args(PassageOrder)}", order)
        require(is_integer(depth, 1), "depth must be a whole number >= 1", depth)
        rule = "filters must be MetadataFilters, such as MetadataFilters.from_dict({'lang': 'en'})"
        require(filters is None or isinstance(filters, MetadataFilters), rule, filters)
        self._index, self._retriever, self._mode = index, retriever, mode
        self._top_k, self._budget, self._order = similarity_top_k or 5, budget, order
        self._depth, self._filters = max(depth, self._top_k if budget is None else DEPTH_TO_CUT), filters
        counter = as_counter(tokenizer, getattr(index, "_embed_model", None))
        self._nodes = None if nodes is None else check_nodes(nodes)
        self._ids = list[str]()  # of the nodes in the index when it was last read
        self._pool: Pool | None = None
        self._is_partial = False  # the index has nodes that cannot be read
        self._once = WarningLog()
        object_map = getattr(index, "_object_map", None)
        super().__init__(callback_manager=callback_manager, object_map=object_map, verbose=verbose)
        sources_of_texts: list[Any] = [texts] + ([] if index is None else [index.docstore])
        store = index.vector_store if index is not None and texts is None and can_find(index.vector_store) else None
        words_in = None if mode == "dense" else language
        cutter = as_cutter(cutter).within(language, counter)
        self._asks_store = store is not None
        self._source = PoolReader(
            counter,
            self._once,
            surroundings_of(sources_of_texts, self._once),
            surroundings_of([*sources_of_texts, store], self._once),
            self.object_map,
            filters,
            words_in,
            None if whole_chunks else cutter,
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


class NodePostprocessor(BaseNodePostprocessor):
    """Base of the postprocessors, which know more nodes than those that a retriever found."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", strict=True)
    nodes: Annotated[Sequence[BaseNode] | None, UNCHECKED] = Field(
        default=None,
        exclude=True,
        repr=False,
        description="The nodes of the index, those of a document in reading order.",
    )
    docstore: Annotated[BaseDocumentStore | None, UNCHECKED] = Field(
        default=None, exclude=True, repr=False, description="A docstore with the nodes, in place of nodes."
    )
    order: PassageOrder = Field(default="rank", description="Of passages: 'rank' or 'document'.")
    distances: bool = Field(default=False, description="Scores are distances: lower is better.")
    depth: int = Field(default=DEPTH, ge=1, description="Nodes that are used, best first.")
    tokenizer: Annotated[TokenizerLike, UNCHECKED] = Field(
        default=None, exclude=True, description="Counts the tokens of a budget; None is the built-in WordPiece."
    )

    _pool: Pool | None = PrivateAttr(default=None)
    _is_partial: bool = PrivateAttr(default=False)
    _once: Any = PrivateAttr(default_factory=WarningLog)

    def __init__(self, **data: Any) -> None:
        check_names(type(self).__name__, data, type(self).model_fields)
        with first_error():
            super().__init__(**data)

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(self.nodes is None or self.docstore is None, "nodes and docstore must not both be given", self.docstore)
        rule = "docstore must be a docstore of LlamaIndex"
        require(self.docstore is None or isinstance(self.docstore, BaseDocumentStore), rule, self.docstore)
        check_nodes(self.nodes or ())
        self._reader()  # raises on a bad parameter
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _READ:
            self.refresh()

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serializes this postprocessor, without nodes, docstore and the like."""
        return f"advchunk.{cls.__name__}"

    def refresh(self) -> None:
        """Read the nodes again, after they have changed."""
        self._pool, self._is_partial = None, False

    def _respond(
        self, query: str, nodes: list[NodeWithScore], search: Search | None, *, size: int, budget: int | None
    ) -> list[NodeWithScore]:
        pool = self._read()
        if self.nodes is None and self.docstore is not None and not self._is_partial and pool.lacks(nodes):
            self.refresh()
            pool = self._read()
            self._is_partial = pool.lacks(nodes)
        sizes: dict[str, Any] = {"depth": self.depth, "size": size, "budget": budget}
        return pool.respond(query, nodes, search, order=self.order, distances=self.distances, **sizes)

    def _read(self) -> Pool:
        if self._pool is None:
            nodes = self.nodes if self.nodes is not None else nodes_in(self.docstore) if self.docstore else ()
            self._pool = self._reader().read(nodes)
        return self._pool

    def _reader(self) -> PoolReader:
        source = surroundings_of(self._texts(), self._once)
        return PoolReader(as_counter(self.tokenizer), self._once, source, source)

    def _texts(self) -> AnySource | None:
        """Return the source of the text around hits."""
        return self.docstore


class NeighborPostprocessor(NodePostprocessor):
    """Re-ranks the nodes that any retriever found, in any query engine, by their neighbors.

    Retrieve many nodes, such as ``similarity_top_k=100``, and keep the best ``top_n``, or passages within a ``budget``. With
    ``nodes`` or a ``docstore``, nodes beside good hits are added; else hits are re-ranked among themselves. Nodes are placed
    as by `AdvchunkRetriever`, and passages are those of its ``whole_chunks``. The order in which hits come does not matter if they have scores.

    Raises `advchunk.ConfigurationError` for parameters that are unknown, out of range or contradict each other.

    >>> from llama_index.core import Document
    >>> from llama_index.core.schema import NodeWithScore
    >>> from llamaindex_advchunk import RecursiveNodeParser
    >>> guide = Document(text="Boil the water. Add green tea. Wait two minutes. Pour it into cups. Drink.", id_="guide")
    >>> nodes = RecursiveNodeParser(max_tokens=5).get_nodes_from_documents([guide])
    >>> hits = [NodeWithScore(node=nodes[i], score=score) for i, score in [(0, 0.9), (2, 0.89), (4, 0.2)]]
    >>> [hit.text for hit in NeighborPostprocessor(nodes=nodes).postprocess_nodes(hits)]
    ['Boil the water. ', 'Wait two minutes. ', 'Add green tea. ']
    """

    top_n: int | None = Field(default=None, ge=1, description="Nodes to return; None is as many as were retrieved.")
    budget: int | None = Field(default=None, ge=1, description="Tokens of all passages, returned in place of nodes.")

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        sizes = self.top_n, self.budget
        require(None in sizes, "top_n and budget must not both be given", sizes)
        return self

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._respond("", nodes, _BY_NEIGHBORS, size=self.top_n or len(nodes), budget=self.budget)


class PassagePostprocessor(NodePostprocessor):
    """Cuts passages for the query from the nodes that any retriever found, in any query engine.

    Retrieve many nodes, such as ``similarity_top_k=50``. Their text, and the text around them in ``nodes``, a ``docstore``
    or ``texts``, is cut again: the sentences that answer the query fill the ``budget``, and those that touch are one passage
    (`advchunk.retrieval.PassageCutter`). Needs no model, and nothing is indexed again. The nodes may overlap, repeat each other
    and come from any parser; those without text are left out. The order in which they come does not matter if they have
    scores. A blank query takes the sentences of the best nodes.

    A passage is a `TextNode` with the metadata of its first node, or of the nearest if it is beside nodes, and ``citation``,
    ``token_count``, and ``node_ids``. Its place is ``start_char_idx`` to ``end_char_idx``, or `chunk_spans` if it has gaps. The
    headings above it are its ``context``, which the language model sees before the text, and which counts toward the budget.
    All else that is added is hidden from embedder and language model.

    Raises `advchunk.ConfigurationError` for parameters that are unknown, out of range or contradict each other, and without a
    query.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> found = TextNode(text="Boil the water. Add green tea. Wait two minutes. Pour it into cups.", start_char_idx=0)
    >>> hits = [NodeWithScore(node=found, score=0.5)]
    >>> [hit.text for hit in PassagePostprocessor(budget=5).postprocess_nodes(hits, query_str="How long should I wait?")]
    ['Wait two minutes.']
    """

    docstore: Annotated[BaseDocumentStore | None, UNCHECKED] = Field(
        default=None, exclude=True, repr=False, description="A docstore with the documents, or with the nodes."
    )
    texts: Annotated[AnySource | None, UNCHECKED] = Field(
        default=None,
        exclude=True,
        repr=False,
        description="The texts of documents, by their ids or names: a mapping, a function, a folder; or any source of the text around hits.",
    )
    budget: int = Field(default=1000, ge=1, description="Tokens of all passages.")
    depth: int = Field(default=DEPTH_TO_CUT, ge=1, le=DEPTH_TO_CUT, description="Nodes that are cut, best first.")
    language: str = Field(
        default=AUTO, description="Code of the language of sentences, stems and stop words; auto is that of each text."
    )
    cutter: Annotated[PassageCutter | None, UNCHECKED] = Field(
        default=None, exclude=True, description="Has the rest of the settings of passages; None is the usual one."
    )

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        rule = "a query must be given, for which passages are cut: pass query_str or query_bundle"
        require(query_bundle is not None, rule, query_bundle)
        query = query_bundle.query_str if query_bundle else ""
        return self._respond(query, nodes, None, size=len(nodes), budget=self.budget)

    def _texts(self) -> AnySource | None:
        return [self.texts, self.docstore]

    def _reader(self) -> PoolReader:
        reader = super()._reader()
        return replace(reader, cutter=as_cutter(self.cutter).within(self.language, reader.counter))
