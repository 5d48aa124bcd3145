"""Measure the strategy for biomedical abstracts on PubMedQA: sections, numbers, and step 10's knobs. See BIOMEDICAL.md.

python benchmarks/biomedical.py --data DIR

DIR holds `pubmedqa/*.json`, in PubMedQA's own format. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from advchunk import Chunk, Chunker, Document, RecursiveChunker, SlidingWindowChunker, Span
from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.chunkers.biomedical.reranking import rerank
from advchunk.evaluation import rank
from advchunk.evaluation.metrics.claims import claims_at_k
from advchunk.models.embedders import as_embedder
from advchunk.readers import abstracts

KS = (1, 3, 5, 10)
# A p-value or an interval, what it is compared with, and what stands in parentheses with the number before them: written
# apart from `advchunk.chunkers.biomedical.claims` and `advchunk.chunkers.biomedical.quantities`, which the chunker goes by.
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
    """Return uid, question and labeled sections of each article."""
    said = {
        key: value
        for path in sorted(folder.glob("*.json"))
        for key, value in json.loads(path.read_text("utf-8")).items()
    }
    return [
        (f"pubmed:{key}", value["QUESTION"], list(zip(value["LABELS"], value["CONTEXTS"], strict=True)))
        for key, value in said.items()
    ]


def recovered(given: Sequence[list[tuple[str, str]]], between: str) -> float:
    """Return the share of sections found in abstracts written as "LABEL: text"."""
    found = wanted = 0
    for sections in given:
        text, starts = "", set[int]()
        for label, said in sections:
            text += between if text else ""
            starts.add(len(text))
            text += f"{label}: {said}"
        document = abstracts.read(text)
        heads = [block.span.start for block in document.blocks or () if block.kind == "heading"]
        places = document.offsets if document.offsets is not None else np.arange(len(text) + 1)
        found, wanted = found + len(starts & set(places[heads].tolist())), wanted + len(starts)
    return found / wanted


def compared(document: Document) -> list[Span]:
    """Return the sentences with a p-value or an interval, each with the neighbor that says what it is compared with."""
    from advchunk.text.sentences import sentences

    units = sentences(document.text)
    said, edges = units.strings(), units.edges.tolist()
    spans = []
    for i, one in enumerate(said):
        if INFERRED.search(one):
            around = [j for j in (i, i - 1, i + 1) if 0 <= j < len(said) and COMPARED.search(said[j])]
            if around:
                first, last = min(i, around[0]), max(i, around[0])
                spans.append(
                    Span(edges[first], edges[first] + len(document.text[edges[first] : edges[last + 1]].rstrip()))
                )
    return spans


def kept(documents: Sequence[Document], chunked: Sequence[Sequence[Chunk]]) -> dict[str, float]:
    """Return how many claims and parentheses stand whole in a chunk, and how large chunks are."""
    sentences = whole = parentheses = broken = 0
    for document, chunks in zip(documents, chunked, strict=True):
        spans = [chunk.spans[0] for chunk in chunks]
        wanted = compared(document)
        sentences += len(wanted)
        whole += sum(any(a <= start and end <= b for a, b in spans) for start, end in wanted)
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


def sized(make: Callable[[int], Chunker], documents: Sequence[Document], tokens: float) -> Chunker:
    """Return the chunker whose chunks are on average nearest to so many tokens."""
    low, high, best = 10, 600, (np.inf, 10)
    while low <= high:
        most = (low + high) // 2
        mean = float(np.mean([chunk.tokens for chunks in make(most).chunk_many(documents) for chunk in chunks]))
        best = min(best, (abs(mean - tokens), most))
        low, high = (most + 1, high) if mean < tokens else (low, most - 1)
    return make(best[1])


def guarded(documents: Sequence[Document]) -> dict[str, Any]:
    """Compare what is kept together with that of other windows of equal size, of abstracts with labels and without."""
    found: dict[str, Any] = {}
    for layout in ("labeled", "unlabeled"):
        given = documents if layout == "labeled" else [_without_labels(document) for document in documents]
        for size, params in SIZES.items():
            ours = BiomedicalAbstractChunker(include_context=False, **params)
            chunks = ours.chunk_many(given)
            mean = float(np.mean([chunk.tokens for each in chunks for chunk in each]))
            overlap = ours.overlap_tokens if layout == "unlabeled" else 0
            rivals = {
                "fixed windows": lambda most, overlap=overlap: SlidingWindowChunker(
                    max_tokens=most + overlap, overlap_tokens=overlap, markup="plain"
                ),
                "recursive": lambda most, overlap=overlap: RecursiveChunker(
                    max_tokens=most + overlap, overlap_tokens=overlap, markup="plain"
                ),
            }
            rows = {"biomedical-abstract": kept(given, chunks)}
            for name, make in rivals.items():
                rows[name] = kept(given, sized(make, given, mean).chunk_many(given))
            found[f"{layout}, {size}"] = rows
    return found


def _without_labels(document: Document) -> Document:
    text = " ".join(document.text[slice(*block.span)] for block in document.blocks or () if block.kind != "heading")
    return Document(text, document.id, ())


def knobs(documents: Sequence[Document], questions: Sequence[str]) -> dict[str, Any]:
    """Return the recall at k of each abstract's numeric claims, asked for by its question, which no chunk has as its title."""
    embedder = as_embedder()
    asked = np.asarray(embedder.embed(list(questions)))
    claims = [[(d.id, claim.span) for claim in numeric_claims(d.text)] for d in documents]
    found: dict[str, Any] = {}
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
        flat = [chunk for each in chunks for chunk in each]
        vectors = np.asarray(embedder.embed([chunk.embed_text for chunk in flat]))
        ranking = rank(asked, vectors)
        by_name = {document.id: each for document, each in zip(documents, chunks, strict=True)}
        anew = np.array(
            [_reranked(flat, (vectors @ query), order[:50]) for query, order in zip(asked, ranking, strict=True)]
        )
        found[name] = {
            "chunks": len(flat),
            "tokens": round(float(np.mean([chunk.tokens for chunk in flat])), 1),
            "recall": {k: _mean(claims_at_k(claims, by_name, ranking, k)) for k in KS},
            "reranked": {k: _mean(claims_at_k(claims, by_name, anew, k)) for k in KS},
        }
    return found


