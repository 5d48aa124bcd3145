"""Documents with questions and boundaries, and the editing of documents that builders of questions share."""

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
class Dataset:
    """Documents with questions and segment boundaries, for an `EvaluationTask`.

    Parameters
    ----------
    documents : in their original order, without any text that was removed from them.
    questions : with spans in ``documents``.
    boundaries : by document, the characters where its segments meet.
    dropped : number of questions that could not be used, by reason.
    """

    documents: tuple[Document, ...]
    questions: tuple[Question, ...] = ()
    boundaries: Mapping[str, Sequence[int]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)


def edit_document(document: Document, edits: Sequence[tuple[Span, str]]) -> tuple[Document, Callable[[int], int]]:
    """Replace ascending, disjoint spans of a document; also return a map from old to new characters outside them."""
    ends = np.array([span.end for span, _ in edits], dtype=np.int64)
    growth = np.array([len(text) - (span.end - span.start) for span, text in edits], dtype=np.int64)

    def move(at: int) -> int:
        return at + int(growth[ends <= at].sum())

    starts = [0, *ends.tolist()]
    stops = [*(span.start for span, _ in edits), len(document.text)]
    replacements = [*(text for _, text in edits), ""]
    parts = list(zip(starts, stops, replacements, strict=True))
    blocks, offsets = document.blocks, document.offsets
    if blocks:
        blocks = tuple(replace(block, span=Span(*map(move, block.span)), parts=()) for block in blocks)
    if offsets is not None:
        indices = [np.r_[np.arange(a, b), np.full(len(text), b)] for a, b, text in parts]
        offsets = offsets[np.concatenate([*indices, [len(document.text)]]).astype(np.int64)]
    edited = "".join(document.text[a:b] + text for a, b, text in parts)
    return replace(document, text=edited, blocks=blocks, offsets=offsets), move


def document_blocks(document: Document) -> tuple[Block, ...]:
    """Return the blocks of a document, read as Markdown if it has no layout."""
    return markdown.blocks(document.text) if document.blocks is None else document.blocks


def prose_spans(document: Document) -> Iterator[Span]:
    """Yield the spans of paragraphs and list items; of a layout without blocks, of all paragraphs."""
    if document.blocks == ():
        edges = tiling.paragraphs(document.text).edges.tolist()
        yield from (Span(start, end) for start, end in pairwise(edges))
    yield from (block.span for block in document_blocks(document) if block.kind in {"paragraph", "item"})


def trim_span(text: str, span: Span) -> Span:
    """Return a span without white space at either end."""
    content = text[slice(*span)]
    return Span(span.end - len(content.lstrip()), span.start + len(content.rstrip()))


def check_sources(documents: Sequence[Document]) -> None:
    """Raise `ConfigurationError` unless there are documents with unique, non-empty names."""
    names = [document.source for document in documents]
    require(len(names) == len(set(names)) > 0 and all(names), "documents must have unique names", names)
