"""Chunkers for retrieval that share one interface and need no framework.

>>> from advchunk import RecursiveChunker
>>> [chunk.spans for chunk in RecursiveChunker(max_tokens=4).chunk("One two. Three four.")]
[(Span(start=0, end=9),), (Span(start=9, end=20),)]
"""

from advchunk.chunkers.auto import AutoChunker, AutoParams
from advchunk.chunkers.base import Chunker, EmbeddingChunker, LinearChunker
from advchunk.chunkers.baselines import (
    RecursiveChunker,
    RecursiveParams,
    SlidingWindowChunker,
    SlidingWindowParams,
)
from advchunk.chunkers.bayesseg import BayesSegChunker, BayesSegParams
from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.chunkers.biomedical.params import BiomedicalAbstractParams
from advchunk.chunkers.c99 import C99Chunker, C99Params
from advchunk.chunkers.chaptering.chunker import LLMChapteringChunker, LLMChapteringParams
from advchunk.chunkers.clusters import SemanticClusterChunker, SemanticClusterParams
from advchunk.chunkers.discourse import DiscourseSegmenterChunker, DiscourseSegmenterParams
from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.gate import settings
from advchunk.chunkers.graphrag.chunker import GraphRAGChunker, GraphRAGParams
from advchunk.chunkers.grobid import GrobidSectionChunker, GrobidSectionParams
from advchunk.chunkers.hierarchical import HierarchicalChunker, HierarchicalParams
from advchunk.chunkers.layout_aware import LayoutAwareChunker, LayoutAwareParams
from advchunk.chunkers.lda import LDATopicChunker, LDATopicParams
from advchunk.chunkers.lexical import LexicalChunker, LexicalParams
from advchunk.chunkers.margin import MarginSamplingChunker, MarginSamplingParams
from advchunk.chunkers.mst.chunker import MSTSemanticChunker
from advchunk.chunkers.mst.distances import MSTSemanticParams
from advchunk.chunkers.optimal import OptimalSemanticChunker, OptimalSemanticParams
from advchunk.chunkers.params import GroupedParams, Params
from advchunk.chunkers.partition import GraphPartitionChunker, GraphPartitionParams
from advchunk.chunkers.perplexity import PerplexityChunker, PerplexityParams
from advchunk.chunkers.registry import create, describe, is_general_purpose, names, required_model
from advchunk.chunkers.texttiling import TextTilingChunker, TextTilingParams
from advchunk.chunkers.threshold import SemanticThresholdChunker, SemanticThresholdParams
from advchunk.chunkers.universal import UniversalSemanticChunker, UniversalSemanticParams
from advchunk.engine.runner import Failure, Results
from advchunk.errors import (
    BadModelOutput,
    BudgetExceeded,
    ConfigurationError,
    MissingExtra,
    MissingModel,
    ModelUnavailable,
    NotConverged,
    Unreadable,
    WorkerDied,
)
from advchunk.models.chat import Budget
from advchunk.models.embedders import HybridEmbedder
from advchunk.models.embedding_endpoint import OpenAIEmbedder
from advchunk.models.endpoint import OpenAIChat
from advchunk.models.onnx_embedder import OnnxEmbedder
from advchunk.models.topics import TopicModel
from advchunk.readers.files import read_file
from advchunk.readers.tei.client import GrobidClient
from advchunk.records import Block, Chunk, Cut, Document, Explanation, Place, Segmentation, Span, Units
from advchunk.retrieval.tree import ChunkTree
from advchunk.text.splitters import Edus

__version__ = "0.1.0"

__all__ = [
    "AutoChunker",
    "AutoParams",
    "BadModelOutput",
    "BayesSegChunker",
    "BayesSegParams",
    "BiomedicalAbstractChunker",
    "BiomedicalAbstractParams",
    "Block",
    "Budget",
    "BudgetExceeded",
    "C99Chunker",
    "C99Params",
    "Chunk",
    "ChunkTree",
    "Chunker",
    "ConfigurationError",
    "Cut",
    "DiscourseSegmenterChunker",
    "DiscourseSegmenterParams",
    "Document",
    "Edus",
    "EmbeddingChunker",
    "ExperimentalChunker",
    "Explanation",
    "Failure",
    "GraphPartitionChunker",
    "GraphPartitionParams",
    "GraphRAGChunker",
    "GraphRAGParams",
    "GrobidClient",
    "GrobidSectionChunker",
    "GrobidSectionParams",
    "GroupedParams",
    "HierarchicalChunker",
    "HierarchicalParams",
    "HybridEmbedder",
    "LDATopicChunker",
    "LDATopicParams",
    "LLMChapteringChunker",
    "LLMChapteringParams",
    "LayoutAwareChunker",
    "LayoutAwareParams",
    "LexicalChunker",
    "LexicalParams",
    "LinearChunker",
    "MSTSemanticChunker",
    "MSTSemanticParams",
    "MarginSamplingChunker",
    "MarginSamplingParams",
    "MissingExtra",
    "MissingModel",
    "ModelUnavailable",
    "NotConverged",
    "OnnxEmbedder",
    "OpenAIChat",
    "OpenAIEmbedder",
    "OptimalSemanticChunker",
    "OptimalSemanticParams",
    "Params",
    "PerplexityChunker",
    "PerplexityParams",
    "Place",
    "RecursiveChunker",
    "RecursiveParams",
    "Results",
    "Segmentation",
    "SemanticClusterChunker",
    "SemanticClusterParams",
    "SemanticThresholdChunker",
    "SemanticThresholdParams",
    "SlidingWindowChunker",
    "SlidingWindowParams",
    "Span",
    "TextTilingChunker",
    "TextTilingParams",
    "TopicModel",
    "Units",
    "UniversalSemanticChunker",
    "UniversalSemanticParams",
    "Unreadable",
    "WorkerDied",
    "create",
    "describe",
    "is_general_purpose",
    "names",
    "read_file",
    "required_model",
    "settings",
]
