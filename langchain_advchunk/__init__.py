"""advchunk in LangChain.

>>> from langchain_advchunk import RecursiveSplitter
>>> [d.metadata["start_index"] for d in RecursiveSplitter(max_tokens=4).create_documents(["One two. Three four."])]
[0, 9]
"""

from advchunk.errors import MissingExtra

try:
    import langchain_text_splitters  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("LangChain", "langchain") from error  # noqa: EM101

from langchain_advchunk import splitters
from langchain_advchunk.base import (
    AdvchunkSplitter,
    ChunkerSplitter,
    EmbeddingSplitter,
    LexicalSplitter,
    LinearSplitter,
    chunk_key,
    chunk_spans,
)
from langchain_advchunk.embeddings import ChunkEmbeddings, DefaultEmbeddings, HybridEmbeddings
from langchain_advchunk.enrich import ChunkEnricher
from langchain_advchunk.retrievers import AdvchunkRetriever
from langchain_advchunk.splitters import *  # noqa: F403 - the class of each algorithm
from langchain_advchunk.vectors import avectors_for, vectors_for

__all__ = [
    "AdvchunkRetriever",
    "AdvchunkSplitter",
    "ChunkEmbeddings",
    "ChunkEnricher",
    "ChunkerSplitter",
    "DefaultEmbeddings",
    "EmbeddingSplitter",
    "HybridEmbeddings",
    "LexicalSplitter",
    "LinearSplitter",
    "avectors_for",
    "chunk_key",
    "chunk_spans",
    "vectors_for",
]
__all__ += splitters.__all__
