"""Chunk files, and the files in folders and archives, in constant memory."""

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from advchunk.chunkers.auto import AutoChunker
from advchunk.chunkers.base import Chunker, check_processes
from advchunk.chunkers.parallel import share_models
from advchunk.engine import drive
from advchunk.engine.runner import Failure, OnErrors, Progress, ProgressReporter, error_handler
from advchunk.engine.workers import portable, run_in_processes
from advchunk.errors import ConfigurationError, Unreadable, WorkerDied, checked, first_line
from advchunk.readers.files import read_record
from advchunk.readers.sources import FileSource, Inventory, find_files, read_sources
from advchunk.readers.writing import Content
from advchunk.records import Chunk, Document, Ints

Paths: TypeAlias = str | Path | Iterable[str | Path]

_MOST_RECENT = 2**16  # names that are kept as they come
_log = logging.getLogger("advchunk")


class SourceResult(NamedTuple):
    """Names and outcomes, failures by file index, ``encodings`` that are not UTF-8, ``chunkers`` that ``auto`` took."""

    documents: list[tuple[str, Any]]
    failures: list[Failure]
    encodings: set[str]
    chunkers: set[str]

    @classmethod
    def failed(cls, name: str, error: Exception) -> Self:
        """Return the result of a source that cannot be read or chunked."""
        return cls([], [Failure(0, name, error)], set(), set())


def read_source(
    chunker: Chunker,
    source: FileSource,
    *,
    by_name: bool = True,
    encoding: str | None = None,
    key: str = "",
    **options: Any,
) -> list[Document]:
    """Return the documents of a source; options are those of `Chunker.read_documents`.

    ``key`` is the metadata key for the source's name, "" for none; with it, a line's id begins with its file's name.
    """
    metadata = {key: source.name} if key else None
    if source.is_line and source.data is not None:
        document = read_record(source.data, encoding, metadata, name=source.name)
        return [replace(document, id=_id_of_line(source, document.id)) if key else document]
    options |= {"metadata": metadata, "encoding": encoding}
    return chunker.read_documents(source.name, by_name=by_name, data=source.data, **options)


def _id_of_line(source: FileSource, own_id: str) -> str:
    """Return an id that no line of another file has: the file with the id or the number of the line."""
    return source.name if own_id == source.name else f"{source.name.rpartition(':')[0]}:{own_id}"


def document_name(source: FileSource, key: str = "") -> str:
    """Return the name of the first document in a source: the id of a line, or the name of the file."""
    if not source.is_line or source.data is None:
        return source.name
    try:
        own_id = read_record(source.data, name=source.name).id
        return _id_of_line(source, own_id) if key else own_id
    except ConfigurationError:  # reading it says why
        return source.name


def keep_all(document: Document, chunks: list[Chunk], _: float) -> tuple[Document, list[Chunk]]:
    """Return a document with its chunks, which `SourceChunker` passes on as they are."""
    return document, chunks


def enrich_and_convert(
    enricher: Any,
    chunker: Chunker,
    convert: Callable[[Document, list[Chunk], float], Any],
    document: Document,
    chunks: list[Chunk],
    seconds: float,
) -> Any:
    """Return the chunks of a document with contexts, converted; with `partial`, a ``convert`` of `SourceChunker`."""
    return convert(document, enricher.enrich(chunker.read(document), chunks), seconds)


@dataclass
class _Pending:
    """A source with its result so far, and its documents that are not chunked yet."""

    source: FileSource
    result: SourceResult
    documents: deque[Document]
    has_chunks: bool

    def finished(self) -> SourceResult:
        """Return the result, which is a failure if there is text in the source, but no chunk."""
        if self.has_chunks or self.result.failures or self.source.is_blank:
            return self.result
        return SourceResult.failed(self.source.name, Unreadable("no text was found in the file"))


