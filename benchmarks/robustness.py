"""Score the sensitivity to each parameter on five types of documents. See CUTS.md.

python benchmarks/robustness.py --data DIR [--only NAME ...] [--types TYPE ...] [--texts N] [--judged] [--lm smollm2]
    [--processes N] [--write]

Numbers are varied by 20 %, and words and switches take every other value. DIR holds `choi` and `clinical` (texts in
Choi's format) and `chroma` (texts, questions.jsonl); missing folders are skipped. Prints tables; --write stores the
verdicts that `advchunk.chunkers.catalog.describe` shows, each with the types and the number of texts if not all were
measured, and keeps existing ones of other chunkers. Chunkers that need a language model are measured with --lm only: a
causal one, or "stand-in" for the rules that replace causal and chat models in the tests.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from runner import argument_parser, table
from sensitivity import (
    BRITTLE_LOSS,
    SIGNIFICANCE_LEVEL,
    Effect,
    Scorer,
    Sensitivity,
    answer_scorer,
    boundary_scorer,
    brittleness_warning,
    sensitivity,
)

import advchunk
from advchunk.chunkers import catalog
from advchunk.errors import require
from advchunk.evaluation import EvaluationTask, read_corpus, read_folder, read_questions
from algorithms import ALGORITHMS

STAND_IN = "stand-in"  # for a language model
TESTS = Path(__file__).parents[1] / "tests"
TARGET = Path(catalog.__file__).with_name("sensitivity.json")
PAGE = "benchmarks/CUTS.md"
RULE = (
    f"brittle: changing one number (not a size) by 20 %, or the seed, costs at least {BRITTLE_LOSS:g} points on some "
    "type of "
    f"documents with an adjusted p below {SIGNIFICANCE_LEVEL:g}, or makes the chunker fail on a document"
)
BOUNDARIES = {"choi": ("joined news", "*/*.ref"), "clinical": ("clinical", "*.ref")}
ANSWERS = {"wikitexts": "encyclopedic", "state_of_the_union": "spoken", "pubmed": "scientific"}
# Presets that docstrings recommend where the defaults come from a specification, and the format of these texts.
SETTINGS = (
    ("mst-semantic", "preset", "even"),
    ("universal-semantic", "preset", "relative"),
    ("texttiling", "preset", "fine"),
    ("texttiling", "preset", "coarse"),
    ("c99", "preset", "coarse"),
    ("bayesseg", "preset", "long"),
    ("semantic-cluster", "preset", "chain"),
    ("semantic-cluster", "preset", "coarse"),
    ("graph-partition", "preset", "neighbors"),
    ("graph-partition", "preset", "coarse"),
    ("grobid-section", "markup", "markdown"),
    ("layout-aware", "markup", "markdown"),
)


@cache
def measures(data: Path, texts: int | None) -> dict[str, tuple[Scorer, str]]:
    """Return the measure and its metric by type of document, on at most ``texts`` even_split_candidate spaced texts."""
    results: dict[str, tuple[Scorer, str]] = {}
    for folder, (kind, pattern) in BOUNDARIES.items():
        if (data / folder).exists():
            samples = read_folder(data / folder, pattern)
            results[kind] = (
                boundary_scorer(samples[:: max(len(samples) // (texts or len(samples)), 1)]),
                "boundary accuracy",
            )
    if (data / "chroma").exists():
        documents = read_corpus(data / "chroma")
        questions = read_questions(data / "chroma" / "questions.jsonl", documents)
        for document in documents:
            asked = [
                question for question in questions if {of.document for of in question.references} == {document.source}
            ]
            stem = Path(document.source).stem
            trial = EvaluationTask((document,), tuple(asked))
            results[ANSWERS.get(stem, stem)] = answer_scorer(trial), f"recall in {trial.budget:,} tokens"
    require(bool(results), f"--data must contain one of {', '.join([*BOUNDARIES, 'chroma'])}", str(data))
    return results


def configurations(lm: str | None = None) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the chunker name and settings of each configuration by label; those with a language model need ``lm``."""
    needs = {None: (None,), STAND_IN: (None, "lm", "llm")}.get(lm, (None, "lm"))
    plain = [name for name in catalog.names() if catalog.required_model(name) in needs]
    formats = {
        name for name, parameter, _ in SETTINGS if parameter == "markup"
    }  # which they cannot be measured without
    defaults: dict[str, tuple[str, dict[str, str]]] = {name: (name, {}) for name in plain if name not in formats}
    return defaults | {f"{name}, {key}={value}": (name, {key: value}) for name, key, value in SETTINGS}


def models(name: str, lm: str | None) -> dict[str, Any]:
    """Return the language models that a chunker needs."""
    needed = catalog.required_model(name)
    if not (needed and lm):
        return {}
    if lm == STAND_IN:
        sys.path.append(str(TESTS))
        module, _, attribute = ALGORITHMS[name].models[needed].partition(":")
        return {needed: getattr(import_module(module), attribute)()}
    return {needed: lm}


def measure(
    label: str, data: Path, texts: int | None, types: Sequence[str] = (), lm: str | None = None, *, judged: bool = False
) -> Sensitivity:
    """Return the effects of varying a configuration."""
    name, settings = configurations(lm)[label]
    chunker: Any = catalog.create(name, experimental=True, **settings, **models(name, lm))
    by_type = {kind: measure for kind, (measure, _) in measures(data, texts).items() if not types or kind in types}
    result = sensitivity(chunker, by_type, judged_only=judged)
    print(f"{label}: {len(result.effects)} effects", file=sys.stderr)
    return result


