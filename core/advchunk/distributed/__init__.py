"""Chunk tables of documents, on one machine or many: Arrow batches, Ray Data, and files in shards."""

from advchunk.distributed.batches import chunk_batches, chunk_schema
from advchunk.distributed.ray_data import chunk_dataset
from advchunk.distributed.shards import ShardCounts, chunk_shards

__all__ = ["ShardCounts", "chunk_batches", "chunk_dataset", "chunk_schema", "chunk_shards"]
