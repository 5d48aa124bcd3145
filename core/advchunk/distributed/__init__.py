"""Chunk tables of documents, on one machine or many: Arrow batches, Ray Data, and files in shards."""

from typing import TYPE_CHECKING

from advchunk.lazy import by_module, lazy_names
from advchunk.registry import Registration

if TYPE_CHECKING:
    from advchunk.distributed.batches import chunk_batches, chunk_schema
    from advchunk.distributed.ray_data import chunk_dataset
    from advchunk.distributed.shards import ShardCounts, chunk_shards

__all__ = ["REGISTRATIONS", "ShardCounts", "chunk_batches", "chunk_dataset", "chunk_schema", "chunk_shards"]
_NAMES = by_module({
    ".batches": "chunk_batches chunk_schema",
    ".ray_data": "chunk_dataset",
    ".shards": "ShardCounts chunk_shards",
})  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, _NAMES)

REGISTRATIONS = (
    Registration(
        kind="engine",
        name="processes",
        path="advchunk.distributed.shards:chunk_shards",
        summary="shards in processes of this machine",
        extra="arrow",
    ),
    Registration(
        kind="engine",
        name="ray",
        path="advchunk.distributed.shards:chunk_shards",
        summary="shards in a Ray cluster",
        extra="ray",
    ),
)
