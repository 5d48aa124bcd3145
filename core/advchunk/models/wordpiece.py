"""The tokenizer of uncased BERT, in the standard library and numpy.

BERT cleans, strips accents and lowers code point by code point, then splits at white space, so what a piece of
text between two white spaces becomes depends on nothing around it. Everything fast here follows: a text is
split first, and each different piece is read once and remembered.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import ClassVar

import numpy as np

from advchunk.errors import require
from advchunk.records import Ints

UNKNOWN = "[UNK]"
LONGEST_WORD = 100  # HF's max_input_chars_per_word
REMEMBERED, LONGEST_REMEMBERED = 2**16, 40  # pieces, characters: some 16 MB

_LETTER, _REMOVED, _SPACE, _APART = range(4)
_SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_ASCII_WORDS = re.compile(r"[a-z0-9]+|[^a-z0-9 ]")
# BERT removes these, where str.split would split; \0 it removes too.
_NOT_SPACE_TO_BERT = str.maketrans(dict.fromkeys("\v\f\x1c\x1d\x1e\x1f\x85", "\0"))


class WordPiece:
    """Count and encode as uncased BERT does: each word as the longest pieces that the vocabulary has.

    Equal to the ``tokenizers`` library without special tokens, whatever the Unicode version of Python. A lone
    surrogate, which that library cannot take, is removed like U+FFFD. To BERT white space is tab, line feed,
    carriage return and Unicode's category Z; form feeds and other control characters vanish between letters.

    To BERT a word that the vocabulary cannot spell, or of more than 100 characters, is one ``[UNK]`` however long,
    so that a budget in tokens would not bound a base64 string or a Thai paragraph. ``per_unknown`` departs from that.

    Parameters
    ----------
    vocabulary : the tokens, ``[UNK]`` among them; ids are places in it, continuations begin with ``##``.
    per_unknown : characters of an unknown word, as BERT reads it, for each ``[UNK]`` that stands for it, >= 1,
        rounded up; None is one for the word, as in BERT.

    Raises
    ------
    ConfigurationError : a vocabulary without ``[UNK]``, or ``per_unknown`` < 1.

    Examples
    --------
    >>> tokenizer = WordPiece(["[UNK]", "chunk", "##ing", "helps", "."])
    >>> tokenizer.encode("Chunking helps. Très!")
    [1, 2, 3, 4, 0, 0]
    >>> tokenizer("Chunking helps.")
    4
    >>> WordPiece(tokenizer.vocabulary, per_unknown=2)("Chunking helps. Très!")
    7

    References
    ----------
    Wu et al. 2016, Google's neural machine translation system, arXiv:1609.08144.
    """

    adds_up: ClassVar[bool] = True

    def __init__(self, vocabulary: Sequence[str], per_unknown: int | None = None) -> None:
        require(UNKNOWN in vocabulary, f"a vocabulary must have {UNKNOWN}", f"{len(vocabulary)} tokens")
        require(per_unknown is None or per_unknown >= 1, "per_unknown must be >= 1 or None", per_unknown)
        self.vocabulary, self.per_unknown = tuple(vocabulary), per_unknown
        self._pieces = _Pieces(self.vocabulary, per_unknown)

    def __reduce__(self) -> tuple[type[WordPiece], tuple[tuple[str, ...], int | None]]:
        return WordPiece, (self.vocabulary, self.per_unknown)

    def __call__(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        return int(self.counts((text,))[0])

    def counts(self, texts: Sequence[str]) -> Ints:
        """Return the number of tokens in each of n texts, (n,)."""
        tokens = self._pieces.__getitem__
        numbers = (sum(map(len, map(tokens, text.split()))) for text in _splittable(texts))
        return np.fromiter(numbers, np.int64, len(texts))

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens in ``text``, without special tokens around them."""
        tokens = self._pieces.__getitem__
        return [i for piece in _splittable((text,))[0].split() for i in tokens(piece)]

    def encode_many(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the ids of n texts, one text after another, and (n + 1,) bounds: text i is ``ids[b[i]:b[i+1]]``."""
        tokens = self._pieces.__getitem__
        ids: list[int] = []
        bounds = [0]
        for text in _splittable(texts):
            ids.extend(chain.from_iterable(map(tokens, text.split())))
            bounds.append(len(ids))
        return np.array(ids, np.int64), np.array(bounds, np.int64)


def _splittable(texts: Sequence[str]) -> Sequence[str]:
    """Return the texts such that `str.split` finds BERT's white space and no other."""
    everything = "\n".join(texts)
    if any(chr(code) in everything for code in _NOT_SPACE_TO_BERT):
        return [text.translate(_NOT_SPACE_TO_BERT) for text in texts]
    return texts


class _Pieces(dict[str, tuple[int, ...]]):
    """The token ids of each piece of text between two white spaces, worked out when first asked for."""

    def __init__(self, vocabulary: Iterable[str], per_unknown: int | None) -> None:
        super().__init__()
        self._starts = {token: i for i, token in enumerate(vocabulary)}
        self._tails = {token[2:]: i for token, i in self._starts.items() if token.startswith("##")}
        self._per_unknown = per_unknown
        self._longest = max(map(len, self._starts))

    def __missing__(self, piece: str) -> tuple[int, ...]:
        found: list[int] = []
        for word in basic_words(piece):
            whole = self._starts.get(word)
            if whole is None:
                found += self._parts(word)
            else:
                found.append(whole)
        ids = tuple(found)
        if len(piece) <= LONGEST_REMEMBERED:
            if len(self) >= REMEMBERED:
                self.clear()
            self[piece] = ids
        return ids

    def _parts(self, word: str) -> list[int]:
        """Return the longest start in the vocabulary, then the longest continuation, and so on."""
        if len(word) > LONGEST_WORD:
            return self._unknown(word)
        ids: list[int] = []
        tokens, start = self._starts, 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                found = tokens.get(word[start:end])
                if found is not None:
                    break
            else:
                return self._unknown(word)
            ids.append(found)
            tokens, start = self._tails, end
        return ids

    def _unknown(self, word: str) -> list[int]:
        return [self._starts[UNKNOWN]] * (-(-len(word) // self._per_unknown) if self._per_unknown else 1)


def basic_words(text: str) -> list[str]:
    """Return what BERT's normalizer and pre-tokenizer make of a text; special tokens stay whole.

    >>> basic_words("Café-owners, 37°C [SEP]")
    ['cafe', '-', 'owners', ',', '37°c', '[SEP]']
    """
    if "[" in text and len(parts := _SPECIAL.split(text)) > 1:
        # The pattern has one group, so every other part is a special token.
        return [word for i, part in enumerate(parts) for word in ([part] if i % 2 else basic_words(part))]
    if text.isascii() and text.isprintable():
        return _ASCII_WORDS.findall(text.lower())
    return text.translate(_readings()).split()


class _Readings(dict[int, str]):
    """What BERT reads for a code point: nothing, a space, something apart from its neighbors, or lower letters."""

    def __init__(self, kinds: bytes) -> None:
        super().__init__()
        self._kinds = kinds

    def __missing__(self, code: int) -> str:
        self[code] = reading = "".join(map(self._read, unicodedata.normalize("NFD", chr(code))))
        return reading

    def _read(self, char: str) -> str:
        kind = self._kinds[ord(char)]
        if kind == _LETTER:
            return char.lower()
        return f" {char} " if kind == _APART else " " if kind == _SPACE else ""


@cache
def _readings() -> _Readings:
    """Load which kind each code point is to BERT (see tools/build_embedding.py), one byte each."""
    return _Readings(zlib.decompress((files("advchunk.models") / "assets" / "bert_characters.zlib").read_bytes()))
