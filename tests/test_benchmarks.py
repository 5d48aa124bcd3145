"""The benchmark runs, on a text so small that its figures mean nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "speed.py"
SENTENCES = "The harbour froze in {}. Ships waited outside! Who would feed the town? Nobody knew, and {} people left. "


def run(*args):
    command = [sys.executable, SCRIPT, "--repeat", "1", *args]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "chroma"
    folder.mkdir()
    for i in range(2):
        paragraphs = ("".join(SENTENCES.format(1700 + i + j, 10 * j) for j in range(k, k + 3)) for k in range(12))
        (folder / f"{i}.md").write_text("\n\n".join(paragraphs).strip(), "utf-8")
    return tmp_path


def test_corpora_and_many(data):
    pytest.importorskip("chonkie")
    pytest.importorskip("langchain_experimental")
    found = run("--data", data, "--only", "corpora", "many", "--documents", "6")
    for figures in found["corpora"].values():
        assert figures["sentences"] == 2 * 12 * 3 * 4
        base, ours = figures["bare"]["wall"]["min"], figures["universal-semantic"]
        assert ours["over bare, s"] == pytest.approx(ours["wall"]["min"] - base, abs=1e-4)
    for framework in ("LangChain", "LlamaIndex"):
        figures = found["many"][framework]
        assert figures["model calls"] == figures["fewest model calls"] == 1
        assert figures["distinct units"] > 6


def test_clustering_and_imports():
    found = run("--only", "mst", "imports", "--sizes", "60", "--large", "60")
    beside = found["mst"]["beside the published loops"]["60"]
    assert beside["equal labels"]
    assert min(beside["components"]) > 1
    large = found["mst"]["large"]["60"]
    assert large["n_chunks"]["components"] == 6
    assert large["tree on request"]["edges"] == 59
    assert large["all pairs"]["components"] == 1
    assert found["imports"]["advchunk"]["loads"] == ["numpy"]
