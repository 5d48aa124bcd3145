"""The tokenizer of uncased BERT, in the standard library and numpy.

BERT cleans, strips accents and lowercases code point by code point, then splits at white space, so the tokens of a
piece between two white spaces do not depend on the rest, and are cached by piece.
"""

import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from threading import Lock
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from advchunk.errors import require
from advchunk.records import Ints
from advchunk.text.patterns import lazy_pattern

_T = TypeVar("_T")

UNKNOWN = "[UNK]"
MAX_WORD_LENGTH = 100  # Hugging Face's max_input_chars_per_word
CACHE_SIZE, MAX_CACHED_LENGTH = 2**16, 40  # pieces, characters: about 16 MB
PER_UNKNOWN = 2  # a token budget then bounds unknown words; the row of [UNK] is zero, so vectors do not change

_LOADING = Lock()
_LETTER, _REMOVED, _SPACE, _SEPARATE = range(4)
_SPECIAL = lazy_pattern(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_ASCII_WORDS = lazy_pattern(r"[a-z0-9]+|[^a-z0-9 ]")
# BERT removes these, where str.split would split; it removes \0 too.
_ONLY_PYTHON_SPACE = "\v\f\x1c\x1d\x1e\x1f\x85"
_NOT_SPACE_TO_BERT = str.maketrans(dict.fromkeys(_ONLY_PYTHON_SPACE, "\0"))


class WordPiece:
    """Count and encode as uncased BERT does: each word as the longest pieces in the vocabulary.

    Equal to the ``tokenizers`` library without special tokens, independent of Python's Unicode version; a lone
    surrogate is removed like U+FFFD. In BERT a word that the vocabulary cannot spell, or of more than 100 characters,
    is one ``[UNK]``, so a token budget would not bound a base64 string or a Thai paragraph. With ``per_unknown`` >= 1
    it is one per so many characters after normalization, rounded up. Wu et al. 2016, arXiv:1609.08144.
    """

    adds_up: ClassVar[bool] = True

    def __init__(self, vocabulary: Sequence[str], per_unknown: int | None = None) -> None:
        require(UNKNOWN in vocabulary, f"a vocabulary must have {UNKNOWN}", f"{len(vocabulary)} tokens")
        require(per_unknown is None or per_unknown >= 1, "per_unknown must be >= 1 or None", per_unknown)
        self.vocabulary, self.per_unknown = tuple(vocabulary), per_unknown
        self._pieces = _Pieces(_Words(self.vocabulary, per_unknown))

    def __reduce__(self) -> tuple[Any, ...]:
        return WordPiece, (self.vocabulary, self.per_unknown)

    def __call__(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        pieces = self._pieces if not self._pieces.is_full else self._usable_pieces()
        return sum(map(pieces.lengths.__getitem__, map(pieces.__getitem__, splittable((text,))[0].split())))

    def counts(self, texts: Sequence[str]) -> Ints:
        """Return the number of tokens in each of n texts, (n,)."""
        pieces = self._usable_pieces()
        number, length = pieces.__getitem__, pieces.lengths.__getitem__
        return np.array([sum(map(length, map(number, text.split()))) for text in splittable(texts)], np.int64)

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens in ``text``, without adding special tokens."""
        return self._encode(splittable((text,))[0])

    def encode_many(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the concatenated ids of n texts, and (n + 1,) bounds: text i is ``ids[b[i]:b[i+1]]``."""
        tokens = list(map(self._encode, splittable(texts)))
        return np.array([*chain.from_iterable(tokens)], np.int64), np.cumsum([0, *map(len, tokens)])

    def _encode(self, text: str) -> list[int]:
        pieces = self._usable_pieces()
        return [i for piece in text.split() for i in pieces.tokens[pieces[piece]]]

    def _usable_pieces(self) -> "_Pieces":
        if self._pieces.is_full:
            self._pieces = _Pieces(self._pieces.words)
        return self._pieces


@cache
def _load_wordpiece() -> WordPiece:
    path = files("advchunk.models") / "assets" / "minilm_static_256.npz"
    with path.open("rb") as file, np.load(file, allow_pickle=False) as asset:
        return WordPiece(asset["v"].tobytes().decode().split("\n"), PER_UNKNOWN)


def default_wordpiece() -> WordPiece:
    """Return the tokenizer of the default embedder, loaded once per process."""
    with _LOADING:
        return _load_wordpiece()


def splittable(texts: Sequence[str]) -> Sequence[str]:
    """Return texts without the characters that only `str.split`, not BERT, treats as white space."""
    if any(map("\n".join(texts).__contains__, _ONLY_PYTHON_SPACE)):
        return [text.translate(_NOT_SPACE_TO_BERT) for text in texts]
    return texts


class PieceCache(dict[str, tuple[_T, ...]], Generic[_T]):
    """A cache of what strings consist of, such as token ids, bounded in number and length."""

    def store(self, text: str, parts: tuple[_T, ...]) -> tuple[_T, ...]:
        """Return the parts of a text, and keep them unless it is long."""
        if len(text) <= MAX_CACHED_LENGTH:
            if len(self) >= CACHE_SIZE:
                self.clear()
            self[text] = parts
        return parts


class _Pieces(dict[str, int]):
    """A cache: a number for each piece of text between two white spaces, and the token ids of each number."""

    def __init__(self, words: "_Words") -> None:
        super().__init__()
        self.words, self._adding, self._characters, self.is_full = words, Lock(), 0, False
        self.tokens, self.lengths = list[tuple[int, ...]](), list[int]()

    def __missing__(self, piece: str) -> int:
        tokens = tuple(chain.from_iterable(map(self.words.__getitem__, basic_words(piece))))
        with self._adding:
            number = len(self.tokens)
            self.tokens.append(tokens)
            self.lengths.append(len(tokens))
            self._characters += len(piece)
            self.is_full = number + 1 >= CACHE_SIZE or self._characters >= CACHE_SIZE * 16  # a new cache is due
        self[piece] = number
        return number


class _Words(PieceCache[int]):
    """The token ids of each word; a piece of Japanese or Chinese has many."""

    def __init__(self, vocabulary: Iterable[str], per_unknown: int | None) -> None:
        super().__init__()
        self._starts = {token: i for i, token in enumerate(vocabulary)}
        self._tails = {token[2:]: i for token, i in self._starts.items() if token.startswith("##")}
        self._per_unknown = per_unknown
        self._longest = max(map(len, self._starts))

    def __missing__(self, word: str) -> tuple[int, ...]:
        token = self._starts.get(word)
        return self.store(word, tuple(self._split_word(word)) if token is None else (token,))

    def _split_word(self, word: str) -> list[int]:
        """Return the longest start in the vocabulary, then the longest continuation, and so on."""
        if len(word) > MAX_WORD_LENGTH:
            return self._unknown(word)
        ids, tokens, start = list[int](), self._starts, 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                if (token := tokens.get(word[start:end])) is not None:
                    break
            else:
                return self._unknown(word)
            ids.append(token)
            tokens, start = self._tails, end
        return ids

    def _unknown(self, word: str) -> list[int]:
        return [self._starts[UNKNOWN]] * (-(-len(word) // self._per_unknown) if self._per_unknown else 1)


def basic_words(text: str) -> list[str]:
    """Normalize and pre-tokenize a text as BERT does; special tokens stay whole."""
    if "[" in text and len(parts := _SPECIAL.split(text)) > 1:
        # The pattern has one group, so every other part is a special token.
        return [word for i, part in enumerate(parts) for word in ([part] if i % 2 else basic_words(part))]
    if text.isascii() and text.isprintable():
        return _ASCII_WORDS.findall(text.lower())
    return text.translate(_readings()).split()


class _Readings(dict[int, str]):
    """BERT's normalization of each code point: nothing, a space, a separate word, or lowercase letters."""

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
        return f" {char} " if kind == _SEPARATE else " " if kind == _SPACE else ""


@cache
def _readings() -> _Readings:
    """Load BERT's kind of each code point, a byte each (see tools/build_embedding.py)."""
    return _Readings(zlib.decompress((files("advchunk.models") / "assets" / "bert_characters.zlib").read_bytes()))
