"""Merge the requests of many plans into full batches, and distribute the answers. Nothing here calls a model."""

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from advchunk.engine.asks import Ask, Key, batch_size, key_of
from advchunk.engine.plans import Done, Job
from advchunk.errors import BadModelOutput

_T = TypeVar("_T")

_MAX_OPEN_JOBS = 4096  # started jobs whose results are not returned yet; bounds the results waiting behind a slow job
_MAX_TIME_FACTOR = 8  # a shared call may take this many times the longest time left of any of its plans


@dataclass(slots=True, eq=False)
class PendingAsk:
    """A plan's unanswered request, and the rows received for it so far."""

    number: int  # of the job
    ask: Ask
    n_distinct: int  # items
    rows: dict[Any, Any] = field(default_factory=dict)
    closed: bool = False
    charged_until: float = 0.0  # so that time in concurrent calls is charged once

    def answer(self) -> Any:
        """Build the answer from the rows, all of which must be present."""
        return self.ask.answer([self.rows[item] for item in self.ask.items])


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One call of a model, with a time limit in ``seconds``; ``retry_of`` is set when one request is retried alone."""

    ask: Ask
    seconds: float | None
    retry_of: PendingAsk | None = None


_Claim: TypeAlias = tuple[PendingAsk, list[Any]]  # a request, and the items of a batch that it waits for


class _FairQueue:
    """Unsent items. Requests take turns, one batch each, so that a large request does not delay the others."""

    def __init__(self) -> None:
        self._queues: deque[deque[Any]] = deque()
        self._n_items = 0

    def __len__(self) -> int:
        return self._n_items

    def put(self, items: Sequence[Any]) -> None:
        """Queue the items of a request."""
        if items:
            self._queues.append(deque(items))
            self._n_items += len(items)

    def take(self, max_items: int) -> list[Any]:
        items: list[Any] = []
        while self._queues and len(items) < max_items:
            queue = self._queues.popleft()
            items += [queue.popleft() for _ in range(min(max_items - len(items), len(queue)))]
            if queue:
                self._queues.append(queue)
        self._n_items -= len(items)
        return items


class Scheduler(Generic[_T]):
    """Merge the requests of many jobs into batches, distribute the answers, and return results in order.

    Take the results that are `ready`; call `batch` until it returns None; call `answer` for each batch.
    ``default_concurrency`` is for a model that has no ``concurrency``.
    """

    def __init__(self, jobs: Iterable[Job[_T]], default_concurrency: int = 1) -> None:
        self._jobs = iter(jobs)
        self._default_concurrency = default_concurrency
        self._in_flight: Counter[Any] = Counter()  # calls, by model
        self._running: dict[int, Job[_T]] = {}
        self._results: dict[int, _T] = {}
        self._n_started = self._n_returned = 0
        self._exhausted = False
        self._waiting: dict[Key, dict[Any, list[PendingAsk]]] = {}  # unanswered item -> requests for it
        self._unsent: dict[Key, _FairQueue] = {}
        self._cache: dict[Key, dict[Any, Any]] = {}  # the rows of the latest items
        self._retries: deque[PendingAsk] = deque()  # requests of failed batches, retried alone to find the culprit

    def batch(self) -> Batch | None:
        """Return the next call to make; None if none can be made before another answer, or at all."""
        while not self._retries and not self._full():
            if self._n_returned in self._results:
                return None  # return it first, so that jobs without a model do not pile up in memory
            if not self._start_job():
                break
        batch = self._next_retry() or self._next_shared()
        if batch:
            self._in_flight[batch.ask.model] += 1
        return batch

    def _next_retry(self) -> Batch | None:
        for _ in range(len(self._retries)):
            pending = self._retries.popleft()
            if pending.closed:
                continue
            if self._has_capacity(pending.ask):
                rest = [item for item in dict.fromkeys(pending.ask.items) if item not in pending.rows]
                ask = replace(pending.ask, items=tuple(rest[: batch_size(pending.ask)]))
                return Batch(ask, self._running[pending.number].seconds, retry_of=pending)
            self._retries.append(pending)
        return None

    def _next_shared(self) -> Batch | None:
        for key in sorted(filter(self._has_capacity, self._unsent), key=self._n_missing):
            unsent, waiting = self._unsent[key], self._waiting[key]
            size, items = batch_size(key), list[Any]()
            while unsent and len(items) < size:
                for item in unsent.take(size - len(items)):
                    if any(not pending.closed for pending in waiting[item]):
                        items.append(item)
                    else:
                        del waiting[item]
            if items:
                numbers = {pending.number for item in items for pending in waiting[item] if not pending.closed}
                return Batch(replace(key, items=tuple(items)), self._time_limit(numbers))
        return None

    def answer(self, batch: Batch, rows: Any, seconds: float = 0.0) -> None:
        """Distribute the rows of a batch, or its exception, to the plans that asked; charge them the ``seconds``."""
        self._in_flight[batch.ask.model] -= 1
        items, claims, now = batch.ask.items, self._claims(batch), time.monotonic()
        for pending, claimed in claims:
            job = self._running[pending.number]
            # A failed shared call is not charged: each request is retried alone with all of its time.
            if job.seconds is not None and (len(claims) == 1 or not isinstance(rows, Exception)):
                job.seconds -= min(seconds, now - pending.charged_until) * len(claimed) / max(len(items), 1)
            pending.charged_until = now
        if not isinstance(rows, Exception) and len(rows) != len(items):
            rows = BadModelOutput(f"a model must answer {len(items)} items with as many rows, got {len(rows)}")
        if isinstance(rows, Exception):
            self._fail(rows, batch, [pending for pending, _ in claims])
        else:
            self._distribute(batch, rows, claims)

    def _distribute(self, batch: Batch, rows: Any, claims: list[_Claim]) -> None:
        items, cache = batch.ask.items, self._cache[key_of(batch.ask)]
        pairs = () if isinstance(rows, np.ndarray) else zip(items, rows, strict=True)
        errors = {item: row for item, row in pairs if isinstance(row, Exception)}
        cache.update((item, row) for item, row in zip(items, rows, strict=True) if item not in errors)
        for item in [*islice(cache, max(len(cache) - batch.ask.cache_size, 0))]:
            del cache[item]
        if len(claims) == 1 and claims[0][0].ask.items == items and not errors:
            self._close(claims[0][0], batch.ask.answer(rows))
            return
        position = {item: i for i, item in enumerate(items)}
        for pending, claimed in claims:
            if error := next((errors[item] for item in claimed if item in errors), None):
                self._close(pending, error)
                continue
            if len(claimed) == pending.n_distinct:  # the whole answer, so rows are taken at once
                places = [position[item] for item in pending.ask.items]
                own: Any = rows[places] if isinstance(rows, np.ndarray) else [rows[place] for place in places]
                self._close(pending, batch.ask.answer(own))
                continue
            pending.rows.update((item, rows[position[item]]) for item in claimed)
            if len(pending.rows) == pending.n_distinct:
                self._close(pending, pending.answer())
            elif batch.retry_of:
                self._retries.append(pending)

    def ready(self) -> Iterator[_T]:
        """Yield and drop the results that are next in order."""
        while self._n_returned in self._results:
            yield self._results.pop(self._n_returned)
            self._n_returned += 1

    def _full(self) -> bool:
        too_many = self._n_started - self._n_returned >= _MAX_OPEN_JOBS
        return too_many or any(self._n_missing(key) <= 0 for key in self._unsent)

    def _n_missing(self, key: Key) -> int:
        """Return the number of items missing from a full batch."""
        return batch_size(key) - len(self._unsent[key])

    def concurrency(self, model: Any) -> int:
        """Return the maximum number of concurrent calls of a model."""
        return int(getattr(model, "concurrency", None) or self._default_concurrency)

    def _has_capacity(self, ask: Ask) -> bool:
        return self._in_flight[ask.model] < self.concurrency(ask.model)

    @property
    def done(self) -> bool:
        """True once every job has been started and its result returned."""
        return self._exhausted and not self._running and not self._results

    def _start_job(self) -> bool:
        for job in islice(self._jobs, 1):
            self._running[self._n_started] = job
            self._n_started += 1
            self._continue(self._n_started - 1, job.pending or job.advance(None))
            return True
        self._exhausted = True
        return False

    def _time_limit(self, numbers: Iterable[int]) -> float | None:
        """Return the limit of a shared call: the plans' total time left, bounded so that one call cannot use it all."""
        left = [self._running[number].seconds for number in numbers]
        limits = [max(seconds, 0.0) for seconds in left if seconds is not None]
        return None if len(limits) < len(left) else min(sum(limits), _MAX_TIME_FACTOR * max(limits))

    def _claims(self, batch: Batch) -> list[_Claim]:
        """Return the open requests that a batch answers, each with its items in the batch."""
        if batch.retry_of:  # another call may have closed it in the meantime
            return [] if batch.retry_of.closed else [(batch.retry_of, list(batch.ask.items))]
        waiting, claims = self._waiting[key_of(batch.ask)], dict[int, _Claim]()
        for item in batch.ask.items:
            for pending in waiting.pop(item):
                if not pending.closed:
                    claims.setdefault(pending.number, (pending, []))[1].append(item)
        return list(claims.values())

    def _close(self, pending: PendingAsk, answer: Any) -> None:
        pending.closed = True
        self._continue(pending.number, self._running[pending.number].advance(answer))

    def _continue(self, number: int, state: Ask | Done[_T]) -> None:
        """Queue a plan's next request, or store its result; requests that are fully cached are answered at once."""
        while not isinstance(state, Done):
            pending = self._enqueue(number, state)
            if len(pending.rows) < pending.n_distinct:
                return
            pending.closed = True
            state = self._running[number].advance(pending.answer())
        del self._running[number]
        self._results[number] = state.result

    def _enqueue(self, number: int, ask: Ask) -> PendingAsk:
        """Register a request, fill in its cached rows, and queue the other items."""
        items, key = dict.fromkeys(ask.items), key_of(ask)
        cache = self._cache.setdefault(key, {})
        rows = {item: cache[item] for item in items if item in cache}
        pending = PendingAsk(number, ask, len(items), rows)
        waiting = self._waiting.setdefault(key, {})
        missing = [item for item in items if item not in rows]
        self._unsent.setdefault(key, _FairQueue()).put([item for item in missing if item not in waiting])
        for item in missing:
            waiting.setdefault(item, []).append(pending)
        return pending

    def _fail(self, error: Exception, batch: Batch, claimants: list[PendingAsk]) -> None:
        """Raise the error in the plan whose request caused it; if that is unknown, retry each request alone."""
        certain = len(claimants) == 1 or len(batch.ask.items) == 1
        for pending in claimants:
            if certain or self._running[pending.number].recover is None:
                self._close(pending, error)
            else:
                self._retries.append(pending)
