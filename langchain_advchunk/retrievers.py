"""Retrieval from any vector store of LangChain by vectors and words, re-ranked by neighbors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Annotated, Any

import numpy as np
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PrivateAttr, SkipValidation

from advchunk.errors import checked, is_instance, is_integer, require
from advchunk.models.embedders import CheckedEmbedder, as_embedder
from advchunk.retrieval import Hit, LexicalIndex, PassageCutter, Ranking
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import DEPTH_TO_CUT, as_cutter
from advchunk.retrieval.neighbors import FARTHEST
from advchunk.retrieval.passages import PassageOrder, check_sizes
from advchunk.retrieval.query_language import Languages, fit_to_language
from advchunk.retrieval.rankings import DEPTH
from advchunk.retrieval.search import Search, SearchMode
from advchunk.retrieval.surroundings import CheckedSurroundings, Neighborhood
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.detection import AUTO
from langchain_advchunk.collection import (
    UNPLACED,
    ChunkTable,
    document_name,
    read_chunks,
    read_hits,
    sort_key,
    to_document,
    to_hit,
    to_result,
)
from langchain_advchunk.settings import CheckedModel
from langchain_advchunk.surroundings import AnySource, finder_of, surroundings_of

_ROWS = 4  # times more rows (sentences) than chunks are asked for
_LEVELS = 2  # times more chunks of several levels than of each are asked for
_FILTERED = 10  # times more chunks than are asked for are filtered, if a store filters only what it found
_FILTERS = {"expr", "namespace", "partition_names", "tenant", "where", "where_document"}  # and *filter*

_NEEDS_SCORES = "a vectorstore must search with scores; for one that cannot, pass retriever=store.as_retriever()"

_Hits = list[tuple[Document, float | None]]
_Filter = Callable[[Document], bool]


class AdvchunkRetriever(CheckedModel, BaseRetriever):
    """Retrieves chunks from any vector store by vectors and words, and re-ranks them by their neighbors.

    The chunks may be those of any splitter, and an existing store is used as it is::

        retriever = AdvchunkRetriever(vectorstore=store)                 # re-ranks the hits of the store
        retriever = AdvchunkRetriever(vectorstore=store, chunks=chunks)  # adds words

    Chunks beside good hits are found even if they do not match the query (`advchunk.retrieval.rerank_by_neighbors`).
    They come from ``chunks``, from ``texts``, or from the store if it is an `InMemoryVectorStore`, `Chroma`, or
    `QdrantVectorStore`. The index of the words of ``chunks`` does not follow the store: make a new retriever after
    changes. Offsets are read from the metadata of our splitters (`chunk_spans`) or from ``start_index``, or found in
    ``texts``; the log names chunks without a place, and hits that are not among the chunks.

    Results are chunks with ``relevance_score`` and ``citation`` in their metadata or, with a ``budget``, passages like
    those of `PassageCompressor`. Of chunks of several levels, pass all as ``chunks``; the store may have the leaves
    alone. ``invoke`` and ``ainvoke`` take ``k``, ``budget``, ``search``, and ``chunk_filter`` for one query; other
    arguments are added to ``search_kwargs``.

    Parameters
    ----------
    vectorstore : any vector store whose ``similarity_search_with_score`` returns similarities or distances.
    retriever : any other retriever, in place of the vector store; the order of its results counts.
    chunks : the chunks that were indexed, each document's in reading order.
    id_key : for a store of the rows of `vectors_for`, the metadata key of the id of a row's chunk, such as "doc_id".
        A chunk ranks by its best row; ``chunks`` must be given.
    search : how to search (`advchunk.retrieval.Search`); None is by vectors and words with chunks, by words with
        nothing else, by vectors without them, each with neighbors.
    k : chunks to return, >= 1; None is 5.
    budget : tokens of all passages, >= 1; returns passages instead of ``k`` chunks.
    order, whole_chunks : see `advchunk.retrieval.Retriever.passages`.
    cutter : cuts passages, and has the language of the words and the tokenizer that counts; None is
        ``PassageCutter()``, with the tokenizer of the store's embeddings.
    depth : chunks that are taken from the store and from the search by words, >= 1, and at least ``k``, or 200 with a
        ``budget``.
    search_kwargs : arguments for the vector store or retriever, such as ``filter``. Metadata keys with their values,
        such as ``{"source": "guide.md"}``, also restrict words and neighbors; for any other filter, pass the same as
        ``chunk_filter``, which returns True for a chunk that may be returned.
    document_key, texts : as in `PassageCompressor`.

    Raises
    ------
    ConfigurationError : parameters are out of range or contradict each other.

    >>> from langchain_advchunk import DefaultEmbeddings, RecursiveSplitter
    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> text = "Boil the water. Add green tea. Wait two minutes. Pour it into cups."
    >>> chunks = RecursiveSplitter(max_tokens=8).create_documents([text], [{"source": "guide"}])
    >>> store = InMemoryVectorStore.from_documents(chunks, DefaultEmbeddings())
    >>> retriever = AdvchunkRetriever(vectorstore=store, chunks=chunks, k=1)
    >>> (chunk,) = retriever.invoke("How long should I wait?")
    >>> chunk.page_content, chunk.metadata["citation"]
    ('Wait two minutes. ', 'guide, line 1, characters 31-49')
    >>> (passage,) = retriever.invoke("How long should I wait?", budget=5)
    >>> passage.page_content, passage.metadata["citation"]
    ('Wait two minutes.', 'guide, line 1, characters 31-48')
    """

    vectorstore: VectorStore | None = None
    retriever: BaseRetriever | None = None
    chunks: Sequence[Document] | None = Field(default=None, repr=False)
    id_key: str | None = None
    search: Search | None = None
    k: SkipValidation[int | None] = None
    budget: SkipValidation[int | None] = None
    order: PassageOrder = "rank"
    whole_chunks: bool = False
    cutter: Annotated[Any, BeforeValidator(as_cutter)] = PassageCutter()
    depth: SkipValidation[int] = DEPTH
    search_kwargs: dict[str, Any] = Field(default_factory=dict, repr=False)  # which may have the key of a service
    chunk_filter: Callable[[Document], bool] | None = None
    document_key: str | Callable[[Document], str] | None = None
    texts: SkipValidation[AnySource | None] = Field(default=None, repr=False)

    _collection: Collection[Document] = PrivateAttr()
    _table: ChunkTable = PrivateAttr()
    _cutter: PassageCutter = PrivateAttr()
    _surroundings: CheckedSurroundings = PrivateAttr()
    _warnings: WarningLog = PrivateAttr(default_factory=WarningLog)

    def __init__(self, **kwargs: Any) -> None:
        """Take the parameters that the class documents."""
        super().__init__(**kwargs)
        self._check()
        self._cutter = self.cutter.within(AUTO, self._embeddings)
        self._cutter.cut("", ())  # loads the tokenizer at once, and in one thread
        chunks = self.chunks or ()
        self._surroundings = self._read_from()
        documents = {self._name(chunk): chunk for chunk in chunks}.values()
        texts = self._surroundings.read((to_hit(chunk, self._name) for chunk in documents), 0).texts
        self._collection = read_chunks(chunks, self._name, self._cutter.counter, texts)
        self._table = ChunkTable(self._collection, self._name)
        if self._search.mode != "dense":
            contents = [chunk.page_content for chunk in self._collection.items]
            words, languages = LexicalIndex(contents), Languages(contents, self._cutter.language or AUTO)
            self._collection = self._collection.with_words(words, languages)
            words.scores("")  # makes the matrix of all words before the first search

    def _check(self) -> None:
        sources = [source for source in (self.vectorstore, self.retriever) if source is not None]
        require(len(sources) < 2, "vectorstore and retriever must not both be given", sources)
        require(self._has_chunks or bool(sources), "vectorstore, retriever or chunks must be given", None)
        search_with_score = getattr(type(self.vectorstore), "similarity_search_with_score", None)
        has_scores = search_with_score is not VectorStore.similarity_search_with_score
        require(has_scores, _NEEDS_SCORES, type(self.vectorstore).__name__)
        self._check_mode(self._search)
        _check_size(self.k, self.budget)
        require(is_integer(self.depth, 1), "depth must be a whole number >= 1", self.depth)
        require(self.id_key is None or self._has_chunks, "id_key needs chunks", self.id_key)
        self._filter(self.search_kwargs, self.chunk_filter)  # raises if a filter cannot be applied to chunks

    def _check_mode(self, search: Search) -> None:
        rule = "mode must be 'lexical' without a vectorstore or retriever, and 'dense' without chunks"
        fits = (search.mode == "lexical" or self._has_vectors) and (search.mode == "dense" or self._has_chunks)
        require(fits, rule, search.mode)

    @property
    def _has_chunks(self) -> bool:
        return self.chunks is not None

    @property
    def _has_vectors(self) -> bool:
        return self.vectorstore is not None or self.retriever is not None

    @property
    def _search(self) -> Search:
        mode: SearchMode = "dense" if not self._has_chunks else "hybrid" if self._has_vectors else "lexical"
        return self.search or Search(mode, neighbors=True)

    @property
    def _embeddings(self) -> Any:
        """The embeddings of the store: of the several that LangChain's Milvus has for vectors and words, the dense
        ones.
        """
        embeddings = getattr(self.vectorstore, "embeddings", None)
        if isinstance(embeddings, list):
            return next((model for model in embeddings if isinstance(model, Embeddings)), None)
        return embeddings

    @property
    def _model(self) -> CheckedEmbedder | None:
        """The embedder of the store, if it can be told."""
        return None if self._embeddings is None else as_embedder(self._embeddings)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        call = self._call(kwargs)
        return self._respond(query, self._ask("", query, call, run_manager), call)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        call = self._call(kwargs)
        asked = self._ask("a", query, call, run_manager)
        return await asyncio.to_thread(self._respond, query, asked and await asked, call)

    @checked
    def _ask(self, prefix: str, query: str, call: _Call, run_manager: Any) -> Any:
        """Return the answer of the store or the retriever, or what awaits it (``prefix``: "a"); () for words alone."""
        if call.search.mode == "lexical":
            return ()
        if self.vectorstore is not None:
            return getattr(self.vectorstore, f"{prefix}similarity_search_with_score")(query, **call.search_kwargs)
        config = RunnableConfig(callbacks=run_manager.get_child())
        return getattr(self.retriever, f"{prefix}invoke")(query, config, **call.search_kwargs)

    def _read_from(self) -> CheckedSurroundings:
        """Return the source of the text around hits: ``texts``, or else the store, if it can say so of its chunks."""
        source, store = self.texts, self.vectorstore
        if source is None and store is not None and not self._has_chunks and finder_of(store) is not None:
            source = None if callable(self.document_key) else store
        return surroundings_of(source, self.document_key, self._warnings)

    def _around(self, hits: Sequence[Hit], call: _Call) -> Neighborhood:
        """Return the texts and chunks around hits; chunks that are known have been located already."""
        tokens = (FARTHEST if call.search.neighbors else 0) + (self._cutter.around if call.is_cut else 0)
        if self._has_chunks or (self.texts is None and (not tokens or call.chunk_filter == _StoreFilter(None))):
            return Neighborhood()
        return self._surroundings.read(hits, self._cutter.reach(hits, tokens))

    def _call(self, kwargs: dict[str, Any]) -> _Call:
        """Return the settings of one search, from the retriever's own and those of `invoke`."""
        k, budget, chunk_filter, search = (kwargs.pop(name, None) for name in ("k", "budget", "chunk_filter", "search"))
        _check_size(k, budget)
        require(search is None or isinstance(search, Search), "search must be a Search", search)
        rule = "chunk_filter must be a function that returns True for chunks that may be returned"
        require(chunk_filter is None or (callable(chunk_filter) and is_instance(chunk_filter)), rule, chunk_filter)
        search = search or self._search
        self._check_mode(search)
        if k is None and budget is None:
            k, budget = self.k, self.budget
        if chunk_filter is None and not any(map(_is_filter, kwargs)):
            chunk_filter = self.chunk_filter
        k = k or 5
        depth = max(self.depth, DEPTH_TO_CUT if budget else k)
        search_kwargs = self.search_kwargs | kwargs
        chunk_filter = self._filter(search_kwargs, chunk_filter)
        is_cut = budget is not None and not self.whole_chunks
        if self.vectorstore is not None:
            search_kwargs = self._sizes(self.vectorstore, search_kwargs, depth) | search_kwargs
        return _Call(search, search_kwargs, chunk_filter, k, budget, depth, is_cut)

    def _sizes(self, store: VectorStore, search_kwargs: Mapping[str, Any], depth: int) -> dict[str, int]:
        """Return the number of chunks or rows to find and, if the store filters only what it found, to filter."""
        size = depth * (_ROWS if self.id_key else 1) * (1 if self._collection.hierarchy.is_flat else _LEVELS)
        parameters = signature(store.similarity_search_with_score).parameters
        filters_after = "fetch_k" in parameters and any(map(_is_filter, search_kwargs))
        return {"k": size} | ({"fetch_k": _FILTERED * size} if filters_after else {})

    def _filter(self, search_kwargs: Mapping[str, Any], chunk_filter: _Filter | None) -> _Filter | None:
        """Return the filter of words and neighbors: ``chunk_filter``, or else that of the store, or None."""
        rule = (
            "search_kwargs of a vectorstore must not have 'k': k is the number of results, and depth that of the "
            "store's hits"
        )
        require(self.vectorstore is None or "k" not in search_kwargs, rule, search_kwargs)
        own = self.retriever.search_kwargs if isinstance(self.retriever, VectorStoreRetriever) else {}
        filters = {name: value for name, value in (own | dict(search_kwargs)).items() if _is_filter(name) and value}
        if chunk_filter is not None or not filters:
            return chunk_filter
        values: Any = filters.get("filter") if len(filters) == 1 else None
        if isinstance(values, Mapping) and all(isinstance(value, (str, int, float)) for value in values.values()):
            return _StoreFilter(values)
        rule = "chunk_filter must be given with chunks and a filter that is not a mapping of metadata keys to values"
        require(not self._has_chunks, rule, filters)
        return _StoreFilter(None)

    def _respond(self, query: str, answer: Iterable[Any], call: _Call) -> list[Document]:
        """Return the results of a search from the answer of the store or of the retriever."""
        search, hits = call.search, _scored(self.vectorstore, answer)
        if self._model is not None:
            search = fit_to_language(search, query, self._collection.languages, self._model, self._warnings)
        collection, dense = self._rank([] if search.mode == "lexical" else hits, call)
        ranking = collection.rank(query, dense, search, call.depth)
        if call.budget is None:
            passages = collection.results(collection.first(ranking, call.k, search.merge))
            return [to_result(passage, collection.items[passage.hits[0].chunk.index]) for passage in passages]
        options = (call.budget, self._cutter.counter, self._cutter, self.order, search.merge)
        return list(map(to_document, collection.passages(query, ranking, *options, whole_chunks=not call.is_cut)))

    def _rank(self, hits: _Hits, call: _Call) -> tuple[Collection[Document], Ranking]:
        """Return the chunks, with the hits that are not among them, and the ranking of the hits."""
        collection = replace(self._collection, allowed=self._allowed(self._table, call, 0))
        numbers = self._table.numbers_of([hit for hit, _ in hits], self.id_key)
        missing = [i for i, number in enumerate(numbers) if number is None]
        if missing and self._has_chunks:
            reason = (
                "%d of %d hits are not among the chunks, or have another text there, such as %r: make a new "
                "retriever with those of the store"
            )
            self._warnings.warn("chunks", reason, len(missing), len(hits), hits[missing[0]][0].page_content[:60])
        if self.id_key is not None:  # a row alone is not a chunk
            hits = [hit for hit, number in zip(hits, numbers, strict=True) if number is not None]
        elif missing:
            own_chunks = {i: to_hit(hits[i][0], self._name) for i in missing}
            # So that all stores answer alike.
            missing.sort(key=lambda i: sort_key(own_chunks[i], hits[i][0], self._name))
            own_hits, documents = [own_chunks[i] for i in missing], [hits[i][0] for i in missing]
            around = self._around(own_hits, call)
            others, alone = read_hits(own_hits, documents, self._name, self._cutter.counter, around)
            if (call.search.neighbors or call.budget) and not self._has_chunks and alone:
                self._warnings.warn("places", UNPLACED, alone, len(hits))
            for number, i in enumerate(missing, len(collection)):
                numbers[i] = number
            others = replace(others, allowed=self._allowed(ChunkTable(others, self._name), call, len(missing)))
            collection = collection.joined(others, self._table.stale(others.items))
        scores = [score for _, score in hits]
        own_scores: Any = None if None in scores else scores
        return collection, Ranking.from_hits([number for number in numbers if number is not None], own_scores)

    def _allowed(self, table: ChunkTable, call: _Call, hits: int) -> NDArray[np.bool_]:
        """Return the chunks that pass the filters, as flags; the first ``hits`` have passed that of the store."""
        allowed = np.ones(len(table.documents), bool)
        if call.chunk_filter is not None:
            allowed = np.fromiter(map(call.chunk_filter, table.documents), bool, len(allowed))
            if not self._has_chunks and isinstance(call.chunk_filter, _StoreFilter):
                allowed[:hits] = True
        return allowed

    def _name(self, document: Document) -> str:
        """Return the name of a chunk's document, "" if it has none."""
        return document_name(document, self.document_key)


@dataclass(frozen=True)
class _Call:
    """The settings of one search."""

    search: Search
    search_kwargs: dict[str, Any]
    chunk_filter: _Filter | None
    k: int
    budget: int | None
    depth: int
    is_cut: bool


def _scored(store: VectorStore | None, answer: Iterable[Any]) -> _Hits:
    """Return hits with their scores; those of a retriever have none, and those of a store must."""
    pairs: _Hits = [(hit, None) for hit in answer] if store is None else list(answer)
    require(all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs), _NEEDS_SCORES, type(store).__name__)
    return pairs


@dataclass(frozen=True)
class _StoreFilter:
    """The filter of a store, for other chunks than its hits: metadata keys with their values; None passes none."""

    values: Mapping[str, Any] | None

    def __call__(self, chunk: Document) -> bool:
        return self.values is not None and all(chunk.metadata.get(key) == value for key, value in self.values.items())


def _is_filter(name: str) -> bool:
    return name in _FILTERS or "filter" in name


def _check_size(k: int | None, budget: int | None) -> None:
    require(k is None or budget is None, "k and budget must not both be given", (k, budget))
    check_sizes(k=k, budget=budget)
