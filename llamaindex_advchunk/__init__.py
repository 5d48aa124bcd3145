"""advchunk in LlamaIndex.

>>> from llama_index.core import Document
>>> from llamaindex_advchunk import RecursiveNodeParser
>>> nodes = RecursiveNodeParser(max_tokens=4).get_nodes_from_documents([Document(text="One two. Three four.")])
>>> [node.start_char_idx for node in nodes]
[0, 9]

Names are imported on first use: those below, and a node parser for each chunker (`node_parsers`).
"""

from importlib.util import find_spec

from advchunk.errors import MissingExtra
from advchunk.registry import lazy_names

if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
    raise MissingExtra("LlamaIndex", "llamaindex")  # noqa: EM101

__getattr__, __dir__, _ = lazy_names(__name__, {
    ".base": "AdvchunkNodeParser ChunkerNodeParser EmbeddingNodeParser LexicalNodeParser LinearNodeParser chunk_spans",
    ".corpora": "update_nodes",
    ".embedding": "DefaultEmbedding HybridEmbedding",
    ".enrich": "ChunkEnricher",
    ".indexes": "IndexRetriever",
    ".node_parsers": "node_parser_class",
    ".retrievers": "AdvchunkRetriever PassagePostprocessor",
    ".sparse": "qdrant_words",
    ".surroundings": "StoreNodes",
    ".vectors": "vectors_for",
}, classes=".node_parsers:NodeParser")  # fmt: skip