def _reranked(chunks: Sequence[Chunk], scores: Any, order: Any) -> list[int]:
    places = {id(chunks[i]): i for i in order.tolist()}
    pairs = [(chunks[i], float(scores[i])) for i in order.tolist()]
    return [places[id(chunk)] for chunk, _ in rerank(pairs, on=date(2026, 1, 1))]


def _mean(values: Any) -> float:
    return round(float(np.nanmean(values)), 4)


def main() -> None:
    """Print every figure of BIOMEDICAL.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    given = articles(parser.parse_args().data / "pubmedqa")
    sections = [said for _, _, said in given]
    texts = ["\n".join(f"{label}: {said}" for label, said in each) for each in sections]
    documents = [abstracts.read(text, id=uid) for (uid, _, _), text in zip(given, texts, strict=True)]
    thousand = [
        Document(texts[i % len(texts)], str(i), metadata={"title": given[i % len(texts)][1]}) for i in range(1000)
    ]
    BiomedicalAbstractChunker().chunk_many(thousand[:20])
    walls, cpus = [], []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        BiomedicalAbstractChunker().chunk_many(thousand)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    print("guard ...", file=sys.stderr)
    guard = guarded(documents)
    print("knobs ...", file=sys.stderr)
    figures = {
        "sections": {
            name: round(recovered(sections, between), 4) for name, between in (("lines", "\n"), ("one line", " "))
        },
        "seconds_per_1000": {"wall": round(min(walls), 2), "cpu": round(min(cpus), 2)},
        "guard": guard,
        "knobs": knobs(documents, [question for _, question, _ in given]),
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
