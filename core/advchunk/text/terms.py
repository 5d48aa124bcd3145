"""Normalized words of a text, as counted by the lexical algorithms."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from advchunk.errors import import_extra, require
from advchunk.records import Ints
from advchunk.text.detection import AUTO, UNDETERMINED, language_of, tell_language
from advchunk.text.scripts import UNSPACED
from advchunk.text.sentences import language_code

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WordSplitter: TypeAlias = Callable[[str], Sequence[str]]
"""A callable from a text to its words, in reading order."""

StopWords: TypeAlias = Literal["snowball", "glasgow", "none"]
Stemmer: TypeAlias = Literal["snowball", "porter", "none"]

_FEW = 20  # texts that tell their language together
_UNSPACED = f"[{UNSPACED}]"  # pairs of characters serve as words


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The terms of n units: ``ids`` (m,), 0..size - 1 and equal for equal terms, and ``edges`` (n + 1,), the units'
    offsets in these. Stop words are not in ``ids`` but counted in ``size``: the author could have used them.
    """

    ids: Ints
    edges: Ints
    size: int

    def __len__(self) -> int:
        return len(self.edges) - 1

    def counts(self) -> "csr_array":
        """Return the count of each term in each unit: (n, size), sparse."""
        from scipy.sparse import csr_array

        counts = csr_array((np.ones(len(self.ids)), self.ids, self.edges), shape=(len(self), self.size), copy=True)
        counts.sum_duplicates()
        return counts


def terms_of(
    texts: Iterable[Sequence[str]], form: Callable[[str], str] = str, left_out: Collection[str] = frozenset()
) -> Terms:
    """Map words of n units to terms by first appearance; those ``left_out`` (lower case) only count in ``size``."""
    return _encode(texts, _Numbers(form, left_out))


def _encode(texts: Iterable[Sequence[str]], numbers: "_Numbers") -> Terms:
    edges = [0]

    def words() -> Iterator[Sequence[str]]:
        for text in texts:
            edges.append(edges[-1] + len(text))
            yield text

    ids = np.fromiter(map(numbers.__getitem__, chain.from_iterable(words())), dtype=np.int64)
    kept = ids >= 0
    return Terms(ids[kept], np.r_[0, np.cumsum(kept)][edges], len(numbers.of_forms))


class _Numbers(dict[str, int]):
    """The term number of each word; -1 for a word that is left out."""

    def __init__(self, form: Callable[[str], str], left_out: Collection[str]) -> None:
        super().__init__()
        self.of_forms, self._form, self._left_out = dict[str, int](), form, left_out
        self._next = count()  # of its own, so that two threads do not give one number twice

    def __missing__(self, word: str) -> int:
        form = self._form(word)
        if (number := self.of_forms.get(form)) is None:
            number = self.of_forms.setdefault(form, next(self._next))
        self[word] = number = -1 if word.lower() in self._left_out else number
        return number


def bigrams(words: Terms) -> Terms:
    """Return the pairs of neighboring terms (bigrams) in each unit."""
    unit = np.repeat(np.arange(len(words)), np.diff(words.edges))
    inner = unit[1:] == unit[:-1]
    distinct, ids = np.unique((words.ids[:-1] * words.size + words.ids[1:])[inner], return_inverse=True)
    many = np.maximum(np.diff(words.edges) - 1, 0)
    return Terms(ids.astype(np.int64), np.r_[0, np.cumsum(many)], len(distinct))


