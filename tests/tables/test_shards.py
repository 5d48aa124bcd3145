"""Files in shards: complete files only, resumed after a kill, nothing lost and nothing twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from advchunk import ConfigurationError, RecursiveChunker
from advchunk.tables import chunk_shards
from advchunk.tables.batches import chunk_batches, chunk_schema
from hazards import die_at_poison, die_once, wait
from servers import LONG

TABLE = pa.table({"id": [f"d{i}" for i in range(9)], "text": [f"Text {i}. More of it." for i in range(9)]})


@pytest.fixture(autouse=True)
def _workers_import_hazards(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))


def write(folder, table=TABLE, rows=3):
    folder.mkdir()
    pa.parquet.write_table(table, folder / "a.parquet", row_group_size=rows)
    return folder


def read(folder, form="parquet"):
    return pa.dataset.dataset(folder, format={"jsonl": "json"}.get(form, form)).to_table()


def expected(table=TABLE, **params):
    chunker = RecursiveChunker(**params)
    return pa.Table.from_batches(chunk_batches(table, chunker), schema=chunk_schema())


def test_the_files_have_the_rows_of_one_process(tmp_path):
    done = []
    counts = chunk_shards(
        write(tmp_path / "in"), tmp_path / "out", "recursive", max_tokens=4, workers=2, progress=done.append
    )
    result = read(tmp_path / "out")
    assert result.equals(expected(max_tokens=4))
    assert counts == (3, 0, len(result), 0)
    assert done == [1, 2, 3]
    assert chunk_shards(tmp_path / "in", tmp_path / "out", "recursive", max_tokens=4) == (3, 3, 0, 0)


def test_json_lines_in_and_out(tmp_path):
    lines = tmp_path / "in.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()), encoding="utf-8")
    chunk_shards(lines, tmp_path / "out", "recursive", format="jsonl", workers=1)
    (part,) = (tmp_path / "out").glob("part-*")
    rows = [json.loads(line) for line in part.read_text("utf-8").splitlines()]
    assert rows == expected().to_pylist()


def test_every_line_is_a_document_or_an_error(tmp_path):
    records = [
        {"id": "2026-01-01", "text": "A.", "n": 1},
        {"id": 7, "text": "B." + " " * 1_500_000, "late": 5},
        {"id": "c"},
    ]
    lines = [*map(json.dumps, records), "", "{broken", "[]", json.dumps({"id": "d", "text": "C.", "n": "two"})]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    counts = chunk_shards(tmp_path / "in.jsonl", tmp_path / "out", "recursive", workers=1)
    rows = {row["document_id"]: row for row in read(tmp_path / "out").to_pylist()}
    assert counts.failures == 3
    assert json.loads(rows["2026-01-01"]["metadata"])["n"] == 1
    assert json.loads(rows["7"]["metadata"])["late"] == 5
    assert json.loads(rows["d"]["metadata"])["n"] == "two"
    assert rows["c"]["error"] == "'text' must be a string, got None"
    errors = [row["error"] for row in read(tmp_path / "out").to_pylist() if row["document_id"] is None]
    assert [error.partition(": ")[2][:14] for error in errors] == ["a line must be"] * 2


def test_hidden_files_and_folders_are_not_read(tmp_path):
    source = write(tmp_path / "in")
    for name in ("_delta_log", ".cache"):
        write(source / name)
    assert chunk_shards([source, source / "a.parquet"], tmp_path / "out", "recursive", workers=1)[:1] == (3,)


def test_the_output_may_be_in_a_folder_of_the_input(tmp_path):
    source = write(tmp_path / "in")
    first = chunk_shards(source, source / "chunks", "recursive", workers=1)
    assert chunk_shards(source, source / "chunks", "recursive", workers=1) == (first.shards, first.shards, 0, 0)


def test_a_run_that_failed_at_once_does_not_claim_the_folder(tmp_path):
    source = write(tmp_path / "in")
    with pytest.raises(ConfigurationError, match="there must be a column 'name'"):
        chunk_shards(source, tmp_path / "out", "recursive", id="name")
    assert chunk_shards(source, tmp_path / "out", "recursive", workers=1).chunks == 9


def test_equal_ids_in_different_shards_are_errors(tmp_path):
    table = TABLE.set_column(0, "id", [["d0", *(f"d{i}" for i in range(8))]])
    counts = chunk_shards(write(tmp_path / "in", table, rows=1), tmp_path / "out", "recursive")
    assert counts.failures == 2
    assert read(tmp_path / "out")["error"].to_pylist()[:3] == ["'id' must be unique, got 'd0' again"] * 2 + [None]


def test_a_document_that_kills_its_worker_is_an_error_row(tmp_path):
    table = TABLE.set_column(1, "text", [["A.", "B.", "POISON", *"CDEFGH"]])
    counts = chunk_shards(
        write(tmp_path / "in", table, rows=5),
        tmp_path / "out",
        "recursive",
        tokenizer=die_at_poison,
        max_deaths=1,
    )
    rows = read(tmp_path / "out")
    assert counts == (2, 0, 8, 1)
    assert rows["document_id"].to_pylist() == TABLE["id"].to_pylist()
    assert rows["error"].to_pylist() == [None, None, "its worker died 2 times", *[None] * 6]


def test_a_worker_that_dies_once_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("ADVCHUNK_DIED", str(tmp_path / "died"))
    table = TABLE.set_column(1, "text", [["A.", "B.", "ONCE", *"CDEFGH"]])
    counts = chunk_shards(write(tmp_path / "in", table), tmp_path / "out", "recursive", tokenizer=die_once)
    assert (tmp_path / "died").exists()
    assert counts == (3, 0, 9, 0)


def test_a_killed_run_is_resumed(tmp_path, monkeypatch):
    stop = tmp_path / "stop"
    monkeypatch.setenv("ADVCHUNK_DIED", str(stop))
    source, out = write(tmp_path / "in"), tmp_path / "out"
    code = f"""if __name__ == "__main__":
        from pathlib import Path
        from advchunk.tables import chunk_shards
        from hazards import wait
        chunk_shards({str(source)!r}, {str(out)!r}, "recursive", tokenizer=wait, workers=1,
                    progress=lambda done: Path({str(stop)!r}).touch())"""
    script = tmp_path / "run.py"
    script.write_text(code)
    run = subprocess.Popen([sys.executable, script], start_new_session=True)
    deadline = time.monotonic() + LONG
    while not stop.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    before = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert 0 < len(before) < 3
    stop.unlink()
    counts = chunk_shards(source, out, "recursive", tokenizer=wait)
    assert (counts.shards, counts.resumed) == (3, len(before))
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    result = read(out)
    assert result["document_id"].to_pylist() == TABLE["id"].to_pylist()
    assert result["error"].null_count == 9


def test_a_folder_belongs_to_one_task(tmp_path):
    source = write(tmp_path / "in")
    chunk_shards(source, tmp_path / "out", "recursive", workers=1)
    with pytest.raises(ConfigurationError, match="has the chunks of other parameters"):
        chunk_shards(source, tmp_path / "out", "recursive", max_tokens=9)
    pa.parquet.write_table(TABLE, source / "b.parquet")
    with pytest.raises(ConfigurationError, match="has the chunks of other inputs"):
        chunk_shards(source, tmp_path / "out", "recursive")
    with pytest.raises(ConfigurationError, match="outside the output folder"):
        chunk_shards(source, source, "recursive")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    with pytest.raises(ConfigurationError, match="must be empty"):
        chunk_shards(source, tmp_path / "full", "recursive")


def test_invalid_calls_are_explained(tmp_path):
    source = write(tmp_path / "in")
    (tmp_path / "empty").mkdir()
    for inputs, options, says in [
        (tmp_path / "none.parquet", {}, "an input must exist"),
        (tmp_path / "empty", {}, "must have a Parquet or JSON Lines file outside"),
        (Path(__file__), {}, "the suffix of an input must be one of"),
        (source, {"workers": 0}, "workers must be a whole number >= 1"),
        (source, {"engine": "spark"}, "engine must be one of"),
        (source, {"format": "csv"}, "format must be"),
        (source, {"max_token": 3}, "max_token"),
    ]:
        with pytest.raises(ConfigurationError, match=says):
            chunk_shards(inputs, tmp_path / "out", "recursive", **options)
    assert not (tmp_path / "out").exists()
