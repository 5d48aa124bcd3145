"""Words as sparse vectors, for stores that search these."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import compress
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from advchunk.errors import ConfigurationError, checked, first_line, is_integer, is_many, is_number, require
from advchunk.models.atomic import open_atomic
from advchunk.retrieval.lexical_index import most_texts, rarity, saturation
from advchunk.text.search_terms import query_terms, term_counts

_FORMAT: Final = "advchunk sparse words 2"
_MOST_DIMENSIONS = 2**32  # of unsigned numbers in 32 bits, which stores take
_CHANGES = Lock()

WordRarity: TypeAlias = Literal["texts", "store"]
"""Who weights the terms of a query by their rarity: `SparseWords`, by the texts that it was given, or the store."""


class SparseVector(NamedTuple):
    """A sparse vector: ``dict(zip(*vector))`` is the form that some stores take.

    Parameters
    ----------
    indices : ascending, each once.
    values : one for each index, > 0.
    """

    indices: list[int]
    values: list[float]


class SparseWords:
    """Makes sparse vectors of texts' words: the dot product of a text's and a query's is the score of `LexicalIndex`.

    The vector of a text depends on the text and ``mean`` alone, so it stays as it is when others come or go. Rarity
    (IDF) is in the vectors of queries: by the texts that were added here (``rarity="texts"``), or by the store
    (``rarity="store"``, such as Qdrant's ``Modifier.IDF``). Use one of them: both would square it.

    Texts that are stored later without `add` are found; only the rarities are those of before. ``mean`` never changes
    by itself, since vectors by different means are not comparable.

    The index of a term is a hash, the same in every process. Of n different terms, about n² / (2 · ``dimensions``)
    pairs share an index, such as 233 of a million terms, and count as one term.

    Parameters
    ----------
    mean : words of a text on average, without stop words, > 0; `of` counts them. A text of 100 tokens has about 40.
    rarity : "texts" or "store".
    dimensions : dimensions of the vectors, 1 to 2^32; indices are below it.

    Raises
    ------
    ConfigurationError : a parameter is out of range.

    >>> texts = ["Green tea is made of leaves.", "Sailors drank rum.", "Tea and rum."]
    >>> words = SparseWords.of(texts)
    >>> query = dict(zip(*words.embed_query("Are there tea leaves?")))
    >>> [round(sum(query.get(i, 0) * value for i, value in zip(*vector)), 2) for vector in words.embed(texts)]
    [0.98, 0.0, 0.31]
    """

    def __init__(self, mean: float, *, rarity: WordRarity = "texts", dimensions: int = 2**31) -> None:
        require(is_number(mean) and mean > 0, "mean must be a number of terms > 0", mean)
        rule = f"rarity must be one of {get_args(WordRarity)}"
        require(isinstance(rarity, str) and rarity in get_args(WordRarity), rule, rarity)
        is_size = is_integer(dimensions, 1) and dimensions <= _MOST_DIMENSIONS
        require(is_size, "dimensions must be a whole number from 1 to 2^32", dimensions)
        self.mean, self.rarity, self.dimensions = float(mean), rarity, dimensions
        self._texts, self._frequencies = 0, Counter[int]()

    @classmethod
    def of(cls, texts: Iterable[str], *, rarity: WordRarity = "texts", dimensions: int = 2**31) -> SparseWords:
        """Return an instance with the mean of texts and, for ``rarity="texts"``, with the texts added.

        Raises `ConfigurationError` for texts without a term.
        """
        words = cls(1, rarity=rarity, dimensions=dimensions)
        encoded = words._encode(texts)
        total = sum(length for _, length in encoded)
        require(total > 0, "texts must have words that are not stop words", "none")
        words.mean = total / len(encoded)
        if rarity == "texts":
            words._count(encoded, 1)
        return words

    def __len__(self) -> int:
        return self._texts

    def add(self, texts: Iterable[str]) -> None:
        """Count the terms of texts that are stored; the same text counts as often as it is added.

        Raises `ConfigurationError` if the store weights terms.
        """
        self._count(self._encode(texts), 1)

    def remove(self, texts: Iterable[str]) -> None:
        """Forget texts that were added; raise `ConfigurationError`, and change nothing, for others."""
        self._count(self._encode(texts), -1)

    def embed(self, texts: Iterable[str]) -> list[SparseVector]:
        """Return the vectors of texts, as they are stored; a text without words has an empty one."""
        vectors = list[SparseVector]()
        for counts, length in self._encode(texts):
            values = saturation(np.array([*counts.values()]), np.array(float(length)), self.mean)
            vectors.append(SparseVector([*counts], values.tolist()))
        return vectors

    @checked
    def embed_query(self, text: str) -> SparseVector:
        """Return the vector of a query. A term that no text has weighs the most, so that it finds texts stored later.

        Raises `ConfigurationError` if no texts were added whose terms it is weighted by.
        """
        weights = self._by_index(query_terms(text))
        indices, values = [*weights], np.array([*weights.values()], dtype=np.float64)
        if self.rarity == "texts":
            rule = "texts must be added first, or the store weight terms: rarity='store'"
            require(self._texts > 0, rule, self._texts)
            frequencies = np.array([self._frequencies[index] for index in indices], dtype=np.int64)
            is_kept = frequencies <= np.array([most_texts(weight, self._texts) for weight in values], dtype=np.int64)
            values = (values * rarity(frequencies, self._texts))[is_kept]
            indices = [*compress(indices, is_kept)]
        return SparseVector(indices, values.tolist())

    def save(self, path: str | Path) -> None:
        """Write the parameters and frequencies to a file of JSON, which replaces an old one when it is complete."""
        stored: dict[str, Any] = {"format": _FORMAT}
        stored["parameters"] = {name: getattr(self, name) for name in ("mean", "rarity", "dimensions")}
        with _CHANGES:
            stored |= {"texts": self._texts, "frequencies": [[*self._frequencies], [*self._frequencies.values()]]}
        with open_atomic(path, encoding="utf-8") as file:
            json.dump(stored, file)

    @classmethod
    def load(cls, path: str | Path) -> SparseWords:
        """Read what `save` wrote; raise `ConfigurationError` if the file is something else, or damaged."""
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
            require(stored["format"] == _FORMAT, f"format must be {_FORMAT!r}", stored["format"])
            words = cls(**stored["parameters"])
            words._texts = stored["texts"]
            words._frequencies = Counter(dict(zip(*stored["frequencies"], strict=True)))
            _check_counts(words)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            msg = f"{path} does not have sparse words saved by advchunk, or it is damaged: {first_line(error)}"
            raise ConfigurationError(msg) from error
        return words

    def _encode(self, texts: Iterable[str]) -> list[tuple[dict[int, float], int]]:
        """Return for each text how often it has each index, ascending, and its length."""
        require(is_many(texts), "texts must be a collection of texts", texts)
        return [(self._by_index(counts), length) for counts, length in map(term_counts, texts)]

    def _by_index(self, values: Mapping[str, float]) -> dict[int, float]:
        """Return the values of terms by their indices, ascending; of terms that share an index, the sum."""
        totals = defaultdict[int, float](float)
        for term, value in values.items():
            totals[_hash(term) % self.dimensions] += value
        return dict(sorted(totals.items()))

    def _count(self, encoded: Sequence[tuple[Mapping[int, float], int]], step: Literal[1, -1]) -> None:
        require(self.rarity == "texts", "rarity must be 'texts' to add or remove texts", self.rarity)
        changes = Counter(index for counts, _ in encoded for index in counts)
        with _CHANGES:
            if step > 0:
                self._texts += len(encoded)  # before the frequencies, which a query may read meanwhile
                self._frequencies.update(changes)
                return
            missing = sum(self._frequencies[index] < number for index, number in changes.items())
            is_part = not missing and len(encoded) <= self._texts
            require(is_part, "texts must be among those that were added", f"{missing} terms that are not")
            for index, number in changes.items():
                self._frequencies[index] -= number
                if not self._frequencies[index]:
                    del self._frequencies[index]
            self._texts -= len(encoded)


@lru_cache(2**17)
def _hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _check_counts(words: SparseWords) -> None:
    """Raise `ConfigurationError` unless the indices, and the number of texts with each, are in their ranges."""
    texts, dimensions = words._texts, words.dimensions
    require(is_integer(texts, 0), "texts must be a whole number >= 0", texts)
    wrong = [index for index in words._frequencies if not is_integer(index, 0) or index >= dimensions]
    require(not wrong, f"indices must be whole numbers below {dimensions}", wrong[:1])
    wrong = [number for number in words._frequencies.values() if not is_integer(number, 1) or number > texts]
    require(not wrong, f"terms must be in 1 to {texts} texts", wrong[:1])
