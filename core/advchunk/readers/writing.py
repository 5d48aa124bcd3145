"""Build the text of a document block by block, and its layout with it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from advchunk.errors import require
from advchunk.records import Block, BlockKind, Document, Place, Span
from advchunk.text.patterns import lazy_pattern

Furniture: TypeAlias = Literal["drop", "keep"]
"""Whether content repeated on every page, such as running headers and navigation, is dropped or kept."""

Content: TypeAlias = Literal["all", "main"]
"""Of a web page, all that it shows, or only what it is about."""


class ReadingOptions(TypedDict, total=False):
    """Options of reading files; see `readers.files.read_file`."""

    encoding: str | None
    content: Content
    hidden: bool
    links: bool


def check_content(content: Content) -> None:
    """Raise `ConfigurationError` unless ``content`` is one."""
    require(content in ("all", "main"), 'content must be "all" or "main"', content)


class TextBlock(NamedTuple):
    """A block with its text, before its position in the document is known."""

    kind: BlockKind
    text: str
    level: int = 0
    title: str | None = None
    places: tuple[Place, ...] = ()
    metadata: Mapping[str, Any] | None = None


class Prefix(NamedTuple):
    """The start of a pending block; if no paragraph follows, it becomes a block with ``keep``, else it is dropped."""

    text: str
    kind: BlockKind
    level: int
    keep: bool


class Writer:
    """A text that grows block by block, with blank lines between them. ``places`` and ``metadata`` are those of the
    blocks that follow; ``left_out`` counts what the reader leaves out, by kind, and is metadata of the document.
    """

    def __init__(self, markup: str = "") -> None:
        self._markup = markup
        self.prefix: Prefix | None = None
        self.blocks = list[TextBlock]()
        self.places: tuple[Place, ...] = ()
        self.metadata: Mapping[str, Any] | None = None
        self.left_out = Counter[str]()

    def add(
        self, kind: BlockKind, text: str, level: int = 0, *, title: str | None = None, places: Iterable[Place] = ()
    ) -> None:
        """Add a block, stripped, unless it is blank, after finishing a pending one (`begin`)."""
        self.finish()
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()  # the first line of code may be indented
        if text.strip():
            self.blocks.append(TextBlock(kind, text, level, title, tuple(places) or self.places, self.metadata))

    def add_document(self, document: Document) -> None:
        """Add the blocks of another document, such as a chapter, and what was left out of it."""
        for item in str(document.metadata.get("left_out", "")).split("; "):
            kind, _, count = item.rpartition(": ")
            self.left_out[kind] += int(count) if count.isdecimal() else 0
        for block in document.blocks or ():
            text = document.text[block.span.start : block.span.end]
            self.add(block.kind, text, block.level, title=block.title, places=block.places)

    @contextmanager
    def collect(self) -> Iterator[list[TextBlock]]:
        """Collect the blocks of a part, such as a cell, in a list of their own."""
        self.finish()
        outer, self.blocks = self.blocks, []
        yield self.blocks
        self.finish()
        self.blocks = outer

    def begin(self, prefix: str, kind: BlockKind = "item", level: int = 0, *, keep: bool = True) -> None:
        """Put a `Prefix`, such as the marker of a list item, before the next paragraph, with its kind and level."""
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
        for kind, text, level, title, places, about in self.blocks:
            blocks.append(Block(kind, Span(start, start + len(text)), level, title, places, about))
            start += len(text) + 2
        text = "\n\n".join(block.text for block in self.blocks)
        about = {**left_out(dict(sorted(self.left_out.items()))), **(metadata or {})}
        return Document(text, id, tuple(blocks), about, markup=self._markup)


def left_out(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the metadata that say what a reader left out, {} if that is nothing."""
    text = "; ".join(f"{kind}: {count}" for kind, count in counts.items() if count)
    return {"left_out": text} if text else {}


def squeeze(text: str) -> str:
    """Replace each run of white space with one space, and strip the ends."""
    return " ".join(text.split())


def pipe_table(rows: Sequence[Sequence[str]], heads: int = 1) -> str:
    """Write a Markdown table; short rows are padded, white space is squeezed, and "|" escaped."""
    width = max((len(row) for row in rows), default=0)
    if not width:
        return ""
    cells = [[squeeze(cell).replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([*lines[:heads], f"| {' | '.join(['---'] * width)} |", *lines[heads:]])


_CELL_END = lazy_pattern(r"(?<!\\)\|")
_RULE = lazy_pattern(r"[>\s]*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")


def cell_texts(table: str) -> str:
    r"""Return the cells of a pipe table in one line: commas part the cells of a row, semicolons the rows.

    >>> cell_texts("| group | n |\n| --- | --- |\n| a\\|b | 7 |")
    'group, n; a|b, 7'
    """
    lines = (line for line in table.splitlines() if not _RULE.fullmatch(line))
    rows = ([squeeze(cell.replace("\\|", "|")) for cell in _CELL_END.split(line)] for line in lines)
    return "; ".join(", ".join(filter(None, row)) for row in rows)
