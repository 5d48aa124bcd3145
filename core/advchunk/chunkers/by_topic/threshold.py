"""Semantic threshold: a replacement for LangChain's SemanticChunker and LlamaIndex's SemanticSplitter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import AS_PUBLISHED, Bounds, Params
from advchunk.engine import Plan
from advchunk.errors import require
from advchunk.models import signals
from advchunk.models.signals import ThresholdRule
from advchunk.records import Floats, Segmentation, Units
from advchunk.text.sentences import published_sentences
from advchunk.text.tiling import Tiler

DEFAULT_AMOUNTS = {"percentile": 95.0, "standard_deviation": 3.0, "interquartile": 1.5, "gradient": 95.0}


@dataclass(kw_only=True)
class SemanticThresholdParams(Params):
    r"""Cut where the distance between neighboring sentences is high for the document.

    Makes the same cuts as LangChain's SemanticChunker (all four rules) and LlamaIndex's SemanticSplitterNodeParser
    (percentile) on the same sentences and vectors. Its threshold suits any embedder.

    Departs from both by default: cuts move to the layout (``layout_weight``, ``outline``), and sentences end where
    blocks do (``markup``) and are not those of LangChain's regular expression (``sentences``); sizes are limited
    (``max_tokens``); in a language that the embedder does not know, words are compared (``language``); and the vectors
    of a buffer are averaged, weighted by tokens, instead of embedding every sentence 2 buffer_size + 1 times
    (``embed_buffer``), with nearly the same result. ``preset="published"`` sets all of this back to LangChain's
    (``langchain_experimental.text_splitter``). From Kamradt 2024, "5 Levels Of Text Splitting".

    Parameters
    ----------
    preset : "published": LangChain's SemanticChunker at its defaults, on plain text.
    buffer_size : number of sentences on each side that are combined with a sentence, >= 0.
    breakpoint_threshold_type : "percentile", "standard_deviation", "interquartile" or "gradient".
    breakpoint_threshold_amount : percentile (0..100), or number of standard deviations or interquartile ranges (>= 0);
        None is 95, 3, 1.5 or 95.
    n_segments : number of segments, >= 1, instead of a threshold (before size limits; fewer if distances are tied).
    embed_buffer : True embeds the text of each buffer, as LangChain does, instead of averaging vectors.
    center : True subtracts the document's mean vector first, which helps static embedders most.
    sentences : "accurate", or "published", which splits at ``(?<=[.!?])\s+``, unless there is a ``sentence_splitter``.
    """

    algorithm: ClassVar[str] = "semantic-threshold"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": AS_PUBLISHED
        | {"sentences": "published", "embed_buffer": True, "max_tokens": 1_000_000, "language": "en"},
    }
    preset: Literal["published"] | None = None
    buffer_size: Annotated[int, Bounds(0)] = 1
    breakpoint_threshold_type: ThresholdRule = "percentile"
    breakpoint_threshold_amount: float | None = None
    n_segments: Annotated[int | None, Bounds(1)] = None
    embed_buffer: bool = False
    center: bool = False
    sentences: Literal["accurate", "published"] = "accurate"

    def check(self) -> None:
        """Check the threshold too."""
        super().check()
        kind, amount = self.breakpoint_threshold_type, self.breakpoint_threshold_amount
        maximum = 100.0 if kind in {"percentile", "gradient"} else np.inf
        rule = f"breakpoint_threshold_amount of a {kind} must be in 0..{maximum:g} or None"
        require(amount is None or 0 <= amount <= maximum, rule, amount)


@dataclass(kw_only=True)
class SemanticThresholdChunker(SemanticThresholdParams, EmbeddingChunker):
    """Cut where the distance between neighboring sentences is high (`SemanticThresholdParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in SemanticThresholdChunker(buffer_size=0).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    @property
    def sentence_tiler(self) -> Tiler:
        """The sentence splitter."""
        is_published = self.sentences == "published" and self.sentence_splitter is None
        return published_sentences if is_published else super().sentence_tiler

    def embed_units(self, units: Units) -> Plan[Floats]:
        """Embed the text of each buffer, or average the vectors of its sentences."""
        n, reach = len(units), self.buffer_size
        if self.embed_buffer and reach:
            index, edges = np.arange(n), units.edges
            first, last = np.maximum(index - reach, 0), np.minimum(index + reach + 1, n)
            buffers = [units.text[a:b].strip() for a, b in zip(edges[first], edges[last], strict=True)]
            return (yield from self.embed_texts(buffers))
        rows = yield from self.embed_texts(units.strings())
        weighted = rows * np.maximum(units.token_counts(), 1).astype(np.float32)[:, None]
        summed = weighted.copy()
        for lag in range(1, reach + 1):
            summed[lag:] += weighted[:-lag]
            summed[:-lag] += weighted[lag:]
        return signals.unit_rows(summed) if reach else rows

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Cut where the distance of neighbors exceeds the threshold."""
        distances = 1 - signals.neighbor_similarity(signals.center_rows(vectors) if self.center else vectors)
        kind, amount = self.breakpoint_threshold_type, self.breakpoint_threshold_amount
        if self.n_segments is None:
            amount = DEFAULT_AMOUNTS[kind] if amount is None else amount
            gaps, threshold = signals.breakpoint_threshold(distances, kind, amount)
        else:
            # LangChain's threshold for a number of chunks can be off by one.
            gaps, threshold = distances, float(np.sort(np.r_[distances, -np.inf])[-min(self.n_segments, len(units))])
        figures = {"distances": distances, "threshold": threshold}
        cuts = cutting.cuts_above(gaps, threshold)
        return Segmentation(cuts, reason=kind, gaps=gaps, threshold=threshold, figures=figures)
