"""Chunkers for retrieval that share one interface and need no framework.

>>> from advchunk import RecursiveChunker
>>> [chunk.spans for chunk in RecursiveChunker(max_tokens=4).chunk("One two. Three four.")]
[(Span(start=0, end=9),), (Span(start=9, end=20),)]

Names are imported on first use: those below, and the class of each chunker in the table of registrations.
"""

from typing import Any

from advchunk.lazy import by_module, lazy_names, warn_of_former

__version__ = "0.2.0"

_NAMES = by_module({
    ".chunkers.auto": "AutoChunker",
    ".chunkers.base": "Chunker",
    ".chunkers.by_size": "RecursiveChunker SlidingWindowChunker",
    ".chunkers.catalog": "create describe names",
    ".chunkers.gate": "settings",
    ".chunkers.sources": "chunk_files",
    ".engine.runner": "Failure Results",
    ".errors": "BadModelOutput BudgetExceeded ConfigurationError MissingExtra MissingModel ModelUnavailable NotConverged Unreadable WorkerDied",
    ".models.chat": "Budget",
    ".models.embedders": "HybridEmbedder",
    ".models.embedding_endpoint": "OpenAIEmbedder",
    ".models.endpoint": "OpenAIChat",
    ".models.onnx_embedder": "OnnxEmbedder",
    ".readers.files": "read_file",
    ".records": "Block Chunk Document Explanation Span",
    ".retrieval.chunk_tree": "ChunkTree",
})  # fmt: skip
_MOVED = by_module({
    ".chunkers.base": "EmbeddingChunker LinearChunker",
    ".chunkers.catalog": "is_general_purpose required_model",
    ".chunkers.experimental_base": "ExperimentalChunker",
    ".chunkers.lexical": "LexicalChunker LexicalParams",
    ".chunkers.params": "GroupedParams Params",
    ".chunkers.experimental": "Edus TopicModel",
    ".chunkers.by_page": "GrobidClient",
    ".records": "Cut Place Segmentation Units",
})  # fmt: skip
_load, _dir = lazy_names(__name__, _NAMES, _MOVED)


def __getattr__(name: str) -> Any:
    """Return a public name, or the class of a chunker."""
    if name == "__all__":
        return sorted({*_NAMES, *_chunkers()})
    stem = name.removesuffix("Params")
    if name in _NAMES or name in _MOVED or not (stem != name or name.endswith("Chunker")):
        return _load(name, 3)
    row = _chunkers().get(name) or _chunkers().get(f"{stem}Chunker")
    if row is None:
        return _load(name, 3)
    if stem == name:
        value = row.load()
    else:
        from advchunk.chunkers.catalog import params_of

        value = params_of(row.load())
        warn_of_former(f"{__name__}.{name}", value.__module__, name)
    globals()[name] = value
    return value


def _chunkers() -> dict[str, Any]:
    from advchunk.registry import rows

    return {row.attribute: row for row in rows("chunker", ours=True)}


def __dir__() -> list[str]:
    return sorted({*_dir(), *_chunkers()})
