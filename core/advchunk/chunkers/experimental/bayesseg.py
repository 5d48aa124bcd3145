"""BayesSeg: Bayesian segmentation by the word distributions of segments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalParams, WindowedLexicalChunker
from advchunk.chunkers.numerics import costs, cutting
from advchunk.chunkers.numerics.costs import SegmentCost
from advchunk.chunkers.params import AS_PUBLISHED, Bounds
from advchunk.chunkers.windows import WindowedParams
from advchunk.errors import require
from advchunk.records import Document, Floats, Segmentation, Units
from advchunk.text.terms import Terms, bigrams


@dataclass(kw_only=True)
class BayesSegParams(WindowedParams, LexicalParams):
    """Find the exact segmentation whose segments most likely each have a word distribution of their own.

    Each segment draws its words from its own distribution, which is integrated out. For a segment of N words with
    counts n_w, and prior counts a_w with sum A, the likelihood is a Dirichlet compound multinomial:

        ln G(A) - ln G(N + A) + sum over w of (ln G(n_w + a_w) - ln G(a_w))

    Dynamic programming finds the optimum over all segmentations, or over those of ``n_segments``. Time is O(n^2) for n
    sentences up to ``max_units``, and in proportion to the text beyond, or always O(n_segments n^2); memory is O(n).

    Departs from the paper by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end where
    blocks do (``markup``), texts over ``max_units`` are segmented in windows, and unless ``n_segments`` is given, a
    segment costs ``segment_cost`` * ln(words), without which the model cuts two or three times too often.
    ``preset="published"`` sets all of this back, with the sizes of the specification. Always: words are normalized as
    in the other lexical chunkers; the duration prior of the reference implementation and its learning of the prior are
    left out. Ties go to the longer last segment, so a sentence without words is never a segment.

    With the uniform prior of the paper, or with Utiyama and Isahara's cost, an older one without parameters, long texts
    get too few segments, because the vocabulary of the whole text smooths every segment. ``preset="long"`` takes the
    word frequencies of the text as the prior (ours). On real text it cuts too often (benchmarks/CUTS.md).

    Eisenstein & Barzilay 2008, "Bayesian Unsupervised Topic Segmentation", EMNLP, sections 3 and 4; their
    ``bayes-seg``. Utiyama & Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation", ACL.

    Parameters
    ----------
    preset : "published", the paper's model; or "long", for hundreds of sentences: ``prior="text", prior_strength=400``.
    prior : expected word distribution of a segment: "uniform", or "text" for the frequencies in the text.
    prior_strength : pseudo-counts of the prior, > 0; per word if uniform, in total if "text". Higher values cut less.
    min_segment_tokens : minimum tokens of a segment, 0..max_tokens; the default shrinks in proportion to a smaller
        max_tokens. A chunk is smaller only if no neighbor can be divided again with it.
    lexical_model : terms that are counted: "unigrams" (words) or "bigrams" (pairs of adjacent words of a sentence).
    likelihood : "dirichlet", or "utiyama-isahara", which uses ``n_segments`` and ``min_segment_tokens`` only.
    n_segments : number of segments, >= 1, before those over ``max_tokens`` are cut.
    segment_cost : cost of a segment in units of ln(words of the text), >= 0, if ``n_segments`` is not given.
    """

    algorithm: ClassVar[str] = "bayesseg"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "segment_cost": 0.0, "max_units": None},
        "long": {"prior": "text", "prior_strength": 400.0},
    }
    preset: Literal["published", "long"] | None = None
    prior: Literal["uniform", "text"] = "uniform"
    prior_strength: Annotated[float, Bounds(0, open=True)] = 0.5
    min_segment_tokens: Annotated[int, Bounds(0, in_chunk=True)] = 200
    lexical_model: Literal["unigrams", "bigrams"] = "unigrams"
    likelihood: Literal["dirichlet", "utiyama-isahara"] = "dirichlet"
    n_segments: Annotated[int | None, Bounds(1)] = None
    segment_cost: Annotated[float, Bounds(0)] = 0.5

    def check(self) -> None:
        """Check the model too."""
        super().check()
        unused = ("prior", "prior_strength", "segment_cost")
        changed = [name for name in unused if getattr(self, name) != getattr(type(self), name)]
        rule = f"{', '.join(changed)} can be given with likelihood='dirichlet' only"
        require(self.likelihood == "dirichlet" or not changed, rule, self.likelihood)


@dataclass(kw_only=True)
class BayesSegChunker(BayesSegParams, ExperimentalChunker, WindowedLexicalChunker):
    """Find the segmentation whose word distributions are most likely (`BayesSegParams`).

    >>> text = "Cats purr. Cats nap. Cats eat. Stocks fell. Stocks rose. Stocks fell."
    >>> [chunk.text for chunk in BayesSegChunker(n_segments=2, min_segment_tokens=0).chunk(text)]
    ['Cats purr. Cats nap. Cats eat. ', 'Stocks fell. Stocks rose. Stocks fell.']
    """

    def limits(self, document: Document) -> Limits:
        """Return the limits of the chunks of a document, which are no smaller than segments."""
        limits = super().limits(document)
        return replace(limits, min_tokens=max(limits.min_tokens, self.size("min_segment_tokens")))

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Search for the optimum."""
        sizes, number = units.token_counts(), self.n_segments
        is_free = number is None and self.likelihood == "dirichlet"
        penalty = self.segment_cost * float(np.log(max(len(words.ids), 1))) if is_free else 0.0
        budget = np.full(len(sizes), sizes.sum())  # topics may be longer than chunks; `sizes` cuts those later
        least = self.min_segment_tokens
        cuts, cost = cutting.cheapest_cuts(
            self._cost(words), sizes, budget, minimum=least, penalty=penalty, segments=number
        )
        figures = {"log_likelihood": penalty * (len(cuts) - 1) - cost, "segments": len(cuts) - 1}
        return Segmentation(cuts, reason="likelihood", figures=figures)

    def terms(self, texts: Sequence[str]) -> Terms:
        """Return the normalized words of each text, or pairs of them."""
        words = super().terms(texts)
        return bigrams(words) if self.lexical_model == "bigrams" else words

    def _cost(self, words: Terms) -> SegmentCost:
        if self.likelihood == "utiyama-isahara":
            return costs.utiyama_isahara(words)
        pseudo: float | Floats = self.prior_strength
        if self.prior == "text":  # an absent word counts as half an occurrence
            pseudo = pseudo * np.maximum(np.bincount(words.ids, minlength=words.size), 0.5) / len(words.ids)
        return costs.dirichlet(words, pseudo)
