"""A trial as one page that needs no network: who leads, by how much, at what cost, and the chunks in the text."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from advchunk.errors import import_extra, require
from advchunk.evaluation.comparison.standings import (
    COST,
    DETAILS,
    LEADERS,
    METRICS,
    RANKS,
    SHAPE,
    TRIED,
    Columns,
    Metric,
    Standing,
    as_csv,
    as_markdown,
    as_rows,
    by_kind,
    called,
    off,
    promising,
    scores,
    shown,
    written,
)
from advchunk.evaluation.comparison.trial import Trial
from advchunk.evaluation.metrics.metering import Prices
from advchunk.evaluation.metrics.statistics import mean_interval
from advchunk.models.identity import identity
from advchunk.records import Floats, Ints

GROUPS = ("stable", "experimental", "baseline", "peer")
_BESIDE = ("scipy", "networkx", "scikit-learn", "transformers")  # packages that chunks may depend on, where they are
_WIDE, _HIGH = 560, 380  # of a chart, in its own pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 544, 14, 336  # of what is drawn within its axes
_LINE = 15  # between the base lines of two labels
_LETTER = 7.4  # wide, on the mean, in a label
_BOLD = 8.5  # in a bold one
_LONGEST = 28  # letters of a label in a chart
_SMALLEST, _BINS_AN_OCTAVE = 8, 3  # of histograms; what is smaller is counted with it


def html(
    trial: Trial,
    rows: Sequence[Standing],
    *,
    metric: Metric = "recall",
    notes: Mapping[str, str] | None = None,
    prices: Prices | None = None,
    how: Mapping[str, Any] | None = None,
) -> str:
    """Return the report as one HTML page that loads nothing else; the same for the same arguments.

    Parameters
    ----------
    rows : from `standings.compare`, or from `standings.compare_each`: then each kind has tables of its own.
    metric : that the rows were compared by.
    notes : by label, what else to say of a candidate, such as that it is brittle.
    prices : of a million tokens, by the name of the model (`costs.Prices`); then what each candidate costs is shown, too.
    how : what else was run, by name, JSON-able: whether the questions were made from the documents, say.

    Raises
    ------
    ConfigurationError : no rows; outcomes of other documents.
    MissingExtra : without Jinja2.
    """
    require(len(rows) > 0, "rows must have a candidate", rows)
    right = all(len(row.outcome.chunks) in (0, len(trial.documents)) for row in rows)
    require(right, f"outcomes must be of the trial's {len(trial.documents)} documents", rows[0].outcome.label)
    jinja = import_extra("jinja2", "report")
    page = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    template = files("advchunk.evaluation.comparison").joinpath("report.html").read_text(encoding="utf-8")
    said: str = page.from_string(template).render(
        kinds=[_kind(title, of_kind, metric, prices) for title, of_kind in by_kind(rows).items()],
        metric=METRICS[metric],
        notes=_footnotes(rows, notes or {}),
        prices=prices,
        how=how or {},
        embedder=called(trial),
        groups=[group for group in GROUPS if group in {row.outcome.group for row in rows}],
        wide=_WIDE,
        high=_HIGH,
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=_BOTTOM,
        trial=trial,
        letters=sum(len(document.text) for document in trial.documents),
        claims=sum(map(bool, trial.claims)),
        provenance=provenance(trial, how),
        settings=[(row.outcome.label, json.dumps(row.outcome.settings)) for row in rows],
        drill=_drill(trial, rows) if any(row.outcome.chunks for row in rows) else None,
    )
    return said


def write(
    folder: str | Path,
    trial: Trial,
    rows: Sequence[Standing],
    *,
    metric: Metric = "recall",
    notes: Mapping[str, str] | None = None,
    prices: Prices | None = None,
    how: Mapping[str, Any] | None = None,
) -> Path:
    """Write ``report.html``, ``standings.csv``, ``standings.md`` and ``outcomes.json``, and return the folder.

    Parameters
    ----------
    folder : made if it is not there; files of these names in it are replaced.
    trial, rows, metric, notes, prices, how : as in `html`.

    Raises
    ------
    ConfigurationError, MissingExtra : as in `html`, before anything is written.
    """
    outcomes = {
        "provenance": provenance(trial, how),
        "metric": metric,
        "prices": prices,
        "notes": notes or {},
        "standings": as_rows(rows, prices),
        "outcomes": [row.outcome.said() for row in rows],
    }
    said = {
        "report.html": html(trial, rows, metric=metric, notes=notes, prices=prices, how=how),
        "standings.csv": as_csv(rows, prices),
        "standings.md": as_markdown(rows, metric=metric, notes=notes, prices=prices, trial=trial, how=how),
        "outcomes.json": json.dumps(outcomes, indent=1) + "\n",
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in said.items():
        # Half a surrogate pair, which a label may hold, cannot be written otherwise.
        (folder / name).write_bytes(text.encode("utf-8", "xmlcharrefreplace"))
    return folder


def provenance(trial: Trial, how: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what it takes to run a trial again: versions, embedder, seeds and how retrieval was scored; JSON-able."""
    drawn = mean_interval.__kwdefaults__ or {}
    return {
        "advchunk": version("advchunk"),
        "numpy": np.__version__,
        **_versions(),
        "python": platform.python_version(),
        "platform": sys.platform,
        "embedder": identity(trial.embedder),
        "k": trial.k,
        "budget": trial.budget,
        "budgets": list(trial.budgets),
        "bootstrap": {name: drawn[name] for name in ("confidence", "resamples", "seed")},
        "documents": {document.source: len(document.text) for document in trial.documents},
        "questions": len(trial.questions),
        "digest": trial.digest,
        **({"how": dict(how)} if how else {}),
    }


