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

from langchain_advchunk.base import (
    AdvchunkSplitter,
    ChunkEmbeddings,
    ChunkerSplitter,
    EmbeddingSplitter,
    LexicalSplitter,
    LinearSplitter,
    chunk_key,
)
from langchain_advchunk.enrich import ChunkEnricher
from langchain_advchunk.splitters import (
    AutoSplitter,
    BayesSegSplitter,
    BiomedicalAbstractSplitter,
    C99Splitter,
    DiscourseSegmenterSplitter,
    GraphPartitionSplitter,
    GrobidSectionSplitter,
    LayoutAwareSplitter,
    LDATopicSplitter,
    LLMChapteringSplitter,
    MarginSamplingSplitter,
    MSTSemanticSplitter,
    OptimalSemanticSplitter,
    PerplexitySplitter,
    RecursiveSplitter,
    SemanticClusterSplitter,
    SemanticThresholdSplitter,
    SlidingWindowSplitter,
    TextTilingSplitter,
    UniversalSemanticSplitter,
)

__all__ = [
    "AdvchunkSplitter",
    "AutoSplitter",
    "BayesSegSplitter",
    "BiomedicalAbstractSplitter",
    "C99Splitter",
    "ChunkEmbeddings",
    "ChunkEnricher",
    "ChunkerSplitter",
    "DiscourseSegmenterSplitter",
    "EmbeddingSplitter",
    "GraphPartitionSplitter",
    "GrobidSectionSplitter",
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
    "chunk_key",
]
