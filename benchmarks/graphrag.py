"""Measure `GraphRAGChunker` on a corpus, and compare its communities with those of microsoft's graphrag.

python benchmarks/graphrag.py [--data DIR [--sets chroma covidqa qmsum] [--questions]] [--golden DIR]

DIR of --data holds a folder of texts for each set; all are one corpus. Prints time and memory, and checks that leaves,
summaries and links are exact and that a second run is identical. DIR of --golden holds JSON files of ``edges`` and
``runs`` of graphrag; those of the installed graspologic-native are compared.

With --questions, the levels of the tree answer questions at an equal budget of tokens: those of each set's
questions.jsonl, by the share of the characters of the references, and those of several_documents.json, by the share of
its aspects (regular expressions, each for something that a full answer names) that the texts found match, and by the
number of documents.
"""

from __future__ import annotations

import html
import json
import re
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from runner import argument_parser

from advchunk import Chunk, ChunkTree, Document
from advchunk.chunkers.graphrag.chunker import GraphRAGChunker
from advchunk.chunkers.graphrag.communities import detect_hierarchy, leiden_version
from advchunk.chunkers.graphrag.corpus import Corpus
from advchunk.evaluation import read_corpus, read_questions
from advchunk.evaluation.metrics.statistics import mean_interval
from advchunk.retrieval.retriever import Retriever

SETS = ("chroma", "covidqa", "qmsum")
BUDGETS = (1000, 4000)  # tokens
LONG = 8000  # characters of references from which an answer counts as long
Place: TypeAlias = tuple[str, int, int]  # document, start, end


def main() -> None:
    """Print a line of JSON for each measurement."""
    parser = argument_parser(__doc__, data=False)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--questions", action="store_true")
    parser.add_argument("--golden", type=Path)
    args = parser.parse_args()
    if args.golden:
        print(json.dumps(compare(args.golden)))
    if args.data:
        documents = [document for name in args.sets for document in read_set(args.data, name)]
        corpus = measure(documents)
        check(corpus, documents)
        if args.questions:
            answer(corpus, documents, [args.data / name for name in args.sets])


def compare(folder: Path) -> dict[str, Any]:
    """Count the golden runs that are reproduced exactly, ids included."""
    same = runs = 0
    for path in sorted(folder.rglob("*.json")):
        golden = json.loads(path.read_text())
        installed = golden["versions"]["graspologic-native"] == leiden_version()
        for run in golden.get("runs", ()) if installed else ():
            settings, runs = run["settings"], runs + 1
            edges = largest_component(golden["edges"]) if settings["use_lcc"] else golden["edges"]
            communities = detect_hierarchy(edges, settings["max_cluster_size"], seed=settings["seed"])
            same += [[*row[:3], list(row.members)] for row in communities] == sorted(run["communities"])
    return {"graspologic-native": leiden_version(), "runs": runs, "same": same}


