"""Retrieval from any index of LlamaIndex by vectors and words, re-ranked by neighbors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, NamedTuple, Self, get_args
from uuid import NAMESPACE_OID, uuid5

import numpy as np
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    BaseNode,
    Document,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores import FilterCondition, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn
from pydantic import ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from advchunk import Chunk
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.chunkers.other_names import check_names
from advchunk.errors import require
from advchunk.layout import inherited_metadata
from advchunk.models.chat import is_integer
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.records import Span, write_metadata, written_metadata
from advchunk.retrieval import Hit, LexicalIndex, Passage, Places, Ranking, assemble_passages, combine
from advchunk.retrieval.locating import Finder
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.rankings import DEPTH
from advchunk.retrieval.search import LEXICAL_WEIGHT, SearchMode
from advchunk.text.counters import Counter
from llamaindex_advchunk.base import UNCHECKED, chunk_spans, hidden_keys, raise_first, users_metadata

_log = logging.getLogger("advchunk")

_ROWS = 4  # times more rows (sentences) than chunks are fetched
_SAMPLE = 100  # texts whose tokens are counted, to convert characters to tokens
_NAMES = ("file_path", "file_name")  # metadata keys of a document's name
_LEAST_OVERLAP = 10  # characters that two nodes hardly share by chance
_APART = 3  # characters between nodes that are not merged
_EXPONENTIAL = ("ChromaVectorStore",)  # vector stores whose scores are exp(-distance)


class _Once:
    """Logs each kind of warning once."""

    def __init__(self) -> None:
        self._warned = set[str]()

    def warn(self, kind: str, message: str, *values: object) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            _log.warning(message, *values)


class AdvchunkRetriever(BaseRetriever):
    """Retrieves nodes from any index by vectors and words, and re-ranks them by their neighbors.

    The nodes may be those of any node parser, and an existing index is used as it is::

        retriever = AdvchunkRetriever(index)               # an index in memory, or with its nodes in its docstore
        retriever = AdvchunkRetriever(index, nodes=nodes)  # an index over a vector store that keeps the nodes to itself

    With the nodes, they are also searched by their words (BM25), and a node beside good hits is found even if it does not match
    the query itself (`advchunk.retrieval.rerank_by_neighbors`). Nodes in the docstore of an index are read at the first search,
    and again when the index has changed; after other changes, such as of ``nodes``, call `refresh`. Hits that are not among the
    nodes are ranked with them, with a warning in the log. Without nodes, hits are re-ranked by their neighbors among the hits.

    The place of a node in its document, which is that of its ``ref_doc_id``, is read from our metadata (`chunk_spans`), or else
    from ``start_char_idx``. Nodes without, and those of LlamaIndex's `HierarchicalNodeParser`, which count from their parent,
    are located exactly in their document, if that is among the nodes or in the docstore; else they stand in the order of their
    previous and next nodes. A warning in the log says so.

    A blank query has no results in an index. Results are the nodes as they are, with a score that is comparable within one search only. With a ``budget``, they are
    passages: `TextNode`s in which nodes that touch or overlap are merged, and no text occurs twice. Their metadata is that of
    the first node, with ``citation``, such as "guide.md, Guide > Install, page 3, characters 120-480", ``token_count``, and
    ``node_ids``, the ids of the merged nodes, all hidden from embedder and language model.

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
    lexical_weight : of the words in a hybrid search, where vectors have 1, >= 0.
    language : of stems and stop words, such as "en" (`advchunk.retrieval.LexicalIndex`).
    depth : nodes that are fetched from the index, and found by words, >= 1; at least similarity_top_k.
    filters : restrict vectors, words and neighbors.
    tokenizer : counts the tokens of a budget, as in the node parsers; None uses the tokenizer of the index's embed model, else
        the embedded WordPiece.

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
    >>> (passage,) = AdvchunkRetriever(index, budget=10).retrieve("How long should I wait?")
    >>> passage.text, passage.metadata["citation"]
    ('Wait two minutes. Pour it into cups.', 'guide, characters 31-67')
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
        language: str = "en",
        depth: int = DEPTH,
        filters: MetadataFilters | None = None,
        tokenizer: TokenizerLike = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        sources = [source for source in (index, retriever) if source is not None]
        require(len(sources) < 2, "index and retriever must not both be given", sources)
        require(len(sources) + (nodes is not None) > 0, "an index, a retriever or nodes must be given", None)
        rule = "index must be a VectorStoreIndex; pass a retriever as retriever=, and nodes as nodes="
        require(index is None or isinstance(index, VectorStoreIndex), rule, index)
        rule = "retriever must be a BaseRetriever"
        require(retriever is None or isinstance(retriever, BaseRetriever), rule, retriever)
        require(mode is None or mode in get_args(SearchMode), f"mode must be one of {get_args(SearchMode)}", mode)
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
        require(lexical_weight >= 0, "lexical_weight must be >= 0", lexical_weight)
        require(is_integer(depth, 1), "depth must be a whole number >= 1", depth)
        rule = "filters must be MetadataFilters, such as MetadataFilters.from_dict({'lang': 'en'})"
        require(filters is None or isinstance(filters, MetadataFilters), rule, filters)
        self._index, self._retriever, self._mode, self._neighbors = index, retriever, mode, neighbors
        self._top_k, self._budget, self._order = similarity_top_k or 5, budget, order
        self._lexical_weight, self._depth, self._filters = lexical_weight, max(depth, self._top_k), filters
        counter = as_counter(tokenizer, getattr(index, "_embed_model", None))
        self._nodes = None if nodes is None else _checked(nodes)
        self._ids = list[str]()  # of the nodes in the index when it was last read
        self._pool: _Pool | None = None
        self._is_partial = False  # the index has nodes that cannot be read
        self._once = _Once()
        object_map = getattr(index, "_object_map", None)
        super().__init__(callback_manager=callback_manager, object_map=object_map, verbose=verbose)
        docstore = None if index is None else index.docstore
        self._source = _Source(counter, self._once, docstore, self.object_map, filters, language)

    def refresh(self, nodes: Iterable[BaseNode] | None = None) -> None:
        """Read the nodes again from the docstore of the index, or replace them by ``nodes``."""
        if nodes is not None:
            self._nodes = _checked(nodes)
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

    def _inner(self, pool: _Pool) -> BaseRetriever | None:
        """Return a retriever by vectors; that of an index is a new one each time, since it knows only present nodes."""
        mode = self._search_mode(pool)
        rule = f"mode {mode!r} needs nodes: the index's docstore has none, so pass nodes"
        require(mode == "dense" or len(pool) > 0 or self._nodes is not None, rule, 0)
        if mode == "lexical":
            return None
        if self._index is None:
            return self._retriever
        depth = self._depth * (_ROWS if pool.has_rows else 1)
        return self._index.as_retriever(similarity_top_k=depth, filters=self._filters)

    def _search_mode(self, pool: _Pool) -> SearchMode:
        return self._mode or ("hybrid" if len(pool) else "dense")

    def _read(self) -> _Pool:
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
                nodes = docstore.get_nodes(self._ids, raise_error=False) if self._ids else _nodes_in(docstore)
            self._pool = self._source.read(nodes)
        return self._pool

    def _respond(self, query_bundle: QueryBundle, pool: _Pool, hits: Sequence[NodeWithScore]) -> list[NodeWithScore]:
        """Return the results of a search from its hits by vectors."""
        mode = self._search_mode(pool)
        if self._nodes is None and len(pool) and not self._is_partial and pool.lacks(hits):
            self.refresh()
            pool = self._read()
            self._is_partial = pool.lacks(hits)
        if hits and not len(pool) and (self._neighbors or self._mode is None):
            reason = "no nodes are known, so hits are re-ranked among themselves, without a search by words: pass nodes"
            self._once.warn("nodes", reason)
        if self._index is not None and self._index.vector_store.class_name() in _EXPONENTIAL:
            tiny = np.finfo(float).tiny
            hits = [NodeWithScore(node=hit.node, score=float(np.log(max(hit.get_score(), tiny)))) for hit in hits]
        words = None if mode == "dense" else pool.words.scores(query_bundle.query_str)
        pool, dense = pool.rank(hits)
        allowed, lexical = pool.allowed, None
        if words is not None:
            # The words of hits that are not among the nodes are not known.
            words = np.pad(words, (0, len(pool) - len(words)))
            lexical = Ranking.from_scores(np.where(allowed, words, 0), self._depth, above=0)
        ranking = combine(
            None if mode == "lexical" else _keep(dense, allowed),
            lexical,
            pool.places if self._neighbors else None,
            lexical_weight=self._lexical_weight,
            depth=self._depth,
        )
        ranking = _keep(ranking, allowed)
        if self._budget is None:
            return pool.results(ranking.first(self._top_k))
        return pool.passages(ranking, self._budget, self._order)


