"""Measure the cost of work: time, memory, and what is sent to models."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from advchunk.engine import Ask, ChatRequest
from advchunk.errors import require
from advchunk.models.identity import model_name
from advchunk.text.counters import Counter

_T = TypeVar("_T")

TokenPrices: TypeAlias = Mapping[str, float | Sequence[float]]
"""The price of a million tokens, by model name: one price, or those of input and output tokens."""

_PROC = Path("/proc/self")


@dataclass(frozen=True)
class RunCost:
    """The cost of a piece of work; None where unknown.

    Parameters
    ----------
    wall_seconds : elapsed time.
    cpu_seconds : processor time of this process, all threads together; models served elsewhere are not included.
    gpu_seconds : time in calls to models, their queue included, if torch uses a GPU; None without one.
    peak_bytes : peak resident memory above that at the start, with models loaded; reproducible to a few megabytes. Linux
        only.
    calls, texts, tokens : sent to models, in tokens of the task's counter; answers from a cache count as well. None
        for an external splitter, which calls its own models.
    gpu_bytes : peak memory of torch's tensors on the GPU, the model included.
    models, answers : input and output tokens by model name.
    """

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    gpu_seconds: float | None = None
    peak_bytes: int | None = None
    calls: int | None = None
    texts: int | None = None
    tokens: int | None = None
    gpu_bytes: int | None = None
    models: Mapping[str, int] = field(default_factory=dict)
    answers: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: RunCost) -> RunCost:
        """Return the cost of both, one after the other; calls and tokens are known only if known for both."""
        gpu = [cost.gpu_seconds for cost in (self, other) if cost.gpu_seconds is not None]
        return RunCost(
            self.wall_seconds + other.wall_seconds,
            self.cpu_seconds + other.cpu_seconds,
            sum(gpu) if gpu else None,
            _max_known(self.peak_bytes, other.peak_bytes),
            _add_if_both(self.calls, other.calls),
            _add_if_both(self.texts, other.texts),
            _add_if_both(self.tokens, other.tokens),
            _max_known(self.gpu_bytes, other.gpu_bytes),
            dict(Tally(self.models) + Tally(other.models)),
            dict(Tally(self.answers) + Tally(other.answers)),
        )

    def money(self, prices: TokenPrices) -> float | None:
        """Return the price of the tokens; None if a model has no price, or if what was sent is unknown.

        >>> RunCost(tokens=500_000, models={"small": 500_000}).money({"small": 0.02})
        0.01
        """
        if self.tokens is None or set(self.models) - set(prices):
            return None
        pairs = {name: price if isinstance(price, Sequence) else (price, price) for name, price in prices.items()}
        require(all(min(pair) >= 0 for pair in pairs.values()), "prices must be >= 0", dict(prices))
        sent = sum(pairs[name][0] * tokens for name, tokens in self.models.items())
        return (sent + sum(pairs[name][1] * tokens for name, tokens in self.answers.items())) / 1e6


class Meter:
    """Count requests to models and their answers; pass it as the ``watch`` of `engine.drive`.

    Answers from a cache count as well, so that the cost is that of a first run.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0
        self.sent: list[tuple[str, str]] = []  # model and text
        self.received: list[tuple[str, str]] = []

    def __call__(self, ask: Ask, rows: Any, seconds: float) -> None:
        """Record a call."""
        name = _unwrapped_name(ask.model)
        self.calls += 1
        self.seconds += seconds
        self.sent += [(name, text) for item in ask.items for text in _texts(item)]
        self.received += [(name, row) for row in (rows if isinstance(rows, list) else ()) if isinstance(row, str)]


def _unwrapped_name(model: Any) -> str:
    """Return the name of a model inside its wrappers."""
    while not model_name(model) and hasattr(model, "model"):
        model = model.model
    return model_name(model) or type(model).__qualname__


def _texts(item: Any) -> Iterator[str]:
    """Yield the texts of a request item (`engine.METHODS`): a text, a tuple with texts, or the messages of a chat."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, ChatRequest):
        yield from (content for _, content in item.messages)
    elif isinstance(item, tuple):
        yield from (text for part in item for text in _texts(part))


def measure_cost(work: Callable[[], _T], meter: Meter | None, counter: Counter) -> tuple[_T, RunCost]:
    """Run ``work`` and return its result and cost; without a meter, its model calls are unknown.

    Tokens are counted afterwards, so that counting is not part of the cost.
    """
    torch = _torch_with_gpu()
    if torch:
        torch.cuda.reset_peak_memory_stats()
    resident = _reset_peak_memory()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = None if resident is None else max(_memory("VmHWM") - resident, 0)
    torch = _torch_with_gpu()  # the work may have been the first to load it
    gpu_bytes = int(torch.cuda.max_memory_allocated()) if torch else None
    if meter is None:
        return result, RunCost(wall, cpu, peak_bytes=peak, gpu_bytes=gpu_bytes)
    gpu = None if gpu_bytes is None else meter.seconds if gpu_bytes else 0.0
    models, answers = Tally[str](), Tally[str]()
    for totals, texts in ((models, meter.sent), (answers, meter.received)):
        for (name, _), tokens in zip(texts, counter.counts([text for _, text in texts]).tolist(), strict=True):
            totals[name] += tokens
    sent = len(meter.sent), sum(models.values())
    return result, RunCost(wall, cpu, gpu, peak, meter.calls, *sent, gpu_bytes, dict(models), dict(answers))


def _torch_with_gpu() -> Any:
    """Return torch if it is already loaded and has a GPU."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def _reset_peak_memory() -> int | None:
    """Reset the peak of resident memory to its current value and return it; None if the system does not support that.

    Freed memory is returned to the system first, since work that reuses it would seem to need none.
    """
    gc.collect()
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


def _add_if_both(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _max_known(a: int | None, b: int | None) -> int | None:
    return max((value for value in (a, b) if value is not None), default=None)