def check_language(language: str) -> str:
    """Return the code of a language, or "auto"; raise `ConfigurationError` for anything else."""
    is_code = isinstance(language, str) and language_code(language).isalpha() and len(language_code(language)) <= 3
    require(is_code or language == AUTO, "language must be a code, such as 'en', or 'auto'", language)
    return language


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The normalization of words (see `chunkers.lexical.LexicalParams`); "auto" is the language of all texts."""

    lowercase: bool = True
    stop_words: StopWords = "snowball"
    stemmer: Stemmer = "snowball"
    language: str = "en"

    def encode(self, texts: Iterable[str], split: WordSplitter | None = None) -> tuple[Terms, list[str]]:
        """Return the terms of texts, and the string of each term number."""
        texts = texts if isinstance(texts, Sequence) else list(texts)
        language = language_of_all(texts) if self.language == AUTO else self.language
        stemmer, forms = make_stemmer(self.stemmer, language), dict[str, None]()

        def form(word: str) -> str:
            term = stemmer(word.lower() if self.lowercase else word)
            forms[term] = None  # numbered in the order of first appearance
            return term

        left_out = stop_words(self.stop_words, language)
        return terms_of(map(split or word_tokens, texts), form, left_out), list(forms)


def language_of_all(texts: Sequence[str]) -> str:
    """Return the code of the language of most of some texts; English if none can be told."""
    codes = Counter(code for code in map(tell_language, texts) if code != UNDETERMINED)
    return max(codes, key=lambda code: codes[code]) if codes else language_of(" ".join(texts[:_FEW]))


def word_tokens(text: str) -> list[str]:
    """Return the words of a text, without numbers; for a script without spaces, pairs of characters."""
    return _words(text, r"\p{L}")


def searchable_words(text: str) -> list[str]:
    """Return the words and numbers of a text, for search; for a script without spaces, pairs of characters."""
    return _words(text, r"[\p{L}\p{N}]")


def make_stemmer(stemmer: Stemmer, language: str) -> Callable[[str], str]:
    """Return a function that stems a lower-case word; in a language without a stemmer, it returns the word."""
    from Stemmer import Stemmer as Snowball

    name = {"snowball": language_code(language), "porter": "porter", "none": ""}[stemmer]
    try:
        snowball = Snowball(name)
    except KeyError:
        return str
    snowball.maxCacheSize = 0  # callers keep the stems of words; its cache takes longer than to stem
    stem: Callable[[str], str] = snowball.stemWord

    def stem_safely(word: str) -> str:
        try:
            return stem(word)
        except UnicodeEncodeError:  # an unpaired surrogate
            return word

    return stem_safely


@cache
def stop_words(which: StopWords, language: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case, if any; "glasgow", as in BayesSeg, needs scikit-learn."""
    code = language_code(language)
    if which == "snowball":
        lists = json.loads(files("advchunk.text").joinpath("stop_words.json").read_text(encoding="utf-8"))
        return frozenset(lists.get(code, "").split())
    if which == "glasgow":
        return frozenset(import_extra("sklearn.feature_extraction.text", "cluster").ENGLISH_STOP_WORDS)
    return frozenset()


def _words(text: str, content: str) -> list[str]:
    """Return words that start with a character of the class ``content``."""
    in_ascii, spaced, mixed, unspaced, valid = _patterns(content)
    text = text.replace("’", "'")
    if text.isascii() or not unspaced.search(text):
        words: list[str] = (in_ascii if text.isascii() else spaced).findall(text)
        return words
    words = mixed.findall(text)
    runs = ([run[i : i + 2] for i in range(len(run) - 1)] if unspaced.match(run) else [] for run in words)
    return [piece for run, pairs in zip(words, runs, strict=True) for piece in pairs or [run] if valid.search(piece)]


@cache
def _patterns(content: str) -> tuple[Any, ...]:
    """Return patterns of words: in ASCII, in scripts with spaces, which is faster, and in any text."""
    import regex

    spaced = rf"{content}[\p{{L}}\p{{M}}\p{{N}}]*+(?:'(?=\p{{L}})[\p{{L}}\p{{M}}\p{{N}}]++)*+"
    within = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_UNSPACED}]|'(?=\p{{L}})"
    mixed = rf"(?V1){_UNSPACED}+|[{content}--{_UNSPACED}](?:{within})*"
    first = "A-Za-z0-9" if r"\p{N}" in content else "A-Za-z"
    in_ascii = re.compile(rf"[{first}][A-Za-z0-9]*+(?:'(?=[A-Za-z])[A-Za-z0-9]++)*+")  # three times as fast as regex
    return in_ascii, *map(regex.compile, (spaced, mixed, _UNSPACED, content))
