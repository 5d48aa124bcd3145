"""Segment boundaries from headings, which are removed from the text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from advchunk.errors import require
from advchunk.evaluation.data.dataset import Dataset, check_sources, document_blocks, edit_document, trim_span
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.records import Block, Document, Span


def section_boundaries(documents: Sequence[Document], *, questions: Sequence[Question] = ()) -> Dataset:
    r"""Remove the headings of documents and return their positions as true boundaries.

    A heading is replaced by a blank line, together with the white space and rules around it, so that the text shows no
    trace of it; one at the start of a document is not a boundary. The returned documents have a layout, so that no
    headings are read in their text. See Koshorek et al. (2018), Text segmentation as a supervised learning task:
    Wikipedia's sections as gold.

    Parameters
    ----------
    documents : read as Markdown if they have no layout.
    questions : about ``documents``; their references are moved. A question whose answer contains a heading is dropped
        and counted.

    >>> dataset = section_boundaries([Document("# Tea\n\nGreen.\n\n## Brewing\n\nHot.", "tea.md")])
    >>> dataset.documents[0].text, dataset.boundaries
    ('Green.\n\nHot.', {'tea.md': (8,)})
    """
    check_sources(documents)
    edited_documents, boundaries = list[Document](), dict[str, Sequence[int]]()
    movers = dict[str, Callable[[Span], Span | None]]()
    for document in documents:
        text, blocks = document.text, document_blocks(document)
        edits, places = list[tuple[Span, str]](), list[int]()
        for span in _heading_runs(text, blocks):
            inside = span.start > 0 and span.end < len(text)
            edits.append((span, "\n\n" if inside else ""))
            if inside:
                places.append(span.end)
        body = tuple(block for block in blocks if block.kind != "heading")
        edited, move = edit_document(replace(document, blocks=body), edits)
        edited_documents.append(edited)
        movers[document.source] = partial(_move_span, text=text, removed=[span for span, _ in edits], move=move)
        if places:
            boundaries[document.source] = tuple(map(move, places))
    require(bool(boundaries), "documents must have headings inside their text", len(documents))
    moved = [_move_question(question, movers) for question in questions]
    kept = tuple(question for question in moved if question)
    dropped = {"in a heading": len(moved) - len(kept)} if len(kept) < len(moved) else {}
    return Dataset(tuple(edited_documents), kept, boundaries, dropped)


def _move_question(question: Question, movers: Mapping[str, Callable[[Span], Span | None]]) -> Question | None:
    names = {reference.document for reference in question.references}
    require(names <= set(movers), "questions must be about the documents", sorted(names - set(movers)))
    moved = [(reference.document, movers[reference.document](reference.span)) for reference in question.references]
    references = tuple(Reference(name, span) for name, span in moved if span)
    return replace(question, references=references) if len(references) == len(moved) else None


def _move_span(span: Span, text: str, removed: Sequence[Span], move: Callable[[int], int]) -> Span | None:
    start, end = trim_span(text, span)
    if start >= end or any(start < gap.end and gap.start < end for gap in removed):
        return None
    return Span(move(start), move(end))


def _heading_runs(text: str, blocks: Sequence[Block]) -> Iterator[Span]:
    """Yield each run of headings, with the white space and rules around it."""
    runs = [list(run) for _, run in groupby(blocks, lambda block: block.kind == "heading")]
    ends = [0, *(run[-1].span.end for run in runs)]
    starts = [*(run[0].span.start for run in runs[1:]), len(text)]
    for end, run, start in zip(ends, runs, starts, strict=False):
        if run[0].kind == "heading":
            first, last = run[0].span.start, run[-1].span.end
            above = 0 if _has_words(text[end:first]) else first - end
            below = 0 if _has_words(text[last:start]) else start - last
            yield Span(first - above, last + below)


def _has_words(text: str) -> bool:
    return any(character.isalnum() for character in text)
