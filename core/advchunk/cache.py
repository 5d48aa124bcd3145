"""Keep embeddings between runs: what was embedded once is not embedded again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import numpy as np

from advchunk.engine import BATCH_SIZE, in_thread
from advchunk.errors import BadModelOutput, ConfigurationError
from advchunk.models.embedders import CheckedEmbedder
from advchunk.models.identity import identity, model_name
from advchunk.records import Floats

_MAKING = Lock()
_MOST_KEYS = 500  # of one SQL statement; SQLite's own limit is 999 or more


class Store(Protocol):
    """Bytes by name. A ``dict`` will do for one process; keys and values are immutable."""

    def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the values that are there."""
        ...

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        ...


@dataclass(frozen=True, slots=True)
class FileStore:
    """A store in one SQLite file, safe to share between threads and processes, and to pickle."""

    path: str

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values that are there."""
        found: dict[str, bytes] = {}
        with closing(self._file()) as file:
            for some in _groups(keys):
                marks = ",".join("?" * len(some))
                found.update(file.execute(f"SELECT k, v FROM kv WHERE k IN ({marks})", some))
        return found

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        with closing(self._file()) as file, file:
            file.executemany("INSERT OR REPLACE INTO kv VALUES (?, ?)", values.items())

    def __post_init__(self) -> None:
        try:
            Path(self.path).expanduser().parent.mkdir(parents=True, exist_ok=True)
            with _MAKING, closing(self._file()) as file:  # no timeout waits for another's change to WAL
                file.execute("PRAGMA journal_mode=WAL")
                file.execute("CREATE TABLE IF NOT EXISTS kv (k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID")
        except (OSError, sqlite3.Error) as error:
            msg = f"a cache must be the path of a new file or of an SQLite file, got {self.path!r} ({error})"
            raise ConfigurationError(msg) from error

    def _file(self) -> sqlite3.Connection:
        file = sqlite3.connect(Path(self.path).expanduser(), timeout=60)
        file.execute("PRAGMA synchronous=NORMAL")
        return file


@dataclass(frozen=True, slots=True, eq=False)
class CachedEmbedder:
    """An embedder that asks a store first, and the model only for what is not there.

    Parameters
    ----------
    embedder : what `as_embedder` made.
    store : a `Store`.

    Raises
    ------
    ConfigurationError : the model has no name to tell its rows from another's.
    """

    embedder: CheckedEmbedder
    store: Any

    def __post_init__(self) -> None:
        if not model_name(self.embedder.model):
            msg = f"a cache needs an embedder with a model_name (set one on a function), got {identity(self.embedder.model)}"
            raise ConfigurationError(msg)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CachedEmbedder) and (self.embedder, self.store) == (other.embedder, other.store)

    def __hash__(self) -> int:
        return hash(self.embedder)

    @property
    def batch_size(self) -> int:
        """Texts a call."""
        return self.embedder.batch_size or BATCH_SIZE

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (len(texts), d) float32 unit rows."""
        keys, known, unknown = self._look_up(texts)
        return self._rows(keys, known, unknown, self.embedder.embed(list(unknown.values())) if unknown else ())

    async def aembed(self, texts: Sequence[str]) -> Floats:
        """Await `embed`."""
        keys, known, unknown = await in_thread(self._look_up, texts)
        rows = await self.embedder.aembed(list(unknown.values())) if unknown else ()
        return await in_thread(self._rows, keys, known, unknown, rows)

    def _look_up(self, texts: Sequence[str]) -> tuple[list[str], dict[str, bytes], dict[str, str]]:
        model = identity(self.embedder.model)
        keys = [sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        known = dict(self.store.get_many(keys))
        return keys, known, {key: text for key, text in zip(keys, texts, strict=True) if key not in known}

    def _rows(self, keys: list[str], known: dict[str, bytes], unknown: dict[str, str], rows: Iterable[Any]) -> Floats:
        fresh = {key: np.asarray(row, dtype=np.float32).tobytes() for key, row in zip(unknown, rows, strict=True)}
        if fresh:
            self.store.set_many(fresh)
        known |= fresh
        if len(widths := {len(known[key]) // 4 for key in keys}) > 1:
            msg = f"an embedder must return rows as long as those in its cache, got lengths {sorted(widths)}"
            raise BadModelOutput(msg)
        return np.stack([np.frombuffer(known[key], dtype=np.float32) for key in keys])


@dataclass(frozen=True, slots=True)
class DictStore:
    """A store in a dictionary, for one process."""

    values: dict[str, bytes]

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the values that are there."""
        return {key: self.values[key] for key in keys if key in self.values}

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        self.values.update(values)


def with_cache(embedder: CheckedEmbedder, cache: Any) -> CheckedEmbedder | CachedEmbedder:
    """Put a cache before an embedder: None for none, the path of a file, a ``dict``, or a `Store`."""
    if cache is None:
        return embedder
    if isinstance(cache, (str, Path)):
        cache = FileStore(str(cache))
    elif isinstance(cache, dict):
        cache = DictStore(cache)
    elif not (hasattr(cache, "get_many") and hasattr(cache, "set_many")):
        msg = f"a cache is a path, a dict, or has get_many and set_many, got {cache!r}"
        raise ConfigurationError(msg)
    return CachedEmbedder(embedder, cache)


def _groups(keys: Sequence[str]) -> Iterable[list[str]]:
    return (list(keys[i : i + _MOST_KEYS]) for i in range(0, len(keys), _MOST_KEYS))
