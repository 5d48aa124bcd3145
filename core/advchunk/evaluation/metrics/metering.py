"""What work costs: time, memory, and what is sent to models."""

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

T = TypeVar("T")

Prices: TypeAlias = Mapping[str, float | Sequence[float]]
"""What a million tokens cost, by the name of the model: one price, or those of what is sent and of what is written."""

_PROC = Path("/proc/self")


@dataclass(frozen=True)
class Cost:
    """What a piece of work took; None where it cannot be known.

    Parameters
    ----------
    wall_seconds : by the clock on the wall, other processes' turns included.
    cpu_seconds : of this process, all its threads together; what models served elsewhere take is not in it.
    gpu_seconds : within calls to models, their queue awaited, where torch holds something on a GPU; None without one.
    peak_bytes : resident memory at its highest, over what was resident before, models loaded; the same again to a few
        megabytes. On Linux only.
    calls, texts, tokens : sent to models, by the trial's counter; what a cache answers counts as well. None for a peer, whose
        models are its own.
    gpu_bytes : of torch's tensors on the GPU at their highest, the model itself included.
    models, answers : tokens sent, and those of what was written in answer, by the name of the model.
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

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both, one after the other: what was sent is known if it is known of both."""
        return Cost(
            self.wall_seconds + other.wall_seconds,
            self.cpu_seconds + other.cpu_seconds,
            _either(self.gpu_seconds, other.gpu_seconds),
            _most(self.peak_bytes, other.peak_bytes),
            _both(self.calls, other.calls),
            _both(self.texts, other.texts),
            _both(self.tokens, other.tokens),
            _most(self.gpu_bytes, other.gpu_bytes),
            dict(Tally(self.models) + Tally(other.models)),
            dict(Tally(self.answers) + Tally(other.answers)),
        )

    def money(self, prices: Prices) -> float | None:
        """Return what the tokens cost; None if a model has no price, or what was sent is unknown.

        >>> Cost(tokens=500_000, models={"small": 500_000}).money({"small": 0.02})
        0.01
        """
        if self.tokens is None or set(self.models) - set(prices):
            return None
        each = {name: price if isinstance(price, Sequence) else (price, price) for name, price in prices.items()}
        require(all(min(pair) >= 0 for pair in each.values()), "prices must be >= 0", dict(prices))
        read = sum(each[name][0] * tokens for name, tokens in self.models.items())
        return (read + sum(each[name][1] * tokens for name, tokens in self.answers.items())) / 1e6


class Meter:
    """Counts what is asked of models, and what they write; it is the ``watch`` of `engine.drive`.

    What a cache answers counts as well, so that the cost is that of a first run.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0
        self.sent: list[tuple[str, str]] = []  # model and text
        self.received: list[tuple[str, str]] = []

    def __call__(self, ask: Ask, rows: Any, seconds: float) -> None:
        """Take note of a call."""
        name = _name(ask.model)
        self.calls += 1
        self.seconds += seconds
        self.sent += [(name, text) for item in ask.items for text in _texts(item)]
        self.received += [(name, row) for row in (rows if isinstance(rows, list) else ()) if isinstance(row, str)]


def _name(model: Any) -> str:
    """Return the name of a model, however it is wrapped."""
    while not model_name(model) and hasattr(model, "model"):
        model = model.model
    return model_name(model) or type(model).__qualname__


def _texts(item: Any) -> Iterator[str]:
    """Yield the texts in what is asked (`engine.METHODS`): a text, one with edges or options, or the messages of a dialogue."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, ChatRequest):
        yield from (said for _, said in item.messages)
    elif isinstance(item, tuple):
        yield from (text for part in item for text in _texts(part))


def measured(work: Callable[[], T], meter: Meter | None, counter: Counter) -> tuple[T, Cost]:
    """Do some work and say what it cost; without a meter, what it sends to models is unknown.

    Tokens are counted when it is done, so that counting costs nothing.
    """
    torch = _gpu()
    if torch:
        torch.cuda.reset_peak_memory_stats()
    resident = _fresh_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = None if resident is None else max(_memory("VmHWM") - resident, 0)
    torch = _gpu()  # which the work may have been the first to load
    held = int(torch.cuda.max_memory_allocated()) if torch else None
    if meter is None:
        return result, Cost(wall, cpu, peak_bytes=peak, gpu_bytes=held)
    gpu = None if held is None else meter.seconds if held else 0.0
    models, answers = (_tally(texts, counter) for texts in (meter.sent, meter.received))
    sent = len(meter.sent), sum(models.values())
    return result, Cost(wall, cpu, gpu, peak, meter.calls, *sent, held, models, answers)


def _tally(texts: Sequence[tuple[str, str]], counter: Counter) -> dict[str, int]:
    """Return the tokens of each model."""
    found = Tally[str]()
    for (name, _), tokens in zip(texts, counter.counts([text for _, text in texts]).tolist(), strict=True):
        found[name] += tokens
    return dict(found)


def _gpu() -> Any:
    """Return torch if some other has loaded it and it has a GPU."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def _fresh_peak() -> int | None:
    """Let the high-water mark of memory fall to what is resident now, and return that; None where no system does so.

    What was freed goes back to the system first: work that found it at hand would seem to need no memory.
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
    found = re.search(rf"{name}:\s+(\d+) kB", (_PROC / "status").read_text(encoding="utf-8"))
    return 1024 * int(found[1]) if found else 0


def _both(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _either(one: float | None, other: float | None) -> float | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


def _most(one: int | None, other: int | None) -> int | None:
    return max((value for value in (one, other) if value is not None), default=None)
