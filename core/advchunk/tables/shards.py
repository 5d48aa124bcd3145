"""Chunk files of documents in shards, on the processes of one machine or on Ray; a run that was killed can be resumed."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from advchunk.chunkers.catalog import create
from advchunk.engine.runner import Progress, ProgressReporter
from advchunk.engine.workers import ALONE, check_workers, run_in_processes
from advchunk.errors import WorkerDied, import_extra, require
from advchunk.tables.batches import Columns, chunk_documents, chunk_schema, repeated_ids
from advchunk.tables.deaths import FileJournal, Journal, ray_journal, survive
from advchunk.tables.folders import FileFormat, InputPart, OutputFolder, ShardCounts, find_parts
from advchunk.tables.storing import IndexLike, Shard, as_index, put

_BATCH = 256  # documents that are chunked together
_MOST_DEATHS = 100  # of the workers of a shard: documents that kill them, or a file that cannot be read


class _Counts(NamedTuple):
    """The name of the file of a shard, and the chunks and failed documents of this run."""

    name: str
    chunks: int
    failures: int


@dataclass(frozen=True)
class _Shard:
    """A part of the input, and the name of its file of chunks."""

    name: str
    part: InputPart


@dataclass(frozen=True)
class _Task:
    """Everything that a worker needs to chunk a shard."""

    folder: OutputFolder
    columns: Columns
    repeated: Collection[str]
    max_deaths: int
    method: str
    params: dict[str, Any]


def chunk_shards(
    inputs: str | Path | Iterable[str | Path],
    folder: str | Path,
    method: str,
    *,
    id: str = "id",
    text: str = "text",
    metadata: Sequence[str] | None = None,
    format: FileFormat = "parquet",
    engine: Literal["processes", "ray"] = "processes",
    workers: int = 2,
    max_deaths: int = 3,
    into: IndexLike | None = None,
    progress: Progress = None,
    **params: Any,
) -> ShardCounts:
    """Chunk the documents in Parquet or JSON Lines files, and write a file of chunks for each shard to a folder.

    A shard is a row group of a Parquet file, or a file of JSON Lines. Its file appears when it is complete, so that the same
    call resumes a run that was killed; failed documents of complete shards are not tried again. Rows are those of
    `chunk_batches`; all documents with an id that others have are errors. All ids are read first, into memory: some 130 MB
    for a million. Two runs must not write to a folder at the same time.

    Parameters
    ----------
    inputs : files, folders, or URIs of any file system that pyarrow reads, such as ``s3://bucket/folder``. Hidden files, and
        those in the output folder, are not read.
    folder : path or URI of the output.
    method, **params : name and parameters of a chunker (`advchunk.create`). Name models instead of passing them.
    id, text, metadata : see `chunk_batches`.
    format : of the output.
    engine : "processes" of this machine; "ray", the cluster that ``ray.init`` connects to, which must reach the files.
    workers : processes or actors, >= 1, each with its own chunker and models.
    max_deaths : see `chunk_dataset`; of a batch of 256 documents.
    into : the path of an index in a file, or a `StoredRetriever`, into which this process puts each shard that is complete
        (`store_shards`). Workers embed the chunks for it with ``vectors="plain"``; else it embeds them itself.
    progress : called with the number of shards done; True shows a progress bar.

    Raises
    ------
    ConfigurationError : no input, a missing column, or a folder with the chunks of other inputs or parameters.
    WorkerDied : 100 workers died over one shard.
    """
    check_workers(workers)
    require(max_deaths >= 1, "max_deaths must be >= 1", max_deaths)
    require(engine in _ENGINES, f"engine must be one of {sorted(_ENGINES)}", engine)
    require(format in ("parquet", "jsonl"), "format must be 'parquet' or 'jsonl'", format)
    paths, target = [inputs] if isinstance(inputs, str | Path) else list(inputs), OutputFolder(str(folder), format)
    every_part = dict.fromkeys(part for path in paths for part in find_parts(path))
    parts = [part for part in every_part if not target.contains(part.path)]
    require(bool(parts), "inputs must have a Parquet or JSON Lines file outside the output folder", paths)
    columns = Columns(id, text, metadata if metadata is None else tuple(metadata))
    chunker = create(method, **params)
    rule = "an index must be of a method with chunks of one level"
    require(into is None or chunker.is_flat, rule, chunker.algorithm)
    chunker.load()  # its errors come before the folder is claimed
    index = None if into is None else as_index(into)
    target.claim({"inputs": [part.facts for part in parts], "parameters": [chunker.fingerprint(), *columns, format]})
    done, number = target.names(), len(parts)
    shards = [_Shard(f"part-{i:05}-of-{number:05}.{format}", part) for i, part in enumerate(parts)]
    todo, results = [shard for shard in shards if shard.name not in done], iter(list[_Counts]())
    if todo:
        repeated = repeated_ids(name for part in parts for name in part.ids(id))
        results = _ENGINES[engine](_Task(target, columns, repeated, max_deaths, method, params), todo, workers)
    earlier = (_Counts(shard.name, 0, 0) for shard in shards if shard.name in done)
    stored = () if index is None else index.keys()
    chunks = failures = 0
    with ProgressReporter(progress, number, "shard") as reporter:
        for counts in chain(earlier, results):
            complete = Shard(f"{target.uri.rstrip('/')}/{counts.name}")
            if index is not None and complete.key not in stored:
                put(index, complete)
            chunks, failures = chunks + counts.chunks, failures + counts.failures
            reporter.update()
    return ShardCounts(number, number - len(todo), chunks, failures)


class _ShardWorker:
    """Chunks shards; it creates the chunker, and loads its models, once."""

    def __init__(self, task: _Task, journal: Journal) -> None:
        self._task, self._journal = task, journal
        chunker = create(task.method, **task.params)
        chunker.load()
        self._chunk = partial(chunk_documents, chunker=chunker)

    def run(self, shard: _Shard) -> _Counts:
        """Write the chunks of a shard."""
        task, chunks, failures = self._task, 0, 0

        def batches() -> Iterator[Any]:
            nonlocal chunks, failures
            documents = shard.part.documents(task.columns, set(task.repeated))
            for index in count():
                if not (together := list(islice(documents, _BATCH))):
                    return
                for batch in survive(together, self._chunk, self._journal, f"{shard.name}-{index}", task.max_deaths):
                    chunks += batch.column("error").null_count
                    failures += len(batch) - batch.column("error").null_count
                    yield batch

        task.folder.write(shard.name, batches(), chunk_schema())
        return _Counts(shard.name, chunks, failures)


def _run_in_processes(task: _Task, shards: Sequence[_Shard], workers: int) -> Iterator[_Counts]:
    """Yield the counts of shards."""
    with TemporaryDirectory() as folder:
        process = _ShardProcess(task, FileJournal(Path(folder)))
        for result in run_in_processes(process, shards, workers, lambda _: ALONE, max_deaths=_MOST_DEATHS):
            if isinstance(result, WorkerDied):
                raise result
            yield result


@dataclass
class _ShardProcess:
    """A `_ShardWorker` that is made where it runs."""

    task: _Task
    journal: Journal

    def __call__(self, shards: Sequence[_Shard]) -> list[_Counts]:
        """Write the chunks of shards."""
        return [self._worker.run(shard) for shard in shards]

    @cached_property
    def _worker(self) -> "_ShardWorker":
        return _ShardWorker(self.task, self.journal)


def _run_on_ray(task: _Task, shards: Sequence[_Shard], workers: int) -> Iterator[_Counts]:
    """Yield the counts of shards; Ray restarts actors that die, and calls them again."""
    ray = import_extra("ray", "ray")
    util = import_extra("ray.util", "ray")
    if not ray.is_initialized():
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(include_dashboard=False, log_to_driver=False)
    journal = ray_journal()
    actor = ray.remote(_ShardWorker).options(max_restarts=_MOST_DEATHS, max_task_retries=_MOST_DEATHS)
    actors = [actor.remote(task, journal) for _ in range(min(workers, len(shards)))]
    yield from util.ActorPool(actors).map_unordered(lambda worker, shard: worker.run.remote(shard), shards)


_ENGINES: dict[str, Callable[[_Task, Sequence[_Shard], int], Iterator[_Counts]]] = {
    "processes": _run_in_processes,
    "ray": _run_on_ray,
}
