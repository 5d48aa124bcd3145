"""Measure re-ranking by neighbors, fusion, and the constants of both on questions with known answers. See RETRIEVAL.md.

python benchmarks/neighbors.py --data DIR [--sets chroma qmsum covidqa xquad/de xquad/en] [--embedder minilm]
    [--overlap 30]

DIR holds a folder for each set, with texts and questions.jsonl. Chunks are those of universal-semantic, of about 90
tokens, which repeat at most `--overlap` tokens of the one before.
Prints recall in 1,000 tokens for each retriever, and the paired difference that neighbors make; with --grid the mean
difference over all sets and retrievers for each choice of constants, and the fusions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from runner import argument_parser, difference

from advchunk import UniversalSemanticChunker
from advchunk.evaluation import EvaluationTask, read_corpus, read_questions
from advchunk.evaluation.metrics.retrieval import Overlaps, at_budget, find_overlaps
from advchunk.records import Floats, Ints
from advchunk.retrieval import ChunkPositions, LexicalIndex, Ranking, VectorIndex, fuse, rerank_by_neighbors

BUDGET = 1000
SETS = ("chroma", "qmsum", "covidqa", "xquad/de", "xquad/en")
RETRIEVERS = ("plain", "context", "units", "words", "plain + words", "units + words", "plain + words, reciprocal")


@dataclass(frozen=True)
class Set:
    """The rankings of the questions of one set, by retriever."""

    name: str
    rankings: dict[str, list[Ranking]]
    positions: ChunkPositions
    overlaps: Overlaps

    def recall(self, rankings: Sequence[Ranking]) -> Floats:
        """Return the recall of each question, from its ranking followed by the other chunks."""
        rows = [np.concatenate([r.chunks, np.setdiff1d(np.arange(len(self.positions)), r.chunks)]) for r in rankings]
        return at_budget(self.overlaps, np.array(rows), BUDGET).recall

    def reranked(self, name: str, **constants: Any) -> Floats:
        """Return the recall of each question after re-ranking by neighbors."""
        return self.recall([rerank_by_neighbors(r, self.positions, **constants) for r in self.rankings[name]])


def read_set(folder: Path, name: str, embedder: str | None, overlap: int) -> Set:
    """Chunk the texts of a set, and rank the chunks for each of its questions."""
    documents = read_corpus(folder / name)
    questions = read_questions(folder / name / "questions.jsonl", documents)
    task = EvaluationTask(tuple(documents), tuple(questions), embedder)
    chunker = UniversalSemanticChunker(
        max_tokens=120 + overlap, min_tokens=50, overlap_tokens=overlap, vectors="units", embedder=embedder
    )
    groups = chunker.chunk_many(documents)
    chunks = [chunk for group in groups for chunk in group]
    texts = [chunk.embed_text for chunk in chunks]
    tokens: Ints = np.maximum(task.counter.counts(texts), 1)
    indexes = {
        "plain": VectorIndex([row[None] for row in task.embed_texts(texts)]),
        "context": VectorIndex([chunk.vector[None] for chunk in chunks if chunk.vector is not None]),
        "units": VectorIndex([chunk.rows for chunk in chunks if chunk.rows is not None]),
    }
    rankings = {kind: [index.search(vector) for vector in task.question_vectors] for kind, index in indexes.items()}
    words = LexicalIndex(texts)
    rankings["words"] = [words.search(question.text) for question in questions]
    for kind in ("plain", "units"):
        rankings[f"{kind} + words"] = _fused(rankings, kind)
    rankings["plain + words, reciprocal"] = _fused(rankings, "plain", [1.0, 1.0], "reciprocal")
    names = [document.source for document, group in zip(documents, groups, strict=True) for _ in group]
    by_document = {document.source: group for document, group in zip(documents, groups, strict=True)}
    return Set(name, rankings, ChunkPositions.of(chunks, names), find_overlaps(by_document, questions, tokens=tokens))


def _fused(
    rankings: dict[str, list[Ranking]], kind: str, weights: Sequence[float] = (1.0, 2.0), method: Any = "standardized"
) -> list[Ranking]:
    pairs = zip(rankings[kind], rankings["words"], strict=True)
    return [fuse(pair, weights, method=method) for pair in pairs]


def table(sets: Sequence[Set]) -> str:
    """Return the recall of each retriever on each set, and the difference that neighbors make."""
    rows = [["", "set", "recall", "neighbors", "neighbors among hits only"]]
    rows.append(["---"] * 5)
    for name, data in product(RETRIEVERS, sets):
        base = data.recall(data.rankings[name])
        changes = [
            difference(100 * data.reranked(name, hits_only=hits_only), 100 * base) for hits_only in (False, True)
        ]
        rows.append([name, data.name, f"{100 * base.mean():.1f}", *changes])
    return _markdown(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    """Measure and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--embedder", help="minilm, or a model name; by default the embedded one")
    parser.add_argument(
        "--overlap", type=int, default=0, help="tokens of the chunk before that a chunk repeats at most"
    )
    args = parser.parse_args()
    sets = [read_set(args.data, name, args.embedder, args.overlap) for name in args.sets]
    print(table(sets), flush=True)


if __name__ == "__main__":
    main()
