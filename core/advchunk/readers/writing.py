"""Put together the text of a document that comes in pieces, and its layout with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from advchunk.records import Block, BlockKind, Document, Place, Span

Furniture: TypeAlias = Literal["drop", "keep"]
"""What becomes of what pages repeat, such as running headers and navigation."""


class Writer:
    r"""A text that grows block by block, a blank line between them.

    Parameters
    ----------
    markup : what it is derived from.

    Examples
    --------
    >>> writer = Writer()
    >>> writer.add("heading", "Results", level=1)
    Span(start=0, end=7)
    >>> writer.add("paragraph", "Weight fell.")
    Span(start=9, end=21)
    >>> writer.document().text
    'Results\n\nWeight fell.'
    """

    def __init__(self, markup: str = "") -> None:
        self._markup = markup
        self._texts, self._blocks, self._length = list[str](), list[Block](), 0

    def add(
        self, kind: BlockKind, text: str, level: int = 0, *, title: str | None = None, places: Iterable[Place] = ()
    ) -> Span | None:
        """Add a block, without the white space around it, and return where it stands; nothing if it is blank."""
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()  # whose first line may be indented
        if not text.strip():
            return None
        start = self._length + 2 if self._texts else 0
        self._length = start + len(text)
        span = Span(start, self._length)
        self._texts.append(text)
        self._blocks.append(Block(kind, span, level, title, tuple(places)))
        return span

    def document(self, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
        """Return what was added so far."""
        text = "\n\n".join(self._texts)
        return Document(text, id, tuple(self._blocks), metadata or {}, markup=self._markup)


def squeezed(text: str) -> str:
    r"""Return a text with one space for each run of white space, none at its ends.

    >>> squeezed(" a \n b ")
    'a b'
    """
    return " ".join(text.split())


def pipe_table(rows: Sequence[Sequence[str]], heads: int = 1) -> str:
    r"""Write a table as Markdown does, its rows filled up to the longest; of several head rows each has a line.

    Parameters
    ----------
    rows : the text of each cell; white space in it becomes one space, "|" is escaped.
    heads : how many of the rows are its head, >= 0; the rule stands below them, and at the top if there are none.

    >>> print(pipe_table([["group", "n"], ["tea"], ["a|b", "7"]]))
    | group | n |
    | --- | --- |
    | tea |  |
    | a\|b | 7 |
    """
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    cells = [[squeezed(cell).replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([*lines[:heads], f"| {' | '.join(['---'] * width)} |", *lines[heads:]])


_RULE = re.compile(r"[>\s]*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")


def table_head(text: str, block: Block) -> str:
    r"""Return the rows that head a pipe table, the rule below them too, for a piece of it that begins further down.

    Parameters
    ----------
    text : what the block's span indexes.
    block : anything but a table with a head has none: "".

    >>> text = pipe_table([["group", "n"], ["tea", "7"]])
    >>> print(table_head(text, Block("table", Span(0, len(text)))))
    | group | n |
    | --- | --- |
    """
    lines = text[slice(*block.span)].splitlines() if block.kind == "table" else []
    rule = next((i for i, line in enumerate(lines) if _RULE.fullmatch(line)), 0)
    return "\n".join(lines[: rule + 1]) if rule else ""
