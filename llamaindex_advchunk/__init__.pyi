# Written by tools/write_stubs.py from the registrations.
from llamaindex_advchunk.base import AdvchunkNodeParser as AdvchunkNodeParser
from llamaindex_advchunk.base import ChunkerNodeParser as ChunkerNodeParser
from llamaindex_advchunk.base import EmbeddingNodeParser as EmbeddingNodeParser
from llamaindex_advchunk.base import LexicalNodeParser as LexicalNodeParser
from llamaindex_advchunk.base import LinearNodeParser as LinearNodeParser
from llamaindex_advchunk.base import chunk_spans as chunk_spans
from llamaindex_advchunk.embedding import DefaultEmbedding as DefaultEmbedding
from llamaindex_advchunk.embedding import HybridEmbedding as HybridEmbedding
from llamaindex_advchunk.enrich import ChunkEnricher as ChunkEnricher
from llamaindex_advchunk.node_parsers import AutoNodeParser as AutoNodeParser
from llamaindex_advchunk.node_parsers import BayesSegNodeParser as BayesSegNodeParser
from llamaindex_advchunk.node_parsers import BiomedicalAbstractNodeParser as BiomedicalAbstractNodeParser
from llamaindex_advchunk.node_parsers import C99NodeParser as C99NodeParser
from llamaindex_advchunk.node_parsers import DiscourseSegmenterNodeParser as DiscourseSegmenterNodeParser
from llamaindex_advchunk.node_parsers import GraphPartitionNodeParser as GraphPartitionNodeParser
from llamaindex_advchunk.node_parsers import GraphRAGNodeParser as GraphRAGNodeParser
from llamaindex_advchunk.node_parsers import GrobidSectionNodeParser as GrobidSectionNodeParser
from llamaindex_advchunk.node_parsers import HierarchicalNodeParser as HierarchicalNodeParser
from llamaindex_advchunk.node_parsers import LayoutAwareNodeParser as LayoutAwareNodeParser
from llamaindex_advchunk.node_parsers import LDATopicNodeParser as LDATopicNodeParser
from llamaindex_advchunk.node_parsers import LLMChapteringNodeParser as LLMChapteringNodeParser
from llamaindex_advchunk.node_parsers import MarginSamplingNodeParser as MarginSamplingNodeParser
from llamaindex_advchunk.node_parsers import MSTSemanticNodeParser as MSTSemanticNodeParser
from llamaindex_advchunk.node_parsers import OptimalSemanticNodeParser as OptimalSemanticNodeParser
from llamaindex_advchunk.node_parsers import PerplexityNodeParser as PerplexityNodeParser
from llamaindex_advchunk.node_parsers import RecursiveNodeParser as RecursiveNodeParser
from llamaindex_advchunk.node_parsers import SemanticClusterNodeParser as SemanticClusterNodeParser
from llamaindex_advchunk.node_parsers import SemanticThresholdNodeParser as SemanticThresholdNodeParser
from llamaindex_advchunk.node_parsers import SlidingWindowNodeParser as SlidingWindowNodeParser
from llamaindex_advchunk.node_parsers import TextTilingNodeParser as TextTilingNodeParser
from llamaindex_advchunk.node_parsers import UniversalSemanticNodeParser as UniversalSemanticNodeParser
from llamaindex_advchunk.node_parsers import node_parser_class as node_parser_class
from llamaindex_advchunk.retrievers import AdvchunkRetriever as AdvchunkRetriever
from llamaindex_advchunk.retrievers import NeighborPostprocessor as NeighborPostprocessor
from llamaindex_advchunk.retrievers import PassagePostprocessor as PassagePostprocessor
from llamaindex_advchunk.vectors import avectors_for as avectors_for
from llamaindex_advchunk.vectors import vectors_for as vectors_for

__all__ = [
    "AdvchunkNodeParser",
    "AdvchunkRetriever",
    "AutoNodeParser",
    "BayesSegNodeParser",
    "BiomedicalAbstractNodeParser",
    "C99NodeParser",
    "ChunkEnricher",
    "ChunkerNodeParser",
    "DefaultEmbedding",
    "DiscourseSegmenterNodeParser",
    "EmbeddingNodeParser",
    "GraphPartitionNodeParser",
    "GraphRAGNodeParser",
    "GrobidSectionNodeParser",
    "HierarchicalNodeParser",
    "HybridEmbedding",
    "LDATopicNodeParser",
    "LLMChapteringNodeParser",
    "LayoutAwareNodeParser",
    "LexicalNodeParser",
    "LinearNodeParser",
    "MSTSemanticNodeParser",
    "MarginSamplingNodeParser",
    "NeighborPostprocessor",
    "OptimalSemanticNodeParser",
    "PassagePostprocessor",
    "PerplexityNodeParser",
    "RecursiveNodeParser",
    "SemanticClusterNodeParser",
    "SemanticThresholdNodeParser",
    "SlidingWindowNodeParser",
    "TextTilingNodeParser",
    "UniversalSemanticNodeParser",
    "avectors_for",
    "chunk_spans",
    "node_parser_class",
    "vectors_for",
]
