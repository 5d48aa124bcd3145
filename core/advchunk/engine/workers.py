"""Run a function over the items of a call in other processes, in order, whatever becomes of the processes."""

from __future__ import annotations

import atexit
import logging
import mmap
import multiprocessing
import os
import pickle
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Any, Generic, TypeAlias, TypeVar

from advchunk.errors import ConfigurationError, WorkerDied, first_line, is_integer, require

_Item = TypeVar("_Item")
_R = TypeVar("_R")
_E = TypeVar("_E", bound=BaseException)
_Process: TypeAlias = Callable[[Sequence[_Item]], Sequence[_R]]

MAX_DEATHS = 3  # processes that an item may kill, alone, before it is given up
ALONE = 2**30  # size of an item that lets each process take one at a time
_FIRST_BATCH, _MOST_BATCH = 2**14, 2**19  # of sizes: small batches first, so that few items occupy all processes
_AHEAD = 3  # batches per process that wait or whose results wait
_ALIGNMENT = 64  # bytes
_FAILED_AT_START = (
    "a worker process failed as it started: the main module must be importable without starting processes itself, so "
    'calls with workers belong under `if __name__ == "__main__":`'
)
_KILLED_AT_START = f"{MAX_DEATHS} worker processes were killed as they started; workers may be too many for the memory"
_NOT_LOADED = "worker processes must be able to import the classes and functions they are given, as from a module"
_MOST_WORKERS = 1024
_THREADS = "OMP_NUM_THREADS"  # of OpenBLAS, MKL, torch, and our ONNX models
_STARTING = Lock()
_log = logging.getLogger("advchunk")


def check_workers(workers: int) -> None:
    """Raise `ConfigurationError` unless ``workers`` is a number of processes that this one may start."""
    valid = is_integer(workers, 1) and workers <= _MOST_WORKERS
    require(valid, f"workers must be a whole number >= 1, and at most {_MOST_WORKERS}", workers)
    may_start = workers == 1 or not multiprocessing.current_process().daemon
    require(may_start, "workers must be 1 in a daemonic process, which may not start others", workers)


def run_in_processes(
    process: _Process[_Item, _R],
    items: Iterable[_Item],
    workers: int,
    size: Callable[[_Item], int],
    setup: Callable[[], object] | None = None,
) -> Generator[_R | WorkerDied, None, None]:
    """Yield the result of each item, in order, or a `WorkerDied` for an item that kills its processes.

    There is no fork, which would share threads and GPUs. Processes map the arrays inside ``process`` and ``setup``
    (called once in each) from a file, so that all share their memory. If one dies, another takes its place, and its
    items are done again, each alone; an item is given up once it has killed three alone.
    Messages of the log are those of the calling process. If the caller stops early, the processes are killed. Each has
    its share of the cores as OMP_NUM_THREADS, unless that is set.

    ``items`` are read as needed, some batches per process at a time; a batch has a total ``size`` of 2^14 at first,
    then up to 2^19. ``process`` and ``setup`` must be picklable. Raises `ConfigurationError` if the processes cannot
    load ``process``, fail as they start, or cannot be sent an item.
    """
    with TemporaryDirectory(prefix="advchunk-", ignore_cleanup_errors=True) as folder:
        shared = _write_shared((process, setup, _log.getEffectiveLevel()), Path(folder) / "arrays")
        pool = [_Worker[_Item, _R](shared, workers) for _ in range(workers)]
        idle = SimpleQueue[_Worker[_Item, _R]]()
        for worker in pool:
            idle.put(worker)

        def run(batch: Sequence[_Item]) -> list[_R | WorkerDied]:
            worker = idle.get()
            try:
                return worker.run(batch)
            finally:
                idle.put(worker)

        running = deque[Future[list[_R | WorkerDied]]]()
        with ThreadPoolExecutor(workers) as threads:
            try:
                for batch in _batches(items, workers, size):
                    running.append(threads.submit(run, batch))
                    while running and (running[0].done() or len(running) > _AHEAD * workers):
                        yield from running.popleft().result()
                while running:
                    yield from running.popleft().result()
            except BaseException:
                for future in running:
                    future.cancel()
                for worker in pool:
                    worker.kill()
                raise
            finally:
                threads.shutdown()
                for worker in pool:
                    worker.close()


