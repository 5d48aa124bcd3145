"""Compare hierarchies with those of LlamaIndex's HierarchicalNodeParser. See STRUCTURE.md.

python benchmarks/hierarchies.py --data DIR

Reads `chroma/*.md`, `covidqa/*.txt`, `qmsum/*.txt` and `jats/*.nxml` in DIR; missing files are skipped. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from llama_index.core import Document
from llama_index.core.node_parser import HierarchicalNodeParser as TheirNodeParser
from llama_index.core.schema import BaseNode

from advchunk import read_file
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
    """Return the shares of nodes that are exact, of parents that their children tile, and of ids that a second run repeats."""
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


def main() -> None:
    """Print the figures of the section on hierarchies in STRUCTURE.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    results: Json = {}
    for name, pattern in PATTERNS.items():
        if documents := read_documents(args.data / name, pattern):
            kb = sum(len(document.text) for document in documents) // 1000
            measured = {label: measure(parse, documents) for label, parse in PARSERS.items()}
            results[name] = {"documents": len(documents), "kB": kb, **measured}
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
