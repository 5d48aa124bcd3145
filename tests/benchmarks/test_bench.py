"""All measurements of speed in one command, on texts so small that their figures are meaningless."""

import json

import bench
import pytest

from scripts import run

TEXT = "# Tea\n\n" + "".join(
    f"Tea {i} is hot for everyone who comes here. Milk is white, and nobody knows why!\n\n" for i in range(60)
)
CHEAP = ["same_work", "semantic", "small", "questions", "imports", "growth"]


@pytest.fixture
def data(tmp_path):
    for name in ("a.md", "b.txt"):
        (tmp_path / name).write_text(TEXT)
    return tmp_path


def test_all_that_is_measured_is_in_the_table(data, monkeypatch):
    monkeypatch.setattr(bench, "WITHOUT_MODELS", ["recursive"])
    monkeypatch.setattr(bench, "MODULES", ["numpy", "advchunk"])
    sizes = ["--documents", 20, "--lengths", 2000, 6000]
    printed = run("bench", "--data", data, "--out", data / "out", "--repeat", 1, *sizes, "--only", *CHEAP)
    figures = json.loads((data / "out" / "figures.json").read_text())
    assert printed == (data / "out" / "table.md").read_text()
    assert figures["characters"] == 2 * len(TEXT)
    rows = [bench.Row(**row) for row in figures["rows"]]
    assert all(row.seconds > 0 for row in rows)
    others = {*bench.SPLITTERS, *bench.SEMANTIC}
    compared = {row.section for row in rows if row.task in others}
    assert len(compared) == 7
    for section in compared:
        ratios = [row.ratio for row in rows if row.section == section and row.task in others]
        assert min(ratios) == 1
        assert len(ratios) >= 2
    assert {row.section for row in rows} - compared == {
        "questions", "import", "growth, 2,000 characters", "growth, 6,000 characters",
    }  # fmt: skip


def test_a_model_and_workers_are_compared_with_one_process_and_the_model_alone(data):
    options = ["--only", "model", "workers", "--model", "default", "--documents", 5, "--processes", 2]
    run("bench", "--data", data, "--out", data / "out", "--repeat", 1, *options)
    rows = json.loads((data / "out" / "figures.json").read_text())["rows"]
    of_workers = ["1 processes", "2 processes", "the calling process of these"]
    assert [row["task"] for row in rows] == ["embedding alone", *bench.OURS, *of_workers]
    assert [rows[0]["ratio"], rows[-3]["ratio"]] == [1, 1]
