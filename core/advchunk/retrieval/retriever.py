"""A retriever in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from advchunk.building.positions import DocumentPlaces, document_row
from advchunk.errors import checked
from advchunk.models.counters import TokenizerLike
from advchunk.models.embedders import EmbedderLike
from advchunk.records import Chunk
from advchunk.retrieval.base import BaseRetriever
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import PassageCutter
from advchunk.retrieval.hierarchies import ChunkHierarchy
from advchunk.retrieval.index_file import IndexedDocument, IndexFile
from advchunk.retrieval.lexical_index import LexicalIndex
from advchunk.retrieval.query_language import languages_of
from advchunk.retrieval.rankings import DEPTH, FusionMethod
from advchunk.retrieval.search import LEXICAL_WEIGHT, AnswerLength, Search, SearchedLevels, SearchMode
from advchunk.retrieval.vector_index import VectorIndex
from advchunk.text.detection import AUTO


class Retriever(BaseRetriever):
    """Finds chunks by vectors and words, over one or several levels, and re-ranks them by their neighbors, in memory.

    Chunks with vectors (``vectors=`` of every chunker) keep them; the others are embedded. A chunk with several rows is
    as similar as its best row. For chunks in a vector store, use the retrievers of `langchain_advchunk` and
    `llamaindex_advchunk`, which do the same.

    Parameters
    ----------
    chunks : the chunks of each document, by its name.
    embedder : embeds queries, and chunks without vectors: anything `models.embedders.as_embedder` accepts; None is the
        built-in default. It must be the embedder of the chunks' vectors.
    mode : "dense" searches by vectors, "lexical" by words (BM25), "hybrid" by both.
    neighbors : re-rank by neighbors (`neighbors.rerank_by_neighbors`), which says for which vectors not to.
    language : code of the language of the chunks, for the sentences of passages, and for embedders that do not know
        all; "auto" is their own.
    lexical_weight, fusion : weight of words in a hybrid search, >= 0, where vectors have 1; method (`rankings.fuse`).
    levels, answer, section_weight, merge : how chunks of several levels are searched (`search.Search`); add all levels
        of a document or corpus.
    depth : chunks taken from the search by vectors and from that by words, >= 1, of each level, and at least ``k``.
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
    """  # noqa: E501

    @checked
    def __init__(
        self,
        chunks: Mapping[str, Sequence[Chunk]] | None = None,
        *,
        embedder: EmbedderLike = None,
        mode: SearchMode = "hybrid",
        neighbors: bool = True,
        language: str = AUTO,
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
        search = Search(mode, neighbors, fusion, lexical_weight, levels, answer, section_weight, merge)
        super().__init__(search, depth, language, embedder, tokenizer, cutter)
        self._groups = dict[str, _Group]()
        self._lexical, self._lock = LexicalIndex(), Lock()  # an index of no text, which numbers the words
        self._latest: _Latest | None = None
        self.add_many({} if chunks is None else chunks, texts)

    def __len__(self) -> int:
        return sum(len(group.document.chunks) for group in [*self._groups.values()])

    @property
    def documents(self) -> list[str]:
        """The names of the documents, in the order in which they were added."""
        return list(self._groups)

    def _change(self, added: Mapping[str, IndexedDocument], removed: Iterable[str], _notes: Mapping[str, Any]) -> None:
        with self._lock:
            rows = [row for document in added.values() for row in document.rows]
            there = (group.document.rows[:1] for group in self._groups.values() if group.document.rows)
            VectorIndex([*(next(there, []) if rows else []), *rows])  # raises unless all fit
            has_languages = self._keeps_vectors and self._model.languages is not None
            groups = dict[str, _Group]()
            for name, document in added.items():
                texts = [chunk.embed_text for chunk in document.chunks]
                words = self._lexical.encode(texts) if self._search.mode != "dense" else []
                languages = " ".join(languages_of(texts, self._language) if has_languages else [])
                groups[name] = _Group(document, words, document_row(name, document.chunks, languages))
            gone = [self._groups.pop(name, None) for name in [*removed, *added]]
            self._latest = None if any(gone) else self._latest
            self._groups |= groups

    @contextmanager
    def _snapshot(self) -> Iterator[Collection[Chunk]]:
        with self._lock:
            if self._latest is None or len(self._latest.places.documents) < len(self._groups):
                self._latest = self._look()
            now = self._latest.collection
        yield now

    def _look(self) -> _Latest:
        """Return all chunks: those of the latest look, if nothing has gone since then, and those that were added."""
        none = DocumentPlaces.of([]), self._lexical, VectorIndex([]), list[Chunk](), dict[str, str](), True
        places, words, vectors, chunks, texts, is_flat = self._latest[:-1] if self._latest else none
        groups = [*islice(self._groups.values(), len(places.documents), None)]
        added = [chunk for group in groups for chunk in group.document.chunks]
        places = places.joined(DocumentPlaces.of(group.row for group in groups))
        words = words.joined(own for group in groups for own in group.words)
        vectors = vectors.joined([rows for group in groups for rows in group.document.rows])
        chunks, is_flat = [*chunks, *added], is_flat and all(chunk.parent is None for chunk in added)
        texts = texts | {group.row[0]: text for group in groups if (text := group.document.text) is not None}
        own: dict[str, Any] = {} if is_flat else {"hierarchy": ChunkHierarchy.of_chunks(chunks, places.keys)}
        collection = Collection(chunks, chunks, places.keys, places.positions, texts=texts, vectors=vectors, **own)
        collection = collection.with_words(words, lambda: places.languages)
        return _Latest(places, words, vectors, chunks, texts, is_flat, collection)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None, "_latest": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    @checked
    def save(self, path: str | Path) -> None:
        """Save all to a file, which replaces one that is there when it is complete.

        `StoredRetriever` searches the file without reading all of it. Embedder, tokenizer and cutter are not saved, but
        the name of the embedder, if it has one.

        Raises `ConfigurationError`, and leaves the file, for metadata that JSON would change, such as tuples.
        """
        documents = {name: group.document for name, group in self._groups.items()}
        settings = {
            **asdict(self._search),
            "language": self._language,
            "depth": self._depth,
            "embedder": self._model_name,
            "is_flat": all(chunk.parent is None for document in documents.values() for chunk in document.chunks),
        }
        IndexFile(Path(path)).replace(settings, documents)

    @classmethod
    @checked
    def load(
        cls,
        path: str | Path,
        *,
        embedder: EmbedderLike = None,
        tokenizer: TokenizerLike = None,
        cutter: PassageCutter | None = None,
    ) -> Self:
        """Return the retriever that `save` saved, or that has the chunks of a `StoredRetriever`.

        Raises `ConfigurationError` for none, a damaged one, or an ``embedder`` with another name than its vectors' one.
        """
        with IndexFile(Path(path)).reading() as index:
            settings, documents = index.settings, index.documents()
        made_by = settings.pop("embedder")
        settings.pop("is_flat", None)
        retriever = cls(embedder=embedder, tokenizer=tokenizer, cutter=cutter, **settings)
        retriever._check_embedder(made_by)
        retriever._change(documents, [], {})
        return retriever


class _Group(NamedTuple):
    """A document, the words of its chunks, none in a search by vectors alone, and its row of `DocumentPlaces`."""

    document: IndexedDocument
    words: list[NDArray[np.int32]]
    row: tuple[Any, ...]


class _Latest(NamedTuple):
    """All documents at one moment; ``is_flat`` if no chunk names another above it."""

    places: DocumentPlaces
    words: LexicalIndex
    vectors: VectorIndex
    chunks: list[Chunk]
    texts: dict[str, str]
    is_flat: bool
    collection: Collection[Chunk]
