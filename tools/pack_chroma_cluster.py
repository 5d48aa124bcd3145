"""Pack what Chroma's ClusterSemanticChunker made of two corpora, for tests/reference/test_chroma_cluster.py.

Numbers only, no text:

    python tools/pack_chroma_cluster.py --golden DIR

DIR holds, for each corpus, cluster_semantic_NAME.json, the output of the unmodified package, and NAME.emb.npy, the vectors
of its pieces. Of all likenesses only those of pieces that can share a cluster are kept, and the mean of all.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "tests/data/golden_chroma_cluster.npz"


def packed(folder: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of each corpus."""
    for path in sorted(folder.glob("cluster_semantic_*.json")):
        name, said = path.stem.removeprefix("cluster_semantic_"), json.loads(path.read_text(encoding="utf-8"))
        rows = np.load(folder / f"{name}.emb.npy").astype(np.float64)
        alike, n = rows @ rows.T, len(rows)
        near = np.zeros((n, said["max_cluster"] - 1), dtype=np.float32)
        for d in range(1, said["max_cluster"]):
            near[: n - d, d - 1] = np.diagonal(alike, d)
        clusters = said["clusters"]
        yield f"{name}/near", near
        yield f"{name}/mean", np.array(alike[np.triu_indices(n, k=1)].mean())
        yield f"{name}/cuts", np.array([0, *(last + 1 for _, last in clusters)], dtype=np.int16)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published code's outputs")
    arrays = dict(packed(parser.parse_args().golden))
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
