"""Search of chunks by their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import compress
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import checked, require
from advchunk.records import Floats, Ints
from advchunk.retrieval.rankings import DEPTH, Ranking
from advchunk.text.search_terms import SearchVocabulary, query_terms

Matches: TypeAlias = tuple[Ints, Ints, Ints]
"""The terms that texts have, the texts, and how often they have them: (p,) each, by term and text."""

_K1, _B = 1.5, 0.75
_MOST_TEXTS, _MOST_SHARE = 1000, 0.005  # of all, that have a piece of a word, where more have it than the first


class LexicalIndex:
    """Ranks texts by BM25 (Robertson and Zaragoza 2009) on words and pieces of words, alike in every language.

    Words are compared by their stems, in lower case and in one form of Unicode; numbers and parts of identifiers are
    words, too. Pieces of words, which weigh less, find other forms of a word, its compounds, and words of languages
    without a stemmer (`text.search_terms.word_terms`). Stop words count in queries that have no other words.

    `SparseWords` gives the same scores in a store.

    Parameters
    ----------
    texts : the texts to search, numbered from 0.

    >>> index = LexicalIndex(["Green tea is made of leaves.", "Sailors drank rum.", "Tea and rum."])
    >>> index.search("Are there tea leaves?").chunks.tolist()
    [0, 2]
    """

    @checked
    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._vocabulary, self._parts, self._common = SearchVocabulary(), list[_Part](), set[str]()
        self._parts = self.joined(self.encode(texts))._parts

    def __len__(self) -> int:
        return sum(len(part.words) for part in self._parts)

    def encode(self, texts: Iterable[str]) -> list[NDArray[np.int32]]:
        """Return the numbers of the words of texts, which `joined` takes."""
        rule = "texts must be a collection of strings"
        require(isinstance(texts, Iterable) and not isinstance(texts, str), rule, texts)
        texts = list(texts)
        wrong: list[Any] = [text for text in texts if not isinstance(text, str)]
        require(not wrong, rule, *wrong[:1] or [None])
        return [self._vocabulary.encode(text).astype(np.int32) for text in texts]

    def joined(self, words: Iterable[NDArray[np.int32]]) -> LexicalIndex:
        """Return an index of the texts and, after them, of others, given their words, in time for these on average."""
        index, parts, last = copy(self), [*self._parts], [*words]
        while last and parts and len(parts[-1].words) <= 2 * len(last):  # parts are few, and a text seldom moves
            last = [*parts.pop().words, *last]
        index._parts = [*parts, _Part.of(last, self._vocabulary)] if last else parts
        index._common = set()  # pieces of words that too many texts have
        return index

    @checked
    def search(self, query: str, depth: int | None = DEPTH) -> Ranking:
        """Return the best texts for a query, at most ``depth`` >= 1; texts without a term of the query are not
        returned.

        An empty ranking has a ``reason``.
        """
        return Ranking.from_scores(self.scores(query), depth, above=0).explained(query)

    def part(self, texts: Ints) -> LexicalIndex:
        """Return an index of some of the texts, whose scores depend on these alone."""
        index, words = copy(self), [own for part in self._parts for own in part.words]
        index._parts = []
        return index.joined(words[number] for number in texts.tolist())

    @checked
    def scores(self, query: str) -> Floats:
        """Return the score of each text for a query, 0 without a common term: (n,)."""
        terms, common = query_terms(query).items(), self._common
        weights = {term: weight for term, weight in terms if weight >= 1 or term not in common}
        words, owners = self._vocabulary.words_with(weights)
        matches = [part.matches(words, owners) for part in self._parts]
        counts = (np.bincount(own[0], minlength=len(weights)) for own in matches)
        frequencies = sum(counts, np.zeros(len(weights), np.int64))
        is_kept = frequencies <= [most_texts(weight, len(self)) for weight in weights.values()]
        self._common.update(compress(weights, ~is_kept))
        factors = rarity(frequencies, len(self)) * [*weights.values()] * is_kept
        mean = sum(float(part.lengths.sum()) for part in self._parts) / max(len(self), 1)
        scores = (
            score_matches(own, factors, part.lengths, mean) for part, own in zip(self._parts, matches, strict=True)
        )
        return np.concatenate([np.zeros(0), *scores])


class _Part(NamedTuple):
    """The words of m texts, and the lengths of these without stop words, (m,).

    ``texts`` from ``edges[i]`` to ``edges[i + 1]`` are those that have word i, each as often as it has it.
    """

    words: list[NDArray[np.int32]]
    edges: Ints
    texts: NDArray[np.int32]
    lengths: Floats

    @classmethod
    def of(cls, words: list[NDArray[np.int32]], vocabulary: SearchVocabulary) -> Self:
        numbers, owners = np.concatenate(words), np.repeat(np.arange(len(words)), [*map(len, words)])
        sorted_words, texts = np.divmod(np.sort(numbers.astype(np.int64) * len(words) + owners), len(words))
        edges = np.searchsorted(sorted_words, np.arange(int(numbers.max(initial=-1)) + 2))
        lengths = np.bincount(owners, vocabulary.counted[numbers], len(words)).astype(np.float64)
        return cls(words, edges, texts.astype(np.int32), lengths)

    def matches(self, words: Ints, terms: Ints) -> Matches:
        """Return the matches of terms, given the words that have them."""
        firsts, ends = self.edges[np.minimum([words, words + 1], len(self.edges) - 1)]  # none of a later word
        many = ends - firsts
        places = np.repeat(firsts - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
        return matches_of(np.repeat(terms, many), self.texts[places], len(self.words))


def matches_of(terms: Ints, texts: NDArray[np.integer[Any]], n: int) -> Matches:
    """Return the matches of occurrences of terms in n texts; it is faster if those of each term are nearly sorted."""
    pairs = np.sort(terms * n + texts, kind="stable")
    firsts = np.flatnonzero(np.diff(pairs, prepend=-1))
    return *np.divmod(pairs[firsts], n), np.diff(firsts, append=len(pairs))


def score_matches(matches: Matches, factors: Floats, lengths: Ints | Floats, mean: float) -> Floats:
    """Return the score of each text, given the factor of each term: (n,)."""
    terms, texts, counts = matches
    weights = factors[terms] * saturation(counts, lengths[texts], mean)
    return np.bincount(texts, weights, len(lengths)).astype(np.float64)


def rarity(frequencies: Ints, n: int) -> Floats:
    """Return Lucene's inverse document frequency of terms that so many of n texts have."""
    weights: Floats = np.log(1 + (n - frequencies + 0.5) / (frequencies + 0.5))
    return weights


