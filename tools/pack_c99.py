"""Pack the results of the original C99 (Java, version 1.2) for tests/chunkers/reference/test_c99.py.

Numbers only: for each document the terms of its sentences as numbers, its true cuts, and the cuts with K unknown and
with K = 10; for one document also the order of all divisions and the matrices.

    python tools/pack_c99.py --golden DIR

DIR holds stems_c99_java.json.gz, c99java_GROUP_auto.json, c99java_GROUP_n10.json, c99java_internals_1_3-5_0.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parents[1] / "tests/data/golden_c99.npz"
GROUPS = ("3-11", "3-5", "6-8", "9-11")
INSIDE = "choi/1/3-5/0.ref"


def main() -> None:
    """Pack the first fifty documents of each group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path, required=True)
    args = parser.parse_args()
    stems = json.loads(gzip.decompress((args.golden / "stems_c99_java.json.gz").read_bytes()))
    number, sentence = dict[str, int](), dict[tuple[int, ...], int]()
    texts, cuts = list[list[int]](), list[list[list[int]]]()
    for group in GROUPS:
        with_k, without_k = (
            json.loads((args.golden / f"c99java_{group}_{mode}.json").read_text())["docs"] for mode in ("n10", "auto")
        )
        for of_ten, document in list(zip(with_k, without_k, strict=True))[:50]:
            _, part, _, name = document["file"].split("/")
            document_stems = stems[f"{part}_{group}_{name.removesuffix('.ref')}"]
            numbered = [tuple(number.setdefault(word, len(number)) for word in words) for words in document_stems]
            texts.append([sentence.setdefault(item, len(sentence)) for item in numbered])
            cuts.append([document["ref"], document["hyp"], of_ten["hyp"]])
            if document["file"] == INSIDE:
                inside = len(texts) - 1
    internals = json.loads((args.golden / "c99java_internals_1_3-5_0.json").read_text())
    upper = np.triu_indices(len(internals["sim"]))
    arrays: dict[str, Any] = {
        "terms": np.array(list(chain.from_iterable(sentence)), dtype=np.uint16),  # of each distinct sentence
        "terms_each": np.array([len(item) for item in sentence], dtype=np.uint8),
        "sentences": np.array(list(chain.from_iterable(texts)), dtype=np.uint16),  # of each document
        "sentences_each": np.array([len(text) for text in texts], dtype=np.uint8),
        # True, K unknown, K = 10.
        "cuts": np.array(list(chain.from_iterable(chain.from_iterable(cuts))), dtype=np.uint8),
        "cuts_each": np.array([[len(item) for item in triple] for triple in cuts], dtype=np.uint8),
        "inside": np.array(inside),
        "order": np.array(internals["split_order_all"], dtype=np.uint8),
        **{name: np.array(internals[name], dtype=np.float32)[upper] for name in ("sim", "rank", "sum")},
    }
    np.savez_compressed(TARGET, **arrays)


if __name__ == "__main__":
    main()
