"""A cache in front of a model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Iterable, MutableMapping, Sequence
from dataclasses import astuple, dataclass, fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from advchunk.engine import ChatRequest, call_in_thread
from advchunk.errors import BadModelOutput, ConfigurationError, import_extra
from advchunk.models.cache.circuit_breaker import add_checksum, circuit_breaker
from advchunk.models.cache.files import FileStore
from advchunk.models.cache.redis_store import RedisStore
from advchunk.models.cache.stores import DictStore, Store
from advchunk.models.identity import identity, model_name
from advchunk.records import Floats

_M = TypeVar("_M")

_REDIS = re.compile(r"(rediss?|unix)://")


class _Codec(NamedTuple):
    """How the rows that answer one kind of request are stored."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


_NUMBERS = _Codec(lambda row: np.asarray(row, "<f8").tobytes(), lambda value: np.frombuffer(value, "<f8").astype(float))
_CODECS = {
    "embed": _Codec(lambda row: np.asarray(row, "<f4").tobytes(), lambda value: np.frombuffer(value, "<f4")),
    "score": _NUMBERS,
    "choose": _NUMBERS,
    "complete": _Codec(
        lambda row: row.encode("utf-8", "surrogatepass"), lambda value: value.decode("utf-8", "surrogatepass")
    ),
}


def _stack(rows: list[Any]) -> Floats:
    if len(widths := {len(row) for row in rows}) > 1:
        msg = f"an embedder must return rows as long as those in its cache, got lengths {sorted(widths)}"
        raise BadModelOutput(msg)
    return np.stack(rows)


def _cached_methods(
    kind: str, collect: Callable[[list[Any]], Any] = list
) -> tuple[Callable[[Cached, Sequence[Any]], Any], Callable[[Cached, Sequence[Any]], Coroutine[Any, Any, Any]]]:
    """Return the method for a kind of request, and its async twin."""

    def call(self: Cached, items: Sequence[Any]) -> Any:
        keys, hits, misses = self._look_up(kind, items)
        rows = getattr(self.model, kind)(tuple(misses.values())) if misses else ()
        return collect(self._store(kind, keys, hits, misses, rows))

    async def acall(self: Cached, items: Sequence[Any]) -> Any:
        keys, hits, misses = await call_in_thread(self._look_up, kind, items)
        rows = await getattr(self.model, f"a{kind}")(tuple(misses.values())) if misses else ()
        return collect(await call_in_thread(self._store, kind, keys, hits, misses, rows))

    return call, acall


@dataclass(frozen=True, slots=True, eq=False)
class Cached:
    """A model with a cache: it is called only for items that are not stored.

    A key is a hash of the kind of request, the model and its settings, and the item: a text, or an `engine.ChatRequest`
    with its version. Errors are not stored. The methods are those of the model: ``embed`` returns (n, d) float32 unit
    rows, the others a list of n answers.

    Parameters
    ----------
    model : a model as returned by `as_embedder`, `as_causal` or `as_chat`.
    store : where answers are stored.

    Raises
    ------
    ConfigurationError : the model has no name, so its answers cannot be told from another's.
    """

    model: Any
    store: Store

    embed, aembed = _cached_methods("embed", _stack)
    score, ascore = _cached_methods("score")
    choose, achoose = _cached_methods("choose")
    complete, acomplete = _cached_methods("complete")

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
        """Name of the model and its settings; empty if it has no name."""
        if isinstance(name := getattr(self.model, "identity", None), str):
            return name
        inner = self.model.model
        return f"{identity(inner)} {_settings(self.model)} {_settings(inner)}" if model_name(inner) else ""

    @property
    def batch_size(self) -> int | None:
        """Items per call."""
        return getattr(self.model, "batch_size", None)

    @property
    def concurrency(self) -> int | None:
        """Concurrent calls."""
        return getattr(self.model, "concurrency", None)

    def _look_up(self, kind: str, items: Sequence[Any]) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        """Return the key of each item, the stored rows by key, and the other items by key."""
        name = self.identity
        keys = [sha256(json.dumps(["1", kind, name, item], default=_to_json).encode()).hexdigest() for item in items]
        breaker = circuit_breaker(self.store)
        values = breaker.read(lambda: self.store.get_many(list(dict.fromkeys(keys))))
        hits = {
            key: _CODECS[kind].decode(value)
            for key in keys
            if (value := breaker.verify_checksum(values.get(key))) is not None
        }
        return keys, hits, {key: item for key, item in zip(keys, items, strict=True) if key not in hits}

    def _store(
        self, kind: str, keys: list[str], hits: dict[str, Any], misses: dict[str, Any], rows: Iterable[Any]
    ) -> list[Any]:
        """Store the rows that answer the misses; return a row for each key."""
        fresh = dict(zip(misses, rows, strict=True))
        values = {
            key: add_checksum(_CODECS[kind].encode(row)) for key, row in fresh.items() if not isinstance(row, Exception)
        }
        if values:
            circuit_breaker(self.store).write(lambda: self.store.set_many(values))
        answers = {**hits, **fresh}
        return [answers[key] for key in keys]


# A path or the URL of a Redis, a mapping, a store, or None for no cache.
CacheLike: TypeAlias = str | Path | MutableMapping[str, bytes] | Store | None


def with_cache(model: _M, cache: CacheLike) -> _M | Cached:
    """Put a cache in front of a model: the path of a file, the URL of a Redis, a mapping, a `Store`, or None for none."""
    if cache is None:
        return model
    if isinstance(cache, (str, Path)):
        return Cached(model, _open_store(str(cache)))
    if hasattr(cache, "get_many") and hasattr(cache, "set_many"):
        return Cached(model, cache)
    if isinstance(cache, MutableMapping):
        return Cached(model, DictStore(cache))
    msg = f"a cache is a path, a Redis URL, a dict, or has get_many and set_many, got {type(cache).__qualname__}"
    raise ConfigurationError(msg)


@lru_cache(maxsize=64)
def _open_store(location: str) -> Store:
    if not _REDIS.match(location):
        return FileStore(location)
    import_extra("redis", "redis")
    return RedisStore(location)


def _settings(model: Any) -> dict[str, Any]:
    """Return the plain fields of a model that its answers may depend on."""
    if not is_dataclass(model):
        return {}
    values = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in ("batch_size", "concurrency")}
    return {name: value for name, value in values.items() if value is None or isinstance(value, (str, int, float))}


def _to_json(item: Any) -> Any:
    return astuple(item) if isinstance(item, ChatRequest) else int(item)
