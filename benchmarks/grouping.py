"""Score the components of mst-semantic on long documents, and retrieval over its chunks. See CUTS.md.

python benchmarks/grouping.py --data DIR [--pieces 100 300 1000 3000] [--documents 3] [--sets chroma covidqa]

DIR/covidqa holds papers (*.txt). A planted document interleaves three to six of them at a time, in runs of one to seven
paragraphs. Retrieval is recall in 1,000 tokens against `recursive` at the same mean size, on the sets with questions.jsonl.
"""

from __future__ import annotations

import argparse
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import v_measure_score

from advchunk import MSTSemanticChunker
from advchunk.evaluation import (
    EvaluationTask,
    candidate,
    evaluate,
    read_corpus,
    read_questions,
    searches_of,
    size_matched,
)
from advchunk.evaluation.metrics.statistics import paired_difference
from advchunk.retrieval.search import Search

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "published": {"preset": "published"},
    "default": {},
    "even, 250": {"preset": "even", "max_tokens": 250},
    "even": {"preset": "even"},
}


def read_papers(folder: Path) -> list[list[str]]:
    """Return the paragraphs of each paper; three sentences each where blank lines are rare."""
    papers = []
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
        if sum(60 < len(paragraph) < 1400 for paragraph in paragraphs) < 8:
            sentences = re.split(r"(?<=[.!?])\s+", " ".join(text.split()))
            paragraphs = [" ".join(sentences[i : i + 3]) for i in range(0, len(sentences), 3)]
        papers.append([paragraph for paragraph in paragraphs if 60 < len(paragraph) < 1400])
    return papers


def plant(papers: Sequence[Sequence[str]], n: int, seed: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield n paragraphs with their topics: a block of 60 to 120 paragraphs, and the paper."""
    rng, count, block = random.Random(seed), 0, 0
    while count < n:
        rest = {paper: iter(papers[paper]) for paper in rng.sample(range(len(papers)), rng.randint(3, 6))}
        end, last = min(count + rng.randint(60, 120), n), -1
        while count < end and rest:
            last = rng.choice([paper for paper in rest if paper != last] or [last])
            for _ in range(1 + min(int(rng.expovariate(0.5)), 6)):
                if count == end or (paragraph := next(rest[last], None)) is None:
                    rest.pop(last) if count < end else None
                    break
                yield paragraph, (block, last)
                count += 1
        block += 1


def score(chunker: MSTSemanticChunker, planted: Sequence[tuple[str, tuple[int, int]]]) -> dict[str, float]:
    """Return the scores of the components and of the chunks of a planted document."""
    text = "\n\n".join(paragraph for paragraph, _ in planted)
    starts = np.cumsum([0, *(len(paragraph) + 2 for paragraph, _ in planted)])
    explanation = chunker.explain(text)
    assert explanation.units is not None
    edges, labels = explanation.units.edges[:-1], explanation.figures["labels"]
    topics = [str(planted[i][1]) for i in (np.searchsorted(starts, edges, "right") - 1).tolist()]
    owners = np.zeros(len(edges), dtype=np.int64)
    for i, chunk in enumerate(explanation.chunks):
        for start, end in chunk.spans:
            owners[(edges >= start) & (edges < end)] = i
    of_chunk = [Counter(topic for topic, owner in zip(topics, owners, strict=True) if owner == i) for i in set(owners)]
    cuts = Counter(cut.reason for cut in explanation.cuts)
    return {
        "components": len(set(labels.tolist())),
        "largest": explanation.figures["largest_component"],
        "V measure": float(v_measure_score(topics, labels)),
        "cuts by size": cuts["size"] / max(cuts.total(), 1),
        "tokens": float(np.mean([chunk.tokens for chunk in explanation.chunks])),
        "chunk purity": sum(max(topics.values()) for topics in of_chunk) / len(edges),
    }


def retrieval(folder: Path) -> Iterator[str]:
    """Yield a row of differences to `recursive` at the same mean size, by vectors and by words, for each configuration."""
    documents = read_corpus(folder)
    task = EvaluationTask(tuple(documents), tuple(read_questions(folder / "questions.jsonl", documents)))
    for label, params in CONFIGURATIONS.items():
        chunks = [chunk for group in MSTSemanticChunker(**params).chunk_many(documents) for chunk in group]
        mean = float(np.mean([chunk.tokens for chunk in chunks]))
        ours, others = candidate("mst-semantic", "ours", **params), size_matched("recursive", mean)
        searches = [Search(), Search("lexical")]
        results = evaluate([*searches_of(ours, searches), *searches_of(others, searches)], task)
        differences = [paired_difference(a.recall, b.recall) for a, b in zip(results[:2], results[2:], strict=True)]
        cells = [f"{100 * d.mean:+.1f} [{100 * d.low:+.1f}, {100 * d.high:+.1f}]" for d in differences]
        yield f"| {folder.name} | {label} | {mean:.0f} | " + " | ".join(cells) + " |"


def main() -> None:
    """Score planted documents, then retrieval, and print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pieces", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--documents", type=int, default=3, help="planted documents of each length")
    parser.add_argument("--sets", nargs="*", default=["chroma", "covidqa"])
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    papers = read_papers(args.data / "covidqa")
    for n in args.pieces:
        texts = [list(plant(papers, n, seed)) for seed in range(args.documents)]
        for label, params in CONFIGURATIONS.items():
            rows = [score(MSTSemanticChunker(**params), planted) for planted in texts]
            means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
            print(f"| {n:,} | {label} | " + " | ".join(f"{value:.4g}" for value in means.values()) + " |", flush=True)
    for name in args.sets:
        for row in retrieval(args.data / name):
            print(row, flush=True)


if __name__ == "__main__":
    main()
