"""Search of chunks by vectors and words together, re-ranked by neighbors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from advchunk.engine import Job, drive
from advchunk.errors import require
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.models.embedders import EmbedderLike, as_embedder
from advchunk.models.long_texts import embed_long_texts
from advchunk.records import Chunk, Floats
from advchunk.retrieval.dense import VectorIndex
from advchunk.retrieval.lexical import LexicalIndex
from advchunk.retrieval.neighbors import rerank_by_neighbors
from advchunk.retrieval.passages import Hit, Passage, PassageOrder, assemble
from advchunk.retrieval.places import Places
from advchunk.retrieval.rankings import DEPTH, FusionMethod, Ranking, fuse

SearchMode: TypeAlias = Literal["dense", "lexical", "hybrid"]

LEXICAL_WEIGHT = 2.0
_FORMAT = 1  # of the files


def combine(
    dense: Ranking | None,
    lexical: Ranking | None,
    places: Places | None = None,
    *,
    lexical_weight: float = LEXICAL_WEIGHT,
    fusion: FusionMethod = "standardized",
    depth: int = DEPTH,
) -> Ranking:
    """Return the ranking of a query from the rankings by vectors and by words, fused, and re-ranked by neighbors.

    Raises `ConfigurationError` without a ranking.

    Parameters
    ----------
    dense, lexical : one of them may be None.
    places : of all chunks (`neighbors.rerank_by_neighbors`); None to leave neighbors out.
    lexical_weight : of the words, where vectors have 1, >= 0.
    """
    rankings = [ranking for ranking in (dense, lexical) if ranking is not None]
    require(len(rankings) > 0, "a ranking by vectors or by words must be given", rankings)
    ranking = rankings[0]
    if len(rankings) > 1:
        ranking = fuse(rankings, [1.0, lexical_weight], method=fusion, depth=depth)
    return ranking if places is None else rerank_by_neighbors(ranking, places, depth=depth)


class Retriever:
    """Finds chunks by their vectors and words, and re-ranks them by their neighbors, in memory.

    Chunks with vectors (``vectors=`` of every chunker) keep them; the others are embedded. A chunk with several rows is as
    similar as its best row. For chunks in a vector store, use the retrievers of `langchain_advchunk` and
    `llamaindex_advchunk`, which do the same.

    Parameters
    ----------
    chunks : the chunks of each document, by its name.
    embedder : of queries, and of chunks without vectors: anything `models.embedders.as_embedder` accepts; None is the
        embedded default. It must be the embedder of the chunks' vectors.
    mode : "dense" searches by vectors, "lexical" by words (BM25), "hybrid" by both.
    neighbors : re-rank by neighbors (`neighbors.rerank_by_neighbors`).
    language : of stems and stop words (`lexical.LexicalIndex`).
    lexical_weight : of the words in a hybrid search, where vectors have 1, >= 0.
    tokenizer : counts tokens for a budget (`models.counters.as_counter`); None is the embedder's own.

    >>> from advchunk import RecursiveChunker
    >>> guide = RecursiveChunker(max_tokens=8).chunk("Boil the water. Add green tea. Wait two minutes. Pour it into cups.")
    >>> retriever = Retriever({"guide.txt": guide})
    >>> [hit.chunk.text for hit in retriever.search("How long should I wait?", k=1)]
    ['Wait two minutes. ']
    >>> print(retriever.passages("How long should I wait?", budget=10)[0].citation)
    guide.txt, characters 31-67
    """

    def __init__(
        self,
        chunks: Mapping[str, Sequence[Chunk]] | None = None,
        *,
        embedder: EmbedderLike = None,
        mode: SearchMode = "hybrid",
        neighbors: bool = True,
        language: str = "en",
        lexical_weight: float = LEXICAL_WEIGHT,
        tokenizer: TokenizerLike = None,
    ) -> None:
        require(mode in get_args(SearchMode), f"mode must be one of {get_args(SearchMode)}", mode)
        require(lexical_weight >= 0, "lexical_weight must be >= 0", lexical_weight)
        self.mode, self.neighbors, self.lexical_weight = mode, neighbors, lexical_weight
        self._embedder, self._tokenizer = embedder, tokenizer
        self._chunks = list[Chunk]()
        self._documents = list[str]()
        self._rows = list[Floats]()
        self._lexical = LexicalIndex(language=language)
        for name, group in (chunks or {}).items():
            self.add(name, group)

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def documents(self) -> list[str]:
        """The names of the documents, in the order in which they were added."""
        return list(dict.fromkeys(self._documents))

    def add(self, document: str, chunks: Iterable[Chunk]) -> None:
        """Add the chunks of a document, in place of those that it has.

        Chunks of context alone, such as a title, can be found but are in no passage.
        """
        self.remove(document)
        chunks = [chunk for chunk in chunks if chunk.embed_text]
        if self.mode != "lexical":
            self._rows += self._rows_of(chunks)
        if self.mode != "dense":
            self._lexical.add(chunk.embed_text for chunk in chunks)
        self._chunks += [replace(chunk, vector=None, rows=None, row_spans=(), row_texts=()) for chunk in chunks]
        self._documents += [document] * len(chunks)
        self._forget()

    def remove(self, document: str) -> None:
        """Remove the chunks of a document, if it has any."""
        gone = {i for i, name in enumerate(self._documents) if name == document}
        if not gone:
            return
        kept = [i for i in range(len(self)) if i not in gone]
        self._chunks = [self._chunks[i] for i in kept]
        self._documents = [self._documents[i] for i in kept]
        if self.mode != "lexical":
            self._rows = [self._rows[i] for i in kept]
        if self.mode != "dense":
            self._lexical.remove(gone)
        self._forget()

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Return the ``k`` >= 1 best chunks for a query; fewer if there are no more."""
        require(k >= 1, "k must be >= 1", k)
        return self._hits(self.rank(query), k)

    async def asearch(self, query: str, k: int = 10) -> list[Hit]:
        """Await `search`, with the async method of the embedder."""
        require(k >= 1, "k must be >= 1", k)
        return self._hits(await self._arank(query), k)

    def passages(self, query: str, budget: int = 1000, *, order: PassageOrder = "rank") -> list[Passage]:
        """Return passages for a prompt, of at most ``budget`` >= 1 tokens in all (`passages.assemble`)."""
        return assemble(self._hits(self.rank(query)), budget, self._counter, order=order)

    async def apassages(self, query: str, budget: int = 1000, *, order: PassageOrder = "rank") -> list[Passage]:
        """Await `passages`, with the async method of the embedder."""
        return assemble(self._hits(await self._arank(query)), budget, self._counter, order=order)

    def rank(self, query: str) -> Ranking:
        """Return the ranking of the chunks, numbered in the order in which they were added."""
        vector = None if self.mode == "lexical" else self._model.embed([query])[0]
        return self._rank(query, vector)

    async def _arank(self, query: str) -> Ranking:
        vector = None if self.mode == "lexical" else (await self._model.aembed([query]))[0]
        return self._rank(query, vector)

    def _rank(self, query: str, vector: Floats | None) -> Ranking:
        dense = None if vector is None else self._vectors.search(vector)
        lexical = None if self.mode == "dense" else self._lexical.search(query)
        places = self._places if self.neighbors else None
        return combine(dense, lexical, places, lexical_weight=self.lexical_weight)

    def _hits(self, ranking: Ranking, k: int | None = None) -> list[Hit]:
        pairs = zip(ranking.chunks[:k].tolist(), ranking.scores[:k].tolist(), strict=True)
        return [Hit(self._chunks[i], self._documents[i], score) for i, score in pairs]

    def _rows_of(self, chunks: Sequence[Chunk]) -> list[Floats]:
        missing = [chunk.embed_text for chunk in chunks if chunk.vector is None and chunk.rows is None]
        rows = iter(np.zeros((0, 0)))
        if missing:
            (embedded,) = drive([Job(embed_long_texts(missing, self._model))])
            rows = iter(embedded)
        vectors = [chunk.vector if chunk.rows is None else chunk.rows for chunk in chunks]
        return [np.atleast_2d(next(rows) if vector is None else vector) for vector in vectors]

    @property
    def _model(self) -> Any:
        return as_embedder(self._embedder)

    @property
    def _counter(self) -> Any:
        return as_counter(self._tokenizer, self._model)

    @cached_property
    def _vectors(self) -> VectorIndex:
        return VectorIndex(self._rows)

    @cached_property
    def _places(self) -> Places:
        return Places.of(self._chunks, self._documents)

    def _forget(self) -> None:
        for name in ("_vectors", "_places"):
            self.__dict__.pop(name, None)
