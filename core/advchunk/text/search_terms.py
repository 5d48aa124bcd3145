"""The terms by which texts are searched: stems of words and pieces of words, alike in every language."""
# ruff: noqa: RUF001 - the letters of many scripts are the subject here

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from threading import Lock
from typing import Any, Final, NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from advchunk.records import Ints
from advchunk.text.scripts import COMPLEX, HAN, KANA, UNSPACED
from advchunk.text.terms import make_stemmer, stop_words

PIECE_WEIGHT: Final = 0.2
"""Weight of a piece of a word in a query, where a word has 1."""

_LENGTH, _SHORT_LENGTH = 4, 3  # characters of a piece, of a word between its edges; in scripts whose words are short
_EDGE = "_"
_RUN = "~"  # before a run of characters, which is not the word that is spelled alike
# The stemmer of each script, by its letters; languages that share a script are found by pieces.
_STEMMERS = {"a-z": "en", "\u0400-\u052f": "ru", "\u0370-\u03ff\u1f00-\u1fff": "el", "\u0600-\u06ff": "ar",
             "\u0900-\u097f": "hi", "\u0530-\u058f": "hy", "\u0b80-\u0bff": "ta"}  # fmt: skip
_LONGEST = 64  # characters of a word, such as a key in base 64, that have pieces
_LEAST_PART = 3  # letters of a part of a name in camel case, or after an apostrophe
_SHORT = re.compile("[\u0590-\u08ff\u1100-\u11ff\uac00-\ud7af]")  # Hebrew, Arabic, and Hangul
_REMEMBERED = 2**15  # words
_SUPERSCRIPT = re.compile("[⁰¹²³⁴-⁹]+")  # the number of a note is no part of the word before it
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")  # soft hyphens and joiners
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")  # accents, and the points of Hebrew and Arabic
_HYPHENS = re.compile("[‐‑]")
_OTHER_MARKS = re.compile("[‒-…‰-‾←-⏿─-❵➔-➿«°±·»]")  # without them, most texts in English are ASCII
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALIKE = str.maketrans({"ı": "i", "\u0307": None, "’": "'"})  # the dot is of İ in lower case


class WordTerms(NamedTuple):
    """The terms of a word, each once: its stem, "" for a compound whose words stand before it, and its pieces."""

    stem: str
    pieces: tuple[str, ...]


def split_words(text: str) -> list[str]:
    """Return the words of a text in reading order; a compound with hyphens follows its words. In scripts without
    spaces, pairs of characters serve as words, or three of those of Southeast Asia.

    >>> split_words("He reads e-mails in C++: 天気予報")
    ['He', 'reads', 'e', 'mails', 'e-mails', 'in', 'C++', '天気', '気予', '予報']
    """
    if not text.isascii():
        text = normalize("NFKC", _INVISIBLE.sub("", _SUPERSCRIPT.sub(r" \g<0>", text))).replace("’", "'")
        text = _OTHER_MARKS.sub(";", _HYPHENS.sub("-", text))
    in_ascii, any_text, runs = _patterns()
    words = (in_ascii if text.isascii() else any_text).findall(text)
    if "-" in text:
        words = [part for word in words for part in ((*word.split("-"), word) if "-" in word else (word,))]
    return words if text.isascii() or not runs.search(text) else [*chain.from_iterable(map(_runs_of, words))]


def _runs_of(word: str) -> Iterator[str]:
    """Yield the parts of a word, divided where a script without spaces begins or ends."""
    for run in _patterns()[2].split(word):
        size = _size_of(run)
        if size and len(run) > size:
            yield from (run[i : i + size] for i in range(len(run) - size + 1))
        elif run:
            yield run


