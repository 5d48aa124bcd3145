"""HTML tables, many of which are used for layout."""

from collections.abc import Sequence
from typing import NamedTuple

from advchunk.readers.table_layout import Cell, count_heads, spanned_table
from advchunk.readers.writing import TextBlock, cell_texts

_RARE = frozenset(["code", "heading", "table"])  # kinds of blocks that few cells of data have
_MAX_RARE = 0.25  # share of such cells in a table without header cells


class TableCell(NamedTuple):
    """The blocks in a cell, and its other properties."""

    blocks: list[TextBlock]
    cell: Cell

    def with_text(self) -> Cell:
        """Return the cell with the text of its blocks."""
        texts = (cell_texts(block.text) if block.kind == "table" else block.text for block in self.blocks)
        return self.cell._replace(text=" ".join(texts))


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
        """Return the table in Markdown; "" if it is layout."""
        rows = [[cell.cell for cell in row] for row in self.rows if row]
        if not self._is_data(rows):
            return ""
        groups = [[[cell.with_text() for cell in row] for row in group] for group in self._groups.values()]
        return spanned_table(groups, self.heads or count_heads(rows))

    def _is_data(self, rows: Sequence[Sequence[Cell]]) -> bool:
        """Return True unless the table has one column, furniture, or no header cells and many cells with more than data."""
        kinds = [{block.kind for block in cell.blocks} for row in self.rows for cell in row]
        if self._is_layout or not any(kinds) or all(len(row) == 1 for row in rows):
            return False
        rare, has_heads = sum(bool(_RARE & kind) for kind in kinds), any(cell.is_head for row in rows for cell in row)
        return not any("furniture" in kind for kind in kinds) and (has_heads or rare <= _MAX_RARE * len(kinds))
