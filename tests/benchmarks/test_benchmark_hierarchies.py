"""The comparison of hierarchies finds nodes that are not at their offsets, and parents that are not tiled."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from llama_index.core.schema import NodeRelationship, TextNode

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import hierarchies

    return hierarchies


def test_inexact_nodes_and_parents_that_are_not_tiled_are_detected(script):
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
    command = [sys.executable, "-W", "ignore", BENCHMARKS / "hierarchies.py", "--data", tmp_path]
    results = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert list(results) == ["chroma"]
    for label in ("hierarchical, same sizes", "hierarchical"):
        measured = results["chroma"][label]
        assert (measured["exact"], measured["tiled"], measured["same ids"]) == (1, 1, 1)
    assert results["chroma"]["HierarchicalNodeParser of LlamaIndex"]["same ids"] == 0