def _versions() -> dict[str, str]:
    found = dict[str, str]()
    for name in _BESIDE:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _footnotes(rows: Sequence[Standing], notes: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the labels that each note is of, in the order of the rows: what is said of several is said once."""
    found = dict[str, list[str]]()
    for label in dict.fromkeys(row.outcome.label for row in rows):
        if label in notes:
            found.setdefault(notes[label], []).append(label)
    return found


class _Axis(NamedTuple):
    """From values to pixels, and what is written along it."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...] = ()

    def at(self, value: float) -> float:
        return round(float(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)), 1)


def _rounded(values: Sequence[float], start: float, end: float) -> _Axis:
    """Return an axis from a round number to a round number that holds all values, in percent."""
    least, most = min(values), max(values)
    step = next((step for step in (1, 2, 5, 10, 20) if most - least <= 5 * step), 50)
    low, high = step * np.floor(least / step), step * np.ceil(most / step)
    axis = _Axis(low, max(high, low + step), start, end)
    marks = np.arange(axis.low, axis.high + step / 2, step).tolist()
    return axis._replace(ticks=tuple((axis.at(mark), f"{mark:g}") for mark in marks))


def _kind(title: str, rows: Sequence[Standing], metric: Metric, prices: Prices | None) -> dict[str, Any]:
    """Return what there is to show of those whose size was matched, or of those as published."""
    flat = as_rows(rows, prices)
    tried = promising(rows, metric)
    return {
        "title": title,
        "table": _table(rows, flat, LEADERS, metric),
        "tried": _table(tried, as_rows(tried, prices), TRIED, metric) if tried else None,
        "more": {title: shown(columns, flat) for title, columns in DETAILS.items()},
        "curves": _curves(rows),
        "sizes": _histograms(rows),
        "costs": _costs(rows, metric),
    }


def _table(
    rows: Sequence[Standing], flat: Sequence[Mapping[str, Any]], columns: Columns, metric: Metric
) -> dict[str, Any]:
    along = _rounded([100 * bound for row in rows for bound in row.score], 4, 156)
    changes = _rounded([0.0, *(100 * bound for row in rows for bound in row.difference[:3])], 4, 156)
    lines = [
        {
            **said,
            "said": written({**scores(metric), **LEADERS, **RANKS, **SHAPE, **COST}, said),
            "off": off(row.outcome),
            "score at": [along.at(100 * value) for value in row.score],
            "change at": [changes.at(100 * value) for value in row.difference[:3]],
        }
        for row, said in zip(rows, flat, strict=True)
    ]
    return {
        "lines": lines,
        "best": next((line for line in lines if not line["off"]), lines[0]),
        "columns": shown(columns, flat),
        "scores": along,
        "changes": changes,
        "zero": changes.at(0),
        "baseline": next((row.outcome.label for row in rows if row.verdict == "baseline"), ""),
        "verdicts": {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("better", "worse", "noise")},
    }


