"""Who is better, and is it more than noise? Outcomes of one trial, compared question by question; as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from advchunk.errors import did_you_mean, require
from advchunk.evaluation.comparison.harness import Outcome
from advchunk.evaluation.comparison.trial import Trial
from advchunk.evaluation.metrics.metering import Prices
from advchunk.evaluation.metrics.statistics import Difference, Interval, holm, mean_interval, paired_difference
from advchunk.models.identity import model_name
from advchunk.models.static import default_embedder
from advchunk.records import Floats

Metric: TypeAlias = Literal[
    "recall", "iou", "recall_at_k", "precision_at_k", "iou_at_k", "hit_at_k", "reciprocal_rank", "ndcg", "precision_omega",
    "claims_at_k",
]  # fmt: skip
Verdict: TypeAlias = Literal["better", "worse", "noise", "baseline"]

METRICS: Mapping[Metric, str] = {
    "recall": "recall in the budget",
    "iou": "IoU in the budget",
    "recall_at_k": "recall of the first k",
    "precision_at_k": "precision of the first k",
    "iou_at_k": "IoU of the first k",
    "hit_at_k": "hit rate of the first k",
    "reciprocal_rank": "reciprocal rank in the first k",
    "ndcg": "nDCG of the first k",
    "precision_omega": "precision omega",
    "claims_at_k": "numeric claims in the first k",
}
_LEVEL = 0.05
_TOLD = 0.01  # seconds that are more than noise


@dataclass(frozen=True)
class Standing:
    """A candidate's place.

    Parameters
    ----------
    score : mean of the metric over questions, those left out that it does not judge, with its 95 % interval.
    difference : to the baseline, question by question.
    p : of the difference, adjusted for the number of candidates (Holm).
    verdict : "noise" unless p is under .05.
    per_second : points (hundredths) of the difference for each processor second more than the baseline's; None
        where that is no more than a hundredth of one, which clocks do not tell from none.
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
                100 * difference.mean / more if more > _TOLD else None,
            )
        )
    return sorted(rows, key=lambda row: -row.score.mean)


def check(metric: str) -> None:
    """Raise `ConfigurationError` unless outcomes can be compared by it: before they are run, at best."""
    known = get_args(Metric)
    require(metric in known, f"metric must be one of {known}{did_you_mean(metric, known)}", metric)


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
    """Return the best of the stable ones and baselines, which an experimental one must beat to be promoted.

    One whose size could not be matched is no measure of others.
    """
    known = (row for row in rows if row.outcome.group in ("stable", "baseline") and not row.outcome.missed)
    return next(known, None)


def promising(rows: Sequence[Standing], metric: Metric = "recall") -> list[Standing]:
    """Compare the experimental ones, of one kind, with the best stable one; nothing if that is the baseline already."""
    best = best_stable(rows)
    tried = [row.outcome for row in rows if row.outcome.group == "experimental"]
    if best is None or best.verdict == "baseline" or not tried:
        return []
    return compare([best.outcome, *tried], best.outcome.label, metric)


def _named(outcomes: Sequence[Outcome], label: str) -> Outcome:
    by_label = {outcome.label: outcome for outcome in outcomes}
    require(label in by_label, f"baseline must be one of the candidates{did_you_mean(label, by_label)}", label)
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
            "aim": row.outcome.aim,
            "score": _percent(row.score.mean, 2),
            "low": _percent(row.score.low, 2),
            "high": _percent(row.score.high, 2),
            "difference": _percent(row.difference.mean, 2),
            "difference low": _percent(row.difference.low, 2),
            "difference high": _percent(row.difference.high, 2),
            "p (Holm)": round(row.p, 4),
            "verdict": row.verdict,
            "recall in budget": _percent(float(row.outcome.recall.mean())),
            "IoU in budget": _percent(float(row.outcome.iou.mean()), 2),
            "IoU at k": _percent(float(row.outcome.iou_at_k.mean()), 2),
            "recall at k": _percent(float(row.outcome.recall_at_k.mean())),
            "precision at k": _percent(float(row.outcome.precision_at_k.mean())),
            "hit at k": _percent(float(row.outcome.hit_at_k.mean())),
            "reciprocal rank": _percent(float(row.outcome.reciprocal_rank.mean())),
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
    "mean tokens": ("tokens", ".1f"), "IoU in budget": ("IoU", ".2f"), "IoU at k": ("IoU@k", ".2f"),
    "recall at k": ("recall@k", ".1f"), "nDCG at k": ("nDCG@k", ".1f"), "precision omega": ("omega", ".1f"),
    "claims at k": ("claims@k", ".1f"),
}  # fmt: skip
RANKS: Columns = {
    "recall in budget": ("recall", ".1f"), "hit at k": ("hit@k", ".1f"), "reciprocal rank": ("MRR@k", ".1f"),
    "precision at k": ("precision@k", ".1f"),
}  # fmt: skip
SHAPE: Columns = {
    "chunks": ("chunks", ","), "within": ("within", ".3f"), "between": ("between", ".3f"), "forced": ("forced, %", ".1f"),
    "over": ("over, %", ".1f"), "under": ("under, %", ".1f"), "redundancy": ("redundancy", ".2f"),
    "coverage": ("coverage, %", ".1f"), **{name: (name, ".3f") for name in _BOUNDARIES},
}  # fmt: skip
COST: Columns = {
    "seconds": ("CPU s", ".3g"), "wall seconds": ("wall s", ".3g"), "GPU seconds": ("GPU s", ".3g"),
    "peak MB": ("peak MB", ".1f"), "GPU MB": ("GPU MB", ".1f"), "calls": ("calls", ","), "tokens sent": ("tokens sent", ","),
    "money": ("money", ".3g"), "points a second": ("points/s", ".3g"),
}  # fmt: skip
TRIED: Columns = {**LEADERS, "points a second": COST["points a second"]}
"""Of experimental ones beside the best stable one: what each second more than that one's gains."""
DETAILS: Mapping[str, Columns] = {"Retrieval": RANKS, "Shape": SHAPE, "Cost": COST}
_FINE = ("iou", "iou_at_k")  # metrics of a few percent


