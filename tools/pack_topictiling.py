"""Pack results of TopicTiling (Java, w = 2) on Choi's texts for tests/chunkers/reference/test_lda.py.

Numbers only, no text:

    python tools/pack_topictiling.py --golden DIR

DIR holds topictiling_java_w2_nauto.json and topictiling_java_w2_n10.json: for each text the similarities at its gaps,
their minima and depths, and the last units of segments.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "tests/data/golden_topictiling.npz"
RESULTS = {"auto": ("nauto", "sim", "minima", "depth"), "known": ("n10", "sim", "segments")}
COUNT = 20  # texts


def pack(golden: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and array of each result, concatenated over texts, and the edges of the texts."""
    for kind, (mode, *names) in RESULTS.items():
        texts = json.loads((golden / f"topictiling_java_w2_{mode}.json").read_text(encoding="utf-8"))[:COUNT]
        for name in names:
            parts = [np.array(text[name]) for text in texts]
            yield f"{kind}_{name}", np.concatenate(parts)
            yield f"{kind}_{name}_edges", np.cumsum([0, *map(len, parts)])


def main() -> None:
    """Write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published program's outputs")
    arrays = dict(pack(parser.parse_args().golden))
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
