# Written by tools/write_stubs.py from the registrations.
from langchain_advchunk.base import AdvchunkSplitter as AdvchunkSplitter
from langchain_advchunk.base import ChunkerSplitter as ChunkerSplitter
from langchain_advchunk.base import EmbeddingSplitter as EmbeddingSplitter
from langchain_advchunk.base import LexicalSplitter as LexicalSplitter
from langchain_advchunk.base import LinearSplitter as LinearSplitter
from langchain_advchunk.base import chunk_key as chunk_key
from langchain_advchunk.base import chunk_spans as chunk_spans
from langchain_advchunk.embeddings import ChunkEmbeddings as ChunkEmbeddings
from langchain_advchunk.embeddings import DefaultEmbeddings as DefaultEmbeddings
from langchain_advchunk.embeddings import HybridEmbeddings as HybridEmbeddings
from langchain_advchunk.enrich import ChunkEnricher as ChunkEnricher
from langchain_advchunk.retrievers import AdvchunkRetriever as AdvchunkRetriever
from langchain_advchunk.splitters import AutoSplitter as AutoSplitter
from langchain_advchunk.splitters import BayesSegSplitter as BayesSegSplitter
from langchain_advchunk.splitters import BiomedicalAbstractSplitter as BiomedicalAbstractSplitter
from langchain_advchunk.splitters import C99Splitter as C99Splitter
from langchain_advchunk.splitters import DiscourseSegmenterSplitter as DiscourseSegmenterSplitter
from langchain_advchunk.splitters import GraphPartitionSplitter as GraphPartitionSplitter
from langchain_advchunk.splitters import GraphRAGSplitter as GraphRAGSplitter
from langchain_advchunk.splitters import GrobidSectionSplitter as GrobidSectionSplitter
from langchain_advchunk.splitters import HierarchicalSplitter as HierarchicalSplitter
from langchain_advchunk.splitters import LayoutAwareSplitter as LayoutAwareSplitter
from langchain_advchunk.splitters import LDATopicSplitter as LDATopicSplitter
from langchain_advchunk.splitters import LLMChapteringSplitter as LLMChapteringSplitter
from langchain_advchunk.splitters import MarginSamplingSplitter as MarginSamplingSplitter
from langchain_advchunk.splitters import MSTSemanticSplitter as MSTSemanticSplitter
from langchain_advchunk.splitters import OptimalSemanticSplitter as OptimalSemanticSplitter
from langchain_advchunk.splitters import PerplexitySplitter as PerplexitySplitter
from langchain_advchunk.splitters import RecursiveSplitter as RecursiveSplitter
from langchain_advchunk.splitters import SemanticClusterSplitter as SemanticClusterSplitter
from langchain_advchunk.splitters import SemanticThresholdSplitter as SemanticThresholdSplitter
from langchain_advchunk.splitters import SlidingWindowSplitter as SlidingWindowSplitter
from langchain_advchunk.splitters import TextTilingSplitter as TextTilingSplitter
from langchain_advchunk.splitters import UniversalSemanticSplitter as UniversalSemanticSplitter
from langchain_advchunk.splitters import splitter_class as splitter_class
from langchain_advchunk.vectors import avectors_for as avectors_for
from langchain_advchunk.vectors import vectors_for as vectors_for

__all__ = [
    "AdvchunkRetriever",
    "AdvchunkSplitter",
    "AutoSplitter",
    "BayesSegSplitter",
    "BiomedicalAbstractSplitter",
    "C99Splitter",
    "ChunkEmbeddings",
    "ChunkEnricher",
    "ChunkerSplitter",
    "DefaultEmbeddings",
    "DiscourseSegmenterSplitter",
    "EmbeddingSplitter",
    "GraphPartitionSplitter",
    "GraphRAGSplitter",
    "GrobidSectionSplitter",
    "HierarchicalSplitter",
    "HybridEmbeddings",
    "LDATopicSplitter",
    "LLMChapteringSplitter",
    "LayoutAwareSplitter",
    "LexicalSplitter",
    "LinearSplitter",
    "MSTSemanticSplitter",
    "MarginSamplingSplitter",
    "OptimalSemanticSplitter",
    "PerplexitySplitter",
    "RecursiveSplitter",
    "SemanticClusterSplitter",
    "SemanticThresholdSplitter",
    "SlidingWindowSplitter",
    "TextTilingSplitter",
    "UniversalSemanticSplitter",
    "avectors_for",
    "chunk_key",
    "chunk_spans",
    "splitter_class",
    "vectors_for",
]
