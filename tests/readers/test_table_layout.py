"""Tables with cells that span rows and columns, against a grid that is filled cell by cell."""

from hypothesis import given
from hypothesis import strategies as st

from advchunk.readers.table_layout import Cell, spanned_table
from advchunk.readers.writing import pipe_table

WORDS = st.text("abc", min_size=1, max_size=2)
CELLS = st.builds(Cell, WORDS, rows=st.integers(1, 4), columns=st.integers(1, 4))
ROWS = st.lists(st.lists(CELLS, max_size=4), max_size=4)


def filled(rows):
    """Fill a grid: a cell goes to the first free place of its row, and takes what is free of its width."""
    grid, starts = {}, set()
    for at, row in enumerate(rows):
        for cell in row:
            column = next(i for i in range(100) if (at, i) not in grid)
            width = next(i for i in range(1, cell.columns + 1) if i == cell.columns or (at, column + i) in grid)
            starts.add(column)
            for i in range(at, min(at + cell.rows, len(rows))):
                for j in range(column, column + width):
                    grid[i, j] = (cell, at, column)
    return grid, starts


@given(st.lists(ROWS, max_size=3), st.integers(0, 3))
def test_spans_are_filled_as_a_grid_is(groups, heads):
    parts = [filled(rows) for rows in groups]
    columns = sorted(set().union(*(starts for _, starts in parts)))
    grid, above = [], [0]
    for (part, _), rows in zip(parts, groups, strict=True):
        for at in range(len(rows)):
            owners = [part.get((at, column)) for column in columns]
            line = [owner[0].text if owner else "" for owner in owners]
            if columns and owners[0] and all(owner == owners[0] for owner in owners):
                line = [line[0], *[""] * (len(columns) - 1)]
            grid += [line] if any(owners) else []
            above.append(len(grid))
    assert spanned_table(groups, heads) == pipe_table(grid, above[min(heads, len(above) - 1)])


def test_a_table_that_would_grow_too_long_has_lines():
    wide = [[Cell("tea cup")] * 2_000, *[[Cell("a"), Cell("b")]] * 2_000]
    assert spanned_table([wide]).splitlines()[1:3] == ["a b", "a b"]
    assert spanned_table([[row] * 20 for row in wide]).splitlines()[20 * 2_000] == "a b"
    long = [[Cell("tea " * 100_000, rows=50), Cell("x")], *[[Cell("y")]] * 49]
    assert spanned_table([long]).count("tea") == 100_000
    assert spanned_table([long]).splitlines()[1] == "y"


def test_ordinary_tables_are_never_too_long():
    rows = [[Cell(str(i * j)) for j in range(20)] for i in range(500)]
    assert spanned_table([rows]).count("\n") == 500
