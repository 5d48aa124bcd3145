"""Run jobs, calling or awaiting the models, and collect results, failures and progress."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from advchunk.engine.asks import Ask
from advchunk.engine.plans import Done, Job
from advchunk.engine.threads import as_exception, call_in_thread, call_with_timeout, run_in_thread
from advchunk.errors import first_line, require
from advchunk.records import Chunk

if TYPE_CHECKING:  # needed by requests alone
    from advchunk.engine.scheduler import Batch

_Item = TypeVar("_Item")
_T = TypeVar("_T")
_log = logging.getLogger("advchunk")

AWAITED_CALLS = 4  # concurrent calls of an awaited model without a `concurrency`
Watch: TypeAlias = Callable[[Ask, Any, float], object]
_Answer: TypeAlias = "tuple[Batch, Any, float]"  # with the rows, or the exception raised instead, and the seconds


def drive(jobs: Iterable[Job[_T]], watch: Watch | None = None) -> Iterator[_T]:
    """Yield the results of jobs in order; models are called in this thread, unless they allow concurrent calls.

    Jobs without requests run one by one. ``watch`` gets each call's request, rows or exception, and seconds.
    """
    jobs = iter(jobs)
    for job in jobs:
        state = job.advance(None)
        if isinstance(state, Done):
            yield state.result
        else:
            job.pending = state
            yield from _schedule(chain([job], jobs), watch)


def run_job(job: Job[_T]) -> _T:
    """Return the result of one job; one without requests needs no scheduler."""
    state = job.advance(None)
    if isinstance(state, Done):
        return state.result
    job.pending = state
    return next(_schedule([job], None))


def _schedule(jobs: Iterable[Job[_T]], watch: Watch | None) -> Iterator[_T]:
    from queue import SimpleQueue

    from advchunk.engine.scheduler import Scheduler

    answers, scheduler, running = SimpleQueue[Any](), Scheduler(jobs), 0  # futures of answers

    def answer(batch: Batch, rows: Any, seconds: float) -> None:
        if watch is not None:
            watch(batch.ask, rows, seconds)
        scheduler.answer(batch, rows, seconds)

    while True:
        yield from scheduler.ready()
        batch = scheduler.batch() if answers.empty() else None
        if batch and scheduler.concurrency(batch.ask.model) == 1:
            answer(*_call(batch))
        elif batch:
            run_in_thread(_call, batch).add_done_callback(answers.put)
            running += 1
        elif running:
            answer(*answers.get().result())
            running -= 1
        elif scheduler.done:
            return


async def adrive(jobs: Iterable[Job[_T]], concurrency: int | None = None) -> AsyncIterator[_T]:
    """Yield the results of jobs in order; models are awaited. Plans compute in a thread, one at a time.

    ``concurrency`` >= 1 is the maximum of calls of all models; None allows each model its own number, else 4.
    """
    import asyncio  # slow, and not needed by synchronous calls

    from advchunk.engine.scheduler import Scheduler

    valid = concurrency is None or (isinstance(concurrency, int) and concurrency >= 1)
    require(valid, "concurrency must be a whole number >= 1 or None", concurrency)
    scheduler = Scheduler(jobs, concurrency or AWAITED_CALLS)
    calls: set[asyncio.Task[_Answer]] = set()
    try:
        while True:
            for result in scheduler.ready():
                yield result
            has_room = concurrency is None or len(calls) < concurrency
            if has_room and (batch := await call_in_thread(scheduler.batch)):
                calls.add(asyncio.create_task(_await(batch)))
            elif calls:
                done, calls = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                for call in done:
                    await call_in_thread(scheduler.answer, *call.result())
            elif scheduler.done:
                return
    finally:
        for call in calls:
            call.cancel()


def _call(batch: Batch) -> _Answer:
    start = time.monotonic()
    try:
        rows = call_with_timeout(batch.seconds, getattr(batch.ask.model, batch.ask.method), batch.ask.items)
    except BaseException as error:  # noqa: BLE001 - the scheduler decides what a failed model means
        rows = as_exception(error)
    return batch, rows, time.monotonic() - start


async def _await(batch: Batch) -> _Answer:
    import asyncio

    start = time.monotonic()
    try:
        model, name = batch.ask.model, batch.ask.method
        method = getattr(model, f"a{name}", None) or partial(call_in_thread, getattr(model, name))
        seconds = None if batch.seconds is None else min(batch.seconds, threading.TIMEOUT_MAX)
        async with asyncio.timeout(seconds):  # Python 3.11's wait_for may lose a cancellation
            rows = await method(batch.ask.items)
    except BaseException as error:  # noqa: BLE001 - the scheduler decides what a failed model means
        rows = as_exception(error)
    return batch, rows, time.monotonic() - start


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be processed: its index in the call, its id or source, and the error."""

    index: int
    source: str
    error: Exception

    @property
    def place(self) -> str:
        """The failed item, for messages."""
        return f"document {self.index} ({self.source!r})"

    outcome = "skipped"


