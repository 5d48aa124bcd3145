"""Perplexity chunking: cut after the sentences that surprise a language model less than their neighbors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from advchunk.chunkers.language import LanguageModelChunker, combined
from advchunk.chunkers.params import Params, at_least
from advchunk.engine import Plan, Score
from advchunk.errors import require
from advchunk.models.causal import CausalLM, SurpriseMeasure, as_causal
from advchunk.numerics import search
from advchunk.records import Chunk, Document, Explanation, Floats, Segmentation, Span, Strength, Units, with_context
from advchunk.sizes import Limits


@dataclass(kw_only=True)
class PerplexityParams(Params):
    """Cut after each minimum of surprise, then put meta-chunks together up to ``max_tokens``.

    A causal language model reads the text once. The surprise of a sentence is the mean over its tokens, each given all
    text before it (`models.causal.per_unit`). Where it falls and rises again, the sentence ends a meta-chunk: an idea
    is completed best by the sentence that follows best from what was said. Of the two kinds of minima, one is lower than
    both its neighbors, and than one of them by ``threshold`` or more; the other is as high as the next sentence, and
    lower than the one before by as much.

    Departs from the published code: the text is never changed (the code drops spaces between sentences and cuts long
    ones), it is tokenized whole, and a threshold that follows from the text follows from that text alone (the code
    takes the least drop of all documents so far, which falls towards 0).

    Parameters
    ----------
    threshold : the least drop of a minimum below its higher neighbor, in nats (of "perplexity", in its own unit), >= 0.
    threshold_percentile : if given, the threshold is this percentile (0..100) of the drops of the text's own minima.
    boundary : "after" the minimum, which ends its chunk, as published; "overlap" has it start the next chunk too, where
        that has room.
    measure : of a sentence, the mean "cross-entropy" of its tokens in nats, as the published code computes it; or the mean
        of their "perplexity", as the paper writes it, which the few least likely tokens rule.
    combine : put meta-chunks together while they fit ``max_tokens``, from the left; none that fits is cut.
    max_context : tokens of text that a token's surprise is given, >= 16; None is what the model can read, at most 8192.
    max_memory : MiB that the model's keys and values may take, >= 1, if that is less; None is unlimited.
    evict : share of the context, the oldest, that is dropped when there is no room for more, > 0 and < 1; the rest is
        kept. Longer texts are thus read in memory and time a token that do not grow.

    References
    ----------
    Zhao et al. 2024, "Meta-Chunking: Learning text segmentation and semantic completion via logical perception",
    section 3.1; its code, ``perplexity_chunking.py``.
    """

    algorithm: ClassVar[str] = "perplexity"
    threshold: float = 0.0
    threshold_percentile: float | None = None
    boundary: Literal["after", "overlap"] = "after"
    measure: SurpriseMeasure = "cross-entropy"
    combine: bool = True
    max_context: int | None = None
    max_memory: int | None = None
    evict: float = 0.3

    def check(self) -> None:
        """Add the rules for thresholds, boundary and context."""
        super().check()
        at_least(0, self, "threshold")
        share = self.threshold_percentile
        require(share is None or 0 <= share <= 100, "threshold_percentile must be in 0..100 or None", share)
        rule = "only one of threshold and threshold_percentile can be given"
        require(share is None or not self.threshold, rule, (self.threshold, share))
        rule = 'overlap_tokens must be 0 where boundary is "overlap", which repeats the sentence at a minimum'
        require(self.boundary == "after" or not self.overlap_tokens, rule, self.overlap_tokens)
        at_least(16, self, "max_context")
        at_least(1, self, "max_memory")
        require(0 < self.evict < 1, "evict must be > 0 and < 1", self.evict)


@dataclass(kw_only=True)
class PerplexityChunker(PerplexityParams, LanguageModelChunker):
    """Cut after minima of surprise (`PerplexityParams`).

    >>> class Letters:
    ...     def surprise(self, text):
    ...         return range(1, len(text) + 1), [ord(letter) / 10 for letter in text]
    >>> text = "Mice run. Cats nap. Zebras zigzag. Cats nap. A bat hums. Zoos buzz."
    >>> [c.text for c in PerplexityChunker(lm=Letters(), combine=False).chunk(text)]
    ['Mice run. Cats nap. ', 'Zebras zigzag. Cats nap. A bat hums. ', 'Zoos buzz.']
    """

    does = "surprise"

    @property
    def model(self) -> CausalLM:
        """The language model that is asked."""
        return as_causal(
            self.lm,
            measure=self.measure,
            max_context=self.max_context,
            max_memory=self.max_memory,
            evict=self.evict,
        )

    def plan(self, document: Document) -> Plan[Explanation]:
        """Let chunks overlap, if they are to."""
        found = yield from super().plan(document)
        if self.boundary == "after":
            return found
        return replace(found, chunks=_overlapping(found, self.limits(document)))

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Ask how surprising the units are, find minima, put meta-chunks together."""
        (surprise,) = yield Score(((units.text, tuple(units.edges.tolist())),), self.model)
        gaps = drops(surprise)
        threshold = self.threshold
        if self.threshold_percentile is not None and np.any(gaps):
            threshold = float(np.percentile(gaps[gaps > 0], self.threshold_percentile))
        minima = np.flatnonzero((gaps > 0) & (gaps >= threshold))
        cuts = search.cuts_at(minima + 1, len(units))
        if self.combine:
            cuts = combined(cuts, units, limits, repeat=self.boundary == "overlap")
        figures = {"surprise": surprise, "threshold": threshold, "minima": minima}
        return Segmentation(cuts, reason="minimum", gaps=gaps, figures=figures)


def drops(surprise: Floats) -> Floats:
    """Return how far each unit lies below its higher neighbor, if it is a minimum; else 0.

    Below the one before if the one after is as low. The first unit and the last are no minima.

    Parameters
    ----------
    surprise : (n,)

    Returns
    -------
    (n - 1,) by the gap after each unit.

    >>> drops(np.array([3.0, 1.0, 2.0, 2.0, 0.5, 0.5, 0.7])).tolist()
    [0.0, 2.0, 0.0, 0.0, 1.5, 0.0]
    """
    before, after = surprise[:-2] - surprise[1:-1], surprise[2:] - surprise[1:-1]
    lower = (before > 0) & (after >= 0)
    return np.asarray(np.r_[0.0, np.where(lower, np.maximum(before, after), 0.0)])


def _overlapping(found: Explanation, limits: Limits) -> list[Chunk]:
    """Return the chunks, each that starts after a minimum with the unit at the minimum before it, where there is room."""
    if found.units is None or found.segmentation is None:
        return found.chunks
    edges, text = found.units.edges, found.document.text
    walled = np.zeros(len(edges)) if found.units.strength is None else found.units.strength
    chunks, minima = [], found.segmentation.figures.get("minima", ())  # of a single unit there are none
    before = {int(edges[i + 1]): int(edges[i]) for i in minima if walled[i + 1] < Strength.HARD_BREAK}
    for chunk in found.chunks:
        start = before.get(chunk.start, chunk.start)
        longer = text[start : chunk.end]
        tokens = limits.counter(with_context(chunk.context, longer))
        fits = start < chunk.start and tokens <= limits.max_tokens
        chunks.append(replace(chunk, text=longer, spans=(Span(start, chunk.end),), tokens=tokens) if fits else chunk)
    return chunks
