"""Chunk tables of documents, on one machine or many: Arrow batches, Ray Data, and files in shards."""

from typing import TYPE_CHECKING

from advchunk.lazy import by_module, lazy_names
from advchunk.registry import Registration

if TYPE_CHECKING:
    from advchunk.tables.batches import chunk_batches, chunk_schema, read_chunks
    from advchunk.tables.folders import ShardCounts
    from advchunk.tables.ray_data import chunk_dataset
    from advchunk.tables.shards import chunk_shards
    from advchunk.tables.storing import store_shards

__all__ = [
    "REGISTRATIONS",
    "ShardCounts",
    "chunk_batches",
    "chunk_dataset",
    "chunk_schema",
    "chunk_shards",
    "read_chunks",
    "store_shards",
]
_NAMES = by_module({
    ".batches": "chunk_batches chunk_schema read_chunks",
    ".folders": "ShardCounts",
    ".ray_data": "chunk_dataset",
    ".shards": "chunk_shards",
    ".storing": "store_shards",
})  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, _NAMES)

REGISTRATIONS = (
    Registration(
        kind="engine",
        name="processes",
        path="advchunk.tables.shards:chunk_shards",
        summary="shards in processes of this machine",
        extra="arrow",
    ),
    Registration(
        kind="engine",
        name="ray",
        path="advchunk.tables.shards:chunk_shards",
        summary="shards in a Ray cluster",
        extra="ray",
    ),
)
