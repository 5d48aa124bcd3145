"""Vectors of chunks that know what stands around them. Pure numpy: no text, no models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from advchunk.errors import require
from advchunk.numerics.signals import unit_rows
from advchunk.records import Chunk, Floats, Ints, Units

WEIGHT = 0.3
REACH = 200.0
UNIT_REACH = 100.0
SHARE = 0.5


def add_context(rows: Floats, positions: Floats | Ints, *, weight: float = WEIGHT, reach: float = REACH) -> Floats:
    """Mix each chunk's vector with those around it, the nearer the more.

    Questions name the subject of a passage, its chunks often do not: what stands around them says it. As the mix is a
    sum, not a mean, a small chunk takes more from its neighbors, of which more are near, than a large one, which has
    its context within it. No model is asked:

        v_i + weight * (sum over j != i of exp(-|p_i - p_j| / reach) v_j), scaled to length 1

    Parameters
    ----------
    rows : (n, d) unit rows of one document's chunks, in reading order.
    positions : (n,) the middle of each chunk in the document, in tokens, never falling.
    weight : of a neighbor at no distance, >= 0; 0 leaves the rows as they are. A fifth more or less, of weight or reach,
        changes little.
    reach : the distance at which 1/e of a neighbor is left, in tokens, > 0.

    Returns
    -------
    (n, d) unit rows.

    References
    ----------
    Ours. The kernel is that of exponential smoothing (Brown 1959), in both directions of a text.

    >>> add_context(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 100])).round(2)
    array([[0.98, 0.18],
           [0.18, 0.98]])
    """
    require(weight >= 0, "weight must be >= 0", weight)
    require(reach > 0, "reach must be > 0", reach)
    require(not np.any(np.diff(positions) < 0), "positions must never fall", positions)
    return unit_rows(rows + weight * neighbor_sums(rows, positions, reach))


def neighbor_sums(rows: Floats, positions: Floats | Ints, reach: float = REACH) -> Floats:
    """Return for each row the sum of all others, each times exp(-distance / reach): (n, d).

    What is left of the sum up to a row fades on the way to the next: two passes, O(n d), and nothing is cut off.
    """
    fade = np.exp(-np.diff(positions) / reach).astype(rows.dtype)
    before, after = np.zeros_like(rows), np.zeros_like(rows)
    for i in range(1, len(rows)):
        before[i] = fade[i - 1] * (before[i - 1] + rows[i - 1])
        after[-i - 1] = fade[-i] * (after[-i] + rows[-i])
    return before + after


def chunk_vectors(chunks: Sequence[Chunk], rows: Floats, *, weight: float = WEIGHT, reach: float = REACH) -> Floats:
    """Return `add_context` of one document's chunks; one of several passages stands at the mean of their middles.

    Parameters
    ----------
    chunks : n chunks of one document, in any order; their characters are taken to have as many tokens each.
    rows : (n, d) a unit row for each.
    """
    tokens = sum(chunk.tokens for chunk in chunks) / max(sum(len(chunk.text) for chunk in chunks), 1)
    middles = np.array([tokens * _middle(chunk) for chunk in chunks])
    order = np.argsort(middles, kind="stable")
    found = np.empty_like(rows)
    found[order] = add_context(rows[order], middles[order], weight=weight, reach=reach)
    return found


def units_in(chunk: Chunk, units: Units) -> Ints:
    """Return the units of which a chunk holds some, whole or not, in reading order: (m,).

    So a unit that is cut, or that chunks repeat, is of each of them.

    >>> from advchunk import Span
    >>> units_in(Chunk("bcde", (Span(1, 4), Span(7, 8)), 4), Units("abcdefgh", np.array([0, 3, 6, 8]))).tolist()
    [0, 1, 2]
    """
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
    """Return for each chunk a vector for each of its units, which knows what stands around it, and its chunk.

    A question is often about one sentence of a chunk, of which the chunk's own vector tells little. Each unit is mixed
    with all around it (`add_context`), of its chunk or not, then with its chunk. A chunk is as near to a question as the
    nearest of its rows. Chunks of one or two sentences gain little, with a weak embedder nothing.

    Parameters
    ----------
    chunks : c chunks of one document.
    vectors : (c, d) a unit row for each, in context (`chunk_vectors`).
    units : n units of the document, counted.
    rows : (n, d) a unit row for each, as the model gave it.
    weight, reach : see `add_context`; half the reach of a chunk serves units best.
    share : of the unit in the mix with its chunk, 0..1.

    Returns
    -------
    c times (m, d) unit rows, for the m units that `units_in` finds.

    References
    ----------
    Ours. To rank a text by its best passage: Callan 1994, "Passage-level evidence in document retrieval", SIGIR.

    >>> from advchunk import Span
    >>> units = Units("One. Two.", np.array([0, 5, 9]), np.array([2, 2]))
    >>> whole = Chunk("One. Two.", (Span(0, 9),), 4)
    >>> sentence_rows([whole], np.array([[1.0, 0.0]]), units, np.eye(2), weight=0)[0].round(2)
    array([[1.  , 0.  ],
           [0.71, 0.71]])
    """
    require(0 <= share <= 1, "share must be in 0..1", share)
    sizes = units.token_counts()
    mixed = add_context(rows, np.cumsum(sizes) - sizes / 2, weight=weight, reach=reach)
    return [
        unit_rows((1 - share) * vector + share * mixed[units_in(chunk, units)])
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]


def _middle(chunk: Chunk) -> float:
    """Return the mean offset of a chunk's characters; 0 for one that has none."""
    lengths = [end - start for start, end in chunk.spans]
    return sum((start + end) / 2 * m for (start, end), m in zip(chunk.spans, lengths, strict=True)) / max(
        sum(lengths), 1
    )
