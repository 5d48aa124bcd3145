"""Comparisons as flat rows, as tables of Markdown, and as a report: a page of Markdown, and all figures as JSON."""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.comparison.comparisons import Comparison, group_by_kind, leaders
from advchunk.evaluation.comparison.harness import FailedCandidate
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics.statistics import CONFIDENCE, RESAMPLES, SEED
from advchunk.evaluation.metrics.table import metrics
from advchunk.models.identity import identity, model_name
from advchunk.models.static import default_embedder
from advchunk.records import Floats
from advchunk.text.templates import fill_text

Columns: TypeAlias = Mapping[str, tuple[str, str]]
"""The title and the format of each column, by its key in `as_rows`."""

_BOUNDARY_SCORES = {"F1": "f1", "F1 (1 near)": "f1_near", "Pk": "pk", "WindowDiff": "window_diff"}
TABLES: Mapping[str, Columns] = {
    "Main": {
        "mean tokens": ("tokens", ".1f"),
        **{m.column: (m.title, f".{m.digits}f") for m in metrics().values() if m.title},
    },
    "Retrieval": {
        "recall in budget": ("recall", ".1f"), "hit at k": ("hit@k", ".1f"), "reciprocal rank": ("MRR@k", ".1f"),
        "precision at k": ("precision@k", ".1f"),
    },
    "Shape": {
        "chunks": ("chunks", ","), "within": ("within", ".3f"), "between": ("between", ".3f"),
        "forced": ("forced, %", ".1f"), "over": ("over, %", ".1f"), "under": ("under, %", ".1f"),
        "redundancy": ("redundancy", ".2f"), "coverage": ("coverage, %", ".1f"),
        **{name: (name, ".3f") for name in _BOUNDARY_SCORES},
    },
    "Cost": {
        "seconds": ("CPU s", ".3g"), "wall seconds": ("wall s", ".3g"), "peak MB": ("peak MB", ".1f"),
        "calls": ("calls", ","), "tokens sent": ("tokens sent", ","),
    },
}  # fmt: skip


