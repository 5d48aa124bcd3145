"""A retriever in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np

from advchunk.engine import Job, Plan, adrive, drive
from advchunk.errors import ConfigurationError, is_integer, require
from advchunk.models.atomic import open_atomic
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.models.embedders import CheckedEmbedder, EmbedderLike, as_embedder
from advchunk.models.identity import model_name, own_identity
from advchunk.models.long_texts import embed_long_texts
from advchunk.records import Chunk, Floats, Span
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import DEPTH_TO_CUT, PassageCutter, as_cutter
from advchunk.retrieval.hierarchies import ChunkHierarchy
from advchunk.retrieval.lexical_index import LexicalIndex
from advchunk.retrieval.passages import Hit, Passage, PassageOrder
from advchunk.retrieval.positions import ChunkPositions, count_tokens
from advchunk.retrieval.rankings import DEPTH, FusionMethod, Ranking
from advchunk.retrieval.search import LEXICAL_WEIGHT, AnswerLength, Search, SearchedLevels, SearchMode
from advchunk.retrieval.vector_index import VectorIndex
from advchunk.text.counters import Counter

_FORMAT = 1  # of the files
_NOT_KEPT: dict[str, Any] = {"vector": None, "rows": None, "row_spans": (), "row_texts": ()}


class Retriever:
    """Finds chunks by their vectors and words, over one or several levels, and re-ranks them by their neighbors, in memory.

    Chunks with vectors (``vectors=`` of every chunker) keep them; the others are embedded. A chunk with several rows is as
    similar as its best row. For chunks in a vector store, use the retrievers of `langchain_advchunk` and
    `llamaindex_advchunk`, which do the same. A query without a word that is no stop word finds nothing by words.

    Parameters
    ----------
    chunks : the chunks of each document, by its name.
    embedder : of queries, and of chunks without vectors: anything `models.embedders.as_embedder` accepts; None is the
        embedded default. It must be the embedder of the chunks' vectors.
    mode : "dense" searches by vectors, "lexical" by words (BM25), "hybrid" by both.
    neighbors : re-rank by neighbors (`neighbors.rerank_by_neighbors`), which says for which vectors not to.
    language : of stems and stop words (`lexical.LexicalIndex`).
    lexical_weight, fusion : of a hybrid search (`rankings.fuse`): the weight of the words, where vectors have 1, >= 0, and the
        method.
    levels, answer, section_weight, merge : of chunks of several levels, of which all of a document or corpus are added (`search.Search`).
    depth : chunks taken from the search by vectors and from that by words, >= 1, and of several levels, from each; a search for
        more takes as many.
    texts : the texts of documents by name, from which `passages` fills gaps between chunks.
    tokenizer : counts tokens for a budget (`models.counters.as_counter`); None is the embedder's own.
    cutter : cuts the passages of `passages`; None is `PassageCutter()`.

    >>> from advchunk import RecursiveChunker
    >>> guide = RecursiveChunker(max_tokens=8).chunk("Boil the water. Add green tea. Wait two minutes. Pour it into cups.")
    >>> retriever = Retriever({"guide.txt": guide})
    >>> [hit.chunk.text for hit in retriever.search("How long should I wait?", k=1)]
    ['Wait two minutes. ']
    >>> print(retriever.passages("How long should I wait?", budget=5)[0].citation)
    guide.txt, line 1, characters 31-48
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
        fusion: FusionMethod = "standardized",
        levels: SearchedLevels = "both",
        answer: AnswerLength = "short",
        section_weight: float | None = None,
        merge: float | None = None,
        depth: int = DEPTH,
        texts: Mapping[str, str] | None = None,
        tokenizer: TokenizerLike = None,
        cutter: PassageCutter | None = None,
    ) -> None:
        self._search = Search(mode, neighbors, fusion, lexical_weight, levels, answer, section_weight, merge)
        require(is_integer(depth, 1), "depth must be a whole number >= 1", depth)
        self._depth, self._embedder, self._tokenizer = depth, embedder, tokenizer
        self._own_cutter = as_cutter(cutter)
        self._groups = dict[str, _Group]()
        self._lexical = LexicalIndex(language=language)
        self._texts = dict[str, str]()
        self.add_many({} if chunks is None else chunks, texts)

    def __len__(self) -> int:
        return len(self._collection)

    @property
    def documents(self) -> list[str]:
        """The names of the documents, in the order in which they were added."""
        return list(self._groups)

    @property
    def settings(self) -> Search:
        """The way of search."""
        return self._search

    def add(self, document: str, chunks: Sequence[Chunk], *, text: str | None = None) -> None:
        """Add the chunks of a document, in place of those that it has; ``text`` is as in ``texts``.

        Chunks of context alone, such as a title, can be found but are in no passage.
        """
        self.add_many({document: chunks}, None if text is None else {document: text})

    def add_many(self, chunks: Mapping[str, Sequence[Chunk]], texts: Mapping[str, str] | None = None) -> None:
        """Add the chunks of documents, in place of those that they have, with full batches for the embedder.

        Nothing changes if the embedder fails, if vectors have another number of dimensions than those in the index, or if a
        chunk is not the text of its spans in ``texts``, which are as those of the retriever.
        """
        groups = self._checked(chunks, texts or {})
        (rows,) = drive([Job(self._rows_of(groups))])
        self._put(groups, rows, texts or {})

    async def aadd(self, document: str, chunks: Sequence[Chunk], *, text: str | None = None) -> None:
        """Await `add`, with the async method of the embedder."""
        await self.aadd_many({document: chunks}, None if text is None else {document: text})

    async def aadd_many(self, chunks: Mapping[str, Sequence[Chunk]], texts: Mapping[str, str] | None = None) -> None:
        """Await `add_many`, with the async method of the embedder."""
        groups = self._checked(chunks, texts or {})
        rows = await anext(adrive([Job(self._rows_of(groups))]))
        self._put(groups, rows, texts or {})

    def _checked(self, chunks: Mapping[str, Sequence[Chunk]], texts: Mapping[str, str]) -> dict[str, list[Chunk]]:
        """Return the chunks of each document that can be found, with their tokens."""
        require(
            isinstance(chunks, Mapping), "chunks must be a mapping from the name of a document to its chunks", chunks
        )
        groups = {name: [chunk for chunk in group if chunk.embed_text] for name, group in chunks.items()}
        for name, text in texts.items():
            wrong = [chunk.text for chunk in groups.get(name, []) if chunk.spans and not _is_verbatim(chunk, text)]
            require(not wrong, f"texts must be those of the spans of chunks; in {name!r} they are not", wrong[:1])
        counted = iter(count_tokens([chunk for group in groups.values() for chunk in group], self._counter))
        return {name: list(islice(counted, len(group))) for name, group in groups.items()}

    def _put(self, groups: Mapping[str, Sequence[Chunk]], rows: Sequence[Floats], texts: Mapping[str, str]) -> None:
        VectorIndex([*self._rows[:1], *rows])  # raises on vectors that do not fit
        split = iter(rows)
        for name in groups:
            self.remove(name)
        for name, group in groups.items():
            kept = [replace(chunk, **_NOT_KEPT) for chunk in group]
            self._groups[name] = _Group(kept, list(islice(split, len(group))))
        if self._search.mode != "dense":
            self._lexical.add([chunk.embed_text for group in groups.values() for chunk in group])
        self._texts |= texts
        self._forget()

    def remove(self, document: str) -> None:
        """Remove a document, if it is there."""
        self._texts.pop(document, None)
        if document not in self._groups:
            return
        before = takewhile(lambda name: name != document, self._groups)
        start = sum(len(self._groups[name].chunks) for name in before)
        gone = self._groups.pop(document)
        if self._search.mode != "dense":
            self._lexical.remove(range(start, start + len(gone.chunks)))
        self._forget()

    def search(
        self, query: str, k: int = 10, *, answer: AnswerLength | None = None, highlights: bool = False
    ) -> list[Hit]:
        """Return the ``k`` >= 1 best chunks for a query, or all that are found.

        Parameters
        ----------
        answer : in place of the retriever's.
        highlights : find the sentences of each chunk that matter most for the query (`Hit.highlights`).
        """
        require(is_integer(k, 1), "k must be a whole number >= 1", k)
        return self._hits(query, self.rank(query, max(self._depth, k), answer=answer), k, highlights)

    async def asearch(
        self, query: str, k: int = 10, *, answer: AnswerLength | None = None, highlights: bool = False
    ) -> list[Hit]:
        """Await `search`, with the async method of the embedder."""
        require(is_integer(k, 1), "k must be a whole number >= 1", k)
        return self._hits(query, await self.arank(query, max(self._depth, k), answer=answer), k, highlights)

    def _hits(self, query: str, ranking: Ranking, k: int, highlights: bool) -> list[Hit]:
        hits = self._collection.hits(self._collection.first(ranking, k, self._search.merge))
        return self._cutter.highlights(query, hits) if highlights else hits

    def passages(
        self,
        query: str,
        budget: int = 1000,
        *,
        order: PassageOrder = "rank",
        answer: AnswerLength | None = None,
        whole_chunks: bool = False,
    ) -> list[Passage]:
        """Return passages for a prompt, of at most ``budget`` >= 1 tokens in all.

        They are cut for the query from the text of the best chunks and those beside them (`PassageCutter`). With
        ``whole_chunks``, and always over chunks of several levels, they are whole chunks, of which those that touch are one
        passage (`assemble_passages`).

        Parameters
        ----------
        order : "rank" sorts passages by their best sentence or chunk; "document" by their document and place.
        answer : in place of the retriever's.
        """
        ranking = self.rank(query, self._depth_to_cut, answer=answer)
        return self._passages(query, ranking, budget, order, whole_chunks)

    async def apassages(
        self,
        query: str,
        budget: int = 1000,
        *,
        order: PassageOrder = "rank",
        answer: AnswerLength | None = None,
        whole_chunks: bool = False,
    ) -> list[Passage]:
        """Await `passages`, with the async method of the embedder."""
        ranking = await self.arank(query, self._depth_to_cut, answer=answer)
        return self._passages(query, ranking, budget, order, whole_chunks)

    def _passages(
        self, query: str, ranking: Ranking, budget: int, order: PassageOrder, whole_chunks: bool
    ) -> list[Passage]:
        if whole_chunks or not self._collection.hierarchy.is_flat:
            return self._collection.passages(ranking, budget, self._counter, order, self._search.merge)
        return self._collection.cut(query, ranking, budget, self._cutter, order)

    @property
    def _depth_to_cut(self) -> int:
        return max(self._depth, DEPTH_TO_CUT)

    @cached_property
    def _cutter(self) -> PassageCutter:
        return self._own_cutter.within(self._lexical.language, self._counter)

    def rank(self, query: str, depth: int | None = None, *, answer: AnswerLength | None = None) -> Ranking:
        """Return the ranking of the chunks, numbered in the order of their documents.

        Parameters
        ----------
        depth, answer : in place of the retriever's.
        """
        search = self._search_for(query, answer)
        if search.mode == "lexical":
            return self._rank(query, None, search, depth or self._depth)
        vectors = next(drive([self._question(query)]))
        return self._rank(query, vectors, search, depth or self._depth)

    async def arank(self, query: str, depth: int | None = None, *, answer: AnswerLength | None = None) -> Ranking:
        """Await `rank`."""
        search = self._search_for(query, answer)
        if search.mode == "lexical":
            return self._rank(query, None, search, depth or self._depth)
        vectors = await anext(adrive([self._question(query)]))
        return self._rank(query, vectors, search, depth or self._depth)

    def _search_for(self, query: str, answer: AnswerLength | None) -> Search:
        require(isinstance(query, str), "query must be a string", query)
        return self._search if answer is None else replace(self._search, answer=answer)

    def _question(self, query: str) -> Job[Floats]:
        return Job(embed_long_texts([query], self._model.for_questions()))

    def _rank(self, query: str, vectors: Floats | None, search: Search, depth: int) -> Ranking:
        collection = self._collection
        most = depth if collection.hierarchy.is_flat else None  # of each level, so all
        dense = None if vectors is None else self._vectors.search(vectors[0], most)
        return collection.rank(query, dense, search, depth)

    def _rows_of(self, groups: Mapping[str, Sequence[Chunk]]) -> Plan[list[Floats]]:
        """Return the rows of each chunk, and embed those without; none for a search by words alone."""
        if self._search.mode == "lexical":
            return []
        chunks = [chunk for group in groups.values() for chunk in group]
        missing = [chunk.embed_text for chunk in chunks if chunk.vector is None and chunk.rows is None]
        rows = iter((yield from embed_long_texts(missing, self._model)) if missing else ())
        vectors = [chunk.vector if chunk.rows is None else chunk.rows for chunk in chunks]
        return [np.atleast_2d(next(rows) if vector is None else vector) for vector in vectors]

    @property
    def _model(self) -> CheckedEmbedder:
        return as_embedder(self._embedder)

    @property
    def _counter(self) -> Counter:
        return as_counter(self._tokenizer, self._model)

    @cached_property
    def _collection(self) -> Collection[Chunk]:
        chunks = [chunk for group in self._groups.values() for chunk in group.chunks]
        names = [name for name, group in self._groups.items() for _ in group.chunks]
        positions, hierarchy = ChunkPositions.of(chunks, names), ChunkHierarchy.of_chunks(chunks, names)
        collection = Collection(chunks, chunks, names, positions, texts=self._texts, hierarchy=hierarchy)
        return collection.with_words(self._lexical)

    @cached_property
    def _rows(self) -> list[Floats]:
        return [row for group in self._groups.values() for row in group.rows]

    @cached_property
    def _vectors(self) -> VectorIndex:
        return VectorIndex(self._rows)

    def _forget(self) -> None:
        for name in ("_collection", "_rows", "_vectors"):
            self.__dict__.pop(name, None)

    def save(self, folder: str | Path) -> None:
        """Save the chunks, their vectors, the index of words and the texts to a folder, as JSON and numpy arrays, not pickle.

        The folder is made if needed, and must not be read meanwhile. Embedder, tokenizer and cutter are not saved, but the name of
        the embedder, if it has one. Raises `ConfigurationError`, and writes nothing, for metadata that is not JSON.
        """
        folder = Path(folder)
        search = self._search
        settings = {
            "format": _FORMAT,
            "mode": search.mode,
            "neighbors": search.neighbors,
            "lexical_weight": search.lexical_weight,
            "fusion": search.fusion,
            "levels": search.levels,
            "answer": search.answer,
            "section_weight": search.section_weight,
            "merge": search.merge,
            "depth": self._depth,
            "embedder": self._model_name,
            "texts": self._texts,
        }
        groups = [[name, [chunk_to_dict(chunk) for chunk in group.chunks]] for name, group in self._groups.items()]
        try:
            files = {"retriever.json": json.dumps(settings), "chunks.json": json.dumps(groups)}
        except (TypeError, ValueError) as error:
            msg = f"metadata must be JSON to be saved: {error}"
            raise ConfigurationError(msg) from error
        self._lexical.save(folder)  # makes the folder
        rows = np.concatenate(self._rows) if self._rows else np.zeros((0, 0), np.float32)
        with open_atomic(folder / "vectors.npz", "wb") as file:
            np.savez(file, rows=rows, counts=np.array(list(map(len, self._rows)), dtype=np.int64))
        for name, content in files.items():
            with open_atomic(folder / name, encoding="utf-8") as file:
                file.write(content)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        embedder: EmbedderLike = None,
        tokenizer: TokenizerLike = None,
        cutter: PassageCutter | None = None,
    ) -> Self:
        """Return the retriever that `save` saved.

        Raises `ConfigurationError` if there is none, if it is damaged, or if ``embedder`` has another name than the one that
        made the vectors.
        """
        folder = Path(folder)
        try:
            settings = json.loads((folder / "retriever.json").read_text(encoding="utf-8"))
            require(settings.pop("format") == _FORMAT, f"format must be {_FORMAT}", settings)
            made_by = settings.pop("embedder")
            texts = settings.pop("texts")
            retriever = cls(embedder=embedder, tokenizer=tokenizer, cutter=cutter, **settings)
            retriever._texts = texts
            groups = json.loads((folder / "chunks.json").read_text(encoding="utf-8"))
            with np.load(folder / "vectors.npz", allow_pickle=False) as arrays:
                rows, counts = arrays["rows"], arrays["counts"]
            split = iter(np.split(rows, np.cumsum(counts)[:-1]) if len(counts) else [])
            for name, chunks in groups:
                own = [chunk_from_dict(values) for values in chunks]
                retriever._groups[name] = _Group(own, list(islice(split, len(own))))
            retriever._lexical = LexicalIndex.load(folder)
            sizes = {"dense": {len(counts)}, "lexical": {len(retriever._lexical)}}
            used = sizes.get(retriever.settings.mode, sizes["dense"] | sizes["lexical"])
            require(used == {len(retriever)} and counts.sum() == len(rows), "all files must be of one index", sizes)
        except (OSError, ValueError, KeyError, TypeError) as error:
            msg = f"folder must contain an index that Retriever.save saved, got {str(folder)!r} ({error})"
            raise ConfigurationError(msg) from error
        name = retriever._model_name
        rule = f"embedder must be {made_by!r}, as when the index was made"
        require(name == made_by or not (name and made_by), rule, name)
        return retriever

    @property
    def _model_name(self) -> str:
        if self._search.mode == "lexical":
            return ""
        return own_identity(self._model.model) or model_name(self._model.model)


@dataclass(frozen=True)
class _Group:
    """The chunks of a document, and the rows of each; none in a search by words alone."""

    chunks: list[Chunk]
    rows: list[Floats]


def _is_verbatim(chunk: Chunk, text: str) -> bool:
    return "".join(text[start:end] for start, end in chunk.spans) == chunk.text


def chunk_to_dict(chunk: Chunk) -> dict[str, Any]:
    """Return the fields of a chunk, without its vectors."""
    return {field.name: getattr(chunk, field.name) for field in fields(chunk) if field.name not in _NOT_KEPT}


def chunk_from_dict(values: dict[str, Any]) -> Chunk:
    """Return the chunk of `chunk_to_dict`, also if it was JSON."""
    spans = {name: tuple(Span(*span) for span in values[name]) for name in ("spans", "source_spans")}
    return Chunk(**{**values, **spans})
