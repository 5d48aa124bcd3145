"""Measure re-ranking by neighbors, fusion, and the constants of both on questions with known answers. See RETRIEVAL.md.

python benchmarks/neighbors.py --data DIR [--sets chroma qmsum covidqa xquad/de xquad/en] [--embedder minilm]
    [--overlap 30] [--grid]

DIR holds a folder for each set, with texts and questions.jsonl. Chunks are those of universal-semantic, of about 90 tokens,
which repeat at most `--overlap` tokens of the one before.
Prints recall in 1,000 tokens for each retriever, and the paired difference that neighbors make; with --grid the mean
difference over all sets and retrievers for each choice of constants, and the fusions.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from advchunk import UniversalSemanticChunker
from advchunk.evaluation import EvaluationTask, read_corpus, read_questions
from advchunk.evaluation.metrics.retrieval import Overlaps, at_budget, find_overlaps
from advchunk.evaluation.metrics.statistics import paired_difference
from advchunk.records import Floats, Ints
from advchunk.retrieval import ChunkPositions, LexicalIndex, Ranking, VectorIndex, fuse, rerank_by_neighbors

BUDGET = 1000
SETS = ("chroma", "qmsum", "covidqa", "xquad/de", "xquad/en")
RETRIEVERS = ("plain", "context", "units", "words", "plain + words", "units + words", "plain + words, reciprocal")
CORE = tuple(name for name in RETRIEVERS if name != "context")  # by which constants are compared
TEMPERATURES, REACHES, WEIGHTS = (0.15, 0.2, 0.3), (100.0, 200.0, 400.0), (0.1, 0.15, 0.2, 0.3)
LEXICAL_WEIGHTS = (0.5, 1.0, 1.5, 2.0, 3.0)


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


def cell(base: Floats, other: Floats) -> str:
    """Return a paired difference with its interval, bold if that excludes zero."""
    difference = paired_difference(other, base)
    mean, low, high = (100 * value for value in (difference.mean, difference.low, difference.high))
    text = f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
    return f"**{text}**" if low > 0 or high < 0 else text


def table(sets: Sequence[Set]) -> str:
    """Return the recall of each retriever on each set, and the difference that neighbors make."""
    rows = [["", "set", "recall", "neighbors", "neighbors among hits only"]]
    rows.append(["---"] * 5)
    for name, data in product(RETRIEVERS, sets):
        base = data.recall(data.rankings[name])
        changes = [cell(base, data.reranked(name, hits_only=hits_only)) for hits_only in (False, True)]
        rows.append([name, data.name, f"{100 * base.mean():.1f}", *changes])
    return _markdown(rows)


def grid(sets: Sequence[Set]) -> str:
    """Return the mean and the worst difference over the sets and retrievers for each choice of constants."""
    bases = {(data.name, name): data.recall(data.rankings[name]) for data, name in product(sets, CORE)}
    rows = [["temperature", "reach", "weight", "mean", "worst", "chosen without its set: mean of the set"], ["---"] * 6]
    gains = dict[tuple[float, float, float], dict[tuple[str, str], float]]()
    for constants in product(TEMPERATURES, REACHES, WEIGHTS):
        named = dict(zip(("temperature", "reach", "weight"), constants, strict=True))
        gains[constants] = {
            key: 100 * float((data.reranked(key[1], **named) - bases[key]).mean())
            for data in sets
            for key in bases
            if key[0] == data.name
        }
    for constants, cells in sorted(gains.items(), key=lambda item: -np.mean(list(item[1].values()))):
        rows.append([*map(str, constants), f"{np.mean(list(cells.values())):+.2f}", f"{min(cells.values()):+.1f}", ""])
    for data in sets:
        others = {c: np.mean([g for key, g in cells.items() if key[0] != data.name]) for c, cells in gains.items()}
        best = max(others, key=others.__getitem__)
        own = np.mean([g for key, g in gains[best].items() if key[0] == data.name])
        rows.append([*map(str, best), "", "", f"{data.name}: {own:+.2f}"])
    return _markdown(rows)


def fusions(sets: Sequence[Set]) -> str:
    """Return the recall of fusions with and without neighbors."""
    kinds = [("standardized", weight) for weight in LEXICAL_WEIGHTS] + [("reciprocal", weight) for weight in (1.0, 2.0)]
    rows = [["vectors", "fusion", "weight of words", *(data.name for data in sets), "mean"], ["---"] * (4 + len(sets))]
    for vectors, (method, weight) in product(("plain", "units"), kinds):
        for rerank in (False, True):
            recalls = []
            for data in sets:
                fused = _fused(data.rankings, vectors, [1.0, weight], method)
                step: Callable[[Ranking], Ranking] = (
                    partial(rerank_by_neighbors, positions=data.positions) if rerank else _same
                )
                recalls.append(100 * float(data.recall([step(ranking) for ranking in fused]).mean()))
            label = method + ", neighbors" * rerank
            cells = [f"{value:.1f}" for value in (*recalls, float(np.mean(recalls)))]
            rows.append([vectors, label, str(weight), *cells])
    return _markdown(rows)


def _same(ranking: Ranking) -> Ranking:
    return ranking


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--embedder", help="minilm, or a model name; by default the embedded one")
    parser.add_argument(
        "--overlap", type=int, default=0, help="tokens of the chunk before that a chunk repeats at most"
    )
    parser.add_argument("--grid", action="store_true", help="also compare constants and fusions")
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    sets = [read_set(args.data, name, args.embedder, args.overlap) for name in args.sets]
    print(table(sets), flush=True)
    if args.grid:
        print(fusions(sets), flush=True)
        print(grid(sets), flush=True)


if __name__ == "__main__":
    main()
