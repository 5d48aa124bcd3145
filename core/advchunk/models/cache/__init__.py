"""Keep what models answered between runs: what was asked once is not asked again.

A cache is a help and never a condition. One that cannot be reached, or that holds something else than what was put
there, costs one warning in the log, and the model is asked.
"""

from advchunk.models.cache.cached import Cached, CacheLike, with_cache
from advchunk.models.cache.files import FileStore
from advchunk.models.cache.redis_store import RedisStore
from advchunk.models.cache.stores import DictStore, Store

__all__ = ["CacheLike", "Cached", "DictStore", "FileStore", "RedisStore", "Store", "with_cache"]
