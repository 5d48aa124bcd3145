"""One class per algorithm; parameters and their documentation come from the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import advchunk as core
from advchunk.chunkers.base import SegmentingChunker
from advchunk.chunkers.graphrag.extraction import ExtractorLike
from advchunk.chunkers.hierarchical import Level
from advchunk.chunkers.params import RESOURCE
from advchunk.models.chat import ChatModelLike
from advchunk.text.splitters import SplitterLike
from langchain_advchunk.base import EmbeddingSplitter, LanguageModelSplitter, LexicalSplitter, LinearSplitter

__all__ = [
    "AutoSplitter",
    "BayesSegSplitter",
    "BiomedicalAbstractSplitter",
    "C99Splitter",
    "DiscourseSegmenterSplitter",
    "GraphPartitionSplitter",
    "GraphRAGSplitter",
    "GrobidSectionSplitter",
    "HierarchicalSplitter",
    "LDATopicSplitter",
    "LLMChapteringSplitter",
    "LayoutAwareSplitter",
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
]


@dataclass(kw_only=True, eq=False)
class SlidingWindowSplitter(LinearSplitter, core.SlidingWindowParams):
    """Split into windows of a fixed number of tokens (`advchunk.SlidingWindowParams`)."""

    chunker_class = core.SlidingWindowChunker


@dataclass(kw_only=True, eq=False)
class RecursiveSplitter(LinearSplitter, core.RecursiveParams):
    """Fill chunks, and end each at the best boundary (`advchunk.RecursiveParams`)."""

    chunker_class = core.RecursiveChunker


@dataclass(kw_only=True, eq=False)
class SemanticThresholdSplitter(EmbeddingSplitter, core.SemanticThresholdParams):
    """Split where neighbors are less alike than elsewhere (`advchunk.SemanticThresholdParams`)."""

    chunker_class = core.SemanticThresholdChunker


@dataclass(kw_only=True, eq=False)
class MSTSemanticSplitter(EmbeddingSplitter, core.MSTSemanticParams):
    """Group paragraphs by their minimum spanning tree (`advchunk.MSTSemanticParams`)."""

    chunker_class = core.MSTSemanticChunker
    prechunker: SplitterLike = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class UniversalSemanticSplitter(EmbeddingSplitter, core.UniversalSemanticParams):
    """Split where the topic changes, once the chunk is long enough (`advchunk.UniversalSemanticParams`)."""

    chunker_class = core.UniversalSemanticChunker


@dataclass(kw_only=True, eq=False)
class OptimalSemanticSplitter(EmbeddingSplitter, core.OptimalSemanticParams):
    """Split at the exact optimum of evidence minus penalty (`advchunk.OptimalSemanticParams`)."""

    chunker_class = core.OptimalSemanticChunker


@dataclass(kw_only=True, eq=False)
class BayesSegSplitter(LexicalSplitter, core.BayesSegParams):
    """Split so that each segment's words likely come from one distribution (`advchunk.BayesSegParams`)."""

    chunker_class = core.BayesSegChunker


@dataclass(kw_only=True, eq=False)
class C99Splitter(LexicalSplitter, core.C99Params):
    """Split where the density of locally ranked word similarity grows most (`advchunk.C99Params`)."""

    chunker_class = core.C99Chunker


@dataclass(kw_only=True, eq=False)
class SemanticClusterSplitter(EmbeddingSplitter, core.SemanticClusterParams):
    """Split where the cluster of the sentences changes (`advchunk.SemanticClusterParams`)."""

    chunker_class = core.SemanticClusterChunker


@dataclass(kw_only=True, eq=False)
class GraphPartitionSplitter(EmbeddingSplitter, core.GraphPartitionParams):
    """Split where the community of the sentences changes (`advchunk.GraphPartitionParams`)."""

    chunker_class = core.GraphPartitionChunker


@dataclass(kw_only=True, eq=False)
class LDATopicSplitter(LexicalSplitter, core.LDATopicParams):
    """Split where the topics of neighboring blocks diverge (`advchunk.LDATopicParams`)."""

    chunker_class = core.LDATopicChunker
    model: core.TopicModel | None = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class TextTilingSplitter(LexicalSplitter, core.TextTilingParams):
    """Split where lexical cohesion has a deep valley (`advchunk.TextTilingParams`)."""

    chunker_class = core.TextTilingChunker


