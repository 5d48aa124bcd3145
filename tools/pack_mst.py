"""Pack outputs of the published MST Semantic Chunker, for tests/reference/test_mst.py to compare against.

Numbers only, no text. The vectors are turned into as few dimensions as there are pieces, which leaves all their
cosines as they are:

    python tools/pack_mst.py --golden DIR

DIR holds, for each document, what the unmodified ``mstchunker.py`` computed: NAME.json, NAME.edges.npy, NAME.emb.npy.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "tests/data/golden_mst.npz"
# Paragraphs of three documents, one so long that its window is more than the least, and one in Italian; sentences of
# two whose components are not contiguous.
NAMES = ("american_civil_war.para", "industrial_revolution.para", "sample.para", "chroma_finance", "chroma_pubmed")
FIGURES = (
    "distance_threshold", "semantic_density", "fragmentation", "semantic_weight", "locality_weight", "vicinity_weight",
    "mean_distance", "lmbd",
)  # fmt: skip


def packed(golden: Path, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of one document."""
    said = json.loads((golden / f"{name}.json").read_text(encoding="utf-8"))
    vectors = np.load(golden / f"{name}.emb.npy")
    edges = np.load(golden / f"{name}.edges.npy")
    n = len(vectors)
    if n < vectors.shape[1]:
        vectors = np.linalg.qr(vectors.T.astype(np.float64)).R.T.astype(np.float32)
    at = said.get("lambda_override") or []
    return {
        "vectors": vectors,
        "sizes": np.array(said["token_lengths"]),
        "figures": np.array([said[name] for name in FIGURES]),
        "edges": edges[np.lexsort((edges[:, 1], edges[:, 0])), 2],
        "tree": np.sort([weight for weight, _, _ in said["mst_edges"]]),
        "labels": labels(n, said["components"]),
        "chunks": np.array(chunks(said)),
        "lambdas": np.array([other["lmbd"] for other in at]),
        "labels_at": np.array([labels(n, other["components"]) for other in at]).reshape(-1, n),
    }


def labels(n: int, components: list[list[int]]) -> NDArray[np.int64]:
    """Return the smallest piece of each piece's component."""
    found = np.full(n, -1)
    for component in components:
        found[component] = min(component)
    return found


def chunks(said: dict[str, Any]) -> list[int]:
    """Return the first piece of the chunk that each piece went into, found by rebuilding the chunks' text."""
    texts, found = iter(said["merged_chunks"]), [-1] * len(said["prechunks"])
    for component in said["components"]:
        rest = list(component)
        while rest:
            text, first, joined = next(texts), rest[0], ""
            while joined != text:
                piece = rest.pop(0)
                found[piece] = first
                joined = f"{joined}\n{said['prechunks'][piece]}" if piece != first else said["prechunks"][piece]
    return found


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published code's outputs")
    golden = parser.parse_args().golden
    arrays = {f"{name}/{key}": value for name in NAMES for key, value in packed(golden, name).items()}
    failures = json.loads((golden / "failures.json").read_text(encoding="utf-8"))
    arrays["lambda_of_mean"] = np.array(failures["lambda_vs_mean"])
    TARGET.parent.mkdir(exist_ok=True)
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
