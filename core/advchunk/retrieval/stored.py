"""A retriever whose chunks are in a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from advchunk.engine import Job, run_job
from advchunk.errors import checked, require
from advchunk.models.counters import TokenizerLike
from advchunk.models.embedders import EmbedderLike
from advchunk.records import Chunk
from advchunk.retrieval.base import BaseRetriever
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import PassageCutter
from advchunk.retrieval.index_file import IndexedDocument, IndexFile, StoredTexts
from advchunk.retrieval.rankings import DEPTH, FusionMethod
from advchunk.retrieval.search import LEXICAL_WEIGHT, Search, SearchMode
from advchunk.text.detection import AUTO


class StoredRetriever(BaseRetriever):
    """Finds chunks as `Retriever` does, but keeps them, their words, vectors, and texts in one file of SQLite.

    Opening it reads no chunk. Memory holds about 50 bytes a chunk, and up to 16 MB of chunks and words that were read;
    vectors are read from the file at each search by vectors. Each call of `add_many` or `remove` is written as a whole
    or, if the process is killed or the disk is full, not at all. One process writes at a time, and others wait for it;
    any number of threads and processes read meanwhile.

    The results are those of a `Retriever` with the same chunks. Chunks of several levels are refused.

    Parameters
    ----------
    path : the file; it is created if it does not exist.
    mode : as in `Retriever`; None is the mode of the file, or for a new file "hybrid", which serves the others, too.
    language : as in `Retriever`; None is the language of the file, or for a new file "auto".
    embedder : embeds queries, and chunks without vectors; the file must have been made with the same embedder.
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
        require(isinstance(path, Path) or (isinstance(path, str) and "://" not in path), "path must name a file", path)
        self._file = IndexFile(Path(path))
        kept = self._settings_of_file()
        self._mode: SearchMode = kept.get("mode") or mode or "hybrid"  # of what the file keeps
        possible = get_args(SearchMode) if self._mode == "hybrid" else (self._mode,)
        rule = f"mode must be one of {possible}, which the index was made for"
        require(mode is None or not kept or mode in possible, rule, mode)
        own_language = kept.get("language") or language or AUTO
        rule = f"language must be {own_language!r}, as when the index was made"
        require(language in (None, own_language), rule, language)
        search = Search(mode or self._mode, neighbors, fusion, lexical_weight)
        super().__init__(search, depth, own_language, embedder, tokenizer, cutter)
        if kept:
            self._check_embedder(kept["embedder"])
        else:
            self._file.create({"mode": self._mode, "language": own_language, "embedder": self._model_name})

    def _settings_of_file(self) -> dict[str, Any]:
        """Return the settings of the file; none if there is no file."""
        if not self._file.exists:
            return {}
        with self._file.reading() as index:
            kept = index.settings
        require(kept.get("is_flat", True), "chunks of a StoredRetriever must be of one level", str(self.path))
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
        with self._file.reading() as index:
            return len(index)

    @property
    def documents(self) -> list[str]:
        """The names of the documents, in the order in which they were added."""
        with self._file.reading() as index:
            return [*index.places.documents["name"]]

    @property
    def notes(self) -> dict[str, Any]:
        """The notes that are kept with the documents (`change`)."""
        with self._file.reading() as index:
            return index.notes

    @checked
    def change(
        self,
        chunks: Mapping[str, Sequence[Chunk]],
        *,
        texts: Mapping[str, str] | None = None,
        removed: Sequence[str] | Set[str] = (),
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Remove documents and add others (`add_many`), and keep notes, all at once.

        Parameters
        ----------
        notes : JSON by name, such as the time of each file that was read; None removes a note.
        """
        try:
            json.dumps(notes)
        except (TypeError, ValueError):
            require(False, "notes must be JSON", notes)
        run_job(Job(self._adding(chunks, texts, removed, notes)))

    def _change(self, added: Mapping[str, IndexedDocument], removed: Iterable[str], notes: Mapping[str, Any]) -> None:
        above = [chunk for document in added.values() for chunk in document.chunks if chunk.parent is not None]
        require(not above, "chunks of a StoredRetriever must be of one level", above[:1])
        self._file.change(added, removed, notes)

    @contextmanager
    def _snapshot(self) -> Iterator[Collection[Chunk]]:
        with self._file.reading() as index:
            places = index.places
            yield Collection(
                index,
                index,
                places.keys,
                places.positions,
                texts=StoredTexts(index),
                words=index,
                vectors=index,
                languages=lambda: places.languages if self._language == AUTO else [self._language],
            )
