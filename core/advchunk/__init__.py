"""How text is cut for retrieval: every serious chunking algorithm behind one contract, free of frameworks.

>>> from advchunk import RecursiveChunker
>>> [chunk.spans for chunk in RecursiveChunker(max_tokens=4).chunk("One two. Three four.")]
[(Span(start=0, end=9),), (Span(start=9, end=20),)]
"""

from advchunk.chunkers.base import Chunker, EmbeddingChunker, LinearChunker
from advchunk.chunkers.baselines import (
    RecursiveChunker,
    RecursiveParams,
    SlidingWindowChunker,
    SlidingWindowParams,
)
from advchunk.chunkers.mst import MSTSemanticChunker, MSTSemanticParams
from advchunk.chunkers.optimal import OptimalSemanticChunker, OptimalSemanticParams
from advchunk.chunkers.params import GroupedParams, Params
from advchunk.chunkers.results import Failure, Results
from advchunk.chunkers.threshold import SemanticThresholdChunker, SemanticThresholdParams
from advchunk.chunkers.universal import UniversalSemanticChunker, UniversalSemanticParams
from advchunk.errors import BadModelOutput, ConfigurationError, MissingExtra, ModelUnavailable
from advchunk.explain import Cut, Explanation, Segmentation
from advchunk.records import Block, Chunk, Document, Span, Units
from advchunk.registry import create, describe, names, settings

__version__ = "0.1.0"

__all__ = [
    "BadModelOutput",
    "Block",
    "Chunk",
    "Chunker",
    "ConfigurationError",
    "Cut",
    "Document",
    "EmbeddingChunker",
    "Explanation",
    "Failure",
    "GroupedParams",
    "LinearChunker",
    "MSTSemanticChunker",
    "MSTSemanticParams",
    "MissingExtra",
    "ModelUnavailable",
    "OptimalSemanticChunker",
    "OptimalSemanticParams",
    "Params",
    "RecursiveChunker",
    "RecursiveParams",
    "Results",
    "Segmentation",
    "SemanticThresholdChunker",
    "SemanticThresholdParams",
    "SlidingWindowChunker",
    "SlidingWindowParams",
    "Span",
    "Units",
    "UniversalSemanticChunker",
    "UniversalSemanticParams",
    "create",
    "describe",
    "names",
    "settings",
]
