"""Pack what TopicTiling (Java, w = 2) said of some of Choi's texts, for tests/reference/test_lda.py to compare against.

Numbers only, no text:

    python tools/pack_topictiling.py --golden DIR

DIR holds topictiling_java_w2_nauto.json and topictiling_java_w2_n10.json: of each text the similarities at its gaps,
their minima and how deep they are, and the units that segments end at.
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
SAID = {"auto": ("nauto", "sim", "minima", "depth"), "known": ("n10", "sim", "segments")}
EACH = 20  # texts


def packed(golden: Path) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays, those of all texts end to end, and their edges."""
    for kind, (mode, *names) in SAID.items():
        texts = json.loads((golden / f"topictiling_java_w2_{mode}.json").read_text(encoding="utf-8"))[:EACH]
        for name in names:
            parts = [np.array(text[name]) for text in texts]
            yield f"{kind}_{name}", np.concatenate(parts)
            yield f"{kind}_{name}_edges", np.cumsum([0, *map(len, parts)])


def main() -> None:
    """Pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published program's outputs")
    arrays = dict(packed(parser.parse_args().golden))
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
