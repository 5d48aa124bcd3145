"""Pack communities that microsoft's graphrag finds, for tests/chunkers/reference/test_graphrag.py.

Run it once for each version of graspologic-native, where graphrag 3.3 is installed; it replaces the results of that
version:

    python tools/pack_graphrag.py
"""

from __future__ import annotations

import json
import random
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "tests/data/golden_graphrag.json"
SETTINGS = (
    (10, True, 0xDEADBEEF),
    (10, False, 0xDEADBEEF),
    (5, False, 7),
)  # maximum size, largest component only, seed
Edge = tuple[str, str, float]


def planted(groups: int, size: int, seed: int, *, weighted: bool = True) -> list[Edge]:
    """Return a graph of groups with many edges inside, and fewer between them."""
    generator = random.Random(seed)
    names = [f"g{group}n{i}" for group in range(groups) for i in range(size)]
    edges = list[Edge]()
    for i, first in enumerate(names):
        for other in names[i + 1 :]:
            same = first.partition("n")[0] == other.partition("n")[0]
            if generator.random() < (0.5 if same else 0.02):
                edges.append((first, other, round(generator.uniform(0.1, 1), 3) if weighted else 1.0))
    return edges


def graphs() -> dict[str, list[Edge]]:
    """Return the graphs by name."""
    parts = [(a.replace("g", f"p{part}g"), b.replace("g", f"p{part}g"), weight)
             for part in range(3) for a, b, weight in planted(2, 9 - 2 * part, part)]  # fmt: skip
    written = [("Rock &amp; Roll", "music ", 0.5), ("music ", "Rock &amp; Roll", 0.9), ("music ", "jazz", 0.3)]
    return {
        "planted": planted(6, 12, 1),
        "unweighted": planted(4, 15, 2, weighted=False),
        "components": parts,
        "repeated": [*written, *((b, a, weight / 2) for a, b, weight in parts), *parts],
    }


def main() -> None:
    """Add the communities under the installed version of graspologic-native."""
    # Neither is among the development dependencies.
    pandas: Any = import_module("pandas")
    cluster_graph: Any = import_module("graphrag.index.operations.cluster_graph").cluster_graph

    golden: dict[str, Any] = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    golden |= {"graphrag": version("graphrag"), "edges": graphs()}
    runs = list[Any]()
    for name, edges in graphs().items():
        frame = pandas.DataFrame(edges, columns=["source", "target", "weight"])
        for settings in SETTINGS:
            rows = [[*row[:3], sorted(row[3])] for row in cluster_graph(frame, *settings)]
            runs.append([name, settings, sorted(rows)])
    golden.setdefault("runs", {})[version("graspologic-native")] = runs
    TARGET.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
