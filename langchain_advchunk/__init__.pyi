# Written by tools/write_stubs.py from the registrations.
from langchain_advchunk.base import AdvchunkSplitter as AdvchunkSplitter
from langchain_advchunk.base import ChunkerSplitter as ChunkerSplitter
from langchain_advchunk.base import EmbeddingSplitter as EmbeddingSplitter
from langchain_advchunk.base import LexicalSplitter as LexicalSplitter
from langchain_advchunk.base import LinearSplitter as LinearSplitter
from langchain_advchunk.base import chunk_key as chunk_key
from langchain_advchunk.base import chunk_spans as chunk_spans
from langchain_advchunk.compressors import PassageCompressor as PassageCompressor
from langchain_advchunk.embeddings import ChunkEmbeddings as ChunkEmbeddings
from langchain_advchunk.embeddings import DefaultEmbeddings as DefaultEmbeddings
from langchain_advchunk.embeddings import HybridEmbeddings as HybridEmbeddings
from langchain_advchunk.enrich import ChunkEnricher as ChunkEnricher
from langchain_advchunk.retrievers import AdvchunkRetriever as AdvchunkRetriever
from langchain_advchunk.splitters import *
from langchain_advchunk.vectors import avectors_for as avectors_for
from langchain_advchunk.vectors import vectors_for as vectors_for
