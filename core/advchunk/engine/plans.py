"""Plans: generators that yield requests, receive answers, and return a result."""

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from advchunk.engine.asks import Ask, key_of
from advchunk.engine.threads import as_exception, call_with_timeout
from advchunk.errors import BadModelOutput

_T = TypeVar("_T")

Plan: TypeAlias = Generator[Ask, Any, _T]


class Done(Generic[_T]):
    """The result of a plan that has ended."""

    def __init__(self, result: _T) -> None:
        self.result = result


@dataclass(slots=True)
class Job(Generic[_T]):
    """A plan, its time limit, and its recovery from errors.

    ``seconds`` limits its own computation plus its share of the models' time; None is unlimited. ``recover`` returns
    the job to run instead, or raises; None raises the error. ``pending`` is the unanswered request of a started job.
    """

    plan: Plan[_T]
    seconds: float | None = None
    recover: "Callable[[Exception], Job[_T]] | None" = None
    pending: Ask | None = None

    def advance(self, answer: Any) -> Ask | Done[_T]:
        """Send the plan its answer and return its next request or its result; on an error, run the recovery."""
        while True:
            start = time.monotonic()
            try:
                if self.seconds is None:
                    return advance(self.plan, answer)
                state = call_with_timeout(self.seconds, advance, self.plan, answer)
            except Exception as error:
                if self.recover is None:
                    raise
                job, answer = self.recover(error), None
                self.plan, self.seconds, self.recover = job.plan, job.seconds, job.recover
            else:
                self.seconds -= time.monotonic() - start
                return state


def advance(plan: Plan[_T], answer: Any) -> Ask | Done[_T]:
    """Send an answer to a plan, or raise it there, and return its next request or its result."""
    try:
        return plan.throw(answer) if isinstance(answer, Exception) else plan.send(answer)
    except StopIteration as stop:  # returned as a value, because StopIteration cannot cross threads
        return Done(stop.value)
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise as_exception(error) from error


def completed(result: _T) -> Plan[_T]:
    """Return a plan that makes no requests and returns ``result``."""
    yield from ()
    return result


def gather(plans: Iterable[Plan[_T]]) -> Plan[list[_T]]:
    """Run plans side by side, merging the requests that they make at the same time."""
    running, answers, results = dict(enumerate(plans)), dict[int, Any](), dict[int, _T]()
    while running:
        states = {i: advance(plan, answers.get(i)) for i, plan in running.items()}
        results |= {i: state.result for i, state in states.items() if isinstance(state, Done)}
        asks = {i: state for i, state in states.items() if not isinstance(state, Done)}
        running = {i: running[i] for i in asks}
        for key in dict.fromkeys(map(key_of, asks.values())):
            members = [i for i, ask in asks.items() if key_of(ask) == key]
            try:
                rows = yield replace(key, items=tuple(item for i in members for item in asks[i].items))
            except BadModelOutput:
                answers |= yield from _answer_alone({i: asks[i] for i in members})
                continue
            except Exception as error:  # noqa: BLE001 - raised in the plans that asked, as the scheduler does
                answers |= dict.fromkeys(members, error)
                continue
            ends = np.cumsum([0, *(len(asks[i].items) for i in members)]).tolist()
            answers |= {i: rows[a:b] for i, (a, b) in zip(members, pairwise(ends), strict=True)}
    return [results[i] for i in sorted(results)]


def _answer_alone(asks: dict[int, Ask]) -> Plan[dict[int, Any]]:
    """Make each request alone, and return its answer or its error, so that one bad answer does not fail the others."""
    answers = dict[int, Any]()
    for i, ask in asks.items():
        try:
            answers[i] = yield ask
        except Exception as error:  # noqa: BLE001 - raised in the plan that asked
            answers[i] = error
    return answers
