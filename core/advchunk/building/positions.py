"""The positions of chunks in their documents."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import check_fields, require
from advchunk.records import Chunk, Floats, Ints
from advchunk.text.counters import Counter

_GAP = 1e6  # tokens between documents
_SAMPLE = 100  # texts whose tokens are counted for an estimate
_COUNTS = [(name, np.int64) for name in ("first", "length", "tokens", "characters")]
_DOCUMENT = np.dtype([("name", object), *_COUNTS, ("languages", object)])
_CHUNK = np.dtype([("number", np.int64), ("middle", np.float64), ("words", np.int64)])


@dataclass(frozen=True)
class ChunkPositions:
    """The document of each of n chunks, and the middle of the chunk in it.

    Parameters
    ----------
    documents : (n,) number of each chunk's document, >= 0.
    middles : (n,) tokens of the document before the middle of each chunk, >= 0.
    """

    documents: Ints
    middles: Floats

    def __post_init__(self) -> None:
        check_fields(self)
        shapes = self.documents.shape, self.middles.shape
        require(shapes[0] == shapes[1] and len(shapes[0]) == 1, "documents and middles must have one length", shapes)
        require(bool(np.isfinite(self.middles).all()), "middles must be finite", self.middles)

    @classmethod
    def of(cls, chunks: Sequence[Chunk], documents: Sequence[Hashable]) -> Self:
        """Return the positions of chunks in the documents of these names.

        A chunk stands at the mean offset of its characters; offsets become tokens at the mean tokens per character of
        all chunks, so overlapping chunks and gaps between chunks keep their distances. Raises `ConfigurationError` if
        no chunk has tokens (`count_tokens`).
        """
        numbers = {name: number for number, name in enumerate(dict.fromkeys(documents))}
        middles = DocumentPlaces.of([document_row("", chunks)]).positions.middles
        return cls(np.array([numbers[name] for name in documents], dtype=np.int64), middles)

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def line(self) -> Floats:
        """The middles on one line, on which documents are at least a million tokens apart: (n,)."""
        return self.middles + self.documents * (_GAP + float(self.middles.max(initial=0.0)))

    @cached_property
    def _order(self) -> tuple[Ints, Floats]:
        order = np.argsort(self.line, kind="stable")
        return order, self.line[order]

    def near(self, chunks: Ints, distance: float) -> Ints:
        """Return the chunks within a distance of any of ``chunks``, in the same document, ascending.

        Parameters
        ----------
        distance : in tokens, less than a million.
        """
        order, line = self._order
        positions = self.line[chunks]
        first = np.searchsorted(line, positions - distance)
        counts = np.searchsorted(line, positions + distance, "right") - first
        starts = np.cumsum(counts) - counts
        inside = np.arange(int(counts.sum())) + np.repeat(first - starts, counts)
        return np.unique(order[inside])


@dataclass(frozen=True, eq=False)
class DocumentPlaces:
    """The documents of an index and the places of their chunks: arrays of m documents and n chunks with fields."""

    documents: NDArray[np.void]
    chunks: NDArray[np.void]

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Self:
        """Return the places of documents, given a row of each (`document_row`)."""
        rows = [*rows]
        chunks = np.zeros(sum(len(row[6]) for row in rows), _CHUNK)
        if rows:
            chunks["number"] = np.concatenate([np.arange(row[1], row[1] + row[2]) for row in rows])
            chunks["middle"], chunks["words"] = map(np.concatenate, zip(*(row[6:] for row in rows), strict=True))
        return cls(np.array([row[:6] for row in rows], _DOCUMENT), chunks)

    def joined(self, others: "DocumentPlaces") -> Self:
        """Return the places with those of other documents after them."""
        pairs = (self.documents, others.documents), (self.chunks, others.chunks)
        return type(self)(*map(np.concatenate, pairs))

    @cached_property
    def keys(self) -> list[str]:
        """The name of each chunk's document."""
        return [*np.repeat(self.documents["name"], self.documents["length"])]

    @cached_property
    def languages(self) -> list[str]:
        """The codes of the chunks' languages, in alphabetical order."""
        return sorted({code for codes in {*self.documents["languages"].tolist()} for code in codes.split()})

    @cached_property
    def positions(self) -> ChunkPositions:
        """The positions of the chunks (`ChunkPositions.of`)."""
        tokens, characters = (int(self.documents[name].sum()) for name in ("tokens", "characters"))
        require(tokens > 0 or characters == 0, "chunks must have tokens", tokens)
        owners = np.repeat(np.arange(len(self.documents)), self.documents["length"])
        return ChunkPositions(owners, self.chunks["middle"] * (tokens / max(characters, 1)))


def document_row(
    name: str, chunks: Sequence[Chunk], languages: str = "", first: int = 0, words: Sequence[int] = ()
) -> tuple[Any, ...]:
    """Return the fields of a document for `DocumentPlaces.of`, and arrays of the middles and words of its chunks."""
    sums = len(chunks), sum(chunk.tokens for chunk in chunks), sum(len(chunk.text) for chunk in chunks)
    middles = np.array([chunk.middle for chunk in chunks], np.float64)
    return name, first, *sums, languages, middles, np.array([*words] or np.zeros(len(chunks)), np.int32)


def count_tokens(chunks: Sequence[Chunk], counter: Counter) -> list[Chunk]:
    """Return chunks with the tokens of their ``embed_text``, counted for those of a splitter that does not."""
    missing = [i for i, chunk in enumerate(chunks) if not chunk.tokens]
    counts = counter.counts([chunks[i].embed_text for i in missing]).tolist() if missing else []
    counted = list(chunks)
    for i, tokens in zip(missing, counts, strict=True):
        counted[i] = replace(chunks[i], tokens=tokens)
    return counted


def estimate_tokens(chunks: Sequence[Chunk], counter: Counter) -> list[Chunk]:
    """Return chunks with tokens, which are estimated for those without, from the tokens per character of a hundred."""
    sample = [chunk.text for chunk in chunks[:: max(len(chunks) // _SAMPLE, 1)]]
    density = int(counter.counts(sample).sum()) / max(sum(map(len, sample)), 1) if sample else 0.0
    return [chunk if chunk.tokens else replace(chunk, tokens=round(len(chunk.text) * density)) for chunk in chunks]
