"""Evaluate the chunking of biomedical abstracts on PubMedQA: sections, numbers, sizes, and reranking. See RETRIEVAL.md.

python benchmarks/biomedical.py --data DIR

DIR holds `pubmedqa/*.json`, in PubMedQA's own format. Prints tables.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from runner import argument_parser, table

from advchunk import Chunk, Chunker, Document, RecursiveChunker, SlidingWindowChunker, Span
from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.chunkers.biomedical.claim_recall import claims_at_k
from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.chunkers.biomedical.settings import boost
from advchunk.evaluation.metrics.retrieval import similarities
from advchunk.models.embedders import as_embedder
from advchunk.readers.pubmed import reader

KS = (1, 3, 5, 10)
SAMPLE, REPEATS = 1000, 3  # abstracts of a timing, and how often
# P-values and intervals, comparators, and parentheses with the number before them. These patterns are independent of
# `advchunk.chunkers.biomedical.claims` and `advchunk.chunkers.biomedical.quantities`, which the chunker uses.
INFERRED = re.compile(r"\bp\s*(?:[<>=≤≥]|value)|\bCI\b|confidence interval", re.IGNORECASE)
COMPARED = re.compile(
    r"\b(?:vs\.?|versus|than|compared|comparison|controls?|placebo|baseline|whereas|respectively|between|difference)\b",
    re.IGNORECASE,
)
PARENTHESES = re.compile(r"(?:\d\S*\s)?[(\[][^()\[\]]*\d[^()\[\]]*[)\]]")
SIZES: dict[str, dict[str, Any]] = {
    "default": {},
    "half": {"target_tokens": 163, "max_tokens": 225, "min_tokens": 60, "overlap_tokens": 25},
    "third": {"target_tokens": 108, "max_tokens": 150, "min_tokens": 40, "overlap_tokens": 17},
}


def articles(folder: Path) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the uid, question, and labeled sections of each article."""
    records = {
        key: value
        for path in sorted(folder.glob("*.json"))
        for key, value in json.loads(path.read_text("utf-8")).items()
    }
    return [
        (f"pubmed:{key}", value["QUESTION"], list(zip(value["LABELS"], value["CONTEXTS"], strict=True)))
        for key, value in records.items()
    ]


def section_recall(labeled_sections: Sequence[list[tuple[str, str]]], between: str) -> float:
    """Return the share of section labels recovered from abstracts formatted as "LABEL: text"."""
    hits = total = 0
    for sections in labeled_sections:
        text, starts = "", set[int]()
        for label, content in sections:
            text += between if text else ""
            starts.add(len(text))
            text += f"{label}: {content}"
        document = reader.read(text)
        heads = [block.span.start for block in document.blocks or () if block.kind == "heading"]
        places = document.offsets if document.offsets is not None else np.arange(len(text) + 1)
        hits, total = hits + len(starts & set(places[heads].tolist())), total + len(starts)
    return hits / total


def comparison_spans(document: Document) -> list[Span]:
    """Return the spans of sentences with a p-value or interval, including an adjacent sentence with the comparator."""
    from advchunk.text.sentences import sentences

    units = sentences(document.text)
    texts, edges = units.strings(), units.edges.tolist()
    spans = []
    for i, sentence in enumerate(texts):
        if INFERRED.search(sentence):
            nearby = [j for j in (i, i - 1, i + 1) if 0 <= j < len(texts) and COMPARED.search(texts[j])]
            if nearby:
                first, last = min(i, nearby[0]), max(i, nearby[0])
                spans.append(
                    Span(edges[first], edges[first] + len(document.text[edges[first] : edges[last + 1]].rstrip()))
                )
    return spans


def count_whole(documents: Sequence[Document], chunked: Sequence[Sequence[Chunk]]) -> dict[str, float]:
    """Return chunk sizes and the numbers of claims and parentheses that are whole in a chunk."""
    sentences = whole = parentheses = broken = 0
    for document, chunks in zip(documents, chunked, strict=True):
        spans = [chunk.spans[0] for chunk in chunks]
        claims = comparison_spans(document)
        sentences += len(claims)
        whole += sum(any(a <= start and end <= b for a, b in spans) for start, end in claims)
        ends = {end for _, end in spans} | {start for start, _ in spans}
        inside = [match.span() for match in PARENTHESES.finditer(document.text)]
        parentheses += len(inside)
        broken += sum(any(start < end < stop for end in ends) for start, stop in inside)
    sizes = [chunk.tokens for chunks in chunked for chunk in chunks]
    return {
        "chunks": len(sizes),
        "tokens": round(float(np.mean(sizes)), 1),
        "sentences": sentences,
        "with_comparator": round(whole / sentences, 4),
        "parentheses": parentheses,
        "broken": broken,
    }


def match_size(make: Callable[[int], Chunker], documents: Sequence[Document], tokens: float) -> Chunker:
    """Return the chunker whose mean chunk size is closest to ``tokens``."""
    low, high, best = 10, 600, (np.inf, 10)
    while low <= high:
        most = (low + high) // 2
        mean = float(np.mean([chunk.tokens for chunks in make(most).chunk_many(documents) for chunk in chunks]))
        best = min(best, (abs(mean - tokens), most))
        low, high = (most + 1, high) if mean < tokens else (low, most - 1)
    return make(best[1])


