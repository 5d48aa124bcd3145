"""Who is better, and is it more than noise? Outcomes of one trial, compared question by question."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from advchunk.errors import nearest, require
from advchunk.evaluation.harness import Outcome
from advchunk.evaluation.statistics import Difference, Interval, holm, mean_interval, paired_difference

Metric: TypeAlias = Literal["recall", "iou", "recall_at_k", "iou_at_k", "ndcg", "precision_omega"]
Verdict: TypeAlias = Literal["better", "worse", "noise", "baseline"]

_LEVEL = 0.05


@dataclass(frozen=True)
class Standing:
    """A candidate's place.

    Parameters
    ----------
    score : mean of the metric over questions, with its 95 % interval.
    difference : to the baseline, question by question.
    p : of the difference, adjusted for the number of candidates (Holm).
    verdict : "noise" unless p is under .05.
    per_second : points (hundredths) of the difference for each second more than the baseline that cutting takes; None where it takes less.
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
    baseline : the label of the one to compare with: at best of like chunk size (`harness.matched`).
    metric : a field of `Outcome`, one score a question.

    Raises
    ------
    ConfigurationError : no outcome is called ``baseline``.
    """
    by_label = {outcome.label: outcome for outcome in outcomes}
    require(baseline in by_label, f"baseline must be one of the candidates{nearest(baseline, by_label)}", baseline)
    base = by_label[baseline]
    theirs = getattr(base, metric)
    others = [outcome for outcome in outcomes if outcome is not base]
    found = {outcome.label: paired_difference(getattr(outcome, metric), theirs) for outcome in others}
    adjusted = dict(zip(found, holm(np.array([difference.p for difference in found.values()])).tolist(), strict=True))
    rows = []
    for outcome in outcomes:
        difference = found.get(outcome.label, Difference(0.0, 0.0, 0.0, 1.0))
        p = adjusted.get(outcome.label, 1.0)
        more = outcome.cut_seconds - base.cut_seconds
        rows.append(
            Standing(
                outcome,
                mean_interval(getattr(outcome, metric)),
                difference,
                p,
                "baseline" if outcome is base else _verdict(difference, p),
                100 * difference.mean / more if more > 0 else None,
            )
        )
    return sorted(rows, key=lambda row: -row.score.mean)


def best_stable(rows: Sequence[Standing]) -> Standing | None:
    """Return the best of the stable ones and baselines, which an experimental one must beat to be promoted."""
    return next((row for row in rows if row.outcome.group in ("stable", "baseline")), None)


def _verdict(difference: Difference, p: float) -> Verdict:
    if p >= _LEVEL:
        return "noise"
    return "better" if difference.mean > 0 else "worse"


def as_rows(rows: Sequence[Standing]) -> list[dict[str, Any]]:
    """Return a flat row of figures for each standing, for tables; shares in percent."""
    return [
        {
            "candidate": row.outcome.label,
            "group": row.outcome.group,
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
            "redundancy": round(row.outcome.redundancy, 3),
            "seconds": round(row.outcome.cut_seconds, 3),
        }
        for row in rows
    ]


def as_markdown(rows: Sequence[Standing]) -> str:
    """Return a table for people: each score with its interval, each difference with what it is worth."""
    head = ["candidate", "group", "tokens", "score", "to the baseline", "verdict", "IoU@k", "omega", "redundancy", "s"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row, said in zip(rows, as_rows(rows), strict=True):
        change = (
            ""
            if row.verdict == "baseline"
            else f"{said['difference']:+} [{said['difference low']:+}, {said['difference high']:+}]"
        )
        cells = [
            said["candidate"], said["group"], said["mean tokens"], f"{said['score']} [{said['low']}, {said['high']}]", change,
            row.verdict, said["IoU at k"], said["precision omega"], said["redundancy"], said["seconds"],
        ]  # fmt: skip
        lines.append("| " + " | ".join(str(cell).replace("|", r"\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def as_csv(rows: Sequence[Standing]) -> str:
    """Return the same figures for spreadsheets."""
    flat, file = as_rows(rows), io.StringIO()
    writer = csv.DictWriter(file, list(flat[0]))
    writer.writeheader()
    writer.writerows(flat)
    return file.getvalue()


def _percent(share: float) -> float:
    return round(100 * share, 1)
