"""All measurements of speed in one command, on texts so small that their figures are meaningless."""

import json

import bench
import pytest

from scripts import run

TEXT = "# Tea\n\n" + "".join(f"Tea {i} is hot. Milk is white, and nobody knows why!\n\n" for i in range(60))


@pytest.fixture
def data(tmp_path):
    for name in ("a.md", "b.txt"):
        (tmp_path / name).write_text(TEXT)
    return tmp_path


def test_all_that_is_measured_is_in_the_table(data, monkeypatch):
    monkeypatch.setattr(bench.cluster, "METHODS", {"recursive": {}})
    monkeypatch.setattr(bench.growth, "run_in_subprocess", lambda _, n, *__: {"seconds": n / 1e6, "memory / text": 7})
    args = ["--data", data, "--out", data / "out", "--repeat", 1, "--documents", 20]
    printed = run("bench", *args)
    figures = json.loads((data / "out" / "figures.json").read_text())
    assert printed == (data / "out" / "table.md").read_text()
    assert (data / "out" / "speed.svg").read_text().startswith("<?xml")
    assert figures["versions"].keys() == {*bench.PACKAGES}
    assert figures["characters"] == 2 * len(TEXT)
    assert "| recursive | 0.10 / 1.00 / 10.00 | 1.0 | 1.0 | 7 |" in printed
    assert figures["asked"]["unchanged"] == {"texts": 0, "calls": 0}
    assert figures["asked"]["one paragraph edited"]["texts"] == 1
    assert figures["per_megabyte"]["recursive"]["cpu, s/MB"] > 0
    rows = list(bench.rows(figures))
    assert {row.section for row in rows} >= {*bench.PANELS}
    for section in bench.PANELS:
        ratios = {row.task: row.ratio for row in rows if row.section == section}
        assert min(ratio for task, ratio in ratios.items() if task.startswith(bench.PEERS)) == 1
        assert len([task for task in ratios if task.startswith(bench.PEERS)]) >= 3