@cache
def _patterns() -> tuple[Any, Any, Any]:
    """Return patterns of the words of texts in ASCII, which is faster, and of any text, and of runs without spaces."""
    import regex

    ends = r"(?:\+\+|#(?![\w#]))?"
    ascii_word = r"[A-Za-z0-9]+(?:'(?=[A-Za-z])[A-Za-z0-9]+)*"
    before = r"(?:(?<![^\s(\[\"'])\.(?=[A-Za-z]))?"
    word = r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*+(?:'(?=\p{L})[\p{L}\p{M}\p{N}]++)*+"
    return (
        re.compile(rf"{before}{ascii_word}(?:-{ascii_word})*{ends}"),
        regex.compile(rf"{before}{word}(?:-{word})*+{ends}"),
        re.compile(f"([{HAN}{KANA}]+|[{COMPLEX}]+)"),
    )


def _size_of(run: str) -> int:
    """Return the characters of a word in a script without spaces; 0 in others."""
    return 2 if re.match(f"[{HAN}{KANA}]", run) else 3 if re.match(f"[{COMPLEX}]", run) else 0


@lru_cache(_REMEMBERED)
def word_terms(word: str) -> WordTerms:
    """Return the terms of a word of `split_words`; the stem is that of the most common language of the script.

    Other forms, other languages, and compounds are found by pieces: all runs of four characters, or three in Hebrew,
    Arabic, and Hangul (McNamee and Mayfield 2004, Character N-Gram Tokenization for European Language Text Retrieval),
    the word as it is, and the parts of names in camel case.

    >>> word_terms("Häuser")
    WordTerms(stem='häuser', pieces=('~_hau', '~haus', '~ause', '~user', '~ser_'))
    """
    if "-" in word:
        return WordTerms("", (_stem(fold(word.replace("-", ""))),))
    folded = fold(word)
    if is_stop_word(word):
        return WordTerms(folded, ())
    if not word.isascii() and re.match(f"[{UNSPACED}]", word):
        return WordTerms(folded, tuple(_letters(folded)))
    bare, names = folded.strip(".+#"), _CAMEL.split(word)
    parts = bare.split("'") if len(names) == 1 else map(fold, names)
    stems = (_stem(part) for part in parts if len(part) >= _LEAST_PART and part != folded)
    stem, pieces = _stem(folded), dict.fromkeys([bare, *stems, *_runs(bare)])
    return WordTerms(stem, tuple(piece for piece in pieces if piece != stem))


def is_stop_word(word: str) -> bool:
    """Return True for a word too common in English to tell texts apart; it counts in queries without others."""
    return fold(word) in stop_words("snowball", "en")


def fold(word: str) -> str:
    """Return a word as it is compared: in lower case, with "ss" for ß, and i for every i of Turkish."""
    return word.lower() if word.isascii() else word.casefold().translate(_ALIKE)


def _runs(word: str) -> list[str]:
    """Return all runs of characters of a word between its edges, without accents and points."""
    word = word if word.isascii() else normalize("NFC", _MARKS.sub("", normalize("NFD", word)))
    size, edged = _SHORT_LENGTH if _SHORT.search(word) else _LENGTH, f"{_EDGE}{word[:_LONGEST]}{_EDGE}"
    return [_RUN + edged[i : i + size] for i in range(len(edged) - size + 1)]


def _letters(run: str) -> dict[str, None]:
    """Return the single characters of a pair of Chinese letters, or the pairs of three of Southeast Asia."""
    size = _size_of(run) - 1
    parts = dict.fromkeys(run[i : i + size] for i in range(len(run) - size + 1)) if len(run) > size else {}
    return {part: None for part in parts if not re.match(f"[{KANA}]", part)}


def _stem(word: str) -> str:
    for pattern, stem in _stemmers():
        if pattern.match(word):
            return stem(word)
    return word


@cache
def _stemmers() -> list[tuple[re.Pattern[str], Callable[[str], str]]]:
    return [(re.compile(f"[{letters}]"), make_stemmer("snowball", code)) for letters, code in _STEMMERS.items()]


def term_counts(text: str) -> tuple[Counter[str], int]:
    """Return the count of each term in a text, and its length: the words that are not stop words."""
    counts, length = Counter[str](), 0
    for word, count in Counter(split_words(text)).items():
        stem, pieces = word_terms(word)
        for term in (stem, *pieces) if stem else pieces:
            counts[term] += count
        length += count * is_counted(word)
    return counts, length


def is_counted(word: str) -> bool:
    """Return True for a word that counts in the length of a text: no stop word, and no compound beside its words."""
    return word_terms(word).stem != "" and not is_stop_word(word)


def query_words(query: str) -> list[str]:
    """Return the words of a query without stop words; with them if it has no others."""
    words = split_words(query)
    return [word for word in words if not is_stop_word(word)] or words


def query_terms(query: str) -> dict[str, float]:
    """Return the weight of each term of a query, in the order of its first word; a repeated one weighs more."""
    weights = defaultdict[str, float](float)
    for stem, pieces in map(word_terms, query_words(query)):
        if stem:
            weights[stem] += 1.0
        for piece in pieces:
            weights[piece] += PIECE_WEIGHT
    return dict(weights)


class SearchVocabulary:
    """Numbers the words of texts, and knows which of them have a term; any number of threads may use it."""

    def __init__(self) -> None:
        self._numbers, self._lock = _WordNumbers(self._learn), Lock()
        self._having = defaultdict[str, list[int]](list)  # the words that have a term
        self._stems, self._counted = list[str](), bytearray()  # of each word

    def __len__(self) -> int:
        return len(self._stems)

    def __getstate__(self) -> dict[str, Any]:
        return {"words": list(self._numbers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        for word in state["words"]:
            self._learn(word)

    def _learn(self, word: str) -> int:
        with self._lock:
            if (number := self._numbers.get(word)) is None:
                stem, pieces = word_terms(word)
                number = len(self._stems)
                self._stems.append(stem)
                self._counted.append(stem != "" and not is_stop_word(word))
                for term in (stem, *pieces) if stem else pieces:  # last, for those who read meanwhile
                    self._having[term].append(number)
                self._numbers[word] = number
        return number

    def stem(self, word: int) -> str:
        """Return the stem of the word of a number."""
        return self._stems[word]

    def encode(self, text: str) -> Ints:
        """Return the number of each word of a text, in reading order."""
        return np.fromiter(map(self._numbers.__getitem__, split_words(text)), dtype=np.int64)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """True for each word that counts in the length of a text."""
        return np.frombuffer(bytes(self._counted), dtype=bool)

    def words_with(self, terms: Iterable[str]) -> tuple[Ints, Ints]:
        """Return the pairs of a word and one of some terms that it has: the numbers of both, (p,) each, by term."""
        words = [np.array(self._having.get(term, ()), dtype=np.int64) for term in terms]
        owners = np.repeat(np.arange(len(words)), [*map(len, words)])
        return np.concatenate([np.zeros(0, np.int64), *words]), owners


class _WordNumbers(dict[str, int]):
    """The number of each word; a new one is learned."""

    def __init__(self, learn: Callable[[str], int]) -> None:
        super().__init__()
        self._learn = learn

    def __missing__(self, word: str) -> int:
        return self._learn(word)
