"""The metrics of retrieval by which chunkers are compared, in one list: each gives one score per question."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from advchunk import registry
from advchunk.errors import did_you_mean, require
from advchunk.evaluation.metrics.retrieval import RetrievalScores
from advchunk.records import Chunk, Floats, Ints


class Retrieved(NamedTuple):
    """The chunks retrieved for each question, and their scores; ``ranking`` is (q, c) indices of chunks, best first.

    ``budget``, ``first`` and ``omega`` are of `retrieval.at_budget`, `at_k` and `precision_omega`; ``chunks`` are in
    the order in which ``ranking`` numbers them; ``needs`` is what the metric needs of each question.
    """

    budget: RetrievalScores
    first: RetrievalScores
    omega: Floats
    chunks: Mapping[str, Sequence[Chunk]]
    ranking: Ints
    k: int
    needs: Sequence[Any] = ()


class RetrievalMetric(NamedTuple):
    """A metric; ``score`` returns (q,) scores, NaN where the metric does not apply to a question.

    ``name`` is a key of `Result.scores`; ``summary`` is used in sentences such as "By recall in the budget"; ``column``
    in tables, ``title`` in the main table, "" for a metric that is in others only; ``digits`` are after the point, of
    percentages. ``needs`` is called once with an `EvaluationTask`, and returns what the metric needs of each question,
    empty where it does not apply; None applies to all. ``condition`` is of those questions; ``meaning`` of the column.
    """

    name: str
    summary: str
    column: str
    score: Callable[[Retrieved], Floats]
    title: str = ""
    digits: int = 1
    needs: Callable[[Any], Sequence[Any]] | None = None
    condition: str = ""
    meaning: str = ""


METRICS = (
    RetrievalMetric("recall", "recall in the budget", "recall in budget", lambda of: of.budget.recall),
    RetrievalMetric("iou", "IoU in the budget", "IoU in budget", lambda of: of.budget.iou, "IoU", 2),
    RetrievalMetric("iou_at_k", "IoU of the first k", "IoU at k", lambda of: of.first.iou, "IoU@k", 2),
    RetrievalMetric("recall_at_k", "recall of the first k", "recall at k", lambda of: of.first.recall, "recall@k"),
    RetrievalMetric("precision_at_k", "precision of the first k", "precision at k", lambda of: of.first.precision),
    RetrievalMetric("hit_at_k", "hit rate of the first k", "hit at k", lambda of: of.first.hit),
    RetrievalMetric("reciprocal_rank", "reciprocal rank in "
                                       "the first k", "reciprocal rank", lambda of: of.first.reciprocal_rank),
    RetrievalMetric("ndcg", "nDCG of the first k", "nDCG at k", lambda of: of.first.ndcg, "nDCG@k"),
    RetrievalMetric("precision_omega", "precision omega", "precision omega", lambda of: of.omega, "omega"),
)  # fmt: skip


@cache
def metrics() -> dict[str, RetrievalMetric]:
    """Return all metrics by name, last those of the registrations, which may be mappings of the fields."""
    loaded = [row.load() for row in registry.rows_of("metric")]
    added = [own if isinstance(own, RetrievalMetric) else RetrievalMetric(**own) for own in loaded if own]
    return {metric.name: metric for metric in (*METRICS, *added)}


def check_metric(metric: str) -> None:
    """Raise `ConfigurationError` for an unknown metric, before any candidate is run."""
    names = tuple(metrics())
    require(metric in names, f"metric must be one of {names}{did_you_mean(metric, names)}", metric)
