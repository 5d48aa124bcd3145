"""Measure the cost of work: time, memory, and what is sent to models."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from advchunk.engine import Ask, ChatRequest
from advchunk.text.counters import Counter

_T = TypeVar("_T")

_PROC = Path("/proc/self")


@dataclass(frozen=True)
class RunCost:
    """The cost of a piece of work; None where unknown.

    ``cpu_seconds`` are of all threads of this process, without models served elsewhere. ``peak_bytes`` is resident
    memory above that at the start, with models loaded, reproducible to a few megabytes; Linux only. ``calls`` and
    ``tokens`` (of the task's counter) include answers from a cache; None for an external splitter, which calls its own
    models.
    """

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int | None = None
    calls: int | None = None
    tokens: int | None = None

    def __add__(self, other: RunCost) -> RunCost:
        """Return the cost of both, one after the other; calls and tokens are known only if known for both."""
        peaks = [cost.peak_bytes for cost in (self, other) if cost.peak_bytes is not None]
        wall, cpu = self.wall_seconds + other.wall_seconds, self.cpu_seconds + other.cpu_seconds
        pairs = (self.calls, other.calls), (self.tokens, other.tokens)
        sent = (None if a is None or b is None else a + b for a, b in pairs)
        return RunCost(wall, cpu, max(peaks, default=None), *sent)


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
    resident = _reset_peak_memory()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = None if resident is None else max(_memory("VmHWM") - resident, 0)
    # Counting the tokens is not part of the cost.
    sent = (None, None) if meter is None else (meter.calls, int(counter.counts(meter.sent).sum()))
    return result, RunCost(wall, cpu, peak, *sent)


def _reset_peak_memory() -> int | None:
    """Reset the peak of resident memory to its current value and return it; None where it is unknown."""
    gc.collect()  # and return freed memory to the system, since work that reuses it would seem to need none
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):  # of glibc
        trim(0)
    try:
        (_PROC / "clear_refs").write_text("5", encoding="ascii")  # proc(5), since Linux 4.0
        return _memory("VmRSS")
    except OSError:
        return None


def _memory(name: str) -> int:
    match = re.search(rf"{name}:\s+(\d+) kB", (_PROC / "status").read_text(encoding="utf-8"))
    return 1024 * int(match[1]) if match else 0
