"""advchunk in LangChain.

>>> from langchain_advchunk import RecursiveSplitter
>>> [d.metadata["start_index"] for d in RecursiveSplitter(max_tokens=4).create_documents(["One two. Three four."])]
[0, 9]

Names are imported on first use: those below, and a splitter for each chunker (`splitters`).
"""

from importlib.util import find_spec
from typing import Any

from advchunk.errors import MissingExtra
from advchunk.lazy import lazy_names

if find_spec("langchain_text_splitters") is None:
    raise MissingExtra("LangChain", "langchain")  # noqa: EM101

_NAMES = {
    "AdvchunkRetriever": ".retrievers",
    "AdvchunkSplitter": ".base",
    "ChunkEmbeddings": ".embeddings",
    "ChunkEnricher": ".enrich",
    "ChunkerSplitter": ".base",
    "DefaultEmbeddings": ".embeddings",
    "EmbeddingSplitter": ".base",
    "HybridEmbeddings": ".embeddings",
    "LexicalSplitter": ".base",
    "LinearSplitter": ".base",
    "avectors_for": ".vectors",
    "chunk_key": ".base",
    "chunk_spans": ".base",
    "splitter_class": ".splitters",
    "vectors_for": ".vectors",
}
_load, _dir = lazy_names(__name__, _NAMES)


def __getattr__(name: str) -> Any:
    """Return a public name, or the splitter of a chunker."""
    if name in _NAMES or not (name == "__all__" or name.endswith("Splitter")):
        return _load(name)
    from langchain_advchunk import splitters

    return sorted({*_NAMES, *splitters.__all__}) if name == "__all__" else getattr(splitters, name)


def __dir__() -> list[str]:
    return sorted({*_dir(), *__getattr__("__all__")})
