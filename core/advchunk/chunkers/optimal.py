"""Optimal semantic chunking: the exact optimum under the size limits."""

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
    """Find the exact segmentation whose topics best explain which sentences are similar.

    Dynamic programming finds the segmentation with the highest evidence minus a penalty per segment. The evidence is
    the likelihood of the sentence vectors if each segment has a topic vector of its own, which is integrated out
    (`costs.evidence`). The variances of topics and sentences are estimated from the document, so nothing is tuned to
    an embedder. ``min_tokens`` and ``max_tokens`` are constraints of the search, so a long topic is cut at its weakest
    point, not where the chunk is full.

    The penalty is ``penalty`` * ln(n) for n sentences. Without a change of topic, a cut multiplies the evidence by 1
    on average; by Markov's inequality and a union bound over segmentations, n sentences on one topic are cut with a
    probability of about n^(1 - penalty).

    With a weak embedder, such as the default one, segments of 3 to 5 sentences are often missed; a penalty of 1 works
    better there. A text of fewer than about 8 sentences is rarely cut.

    Ours. Model: Searle, Casella & McCulloch 1992, "Variance Components", chapter 3. Penalties in ln(n): Zhang &
    Siegmund 2007, "A modified Bayes information criterion with applications to the analysis of comparative genomic
    hybridization data", Biometrics 63. Change points from similarities alone: Arlot, Celisse & Harchaoui 2019, "A
    kernel multiple change-point algorithm via model selection", JMLR 20.

    Parameters
    ----------
    penalty : penalty per segment, in units of ln(sentences), >= 0; higher values cut less.
    n_segments : number of chunks, >= 1; replaces the penalty.
    """

    algorithm: ClassVar[str] = "optimal-semantic"
    penalty: float = 2.0
    n_segments: int | None = None

    def check(self) -> None:
        """Check ``penalty`` and ``n_segments`` too."""
        super().check()
        at_least(0, self, "penalty")
        at_least(1, self, "n_segments")


@dataclass(kw_only=True)
class OptimalSemanticChunker(OptimalSemanticParams, EmbeddingChunker):
    """Find the segmentation with the highest evidence minus penalty (`OptimalSemanticParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in OptimalSemanticChunker(n_segments=2).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Search for the optimum within the token budget."""
        budget = np.array([limits.budget(start) for start in units.edges[:-1].tolist()], dtype=np.int64)
        penalty = 0.0 if self.n_segments else self.penalty * np.log(len(units))
        evidence, sizes, least, number = (
            costs.evidence(vectors),
            units.token_counts(),
            limits.min_tokens,
            self.n_segments,
        )
        cuts, cost = search.cheapest_cuts(evidence, sizes, budget, minimum=least, penalty=penalty, segments=number)
        return Segmentation(cuts, reason="cost", figures={"cost": cost, "segments": len(cuts) - 1})
