"""Which headings a character stands under."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from advchunk.records import Block


class Headings:
    r"""The headings of a document, found by character.

    Parameters
    ----------
    text : what the blocks' spans index.
    blocks : a layout, ascending; blocks other than headings are passed over.

    Examples
    --------
    >>> from advchunk.readers.markdown import blocks
    >>> text = "# Guide\n\nHello.\n\n## Install\n\nRun make."
    >>> Headings(text, blocks(text)).path(text.index("Run"))
    ('Guide', 'Install')
    """

    def __init__(self, text: str, blocks: Iterable[Block]) -> None:
        self._starts: list[int] = []
        self._paths: list[tuple[str, ...]] = [()]
        self._above: list[tuple[str, ...]] = []
        above: list[tuple[int, str]] = []
        for block in blocks:
            if block.kind == "heading":
                above = [(level, title) for level, title in above if level < block.level]
                self._above.append(tuple(title for _, title in above if title))
                title = " ".join(text[slice(*block.span)].split()) if block.title is None else block.title
                above.append((block.level, title))
                self._starts.append(block.span.start)
                self._paths.append(tuple(title for _, title in above if title))

    def path(self, offset: int) -> tuple[str, ...]:
        """Return the headings above a character, innermost last; a heading stands under itself."""
        return self._paths[bisect_right(self._starts, offset)]

    def above(self, offset: int) -> tuple[str, ...]:
        """Return the headings above a text that starts at a character, without the one it starts with."""
        place = bisect_right(self._starts, offset)
        own = place and self._starts[place - 1] == offset
        return self._above[place - 1] if own else self._paths[place]
