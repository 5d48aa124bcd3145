"""Search of chunks by their vectors, exactly, in memory."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from advchunk.errors import checked, require
from advchunk.models.signals import unit_rows
from advchunk.records import Floats, Ints
from advchunk.retrieval.rankings import DEPTH, Ranking


class VectorIndex:
    """Ranks chunks by the cosine of a query and their best row.

    Raises `ConfigurationError` for rows of different widths, not finite, or of a chunk without any.

    Parameters
    ----------
    rows : for each chunk, its (m, d) rows, m >= 1, of any norm.

    >>> index = VectorIndex([np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([[3.0, 0.0]])])
    >>> index.search(np.array([1.0, 1.0])).chunks.tolist()
    [0, 1]
    """

    @checked
    def __init__(self, rows: Sequence[Floats]) -> None:
        shapes = {row.shape[1:] for row in rows}
        valid = len(shapes) <= 1 and all(row.ndim == 2 and len(row) for row in rows)
        require(valid, "rows must be (m, d) for each chunk, with one d and m >= 1", sorted(shapes))
        self._first = np.cumsum([0, *map(len, rows)])[:-1]
        flat = np.concatenate(rows).astype(np.float32) if rows else np.zeros((0, 0), np.float32)
        require(bool(np.isfinite(flat).all()), "rows must be finite", "nan or inf")
        self.rows = self._room = unit_rows(flat)

    def __len__(self) -> int:
        return len(self._first)

    def rows_of(self, chunks: Ints) -> list[Floats]:
        """Return the (m, d) unit rows of some chunks."""
        edges = np.append(self._first, len(self.rows))
        return [self.rows[edges[chunk] : edges[chunk + 1]] for chunk in chunks.tolist()]

    def joined(self, rows: Sequence[Floats]) -> Self:
        """Return an index of the chunks and, after them, of others, given their rows, in time for these on average."""
        index = type(self)(rows)
        if len(self) and rows:
            first, end = len(self.rows), len(self.rows) + len(index.rows)
            room, self._room = self._room, self.rows  # only one index may stand in the room behind the rows
            if end > len(room):
                room = np.empty((2 * end, room.shape[1]), np.float32)
                room[:first] = self.rows
            room[first:end] = index.rows
            index.rows, index._room, index._first = room[:end], room, np.append(self._first, index._first + first)
        return index if rows else self

    @checked
    def search(self, query: Floats, depth: int | None = DEPTH) -> Ranking:
        """Return the chunks most similar to a (d,) query vector, at most ``depth`` >= 1."""
        return Ranking.from_scores(self.scores(query), depth)

    def scores(self, query: Floats) -> Floats:
        """Return the cosine of a (d,) query vector and the best row of each chunk: (n,)."""
        if not len(self):
            return np.zeros(0)
        width = self.rows.shape[1]
        require(query.shape == (width,), f"the query vector must have the {width} dimensions of the rows", query.shape)
        best: Floats = np.maximum.reduceat(similarity(self.rows, query), self._first)
        return best


def similarity(rows: Floats, query: Floats) -> Floats:
    """Return the (m,) cosines of (m, d) unit rows and a (d,) vector. The last bits of a product depend on the row's
    position in it; rounding makes equal vectors tie.
    """
    direction: Floats = unit_rows(query[None].astype(np.float32))[0]
    return np.round(rows @ direction, 6).astype(np.float64)
