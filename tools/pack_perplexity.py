"""Pack results of the published perplexity chunking for tests/chunkers/reference/test_perplexity.py: numbers only.

    python tools/pack_perplexity.py --golden DIR

DIR holds the output of the published code and of one pass of the same model for each document: NAME.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "tests/data/golden_perplexity.json"
NAMES = ("ancient_rome", "state_of_the_union", "wikitexts")


def pack(reference: dict[str, Any]) -> dict[str, Any]:
    """Return the surprise of each sentence and the minima at each threshold, for the published way of joining and
    ours.
    """
    published, joined = reference["reference_runs"], reference["minima_space_joined"]
    return {
        "published": {
            "surprise": [round(nats, 6) for nats in reference["mean_ce"]],
            "minima": {threshold: run["minima"] for threshold, run in published.items()},
            "groups": {threshold: run["reference_index_groups"] for threshold, run in published.items()},
        },
        "joined by spaces": {
            "surprise": [round(nats, 6) for nats in reference["mean_ce_space_joined"]],
            "tokens": reference["token_lens_space_joined"],
            "minima": joined,
        },
    }


def main() -> None:
    """Write the golden file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True)
    golden = parser.parse_args().golden
    results = {name: pack(json.loads((golden / f"{name}.json").read_text(encoding="utf-8"))) for name in NAMES}
    TARGET.write_text(json.dumps(results) + "\n", encoding="utf-8")
    print(TARGET)


if __name__ == "__main__":
    main()
