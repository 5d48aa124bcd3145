"""The benchmark of large files runs on small ones, and deletes them."""

import json

import pytest

from scripts import run


@pytest.mark.parametrize(("form", "documents"), [("csv", 1), ("jsonl", 154)])
def test_large_files_are_written_chunked_and_deleted(tmp_path, form, documents):
    row = json.loads(run("large_files", form, "--gigabytes", 2e-5, "--folder", tmp_path))
    assert (row["form"], row["documents"], row["failures"]) == (form, documents, 0)
    assert row["bytes"] >= 2e-5 * 2**30
    assert not list(tmp_path.iterdir())
