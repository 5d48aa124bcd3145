"""advchunk in LangChain.

>>> from langchain_advchunk import RecursiveSplitter
>>> [d.metadata["start_index"] for d in RecursiveSplitter(max_tokens=4).create_documents(["One two. Three four."])]
[0, 9]

Names are imported on first use: those below, and a splitter for each chunker (`splitters`).
"""

from importlib.util import find_spec

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
__getattr__, __dir__ = lazy_names(__name__, _NAMES, classes=".splitters:Splitter")
