"""Compare hierarchies with those of LlamaIndex's HierarchicalNodeParser, and retrieve by their levels. See
STRUCTURE.md.

python benchmarks/hierarchies.py --data DIR
python benchmarks/hierarchies.py --data DIR --questions chroma qmsum covidqa xquad/en xquad/de [--sizes 1600 110]
    [--store DIR]

The first reads `chroma/*.md`, `covidqa/*.txt`, `qmsum/*.txt` and `jats/*.nxml` in DIR; missing files are skipped.
Prints JSON. The second answers the questions of each set, in the folder of its name: it prints recall in 1,000 tokens
for each way of search over the levels, with the difference to the leaves alone, and that of each weight of the
sections.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from llama_index.core import Document
from llama_index.core.node_parser import HierarchicalNodeParser as TheirNodeParser
from llama_index.core.schema import BaseNode
from runner import argument_parser, difference

from advchunk import Chunk, read_file
from advchunk import Document as Source
from advchunk.evaluation import Candidate, EvaluationTask, candidate, evaluate, read_corpus, read_questions, searches_of
from advchunk.evaluation.comparison.baselines import rank_by_merging
from advchunk.evaluation.metrics.statistics import mean_interval
from advchunk.records import Floats
from advchunk.retrieval import Search
from advchunk.retrieval.locating import locate
from llamaindex_advchunk import HierarchicalNodeParser

Json: TypeAlias = dict[str, Any]
Parse: TypeAlias = Callable[[Sequence[Document]], Sequence[BaseNode]]

SIZES = [2048, 512, 128]  # LlamaIndex's default
PATTERNS = {"chroma": "*.md", "covidqa": "*.txt", "qmsum": "*.txt", "jats": "*.nxml"}
PARSERS: dict[str, Parse] = {
    "HierarchicalNodeParser of LlamaIndex": TheirNodeParser.from_defaults(chunk_sizes=SIZES, chunk_overlap=0),
    "hierarchical, same sizes": HierarchicalNodeParser(levels=SIZES, markup="plain"),
    "hierarchical": HierarchicalNodeParser(markup="plain"),
}


def read_documents(folder: Path, pattern: str) -> list[Document]:
    """Return the text of each file, as it is or, of a paper, without tags."""
    texts = [
        read_file(path).text if path.suffix == ".nxml" else path.read_text("utf-8")
        for path in sorted(folder.glob(pattern))
    ]
    return [Document(text=text, id_=f"{folder.name}/{i}") for i, text in enumerate(texts)]


def is_exact(node: BaseNode, text: str) -> bool:
    """Return True if a node's text is that of its document at its offsets."""
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    return start is not None and text[start:end] == node.get_content()


def tilings(nodes: Sequence[BaseNode]) -> Iterator[bool]:
    """Yield, for each node with children, True if their texts join to its own."""
    texts = {node.node_id: node.get_content() for node in nodes}
    for node in nodes:
        if node.child_nodes:
            yield "".join(texts[child.node_id] for child in node.child_nodes) == texts[node.node_id]


def measure(parse: Parse, documents: Sequence[Document]) -> Json:
    """Return the shares of nodes that are exact, of parents that their children tile, and of ids that a second run
    repeats.
    """
    start = time.process_time()
    nodes = parse(documents)
    seconds = time.process_time() - start
    texts = {document.node_id: document.text for document in documents}
    exact = [is_exact(node, texts[node.ref_doc_id or ""]) for node in nodes]
    tiled, again = list(tilings(nodes)), {node.node_id for node in parse(documents)}
    return {
        "nodes": len(nodes),
        "exact": round(sum(exact) / len(exact), 4),
        "parents": len(tiled),
        "tiled": round(sum(tiled) / max(len(tiled), 1), 4),
        "same ids": round(sum(node.node_id in again for node in nodes) / len(nodes), 4),
        "seconds": round(seconds, 2),
    }


HYBRID = Search("hybrid", neighbors=True, levels="local")
SEARCHES = {
    "leaves": HYBRID,
    "leaves + sections": replace(HYBRID, levels="both"),
    'leaves + sections, answer="long"': replace(HYBRID, levels="both", answer="long"),
    "sections, expanded": replace(HYBRID, levels="global"),
    "leaves, merged over .5": replace(HYBRID, merge=0.5),
    "leaves, merged over .33": replace(HYBRID, merge=0.33),
    "leaves + sections, merged over .5": replace(HYBRID, levels="both", merge=0.5),
    "leaves, by vectors alone": Search(levels="local"),
    "leaves + sections, by vectors alone": Search(),
}
WEIGHTS = (0.3, 0.6, 1.0, 1.5, 3.0)
LENGTHS: Sequence[Any] = ("short", "long")


