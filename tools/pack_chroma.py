"""Pack the scores of the published chunking_evaluation for tests/evaluation/reference/test_retrieval_metrics.py.

Numbers only, no text:

    python tools/pack_chroma.py --golden DIR

DIR holds eval_two_corpora.json: chunks, the five retrieved for each question, and the scores of the unmodified package.
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


def pack(reference: dict[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the name and array of each result; ranges are (owner, document, start, end)."""
    questions = reference["questions_index"]
    names = sorted({question["corpus_id"] for question in questions})

    def row(owner: int, name: str, place: dict[str, Any]) -> tuple[int, ...]:
        return owner, names.index(name), place["start_index"], place["end_index"]

    references = [
        row(i, question["corpus_id"], place) for i, question in enumerate(questions) for place in question["references"]
    ]
    yield "references", np.array(references, dtype=np.int32)
    for name in CHUNKERS:
        results = reference[name]
        chunks = [row(i, place["corpus_id"], place) for i, place in enumerate(results["chunks"])]
        yield f"{name}/chunks", np.array(chunks, dtype=np.int32)
        yield f"{name}/ranking", np.array(results["top5"], dtype=np.int16)
        yield f"{name}/scores", np.array([results[score] for score in SCORES])


def main() -> None:
    """Write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True, help="directory of the published code's outputs")
    path = parser.parse_args().golden / "eval_two_corpora.json"
    arrays = dict(pack(json.loads(path.read_text(encoding="utf-8"))))
    np.savez_compressed(TARGET, allow_pickle=False, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size / 1024:.0f} KiB, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
