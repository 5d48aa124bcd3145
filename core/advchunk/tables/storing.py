"""Put the chunks in shards into an index or a store, each shard once, whatever becomes of the processes."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from advchunk.engine.runner import Progress, ProgressReporter
from advchunk.engine.workers import ALONE, check_workers, run_in_processes
from advchunk.errors import WorkerDied, require
from advchunk.records import Chunk
from advchunk.retrieval.stored import StoredRetriever
from advchunk.tables.batches import chunk_schema, read_chunks
from advchunk.tables.folders import InputPart, OutputFolder, ShardCounts, file_system, find_tables, read_batches

IndexLike: TypeAlias = str | Path | StoredRetriever
Write: TypeAlias = Callable[[Mapping[str, Sequence[Chunk]]], object]
"""Writes the chunks of documents, which are given by their ids, in place of those with the same ids."""

_BATCH = 1_000  # chunks that are written at once, and those that their last document has beyond


class Shard(NamedTuple):
    """A file of chunks, by its path or URI."""

    path: str

    @property
    def key(self) -> str:
        """A name that changes with the path, size and time of change of the file."""
        _, size, time, _ = InputPart(self.path).facts
        return hashlib.sha256(json.dumps([file_system(self.path)[1], size, time]).encode()).hexdigest()


class Target(Protocol):
    """Takes chunks, and notes which shards it has."""

    def keys(self) -> Collection[str]:
        """Return the keys of the shards that it has."""
        ...

    def write(self, documents: Mapping[str, Sequence[Chunk]], /) -> object:
        """Write the chunks of documents, in place of those with the same ids."""
        ...

    def finish(self, shard: Shard) -> None:
        """Note that all chunks of a shard are written."""
        ...


@dataclass(frozen=True)
class _Index:
    """An index, which keeps its notes itself."""

    retriever: StoredRetriever

    def keys(self) -> Collection[str]:
        return self.retriever.notes.keys()

    def write(self, documents: Mapping[str, Sequence[Chunk]]) -> None:
        self.retriever.change(documents)

    def finish(self, shard: Shard) -> None:
        self.retriever.change({}, notes={shard.key: shard.path})


@dataclass(frozen=True)
class _Store:
    """A store, and a folder with an empty file for each shard that it has."""

    write: Write
    records: OutputFolder

    def keys(self) -> Collection[str]:
        self.records.create()
        return self.records.names()

    def finish(self, shard: Shard) -> None:
        self.records.mark(shard.key)


def as_index(index: IndexLike) -> Target:
    """Return an index as a target."""
    require(isinstance(index, IndexLike), "an index must be a path or a StoredRetriever", index)
    return _Index(index if isinstance(index, StoredRetriever) else StoredRetriever(index))


def store_shards(
    folder: str | Path,
    into: IndexLike | Write,
    *,
    records: str | Path | None = None,
    workers: int = 1,
    progress: Progress = None,
) -> ShardCounts:
    """Put the chunks in a folder of shards, such as that of `chunk_shards`, into an index or a store.

    A shard is a Parquet or JSON Lines file of `chunk_schema`, which Spark or Ray Data may have written, too; the chunks of a
    document stand together in one of them. It counts as done when all of its chunks are stored, so the same call resumes a run
    that was killed: what that wrote of other shards is written again, under the same ids. A file that has changed is another
    shard. Documents that are no longer in the folder stay in the store.

    Parameters
    ----------
    folder : path or URI; hidden files are not read. Or a single file.
    into : the path of an index in a file, or a `StoredRetriever`, whose embedder must be that of the chunks' vectors. Or a function
        that writes the chunks of documents, which are given by their ids, to a store, in place of those with the same ids:
        ``langchain_advchunk.ChunkWriter`` or ``llamaindex_advchunk.NodeWriter``.
    records : folder or URI for notes of the shards that a store has; each store needs its own. An index notes them itself.
    workers : processes that write to a store, >= 1; with more than 1, ``into`` must be picklable. An index has one.
    progress : called with the number of shards done; True shows a progress bar.

    Returns
    -------
    ShardCounts : ``failures`` are the documents that could not be chunked, which have no chunks.

    Raises
    ------
    ConfigurationError : no shard, a table of other columns, or chunks of a document that do not stand together.
    WorkerDied : three workers died over one shard.
    """
    check_workers(workers)
    target: Target
    if callable(into):
        require(records is not None, "records must be a folder for notes of what the store has", records)
        target = _Store(into, OutputFolder(str(records), "jsonl"))
    else:
        require(records is None, "records must be None for an index, which keeps its own", records)
        require(workers == 1, "workers must be 1 for an index, to which one process writes", workers)
        target = as_index(into)
    shards, done = list(map(Shard, find_tables(folder))), target.keys()
    require(bool(shards), "a folder must have a Parquet or JSON Lines file", str(folder))
    todo = [shard for shard in shards if shard.key not in done]
    results: Iterator[Any] = (put(target, shard) for shard in todo)
    if workers > 1:
        results = run_in_processes(partial(_put_each, target), todo, workers, lambda _: ALONE)
    chunks = failures = 0
    with ProgressReporter(progress, len(shards), "shard") as reporter:
        for _ in range(len(shards) - len(todo)):
            reporter.update()
        for result in results:
            if isinstance(result, WorkerDied):
                raise result
            chunks, failures = chunks + result[0], failures + result[1]
            reporter.update()
    return ShardCounts(len(shards), len(shards) - len(todo), chunks, failures)


def _put_each(target: Target, shards: Sequence[Shard]) -> list[tuple[int, int]]:
    return [put(target, shard) for shard in shards]


def put(target: Target, shard: Shard) -> tuple[int, int]:
    """Write the chunks of a shard, and return their number, and that of failed documents."""
    chunks = failures = size = 0

    def batches() -> Iterator[Any]:
        nonlocal failures
        for batch in read_batches(shard.path, chunk_schema()):
            yield batch
            failures += len(batch) - batch.column("error").null_count

    part = dict[str, list[Chunk]]()
    for document, own in read_chunks(batches()):
        part[document] = own
        chunks, size = chunks + len(own), size + len(own)
        if size >= _BATCH:
            target.write(part)
            part, size = {}, 0
    if part:
        target.write(part)
    target.finish(shard)
    return chunks, failures
