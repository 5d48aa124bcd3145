"""Search of chunks by their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import checked, require
from advchunk.records import Floats, Ints
from advchunk.retrieval.rankings import DEPTH, Ranking
from advchunk.text.search_terms import SearchVocabulary, query_terms

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_K1, _B = 1.5, 0.75
_MOST_TEXTS, _MOST_SHARE = 1000, 0.005  # of all, that have a piece of a word, where more have it than the first


class LexicalIndex:
    """Ranks texts by BM25 (Robertson and Zaragoza 2009) on words and pieces of words, alike in every language.

    Words are compared by their stems, in lower case and in one form of Unicode; numbers and parts of identifiers are
    words, too. Pieces of words, which weigh less, find other forms of a word, its compounds, and words of languages
    without a stemmer (`text.search_terms.word_terms`). Stop words count in queries that have no other words.

    A matrix of the words is made at the first search, in a few seconds for 100,000 texts. `SparseWords` gives the same
    scores in a store.

    Parameters
    ----------
    texts : the texts to search, numbered from 0.

    >>> index = LexicalIndex(["Green tea is made of leaves.", "Sailors drank rum.", "Tea and rum."])
    >>> index.search("Are there tea leaves?").chunks.tolist()
    [0, 2]
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._vocabulary = SearchVocabulary()
        self._words = self.encode(texts)

    def __len__(self) -> int:
        return len(self._words)

    def encode(self, texts: Iterable[str]) -> list[NDArray[np.int32]]:
        """Return the numbers of the words of texts, which `holding` takes."""
        rule = "texts must be a collection of strings"
        require(isinstance(texts, Iterable) and not isinstance(texts, str), rule, texts)
        texts = list(texts)
        wrong: list[Any] = [text for text in texts if not isinstance(text, str)]
        require(not wrong, rule, *wrong[:1] or [None])
        return [self._vocabulary.encode(text).astype(np.int32) for text in texts]

    def holding(self, words: Iterable[NDArray[np.int32]]) -> LexicalIndex:
        """Return an index of other texts, given their words, which later texts of this one do not change."""
        index = copy(self)
        index.__dict__.pop("_index", None)
        index._words = [*words]
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
        return self.holding([self._words[number] for number in texts.tolist()])

    def scores(self, query: str) -> Floats:
        """Return the score of each text for a query, 0 without a common term: (n,)."""
        counts, lengths, common = self._index
        weights = {term: weight for term, weight in query_terms(query).items() if term not in common}
        words = self._vocabulary.words_with(weights, counts.shape[1])
        present = np.flatnonzero(np.diff(words.indptr))
        matches = (counts[:, present] @ words[present].tocsc()).tocsc()
        frequencies = np.diff(matches.indptr)
        is_kept = frequencies <= [most_texts(weight, len(self)) for weight in weights.values()]
        common.update(compress(weights, ~is_kept))
        factors = np.repeat(rarity(frequencies, len(self)) * [*weights.values()] * is_kept, frequencies)
        scores = factors * saturation(matches.data, lengths[matches.indices], float(lengths.mean()) if len(self) else 0)
        return np.bincount(matches.indices, scores, len(self)).astype(np.float64)

    @cached_property
    def _index(self) -> _Index:
        from scipy.sparse import csr_array

        edges = np.cumsum([0, *map(len, self._words)])
        words = np.concatenate([*self._words, np.zeros(0, np.int32)])
        shape = len(self), int(words.max(initial=-1)) + 1
        counts = csr_array((np.ones(len(words), np.float32), words, edges), shape=shape)
        counts.sum_duplicates()
        return _Index(counts.tocsc(), counts @ self._vocabulary.counted[: shape[1]].astype(np.float64), set())


class _Index(NamedTuple):
    """The counts of words in n texts, (n, w), their lengths without stop words, (n,), and too common pieces."""

    counts: csc_array
    lengths: Floats
    common: set[str]


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
