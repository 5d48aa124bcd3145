"""Optimal semantic chunking: the exact best segmentation, sizes included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from advchunk import boundaries, costs, signals
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.params import Params
from advchunk.errors import require
from advchunk.explain import Segmentation
from advchunk.records import Floats, Units
from advchunk.sizes import Limits


@dataclass(kw_only=True)
class OptimalSemanticParams(Params):
    """Cut so that sentences inside chunks are as alike as they can be: the exact optimum.

    Minimises, by dynamic programming over all segmentations, the within-segment scatter of the
    sentence vectors plus ``penalty`` a segment. ``min_tokens`` and ``max_tokens`` are limits
    *inside* the search, so a long topic is cut where that hurts least, not where it is full.

    Vectors are centred on the document first, which takes out what all its sentences share; so
    no threshold depends on the embedder. The penalty still does, a little: 1.5 was found best
    for the embedded default and for MiniLM.

    Parameters
    ----------
    penalty : price of a segment, >= 0, in squared distances of unit vectors; higher cuts less.
    n_chunks : the number of segments, >= 1, if known; the penalty then plays no part.
    centre : subtract the document's mean vector first.

    References
    ----------
    Ours. The cost is kernel change-point detection: Truong, Oudre & Vayatis 2020, "Selective
    review of offline change point detection methods", section 4.2.3; Arlot, Celisse & Harchaoui
    2019, "A kernel multiple change-point algorithm via model selection".
    """

    algorithm: ClassVar[str] = "optimal-semantic"
    penalty: float = 1.5
    n_chunks: int | None = None
    centre: bool = True

    def check(self) -> None:
        """Add the rules for ``penalty`` and ``n_chunks``."""
        super().check()
        require(self.penalty >= 0, "penalty must be >= 0", self.penalty)
        require(self.n_chunks is None or self.n_chunks >= 1, "n_chunks must be >= 1 or None", self.n_chunks)


@dataclass(kw_only=True)
class OptimalSemanticChunker(OptimalSemanticParams, EmbeddingChunker):
    """Cut at the exact optimum of scatter plus penalty (`OptimalSemanticParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in OptimalSemanticChunker(n_chunks=2).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Search."""
        rows = signals.centred(vectors) if self.centre else vectors
        budget = np.array([limits.budget(start) for start in units.edges[:-1].tolist()], dtype=np.int64)
        cuts, cost = boundaries.cheapest(
            costs.scatter(rows),
            units.counted(),
            budget,
            minimum=self.min_tokens,
            penalty=0.0 if self.n_chunks else self.penalty,
            segments=self.n_chunks,
        )
        return Segmentation(cuts, reason="cost", figures={"cost": cost, "segments": len(cuts) - 1})
