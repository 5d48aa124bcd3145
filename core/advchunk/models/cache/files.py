"""A store in a file."""

import atexit
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from advchunk.models.cache.stores import batches

_MAX_OPEN = 8  # files


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FileStore:
    """A store in an SQLite file that threads and processes can share. It can be pickled.

    The file stays open until the process ends or forks: closing it waits 15 ms for the disk, writing takes 20 us.
    """

    path: str

    def __str__(self) -> str:
        return self.path

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        values: dict[str, bytes] = {}
        with self._connect() as file:
            for batch in batches(keys):
                marks = ",".join("?" * len(batch))
                values.update(file.execute(f"SELECT k, v FROM kv WHERE k IN ({marks})", batch))
        return values

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Store values."""
        with self._connect() as file, file:
            file.executemany("INSERT OR REPLACE INTO kv VALUES (?, ?)", values.items())

    def close(self) -> None:
        """Close the file, so that it can be copied or removed; the next call opens it again."""
        with _LOCK:
            _close(self._absolute_path())

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        path = self._absolute_path()
        with _LOCK:
            if path not in _OPEN or _OPEN[path][1] != _inode(path):  # the file was removed or replaced
                _close(path)
                if len(_OPEN) >= _MAX_OPEN:
                    _close(next(iter(_OPEN)))
                _OPEN[path] = self._open(path), _inode(path)
            yield _OPEN[path][0]

    def _absolute_path(self) -> Path:
        return Path(self.path).expanduser().absolute()

    @staticmethod
    def _open(path: Path) -> sqlite3.Connection:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(path, timeout=20, check_same_thread=False)  # the lock lets in one thread at a time
        try:
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'kv'").fetchone():
                with suppress(sqlite3.OperationalError):  # the timeout does not cover another process's change to WAL
                    file.execute("PRAGMA journal_mode=WAL")
                file.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID")
            file.execute("PRAGMA synchronous=NORMAL")
        except sqlite3.Error:
            file.close()
            raise
        return file


_LOCK = Lock()  # on the open files
_OPEN: dict[Path, tuple[sqlite3.Connection, tuple[int, int]]] = {}


def _close(path: Path) -> None:
    file, _ = _OPEN.pop(path, (None, None))
    if file is not None:
        file.close()


def _close_all() -> None:
    for path in list(_OPEN):
        _close(path)


def _inode(path: Path) -> tuple[int, int]:
    """Return the device and inode of a file; zeros if it does not exist."""
    with suppress(OSError):
        stat = path.stat()
        return stat.st_dev, stat.st_ino
    return 0, 0


def _before_fork() -> None:
    _LOCK.acquire()
    _close_all()  # SQLite's locks belong to a process: a connection copied to a child would believe it holds them


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
atexit.register(_close_all)
