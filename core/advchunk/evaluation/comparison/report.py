"""A report on a comparison as one self-contained HTML page, with CSV, Markdown and JSON files."""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.comparison import tables
from advchunk.evaluation.comparison.candidates import CandidateGroup
from advchunk.evaluation.comparison.comparisons import Comparison
from advchunk.evaluation.comparison.harness import FailedCandidate
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics.metering import TokenPrices
from advchunk.evaluation.metrics.statistics import mean_interval
from advchunk.evaluation.metrics.table import metrics
from advchunk.models.identity import identity
from advchunk.records import Ints
from advchunk.text.templates import fill_page

_WIDTH, _HEIGHT = 560, 380  # of a chart, in pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 544, 14, 336  # of the area within its axes
_LINE_HEIGHT = 15  # between the baselines of two labels
_CHARACTER_WIDTH = 7.4  # mean, in a label
_BOLD_WIDTH = 8.5  # mean, in a bold label
_MAX_LABEL = 28  # characters in a chart
_SMALLEST, _BINS_PER_OCTAVE = 8, 3  # of histograms; smaller chunks are counted with the smallest


def render_html(
    task: EvaluationTask,
    rows: Sequence[Comparison],
    *,
    metric: str = "recall",
    notes: Mapping[str, str] | None = None,
    prices: TokenPrices | None = None,
    run_info: Mapping[str, Any] | None = None,
    failures: Sequence[FailedCandidate] = (),
) -> str:
    """Return the report as one HTML page without external resources; the output is deterministic.

    Raises `ConfigurationError` for no rows, or results of other documents.

    Parameters
    ----------
    rows : from `compare`, or from `compare_by_kind`: then each kind has a section of its own.
    metric : that the rows were compared by.
    notes : remarks on candidates by label, such as that one is brittle.
    prices : per million tokens, by model name (`TokenPrices`); adds the price of each candidate.
    run_info : further facts by name, JSON-able, such as the source of the questions.
    failures : candidates without a result, listed with the reasons.
    """
    require(len(rows) > 0, "rows must have a candidate", rows)
    matching = all(len(row.result.chunks) in (0, len(task.documents)) for row in rows)
    require(matching, f"results must be of the task's {len(task.documents)} documents", rows[0].result.label)

    geometry = {"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "top": _TOP, "bottom": _BOTTOM}
    return fill_page(
        tables.read_template("report.html"),
        sections=[_draw_section(section, metric) for section in tables.sections(rows, metric, prices)],
        metric=metrics()[metric].summary,
        notes=_footnotes(rows, notes or {}),
        failures=failures,
        prices=prices,
        run_info=run_info or {},
        embedder=tables.embedder_name(task),
        groups=[group for group in get_args(CandidateGroup) if group in {row.result.group for row in rows}],
        **geometry,
        task=task,
        characters=sum(len(document.text) for document in task.documents),
        needs={name: sum(map(bool, needed)) for name, needed in task.needs.items()},
        metrics=metrics(),
        provenance=provenance(task, run_info),
        settings=[(row.result.label, json.dumps(row.result.settings)) for row in rows],
        viewer=_viewer_data(task, rows) if any(row.result.chunks for row in rows) else None,
    )


def write_report(
    folder: str | Path,
    task: EvaluationTask,
    rows: Sequence[Comparison],
    *,
    metric: str = "recall",
    notes: Mapping[str, str] | None = None,
    prices: TokenPrices | None = None,
    run_info: Mapping[str, Any] | None = None,
    failures: Sequence[FailedCandidate] = (),
) -> Path:
    """Write ``report.html``, ``comparison.csv``, ``comparison.md`` and ``results.json``, and return the folder.

    The folder is created if missing; its files of these names are overwritten. The other arguments are those of
    `render_html`, whose errors are raised before anything is written.
    """
    results = {
        "provenance": provenance(task, run_info),
        "metric": metric,
        "prices": prices,
        "notes": notes or {},
        "comparisons": tables.as_rows(rows, prices),
        "failures": [asdict(failure) for failure in failures],
        "results": [row.result.to_dict() for row in rows],
    }
    options: Any = {"metric": metric, "notes": notes, "prices": prices, "run_info": run_info, "failures": failures}
    contents = {
        "report.html": render_html(task, rows, **options),
        "comparison.csv": tables.as_csv(rows, prices, failures),
        "comparison.md": tables.as_markdown(rows, task=task, **options),
        "results.json": json.dumps(results, indent=1) + "\n",
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        # A label may contain a lone surrogate, which UTF-8 cannot encode.
        (folder / name).write_bytes(text.encode("utf-8", "xmlcharrefreplace"))
    return folder


def provenance(task: EvaluationTask, run_info: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the versions, embedder, seeds and settings needed to repeat a run; JSON-able."""
    bootstrap = mean_interval.__kwdefaults__ or {}
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
        "bootstrap": {name: bootstrap[name] for name in ("confidence", "resamples", "seed")},
        "documents": {document.source: len(document.text) for document in task.documents},
        "questions": len(task.questions),
        "digest": task.digest,
        **({"run": dict(run_info)} if run_info else {}),
    }


def _footnotes(rows: Sequence[Comparison], notes: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the labels of each distinct note, in the order of the rows."""
    footnotes = dict[str, list[str]]()
    for label in dict.fromkeys(row.result.label for row in rows):
        if label in notes:
            footnotes.setdefault(notes[label], []).append(label)
    return footnotes


class _Axis(NamedTuple):
    """A linear scale from values to pixels, with ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...] = ()

    def at(self, value: float) -> float:
        return round(float(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)), 1)


def _percent_axis(values: Sequence[float], start: float, end: float) -> _Axis:
    """Return an axis between round percentages that contains all values."""
    lowest, highest = min(values), max(values)
    step = next((step for step in (1, 2, 5, 10, 20) if highest - lowest <= 5 * step), 50)
    low, high = step * np.floor(lowest / step), step * np.ceil(highest / step)
    axis = _Axis(low, max(high, low + step), start, end)
    marks = np.arange(axis.low, axis.high + step / 2, step).tolist()
    return axis._replace(ticks=tuple((axis.at(mark), f"{mark:g}") for mark in marks))


def _draw_section(section: dict[str, Any], metric: str) -> dict[str, Any]:
    """Return a section of `tables.sections` with what is drawn."""
    rows = section["rows"]
    charts = {"curves": _recall_curves(rows), "sizes": _size_histograms(rows), "costs": _cost_chart(rows, metric)}
    drawn = {name: section[name] and _draw_table(section[name]) for name in ("table", "experimental")}
    return {**section, **drawn, **charts}


def _draw_table(table: dict[str, Any]) -> dict[str, Any]:
    rows = table["rows"]
    scores = _percent_axis([100 * bound for row in rows for bound in row.score], 4, 156)
    differences = _percent_axis([0.0, *(100 * bound for row in rows for bound in row.difference[:3])], 4, 156)
    lines = [
        {
            **line,
            "score_at": [scores.at(100 * value) for value in row.score],
            "difference_at": [differences.at(100 * value) for value in row.difference[:3]],
        }
        for row, line in zip(rows, table["lines"], strict=True)
    ]
    return {
        **table,
        "lines": lines,
        "scores": scores,
        "differences": differences,
        "zero": differences.at(0),
        "baseline": next((row.result.label for row in rows if row.verdict == "baseline"), ""),
        "verdicts": {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("better", "worse", "noise")},
    }


def _recall_curves(rows: Sequence[Comparison]) -> dict[str, Any]:
    """Return mean recall by budget, with a label on the best curve of each group."""
    budgets = sorted({budget for row in rows for budget in row.result.curve})
    recalls = [100 * recall for row in rows for recall in row.result.curve.values()]
    y = _percent_axis(recalls, _BOTTOM, _TOP)
    firsts = {row.result.group: row.result.label for row in reversed(rows)}
    end = _RIGHT - _BOLD_WIDTH * max(len(_shorten(label)) for label in firsts.values())
    x = _Axis(np.log(budgets[0]), max(np.log(budgets[-1]), np.log(budgets[0]) + 1), _LEFT + 8, end)
    x = x._replace(ticks=tuple((x.at(np.log(budget)), f"{budget:,}") for budget in budgets))
    lines = list[dict[str, Any]]()
    for result in (row.result for row in rows):
        curve = [(budget, 100 * recall) for budget, recall in sorted(result.curve.items())]
        lines.append({
            "label": result.label, "short": _shorten(result.label), "group": result.group,
            "first": result.label == firsts[result.group],
            "points": [(x.at(np.log(budget)), y.at(recall)) for budget, recall in curve],
            "recalls": [f"{recall:.1f}" for _, recall in curve],
        })  # fmt: skip
    labeled = [line for line in lines if line["first"]]
    places = _spread([line["points"][-1][1] for line in labeled])
    for line, place in zip(labeled, places, strict=True):
        line["at"] = place
    return {"x": x, "y": y, "budgets": budgets, "lines": lines}


def _spread(places: Sequence[float]) -> list[float]:
    """Return the places moved apart so that labels do not overlap, within the chart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, dtype=np.float64)[order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + _LINE_HEIGHT)
    moved[-1] = min(moved[-1], _BOTTOM)
    for i in range(len(moved) - 2, -1, -1):
        moved[i] = min(moved[i], moved[i + 1] - _LINE_HEIGHT)
    original = np.empty_like(moved)
    original[order] = moved
    return [round(place, 1) for place in original.tolist()]


def _size_histograms(rows: Sequence[Comparison]) -> dict[str, Any]:
    """Return the chunk sizes of each candidate, by thirds of an octave on one axis: 160 x 60 pixels."""
    largest = max(int(row.result.tokens.max()) for row in rows)
    octaves = int(np.floor(np.log2(max(largest, _SMALLEST) / _SMALLEST))) + 1
    edges = _SMALLEST * 2 ** (np.arange(octaves * _BINS_PER_OCTAVE + 1) / _BINS_PER_OCTAVE)
    x = _Axis(0, octaves, 0, 160)
    marks = range(0, octaves + 1, 2 if octaves > 3 else 1)
    x = x._replace(ticks=tuple((x.at(octave), f"{_SMALLEST * 2**octave:,}") for octave in marks))
    charts = []
    for result in (row.result for row in rows):
        shares = np.histogram(np.maximum(result.tokens, _SMALLEST), edges)[0] / len(result.tokens)
        mean = float(result.tokens.mean())
        charts.append({
            "label": result.label, "group": result.group,
            "bars": [(round(160 * i / len(shares), 1), round(60 * share / shares.max(), 1))
                     for i, share in enumerate(shares.tolist()) if share > 0],
            "mean": round(mean, 1), "mean_at": x.at(np.log2(max(mean, _SMALLEST) / _SMALLEST)),
            "median": float(np.median(result.tokens)), "count": len(result.tokens),
            "range": [int(result.tokens.min()), int(result.tokens.max())],
        })  # fmt: skip
    return {"x": x, "width": round(160 / (len(edges) - 1) - 0.6, 2), "charts": charts}


def _cost_chart(rows: Sequence[Comparison], metric: str = "recall") -> dict[str, Any]:
    """Return scores by seconds of chunking and embedding, with the Pareto front."""
    seconds = np.log10([max(row.result.cost.cpu_seconds, 0.001) for row in rows])
    y = _percent_axis([100 * bound for row in rows for bound in row.score], _BOTTOM, _TOP)
    marks = np.array([digit * 10.0**decade for decade in range(-3, 7) for digit in (1, 2, 5)])
    first = np.searchsorted(np.log10(marks), seconds.min(), "right") - 1
    last = max(np.searchsorted(np.log10(marks), seconds.max()), first + 1)
    x = _Axis(np.log10(marks[first]), np.log10(marks[last]), _LEFT + 12, _RIGHT - 12)
    x = x._replace(ticks=tuple((x.at(np.log10(mark)), f"{mark:g}") for mark in marks[first : last + 1].tolist()))
    points: list[dict[str, Any]] = [{
        "label": row.result.label, "group": row.result.group, "x": x.at(second), "y": y.at(100 * row.score.mean),
        "bounds": (y.at(100 * row.score.low), y.at(100 * row.score.high)),
        "seconds": f"{row.result.cost.cpu_seconds:.3g}",
        "score": format(100 * row.score.mean, tables.score_columns(metric)["score"][1]),
    } for row, second in zip(rows, seconds.tolist(), strict=True)]  # fmt: skip
    _place_labels(points)
    front, best = [], _BOTTOM + 1.0
    for at, height in sorted((point["x"], point["y"]) for point in points):
        if height < best:  # pixels count from the top
            front.append((at, height))
            best = height
    return {"x": x, "y": y, "points": points, "front": front}


def _place_labels(points: list[dict[str, Any]]) -> None:
    """Label each point where its label overlaps no point and no other label; skip labels that do not fit."""
    boxes = [(point["x"] - 6, point["y"] - 6, point["x"] + 6, point["y"] + 6) for point in points]
    for point in points:
        short = _shorten(point["label"])
        width = _CHARACTER_WIDTH * len(short)
        offsets = [(9, 4), (-9 - width, 4), (-width / 2, -10), (-width / 2, 19), (7, -8), (7, 17), (-7 - width, -8),
                   (-7 - width, 17)]  # fmt: skip
        for dx, dy in offsets:
            x, y = point["x"] + dx, point["y"] + dy
            box = (x, y - 11, x + width, y + 3)
            free = not any(x < c and a < box[2] and y - 11 < d and b < box[3] for a, b, c, d in boxes)
            if x >= _LEFT + 2 and x + width <= _WIDTH and free:
                boxes.append(box)
                point["name"] = (round(x, 1), round(box[3] - 3, 1), short)
                break


def _shorten(label: str) -> str:
    return label if len(label) <= _MAX_LABEL else label[: _MAX_LABEL - 1] + "…"


def _viewer_data(task: EvaluationTask, rows: Sequence[Comparison]) -> dict[str, list[Any]]:
    """Return the texts, once, and all spans in UTF-16 code units, as JavaScript counts characters."""
    offsets = {document.source: _utf16_offsets(document.text) for document in task.documents}
    answers: dict[str, list[list[int]]] = {name: [] for name in offsets}
    for index, question in enumerate(task.questions):
        for name, span in question.references:
            answers[name].append([index, *offsets[name][list(span)].tolist()])
    return {
        "documents": [{"name": d.source, "text": d.text, "answers": answers[d.source]} for d in task.documents],
        "questions": [question.text for question in task.questions],
        "candidates": [
            {
                "label": row.result.label,
                "recall": [int(share) for share in np.rint(100 * row.result.recall).tolist()],
                "chunks": [
                    [[chunk[0], *offsets[document.source][chunk[1:]].tolist()] for chunk in group]
                    for document, group in zip(task.documents, row.result.chunks, strict=True)
                ],
            }
            for row in rows
            if row.result.chunks
        ],
    }


def _utf16_offsets(text: str) -> Ints:
    """Return the offset of each character and of the end in UTF-16 code units."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return np.concatenate([[0], np.cumsum(1 + (points > 0xFFFF))]).astype(np.int64)
