"""Derive a text from an original, with the offset of each character there."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from advchunk.records import Block, BlockKind, Document, Ints, Span


class Derivation:
    r"""A text that grows by pieces of an original, and by words that are not in it.

    >>> derivation = Derivation("<v Ann>Tea?")
    >>> derivation.copy(3, 6); derivation.write(": ", 7); derivation.copy(7, 11)
    >>> derivation.end_block("turn", title="Ann")
    >>> document = derivation.document("vtt")
    >>> document.text, document.offsets.tolist()
    ('Ann: Tea?', [3, 4, 5, 7, 7, 7, 8, 9, 10, 11])
    """

    def __init__(self, original: str) -> None:
        self._original = original
        self._parts, self._length, self._begun = list[str](), 0, list[tuple[int, Mapping[str, Any]]]()
        self._offsets, self._blocks, self._start, self._end = list[Ints](), list[Block](), 0, 0

    def copy(self, start: int, end: int) -> None:
        """Add a piece of the original."""
        self._add(self._original[start:end], np.arange(start, end), end)

    def write(self, text: str, start: int, end: int | None = None) -> None:
        """Add text that stands for a piece of the original, or for nothing there."""
        self._add(text, np.full(len(text), start), start if end is None else end)

    def begin_part(self, metadata: Mapping[str, Any]) -> None:
        """Begin a part of the block, with metadata of its own."""
        self._begun.append((self._length if self._begun else self._start, metadata))

    def end_block(
        self, kind: BlockKind, *, level: int = 0, title: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """End a block, if it has any text, and begin the next after a blank line."""
        if self._start < self._length:
            ends = [*(start for start, _ in self._begun[1:]), self._length]
            pieces = zip(self._begun, ends, strict=True) if len(self._begun) > 1 else ()
            parts = tuple(Block(kind, Span(start, end), metadata=own) for (start, own), end in pieces)
            self._blocks.append(Block(kind, Span(self._start, self._length), level, title, (), metadata or None, parts))
            self.write("\n\n", self._end)
            self._start, self._begun = self._length, []

    def document(self, markup: str, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
        """Return the blocks so far."""
        length = self._blocks[-1].span.end if self._blocks else 0
        offsets = np.concatenate([np.zeros(0, np.int64), *self._offsets])[:length]  # without the last blank line
        offsets = np.append(offsets, self._end)
        return Document("".join(self._parts)[:length], id, tuple(self._blocks), metadata or {}, offsets, markup)

    def _add(self, text: str, offsets: Ints, end: int) -> None:
        if text:
            self._parts.append(text)
            self._offsets.append(offsets)
            self._length, self._end = self._length + len(text), end


def times(start: Any, end: Any) -> dict[str, Any]:
    """Return the metadata of the time of a block, as far as it is known."""
    return {key: value for key, value in (("start_time", start), ("end_time", end)) if value is not None}
