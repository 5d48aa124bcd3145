"""Search of chunks by their words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import require
from advchunk.records import Floats, Ints
from advchunk.retrieval.rankings import DEPTH, Ranking
from advchunk.text.detection import AUTO, UNDETERMINED, query_language, tell_language
from advchunk.text.terms import (
    Terms,
    Wording,
    check_language,
    import_bm25s,
    language_of_all,
    make_stemmer,
    searchable_words,
    stop_words,
)

if TYPE_CHECKING:
    from bm25s import BM25

_K1, _B = 1.5, 0.75  # of bm25s, which computes the scores in memory


class TextTerms(NamedTuple):
    """The numbers of the terms of a text, in reading order, and the code of the language of their stems."""

    ids: NDArray[np.int32]
    language: str


class LexicalIndex:
    """Ranks texts by BM25 (Robertson and Zaragoza 2009), which bm25s computes, on word stems without stop words.

    Words are runs of letters and digits, in lower case, so numbers and parts of identifiers are found; scripts without
    spaces are searched by pairs of characters. Texts can be added and removed; the scores are computed again at the next
    search, from terms that are kept, in a few seconds for 100,000 texts. `SparseWords` gives the same scores in a store.

    Parameters
    ----------
    texts : the texts to search, numbered from 0.
    language : code of the language of the stems and stop words, such as "en" or "de"; a language without a stemmer or a list
        is searched without. "auto" tells that of each text, if it says too little that of most, and a query is searched by
        its words in each of these languages.

    >>> index = LexicalIndex(["Green tea is made of leaves.", "Sailors drank rum.", "Tea and rum."])
    >>> index.search("Are there tea leaves?").chunks.tolist()
    [0, 2]
    """

    def __init__(self, texts: Iterable[str] = (), language: str = AUTO) -> None:
        self._language = check_language(language)
        self._numbers = dict[str, int]()  # of terms
        self._terms = list[TextTerms]()  # of each text
        self.add(texts)

    def __len__(self) -> int:
        return len(self._terms)

    @property
    def language(self) -> str:
        """The code of the language."""
        return self._language

    @cached_property
    def languages(self) -> list[str]:
        """The codes of the languages of its texts, in alphabetical order."""
        return sorted({terms.language for terms in self._terms})

    def add(self, texts: Iterable[str]) -> None:
        """Add texts after the others."""
        self._terms += self.encode(texts)
        self._forget()

    def encode(self, texts: Iterable[str]) -> list[TextTerms]:
        """Return the terms of texts, which `holding` takes; in a language that is told, texts of a document help each other."""
        rule = "texts must be a collection of strings"
        require(isinstance(texts, Iterable) and not isinstance(texts, str), rule, texts)
        texts = list(texts)
        wrong: list[Any] = [text for text in texts if not isinstance(text, str)]
        require(not wrong, rule, *wrong[:1] or [None])
        encoded = list[tuple[int, TextTerms]]()
        for language, places, terms, words in _encode_by_language(texts, self._language):
            numbers = np.array([self._numbers.setdefault(word, len(self._numbers)) for word in words], dtype=np.int32)
            own = np.split(numbers[terms.ids], terms.edges[1:-1])
            encoded += [(place, TextTerms(ids, language)) for place, ids in zip(places, own, strict=True)]
        return [terms for _, terms in sorted(encoded, key=itemgetter(0))]

    def holding(self, terms: Iterable[TextTerms]) -> LexicalIndex:
        """Return an index of other texts, given their terms, which later texts of this one do not change."""
        index = copy(self)
        index._terms = [*terms]
        index._forget()
        return index

    def remove(self, texts: Iterable[int]) -> None:
        """Remove the texts of these numbers; those after them move up.

        Raises `ConfigurationError` for a number out of range.
        """
        numbers = set(texts)
        wrong = sorted(number for number in numbers if not 0 <= number < len(self))
        require(not wrong, f"texts must be numbers from 0 to {len(self) - 1}", wrong)
        self._terms = [terms for number, terms in enumerate(self._terms) if number not in numbers]
        self._forget()

    def search(self, query: str, depth: int | None = DEPTH) -> Ranking:
        """Return the best texts for a query, at most ``depth`` >= 1; texts without a word of the query are not returned."""
        return Ranking.from_scores(self.scores(query), depth, above=0)

    def part(self, texts: Ints) -> LexicalIndex:
        """Return an index of some of the texts, whose scores depend on these alone."""
        return self.holding([self._terms[number] for number in texts.tolist()])

    def scores(self, query: str) -> Floats:
        """Return the score of each text for a query, 0 without a common word: (n,)."""
        if self._index is None:
            return np.zeros(len(self))
        numbers = [self._numbers.get(term, -1) for term in query_terms(query, self.languages)]
        size = len(self._index.scores["indptr"]) - 1
        ids = [number for number in numbers if 0 <= number < size]  # later texts may have more
        if not ids:
            return np.zeros(len(self))
        scores: Floats = self._index.get_scores_from_ids(ids)
        return scores.astype(np.float64)

    @cached_property
    def _index(self) -> BM25 | None:
        ids = [terms.ids for terms in self._terms]
        if not any(map(len, ids)):
            return None
        index = import_bm25s().BM25(k1=_K1, b=_B, csc_backend="scipy")
        index.scores = index.build_index_from_ids(list(range(len(self._numbers))), ids, show_progress=False)
        return index

    def _forget(self) -> None:
        self.__dict__.pop("_index", None)
        self.__dict__.pop("languages", None)


def index_terms(texts: Iterable[str], language: str) -> list[list[str]]:
    """Return the terms of texts in a `LexicalIndex`, in reading order.

    >>> index_terms(["Green teas are green."], "en")
    [['green', 'tea', 'green']]
    """
    by_place = dict[int, list[str]]()
    for _, places, terms, words in _encode_by_language(texts, language):
        ids = [words[i] for i in terms.ids.tolist()]
        by_place.update(zip(places, (ids[start:end] for start, end in pairwise(terms.edges.tolist())), strict=True))
    return [by_place[place] for place in range(len(by_place))]


def text_languages(texts: Sequence[str], language: str) -> list[str]:
    """Return the code of the language of each text: that given, or with "auto" its own, or that of most if it says too little.

    >>> text_languages(["Der Zug fährt nicht, und die Leute warten.", "1990"], "auto")
    ['de', 'de']
    """
    if language != AUTO:
        return [language] * len(texts)
    codes, most = list(map(tell_language, texts)), language_of_all(texts)
    return [most if code == UNDETERMINED else code for code in codes]


def query_terms(query: str, languages: Sequence[str]) -> list[str]:
    """Return the terms of a query for texts in some languages, in reading order: in several, each form that a word has in one.

    Stop words of the query's own language are left out in all.

    >>> query_terms("Where are the houses?", ["de", "en"])
    ['hous']
    """
    if len(languages) < 2:
        return index_terms([query], languages[0])[0] if languages else []
    own, forms = stop_words("snowball", query_language(query, languages)), list[str]()
    rules = [(make_stemmer("snowball", code), stop_words("snowball", code)) for code in languages]
    for word in map(str.lower, searchable_words(query)):
        if word not in own:
            forms += dict.fromkeys(stem(word) for stem, left_out in rules if word not in left_out)
    return forms


def _encode_by_language(texts: Iterable[str], language: str) -> Iterator[tuple[str, list[int], Terms, list[str]]]:
    """Yield each language of some texts, the places of those in it, their terms, and the string of each term number."""
    texts = list(texts)
    places = defaultdict[str, list[int]](list)
    for place, code in enumerate(text_languages(texts, language)):
        places[code].append(place)
    for code, own in places.items():
        yield code, own, *Wording(language=code).encode([texts[place] for place in own], searchable_words)


def bm25(counts: Ints, lengths: Ints, n: int, mean: float) -> Floats:
    """Return the score of a term for the texts that have it, by the formula of `LexicalIndex`: (m,).

    Parameters
    ----------
    counts : (m,) how often each has it.
    lengths : (m,) the terms of each, of which a text has ``mean`` on average.
    n : number of all texts.
    """
    return rarity(np.array(len(counts)), n) * saturation(counts, lengths, mean)


def rarity(frequencies: Ints, n: int) -> Floats:
    """Return the inverse document frequency of terms that as many of n texts have, in the shape of ``frequencies``; Lucene's formula."""
    weights: Floats = np.log(1 + (n - frequencies + 0.5) / (frequencies + 0.5))
    return weights


def saturation(counts: Ints, lengths: Ints, mean: float) -> Floats:
    """Return the weight of a term in the texts that have it, from 0 to 1, with the parameters of `bm25`: (m,)."""
    weights: Floats = counts / (counts + _K1 * (1 - _B + _B * lengths / max(mean, 1e-9)))
    return weights


class PartedIndex:
    """Ranks the texts of an index in parts, such as the chunks of each level, as if each part was an index of its own.

    Long texts have more words than short ones, so that together neither are compared with their like.

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
        self._length, self.languages = len(index), index.languages

    def __len__(self) -> int:
        return self._length

    def scores(self, query: str) -> Floats:
        """Return the score of each text for a query, 0 without a common word: (n,)."""
        scores = np.zeros(len(self))
        for numbers, index in self._parts:
            scores[numbers] = index.scores(query)
        return scores
