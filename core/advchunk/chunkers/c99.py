"""C99: divide where the density of locally ranked similarity inside segments grows most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalChunker, LexicalParams
from advchunk.chunkers.params import at_least
from advchunk.errors import require
from advchunk.numerics import bands, search, signals
from advchunk.records import Floats, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text.terms import Terms

_KERNEL = np.array([1.0, 2.0, 4.0, 8.0, 4.0, 2.0, 1.0])  # the original code's; the paper does not give it


@dataclass(kw_only=True)
class C99Params(LexicalParams):
    """Divide where the density of locally ranked word similarity grows most.

    Experimental: its results may change in any release, and `universal-semantic` stands in where it fails.

    Sentences are compared by the words they share (cosine of counts). Such short texts say little by the value
    itself, so each is replaced by its rank: the share of the similarities around it that it exceeds. A segmentation
    is as good as it is dense:

        D = (sum of ranks of all pairs inside segments) / (number of these pairs)

    The text is divided greedily to the end, each time where D grows most. It is cut by the divisions before the
    first whose growth, smoothed over seven, is not above mean + ``cutoff_z`` standard deviations of all.

    Says the same as the original code, to the last boundary, when given its words, ``min_segment_length=0`` and a
    ``window`` that holds the text. Departs from it: the words, normalized as everywhere here; a least length, within
    the division (what growth is enough is still found without it); a window, for long texts; smoothing of the ranks.

    Parameters
    ----------
    rank_width : side of the square that a similarity is ranked in, in sentences, odd, >= 3.
    smoothing_width : side of the square that ranks are then averaged over, in sentences, odd, >= 1; 1 is none.
        It blurs borders: on Choi's texts 3 already does harm.
    cutoff_z : standard deviations above the mean that a division's growth in density must be, >= 0; higher cuts less.
    n_segments : how many segments, >= 1, if known; fewer, where ``min_segment_length`` allows no more; those over
        ``max_tokens`` are then cut further.
    min_segment_length : tokens that no segment is shorter than, >= 0. A heading then goes with the text below it, which may
        leave the segment above shorter by that.
    window : sentences this far apart or more are not compared, >= 2, which bounds memory to 16 bytes * window a
        sentence; None compares all. In a long text with a window under some ten segments nothing may be cut.

    References
    ----------
    Choi 2000, "Advances in domain independent linear text segmentation", NAACL, sections 3.1 to 3.3; C99 1.2, his code.
    """

    algorithm: ClassVar[str] = "c99"
    rank_width: int = 11
    smoothing_width: int = 1
    cutoff_z: float = 1.2
    n_segments: int | None = None
    min_segment_length: int = 100
    window: int | None = 1000

    def check(self) -> None:
        """Add the rules for widths, counts and lengths."""
        super().check()
        for name, least in (("rank_width", 3), ("smoothing_width", 1)):
            width = getattr(self, name)
            require(width >= least and width % 2 == 1, f"{name} must be odd and >= {least}", width)
        at_least(0, self, "cutoff_z", "min_segment_length")
        at_least(1, self, "n_segments")
        at_least(2, self, "window")


@dataclass(kw_only=True)
class C99Chunker(C99Params, ExperimentalChunker, LexicalChunker):
    """Divide where the density of ranked similarity grows most (`C99Params`).

    >>> text = "Cats purr. Cats nap. Cats purr and nap. Courts rule. Judges rule courts. Courts judge."
    >>> [chunk.text for chunk in C99Chunker(n_segments=2, min_segment_length=0).chunk(text)]
    ['Cats purr. Cats nap. Cats purr and nap. ', 'Courts rule. Judges rule courts. Courts judge.']
    """

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Compare, rank, smooth, divide to the end, and keep the steep beginning.

        A gap's score is the least growth in density up to the division that cuts it: above the threshold, it is cut.
        """
        n, sizes = len(units), units.token_counts()
        reach = min(self.window or n, n)
        sums = bands.block_sums(self._ranks(words, reach))
        order, density = search.divisive_cuts(sums, sizes)
        gradient = signals.running_mean(np.diff(density), _KERNEL)
        threshold = signals.cutoff(gradient, self.cutoff_z)
        if self.min_segment_length:
            order, density = search.divisive_cuts(sums, sizes, self.min_segment_length)
            gradient = signals.running_mean(np.diff(density), _KERNEL)
        least = np.minimum.accumulate(gradient)
        gaps = np.full(n - 1, least.min(initial=0.0))
        gaps[order - 1] = least
        number = self.n_segments - 1 if self.n_segments else int(np.count_nonzero(least > threshold))
        figures = {"threshold": threshold, "order": order, "density": density, "gradient": gradient}
        return Segmentation(search.cuts_at(order[:number], n), reason="density", gaps=gaps, figures=figures)

    def _ranks(self, words: Terms, reach: int) -> Floats:
        """Return the ranks of sentences less than ``reach`` apart; they are those of the whole matrix."""
        n = len(words)
        width, smoothing = (min(side, 2 * n - 1) for side in (self.rank_width, self.smoothing_width))  # which holds all
        ranked = min(reach + smoothing - 1, n)
        rank = bands.local_rank(bands.cosine_band(words, min(ranked + width - 1, n)), width, ranked)
        return rank if smoothing == 1 else bands.local_mean(rank, smoothing, reach)
