"""Chunk tables of documents, on one machine or many: Arrow batches, Ray Data, and files in shards."""

from advchunk.registry import Registration, lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".batches": "chunk_batches chunk_schema read_chunks",
    ".folders": "ShardCounts",
    ".ray_data": "chunk_dataset",
    ".shards": "chunk_shards",
    ".storing": "store_shards",
})  # fmt: skip

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