@dataclass(frozen=True)
class TheirHierarchy:
    """Chunks of LlamaIndex's HierarchicalNodeParser, located in their documents."""

    sizes: tuple[int, ...]

    def __call__(self, documents: Sequence[Source]) -> list[list[Chunk]]:
        """Return the chunks of each document, level by level."""
        parser = TheirNodeParser.from_defaults(chunk_sizes=list(self.sizes), chunk_overlap=0)
        return [self._chunks(parser([Document(text=source.text)]), source.text) for source in documents]

    def _chunks(self, nodes: Sequence[BaseNode], text: str) -> list[Chunk]:
        numbers = {node.node_id: i for i, node in enumerate(nodes)}
        parents = [None if node.parent_node is None else numbers[node.parent_node.node_id] for node in nodes]
        levels = list[int]()
        for parent in parents:
            levels.append(0 if parent is None else levels[parent] + 1)
        chunks = list[Chunk]()
        for level, group in groupby(range(len(nodes)), levels.__getitem__):
            members = list(group)
            spans = locate(text, [nodes[i].get_content() for i in members])
            chunks += [
                Chunk(text[slice(*span)], (span,), 0, i, level=level, parent=parents[i])
                for i, span in zip(members, spans, strict=True)
            ]
        return chunks


def their_candidate(sizes: tuple[int, ...]) -> Candidate:
    """Return LlamaIndex's hierarchy, with AutoMergingRetriever's rule, as the tests compare it with the original."""
    label = f"AutoMergingRetriever, {', '.join(map(str, sizes))}"
    return Candidate(label, TheirHierarchy(sizes), "external", fingerprint=label, rank=rank_by_merging)


def recalls(folder: Path, sizes: Sequence[int], searches: dict[str, Search], store: Path | None) -> dict[str, Floats]:
    """Return the recall of each question of a set by label."""
    documents = read_corpus(folder)
    language = folder.name if folder.parent.name == "xquad" else "en"
    questions = read_questions(folder / "questions.jsonl", documents)
    task = EvaluationTask(tuple(documents), tuple(questions), None, language=language)
    own = candidate("hierarchical", "hierarchical", levels=list(sizes), language=language)
    rows = searches_of(own, searches.values())
    named = [replace(row, label=label) for label, row in zip(searches, rows, strict=True)]
    external = [their_candidate(own_sizes) for own_sizes in (tuple(sizes), tuple(SIZES))]
    progress = partial(print, folder.name, file=sys.stderr)
    results = evaluate([*named, *external], task, store=store, progress=progress)
    return {result.label: result.recall for result in results}


def cell(recall: Floats, base: Floats) -> str:
    """Return the mean recall, and its paired difference to another, bold if that excludes zero."""
    own = f"{100 * float(recall.mean()):.1f}"
    if recall is base:
        return "{} [{:.1f}, {:.1f}]".format(own, *(100 * value for value in mean_interval(recall)[1:]))
    return f"{own} {difference(100 * recall, 100 * base)}"


def table(sets: dict[str, dict[str, Floats]], labels: Sequence[str]) -> str:
    """Return the recall of each row on each set."""
    rows = [["", *sets], ["---"] * (1 + len(sets))]
    rows += [[label, *(cell(own[label], own["leaves"]) for own in sets.values())] for label in labels]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def held_out(sets: dict[str, dict[str, Floats]], labels: Sequence[str]) -> str:
    """Return, for each set, the row with the highest mean on the others, and what it gains on the set."""
    gains = {
        name: {label: float((own[label] - own["leaves"]).mean()) for label in labels} for name, own in sets.items()
    }
    lines = list[str]()
    for name, own in gains.items():
        best = max(labels, key=lambda label: float(np.mean([gains[other][label] for other in gains if other != name])))
        lines.append(f"* {name}: {best}, {100 * own[best]:+.1f}\n")
    return "".join(lines)


def answer_questions(data: Path, names: Sequence[str], sizes: Sequence[int], store: Path | None) -> str:
    """Return the tables of the ways of search, and of the weights of the sections."""
    grids = {
        length: {f"{length}, {w:g}": replace(HYBRID, levels="both", answer=length, section_weight=w) for w in WEIGHTS}
        for length in LENGTHS
    }
    every = SEARCHES | {label: search for grid in grids.values() for label, search in grid.items()}
    sets = {name: recalls(data / name, sizes, every, store) for name in names}
    shown = [label for label in sets[names[0]] if label not in every or label in SEARCHES]
    parts = [table(sets, shown)]
    for grid in grids.values():
        parts += [table(sets, list(grid)), *([held_out(sets, list(grid))] if len(sets) > 1 else [])]
    return "\n".join(parts)


def main() -> None:
    """Print the figures of the section on hierarchies in STRUCTURE.md."""
    parser = argument_parser(__doc__)
    parser.add_argument("--questions", nargs="+", metavar="SET", help="sets whose questions are answered by levels")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1600, 110], help="max_tokens of each level")
    parser.add_argument("--store", type=Path, help="folder for results, to resume from")
    args = parser.parse_args()
    if args.questions:
        print(answer_questions(args.data, args.questions, args.sizes, args.store))
        return
    results: Json = {}
    for name, pattern in PATTERNS.items():
        if documents := read_documents(args.data / name, pattern):
            kb = sum(len(document.text) for document in documents) // 1000
            measured = {label: measure(parse, documents) for label, parse in PARSERS.items()}
            results[name] = {"documents": len(documents), "kB": kb, **measured}
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
