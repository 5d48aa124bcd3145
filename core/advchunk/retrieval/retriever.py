"""A retriever in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np

from advchunk.engine import Job, drive
from advchunk.errors import ConfigurationError, require
from advchunk.models.atomic import open_atomic
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.models.embedders import CheckedEmbedder, EmbedderLike, as_embedder
from advchunk.models.identity import model_name, own_identity
from advchunk.models.long_texts import embed_long_texts
from advchunk.records import Chunk, Floats, Span
from advchunk.retrieval.dense import VectorIndex
from advchunk.retrieval.lexical import LexicalIndex
from advchunk.retrieval.passages import Hit, Passage, PassageOrder, assemble_passages
from advchunk.retrieval.places import Places
from advchunk.retrieval.rankings import Ranking
from advchunk.retrieval.search import LEXICAL_WEIGHT, SearchMode, combine
from advchunk.text.counters import Counter

_FORMAT = 1  # of the files
_NOT_KEPT: dict[str, Any] = {"vector": None, "rows": None, "row_spans": (), "row_texts": ()}


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
        self._chunks += [replace(chunk, **_NOT_KEPT) for chunk in chunks]
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
        """Return passages for a prompt, of at most ``budget`` >= 1 tokens in all (`passages.assemble_passages`)."""
        return assemble_passages(self._hits(self.rank(query)), budget, self._counter, order=order)

    async def apassages(self, query: str, budget: int = 1000, *, order: PassageOrder = "rank") -> list[Passage]:
        """Await `passages`, with the async method of the embedder."""
        return assemble_passages(self._hits(await self._arank(query)), budget, self._counter, order=order)

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
    def _model(self) -> CheckedEmbedder:
        return as_embedder(self._embedder)

    @property
    def _counter(self) -> Counter:
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

    def save(self, folder: str | Path) -> None:
        """Save the chunks, their vectors and the index of words to a folder, as JSON and numpy arrays, without pickle.

        The folder is made if needed. The embedder is not saved, but its name, if it has one. Raises `ConfigurationError` for
        metadata that is not JSON.
        """
        folder = Path(folder)
        self._lexical.save(folder)  # makes the folder
        settings = {
            "format": _FORMAT,
            "mode": self.mode,
            "neighbors": self.neighbors,
            "lexical_weight": self.lexical_weight,
            "embedder": self._model_name,
        }
        try:
            lines = [
                json.dumps({"document": name, **_to_dict(chunk)}, ensure_ascii=False)
                for name, chunk in zip(self._documents, self._chunks, strict=True)
            ]
        except (TypeError, ValueError) as error:
            msg = f"metadata must be JSON to be saved: {error}"
            raise ConfigurationError(msg) from error
        rows = np.concatenate(self._rows) if self._rows else np.zeros((0, 0), np.float32)
        with open_atomic(folder / "vectors.npz", "wb") as file:
            np.savez(file, rows=rows, counts=np.array(list(map(len, self._rows)), dtype=np.int64))
        with open_atomic(folder / "chunks.jsonl", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        with open_atomic(folder / "retriever.json", encoding="utf-8") as file:
            json.dump(settings, file)

    @classmethod
    def load(cls, folder: str | Path, *, embedder: EmbedderLike = None, tokenizer: TokenizerLike = None) -> Self:
        """Return the retriever that `save` saved.

        Raises `ConfigurationError` if there is none, if it is damaged, or if ``embedder`` has another name than the one that
        made the vectors.
        """
        folder = Path(folder)
        try:
            settings = json.loads((folder / "retriever.json").read_text(encoding="utf-8"))
            require(settings.pop("format") == _FORMAT, f"format must be {_FORMAT}", settings)
            made_by = settings.pop("embedder")
            retriever = cls(embedder=embedder, tokenizer=tokenizer, **settings)
            retriever._lexical = LexicalIndex.load(folder)
            for line in (folder / "chunks.jsonl").read_text(encoding="utf-8").split("\n")[:-1]:
                values = json.loads(line)
                retriever._documents.append(values.pop("document"))
                retriever._chunks.append(_from_dict(values))
            with np.load(folder / "vectors.npz", allow_pickle=False) as arrays:
                rows, counts = arrays["rows"], arrays["counts"]
            retriever._rows = np.split(rows, np.cumsum(counts)[:-1]) if len(counts) else []
            sizes = {"dense": (len(counts),), "lexical": (len(retriever._lexical),)}
            complete = {*sizes.get(retriever.mode, (len(counts), len(retriever._lexical)))} == {len(retriever)}
            require(complete and int(counts.sum()) == len(rows), "all files must be of one index", sizes)
        except (OSError, ValueError, KeyError, TypeError) as error:
            msg = f"folder must contain an index that Retriever.save saved, got {str(folder)!r} ({error})"
            raise ConfigurationError(msg) from error
        name = retriever._model_name
        require(
            name == made_by or not (name and made_by), f"embedder must be {made_by!r}, as when the index was made", name
        )
        return retriever

    @property
    def _model_name(self) -> str:
        if self.mode == "lexical":
            return ""
        return own_identity(self._model.model) or model_name(self._model.model)


def _to_dict(chunk: Chunk) -> dict[str, Any]:
    return {field.name: getattr(chunk, field.name) for field in fields(chunk) if field.name not in _NOT_KEPT}


def _from_dict(values: dict[str, Any]) -> Chunk:
    spans = {name: tuple(Span(*span) for span in values[name]) for name in ("spans", "source_spans")}
    return Chunk(**{**values, **spans})