def _curves(rows: Sequence[Standing]) -> dict[str, Any]:
    """Return mean recall by budget; the best of each group is named, the others are faint."""
    budgets = sorted({budget for row in rows for budget in row.outcome.curve})
    recalls = [100 * recall for row in rows for recall in row.outcome.curve.values()]
    y = _rounded(recalls, _BOTTOM, _TOP)
    firsts = {row.outcome.group: row.outcome.label for row in reversed(rows)}
    end = _RIGHT - _BOLD * max(len(_short(label)) for label in firsts.values())
    x = _Axis(np.log(budgets[0]), max(np.log(budgets[-1]), np.log(budgets[0]) + 1), _LEFT + 8, end)
    x = x._replace(ticks=tuple((x.at(np.log(budget)), f"{budget:,}") for budget in budgets))
    lines: list[dict[str, Any]] = [
        {
            "label": row.outcome.label,
            "short": _short(row.outcome.label),
            "group": row.outcome.group,
            "first": row.outcome.label == firsts[row.outcome.group],
            "points": [
                (x.at(np.log(budget)), y.at(100 * recall)) for budget, recall in sorted(row.outcome.curve.items())
            ],
            "recalls": [f"{100 * recall:.1f}" for _, recall in sorted(row.outcome.curve.items())],
        }
        for row in rows
    ]
    named = [line for line in lines if line["first"]]
    places = _spread([line["points"][-1][1] for line in named])
    for line, place in zip(named, places, strict=True):
        line["at"] = place
    return {"x": x, "y": y, "budgets": budgets, "lines": lines}


