"""Keep what models answered between runs: what was asked once is not asked again.

A cache is a help and never a condition. One that cannot be reached, or that holds something else than what was put
there, costs one warning in the log, and the model is asked.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field, fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import numpy as np

from advchunk.engine import Request, in_thread
from advchunk.errors import BadModelOutput, ConfigurationError, needed
from advchunk.models.identity import identity, model_name
from advchunk.records import Floats

M = TypeVar("M")
R = TypeVar("R")

_log = logging.getLogger("advchunk")
_MAKING = Lock()
_MOST_KEYS = 500  # of one SQL statement; SQLite's own limit is 999 or more
_MOST_OPEN = 8  # files
_REST = 30.0  # seconds until a cache that failed is tried again
_REDIS = re.compile(r"(rediss?|unix)://")


class Store(Protocol):
    """Bytes by name; keys and values are immutable. One that cannot be reached raises `OSError`."""

    def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the values that are there."""
        ...

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        ...


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
            for some in _groups(keys):
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


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RedisStore:
    """A store in Redis, or in what speaks its protocol.

    Parameters
    ----------
    url : ``redis://``, ``rediss://`` or ``unix://``, as the ``redis`` client takes it. A password in it is never shown.
    """

    url: str = field(repr=False)

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values that are there."""
        found: dict[str, bytes] = {}
        for some in _groups(keys):
            values = self._called("mget", [f"advchunk:{key}" for key in some])
            found.update((key, value) for key, value in zip(some, values, strict=True) if value is not None)
        return found

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        for some in _groups(list(values)):
            self._called("mset", {f"advchunk:{key}": values[key] for key in some})

    def __str__(self) -> str:
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.hostname or url.path}" + (f":{url.port}" if url.port else "")

    def _called(self, command: str, given: Any) -> Any:
        redis = needed("redis", "redis")
        try:
            return getattr(_redis(self.url, os.getpid()), command)(given)
        except redis.RedisError as error:
            said = f"{type(error).__name__}: {error}"
        raise ConnectionError(said)  # without the client's own error, whose frames hold the URL


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DictStore:
    """A store in a dictionary, for one process."""

    values: dict[str, bytes] = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictStore) and self.values is other.values

    def __hash__(self) -> int:
        return id(self.values)

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values that are there."""
        return {key: self.values[key] for key in keys if key in self.values}

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        self.values.update(values)


class _Kind(NamedTuple):
    """How the rows of a kind of ask become bytes, and rows again."""

    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]


