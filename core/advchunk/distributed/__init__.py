"""Chunk tables of documents, on one machine or many: Arrow batches, Ray Data, and files in shards."""

from typing import TYPE_CHECKING

from advchunk.lazy import lazy_names
from advchunk.registry import Registration

if TYPE_CHECKING:
    from advchunk.distributed.batches import chunk_batches, chunk_schema
    from advchunk.distributed.ray_data import chunk_dataset
    from advchunk.distributed.shards import ShardCounts, chunk_shards

__all__ = ["REGISTRATIONS", "ShardCounts", "chunk_batches", "chunk_dataset", "chunk_schema", "chunk_shards"]
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ShardCounts": ".shards",
        "chunk_batches": ".batches",
        "chunk_dataset": ".ray_data",
        "chunk_schema": ".batches",
        "chunk_shards": ".shards",
    },
)

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
