"""Evidence that a sentence answers a question: windows of several lengths score, and vote for their sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from advchunk.errors import check_fields, is_integer, require
from advchunk.records import Floats, Ints
from advchunk.retrieval.lexical_index import rarity

_REACHES = 3  # a sentence farther away gets less than a twentieth of the support
_USUAL = 90.0  # tokens of a neighbor whose support has the full weight
_REACH_PER_TOKEN = 0.2  # of the budget
_MAX_TERMS = 256  # of a question
_MOST_JUDGED = 300  # windows
_RESIDUE = 1e-9  # left by rounding of a sum that is 0

PAIR = 0.2
"""Weight of two words that follow each other as in the question, where a word as rare has 1."""
PIECE, LACKING = 0.1, 0.3
"""Weights of a piece of a word that the texts have, and of one of a word that they lack."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The places of a question's terms among n sentences: its words, pieces of them, and pairs of adjacent words.

    ``terms`` (p,) are numbers in 0..t - 1, ascending; ``sentences`` (p,) ascend for each term; ``repeats`` (t,), > 0,
    count a term in the question, a piece as `PIECE` of a word, or `LACKING`, a pair as `PAIR`.
    """

    terms: Ints
    sentences: Ints
    repeats: Floats

    def counts_before(self, n: int) -> Floats:
        """Return the occurrences of each term before each sentence, and before the end: (t, n + 1)."""
        counts = np.bincount(self.terms * (n + 1) + self.sentences + 1, minlength=len(self.repeats) * (n + 1))
        return np.cumsum(counts.astype(np.float64).reshape(-1, n + 1), axis=1)

    def weights(self, n: int) -> Floats:
        """Return the weight of each term, the rarer the higher: (t,)."""
        is_first = np.diff(self.terms * n + self.sentences, prepend=-1) > 0  # of the occurrences in a sentence
        frequencies = np.bincount(self.terms[is_first], minlength=len(self.repeats))
        return rarity(frequencies, n) * self.repeats

    def most_telling(self, n: int, most: int) -> Postings:
        """Return the postings of the ``most`` terms with the highest weights."""
        if len(self.repeats) <= most:
            return self
        kept = np.sort(np.argsort(-self.weights(n), kind="stable")[:most])
        is_kept = np.isin(self.terms, kept)
        return Postings(np.searchsorted(kept, self.terms[is_kept]), self.sentences[is_kept], self.repeats[kept])


@dataclass(frozen=True, slots=True)
class WindowScoring:
    """The constants by which windows score sentences.

    Of a question with more than 256 different terms, those that are rarest in the texts are used.

    Parameters
    ----------
    lengths : lengths of the windows in tokens, each > 0.
    k1, b : parameters of BM25.
    temperature, depth : as in `neighbors.rerank_by_neighbors`, for sentences.
    weight, reach : support of a neighbor of 90 tokens at distance 0, and the distance in tokens at which it falls to
        1/e, or a fifth of the budget if that is more: who asks for more text wants more of one place.
    """

    lengths: tuple[float, ...] = (25, 75, 225, 675)
    k1: float = 0.8
    b: float = 0.75
    temperature: float = 0.3
    depth: int = 300
    weight: float = 0.1
    reach: float = 200.0

    def __post_init__(self) -> None:
        check_fields(self)
        require(len(self.lengths) > 0 and min(self.lengths) > 0, "lengths must be > 0, at least one", self.lengths)
        require(self.k1 >= 0 and 0 <= self.b <= 1, "k1 must be >= 0, and b between 0 and 1", (self.k1, self.b))
        scales = self.temperature, self.reach
        require(min(scales) > 0, "temperature and reach must be > 0", scales)
        require(is_integer(self.depth, 1), "depth must be a whole number >= 1", self.depth)
        require(self.weight >= 0, "weight must be >= 0", self.weight)

    def score(self, postings: Postings, regions: Ints, tokens: Ints, words: Ints) -> Floats:
        """Return the evidence of the words of a question for each sentence, from 0 to 1: (n,).

        Parameters
        ----------
        regions : (n,) ascending number of the run of text that each sentence is in; no window crosses two.
        tokens, words : (n,) tokens of each sentence, and its own words without stop words, by which windows are long.
        """
        n, total = len(tokens), np.zeros(len(tokens))
        if not n or not len(postings.terms):
            return total
        postings = postings.most_telling(n, _MAX_TERMS)
        counts, weights = postings.counts_before(n), postings.weights(n)
        words_before = np.concatenate([[0], np.cumsum(words)])
        for length in self.lengths:
            ends = window_ends(regions, tokens, length)
            size = (words_before[ends] - words_before[:-1]).astype(np.float64)
            norm = self.k1 * (1 - self.b + self.b * size / max(size.mean(), 1e-9))
            scores = np.zeros(n)
            for before, weight in zip(counts, weights.tolist(), strict=True):
                count = before.take(ends) - before[:-1]
                scores += weight * count / (count + norm)
            total += self.soften(_means(scores, ends))
        return total / len(self.lengths)

    def judge(
        self, evidence: Floats, score: Callable[[Ints, Ints], Floats], regions: Ints, tokens: Ints, length: float
    ) -> Floats:
        """Return the evidence of a model for each sentence, from 0 to 1: (n,).

        ``score`` returns its score of each window, given their starts and ends: those of ``length`` tokens that start
        at the 300 sentences with the most ``evidence`` (n,) of another kind, > 0.
        """
        starts = np.argsort(-evidence, kind="stable")[: min(_MOST_JUDGED, np.count_nonzero(evidence > 0))]
        if not len(starts):
            return np.zeros(len(evidence))
        starts, ends = np.sort(starts), window_ends(regions, tokens, length)
        values, is_judged = np.zeros((2, len(evidence)))
        values[starts], is_judged[starts] = score(starts, ends[starts]), 1.0
        values[starts] -= values[starts].min()
        share = _means(is_judged, ends)
        return self.soften(_means(values, ends) / np.where(share > 0, share, 1.0))

    def soften(self, scores: Floats) -> Floats:
        """Return scores as evidence: 1 for the best, near 0 from the ``depth``-th on, and 0 for scores of 0."""
        evidence, depth = np.zeros(len(scores)), min(self.depth, len(scores))
        best = np.argpartition(-scores, depth - 1)[:depth]
        last = max(float(scores[best].min()), 0.0) if depth == self.depth else 0.0
        best = best[scores[best] > 0]
        evidence[best] = soften(scores[best], last, self.temperature)
        return evidence

    def support(self, evidence: Floats, documents: Ints, tokens: Ints, middles: Floats, budget: float = 0) -> Floats:
        """Return evidence with that of the sentences nearby in the same document, in proportion to their tokens: (n,).

        Parameters
        ----------
        documents : (n,) the number of each sentence's document, ascending.
        middles : (n,) tokens of the document before the middle of each sentence, ascending in each document.
        budget : tokens of the passages that are wanted.
        """
        reach = max(self.reach, budget * _REACH_PER_TOKEN)
        scores, weights = evidence.copy(), evidence * tokens * (self.weight / _USUAL)
        for step in range(1, len(evidence)):
            distances = middles[step:] - middles[:-step]
            near = (documents[step:] == documents[:-step]) & (distances <= _REACHES * reach)
            if not near.any():
                break
            kernel = np.where(near & (distances > 0), np.exp(-np.maximum(distances, 0) / reach), 0)
            scores[:-step] += kernel * weights[step:]
            scores[step:] += kernel * weights[:-step]
        if reach > self.reach and len(scores):  # the best sentence of a smaller budget stays the best
            scores[self.support(evidence, documents, tokens, middles).argmax()] = scores.max()
        return scores


def soften(scores: Floats, last: float, temperature: float) -> Floats:
    """Return scores as evidence: 1 for the best, and 1/e for one that is a ``temperature`` of the way to ``last``."""
    first = float(scores.max(initial=-np.inf))
    spread = temperature * (first - last)
    evidence: Floats = np.exp((scores - first) / spread) if spread > 0 else np.ones(len(scores))
    return evidence


def window_ends(regions: Ints, tokens: Ints, length: float) -> Ints:
    """Return the end of the window from each sentence on, of at least one and up to ``length`` tokens: (n,)."""
    before = np.concatenate([[0], np.cumsum(tokens)])
    ends = np.searchsorted(before, before[:-1] + length, "right") - 1
    return np.minimum(np.maximum(ends, np.arange(len(tokens)) + 1), np.searchsorted(regions, regions, "right"))


def _means(values: Floats, ends: Ints) -> Floats:
    """Return the mean value of the windows that contain each sentence: (n,); window i ends before ``ends[i]``."""
    steps, ones = np.append(values, 0.0), np.append(np.ones(len(values)), 0.0)
    np.subtract.at(steps, ends, values)
    np.subtract.at(ones, ends, 1.0)
    means: Floats = np.cumsum(steps)[:-1] / np.cumsum(ones)[:-1]
    return np.where(means > _RESIDUE, means, 0.0)
