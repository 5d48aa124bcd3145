"""Search of chunks by their words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import ConfigurationError, require
from advchunk.models.atomic import open_atomic
from advchunk.records import Floats, Ints
from advchunk.retrieval.rankings import DEPTH, Ranking
from advchunk.text.terms import Wording, check_language, searchable_words

if TYPE_CHECKING:
    from bm25s import BM25

_FORMAT = 1  # of the files


class LexicalIndex:
    """Ranks texts by BM25 (Robertson and Zaragoza 2009), which bm25s computes, on word stems without stop words.

    Words are runs of letters and digits, in lower case, so numbers and parts of identifiers are found; scripts without
    spaces are searched by pairs of characters. Texts can be added and removed; the scores are computed again at the next
    search, from terms that are kept, in a few seconds for 100,000 texts.

    Parameters
    ----------
    texts : the texts to search, numbered from 0.
    language : code of the language of the stems and stop words, such as "en" or "de"; a language without a stemmer or a list
        is searched without.

    >>> index = LexicalIndex(["Green tea is made of leaves.", "Sailors drank rum.", "Tea and rum."])
    >>> index.search("Are there tea leaves?").chunks.tolist()
    [0, 2]
    """

    def __init__(self, texts: Iterable[str] = (), language: str = "en") -> None:
        self._wording = Wording(language=check_language(language))
        self._numbers = dict[str, int]()  # of terms
        self._terms = list[Ints]()  # of each text
        self.add(texts)

    def __len__(self) -> int:
        return len(self._terms)

    @property
    def language(self) -> str:
        """The code of the language."""
        return self._wording.language

    def add(self, texts: Iterable[str]) -> None:
        """Add texts after the others."""
        require(not isinstance(texts, str), "texts must be a collection of texts", texts)
        terms, words = self._wording.encode(texts, searchable_words)
        numbers = np.array([self._numbers.setdefault(word, len(self._numbers)) for word in words], dtype=np.int32)
        if len(terms):
            self._terms += np.split(numbers[terms.ids] if len(words) else terms.ids.astype(np.int32), terms.edges[1:-1])
        self._forget()

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
        part = copy(self)
        part._terms = [self._terms[number] for number in texts.tolist()]
        part._forget()
        return part

    def scores(self, query: str) -> Floats:
        """Return the score of each text for a query, 0 without a common word: (n,)."""
        terms, words = self._wording.encode([query], searchable_words)
        numbers = [self._numbers.get(word, -1) for word in words]
        ids = [numbers[i] for i in terms.ids.tolist() if numbers[i] >= 0]
        if self._index is None or not ids:
            return np.zeros(len(self))
        scores: Floats = self._index.get_scores_from_ids(ids)
        return scores.astype(np.float64)

    @cached_property
    def _index(self) -> BM25 | None:
        if not any(map(len, self._terms)):
            return None
        from bm25s import BM25

        index = BM25(csc_backend="scipy")
        index.scores = index.build_index_from_ids(list(range(len(self._numbers))), self._terms, show_progress=False)
        return index

    def _forget(self) -> None:
        self.__dict__.pop("_index", None)

    def save(self, folder: str | Path) -> None:
        """Save the index to a folder, which is made if needed, as JSON and numpy arrays, without pickle."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        settings = {"format": _FORMAT, "language": self.language, "terms": list(self._numbers)}
        edges = np.cumsum([0, *map(len, self._terms)])
        with open_atomic(folder / "terms.npz", "wb") as file:
            np.savez(file, ids=np.concatenate([np.zeros(0, np.int32), *self._terms]), edges=edges)
        with open_atomic(folder / "lexical.json", encoding="utf-8") as file:
            json.dump(settings, file)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the index that `save` saved; raise `ConfigurationError` if there is none, or if it is damaged."""
        folder = Path(folder)
        try:
            settings = json.loads((folder / "lexical.json").read_text(encoding="utf-8"))
            with np.load(folder / "terms.npz", allow_pickle=False) as arrays:
                ids, edges = arrays["ids"], arrays["edges"]
            index = cls(language=settings["language"])
            index._restore(settings, ids, edges)
        except (OSError, ValueError, KeyError, TypeError) as error:
            msg = f"folder must contain an index that LexicalIndex.save saved, got {str(folder)!r} ({error})"
            raise ConfigurationError(msg) from error
        return index

    def _restore(self, settings: dict[str, Any], ids: Ints, edges: Ints) -> None:
        require(settings["format"] == _FORMAT, f"format must be {_FORMAT}", settings["format"])
        self._numbers = {term: number for number, term in enumerate(settings["terms"])}
        fits = ids.ndim == edges.ndim == 1 and len(edges) and edges[0] == 0 and edges[-1] == len(ids)
        fits = fits and np.all(np.diff(edges) >= 0) and np.all((ids >= 0) & (ids < len(self._numbers)))
        require(bool(fits), "terms.npz must match lexical.json", (ids.shape, edges.shape, len(self._numbers)))
        self._terms = np.split(ids, edges[1:-1]) if len(edges) > 1 else []


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
        self._length = len(index)

    def __len__(self) -> int:
        return self._length

    def scores(self, query: str) -> Floats:
        """Return the score of each text for a query, 0 without a common word: (n,)."""
        scores = np.zeros(len(self))
        for numbers, index in self._parts:
            scores[numbers] = index.scores(query)
        return scores
