"""Caches of model answers.

A cache that fails or holds foreign data is no error: it logs one warning, and the model is called instead.
"""

from advchunk.models.cache.cached import Cached, CacheLike, with_cache
from advchunk.models.cache.files import FileStore
from advchunk.models.cache.redis_store import RedisStore
from advchunk.models.cache.stores import DictStore, Store

__all__ = ["CacheLike", "Cached", "DictStore", "FileStore", "RedisStore", "Store", "with_cache"]
