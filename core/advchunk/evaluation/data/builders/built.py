"""What is made of documents, and what the ways to make it share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.data.questions import Question
from advchunk.readers import markdown
from advchunk.records import Block, Document, Span
from advchunk.text import tiling


@dataclass(frozen=True, slots=True)
class Built:
    """What `Trial` takes, made from documents.

    Parameters
    ----------
    documents : those given, in their order; where something was taken out of them, without it.
    questions : refer to the characters of ``documents``.
    boundaries : by document, the characters at which its segments meet.
    dropped : how many questions came to nothing, by reason.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...] = ()
    boundaries: Mapping[str, Sequence[int]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)


def edit(document: Document, edits: Sequence[tuple[Span, str]]) -> tuple[Document, Callable[[int], int]]:
    """Replace spans of a document, ascending and apart, and return where a character outside them comes to stand."""
    ends = np.array([span.end for span, _ in edits], dtype=np.int64)
    grown = np.array([len(by) - (span.end - span.start) for span, by in edits], dtype=np.int64)

    def moved(at: int) -> int:
        return at + int(grown[ends <= at].sum())

    starts = [0, *ends.tolist()]
    stops = [*(span.start for span, _ in edits), len(document.text)]
    bys = [*(by for _, by in edits), ""]
    text = "".join(document.text[a:b] + by for a, b, by in zip(starts, stops, bys, strict=True))
    blocks, offsets = document.blocks, document.offsets
    if blocks:
        blocks = tuple(replace(block, span=Span(*map(moved, block.span))) for block in blocks)
    if offsets is not None:
        kept = [np.r_[np.arange(a, b), np.full(len(by), b)] for a, b, by in zip(starts, stops, bys, strict=True)]
        offsets = offsets[np.concatenate([*kept, [len(document.text)]]).astype(np.int64)]
    return replace(document, text=text, blocks=blocks, offsets=offsets), moved


def blocks_of(document: Document) -> tuple[Block, ...]:
    """Return the layout of a document; without one, as Markdown has it."""
    return markdown.blocks(document.text) if document.blocks is None else document.blocks


def prose(document: Document) -> Iterator[Span]:
    """Yield where prose stands: paragraphs and list items, or all of it where the document has no layout."""
    if document.blocks == ():
        edges = tiling.paragraphs(document.text).edges.tolist()
        yield from (Span(start, end) for start, end in pairwise(edges))
    yield from (block.span for block in blocks_of(document) if block.kind in {"paragraph", "item"})


def trimmed(text: str, span: Span) -> Span:
    """Leave the white space at both ends out."""
    said = text[slice(*span)]
    return Span(span.end - len(said.lstrip()), span.start + len(said.rstrip()))


def check_names(documents: Sequence[Document]) -> None:
    """Require documents, each with a name that no other has."""
    names = [document.source for document in documents]
    require(len(names) == len(set(names)) > 0 and all(names), "documents must have names of their own", names)
