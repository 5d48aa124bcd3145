"""Evaluate retrieval over chunks cut with a causal language model, at equal mean chunk size. See MODELS.md.

python benchmarks/language.py --data DIR [--lm smollm2] [--documents NAME ...] [--mean 100] [--only LABEL ...]

DIR holds texts and questions.jsonl. Only questions whose references are all in the selected documents are used. Runs in
one thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from runner import argument_parser

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
class CachedLM:
    """A language model that caches its answers, so that trying several sizes calls it once."""

    model: Any
    model_name: str
    answers: dict[Any, Any] = field(default_factory=dict, repr=False)

    def surprise(self, text: str) -> Any:
        """Return the end and the surprise of each token."""
        if text not in self.answers:
            self.answers[text] = self.model.surprise(text)
        return self.answers[text]

    def choose(self, prompt: str, options: Sequence[str]) -> Any:
        """Return the probability of each option."""
        if prompt not in self.answers:
            self.answers[prompt] = self.model.choose(prompt, options)
        return self.answers[prompt]


def main() -> None:
    """Match sizes, run, compare, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--lm", default="smollm2")
    parser.add_argument("--documents", nargs="+", help="without suffix; all by default")
    parser.add_argument("--mean", type=int, default=100)
    parser.add_argument("--only", nargs="+")
    args = parser.parse_args()
    torch.set_num_threads(1)
    documents = read_corpus(args.data)
    selected = [
        document for document in documents if args.documents is None or Path(document.source).stem in args.documents
    ]
    names = {document.source for document in selected}
    questions = [
        question
        for question in read_questions(args.data / "questions.jsonl", documents)
        if {reference.document for reference in question.references} <= names
    ]
    lm = CachedLM(as_causal(args.lm).model, args.lm)
    makers = {
        "recursive": size_matched("recursive", args.mean),
        "sliding-window": size_matched("sliding-window", args.mean),
        "universal-semantic": size_matched("universal-semantic", args.mean),
        "optimal-semantic": size_matched("optimal-semantic", args.mean),
        "perplexity": size_matched("perplexity", args.mean, lm=lm),
        "margin-sampling, pairs": size_matched(
            "margin-sampling", args.mean, "margin-sampling, pairs", lm=lm, context="pair"
        ),
    }
    trial = EvaluationTask(tuple(selected), tuple(questions))
    start = time.process_time()
    candidates = [candidate for label, candidate in makers.items() if args.only is None or label in args.only]
    outcomes = evaluate(candidates, trial, progress=lambda label: print(label, file=sys.stderr))
    print(
        f"{', '.join(sorted(names))}: {len(questions)} questions, {time.process_time() - start:.0f} processor seconds\n"
    )
    print(as_markdown(compare(outcomes, "recursive")))


if __name__ == "__main__":
    main()
