"""Comparisons as tables: flat rows and Markdown."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np

from advchunk.evaluation.comparison.comparisons import Comparison, group_by_kind, leaders
from advchunk.evaluation.comparison.harness import FailedCandidate, Result
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics.table import metrics
from advchunk.models.identity import model_name
from advchunk.models.static import default_embedder
from advchunk.records import Floats
from advchunk.text.templates import fill_text

Columns: TypeAlias = Mapping[str, tuple[str, str]]
"""The title and the format of each column, by its key in `as_rows`."""

_BOUNDARY_SCORES = {"F1": "f1", "F1 (1 near)": "f1_near", "Pk": "pk", "WindowDiff": "window_diff"}
MAIN_COLUMNS: Columns = {
    "mean tokens": ("tokens", ".1f"),
    **{m.column: (m.title, f".{m.digits}f") for m in metrics().values() if m.title},
}
RETRIEVAL_COLUMNS: Columns = {
    "recall in budget": ("recall", ".1f"), "hit at k": ("hit@k", ".1f"), "reciprocal rank": ("MRR@k", ".1f"),
    "precision at k": ("precision@k", ".1f"),
}  # fmt: skip
SHAPE_COLUMNS: Columns = {
    "chunks": ("chunks", ","), "within": ("within", ".3f"), "between": ("between", ".3f"), "forced": ("forced, %", ".1f"),  # noqa: E501
    "over": ("over, %", ".1f"), "under": ("under, %", ".1f"), "redundancy": ("redundancy", ".2f"),
    "coverage": ("coverage, %", ".1f"), **{name: (name, ".3f") for name in _BOUNDARY_SCORES},
}  # fmt: skip
COST_COLUMNS: Columns = {
    "seconds": ("CPU s", ".3g"), "wall seconds": ("wall s", ".3g"), "peak MB": ("peak MB", ".1f"),
    "calls": ("calls", ","), "tokens sent": ("tokens sent", ","),
}  # fmt: skip
DETAIL_TABLES: Mapping[str, Columns] = {"Retrieval": RETRIEVAL_COLUMNS, "Shape": SHAPE_COLUMNS, "Cost": COST_COLUMNS}


def as_rows(rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Return a flat dict of figures for each comparison; shares in percent, None for unknown ones."""
    return [_as_row(row, row.result) for row in rows]


def _as_row(row: Comparison, result: Result) -> dict[str, Any]:
    cost, scores = result.cost, (*row.score, *row.difference[:3])
    return {
        "candidate": result.label,
        "group": result.group,
        "search": result.search,
        "size matched": result.size_matched,
        "chunks": len(result.tokens),
        "mean tokens": round(float(result.tokens.mean()), 1),
        "target mean": result.target_mean,
        **{name: _percent(value, 2) for name, value in zip(score_columns("recall"), scores, strict=True)},
        "p (Holm)": round(row.p, 4),
        "verdict": row.verdict,
        **{m.column: _mean_percent(getattr(result, m.name, np.zeros(0)), m.digits) for m in metrics().values()},
        **{name: _round(result.boundaries.get(key), 3) for name, key in _BOUNDARY_SCORES.items()},
        **{name: _round(getattr(result, name), 3) for name in ("within", "between")},
        **{name: _percent(getattr(result, name)) for name in ("forced", "over", "under")},
        "redundancy": round(result.redundancy, 3),
        "coverage": _percent(result.coverage),
        "seconds": round(cost.cpu_seconds, 3),
        "wall seconds": round(cost.wall_seconds, 3),
        "peak MB": None if cost.peak_bytes is None else round(cost.peak_bytes / 1e6, 1),
        "calls": cost.calls,
        "tokens sent": cost.tokens,
    }


def _percent(share: float | None, digits: int = 1) -> float | None:
    return None if share is None else round(100 * share, digits) + 0.0  # turns -0.0 into 0.0


def _mean_percent(scores: Floats, digits: int = 1) -> float | None:
    finite = scores[np.isfinite(scores)]
    return _percent(float(finite.mean()), digits) if len(finite) else None


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def score_columns(metric: str) -> Columns:
    """Return the columns of the score, the difference and their bounds."""
    form = f".{metrics()[metric].digits}f"
    scores = {name: (name, form) for name in ("score", "low", "high")}
    return scores | {name: (name, f"+{form}") for name in ("difference", "difference low", "difference high")}


def embedder_name(task: EvaluationTask) -> str:
    """Return the name of a task's embedder."""
    if isinstance(task.embedder, str):
        return task.embedder
    embedder = default_embedder() if task.embedder is None else task.embedder
    return model_name(embedder) or type(embedder).__qualname__


def column_titles(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the titles of the columns in which some row has a figure."""
    return {key: title for key, (title, _) in columns.items() if any(row.get(key) is not None for row in rows)}


def format_figures(columns: Columns, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the formatted figures of a row, "" for unknown ones."""
    return {key: "" if row.get(key) is None else format(row[key], form) for key, (_, form) in columns.items()}


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
        embedder=embedder_name(task) if task else "",
        run_info=run_info or {},
        failures=failures,
        notes={label: note for label, note in (notes or {}).items() if label in labels},
    )
    return text.rstrip() + "\n"


def read_template(name: str) -> str:
    """Return a template of this package."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _section(title: str, rows: Sequence[Comparison], metric: str) -> dict[str, Any]:
    lines = _lines(rows, metric)
    return {
        "title": title,
        "leaders": describe_leaders(rows, metric),
        "lines": lines,
        "columns": column_titles(MAIN_COLUMNS, lines),
        "details": {name: column_titles(columns, lines) for name, columns in DETAIL_TABLES.items()},
    }


def _lines(rows: Sequence[Comparison], metric: str) -> list[dict[str, Any]]:
    """Return the lines of all tables: the figures of each row, these as text, and a remark."""
    every = dict(score_columns(metric))
    for group in (MAIN_COLUMNS, *DETAIL_TABLES.values()):
        every |= group
    lines = []
    for row, figures in zip(rows, as_rows(rows), strict=True):
        mean, target = row.result.tokens.mean(), row.result.target_mean
        remark = f"mean {mean:,.0f}, target {target:,.0f}" if row.result.off_target else ""
        lines.append({**figures, "text": format_figures(every, figures), "remark": remark})
    return lines


def describe_leaders(rows: Sequence[Comparison], metric: str) -> str:
    """Return a sentence that names the best of rows, of one kind, or says that none is."""
    best, *ties = leaders(rows, metric)
    figures = format_figures(score_columns(metric), _as_row(best, best.result))
    score = f"{metrics()[metric].summary} {figures['score']} % [{figures['low']}, {figures['high']}]"
    if not ties:
        return f"{best.result.label} scores best: {score}."
    others = f"{len(ties)} other{'s' * (len(ties) > 1)}"
    return f"No winner: the highest score, that of {best.result.label}, cannot be told apart from {others}; {score}."
