"""A retriever in step with files: those that have changed are read again, and those that are gone are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from advchunk.chunkers.base import Chunker
from advchunk.chunkers.sources import SourceChunker, SourceResult, SourceRun, enrich_and_convert, keep_all, read_source
from advchunk.engine.runner import Failure
from advchunk.errors import require
from advchunk.readers.sources import Inventory
from advchunk.readers.writing import Content
from advchunk.records import Chunk, Document
from advchunk.retrieval.locating import is_verbatim
from advchunk.retrieval.retriever import Retriever
from advchunk.retrieval.stored import StoredRetriever

_BATCH = 5_000  # chunks that are written at once


@dataclass(frozen=True)
class FileReader:
    """Reads files and chunks them; with another ``version`` of the program, all files are read again.

    ``by_name`` says whether a file's format follows from its name; ``encoding``, ``content``, ``hidden`` and ``links``
    are as in `readers.files.read_file`; ``read`` returns the documents of a source (`chunkers.sources.read_source`);
    ``progress`` wraps the names of files as they are read.
    """

    chunker: Chunker
    by_name: bool = True
    encoding: str | None = None
    content: Content = "all"
    hidden: bool = False
    links: bool = False
    enricher: Any = None
    read: Callable[..., list[Document]] = read_source
    progress: Callable[[Sequence[str]], Any] = list
    version: str = ""

    @property
    def settings(self) -> list[Any]:
        """JSON that changes when the chunks of a file may change."""
        own = [self.enricher.fingerprint()] if self.enricher else []
        return [self.version, self.chunker.fingerprint(), self.by_name, *self._options.values(), *own]

    @property
    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("encoding", "content", "hidden", "links")}

    def results(
        self, names: Sequence[str], inventory: Inventory, convert: Callable[[Document, list[Chunk], float], Any]
    ) -> Iterator[tuple[str, SourceResult]]:
        """Yield each file with its result, or with that of each document in a file of documents or archive. ``convert``
        makes what is kept of a document and its chunks.
        """
        chunker = SourceChunker(self.chunker, convert, partial(self.read, by_name=self.by_name, **self._options))
        for index, _, result in SourceRun(chunker, self.progress(names), inventory).results():
            yield names[index], result


def _keep(document: Document, chunks: list[Chunk], _: float) -> tuple[list[Chunk], str | None]:
    """Return the chunks of a document, and its text if chunks are of it and its layout can be read in it."""
    is_source = not document.markup and all(is_verbatim(chunk, document.text) for chunk in chunks)
    return chunks, document.text if is_source else None


@dataclass(frozen=True)
class FileCounts:
    """The result of `Library.read`: numbers of files; and failures, each a file or document with its error."""

    unchanged: int
    read: int
    removed: int
    failures: list[tuple[str, Exception | str]]


class Library:
    """A retriever and the files that it has read; with a `StoredRetriever`, only changed files are read again."""

    def __init__(self, retriever: Retriever | StoredRetriever) -> None:
        self.retriever = retriever
        notes = retriever.notes if isinstance(retriever, StoredRetriever) else {}
        self._files = {name: note for name, note in notes.items() if isinstance(note, dict) and "documents" in note}
        self._owners = {name: place for place, note in self._files.items() for name in note["documents"]}

    def read(
        self,
        reader: FileReader,
        files: Sequence[str],
        inventory: Inventory,
        folders: Iterable[str | PathLike[str]] = (),
    ) -> FileCounts:
        """Read those of ``files`` that have changed; forget files in ``folders`` that are not among them any more."""
        rule = "an index must be of a method with chunks of one level"
        is_stored = isinstance(self.retriever, StoredRetriever)
        require(not is_stored or reader.chunker.is_flat, rule, reader.chunker.algorithm)
        names, states, changed = self._survey(reader, files)
        parents = [Path(folder).absolute() for folder in folders]
        absent = [place for place in self._files if place not in names]
        gone = [place for place in absent if any(map(Path(place).is_relative_to, parents))]
        failures = self._take(reader, {names[place]: place for place in changed}, states, gone, inventory)
        return FileCounts(len(names) - len(changed), len(changed), len(gone), failures)

    def unread(
        self, reader: FileReader, files: Sequence[str], inventory: Inventory
    ) -> Iterator[tuple[list[tuple[Document, list[Chunk]]], list[Failure]]]:
        """Yield the documents that `read` would read with their chunks, and the failures, source by source."""
        names, _, changed = self._survey(reader, files)
        for _, result in reader.results([names[place] for place in changed], inventory, keep_all):
            yield [pair for _, pair in result.documents], result.failures

    def _survey(self, reader: FileReader, files: Sequence[str]) -> tuple[dict[str, str], dict[str, Any], list[str]]:
        """Return the names and the states of files by their places, and the places of those that have changed."""
        names = {name if name == "-" else str(Path(name).absolute()): name for name in files}  # from any folder
        states = {place: _state(name, reader) for place, name in names.items()}
        before = {place: note["state"] for place, note in self._files.items()}
        changed = [place for place, state in states.items() if state is None or state != before.get(place)]
        return names, states, changed

    def _take(
        self,
        reader: FileReader,
        places: dict[str, str],
        states: dict[str, Any],
        gone: Sequence[str],
        inventory: Inventory,
    ) -> list[tuple[str, Exception | str]]:
        """Read files by name, and write what is in them, each with its note, a batch at a time; return the failures."""
        batch, unread, failures = _Batch(), {*places.values(), *gone}, list[tuple[str, Exception | str]]()
        for place in gone:
            self._forget(place, batch)
        convert = partial(enrich_and_convert, reader.enricher, reader.chunker, _keep) if reader.enricher else _keep
        for file, result in reader.results(list(places), inventory, convert):
            place = places[file]
            if place in unread:
                if sum(map(len, batch.chunks.values())) >= _BATCH:
                    self._write(batch)
                    batch = _Batch()
                self._forget(place, batch)
                self._files[place] = {"state": states[place], "documents": []}
                unread.remove(place)
            problems: list[tuple[str, Exception | str]] = [(failed.source, failed.error) for failed in result.failures]
            problems += self._accept(place, result, batch, unread)
            if problems:
                self._files[place]["state"] = None
                failures += problems
            batch.notes[place] = self._files[place]
        self._write(batch)
        return failures

    def _accept(self, place: str, result: SourceResult, batch: _Batch, unread: Set[str]) -> Iterator[tuple[str, str]]:
        """Take the documents of a file, also from files still to be read; yield those that another file has."""
        for document, (chunks, text) in result.documents:
            owner = self._owners.get(document)
            if owner is not None and owner not in unread:
                yield document, "another document has the same name"
                continue
            if owner is not None:
                self._files[owner]["documents"].remove(document)
                batch.notes[owner] = self._files[owner]
            self._owners[document] = place
            self._files[place]["documents"].append(document)
            batch.chunks[document] = chunks
            if text is not None:
                batch.texts[document] = text

    def _forget(self, place: str, batch: _Batch) -> None:
        """Remove the documents of a file, which may be added again."""
        for document in self._files.pop(place, {}).get("documents", ()):
            del self._owners[document]
            batch.removed.append(document)
        batch.notes[place] = None

    def _write(self, batch: _Batch) -> None:
        if isinstance(self.retriever, StoredRetriever):
            if batch.notes:
                self.retriever.change(batch.chunks, texts=batch.texts, removed=batch.removed, notes=batch.notes)
        else:
            self.retriever.add_many(batch.chunks, batch.texts)


@dataclass(frozen=True)
class _Batch:
    """Documents and notes that are written at once."""

    chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)


def _state(name: str, reader: FileReader) -> list[Any] | None:
    """Return the size and time of a file and the settings; None for standard input, or without a file."""
    try:
        about = Path(name).stat()
    except OSError:
        return None
    return None if name == "-" else [about.st_size, about.st_mtime_ns, *reader.settings]