@dataclass(frozen=True)
class SourceChunker:
    """Reads sources, chunks their documents, and converts the chunks; model batches span the sources.

    Parameters
    ----------
    convert : takes a document, its chunks, and the seconds that they took.
    read : returns the documents of a source (`read_source`).
    """

    chunker: Chunker
    convert: Callable[[Document, list[Chunk], float], Any]
    read: Callable[[Chunker, FileSource], list[Document]]

    def __call__(self, sources: Iterable[FileSource]) -> list[SourceResult]:
        """Return the result of each source."""
        sent = self.stream(sources)
        return [own._replace(failures=[replace(f, error=portable(f.error)) for f in own.failures]) for own in sent]

    def stream(self, sources: Iterable[FileSource]) -> Iterator[SourceResult]:
        """Yield the result of each source, in order, as soon as it is known."""
        pending = deque[_Pending]()
        failures = dict[int, Failure]()

        def read_all() -> Iterator[Document]:
            for source in sources:
                documents, result = list[Document](), SourceResult([], [], set(), set())
                try:
                    documents = self.read(self.chunker, source)
                except Exception as error:  # noqa: BLE001 - one file does not end a run, whatever its reader raises
                    result = SourceResult.failed(source.name, error)
                pending.append(_Pending(source, result, deque(documents), has_chunks=self.chunker.is_corpus_level))
                yield from documents

        def finished() -> Iterator[SourceResult]:
            while pending and not pending[0].documents:
                yield pending.popleft().finished()

        start = time.perf_counter()
        chunked = self._chunk(read_all(), lambda failure: failures.update({failure.index: failure}))
        for index, chunks in enumerate(chunked):
            yield from finished()
            result, document, now = pending[0].result, pending[0].documents.popleft(), time.perf_counter()
            pending[0].has_chunks |= bool(chunks)
            if failure := failures.pop(index, None):
                result.failures.append(failure)
            else:
                result.documents.append((document.id, self.convert(document, chunks, now - start)))
                result.encodings.update(_values(document.metadata, "encoding"))
                result.chunkers.update(*(_values(chunk.metadata, "chunker") for chunk in chunks[:1]))
            start = now
            yield from finished()
        yield from finished()

    def _chunk(self, documents: Iterable[Document], on_failure: Callable[[Failure], object]) -> Iterator[list[Chunk]]:
        """Yield the chunks of each document; their names differ, so that ids are numbered within each."""
        if self.chunker.is_corpus_level:
            return self.chunker.stream(documents, on_error=on_failure)
        return (explanation.chunks for explanation in drive(self.chunker.jobs(documents, on_failure)))


def _values(metadata: Mapping[str, Any], key: str) -> list[str]:
    return [metadata[key]] if isinstance(metadata.get(key), str) else []


class FileResult(NamedTuple):
    """The result of a source in a file, and the number of the file in the call."""

    number: int
    source: str
    result: SourceResult


@dataclass
class SourceRun:
    """Chunks the sources of files, in this process (``workers`` = 1) or in others.

    ``of_lines`` files hold a document a line (None: by suffix); ``skip`` is True for sources to leave out.
    """

    process: SourceChunker
    files: Sequence[str]
    inventory: Inventory = field(default_factory=Inventory)
    of_lines: bool | None = None
    skip: Callable[[FileSource], bool] = field(default=lambda _: False)
    workers: int = 1

    def results(self) -> Generator[FileResult, None, None]:
        """Yield the result of each source, in order; a file that cannot be read is a failure."""
        places, unreadable = deque[tuple[int, str]](), deque[FileResult]()

        def sources() -> Iterator[FileSource]:
            for index, name in enumerate(self.files):
                try:
                    for source in read_sources(name, self.inventory, of_lines=self.of_lines):
                        if not self.skip(source):
                            places.append((index, source.name))
                            yield source
                except (OSError, ConfigurationError) as error:
                    self.inventory.settle(name, is_failed=True)
                    failed = SourceResult.failed(name, error)
                    unreadable.append(FileResult(index, name, failed._replace(failures=[Failure(index, name, error)])))

        with closing(self._run(sources())) as results:
            for answer in results:
                index, name = places.popleft()
                while unreadable and unreadable[0].number < index:
                    yield unreadable.popleft()
                result = SourceResult.failed(name, answer) if isinstance(answer, WorkerDied) else answer
                is_failed = bool(result.failures) and not result.documents
                self.inventory.settle(name, result.encodings, result.chunkers, is_failed=is_failed)
                failures = [replace(failure, index=index) for failure in result.failures]
                yield FileResult(index, name, result._replace(failures=failures))
        yield from unreadable

    def _run(self, sources: Iterator[FileSource]) -> Generator[SourceResult | WorkerDied, None, None]:
        if self.workers == 1:
            yield from self.process.stream(sources)
        else:
            prepare = share_models(self.process.chunker)
            yield from run_in_processes(self.process, sources, self.workers, lambda source: source.size, prepare)


class NameSet:
    """Document names as 64-bit hashes (ten bytes each), to find repeats; two of 10 million clash in < 1 of 300,000."""

    def __init__(self) -> None:
        self._recent = set[int]()
        self._sorted = list[Ints]()  # arrays of hashes, each longer than the next

    def add(self, name: str) -> bool:
        """Add a name, and return True if it is new."""
        key = hash(name)
        places = ((keys, min(int(keys.searchsorted(key)), len(keys) - 1)) for keys in self._sorted)
        if key in self._recent or any(keys[place] == key for keys, place in places):
            return False
        self._recent.add(key)
        if len(self._recent) == _MOST_RECENT:
            keys = np.fromiter(self._recent, np.int64, _MOST_RECENT)
            while self._sorted and len(self._sorted[-1]) <= len(keys):
                keys = np.concatenate([keys, self._sorted.pop()])
            keys.sort()
            self._sorted.append(keys)
            self._recent.clear()
        return True


