"""Retrieval from any vector store of LangChain by vectors and words, re-ranked by neighbors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from itertools import repeat
from typing import Any

import numpy as np
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, SkipValidation

from advchunk.errors import ConfigurationError, is_integer, require
from advchunk.models.counters import as_counter
from advchunk.models.embedders import CheckedEmbedder, as_embedder
from advchunk.retrieval import Hit, LexicalIndex, PassageCutter, Ranking
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import DEPTH_TO_CUT, as_cutter
from advchunk.retrieval.neighbors import FARTHEST
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.query_language import Languages, fit_to_language
from advchunk.retrieval.rankings import DEPTH, FusionMethod
from advchunk.retrieval.search import LEXICAL_WEIGHT, AnswerLength, Search, SearchedLevels, SearchMode
from advchunk.retrieval.surroundings import CheckedSurroundings, Neighborhood, characters_of
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import Counter
from advchunk.text.detection import AUTO
from langchain_advchunk.collection import (
    PLAIN,
    UNPLACED,
    ChunkTable,
    document_name,
    in_reading_order,
    read_chunks,
    read_hits,
    read_scores,
    sort_key,
    to_document,
    to_hit,
    to_result,
)
from langchain_advchunk.settings import CheckedModel
from langchain_advchunk.surroundings import AnySource, can_find, surroundings_of

_K = 5
_ROWS = 4  # times more rows (sentences) than chunks are asked for
_LEVELS = 2  # times more chunks of several levels than of each are asked for
_FILTERED = 10  # times more chunks than are asked for are filtered, if a store filters only what it found
_FILTERS = {"expr", "namespace", "partition_names", "tenant", "where", "where_document"}  # and *filter*

_Hits = list[tuple[Document, float | None]]


class AdvchunkRetriever(CheckedModel, BaseRetriever):
    """Retrieves chunks from any vector store, by vectors and words, and re-ranks them by their neighbors.

    The chunks may be those of any splitter, and an existing store is used as it is::

        retriever = AdvchunkRetriever(vectorstore=store)                 # re-ranks the hits of the store
        retriever = AdvchunkRetriever(vectorstore=store, chunks=chunks)  # adds words

    The first ``depth`` hits are re-ranked by their neighbors, and a chunk beside good hits is found even if it does not match
    the query itself (`advchunk.retrieval.rerank_by_neighbors`). These are asked of the store, with one call for a query, if it is
    an `InMemoryVectorStore`, `Chroma` or `QdrantVectorStore`, or else of ``texts``, such as `StoreChunks`; without, hits are
    re-ranked among themselves. With the chunks that were indexed, they are also searched by their words (BM25). The index of words is built at once, and does not follow the
    store: make a new retriever when chunks were added, changed or removed. Hits that are not among the chunks, or have another
    text there, are ranked in place of them, with a warning in the log; such rows (sentences) are left out.

    The place of a chunk in its document is read from our metadata (`chunk_spans`), or else from ``start_index``, which
    LangChain's splitters add with ``add_start_index=True``. Other chunks are located exactly in ``texts``, or else, with
    ``chunks``, are in the order in which they are passed; a warning in the log says so. A hit without a place, or without
    the name of a document, has no neighbors but those that it overlaps. LangChain's ``index`` leaves the ``start_index`` of
    chunks that only moved as it was: pass ``chunks`` or ``texts`` then.

    Results are the chunks as they were passed or, without ``chunks``, as the store returns them. Their metadata has two more
    values: ``relevance_score``, comparable within one search only, and ``citation``, such as
    "guide.md, Guide > Install, lines 9-14, characters 120-480"; a key that the metadata has already is preceded by
    ``advchunk_``. With a ``budget``, results are passages, which are cut for the query from the first chunks and what is known
    beside them (`advchunk.retrieval.PassageCutter`). No text occurs twice in them. Their metadata is that of the first chunk, with
    ``token_count``, ``chunk_ids``, the ids of the chunks that they are from, and, if their places are known, ``start_index``,
    ``end_index``, and ``spans`` if there are several. ``page_content`` begins with the headings above, which are not in these places.

    Over the chunks of several levels, such as those of `HierarchicalSplitter` or `GraphRAGSplitter`, sections score with the chunks
    in them (``levels``, ``answer``, ``merge``). Pass those of all levels as ``chunks``, or a ``docstore`` with them, which is read
    at once; links are read from ``parent_id``. In the store, those that should be searched by vectors: all, or the leaves alone,
    and sections then score by their words.

    Do not use ``neighbors`` with vectors that include the context of chunks already (``split_with_vectors`` with "context").
    The arguments of ``invoke`` and ``ainvoke`` may replace ``k``, ``budget``, ``answer`` and ``chunk_filter``; all others are added to
    ``search_kwargs``: ``retriever.invoke(query, filter={"source": "guide.md"})``. Parameters cannot be assigned;
    ``retriever.model_copy(update={"chunks": chunks})`` returns a retriever with others.

    Parameters
    ----------
    vectorstore : any vector store whose ``similarity_search_with_score`` returns similarities or distances.
    retriever : any other retriever, in place of the vector store; it returns as many chunks as it is set to.
    score_key : key of the scores in the metadata of a ``retriever``'s results; None if only their order counts.
    chunks : the chunks that were indexed, each document's in reading order.
    mode : "dense" searches by vectors, "lexical" by words, which needs only ``chunks``, "hybrid" by both; None is "hybrid"
        with ``chunks``, "lexical" with nothing else, "dense" without them.
    neighbors : re-rank by neighbors.
    k : chunks to return, >= 1; None is 5.
    budget : tokens of all results, >= 1; returns passages instead of ``k`` chunks.
    order : of passages: "rank", or "document" for reading order.
    whole_chunks : passages are whole chunks, of which those that touch are one passage, as always over chunks of several levels
        (`advchunk.retrieval.assemble_passages`).
    cutter : cuts passages; None is ``PassageCutter()``. What it leaves open is the retriever's ``language`` and ``length_function``.
    lexical_weight, fusion : of a hybrid search: the weight of the words, where vectors have 1, >= 0, and how the scores are
        combined: "standardized" or "reciprocal" (`advchunk.retrieval.fuse`).
    levels : of chunks of several levels: "both" ranks the leaves, by their own scores and those of their sections; "local" by
        their own alone; "global" ranks sections or communities, and divides those over the ``budget`` into leaves.
    answer, section_weight : of "both": "short" expects answers of a sentence or two, "long" those that take a whole section, and gives sections
        more weight: ``section_weight``, where leaves have 1; None is .6, and 1.5 for "long" (`advchunk.retrieval.Search`).
    merge : a section takes the place of the leaves in it that were found if they have more than this share of its text, between
        0 and 1; None never merges. There may then be fewer results than ``k``.
    language : code of the language of the texts, such as "en", for the sentences of passages, and for embedders that do not know
        all; "auto" is their own.
    depth : chunks that are taken from the store and from the search by words, >= 1, and at least ``k``, or 200 with a ``budget``;
        of rows, four times as many, and of several levels twice as many.
    search_kwargs : arguments for the vector store or retriever, such as ``filter``; ``k`` is not one for a store, see
        ``depth``. A filter also restricts words and neighbors. Metadata keys with their values, such as
        ``{"source": "guide.md"}``, are applied to ``chunks`` as well; for any other filter, pass the same as ``chunk_filter``.
    chunk_filter : returns True for a chunk that may be returned. A filter for the store that is not metadata keys with values needs
        it for the text around hits.
    id_key : for a store of rows, such as the sentences of `AdvchunkSplitter.split_with_rows`: the metadata key of the id of
        a row's chunk, such as "doc_id". A chunk ranks by its best row. It is looked up in ``chunks``, or in ``docstore``.
    docstore : the chunks by their id, as in LangChain's ``MultiVectorRetriever``. Without an ``id_key``, they are read at once, in
        place of ``chunks``.
    document_key : metadata key of the name of a chunk's document, or a function that returns the name; None is the first of
        "source", "document_id", "doc_id" and "file_path". Chunks with one name and, from another splitter, one ``page`` must
        count ``start_index`` from the same text; with ``chunks``, several such texts may follow each other.
    texts : the texts of documents by their names, in which ``chunks`` are located, or else hits, and the text around these: a
        mapping, a function that returns None for a name that it does not know, the path of a folder, a ``BaseStore`` of strings or
        documents, a vector store (`StoreChunks`), any `advchunk.retrieval.Surroundings`, or several of these. None asks the
        vector store, and {} nothing.
    length_function : counts tokens, as in the splitters; None uses the tokenizer of the store's embeddings, else the embedded
        WordPiece.

    Raises
    ------
    ConfigurationError : parameters are out of range or contradict each other.

    >>> from langchain_advchunk import DefaultEmbeddings, RecursiveSplitter
    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> guide = Document("Boil the water. Add green tea. Wait two minutes. Pour it into cups.", metadata={"source": "guide"})
    >>> chunks = RecursiveSplitter(max_tokens=8).split_documents([guide])
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
    score_key: str | None = None
    chunks: Sequence[Document] | None = Field(default=None, repr=False)
    mode: SearchMode | None = None
    neighbors: bool = True
    k: SkipValidation[int | None] = None
    budget: SkipValidation[int | None] = None
    order: PassageOrder = "rank"
    whole_chunks: bool = False
    cutter: Any = None
    lexical_weight: float = LEXICAL_WEIGHT
    fusion: FusionMethod = "standardized"
    levels: SearchedLevels = "both"
    answer: AnswerLength = "short"
    section_weight: SkipValidation[float | None] = None
    merge: SkipValidation[float | None] = None
    language: str = AUTO
    depth: SkipValidation[int] = DEPTH
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    chunk_filter: Callable[[Document], bool] | None = None
    id_key: str | None = None
    docstore: BaseStore[str, Document] | None = None
    document_key: str | Callable[[Document], str] | None = None
    texts: SkipValidation[AnySource | None] = Field(default=None, repr=False)
    length_function: Any = None

    _collection: Collection[Document] = PrivateAttr()
    _table: ChunkTable = PrivateAttr()
    _cutter: PassageCutter = PrivateAttr()
    _surroundings: CheckedSurroundings = PrivateAttr()
    _warnings: WarningLog = PrivateAttr(default_factory=WarningLog)

    def __init__(self, **kwargs: Any) -> None:
        """Take the parameters that the class documents."""
        super().__init__(**kwargs)
        self._check()
        chunks = self._chunks()
        self._surroundings = self._read_from()
        documents = {self._name(chunk): chunk for chunk in chunks}.values()
        texts = self._surroundings.read((to_hit(chunk, self._name) for chunk in documents), 0).texts
        self._collection = read_chunks(chunks, self._name, self._counter, texts)
        self._table = ChunkTable(self._collection, self._name)
        if self._mode != "dense":
            contents = [chunk.page_content for chunk in self._collection.items]
            words, languages = LexicalIndex(contents), Languages(contents, self.language)
            self._collection = self._collection.with_words(words, languages)
            words.scores("")  # makes the matrix of all words before the first search
        self._cutter = as_cutter(self.cutter).within(self.language, self._counter)
        self._cutter.cut("", ())  # loads the tokenizer at once, and in one thread

    def _check(self) -> None:
        sources = [source for source in (self.vectorstore, self.retriever) if source is not None]
        require(len(sources) < 2, "vectorstore and retriever must not both be given", sources)
        require(self._has_chunks or bool(sources), "vectorstore, retriever or chunks must be given", None)
        rule = "mode must be 'lexical' without a vectorstore or retriever, and 'dense' without chunks"
        fits = (self._mode == "lexical" or bool(sources)) and (self._mode == "dense" or self._has_chunks)
        require(fits, rule, self._mode)
        _check_size(self.k, self.budget)
        require(is_integer(self.depth, 1), "depth must be a whole number >= 1", self.depth)
        _ = self._search  # raises if they are out of range
        require(self.score_key is None or self.retriever is not None, "score_key needs a retriever", self.score_key)
        has_chunks = self.id_key is None or self.chunks is not None or self.docstore is not None
        require(has_chunks, "id_key needs chunks or a docstore", self.id_key)
        rule = "docstore must be given with id_key, or in place of chunks"
        require(self.docstore is None or self.id_key is not None or self.chunks is None, rule, self.id_key)
        self._conditions(self.search_kwargs, self.chunk_filter)  # raises if a filter cannot be applied to chunks
        _ = self._counter  # raises on anything else

    @property
    def _has_chunks(self) -> bool:
        """True if the chunks that were indexed are known."""
        return self.chunks is not None or (self.docstore is not None and self.id_key is None)

    def _chunks(self) -> Sequence[Document]:
        if self.chunks is not None or self.docstore is None or self.id_key is not None:
            return self.chunks or []
        documents = self.docstore.mget([*self.docstore.yield_keys()])
        return in_reading_order([document for document in documents if document is not None], self._name)

    @property
    def _mode(self) -> SearchMode:
        if self.mode is None and self._has_chunks:
            return "lexical" if self.vectorstore is None and self.retriever is None else "hybrid"
        return self.mode or "dense"

    @property
    def _search(self) -> Search:
        for name in ("section_weight", "merge"):
            value = getattr(self, name)
            require(value is None or isinstance(value, (int, float)), f"{name} must be a number or None", value)
        names = ("neighbors", "fusion", "lexical_weight", "levels", "answer", "section_weight", "merge")
        return Search(self._mode, **{name: getattr(self, name) for name in names})

    @property
    def _counter(self) -> Counter:
        return as_counter(self.length_function, self._embeddings)

    @property
    def _embeddings(self) -> Any:
        """The embeddings of the store: of the several that LangChain's Milvus has for vectors and words, the dense ones."""
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
        hits: _Hits = []
        if self._mode == "lexical":
            pass
        elif self.vectorstore is not None:
            with _requiring_scores(self.vectorstore):
                hits = _pairs(self.vectorstore.similarity_search_with_score(query, **call.search_kwargs))
        elif self.retriever is not None:
            config = RunnableConfig(callbacks=run_manager.get_child())
            hits = self._scored(self.retriever.invoke(query, config, **call.search_kwargs))
        if self.id_key and self.docstore is not None and not self._has_chunks:
            hits = self._chunks_of(hits, self.docstore.mget(self._row_ids(hits)))
        return self._respond(query, hits, call, self._surroundings.read(*self._around(hits, call)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        call = self._call(kwargs)
        hits: _Hits = []
        if self._mode == "lexical":
            pass
        elif self.vectorstore is not None:
            with _requiring_scores(self.vectorstore):
                hits = _pairs(await self.vectorstore.asimilarity_search_with_score(query, **call.search_kwargs))
        elif self.retriever is not None:
            config = RunnableConfig(callbacks=run_manager.get_child())
            hits = self._scored(await self.retriever.ainvoke(query, config, **call.search_kwargs))
        if self.id_key and self.docstore is not None and not self._has_chunks:
            hits = self._chunks_of(hits, await self.docstore.amget(self._row_ids(hits)))
        around = await self._surroundings.aread(*self._around(hits, call))
        return await asyncio.to_thread(self._respond, query, hits, call, around)

    def _read_from(self) -> CheckedSurroundings:
        """Return the source of the text around hits: ``texts``, or else the store, if it can say so of its chunks."""
        source, store = self.texts, self.vectorstore
        if source is None and store is not None and not self._has_chunks and self.id_key is None and can_find(store):
            by_key = not callable(self.document_key) or isinstance(store, InMemoryVectorStore)
            source = store if by_key else None
        return surroundings_of(source, self.document_key, self._warnings)

    def _around(self, hits: _Hits, call: _Call) -> tuple[list[Hit], float]:
        """Return the hits around which texts and chunks are read, and how far; chunks that are known have been located already."""
        tokens = (FARTHEST if self.neighbors else 0) + (self._cutter.around if call.is_cut else 0)
        if self._has_chunks or (self.texts is None and (not tokens or call.conditions is None)):
            return [], 0
        own_hits = [to_hit(hit, self._name) for hit, _ in hits]
        return own_hits, characters_of(tokens, own_hits, self._counter)

    def _call(self, kwargs: dict[str, Any]) -> _Call:
        """Return the settings of one search, from the retriever's own and those of `invoke`."""
        k, budget, chunk_filter, answer = (kwargs.pop(name, None) for name in ("k", "budget", "chunk_filter", "answer"))
        _check_size(k, budget)
        search = self._search if answer is None else replace(self._search, answer=answer)
        if k is None and budget is None:
            k, budget = self.k, self.budget
        if chunk_filter is None and not any(map(_is_filter, kwargs)):
            chunk_filter = self.chunk_filter
        k = k or _K
        depth = max(self.depth, DEPTH_TO_CUT if budget else k)
        search_kwargs = self.search_kwargs | kwargs
        conditions = self._conditions(search_kwargs, chunk_filter)
        is_cut = budget is not None and not self.whole_chunks
        if self.vectorstore is not None:
            search_kwargs = self._sizes(self.vectorstore, search_kwargs, depth) | search_kwargs
        return _Call(search, search_kwargs, conditions, chunk_filter, k, budget, depth, is_cut)

    def _sizes(self, store: VectorStore, search_kwargs: Mapping[str, Any], depth: int) -> dict[str, int]:
        """Return the number of chunks or rows to find and, if the store filters only what it found, to filter."""
        size = depth * (_ROWS if self.id_key else 1) * (1 if self._collection.hierarchy.is_flat else _LEVELS)
        parameters = signature(store.similarity_search_with_score).parameters
        filters_after = "fetch_k" in parameters and any(map(_is_filter, search_kwargs))
        return {"k": size} | ({"fetch_k": _FILTERED * size} if filters_after else {})

    def _conditions(
        self, search_kwargs: Mapping[str, Any], chunk_filter: Callable[[Document], bool] | None
    ) -> Mapping[str, Any] | None:
        """Return the metadata that chunks must have, by the filter for the store, unless ``chunk_filter`` decides.

        None if the filter cannot be applied to chunks around hits.
        """
        rule = "search_kwargs of a vectorstore must not have 'k': k is the number of results, and depth that of the store's hits"
        require(self.vectorstore is None or "k" not in search_kwargs, rule, search_kwargs)
        own = self.retriever.search_kwargs if isinstance(self.retriever, VectorStoreRetriever) else {}
        filters = {name: value for name, value in (own | dict(search_kwargs)).items() if _is_filter(name) and value}
        if chunk_filter is not None or not filters:
            return {}
        conditions: Mapping[str, Any] = filters["filter"] if isinstance(filters.get("filter"), Mapping) else {}
        is_plain = len(filters) == 1 and conditions and all(isinstance(value, PLAIN) for value in conditions.values())
        rule = "chunk_filter must be given with chunks and a filter that is not a mapping of metadata keys to values"
        require(bool(is_plain) or not self._has_chunks, rule, filters)
        return conditions if is_plain else None

    def _scored(self, documents: Iterable[Document]) -> _Hits:
        documents = list(documents)
        scores = read_scores(documents, self.score_key) or repeat(None, len(documents))
        return list(zip(documents, scores, strict=True))

    def _row_ids(self, hits: _Hits) -> list[str]:
        missing = [row.metadata for row, _ in hits if self.id_key not in row.metadata]
        require(not missing, f"the metadata of rows must have the id_key {self.id_key!r}", missing[:1])
        return [row.metadata[self.id_key] for row, _ in hits]

    def _chunks_of(self, hits: _Hits, chunks: Sequence[Document | None]) -> _Hits:
        """Return the chunks of rows in place of them, each once."""
        best = dict[str, tuple[Document, float | None]]()
        for name, (_, score), chunk in zip(self._row_ids(hits), hits, chunks, strict=True):
            if chunk is None:
                self._warnings.warn("docstore", "left out the rows of chunks that the docstore lacks, such as %s", name)
            else:
                best.setdefault(name, (chunk, score))
        return list(best.values())

    def _respond(self, query: str, hits: _Hits, call: _Call, around: Neighborhood) -> list[Document]:
        """Return the results of a search from the hits of the store, and the text around them."""
        search = call.search
        if self._model is not None:
            search = fit_to_language(search, query, self._collection.languages, self._model, self._warnings)
        if search.mode == "lexical":
            hits = []
        collection, dense = self._rank(hits, call, around)
        ranking = collection.rank(query, dense, search, call.depth)
        if call.budget is None:
            passages = collection.results(collection.first(ranking, call.k, self.merge))
            return [to_result(passage, collection.items[passage.hits[0].chunk.index]) for passage in passages]
        if self.whole_chunks or not collection.hierarchy.is_flat:
            passages = collection.passages(ranking, call.budget, self._counter, self.order, self.merge)
        else:
            passages = collection.cut(query, ranking, call.budget, self._cutter, self.order)
        return list(map(to_document, passages))

    def _rank(self, hits: _Hits, call: _Call, around: Neighborhood) -> tuple[Collection[Document], Ranking]:
        """Return the chunks, with the hits that are not among them, and the ranking of the hits."""
        collection = replace(self._collection, allowed=self._allowed(self._table, call, 0))
        if self._has_chunks and self.id_key is not None:
            numbers = [self._table.number_of_id(name) for name in self._row_ids(hits)]
        else:
            numbers = self._table.numbers_of([hit for hit, _ in hits])
        missing = [i for i, number in enumerate(numbers) if number is None]
        if missing and self._has_chunks:
            reason = "%d of %d hits are not among the chunks, or have another text there, such as %r: make a new retriever with those of the store"
            self._warnings.warn("chunks", reason, len(missing), len(hits), hits[missing[0]][0].page_content[:60])
        if self._has_chunks and self.id_key is not None:  # a row alone is not a chunk
            hits = [hit for hit, number in zip(hits, numbers, strict=True) if number is not None]
        elif missing:
            missing.sort(key=lambda i: sort_key(hits[i][0], self._name))  # so that all stores answer alike
            others, alone = read_hits([hits[i][0] for i in missing], self._name, self._counter, around)
            if (self.neighbors or call.budget) and not self._has_chunks and alone:
                self._warnings.warn("places", UNPLACED, alone, len(hits))
            for number, i in enumerate(missing, len(collection)):
                numbers[i] = number
            others = replace(others, allowed=self._allowed(ChunkTable(others, self._name), call, len(missing)))
            collection = collection.joined(others, self._table.stale(others.items))
        return collection, Ranking.from_hits([number for number in numbers if number is not None], _scores(hits))

    def _allowed(self, table: ChunkTable, call: _Call, hits: int) -> NDArray[np.bool_]:
        """Return the chunks that pass the filters, as flags; the first ``hits`` have passed that of the store."""
        allowed = table.having(call.conditions or {})
        if call.conditions is None:
            allowed[:] = False
        if not self._has_chunks:
            allowed[:hits] = True
        if call.chunk_filter is not None:
            allowed &= np.fromiter(map(call.chunk_filter, table.documents), bool, len(allowed))
        return allowed

    def _name(self, document: Document) -> str:
        """Return the name of a chunk's document, "" if it has none."""
        return document_name(document, self.document_key)


@dataclass(frozen=True)
class _Call:
    """The settings of one search."""

    search: Search
    search_kwargs: dict[str, Any]
    conditions: Mapping[str, Any] | None
    chunk_filter: Callable[[Document], bool] | None
    k: int
    budget: int | None
    depth: int
    is_cut: bool


@contextmanager
def _requiring_scores(store: VectorStore) -> Iterator[None]:
    """Raise `ConfigurationError` if a store has no search with scores."""
    try:
        yield
    except NotImplementedError as error:
        rule = "a vectorstore must search with scores; for one that cannot, pass retriever=store.as_retriever()"
        msg = f"{rule}, got {type(store).__name__}"
        raise ConfigurationError(msg) from error


def _pairs(hits: Iterable[tuple[Document, float]]) -> _Hits:
    """Return the hits of a store; raise `NotImplementedError` if they are documents without scores."""
    pairs: _Hits = list(hits)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise NotImplementedError
    return pairs


def _is_filter(name: str) -> bool:
    return name in _FILTERS or "filter" in name


def _check_size(k: int | None, budget: int | None) -> None:
    require(k is None or budget is None, "k and budget must not both be given", (k, budget))
    require(k is None or is_integer(k, 1), "k must be a whole number >= 1 or None", k)
    require(budget is None or is_integer(budget, 1), "budget must be a whole number >= 1 or None", budget)


def _scores(hits: _Hits) -> list[float] | None:
    scores = [score for _, score in hits]
    return None if None in scores else scores  # type: ignore[return-value]
