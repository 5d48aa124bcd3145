"""Stores of bytes by key: a dictionary, an SQLite file, Redis."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from advchunk.errors import import_extra, require

_MAX_KEYS = 500  # per SQL statement; SQLite's own limit is 999 or more
_LOCK_TIMEOUT = 5.0  # seconds to wait for another process; then calling the model is better


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
    """A store in an SQLite file that threads and processes can share: it is opened for each call. It can be pickled.

    A new file can be read by its owner only, because it holds vectors of texts and answers about them. Writing does not
    wait for the disk: a power failure may damage the file, which is then not used.
    """

    path: str

    def __str__(self) -> str:
        return self.path

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        select = "SELECT k, v FROM kv WHERE k IN ({})"
        with closing(self._open()) as file:
            rows = (file.execute(select.format(",".join("?" * len(batch))), batch) for batch in _batches(keys))
            return dict(chain.from_iterable(rows))

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Store values."""
        with closing(self._open()) as file, file:
            file.execute("BEGIN IMMEDIATE")  # waits for other writers, where an upgraded lock would fail
            file.executemany("INSERT OR REPLACE INTO kv VALUES (?, ?)", values.items())

    def _open(self) -> sqlite3.Connection:
        path = Path(self.path).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.touch(0o600, exist_ok=False)  # SQLite gives its other files the same permissions
        file = sqlite3.connect(path, timeout=_LOCK_TIMEOUT)
        try:
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'kv'").fetchone():
                file.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID")
            file.execute("PRAGMA synchronous=OFF")
        except sqlite3.Error:
            file.close()
            raise
        return file


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
        rule = "the URL of a cache must be redis://HOST:PORT/NUMBER, rediss://... or unix://PATH, "
        rule += "with options that the redis client takes and the password percent-encoded"
        is_valid = False
        with suppress(ValueError, TypeError, AttributeError):  # which may hold a part of the password
            _redis_client(self.url, os.getpid()).connection_pool.make_connection()  # does not connect yet
            is_valid = True
        require(is_valid, rule, "another")

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        names = ([f"advchunk:{key}" for key in batch] for batch in _batches(keys))
        values = zip(keys, chain.from_iterable(self._execute("mget", batch) for batch in names), strict=True)
        return {key: value for key, value in values if value is not None}

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