@dataclass(kw_only=True, eq=False)
class PerplexitySplitter(LanguageModelSplitter, core.PerplexityParams):
    """Split after sentences that surprise a language model least (`advchunk.PerplexityParams`)."""

    chunker_class = core.PerplexityChunker


@dataclass(kw_only=True, eq=False)
class MarginSamplingSplitter(LanguageModelSplitter, core.MarginSamplingParams):
    """Split where a language model would rather split than keep (`advchunk.MarginSamplingParams`)."""

    chunker_class = core.MarginSamplingChunker


@dataclass(kw_only=True, eq=False)
class BiomedicalAbstractSplitter(LinearSplitter, core.BiomedicalAbstractParams):
    """Split abstracts at their sections, keeping numbers with comparators (`advchunk.BiomedicalAbstractParams`)."""

    chunker_class = core.BiomedicalAbstractChunker


@dataclass(kw_only=True, eq=False)
class LLMChapteringSplitter(EmbeddingSplitter, core.LLMChapteringParams):
    """Split where a chat model begins chapters (`advchunk.LLMChapteringParams`).

    Parameters
    ----------
    llm : a LangChain chat model, an `advchunk.OpenAIChat`, the base URL of an endpoint, or a callable. There is no default.
    """

    chunker_class = core.LLMChapteringChunker
    llm: ChatModelLike | str | None = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class AutoSplitter(EmbeddingSplitter, core.AutoParams):
    """Split each document with the chunker for its format (`advchunk.AutoParams`)."""

    chunker_class = core.AutoChunker


@dataclass(kw_only=True, eq=False)
class DiscourseSegmenterSplitter(EmbeddingSplitter, core.DiscourseSegmenterParams):
    """Split where strong connectives open a segment (`advchunk.DiscourseSegmenterParams`)."""

    chunker_class = core.DiscourseSegmenterChunker


@dataclass(kw_only=True, eq=False)
class GrobidSectionSplitter(EmbeddingSplitter, core.GrobidSectionParams):
    """Split papers at their sections (`advchunk.GrobidSectionParams`).

    Parameters
    ----------
    inner : a core chunker that decides within sections; None is `advchunk.OptimalSemanticChunker`.
    """

    chunker_class = core.GrobidSectionChunker
    inner: SegmentingChunker | None = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class LayoutAwareSplitter(EmbeddingSplitter, core.LayoutAwareParams):
    """Split at the regions of pages (`advchunk.LayoutAwareParams`).

    Parameters
    ----------
    inner : a core chunker that decides within regions; None is `advchunk.OptimalSemanticChunker`.
    detector : the source of the regions, or the detector for a PDF (`advchunk.LayoutAwareChunker`).
    """

    chunker_class = core.LayoutAwareChunker
    inner: SegmentingChunker | None = field(default=None, repr=False, metadata=RESOURCE)
    detector: Any = field(default="auto", repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class HierarchicalSplitter(LinearSplitter, core.HierarchicalParams):
    """Split into sections, chunks and sentences, each with its ``parent_id`` (`advchunk.HierarchicalParams`).

    Parameters
    ----------
    levels : chunkers, names and sizes, coarsest first (`advchunk.HierarchicalChunker`).
    """

    chunker_class = core.HierarchicalChunker
    levels: Sequence[Level] | None = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class GraphRAGSplitter(LinearSplitter, core.GraphRAGParams):
    """Split a corpus, and add the root and the communities, each with a summary (`advchunk.GraphRAGParams`).

    A call splits one corpus: the first documents that it returns are the root and the communities. They belong to no document
    and have none of the metadata of documents; their ``sources`` are JSON, ``[[source_id, start, end], ...]``.

    Parameters
    ----------
    llm : a LangChain chat model, an `advchunk.OpenAIChat`, the base URL of an endpoint, or a callable; None does without.
    extractor : extracts entities and relations (`advchunk.GraphRAGChunker`).
    """

    chunker_class = core.GraphRAGChunker
    llm: ChatModelLike | str | None = field(default=None, repr=False, metadata=RESOURCE)
    extractor: ExtractorLike | None = field(default=None, repr=False, metadata=RESOURCE)
