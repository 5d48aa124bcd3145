"""The benchmark of Office files counts what is there, and ours keeps all of it."""

import json

import pytest

pytest.importorskip("pptx")
import office


def test_all_that_there_is_is_kept(capsys):
    office.main(["ours"])
    results = json.loads(capsys.readouterr().out)
    missed = {kind: results["there"][kind] - results["ours"][kind] for kind in office.KINDS}
    assert missed == {"headings": 0, "items": 0, "headers": 0, "notes": 0}
    assert results["ours"]["refused"] == {}


def test_a_text_counts_only_in_a_block_of_its_kind():
    blocks = [("heading", "Tea kinds"), ("paragraph", "Sencha, a note"), ("header", "Kind Degrees")]
    assert [*office.counts(blocks, (("Tea", "Sencha"), ("Sencha",), ("Kind",), ("a note", "rum")))] == [1, 0, 1, 1]