def _batches(items: Iterable[_Item], workers: int, size: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    batch, total, number = list[_Item](), 0, 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= min(_FIRST_BATCH << number // workers, _MOST_BATCH):
            yield batch
            batch, total, number = [], 0, number + 1
    if batch:
        yield batch


class _Died(Exception):  # noqa: N818
    """A process is gone without an answer."""


class _Worker(Generic[_Item, _R]):
    """A process that does one batch at a time, so that it is known what it died of; then another is started."""

    def __init__(self, shared: Path, workers: int) -> None:
        self._shared, self._threads = shared, max(1, (os.cpu_count() or 1) // workers)
        self._process: BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._killed = False

    def run(self, batch: Sequence[_Item]) -> list[_R | WorkerDied]:
        try:
            return [*self._call(batch)]
        except _Died:
            return [self._run_alone(item) for item in batch]

    def _run_alone(self, item: _Item) -> _R | WorkerDied:
        for _ in range(MAX_DEATHS):
            with suppress(_Died):
                return self._call([item])[0]
        return WorkerDied(f"{MAX_DEATHS} worker processes died of it: killed, crashed, or out of memory")

    def _call(self, batch: Sequence[_Item]) -> Sequence[_R]:
        try:
            data = pickle.dumps(batch)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError, RuntimeError) as error:
            msg = f"documents must be picklable to be used with workers ({first_line(error)})"
            raise ConfigurationError(msg) from error
        results, records = self._ask(self._pipe or self._start(), data)
        for record in records:
            logging.getLogger(record.name).handle(record)
        return results  # type: ignore[no-any-return]

    def _start(self) -> Connection[Any, Any]:
        context = multiprocessing.get_context("spawn")
        for _ in range(MAX_DEATHS):
            pipe, other = context.Pipe()
            process = context.Process(target=_serve, args=(other, self._shared))
            with _threads(self._threads):
                process.start()
            atexit.register(self.kill)  # before multiprocessing waits for it
            other.close()
            self._process, self._pipe = process, pipe
            if self._killed:
                self.kill()
            try:
                self._ask(pipe)
            except _Died:
                if process.exitcode == 1:  # of an exception
                    raise ConfigurationError(_FAILED_AT_START) from None
            else:
                return pipe
        raise ConfigurationError(_KILLED_AT_START)

    def _ask(self, pipe: Connection[Any, Any], data: bytes | None = None) -> Any:
        try:
            if data is not None:
                pipe.send_bytes(data)
            answer = pipe.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise CancelledError if self._killed else _Died from error
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def kill(self) -> None:
        self._killed, process = True, self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        if self._pipe is not None and self._process is not None:
            with suppress(OSError):
                self._pipe.send_bytes(b"")  # a process that the caller forked may hold the pipe open
            self._pipe.close()
            self._process.join()
            atexit.unregister(self.kill)
        self._pipe = self._process = None


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """Let a process that starts compute in so many threads, unless the environment has a number."""
    with _STARTING:
        is_set = _THREADS in os.environ
        os.environ.setdefault(_THREADS, str(number))
        try:
            yield
        finally:
            if not is_set and os.environ.get(_THREADS) == str(number):  # no other thread has changed it
                del os.environ[_THREADS]


def _write_shared(value: Any, path: Path) -> Path:
    """Write a value, its arrays apart; return the path, as sending large data to a process that dies would hang."""
    buffers = list[pickle.PickleBuffer]()
    data = pickle.dumps(value, 5, buffer_callback=buffers.append)
    spans = list[tuple[int, int]]()
    with path.open("wb") as file:
        for part in map(pickle.PickleBuffer.raw, buffers):
            start = file.tell()
            spans.append((start, start + file.write(part)))
            file.write(bytes(-part.nbytes % _ALIGNMENT))
        file.write(bytes(_ALIGNMENT))  # an empty file cannot be mapped
    path.with_suffix(".pickle").write_bytes(pickle.dumps((data, spans)))
    return path


def _read_shared(path: Path) -> Any:
    data, spans = pickle.loads(path.with_suffix(".pickle").read_bytes())
    with path.open("rb") as file:
        # Who writes to a page gets a copy of it.
        pages = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return pickle.loads(data, buffers=[pages[start:end] for start, end in spans])


# In the other process.

_messages = SimpleQueue[logging.LogRecord]()


def _serve(pipe: Connection[Any, Any], shared: Path) -> None:
    """Answer each batch with its results, until the calling process sends nothing, closes the pipe, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the calling process decides what an interrupt means
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        process = _load(shared)
    except Exception as error:  # noqa: BLE001 - raised in the calling process
        pipe.send(portable(error))
        return
    pipe.send(None)
    with suppress(EOFError, OSError):
        while data := pipe.recv_bytes():
            try:
                results = process(pickle.loads(data))
                answer = pickle.dumps((results, [_messages.get() for _ in range(_messages.qsize())]))
            except BaseException as error:  # noqa: BLE001 - SystemExit, too, is raised in the calling process
                error.add_note(f"in a worker process:\n{traceback.format_exc()}")
                answer = pickle.dumps(portable(error))
            pipe.send_bytes(answer)


def _end_with_parent() -> None:
    """End this process as soon as the calling one is gone, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _load(shared: Path) -> Callable[[Any], Any]:
    try:
        process, setup, level = _read_shared(shared)
    except (AttributeError, ImportError) as error:
        msg = f"{_NOT_LOADED}: {error}"
        raise ConfigurationError(msg) from error
    _log.addHandler(QueueHandler(_messages))
    _log.propagate = False
    _log.setLevel(level)
    if setup is not None:
        setup()
    return process  # type: ignore[no-any-return]


def portable(error: _E) -> _E | RuntimeError:
    """Return an error that another process can unpickle, with its notes: the same if possible."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - of constructors that are not ours
        replaced = RuntimeError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            replaced.add_note(note)
        return replaced
    return error
