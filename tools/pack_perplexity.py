"""Pack what the published perplexity chunking found, for tests/reference/test_perplexity.py: numbers only, no text.

    python tools/pack_perplexity.py --golden DIR

DIR holds, for each document, what the published code and one pass of the same model computed: NAME.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "tests/data/golden_perplexity.json"
NAMES = ("ancient_rome", "state_of_the_union", "wikitexts")


def packed(said: dict[str, Any]) -> dict[str, Any]:
    """Return the surprise of each sentence and the minima at each threshold, of the published joining and of ours."""
    published, joined = said["reference_runs"], said["minima_space_joined"]
    return {
        "published": {
            "surprise": [round(nats, 6) for nats in said["mean_ce"]],
            "minima": {threshold: run["minima"] for threshold, run in published.items()},
            "groups": {threshold: run["reference_index_groups"] for threshold, run in published.items()},
        },
        "joined by spaces": {
            "surprise": [round(nats, 6) for nats in said["mean_ce_space_joined"]],
            "tokens": said["token_lens_space_joined"],
            "minima": joined,
        },
    }


def main() -> None:
    """Write the target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", type=Path, required=True)
    golden = parser.parse_args().golden
    found = {name: packed(json.loads((golden / f"{name}.json").read_text(encoding="utf-8"))) for name in NAMES}
    TARGET.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(TARGET)


if __name__ == "__main__":
    main()