def scores(metric: Metric) -> Columns:
    """Return how the score and the difference are written, and the bounds of either."""
    how = ".2f" if metric in _FINE else ".1f"
    given = {name: (name, how) for name in ("score", "low", "high")}
    return given | {name: (name, f"+{how}") for name in ("difference", "difference low", "difference high")}


def off(outcome: Outcome) -> str:
    """Return what is to be said of one whose size could not be matched; else nothing."""
    if not outcome.missed:
        return ""
    return f"mean {outcome.tokens.mean():,.0f}, not the {outcome.aim:,.0f} asked"


def headline(
    rows: Sequence[Standing], metric: Metric, trial: Trial | None = None, how: Mapping[str, Any] | None = None
) -> str:
    """Return what was run, in a line."""
    said = [f"By {METRICS[metric]}", f"{len(rows[0].outcome.recall):,} questions"]
    if trial:
        said += [f"a budget of {trial.budget:,} tokens", f"k = {trial.k}", f"embedder {called(trial)}"]
    return "; ".join([*said, *(f"{name} {value}" for name, value in (how or {}).items())]) + "."


def called(trial: Trial) -> str:
    """Return the name of a trial's embedder."""
    if isinstance(trial.embedder, str):
        return trial.embedder
    embedder = default_embedder() if trial.embedder is None else trial.embedder
    return model_name(embedder) or type(embedder).__qualname__


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
    trial: Trial | None = None,
    how: Mapping[str, Any] | None = None,
) -> str:
    """Return tables for people: each score with its interval, each difference with what it is worth; shape and cost.

    Parameters
    ----------
    rows : from `compare` or `compare_each`.
    metric : that they were compared by.
    prices : as in `as_rows`.
    notes : by label, what else to say of a candidate, such as that it is brittle.
    trial : that they are of, so that the first line says its budget, k and embedder.
    how : what else was run, by name, for the first line: whether the questions were made from the documents, say.
    """
    kinds = by_kind(rows)
    said = [headline(rows, metric, trial, how), ""]
    for title, of_kind in kinds.items():
        if len(kinds) > 1:
            said += [f"### {title}", ""]
        flat = as_rows(of_kind, prices)
        said += [*_leaders(of_kind, flat, LEADERS, metric), ""]
        if tried := promising(of_kind, metric):
            beside = _leaders(tried, as_rows(tried, prices), TRIED, metric)
            said += ["Experimental, beside the best stable one:", "", *beside, ""]
        for what, columns in DETAILS.items():
            titles = shown(columns, flat)
            cells = [[one["candidate"], *(written(columns, one)[key] for key in titles)] for one in flat]
            said += [*_table([what.lower(), *titles.values()], cells), ""]
    labels = {row.outcome.label for row in rows}
    said += [f"⚠ {label}: {note}" for label, note in (notes or {}).items() if label in labels]
    return "\n".join(said).rstrip() + "\n"


def _leaders(
    rows: Sequence[Standing], flat: Sequence[Mapping[str, Any]], columns: Columns, metric: Metric
) -> list[str]:
    titles, cells = shown(columns, flat), list[list[str]]()
    for row, figures in zip(rows, flat, strict=True):
        said = written({**scores(metric), **columns}, figures)
        name = f"{row.outcome.label} ({note})" if (note := off(row.outcome)) else row.outcome.label
        change = f"{said['difference']} [{said['difference low']}, {said['difference high']}]"
        score = f"{said['score']} [{said['low']}, {said['high']}]"
        change = "" if row.verdict == "baseline" else change
        cells.append([name, row.outcome.group, score, change, row.verdict, *(said[key] for key in titles)])
    return _table(["candidate", "group", "score", "to the baseline", "verdict", *titles.values()], cells)


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


def _percent(share: float | None, digits: int = 1) -> Any:
    return None if share is None else round(100 * share, digits) + 0.0  # for no figure says -0.0


def _mean_percent(scores: Floats) -> Any:
    judged = scores[np.isfinite(scores)]
    return _percent(float(judged.mean())) if len(judged) else None


def _figure(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _megabytes(size: int | None) -> float | None:
    return None if size is None else round(size / 1e6, 1)
