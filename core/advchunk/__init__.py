"""Chunkers for retrieval that share one interface and need no framework.

>>> from advchunk import RecursiveChunker
>>> [chunk.spans for chunk in RecursiveChunker(max_tokens=4).chunk("One two. Three four.")]
[(Span(start=0, end=9),), (Span(start=9, end=20),)]

Names are imported on first use: those below, and the class of each chunker in the table of registrations.
"""

from typing import Any

from advchunk import moved
from advchunk.lazy import lazy_names, warn_of_former

__version__ = "0.1.0"

_NAMES = {
    "AutoChunker": ".chunkers.auto",
    "BadModelOutput": ".errors",
    "Block": ".records",
    "Budget": ".models.chat",
    "BudgetExceeded": ".errors",
    "Chunk": ".records",
    "ChunkTree": ".retrieval.chunk_tree",
    "Chunker": ".chunkers.base",
    "ConfigurationError": ".errors",
    "Document": ".records",
    "Explanation": ".records",
    "Failure": ".engine.runner",
    "HybridEmbedder": ".models.embedders",
    "MissingExtra": ".errors",
    "MissingModel": ".errors",
    "ModelUnavailable": ".errors",
    "NotConverged": ".errors",
    "OnnxEmbedder": ".models.onnx_embedder",
    "OpenAIChat": ".models.endpoint",
    "OpenAIEmbedder": ".models.embedding_endpoint",
    "RecursiveChunker": ".chunkers.baselines",
    "Results": ".engine.runner",
    "SlidingWindowChunker": ".chunkers.baselines",
    "Span": ".records",
    "Unreadable": ".errors",
    "WorkerDied": ".errors",
    "create": ".chunkers.catalog",
    "describe": ".chunkers.catalog",
    "names": ".chunkers.catalog",
    "read_file": ".readers.files",
    "settings": ".chunkers.gate",
}
_MOVED = {
    "Cut": ".records",
    "Edus": ".experimental",
    "EmbeddingChunker": ".chunkers.base",
    "ExperimentalChunker": ".chunkers.experimental",
    "GrobidClient": ".papers",
    "GroupedParams": ".chunkers.params",
    "LexicalChunker": ".chunkers.lexical",
    "LexicalParams": ".chunkers.lexical",
    "LinearChunker": ".chunkers.base",
    "Params": ".chunkers.params",
    "Place": ".records",
    "Segmentation": ".records",
    "TopicModel": ".experimental",
    "Units": ".records",
    "is_general_purpose": ".chunkers.catalog",
    "required_model": ".chunkers.catalog",
}
_load, _dir = lazy_names(__name__, _NAMES, _MOVED)
moved.install()


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
