"""A store in Redis."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from advchunk.errors import import_extra
from advchunk.models.cache.stores import batches


@dataclass(frozen=True, slots=True, weakref_slot=True)
class RedisStore:
    """A store in Redis, or in a server with the same protocol.

    Parameters
    ----------
    url : ``redis://``, ``rediss://`` or ``unix://``, as the ``redis`` client takes it. A password in it is never shown.
    """

    url: str = field(repr=False)

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored values."""
        values: dict[str, bytes] = {}
        for batch in batches(keys):
            rows = self._execute("mget", [f"advchunk:{key}" for key in batch])
            values.update((key, value) for key, value in zip(batch, rows, strict=True) if value is not None)
        return values

    def set_many(self, values: Mapping[str, bytes]) -> None:
        """Store values."""
        for batch in batches(list(values)):
            self._execute("mset", {f"advchunk:{key}": values[key] for key in batch})

    def __str__(self) -> str:
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.hostname or url.path}" + (f":{url.port}" if url.port else "")

    def _execute(self, command: str, argument: Any) -> Any:
        redis = import_extra("redis", "redis")
        try:
            return getattr(_client(self.url, os.getpid()), command)(argument)
        except redis.RedisError as error:
            message = f"{type(error).__name__}: {error}"
        raise ConnectionError(message)  # not from the client's own error, whose frames hold the URL


@lru_cache(maxsize=16)
def _client(url: str, _process: int) -> Any:
    redis = import_extra("redis", "redis")
    # Calling the model is better than waiting long for a cache.
    return redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2)
