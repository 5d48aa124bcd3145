"""The comparison of hierarchies finds nodes that are not at their offsets, and parents that are not tiled."""

import json

import hierarchies as script
from llama_index.core.schema import NodeRelationship, TextNode

from scripts import run


def test_inexact_nodes_and_parents_that_are_not_tiled_are_detected():
    nodes = [TextNode(text=text, start_char_idx=at, end_char_idx=at + len(text)) for text, at in [("abc", 0), ("a", 0)]]
    assert [script.is_exact(node, "abc") for node in nodes] == [True, True]
    assert not script.is_exact(nodes[1], "xbc")
    assert not script.is_exact(TextNode(text="abc"), "abc")
    nodes[0].relationships[NodeRelationship.CHILD] = [nodes[1].as_related_node_info()]
    assert list(script.tilings(nodes)) == [False]
    nodes[0].set_content("a")
    assert list(script.tilings(nodes)) == [True]


def test_every_node_of_ours_is_exact(tmp_path):
    folder = tmp_path / "chroma"
    folder.mkdir()
    (folder / "a.md").write_text("# Tea\n\nBoil water. Add tea.\n\nWait. " * 90, "utf-8")
    results = json.loads(run("hierarchies", "--data", tmp_path))
    assert list(results) == ["chroma"]
    for label in ("hierarchical, same sizes", "hierarchical"):
        measured = results["chroma"][label]
        assert (measured["exact"], measured["tiled"], measured["same ids"]) == (1, 1, 1)
    assert results["chroma"]["HierarchicalNodeParser of LlamaIndex"]["same ids"] == 0


def test_questions_are_answered_by_levels(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    texts = [
        " ".join(f"In {topic} {i}, the {topic} of year {i} is kept." for i in range(40)) for topic in ("tea", "rum")
    ]
    questions = []
    for name, text in zip(("a.md", "b.md"), texts, strict=True):
        (folder / name).write_text(text, "utf-8")
        for i in (3, 30):
            start = text.index(f"year {i} is")
            reference = {"document": name, "start": start, "end": start + 12}
            questions.append({"question": f"What is kept of {text[3:6]} {i}?", "references": [reference]})
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), "utf-8")
    report = script.answer_questions(tmp_path, ["small"], [200, 50], tmp_path / "store")
    assert report == script.answer_questions(tmp_path, ["small"], [200, 50], tmp_path / "store")
    first, *_ = report.split("\n\n")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in first.splitlines()[2:]]
    assert rows[: len(script.SEARCHES)] == list(script.SEARCHES)
    assert rows[len(script.SEARCHES) :] == ["AutoMergingRetriever, 200, 50", "AutoMergingRetriever, 2048, 512, 128"]
    assert "failed" not in report


def test_chunks_of_llama_index_are_located_with_their_parents():
    text = "".join(f"Sentence {i} is about tea.\n\n" for i in range(60))
    (chunks,) = script.TheirHierarchy((128, 32))([script.Source(text, "a")])
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    for chunk in chunks:
        assert (chunk.parent is None) == (chunk.level == 0)
        if chunk.parent is not None:
            above = chunks[chunk.parent]
            assert above.start <= chunk.start <= chunk.end <= above.end
