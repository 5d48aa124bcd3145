"""Optimal semantic chunking: the exact optimum under the size limits."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.numerics import costs, cutting, evidence
from advchunk.chunkers.numerics.costs import SegmentCost
from advchunk.chunkers.params import Bounds, Params
from advchunk.records import Floats, Segmentation, Units
from advchunk.text.terms import Wording


@dataclass(kw_only=True)
class OptimalSemanticParams(Params):
    """Find the exact segmentation whose topics best explain which sentences are similar and which words they share.

    Dynamic programming finds the segmentation with the highest evidence minus a penalty per segment. The evidence is
    the likelihood of the sentence vectors if each segment has a topic vector of its own, which is integrated out, and
    that of the words (Utiyama & Isahara 2001). The variances of topics and sentences are estimated from the document,
    so nothing is tuned to an embedder. ``min_tokens`` and ``max_tokens`` are constraints of the search, so a long topic
    is cut at its weakest point, not where the chunk is full.

    Neighboring sentences are alike within a topic, too. The text is segmented, the correlation left inside the segments
    is measured, the evidence is discounted by it, and so on until the segments stay, at most 6 times
    (`chunkers.numerics.evidence`). Time and memory grow with the text: 1,000 sentences take 0.1 s and 10 MB.

    The penalty is ``penalty`` * ln(n) for n sentences. If sentences are independent given their topic, a cut without a
    change of topic multiplies the evidence of the vectors by 1 on average; by Markov's inequality and a union bound
    over segmentations, n sentences on one topic are cut with a probability of about n^(1 - penalty).

    With a weak embedder, such as the default one, segments of 3 to 5 sentences are often missed, and a text of fewer
    than about 8 sentences is rarely cut. Where sections change no more than paragraphs, as in a textbook, 3 to 4 is
    better (benchmarks/CUTS.md).

    Ours. Model: Searle, Casella & McCulloch 1992, "Variance Components", chapter 3. Words: Utiyama & Isahara 2001, ACL.
    Penalties in ln(n): Zhang & Siegmund 2007, "A modified Bayes information criterion", Biometrics 63. Change points
    from similarities alone: Arlot, Celisse & Harchaoui 2019, "A kernel multiple change-point algorithm", JMLR 20.

    Parameters
    ----------
    penalty : penalty per segment, in units of ln(sentences), >= 0; higher values cut less.
    n_segments : number of chunks, >= 1; replaces the penalty.
    evidence : "consistent" is described above; "independent" takes the sentences of a topic for independent and uses
        their vectors alone (`costs.evidence`), in less time, which cuts real text into more and smaller segments.
    """

    algorithm: ClassVar[str] = "optimal-semantic"
    version: ClassVar[int] = 4
    penalty: Annotated[float, Bounds(0)] = 2.0
    n_segments: Annotated[int | None, Bounds(1)] = None
    evidence: Literal["consistent", "independent"] = "consistent"


@dataclass(kw_only=True)
class OptimalSemanticChunker(OptimalSemanticParams, EmbeddingChunker):
    """Find the segmentation with the highest evidence minus penalty (`OptimalSemanticParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in OptimalSemanticChunker(n_segments=2).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Search for the optimum within the token budget."""
        cost, figures = self._evidence(units, vectors)
        budget = np.array([limits.budget(start) for start in units.edges[:-1].tolist()], dtype=np.int64)
        penalty = 0.0 if self.n_segments else self.penalty * np.log(len(units))
        sizes, least, number = units.token_counts(), limits.min_tokens, self.n_segments
        cuts, total = cutting.cheapest_cuts(cost, sizes, budget, minimum=least, penalty=penalty, segments=number)
        return Segmentation(cuts, reason="cost", figures={"cost": total, "segments": len(cuts) - 1, **figures})

    def _evidence(self, units: Units, vectors: Floats) -> tuple[SegmentCost, dict[str, Any]]:
        """Return the cost of a segment, and what was learned about the noise."""
        if self.evidence == "independent":
            return costs.evidence(vectors), {}
        terms, _ = Wording(language=self.language).encode(units.strings())
        words = costs.utiyama_isahara(terms)
        cost, noise = evidence.self_consistent(vectors, units.token_counts(), words)
        return cost, {"inflation": float(noise.inflation[-1])}
