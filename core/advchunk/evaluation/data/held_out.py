"""Questions made from sentences of the documents, half of which are removed from the text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.data.dataset import Dataset, check_sources, edit_document, prose_spans, trim_span
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.records import Document, Span
from advchunk.text import sentences
from advchunk.text.detection import AUTO
from advchunk.text.terms import word_tokens

_WORDS = 8, 40  # of a question: shorter sentences are not specific, longer ones are rarely sentences
_LETTERS = 0.6  # minimum share of letters: sentences with fewer are formulas, references, tables
_DISTANCE = 3  # sentences from one question to the next, so that no two share an answer


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
    * A removed sentence is an *inverse cloze*: can its place be found from its context? The answer is the sentence
      before it and the one after it.

    Known items alone favor small chunks and do not reward context; clozes alone overrate context. Together they rank
    chunkers much as real questions do: on the corpora of Chroma, over 84 combinations of chunker, size and vectors,
    Spearman's correlation of 500 questions with the real ranking is .92 for recall within 1,000 tokens (the kinds were
    chosen on these); of 100, .65 to .84. The scores themselves cannot be compared with those of real questions.

    Sentences have 8 to 40 words, mostly letters, and both neighbors in their paragraph or list item; headings, code,
    tables, quotes and repeated sentences are not used. They are spread evenly over the text of all documents. See Lee,
    Chang and Toutanova (2019), Latent retrieval for weakly supervised open domain question answering, section 4: the
    inverse cloze task, whose sentences stay with a probability of a tenth. Azzopardi, de Rijke and Balog (2007),
    Building simulated queries for known-item topics.

    Parameters
    ----------
    number : of questions, >= 2; fewer are made if there are not enough such sentences.
    boundaries : of the documents (`section_boundaries`), adjusted to the removed text.

    >>> text = "Cats are mammals. " + "The cat sleeps through most of the long bright day. " + "It hunts at night."
    >>> lions = text.replace("cat", "lion").replace("long", "hot")
    >>> dataset = held_out_questions([Document(f"{text} {lions}", "cats")], 2)
    >>> [question.text[:13] for question in dataset.questions]
    ['The cat sleep', 'The lion slee']
    """
    require(number >= 2, "number must be >= 2", number)
    check_sources(documents)
    chosen = list(_spread(_drop_repeated(_candidate_sentences(documents, language), documents), number, seed))
    rule = (
        "documents must have two sentences to use as questions, each of {} to {} words and between two others of its "
        "paragraph: use longer prose, or your own questions"
    )
    require(len(chosen) >= 2, rule.format(*_WORDS), len(chosen))
    removed = chosen[1::2]
    edited_documents, questions, moved = list[Document](), list[Question](), dict[str, Sequence[int]]()
    for i, document in enumerate(documents):
        edited, move = edit_document(document, [(s.span, "") for s in removed if s.document == i])
        edited_documents.append(edited)
        moved[document.source] = [move(at) for at in (boundaries or {}).get(document.source, ())]
        for sentence in chosen:
            if sentence.document == i:
                answer = Span(sentence.before, sentence.after) if sentence in removed else sentence.span
                span = trim_span(edited.text, Span(move(answer.start), move(answer.end)))
                text = document.text[slice(*sentence.span)].strip()
                questions.append(Question(text, (Reference(document.source, span),)))
    return Dataset(tuple(edited_documents), tuple(questions), {name: moved[name] for name in boundaries or ()})


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
        for start, end in prose_spans(document):
            edges = (sentences.sentences(document.text[start:end], language).edges + start).tolist()
            for j in range(1, len(edges) - 2):
                text = document.text[edges[j] : edges[j + 1]]
                letters = sum(character.isalpha() for character in text)
                if _WORDS[0] <= len(word_tokens(text)) <= _WORDS[1] and letters >= _LETTERS * len(text.strip()):
                    yield _Sentence(i, number + j, Span(edges[j], edges[j + 1]), edges[j - 1], edges[j + 2])
            number += len(edges) + _DISTANCE


def _drop_repeated(sentences: Iterable[_Sentence], documents: Sequence[Document]) -> list[_Sentence]:
    """Drop sentences that occur more than once, ignoring white space and case."""
    sentences = list(sentences)
    texts = [" ".join(documents[s.document].text[slice(*s.span)].casefold().split()) for s in sentences]
    counts = Counter(texts)
    return [sentence for sentence, text in zip(sentences, texts, strict=True) if counts[text] == 1]


def _spread(sentences: Sequence[_Sentence], number: int, seed: int) -> Iterator[_Sentence]:
    """Yield a random sentence of each of ``number`` equal parts, far enough from the last one."""
    rng, last = np.random.default_rng(seed), -_DISTANCE
    for part in np.array_split(np.arange(len(sentences)), min(number, max(len(sentences), 1))):
        eligible = [sentences[i] for i in part.tolist() if sentences[i].number >= last + _DISTANCE]
        if eligible:
            yield (choice := eligible[int(rng.integers(len(eligible)))])
            last = choice.number
