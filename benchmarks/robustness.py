"""Measure how much hangs on each parameter: a fifth less and more, and every other word, on five types of documents. See ROBUSTNESS.md.

python benchmarks/robustness.py --data DIR [--only NAME ...] [--texts N] [--processes N] [--write]

DIR holds `choi`, `clinical` (texts in Choi's format) and `chroma` (texts, questions.jsonl); what is missing is left out.
Prints tables; --write puts the verdicts where `advchunk.chunkers.registry.describe` finds them, beside those that were there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import advchunk
from advchunk.chunkers import registry
from advchunk.chunkers.params import resources
from advchunk.errors import require
from advchunk.evaluation import EvaluationTask, read_corpus, read_folder, read_questions
from advchunk.evaluation.comparison.robustness import (
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

TARGET = Path(advchunk.__file__).with_name("sensitivity.json")
PAGE = "benchmarks/ROBUSTNESS.md"
RULE = (
    f"brittle: one number, no size, a fifth less or more (or another seed) costs at least {BRITTLE_LOSS:g} points on some type "
    f"of documents, with an adjusted p under {SIGNIFICANCE_LEVEL:g}; or makes the chunker fail on one"
)
BOUNDARIES = {"choi": ("joined news", "*/*.ref"), "clinical": ("clinical", "*.ref")}
ANSWERS = {"wikitexts": "encyclopaedic", "state_of_the_union": "spoken", "pubmed": "scientific"}
# The settings that docstrings recommend, where the defaults are those of a specification.
PRESETS = (
    ("texttiling", "fine"),
    ("bayesseg", "long"),
    ("semantic-cluster", "chain"),
    ("graph-partition", "neighbors"),
)


@cache
def measures(data: Path, texts: int | None) -> dict[str, tuple[Scorer, str]]:
    """Return what scores a chunker, and what in, by type of documents; of many texts, evenly spread ones."""
    found: dict[str, tuple[Scorer, str]] = {}
    for folder, (kind, pattern) in BOUNDARIES.items():
        if (data / folder).exists():
            known = read_folder(data / folder, pattern)
            found[kind] = boundary_scorer(known[:: max(len(known) // (texts or len(known)), 1)]), "boundary accuracy"
    if (data / "chroma").exists():
        documents = read_corpus(data / "chroma")
        questions = read_questions(data / "chroma" / "questions.jsonl", documents)
        for document in documents:
            asked = [one for one in questions if {of.document for of in one.references} == {document.source}]
            stem = Path(document.source).stem
            trial = EvaluationTask((document,), tuple(asked))
            found[ANSWERS.get(stem, stem)] = answer_scorer(trial), f"recall in {trial.budget:,} tokens"
    require(bool(found), f"--data must hold one of {', '.join([*BOUNDARIES, 'chroma'])}", str(data))
    return found


def configurations() -> dict[str, tuple[str, dict[str, str]]]:
    """Return the name and the settings of what is measured, by label: all that need no language model."""
    plain = [name for name, entry in registry.TABLE.items() if "lm" not in resources(entry.chunker)]
    defaults: dict[str, tuple[str, dict[str, str]]] = {name: (name, {}) for name in plain}
    return defaults | {f"{name}, preset={preset}": (name, {"preset": preset}) for name, preset in PRESETS}


def measured(label: str, data: Path, texts: int | None) -> Sensitivity:
    """Return what the variations of a configuration do."""
    name, settings = configurations()[label]
    chunker: Any = registry.create(name, experimental=True, **settings)
    by_type = {kind: measure for kind, (measure, _) in measures(data, texts).items()}
    found = sensitivity(chunker, by_type)
    print(f"{label}: {len(found.effects)} effects", file=sys.stderr)
    return found


def verdict(label: str, found: Sensitivity, of: Mapping[str, str], date: str) -> dict[str, Any]:
    """Return what is said of a chunker, as JSON has it: its worst judged effect, and whether that makes it brittle."""
    name, settings = configurations()[label]
    version = registry.TABLE[name].chunker.version
    said: dict[str, Any] = {"version": version, "measured": date, "brittle": bool(found.brittle)}
    for worst in found.judged[:1]:
        change, difference = worst.variation, worst.difference
        said |= {
            "parameter": change.parameter, "default": change.default, "value": change.value, "type": worst.type,
            "points": worst.points, "low": round(100 * difference.low, 1), "high": round(100 * difference.high, 1),
            "p": round(worst.p, 4), "failed": worst.failed,
        }  # fmt: skip
    for worst in found.brittle[:1]:
        where = ", ".join(f"with {key}={value!r}" for key, value in settings.items())
        measured = f"measured {date}, see {PAGE}"
        said["warning"] = brittleness_warning(worst, of[worst.type], settings=where, source=measured)
    return said


def change(effect: Effect) -> str:
    """Say what was varied."""
    of = effect.variation
    return f"`{of.parameter}` {_said(of.default)} → {_said(of.value)}"


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def points(effect: Effect) -> str:
    """Say a difference with its interval."""
    low, high = 100 * effect.difference.low, 100 * effect.difference.high
    return f"{effect.points:+.1f} [{low:+.1f}, {high:+.1f}]" + f", fails on {effect.failed}" * (effect.failed > 0)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:], ""])


def overview(found: Mapping[str, Sensitivity], types: Sequence[str]) -> str:
    """Return the greatest judged loss of each chunker on each type; in brackets what is noise, in bold what is brittle."""

    def cell(one: Sensitivity, kind: str) -> str:
        worst = next((effect for effect in one.judged if effect.type == kind), None)
        if worst is None or not (worst.failed or worst.difference.mean < 0):
            return "" if worst is None else "none"
        said = f"{worst.points:+.1f} {change(worst)}" + " (fails)" * (worst.failed > 0)
        return f"**{said}**" if worst.brittle else said if worst.significant else f"({said})"

    return table(["", *types], [[label, *(cell(one, kind) for kind in types)] for label, one in found.items()])


def listed(effects: Mapping[str, Sequence[Effect]]) -> str:
    """Return effects one a row."""
    rows = [
        [label, change(effect), effect.type, points(effect), f"{effect.p:.2g}", f"{effect.size:.2f}"]
        for label, some in effects.items()
        for effect in some
    ]
    return table(["", "change", "type", "points", "p", "mean size ×"], rows) if rows else "None.\n"


def page(found: Mapping[str, Sensitivity], types: Sequence[str]) -> str:
    """Return the tables of the page."""
    strong = {
        label: [
            effect for effect in one.effects if effect.significant and abs(effect.difference.mean) * 100 >= BRITTLE_LOSS
        ]
        for label, one in found.items()
    }
    gains = {k: [e for e in some if e.variation.judged and e.points > 0] for k, some in strong.items()}
    others: dict[str, list[Effect]] = {}
    for label, some in strong.items():
        widest: dict[Any, Effect] = {}
        for effect in (effect for effect in some if not effect.variation.judged):
            of = effect.variation
            widest[of] = max(widest.get(of, effect), effect, key=lambda one: abs(one.difference.mean))
        others[label] = list(widest.values())
    refused = [
        [label, f"`{one.parameter}` {one.value}", one.refused] for label, of in found.items() for one in of.refused
    ]
    parts = {
        "The greatest loss by a fifth": overview(found, types),
        "Brittle: every loss that the rule counts": listed({label: one.brittle for label, one in found.items()}),
        f"Gains of {BRITTLE_LOSS:g} points and more, by a fifth": listed(gains),
        f"Not judged: sizes, small numbers, words and switches that move some type by {BRITTLE_LOSS:g} points": listed(
            others
        ),
        "Refused": table(["", "value", "why"], refused) if refused else "None.\n",
    }
    return "\n".join(f"## {title}\n\n{text}" for title, text in parts.items())


def main() -> None:
    """Measure, judge, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[], help="names of chunkers, or labels")
    parser.add_argument("--texts", type=int, help="some so many of each type whose boundaries are known")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name}; with all texts")
    given = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    labels = [label for label, (name, _) in configurations().items() if not given.only or {label, name} & {*given.only}]
    require(bool(labels), f"--only takes {', '.join(configurations())}", given.only)
    of = {kind: metric for kind, (_, metric) in measures(given.data, given.texts).items()}
    whole = given.texts is None and len(of) == len(BOUNDARIES) + len(ANSWERS)
    require(whole or not given.write, "--write must go with all texts of all types", sys.argv[1:])
    with ProcessPoolExecutor(given.processes) as pool:
        jobs = {label: pool.submit(measured, label, given.data, given.texts) for label in labels}
        found = {label: job.result() for label, job in jobs.items()}
    if given.write:
        date = f"{datetime.now(UTC):%Y-%m-%d}"
        kept = json.loads(TARGET.read_text(encoding="utf-8"))["chunkers"] if given.only else {}
        kept |= {label: verdict(label, one, of, date) for label, one in found.items()}
        chunkers = {label: kept[label] for label in configurations() if label in kept}
        said = {"version": 1, "advchunk": advchunk.__version__, "rule": RULE, "types": of, "chunkers": chunkers}
        TARGET.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(page(found, list(of)))


if __name__ == "__main__":
    main()
