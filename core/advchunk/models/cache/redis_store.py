"""Keep answers in Redis."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from advchunk.errors import import_extra
from advchunk.models.cache.stores import groups


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
        for some in groups(keys):
            values = self._called("mget", [f"advchunk:{key}" for key in some])
            found.update((key, value) for key, value in zip(some, values, strict=True) if value is not None)
        return found

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Keep values."""
        for some in groups(list(values)):
            self._called("mset", {f"advchunk:{key}": values[key] for key in some})

    def __str__(self) -> str:
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.hostname or url.path}" + (f":{url.port}" if url.port else "")

    def _called(self, command: str, given: Any) -> Any:
        redis = import_extra("redis", "redis")
        try:
            return getattr(_redis(self.url, os.getpid()), command)(given)
        except redis.RedisError as error:
            said = f"{type(error).__name__}: {error}"
        raise ConnectionError(said)  # without the client's own error, whose frames hold the URL


@lru_cache(maxsize=16)
def _redis(url: str, _process: int) -> Any:
    redis = import_extra("redis", "redis")
    # Whoever waits for a cache would rather ask the model.
    return redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)
