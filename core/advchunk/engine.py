"""Ask, don't call: plans say what they need from a model; one engine answers them all.

A plan is a generator. It yields an ask, is sent the answer (a model's failure is raised where
it asked), and returns its result:

    def decide(self, units, limits):
        vectors = yield Embed(tuple(units.strings()), self.model)
        return self.segment(units, vectors, limits)

No algorithm knows whether it runs alone, beside a thousand others, or under ``await``. A
`Scheduler` merges the asks of many plans into full, de-duplicated batches and never calls
anything itself; `drive` and `adrive` call, or await, the models. It admits a new plan only
when it cannot fill a batch, so memory is bounded by the batches under way, one more, and one
plan, however many there are.

A model says how many items a call it likes (``batch_size``) and how many calls at a time
(``concurrency``). It answers with one row an item; a row that is an exception fails only the
plans that asked for it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from queue import SimpleQueue
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from advchunk.errors import BadModelOutput, require

T = TypeVar("T")
R = TypeVar("R")

WINDOW = 4096  # jobs begun whose results are not handed on; more would only pile up behind a slow one
BATCH_SIZE = 1024  # items a call, of a model that does not say how many it likes
AWAITED = 4  # calls at a time, of a model that is awaited and does not say how many it likes
PATIENCE = 8  # times what the most patient of several plans has left, for a call on behalf of all


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to ``model`` for one row an item; rows are independent, so equal items are asked once."""

    items: tuple[Any, ...]
    model: Any
    remembered: ClassVar[int] = 256  # rows kept, for items that come up again; an item may be a whole document

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return what the plan is sent for its rows, one an item."""
        return list(rows)


class Embed(Ask):
    """Answered by a (len(items), d) float32 array of unit rows."""

    remembered = 16_384

    def answer(self, rows: Sequence[Any]) -> Any:
        """Return the rows as one array."""
        return np.asarray(rows)


class Score(Ask):
    """Asked of (text, edges): how surprised a language model is by each part of a text, given all before it.

    Answered by one (len(edges) - 1,) array an item.
    """


class Choose(Ask):
    """Asked of (prompt, options): how likely a language model goes on with each option.

    Answered by one (len(options),) array of probabilities an item.
    """


@dataclass(frozen=True, slots=True)
class Request:
    """What a chat model is asked; whatever differs in it is kept apart in a cache.

    Parameters
    ----------
    messages : (role, content) pairs; roles are "system", "user" and "assistant".
    schema : the JSON Schema of an answer in JSON, itself as JSON; None for text.
    max_tokens : of the answer, >= 1.
    temperature : 0 for the likeliest answer; what a model allows.
    seed : of what the model draws; None leaves it to the model.
    version : of the prompt.
    """

    messages: tuple[tuple[str, str], ...]
    schema: str | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None
    version: str = ""


class Complete(Ask):
    """Asked of `Request`s; answered by one ``str`` an item."""


# The method of a model that answers each kind of ask, and its async twin.
METHODS: dict[type[Ask], tuple[str, str]] = {
    Embed: ("embed", "aembed"),
    Score: ("score", "ascore"),
    Choose: ("choose", "achoose"),
    Complete: ("complete", "acomplete"),
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


def together(plans: Iterable[Plan[T]]) -> Plan[list[T]]:
    """Return a plan that runs plans side by side: what they ask alike at one time is asked at once."""
    running, answers, results = dict(enumerate(plans)), dict[int, Any](), dict[int, T]()
    while running:
        asks = dict[int, Ask]()
        for i, plan in list(running.items()):
            state = _advance(plan, answers.get(i))
            if isinstance(state, _Done):
                del running[i]
                results[i] = state.result
            else:
                asks[i] = state
        for key in dict.fromkeys(map(_key, asks.values())):
            mine = [i for i, ask in asks.items() if _key(ask) == key]
            try:
                rows = yield replace(key, items=tuple(item for i in mine for item in asks[i].items))
            except Exception as error:  # noqa: BLE001 - raised where it was asked for, as by the scheduler
                answers |= dict.fromkeys(mine, error)
                continue
            ends = np.cumsum([0, *(len(asks[i].items) for i in mine)]).tolist()
            answers |= {i: rows[a:b] for i, (a, b) in zip(mine, pairwise(ends), strict=True)}
    return [results[i] for i in sorted(results)]


@dataclass(slots=True, eq=False)
class _Pending:
    """An ask under way: rows come in as batches are answered."""

    number: int
    ask: Ask
    wanted: int
    rows: dict[Any, Any] = field(default_factory=dict)
    closed: bool = False
    charged: float = 0.0  # until when: of calls at the same time, each moment is charged once

    def dealt(self) -> Any:
        """Return the answer, once every row is there."""
        return self.ask.answer([self.rows[item] for item in self.ask.items])


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One call of a model, which may take ``seconds``; ``alone`` if made again for one request."""

    ask: Ask
    seconds: float | None
    alone: _Pending | None = None


