"""Ask, don't call: plans say what they need from a model; one engine answers them all.

A plan is a generator. It yields an ask, is sent the answer (a model's failure is raised where
it asked), and returns its result:

    def decide(self, units, limits):
        vectors = yield Embed(tuple(units.strings()), self.model)
        return self.segment(units, vectors, limits)

No algorithm knows whether it runs alone, beside a thousand others, or under ``await``. A
`Scheduler` merges the asks of many plans into full, de-duplicated batches and never calls
anything itself; `drive` and `adrive` call, or await, the models. It admits a new plan only
when it cannot fill a batch, so memory is bounded by one batch and one plan, however many
there are.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from advchunk.errors import BadModelOutput, require

T = TypeVar("T")
R = TypeVar("R")

WINDOW = 4096  # jobs begun whose results are not handed on; more would only pile up behind a slow one
BATCH_SIZE = 1024  # items a call, of a model that does not say how many it likes
PATIENCE = 8  # times what the most patient of several plans has left, for a call on behalf of all
REMEMBERED = 16_384  # rows kept of each model, for texts that come up again


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to ``model`` for one row an item; rows are independent, so equal items are asked once."""

    items: tuple[Any, ...]
    model: Any

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return what the plan is sent for its rows, one an item."""
        return list(rows)


class Embed(Ask):
    """Answered by a (len(items), d) float32 array of unit rows."""

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return the rows as one array."""
        return np.asarray(rows)


# The method of a model that answers each kind of ask, and its async twin.
METHODS: dict[type[Ask], tuple[str, str]] = {
    Embed: ("embed", "aembed"),
}

Plan: TypeAlias = Generator[Ask, Any, T]


@dataclass(slots=True)
class Job(Generic[T]):
    """A plan, the time it may take, and what to do instead if it fails.

    Parameters
    ----------
    seconds : of its own computation and its share of the models' time; None is unlimited.
    recover : given the error, returns the job to run instead, or raises; None raises the error.
    """

    plan: Plan[T]
    seconds: float | None = None
    recover: Callable[[Exception], Job[T]] | None = None


def finished(result: T) -> Plan[T]:
    """Return a plan that has its result already."""
    yield from ()
    return result


