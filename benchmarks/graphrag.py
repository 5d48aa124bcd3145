"""Measure `GraphRAGChunker` on a corpus, and compare its communities with those of microsoft's graphrag.

python benchmarks/graphrag.py [--data DIR [--sets chroma covidqa qmsum]] [--golden DIR]

DIR of --data holds a folder of texts for each set; all are one corpus. Prints time and memory, checks that leaves, summaries
and links are exact and that a second run is identical, and what an update does for each of several documents added. DIR of
--golden holds JSON files of ``edges`` and ``runs`` of graphrag; those of the installed graspologic-native are compared.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from advchunk import Document
from advchunk.chunkers.graphrag.chunker import GraphRAGChunker
from advchunk.chunkers.graphrag.communities import detect_hierarchy, leiden_version
from advchunk.chunkers.graphrag.corpus import Corpus
from advchunk.chunkers.graphrag.graph import pmi_weights
from advchunk.evaluation import read_corpus

SETS = ("chroma", "covidqa", "qmsum")
UPDATES = 5  # documents added one at a time


def main() -> None:
    """Print a line of JSON for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--golden", type=Path)
    args = parser.parse_args()
    if args.golden:
        print(json.dumps(compare(args.golden)))
    if args.data:
        documents = [document for name in args.sets for document in read_set(args.data, name)]
        corpus = measure(documents)
        check(corpus, documents)
        update(documents)


def compare(folder: Path) -> dict[str, Any]:
    """Count the golden runs that are reproduced exactly, ids included, and the largest error of a PMI weight."""
    same, runs, error = 0, 0, 0.0
    for path in sorted(folder.rglob("*.json")):
        golden = json.loads(path.read_text())
        installed = golden["versions"]["graspologic-native"] == leiden_version()
        for run in golden.get("runs", ()) if installed else ():
            settings, runs = run["settings"], runs + 1
            options = {"seed": settings["seed"], "largest_component": settings["use_lcc"]}
            communities = detect_hierarchy(golden["edges"], settings["max_cluster_size"], **options)
            same += [[*row[:3], list(row.members)] for row in communities] == sorted(run["communities"])
        if "pmi" in golden:
            error = max(error, pmi_error(golden))
    return {"graspologic-native": leiden_version(), "runs": runs, "same": same, "largest error of PMI": error}


def pmi_error(golden: dict[str, Any]) -> float:
    """Return the largest difference from the golden weights, which cover the kept part of the graph."""
    totals, frequency = golden["totals"], golden["frequency"]
    counts = {(a, b): n for a, b, n, _, _ in golden["pmi"]}
    rest = {"": totals["sum_frequency"] - sum(frequency.values())}
    others = {("", ""): totals["sum_edge_weights"] - sum(counts.values())}
    weights = pmi_weights(frequency | rest, counts | others)
    return float(max(abs(weights[a, b] - weight) for a, b, _, weight, _ in golden["pmi"]))


def read_set(data: Path, name: str) -> list[Document]:
    """Return the documents of a set, named after it."""
    return [replace(document, id=f"{name}/{document.id}") for document in read_corpus(data / name)]


def measure(documents: list[Document]) -> Corpus:
    """Print the time and memory of a run, and the shape of its tree."""
    start, cpu = time.perf_counter(), time.process_time()
    corpus = GraphRAGChunker().chunk_corpus(documents)
    print(
        json.dumps(
            {
                "documents": len(documents),
                "characters": sum(len(document.text) for document in documents),
                "seconds": round(time.perf_counter() - start, 1),
                "CPU seconds": round(time.process_time() - cpu, 1),
                "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                "entities": len(corpus.graph.entities),
                "edges": len(corpus.graph.edges),
                "communities": len(corpus.communities),
                "leaves": sum(map(len, corpus.leaves.values())),
                "summaries": len(corpus.summaries),
                "chunks by level": sorted(Counter(chunk.level for chunk in corpus.chunks).items()),
                "leaves of the root": sum(chunk.parent == 0 for chunk in corpus.chunks if chunk.spans),
            }
        )
    )
    return corpus


def check(corpus: Corpus, documents: list[Document]) -> None:
    """Check leaves, summaries, links, a second run, and a saved corpus."""
    texts = {document.id: document.text for document in documents}
    for name, leaves in corpus.leaves.items():
        assert all(texts[name][leaf.chunk.start : leaf.chunk.end] == leaf.chunk.text for leaf in leaves)
        assert "".join(leaf.chunk.text for leaf in leaves) == texts[name]
    children = Counter(chunk.parent for chunk in corpus.chunks)
    for index, chunk in enumerate(corpus.chunks):
        parent = None if chunk.parent is None else corpus.chunks[chunk.parent]
        assert chunk.index == index
        assert chunk.parent is None if index == 0 else (chunk.parent or 0) < index
        assert parent is None or (chunk.metadata["parent_id"], chunk.level) == (parent.id, parent.level + 1)
        assert chunk.spans or children[index] > 1
        sources = [texts[name][start:end] for name, start, end in chunk.metadata.get("sources", ())]
        assert chunk.spans or "\n".join(sources) == chunk.embed_text
        assert chunk.tokens <= GraphRAGChunker.max_tokens
    assert len({chunk.id for chunk in corpus.chunks}) == len(corpus.chunks)
    assert GraphRAGChunker().chunk_corpus(documents).chunks == corpus.chunks
    with tempfile.TemporaryDirectory() as folder:
        path, start = Path(folder) / "corpus.json", time.perf_counter()
        corpus.save(path)
        assert Corpus.load(path) == corpus
        seconds = round(time.perf_counter() - start, 1)
        print(json.dumps({"exact": True, "identical": True, "saved MB": path.stat().st_size >> 20, "seconds": seconds}))


def update(documents: list[Document]) -> None:
    """Add each of several documents to a corpus of the others."""
    chunker = GraphRAGChunker()
    for place in np.linspace(0, len(documents) - 1, UPDATES).astype(int).tolist():
        corpus = chunker.chunk_corpus(document for document in documents if document is not documents[place])
        start = time.process_time()
        changes = chunker.update(corpus, added=[documents[place]]).changes
        total = changes.summaries_written + changes.summaries_kept
        print(
            json.dumps(
                {
                    "added": documents[place].id,
                    "characters": len(documents[place].text),
                    "CPU seconds": round(time.process_time() - start, 1),
                    "communities redone": changes.summaries_written,
                    "share of all": round(changes.summaries_written / total, 3),
                    "share of old ones": round(1 - changes.summaries_kept / len(corpus.summaries), 3),
                    "leaves moved": len(changes.chunks_moved),
                }
            )
        )


if __name__ == "__main__":
    main()
