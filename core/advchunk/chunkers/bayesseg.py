"""BayesSeg: the segmentation whose segments are likeliest each to be drawn from a distribution of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.lexical import LexicalChunker, LexicalParams
from advchunk.chunkers.params import at_least
from advchunk.errors import NotConverged, require
from advchunk.numerics import costs, search
from advchunk.numerics.costs import Cost
from advchunk.records import Document, Floats, Ints, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text.splitters import as_tiler
from advchunk.text.terms import Terms, pairs

_ROUNDS = 20  # of learning, as in the reference implementation
_MOST = 10.0  # of the logarithm of what is learned; likewise


@dataclass(kw_only=True)
class BayesSegParams(LexicalParams):
    """Cut so that the words of each segment are likeliest to come from one distribution: the exact optimum.

    Experimental: its results may change in any release, and `universal-semantic` stands in where it fails.

    Each segment draws its words from a distribution of its own, which is integrated out. Of a segment of N words, n_w
    of them w, where the prior counts a_w sum to A, the likelihood is a Dirichlet compound multinomial:

        ln G(A) - ln G(N + A) + sum over w of (ln G(n_w + a_w) - ln G(a_w))

    With a duration prior comes the probability of its length z in sentences, negative binomial with mean m and
    dispersion k, r = m k:

        ln G(r + z) - ln z! - ln G(r) + r ln(k / (k + 1)) - z ln(k + 1)

    Dynamic programming finds the best of all segmentations, of ``n_segments`` or of any number.

    Departs from the paper: unless the number is known, a segment costs ``segment_cost`` * ln(words), without
    which the model cuts two or three times too often (0 is the original). The reference implementation has
    a duration prior only with the true mean length at hand; here it is ``mean_length``. Ties are broken for the
    longer last segment, so a sentence without a word is never alone. ``likelihood="utiyama-isahara"`` is an older cost of
    the same search, which has no parameter, and is the strongest simple baseline.

    With the paper's uniform prior, and with Utiyama and Isahara's, segments of long texts are too few: the
    whole text's vocabulary smooths every segment. ``preset="long"`` takes the text's own frequencies for the prior,
    and suits texts of some hundred sentences and more (ours).

    It takes O(n^2) time and O(n) memory for n sentences: 10,000 take some seconds; K known is O(K n^2).

    Parameters
    ----------
    preset : "long", for texts of hundreds of sentences, is ``prior="text"`` and ``prior_strength=400``, where those
        have their defaults, given or not.
    prior : what is expected of each segment's words: "uniform", all are as likely; "text", as in the text.
    prior_strength : how strongly, in pseudo-counts: of each word of a uniform prior, of all together of the text's,
        > 0; with more, words weigh less and segments are fewer.
    min_segment_tokens : tokens that a segment has at least, 0..; as few segments as possible have less. A heading then goes
        with the text below it, which may leave the segment above shorter by that.
    lexical_model : what is counted: "unigram", words; or "bigram", pairs of neighboring words in a sentence.
    likelihood : what makes words likely: "dirichlet"; or "utiyama-isahara", which takes none of the other parameters
        but ``n_segments`` and ``min_segment_tokens``.
    n_segments : the number of segments, >= 1, if known; those over ``max_tokens`` are then cut further.
    segment_cost : the price c of a segment where their number is not known, c * ln(words of the text), >= 0.
    mean_length : sentences that a segment has on average, > 0, for the duration prior; None: no such prior, unless
        ``dispersion`` is given and the number of segments is known.
    dispersion : of the duration prior, a negative binomial with variance mean * (1 + 1 / dispersion), > 0.
    learn : find ``prior_strength``, and ``dispersion`` if there is one, for each text by hard EM, from these on.

    References
    ----------
    Eisenstein & Barzilay 2008, "Bayesian Unsupervised Topic Segmentation", EMNLP, sections 3 and 4; their
    ``bayes-seg``. Utiyama & Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation", ACL.
    """

    algorithm: ClassVar[str] = "bayesseg"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"long": {"prior": "text", "prior_strength": 400.0}}
    )
    preset: Literal["long"] | None = None
    prior: Literal["uniform", "text"] = "uniform"
    prior_strength: float = 0.5
    min_segment_tokens: int = 200
    lexical_model: Literal["unigram", "bigram"] = "unigram"
    likelihood: Literal["dirichlet", "utiyama-isahara"] = "dirichlet"
    n_segments: int | None = None
    segment_cost: float = 0.5
    mean_length: float | None = None
    dispersion: float | None = None
    learn: bool = False

    def check(self) -> None:
        """Add the rules for the model."""
        super().check()
        require(self.prior_strength > 0, "prior_strength must be > 0", self.prior_strength)
        at_least(1, self, "n_segments")
        at_least(0, self, "min_segment_tokens", "segment_cost")
        require(self.mean_length is None or self.mean_length > 0, "mean_length must be > 0 or None", self.mean_length)
        require(self.dispersion is None or self.dispersion > 0, "dispersion must be > 0 or None", self.dispersion)
        rule = "dispersion needs mean_length or n_segments"
        length = self.mean_length or self.n_segments
        require(self.dispersion is None or length is not None, rule, self.dispersion)
        idle = ("prior", "prior_strength", "segment_cost", "mean_length", "dispersion")
        given = [name for name in idle if getattr(self, name) != getattr(type(self), name)]
        rule = f"{', '.join(given)} can be given with likelihood='dirichlet' only"
        require(self.likelihood == "dirichlet" or not given, rule, self.likelihood)
        rule = "learn must be False but for likelihood='dirichlet' with prior='uniform'"
        require(not self.learn or (self.likelihood, self.prior) == ("dirichlet", "uniform"), rule, self.learn)


@dataclass(kw_only=True)
class BayesSegChunker(BayesSegParams, ExperimentalChunker, LexicalChunker):
    """Cut so that the words of each segment are likeliest to come from one distribution (`BayesSegParams`).

    >>> text = "Cats purr. Cats nap. Cats eat. Stocks fell. Stocks rose. Stocks fell."
    >>> [chunk.text for chunk in BayesSegChunker(n_segments=2, min_segment_tokens=0).chunk(text)]
    ['Cats purr. Cats nap. Cats eat. ', 'Stocks fell. Stocks rose. Stocks fell.']
    """

    def segment_terms(self, units: Units, words: Terms, limits: Limits) -> Segmentation:
        """Search; learn first, if asked to."""
        prior = PriorParameters(self.prior_strength, self._dispersion)
        if self.learn:
            prior = self._learned([(words, units.token_counts())])
        cuts, cost = self._search(words, units.token_counts(), prior)
        figures = {
            "log_likelihood": self._price(words) * (len(cuts) - 1) - cost,
            "segments": len(cuts) - 1,
            "prior_strength": prior.strength,
            "dispersion": prior.dispersion,
            "boundary_probability": partial(self._probability, words, prior),
        }
        return Segmentation(cuts, reason="likelihood", figures=figures)

    def fit(self, corpus: Iterable[str | Document]) -> Self:
        """Return this chunker with the prior learned from several texts, where ``learn`` has but one at a time."""
        require(not isinstance(corpus, (str, Document)), "corpus must be several texts", corpus)
        sentences = as_tiler(self.sentence_splitter, self.language)
        given = (text.text if isinstance(text, Document) else text for text in corpus)
        tiled = (sentences(text).strings() for text in given if text.strip())
        counted = [(self.terms(found), self.counter.counts(found)) for found in tiled]
        known = [(words, sizes) for words, sizes in counted if len(words.ids)]
        require(len(known) > 0, "corpus must have words that are not stop words", "none")
        prior = replace(self, learn=True)._learned(known)
        return replace(self, prior_strength=prior.strength, dispersion=prior.dispersion, learn=False)

    def terms(self, texts: Sequence[str]) -> Terms:
        """Return the normalized words of each text, or their pairs."""
        words = super().terms(texts)
        return pairs(words) if self.lexical_model == "bigram" else words

    @property
    def _dispersion(self) -> float | None:
        return 1.0 if self.dispersion is None and self.mean_length is not None else self.dispersion

    def _price(self, words: Terms) -> float:
        unknown = self.n_segments is None and self.likelihood == "dirichlet"
        return self.segment_cost * float(np.log(max(len(words.ids), 1))) if unknown else 0.0

    def _mean(self, n: int) -> float:
        return self.mean_length or n / (self.n_segments or 1)

    def _cost(self, words: Terms, prior: PriorParameters) -> Cost:
        if self.likelihood == "utiyama-isahara":
            cost = costs.utiyama_isahara(words)
        else:
            cost = costs.dirichlet(words, self._pseudo(words, prior.strength))
        if prior.dispersion is None or self.likelihood != "dirichlet":
            return cost
        lengths = np.arange(len(words) + 1)
        return costs.add_length_cost(cost, -log_duration(lengths, self._mean(len(words)), prior.dispersion))

    def _pseudo(self, words: Terms, strength: float) -> float | Floats:
        if self.prior == "uniform":
            return strength
        counts = np.bincount(words.ids, minlength=words.size)
        return strength * np.maximum(counts, 0.5) / len(words.ids)  # what is left out, as half a word

    def _search(self, words: Terms, sizes: Ints, prior: PriorParameters) -> tuple[Ints, float]:
        return search.cheapest_cuts(
            self._cost(words, prior),
            sizes,
            np.full(len(sizes), sizes.sum()),  # a topic is as long as it is: `sizes` cuts what is too long
            minimum=self.min_segment_tokens,
            penalty=self._price(words),
            segments=self.n_segments,
        )

    def _learned(self, texts: Sequence[tuple[Terms, Ints]]) -> PriorParameters:
        """Alternate between the best segmentations and the best prior for them, while that gains."""
        best = prior = PriorParameters(self.prior_strength, self._dispersion)
        least = np.inf
        for _ in range(_ROUNDS):
            found = [self._search(words, sizes, prior) for words, sizes in texts]
            spent = sum(cost for _, cost in found)
            if not spent < least:
                break
            least, best = spent, prior
            prior = fit_prior(
                prior,
                [(words, cuts, self._mean(len(words))) for (words, _), (cuts, _) in zip(texts, found, strict=True)],
            )
        return best

    def _probability(self, words: Terms, prior: PriorParameters) -> Floats:
        """Return how probable a boundary is in each gap, over all segmentations of any number of segments: (n - 1,)."""
        backwards = words.backwards()
        return search.boundary_probabilities(
            self._cost(words, prior), self._cost(backwards, prior), len(words), self._price(words)
        )


class PriorParameters(NamedTuple):
    """What is believed before reading: pseudo-counts of words, and how far lengths scatter, if that matters."""

    strength: float
    dispersion: float | None


def log_duration(lengths: Ints, mean: float, dispersion: float) -> Floats:
    """Return the log-probability of each length in sentences: a negative binomial, from 0, as in the reference.

    >>> log_duration(np.arange(3), 2.0, 1.0).round(6).tolist()
    [-1.386294, -1.386294, -1.673976]
    """
    from scipy.special import gammaln

    size = mean * dispersion
    odds = size * np.log(dispersion / (dispersion + 1)) - lengths * np.log(dispersion + 1)
    return np.asarray(gammaln(size + lengths) - gammaln(lengths + 1) - gammaln(size) + odds)


def fit_prior(prior: PriorParameters, texts: Sequence[tuple[Terms, Ints, float]]) -> PriorParameters:
    """Return the prior that makes given segmentations likeliest, starting from ``prior`` (L-BFGS on logarithms).

    Parameters
    ----------
    texts : of each its terms, its cuts, and the mean length of its segments in sentences.

    Raises
    ------
    NotConverged : the search for the maximum, within e^-10..e^10, ended elsewhere.
    """
    from scipy.optimize import minimize
    from scipy.special import digamma, gammaln

    counted = [(words.size, *_counted(words, cuts)) for words, cuts, _ in texts]
    lasting = [(np.diff(cuts), mean) for _, cuts, mean in texts]

    def loss(logs: Floats) -> tuple[float, Floats]:
        a, k = np.exp(logs[0]), np.exp(logs[-1])
        value, slopes = np.float64(0), np.zeros(2)
        for size, counts, totals in counted:
            value += np.sum(gammaln(size * a) - gammaln(totals + size * a)) + np.sum(gammaln(counts + a) - gammaln(a))
            slopes[0] += size * np.sum(digamma(size * a) - digamma(totals + size * a))
            slopes[0] += np.sum(digamma(counts + a) - digamma(a))
        for lengths, mean in lasting if prior.dispersion else ():
            value += np.sum(log_duration(lengths, mean, k))
            inner = digamma(mean * k + lengths) - digamma(mean * k) + np.log(k / (k + 1)) + 1 / (k + 1)
            slopes[1] += np.sum(mean * inner - lengths / (k + 1))
        return float(-value), -(slopes * (a, k))[: len(logs)]

    start = np.log([value for value in prior if value is not None])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-_MOST, _MOST)] * len(start))
    if not np.all(np.isfinite(found.x)) or not np.isfinite(found.fun):
        msg = f"the prior that makes the text likeliest was not found: {found.message}"
        raise NotConverged(msg)
    strength, *dispersion = np.exp(found.x).tolist()
    return PriorParameters(strength, dispersion[0] if dispersion else None)


def _counted(words: Terms, cuts: Ints) -> tuple[Ints, Ints]:
    """Return how often each segment has each term that it has, and how many terms it has."""
    totals = np.diff(words.edges[cuts])
    segment = np.repeat(np.arange(len(totals)), totals)
    _, counts = np.unique(segment * words.size + words.ids, return_counts=True)
    return counts, totals
