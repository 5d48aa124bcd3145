"""One class per algorithm; parameters and their documentation come from the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

import advchunk as core
from advchunk.chunkers.base import SegmentingChunker
from advchunk.chunkers.graphrag.extraction import ExtractorLike
from advchunk.chunkers.hierarchical import Level
from advchunk.models.chat import ChatModelLike
from advchunk.text.splitters import SplitterLike
from llamaindex_advchunk.base import (
    UNCHECKED,
    EmbeddingNodeParser,
    LanguageModelNodeParser,
    LexicalNodeParser,
    LinearNodeParser,
)

__all__ = [
    "AutoNodeParser",
    "BayesSegNodeParser",
    "BiomedicalAbstractNodeParser",
    "C99NodeParser",
    "DiscourseSegmenterNodeParser",
    "GraphPartitionNodeParser",
    "GraphRAGNodeParser",
    "GrobidSectionNodeParser",
    "HierarchicalNodeParser",
    "LDATopicNodeParser",
    "LLMChapteringNodeParser",
    "LayoutAwareNodeParser",
    "MSTSemanticNodeParser",
    "MarginSamplingNodeParser",
    "OptimalSemanticNodeParser",
    "PerplexityNodeParser",
    "RecursiveNodeParser",
    "SemanticClusterNodeParser",
    "SemanticThresholdNodeParser",
    "SlidingWindowNodeParser",
    "TextTilingNodeParser",
    "UniversalSemanticNodeParser",
]


class SlidingWindowNodeParser(LinearNodeParser, core.SlidingWindowParams):
    """Parse into windows of a fixed number of tokens (`advchunk.SlidingWindowParams`)."""

    chunker_class = core.SlidingWindowChunker


class RecursiveNodeParser(LinearNodeParser, core.RecursiveParams):
    """Fill chunks, and end each at the best boundary (`advchunk.RecursiveParams`)."""

    chunker_class = core.RecursiveChunker


class SemanticThresholdNodeParser(EmbeddingNodeParser, core.SemanticThresholdParams):
    """Parse where neighbors are less alike than elsewhere (`advchunk.SemanticThresholdParams`)."""

    chunker_class = core.SemanticThresholdChunker


class MSTSemanticNodeParser(EmbeddingNodeParser, core.MSTSemanticParams):
    """Group paragraphs by their minimum spanning tree (`advchunk.MSTSemanticParams`)."""

    chunker_class = core.MSTSemanticChunker
    prechunker: Annotated[SplitterLike, UNCHECKED] = Field(
        default=None, exclude=True, description="Cuts the text into pieces."
    )


class UniversalSemanticNodeParser(EmbeddingNodeParser, core.UniversalSemanticParams):
    """Parse where the topic changes, once the chunk is long enough (`advchunk.UniversalSemanticParams`)."""

    chunker_class = core.UniversalSemanticChunker


class OptimalSemanticNodeParser(EmbeddingNodeParser, core.OptimalSemanticParams):
    """Parse at the exact optimum of evidence minus penalty (`advchunk.OptimalSemanticParams`)."""

    chunker_class = core.OptimalSemanticChunker


class BayesSegNodeParser(LexicalNodeParser, core.BayesSegParams):
    """Parse so that each segment's words likely come from one distribution (`advchunk.BayesSegParams`)."""

    chunker_class = core.BayesSegChunker


class C99NodeParser(LexicalNodeParser, core.C99Params):
    """Parse where the density of locally ranked word similarity grows most (`advchunk.C99Params`)."""

    chunker_class = core.C99Chunker


class SemanticClusterNodeParser(EmbeddingNodeParser, core.SemanticClusterParams):
    """Parse where the cluster of the sentences changes (`advchunk.SemanticClusterParams`)."""

    chunker_class = core.SemanticClusterChunker


class GraphPartitionNodeParser(EmbeddingNodeParser, core.GraphPartitionParams):
    """Parse where the community of the sentences changes (`advchunk.GraphPartitionParams`)."""

    chunker_class = core.GraphPartitionChunker


class LDATopicNodeParser(LexicalNodeParser, core.LDATopicParams):
    """Parse where the topics of neighboring blocks diverge (`advchunk.LDATopicParams`)."""

    chunker_class = core.LDATopicChunker
    model: Annotated[core.TopicModel | None, UNCHECKED] = Field(
        default=None, exclude=True, description="A fitted advchunk.TopicModel."
    )


