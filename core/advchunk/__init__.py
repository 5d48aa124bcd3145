"""Chunkers for retrieval that share one interface and need no framework.

>>> from advchunk import RecursiveChunker
>>> [chunk.spans for chunk in RecursiveChunker(max_tokens=4).chunk("One two. Three four.")]
[(Span(start=0, end=9),), (Span(start=9, end=20),)]

Names are imported on first use: those below, and the class of each chunker in the table of registrations.
"""

from typing import Any

from advchunk import registry

__version__ = "0.3.0"

_load, _dir, _names = registry.lazy_names(__name__, {
    ".chunkers.auto": "AutoChunker",
    ".chunkers.base": "Chunker",
    ".chunkers.by_size": "RecursiveChunker SlidingWindowChunker",
    ".chunkers.catalog": "create describe names",
    ".chunkers.explanations": "Explanation",
    ".chunkers.gate": "settings",
    ".chunkers.sources": "chunk_files",
    ".engine.runner": "Failure Results",
    ".errors": "BadModelOutput BudgetExceeded ConfigurationError MissingExtra MissingModel ModelUnavailable "
               "NotConverged Unreadable WorkerDied",
    ".models.chat": "Budget",
    ".models.embedders": "HybridEmbedder",
    ".models.endpoint": "OpenAIChat OpenAIEmbedder",
    ".models.onnx_embedder": "OnnxEmbedder",
    ".readers.files": "read_file",
    ".records": "Block Chunk Document Span",
    ".retrieval.chunk_tree": "ChunkTree",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a public name, or the class of a chunker."""
    if name == "__all__":
        return sorted({*_names, *_chunkers()})
    row = _chunkers().get(name) if name.endswith("Chunker") and name not in _names else None
    if row is None:
        return _load(name)
    globals()[name] = row.load()
    return globals()[name]


def _chunkers() -> dict[str, registry.Registration]:
    return {row.attribute: row for row in registry.rows_of("chunker", ours=True)}


def __dir__() -> list[str]:
    return sorted({*_dir(), *_chunkers()})
