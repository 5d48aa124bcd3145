"""TextTiling: cut where the vocabulary changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalChunker, LexicalParams
from advchunk.chunkers.params import at_least
from advchunk.errors import require
from advchunk.numerics import search, signals
from advchunk.records import Document, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text.terms import Terms


@dataclass(kw_only=True)
class TextTilingParams(LexicalParams):
    """Cut where lexical cohesion has a deep valley.

    Experimental: its results may change in any release, and `universal-semantic` stands in where it fails.

    The terms of up to ``block_size`` sentences before a gap are counted, and of as many after it: b and c. Their
    cosine is the cohesion at the gap,

        s = sum_t b(t) c(t) / sqrt(sum_t b(t)^2 sum_t c(t)^2)

    smoothed by a running mean. From each gap one climbs left, and right, while cohesion does not fall, to l and r;
    the depth of the gap is (l - s) + (r - s). A boundary is where depth has a peak above mean + ``cutoff_z`` standard
    deviations of all depths, and no higher peak is near.

    The defaults are those of this project's specification, and no better than chance: every fifth gap is too few.
    Take a preset. "hearst" has the paper's cutoff; "fine" does not smooth, and has a stricter cutoff. Mean Pk on
    50 texts of each of Choi's groups, of which 3-11 was looked at to choose presets:

        =======  ====  ====  ====  ====
        preset   3-11  3-5   6-8   9-11
        =======  ====  ====  ====  ====
        None     .476  .464  .456  .540
        hearst   .228  .390  .210  .168
        fine     .167  .194  .115  .150
        =======  ====  ====  ====  ====

    Departs from the paper: sentences stand for its sequences of 20 words, so that no boundary has to be moved to
    one; words are stemmed; the ends of the text are compared too, in shorter blocks, as in NLTK; a boundary is a
    peak itself, never on a slope, and a flat one is cut in its middle; an end of the text counts as a boundary, so
    that none is near it. A gap that ``step`` leaves out has no score, and 0 among the explained ones.

    In a text of fewer than two blocks of sentences the blocks are shorter; one of up to ``step`` is not cut.

    Parameters
    ----------
    block_size : sentences on either side of a gap, >= 1.
    step : sentences from one gap that is looked at to the next, >= 1.
    smooth_width : scores in the running mean, odd, >= 1; 1 is none.
    cutoff_z : standard deviations above the mean that the depth of a boundary exceeds; -0.5 is the paper's
        conservative cutoff, -1.0 its liberal one.
    spacing : no boundary has a deeper one, or an end of the text, within so many sentences, >= 0; the paper's three
        sequences are some two sentences.
    target_tokens : tokens of its own (besides context, and what it repeats) that a chunk aims at, to
        within a fifth, 1..(max_tokens - overlap_tokens) / 1.2 and not under min_tokens: what is longer
        is cut into windows of that size, if need be within a sentence, and nothing short joins to more.
        Less has only the last chunk of a segment; a table, code or formula is not cut for it, nor is what stands before one. None is
        no aim.
    preset : "hearst" or "fine" give other values to those of the parameters above that have their defaults, given or not.

    References
    ----------
    Hearst 1997, "TextTiling: Segmenting Text into Multi-paragraph Subtopic Passages", Computational Linguistics
    23(1), section 5.
    """

    algorithm: ClassVar[str] = "texttiling"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {
            "hearst": {"block_size": 6, "step": 1, "cutoff_z": -0.5},
            "fine": {"block_size": 6, "step": 1, "smooth_width": 1, "cutoff_z": 0.0},
        }
    )

    block_size: int = 10
    step: int = 5
    smooth_width: int = 3
    cutoff_z: float = 1.2
    spacing: int = 2
    target_tokens: int | None = None
    preset: Literal["hearst", "fine"] | None = None

    def check(self) -> None:
        """Add the rules for blocks, scores and the target."""
        super().check()
        at_least(1, self, "block_size", "step")
        at_least(0, self, "spacing")
        right = self.smooth_width >= 1 and self.smooth_width % 2 == 1
        require(right, "smooth_width must be odd and >= 1", self.smooth_width)
        if self.target_tokens is not None:
            most = (self.max_tokens - self.overlap_tokens) * 5 // 6
            rule = f"target_tokens must be in 1..(max_tokens - overlap_tokens) / 1.2 = {most}, or None"
            require(1 <= self.target_tokens <= most, rule, self.target_tokens)
            rule = f"target_tokens must be at least min_tokens = {self.min_tokens}"
            require(self.target_tokens >= self.min_tokens, rule, self.target_tokens)


@dataclass(kw_only=True)
class TextTilingChunker(TextTilingParams, ExperimentalChunker, LexicalChunker):
    """Cut where lexical cohesion has a deep valley (`TextTilingParams`).

    >>> text = "Cats purr. A cat naps. Cats eat. Stocks fell. A stock rose. Stocks fell."
    >>> [chunk.text for chunk in TextTilingChunker(preset="fine").chunk(text)]
    ['Cats purr. A cat naps. Cats eat. ', 'Stocks fell. A stock rose. Stocks fell.']
    """

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Compare the blocks around each gap, and cut in the deepest valleys."""
        gaps = np.zeros(len(units) - 1)
        scored = slice(self.step - 1, None, self.step)
        cohesion = signals.block_similarity(words, self.block_size)
        depth = gaps[scored] = signals.depth(signals.running_mean(cohesion[scored], np.ones(self.smooth_width)))
        threshold = signals.cutoff(depth, self.cutoff_z)
        inner = (search.peaks(depth, threshold, self.spacing // self.step) + 1) * self.step
        cuts = search.cuts_at(inner[inner < len(units) - self.spacing], len(units))
        return Segmentation(cuts, reason="valley", gaps=gaps, figures={"threshold": threshold, "cohesion": cohesion})

    def limits(self, document: Document) -> Limits:
        """Return the token budget of the chunks of a document, with their target."""
        return replace(super().limits(document), target=self.target_tokens)
