"""Compare whole pipelines, from chunks to the ranking, on several sets of questions. See RETRIEVERS.md.

python benchmarks/pipelines.py --data DIR [--sets chroma qmsum covidqa xquad/en xquad/de] [--mean 80] [--embedder minilm]
    [--store DIR] [--processes N]

DIR holds a folder for each set, with texts and questions.jsonl. All chunks have the same mean size. Rows are the methods in
common use, then ways of search over the chunks of `recursive` and of other libraries, with plain vectors and with ours.
Prints recall in 1,000 tokens for each set and the difference of the default pipeline to each row, with 95 % intervals over
questions. A store resumes an interrupted run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from peers import peers

from advchunk.evaluation import (
    Candidate,
    EvaluationTask,
    Result,
    SizeMatched,
    baselines,
    evaluate,
    mean_interval,
    named_searches,
    paired_difference,
    read_corpus,
    read_questions,
    searches_of,
)
from retrieval import Reader, make_candidate, make_with_vectors

SETS = ("chroma", "qmsum", "covidqa", "xquad/en", "xquad/de")
PEERS = ("LangChain RecursiveCharacterTextSplitter", "LlamaIndex SentenceSplitter", "semchunk")
PIPELINE = "recursive, units, hybrid, neighbors"  # the default: ours end to end


def candidates(mean: float, embedder: Any, *, late: bool) -> Iterator[Candidate | SizeMatched]:
    """Yield the candidates of a set."""
    yield from baselines(mean)
    own = {
        name: partial(make_candidate, name, name, {"embedder": embedder})
        for name in ("recursive", "universal-semantic")
    }
    if late:
        make = partial(make_with_vectors, own["recursive"], "late", embedder.name)
        yield SizeMatched("late chunking", make, mean)
    for label, make in own.items():
        with_units = partial(make_candidate, label, label, {"embedder": embedder, "vectors": "units"})
        yield from searches_of(SizeMatched(label, make, mean), named_searches("all"))
        units = SizeMatched(f"{label}, units", with_units, mean)
        yield from searches_of(units, named_searches("dense,dense+neighbors,hybrid,hybrid+neighbors"))
    external = peers(embedder)
    for label in PEERS:
        plain = SizeMatched(label, external[label], mean)
        yield from searches_of(plain, named_searches("dense,lexical,hybrid,hybrid+neighbors"))
        make = partial(make_with_vectors, external[label], "units", embedder)
        yield from searches_of(SizeMatched(f"{label}, units", make, mean), named_searches("hybrid+neighbors"))


def read_task(folder: Path, embedder: Any) -> EvaluationTask:
    """Return the task of a set."""
    documents = read_corpus(folder)
    language = folder.name if folder.parent.name == "xquad" else "en"
    questions = read_questions(folder / "questions.jsonl", documents)
    return EvaluationTask(tuple(documents), tuple(questions), embedder, language=language)


def cells(result: Result, pipeline: Result) -> list[str]:
    """Return the recall of a result, and the paired difference of the pipeline to it, bold if that excludes zero."""
    mean, low, high = (100 * value for value in mean_interval(result.recall))
    recall = f"{mean:.1f} [{low:.1f}, {high:.1f}]"
    if result is pipeline:
        return [recall, ""]
    mean, low, high = (100 * value for value in paired_difference(pipeline.recall, result.recall)[:3])
    difference = f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
    return [recall, f"**{difference}**" if low > 0 or high < 0 else difference]


def table(results: dict[str, Sequence[Result]]) -> str:
    """Return a table with two columns for each set."""
    head = ["", *(cell for name in results for cell in (name, "pipeline less this"))]
    rows = [head, ["---"] * len(head)]
    by_label = {name: {result.label: result for result in own} for name, own in results.items()}
    for label in next(iter(by_label.values())):
        row = [f"**{label}**" if label == PIPELINE else label]
        for own in by_label.values():
            row += cells(own[label], own[PIPELINE]) if label in own else ["failed", ""]
        rows.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    """Run, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--mean", type=int, default=80, help="mean chunk size, in tokens")
    parser.add_argument("--embedder", help="minilm, or a model name; by default the embedded one")
    parser.add_argument("--store", type=Path, help="folder for results and vectors, to resume from")
    parser.add_argument("--only", nargs="+", help="beginnings of labels to run, besides the default pipeline")
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    file = str(args.store / "vectors.sqlite") if args.store else None
    embedder = Reader(args.embedder, file) if args.embedder else None
    results = dict[str, Sequence[Result]]()
    for name in args.sets:
        task = read_task(args.data / name, embedder)
        rows = list(candidates(args.mean, embedder, late=embedder is not None))
        if args.only:
            rows = [row for row in rows if row.label == PIPELINE or row.label.startswith(tuple(args.only))]
        results[name] = evaluate(
            rows, task, processes=args.processes, store=args.store, progress=partial(print, name, file=sys.stderr)
        )
    print(table(results))


if __name__ == "__main__":
    main()
