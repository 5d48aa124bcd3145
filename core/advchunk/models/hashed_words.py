"""Vectors of words alone: a word is hashed to a few dimensions, so that texts are similar if they share rare words."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from itertools import chain, count

import numpy as np

from advchunk.errors import is_integer, require
from advchunk.models.signals import unit_rows
from advchunk.models.wordpiece import PieceCache, basic_words, default_wordpiece, splittable
from advchunk.records import Floats, Ints
from advchunk.text.scripts import has_unspaced
from advchunk.text.sentences import language_code
from advchunk.text.terms import check_language, make_stemmer, stop_words

HASHES = 4  # dimensions per stem
_NOISE = 1e-5  # of sums in float32; a word adds at least .4


class HashedWords:
    """Embed texts as bags of hashed words; a row depends only on its own text, to the last bit.

    Words are split as by BERT (pairs of characters in other scripts without spaces), without stop words and marks, and
    stemmed; a language without a stemmer and stop words keeps all words as they are. A stem adds sqrt(w / 4) or its
    negative to 4 of the d dimensions; w is the sum of ln(1 + r) over its words in the text, r the rank by frequency in
    the vocabulary of the embedded tokenizer, or its size, in place of the inverse document frequency. Cosines of
    different texts have noise of about 1 / sqrt(d). Weinberger et al. 2009, "Feature hashing".
    """

    batch_size = 8192

    def __init__(self, dimensions: int = 512, language: str = "en") -> None:
        require(is_integer(dimensions, 1), "dimensions must be a whole number >= 1", dimensions)
        self.dimensions, self.language = dimensions, language_code(check_language(language))
        self._content_words = _ContentWords(self.language)

    def __reduce__(self) -> "tuple[type[HashedWords], tuple[int, str]]":
        return HashedWords, (self.dimensions, self.language)

    @property
    def model_name(self) -> str:
        """The name used in caches and fingerprints."""
        return f"advchunk/hashed-words-{self.dimensions}-{self.language}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return (n, d) unit rows in float32; zeros for a text of stop words and marks only."""
        content, numbers = self._content_words.__getitem__, defaultdict[str, int](count().__next__)
        occurrences, bounds = list[int](), [0]
        for text in splittable(texts):
            occurrences.extend(map(numbers.__getitem__, chain.from_iterable(map(content, text.split()))))
            bounds.append(len(occurrences))
        hashes, stem_of, weight_of = self._stems(list(numbers))
        words = np.array(occurrences, np.int64)
        pairs = np.repeat(np.arange(len(texts)) * len(hashes), np.diff(bounds)) + stem_of[words]
        distinct, place = np.unique(pairs, return_inverse=True)
        row, stem = np.divmod(distinct, max(len(hashes), 1))
        value = np.sqrt(np.bincount(place, weight_of[words], len(distinct)) / HASHES).astype(np.float32)
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for digest in hashes[stem].T:
            np.add.at(rows, (row, (digest >> 1) % self.dimensions), np.where(digest & 1, value, -value))
        rows[np.abs(rows) < _NOISE] = 0  # of words that cancel; it must not be scaled to length 1
        return unit_rows(rows)

    def _stems(self, words: Sequence[str]) -> tuple[Ints, Ints, Floats]:
        """Return the hashes of s stems, (s, 4), in the same order in any batch, and each word's stem and weight."""
        stem, ranks = make_stemmer("snowball", self.language), _ranks()
        digests = b"".join(blake2b(stem(word).encode(), digest_size=8 * HASHES).digest() for word in words)
        hashes = np.frombuffer(digests, "<i8").reshape(-1, HASHES)
        _, first, stem_of = np.unique(hashes[:, 0], return_index=True, return_inverse=True)
        weights = np.log1p([ranks.get(word, len(ranks)) for word in words])
        return hashes[first], stem_of, weights


class _ContentWords(PieceCache[str]):
    """The words of each piece of text between two white spaces, without stop words and marks."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._left_out = {word for entry in stop_words("snowball", language) for word in basic_words(entry)}

    def __missing__(self, piece: str) -> tuple[str, ...]:
        split = basic_words(piece)
        if has_unspaced(piece):
            split = [pair for word in split for pair in _pairs(word)]
        words = (word for word in split if word not in self._left_out and any(map(str.isalnum, word)))
        return self.store(piece, tuple(words))


def _pairs(word: str) -> list[str]:
    """Return the pairs of characters of a run without spaces, which may have several words, or else the word."""
    return [word[i : i + 2] for i in range(len(word) - 1)] if len(word) > 1 and has_unspaced(word) else [word]


@cache
def _ranks() -> dict[str, int]:
    return {token: rank for rank, token in enumerate(default_wordpiece().vocabulary, 1)}
