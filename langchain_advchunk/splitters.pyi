# Written by tools/write_stubs.py from the lazy names and the registrations.
from dataclasses import dataclass
from typing import Any

from advchunk import Chunker
from advchunk.chunkers.auto import AutoParams
from advchunk.chunkers.biomedical.params import BiomedicalAbstractParams
from advchunk.chunkers.by_page.grobid import GrobidSectionParams
from advchunk.chunkers.by_page.layout_aware import LayoutAwareParams
from advchunk.chunkers.by_size import RecursiveParams, SlidingWindowParams
from advchunk.chunkers.by_topic.hierarchical import HierarchicalParams
from advchunk.chunkers.by_topic.margin import MarginSamplingParams
from advchunk.chunkers.by_topic.mst import MSTSemanticParams
from advchunk.chunkers.by_topic.optimal import OptimalSemanticParams
from advchunk.chunkers.by_topic.perplexity import PerplexityParams
from advchunk.chunkers.by_topic.threshold import SemanticThresholdParams
from advchunk.chunkers.by_topic.universal import UniversalSemanticParams
from advchunk.chunkers.experimental.bayesseg import BayesSegParams
from advchunk.chunkers.experimental.c99 import C99Params
from advchunk.chunkers.experimental.chaptering.chunker import LLMChapteringParams
from advchunk.chunkers.experimental.clusters import SemanticClusterParams
from advchunk.chunkers.experimental.discourse import DiscourseSegmenterParams
from advchunk.chunkers.experimental.lda import LDATopicParams
from advchunk.chunkers.experimental.partition import GraphPartitionParams
from advchunk.chunkers.experimental.texttiling import TextTilingParams
from advchunk.chunkers.graphrag.chunker import GraphRAGParams
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
class MSTSemanticSplitter(EmbeddingSplitter, MSTSemanticParams): ...

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
