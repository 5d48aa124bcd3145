"""advchunk in LlamaIndex.

>>> from llama_index.core import Document
>>> from llamaindex_advchunk import RecursiveNodeParser
>>> nodes = RecursiveNodeParser(max_tokens=4).get_nodes_from_documents([Document(text="One two. Three four.")])
>>> [node.start_char_idx for node in nodes]
[0, 9]

Names are imported on first use: those below, and a node parser for each chunker (`node_parsers`).
"""

from importlib.util import find_spec
from typing import Any

from advchunk.errors import MissingExtra
from advchunk.lazy import lazy_names

if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
    raise MissingExtra("LlamaIndex", "llamaindex")  # noqa: EM101

_NAMES = {
    "AdvchunkNodeParser": ".base",
    "AdvchunkRetriever": ".retrievers",
    "ChunkEnricher": ".enrich",
    "ChunkerNodeParser": ".base",
    "DefaultEmbedding": ".embedding",
    "EmbeddingNodeParser": ".base",
    "HybridEmbedding": ".embedding",
    "LexicalNodeParser": ".base",
    "LinearNodeParser": ".base",
    "NeighborPostprocessor": ".retrievers",
    "PassagePostprocessor": ".retrievers",
    "avectors_for": ".vectors",
    "chunk_spans": ".base",
    "node_parser_class": ".node_parsers",
    "vectors_for": ".vectors",
}
_load, _dir = lazy_names(__name__, _NAMES)


def __getattr__(name: str) -> Any:
    """Return a public name, or the node parser of a chunker."""
    if name in _NAMES or not (name == "__all__" or name.endswith("NodeParser")):
        return _load(name)
    from llamaindex_advchunk import node_parsers

    return sorted({*_NAMES, *node_parsers.__all__}) if name == "__all__" else getattr(node_parsers, name)


def __dir__() -> list[str]:
    return sorted({*_dir(), *__getattr__("__all__")})
