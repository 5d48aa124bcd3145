"""Score retrieval on OHR-Bench by the measure of its paper (arXiv 2412.02592). See RETRIEVAL.md.

python benchmarks/ohr.py --data DIR [--sets ohr/law ohr/manual ohr/textbook ohr/finance]

DIR/SET holds documents, questions.jsonl, and in mineru/ the same documents as a PDF parser wrote them. The measure is
the longest common subsequence of words of the evidence and of what was retrieved from its document, as a share of the
evidence. The rows:

the best two chunks of 1,024 tokens at most, of three splitters, by BM25 and by vectors, and of ours by
`Retriever.search` as many of the best chunks of 130 tokens by BM25 as fit into 2,048 and into 512 tokens
passages of `Retriever` over these chunks, in as many tokens
two chunks of 1,024 tokens of the right document, drawn at random: what common words alone give

Each cell has the mean of the row, in percent, and the paired difference to `recursive` by BM25, bold if its 95 %
interval over questions excludes zero. One table has the characters of the evidence at their places, which only the
clean text has.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from random import Random
from typing import Any

import numpy as np
from embedding import Texts, rank_by_bm25, rank_by_vectors
from peers import make_peer
from question_time import DEPTH, SETS, Piece, Set, fill, pieces_of, scores
from question_time import SIZE as SMALL
from runner import argument_parser, difference

from advchunk import Chunk
from advchunk.building.positions import count_tokens
from advchunk.evaluation import Candidate, candidate, read_corpus
from advchunk.evaluation.metrics.statistics import paired_difference
from advchunk.models.embedders import as_embedder
from advchunk.records import Floats
from advchunk.retrieval import Retriever

SIZE, BEST = 1024, 2  # tokens of a chunk at most, and the chunks that are retrieved
BUDGETS = (2048, 512)
SPLITTERS = ("LlamaIndex SentenceSplitter", "LangChain RecursiveCharacterTextSplitter")
BASELINE = "`recursive`, BM25"
# Of the README of the authors' code, over all documents; "all" also has charts and the order of reading.
COLUMNS = ("text", "table", "equation", "all")
PUBLISHED = {"Clean text": (81.2, 69.6, 74.8, 70.0), "MinerU's text": (67.7, 48.5, 51.1, 50.1)}
PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")

Answers = Sequence[Sequence[Piece]]
"""What is retrieved for each question."""


def words(text: str) -> list[str]:
    """Return the words that the measure compares: in lower case, without punctuation and articles."""
    return ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split()


def inclusion(evidence: Sequence[str], retrieved: Sequence[str]) -> float:
    """Return the longest common subsequence of words as a share of the evidence, which has a word or more."""
    numbers = {word: number for number, word in enumerate(evidence)}
    order = np.array([numbers[word] for word in retrieved if word in numbers], dtype=np.int64)
    longest = np.zeros(len(order) + 1, dtype=np.int64)  # within the first so many of these words
    for word in evidence:
        longest[1:] = np.maximum.accumulate(np.maximum(longest[1:], longest[:-1] + (order == numbers[word])))
    return float(longest[-1]) / len(evidence)


def inclusions(answers: Answers, clean: Set, data: Set) -> Floats:
    """Return the inclusion of the evidence of each question in what was retrieved of its document, in one form of
    it.
    """
    values = list[float]()
    for question, pieces in zip(clean.questions, answers, strict=True):
        names = {name for name, _ in question.references}
        evidence = [clean.texts[name][slice(*span)] for name, span in question.references]
        texts = [data.texts[p.document][slice(*span)] for p in pieces if p.document in names for span in p.spans]
        values.append(inclusion(words("\n".join(evidence)), words("\n\n".join(texts))))
    return np.array(values)


def characters(answers: Answers, clean: Set) -> Floats:
    """Return the share of the evidence of each question that was retrieved, by its place."""
    return np.array([scores(pieces, question)[0] for pieces, question in zip(answers, clean.questions, strict=True)])


def tokens_of(answers: Answers) -> Floats:
    """Return the tokens that were retrieved for each question."""
    return np.array([float(sum(piece.tokens for piece in pieces)) for pieces in answers])


def pooled(
    score: Callable[..., Floats], retrieved: Sequence[Mapping[str, Answers]], *sets: Sequence[Set]
) -> dict[str, Floats]:
    """Return the scores of each row over the questions of all sets."""
    parts = list(zip(retrieved, *sets, strict=True))
    return {label: np.concatenate([score(own[label], *data) for own, *data in parts]) for label in retrieved[0]}


def cut(data: Set, splitter: Candidate) -> dict[str, list[Chunk]]:
    """Return the chunks of each document, with their tokens."""
    groups = zip(data.documents, splitter.cut(data.documents), strict=True)
    return {document.id: count_tokens(chunks, data.embedder.counter) for document, chunks in groups}


def piece(name: str, chunk: Chunk) -> Piece:
    """Return a chunk of a document as a piece."""
    return Piece(name, chunk.spans, chunk.tokens)


def ranked(data: Set, chunks: Mapping[str, Sequence[Chunk]]) -> dict[str, Answers]:
    """Return the best chunks for each question, by BM25 and by vectors."""
    pieces = [piece(name, chunk) for name, own in chunks.items() for chunk in own]
    texts = [chunk.embed_text for own in chunks.values() for chunk in own]
    asked = Texts(texts, [question.text for question in data.questions], data.language)
    orders = {"BM25": rank_by_bm25(asked), "vectors": rank_by_vectors(lambda _: data.embedder, asked)}
    return {method: [[pieces[i] for i in row[:DEPTH]] for row in order] for method, order in orders.items()}


def retrieve(data: Set) -> dict[str, Answers]:
    """Return what each row retrieves."""
    answers, asked = dict[str, Answers](), [question.text for question in data.questions]
    large, small = (cut(data, candidate("recursive", max_tokens=size)) for size in (SIZE, SMALL))
    peers = {label: cut(data, make_peer(label, None, SIZE)) for label in SPLITTERS}
    for label, chunks in (peers | {"`recursive`": large}).items():
        for method, own in ranked(data, chunks).items():
            answers[f"{label}, {method}"] = [pieces[:BEST] for pieces in own]
    searcher = partial(Retriever, embedder=data.embedder, language=data.language)
    for mode in ("hybrid", "lexical"):
        retriever = searcher(large, mode=mode)
        hits = [[(hit.document, hit.chunk) for hit in retriever.search(text, BEST)] for text in asked]
        answers[f"`recursive`, `Retriever`, {mode}"] = [list(starmap(piece, own)) for own in hits]
    by_words, retriever = ranked(data, small)["BM25"], searcher(small)
    for budget in BUDGETS:
        answers[f"chunks of {SMALL}, BM25, {budget:,} tokens"] = [fill(own, budget) for own in by_words]
        passages = [pieces_of(retriever.passages(text, budget)) for text in asked]
        answers[f"`Retriever.passages`, {budget:,} tokens"] = passages
    random, names = Random(0), [question.references[0].document for question in data.questions]
    drawn = [(name, random.sample(large[name], min(BEST, len(large[name])))) for name in names]
    return answers | {"two chunks at random": [[piece(name, chunk) for chunk in own] for name, own in drawn]}


def table(title: str, rows: Mapping[str, Floats], tokens: Mapping[str, Floats], groups: Mapping[str, Any]) -> str:
    """Return the mean of each row over each group of questions, and over all."""
    heads = [*(f"{name} ({own.sum()})" for name, own in groups.items()), f"all ({len(rows[BASELINE])})"]
    lines = [
        f"## {title}\n",
        f"| | {' | '.join(heads)} | less {BASELINE} | tokens |",
        "| --- " * (len(heads) + 3) + "|",
    ]
    for label, values in rows.items():
        cells = [f"{100 * values[own].mean():.1f}{note(values[own], rows[BASELINE][own])}" for own in groups.values()]
        less = "" if label == BASELINE else difference(100 * values, 100 * rows[BASELINE])
        cells += [f"{100 * values.mean():.1f}", less, f"{tokens[label].mean():,.0f}"]
        lines.append(f"| {f'**{label}**' if label == BASELINE else label} | {' | '.join(cells)} |")
    if title in PUBLISHED:
        figures = dict(zip(COLUMNS, map(str, PUBLISHED[title]), strict=True))
        cells = [figures.get(name, "") for name in (*groups, "all")]
        lines.append(f"| published, 1,261 documents | {' | '.join(cells)} | | |")
    return "\n".join(lines) + "\n"


def note(values: Floats, baseline: Floats) -> str:
    """Return a paired difference in brackets, bold if its interval excludes zero; nothing if all are equal."""
    mean, low, high, _ = paired_difference(values, baseline)
    text = f"{100 * mean:+.1f}"
    return f" ({f'**{text}**' if low > 0 or high < 0 else text})" if np.any(values != baseline) else ""


def main() -> None:
    """Run, compare, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=[name for name in SETS if name.startswith("ohr/")])
    args = parser.parse_args()
    sets = [Set.read(args.data, name, as_embedder(None), every=1) for name in args.sets]
    parsed = [replace(own, documents=read_corpus(args.data / own.name / "mineru")) for own in sets]
    names = np.array([own.name.rpartition("/")[2] for own in sets for _ in own.questions])
    kinds = np.array([kind for own in sets for kind in own.kinds])
    groups = {str(name): of == name for of in (names, kinds) for name in dict.fromkeys(of)}
    for title, forms in zip(PUBLISHED, (sets, parsed), strict=True):
        retrieved = [retrieve(own) for own in forms]
        tokens = pooled(tokens_of, retrieved)
        print(table(title, pooled(inclusions, retrieved, sets, forms), tokens, groups))
        if forms is sets:
            print(table("Characters at their places", pooled(characters, retrieved, sets), tokens, groups))


if __name__ == "__main__":
    main()
