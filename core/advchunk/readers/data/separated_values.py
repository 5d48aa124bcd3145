"""Read tables of separated values, such as CSV and TSV, whose text is not changed."""

from advchunk.readers.budget import check
from advchunk.records import Block, Span
from advchunk.text.separated import cell_ends, declaration_end, find_table, records


def blocks(text: str) -> tuple[Block, ...]:
    """Return a table as one block, below the lines above it, without ``sep=;``; none if no separator makes columns."""
    start, kind = find_table(text)
    if kind:
        _, end = next(records(text[start:], kind))
        columns = 1 + len(cell_ends(text[start : start + end], kind))
        check("columns", columns, "a table of separated values must have")
    above = text[declaration_end(text) : start].strip()
    first = text.find(above)
    paragraph = (Block("paragraph", Span(first, first + len(above))),) if above else ()
    return (*paragraph, Block("table", Span(start, len(text)))) if kind else ()
