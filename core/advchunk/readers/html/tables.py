"""The tables of HTML, many of which are but layout."""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

from advchunk.readers.tables import Cell, spanned_table
from advchunk.records import BlockKind

_NO_DATA = frozenset(["code", "furniture", "heading", "table"])  # what no cell of a table of data has


class Piece(NamedTuple):
    """What will be a block."""

    kind: BlockKind
    text: str
    level: int = 0


class TableCell(NamedTuple):
    """What a cell has in it, how many columns and rows it takes, and whether it heads others."""

    pieces: list[Piece]
    columns: int
    rows: int
    is_title: bool


class Table:
    """The rows of a table as far as they are read, how many head it, and whether it says that it is layout."""

    def __init__(self, is_layout: bool) -> None:
        self.rows, self.heads, self._is_layout = list[list[TableCell]](), 0, is_layout
        self._groups = dict[int, list[list[TableCell]]]()

    def add_row(self, group: int) -> None:
        """Begin a row of a <thead>, <tbody> or <tfoot>, by its number."""
        self.rows.append([])
        self._groups.setdefault(group, []).append(self.rows[-1])

    def pieces(self) -> list[Piece]:
        """Return the table; or what its cells have in them, if it has one column or they have more than data."""
        rows = [row for row in self.rows if row]
        pieces = [piece for row in rows for cell in row for piece in cell.pieces]
        is_list = all(len(row) == 1 for row in rows)
        if self._is_layout or is_list or any(piece.kind in _NO_DATA for piece in pieces):
            return pieces
        heads = self.heads or sum(1 for _ in takewhile(lambda row: all(cell.is_title for cell in row), rows))
        groups = [[[_cell(cell) for cell in row] for row in group] for group in self._groups.values()]
        return [Piece("table", spanned_table(groups, heads))] if pieces else []


def _cell(cell: TableCell) -> Cell:
    return Cell(" ".join(piece.text for piece in cell.pieces), cell.columns, cell.rows)
