"""Optimal semantic chunking: the exact best segmentation, sizes included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.params import Params, at_least
from advchunk.numerics import costs, search
from advchunk.records import Floats, Segmentation, Units
from advchunk.sizes import Limits


@dataclass(kw_only=True)
class OptimalSemanticParams(Params):
    """Cut so that topics explain best which sentences are alike: the exact optimum.

    Of all segmentations, dynamic programming finds the one with the most evidence, less a price a segment. The
    evidence is the likelihood of the sentence vectors if each segment has a topic of its own, whatever that is
    (`costs.evidence`). How far topics and sentences vary is estimated from the document, so nothing is tuned to an
    embedder. ``min_tokens`` and ``max_tokens`` are limits *inside* the search, so a long topic is cut where that
    hurts least, not where it is full.

    The price is ``penalty`` ln(n) for n sentences. Without topics a cut multiplies the evidence by 1 in the mean;
    so, by Markov's inequality and a union bound over segmentations, n sentences on one topic are cut with a
    probability of about n^(1 - penalty).

    Segments of 3 to 5 sentences are often missed with a weak embedder, such as the embedded default: a penalty of
    1 is better there. A text of less than some 8 sentences is rarely cut.

    Parameters
    ----------
    penalty : price of a segment, in ln(sentences), >= 0; higher cuts less.
    n_segments : the number of chunks, >= 1, if known; the penalty then plays no part.

    References
    ----------
    Ours. The model is one-way analysis of variance with random effects: Searle, Casella & McCulloch 1992, "Variance
    Components", chapter 3. Prices in ln(n): Zhang & Siegmund 2007, "A modified Bayes information criterion with
    applications to the analysis of comparative genomic hybridization data", Biometrics 63. Change points by the
    likeness of vectors alone: Arlot, Celisse & Harchaoui 2019, "A kernel multiple change-point algorithm via model
    selection", JMLR 20.
    """

    algorithm: ClassVar[str] = "optimal-semantic"
    penalty: float = 2.0
    n_segments: int | None = None

    def check(self) -> None:
        """Add the rules for ``penalty`` and ``n_segments``."""
        super().check()
        at_least(0, self, "penalty")
        at_least(1, self, "n_segments")


@dataclass(kw_only=True)
class OptimalSemanticChunker(OptimalSemanticParams, EmbeddingChunker):
    """Cut at the exact optimum of evidence less penalty (`OptimalSemanticParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in OptimalSemanticChunker(n_segments=2).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Search."""
        budget = np.array([limits.budget(start) for start in units.edges[:-1].tolist()], dtype=np.int64)
        cuts, cost = search.cheapest_cuts(
            costs.evidence(vectors),
            units.token_counts(),
            budget,
            minimum=self.min_tokens,
            penalty=0.0 if self.n_segments else self.penalty * np.log(len(units)),
            segments=self.n_segments,
        )
        return Segmentation(cuts, reason="cost", figures={"cost": cost, "segments": len(cuts) - 1})
