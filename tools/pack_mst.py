"""Pack results of the published MST Semantic Chunker for tests/chunkers/reference/test_mst.py.

Numbers only, no text. The vectors are rotated into as many dimensions as there are pieces, which preserves their
cosines:

    python tools/pack_mst.py --golden DIR

DIR holds the output of the unmodified ``mstchunker.py`` for each document: NAME.json, NAME.edges.npy, NAME.emb.npy.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "tests/data/golden_mst.npz"
# Paragraphs of three documents, one of which is long enough for a larger window and one in Italian; sentences of two
# documents whose components are not contiguous.
NAMES = ("american_civil_war.para", "industrial_revolution.para", "sample.para", "chroma_finance", "chroma_pubmed")
FIGURES = (
    "distance_threshold", "semantic_density", "fragmentation", "semantic_weight", "locality_weight", "vicinity_weight",
    "mean_distance", "lmbd",
)  # fmt: skip


def pack(golden: Path, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of one document."""
    reference = json.loads((golden / f"{name}.json").read_text(encoding="utf-8"))
    vectors = np.load(golden / f"{name}.emb.npy")
    edges = np.load(golden / f"{name}.edges.npy")
    n = len(vectors)
    if n < vectors.shape[1]:
        vectors = np.linalg.qr(vectors.T.astype(np.float64)).R.T.astype(np.float32)
    overrides = reference.get("lambda_override") or []
    return {
        "vectors": vectors,
        "sizes": np.array(reference["token_lengths"]),
        "figures": np.array([reference[name] for name in FIGURES]),
        "edges": edges[np.lexsort((edges[:, 1], edges[:, 0])), 2],
        "tree": np.sort([weight for weight, _, _ in reference["mst_edges"]]),
        "labels": labels(n, reference["components"]),
        "chunks": np.array(chunks(reference)),
        "lambdas": np.array([other["lmbd"] for other in overrides]),
        "labels_at": np.array([labels(n, other["components"]) for other in overrides]).reshape(-1, n),
    }


def labels(n: int, components: list[list[int]]) -> NDArray[np.int64]:
    """Return the smallest piece of each piece's component."""
    first = np.full(n, -1)
    for component in components:
        first[component] = min(component)
    return first


def chunks(reference: dict[str, Any]) -> list[int]:
    """Return the first piece of each piece's chunk, by rebuilding the text of the chunks."""
    texts, first_pieces = iter(reference["merged_chunks"]), [-1] * len(reference["prechunks"])
    for component in reference["components"]:
        rest = list(component)
        while rest:
            text, first, joined = next(texts), rest[0], ""
            while joined != text:
                piece = rest.pop(0)
                first_pieces[piece] = first
                joined = (
                    f"{joined}\n{reference['prechunks'][piece]}" if piece != first else reference["prechunks"][piece]
                )
    return first_pieces


def main() -> None:
    """Write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published code's outputs")
    golden = parser.parse_args().golden
    arrays = {f"{name}/{key}": value for name in NAMES for key, value in pack(golden, name).items()}
    failures = json.loads((golden / "failures.json").read_text(encoding="utf-8"))
    arrays["lambda_of_mean"] = np.array(failures["lambda_vs_mean"])
    TARGET.parent.mkdir(exist_ok=True)
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
