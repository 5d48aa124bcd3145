"""Pack what the original C99 (Java, version 1.2) gave, for tests/reference/test_c99.py to compare against.

Numbers only: for each document the terms of its sentences, as numbers; its true cuts; those found with K unknown and
with K = 10; and of one document the order of all its divisions, and its matrices.

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
        known, unknown = (
            json.loads((args.golden / f"c99java_{group}_{mode}.json").read_text())["docs"] for mode in ("n10", "auto")
        )
        for of_ten, document in list(zip(known, unknown, strict=True))[:50]:
            _, part, _, name = document["file"].split("/")
            told = stems[f"{part}_{group}_{name.removesuffix('.ref')}"]
            said = [tuple(number.setdefault(word, len(number)) for word in words) for words in told]
            texts.append([sentence.setdefault(one, len(sentence)) for one in said])
            cuts.append([document["ref"], document["hyp"], of_ten["hyp"]])
            if document["file"] == INSIDE:
                inside = len(texts) - 1
    internals = json.loads((args.golden / "c99java_internals_1_3-5_0.json").read_text())
    upper = np.triu_indices(len(internals["sim"]))
    arrays: dict[str, Any] = {
        "terms": np.array(list(chain.from_iterable(sentence)), dtype=np.uint16),  # of every distinct sentence
        "terms_each": np.array([len(one) for one in sentence], dtype=np.uint8),
        "sentences": np.array(list(chain.from_iterable(texts)), dtype=np.uint16),  # of every document
        "sentences_each": np.array([len(text) for text in texts], dtype=np.uint8),
        "cuts": np.array(list(chain.from_iterable(chain.from_iterable(cuts))), dtype=np.uint8),  # true, found, of ten
        "cuts_each": np.array([[len(one) for one in three] for three in cuts], dtype=np.uint8),
        "inside": np.array(inside),
        "order": np.array(internals["split_order_all"], dtype=np.uint8),
        **{name: np.array(internals[name], dtype=np.float32)[upper] for name in ("sim", "rank", "sum")},
    }
    np.savez_compressed(TARGET, **arrays)


if __name__ == "__main__":
    main()