def largest_component(edges: Iterable[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """Return the edges of the largest component, between names in the form that graphrag gives them."""
    graph = nx.Graph()
    for (a, b), weight in {(min(a, b), max(a, b)): weight for a, b, weight in edges}.items():
        first, other = sorted(html.unescape(name).upper().strip() for name in (a, b))
        if not graph.has_edge(first, other):
            graph.add_edge(first, other, weight=weight)
    largest = max(nx.connected_components(graph), key=len, default=set[str]())
    return [(a, b, weight) for a, b, weight in graph.edges(data="weight") if a in largest]


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
    """Check leaves, summaries, links, the entities in communities, and a second run."""
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
    tops = [name for community in corpus.communities if community.level == 0 for name in community.members]
    assert sorted(tops) == sorted(corpus.graph.neighbors)
    assert GraphRAGChunker().chunk_corpus(documents).chunks == corpus.chunks
    print(json.dumps({"exact": True, "entities in communities": len(tops), "identical": True}))


def answer(corpus: Corpus, documents: list[Document], folders: list[Path]) -> None:
    """Print what each way of search finds for questions, at each budget."""
    texts = {document.id: document.text for document in documents}
    asked = [(folder.name, *row) for folder in folders for row in read_asked(folder, documents)]
    several = json.loads(Path(__file__).with_name("several_documents.json").read_text())
    levels = Levels(corpus)
    for budget in BUDGETS:
        rows = dict[str, dict[str, list[float]]]()
        for name, question, references in asked:
            length = sum(end - start for _, start, end in references)
            for way, places in levels.search(question, budget).items():
                share = overlap(places, references) / length
                for group in (name, f"{name}, long answers") if length >= LONG else (name,):
                    rows.setdefault(group, {}).setdefault(way, []).append(share)
        for item in several:
            for way, places in levels.search(item["question"], budget).items():
                text = "\n".join(texts[document][start:end] for document, start, end in places)
                named = [bool(re.search(aspect, text, re.IGNORECASE)) for aspect in item["aspects"]]
                rows.setdefault("several documents, aspects", {}).setdefault(way, []).append(float(np.mean(named)))
                number = len({document for document, _, _ in places})
                rows.setdefault("several documents, documents", {}).setdefault(way, []).append(number)
        for group, ways in rows.items():
            print(json.dumps({"budget": budget, "questions": group, "n": len(ways["leaves"])} | compare_ways(ways)))


def compare_ways(ways: dict[str, list[float]]) -> dict[str, Any]:
    """Return the mean of each way, and the 95 % interval of its paired difference from leaves."""
    result = dict[str, Any]()
    for way, values in ways.items():
        result[way] = round(float(np.mean(values)), 3)
        if way != "leaves":
            interval = mean_interval(np.subtract(values, ways["leaves"]))
            result[f"{way}, difference"] = [round(interval.low, 3), round(interval.high, 3)]
    return result


def read_asked(folder: Path, documents: list[Document]) -> Iterator[tuple[str, list[Place]]]:
    """Yield the questions of a set with their references; none without questions.jsonl."""
    path = folder / "questions.jsonl"
    if path.exists():
        own = [document for document in documents if document.id.startswith(f"{folder.name}/")]
        named = [replace(document, id=document.id.removeprefix(f"{folder.name}/")) for document in own]
        for question in read_questions(path, named):
            places = [(f"{folder.name}/{r.document}", *r.span) for r in question.references]
            yield question.text, disjoint(places)


def overlap(places: list[Place], references: list[Place]) -> int:
    """Return the number of characters of references that disjoint places cover."""
    return sum(
        max(0, min(end, last) - max(start, first))
        for document, start, end in places
        for other, first, last in references
        if document == other
    )


class Levels:
    """Searches the leaves of a corpus, and its communities, with plain hybrid rankings."""

    def __init__(self, corpus: Corpus) -> None:
        self.names = {leaf.chunk.id: name for name, leaves in corpus.leaves.items() for leaf in leaves}
        self.tree = ChunkTree(corpus.chunks)
        leaves = {name: [leaf.chunk for leaf in own] for name, own in corpus.leaves.items()}
        sections = [chunk for chunk in corpus.chunks if not chunk.spans]
        self.leaves = Retriever(leaves, neighbors=False)
        self.sections = Retriever({"sections": sections}, neighbors=False)

    def search(self, question: str, budget: int) -> dict[str, list[Place]]:
        """Return the places that each way of search finds.

        leaves       the best leaves
        summaries    the sentences of the best summaries
        communities  the leaves of the best communities, the best first within each
        half         half of the budget for summaries, the rest for leaves
        """
        leaves = [hit.chunk for hit in self.leaves.search(question, 1000)]
        sections = [hit.chunk for hit in self.sections.search(question, 200)]
        order = {chunk.id: place for place, chunk in enumerate(leaves)}
        below = (sorted(self.tree.leaves(chunk), key=lambda c: order.get(c.id, len(order))) for chunk in sections)
        summaries = self._take(sections, budget // 2)
        return {
            "leaves": self._take(leaves, budget),
            "summaries": self._take(sections, budget),
            "communities": self._take(chain.from_iterable(below), budget),
            "half": disjoint([*summaries, *self._take(leaves, budget - budget // 2)]),
        }

    def _take(self, chunks: Iterable[Chunk], budget: int) -> list[Place]:
        """Return the places of the first chunks that fit, each once."""
        places, seen = list[Place](), set[str]()
        for chunk in chunks:
            if chunk.id not in seen:
                budget -= chunk.tokens
                if budget < 0:
                    break
                seen.add(chunk.id)
                sources = chunk.metadata.get("sources", ())
                places += [(name, start, end) for name, start, end in sources]
                places += [(self.names[chunk.id], *span) for span in chunk.spans]
        return disjoint(places)


def disjoint(places: list[Place]) -> list[Place]:
    """Return the union of places."""
    result = list[Place]()
    for document, start, end in sorted(places):
        if result and result[-1][0] == document and start <= result[-1][2]:
            result[-1] = document, result[-1][1], max(end, result[-1][2])
        else:
            result.append((document, start, end))
    return result


if __name__ == "__main__":
    main()