@dataclass(slots=True, eq=False)
class _Request:
    """An ask under way: rows come in as batches are answered."""

    number: int
    ask: Ask
    wanted: int
    rows: dict[Any, Any] = field(default_factory=dict)
    closed: bool = False

    def dealt(self) -> Any:
        """Return the answer, once every row is there."""
        return self.ask.answer([self.rows[item] for item in self.ask.items])


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One call of a model, which may take ``seconds``; ``alone`` if made again for one request."""

    ask: Ask
    seconds: float | None
    alone: _Request | None = None


_Key: TypeAlias = Ask  # without its items: asks that differ in nothing else share batches


class _Memory:
    """The rows of the latest batches, whole batches at a time: a row alone would keep its batch alive."""

    def __init__(self) -> None:
        self._batches: deque[tuple[tuple[Any, ...], Any]] = deque()
        self._place: dict[Any, tuple[Any, int]] = {}
        self._held = 0

    def get(self, items: Iterable[Any]) -> dict[Any, Any]:
        """Return the rows of those items that are remembered."""
        found = {item: self._place[item] for item in items if item in self._place}
        return {item: rows[i] for item, (rows, i) in found.items()}

    def put(self, items: tuple[Any, ...], rows: Any) -> None:
        """Remember a batch, and forget the oldest if there are too many."""
        self._batches.append((items, rows))
        self._place.update((item, (rows, i)) for i, item in enumerate(items))
        self._held += len(items)
        while self._held > REMEMBERED:
            forgotten, old = self._batches.popleft()
            self._held -= len(forgotten)
            for item in forgotten:
                if item in self._place and self._place[item][0] is old:
                    del self._place[item]


class Scheduler(Generic[T]):
    """Merge the asks of many jobs into batches; deal out the answers; hand on results in order.

    Call `batch` until it returns None, call `answer` for each batch, take what is `ready`.
    """

    def __init__(self, jobs: Iterable[Job[T]]) -> None:
        self._jobs = iter(jobs)
        self._running: dict[int, Job[T]] = {}
        self._results: dict[int, T] = {}
        self._admitted = self._handed_on = 0
        self._exhausted = False
        self._waiting: dict[_Key, dict[Any, list[_Request]]] = {}  # item -> who wants it, until it is answered
        self._unsent: dict[_Key, deque[Any]] = {}
        self._memory: dict[_Key, _Memory] = {}
        self._alone: deque[_Request] = deque()  # asks of a batch that failed, to find out whose fault it was

    def batch(self) -> Batch | None:
        """Return the next call to make; None if there is none before another answer, or at all."""
        while not self._alone and not self._full():
            if self._handed_on in self._results:
                return None  # hand it on first: what needs no model needs no memory either
            if not self._admit():
                break
        while self._alone:
            request = self._alone.popleft()
            if not request.closed:
                rest = [item for item in dict.fromkeys(request.ask.items) if item not in request.rows]
                ask = replace(request.ask, items=tuple(rest[: _batch_size(request.ask)]))
                return Batch(ask, self._running[request.number].seconds, alone=request)
        for key in sorted(self._unsent, key=self._shortage):
            unsent, waiting = self._unsent[key], self._waiting[key]
            size, items = _batch_size(key), list[Any]()
            while unsent and len(items) < size:
                item = unsent.popleft()
                if any(not request.closed for request in waiting[item]):
                    items.append(item)
                else:
                    del waiting[item]
            if items:
                wanting = {r.number for item in items for r in waiting[item] if not r.closed}
                return Batch(replace(key, items=tuple(items)), self._allowed(wanting))
        return None

    def answer(self, batch: Batch, rows: Any, seconds: float = 0.0) -> None:
        """Deal the rows of a batch, or the exception that came instead, to the plans that asked."""
        items, claims = batch.ask.items, self._claims(batch)
        for request, mine in claims:
            job = self._running[request.number]
            # A shared call that failed is not charged: each is asked alone, and has its whole time for that.
            if job.seconds is not None and (len(claims) == 1 or not isinstance(rows, Exception)):
                job.seconds -= seconds * len(mine) / max(len(items), 1)
        if not isinstance(rows, Exception) and len(rows) != len(items):
            rows = BadModelOutput(f"a model must answer {len(items)} items with as many rows, got {len(rows)}")
        if isinstance(rows, Exception):
            self._failed(rows, [request for request, _ in claims])
            return
        self._memory[_key(batch.ask)].put(items, rows)
        if len(claims) == 1 and claims[0][0].ask.items == items:
            self._close(claims[0][0], batch.ask.answer(rows))
        else:
            place = {item: i for i, item in enumerate(items)}
            for request, mine in claims:
                if len(mine) == request.wanted:  # all at once: no need to handle rows one by one
                    self._close(request, batch.ask.answer(_taken(rows, [place[item] for item in request.ask.items])))
                    continue
                request.rows.update((item, rows[place[item]]) for item in mine)
                if len(request.rows) == request.wanted:
                    self._close(request, request.dealt())
                elif batch.alone:
                    self._alone.append(request)

    def ready(self) -> Iterator[T]:
        """Yield the results that are next in order, and forget them."""
        while self._handed_on in self._results:
            yield self._results.pop(self._handed_on)
            self._handed_on += 1

    def _full(self) -> bool:
        enough = self._admitted - self._handed_on >= WINDOW
        return enough or any(self._shortage(key) <= 0 for key in self._unsent)

    def _shortage(self, key: _Key) -> int:
        """Return how many items a batch still lacks."""
        return _batch_size(key) - len(self._unsent[key])

    @property
    def done(self) -> bool:
        """Whether there was no job left to admit and none is under way."""
        return self._exhausted and not self._running and not self._results

    def _admit(self) -> bool:
        for job in islice(self._jobs, 1):
            self._running[self._admitted] = job
            self._admitted += 1
            self._step(self._admitted - 1, None)
            return True
        self._exhausted = True
        return False

    def _allowed(self, numbers: Iterable[int]) -> float | None:
        """Return what a call for several plans may take: their time together, but not so much that one can hang all."""
        left = [self._running[number].seconds for number in numbers]
        known = [max(seconds, 0.0) for seconds in left if seconds is not None]
        return None if len(known) < len(left) else min(sum(known), PATIENCE * max(known))

    def _claims(self, batch: Batch) -> list[tuple[_Request, list[Any]]]:
        """Return the open requests that a batch answers, and which of its items each wants."""
        if batch.alone:  # unless another call has closed it meanwhile
            return [] if batch.alone.closed else [(batch.alone, list(batch.ask.items))]
        waiting, claims = self._waiting[_key(batch.ask)], dict[int, tuple[_Request, list[Any]]]()
        for item in batch.ask.items:
            for request in waiting.pop(item):
                if not request.closed:
                    claims.setdefault(request.number, (request, []))[1].append(item)
        return list(claims.values())

    def _close(self, request: _Request, answer: Any) -> None:
        request.closed = True
        self._step(request.number, answer)

    def _step(self, number: int, answer: Any) -> None:
        """Send a plan its answer; note what it asks for next, or its result."""
        while True:
            job, began = self._running[number], time.monotonic()
            try:
                state = within(job.seconds, _advance, job.plan, answer)
            except Exception as error:
                if job.recover is None:
                    raise
                self._running[number], answer = job.recover(error), None
                continue
            if isinstance(state, _Done):
                del self._running[number]
                self._results[number] = state.result
                return
            if job.seconds is not None:
                job.seconds -= time.monotonic() - began
            request = self._enqueue(number, state)
            if len(request.rows) < request.wanted:
                return
            request.closed = True
            answer = request.dealt()

    def _enqueue(self, number: int, ask: Ask) -> _Request:
        """Take up a request; what is remembered is answered at once."""
        items, key = dict.fromkeys(ask.items), _key(ask)
        known = self._memory.setdefault(key, _Memory()).get(items)
        request = _Request(number, ask, len(items), known)
        waiting = self._waiting.setdefault(key, {})
        unsent = self._unsent.setdefault(key, deque())
        for item in [item for item in items if item not in known]:
            if item not in waiting:
                waiting[item] = []
                unsent.append(item)
            waiting[item].append(request)
        return request

    def _failed(self, error: Exception, requests: list[_Request]) -> None:
        """Raise the error in the plan whose ask it was; to find out whose, ask again for each alone."""
        for request in requests:
            if len(requests) == 1 or self._running[request.number].recover is None:
                self._close(request, error)
            else:
                self._alone.append(request)


def drive(jobs: Iterable[Job[T]]) -> Iterator[T]:
    """Yield the results of jobs in their order; models are called."""
    scheduler = Scheduler(jobs)
    while True:
        yield from scheduler.ready()
        batch = scheduler.batch()
        if batch is None:
            if scheduler.done:
                return
            continue
        began = time.monotonic()
        try:
            rows = within(batch.seconds, getattr(batch.ask.model, METHODS[type(batch.ask)][0]), batch.ask.items)
        except Exception as error:  # noqa: BLE001 - the scheduler decides what a failed model means
            rows = error
        scheduler.answer(batch, rows, time.monotonic() - began)


async def adrive(jobs: Iterable[Job[T]], concurrency: int = 4) -> AsyncIterator[T]:
    """Yield the results of jobs in their order; models are awaited, ``concurrency`` calls at a time.

    Plans compute in a thread, off the event loop, one after the other.
    """
    require(concurrency >= 1, "concurrency must be >= 1", concurrency)
    scheduler = Scheduler(jobs)
    calls: dict[asyncio.Task[tuple[Any, float]], Batch] = {}
    try:
        while True:
            while len(calls) < concurrency and (batch := await in_thread(scheduler.batch)):
                calls[asyncio.create_task(_awaited(batch))] = batch
            for result in scheduler.ready():
                yield result
            if not calls:
                if scheduler.done:
                    return
                continue
            done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            for call in done:
                rows, seconds = call.result()
                await in_thread(scheduler.answer, calls.pop(call), rows, seconds)
    finally:
        for call in calls:
            call.cancel()


def within(seconds: float | None, call: Callable[..., R], *args: Any) -> R:
    """Call, and raise `TimeoutError` if that takes longer than ``seconds``.

    Python cannot stop a computation from outside: one that is too late runs to its end in a
    daemon thread, and its result is dropped.
    """
    if seconds is None:
        return call(*args)
    outcome: list[R | Exception] = []
    context = copy_context()  # callbacks of the frameworks travel in context variables

    def work() -> None:
        try:
            outcome.append(context.run(call, *args))
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    if seconds > 0:
        thread.start()
        thread.join(min(seconds, threading.TIMEOUT_MAX))
    if not outcome:
        msg = f"not done in the time allowed ({max(seconds, 0):.3g} s were left)"
        raise TimeoutError(msg)
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    result: T


def _advance(plan: Plan[T], answer: Any) -> Ask | _Done[T]:
    try:
        return plan.throw(answer) if isinstance(answer, Exception) else plan.send(answer)
    except StopIteration as stop:  # a value from here on: StopIteration may not cross a thread
        return _Done(stop.value)
    except BaseException as error:
        if isinstance(error, (Exception, KeyboardInterrupt, SystemExit, GeneratorExit)):
            raise
        msg = f"{type(error).__name__}: {error}"  # a panic of a library in Rust, which may not end the other plans
        raise RuntimeError(msg) from error


async def in_thread(call: Callable[..., R], *args: Any) -> R:
    """Await a call in a thread of its own.

    The threads of `asyncio.to_thread` are few, and all are waited for when the loop ends: calls
    that were given up would stop the others, and then the program.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    future: asyncio.Future[R] = loop.create_future()

    def settle(result: R | None, error: Exception | None) -> None:
        if not future.done():
            future.set_exception(error) if error else future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        outcome: tuple[R | None, Exception | None]
        try:
            outcome = context.run(call, *args), None
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            outcome = None, error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=work, daemon=True).start()
    return await future


async def _awaited(batch: Batch) -> tuple[Any, float]:
    began = time.monotonic()
    try:
        method = getattr(batch.ask.model, METHODS[type(batch.ask)][1])
        seconds = None if batch.seconds is None else min(batch.seconds, threading.TIMEOUT_MAX)
        rows = await asyncio.wait_for(method(batch.ask.items), seconds)
    except Exception as error:  # noqa: BLE001 - the scheduler decides what a failed model means
        rows = error
    return rows, time.monotonic() - began


def _taken(rows: Any, places: list[int]) -> Any:
    return rows[places] if isinstance(rows, np.ndarray) else [rows[i] for i in places]


def _key(ask: Ask) -> _Key:
    return replace(ask, items=())


def _batch_size(ask: Ask) -> int:
    return int(getattr(ask.model, "batch_size", None) or BATCH_SIZE)
