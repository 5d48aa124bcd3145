"""BayesSeg: Bayesian segmentation by the word distributions of segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalParams, WindowedLexicalChunker
from advchunk.chunkers.numerics import costs, cutting
from advchunk.chunkers.numerics.costs import SegmentCost
from advchunk.chunkers.params import AS_PUBLISHED, at_least, at_most_chunk
from advchunk.chunkers.windows import WindowedParams
from advchunk.errors import NotConverged, require
from advchunk.records import Document, Floats, Ints, Segmentation, Units
from advchunk.text.terms import Terms, bigrams

_MAX_ITERATIONS = 20  # of hard EM, as in the reference implementation
_MAX_LOG = 10.0  # bound on the logarithm of learned parameters, as in the reference implementation


@dataclass(kw_only=True)
class BayesSegParams(WindowedParams, LexicalParams):
    """Find the exact segmentation whose segments most likely each have a word distribution of their own.

    Each segment draws its words from its own distribution, which is integrated out. For a segment of N words with
    counts n_w, and prior counts a_w with sum A, the likelihood is a Dirichlet compound multinomial:

        ln G(A) - ln G(N + A) + sum over w of (ln G(n_w + a_w) - ln G(a_w))

    A duration prior adds the probability of the segment's length z in sentences, negative binomial with mean m and
    dispersion k, r = m k:

        ln G(r + z) - ln z! - ln G(r) + r ln(k / (k + 1)) - z ln(k + 1)

    Dynamic programming finds the optimum over all segmentations, or over those of ``n_segments``. Time is O(n^2) for n
    sentences up to ``max_units``, and in proportion to the text beyond, or always O(n_segments n^2); memory is O(n).

    Departs from the paper by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end where blocks do
    (``markup``), texts over ``max_units`` are segmented in windows, and unless ``n_segments`` is given, a segment costs
    ``segment_cost`` * ln(words), without which the model cuts two or three times too often. ``preset="published"`` sets all of
    this back, with the sizes of the specification. Always: words are normalized as in the other lexical chunkers. The reference implementation has a duration prior
    only if the true mean length is known; here it is ``mean_length``. Ties go to the longer last segment, so a sentence
    without words is never a segment. ``likelihood="utiyama-isahara"`` is an older cost for the same search, without
    parameters, and the strongest simple baseline.

    With the uniform prior of the paper, or with Utiyama and Isahara's cost, long texts get too few segments, because
    the vocabulary of the whole text smooths every segment. ``preset="long"`` uses the word frequencies of the text as
    the prior (ours), which suits texts of a hundred sentences or more.

    No preset beats the default on real text: on lectures, meetings and clinical chapters its Pk is .37, .38 and .40, where
    other priors and costs gain on one set what they lose on another, and "long" cuts too often.
    ``likelihood="utiyama-isahara"`` is better on lectures and meetings (.34, .35) and worse on chapters (.54).

    Eisenstein & Barzilay 2008, "Bayesian Unsupervised Topic Segmentation", EMNLP, sections 3 and 4; their
    ``bayes-seg``. Utiyama & Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation", ACL.

    Parameters
    ----------
    preset : "published", the paper's model; or "long", for texts of hundreds of sentences: ``prior="text"`` and ``prior_strength=400``.
    prior : expected word distribution of a segment: "uniform", or "text" for the frequencies in the text.
    prior_strength : pseudo-counts of the prior, > 0; per word if uniform, in total if "text". Higher values give words
        less weight, and fewer segments.
    min_segment_tokens : minimum tokens of a segment, 0..max_tokens; the default shrinks in proportion to a smaller
        max_tokens. A chunk is smaller only if no neighbor can be divided again with it.
    lexical_model : terms that are counted: "unigrams" (words) or "bigrams" (pairs of adjacent words of a sentence).
    likelihood : "dirichlet", or "utiyama-isahara", which uses ``n_segments`` and ``min_segment_tokens`` only.
    n_segments : number of segments, >= 1, before those over ``max_tokens`` are cut.
    segment_cost : cost of a segment in units of ln(words of the text), >= 0, if ``n_segments`` is not given.
    mean_length : mean length of segments in sentences for the duration prior, > 0; None disables the prior, unless
        ``dispersion`` and ``n_segments`` are given.
    dispersion : dispersion of the duration prior, > 0; its variance is mean * (1 + 1 / dispersion).
    learn : True estimates ``prior_strength``, and ``dispersion`` if used, for each text by hard EM, starting from the
        values given.
    """

    algorithm: ClassVar[str] = "bayesseg"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "segment_cost": 0.0, "max_units": None},
        "long": {"prior": "text", "prior_strength": 400.0},
    }
    preset: Literal["published", "long"] | None = None
    prior: Literal["uniform", "text"] = "uniform"
    prior_strength: float = 0.5
    min_segment_tokens: int = 200
    lexical_model: Literal["unigrams", "bigrams"] = "unigrams"
    likelihood: Literal["dirichlet", "utiyama-isahara"] = "dirichlet"
    n_segments: int | None = None
    segment_cost: float = 0.5
    mean_length: float | None = None
    dispersion: float | None = None
    learn: bool = False

    def check(self) -> None:
        """Check the model too."""
        super().check()
        require(self.prior_strength > 0, "prior_strength must be > 0", self.prior_strength)
        at_least(1, self, "n_segments")
        at_least(0, self, "min_segment_tokens", "segment_cost")
        at_most_chunk(self, "min_segment_tokens")
        length, dispersion = self.mean_length, self.dispersion
        require(length is None or length > 0, "mean_length must be > 0 or None", length)
        require(dispersion is None or dispersion > 0, "dispersion must be > 0 or None", dispersion)
        has_length = length is not None or self.n_segments is not None
        require(dispersion is None or has_length, "dispersion needs mean_length or n_segments", dispersion)
        unused = ("prior", "prior_strength", "segment_cost", "mean_length", "dispersion")
        changed = [name for name in unused if getattr(self, name) != getattr(type(self), name)]
        rule = f"{', '.join(changed)} can be given with likelihood='dirichlet' only"
        require(self.likelihood == "dirichlet" or not changed, rule, self.likelihood)
        rule = "learn needs likelihood='dirichlet' and prior='uniform'"
        require(not self.learn or (self.likelihood, self.prior) == ("dirichlet", "uniform"), rule, self.learn)


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
        """Search for the optimum, after learning the prior if ``learn``."""
        sizes = units.token_counts()
        prior = self._learn_prior([(words, sizes)]) if self.learn else self._initial_prior()
        cuts, cost = self._search(words, sizes, prior)
        figures = {
            "log_likelihood": self._penalty(words) * (len(cuts) - 1) - cost,
            "segments": len(cuts) - 1,
            "prior_strength": prior.strength,
            "dispersion": prior.dispersion,
            "boundary_probability": partial(self._boundary_probabilities, words, prior),
        }
        return Segmentation(cuts, reason="likelihood", figures=figures, evidence=-cost)

    def fit(self, corpus: Iterable[str | Document]) -> Self:
        """Return a copy of this chunker with a prior learned from several texts together."""
        require(not isinstance(corpus, (str, Document)), "corpus must be a collection of texts", corpus)
        texts = (text.text if isinstance(text, Document) else text for text in corpus)
        sentences = (self.sentence_tiler(text).strings() for text in texts if text.strip())
        counted = [(self.terms(strings), self.counter.counts(strings)) for strings in sentences]
        counted = [(words, sizes) for words, sizes in counted if len(words.ids)]
        require(len(counted) > 0, "corpus must have words that are not stop words", "none")
        prior = replace(self, learn=True)._learn_prior(counted)
        return replace(self, prior_strength=prior.strength, dispersion=prior.dispersion, learn=False)

    def terms(self, texts: Sequence[str]) -> Terms:
        """Return the normalized words of each text, or pairs of them."""
        words = super().terms(texts)
        return bigrams(words) if self.lexical_model == "bigrams" else words

    def _initial_prior(self) -> PriorParameters:
        has_default = self.dispersion is None and self.mean_length is not None
        return PriorParameters(self.prior_strength, 1.0 if has_default else self.dispersion)

    def _penalty(self, words: Terms) -> float:
        if self.n_segments is not None or self.likelihood != "dirichlet":
            return 0.0
        return self.segment_cost * float(np.log(max(len(words.ids), 1)))

    def _mean_length(self, n: int) -> float:
        return self.mean_length or n / (self.n_segments or 1)

    def _cost(self, words: Terms, prior: PriorParameters) -> SegmentCost:
        if self.likelihood == "utiyama-isahara":
            return costs.utiyama_isahara(words)
        pseudo: float | Floats = prior.strength
        if self.prior == "text":  # an absent word counts as half an occurrence
            pseudo = pseudo * np.maximum(np.bincount(words.ids, minlength=words.size), 0.5) / len(words.ids)
        cost = costs.dirichlet(words, pseudo)
        if prior.dispersion is None:
            return cost
        lengths = np.arange(len(words) + 1)
        return costs.add_length_cost(cost, -log_duration(lengths, self._mean_length(len(words)), prior.dispersion))

    def _search(self, words: Terms, sizes: Ints, prior: PriorParameters) -> tuple[Ints, float]:
        cost, penalty, minimum = self._cost(words, prior), self._penalty(words), self.min_segment_tokens
        budget = np.full(len(sizes), sizes.sum())  # topics may be longer than chunks; `sizes` cuts those later
        return cutting.cheapest_cuts(cost, sizes, budget, minimum=minimum, penalty=penalty, segments=self.n_segments)

    def _learn_prior(self, texts: Sequence[tuple[Terms, Ints]]) -> PriorParameters:
        """Alternate between the optimal segmentations and the best prior for them until the cost stops falling."""
        best = prior = self._initial_prior()
        least = np.inf
        for _ in range(_MAX_ITERATIONS):
            results = [self._search(words, sizes, prior) for words, sizes in texts]
            total = sum(cost for _, cost in results)
            if not total < least:
                break
            least, best = total, prior
            pairs = zip(texts, results, strict=True)
            prior = fit_prior(prior, [(words, cuts, self._mean_length(len(words))) for (words, _), (cuts, _) in pairs])
        return best

    def _boundary_probabilities(self, words: Terms, prior: PriorParameters) -> Floats:
        """Return the probability of a boundary at each gap, over segmentations of any number of segments: (n - 1,)."""
        forward, backward = self._cost(words, prior), self._cost(words.backwards(), prior)
        return cutting.boundary_probabilities(forward, backward, len(words), self._penalty(words))


class PriorParameters(NamedTuple):
    """Pseudo-counts of the word prior, and the dispersion of the duration prior if there is one."""

    strength: float
    dispersion: float | None


def log_duration(lengths: Ints, mean: float, dispersion: float) -> Floats:
    """Return the log-probabilities of lengths in sentences: negative binomial, from 0, as in the reference code.

    >>> log_duration(np.arange(3), 2.0, 1.0).round(6).tolist()
    [-1.386294, -1.386294, -1.673976]
    """
    from scipy.special import gammaln

    size = mean * dispersion
    odds = size * np.log(dispersion / (dispersion + 1)) - lengths * np.log(dispersion + 1)
    return np.asarray(gammaln(size + lengths) - gammaln(lengths + 1) - gammaln(size) + odds)


def fit_prior(prior: PriorParameters, texts: Sequence[tuple[Terms, Ints, float]]) -> PriorParameters:
    """Return the maximum-likelihood prior for segmented texts, found by L-BFGS on logarithms starting from ``prior``.

    A text is given as its terms, cuts and mean segment length in sentences. Raises `NotConverged` if the search,
    bounded by e^-10..e^10, fails.
    """
    from scipy.optimize import minimize
    from scipy.special import digamma, gammaln

    counted = list[tuple[int, Ints, Ints]]()  # nonzero term counts of all segments, number of terms of each
    for words, cuts, _ in texts:
        totals = np.diff(words.edges[cuts])
        segment = np.repeat(np.arange(len(totals)), totals)
        counts = np.unique(segment * words.size + words.ids, return_counts=True)[1]
        counted.append((words.size, counts, totals))
    durations = [(np.diff(cuts), mean) for _, cuts, mean in texts]

    def loss(logs: Floats) -> tuple[float, Floats]:
        a, k = np.exp(logs[0]), np.exp(logs[-1])
        value, slopes = np.float64(0), np.zeros(2)
        for size, counts, totals in counted:
            value += np.sum(gammaln(size * a) - gammaln(totals + size * a)) + np.sum(gammaln(counts + a) - gammaln(a))
            slopes[0] += size * np.sum(digamma(size * a) - digamma(totals + size * a))
            slopes[0] += np.sum(digamma(counts + a) - digamma(a))
        for lengths, mean in durations if prior.dispersion else ():
            value += np.sum(log_duration(lengths, mean, k))
            inner = digamma(mean * k + lengths) - digamma(mean * k) + np.log(k / (k + 1)) + 1 / (k + 1)
            slopes[1] += np.sum(mean * inner - lengths / (k + 1))
        return float(-value), -(slopes * (a, k))[: len(logs)]

    start = np.log([value for value in prior if value is not None])
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-_MAX_LOG, _MAX_LOG)] * len(start))
    if not np.all(np.isfinite([*result.x, result.fun])):
        msg = f"learning the prior did not converge: {result.message}"
        raise NotConverged(msg)
    strength, *dispersion = np.exp(result.x).tolist()
    return PriorParameters(strength, dispersion[0] if dispersion else None)
