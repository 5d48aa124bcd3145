# Written by tools/write_stubs.py from the lazy names and the registrations.
from advchunk.registry import Registration
from advchunk.tables.batches import chunk_batches as chunk_batches
from advchunk.tables.batches import chunk_schema as chunk_schema
from advchunk.tables.batches import read_chunks as read_chunks
from advchunk.tables.folders import ShardCounts as ShardCounts
from advchunk.tables.ray_data import chunk_dataset as chunk_dataset
from advchunk.tables.shards import chunk_shards as chunk_shards
from advchunk.tables.storing import store_shards as store_shards

REGISTRATIONS: tuple[Registration, ...]
