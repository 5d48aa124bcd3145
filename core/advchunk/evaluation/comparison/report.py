"""Comparisons as flat rows, as tables of Markdown, and as a report: a page of Markdown, and all figures as JSON."""

import json
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from advchunk.errors import checked, require
from advchunk.evaluation.comparison.comparisons import Comparison, leaders
from advchunk.evaluation.comparison.harness import FailedCandidate, Result
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics.statistics import CONFIDENCE, RESAMPLES, SEED
from advchunk.evaluation.metrics.table import RetrievalMetric, check_metric, metrics
from advchunk.models.identity import identity, model_name
from advchunk.models.static import default_embedder
from advchunk.text.templates import fill_text


class _Column(NamedTuple):
    """A figure of a result: its key in `as_rows`, the table that has it, its title and format there, and its value."""

    key: str
    table: str
    title: str
    form: str
    value: Callable[[Result], Any]


def _mean_of(metric: RetrievalMetric, of: Result) -> float | None:
    scores = getattr(of, metric.name, np.zeros(0))
    finite = scores[np.isfinite(scores)]
    return _percent(float(finite.mean()), metric.digits) if len(finite) else None


_AT_K = {"recall in budget": "recall", "hit at k": "hit@k", "reciprocal rank": "MRR@k", "precision at k": "precision@k"}
_COLUMNS = [
    _Column("mean tokens", "main", "tokens", ".1f", lambda of: round(float(of.tokens.mean()), 1)),
    *(
        _Column(
            metric.column, "main" if metric.title else "retrieval" * (metric.column in _AT_K),
            metric.title or _AT_K.get(metric.column, ""), f".{metric.digits if metric.title else 1}f",
            partial(_mean_of, metric),
        )
        for metric in metrics().values()
    ),
    _Column("chunks", "shape", "chunks", ",", lambda of: len(of.tokens)),
    _Column("within", "shape", "within", ".3f", lambda of: _round(of.within)),
    _Column("between", "shape", "between", ".3f", lambda of: _round(of.between)),
    _Column("forced", "shape", "forced, %", ".1f", lambda of: _percent(of.forced)),
    _Column("over", "shape", "over, %", ".1f", lambda of: _percent(of.over)),
    _Column("under", "shape", "under, %", ".1f", lambda of: _percent(of.under)),
    _Column("redundancy", "shape", "redundancy", ".2f", lambda of: _round(of.redundancy)),
    _Column("coverage", "shape", "coverage, %", ".1f", lambda of: _percent(of.coverage)),
    _Column("F1", "shape", "F1", ".3f", lambda of: _round(of.boundaries.get("f1"))),
    _Column("F1 (1 near)", "shape", "F1 (1 near)", ".3f", lambda of: _round(of.boundaries.get("f1_near"))),
    _Column("Pk", "shape", "Pk", ".3f", lambda of: _round(of.boundaries.get("pk"))),
    _Column("WindowDiff", "shape", "WindowDiff", ".3f", lambda of: _round(of.boundaries.get("window_diff"))),
    _Column("seconds", "cost", "CPU s", ".3g", lambda of: _round(of.cost.cpu_seconds)),
    _Column("wall seconds", "cost", "wall s", ".3g", lambda of: _round(of.cost.wall_seconds)),
    _Column("calls", "cost", "calls", ",", lambda of: of.cost.calls),
    _Column("tokens sent", "cost", "tokens sent", ",", lambda of: of.cost.tokens),
]  # fmt: skip
_SCORES = ("score", "low", "high", "difference", "difference low", "difference high")


def as_rows(rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return a flat dict of figures for each comparison; shares in percent, None for unknown ones."""
    return [
        {
            "candidate": row.result.label,
            "group": row.result.group,
            "search": row.result.search,
            "size matched": row.result.size_matched,
            "target mean": row.result.target_mean,
            **dict(zip(_SCORES, (_percent(score, 2) for score in (*row.score, *row.difference[:3])), strict=True)),
            "p (Holm)": round(row.p, 4),
            "verdict": row.verdict,
            **{column.key: column.value(row.result) for column in _COLUMNS},
        }
        for row in rows
    ]


def _percent(share: float | None, digits: int = 1) -> float | None:
    return None if share is None else round(100 * share, digits) + 0.0  # turns -0.0 into 0.0


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


@checked
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
    rows : from `compare`.
    metric : that the rows were compared by.
    notes : remarks on candidates by label, such as that one is brittle.
    task : adds its budget, k and embedder to the first line.
    run_info : further facts for the first line, by name, such as the source of the questions.
    failures : candidates without a result, listed with the reasons before the others.
    """
    check_metric(metric)
    require(len(rows) > 0, "rows must have a candidate", rows)
    labels = {row.result.label for row in rows}
    text = fill_text(
        read_template("comparison.md"),
        section=_section(rows, metric),
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


def _section(rows: Sequence[Comparison], metric: str) -> dict[str, Any]:
    """Return the parts of the template; a column without a figure is left out."""
    lines = list[dict[str, Any]]()
    for row, figures in zip(rows, as_rows(rows), strict=True):
        mean, target = row.result.tokens.mean(), row.result.target_mean
        remark = f"mean {mean:,.0f}, target {target:,.0f}" if row.result.off_target else ""
        lines.append({**figures, "text": _format_figures(figures, metric), "remark": remark})
    tables: dict[str, dict[str, str]] = {"main": {}, "retrieval": {}, "shape": {}, "cost": {}}
    for column in _COLUMNS:
        if column.table and any(line[column.key] is not None for line in lines):
            tables[column.table][column.key] = column.title
    main, leaders = tables.pop("main"), _describe_leaders(rows, metric)
    return {"leaders": leaders, "lines": lines, "columns": main, "details": tables}


def _format_figures(figures: Mapping[str, Any], metric: str) -> dict[str, str]:
    """Return the figures of a row as text, "" for unknown ones."""
    forms = {column.key: column.form for column in _COLUMNS}
    forms |= {name: f"{'+' * ('difference' in name)}.{metrics()[metric].digits}f" for name in _SCORES}
    return {key: "" if figures[key] is None else format(figures[key], form) for key, form in forms.items()}


def _describe_leaders(rows: Sequence[Comparison], metric: str) -> str:
    """Return a sentence that names the best of rows, or says that none is."""
    best, *ties = leaders(rows, metric)
    figures = _format_figures(as_rows([best])[0], metric)
    score = f"{metrics()[metric].summary} {figures['score']} % [{figures['low']}, {figures['high']}]"
    if not ties:
        return f"{best.result.label} scores best: {score}."
    others = f"{len(ties)} other{'s' * (len(ties) > 1)}"
    return f"No winner: the highest score, that of {best.result.label}, cannot be told apart from {others}; {score}."


@checked
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
    """Write ``report.md`` and ``results.json``, and return the folder; raises `ConfigurationError` for no rows.

    Creates the folder, overwrites the files; ``rows`` to ``failures`` are as in `as_markdown`.
    """
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
