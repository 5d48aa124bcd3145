"""Who is better, and is it more than noise? Outcomes of one trial, compared question by question; as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from advchunk.errors import nearest, require
from advchunk.evaluation.costs import Prices
from advchunk.evaluation.harness import Outcome
from advchunk.evaluation.statistics import Difference, Interval, holm, mean_interval, paired_difference
from advchunk.records import Floats

Metric: TypeAlias = Literal["recall", "iou", "recall_at_k", "iou_at_k", "ndcg", "precision_omega", "claims_at_k"]
Verdict: TypeAlias = Literal["better", "worse", "noise", "baseline"]

_LEVEL = 0.05


@dataclass(frozen=True)
class Standing:
    """A candidate's place.

    Parameters
    ----------
    score : mean of the metric over questions, those left out that it does not judge, with its 95 % interval.
    difference : to the baseline, question by question.
    p : of the difference, adjusted for the number of candidates (Holm).
    verdict : "noise" unless p is under .05.
    per_second : points (hundredths) of the difference for each processor second more than the baseline's; None where it takes less.
    """

    outcome: Outcome
    score: Interval
    difference: Difference
    p: float
    verdict: Verdict
    per_second: float | None


def compare(outcomes: Sequence[Outcome], baseline: str, metric: Metric = "recall") -> list[Standing]:
    """Compare every outcome with one of them, best first; of equals, in their order.

    Parameters
    ----------
    baseline : the label of the one to compare with: at best of like chunk size (`candidates.matched`).
    metric : a field of `Outcome`, one score a question.

    Raises
    ------
    ConfigurationError : no outcome is called ``baseline``; fewer than two questions that the metric judges.
    """
    check(metric)
    base = _named(outcomes, baseline)
    judged = np.isfinite(getattr(base, metric))
    scores = {outcome.label: getattr(outcome, metric)[judged] for outcome in outcomes}
    others = [outcome for outcome in outcomes if outcome is not base]
    found = {one.label: paired_difference(scores[one.label], scores[baseline]) for one in others}
    adjusted = dict(zip(found, holm(np.array([difference.p for difference in found.values()])).tolist(), strict=True))
    rows = []
    for outcome in outcomes:
        difference = found.get(outcome.label, Difference(0.0, 0.0, 0.0, 1.0))
        p = adjusted.get(outcome.label, 1.0)
        more = outcome.cost.cpu_seconds - base.cost.cpu_seconds
        rows.append(
            Standing(
                outcome,
                mean_interval(scores[outcome.label]),
                difference,
                p,
                "baseline" if outcome is base else _verdict(difference, p),
                100 * difference.mean / more if more > 0 else None,
            )
        )
    return sorted(rows, key=lambda row: -row.score.mean)


def check(metric: str) -> None:
    """Raise `ConfigurationError` unless outcomes can be compared by it: before they are run, at best."""
    known = get_args(Metric)
    require(metric in known, f"metric must be one of {known}{nearest(metric, known)}", metric)


def compare_each(outcomes: Sequence[Outcome], baselines: Sequence[str], metric: Metric = "recall") -> list[Standing]:
    """Compare those whose size was matched with their baseline, and those as published with theirs; in that order.

    Parameters
    ----------
    baselines : labels, at most one of each kind; a kind without a baseline is left out.
    metric : as in `compare`.
    """
    bases = sorted((_named(outcomes, label) for label in baselines), key=lambda base: not base.matched)
    kinds = [base.matched for base in bases]
    require(len(kinds) == len(set(kinds)), "baselines must be one of a kind, matched or as published", list(baselines))
    return [
        row
        for base in bases
        for row in compare([outcome for outcome in outcomes if outcome.matched == base.matched], base.label, metric)
    ]


def by_kind(rows: Sequence[Standing]) -> dict[str, list[Standing]]:
    """Return the standings of those whose size was matched, and of those as published, if there are any, by title."""
    kinds = {"Size-matched": True, "As published": False}
    found = {title: [row for row in rows if row.outcome.matched == matched] for title, matched in kinds.items()}
    return {title: of_kind for title, of_kind in found.items() if of_kind}


def best_stable(rows: Sequence[Standing]) -> Standing | None:
    """Return the best of the stable ones and baselines, which an experimental one must beat to be promoted."""
    return next((row for row in rows if row.outcome.group in ("stable", "baseline")), None)


def promising(rows: Sequence[Standing], metric: Metric = "recall") -> list[Standing]:
    """Compare the experimental ones, of one kind, with the best stable one; nothing if that is the baseline already."""
    best = best_stable(rows)
    tried = [row.outcome for row in rows if row.outcome.group == "experimental"]
    if best is None or best.verdict == "baseline" or not tried:
        return []
    return compare([best.outcome, *tried], best.outcome.label, metric)


def _named(outcomes: Sequence[Outcome], label: str) -> Outcome:
    by_label = {outcome.label: outcome for outcome in outcomes}
    require(label in by_label, f"baseline must be one of the candidates{nearest(label, by_label)}", label)
    return by_label[label]


def _verdict(difference: Difference, p: float) -> Verdict:
    if p >= _LEVEL:
        return "noise"
    return "better" if difference.mean > 0 else "worse"


def as_rows(rows: Sequence[Standing], prices: Prices | None = None) -> list[dict[str, Any]]:
    """Return a flat row of figures for each standing, for tables; shares in percent, None for what is not known.

    Parameters
    ----------
    prices : of a million tokens, by the name of the model, in any currency; None leaves ``money`` out.
    """
    return [
        {
            "candidate": row.outcome.label,
            "group": row.outcome.group,
            "matched": row.outcome.matched,
            "chunks": len(row.outcome.tokens),
            "mean tokens": round(float(row.outcome.tokens.mean()), 1),
            "recall in budget": _percent(float(row.outcome.recall.mean())),
            "score": _percent(row.score.mean),
            "low": _percent(row.score.low),
            "high": _percent(row.score.high),
            "difference": _percent(row.difference.mean),
            "difference low": _percent(row.difference.low),
            "difference high": _percent(row.difference.high),
            "p (Holm)": round(row.p, 4),
            "verdict": row.verdict,
            "IoU at k": _percent(float(row.outcome.iou_at_k.mean())),
            "recall at k": _percent(float(row.outcome.recall_at_k.mean())),
            "nDCG at k": _percent(float(row.outcome.ndcg.mean())),
            "precision omega": _percent(float(row.outcome.precision_omega.mean())),
            "claims at k": _mean_percent(row.outcome.claims_at_k),
            **{name: _figure(row.outcome.boundaries.get(key), 3) for name, key in _BOUNDARIES.items()},
            "within": _figure(row.outcome.within, 3),
            "between": _figure(row.outcome.between, 3),
            "forced": _percent(row.outcome.forced),
            "over": _percent(row.outcome.over),
            "under": _percent(row.outcome.under),
            "redundancy": round(row.outcome.redundancy, 3),
            "coverage": _percent(row.outcome.coverage),
            "seconds": round(row.outcome.cost.cpu_seconds, 3),
            "wall seconds": round(row.outcome.cost.wall_seconds, 3),
            "GPU seconds": _figure(row.outcome.cost.gpu_seconds, 3),
            "peak MB": _megabytes(row.outcome.cost.peak_bytes),
            "GPU MB": _megabytes(row.outcome.cost.gpu_bytes),
            "calls": row.outcome.cost.calls,
            "tokens sent": row.outcome.cost.tokens,
            **({} if prices is None else {"money": _figure(row.outcome.cost.money(prices), 6)}),
            "points a second": _figure(row.per_second, 3),
        }
        for row in rows
    ]


_BOUNDARIES = {"F1": "f1", "F1 (1 near)": "f1_near", "Pk": "pk", "WindowDiff": "window_diff"}
Columns: TypeAlias = Mapping[str, tuple[str, str]]
# The columns of the tables for people: what is written above a figure, and how it is written.
LEADERS: Columns = {
    "mean tokens": ("tokens", ".1f"), "IoU at k": ("IoU@k", ".1f"), "recall at k": ("recall@k", ".1f"),
    "nDCG at k": ("nDCG@k", ".1f"), "precision omega": ("omega", ".1f"), "claims at k": ("claims@k", ".1f"),
}  # fmt: skip
SHAPE: Columns = {
    "chunks": ("chunks", ","), "within": ("within", ".3f"), "between": ("between", ".3f"), "forced": ("forced, %", ".1f"),
    "over": ("over, %", ".1f"), "under": ("under, %", ".1f"), "redundancy": ("redundancy", ".2f"),
    "coverage": ("coverage, %", ".1f"), **{name: (name, ".3f") for name in _BOUNDARIES},
}  # fmt: skip
COST: Columns = {
    "seconds": ("CPU s", ".3g"), "wall seconds": ("wall s", ".3g"), "GPU seconds": ("GPU s", ".3g"),
    "peak MB": ("peak MB", ".1f"), "GPU MB": ("GPU MB", ".1f"), "calls": ("calls", ","), "tokens sent": ("tokens sent", ","),
    "money": ("money", ".3g"),
}  # fmt: skip


def shown(columns: Columns, flat: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the titles of the columns that some row has a figure for."""
    return {key: title for key, (title, _) in columns.items() if any(said.get(key) is not None for said in flat)}


