"""Pack what the published chunking_evaluation said of two chunkers, for tests/reference/test_retrieval_metrics.py.

Numbers only, no text:

    python tools/pack_chroma.py --golden DIR

DIR holds eval_two_corpora.json: chunks, the five retrieved for each question, and its scores by the unmodified package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "tests/data/golden_chroma.npz"
CHUNKERS = ("fixed800chars", "cluster_semantic")
SCORES = ("recall", "precision", "iou", "precision_omega")


def packed(said: dict[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays: ranges as (owner, document, start, end), and what was said by chunker."""
    questions = said["questions_index"]
    names = sorted({question["corpus_id"] for question in questions})

    def row(owner: int, name: str, place: dict[str, Any]) -> tuple[int, ...]:
        return owner, names.index(name), place["start_index"], place["end_index"]

    asked = [row(i, one["corpus_id"], place) for i, one in enumerate(questions) for place in one["references"]]
    yield "references", np.array(asked, dtype=np.int32)
    for name in CHUNKERS:
        of_one = said[name]
        chunks = [row(i, place["corpus_id"], place) for i, place in enumerate(of_one["chunks"])]
        yield f"{name}/chunks", np.array(chunks, dtype=np.int32)
        yield f"{name}/ranking", np.array(of_one["top5"], dtype=np.int16)
        yield f"{name}/scores", np.array([of_one[score] for score in SCORES])


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published code's outputs")
    path = parser.parse_args().golden / "eval_two_corpora.json"
    arrays = dict(packed(json.loads(path.read_text(encoding="utf-8"))))
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
