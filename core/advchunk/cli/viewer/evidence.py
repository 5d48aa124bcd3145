"""The evidence of documents for a question: a score for every sentence, and the passages that are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from advchunk.chunkers.explanations import Explanation
from advchunk.records import Chunk, Document, Span
from advchunk.retrieval import Hit, Passage, PassageCutter, ScoredSentence


@dataclass(frozen=True)
class Evidence:
    """The sentences and passages of documents for a question.

    Parameters
    ----------
    sentences : of each document, in reading order.
    passages : best first, each with the number of its document.
    """

    sentences: Sequence[Sequence[ScoredSentence]]
    passages: Sequence[tuple[int, Passage]]

    def passages_of(self, number: int) -> list[Passage]:
        """Return the passages of one document, best first."""
        return [passage for own, passage in self.passages if own == number]


def find_evidence(
    documents: Sequence[Document], question: str, budget: int, cutter: PassageCutter | None = None
) -> Evidence:
    """Score the sentences of whole documents for a question, and cut passages of at most ``budget`` tokens in all from
    them.
    """
    cutter = replace(cutter or PassageCutter(), hit_weight=0.0)  # nothing was searched, so that only words count
    # The numbers tell documents of one name apart; the rest says if they are source code.
    texts = {f"{number}:{document.source}": document.text for number, document in enumerate(documents)}
    hits = [Hit(Chunk(text, (Span(0, len(text)),), 0), name, 1.0) for name, text in texts.items()]
    sentences = {name: list[ScoredSentence]() for name in texts}
    for sentence in cutter.sentences(question, hits, texts=texts, budget=budget):
        sentences[sentence.document].append(sentence)
    passages = list[tuple[int, Passage]]()
    for passage in cutter.cut(question, hits, budget, texts=texts):
        number = int(passage.document.partition(":")[0])
        passages.append((number, replace(passage, document=documents[number].source)))
    return Evidence(list(sentences.values()), passages)


def split_chunks(explanation: Explanation, passages: Sequence[Passage]) -> tuple[list[Chunk], list[Chunk]]:
    """Return the chunks that share text with passages, and the others, without those that are divided into smaller
    ones.
    """
    parents = {chunk.parent for chunk in explanation.chunks}
    leaves = [chunk for index, chunk in enumerate(explanation.chunks) if index not in parents]
    spans = [span for passage in passages for span in passage.spans]
    text = explanation.document.text
    met, others = list[Chunk](), list[Chunk]()
    for chunk in leaves:
        shared = (text[max(a.start, b.start) : min(a.end, b.end)] for a in chunk.spans for b in spans)
        (met if any(map(str.strip, shared)) else others).append(chunk)
    return met, others
