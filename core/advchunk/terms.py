"""The words of a text, normalised: what the lexical algorithms count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from advchunk.errors import MissingExtra
from advchunk.records import Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WordSplitter: TypeAlias = Callable[[str], Sequence[str]]
"""Finds the words of a text, in reading order."""

StopWords: TypeAlias = Literal["snowball", "glasgow", "none"]
Stemmer: TypeAlias = Literal["snowball", "porter", "none"]

# Scripts that are written without spaces: pairs of characters stand for their words.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = rf"(?V1){_UNSPACED}+|[\p{{L}}--{_UNSPACED}](?:[[\p{{L}}\p{{M}}\p{{N}}]--{_UNSPACED}]|['’](?=\p{{L}}))*"

# By language, the name of its list in bm25s.stopwords, which are Snowball's.
_SNOWBALL = {
    "da": "DANISH", "de": "GERMAN", "en": "EN_PLUS", "es": "SPANISH", "fr": "FRENCH", "it": "ITALIAN", "ko": "KOREAN",
    "nl": "DUTCH", "no": "NORWEGIAN", "pt": "PORTUGUESE", "ru": "RUSSIAN", "sv": "SWEDISH", "tr": "TURKISH",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The terms of n units, in reading order.

    Parameters
    ----------
    ids : (m,) a number for each term, 0..size - 1; equal for equal terms.
    edges : (n + 1,) where each unit's terms begin in ``ids``; the last is m.
    size : how many distinct terms the text has. They may be more than are counted in ``ids``: those
        that were left out are still words that the author could have used.
    """

    ids: Ints
    edges: Ints
    size: int

    def __len__(self) -> int:
        return len(self.edges) - 1

    def counts(self) -> csr_array:
        """Return how often each unit has each term: (n, size), sparse."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.ids), dtype=np.float64)
        found = csr_array((ones, self.ids, self.edges), shape=(len(self), self.size))
        found.sum_duplicates()
        return found

    def pairs(self) -> Terms:
        """Return the terms' pairs (bigrams), of neighbours in one unit."""
        unit = np.repeat(np.arange(len(self)), np.diff(self.edges))
        inner = unit[1:] == unit[:-1]
        codes = (self.ids[:-1] * self.size + self.ids[1:])[inner]
        distinct, ids = np.unique(codes, return_inverse=True)
        counts = np.maximum(np.diff(self.edges) - 1, 0)
        return Terms(ids.astype(np.int64), np.r_[0, np.cumsum(counts)], len(distinct))


def terms_of(
    texts: Iterable[Sequence[str]], form: Callable[[str], str] = str, left_out: Collection[str] = frozenset()
) -> Terms:
    """Give a number to each of the terms of units, which are given word by word, in the order of their first appearance.

    Parameters
    ----------
    form : what of a word is compared.
    left_out : words, in lower case, that are not counted. Their forms still are in ``size``.

    >>> terms = terms_of([["Cat", "the", "cat"], [], ["dog"]], str.lower, {"the"})
    >>> terms.ids.tolist(), terms.edges.tolist(), terms.size
    ([0, 0, 2], [0, 2, 2, 3], 3)
    """
    number, known = dict[str, int](), dict[str, int]()
    ids, edges = list[int](), [0]
    for text in texts:
        for word in text:
            if word not in known:
                i = number.setdefault(form(word), len(number))
                known[word] = -1 if word.lower() in left_out else i
        ids += [i for word in text if (i := known[word]) >= 0]
        edges.append(len(ids))
    return Terms(np.array(ids, dtype=np.int64), np.array(edges, dtype=np.int64), len(number))


def words(text: str) -> list[str]:
    """Return the words of a text, without its numbers; of a script without spaces, the pairs of its characters.

    >>> words("Don't move 3 boats: 天気予報")
    ["Don't", 'move', 'boats', '天気', '気予', '予報']
    """
    word, unspaced = _patterns()
    found: list[str] = word.findall(text.replace("’", "'"))
    if not unspaced.search(text):
        return found
    return [piece for run in found for piece in (_pairs(run) if unspaced.match(run) else [run])]


def stem(stemmer: Stemmer, language: str) -> Callable[[str], str]:
    """Return what takes the endings off a word in lower case; in a language without a stemmer it takes none.

    "snowball" has some thirty languages; "porter" is the original English one.

    >>> stem("snowball", "en")("sailing")
    'sail'
    """
    from Stemmer import Stemmer as Snowball

    name = {"snowball": language, "porter": "porter" if language == "en" else "", "none": ""}[stemmer]
    try:
        found: Callable[[str], str] = Snowball(name).stemWord
    except KeyError:
        return str
    return found


@cache
def stop_words(which: StopWords, language: str) -> frozenset[str]:
    """Return the words of a language that say nothing of a topic, in lower case; of some, none are known.

    "snowball" has short lists of thirteen languages (179 English words); "glasgow" is a longer one of English (318),
    which the reference implementation of BayesSeg uses, and needs scikit-learn.
    """
    if which == "snowball" and language in _SNOWBALL:
        from bm25s import stopwords

        return frozenset(getattr(stopwords, f"STOPWORDS_{_SNOWBALL[language]}"))
    if which == "glasgow" and language == "en":
        try:
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
        except ImportError:
            raise MissingExtra("scikit-learn", "cluster") from None  # noqa: EM101
        return frozenset(ENGLISH_STOP_WORDS)
    return frozenset()


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


@cache
def _patterns() -> tuple[Any, Any]:
    import regex

    return regex.compile(_WORD), regex.compile(_UNSPACED)