def _spread(places: Sequence[float]) -> list[float]:
    """Return the places moved apart, so that labels at them do not overlap; none is left of the chart."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places, dtype=np.float64)[order]
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + _LINE)
    moved[-1] = min(moved[-1], _BOTTOM)
    for i in range(len(moved) - 2, -1, -1):
        moved[i] = min(moved[i], moved[i + 1] - _LINE)
    back = np.empty_like(moved)
    back[order] = moved
    return [round(place, 1) for place in back.tolist()]


def _histograms(rows: Sequence[Standing]) -> dict[str, Any]:
    """Return the chunk sizes of each candidate, by thirds of an octave on one axis: 160 x 60 pixels."""
    largest = max(int(row.outcome.tokens.max()) for row in rows)
    octaves = max(int(np.floor(np.log2(max(largest, _SMALLEST) / _SMALLEST))) + 1, 1)
    edges = _SMALLEST * 2 ** (np.arange(octaves * _BINS_AN_OCTAVE + 1) / _BINS_AN_OCTAVE)
    x = _Axis(0, octaves, 0, 160)
    every = 2 if octaves > 3 else 1
    marks = range(0, octaves + 1, every)
    x = x._replace(ticks=tuple((x.at(octave), f"{_SMALLEST * 2**octave:,}") for octave in marks))
    charts = []
    for row in rows:
        tokens = np.maximum(row.outcome.tokens, _SMALLEST)
        shares = np.histogram(tokens, edges)[0] / len(tokens)
        charts.append(
            {
                "label": row.outcome.label,
                "group": row.outcome.group,
                "bars": [(round(160 * i / len(shares), 1), round(60 * share / shares.max(), 1))
                         for i, share in enumerate(shares.tolist()) if share > 0],
                "mean": round(float(row.outcome.tokens.mean()), 1),
                "mean at": x.at(np.log2(max(float(row.outcome.tokens.mean()), _SMALLEST) / _SMALLEST)),
                "median": float(np.median(row.outcome.tokens)),
                "range": [int(row.outcome.tokens.min()), int(row.outcome.tokens.max())],
                "count": len(tokens),
            }
        )  # fmt: skip
    return {"x": x, "width": round(160 / (len(edges) - 1) - 0.6, 2), "charts": charts}


def _costs(rows: Sequence[Standing], metric: Metric = "recall") -> dict[str, Any]:
    """Return the score beside the seconds of cutting and embedding, and the candidates that no other beats at less cost."""
    seconds = np.log10([max(row.outcome.cost.cpu_seconds, 0.001) for row in rows])
    y = _rounded([100 * bound for row in rows for bound in row.score], _BOTTOM, _TOP)
    marks = np.array([digit * 10.0**decade for decade in range(-3, 7) for digit in (1, 2, 5)])
    first = np.searchsorted(np.log10(marks), seconds.min(), "right") - 1
    last = max(np.searchsorted(np.log10(marks), seconds.max()), first + 1)
    x = _Axis(np.log10(marks[first]), np.log10(marks[last]), _LEFT + 12, _RIGHT - 12)
    x = x._replace(ticks=tuple((x.at(np.log10(mark)), f"{mark:g}") for mark in marks[first : last + 1].tolist()))
    points: list[dict[str, Any]] = [
        {
            "label": row.outcome.label,
            "group": row.outcome.group,
            "x": x.at(second),
            "y": y.at(100 * row.score.mean),
            "bounds": (y.at(100 * row.score.low), y.at(100 * row.score.high)),
            "seconds": f"{row.outcome.cost.cpu_seconds:.3g}",
            "score": format(100 * row.score.mean, scores(metric)["score"][1]),
        }
        for row, second in zip(rows, seconds.tolist(), strict=True)
    ]
    _name(points)
    front, best = [], _BOTTOM + 1.0
    for point in sorted(points, key=lambda point: (point["x"], point["y"])):
        if point["y"] < best:  # pixels count from the top
            front.append((point["x"], point["y"]))
            best = point["y"]
    return {"x": x, "y": y, "points": points, "front": front}


def _name(points: list[dict[str, Any]]) -> None:
    """Place the label of each point where no point and no other label is; one that has no place is left out."""
    taken = [(point["x"] - 6, point["y"] - 6, point["x"] + 6, point["y"] + 6) for point in points]
    for point in points:
        short = _short(point["label"])
        width = _LETTER * len(short)
        near = [(9, 4), (-9 - width, 4), (-width / 2, -10), (-width / 2, 19), (7, -8), (7, 17), (-7 - width, -8),
                (-7 - width, 17)]  # fmt: skip
        boxes = [(x := point["x"] + dx, (y := point["y"] + dy) - 11, x + width, y + 3) for dx, dy in near]
        free = (
            box for box in boxes if box[0] >= _LEFT + 2 and box[2] <= _WIDE and not any(_meet(box, it) for it in taken)
        )
        if box := next(free, None):
            taken.append(box)
            point["name"] = (round(box[0], 1), round(box[3] - 3, 1), short)


def _meet(one: Sequence[float], other: Sequence[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def _drill(trial: Trial, rows: Sequence[Standing]) -> dict[str, list[Any]]:
    """Return the texts, once, and every span as a browser counts characters."""
    places = {document.source: _places(document.text) for document in trial.documents}
    gold: dict[str, list[list[int]]] = {name: [] for name in places}
    for index, question in enumerate(trial.questions):
        for name, span in question.references:
            gold[name].append([index, *places[name][list(span)].tolist()])
    return {
        "documents": [
            {"name": document.source, "text": document.text, "gold": gold[document.source]}
            for document in trial.documents
        ],
        "questions": [question.text for question in trial.questions],
        "candidates": [
            {
                "label": row.outcome.label,
                "recall": _percents(row.outcome.recall),
                "chunks": [
                    [[chunk[0], *places[document.source][chunk[1:]].tolist()] for chunk in several]
                    for document, several in zip(trial.documents, row.outcome.chunks, strict=True)
                ],
            }
            for row in rows
            if row.outcome.chunks
        ],
    }


def _places(text: str) -> Ints:
    """Return where each character, and the end, stands in JavaScript, which counts those beyond U+FFFF as two."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return np.concatenate([[0], np.cumsum(1 + (points > 0xFFFF))]).astype(np.int64)


def _percents(shares: Floats) -> list[int]:
    return [int(share) for share in np.rint(100 * shares).tolist()]