OnFailure: TypeAlias = Callable[[Any], object]
OnError: TypeAlias = Literal["raise", "skip"] | OnFailure
OnErrors: TypeAlias = OnError | Literal["collect"]  # of calls that return `Results`
Progress: TypeAlias = bool | Callable[[int], None] | None


class Results(list[list[Chunk]]):
    """The chunks of each document in order, empty for one that failed; and ``failures`` if ``on_error="collect"``."""

    def __init__(self, chunks: Iterable[list[Chunk]] = ()) -> None:
        super().__init__(chunks)
        self.failures: list[Any] = []

    def handler(self, on_error: OnErrors) -> OnError:
        """Return ``on_error``, with "collect" replaced by appending to ``failures``."""
        return self.failures.append if isinstance(on_error, str) and on_error == "collect" else on_error


def error_handler(on_error: OnError) -> OnFailure:
    """Return the function that handles a failure; raise `ConfigurationError` if ``on_error`` is invalid."""
    if isinstance(on_error, str):
        if on_error == "raise":
            return raise_failure
        if on_error == "skip":
            log = "%s %s: %s: %s"
            return lambda failure: _log.warning(
                log, failure.place, failure.outcome, type(failure.error).__name__, first_line(failure.error)
            )
    require(callable(on_error), "on_error must be 'raise', 'skip' or a callable that takes a Failure", on_error)
    return on_error


def raise_failure(failure: Any) -> None:
    """Raise the error of a failure, with a note of where it was."""
    failure.error.add_note(f"in {failure.place}")
    raise failure.error


class ProgressReporter:
    """Reports the number of items done to a callback, or to a progress bar."""

    def __init__(self, progress: Progress, total: int | None = None, unit: str = "doc") -> None:
        self._count, self._bar, self._callback = 0, None, progress if callable(progress) else None
        if progress is True:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, unit=unit)

    def __enter__(self) -> ProgressReporter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, number: int = 1) -> None:
        """Count more items, one by one for a callback."""
        for _ in range(number):
            self._count += 1
            if self._bar is not None:
                self._bar.update()
            if self._callback is not None:
                self._callback(self._count)


@dataclass(frozen=True, slots=True)
class Runner(Generic[_Item, _T]):
    """Runs the jobs of many documents, in one call or as a stream, synchronously or awaited.

    ``jobs`` returns the jobs of the items of a call, given the handler of failures; ``collect`` returns, for each call,
    a function from the result of a job to the documents that it completes. ``counts`` is True for the results that
    count as one ``unit`` of progress; None counts every result as one item.
    """

    jobs: Callable[[Iterable[_Item], OnFailure], Iterable[Job[_T]]]
    collect: Callable[[], Callable[[_T], Iterable[list[Chunk]]]]
    unit: str = "doc"
    counts: Callable[[_T], bool] | None = None

    def stream(
        self, items: Iterable[_Item], on_error: OnError, progress: ProgressReporter | None = None
    ) -> Iterator[list[Chunk]]:
        """Yield the chunks of each document when they are complete."""
        return self._stream(drive(self.jobs(items, error_handler(on_error))), progress)

    def _stream(self, results: Iterable[_T], progress: ProgressReporter | None) -> Iterator[list[Chunk]]:
        collect = self.collect()
        for result in results:
            self._report(result, progress)
            yield from collect(result)

    async def astream(
        self,
        items: Iterable[_Item],
        on_error: OnError,
        concurrency: int | None,
        progress: ProgressReporter | None = None,
    ) -> AsyncIterator[list[Chunk]]:
        """Await `stream`."""
        collect = self.collect()
        async for result in adrive(self.jobs(items, error_handler(on_error)), concurrency):
            self._report(result, progress)
            for chunks in collect(result):
                yield chunks

    def _report(self, result: _T, progress: ProgressReporter | None) -> None:
        if progress is not None and (self.counts is None or self.counts(result)):
            progress.update()

    def _reporter(self, progress: Progress, items: Iterable[_Item]) -> ProgressReporter:
        total = len(items) if self.counts is None and isinstance(items, Sequence) else None
        return ProgressReporter(progress, total, self.unit)

    def run(self, items: Iterable[_Item], on_error: OnErrors, progress: Progress) -> Results:
        """Return the chunks of all documents."""
        results = Results()
        with self._reporter(progress, items) as reporter:
            results.extend(self.stream(items, results.handler(on_error), reporter))
        return results

    async def arun(
        self, items: Iterable[_Item], on_error: OnErrors, progress: Progress, concurrency: int | None = None
    ) -> Results:
        """Await `run`."""
        results = Results()
        with self._reporter(progress, items) as reporter:
            async for chunks in self.astream(items, results.handler(on_error), concurrency, reporter):
                results.append(chunks)
        return results