def most_texts(weight: float, n: int) -> int:
    """Return the most of n texts that may have a term, by its weight in a query; commoner pieces only take time."""
    return n if weight >= 1 else max(_MOST_TEXTS, int(_MOST_SHARE * n))


def saturation(counts: Ints | Floats, lengths: Ints | Floats, mean: float) -> Floats:
    """Return the (m,) BM25 weights, 0 to 1, of a term in the texts that have it. ``lengths`` (m,) are in words without
    stop words, of which a text has ``mean`` on average.
    """
    weights: Floats = counts / (counts + _K1 * (1 - _B + _B * lengths / max(mean, 1e-9)))
    return weights


class PartedIndex:
    """Ranks the texts of an index in parts, such as the chunks of each level, as if each part was an index of its own.

    Long texts have more words than short ones, so in one ranking neither would be compared with its like.

    Parameters
    ----------
    parts : flags of the texts of each part, (n,), or (m,) with m > n.

    >>> index = LexicalIndex(["Green tea.", "Black tea.", "Green tea. Black tea."])
    >>> parts = PartedIndex(index, [np.array([True, True, False]), np.array([False, False, True])])
    >>> np.flatnonzero(parts.scores("Green tea?")).tolist()
    [0, 1, 2]
    """

    @checked
    def __init__(self, index: LexicalIndex, parts: Sequence[NDArray[np.bool_]]) -> None:
        numbers = [np.flatnonzero(part[: len(index)]) for part in parts]
        self._parts = [(own, index.part(own)) for own in numbers]
        self._length = len(index)

    def scores(self, query: str) -> Floats:
        """Return the score of each text for a query, 0 without a common term: (n,)."""
        scores = np.zeros(self._length)
        for numbers, index in self._parts:
            scores[numbers] = index.scores(query)
        return scores
