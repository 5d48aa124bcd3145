"""Compare whole pipelines, from chunks to the ranking, on several sets of questions. See RETRIEVAL.md.

python benchmarks/pipelines.py --data DIR [--sets chroma qmsum covidqa xquad/en xquad/de] [--mean 60 80 100 120]
    [--embedder minilm] [--store DIR]

DIR holds a folder for each set, with texts and questions.jsonl. All chunks have the same mean size; with several sizes,
the recall of a question is its mean over them, so a lucky cut decides less. Rows are the methods in common use, then
ways of search over the chunks of `recursive` and of other libraries, with plain vectors and with ours. Prints recall in
1,000 tokens for each set and the difference of the default pipeline to each row, with 95 % intervals over questions. A
store resumes an interrupted run.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from peers import peers
from runner import argument_parser, difference

from advchunk.evaluation import (
    Candidate,
    EvaluationTask,
    Result,
    SizeMatched,
    baselines,
    evaluate,
    named_searches,
    read_corpus,
    read_questions,
    searches_of,
    with_vectors,
)
from advchunk.evaluation.metrics.statistics import mean_interval
from advchunk.records import Floats
from retrieval import Reader, make_candidate

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
        yield with_vectors(SizeMatched("recursive", own["recursive"], mean), "late", embedder.name, "late chunking")
    for label, make in own.items():
        with_units = partial(make_candidate, label, label, {"embedder": embedder, "vectors": "units"})
        yield from searches_of(SizeMatched(label, make, mean), named_searches("all"))
        units = SizeMatched(f"{label}, units", with_units, mean)
        yield from searches_of(units, named_searches("dense,dense+neighbors,hybrid,hybrid+neighbors"))
    external = peers(embedder)
    for label in PEERS:
        plain = SizeMatched(label, external[label], mean)
        yield from searches_of(plain, named_searches("dense,lexical,hybrid,hybrid+neighbors"))
        yield from searches_of(with_vectors(plain, "units", embedder), named_searches("hybrid+neighbors"))


def read_task(folder: Path, embedder: Any) -> EvaluationTask:
    """Return the task of a set."""
    documents = read_corpus(folder)
    language = folder.name if folder.parent.name == "xquad" else "en"
    questions = read_questions(folder / "questions.jsonl", documents)
    return EvaluationTask(tuple(documents), tuple(questions), embedder, language=language)


def cells(recall: Floats, pipeline: Floats) -> list[str]:
    """Return the mean recall of a row, and the paired difference of the pipeline to it, bold if that excludes zero."""
    mean, low, high = (100 * value for value in mean_interval(recall))
    own = f"{mean:.1f} [{low:.1f}, {high:.1f}]"
    if recall is pipeline:
        return [own, ""]
    return [own, difference(100 * pipeline, 100 * recall)]


def recalls(runs: Sequence[Sequence[Result]]) -> dict[str, Floats]:
    """Return the recall of each question by label, as the mean over the runs, of one size each; without failed rows."""
    by_label = defaultdict[str, list[Floats]](list)
    for result in chain.from_iterable(runs):
        by_label[result.label].append(result.recall)
    return {label: np.mean(own, axis=0) for label, own in by_label.items() if len(own) == len(runs)}


def table(sets: dict[str, dict[str, Floats]]) -> str:
    """Return a table with two columns for each set."""
    head = ["", *(cell for name in sets for cell in (name, "pipeline less this"))]
    rows = [head, ["---"] * len(head)]
    for label in next(iter(sets.values())):
        row = [f"**{label}**" if label == PIPELINE else label]
        for own in sets.values():
            row += cells(own[label], own[PIPELINE]) if label in own else ["failed", ""]
        rows.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    """Run, compare, and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--mean", type=int, nargs="+", default=[80], help="mean chunk sizes, in tokens")
    parser.add_argument("--embedder", help="minilm, or a model name; by default the embedded one")
    parser.add_argument("--store", type=Path, help="folder for results and vectors, to resume from")
    parser.add_argument("--only", nargs="+", help="beginnings of labels to run, besides the default pipeline")
    args = parser.parse_args()
    file = str(args.store / "vectors.sqlite") if args.store else None
    embedder = Reader(args.embedder, file) if args.embedder else None
    sets = dict[str, dict[str, Floats]]()
    for name in args.sets:
        task = read_task(args.data / name, embedder)
        runs = list[Sequence[Result]]()
        for mean in args.mean:
            rows = list(candidates(mean, embedder, late=embedder is not None))
            if args.only:
                rows = [row for row in rows if row.label == PIPELINE or row.label.startswith(tuple(args.only))]
            progress = partial(print, name, mean, file=sys.stderr)
            runs.append(evaluate(rows, task, store=args.store, progress=progress))
        sets[name] = recalls(runs)
    print(table(sets))


if __name__ == "__main__":
    main()
