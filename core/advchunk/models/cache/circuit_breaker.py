"""Bear with a store that fails or lies."""

from __future__ import annotations

import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from advchunk.models.cache.files import FileStore
from advchunk.models.cache.redis_store import RedisStore

R = TypeVar("R")

_log = logging.getLogger("advchunk")
_MAKING = Lock()
_REST = 30.0  # seconds until a cache that failed is tried again


class CircuitBreaker:
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


_TROUBLES: WeakKeyDictionary[Any, CircuitBreaker] = WeakKeyDictionary()


def circuit_breaker(store: Any) -> CircuitBreaker:
    """Return what is known to be wrong with a store."""
    try:
        with _MAKING:
            return _TROUBLES.setdefault(store, CircuitBreaker(store))
    except TypeError:  # a store of one's own that cannot be hashed or referred to weakly
        return CircuitBreaker(store)


def add_checksum(value: bytes) -> bytes:
    """Return bytes with what tells them from others, for `Trouble.opened`."""
    return _sum(value) + value


def _sum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(4, "big")
