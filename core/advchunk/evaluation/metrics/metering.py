"""Measure the cost of work: time, and what is sent to models."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from advchunk.engine import Ask, ChatRequest
from advchunk.text.counters import Counter

_T = TypeVar("_T")


@dataclass(frozen=True)
class RunCost:
    """The cost of a piece of work; None where unknown.

    ``cpu_seconds`` are of all threads of this process, without models served elsewhere. ``calls`` and ``tokens`` (of
    the task's counter) include answers from a cache; None for an external splitter, which calls its own models.
    """

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    calls: int | None = None
    tokens: int | None = None

    def __add__(self, other: "RunCost") -> "RunCost":
        """Return the cost of both, one after the other; calls and tokens are known only if known for both."""
        wall, cpu = self.wall_seconds + other.wall_seconds, self.cpu_seconds + other.cpu_seconds
        pairs = (self.calls, other.calls), (self.tokens, other.tokens)
        sent = (None if a is None or b is None else a + b for a, b in pairs)
        return RunCost(wall, cpu, *sent)


class Meter:
    """Count requests to models, those answered from a cache included; pass it as the ``watch`` of `engine.drive`."""

    def __init__(self) -> None:
        self.calls = 0
        self.sent: list[str] = []

    def __call__(self, ask: Ask, rows: Any, seconds: float) -> None:  # noqa: ARG002
        """Record a call."""
        self.calls += 1
        self.sent += [text for item in ask.items for text in _texts(item)]


def _texts(item: Any) -> list[str]:
    """Return the texts of a request item (`engine.Ask`): a text, a tuple with texts, or the messages of a chat."""
    if isinstance(item, ChatRequest):
        return [content for _, content in item.messages]
    if isinstance(item, tuple):
        return [text for part in item for text in _texts(part)]
    return [item] if isinstance(item, str) else []


def measure_cost(work: Callable[[], _T], meter: Meter | None, counter: Counter) -> tuple[_T, RunCost]:
    """Run ``work`` and return its result and cost; without a meter, its model calls are unknown."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    # Counting the tokens is not part of the cost.
    sent = (None, None) if meter is None else (meter.calls, int(counter.counts(meter.sent).sum()))
    return result, RunCost(wall, cpu, *sent)
