# Written by tools/write_stubs.py from the registrations.
from dataclasses import dataclass
from typing import Any

from advchunk import Chunker
from advchunk.biomedical.params import BiomedicalAbstractParams
from advchunk.chunkers.auto import AutoParams
from advchunk.chunkers.baselines import RecursiveParams, SlidingWindowParams
from advchunk.experimental.bayesseg import BayesSegParams
from advchunk.experimental.c99 import C99Params
from advchunk.experimental.chaptering.chunker import LLMChapteringParams
from advchunk.experimental.clusters import SemanticClusterParams
from advchunk.experimental.discourse import DiscourseSegmenterParams
from advchunk.experimental.lda import LDATopicParams
from advchunk.experimental.partition import GraphPartitionParams
from advchunk.experimental.texttiling import TextTilingParams
from advchunk.graphrag.chunker import GraphRAGParams
from advchunk.pages.layout_aware import LayoutAwareParams
from advchunk.papers.grobid import GrobidSectionParams
from advchunk.semantic.hierarchical import HierarchicalParams
from advchunk.semantic.margin import MarginSamplingParams
from advchunk.semantic.mst.distances import MSTSemanticParams
from advchunk.semantic.optimal import OptimalSemanticParams
from advchunk.semantic.perplexity import PerplexityParams
from advchunk.semantic.threshold import SemanticThresholdParams
from advchunk.semantic.universal import UniversalSemanticParams
from langchain_advchunk.base import EmbeddingSplitter, LanguageModelSplitter, LexicalSplitter, LinearSplitter

def splitter_class(chunker: type[Chunker]) -> type[LinearSplitter]: ...

@dataclass(kw_only=True, eq=False)
class SlidingWindowSplitter(LinearSplitter, SlidingWindowParams): ...

@dataclass(kw_only=True, eq=False)
class RecursiveSplitter(LinearSplitter, RecursiveParams): ...

@dataclass(kw_only=True, eq=False)
class AutoSplitter(EmbeddingSplitter, AutoParams): ...

@dataclass(kw_only=True, eq=False)
class BiomedicalAbstractSplitter(LinearSplitter, BiomedicalAbstractParams): ...

@dataclass(kw_only=True, eq=False)
class TextTilingSplitter(LexicalSplitter, TextTilingParams): ...

@dataclass(kw_only=True, eq=False)
class C99Splitter(LexicalSplitter, C99Params): ...

@dataclass(kw_only=True, eq=False)
class BayesSegSplitter(LexicalSplitter, BayesSegParams): ...

@dataclass(kw_only=True, eq=False)
class LDATopicSplitter(LexicalSplitter, LDATopicParams):
    model: Any = ...

@dataclass(kw_only=True, eq=False)
class SemanticClusterSplitter(EmbeddingSplitter, SemanticClusterParams): ...

@dataclass(kw_only=True, eq=False)
class GraphPartitionSplitter(EmbeddingSplitter, GraphPartitionParams): ...

@dataclass(kw_only=True, eq=False)
class LLMChapteringSplitter(EmbeddingSplitter, LLMChapteringParams):
    llm: Any = ...

@dataclass(kw_only=True, eq=False)
class DiscourseSegmenterSplitter(EmbeddingSplitter, DiscourseSegmenterParams): ...

@dataclass(kw_only=True, eq=False)
class GraphRAGSplitter(LinearSplitter, GraphRAGParams):
    llm: Any = ...
    extractor: Any = ...

@dataclass(kw_only=True, eq=False)
class LayoutAwareSplitter(EmbeddingSplitter, LayoutAwareParams):
    inner: Any = ...
    detector: Any = ...

@dataclass(kw_only=True, eq=False)
class GrobidSectionSplitter(EmbeddingSplitter, GrobidSectionParams):
    inner: Any = ...

@dataclass(kw_only=True, eq=False)
class SemanticThresholdSplitter(EmbeddingSplitter, SemanticThresholdParams): ...

@dataclass(kw_only=True, eq=False)
class MSTSemanticSplitter(EmbeddingSplitter, MSTSemanticParams):
    prechunker: Any = ...

@dataclass(kw_only=True, eq=False)
class UniversalSemanticSplitter(EmbeddingSplitter, UniversalSemanticParams): ...

@dataclass(kw_only=True, eq=False)
class OptimalSemanticSplitter(EmbeddingSplitter, OptimalSemanticParams): ...

@dataclass(kw_only=True, eq=False)
class HierarchicalSplitter(LinearSplitter, HierarchicalParams):
    levels: Any = ...

@dataclass(kw_only=True, eq=False)
class PerplexitySplitter(LanguageModelSplitter, PerplexityParams): ...

@dataclass(kw_only=True, eq=False)
class MarginSamplingSplitter(LanguageModelSplitter, MarginSamplingParams): ...
