"""The positions of chunks in their documents."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from advchunk.errors import require
from advchunk.records import Chunk, Floats, Ints
from advchunk.text.counters import Counter

_GAP = 1e6  # tokens between documents
_SAMPLE = 100  # texts whose tokens are counted for an estimate


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
        tokens, characters = sum(chunk.tokens for chunk in chunks), sum(len(chunk.text) for chunk in chunks)
        require(tokens > 0 or characters == 0, "chunks must have tokens", tokens)
        middles = np.array([chunk.middle for chunk in chunks], dtype=np.float64) * (tokens / max(characters, 1))
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
