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
    monkeypatch.setattr(bench.engines, "engines", lambda *_, **params: {"more with Ray, cpu": 0.1, **params})
    monkeypatch.setattr(bench.growth, "run_in_subprocess", lambda _, n, *__: {"seconds": n / 1e6, "memory / text": 7})
    args = ["--data", data, "--out", data / "out", "--repeat", 1, "--documents", 20, "--embedder", "named"]
    printed = run("bench", *args)
    figures = json.loads((data / "out" / "figures.json").read_text())
    assert printed == (data / "out" / "table.md").read_text()
    assert (data / "out" / "speed.svg").read_text().startswith("<?xml")
    assert figures["versions"].keys() == {*bench.PACKAGES}
    assert figures["characters"] == 2 * len(TEXT)
    assert "more with Ray, cpu: 0.1; embedder: named" in printed
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


def test_two_engines_are_compared_after_their_start(monkeypatch):
    pytest.importorskip("ray")
    seconds = iter([(10.0, 8.0), (12.0, 9.0)])
    monkeypatch.setattr(
        bench.engines, "run_shards", lambda *_, **__: dict(zip(("wall", "cpu"), next(seconds), strict=True))
    )
    with monkeypatch.context() as patched:
        patched.setattr("ray.init", lambda **_: None)
        patched.setattr("ray.shutdown", lambda: None)
        patched.setattr(bench.engines.pq, "read_table", lambda _: bench.engines.pa.table({"chunk_id": ["a"]}))
        figures = bench.engines.engines([TEXT], 3, 2, "recursive")
    assert (figures["more with Ray, wall"], figures["more with Ray, cpu"]) == (0.2, 0.125)
    assert figures["same ids"]


def test_an_engine_is_timed_from_its_second_shard_on(tmp_path):
    table = tmp_path / "in.parquet"
    texts = bench.engines.make_documents([TEXT], 6)
    assert len(set(texts)) == 6
    rows = bench.engines.pa.table({"id": [*"abcdef"], "text": texts})
    bench.engines.pq.write_table(rows, table, row_group_size=2)
    figures = bench.engines.run_shards("processes", table, tmp_path / "out", "recursive")
    assert figures["start and first shards, wall"] > 0
    assert min(figures["wall"], figures["cpu"]) >= 0