_FIGURES = _Kind(lambda row: np.asarray(row, "<f8").tobytes(), lambda kept: np.frombuffer(kept, "<f8").astype(float))
_KINDS = {
    "embed": _Kind(lambda row: np.asarray(row, "<f4").tobytes(), lambda kept: np.frombuffer(kept, "<f4")),
    "score": _FIGURES,
    "choose": _FIGURES,
    "complete": _Kind(
        lambda row: row.encode("utf-8", "surrogatepass"), lambda kept: kept.decode("utf-8", "surrogatepass")
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class Cached:
    """A model that asks a store first, and the model itself only for what is not there.

    What is kept goes by a hash of the kind of ask, the model and its settings, and the item: a text, or a whole `engine.Request`
    with its version. An answer that is an error is not kept.

    Parameters
    ----------
    model : what `as_embedder`, `as_causal` or `as_chat` made.
    store : a `Store`.

    Raises
    ------
    ConfigurationError : the model has no name to tell its answers from another's.
    """

    model: Any
    store: Any

    def __post_init__(self) -> None:
        if not self.identity:
            inner = getattr(self.model, "model", self.model)
            msg = f"a cache needs a model with a model_name (set one on a function), got {identity(inner)}"
            raise ConfigurationError(msg)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cached) and (self.model, self.store) == (other.model, other.store)

    def __hash__(self) -> int:
        return hash(self.model)

    @property
    def identity(self) -> str:
        """What names the model and its settings; empty if it has no name."""
        if isinstance(said := getattr(self.model, "identity", None), str):
            return said
        inner = self.model.model
        return f"{identity(inner)} {_settings(self.model)} {_settings(inner)}" if model_name(inner) else ""

    @property
    def batch_size(self) -> int | None:
        """Items a call."""
        return getattr(self.model, "batch_size", None)

    @property
    def concurrency(self) -> int | None:
        """Calls at a time."""
        return getattr(self.model, "concurrency", None)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (len(texts), d) float32 unit rows."""
        return _stacked(self._answered("embed", texts))

    async def aembed(self, texts: Sequence[str]) -> Floats:
        """Await `embed`."""
        return _stacked(await self._awaited("embed", texts))

    def score(self, items: Sequence[Any]) -> list[Any]:
        """Return what `engine.Score` asks for, a row an item."""
        return self._answered("score", items)

    async def ascore(self, items: Sequence[Any]) -> list[Any]:
        """Await `score`."""
        return await self._awaited("score", items)

    def choose(self, items: Sequence[Any]) -> list[Any]:
        """Return what `engine.Choose` asks for, a row an item."""
        return self._answered("choose", items)

    async def achoose(self, items: Sequence[Any]) -> list[Any]:
        """Await `choose`."""
        return await self._awaited("choose", items)

    def complete(self, requests: Sequence[Any]) -> list[Any]:
        """Return the answer to each `engine.Request`, or why there is none."""
        return self._answered("complete", requests)

    async def acomplete(self, requests: Sequence[Any]) -> list[Any]:
        """Await `complete`."""
        return await self._awaited("complete", requests)

    def _answered(self, kind: str, items: Sequence[Any]) -> list[Any]:
        keys, known, unknown = self._look_up(kind, items)
        rows = getattr(self.model, kind)(tuple(unknown.values())) if unknown else ()
        return self._kept(kind, keys, known, unknown, rows)

    async def _awaited(self, kind: str, items: Sequence[Any]) -> list[Any]:
        keys, known, unknown = await in_thread(self._look_up, kind, items)
        rows = await getattr(self.model, f"a{kind}")(tuple(unknown.values())) if unknown else ()
        return await in_thread(self._kept, kind, keys, known, unknown, rows)

    def _look_up(self, kind: str, items: Sequence[Any]) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        """Return the key of each item, the rows that are kept, and the items of which none is."""
        named = self.identity
        keys = [sha256(json.dumps(["1", kind, named, item], default=_plain).encode()).hexdigest() for item in items]
        trouble = _trouble(self.store)
        found = trouble.read(lambda: self.store.get_many(list(dict.fromkeys(keys))))
        known = {key: _KINDS[kind].unpack(kept) for key in keys if (kept := trouble.opened(found.get(key))) is not None}
        return keys, known, {key: item for key, item in zip(keys, items, strict=True) if key not in known}

    def _kept(
        self, kind: str, keys: list[str], known: dict[str, Any], unknown: dict[str, Any], rows: Iterable[Any]
    ) -> list[Any]:
        fresh = dict(zip(unknown, rows, strict=True))
        values = {key: _sealed(_KINDS[kind].pack(row)) for key, row in fresh.items() if not isinstance(row, Exception)}
        if values:
            _trouble(self.store).write(lambda: self.store.set_many(values))
        answers = {**known, **fresh}
        return [answers[key] for key in keys]


def with_cache(model: M, cache: Any) -> M | Cached:
    """Put a cache before a model: None for none, the path of a file, the URL of a Redis, a ``dict``, or a `Store`."""
    if cache is None:
        return model
    if isinstance(cache, (str, Path)):
        cache = _store_at(str(cache))
    elif isinstance(cache, dict):
        cache = DictStore(cache)
    elif not (hasattr(cache, "get_many") and hasattr(cache, "set_many")):
        msg = f"a cache is a path, a Redis URL, a dict, or has get_many and set_many, got {type(cache).__qualname__}"
        raise ConfigurationError(msg)
    return Cached(model, cache)


class _Trouble:
    """What is wrong with a store: said once, until it works again, and not run into by every document."""

    def __init__(self, store: Any) -> None:
        known = isinstance(store, (FileStore, RedisStore))
        self._name = str(store) if known else type(store).__qualname__  # another's own words might hold a password
        self._rests_until: dict[str, float] = {}  # by what fails
        self._damaged = False

    def read(self, call: Callable[[], Mapping[str, bytes]]) -> dict[str, Any]:
        """Read, if that works; what cannot be read need not be written."""
        return self._spared("read", "read write", lambda: dict(call())) or {}

    def write(self, call: Callable[[], None]) -> None:
        """Write, if that works; a full disk can still be read."""
        self._spared("write", "write", call)

    def _spared(self, what: str, fails: str, call: Callable[[], R]) -> R | None:
        if time.monotonic() < self._rests_until.get(what, 0.0):
            return None
        try:
            result = call()
        except (OSError, sqlite3.Error, TypeError, ValueError) as error:
            if what not in self._rests_until:
                said = f"{type(error).__name__}: {error}"
                _log.warning("the cache %s fails, and models are asked instead: %s", self._name, said)
            self._rests_until.update(dict.fromkeys(fails.split(), time.monotonic() + _REST))
            return None
        self._rests_until.pop(what, None)
        return result

    def opened(self, kept: Any) -> bytes | None:
        """Return what was put in, if this is it."""
        if kept is None:
            return None
        if isinstance(kept, bytes) and kept[:4] == _sum(kept[4:]):
            return kept[4:]
        if not self._damaged:
            _log.warning("the cache %s holds what was never put there; such answers are asked for again", self._name)
        self._damaged = True
        return None


_TROUBLES: WeakKeyDictionary[Any, _Trouble] = WeakKeyDictionary()


def _trouble(store: Any) -> _Trouble:
    try:
        with _MAKING:
            return _TROUBLES.setdefault(store, _Trouble(store))
    except TypeError:  # a store of one's own that cannot be hashed or referred to weakly
        return _Trouble(store)


def _sealed(value: bytes) -> bytes:
    return _sum(value) + value


def _sum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(4, "big")


def _stacked(rows: list[Any]) -> Floats:
    if len(widths := {len(row) for row in rows}) > 1:
        msg = f"an embedder must return rows as long as those in its cache, got lengths {sorted(widths)}"
        raise BadModelOutput(msg)
    return np.stack(rows)


def _settings(model: Any) -> dict[str, Any]:
    """Return the plain fields of a model, of which its answers may depend, but for how it is called."""
    if not is_dataclass(model):
        return {}
    said = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in ("batch_size", "concurrency")}
    return {name: value for name, value in said.items() if value is None or isinstance(value, (str, int, float))}


def _plain(item: Any) -> Any:
    return astuple(item) if isinstance(item, Request) else int(item)


@lru_cache(maxsize=64)
def _store_at(where: str) -> Any:
    if not _REDIS.match(where):
        return FileStore(where)
    needed("redis", "redis")
    return RedisStore(where)


@lru_cache(maxsize=16)
def _redis(url: str, _process: int) -> Any:
    redis = needed("redis", "redis")
    # Whoever waits for a cache would rather ask the model.
    return redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)


def _groups(keys: Sequence[str]) -> Iterable[list[str]]:
    return (list(keys[i : i + _MOST_KEYS]) for i in range(0, len(keys), _MOST_KEYS))
