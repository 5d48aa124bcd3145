"""Merge the asks of many plans into full batches, and deal out the answers. It calls nothing itself."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from advchunk.engine.asks import Ask, Key, batch_size, key_of
from advchunk.engine.plans import Done, Job
from advchunk.errors import BadModelOutput

T = TypeVar("T")

WINDOW = 4096  # jobs begun whose results are not handed on; more would only pile up behind a slow one
PATIENCE = 8  # times what the most patient of several plans has left, for a call on behalf of all


@dataclass(slots=True, eq=False)
class Pending:
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
    alone: Pending | None = None


_Claim: TypeAlias = tuple[Pending, list[Any]]  # of a request on items of a batch


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
        self._waiting: dict[Key, dict[Any, list[Pending]]] = {}  # item -> who wants it, until it is answered
        self._unsent: dict[Key, _Turns] = {}
        self._memory: dict[Key, _Memory] = {}
        self._alone: deque[Pending] = deque()  # asks of a batch that failed, to find out whose fault it was

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
                ask = replace(request.ask, items=tuple(rest[: batch_size(request.ask)]))
                return Batch(ask, self._running[request.number].seconds, alone=request)
            self._alone.append(request)
        return None

    def _next_shared(self) -> Batch | None:
        for key in sorted(filter(self._free, self._unsent), key=self._shortage):
            unsent, waiting = self._unsent[key], self._waiting[key]
            size, items = batch_size(key), list[Any]()
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
        self._memory[key_of(batch.ask)].put(items, rows, but=failed)
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

    def _shortage(self, key: Key) -> int:
        """Return how many items a batch still lacks."""
        return batch_size(key) - len(self._unsent[key])

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
            self._step(self._admitted - 1, job.pending or job.advance(None))
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
        waiting, claims = self._waiting[key_of(batch.ask)], dict[int, _Claim]()
        for item in batch.ask.items:
            for request in waiting.pop(item):
                if not request.closed:
                    claims.setdefault(request.number, (request, []))[1].append(item)
        return list(claims.values())

    def _close(self, request: Pending, answer: Any) -> None:
        request.closed = True
        self._step(request.number, self._running[request.number].advance(answer))

    def _step(self, number: int, state: Ask | Done[T]) -> None:
        """Take up what a plan asks for, or its result; go on with it while its asks can be answered at once."""
        while not isinstance(state, Done):
            request = self._enqueue(number, state)
            if len(request.rows) < request.wanted:
                return
            request.closed = True
            state = self._running[number].advance(request.dealt())
        del self._running[number]
        self._results[number] = state.result

    def _enqueue(self, number: int, ask: Ask) -> Pending:
        """Take up a request; what is remembered is answered at once."""
        items, key = dict.fromkeys(ask.items), key_of(ask)
        known = self._memory.setdefault(key, _Memory(ask.remembered)).get(items)
        request = Pending(number, ask, len(items), known)
        waiting = self._waiting.setdefault(key, {})
        lacking = [item for item in items if item not in known]
        self._unsent.setdefault(key, _Turns()).put([item for item in lacking if item not in waiting])
        for item in lacking:
            waiting.setdefault(item, []).append(request)
        return request

    def _failed(self, error: Exception, batch: Batch, requests: list[Pending]) -> None:
        """Raise the error in the plan whose ask it was; to find out whose, ask again for each alone."""
        known = len(requests) == 1 or len(batch.ask.items) == 1  # whose it was
        for request in requests:
            if known or self._running[request.number].recover is None:
                self._close(request, error)
            else:
                self._alone.append(request)


def _failures(items: tuple[Any, ...], rows: Any) -> dict[Any, Exception]:
    if isinstance(rows, np.ndarray):
        return {}
    return {item: row for item, row in zip(items, rows, strict=True) if isinstance(row, Exception)}


def _taken(rows: Any, places: list[int]) -> Any:
    return rows[places] if isinstance(rows, np.ndarray) else [rows[i] for i in places]
