"""Write the paragraphs of word processors and slides as blocks."""

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TypeAlias

from advchunk.readers.inline import join_scripts
from advchunk.readers.table_layout import TableCell, add_table
from advchunk.readers.writing import TextBlock, Writer, cell_texts, squeeze
from advchunk.records import BlockKind

Line: TypeAlias = str | Iterable[tuple[str, str]]  # of a paragraph; its pieces are those of `join_scripts`
_SIGN = re.compile(r"\[\^\d+\]")


def link(pieces: list[tuple[str, str]], target: str) -> list[tuple[str, str]]:
    """Return pieces of a line (`Flow.paragraph`) with the signs of a link, unless it leads within the file, or nowhere.

    >>> link([("tea", "")], "https://tea.org"), link([("tea", "")], "#tea")
    ([('[', 'link'), ('tea', ''), ('](https://tea.org)', 'link')], [('tea', '')])
    """
    target = target.strip()
    if not target or target.startswith("#") or not any(text.strip() for text, _ in pieces):
        return pieces
    return [("[", "link"), *pieces, (f"](<{target}>)" if re.search(r"[\s()]", target) else f"]({target})", "link")]


def field_target(instruction: str) -> str:
    """Return the address to which a field, or a formula, leads, "" if it is no link."""
    match = re.match(r'\s*HYPERLINK[\s(]+"([^"]+)"', instruction)
    return match[1] if match else ""


class Flow(Writer):
    """A `Writer` of paragraphs: lines of code are one block, as is a table of contents, and notes are at the end.

    ``fields`` are metadata, ``shapes`` write the shapes of the open paragraph, and ``targets`` are addresses by id.
    """

    def __init__(self, *, hidden: bool = False, links: bool = False) -> None:
        super().__init__("office")
        self.hidden, self.links, self.targets = hidden, links, dict[str, str]()
        self.fields, self.shapes = dict[str, str](), list[Callable[[], None]]()
        self._notes = list[str]()
        self._lines, self._lines_kind = list[str](), ""  # of the open code or table of contents

    def paragraph(
        self, kind: BlockKind, line: Line, *, label: str = "", depth: int = 0, level: int = 0, is_contents: bool = False
    ) -> None:
        r"""Write a paragraph, in which "\n" ends a line and "\f" a page.

        Pieces of a ``line`` (`join_scripts`) may be "formula", or "link" for the signs of links, which headings, code,
        and tables of contents lack. ``label`` is the number or marker shown before it; ``depth`` of an item is from 0,
        ``level`` of a heading from 1.
        """
        is_plain = bool(level) or kind == "code" or is_contents
        pieces = [(line, "")] if isinstance(line, str) else self.shown(line, is_plain=is_plain)
        text = join_scripts(pieces)
        if is_contents or kind == "code":
            lines_kind = "contents" if is_contents else "code"
            if self._lines_kind != lines_kind:
                self.finish()
            self._lines_kind = lines_kind
            self._lines.append(f"{label} {text}" if label else text)
            return
        self.finish()
        if level and text.strip():
            shown = squeeze(f"{label} {text}")
            plain = _SIGN.sub("", shown)
            title = "" if plain == self.fields.get("title") else None if plain == shown else plain
            self.add("heading", shown, level, title=title)
            return
        kind = "formula" if {tag for text, tag in pieces if text.strip()} == {"formula"} else kind
        self.begin(label, "item", depth + 1, keep=False)
        for page in text.split("\f"):
            for has_text, lines in groupby(map(squeeze, page.split("\n")), bool):
                self.add_paragraph(kind, "\n".join(lines) if has_text else "")
        self.finish()

    def shown(self, line: Iterable[tuple[str, str]], *, is_plain: bool = False) -> list[tuple[str, str]]:
        """Return the pieces of a line, the signs of links only if they are written."""
        return [piece for piece in line if piece[1] != "link" or (self.links and not is_plain)]

    def finish(self) -> None:
        """End the open paragraph, lines of code, or table of contents."""
        lines, kind, self._lines, self._lines_kind = self._lines, self._lines_kind, [], ""
        super().finish()
        if kind == "contents":
            self.add("quote", "\n".join(filter(None, map(squeeze, lines))), title="")
        elif kind:
            self.add("code", "\n".join(lines))

    def write_shapes(self) -> None:
        """Write the shapes of a paragraph after it."""
        shapes, self.shapes = self.shapes, []
        for write in shapes:
            self.finish()
            write()
            self.finish()

    def collected(self, read: Callable[..., object], *arguments: object) -> list[TextBlock]:
        """Return the blocks that a function writes, such as those of a cell."""
        outer, self.shapes = self.shapes, []
        with self.collect() as blocks:
            read(*arguments)
        self.shapes = outer
        return blocks

    def hides(self, kind: str, is_hidden: bool) -> bool:
        """Return True for what the file hides and is not read; it is counted."""
        if is_left := is_hidden and not self.hidden:
            self.left_out[f"hidden {kind}"] += 1
        return is_left

    def note(self, blocks: list[TextBlock]) -> str:
        """Keep a note for `write_notes`, and return its sign."""
        texts = (cell_texts(block.text) if block.kind == "table" else squeeze(block.text) for block in blocks)
        self._notes.append(" ".join(texts))
        return f"[^{len(self._notes)}]"

    def add_talk(self, blocks: list[TextBlock]) -> None:
        """Add what is said with a slide, below a heading."""
        if blocks:
            self.add("heading", "Notes", 2)
            self.blocks += blocks

    def write_notes(self) -> None:
        """Write the notes so far."""
        self.finish()
        for number, text in enumerate(self._notes, 1):
            if text:
                self.add("footnote", f"[^{number}]: {text}")


class TableRows:
    """The rows of a table as they are read, in which a cell may continue the one above or the one before."""

    def __init__(self) -> None:
        self.rows, self._heads = list[list[TableCell]](), 0
        self._above, self._line, self._column = dict[int, TableCell](), dict[int, TableCell](), 0  # cells by column

    def begin_row(self, *, is_head: bool = False) -> None:
        """Begin a row; one that is marked as header is one if all above it are."""
        self._heads += is_head and self._heads == len(self.rows)
        self.rows.append([])
        self._above, self._line, self._column = self._line, {}, 0

    def add(self, cell: TableCell, *, is_below: bool = False, is_after: bool = False) -> None:
        """Add a cell to the row, or its blocks to the cell above or before that it continues."""
        own, width = cell, cell.columns
        if is_below and self._column in self._above:
            own = self._above[self._column]
            own.rows += all(other is not own for other in self._line.values())
        elif is_after and self.rows[-1]:
            own = self.rows[-1][-1]
            own.columns += width
        else:
            self.rows[-1].append(cell)
        if own is not cell:
            own.blocks += cell.blocks
        self._line[self._column] = own
        self._column += width

    def write(self, flow: Flow) -> None:
        """Write the table, if it has rows."""
        add_table(flow, [self.rows], self._heads, 1)
