"""Read tables of separated values, such as CSV and TSV, whose text is not changed."""

from advchunk.readers.budget import check
from advchunk.records import Block, Span
from advchunk.text.separated import cell_ends, declaration_end, find_table, records


def blocks(text: str) -> tuple[Block, ...]:
    r"""Return a table as one block; no block for a text in which no separator makes columns, which is read as plain
    text.

    The separators are those of `text.separated`. A line such as ``sep=;`` is in no block, other lines above the table
    are a paragraph. Chunks have whole records while these fit, and the later ones
    have the header as context.

    >>> blocks("tea,price\ngreen,2\n")[0].kind, blocks("Tea.")
    ('table', ())
    """
    start, kind = find_table(text)
    if kind:
        _, end = next(records(text[start:], kind))
        columns = 1 + len(cell_ends(text[start : start + end], kind))
        check("columns", columns, "a table of separated values must have")
    above = text[declaration_end(text) : start].strip()
    first = text.find(above)
    paragraph = (Block("paragraph", Span(first, first + len(above))),) if above else ()
    return (*paragraph, Block("table", Span(start, len(text)))) if kind else ()
