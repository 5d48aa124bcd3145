"""Measure what retrieval finds in chunks that a causal language model cut, beside others of one size. See LANGUAGE.md.

python benchmarks/language.py --data DIR [--lm smollm2] [--documents NAME ...] [--mean 100] [--only LABEL ...]

DIR holds texts and questions.jsonl; only questions about these documents alone are asked. One thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from advchunk.evaluation import (
    EvaluationTask,
    as_markdown,
    compare,
    evaluate,
    read_corpus,
    read_questions,
    size_matched,
)
from advchunk.models.causal import as_causal


@dataclass(frozen=True, eq=False)
class Remembering:
    """A language model that is asked once, whatever the size that is tried."""

    model: Any
    model_name: str
    known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def surprise(self, text: str) -> Any:
        """Return where tokens end, and how much each surprises."""
        if text not in self.known:
            self.known[text] = self.model.surprise(text)
        return self.known[text]

    def choose(self, prompt: str, options: Sequence[str]) -> Any:
        """Return how likely each option is."""
        if prompt not in self.known:
            self.known[prompt] = self.model.choose(prompt, options)
        return self.known[prompt]


def main() -> None:
    """Match, run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--lm", default="smollm2")
    parser.add_argument("--documents", nargs="+", help="without suffix; all by default")
    parser.add_argument("--mean", type=int, default=100)
    parser.add_argument("--only", nargs="+")
    given = parser.parse_args()
    torch.set_num_threads(1)
    every = read_corpus(given.data)
    chosen = [one for one in every if given.documents is None or Path(one.source).stem in given.documents]
    names = {one.source for one in chosen}
    questions = [
        question
        for question in read_questions(given.data / "questions.jsonl", every)
        if {reference.document for reference in question.references} <= names
    ]
    lm = Remembering(as_causal(given.lm).model, given.lm)
    made = {
        "recursive": size_matched("recursive", given.mean),
        "sliding-window": size_matched("sliding-window", given.mean),
        "universal-semantic": size_matched("universal-semantic", given.mean),
        "optimal-semantic": size_matched("optimal-semantic", given.mean),
        "perplexity": size_matched("perplexity", given.mean, lm=lm),
        "margin-sampling, pairs": size_matched(
            "margin-sampling", given.mean, "margin-sampling, pairs", lm=lm, context="pair"
        ),
    }
    trial = EvaluationTask(tuple(chosen), tuple(questions))
    began = time.process_time()
    candidates = [one for label, one in made.items() if given.only is None or label in given.only]
    outcomes = evaluate(candidates, trial, progress=lambda label: print(label, file=sys.stderr))
    print(
        f"{', '.join(sorted(names))}: {len(questions)} questions, {time.process_time() - began:.0f} processor seconds\n"
    )
    print(as_markdown(compare(outcomes, "recursive")))


if __name__ == "__main__":
    main()