_Key: TypeAlias = Ask  # without its items: asks that differ in nothing else share batches

_Claim: TypeAlias = tuple[_Pending, list[Any]]  # of a request on items of a batch


class _Memory:
    """The rows of the latest batches, whole batches at a time: a row alone would keep its batch alive."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._batches: deque[tuple[tuple[Any, ...], Any]] = deque()
        self._place: dict[Any, tuple[Any, int]] = {}
        self._held = 0

    def get(self, items: Iterable[Any]) -> dict[Any, Any]:
        """Return the rows of those items that are remembered."""
        found = {item: self._place[item] for item in items if item in self._place}
        return {item: rows[i] for item, (rows, i) in found.items()}

    def put(self, items: tuple[Any, ...], rows: Any, but: Collection[Any] = ()) -> None:
        """Remember a batch ``but`` for some items, and forget the oldest if there are too many."""
        self._batches.append((items, rows))
        self._place.update((item, (rows, i)) for i, item in enumerate(items) if item not in but)
        self._held += len(items)
        while self._held > self._most:
            forgotten, old = self._batches.popleft()
            self._held -= len(forgotten)
            for item in forgotten:
                if item in self._place and self._place[item][0] is old:
                    del self._place[item]


class _Turns:
    """Items not sent yet. Requests take turns of a batch, so that one of many items does not hold up the others."""

    def __init__(self) -> None:
        self._queues: deque[deque[Any]] = deque()
        self._held = 0

    def __len__(self) -> int:
        return self._held

    def put(self, items: Sequence[Any]) -> None:
        """Queue the items of a request."""
        if items:
            self._queues.append(deque(items))
            self._held += len(items)

    def take(self, most: int) -> list[Any]:
        """Return the next items, up to ``most``."""
        taken: list[Any] = []
        while self._queues and len(taken) < most:
            queue = self._queues.popleft()
            taken += [queue.popleft() for _ in range(min(most - len(taken), len(queue)))]
            if queue:
                self._queues.append(queue)
        self._held -= len(taken)
        return taken


class Scheduler(Generic[T]):
    """Merge the asks of many jobs into batches; deal out the answers; hand on results in order.

    Take what is `ready`; call `batch` until it returns None, and `answer` for each batch.

    Parameters
    ----------
    slots : calls at a time of a model that has no ``concurrency``.
    """

    def __init__(self, jobs: Iterable[Job[T]], slots: int = 1) -> None:
        self._jobs = iter(jobs)
        self._slots = slots
        self._out: Counter[Any] = Counter()  # calls under way, by model
        self._running: dict[int, Job[T]] = {}
        self._results: dict[int, T] = {}
        self._admitted = self._handed_on = 0
        self._exhausted = False
        self._waiting: dict[_Key, dict[Any, list[_Pending]]] = {}  # item -> who wants it, until it is answered
        self._unsent: dict[_Key, _Turns] = {}
        self._memory: dict[_Key, _Memory] = {}
        self._alone: deque[_Pending] = deque()  # asks of a batch that failed, to find out whose fault it was

    def batch(self) -> Batch | None:
        """Return the next call to make; None if there is none before another answer, or at all."""
        while not self._alone and not self._full():
            if self._handed_on in self._results:
                return None  # hand it on first: what needs no model needs no memory either
            if not self._admit():
                break
        batch = self._next_alone() or self._next_shared()
        if batch:
            self._out[batch.ask.model] += 1
        return batch

    def _next_alone(self) -> Batch | None:
        for _ in range(len(self._alone)):
            request = self._alone.popleft()
            if request.closed:
                continue
            if self._free(request.ask):
                rest = [item for item in dict.fromkeys(request.ask.items) if item not in request.rows]
                ask = replace(request.ask, items=tuple(rest[: _batch_size(request.ask)]))
                return Batch(ask, self._running[request.number].seconds, alone=request)
            self._alone.append(request)
        return None

    def _next_shared(self) -> Batch | None:
        for key in sorted(filter(self._free, self._unsent), key=self._shortage):
            unsent, waiting = self._unsent[key], self._waiting[key]
            size, items = _batch_size(key), list[Any]()
            while unsent and len(items) < size:
                for item in unsent.take(size - len(items)):
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
        self._out[batch.ask.model] -= 1
        items, claims, now = batch.ask.items, self._claims(batch), time.monotonic()
        for request, mine in claims:
            job = self._running[request.number]
            # A shared call that failed is not charged: each is asked alone, and has its whole time for that.
            if job.seconds is not None and (len(claims) == 1 or not isinstance(rows, Exception)):
                job.seconds -= min(seconds, now - request.charged) * len(mine) / max(len(items), 1)
            request.charged = now
        if not isinstance(rows, Exception) and len(rows) != len(items):
            rows = BadModelOutput(f"a model must answer {len(items)} items with as many rows, got {len(rows)}")
        if isinstance(rows, Exception):
            self._failed(rows, batch, [request for request, _ in claims])
        else:
            self._deal(batch, rows, claims)

    def _deal(self, batch: Batch, rows: Any, claims: list[_Claim]) -> None:
        items, failed = batch.ask.items, _failures(batch.ask.items, rows)
        self._memory[_key(batch.ask)].put(items, rows, but=failed)
        if len(claims) == 1 and claims[0][0].ask.items == items and not failed:
            self._close(claims[0][0], batch.ask.answer(rows))
            return
        place = {item: i for i, item in enumerate(items)}
        for request, mine in claims:
            if error := next((failed[item] for item in mine if item in failed), None):
                self._close(request, error)
                continue
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

    def slots(self, model: Any) -> int:
        """Return how many calls of a model may be under way."""
        return int(getattr(model, "concurrency", None) or self._slots)

    def _free(self, ask: Ask) -> bool:
        return self._out[ask.model] < self.slots(ask.model)

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

    def _claims(self, batch: Batch) -> list[_Claim]:
        """Return the open requests that a batch answers, and which of its items each wants."""
        if batch.alone:  # unless another call has closed it meanwhile
            return [] if batch.alone.closed else [(batch.alone, list(batch.ask.items))]
        waiting, claims = self._waiting[_key(batch.ask)], dict[int, _Claim]()
        for item in batch.ask.items:
            for request in waiting.pop(item):
                if not request.closed:
                    claims.setdefault(request.number, (request, []))[1].append(item)
        return list(claims.values())

    def _close(self, request: _Pending, answer: Any) -> None:
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

    def _enqueue(self, number: int, ask: Ask) -> _Pending:
        """Take up a request; what is remembered is answered at once."""
        items, key = dict.fromkeys(ask.items), _key(ask)
        known = self._memory.setdefault(key, _Memory(ask.remembered)).get(items)
        request = _Pending(number, ask, len(items), known)
        waiting = self._waiting.setdefault(key, {})
        lacking = [item for item in items if item not in known]
        self._unsent.setdefault(key, _Turns()).put([item for item in lacking if item not in waiting])
        for item in lacking:
            waiting.setdefault(item, []).append(request)
        return request

    def _failed(self, error: Exception, batch: Batch, requests: list[_Pending]) -> None:
        """Raise the error in the plan whose ask it was; to find out whose, ask again for each alone."""
        known = len(requests) == 1 or len(batch.ask.items) == 1  # whose it was
        for request in requests:
            if known or self._running[request.number].recover is None:
                self._close(request, error)
            else:
                self._alone.append(request)


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
        _begun(_called, batch).add_done_callback(lambda call: answers.put((batch, call)))

    def answer(batch: Batch, rows: Any, seconds: float) -> None:
        watch(batch.ask, rows, seconds)
        scheduler.answer(batch, rows, seconds)

    while True:
        yield from scheduler.ready()
        batch = scheduler.batch() if answers.empty() else None
        if batch and scheduler.slots(batch.ask.model) == 1:
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
    require(concurrency is None or concurrency >= 1, "concurrency must be >= 1", concurrency)
    scheduler = Scheduler(jobs, concurrency or AWAITED)
    calls: dict[asyncio.Task[_Answer], Batch] = {}
    try:
        while True:
            for result in scheduler.ready():
                yield result
            more = concurrency is None or len(calls) < concurrency
            if more and (batch := await in_thread(scheduler.batch)):
                calls[asyncio.create_task(_awaited(batch))] = batch
            elif calls:
                done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                for call in done:
                    await in_thread(scheduler.answer, calls.pop(call), *call.result())
            elif scheduler.done:
                return
    finally:
        for call in calls:
            call.cancel()


_Answer: TypeAlias = tuple[Any, float]  # the rows of a batch, or the exception that came instead, and the seconds


def _called(batch: Batch) -> _Answer:
    began = time.monotonic()
    try:
        rows = within(batch.seconds, getattr(batch.ask.model, METHODS[type(batch.ask)][0]), batch.ask.items)
    except BaseException as error:  # noqa: BLE001 - the scheduler decides what a failed model means
        rows = _survivable(error)
    return rows, time.monotonic() - began


async def _awaited(batch: Batch) -> _Answer:
    began = time.monotonic()
    try:
        method = getattr(batch.ask.model, METHODS[type(batch.ask)][1])
        seconds = None if batch.seconds is None else min(batch.seconds, threading.TIMEOUT_MAX)
        rows = await asyncio.wait_for(method(batch.ask.items), seconds)
    except BaseException as error:  # noqa: BLE001 - the scheduler decides what a failed model means
        rows = _survivable(error)
    return rows, time.monotonic() - began


def within(seconds: float | None, call: Callable[..., R], *args: Any) -> R:
    """Call, and raise `TimeoutError` if that takes longer than ``seconds``.

    Python cannot stop a computation from outside: one that is too late runs to its end in a
    daemon thread, and its result is dropped.
    """
    if seconds is None:
        return call(*args)
    if seconds > 0:
        begun = _begun(call, *args)
        wait([begun], min(seconds, threading.TIMEOUT_MAX))
        if begun.done():
            return begun.result()
    msg = f"not done in the time allowed ({max(seconds, 0):.3g} s were left)"
    raise TimeoutError(msg)


async def in_thread(call: Callable[..., R], *args: Any) -> R:
    """Await a call in a thread of its own.

    The threads of `asyncio.to_thread` are few, and all are waited for when the loop ends: calls
    that were given up would stop the others, and then the program.
    """
    return await asyncio.wrap_future(_begun(call, *args))


def _begun(call: Callable[..., R], *args: Any) -> Future[R]:
    future: Future[R] = Future()
    future.set_running_or_notify_cancel()  # from here on nobody can cancel it
    context = copy_context()  # callbacks of the frameworks travel in context variables

    def work() -> None:
        try:
            result = context.run(call, *args)
        except StopIteration as error:  # may not cross a thread
            future.set_exception(_survivable(error))
        except BaseException as error:  # noqa: BLE001 - raised again by who waits for it
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=work, daemon=True).start()
    return future


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    result: T


def _advance(plan: Plan[T], answer: Any) -> Ask | _Done[T]:
    try:
        return plan.throw(answer) if isinstance(answer, Exception) else plan.send(answer)
    except StopIteration as stop:  # a value from here on: StopIteration may not cross a thread
        return _Done(stop.value)
    except Exception:
        raise
    except BaseException as error:
        raise _survivable(error) from error


def _survivable(error: BaseException) -> Exception:
    """Return what ends one plan; raise again what ends all."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)):
        raise error
    survivable = RuntimeError(f"{type(error).__name__}: {error}")  # such as a panic of a library in Rust
    survivable.__cause__ = error
    return survivable


def _failures(items: tuple[Any, ...], rows: Any) -> dict[Any, Exception]:
    if isinstance(rows, np.ndarray):
        return {}
    return {item: row for item, row in zip(items, rows, strict=True) if isinstance(row, Exception)}


def _taken(rows: Any, places: list[int]) -> Any:
    return rows[places] if isinstance(rows, np.ndarray) else [rows[i] for i in places]


def _key(ask: Ask) -> _Key:
    return replace(ask, items=())


def _batch_size(ask: Ask) -> int:
    return int(getattr(ask.model, "batch_size", None) or BATCH_SIZE)
