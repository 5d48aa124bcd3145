"""Pack scores that published scorers gave, for tests/reference/test_boundary_metrics.py: numbers only.

    python tools/pack_boundaries.py --golden DIR --data DIR

DIR of golden holds what other programs found and how it was scored (choi/NAME.json, bayesseg/NAME.json), DIR of data
the texts.
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
EACH = 2  # documents
MOST = 150  # sentences


def scored(golden: Path, data: Path, mode: str) -> list[tuple[dict[str, Any], SegmentedText]]:
    """Return the first documents of a mode with their texts."""
    found = []
    for said in json.loads((golden / f"{mode}.json").read_text(encoding="utf-8"))["docs"]:
        file = said["file"]
        path = data / ("clinical/" + Path(file).name if "clinical" in file else file.replace("choi/1/", "choi/"))
        if path.exists() and said["ref"] and len((text := read_choi(path)).units) < MOST:
            found.append((said, text))
    return found[:EACH]


def row(
    mode: str, said: dict[str, Any], text: SegmentedText, cuts: list[int], scores: dict[str, str]
) -> dict[str, Any]:
    """Return one line: two segmentations, the words of each unit, and the ``scores``, by what they are called there."""
    n = len(text.units)
    words = (
        text.words("[a-zA-Z0-9$]+") - text.words(r"(?i)\binaudible\b")
        if mode.partition(",")[0] in BAYES
        else text.words()
    )
    return {
        "mode": mode,
        "file": said["file"],
        "reference": text.cuts.tolist(),
        "found": [0, *sorted({*cuts} - {0, n}), n],
        "words": words.tolist(),
        "scores": {name: said[key] for name, key in scores.items() if key in said},
    }


def packed(golden: Path, data: Path) -> Iterator[dict[str, Any]]:
    """Yield all lines."""
    for mode in CHOI:
        for said, text in scored(golden / "choi", data, mode):
            yield row(mode, said, text, said["hyp"], {"pk nltk": "pk", "wd nltk": "wd", "pk choi": "pk_choi_word"})
    sentences = {"pk nltk": "pk_sentence", "wd nltk": "wd_sentence"}
    for mode in BAYES:
        for said, text in scored(golden / "bayesseg", data, mode):
            right = {"pk bayesseg": "pk_word_fixed", "wd bayesseg": "wd_word_fixed", **sentences}
            yield row(mode, said, text, said["hyp"], right)
            if said["hyp_as_printed"] != said["hyp"]:
                printed = {"pk bayesseg": "pk_printed", "wd bayesseg": "wd_printed"}
                yield row(f"{mode}, as printed", said, text, said["hyp_as_printed"], printed)


def main() -> None:
    """Pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()
    rows = map(json.dumps, packed(given.golden, given.data))
    TARGET.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
