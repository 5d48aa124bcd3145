"""A circuit breaker and checksums, for stores that fail or hold foreign data."""

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
from advchunk.models.cache.stores import Store

_R = TypeVar("_R")

_log = logging.getLogger("advchunk")
_LOCK = Lock()
_COOLDOWN = 30.0  # seconds before a store that failed is tried again


class CircuitBreaker:
    """Skips a store for a while after it failed, and logs one warning until it works again."""

    def __init__(self, store: Store) -> None:
        ours = isinstance(store, (FileStore, RedisStore))
        self._name = str(store) if ours else type(store).__qualname__  # a user's own str might hold a password
        self._open_until: dict[str, float] = {}  # by operation
        self._damaged = False

    def read(self, call: Callable[[], Mapping[str, bytes]]) -> dict[str, Any]:
        """Read, or return nothing. A failure suspends writing too: unreadable values need not be written."""
        return self._call("read", ("read", "write"), lambda: dict(call())) or {}

    def write(self, call: Callable[[], None]) -> None:
        """Write, if possible. A failure does not suspend reading: a full disk can still be read."""
        self._call("write", ("write",), call)

    def _call(self, operation: str, suspends: tuple[str, ...], call: Callable[[], _R]) -> _R | None:
        if time.monotonic() < self._open_until.get(operation, 0.0):
            return None
        try:
            result = call()
        except (OSError, sqlite3.Error, TypeError, ValueError) as error:
            if operation not in self._open_until:
                reason = f"{type(error).__name__}: {error}"
                _log.warning("the cache %s fails, and models are asked instead: %s", self._name, reason)
            self._open_until.update(dict.fromkeys(suspends, time.monotonic() + _COOLDOWN))
            return None
        self._open_until.pop(operation, None)
        return result

    def verify_checksum(self, value: Any) -> bytes | None:
        """Return the bytes that `add_checksum` was given; None if there are none or they are damaged."""
        if value is None:
            return None
        if isinstance(value, bytes) and value[:4] == _checksum(value[4:]):
            return value[4:]
        if not self._damaged:
            _log.warning("the cache %s holds what was never put there; such answers are asked for again", self._name)
        self._damaged = True
        return None


_BREAKERS: WeakKeyDictionary[Store, CircuitBreaker] = WeakKeyDictionary()


def circuit_breaker(store: Store) -> CircuitBreaker:
    """Return the circuit breaker of a store, one per process."""
    try:
        with _LOCK:
            return _BREAKERS.setdefault(store, CircuitBreaker(store))
    except TypeError:  # a user's store that is not hashable or has no weak references
        return CircuitBreaker(store)


def add_checksum(value: bytes) -> bytes:
    """Return bytes with their CRC-32 in front."""
    return _checksum(value) + value


def _checksum(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(4, "big")
