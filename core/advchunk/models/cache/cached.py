"""Put a store before a model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, MutableMapping, Sequence
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

M = TypeVar("M")

_REDIS = re.compile(r"(rediss?|unix)://")


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
        keys, known, unknown = await call_in_thread(self._look_up, kind, items)
        rows = await getattr(self.model, f"a{kind}")(tuple(unknown.values())) if unknown else ()
        return await call_in_thread(self._kept, kind, keys, known, unknown, rows)

    def _look_up(self, kind: str, items: Sequence[Any]) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        """Return the key of each item, the rows that are kept, and the items of which none is."""
        named = self.identity
        keys = [sha256(json.dumps(["1", kind, named, item], default=_plain).encode()).hexdigest() for item in items]
        care = circuit_breaker(self.store)
        found = care.read(lambda: self.store.get_many(list(dict.fromkeys(keys))))
        known = {key: _KINDS[kind].unpack(kept) for key in keys if (kept := care.opened(found.get(key))) is not None}
        return keys, known, {key: item for key, item in zip(keys, items, strict=True) if key not in known}

    def _kept(
        self, kind: str, keys: list[str], known: dict[str, Any], unknown: dict[str, Any], rows: Iterable[Any]
    ) -> list[Any]:
        fresh = dict(zip(unknown, rows, strict=True))
        values = {
            key: add_checksum(_KINDS[kind].pack(row)) for key, row in fresh.items() if not isinstance(row, Exception)
        }
        if values:
            circuit_breaker(self.store).write(lambda: self.store.set_many(values))
        answers = {**known, **fresh}
        return [answers[key] for key in keys]


# What `with_cache` takes.
CacheLike: TypeAlias = str | Path | MutableMapping[str, bytes] | Store | None


def with_cache(model: M, cache: CacheLike) -> M | Cached:
    """Put a cache before a model: None for none, the path of a file, the URL of a Redis, a mapping, or a `Store`."""
    if cache is None:
        return model
    if isinstance(cache, (str, Path)):
        return Cached(model, _store_at(str(cache)))
    if hasattr(cache, "get_many") and hasattr(cache, "set_many"):
        return Cached(model, cache)
    if isinstance(cache, MutableMapping):
        return Cached(model, DictStore(cache))
    msg = f"a cache is a path, a Redis URL, a dict, or has get_many and set_many, got {type(cache).__qualname__}"
    raise ConfigurationError(msg)


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
    return astuple(item) if isinstance(item, ChatRequest) else int(item)


@lru_cache(maxsize=64)
def _store_at(where: str) -> Any:
    if not _REDIS.match(where):
        return FileStore(where)
    import_extra("redis", "redis")
    return RedisStore(where)
