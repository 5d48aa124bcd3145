"""Chunk tables of documents: Arrow in, Arrow out, and Ray Data."""

from advchunk.registry import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".batches": "chunk_batches chunk_schema read_chunks",
    ".ray_data": "chunk_dataset",
})  # fmt: skip
