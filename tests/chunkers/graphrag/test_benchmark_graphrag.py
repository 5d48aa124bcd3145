"""The benchmark of GraphRAG runs on a small corpus, and its checks pass."""

import json

from advchunk.chunkers.graphrag.communities import leiden_version
from scripts import run


def test_a_small_corpus_is_measured_and_golden_runs_are_compared(tmp_path):
    folder, golden = tmp_path / "made", tmp_path / "golden"
    folder.mkdir()
    golden.mkdir()
    for i, (a, b) in enumerate([("Ann Ames", "Bob Bell"), ("Dora Dunn", "Emil Egan"), ("Fay Foss", "Gus Gray")]):
        text = f"We saw {a} and {b}. Both {b} and {a} left. As {a} wrote, {b} read. " * 40
        (folder / f"{i}.txt").write_text(text, "utf-8")
    asked = [
        {"question": f"Did {name} leave?", "references": [{"document": document, "start": 0, "end": 60}]}
        for name, document in (("Ann Ames", "0.txt"), ("Gus Gray", "2.txt"))
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
    settings = {"max_cluster_size": 10, "use_lcc": False, "seed": 7}
    of_theirs = {"settings": settings, "communities": [[0, 0, -1, ["a", "b"]]]}
    values = {"versions": {"graspologic-native": leiden_version()}, "edges": [["b", "a", 1.0]], "runs": [of_theirs]}
    (golden / "pair.json").write_text(json.dumps(values), "utf-8")
    output = run("graphrag", "--data", tmp_path, "--sets", "made", "--questions", "--golden", golden)
    compared, measured, checked, *answers = map(json.loads, output.splitlines())
    assert (compared["runs"], compared["same"]) == (1, 1)
    assert (measured["documents"], measured["entities"]) == (3, 6)
    assert checked["exact"]
    assert checked["identical"]
    asked_of = ["made", "several documents, aspects", "several documents, documents"]
    assert [answer["questions"] for answer in answers] == asked_of * 2
    assert answers[0]["leaves"] > 0
