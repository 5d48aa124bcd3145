"""Documents with questions and boundaries: from headings, which are removed, or from sentences, half of which are."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from advchunk.errors import checked, require
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.readers import markdown
from advchunk.records import Block, Document, Span
from advchunk.text import sentences, tiling
from advchunk.text.detection import AUTO
from advchunk.text.terms import word_tokens

_WORDS = 8, 40  # of a question: shorter sentences are not specific, longer ones are rarely sentences
_LETTERS = 0.6  # minimum share of letters: sentences with fewer are formulas, references, tables
_DISTANCE = 3  # sentences from one question to the next, so that no two share an answer


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

    stops = [*(span.start for span, _ in edits), len(document.text)]
    parts = list(zip([0, *ends.tolist()], stops, [*(text for _, text in edits), ""], strict=True))
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


def trim_span(text: str, span: Span) -> Span:
    """Return a span without white space at either end."""
    content = text[slice(*span)]
    return Span(span.end - len(content.lstrip()), span.start + len(content.rstrip()))


def check_sources(documents: Sequence[Document]) -> None:
    """Raise `ConfigurationError` unless there are documents with unique, non-empty names."""
    names = [document.source for document in documents]
    require(len(names) == len(set(names)) > 0 and all(names), "documents must have unique names", names)


@checked
def section_boundaries(documents: Sequence[Document], *, questions: Sequence[Question] = ()) -> Dataset:
    r"""Remove the headings of documents and return their positions as true boundaries.

    A heading is replaced by a blank line, together with the white space and rules around it, so that the text shows no
    trace of it; one at the start of a document is not a boundary. Documents without a layout are read as Markdown;
    the returned ones have one, so that no headings are read in their text. The references of ``questions`` about them
    are moved; one whose answer contains a heading is dropped and counted. See Koshorek et al. (2018), Text segmentation
    as a supervised learning task: Wikipedia's sections as gold.

    >>> dataset = section_boundaries([Document("# Tea\n\nGreen.\n\n## Brewing\n\nHot.", "tea.md")])
    >>> dataset.documents[0].text, dataset.boundaries
    ('Green.\n\nHot.', {'tea.md': (8,)})
    """
    check_sources(documents)
    edited_documents, boundaries = list[Document](), dict[str, Sequence[int]]()
    movers = dict[str, Callable[[Span], Span | None]]()
    for document in documents:
        text, blocks = document.text, document_blocks(document)
        gaps = list(_heading_runs(text, blocks))
        inner = [gap for gap in gaps if gap.start > 0 and gap.end < len(text)]
        body = tuple(block for block in blocks if block.kind != "heading")
        edits = [(gap, "\n\n" if gap in inner else "") for gap in gaps]
        edited, move = edit_document(replace(document, blocks=body), edits)
        edited_documents.append(edited)
        movers[document.source] = partial(_move_span, text=text, removed=gaps, move=move)
        if inner:
            boundaries[document.source] = tuple(move(gap.end) for gap in inner)
    require(bool(boundaries), "documents must have headings inside their text", len(documents))
    kept = list[Question]()
    for question in questions:
        names = {name for name, _ in question.references}
        require(names <= set(movers), "questions must be about the documents", sorted(names - set(movers)))
        moved = [(name, movers[name](span)) for name, span in question.references]
        references = tuple(Reference(name, span) for name, span in moved if span)
        kept += [replace(question, references=references)] if len(references) == len(moved) else []
    dropped = {"in a heading": len(questions) - len(kept)} if len(kept) < len(questions) else {}
    return Dataset(tuple(edited_documents), tuple(kept), boundaries, dropped)


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
            above, below = text[end:first], text[last:start]
            yield Span(first if any(map(str.isalnum, above)) else end, last if any(map(str.isalnum, below)) else start)


@checked
def held_out_questions(
    documents: Sequence[Document],
    number: int = 500,
    *,
    seed: int = 0,
    language: str = AUTO,
    boundaries: Mapping[str, Sequence[int]] | None = None,
) -> Dataset:
    """Use sentences of the documents as questions, without labels or a model; half of them are removed from the text.

    Real questions need a chunk that states the answer, and one that is about their subject or near text that is. Each
    half of the questions tests one of these:

    * A sentence that stays is a *known item*: can it be found among all other text of its chunk? It is its own answer.
    * A removed sentence is an *inverse cloze*: can its place be found from its context, the sentences around it?

    Known items alone favor small chunks; clozes alone overrate context. Together they rank chunkers much as real
    questions do: on the corpora of Chroma, over 84 combinations of chunker, size and vectors, Spearman's correlation of
    500 questions with the real ranking is .92 for recall within 1,000 tokens (the kinds were chosen on these); of 100,
    .65 to .84. The scores themselves cannot be compared with those of real questions.

    Sentences have 8 to 40 words, mostly letters, and both neighbors in their paragraph or list item; headings, code,
    tables, quotes and repeated sentences are not used. They are spread evenly over the text of all documents. See Lee,
    Chang and Toutanova (2019), Latent retrieval for weakly supervised open domain question answering, section 4: the
    inverse cloze task, whose sentences stay with a probability of a tenth. Azzopardi, de Rijke and Balog (2007),
    Building simulated queries for known-item topics.

    Parameters
    ----------
    number : number of questions, >= 2; fewer are made if there are not enough such sentences.
    boundaries : boundaries of the documents (`section_boundaries`), adjusted to the removed text.

    >>> text = "Cats are mammals. " + "The cat sleeps through most of the long bright day. " + "It hunts at night."
    >>> lions = text.replace("cat", "lion").replace("long", "hot")
    >>> dataset = held_out_questions([Document(f"{text} {lions}", "cats")], 2)
    >>> [question.text[:13] for question in dataset.questions]
    ['The cat sleep', 'The lion slee']
    """
    require(number >= 2, "number must be >= 2", number)
    require(seed >= 0, "seed must be >= 0", seed)
    check_sources(documents)
    eligible = list(_candidate_sentences(documents, language))
    texts = [" ".join(documents[s.document].text[slice(*s.span)].casefold().split()) for s in eligible]
    counts = Counter(texts)
    once = [sentence for sentence, text in zip(eligible, texts, strict=True) if counts[text] == 1]
    chosen = list(_spread(once, number, seed))
    which = "each of {} to {} words and between two others of its paragraph".format(*_WORDS)
    rule = f"documents must have two sentences to use as questions, {which}: use longer prose, or your own questions"
    require(len(chosen) >= 2, rule, len(chosen))
    removed = chosen[1::2]
    edited_documents, questions, moved = list[Document](), list[Question](), dict[str, Sequence[int]]()
    for i, document in enumerate(documents):
        edited, move = edit_document(document, [(s.span, "") for s in removed if s.document == i])
        edited_documents.append(edited)
        if document.source in (boundaries or ()):
            moved[document.source] = list(map(move, boundaries[document.source]))  # type: ignore[index]
        for sentence in (sentence for sentence in chosen if sentence.document == i):
            answer = (sentence.before, sentence.after) if sentence in removed else sentence.span
            span = trim_span(edited.text, Span(*map(move, answer)))
            text = document.text[slice(*sentence.span)].strip()
            questions.append(Question(text, (Reference(document.source, span),)))
    return Dataset(tuple(edited_documents), tuple(questions), moved)


class _Sentence(NamedTuple):
    """A sentence, its number among all sentences, and the characters where its neighbors start and end."""

    document: int
    number: int
    span: Span
    before: int
    after: int


def _candidate_sentences(documents: Sequence[Document], language: str) -> Iterator[_Sentence]:
    number = 0
    for i, document in enumerate(documents):
        # Paragraphs and list items; of a layout without blocks, all paragraphs.
        spans = [block.span for block in document_blocks(document) if block.kind in {"paragraph", "item"}]
        for start, end in pairwise(tiling.paragraphs(document.text).edges.tolist()) if document.blocks == () else spans:
            edges = (sentences.sentences(document.text[start:end], language).edges + start).tolist()
            for j in range(1, len(edges) - 2):
                text = document.text[edges[j] : edges[j + 1]]
                letters = sum(character.isalpha() for character in text)
                if _WORDS[0] <= len(word_tokens(text)) <= _WORDS[1] and letters >= _LETTERS * len(text.strip()):
                    yield _Sentence(i, number + j, Span(edges[j], edges[j + 1]), edges[j - 1], edges[j + 2])
            number += len(edges) + _DISTANCE


def _spread(sentences: Sequence[_Sentence], number: int, seed: int) -> Iterator[_Sentence]:
    """Yield a random sentence of each of ``number`` equal parts, far enough from the last one."""
    rng, last = np.random.default_rng(seed), -_DISTANCE
    for part in np.array_split(np.arange(len(sentences)), min(number, max(len(sentences), 1))):
        eligible = [sentences[i] for i in part.tolist() if sentences[i].number >= last + _DISTANCE]
        if eligible:
            yield (choice := eligible[int(rng.integers(len(eligible)))])
            last = choice.number
