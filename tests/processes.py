"""What tests run in worker processes, which must be able to import it."""

import logging
import mmap
import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


class Deadly:
    """Return items in upper case; log, and die of those that say so."""

    def __init__(self, folder: Path, array: Any = None) -> None:
        self.folder, self.array = folder, array

    def __call__(self, items: Sequence[str]) -> list[Any]:
        return [self._process(item) for item in items]

    def _process(self, item: str) -> Any:
        if item == "shared":
            base = self.array
            while isinstance(base, np.ndarray):
                base = base.base
            return isinstance(memoryview(base).obj, mmap.mmap), self.array.sum()
        if item == "endless":
            while True:
                time.sleep(1)
        if item == "starts another":
            other = multiprocessing.get_context("spawn").Process(target=os.getpid)
            other.start()
            other.join()
        if item == "leaves":
            raise SystemExit(item)
        if item.startswith("log"):
            logging.getLogger("advchunk").warning("said %s", item)
        if item.startswith("deadly"):
            os.kill(os.getpid(), signal.SIGKILL)
        mark = self.folder / item
        if item.startswith("once") and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item.upper()


def die_until(folder: Path, times: int) -> None:
    """Die in each of a number of processes, before any that lives on."""
    deaths = len(list(folder.glob("death*")))
    if deaths < times:
        (folder / f"death{deaths}").touch()
        os.kill(os.getpid(), signal.SIGKILL)


class OddError(Exception):
    """Cannot be unpickled."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(f"{left} {right}")


def count_words(text: str) -> int:
    """Count words; fail on some, and die of one."""
    if "unreadable" in text:
        msg = "cannot count this"
        raise ValueError(msg)
    if "odd" in text:
        raise OddError(1, 2)
    if "deadly" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(text.split())


def read_environment(names):
    return [os.environ.get(name) for name in names]
