"""The table of metrics, to which other packages add rows, and which works without them."""

import numpy as np
import pytest

from advchunk import ConfigurationError, Document, Span, registry
from advchunk.evaluation import EvaluationTask, Question, Reference, as_markdown, candidate, compare, evaluate
from advchunk.evaluation.comparison.harness import Result
from advchunk.evaluation.metrics import table
from advchunk.registry import Registration

LENGTH = {
    "name": "chunk_length",
    "summary": "length of the first chunk",
    "column": "first length",
    "needs": lambda task: [len(question.text) for question in task.questions],
    "score": lambda of: np.where(of.needs, [next(iter(of.chunks.values()))[i].tokens / 100 for i in of.ranking[:, 0]], np.nan),
}  # fmt: skip


def test_rooms_add_their_metrics():
    assert list(table.metrics()) == [*(metric.name for metric in table.METRICS), "claims_at_k"]


@pytest.fixture
def length(monkeypatch):
    """Have one metric beside the usual ones."""
    rows = {key: row for key, row in registry._ROWS.items() if row.kind != "metric"}
    monkeypatch.setattr(registry, "_ROWS", rows)
    registry.add(Registration(kind="metric", name="chunk_length", path=f"{__name__}:LENGTH", target=LENGTH))
    table.metrics.cache_clear()
    yield
    table.metrics.cache_clear()


@pytest.mark.usefixtures("length")
def test_a_metric_of_another_package_is_compared_as_the_others_are():
    text = "Cats nap by day. They hunt at night. Courts rule on law. Judges hear an appeal."
    questions = tuple(Question(text[a:b], (Reference("a", Span(a, b)),)) for a, b in ((0, 16), (37, 56)))
    task = EvaluationTask((Document(text, "a"),), questions, k=1, budget=6)
    results = evaluate([candidate("recursive", "long", max_tokens=20), candidate("recursive", max_tokens=6)], task)
    assert [*results[0].scores][-1] == "chunk_length"
    assert results[0].chunk_length.tolist() == [0.2, 0.2]
    again = Result.from_dict(results[0].to_dict())
    assert again.chunk_length.tolist() == [0.2, 0.2]
    rows = compare(results, "recursive, max_tokens=6", "chunk_length")
    assert rows[0].result.label == "long"
    assert as_markdown(rows, metric="chunk_length").startswith("By length of the first chunk; 2 questions.")
    with pytest.raises(ConfigurationError, match="did you mean 'chunk_length'"):
        compare(results, "long", "chunk_lengths")
    with pytest.raises(AttributeError, match="claims_at_k"):
        _ = results[0].claims_at_k
