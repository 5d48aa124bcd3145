"""Perplexity chunking: cut after the sentences that surprise a language model less than their neighbors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.model_bases import LanguageModelChunker, LanguageModelParams, join_segments
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import AS_PUBLISHED, Bounds, one_at_most
from advchunk.engine import Plan, Score
from advchunk.models.causal import CausalLM, SurpriseMeasure, as_causal
from advchunk.records import Floats, Origin, Segmentation, Units


@dataclass(kw_only=True)
class PerplexityParams(LanguageModelParams):
    """Cut after each minimum of surprise, then join meta-chunks up to ``max_tokens``.

    A causal language model reads the text. The surprise of a sentence is the mean over its tokens, each in the context
    of all text before it (`models.causal.per_unit`), as far as it fits ``max_context``. Where surprise falls and rises
    again, the sentence ends a meta-chunk. A minimum is lower than both its neighbors, and than one of them by at least
    ``threshold``; or it equals the next sentence, and is lower than the previous one by at least as much.

    Departs from the published code by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end
    where blocks do (``markup``), and not at a full-width semicolon (``semicolons``). ``preset="published"`` sets all of
    this back. Always: English sentences are ours, not NLTK's; the text is never changed, and is tokenized as a whole; a
    meta-chunk over ``max_tokens`` is cut; and ``threshold_percentile`` depends on this text alone, not on the documents
    before it. The paper has drops "greater than" the threshold, its code and this "at least".

    Zhao et al. 2024, "Meta-Chunking", section 3.1; its code, ``perplexity_chunking.py``.

    Parameters
    ----------
    preset : "published": the published code, on plain text.
    threshold : smallest drop of a minimum below its higher neighbor, >= 0, in nats, or in the unit of "perplexity".
    threshold_percentile : percentile (0..100) of the drops of the text's own minima to use as the threshold, or None.
    measure : surprise of a sentence: the mean "cross-entropy" of its tokens in nats, as in the published code; or the
        mean of their "perplexity", as in the paper, which the few least likely tokens dominate.
    max_context : maximum context of a token, in tokens, >= 16; None is the model's limit, at most 8192.
    evict : share of a full context to drop, oldest tokens first, > 0 and < 1; the rest is read again: less is slower.
    """

    algorithm: ClassVar[str] = "perplexity"
    version: ClassVar[int] = 4
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": {**AS_PUBLISHED, "semicolons": True}}
    preset: Literal["published"] | None = None
    threshold: Annotated[float, Bounds(0)] = 0.0
    threshold_percentile: Annotated[float | None, Bounds(0, 100)] = None
    measure: SurpriseMeasure = "cross-entropy"
    max_context: Annotated[int | None, Bounds(16)] = None
    evict: Annotated[float, Bounds(0, 1, open=True)] = 0.3

    def check(self) -> None:
        """Check that at most one threshold is given."""
        super().check()
        one_at_most(self, "threshold", "threshold_percentile")


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

    lm_method = "surprise"

    @property
    def model(self) -> CausalLM:
        """The language model."""
        options = {name: getattr(self, name) for name in ("measure", "max_context", "evict")}
        return as_causal(self.lm, **options)

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Ask for the surprise of the units, cut after its minima, join meta-chunks."""
        (surprise,) = yield Score(((units.text, tuple(units.edges.tolist())),), self.model)
        gaps = minimum_drops(surprise)
        threshold, percentile = self.threshold, self.threshold_percentile
        if percentile is not None and np.any(gaps):
            threshold = float(np.percentile(gaps[gaps > 0], percentile))
        minima = np.flatnonzero((gaps > 0) & (gaps >= threshold))
        cuts = cutting.cuts_at(minima + 1, len(units))
        if self.combine:
            cuts = join_segments(cuts, units, limits)
        figures = {"surprise": surprise, "threshold": threshold, "minima": minima}
        origins: Origin | None = "size" if self.combine else None
        return Segmentation(cuts, reason="minimum", gaps=gaps, threshold=threshold, figures=figures, origins=origins)


def minimum_drops(surprise: Floats) -> Floats:
    """Return the (n - 1,) drops of n units below their higher neighbors, by the gap after each; 0 if it is no minimum.

    A unit as high as the next is a minimum if it is below the one before. The first and the last unit are not minima.
    """
    before, after = surprise[:-2] - surprise[1:-1], surprise[2:] - surprise[1:-1]
    return np.asarray(np.r_[0.0, np.where((before > 0) & (after >= 0), np.maximum(before, after), 0.0)])
