"""The report says what the comparison says, in two files."""

import json
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from advchunk import ConfigurationError, Document, Span
from advchunk.evaluation import EvaluationTask, Question, Reference, as_markdown, compare
from advchunk.evaluation.comparison import report
from advchunk.evaluation.comparison.harness import Result
from advchunk.evaluation.comparison.report import as_rows
from advchunk.evaluation.metrics.metering import RunCost

QUESTIONS = 40


def result(label, group="stable", gain=0.0, seconds=1.0, tokens=(40, 90, 200), **more):
    scores = np.clip(np.tile([0.2, 0.4, 0.6, 0.8], QUESTIONS // 4) + gain, 0, 1)
    names = ["recall", "iou", "recall_at_k", "precision_at_k", "iou_at_k", "hit_at_k", "reciprocal_rank", "ndcg"]
    return Result(
        label=label,
        group=group,
        settings={"said": label},
        scores=dict.fromkeys([*names, "precision_omega", "claims_at_k"], scores),
        tokens=np.array(tokens),
        curve={250: 0.3 + gain, 1000: 0.5 + gain},
        redundancy=1.0,
        coverage=1.0,
        within=0.6,
        between=0.4,
        over=0.0,
        under=0.25,
        indexing_cost=RunCost(calls=0, tokens=0),
        **{"forced": 0.5, "chunking_cost": RunCost(seconds, seconds, 1, 900)} | more,
    )


TASK = EvaluationTask(
    (Document("One. Two. Three.", "a.md"),),
    tuple(Question(f"Which? {i}", (Reference("a.md", Span(5, 8)),)) for i in range(QUESTIONS)),
    budgets=(250, 1000),
)
OUTCOMES = [
    result("base", "baseline"),
    result("up", "stable", 0.1, 3.0),
    result("lev|el", "external", 0.0, 0.0),
    result("down", "experimental", -0.1, 0.2),
]


def test_candidates_are_listed_best_first_each_with_its_verdict():
    page = as_markdown(compare(OUTCOMES, "base"), notes={"up": "brittle", "gone": "?"})
    assert "⚠ up: brittle" in page
    assert "gone" not in page
    assert "up scores best: recall in the budget 60.0 % [" in page
    lines = [line.split(" | ") for line in page.splitlines() if "group" not in line and line.count("|") > 10][1:5]
    assert [line[0] for line in lines] == ["| up", "| base", r"| lev\|el", "| down"]
    assert [line[4] for line in lines] == ["better", "baseline", "noise", "worse"]
    assert lines[0][3].startswith("+10.0 [")


def test_unknown_figures_are_empty_and_empty_columns_are_left_out():
    usual = as_markdown(compare(OUTCOMES, "base"))
    assert all(title in usual for title in ("claims@k", "within", "forced, %", "tokens sent"))
    assert not any(title in usual for title in ("Pk", "F1"))
    other = result("other", chunking_cost=RunCost(1, 1), boundaries={"pk": 0.25}, forced=None)
    page = as_markdown(compare([*OUTCOMES, other], "base"))
    cost = page[page.index("| cost |") :]
    assert "| base | 1 | 1 | 1 | 900 |" in cost
    assert "| other | 1 | 1 |  |  |" in cost
    assert "Pk" in page
    assert "F1" not in page


def test_a_size_that_could_not_be_matched_is_told_and_leads_nothing():
    sized = [replace(item, target_mean=110.0) for item in OUTCOMES]
    off = result("off", "stable", 0.15, 9.0, tokens=(40, 120), target_mean=600.0)
    page = as_markdown(compare([off, *sized], "base"))
    assert "| off (mean 80, target 600) |" in page
    assert "up scores best" in page
    assert "off scores best" in as_markdown(compare([off], "off"))


def test_both_files_say_the_same(tmp_path):
    rows, run_info = compare(OUTCOMES, "base", "iou"), {"questions": "made from the documents"}
    options = {"metric": "iou", "notes": {"up": "brittle"}, "run_info": run_info}
    folder = report.write_report(tmp_path / "a" / "b", TASK, rows, **options)
    assert sorted(path.name for path in folder.iterdir()) == ["report.md", "results.json"]
    flat = as_rows(rows)
    page = folder.joinpath("report.md").read_text(encoding="utf-8")
    assert as_markdown(rows, task=TASK, **options) in page
    assert "*Claims at k* is the share of the numeric claims" in page
    assert '* up: `{"said": "up"}`' in page
    assert '"digest": "' in page
    data = json.loads(folder.joinpath("results.json").read_text(encoding="utf-8"))
    assert (data["comparisons"], data["metric"]) == (flat, "iou")
    assert compare([Result.from_dict(item) for item in data["results"]], "base")[0].score == rows[0].score
    expected = {"k": 5, "budget": 1000, "budgets": [250, 1000], "questions": QUESTIONS, "run": run_info}
    expected |= {"numpy": np.__version__, "scipy": version("scipy"), "embedder": "None"}
    expected["bootstrap"] = {"confidence": 0.95, "resamples": 9999, "seed": 0}
    assert data["provenance"] == data["provenance"] | expected


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    def missing(name):
        if name == "transformers":
            raise PackageNotFoundError
        return "1.2"

    monkeypatch.setattr(report, "version", missing)
    provenance = report.provenance(TASK)
    assert (provenance["networkx"], "transformers" in provenance) == ("1.2", False)


def test_half_a_surrogate_pair_can_be_written(tmp_path):
    report.write_report(tmp_path, TASK, compare([result("a\ud800", "baseline"), result("b")], "b"))
    assert "a&#55296;" in tmp_path.joinpath("report.md").read_text(encoding="utf-8")


def test_no_rows_are_refused_before_writing(tmp_path):
    with pytest.raises(ConfigurationError, match="rows must have"):
        report.write_report(tmp_path / "new", TASK, [])
    assert not (tmp_path / "new").exists()