@dataclass
class ChunkedFiles:
    """The documents of files with their chunks, in order; each iteration reads them again, in constant memory.

    ``inventory`` is of what has been read so far; ``failures``, with ``on_error="collect"``, have the file's index.
    """

    _run: Callable[[Inventory], SourceRun]
    _on_error: OnErrors
    _progress: Progress
    inventory: Inventory = field(default_factory=Inventory)
    failures: list[Failure] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[Document, list[Chunk]]]:
        """Yield each document with its chunks."""
        self.inventory, self.failures = Inventory(), []
        handle = error_handler(self.failures.append if self._on_error == "collect" else self._on_error)
        run, names = self._run(self.inventory), NameSet()
        with ProgressReporter(self._progress, len(run.files), "file") as reporter, closing(run.results()) as results:
            last = 0
            for index, _, result in results:
                for failure in result.failures:
                    handle(failure)
                for name, (document, chunks) in result.documents:
                    if names.add(name):
                        yield document, chunks
                    else:
                        handle(Failure(index, name, ConfigurationError("another document has the same name")))
                reporter.update(index - last)
                last = index
            reporter.update(len(run.files) - last)
        if not self.inventory.is_complete:
            _log.warning("%s", self.inventory)
        if self.failures:
            reason = "%d files or documents failed (see failures), such as %r: %s"
            _log.warning(reason, len(self.failures), self.failures[0].source, first_line(self.failures[0].error))


@checked
def chunk_files(
    paths: Paths,
    chunker: Chunker | None = None,
    *,
    encoding: str | None = None,
    content: Content = "all",
    hidden: bool = False,
    links: bool = False,
    metadata_key: str = "",
    exclude: Paths = (),
    done: Iterable[str] = (),
    on_error: OnErrors = "collect",
    progress: Progress = None,
    workers: int = 1,
) -> ChunkedFiles:
    r"""Return the documents of files with their chunks; folders and archives stand for the files in them.

    A folder stands for the files in it and below, without hidden ones and links; those of unknown suffixes are plain
    text, if they are text (`readers.sources.find_files`). Archives are .zip and .tar files, also compressed ones. A
    .jsonl file has a document a line. The result's ``inventory`` says what was read as what, or skipped.

    Parameters
    ----------
    chunker : chunks the documents; None is ``AutoChunker()``, which takes the chunker for each format.
    encoding, content, hidden, links : of texts, web pages, and Office files; see `readers.files.read_file`.
    metadata_key : metadata key for the name of the file; "" for none. With a key, the id of a document in a .jsonl file
        is "docs.jsonl:ID", or "docs.jsonl:7" for line 7 if it has none, so that it is unique among files.
    exclude : one or several files, folders, or patterns such as "*.log" in the folders, which are passed over.
    done : names of documents that are kept from an earlier call. Files, members of archives and lines of these names
        are passed over, a message with its attachments, so that a call goes on where that one was interrupted.
    on_error : how to handle a file or document that fails: "collect" it in ``failures``; "raise" its error; "skip" it,
        with a warning in the log; or a callable that takes each `Failure`.
    progress : called with the number of files done; True shows a progress bar.
    workers : number of processes that read and chunk, >= 1; see `Chunker.chunk_many`.

    Raises
    ------
    ConfigurationError : a parameter is out of range.

    >>> from tempfile import TemporaryDirectory
    >>> from advchunk import RecursiveChunker
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "tea.md").write_text("# Tea\n\nGreen."), Path(folder, "cup.png").write_bytes(b"\x89PNG")
    ...     files = chunk_files(folder, RecursiveChunker())
    ...     [len(chunks) for document, chunks in files], str(files.inventory)
    ([1], '2 files: 1 read (.md 1), 1 skipped (no reader: .png 1)')
    """
    chunker = AutoChunker() if chunker is None else chunker
    check_processes(chunker, workers)
    kept = frozenset(done)
    error_handler("skip" if on_error == "collect" else on_error)  # raises if it is invalid
    paths = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    read = partial(read_source, key=metadata_key, encoding=encoding, content=content, hidden=hidden, links=links)
    process = SourceChunker(chunker, keep_all, read)

    def run(inventory: Inventory) -> SourceRun:
        chunker.load()
        files = list(find_files(paths, inventory, exclude))
        return SourceRun(
            process, files, inventory, skip=lambda source: document_name(source, metadata_key) in kept, workers=workers
        )

    return ChunkedFiles(run, on_error, progress)
