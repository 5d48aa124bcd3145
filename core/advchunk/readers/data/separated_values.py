"""Read tables of separated values, such as CSV and TSV, whose text is not changed."""

from advchunk.records import Block, Span
from advchunk.text.separated import declaration_end, separation


def blocks(text: str) -> tuple[Block, ...]:
    r"""Return a table as one block; no block for a text in which no separator makes columns, which is read as plain text.

    Commas, semicolons and tabs are recognized (`text.separated`); a line such as ``sep=;`` is before the table. Chunks have whole records while these fit, and the later ones
    have the header as context.

    >>> blocks("tea,price\ngreen,2\n")[0].kind, blocks("Tea.")
    ('table', ())
    """
    start = declaration_end(text)
    return (Block("table", Span(start, len(text))),) if separation(text[start:]) else ()