def verdict(
    label: str, result: Sensitivity, of: Mapping[str, str], date: str, subset: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the JSON entry of a chunker: whether it is brittle, and its worst effect of those that make it so, else
    judged.
    """
    name, settings = configurations(STAND_IN)[label]
    version = catalog.chunker_class(name).version
    entry: dict[str, Any] = {"version": version, "measured": date, **subset, "brittle": bool(result.brittle)}
    for worst in (result.brittle or result.judged)[:1]:  # a larger loss may be noise
        variation, difference = worst.variation, worst.difference
        entry |= {
            "parameter": variation.parameter, "default": variation.default, "value": variation.value, "type": worst.type,  # noqa: E501
            "points": worst.points, "low": round(100 * difference.low, 1), "high": round(100 * difference.high, 1),
            "p": round(worst.p, 4), "failed": worst.failed,
        }  # fmt: skip
    for worst in result.brittle[:1]:
        where = ", ".join(f"with {key}={value!r}" for key, value in settings.items())
        provenance = f"measured {date}, see {PAGE}"
        entry["warning"] = brittleness_warning(worst, of[worst.type], settings=where, source=provenance)
    return entry


def format_change(effect: Effect) -> str:
    """Format a parameter change."""
    of = effect.variation
    return f"`{of.parameter}` {_format_value(of.default)} → {_format_value(of.value)}"


def _format_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def format_points(effect: Effect) -> str:
    """Format a difference with its interval."""
    low, high = 100 * effect.difference.low, 100 * effect.difference.high
    return f"{effect.points:+.1f} [{low:+.1f}, {high:+.1f}]" + f", fails on {effect.failed}" * (effect.failed > 0)


def overview_table(results: Mapping[str, Sensitivity], types: Sequence[str]) -> str:
    """Return a table of the largest judged loss by chunker and type; noise in parentheses, brittle in bold."""

    def cell(result: Sensitivity, kind: str) -> str:
        worst = next((effect for effect in result.judged if effect.type == kind), None)
        if worst is None or not (worst.failed or worst.difference.mean < 0):
            return "" if worst is None else "none"
        label = f"{worst.points:+.1f} {format_change(worst)}" + " (fails)" * (worst.failed > 0)
        return f"**{label}**" if worst.brittle else label if worst.significant else f"({label})"

    return table(["", *types], [[label, *(cell(result, kind) for kind in types)] for label, result in results.items()])


def list_effects(effects: Mapping[str, Sequence[Effect]]) -> str:
    """Return a table with a row for each effect."""
    rows = [
        [label, format_change(effect), effect.type, format_points(effect), f"{effect.p:.2g}", f"{effect.size:.2f}"]
        for label, group in effects.items()
        for effect in group
    ]
    return table(["", "change", "type", "points", "p", "mean size ×"], rows) if rows else "None.\n"


def page(results: Mapping[str, Sensitivity], types: Sequence[str]) -> str:
    """Return the page's tables."""
    brittle = list_effects({label: result.brittle for label, result in results.items()})
    return (
        f"## Largest loss from a change of 20 %\n\n{overview_table(results, types)}\n"
        f"## Brittle: losses that the rule counts\n\n{brittle}"
    )


def main() -> None:
    """Scorer, judge, print, and write."""
    parser = argument_parser(__doc__)
    parser.add_argument("--only", nargs="+", default=[], help="names or labels of chunkers")
    parser.add_argument("--types", nargs="+", default=[], help="types of documents; all by default")
    parser.add_argument("--texts", type=int, help="maximum number of texts of each type with known boundaries")
    parser.add_argument("--judged", action="store_true", help="vary only the parameters that the rule judges")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--lm", help=f"causal language model, such as smollm2, or {STAND_IN}")
    parser.add_argument("--write", action="store_true", help=f"update {TARGET.name}")
    args = parser.parse_args()
    names = configurations(args.lm)
    labels = [label for label, (name, _) in names.items() if not args.only or {label, name} & {*args.only}]
    require(bool(labels), f"--only accepts {', '.join(names)}", args.only)
    metrics = {kind: metric for kind, (_, metric) in measures(args.data, args.texts).items()}
    require({*args.types} <= metrics.keys(), f"--types accepts {', '.join(metrics)}", args.types)
    of = {kind: metric for kind, metric in metrics.items() if not args.types or kind in args.types}
    whole = args.texts is None and len(of) == len(BOUNDARIES) + len(ANSWERS)
    subset = {} if whole else {"types": list(of)} | ({"texts": args.texts} if args.texts else {})
    require(
        bool(args.only) or whole or not args.write,
        "--write without all texts of all types requires --only",
        sys.argv[1:],
    )
    task = partial(measure, data=args.data, texts=args.texts, types=args.types, lm=args.lm, judged=args.judged)
    with ProcessPoolExecutor(args.processes) as pool:
        results = dict(zip(labels, pool.map(task, labels), strict=True))
    if args.write:
        date = f"{datetime.now(UTC):%Y-%m-%d}"
        document = json.loads(TARGET.read_text(encoding="utf-8"))
        entries = document["chunkers"] if args.only else {}
        for label, result in results.items():
            lm = "a stand-in for a language model" if args.lm == STAND_IN else args.lm
            model = {"model": lm} if catalog.required_model(names[label][0]) else {}
            entries[label] = verdict(label, result, of, date, {**subset, **model})
        chunkers = {label: entries[label] for label in configurations(STAND_IN) if label in entries}
        document |= {
            "advchunk": advchunk.__version__,
            "rule": RULE,
            "types": {**document["types"], **of},
            "chunkers": chunkers,
        }
        TARGET.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(page(results, list(of)))


if __name__ == "__main__":
    main()