def written(columns: Columns, said: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures of a row as they are written, nothing for what is not known."""
    return {key: "" if said.get(key) is None else format(said[key], how) for key, (_, how) in columns.items()}


def as_markdown(
    rows: Sequence[Standing],
    *,
    metric: Metric = "recall",
    prices: Prices | None = None,
    notes: Mapping[str, str] | None = None,
) -> str:
    """Return tables for people: each score with its interval, each difference with what it is worth; shape and cost.

    Parameters
    ----------
    rows : from `compare` or `compare_each`.
    metric : that they were compared by.
    prices : as in `as_rows`.
    notes : by label, what else to say of a candidate, such as that it is brittle.
    """
    kinds = by_kind(rows)
    said = list[str]()
    for title, of_kind in kinds.items():
        if len(kinds) > 1:
            said += [f"### {title}", ""]
        flat = as_rows(of_kind, prices)
        said += [*_leaders(of_kind, flat), ""]
        if tried := promising(of_kind, metric):
            said += ["Experimental, beside the best stable one:", "", *_leaders(tried, as_rows(tried, prices)), ""]
        for what, columns in (("shape", SHAPE), ("cost", COST)):
            titles = shown(columns, flat)
            cells = [[one["candidate"], *(written(columns, one)[key] for key in titles)] for one in flat]
            said += [*_table([what, *titles.values()], cells), ""]
    labels = {row.outcome.label for row in rows}
    said += [f"⚠ {label}: {note}" for label, note in (notes or {}).items() if label in labels]
    return "\n".join(said).rstrip() + "\n"


def _leaders(rows: Sequence[Standing], flat: Sequence[Mapping[str, Any]]) -> list[str]:
    columns = shown(LEADERS, flat)
    cells = [
        [
            said["candidate"], said["group"], f"{said['score']} [{said['low']}, {said['high']}]",
            "" if row.verdict == "baseline"
            else f"{said['difference']:+} [{said['difference low']:+}, {said['difference high']:+}]",
            row.verdict, *(written(LEADERS, said)[key] for key in columns),
        ]
        for row, said in zip(rows, flat, strict=True)
    ]  # fmt: skip
    return _table(["candidate", "group", "score", "to the baseline", "verdict", *columns.values()], cells)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    return [line(head), "|---" * len(head) + "|", *map(line, rows)]


def as_csv(rows: Sequence[Standing], prices: Prices | None = None) -> str:
    """Return the same figures for spreadsheets."""
    flat, file = as_rows(rows, prices), io.StringIO()
    writer = csv.DictWriter(file, list(flat[0]))
    writer.writeheader()
    writer.writerows(flat)
    return file.getvalue()


def _percent(share: float | None) -> Any:
    return None if share is None else round(100 * share, 1) + 0.0  # for no figure says -0.0


def _mean_percent(scores: Floats) -> Any:
    judged = scores[np.isfinite(scores)]
    return _percent(float(judged.mean())) if len(judged) else None


def _figure(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _megabytes(size: int | None) -> float | None:
    return None if size is None else round(size / 1e6, 1)
