"""HTML tables, many of which are used for layout."""

from typing import NamedTuple

from advchunk.readers.tables import Cell, count_heads, spanned_table
from advchunk.readers.writing import TextBlock

_NOT_DATA = frozenset(["code", "furniture", "heading", "table"])  # kinds of blocks that no cell of a data table has


class TableCell(NamedTuple):
    """The blocks in a cell, and its other properties."""

    blocks: list[TextBlock]
    cell: Cell

    def with_text(self) -> Cell:
        """Return the cell with the text of its blocks."""
        return self.cell._replace(text=" ".join(block.text for block in self.blocks))


class Table:
    """A table that is being read; ``is_layout`` if the page declares it as layout."""

    def __init__(self, is_layout: bool) -> None:
        self.rows, self.heads, self._is_layout = list[list[TableCell]](), 0, is_layout
        self._groups = dict[int, list[list[TableCell]]]()

    def add_row(self, group: int) -> None:
        """Begin a row of a <thead>, <tbody> or <tfoot>, identified by a number."""
        self.rows.append([])
        self._groups.setdefault(group, []).append(self.rows[-1])

    def blocks(self) -> list[TextBlock]:
        """Return the blocks in all cells."""
        return [block for row in self.rows for cell in row for block in cell.blocks]

    def text(self) -> str:
        """Return the table in Markdown; "" if it is layout: has one column, or cells with more than data."""
        rows, blocks = [[cell.cell for cell in row] for row in self.rows if row], self.blocks()
        is_list = all(len(row) == 1 for row in rows)
        if self._is_layout or is_list or not blocks or any(block.kind in _NOT_DATA for block in blocks):
            return ""
        groups = [[[cell.with_text() for cell in row] for row in group] for group in self._groups.values()]
        return spanned_table(groups, self.heads or count_heads(rows))
