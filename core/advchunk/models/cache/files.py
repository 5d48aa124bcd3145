"""Keep answers in a file."""

from __future__ import annotations

import atexit
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from advchunk.models.cache.stores import groups

_MOST_OPEN = 8  # files


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FileStore:
    """A store in one SQLite file, safe to share between threads and processes, and to pickle.

    The file stays open until the process ends or forks: whoever closes it last waits for the disk, 15 ms for 20 us of writing.
    """

    path: str

    def __str__(self) -> str:
        return self.path

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values that are there."""
        found: dict[str, bytes] = {}
        with self._opened() as file:
            for some in groups(keys):
                marks = ",".join("?" * len(some))
                found.update(file.execute(f"SELECT k, v FROM kv WHERE k IN ({marks})", some))
        return found

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        with self._opened() as file, file:
            file.executemany("INSERT OR REPLACE INTO kv VALUES (?, ?)", values.items())

    def close(self) -> None:
        """Close the file, so that it can be copied or removed; the next call opens it again."""
        with _USING:
            _close(self._place())

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        place = self._place()
        with _USING:
            if place not in _OPEN or _OPEN[place][1] != _number(place):  # removed meanwhile
                _close(place)
                if len(_OPEN) >= _MOST_OPEN:
                    _close(next(iter(_OPEN)))
                _OPEN[place] = self._file(place), _number(place)
            yield _OPEN[place][0]

    def _place(self) -> Path:
        return Path(self.path).expanduser().absolute()

    @staticmethod
    def _file(place: Path) -> sqlite3.Connection:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(place, timeout=20, check_same_thread=False)  # it is one thread's at a time
        try:
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'kv'").fetchone():
                with suppress(sqlite3.OperationalError):  # no timeout waits for another's change to WAL
                    file.execute("PRAGMA journal_mode=WAL")
                file.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID")
            file.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error:
            file.close()
            raise
        return file


_USING = Lock()  # of the open files
_OPEN: dict[Path, tuple[sqlite3.Connection, tuple[int, int]]] = {}


def _close(place: Path) -> None:
    file, _ = _OPEN.pop(place, (None, None))
    if file is not None:
        file.close()


def _close_all() -> None:
    for place in list(_OPEN):
        _close(place)


def _number(place: Path) -> tuple[int, int]:
    """Return what tells a file from another of its name; zeros if there is none."""
    with suppress(OSError):
        found = place.stat()
        return found.st_dev, found.st_ino
    return 0, 0


def _before_fork() -> None:
    _USING.acquire()
    _close_all()  # SQLite's locks are its process's own: a copy in a child would believe that it has them


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_USING.release, after_in_child=_USING.release)
atexit.register(_close_all)
