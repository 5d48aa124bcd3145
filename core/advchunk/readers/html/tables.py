"""HTML tables, many of which are used for layout."""

from advchunk.readers.table_layout import TableCell, add_table
from advchunk.readers.writing import Writer


class Table:
    """A table that is being read; ``is_layout`` if the page declares it as layout."""

    def __init__(self, is_layout: bool) -> None:
        self.rows, self.heads, self._is_layout = list[list[TableCell]](), 0, is_layout
        self._groups = dict[int, list[list[TableCell]]]()

    def add_row(self, group: int) -> None:
        """Begin a row of a <thead>, <tbody> or <tfoot>, identified by a number."""
        self.rows.append([])
        self._groups.setdefault(group, []).append(self.rows[-1])

    def write(self, writer: Writer) -> None:
        """Write the table, or what is in its cells (`add_table`)."""
        add_table(writer, [*self._groups.values()], self.heads, 0, is_layout=self._is_layout)
