"""Plans: generators that yield asks, are sent answers, and return a result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from advchunk.engine.asks import Ask, key_of
from advchunk.engine.threads import as_exception

T = TypeVar("T")

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


def completed(result: T) -> Plan[T]:
    """Return a plan that has its result already."""
    yield from ()
    return result


def gather(plans: Iterable[Plan[T]]) -> Plan[list[T]]:
    """Return a plan that runs plans side by side: what they ask alike at one time is asked at once."""
    running, answers, results = dict(enumerate(plans)), dict[int, Any](), dict[int, T]()
    while running:
        asks = dict[int, Ask]()
        for i, plan in list(running.items()):
            state = advance(plan, answers.get(i))
            if isinstance(state, Done):
                del running[i]
                results[i] = state.result
            else:
                asks[i] = state
        for key in dict.fromkeys(map(key_of, asks.values())):
            mine = [i for i, ask in asks.items() if key_of(ask) == key]
            try:
                rows = yield replace(key, items=tuple(item for i in mine for item in asks[i].items))
            except Exception as error:  # noqa: BLE001 - raised where it was asked for, as by the scheduler
                answers |= dict.fromkeys(mine, error)
                continue
            ends = np.cumsum([0, *(len(asks[i].items) for i in mine)]).tolist()
            answers |= {i: rows[a:b] for i, (a, b) in zip(mine, pairwise(ends), strict=True)}
    return [results[i] for i in sorted(results)]


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a plan came to."""

    result: T


def advance(plan: Plan[T], answer: Any) -> Ask | Done[T]:
    """Send a plan its answer, or raise it there, and return what it asks for next, or its result."""
    try:
        return plan.throw(answer) if isinstance(answer, Exception) else plan.send(answer)
    except StopIteration as stop:  # a value from here on: StopIteration may not cross a thread
        return Done(stop.value)
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise as_exception(error) from error
