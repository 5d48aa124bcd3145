"""A retriever whose chunks are in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, get_args, overload

import numpy as np

from advchunk.building.positions import ChunkPositions
from advchunk.engine import Job, drive
from advchunk.errors import checked, require
from advchunk.models.counters import TokenizerLike
from advchunk.models.embedders import EmbedderLike
from advchunk.models.signals import unit_rows
from advchunk.records import Chunk, Floats
from advchunk.retrieval.base import Addition, BaseRetriever, Snapshot
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import PassageCutter
from advchunk.retrieval.index_file import Connection, IndexFile, Places, StoredDocument, change
from advchunk.retrieval.lexical_index import most_texts, rarity, saturation
from advchunk.retrieval.query_language import languages_of
from advchunk.retrieval.rankings import DEPTH, FusionMethod, Ranking
from advchunk.retrieval.search import LEXICAL_WEIGHT, Search, SearchMode
from advchunk.retrieval.vector_index import similarity
from advchunk.text.detection import AUTO
from advchunk.text.search_terms import query_terms

_Item = TypeVar("_Item")
_MOST_COSINE = 1.01  # of unit vectors, with rounding


class StoredRetriever(BaseRetriever):
    """Finds chunks as `Retriever` does, but keeps chunks, words, vectors and texts in one file of SQLite, which
    outlives the process.

    Opening it reads no chunk. Memory holds about 50 bytes a chunk; vectors are read from the file at each search by
    vectors. Each call of `add_many` or `remove` is written as a whole or, if the process is killed or the disk is full,
    not at all. One process writes at a time, and others wait for it; any number of threads and processes read
    meanwhile.

    The results are those of a `Retriever` with the same chunks. Chunks of several levels are refused.

    Parameters
    ----------
    path : of the file, which is made if it is absent.
    mode : as in `Retriever`; None is that of the file, or "hybrid" if it is new, which serves the others, too.
    language : as in `Retriever`; None is that of the file, or "auto" if it is new.
    embedder : of queries, and of chunks without vectors. It must be the embedder with which the file was made.
    neighbors, lexical_weight, fusion, depth, tokenizer, cutter : as in `Retriever`.

    Raises
    ------
    ConfigurationError : the file is no index, or damaged, or was made with another mode, language or embedder.
    OSError : the file cannot be read or written now.
    """

    @checked
    def __init__(
        self,
        path: str | Path,
        *,
        embedder: EmbedderLike = None,
        mode: SearchMode | None = None,
        neighbors: bool = True,
        language: str | None = None,
        lexical_weight: float = LEXICAL_WEIGHT,
        fusion: FusionMethod = "standardized",
        depth: int = DEPTH,
        tokenizer: TokenizerLike = None,
        cutter: PassageCutter | None = None,
    ) -> None:
        require(isinstance(path, (str, Path)), "path must be that of a file", path)
        self._file = IndexFile(Path(path))
        self._cache: Places | None = None
        kept = self._settings_of_file()
        self._mode: SearchMode = kept.get("mode") or mode or "hybrid"  # of what the file keeps
        possible = get_args(SearchMode) if self._mode == "hybrid" else (self._mode,)
        rule = f"mode must be one of {possible}, which the index was made for"
        require(mode is None or not kept or mode in possible, rule, mode)
        own_language = kept.get("language") or language or AUTO
        require(
            language in (None, own_language), f"language must be {own_language!r}, as when the index was made", language
        )
        search = Search(mode or self._mode, neighbors, fusion, lexical_weight)
        super().__init__(search, depth, own_language, embedder, tokenizer, cutter)
        if kept:
            check_embedder(kept["embedder"], self._model_name)
        else:
            self._file.create({"mode": self._mode, "language": own_language, "embedder": self._model_name})

    def _settings_of_file(self) -> dict[str, Any]:
        """Return the settings of the file; none if there is no file."""
        if not self._file.exists:
            return {}
        with self._file.reading() as file:
            kept = self._file.settings(file)
        require(kept.get("is_flat", True), "chunks of a StoredRetriever must be of one level", str(self._file.path))
        return kept

    @property
    def _keeps_vectors(self) -> bool:
        return self._mode != "lexical"

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._file.path

    @property
    def _name(self) -> str:
        return f"the index in {str(self.path)!r}"

    def __len__(self) -> int:
        with self._file.reading() as file:
            return len(self._places(file).numbers)

    @property
    def documents(self) -> list[str]:
        """The names of the documents, in the order in which they were added."""
        with self._file.reading() as file:
            return list(self._places(file).names)

    @property
    def notes(self) -> dict[str, Any]:
        """The notes that are kept with the documents (`change`)."""
        with self._file.reading() as file:
            return self._file.notes(file)

    @checked
    def change(
        self,
        chunks: Mapping[str, Sequence[Chunk]],
        *,
        texts: Mapping[str, str] | None = None,
        removed: Iterable[str] = (),
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Remove documents and add others (`add_many`), and keep notes, all at once.

        Parameters
        ----------
        notes : JSON by name, such as the time of each file that was read; None removes a note.
        """
        next(drive([Job(self._adding(chunks, texts, removed, notes))]))

    def _change(self, added: Mapping[str, Addition], removed: Iterable[str], notes: Mapping[str, Any]) -> None:
        above = [chunk for addition in added.values() for chunk in addition.chunks if chunk.parent is not None]
        require(not above, "chunks of a StoredRetriever must be of one level", above[:1])
        documents = [to_stored(name, addition, self._mode, self._language) for name, addition in added.items()]
        widths = {row.shape[1] for document in documents for row in document.rows}
        with self._file.writing() as file:
            widths |= {self._file.width(file)} - {0}
            require(len(widths) <= 1, "vectors must have the dimensions of those in the index", sorted(widths))
            change(file, documents, removed, notes)

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot]:
        with self._file.reading() as file:
            places = self._places(file)
            source = _Source(self._file, file, places)
            positions = ChunkPositions(places.documents, places.middles)
            chunks, keys = _Lazy(source.chunk, len(places.numbers)), _Lazy(source.key, len(places.numbers))
            words: Any = _Words(source)
            languages = partial(self._file.languages, file) if self._language == AUTO else (lambda: [self._language])
            options: dict[str, Any] = {"texts": _Texts(source), "words": words, "languages": languages}
            yield Snapshot(
                Collection(chunks, chunks, keys, positions, **options),
                _Vectors(source),
            )

    def _places(self, file: Connection) -> Places:
        cached = self._cache
        if cached is None or cached.changes != self._file.changes(file):
            cached = self._cache = self._file.places(file)
        return cached


