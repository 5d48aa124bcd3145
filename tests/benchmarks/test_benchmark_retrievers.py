"""The benchmarks of retrieval run on texts so small that their figures are meaningless."""

import json

import pytest

from advchunk.evaluation import synthetic
from scripts import run


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    made, questions = folder / "made", []
    made.mkdir()
    for seed in range(2):
        units = synthetic(seed, segments=8, overlap=0.3).units
        (made / f"{seed}.md").write_text(units.text, "utf-8")
        for i in range(4):
            answer = {"document": f"{seed}.md", "start": int(units.edges[i]), "end": int(units.edges[i + 1])}
            questions.append({"question": units.strings()[i], "references": [answer]})
    (made / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), "utf-8")
    return folder


def cells(output):
    return [[cell.strip(" *") for cell in line.strip("|\n").split("|")] for line in output.splitlines() if line]


def test_neighbors_are_measured_for_each_retriever(data):
    rows = cells(run("neighbors", "--data", data, "--sets", "made"))
    assert [row[0] for row in rows[2:]] == [
        "plain", "context", "units", "words", "plain + words", "units + words", "plain + words, reciprocal",
    ]  # fmt: skip


def test_words_of_stores_are_compared_with_ours(data):
    only = ["Qdrant", "sparsevec", "FTS5", "all words"]
    rows = cells(run("store_words", "--data", data, "--sets", "made", "--only", *only))
    by_label = {row[0]: row[1] for row in rows}
    ours = by_label["`LexicalIndex`"]
    for engine in ("Qdrant", "Postgres (`sparsevec`)"):
        assert by_label[f"`SparseWords` in {engine}"] == f"{ours}, +0.0 [+0.0, +0.0]"
    assert len(by_label) == 7  # with the head and its rule


def test_pipelines_are_compared_with_the_default_one(data):
    rows = cells(run("pipelines", "--data", data, "--sets", "made", "--only", "BM25", "parent"))
    assert rows[0] == ["", "made", "pipeline less this"]
    assert [row[0] for row in rows[2:]] == ["BM25", "parent documents", "recursive, units, hybrid, neighbors"]