def compare_windows(documents: Sequence[Document]) -> dict[str, Any]:
    """Compare with windows of equal mean size, for abstracts with and without labels."""
    results: dict[str, Any] = {}
    for layout in ("labeled", "unlabeled"):
        inputs = documents if layout == "labeled" else [_without_labels(document) for document in documents]
        for size, params in SIZES.items():
            ours = BiomedicalAbstractChunker(include_context=False, **params)
            chunks = ours.chunk_many(inputs)
            mean = float(np.mean([chunk.tokens for chunk_list in chunks for chunk in chunk_list]))
            overlap = ours.overlap_tokens if layout == "unlabeled" else 0
            rivals = {
                "fixed windows": lambda most, overlap=overlap: SlidingWindowChunker(
                    max_tokens=most + overlap, overlap_tokens=overlap, markup="plain"
                ),
                "recursive": lambda most, overlap=overlap: RecursiveChunker(
                    max_tokens=most + overlap, overlap_tokens=overlap, markup="plain"
                ),
            }
            rows = {"biomedical-abstract": count_whole(inputs, chunks)}
            for name, make in rivals.items():
                rows[name] = count_whole(inputs, match_size(make, inputs, mean).chunk_many(inputs))
            results[f"{layout}, {size}"] = rows
    return results


def _without_labels(document: Document) -> Document:
    text = " ".join(document.text[slice(*block.span)] for block in document.blocks or () if block.kind != "heading")
    return Document(text, document.id, ())


def compare_settings(documents: Sequence[Document], questions: Sequence[str]) -> dict[str, Any]:
    """Return the recall at k of each abstract's numeric claims, with the article's title as the query but in no
    chunk.
    """
    embedder = as_embedder()
    queries = np.asarray(embedder.embed(list(questions)))
    claims = [[(d.id, claim.span) for claim in numeric_claims(d.text)] for d in documents]
    results: dict[str, Any] = {}
    settings: dict[str, Chunker] = {
        f"{name}, overlap {overlap}": BiomedicalAbstractChunker(**{**params, "overlap_tokens": overlap})
        for name, params in {
            "target 325": {},
            "target 350": {"target_tokens": 350, "max_tokens": 485},
            "target 500": {"target_tokens": 500, "max_tokens": 692},
            "target 163": SIZES["half"],
            "target 108": SIZES["third"],
        }.items()
        for overlap in (0, 50)
    }
    for name, chunker in settings.items():
        chunks = chunker.chunk_many(documents)
        flat = [chunk for chunk_list in chunks for chunk in chunk_list]
        vectors = np.asarray(embedder.embed([chunk.embed_text for chunk in flat]))
        ranking = np.argsort(-similarities(queries, vectors), axis=1, kind="stable")
        by_name = {document.id: chunk_list for document, chunk_list in zip(documents, chunks, strict=True)}
        reranked = np.array(
            [_rerank(flat, (vectors @ query), order[:50]) for query, order in zip(queries, ranking, strict=True)]
        )
        results[name] = {
            "chunks": len(flat),
            "tokens": round(float(np.mean([chunk.tokens for chunk in flat])), 1),
            "recall": {k: _mean(claims_at_k(claims, by_name, ranking, k)) for k in KS},
            "reranked": {k: _mean(claims_at_k(claims, by_name, reranked, k)) for k in KS},
        }
    return results


def _rerank(chunks: Sequence[Chunk], scores: Any, order: Any) -> list[int]:
    boosted = {i: float(scores[i]) + boost(chunks[i].metadata, 2026) * abs(float(scores[i])) for i in order.tolist()}
    return sorted(boosted, key=lambda i: -boosted[i])


def _mean(values: Any) -> float:
    return round(float(np.nanmean(values)), 4)


def main() -> None:
    """Print every figure of RETRIEVAL.md."""
    parser = argument_parser(__doc__)
    records = articles(parser.parse_args().data / "pubmedqa")
    sections = [content for _, _, content in records]
    texts = ["\n".join(f"{label}: {content}" for label, content in labeled) for labeled in sections]
    documents = [reader.read(text, id=uid) for (uid, _, _), text in zip(records, texts, strict=True)]
    sample = [
        Document(texts[i % len(texts)], str(i), metadata={"title": records[i % len(texts)][1]}) for i in range(SAMPLE)
    ]
    BiomedicalAbstractChunker().chunk_many(sample[:20])
    wall_times, cpu_times = [], []
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        BiomedicalAbstractChunker().chunk_many(sample)
        wall_times.append(time.perf_counter() - wall)
        cpu_times.append(time.process_time() - cpu)
    print("guard ...", file=sys.stderr)
    guard = compare_windows(documents)
    print("settings ...", file=sys.stderr)
    settings = compare_settings(documents, [question for _, question, _ in records])
    recall = {name: section_recall(sections, between) for name, between in (("lines", "\n"), ("one line", " "))}
    print("## Sections and speed\n")
    print(
        table(
            ["sections on lines", "on one line", "seconds for 1,000 abstracts", "processor seconds"],
            [
                [
                    f"{recall['lines']:.1%}",
                    f"{recall['one line']:.1%}",
                    f"{min(wall_times):.1f}",
                    f"{min(cpu_times):.1f}",
                ]
            ],
        )
    )
    print("## Numbers\n")
    names = next(iter(guard.values()))
    print(
        table(
            ["abstracts", "tokens per chunk", *names, *(f"{name}, broken" for name in names)],
            [
                [
                    label,
                    f"{own['biomedical-abstract']['tokens']:.0f}",
                    *(f"{row['with_comparator']:.3f}" for row in own.values()),
                    *(str(row["broken"]) for row in own.values()),
                ]
                for label, own in guard.items()
            ],
        )
    )
    print("## Sizes and reranking\n")
    ranks = [f"@{k}" for k in next(iter(settings.values()))["recall"]]
    print(
        table(
            ["", "chunks", *ranks, *(f"reranked {rank}" for rank in ranks)],
            [
                [
                    label,
                    str(row["chunks"]),
                    *(f"{value:.3f}" for kind in ("recall", "reranked") for value in row[kind].values()),
                ]
                for label, row in settings.items()
            ],
        )
    )


if __name__ == "__main__":
    main()
