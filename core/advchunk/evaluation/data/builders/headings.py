"""Boundaries from headings, which are taken out of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from advchunk.errors import require
from advchunk.evaluation.data.builders.built import Built, blocks_of, check_names, edit, trimmed
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.records import Block, Document, Span


def section_boundaries(documents: Sequence[Document], *, deepest: int = 6, questions: Sequence[Question] = ()) -> Built:
    r"""Take the headings out of documents, and say where they stood: boundaries that an author drew.

    A heading goes with all that is between the blocks on either side, and leaves a blank line, as between two paragraphs:
    nothing in the text shows that it was there. The documents have a layout, so that none is read in their text.

    Parameters
    ----------
    documents : without a layout, they are read as Markdown.
    deepest : level of the deepest headings that part segments, 1..6; those below are taken out, and part none.
    questions : about ``documents``; their references move along. One of which an answer has a heading in it is dropped, and
        counted.

    Returns
    -------
    The documents, the boundaries of those that have any, and the questions; a heading at the start of a document is none.

    Raises
    ------
    ConfigurationError : no document with a boundary; documents without names of their own; a question about others.

    References
    ----------
    Koshorek et al. (2018), Text segmentation as a supervised learning task: Wikipedia's sections as gold.

    >>> built = section_boundaries([Document("# Tea\n\nGreen.\n\n## Brewing\n\nHot.", "tea.md")])
    >>> built.documents[0].text, built.boundaries
    ('Green.\n\nHot.', {'tea.md': (8,)})
    """
    require(1 <= deepest <= 6, "deepest must be in 1..6", deepest)
    check_names(documents)
    made, found = list[Document](), dict[str, Sequence[int]]()
    kept = dict[str, Callable[[Span], Span | None]]()
    for document in documents:
        text, blocks = document.text, blocks_of(document)
        edits, places = list[tuple[Span, str]](), list[int]()
        for place, level in _headings(text, blocks):
            inside = place.start > 0 and place.end < len(text)
            edits.append((place, "\n\n" if inside else ""))
            if inside and level <= deepest:
                places.append(place.end)
        body = tuple(block for block in blocks if block.kind != "heading")
        edited, moved = edit(replace(document, blocks=body), edits)
        made.append(edited)
        kept[document.source] = partial(_kept, text=text, gone=[span for span, _ in edits], moved=moved)
        if places:
            found[document.source] = tuple(map(moved, places))
    require(bool(found), f"documents must have headings within, down to level {deepest}", len(documents))
    asked = [_followed(question, kept) for question in questions]
    left = tuple(question for question in asked if question)
    dropped = {"in a heading": len(asked) - len(left)} if len(left) < len(asked) else {}
    return Built(tuple(made), left, found, dropped)


def _followed(question: Question, kept: Mapping[str, Callable[[Span], Span | None]]) -> Question | None:
    """Return a question with its references where they come to stand; None if one is not kept."""
    names = {reference.document for reference in question.references}
    require(names <= set(kept), "questions must be about the documents", sorted(names - set(kept)))
    moved = [(reference.document, kept[reference.document](reference.span)) for reference in question.references]
    references = tuple(Reference(name, span) for name, span in moved if span)
    return replace(question, references=references) if len(references) == len(moved) else None


def _kept(span: Span, text: str, gone: Sequence[Span], moved: Callable[[int], int]) -> Span | None:
    """Return where a span comes to stand, white space at its ends aside; None if some of it goes, or it says nothing."""
    start, end = trimmed(text, span)
    if start >= end or any(start < one.end and one.start < end for one in gone):
        return None
    return Span(moved(start), moved(end))


def _headings(text: str, blocks: Sequence[Block]) -> Iterator[tuple[Span, int]]:
    """Yield each run of headings, with the white space and rules around it, and its highest level."""
    runs = [list(run) for _, run in groupby(blocks, lambda block: block.kind == "heading")]
    ends = [0, *(run[-1].span.end for run in runs)]
    starts = [*(run[0].span.start for run in runs[1:]), len(text)]
    for end, run, start in zip(ends, runs, starts, strict=False):
        if run[0].kind == "heading":
            first, last = run[0].span.start, run[-1].span.end
            above = 0 if _says(text[end:first]) else first - end
            below = 0 if _says(text[last:start]) else start - last
            yield Span(first - above, last + below), min(block.level for block in run)


def _says(text: str) -> bool:
    return any(character.isalnum() for character in text)
