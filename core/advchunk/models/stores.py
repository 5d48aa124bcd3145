"""Stores of bytes by key: a dictionary, an SQLite file, Redis."""

import atexit
import os
import sqlite3
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Protocol
from urllib.parse import urlsplit

from advchunk.errors import ConfigurationError, import_extra

_MAX_KEYS = 500  # per SQL statement; SQLite's own limit is 999 or more
_MAX_OPEN = 8  # files
_LOCK_TIMEOUT = 5.0  # seconds to wait for another process; then calling the model is better
_LOCK = Lock()  # on the open files
_OPEN: dict[Path, tuple[sqlite3.Connection, tuple[int, int]]] = {}


class Store(Protocol):
    """Bytes by key, both immutable. A store that cannot be reached raises `OSError`."""

    def get_many(self, keys: list[str], /) -> Mapping[str, bytes]:
        """Return the stored values."""
        ...

    def set_many(self, values: dict[str, bytes], /) -> None:
        """Store values."""
        ...


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DictStore:
    """A store in a dictionary, for one process."""

    values: MutableMapping[str, bytes] = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictStore) and self.values is other.values

    def __hash__(self) -> int:
        return id(self.values)

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        return {key: self.values[key] for key in keys if key in self.values}

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Store values."""
        self.values.update(values)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class FileStore:
    """A store in an SQLite file that threads and processes can share. It can be pickled.

    A new file can be read by its owner only, because it holds vectors of texts and answers about them. It stays open until
    the process ends or forks: closing it waits 15 ms for the disk, writing takes 20 us.
    """

    path: str

    def __str__(self) -> str:
        return self.path

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        values: dict[str, bytes] = {}
        with self._connect() as file:
            for batch in _batches(keys):
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
        with suppress(FileExistsError):
            path.touch(0o600, exist_ok=False)  # SQLite gives its other files the same permissions
        file = sqlite3.connect(
            path, timeout=_LOCK_TIMEOUT, check_same_thread=False
        )  # the lock lets in one thread at a time
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


def _close(*paths: Path) -> None:
    for path in paths:
        if path in _OPEN:
            _OPEN.pop(path)[0].close()


def _inode(path: Path) -> tuple[int, int]:
    """Return the device and inode of a file; zeros if it does not exist."""
    with suppress(OSError):
        stat = path.stat()
        return stat.st_dev, stat.st_ino
    return 0, 0


def _before_fork() -> None:
    _LOCK.acquire()
    _close(*_OPEN)  # SQLite's locks belong to a process: a connection copied to a child would believe it holds them


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
atexit.register(lambda: _close(*_OPEN))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RedisStore:
    """A store in Redis, or in a server with the same protocol.

    Parameters
    ----------
    url : ``redis://``, ``rediss://`` or ``unix://``, as the ``redis`` client takes it. A password in it is never shown.

    Raises
    ------
    ConfigurationError : the client does not take the URL.
    MissingExtra : ``redis`` is not installed.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        try:
            _redis_client(self.url, os.getpid()).connection_pool.make_connection()  # does not connect yet
        except (ValueError, TypeError, AttributeError):
            msg = (
                "the URL of a cache must be redis://HOST:PORT/NUMBER, rediss://... or unix://PATH, "
                "with options that the redis client takes and the password percent-encoded"
            )
        else:
            return
        raise ConfigurationError(msg)  # not from the client's own error, which may hold a part of the password

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        values: dict[str, bytes] = {}
        for batch in _batches(keys):
            rows = self._execute("mget", [f"advchunk:{key}" for key in batch])
            values.update((key, value) for key, value in zip(batch, rows, strict=True) if value is not None)
        return values

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Store values."""
        for batch in _batches(list(values)):
            self._execute("mset", {f"advchunk:{key}": values[key] for key in batch})

    def __str__(self) -> str:
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.hostname or url.path}" + (f":{url.port}" if url.port else "")

    def _execute(self, command: str, argument: Any) -> Any:
        redis = import_extra("redis", "redis")
        try:
            return getattr(_redis_client(self.url, os.getpid()), command)(argument)
        except redis.RedisError as error:
            message = f"{type(error).__name__}: {error}"
        raise ConnectionError(message)  # not from the client's own error, whose frames hold the URL


@lru_cache(maxsize=16)
def _redis_client(url: str, _process: int) -> Any:
    # Calling the model is better than waiting long for a cache.
    return import_extra("redis", "redis").Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)


def _batches(keys: Sequence[str]) -> Iterator[list[str]]:
    return (list(keys[i : i + _MAX_KEYS]) for i in range(0, len(keys), _MAX_KEYS))
