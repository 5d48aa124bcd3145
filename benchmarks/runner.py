"""What the benchmarks share: the parser of their arguments, Markdown tables, times, memory, and paired differences."""

import argparse
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from advchunk.evaluation.metrics.statistics import paired_difference
from advchunk.records import Floats


def argument_parser(description: str | None, *, data: bool | None = True) -> argparse.ArgumentParser:
    """Return a parser of the arguments of a benchmark, which runs without the model hub.

    Parameters
    ----------
    description : of the benchmark, as it is written.
    data : True if the folder of texts, ``--data``, is required, False if it may be left out, None if there is none.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data is not None:
        parser.add_argument("--data", type=Path, required=data, help="folder of the texts")
    return parser


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""Return a Markdown table, which ends with a line break.

    >>> table(["size", "recall"], [[100, "78.2"]])
    '| size | recall |\n| --- | --- |\n| 100 | 78.2 |\n'
    """
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in (head, ["---"] * len(head), *rows))


def difference(scores: Floats, base: Floats, digits: int = 1) -> str:
    """Return the mean paired difference with its 95 % bootstrap interval, in bold if that excludes 0."""
    result = paired_difference(scores, base)
    text = f"{result.mean:+.{digits}f} [{result.low:+.{digits}f}, {result.high:+.{digits}f}]"
    return f"**{text}**" if result.low * result.high > 0 else text


def time_tasks(tasks: Mapping[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """Return the processor seconds of each turn of each task.

    Tasks are timed in turn, again and again, after a round that warms caches: load on the machine strikes all alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(repeat + 1):
        for name, task in tasks.items():
            print(f"{name}, {turn} of {repeat}", file=sys.stderr)
            start = time.process_time()
            task()
            if turn:
                seconds[name].append(time.process_time() - start)
    return seconds


def peak_mb() -> float:
    """Return the peak resident size of this process (on Linux, ``getrusage`` includes the parent's)."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
