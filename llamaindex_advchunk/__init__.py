"""advchunk in LlamaIndex.

>>> from llama_index.core import Document
>>> from llamaindex_advchunk import RecursiveNodeParser
>>> nodes = RecursiveNodeParser(max_tokens=4).get_nodes_from_documents([Document(text="One two. Three four.")])
>>> [node.start_char_idx for node in nodes]
[0, 9]
"""

from advchunk.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("LlamaIndex", "llamaindex") from error  # noqa: EM101

from llamaindex_advchunk import node_parsers
from llamaindex_advchunk.base import (
    AdvchunkNodeParser,
    ChunkerNodeParser,
    EmbeddingNodeParser,
    LexicalNodeParser,
    LinearNodeParser,
    chunk_spans,
)
from llamaindex_advchunk.embedding import DefaultEmbedding, HybridEmbedding
from llamaindex_advchunk.enrich import ChunkEnricher
from llamaindex_advchunk.node_parsers import *  # noqa: F403 - the class of each algorithm
from llamaindex_advchunk.retrievers import AdvchunkRetriever, NeighborPostprocessor
from llamaindex_advchunk.vectors import avectors_for, vectors_for

__all__ = [
    "AdvchunkNodeParser",
    "AdvchunkRetriever",
    "ChunkEnricher",
    "ChunkerNodeParser",
    "DefaultEmbedding",
    "EmbeddingNodeParser",
    "HybridEmbedding",
    "LexicalNodeParser",
    "LinearNodeParser",
    "NeighborPostprocessor",
    "avectors_for",
    "chunk_spans",
    "vectors_for",
]
__all__ += node_parsers.__all__
