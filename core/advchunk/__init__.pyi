# Written by tools/write_stubs.py from the registrations.
from advchunk.biomedical.chunker import BiomedicalAbstractChunker as BiomedicalAbstractChunker
from advchunk.chunkers.auto import AutoChunker as AutoChunker
from advchunk.chunkers.base import Chunker as Chunker
from advchunk.chunkers.baselines import RecursiveChunker as RecursiveChunker
from advchunk.chunkers.baselines import SlidingWindowChunker as SlidingWindowChunker
from advchunk.chunkers.catalog import create as create
from advchunk.chunkers.catalog import describe as describe
from advchunk.chunkers.catalog import names as names
from advchunk.chunkers.gate import settings as settings
from advchunk.engine.runner import Failure as Failure
from advchunk.engine.runner import Results as Results
from advchunk.errors import BadModelOutput as BadModelOutput
from advchunk.errors import BudgetExceeded as BudgetExceeded
from advchunk.errors import ConfigurationError as ConfigurationError
from advchunk.errors import MissingExtra as MissingExtra
from advchunk.errors import MissingModel as MissingModel
from advchunk.errors import ModelUnavailable as ModelUnavailable
from advchunk.errors import NotConverged as NotConverged
from advchunk.errors import Unreadable as Unreadable
from advchunk.errors import WorkerDied as WorkerDied
from advchunk.experimental.bayesseg import BayesSegChunker as BayesSegChunker
from advchunk.experimental.c99 import C99Chunker as C99Chunker
from advchunk.experimental.chaptering.chunker import LLMChapteringChunker as LLMChapteringChunker
from advchunk.experimental.clusters import SemanticClusterChunker as SemanticClusterChunker
from advchunk.experimental.discourse import DiscourseSegmenterChunker as DiscourseSegmenterChunker
from advchunk.experimental.lda import LDATopicChunker as LDATopicChunker
from advchunk.experimental.partition import GraphPartitionChunker as GraphPartitionChunker
from advchunk.experimental.texttiling import TextTilingChunker as TextTilingChunker
from advchunk.graphrag.chunker import GraphRAGChunker as GraphRAGChunker
from advchunk.models.chat import Budget as Budget
from advchunk.models.embedders import HybridEmbedder as HybridEmbedder
from advchunk.models.embedding_endpoint import OpenAIEmbedder as OpenAIEmbedder
from advchunk.models.endpoint import OpenAIChat as OpenAIChat
from advchunk.models.onnx_embedder import OnnxEmbedder as OnnxEmbedder
from advchunk.pages.layout_aware import LayoutAwareChunker as LayoutAwareChunker
from advchunk.papers.grobid import GrobidSectionChunker as GrobidSectionChunker
from advchunk.readers.files import read_file as read_file
from advchunk.records import Block as Block
from advchunk.records import Chunk as Chunk
from advchunk.records import Document as Document
from advchunk.records import Explanation as Explanation
from advchunk.records import Span as Span
from advchunk.retrieval.chunk_tree import ChunkTree as ChunkTree
from advchunk.semantic.hierarchical import HierarchicalChunker as HierarchicalChunker
from advchunk.semantic.margin import MarginSamplingChunker as MarginSamplingChunker
from advchunk.semantic.mst.chunker import MSTSemanticChunker as MSTSemanticChunker
from advchunk.semantic.optimal import OptimalSemanticChunker as OptimalSemanticChunker
from advchunk.semantic.perplexity import PerplexityChunker as PerplexityChunker
from advchunk.semantic.threshold import SemanticThresholdChunker as SemanticThresholdChunker
from advchunk.semantic.universal import UniversalSemanticChunker as UniversalSemanticChunker

__version__: str

__all__ = [
    "AutoChunker",
    "BadModelOutput",
    "BayesSegChunker",
    "BiomedicalAbstractChunker",
    "Block",
    "Budget",
    "BudgetExceeded",
    "C99Chunker",
    "Chunk",
    "ChunkTree",
    "Chunker",
    "ConfigurationError",
    "DiscourseSegmenterChunker",
    "Document",
    "Explanation",
    "Failure",
    "GraphPartitionChunker",
    "GraphRAGChunker",
    "GrobidSectionChunker",
    "HierarchicalChunker",
    "HybridEmbedder",
    "LDATopicChunker",
    "LLMChapteringChunker",
    "LayoutAwareChunker",
    "MSTSemanticChunker",
    "MarginSamplingChunker",
    "MissingExtra",
    "MissingModel",
    "ModelUnavailable",
    "NotConverged",
    "OnnxEmbedder",
    "OpenAIChat",
    "OpenAIEmbedder",
    "OptimalSemanticChunker",
    "PerplexityChunker",
    "RecursiveChunker",
    "Results",
    "SemanticClusterChunker",
    "SemanticThresholdChunker",
    "SlidingWindowChunker",
    "Span",
    "TextTilingChunker",
    "UniversalSemanticChunker",
    "Unreadable",
    "WorkerDied",
    "create",
    "describe",
    "names",
    "read_file",
    "settings",
]
