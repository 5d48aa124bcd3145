"""Build the text of a document block by block, and its layout with it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from advchunk.records import Block, BlockKind, Document, Place, Span

Furniture: TypeAlias = Literal["drop", "keep"]
"""Whether content repeated on every page, such as running headers and navigation, is dropped or kept."""


class TextBlock(NamedTuple):
    """A block with its text, before its position in the document is known."""

    kind: BlockKind
    text: str
    level: int = 0
    title: str | None = None
    places: tuple[Place, ...] = ()


class Prefix(NamedTuple):
    """The start of a pending block; if no paragraph follows, it becomes a block with ``keep``, else it is dropped."""

    text: str
    kind: BlockKind
    level: int
    keep: bool


class Writer:
    r"""A text that grows block by block, with blank lines between them; ``markup`` is the format of the source.

    A reader may temporarily replace the list ``blocks`` to collect the blocks of a part, such as a cell.

    >>> writer = Writer()
    >>> writer.add("heading", "Results", level=1)
    >>> writer.begin("-", level=1)
    >>> writer.add_paragraph("paragraph", "Weight fell.")
    >>> writer.document().text
    'Results\n\n- Weight fell.'
    """

    def __init__(self, markup: str = "") -> None:
        self._markup = markup
        self.prefix: Prefix | None = None
        self.blocks = list[TextBlock]()

    def add(
        self, kind: BlockKind, text: str, level: int = 0, *, title: str | None = None, places: Iterable[Place] = ()
    ) -> None:
        """Add a block, stripped, unless it is blank, after finishing a pending one (`begin`)."""
        self.finish()
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()  # the first line of code may be indented
        if text.strip():
            self.blocks.append(TextBlock(kind, text, level, title, tuple(places)))

    def begin(self, prefix: str, kind: BlockKind = "item", level: int = 0, *, keep: bool = True) -> None:
        """Put a `Prefix`, such as the marker of a list item, before the next paragraph, and change its kind and level."""
        self.finish()
        self.prefix = Prefix(prefix, kind, level, keep) if prefix else None

    def add_paragraph(self, kind: BlockKind, text: str) -> None:
        """Add a block, with the pending prefix if there is one."""
        if self.prefix and text.strip():
            prefix, self.prefix = self.prefix, None
            self.add(prefix.kind, f"{prefix.text} {text}", prefix.level)
        elif text.strip():
            self.add(kind, text)

    def finish(self) -> None:
        """End the block started by `begin`."""
        prefix, self.prefix = self.prefix, None
        if prefix and prefix.keep:
            self.add(prefix.kind, prefix.text, prefix.level)

    def document(self, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
        """Return a document with the blocks so far."""
        blocks, start = list[Block](), 0
        for kind, text, level, title, places in self.blocks:
            blocks.append(Block(kind, Span(start, start + len(text)), level, title, places))
            start += len(text) + 2
        text = "\n\n".join(block.text for block in self.blocks)
        return Document(text, id, tuple(blocks), metadata or {}, markup=self._markup)


def left_out(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the metadata that say what a reader left out, {} if that is nothing.

    >>> left_out({"comments": 2, "pictures": 0, "hidden texts": 1})
    {'left_out': 'comments: 2; hidden texts: 1'}
    """
    text = "; ".join(f"{kind}: {count}" for kind, count in counts.items() if count)
    return {"left_out": text} if text else {}


def squeeze(text: str) -> str:
    r"""Replace each run of white space with one space, and strip the ends.

    >>> squeeze(" a \n b ")
    'a b'
    """
    return " ".join(text.split())


_MARK = re.compile(r"(?m)^([ \t]*)(?=(?:#{1,6}|[-+*])[ \t]|[>|]|`{3}|~{3})|^([ \t]*\d{1,9})(?=[.)][ \t])")


def as_prose(text: str) -> str:
    r"""Write a paragraph so that Markdown reads none of its lines as a heading, an item, a quote, a table, or code.

    >>> print(as_prose("# of cups"), as_prose("2. May"), as_prose("tea"))
    \# of cups 2\. May tea
    """
    return _MARK.sub(lambda match: f"{match[0]}\\", text)


def pipe_table(rows: Sequence[Sequence[str]], heads: int = 1) -> str:
    r"""Write a Markdown table with a rule below its header rows; short rows are padded, white space squeezed, "|" escaped.

    >>> print(pipe_table([["group", "n"], ["tea"], ["a|b", "7"]]))
    | group | n |
    | --- | --- |
    | tea |  |
    | a\|b | 7 |
    """
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    cells = [[squeeze(cell).replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([*lines[:heads], f"| {' | '.join(['---'] * width)} |", *lines[heads:]])


_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[>\s]*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")


def cell_texts(table: str) -> str:
    r"""Return the text of the cells of a pipe table, row by row.

    >>> cell_texts("| group | n |\n| --- | --- |\n| a\\|b | 7 |")
    'group n a|b 7'
    """
    lines = (line for line in table.splitlines() if not _RULE.fullmatch(line))
    return squeeze(" ".join(cell.replace("\\|", "|") for line in lines for cell in _CELL_END.split(line)))
