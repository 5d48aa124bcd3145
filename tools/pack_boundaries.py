"""Pack the scores of published scorers for tests/evaluation/reference/test_boundary_metrics.py: numbers only.

    python tools/pack_boundaries.py --golden DIR --data DIR

The golden folder holds the segmentations of other programs and their scores (choi/NAME.json, bayesseg/NAME.json); the
data folder holds the texts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from advchunk.evaluation import SegmentedText, read_choi

TARGET = Path(__file__).parents[1] / "tests/data/golden_boundaries.json"
CHOI = ("c99java_3-5_auto", "c99java_9-11_n10", "u00_rerun_auto_3-11", "u00_rerun_n10_6-8", "uts_c99_w4_default_3-5",
        "nltk_texttiling_LC_3-11")  # fmt: skip
BAYES = ("choi_3-5_known", "choi_3-11_unknown_nodur", "clinical_dpconfig_known", "clinical_unknown_nodur",
         "clinical_unknown_dur")  # fmt: skip
COUNT = 2  # documents per mode
MAX_SENTENCES = 150


def read_scored(golden: Path, data: Path, mode: str) -> list[tuple[dict[str, Any], SegmentedText]]:
    """Return the first documents of a mode with their texts."""
    pairs = []
    for record in json.loads((golden / f"{mode}.json").read_text(encoding="utf-8"))["docs"]:
        file = record["file"]
        path = data / ("clinical/" + Path(file).name if "clinical" in file else file.replace("choi/1/", "choi/"))
        if path.exists() and record["ref"] and len((text := read_choi(path)).units) < MAX_SENTENCES:
            pairs.append((record, text))
    return pairs[:COUNT]


def row(
    mode: str, record: dict[str, Any], text: SegmentedText, cuts: list[int], scores: dict[str, str]
) -> dict[str, Any]:
    """Return one line: two segmentations, the words of each unit, and the scores under their names in the record."""
    n = len(text.units)
    words = (
        text.words("[a-zA-Z0-9$]+") - text.words(r"(?i)\binaudible\b")
        if mode.partition(",")[0] in BAYES
        else text.words()
    )
    return {
        "mode": mode,
        "file": record["file"],
        "reference": text.cuts.tolist(),
        "found": [0, *sorted({*cuts} - {0, n}), n],
        "words": words.tolist(),
        "scores": {name: record[key] for name, key in scores.items() if key in record},
    }


def pack(golden: Path, data: Path) -> Iterator[dict[str, Any]]:
    """Yield all lines."""
    for mode in CHOI:
        for record, text in read_scored(golden / "choi", data, mode):
            yield row(mode, record, text, record["hyp"], {"pk nltk": "pk", "wd nltk": "wd", "pk choi": "pk_choi_word"})
    sentences = {"pk nltk": "pk_sentence", "wd nltk": "wd_sentence"}
    for mode in BAYES:
        for record, text in read_scored(golden / "bayesseg", data, mode):
            right = {"pk bayesseg": "pk_word_fixed", "wd bayesseg": "wd_word_fixed", **sentences}
            yield row(mode, record, text, record["hyp"], right)
            if record["hyp_as_printed"] != record["hyp"]:
                printed = {"pk bayesseg": "pk_printed", "wd bayesseg": "wd_printed"}
                yield row(f"{mode}, as printed", record, text, record["hyp_as_printed"], printed)


def main() -> None:
    """Write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    rows = map(json.dumps, pack(args.golden, args.data))
    TARGET.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
