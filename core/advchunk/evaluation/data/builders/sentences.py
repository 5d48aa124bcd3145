"""Questions from sentences of documents, half of them taken out of the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.data.builders.built import Built, check_names, edit, prose, trimmed
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.records import Document, Span
from advchunk.text import sentences
from advchunk.text.terms import word_tokens

_WORDS = 8, 40  # of a sentence that is asked: fewer say too little, more are seldom a sentence
_LETTERS = 0.6  # least share of a sentence that words make up: others are formulas, references, tables
_APART = 3  # sentences from one that is asked to the next, so that no two share an answer


def held_out(
    documents: Sequence[Document],
    number: int = 500,
    *,
    seed: int = 0,
    language: str = "en",
    boundaries: Mapping[str, Sequence[int]] | None = None,
) -> Built:
    """Ask sentences of the documents themselves, half of them taken out of the text: no labels, no model.

    Real questions take two things of a chunk: that it says the answer, and that it, or what stands around it, is about
    the subject. Each half of the questions asks for one:

    * A sentence that stays is a *known item*: can it be found again among all else that its chunk says? The answer is the sentence.
    * A sentence that is taken out is an *inverse cloze*: can its place be found by what is left there? The answer is
      the sentence before and the one after it.

    Alone, the first kind finds small chunks too good and context useless; the second finds context all there is. Together they
    rank chunkers much as real questions do. On the three corpora and 319 questions of Chroma, over 84 combinations of
    chunker, size and vectors, with the embedded default, Spearman's correlation of 500 questions with the real ranking is
    .92 for recall within 1,000 tokens and .99 for IoU at 5; of 300, .86 to .91 by seed, of 100, .65 to .84 for recall. One half of
    the real questions has .83 with the other; each kind alone, .70 and .68. The kinds were chosen on these questions,
    half and half was not. Scores themselves do not compare with those of real questions.

    Sentences have 8 to 40 words, mostly letters, and both neighbors in one paragraph or list item; headings, code, tables,
    quotes and what is said twice are not asked. They are spread evenly over the text of all documents.

    Parameters
    ----------
    number : of questions, >= 2; fewer, where there are not so many such sentences.
    seed : of the draws, >= 0.
    language : code of the language, for sentences (`tiling.sentences`).
    boundaries : of the documents (`section_boundaries`), to have them moved along.

    Raises
    ------
    ConfigurationError : fewer than two such sentences; documents without names of their own.

    References
    ----------
    Lee, Chang and Toutanova (2019), Latent retrieval for weakly supervised open domain question answering, section 4:
    the inverse cloze task, whose sentences stay with a probability of a tenth. Azzopardi, de Rijke and Balog (2007), Building
    simulated queries for known-item topics.

    >>> text = "Cats are mammals. " + "The cat sleeps through most of the long bright day. " + "It hunts at night."
    >>> built = held_out([Document(f"{text} {text.replace('cat', 'lion').replace('long', 'hot')}", "cats")], 2)
    >>> [question.text[:13] for question in built.questions]
    ['The cat sleep', 'The lion slee']
    """
    require(number >= 2, "number must be >= 2", number)
    check_names(documents)
    chosen = list(_spread(_unique(_askable(documents, language), documents), number, seed))
    rule = (
        "documents must have two sentences to ask, each of {} to {} words and between two others of its paragraph: "
        "give longer prose, or questions of your own"
    )
    require(len(chosen) >= 2, rule.format(*_WORDS), len(chosen))
    gone = chosen[1::2]
    made, questions = list[Document](), list[Question]()
    moves = dict[str, Sequence[int]]()
    for place, document in enumerate(documents):
        edited, moved = edit(document, [(one.span, "") for one in gone if one.document == place])
        made.append(edited)
        moves[document.source] = [moved(at) for at in (boundaries or {}).get(document.source, ())]
        for one in chosen:
            if one.document == place:
                answer = Span(one.before, one.after) if one in gone else one.span
                asked = document.text[slice(*one.span)].strip()
                span = Span(moved(answer.start), moved(answer.end))
                questions.append(Question(asked, (Reference(document.source, trimmed(edited.text, span)),)))
    return Built(tuple(made), tuple(questions), {name: moves[name] for name in boundaries or ()})


class _Sentence(NamedTuple):
    """A sentence, its number among all of all documents, and what it stands between."""

    document: int
    number: int
    span: Span
    before: int
    after: int


def _askable(documents: Sequence[Document], language: str) -> Iterator[_Sentence]:
    """Yield the sentences that say enough and have both neighbors in one paragraph."""
    number = 0
    for place, document in enumerate(documents):
        for start, end in prose(document):
            edges = (sentences.sentences(document.text[start:end], language).edges + start).tolist()
            for i in range(1, len(edges) - 2):
                if _informative(document.text[edges[i] : edges[i + 1]]):
                    yield _Sentence(place, number + i, Span(edges[i], edges[i + 1]), edges[i - 1], edges[i + 2])
            number += len(edges) + _APART


def _informative(text: str) -> bool:
    said = word_tokens(text)
    letters = sum(character.isalpha() for character in text)
    return _WORDS[0] <= len(said) <= _WORDS[1] and letters >= _LETTERS * len(text.strip())


def _unique(sentences: Iterable[_Sentence], documents: Sequence[Document]) -> list[_Sentence]:
    """Leave out what is said more than once, white space and case aside."""
    listed = list(sentences)
    said = [" ".join(documents[one.document].text[slice(*one.span)].casefold().split()) for one in listed]
    often = Counter(said)
    return [one for one, text in zip(listed, said, strict=True) if often[text] == 1]


def _spread(sentences: Sequence[_Sentence], number: int, seed: int) -> Iterator[_Sentence]:
    """Yield one of each of so many equal parts, drawn from those far enough from the last."""
    draw, last = np.random.default_rng(seed), -_APART
    for part in np.array_split(np.arange(len(sentences)), min(number, max(len(sentences), 1))):
        free = [sentences[i] for i in part.tolist() if sentences[i].number >= last + _APART]
        if free:
            yield (chosen := free[int(draw.integers(len(free)))])
            last = chosen.number