class _Source:
    """A file that is open to read, with the places of its chunks."""

    def __init__(self, index: IndexFile, file: Connection, places: Places) -> None:
        self.index, self.file, self.places = index, file, places

    def chunk(self, place: int) -> Chunk:
        """Return a chunk."""
        return self.index.chunk(self.file, int(self.places.numbers[place]))

    def key(self, place: int) -> str:
        """Return the name of the document of a chunk."""
        return self.places.names[int(self.places.documents[place])]


class _Lazy(Sequence[_Item]):
    """Items that are read when they are asked for, once."""

    def __init__(self, read: Callable[[int], _Item], length: int) -> None:
        self._read, self._length = cache(read), length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> _Item: ...
    @overload
    def __getitem__(self, place: slice) -> list[_Item]: ...
    def __getitem__(self, place: int | slice) -> _Item | list[_Item]:
        return list(map(self._read, range(len(self))[place])) if isinstance(place, slice) else self._read(place)


class _Texts(Mapping[str, str]):
    """The texts of the documents that have one, read when they are asked for."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def __getitem__(self, name: str) -> str:
        text = self._source.index.text(self._source.file, name)
        if text is None:
            raise KeyError(name)
        return text

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._source.places.names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Words:
    """Scores chunks by their words, as `LexicalIndex` does."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def __len__(self) -> int:
        return len(self._source.places.numbers)

    def scores(self, query: str) -> Floats:
        """Return the score of each chunk for a query, 0 without a common term: (n,)."""
        places, scores = self._source.places, np.zeros(len(self))
        if not len(self):
            return scores
        index, mean = self._source.index, float(places.words.mean())
        for term, weight in query_terms(query).items():
            numbers, counts = index.occurrences(self._source.file, term, most_texts(weight, len(self)))
            chunks = np.minimum(np.searchsorted(places.numbers, numbers), len(self) - 1)
            index.check(np.array_equal(places.numbers[chunks], numbers), "its words are damaged")
            rare = float(rarity(np.array(len(chunks)), len(self)))
            scores[chunks] += weight * rare * saturation(counts, places.words[chunks], mean)
        return scores


class _Vectors:
    """Ranks chunks by the cosine of a query and their best row, as `VectorIndex` does."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def search(self, query: Floats, depth: int | None = DEPTH) -> Ranking:
        """Return the chunks most similar to a (d,) query vector, at most ``depth`` >= 1."""
        direction = unit_rows(query[None].astype(np.float32))[0]
        index, parts = self._source.index, list[Floats]()
        for counts, rows in index.vectors(self._source.file):
            with np.errstate(over="ignore", invalid="ignore"):
                cosines = similarity(rows, direction)
            index.check(bool((np.abs(cosines) < _MOST_COSINE).all()), "its vectors are damaged")
            parts.append(np.maximum.reduceat(cosines, np.cumsum([0, *counts[:-1]])))
        scores = np.concatenate(parts) if parts else np.zeros(0)
        index.check(len(scores) == len(self._source.places.numbers), "it lacks vectors of chunks")
        return Ranking.from_scores(scores, depth)


def to_stored(name: str, addition: Addition, mode: SearchMode, language: str) -> StoredDocument:
    """Return a document as it is written."""
    texts = [chunk.embed_text for chunk in addition.chunks]
    languages = tuple(languages_of(texts)) if mode == "hybrid" and language == AUTO else ()
    rows = [unit_rows(row.astype(np.float32)) for row in addition.rows]
    return StoredDocument(name, addition.chunks, rows, addition.text, languages)


def check_embedder(made_by: str, name: str) -> None:
    """Raise `ConfigurationError` if an embedder has another name than the one with which an index was made."""
    rule = f"embedder must be {made_by!r}, as when the index was made"
    require(name == made_by or not (name and made_by), rule, name)
