"""TextTiling: cut where the vocabulary changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalChunker, LexicalParams
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import AS_PUBLISHED, Bounds
from advchunk.errors import require
from advchunk.models import signals
from advchunk.records import Document, Segmentation, Units
from advchunk.text.terms import Terms


@dataclass(kw_only=True)
class TextTilingParams(LexicalParams):
    """Cut at deep valleys of lexical cohesion.

    The cohesion at a gap is the cosine of the term counts b and c of ``block_size`` sentences before and after it,

        s = sum_t b(t) c(t) / sqrt(sum_t b(t)^2 sum_t c(t)^2)

    smoothed by a running mean. Climbing left and right from the gap while cohesion does not fall leads to l and r; the
    depth of the gap is (l - s) + (r - s). A boundary is a peak of depth above mean + ``cutoff_z`` standard deviations
    of all depths, without a higher peak nearby.

    The defaults are those of this project's specification, and no better than chance. Use a preset: "hearst" has the
    paper's cutoff; "fine" does not smooth and has a stricter cutoff; "coarse" is for real text, where these two cut
    about six times too often (benchmarks/CUTS.md).

    Departs from the specification by default: cuts move to the layout (``layout_weight``, ``outline``) and sentences
    end where blocks do (``markup``). ``preset="published"`` sets this back; give "hearst" with it as parameters for the
    paper's numbers. Departs from the paper always: units are sentences, not sequences of 20 words, so boundaries need
    not be moved; words are stemmed; gaps near the ends of the text are scored too, with shorter blocks, as in NLTK; a
    boundary is always a peak itself, and a plateau is cut in its middle; the ends of the text count as boundaries for
    ``spacing``. Gaps skipped by ``step`` are not scored; `explain` shows 0 for them.

    Hearst 1997, "TextTiling: Segmenting Text into Multi-paragraph Subtopic Passages", CL 23(1), section 5.

    Parameters
    ----------
    block_size : number of sentences on each side of a gap, >= 1.
    step : sentences between scored gaps, >= 1. The specification's 5 finds one boundary in five at most (Pk .50 on
        planted topics, no cut .44): take ``preset="hearst"`` (.29) or "fine".
    smooth_width : number of scores in the running mean, odd, >= 1; 1 disables smoothing.
    cutoff_z : standard deviations above the mean that the depth of a boundary must exceed; in the paper -0.5 or -1.
    spacing : sentences within which a boundary has no deeper one and no end of the text, >= 0; in the paper about 2.
    target_tokens : target size of a chunk in tokens, without context and overlap, met within 20 %; at least min_tokens,
        1..(max_tokens - overlap_tokens) / 1.2. A boundary is kept if the text before and after it can be divided into
        chunks of that size, within a sentence if necessary. It is missed only where no division meets it, and beside
        tables, code and formulas, which are not cut for it. None disables it.
    preset : "published", "hearst", "fine" or "coarse".
    """

    algorithm: ClassVar[str] = "texttiling"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": AS_PUBLISHED,
        "hearst": {"block_size": 6, "step": 1, "cutoff_z": -0.5},
        "fine": {"block_size": 6, "step": 1, "smooth_width": 1, "cutoff_z": 0.0},
        "coarse": {"block_size": 40, "step": 1, "smooth_width": 11, "cutoff_z": 2.0, "spacing": 40},
    }
    block_size: Annotated[int, Bounds(1)] = 10
    step: Annotated[int, Bounds(1)] = 5
    smooth_width: int = 3
    cutoff_z: float = 1.2
    spacing: Annotated[int, Bounds(0)] = 2
    target_tokens: int | None = None
    preset: Literal["published", "hearst", "fine", "coarse"] | None = None

    def check(self) -> None:
        """Check smoothing and the target too."""
        super().check()
        is_odd = self.smooth_width >= 1 and self.smooth_width % 2 == 1
        require(is_odd, "smooth_width must be odd and >= 1", self.smooth_width)
        if self.target_tokens is not None:
            maximum = (self.max_tokens - self.overlap_tokens) * 5 // 6
            rule = f"target_tokens must be in 1..(max_tokens - overlap_tokens) / 1.2 = {maximum}, or None"
            require(1 <= self.target_tokens <= maximum, rule, self.target_tokens)
            rule = f"target_tokens must be at least min_tokens = {self.min_tokens}"
            require(self.target_tokens >= self.min_tokens, rule, self.target_tokens)


@dataclass(kw_only=True)
class TextTilingChunker(TextTilingParams, ExperimentalChunker, LexicalChunker):
    """Cut at deep valleys of lexical cohesion (`TextTilingParams`).

    >>> text = "Cats purr. A cat naps. Cats eat. Stocks fell. A stock rose. Stocks fell."
    >>> [chunk.text for chunk in TextTilingChunker(preset="fine").chunk(text)]
    ['Cats purr. A cat naps. Cats eat. ', 'Stocks fell. A stock rose. Stocks fell.']
    """

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Score the gaps by depth, and cut at the peaks."""
        gaps, scored = np.zeros(len(units) - 1), slice(self.step - 1, None, self.step)
        cohesion = signals.block_similarity(words, self.block_size)
        depth = gaps[scored] = signals.depth_scores(signals.running_mean(cohesion[scored], np.ones(self.smooth_width)))
        threshold = signals.cutoff(depth, self.cutoff_z)
        inner = (cutting.find_peaks(depth, threshold, self.spacing // self.step) + 1) * self.step
        cuts = cutting.cuts_at(inner[inner < len(units) - self.spacing], len(units))
        figures = {"threshold": threshold, "cohesion": cohesion}
        return Segmentation(cuts, reason="valley", gaps=gaps, threshold=threshold, figures=figures)

    def limits(self, document: Document) -> Limits:
        """Return the token budget of the chunks of a document, with their target."""
        return replace(super().limits(document), target=self.target_tokens)
