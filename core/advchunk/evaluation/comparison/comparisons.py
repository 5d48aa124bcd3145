"""Compare results with a baseline, question by question, and decide if the difference is more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from advchunk.errors import checked, did_you_mean, require
from advchunk.evaluation.comparison.harness import Result
from advchunk.evaluation.metrics.statistics import Difference, Interval, holm, mean_interval, paired_difference
from advchunk.evaluation.metrics.table import check_metric

ComparisonVerdict: TypeAlias = Literal["better", "worse", "noise", "baseline"]

_LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """A result compared with the baseline: ``score`` is a mean with its 95 % interval, ``difference`` is paired by
    question, ``p`` adjusted for the number of candidates (Holm), and ``verdict`` "noise" unless p < .05.
    """

    result: Result
    score: Interval
    difference: Difference
    p: float
    verdict: ComparisonVerdict


@checked
def compare(results: Sequence[Result], baseline: str, metric: str = "recall") -> list[Comparison]:
    """Compare all results with a baseline, best first; ties keep their order.

    Raises `ConfigurationError` unless a result has the label ``baseline`` and the metric applies to >= 2 questions.

    Parameters
    ----------
    baseline : label of the result to compare with, ideally of a similar chunk size (`candidates.match_size`).
    metric : its name (`metrics.table`).
    """
    check_metric(metric)
    labels = [result.label for result in results]
    rule = f"baseline must be a candidate with a result{did_you_mean(baseline, labels)}"
    require(baseline in labels, rule, baseline)
    place = labels.index(baseline)
    applies = np.isfinite(getattr(results[place], metric))
    scores = [getattr(result, metric)[applies] for result in results]
    differences = [paired_difference(own, scores[place]) for own in scores]
    adjusted = holm(np.delete([difference.p for difference in differences], place))
    rows = []
    for i, (difference, p) in enumerate(zip(differences, np.insert(adjusted, place, 1.0).tolist(), strict=True)):
        verdict: ComparisonVerdict = "noise" if p >= _LEVEL else "better" if difference.mean > 0 else "worse"
        interval = mean_interval(scores[i])
        rows.append(Comparison(results[i], interval, difference, p, "baseline" if i == place else verdict))
    return sorted(rows, key=lambda row: -row.score.mean)


def leaders(rows: Sequence[Comparison], metric: str = "recall") -> list[Comparison]:
    """Return the best of rows, at its target size, and those that do not differ significantly from it."""
    eligible = [row for row in rows if not row.result.off_target] or list(rows)
    beside_best = compare([row.result for row in eligible], eligible[0].result.label, metric)
    worse = {row.result.label for row in beside_best if row.verdict == "worse"}
    return [row for row in eligible if row.result.label not in worse]
