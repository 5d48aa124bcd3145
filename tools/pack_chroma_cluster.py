"""Pack the results of Chroma's ClusterSemanticChunker for tests/benchmarks/test_reference_chroma_cluster.py.

Numbers only, no text:

    python tools/pack_chroma_cluster.py --golden DIR

DIR holds, for each corpus, cluster_semantic_NAME.json, the output of the unmodified package, and NAME.emb.npy, the
vectors of its pieces. Only the mean similarity and the similarities of pieces that can share a cluster are kept.
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


def pack(folder: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and array of each result."""
    for path in sorted(folder.glob("cluster_semantic_*.json")):
        name, reference = path.stem.removeprefix("cluster_semantic_"), json.loads(path.read_text(encoding="utf-8"))
        rows = np.load(folder / f"{name}.emb.npy").astype(np.float64)
        cosines, n = rows @ rows.T, len(rows)
        similarity = np.zeros((n, reference["max_cluster"] - 1), dtype=np.float32)
        for d in range(1, reference["max_cluster"]):
            similarity[: n - d, d - 1] = np.diagonal(cosines, d)
        clusters = reference["clusters"]
        yield f"{name}/near", similarity
        yield f"{name}/mean", np.array(cosines[np.triu_indices(n, k=1)].mean())
        yield f"{name}/cuts", np.array([0, *(last + 1 for _, last in clusters)], dtype=np.int16)


def main() -> None:
    """Write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published code's outputs")
    arrays = dict(pack(parser.parse_args().golden))
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
