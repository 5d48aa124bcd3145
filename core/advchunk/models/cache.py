"""Caches of model answers, in a dictionary, an SQLite file, or Redis.

A cache that fails or holds foreign data does not raise: it logs one warning, and the model is called instead.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Protocol, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

import numpy as np

from advchunk import registry
from advchunk.engine import ChatRequest, call_in_thread
from advchunk.errors import BadModelOutput, first_line, hide, import_extra, require, require_answer
from advchunk.models.identity import identity, model_name, own_identity, type_name
from advchunk.records import Floats

_M = TypeVar("_M")
_R = TypeVar("_R")

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_COOLDOWN = 30.0  # least seconds before a store that failed is tried again
_PATIENCE = 0.05  # greatest share of the time that is spent on a store that fails
_LOCK = Lock()
_log = logging.getLogger("advchunk")
_MAX_KEYS = 500  # per SQL statement; SQLite's own limit is 999 or more
_LOCK_TIMEOUT = 5.0  # seconds to wait for another process; then calling the model is better


class Store(Protocol):
    """Bytes by key, both immutable. A store that cannot be reached raises `OSError`."""

    def get_many(self, keys: list[str], /) -> Mapping[str, bytes]:
        """Return the stored values."""

    def set_many(self, values: dict[str, bytes], /) -> None:
        """Store values."""


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
    """A store in an SQLite file that threads and processes can share, as it is opened for each call; picklable. Only
    its owner can read a new file, which holds vectors of texts and answers about them. Writing does not wait for the
    disk: a power failure may damage the file, which is then not used.
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
    """A store in Redis or a server with its protocol, at a ``redis://``, ``rediss://`` or ``unix://`` URL, whose
    password is never shown. Raises `ConfigurationError` for a URL that the client does not take, or `MissingExtra`.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        with suppress(ValueError):
            hide(unquote(urlsplit(self.url).password or ""))
        with suppress(ValueError, TypeError, AttributeError):  # which may hold a part of the password
            _redis_client(self.url, os.getpid()).connection_pool.make_connection()  # does not connect yet
            return
        rule = "the URL of a cache must be redis://HOST:PORT/NUMBER, rediss://... or unix://PATH, "
        rule += "with options that the redis client takes and the password percent-encoded"
        require(False, rule, "another")

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
            message = f"{type(error).__name__}: {first_line(error)}"
        raise ConnectionError(message)  # not from the client's own error, whose frames hold the URL


@lru_cache(maxsize=16)
def _redis_client(url: str, _process: int) -> Any:
    # Calling the model is better than waiting long for a cache.
    return import_extra("redis", "redis").Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)


def _batches(keys: Sequence[str]) -> Iterator[list[str]]:
    return (list(keys[i : i + _MAX_KEYS]) for i in range(0, len(keys), _MAX_KEYS))


class _CircuitBreaker:
    """Skips a store for a while after it failed; one warning is logged until it works. A full disk is still read."""

    def __init__(self, store: Store) -> None:
        ours = isinstance(store, (FileStore, RedisStore))
        self._name = str(store) if ours else type(store).__qualname__  # a user's own str might hold a password
        self._open_until: dict[str, float] = {}  # by operation
        self._damaged = False

    def call(self, operation: Literal["read", "write"], call: Callable[[], _R]) -> _R | None:
        """Return the result of an operation; None if it fails, or is suspended."""
        start = time.monotonic()
        if start < self._open_until.get(operation, 0.0):
            return None
        try:
            result = call()
        except (OSError, sqlite3.Error, TypeError, ValueError) as error:
            if operation not in self._open_until:
                name = type(error).__name__
                _log.warning("cache %s failed, calling the models instead: %s: %s", self._name, name, error)
            until = (now := time.monotonic()) + max(_COOLDOWN, (now - start) / _PATIENCE)
            self._open_until |= dict.fromkeys(("read", "write") if operation == "read" else ("write",), until)
            return None
        self._open_until.pop(operation, None)
        return result

    def decode(self, kind: str, item: Any, value: Any) -> Any:
        """Return the answer to an item that was stored as ``value``; None if it is missing, foreign or damaged."""
        is_whole = isinstance(value, bytes) and value == _add_checksum(value[4:])
        if is_whole and (answer := _decode(kind, item, value[4:])) is not None:
            return answer
        if value is not None and not self._damaged:
            _log.warning("cache %s holds foreign or damaged values; requesting those answers again", self._name)
            self._damaged = True
        return None


_BREAKERS: WeakKeyDictionary[Store, _CircuitBreaker] = WeakKeyDictionary()


def _circuit_breaker(store: Store) -> _CircuitBreaker:
    try:
        with _LOCK:
            return _BREAKERS.setdefault(store, _CircuitBreaker(store))
    except TypeError:  # a user's store that is not hashable or has no weak references
        return _CircuitBreaker(store)


def _add_checksum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(4, "big") + value


_TYPES = {"embed": "<f4", "score": "<f8", "choose": "<f8"}


def _encode(kind: str, row: Any) -> bytes:
    return row.encode("utf-8", "surrogatepass") if kind == "complete" else np.asarray(row, _TYPES[kind]).tobytes()


def _decode(kind: str, item: Any, value: bytes) -> Any:
    """Return the stored answer to an item; None if no model could have given it."""
    try:
        if kind == "complete":
            return value.decode("utf-8", "surrogatepass")
        row = np.frombuffer(value, _TYPES[kind]).astype(_TYPES[kind][1:])
    except ValueError:  # bytes of something else
        return None
    if kind == "embed":
        return row if len(row) and np.isfinite(row).all() else None
    texts = len(item[1]) - (kind == "score")  # options, or the pieces between edges, whose scores may be missing (nan)
    return row if len(row) == texts and not np.isinf(row).any() else None


def _stack(rows: list[Any]) -> Floats:
    widths = sorted({len(row) for row in rows})
    rule = "an embedder must return rows as long as those in its cache"
    require_answer(len(widths) == 1, f"{rule}, got lengths {widths}")
    return np.stack(rows)


def _cached_methods(
    kind: str, collect: Callable[[list[Any]], Any] = list
) -> tuple[Callable[[Cached, Sequence[Any]], Any], Callable[[Cached, Sequence[Any]], Coroutine[Any, Any, Any]]]:
    def call(self: Cached, items: Sequence[Any]) -> Any:
        keys, hits, misses = self._look_up(kind, items)
        rows = getattr(self.model, kind)(tuple(misses.values())) if misses else ()
        return collect(self._store(kind, keys, hits, misses, rows))

    async def acall(self: Cached, items: Sequence[Any]) -> Any:
        keys, hits, misses = await call_in_thread(self._look_up, kind, items)
        awaited = getattr(self.model, f"a{kind}", None) or partial(call_in_thread, getattr(self.model, kind))
        rows = await awaited(tuple(misses.values())) if misses else ()
        return collect(await call_in_thread(self._store, kind, keys, hits, misses, rows))

    return call, acall


@dataclass(frozen=True, slots=True, eq=False)
class Cached:
    """A model with a cache: it is called only for items that are not stored.

    A key is a hash of the kind of request, the model and its settings, and the item: a text, or an `engine.ChatRequest`
    with its version. Errors are not stored, nor answers that fail the ``check`` of their request; a stored answer that
    fails it is requested again. ``embed`` returns (n, d) float32 unit rows, the other methods n answers. A model
    without a name, whose answers could not be distinguished from another's, raises `ConfigurationError`.
    """

    model: Any
    store: Store
    embed, aembed = _cached_methods("embed", _stack)
    score, ascore = _cached_methods("score")
    choose, achoose = _cached_methods("choose")
    complete, acomplete = _cached_methods("complete")

    def __post_init__(self) -> None:
        kind = type_name(getattr(self.model, "model", self.model))
        require(self.identity != "", "a cache needs a model with a model_name (set one on a function)", kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cached) and (self.model, self.store) == (other.model, other.store)

    def __hash__(self) -> int:
        return hash(self.model)

    @property
    def identity(self) -> str:
        """Name of the model and its settings; empty if it has no name."""
        if name := own_identity(self.model) or own_identity(inner := self.model.model):
            return name
        return f"{identity(inner)} {_settings(self.model)} {_settings(inner)}" if model_name(inner) else ""

    @property
    def batch_size(self) -> int | None:
        """Items per call."""
        return getattr(self.model, "batch_size", None)

    @property
    def concurrency(self) -> int | None:
        """Concurrent calls."""
        return getattr(self.model, "concurrency", None)

    def missing(self, kind: str, items: Sequence[Any]) -> list[Any]:
        """Return the items for which the model would be called, each once."""
        return list(self._look_up(kind, items)[2].values())

    def _look_up(self, kind: str, items: Sequence[Any]) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        """Return the key of each item, the stored rows by key, and the other items by key."""
        name = self.identity
        keys = [sha256(json.dumps(["1", kind, name, item], default=_to_json).encode()).hexdigest() for item in items]
        breaker = _circuit_breaker(self.store)
        values = breaker.call("read", lambda: dict(self.store.get_many(list(dict.fromkeys(keys))))) or {}
        items_by_key = dict(zip(keys, items, strict=True))
        rows = {key: breaker.decode(kind, item, values.get(key)) for key, item in items_by_key.items()}
        hits = {key: row for key, row in rows.items() if row is not None and _passes(items_by_key[key], row)}
        return keys, hits, {key: item for key, item in items_by_key.items() if key not in hits}

    def _store(
        self, kind: str, keys: list[str], hits: dict[str, Any], misses: dict[str, Any], rows: Iterable[Any]
    ) -> list[Any]:
        """Store the rows that answer the misses; return a row for each key."""
        fresh = dict(zip(misses, rows, strict=True))
        values = {key: _add_checksum(_encode(kind, row)) for key, row in fresh.items() if _passes(misses[key], row)}
        if values:
            _circuit_breaker(self.store).call("write", lambda: self.store.set_many(values))
        return list(map((hits | fresh).__getitem__, keys))


# A path or the URL of a Redis, a mapping, a store, or None for no cache.
CacheLike: TypeAlias = str | Path | MutableMapping[str, bytes] | Store | None


def with_cache(model: _M, cache: CacheLike) -> _M | Cached:
    """Wrap a model with a cache: a file path, a Redis URL, a mapping, a `Store`, or None for no cache."""
    if cache is None:
        return model
    if isinstance(cache, (str, Path)):
        return Cached(model, _open_store(str(cache)))
    if hasattr(cache, "get_many") and hasattr(cache, "set_many"):
        return Cached(model, cache)
    rule = "a cache must be a path, a Redis URL, a dict, or have get_many and set_many"
    require(isinstance(cache, MutableMapping), rule, type(cache).__qualname__)
    return Cached(model, DictStore(cache))


@lru_cache(maxsize=64)
def _open_store(location: str) -> Store:
    scheme = location.partition("://")[0] if _URL.match(location) else "file"
    row = registry.find("cache", scheme) or registry.find("cache", "redis")  # which says what its URL must be
    store: Store = row.load()(location) if row else FileStore(location)
    return store


def _settings(model: Any) -> dict[str, Any]:
    """Return the plain fields of a model that its answers may depend on."""
    if not is_dataclass(model):
        return {}
    values = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in ("batch_size", "concurrency")}
    return {name: value for name, value in values.items() if value is None or isinstance(value, (str, int, float))}


def _passes(item: Any, row: Any) -> bool:
    """Return True if a row is an answer that can be used, as far as its request says."""
    try:
        if isinstance(item, ChatRequest) and item.check is not None and not isinstance(row, Exception):
            item.check(row)
    except BadModelOutput:
        return False
    return not isinstance(row, Exception)


def _to_json(item: Any) -> Any:
    if isinstance(item, ChatRequest):
        return [getattr(item, field.name) for field in fields(item) if field.name not in ("check", "attempt")]
    return int(item)
