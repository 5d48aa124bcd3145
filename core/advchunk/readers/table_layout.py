"""Write tables whose cells may span several rows and columns."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import NamedTuple, TypeAlias

from advchunk.readers.writing import TextBlock, Writer, cell_texts, pipe_table, squeeze

# Limit on the length of a table with filled spans, relative to its text: a page may declare a million columns.
_LONGER, _SHORTEST = 10, 100_000
_EMPTY = 10  # characters that an empty cell takes
_LABEL = 100  # most characters of a cell that is repeated in the rows and columns that it spans
_RARE = frozenset({"code", "heading", "table"})  # kinds of blocks that few cells of data have
_MAX_RARE = 0.25  # share of such cells in a table without header cells
_PROSE = 500  # characters of a cell that are no data if they are several paragraphs


class Cell(NamedTuple):
    """The text of a cell, its first row and column, from 0, and the number of rows and columns that it spans."""

    text: str
    row: int = 0
    column: int = 0
    rows: int = 1
    columns: int = 1
    is_head: bool = False


Rows: TypeAlias = Sequence[Sequence[Cell]]
"""The cells that start in each row, from left to right, without their positions."""


def lay_out(cells: Sequence[Cell]) -> tuple[list[list[str]], int]:
    """Return the rows of a table and the number of its header rows.

    A cell that spans several rows or columns is repeated in each, so that every row can be read by itself; one as wide
    as the table appears once per row, one of over 100 characters once. Where two cells overlap, the later one wins. A
    header row has a column header, and no other text except a label in the first column.

    >>> lay_out([Cell("tea", 0, 0, 1, 2, True), Cell("kind", 1, 0, is_head=True), Cell("n", 1, 1), Cell("green", 2, 0)])
    ([['tea', ''], ['kind', 'n'], ['green', '']], 1)
    """
    height, width = _size(cells)
    rows, has_head, has_data = [[""] * width for _ in range(height)], [False] * height, [False] * height
    for cell in cells:
        is_label = len(cell.text) <= _LABEL
        repeated = cell.text if is_label and cell.columns < width else ""
        for i in range(cell.row, cell.row + cell.rows):
            first = cell.text if is_label or i == cell.row else ""
            rows[i][cell.column : cell.column + cell.columns] = [first, *[repeated] * (cell.columns - 1)]
            has_head[i] |= cell.is_head
            has_data[i] |= cell.column > 0 and not cell.is_head and bool(cell.text.strip())
    return rows, next((i for i in range(height) if has_data[i] or not has_head[i]), height)


def filled_length(cells: Sequence[Cell]) -> int:
    """Return an upper bound on the number of characters of a table with its spans filled."""
    height, width = _size(cells)
    return _EMPTY * height * width + sum(len(cell.text) * cell.rows * cell.columns for cell in cells)


def _size(cells: Sequence[Cell]) -> tuple[int, int]:
    height = max((cell.row + cell.rows for cell in cells), default=0)
    return height, max((cell.column + cell.columns for cell in cells), default=0)


def spanned_table(groups: Sequence[Rows], heads: int = 1) -> str:
    r"""Write a Markdown table of cells without positions, with spans filled as in `lay_out`.

    ``groups`` are the rows of each part of the table, such as its head and its body; a cell stays within its part.
    Rows without any text are left out. If filling the spans would make the table far longer than the text of its
    cells, each row is a line without bars instead.

    >>> print(spanned_table([[[Cell("tea"), Cell("weight", columns=2)], [Cell("green"), Cell("7"), Cell("1")]]]))
    | tea | weight | weight |
    | --- | --- | --- |
    | green | 7 | 1 |
    """
    rows = [row for group in groups for row in group]
    longest = max(_SHORTEST, _LONGER * sum(1 + len(cell.text) for row in rows for cell in row))
    cells = _place(groups, longest)
    width = _size(cells)[1]
    copies = (len(cell.text) * cell.rows * (1 if cell.columns == width else cell.columns) for cell in cells)
    if len(rows) * width + sum(copies) > longest:
        return "\n".join(squeeze(" ".join(cell.text for cell in row)) for row in rows)
    reached = {i for cell in cells for i in range(cell.row, cell.row + cell.rows)}
    lines = lay_out(cells)[0]
    shown = [i for i, line in enumerate(lines) if i in reached and any(line)]
    return pipe_table([lines[i] for i in shown], sum(i < heads for i in shown))


def _place(groups: Sequence[Rows], most: int) -> list[Cell]:
    """Return the cells with positions, without columns where no cell starts; stop once the rows have ``most`` cells."""
    cells, count, top = list[Cell](), 0, 0
    for group in groups:
        above = list[Cell]()
        for i, row in enumerate(group, top):
            above = _place_row(row, i, top + len(group), [cell for cell in above if cell.row + cell.rows > i])
            cells += (cell for cell in above if cell.row == i)
            count += len(above)
            if count > most:
                break
        top += len(group)
    starts = sorted({cell.column for cell in cells})
    edges = ((bisect_left(starts, cell.column), bisect_left(starts, cell.column + cell.columns)) for cell in cells)
    return [cell._replace(column=a, columns=b - a) for cell, (a, b) in zip(cells, edges, strict=True)]


def _place_row(row: Sequence[Cell], i: int, end: int, above: list[Cell]) -> list[Cell]:
    """Return the cells in row ``i``, including those that extend into it from above; the part ends at row ``end``."""
    line, column, above = list[Cell](), 0, sorted(above, key=lambda cell: cell.column, reverse=True)
    for cell in row:
        while above and above[-1].column <= column:
            line.append(above.pop())
            column = line[-1].column + line[-1].columns
        columns = max(cell.columns, 1)
        columns = min(columns, above[-1].column - column) if above else columns
        line.append(Cell(cell.text, i, column, min(max(cell.rows, 1), end - i), columns))
        column += columns
    return [*line, *above]


def count_heads(rows: Rows, declared: int = 0, least: int = 1) -> int:
    """Return the number of header rows: those declared, or else those that have only headers, or else ``least``.

    Rows into which a header reaches belong to them, if any is declared or a header spans columns.
    """
    least = declared or sum(1 for _ in takewhile(lambda row: all(cell.is_head for cell in row), rows)) or least
    heads = [(i, cell) for i, row in enumerate(rows[:least]) for cell in row]
    reaches = declared or any(cell.columns > 1 for _, cell in heads)
    return min(max((i + (cell.rows if reaches else 1) for i, cell in heads), default=0), len(rows))


@dataclass
class TableCell:
    """The blocks in a cell, the rows and columns it spans, and whether it is a header."""

    blocks: list[TextBlock]
    rows: int = 1
    columns: int = 1
    is_head: bool = False

    def cell(self) -> Cell:
        """Return the cell with the text of its blocks."""
        texts = (cell_texts(block.text) if block.kind == "table" else block.text for block in self.blocks)
        return Cell(" ".join(texts), rows=self.rows, columns=self.columns, is_head=self.is_head)


def add_table(
    writer: Writer, groups: Sequence[Sequence[Sequence[TableCell]]], heads: int, least: int, *, is_layout: bool = False
) -> None:
    """Write a table of data (`spanned_table`, `count_heads`), or, if it is layout, the blocks of its cells. It is
    layout if it says so, has one column, furniture, or no header cells and many cells with more than data.
    """
    writer.finish()
    cells = [cell for group in groups for row in group for cell in row]
    if is_layout or not _is_data([row for group in groups for row in group if row], cells, heads):
        writer.blocks += (block for cell in cells for block in cell.blocks)
    else:
        filled = [[[cell.cell() for cell in row] for row in group] for group in groups]
        writer.add("table", spanned_table(filled, count_heads([*chain(*filled)], heads, least)))


def _is_data(rows: Sequence[Sequence[TableCell]], cells: Sequence[TableCell], heads: int) -> bool:
    kinds = [{block.kind for block in cell.blocks} for cell in cells]
    if not any(kinds) or all(len(row) == 1 for row in rows) or any("furniture" in kind for kind in kinds):
        return False
    sizes = [sum(len(block.text) for block in cell.blocks) for cell in cells]
    prose = sum(size for size, cell in zip(sizes, cells, strict=True) if size > _PROSE and len(cell.blocks) > 2)
    rare = sum(bool(_RARE & kind) for kind in kinds)
    has_heads = heads or any(cell.is_head for cell in cells)
    return bool(has_heads) or (rare <= _MAX_RARE * len(kinds) and 2 * prose <= sum(sizes))


def parse_span(text: str | None, least: int = 1) -> int:
    """Return the number of rows or columns in an attribute, at least ``least``; ``least`` if it is not a number."""
    return max(int(text), least) if text and re.fullmatch(r"[0-9]{1,9}", text) else least
