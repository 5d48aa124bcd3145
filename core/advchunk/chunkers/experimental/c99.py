"""C99: divisive segmentation by locally ranked similarities."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalParams, WindowedLexicalChunker
from advchunk.chunkers.numerics import bands, cutting
from advchunk.chunkers.params import AS_PUBLISHED, Bounds
from advchunk.chunkers.windows import WindowedParams
from advchunk.errors import require
from advchunk.models import signals
from advchunk.records import Document, Floats, Segmentation, Units
from advchunk.text.terms import Terms

_KERNEL = np.array([1.0, 2.0, 4.0, 8.0, 4.0, 2.0, 1.0])  # the original code's; the paper does not give it


@dataclass(kw_only=True)
class C99Params(WindowedParams, LexicalParams):
    """Split the text recursively where the density of locally ranked word similarity grows most.

    Sentences are compared by the cosine similarity of their word counts. For short texts only the order of these values
    is meaningful, so each is replaced by its rank: the fraction of the similarities around it that it exceeds. The
    density of a segmentation is the mean rank of all pairs inside segments. The text is split until no split is
    possible, each time where it grows most. Splits are kept until the growth, smoothed over seven of them, no longer
    exceeds mean + ``cutoff_z`` standard deviations of all.

    On real text it cuts two to three times too often; there take ``preset="coarse"`` (benchmarks/CUTS.md).

    Reproduces every boundary of the original code, given its words, ``min_segment_length=0`` and a ``window`` that
    holds the text. Departs from it by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end
    where blocks do (``markup``), and pairs far apart are not compared (``window``, ``max_units``).
    ``preset="published"`` sets this back, with the numbers of the specification. Always: words are normalized as in the
    other lexical chunkers; splits respect ``min_segment_length`` (the threshold is still computed without it), which 0
    disables. Time is O(n window + n^2) for n sentences up to ``max_units``, and in proportion to the text beyond. From
    Choi 2000, "Advances in domain independent linear text segmentation", NAACL, sections 3.1 to 3.3; C99 1.2, his code.

    Parameters
    ----------
    preset : "published", the original on plain text; or "coarse": ``cutoff_z`` 4.
    rank_width : side of the square in which a similarity is ranked, in sentences, odd, >= 3.
    smoothing_width : side of the square over which ranks are averaged, in sentences, odd, >= 1; 1 disables smoothing.
        It blurs boundaries: on Choi's texts 3 already reduces accuracy.
    cutoff_z : standard deviations above the mean that the growth of density must exceed, >= 0; higher values cut less.
    n_segments : segments, >= 1, before those over ``max_tokens`` are cut; fewer if ``min_segment_length`` requires it.
    min_segment_length : minimum tokens of a segment, 0..max_tokens; the default shrinks in proportion to a smaller
        max_tokens. A chunk is smaller only if no neighbor can be divided again with it.
    window : distance in sentences at which pairs are no longer compared, >= 2; limits memory to 16 bytes * window per
        sentence, of at most ``max_units``. None compares all. A window of fewer than ten segments may miss cuts.
    """

    algorithm: ClassVar[str] = "c99"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "window": None, "max_units": None},
        "coarse": {"cutoff_z": 4.0},
    }
    preset: Literal["published", "coarse"] | None = None
    rank_width: int = 11
    smoothing_width: int = 1
    cutoff_z: Annotated[float, Bounds(0)] = 1.2
    n_segments: Annotated[int | None, Bounds(1)] = None
    min_segment_length: Annotated[int, Bounds(0, in_chunk=True)] = 100
    window: Annotated[int | None, Bounds(2)] = 1000

    def check(self) -> None:
        """Check widths too."""
        super().check()
        for name, least in (("rank_width", 3), ("smoothing_width", 1)):
            width = getattr(self, name)
            require(width >= least and width % 2 == 1, f"{name} must be odd and >= {least}", width)


@dataclass(kw_only=True)
class C99Chunker(C99Params, ExperimentalChunker, WindowedLexicalChunker):
    """Split where the density of ranked similarity grows most (`C99Params`).

    >>> text = "Cats purr. Cats nap. Cats purr and nap. Courts rule. Judges rule courts. Courts judge."
    >>> [chunk.text for chunk in C99Chunker(n_segments=2, min_segment_length=0).chunk(text)]
    ['Cats purr. Cats nap. Cats purr and nap. ', 'Courts rule. Judges rule courts. Courts judge.']
    """

    def limits(self, document: Document) -> Limits:
        """Return the limits of the chunks of a document, which are no smaller than segments."""
        limits = super().limits(document)
        return replace(limits, min_tokens=max(limits.min_tokens, self.size("min_segment_length")))

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Rank similarities, split until the end, and keep the first splits.

        The score of a gap is the minimum growth of density up to the split that cuts it; it is cut above the threshold.
        """
        n, sizes = len(units), units.token_counts()
        reach = min(self.window or n, n)
        sums = bands.block_sums(self._ranks(words, reach))
        order, density = cutting.divisive_cuts(sums, sizes)
        gradient = signals.running_mean(np.diff(density), _KERNEL)
        threshold = signals.cutoff(gradient, self.cutoff_z)
        if self.min_segment_length:
            order, density = cutting.divisive_cuts(sums, sizes, self.min_segment_length)
            gradient = signals.running_mean(np.diff(density), _KERNEL)
        least = np.minimum.accumulate(gradient)
        gaps = np.full(n - 1, least.min(initial=0.0))
        gaps[order - 1] = least
        number = self.n_segments - 1 if self.n_segments else int(np.count_nonzero(least > threshold))
        limit = None if self.n_segments else threshold
        figures = {"threshold": threshold, "order": order, "density": density, "gradient": gradient}
        cuts = cutting.cuts_at(order[:number], n)
        return Segmentation(cuts, reason="density", gaps=gaps, threshold=limit, figures=figures)

    def _ranks(self, words: Terms, reach: int) -> Floats:
        """Return the ranks of similarities less than ``reach`` apart, equal to those of the full matrix."""
        n, widest = len(words), 2 * len(words) - 1  # the whole matrix
        width, smoothing = min(self.rank_width, widest), min(self.smoothing_width, widest)
        ranked = min(reach + smoothing - 1, n)
        rank = bands.local_rank(bands.cosine_band(words, min(ranked + width - 1, n)), width, ranked)
        return rank if smoothing == 1 else bands.local_mean(rank, smoothing, reach)
