# Written by tools/write_stubs.py from the lazy names and the registrations.
from advchunk.tables.batches import chunk_batches as chunk_batches
from advchunk.tables.batches import chunk_schema as chunk_schema
from advchunk.tables.batches import read_chunks as read_chunks
from advchunk.tables.ray_data import chunk_dataset as chunk_dataset
