"""Vectors of chunks and sentences that include the surrounding context, also by late chunking."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from advchunk.models.signals import unit_rows
from advchunk.records import Chunk, Floats, Ints, Units

WEIGHT = 0.3
REACH = 200.0
UNIT_REACH = 100.0
SHARE = 0.5


def add_context(rows: Floats, positions: Floats | Ints, *, weight: float = WEIGHT, reach: float = REACH) -> Floats:
    """Return v_i + weight * (sum over j != i of exp(-|p_i - p_j| / reach) v_j), scaled to length 1, for each row v_i.

    Questions name the subject of a passage; its chunks often do not, but the surrounding text does. A sum, not a mean,
    so a small chunk takes more from its neighbors than a large one. ``rows`` are (n, d) unit vectors of one document's
    chunks in reading order; ``positions`` (n,), non-decreasing, and ``reach`` > 0 are in tokens; ``weight`` >= 0. Ours;
    the kernel is that of exponential smoothing (Brown 1959), in both directions.
    """
    return unit_rows(rows + weight * neighbor_sums(rows, positions, reach))


def neighbor_sums(rows: Floats, positions: Floats | Ints, reach: float = REACH) -> Floats:
    """Return, for each row, the sum of all others weighted by exp(-distance / reach): (n, d), exactly in O(n d)."""
    decay = np.exp(-np.diff(positions) / reach).astype(rows.dtype)
    before, after = np.zeros_like(rows), np.zeros_like(rows)
    for i in range(1, len(rows)):
        before[i] = decay[i - 1] * (before[i - 1] + rows[i - 1])
        after[-i - 1] = decay[-i] * (after[-i] + rows[-i])
    return before + after


def chunk_vectors(chunks: Sequence[Chunk], rows: Floats, *, weight: float = WEIGHT, reach: float = REACH) -> Floats:
    """Add context (`add_context`) from chunks of a level, at their mean characters, to one document's unit vectors."""
    levels, vectors = np.array([chunk.level for chunk in chunks]), np.empty_like(rows)
    for level in np.unique(levels).tolist():
        places = np.flatnonzero(levels == level)
        own = [chunks[place] for place in places.tolist()]
        tokens = sum(chunk.tokens for chunk in own) / max(sum(len(chunk.text) for chunk in own), 1)
        middles = np.array([tokens * chunk.middle for chunk in own])
        order = np.argsort(middles, kind="stable")
        vectors[places[order]] = add_context(rows[places[order]], middles[order], weight=weight, reach=reach)
    return vectors


def units_in(chunk: Chunk, units: Units) -> Ints:
    """Return the (m,) indices of the units that overlap a chunk, ascending."""
    spans = np.array(chunk.spans, dtype=np.int64).reshape(-1, 2)
    first, last = np.searchsorted(units.edges, spans[:, 0], "right") - 1, np.searchsorted(units.edges, spans[:, 1])
    return np.unique(np.concatenate([np.arange(0), *map(np.arange, first, last)]))


def sentence_rows(
    chunks: Sequence[Chunk],
    vectors: Floats,
    units: Units,
    rows: Floats,
    *,
    weight: float = WEIGHT,
    reach: float = UNIT_REACH,
    share: float = SHARE,
) -> list[Floats]:
    """Return the unit vectors of each chunk's units (`units_in`), mixed with their context, then with the chunk.

    A chunk is as similar to a question as the most similar of its rows (ours; after Callan 1994, "Passage-level
    evidence"). ``vectors`` are the (c, d) of `chunk_vectors`, ``rows`` the (n, d) unit vectors of the ``units``, which
    have sizes; ``share``, 0..1, is the weight of the unit. Half the ``reach`` used for chunks works best.
    """
    sizes = units.token_counts()
    mixed = add_context(rows, np.cumsum(sizes) - sizes / 2, weight=weight, reach=reach)
    pairs = zip(chunks, vectors, strict=True)
    return [unit_rows((1 - share) * vector + share * mixed[units_in(chunk, units)]) for chunk, vector in pairs]


class TokenWindow(NamedTuple):
    """Tokens ``start`` to ``end`` of a text, read at once; the vectors of ``first`` to ``last`` are used."""

    start: int
    end: int
    first: int
    last: int


def token_windows(n: int, size: int | None) -> list[TokenWindow]:
    """Return windows of the same ``size`` >= 1 (None: all) over n tokens, each overlapping the next by half or more.
    The vector of a token comes from the window in which it is nearest to the middle; ties go to the first.

    >>> token_windows(7, 6)
    [TokenWindow(start=0, end=6, first=0, last=4), TokenWindow(start=1, end=7, first=4, last=7)]
    """
    if size is None or n <= size:
        return [TokenWindow(0, n, 0, n)] * (n > 0)
    count = 1 - (size - n) // max(size // 2, 1)  # rounded up
    starts = np.arange(count) * (n - size) // (count - 1)
    cuts = [0, *((starts[:-1] + starts[1:] + size - 1) // 2 + 1).tolist(), n]
    return [TokenWindow(a, a + size, *cuts[i : i + 2]) for i, a in enumerate(starts.tolist())]


def pool_tokens(chunks: Sequence[Chunk], ends: Ints, rows: Floats) -> Floats:
    """Return (c, d) unit rows, the mean vectors of the tokens of each chunk (late chunking); 0 without tokens.

    A token belongs to the chunks that contain its last character. ``ends`` are (t,) non-decreasing offsets just past
    each token, ``rows`` its (t, d) vectors in the context of the document. Günther et al. 2024, arXiv:2409.04701.
    """
    pooled = np.zeros((len(chunks), rows.shape[1]), rows.dtype)
    for i, chunk in enumerate(chunks):
        bounds = np.searchsorted(ends, np.array(chunk.spans, dtype=np.int64).reshape(-1, 2), "right").tolist()
        if own := [rows[first:last] for first, last in bounds if first < last]:
            pooled[i] = np.concatenate(own).mean(axis=0)
    return unit_rows(pooled)
