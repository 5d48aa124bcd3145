"""advchunk in LangChain.

>>> from langchain_advchunk import RecursiveSplitter
>>> [d.metadata["start_index"] for d in RecursiveSplitter(max_tokens=4).create_documents(["One two. Three four."])]
[0, 9]

Names are imported on first use: those below, and a splitter for each chunker (`splitters`).
"""

from importlib.util import find_spec

from advchunk.errors import MissingExtra
from advchunk.registry import lazy_names

if find_spec("langchain_text_splitters") is None:
    raise MissingExtra("LangChain", "langchain")  # noqa: EM101

__getattr__, __dir__, _ = lazy_names(__name__, {
    ".base": "AdvchunkSplitter ChunkerSplitter EmbeddingSplitter LexicalSplitter LinearSplitter chunk_key record_key",
    ".compressors": "PassageCompressor",
    ".embeddings": "ChunkEmbeddings DefaultEmbeddings HybridEmbeddings",
    ".enrich": "ChunkEnricher",
    ".indexes": "IndexRetriever",
    ".reassembly": "chunk_spans",
    ".retrievers": "AdvchunkRetriever",
    ".sparse": "milvus_words qdrant_words",
    ".splitters": "splitter_class",
    ".surroundings": "MetadataRange StoreChunks mapping_filter",
    ".vectors": "vectors_for",
}, classes=".splitters:Splitter")  # fmt: skip
