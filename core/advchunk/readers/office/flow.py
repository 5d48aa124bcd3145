"""Write the paragraphs of word processors and slides as blocks."""

import re
from itertools import groupby

from advchunk.readers.writing import TextBlock, Writer, cell_texts, squeeze
from advchunk.records import BlockKind

_SIGN = re.compile(r"\[\^\d+\]")


class Flow(Writer):
    """A `Writer` of paragraphs: lines of code are one block, as is a table of contents, and notes are at the end.

    Parameters
    ----------
    title : of the document; a heading that repeats it is not repeated in the context of chunks.
    hidden : whether what the file hides is read, too.
    """

    def __init__(self, title: str = "", *, hidden: bool = False) -> None:
        super().__init__("office")
        self.title, self.hidden, self._notes = title, hidden, list[str]()
        self._lines, self._lines_kind = list[str](), ""  # of the open code or contents

    def paragraph(
        self, kind: BlockKind, text: str, *, label: str = "", depth: int = 0, level: int = 0, is_contents: bool = False
    ) -> None:
        r"""Write a paragraph, in which "\n" ends a line and "\f" a page.

        Parameters
        ----------
        label : the number or the marker that is shown before it.
        depth : nesting of an item, from 0.
        level : of a heading, from 1; 0 for others.
        """
        lines_kind = "contents" if is_contents else kind if kind == "code" else ""
        if lines_kind:
            if self._lines_kind != lines_kind:
                self.finish()
            self._lines_kind = lines_kind
            self._lines.append(f"{label} {text}" if label else text)
            return
        self.finish()
        if level and text.strip():
            shown = squeeze(f"{label} {text}")
            plain = _SIGN.sub("", shown)
            self.add("heading", shown, level, title="" if plain == self.title else None if plain == shown else plain)
            return
        self.begin(label, "item", depth + 1, keep=False)
        for page in text.split("\f"):
            for has_text, lines in groupby(map(squeeze, page.split("\n")), bool):
                self.add_paragraph(kind, "\n".join(lines) if has_text else "")
        self.finish()

    def finish(self) -> None:
        """End the open paragraph, lines of code, or table of contents."""
        lines, kind, self._lines, self._lines_kind = self._lines, self._lines_kind, [], ""
        super().finish()
        if kind == "code":
            self.add("code", "\n".join(lines).strip("\n"))
        elif kind:
            self.add("quote", "\n".join(filter(None, map(squeeze, lines))), title="")

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
