"""Run jobs: models are called, or awaited."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from advchunk.engine.asks import METHODS, Ask
from advchunk.engine.plans import Job
from advchunk.engine.scheduler import Batch, Scheduler
from advchunk.engine.threads import as_exception, call_in_thread, call_with_timeout, run_in_thread
from advchunk.errors import require

T = TypeVar("T")

AWAITED = 4  # calls at a time, of a model that is awaited and does not say how many it likes

Watch: TypeAlias = Callable[[Ask, Any, float], object]


def drive(jobs: Iterable[Job[T]], watch: Watch = lambda ask, rows, seconds: None) -> Iterator[T]:  # noqa: ARG005
    """Yield the results of jobs in their order; models are called, in this thread unless they take several calls.

    Parameters
    ----------
    watch : told of each call: what was asked, the rows that came or the exception, and the seconds it took.
    """
    scheduler = Scheduler(jobs)
    answers: SimpleQueue[tuple[Batch, Future[_Answer]]] = SimpleQueue()
    out = 0

    def begin(batch: Batch) -> None:
        run_in_thread(_called, batch).add_done_callback(lambda call: answers.put((batch, call)))

    def answer(batch: Batch, rows: Any, seconds: float) -> None:
        watch(batch.ask, rows, seconds)
        scheduler.answer(batch, rows, seconds)

    while True:
        yield from scheduler.ready()
        batch = scheduler.batch() if answers.empty() else None
        if batch and scheduler.concurrency(batch.ask.model) == 1:
            answer(batch, *_called(batch))
        elif batch:
            begin(batch)
            out += 1
        elif out:
            batch, call = answers.get()
            out -= 1
            answer(batch, *call.result())
        elif scheduler.done:
            return


async def adrive(jobs: Iterable[Job[T]], concurrency: int | None = None) -> AsyncIterator[T]:
    """Yield the results of jobs in their order; models are awaited.

    Plans compute in a thread, off the event loop, one after the other.

    Parameters
    ----------
    concurrency : calls at a time, of all models together, >= 1; None is as many as each model says, else 4 of each.
    """
    right = concurrency is None or (isinstance(concurrency, int) and concurrency >= 1)
    require(right, "concurrency must be a whole number >= 1 or None", concurrency)
    scheduler = Scheduler(jobs, concurrency or AWAITED)
    calls: dict[asyncio.Task[_Answer], Batch] = {}
    try:
        while True:
            for result in scheduler.ready():
                yield result
            more = concurrency is None or len(calls) < concurrency
            if more and (batch := await call_in_thread(scheduler.batch)):
                calls[asyncio.create_task(_awaited(batch))] = batch
            elif calls:
                done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                for call in done:
                    await call_in_thread(scheduler.answer, calls.pop(call), *call.result())
            elif scheduler.done:
                return
    finally:
        for call in calls:
            call.cancel()


_Answer: TypeAlias = tuple[Any, float]  # the rows of a batch, or the exception that came instead, and the seconds


def _called(batch: Batch) -> _Answer:
    began = time.monotonic()
    try:
        rows = call_with_timeout(batch.seconds, getattr(batch.ask.model, METHODS[type(batch.ask)][0]), batch.ask.items)
    except BaseException as error:  # noqa: BLE001 - the scheduler decides what a failed model means
        rows = as_exception(error)
    return rows, time.monotonic() - began


async def _awaited(batch: Batch) -> _Answer:
    began = time.monotonic()
    try:
        method = getattr(batch.ask.model, METHODS[type(batch.ask)][1])
        seconds = None if batch.seconds is None else min(batch.seconds, threading.TIMEOUT_MAX)
        async with asyncio.timeout(seconds):  # Python 3.11's wait_for may lose a cancellation
            rows = await method(batch.ask.items)
    except BaseException as error:  # noqa: BLE001 - the scheduler decides what a failed model means
        rows = as_exception(error)
    return rows, time.monotonic() - began