class NeighborPostprocessor(BaseNodePostprocessor):
    """Re-ranks the nodes that any retriever found, in any query engine, by their neighbors.

    Retrieve many nodes, such as ``similarity_top_k=100``, and keep the best ``top_n``, or passages within a ``budget``. With
    ``nodes`` or a ``docstore``, nodes beside good hits are let in; else hits are re-ranked among themselves. Nodes are placed,
    and passages made, as by `AdvchunkRetriever`. The order in which hits come does not matter if they have scores.

    Raises `advchunk.ConfigurationError` for parameters that are unknown, out of range or contradict each other.

    >>> from llama_index.core.schema import NodeWithScore
    >>> from llamaindex_advchunk import RecursiveNodeParser
    >>> guide = Document(text="Boil the water. Add green tea. Wait two minutes. Pour it into cups. Drink.", id_="guide")
    >>> nodes = RecursiveNodeParser(max_tokens=5).get_nodes_from_documents([guide])
    >>> hits = [NodeWithScore(node=nodes[i], score=score) for i, score in [(0, 0.9), (2, 0.89), (4, 0.2)]]
    >>> [hit.text for hit in NeighborPostprocessor(nodes=nodes).postprocess_nodes(hits)]
    ['Boil the water. ', 'Wait two minutes. ', 'Add green tea. ']
    """

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
    top_n: int | None = Field(default=None, ge=1, description="Nodes to return; None is as many as were retrieved.")
    budget: int | None = Field(default=None, ge=1, description="Tokens of all passages, returned in place of nodes.")
    order: PassageOrder = Field(default="rank", description="Of passages: 'rank' or 'document'.")
    distances: bool = Field(default=False, description="Scores are distances: lower is better.")
    depth: int = Field(default=DEPTH, ge=1, description="Nodes that are used, best first.")
    tokenizer: Annotated[TokenizerLike, UNCHECKED] = Field(
        default=None, exclude=True, description="Counts the tokens of a budget; None is the embedded WordPiece."
    )

    _pool: _Pool | None = PrivateAttr(default=None)
    _is_partial: bool = PrivateAttr(default=False)
    _once: Any = PrivateAttr(default_factory=_Once)

    def __init__(self, **data: Any) -> None:
        check_names(type(self).__name__, data, type(self).model_fields)
        try:
            super().__init__(**data)
        except ValidationError as error:
            first = error.errors()[0]
        else:
            return
        raise_first(first)

    @model_validator(mode="after")
    def _check(self) -> Self:
        require(self.nodes is None or self.docstore is None, "nodes and docstore must not both be given", self.docstore)
        sizes = self.top_n, self.budget
        require(None in sizes, "top_n and budget must not both be given", sizes)
        rule = "docstore must be a docstore of LlamaIndex"
        require(self.docstore is None or isinstance(self.docstore, BaseDocumentStore), rule, self.docstore)
        _checked(self.nodes or ())
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("nodes", "docstore", "tokenizer"):
            self.refresh()

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serializes this postprocessor, without nodes and docstore."""
        return f"advchunk.{cls.__name__}"

    def refresh(self) -> None:
        """Read the nodes again, after they have changed."""
        self._pool, self._is_partial = None, False

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        pool = self._read()
        if self.nodes is None and self.docstore is not None and not self._is_partial and pool.lacks(nodes):
            self.refresh()
            pool = self._read()
            self._is_partial = pool.lacks(nodes)
        pool, ranking = pool.rank(nodes, distances=self.distances)
        ranking = _keep(combine(ranking, None, pool.places, depth=self.depth), pool.allowed)
        if self.budget is not None:
            return pool.passages(ranking, self.budget, self.order)
        return pool.results(ranking.first(self.top_n or len(nodes)))

    def _read(self) -> _Pool:
        if self._pool is None:
            nodes = self.nodes if self.nodes is not None else _nodes_in(self.docstore) if self.docstore else ()
            self._pool = _Source(as_counter(self.tokenizer), self._once, self.docstore).read(nodes)
        return self._pool


@dataclass(frozen=True, eq=False)
class _Pool:
    """Nodes of LlamaIndex with their places.

    Parameters
    ----------
    nodes : the nodes, each once; chunks in place of their rows.
    numbers : of the nodes, and of the rows of chunks, by their ids.
    chunks : the nodes as chunks; those whose spans are not known have none.
    keys : of the document of each node.
    texts : of documents, by key, if they are known.
    estimated : keys of the documents in which places are estimated.
    places : of the nodes.
    allowed : (n,) True for each node that the filters let pass and no hit replaces.
    more : makes the same of other nodes.
    """

    nodes: Sequence[BaseNode]
    numbers: Mapping[str, int]
    chunks: Sequence[Chunk]
    keys: Sequence[str]
    texts: Mapping[str, str]
    estimated: Set[str]
    places: Places
    allowed: Any
    more: _Source

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def has_rows(self) -> bool:
        """True if chunks have rows."""
        return len(self.numbers) > len(self.nodes)

    def lacks(self, hits: Iterable[NodeWithScore]) -> bool:
        """Return True if a hit is not among the nodes, or has changed."""
        return any(self._number(hit.node) is None for hit in hits)

    def rank(self, hits: Sequence[NodeWithScore], *, distances: bool | None = None) -> tuple[_Pool, Ranking]:
        """Return the nodes, with hits that are not among them, and the ranking of the hits, by the best row of each.

        Parameters
        ----------
        distances : True if a lower score is better; None if scores that rise are distances.
        """
        pool, once = self, self.more.once
        scores = [hit.score for hit in hits if hit.score is not None]
        has_scores = len(scores) == len(hits)
        if has_scores:
            sign = 1 if (scores == sorted(scores) if distances is None else distances) else -1
            hits = sorted(hits, key=lambda hit: sign * hit.get_score())
        else:
            once.warn("scores", "the retriever returns no scores, so the order of its hits counts")
        numbers = [self._number(hit.node) for hit in hits]
        if missing := [hit.node for hit, number in zip(hits, numbers, strict=True) if number is None]:
            self._warn(missing, len(hits))
            missing.sort(
                key=lambda node: (node.ref_doc_id or "", getattr(node, "start_char_idx", None) or 0, node.node_id)
            )
            others = self.more.read(missing, are_all=False)
            pool = self._joined(others)
            outdated = {self.numbers[node.node_id] for node in missing if node.node_id in self.numbers}
            pool.allowed[list(outdated.difference(numbers))] = False
            numbers = [
                len(self) + others.numbers[hit.node_id] if number is None else number
                for hit, number in zip(hits, numbers, strict=True)
            ]
        return pool, Ranking.from_hits(numbers, [hit.get_score() for hit in hits] if has_scores else None)

    def _number(self, node: BaseNode) -> Any:
        """Return the number of a node, or of the chunk of a row; None if it is unknown, or has another text."""
        number = self.numbers.get(node.node_id)
        if number is None:
            return self.numbers.get(node.index_id) if isinstance(node, IndexNode) else None
        own = self.nodes[number]
        return None if own.node_id == node.node_id and own.get_content() != node.get_content() else number

    def _warn(self, missing: Sequence[BaseNode], total: int) -> None:
        changed = sum(node.node_id in self.numbers for node in missing)
        if changed:
            reason = (
                "%d of %d hits have another text than the node with their id, and replace it: pass the present nodes"
            )
            self.more.once.warn("changed", reason, changed, total)
        if len(self) and changed < len(missing):
            reason = "%d of %d hits are not among the nodes, and have no neighbors that are not found: pass all nodes"
            self.more.once.warn("hits", reason, len(missing) - changed, total)

    def _joined(self, hits: _Pool) -> _Pool:
        """Return the nodes with hits after them, in texts of their own."""
        first = int(self.places.documents.max(initial=-1)) + 1
        documents = np.concatenate([self.places.documents, hits.places.documents + first])
        return replace(
            self,
            nodes=[*self.nodes, *hits.nodes],
            chunks=[*self.chunks, *(replace(chunk, index=len(self) + chunk.index) for chunk in hits.chunks)],
            keys=[*self.keys, *(f"\n{key}" for key in hits.keys)],
            texts={**self.texts, **{f"\n{key}": text for key, text in hits.texts.items()}},
            estimated=self.estimated | {f"\n{key}" for key in hits.estimated},
            places=Places(documents, np.concatenate([self.places.middles, hits.places.middles])),
            allowed=np.concatenate([self.allowed, hits.allowed]),
        )

    @cached_property
    def words(self) -> LexicalIndex:
        """The index of the words that embedders see."""
        return LexicalIndex((node.get_content(MetadataMode.EMBED) for node in self.nodes), self.more.language)

    def results(self, ranking: Ranking) -> list[NodeWithScore]:
        """Return nodes with their scores."""
        pairs = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        return [NodeWithScore(node=self.nodes[i], score=score) for i, score in pairs]

    def passages(self, ranking: Ranking, budget: int, order: PassageOrder) -> list[NodeWithScore]:
        """Return passages as nodes with their scores."""
        pairs = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        hits = [Hit(self.chunks[i], self.keys[i], score) for i, score in pairs]
        passages = assemble_passages(hits, budget, self.more.counter, order=order, texts=self.texts)
        return [NodeWithScore(node=self._to_node(passage), score=passage.score) for passage in passages]

    def _to_node(self, passage: Passage) -> TextNode:
        first = self.nodes[passage.hits[0].chunk.index]
        own_id = str(uuid5(NAMESPACE_OID, repr((passage.document, passage.spans, passage.text))))
        spans = () if passage.document in self.estimated else passage.spans
        values: dict[str, Any] = {
            "citation": replace(passage, document=_name(first), spans=spans).citation,
            "token_count": passage.tokens,
            "node_ids": [hit.chunk.id for hit in passage.hits],
        }
        if len(spans) > 1:
            values["spans"] = flatten_spans(spans)
        metadata = write_metadata(inherited_metadata(first.metadata), values)
        hidden = hidden_keys(metadata, users_metadata(first.metadata))
        return TextNode(
            id_=own_id,
            text=passage.text,
            start_char_idx=spans[0].start if spans else None,
            end_char_idx=spans[-1].end if spans else None,
            metadata=metadata,
            relationships={NodeRelationship.SOURCE: first.source_node} if first.source_node else {},
            excluded_embed_metadata_keys=[*first.excluded_embed_metadata_keys, *hidden],
            excluded_llm_metadata_keys=[*first.excluded_llm_metadata_keys, *hidden],
            metadata_template=first.metadata_template,
            metadata_separator=first.metadata_separator,
            text_template=getattr(first, "text_template", TextNode.model_fields["text_template"].default),
        )


@dataclass(frozen=True, eq=False)
class _Source:
    """Reads nodes, and finds their places.

    Parameters
    ----------
    counter : counts tokens.
    once : logs warnings.
    docstore : may have the documents of nodes.
    objects : chunks by the ``index_id`` of their rows.
    filters : of the nodes that may be returned.
    language : of the words.
    """

    counter: Counter
    once: _Once
    docstore: BaseDocumentStore | None = None
    objects: Mapping[str, Any] = field(default_factory=dict)
    filters: MetadataFilters | None = None
    language: str = "en"

    def read(self, nodes: Iterable[BaseNode], *, are_all: bool = True) -> _Pool:
        """Return nodes with their places.

        Parameters
        ----------
        are_all : True if the nodes are all of their documents; else some of them, in any order.
        """
        sources = list(nodes)
        parents = {node.ref_doc_id for node in sources}
        texts = {
            node.node_id: node.get_content()
            for node in sources
            if are_all and isinstance(node, Document) and node.node_id in parents
        }
        plain = {node.node_id: node for node in sources if not isinstance(node, IndexNode)}
        own, numbers = list[BaseNode](), dict[str, int]()
        for node in sources:
            if node.node_id not in texts:
                chunk = self._chunk(node, plain)
                numbers[node.node_id] = number = numbers.setdefault(chunk.node_id, len(own))
                own += [chunk] if number == len(own) else []
        placed = self._place_all(own, texts, are_all=are_all)
        chunks = self._to_chunks(own, placed, texts)
        keys = [place.key for place in placed]
        spread = [replace(chunk, spans=place.spans) for chunk, place in zip(chunks, placed, strict=True)]
        estimated = {place.key for place in placed if not place.is_exact}
        filters = self.filters
        allowed = np.array([filters is None or _passes(node, filters) for node in own], bool)
        return _Pool(own, numbers, chunks, keys, texts, estimated, Places.of(spread, keys), allowed, self)

    def _chunk(self, node: BaseNode, nodes: Mapping[str, BaseNode]) -> BaseNode:
        """Return the chunk of a row; other nodes, also those that refer to a query engine or retriever, as they are."""
        if not isinstance(node, IndexNode):
            return node
        chunk = node.obj or self.objects.get(node.index_id) or nodes.get(node.index_id)
        return chunk if isinstance(chunk, BaseNode) else node

    def _place_all(self, nodes: Sequence[BaseNode], texts: dict[str, str], *, are_all: bool) -> list[_Place]:
        """Return the place of each node; add the texts in which nodes were located."""
        groups = dict[str, list[int]]()
        for i, node in enumerate(nodes):
            groups.setdefault(node.ref_doc_id or "", []).append(i)
        placed, guessed, located = dict[int, _Place](), 0, 0
        for key, group in groups.items():
            members = [nodes[i] for i in group]
            spans = [_stated_spans(node) for node in members]
            if not (key and all(spans)):
                text, runs = self._text(key, texts), _runs(members)
                spans = _locate(members, runs, text or "")
                if not all(spans):
                    guessed += len(group)
                    placed |= zip(group, _place_in_order(members, runs, key, are_all=are_all), strict=True)
                    continue
                located += len(group)
                texts[key] = text or ""
            placed |= zip(group, [_Place(key, own) for own in spans], strict=True)
        if located or guessed:
            reason = (
                "%d of %d nodes have no start_char_idx in their document: %d are located in its text, "
                "the others stand in the order of their previous and next nodes, and are cited without offsets"
            )
            self.once.warn("places", reason, located + guessed, len(nodes), located)
        return [placed[i] for i in range(len(nodes))]

    def _text(self, key: str, texts: Mapping[str, str]) -> str | None:
        """Return the text of a document, if it is known."""
        if key in texts or not key or self.docstore is None:
            return texts.get(key)
        document = self.docstore.get_document(key, raise_error=False)
        return None if document is None else document.get_content()

    def _to_chunks(self, nodes: Sequence[BaseNode], placed: Sequence[_Place], texts: Mapping[str, str]) -> list[Chunk]:
        """Return nodes as chunks with their own tokens, or else estimated ones."""
        contents = [node.get_content() for node in nodes]
        tokens = [written_metadata(node.metadata).get("token_count") for node in nodes]
        sample = [content for content, count in zip(contents, tokens, strict=True) if count is None]
        sample = sample[:: max(len(sample) // _SAMPLE, 1)]
        density = int(self.counter.counts(sample).sum()) / max(sum(map(len, sample)), 1) if sample else 0.0
        chunks = list[Chunk]()
        for i, (node, content, place, count) in enumerate(zip(nodes, contents, placed, tokens, strict=True)):
            spans, text = place.spans, content
            if spans and place.key in texts:  # without differences in white space
                text = "".join(texts[place.key][start:end] for start, end in spans)
            elif sum(end - start for start, end in spans) != len(content):  # of markup, which the text is without
                spans = ()
            size = round(len(content) * density) if count is None else count
            chunks.append(Chunk(text, spans, size, i, node.node_id, metadata=node.metadata))
        return chunks


class _Place(NamedTuple):
    """The place of a node: the key of its document, and its spans, which are estimated unless they are exact."""

    key: str
    spans: tuple[Span, ...]
    is_exact: bool = True


def _stated_spans(node: BaseNode) -> tuple[Span, ...]:
    """Return the spans that a node states; () for a part of a node by LlamaIndex, which counts from that node."""
    is_ours = "token_count" in written_metadata(node.metadata)
    return chunk_spans(node) if isinstance(node, TextNode) and (is_ours or node.parent_node is None) else ()


def _runs(nodes: Sequence[BaseNode]) -> list[list[int]]:
    """Return runs of nodes that follow one another, by their links to the next."""
    numbers = {node.node_id: i for i, node in enumerate(nodes)}
    following = [numbers.get(node.next_node.node_id) if node.next_node else None for node in nodes]
    first = sorted(set(numbers.values()).difference(following))
    runs, seen = list[list[int]](), set[int]()
    for start in [*first, *range(len(nodes))]:  # links in a circle have no first
        run, i = list[int](), start
        while i is not None and i not in seen:
            seen.add(i)
            run.append(i)
            i = following[i]
        runs += [run] if run else []
    return runs


def _locate(nodes: Sequence[BaseNode], runs: Sequence[Sequence[int]], text: str) -> list[tuple[Span, ...]]:
    """Return the span of each node in the text of its document, () if it is not found."""
    finder, spans = Finder(text), [tuple[Span, ...]()] * len(nodes)
    for i in chain.from_iterable(runs):
        span = finder.find(nodes[i].get_content())
        spans[i] = (span,) if span else ()
    return spans


def _place_in_order(
    nodes: Sequence[BaseNode], runs: Sequence[Sequence[int]], key: str, *, are_all: bool
) -> list[_Place]:
    """Return places as if nodes stood one after another; where some are missing, or have no document, those of a run.

    Nodes whose texts overlap keep their overlap; others are as far apart as not to be merged.
    """
    texts = [list(chain.from_iterable(runs))] if key and are_all else runs
    places = dict[int, _Place]()
    for order in texts:
        own_key = f"{key}\n{nodes[order[0]].node_id}"
        before, end = "", 0
        for i in order:
            text = nodes[i].get_content()
            start = end - (_overlap(before, text) or -_APART)
            before, end = text, start + len(text)
            places[i] = _Place(own_key, (Span(start, end),), is_exact=False)
    return [places[i] for i in range(len(nodes))]


def _overlap(before: str, after: str) -> int:
    """Return the length of the longest end of a text that is the start of another; 0 if that may be by chance."""
    start, beginning = len(before) - len(after) - 1, after[:_LEAST_OVERLAP]
    while (start := before.find(beginning, max(start + 1, 0), len(before))) >= 0:
        overlap = len(before) - start
        if overlap < _LEAST_OVERLAP:
            return 0
        if after.startswith(before[start:]):
            return overlap
    return 0


def _checked(nodes: Iterable[BaseNode]) -> list[BaseNode]:
    """Return nodes as a list; raise `ConfigurationError` for anything else."""
    nodes = list(nodes)
    others = [node for node in nodes if not isinstance(node, BaseNode)]
    require(not others, "nodes must be nodes of LlamaIndex", others)
    return nodes


def _name(node: BaseNode) -> str:
    """Return the name of a node's document for citations."""
    names = [str(node.metadata[key]) for key in _NAMES if node.metadata.get(key)]
    return names[0] if names else node.ref_doc_id or node.node_id


def _keep(ranking: Ranking, allowed: Any) -> Ranking:
    """Return the part of a ranking whose nodes are allowed."""
    kept = allowed[ranking.chunks]
    return replace(ranking, chunks=ranking.chunks[kept], scores=ranking.scores[kept])


def _passes(node: BaseNode, filters: MetadataFilters) -> bool:
    """Return True if a node passes filters, which may be nested."""
    source = dict.fromkeys(
        ("document_id", "doc_id", "ref_doc_id"), node.ref_doc_id or "None"
    )  # as vector stores add it
    passed = []
    for condition in filters.filters:
        if isinstance(condition, MetadataFilters):
            passed.append(_passes(node, condition))
        else:
            alone = MetadataFilters(filters=[condition])
            passed.append(build_metadata_filter_fn(lambda _: node.metadata | source, alone)(node.node_id))
    if filters.condition == FilterCondition.OR:
        return any(passed)
    return not any(passed) if filters.condition == FilterCondition.NOT else all(passed)


def _nodes_in(docstore: BaseDocumentStore) -> list[BaseNode]:
    """Return the nodes in a docstore, without documents, and without nodes that have been divided into others."""
    return [node for node in docstore.docs.values() if not (isinstance(node, Document) or node.child_nodes)]
