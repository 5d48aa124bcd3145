"""Semantic threshold: the drop-in for LangChain's SemanticChunker and LlamaIndex's SemanticSplitter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.params import Params, at_least
from advchunk.engine import Plan
from advchunk.errors import require
from advchunk.numerics import search, signals
from advchunk.numerics.signals import ThresholdRule
from advchunk.records import Floats, Segmentation, Units
from advchunk.sizes import Limits

DEFAULT_AMOUNTS: dict[ThresholdRule, float] = {
    "percentile": 95.0,
    "standard_deviation": 3.0,
    "interquartile": 1.5,
    "gradient": 95.0,
}


@dataclass(kw_only=True)
class SemanticThresholdParams(Params):
    """Cut where neighboring sentences, each with its buffer, are less alike than elsewhere in the text.

    The same cuts as LangChain's SemanticChunker (four rules) and LlamaIndex's
    SemanticSplitterNodeParser (its percentile) on the same sentences and vectors. The threshold
    follows from the document's own distances, so it suits any embedder.

    Departs from both: text and offsets are exact, sizes are limited, and by default the vectors of
    a buffer are averaged, weighted by tokens, where the peers embed every sentence 2 buffer_size + 1
    times over; for the embedded default that is nearly the same, for a transformer it is close.

    Parameters
    ----------
    buffer_size : sentences on each side that a sentence is compared together with, >= 0.
    breakpoint_threshold_type : "percentile", "standard_deviation", "interquartile" or "gradient".
    breakpoint_threshold_amount : percentile (0..100), or number of deviations or ranges (>= 0);
        None is 95, 3, 1.5 and 95.
    n_segments : this many instead, >= 1 (before sizes; fewer if distances are equal).
    embed_buffer : embed the text of each buffer, exactly as the peers do, instead of averaging; a
        buffer too long for the embedder is embedded in parts.
    center : subtract the document's mean vector first, which helps static embedders most.

    References
    ----------
    Kamradt 2024, "5 Levels Of Text Splitting", level 4; ``langchain_experimental.text_splitter``.
    """

    algorithm: ClassVar[str] = "semantic-threshold"
    buffer_size: int = 1
    breakpoint_threshold_type: ThresholdRule = "percentile"
    breakpoint_threshold_amount: float | None = None
    n_segments: int | None = None
    embed_buffer: bool = False
    center: bool = False

    def check(self) -> None:
        """Add the rules for buffer and threshold."""
        super().check()
        at_least(0, self, "buffer_size")
        at_least(1, self, "n_segments")
        kind, amount = self.breakpoint_threshold_type, self.breakpoint_threshold_amount
        most = 100.0 if kind in {"percentile", "gradient"} else np.inf
        rule = f"breakpoint_threshold_amount of a {kind} must be in 0..{most:g} or None"
        require(amount is None or 0 <= amount <= most, rule, amount)


@dataclass(kw_only=True)
class SemanticThresholdChunker(SemanticThresholdParams, EmbeddingChunker):
    """Cut where neighbors are less alike than elsewhere (`SemanticThresholdParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in SemanticThresholdChunker(buffer_size=0).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def embed_units(self, units: Units) -> Plan[Floats]:
        """Ask for the vectors of the buffers, or of the sentences to average."""
        n, reach = len(units), self.buffer_size
        index = np.arange(n)
        first, last = np.maximum(index - reach, 0), np.minimum(index + reach + 1, n)
        weights = np.maximum(units.token_counts(), 1).astype(np.float32)
        if self.embed_buffer and reach:
            edges = units.edges
            return (
                yield from self.embed_texts(
                    [units.text[a:b].strip() for a, b in zip(edges[first], edges[last], strict=True)]
                )
            )
        rows = yield from self.embed_texts(units.strings())
        weighted = rows * weights[:, None]
        summed = weighted.copy()
        for apart in range(1, reach + 1):
            summed[apart:] += weighted[:-apart]
            summed[:-apart] += weighted[apart:]
        return signals.unit_rows(summed) if reach else rows

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Compare neighbors."""
        distances = 1 - signals.neighbor_similarity(signals.center_rows(vectors) if self.center else vectors)
        kind, amount = self.breakpoint_threshold_type, self.breakpoint_threshold_amount
        if self.n_segments is None:
            amount = DEFAULT_AMOUNTS[kind] if amount is None else amount
            gaps, threshold = signals.breakpoint_threshold(distances, kind, amount)
        else:
            gaps, threshold = distances, signals.threshold_for_chunks(distances, self.n_segments)
        figures = {"distances": distances, "threshold": threshold}
        return Segmentation(search.cuts_above(gaps, threshold), reason=kind, gaps=gaps, figures=figures)