def as_rows(rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return a flat dict of figures for each comparison; shares in percent, None for unknown ones."""
    return list(map(_as_row, rows))


def _as_row(row: Comparison) -> dict[str, Any]:
    result, cost, scores = row.result, row.result.cost, (*row.score, *row.difference[:3])
    return {
        "candidate": result.label,
        "group": result.group,
        "search": result.search,
        "size matched": result.size_matched,
        "chunks": len(result.tokens),
        "mean tokens": round(float(result.tokens.mean()), 1),
        "target mean": result.target_mean,
        **{name: _percent(value, 2) for name, value in zip(_score_columns("recall"), scores, strict=True)},
        "p (Holm)": round(row.p, 4),
        "verdict": row.verdict,
        **{m.column: _mean_percent(getattr(result, m.name, np.zeros(0)), m.digits) for m in metrics().values()},
        **{name: _round(result.boundaries.get(key)) for name, key in _BOUNDARY_SCORES.items()},
        **{name: _round(getattr(result, name)) for name in ("within", "between")},
        **{name: _percent(getattr(result, name)) for name in ("forced", "over", "under")},
        "redundancy": _round(result.redundancy),
        "coverage": _percent(result.coverage),
        "seconds": _round(cost.cpu_seconds),
        "wall seconds": _round(cost.wall_seconds),
        "peak MB": None if cost.peak_bytes is None else round(cost.peak_bytes / 1e6, 1),
        "calls": cost.calls,
        "tokens sent": cost.tokens,
    }


def _percent(share: float | None, digits: int = 1) -> float | None:
    return None if share is None else round(100 * share, digits) + 0.0  # turns -0.0 into 0.0


def _mean_percent(scores: Floats, digits: int) -> float | None:
    finite = scores[np.isfinite(scores)]
    return _percent(float(finite.mean()), digits) if len(finite) else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _score_columns(metric: str) -> Columns:
    """Return the columns of the score, the difference and their bounds."""
    form = f".{metrics()[metric].digits}f"
    scores = {name: (name, form) for name in ("score", "low", "high")}
    return scores | {name: (name, f"+{form}") for name in ("difference", "difference low", "difference high")}


def as_markdown(
    rows: Sequence[Comparison],
    *,
    metric: str = "recall",
    notes: Mapping[str, str] | None = None,
    task: EvaluationTask | None = None,
    run_info: Mapping[str, Any] | None = None,
    failures: Sequence[FailedCandidate] = (),
) -> str:
    """Return Markdown tables: scores and differences with intervals and verdicts, then retrieval, shape and cost.

    Parameters
    ----------
    rows : from `compare`, or from `compare_by_kind`: then each kind has a section of its own.
    metric : that the rows were compared by.
    notes : remarks on candidates by label, such as that one is brittle.
    task : adds its budget, k and embedder to the first line.
    run_info : further facts for the first line, by name, such as the source of the questions.
    failures : candidates without a result, listed with the reasons before the others.
    """
    labels = {row.result.label for row in rows}
    text = fill_text(
        read_template("comparison.md"),
        sections=[_section(title, group, metric) for title, group in group_by_kind(rows).items()],
        metric=metrics()[metric].summary,
        questions=len(rows[0].result.recall),
        task=task,
        embedder=_embedder_name(task) if task else "",
        run_info=run_info or {},
        failures=failures,
        notes={label: note for label, note in (notes or {}).items() if label in labels},
    )
    return text.rstrip() + "\n"


def read_template(name: str) -> str:
    """Return a template of this package."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _embedder_name(task: EvaluationTask) -> str:
    if isinstance(task.embedder, str):
        return task.embedder
    embedder = default_embedder() if task.embedder is None else task.embedder
    return model_name(embedder) or type(embedder).__qualname__


def _section(title: str, rows: Sequence[Comparison], metric: str) -> dict[str, Any]:
    """Return what the template shows of comparisons of one kind; a column without a figure is left out."""
    lines = list[dict[str, Any]]()
    for row, figures in zip(rows, as_rows(rows), strict=True):
        mean, target = row.result.tokens.mean(), row.result.target_mean
        remark = f"mean {mean:,.0f}, target {target:,.0f}" if row.result.off_target else ""
        lines.append({**figures, "text": _format_figures(figures, metric), "remark": remark})
    main, *details = (
        {key: head for key, (head, _) in columns.items() if any(line.get(key) is not None for line in lines)}
        for columns in TABLES.values()
    )
    named = dict(zip(list(TABLES)[1:], details, strict=True))
    return {
        "title": title, "leaders": _describe_leaders(rows, metric), "lines": lines, "columns": main, "details": named,
    }  # fmt: skip


def _format_figures(figures: Mapping[str, Any], metric: str) -> dict[str, str]:
    """Return the figures of a row as text, "" for unknown ones."""
    every = [_score_columns(metric), *TABLES.values()]
    forms = {key: form for columns in every for key, (_, form) in columns.items()}
    return {key: "" if figures.get(key) is None else format(figures[key], form) for key, form in forms.items()}


def _describe_leaders(rows: Sequence[Comparison], metric: str) -> str:
    """Return a sentence that names the best of rows, of one kind, or says that none is."""
    best, *ties = leaders(rows, metric)
    figures = _format_figures(_as_row(best), metric)
    score = f"{metrics()[metric].summary} {figures['score']} % [{figures['low']}, {figures['high']}]"
    if not ties:
        return f"{best.result.label} scores best: {score}."
    others = f"{len(ties)} other{'s' * (len(ties) > 1)}"
    return f"No winner: the highest score, that of {best.result.label}, cannot be told apart from {others}; {score}."


def write_report(
    folder: str | Path,
    task: EvaluationTask,
    rows: Sequence[Comparison],
    *,
    metric: str = "recall",
    notes: Mapping[str, str] | None = None,
    run_info: Mapping[str, Any] | None = None,
    failures: Sequence[FailedCandidate] = (),
) -> Path:
    """Write ``report.md`` and ``results.json``, and return the folder.

    The folder is created if missing; its files of these names are overwritten. Raises `ConfigurationError` for no rows.

    Parameters
    ----------
    rows, metric, notes, run_info, failures : as in `as_markdown`.
    """
    require(len(rows) > 0, "rows must have a candidate", rows)
    facts = provenance(task, run_info)
    options: Any = {"metric": metric, "notes": notes, "run_info": run_info, "failures": failures}
    page = fill_text(
        read_template("report.md"),
        comparison=as_markdown(rows, task=task, **options),
        task=task,
        metrics=metrics(),
        needs={name: sum(map(bool, needed)) for name, needed in task.needs.items()},
        provenance=json.dumps({name: value for name, value in facts.items() if name != "documents"}, indent=1),
        settings={row.result.label: json.dumps(row.result.settings) for row in rows},
    )
    results = {
        "provenance": facts,
        "metric": metric,
        "notes": notes or {},
        "comparisons": as_rows(rows),
        "failures": [asdict(failure) for failure in failures],
        "results": [row.result.to_dict() for row in rows],
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"report.md": page, "results.json": json.dumps(results, indent=1) + "\n"}.items():
        # A label may contain a lone surrogate, which UTF-8 cannot encode.
        (folder / name).write_bytes(text.encode("utf-8", "xmlcharrefreplace"))
    return folder


def provenance(task: EvaluationTask, run_info: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the versions, embedder, seeds and settings needed to repeat a run; JSON-able."""
    versions = {"advchunk": version("advchunk"), "numpy": np.__version__}
    for name in ("scipy", "networkx", "scikit-learn", "transformers"):  # chunks may depend on them, if installed
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        **versions,
        "python": platform.python_version(),
        "platform": sys.platform,
        "embedder": identity(task.embedder),
        "k": task.k,
        "budget": task.budget,
        "budgets": list(task.budgets),
        "bootstrap": {"confidence": CONFIDENCE, "resamples": RESAMPLES, "seed": SEED},
        "documents": {document.source: len(document.text) for document in task.documents},
        "questions": len(task.questions),
        "digest": task.digest,
        **({"run": dict(run_info)} if run_info else {}),
    }
