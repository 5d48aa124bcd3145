"""Read transcripts: `NAME: text`, with time stamps or without, or names and times on lines of their own.

In Markdown, a heading ends a turn, and the lists, tables and code of a turn have its speaker.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from advchunk.readers import markdown
from advchunk.readers.conversations.derivation import Derivation, times
from advchunk.readers.conversations.heads import FEW, SIGNS, TurnHead, find_heads, is_conversation
from advchunk.records import Block, Document, Span, written_metadata
from advchunk.text.tiling import flatten, next_non_space, paragraph_edges

_MOST = 0.5  # of the turns
_MARKDOWN = re.compile(r"^(?:#{1,6}[ \t]|```|~~~)", re.MULTILINE)


class _Turn(NamedTuple):
    """A block, and the head that it begins with, if any."""

    block: Block
    head: TurnHead | None = None


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a transcript; time stamps become metadata, and "Name 0:03" above a text becomes "Name: " before it."""
    blocks = _layout(text)
    turns = _turns(text, blocks, _recurring(text, blocks, _heads(text, blocks)))
    if all(turn.head is None or turn.head.has_label for turn in turns):
        return Document(text, id, tuple(turn.block for turn in turns), metadata or {}, markup="transcript")
    derivation = Derivation(text)
    for block, head in turns:
        start, end = block.span
        if head is not None and not head.has_label:
            derivation.copy(head.name_start, head.label_end)
            body = next_non_space(text, head.end)
            derivation.write(": " if body < end else ":", head.label_end, body)
            start = body
        derivation.copy(start, end)
        derivation.end_block(block.kind, level=block.level, title=block.title, metadata=block.metadata)
    return derivation.document("transcript", id, metadata)


def detect_transcript(text: str, name: str = "", metadata: Mapping[str, Any] | None = None) -> str:  # noqa: ARG001
    """Return "transcript" if a text is plainly one (`is_conversation`), else ""."""
    blocks = _layout(text)
    return "transcript" if is_conversation(_heads(text, blocks), text, _paragraphs(blocks)) else ""


def refine_layout(document: Document) -> Document:
    """Return a document with turns among its blocks, if it is plainly a transcript; its text stays as it is."""
    text, blocks = document.text, document.blocks or ()
    if sum(map(text.count, SIGNS)) < FEW:
        return document
    heads = _heads(text, blocks)
    if not is_conversation(heads, text, _paragraphs(blocks)):
        return document
    turns = _turns(text, blocks, _recurring(text, blocks, heads))
    return replace(document, blocks=tuple(turn.block for turn in turns))


def restore_layout(chunk: Document) -> Document | None:
    """Return the text of a chunk of a transcript with its turns, first one of the first speaker; else None."""
    speakers = written_metadata(chunk.metadata).get("speakers")
    if not speakers or not isinstance(speakers, list):
        return None
    text, blocks = chunk.text, markdown.blocks(chunk.text)
    heads = [head for head in _heads(text, blocks) if head.name in speakers]
    turns = _turns(text, blocks, heads, {"speakers": speakers[:1]})
    return replace(chunk, blocks=tuple(turn.block for turn in turns))


def _layout(text: str) -> Sequence[Block]:
    """Return the blocks of Markdown that has headings or fences, else paragraphs, which may be indented."""
    if _MARKDOWN.search(text):
        return markdown.blocks(text)
    spans = [(next_non_space(text, a), a + len(text[a:b].rstrip())) for a, b in pairwise(paragraph_edges(text))]
    return [Block("paragraph", Span(start, end)) for start, end in spans if start < end]


def _paragraphs(blocks: Iterable[Block]) -> list[Span]:
    return [block.span for block in blocks if block.kind == "paragraph"]


def _heads(text: str, blocks: Iterable[Block]) -> Sequence[TurnHead]:
    return _heads_in(text, tuple(_line(text, span) for span in _paragraphs(blocks)))


@lru_cache(maxsize=1)  # a text whose format is detected is read next
def _heads_in(text: str, spans: tuple[Span, ...]) -> Sequence[TurnHead]:
    return find_heads(flatten(text), spans)


def _line(text: str, span: Span) -> Span:
    """Return a span with the indentation of its first line."""
    start = span.start
    while start and text[start - 1] in " \t":
        start -= 1
    return Span(start, span.end)


def _recurring(text: str, blocks: Iterable[Block], heads: Sequence[TurnHead]) -> list[TurnHead]:
    """Leave out a name that occurs once, without a time, in a line where no paragraph begins although turns do."""
    counts = Counter(head.name for head in heads)
    starts = {next_non_space(text, block.span.start) for block in blocks}
    if sum(head.start in starts for head in heads) <= _MOST * len(heads):
        return [*heads]
    return [head for head in heads if counts[head.name] > 1 or head.stamps or head.start in starts]


def _turns(
    text: str, blocks: Iterable[Block], kept: Sequence[TurnHead], current: Mapping[str, Any] | None = None
) -> list[_Turn]:
    """Divide paragraphs at heads, and give blocks the speaker and times of the last head above in their section."""
    ends, turns, i, current = _end_times(kept), list[_Turn](), 0, current or {}
    for block in blocks:
        start, end = block.span
        if block.kind == "heading":
            current = {}
        while i < len(kept) and kept[i].start < end:
            head = kept[i]
            _add(turns, text, block, Span(start, head.start), current)
            current = {"speakers": [head.name]} | times(head.stamps[0] if head.stamps else None, ends[i])
            i += 1
            start = kept[i].start if i < len(kept) and kept[i].start < end else end
            _add(turns, text, block, Span(head.start, start), current, head)
        _add(turns, text, block, Span(start, end), current)
    return turns


def _end_times(heads: Sequence[TurnHead]) -> list[float | None]:
    """Return the end of each turn: its own second stamp, or the start of the next turn, if that is known."""
    ends, following = list[float | None](), None
    for head in reversed(heads):
        ends.append(head.stamps[1] if len(head.stamps) > 1 else following if head.stamps else None)
        following = head.stamps[0] if head.stamps else None
    return ends[::-1]


def _add(
    turns: list[_Turn], text: str, block: Block, span: Span, current: Mapping[str, Any], head: TurnHead | None = None
) -> None:
    """Add a part of a block; a head without a text is joined with what follows."""
    end = span.start + len(text[slice(*span)].rstrip())
    if end <= span.start:
        return
    kind, title, metadata = block.kind, block.title, block.metadata
    if current:
        kind = "turn" if kind == "paragraph" else kind
        title = current["speakers"][0] if kind == "turn" else title
        metadata = {**(metadata or {}), **current}
    part = block.cut(Span(span.start, end), kind=kind, title=title, metadata=metadata)
    last = turns[-1] if turns else None
    if head is None and part.kind == "turn" and last and last.head and last.head.end >= last.block.span.end:
        turns[-1] = _Turn(replace(last.block, span=Span(last.block.span.start, end)), last.head)
    else:
        turns.append(_Turn(part, head))