class TextTilingNodeParser(LexicalNodeParser, core.TextTilingParams):
    """Parse where lexical cohesion has a deep valley (`advchunk.TextTilingParams`)."""

    chunker_class = core.TextTilingChunker


class PerplexityNodeParser(LanguageModelNodeParser, core.PerplexityParams):
    """Parse after sentences that surprise a language model least (`advchunk.PerplexityParams`)."""

    chunker_class = core.PerplexityChunker


class MarginSamplingNodeParser(LanguageModelNodeParser, core.MarginSamplingParams):
    """Parse where a language model would rather split than keep (`advchunk.MarginSamplingParams`)."""

    chunker_class = core.MarginSamplingChunker


class BiomedicalAbstractNodeParser(LinearNodeParser, core.BiomedicalAbstractParams):
    """Parse abstracts at their sections, keeping numbers with comparators (`advchunk.BiomedicalAbstractParams`)."""

    chunker_class = core.BiomedicalAbstractChunker


class LLMChapteringNodeParser(EmbeddingNodeParser, core.LLMChapteringParams):
    """Parse where a chat model begins chapters (`advchunk.LLMChapteringParams`)."""

    chunker_class = core.LLMChapteringChunker
    llm: Annotated[ChatModelLike | str | None, UNCHECKED] = Field(
        default=None, exclude=True, description="A LlamaIndex LLM, an OpenAIChat, a base URL, a callable."
    )


class AutoNodeParser(EmbeddingNodeParser, core.AutoParams):
    """Parse each document with the chunker for its format (`advchunk.AutoParams`)."""

    chunker_class = core.AutoChunker


class DiscourseSegmenterNodeParser(EmbeddingNodeParser, core.DiscourseSegmenterParams):
    """Parse where strong connectives open a segment (`advchunk.DiscourseSegmenterParams`)."""

    chunker_class = core.DiscourseSegmenterChunker


class GrobidSectionNodeParser(EmbeddingNodeParser, core.GrobidSectionParams):
    """Parse papers at their sections (`advchunk.GrobidSectionParams`)."""

    chunker_class = core.GrobidSectionChunker
    inner: Annotated[SegmentingChunker | None, UNCHECKED] = Field(
        default=None, exclude=True, description="A core chunker that decides within sections."
    )


class LayoutAwareNodeParser(EmbeddingNodeParser, core.LayoutAwareParams):
    """Parse at the regions of pages (`advchunk.LayoutAwareParams`)."""

    chunker_class = core.LayoutAwareChunker
    inner: Annotated[SegmentingChunker | None, UNCHECKED] = Field(
        default=None, exclude=True, description="A core chunker that decides within regions."
    )
    detector: Any = Field(
        default="auto", exclude=True, description="The source of the regions, or a detector for PDFs."
    )


class HierarchicalNodeParser(LinearNodeParser, core.HierarchicalParams):
    """Parse sections, chunks and sentences, linked as parents and children (`advchunk.HierarchicalParams`)."""

    chunker_class = core.HierarchicalChunker
    levels: Annotated[Sequence[Level] | None, UNCHECKED] = Field(
        default=None, exclude=True, description="Chunkers, names and sizes, coarsest first."
    )


class GraphRAGNodeParser(LinearNodeParser, core.GraphRAGParams):
    """Parse a corpus, and add nodes for the root and the communities, with summaries (`advchunk.GraphRAGParams`).

    A call parses one corpus: the first nodes that it returns are the root and the communities. They belong to no document:
    they have no SOURCE and none of the metadata of documents; their ``sources`` are JSON, ``[[document id, start, end], ...]``.
    """

    chunker_class = core.GraphRAGChunker
    llm: Annotated[ChatModelLike | str | None, UNCHECKED] = Field(
        default=None,
        exclude=True,
        description="A LlamaIndex LLM, an OpenAIChat, a base URL, a callable; None does without.",
    )
    extractor: Annotated[ExtractorLike | None, UNCHECKED] = Field(
        default=None, exclude=True, description="Extracts entities and relations: a pipeline of spaCy, or an Extractor."
    )
