"""The benchmark of Office files counts what is there, and what ours keeps is all of the formats that it reads."""

import json

import pytest

pytest.importorskip("markitdown")
import office


def test_what_is_kept_of_the_formats_that_are_read_is_all_there_is(capsys):
    office.main(["ours"])
    results = json.loads(capsys.readouterr().out)
    missed = {kind: results["there"][kind] - results["ours"][kind] for kind in office.KINDS}
    in_refused = [
        len(odt) + len(rtf) for odt, rtf in zip(office.FILES["tea.odt"][1], office.FILES["tea.rtf"][1], strict=True)
    ]
    assert [*missed.values()] == in_refused
    assert results["ours"]["refused"] == {"tea.odt": "Unreadable", "tea.rtf": "Unreadable"}


def test_a_text_counts_only_in_a_block_of_its_kind():
    blocks = [("heading", "Tea kinds"), ("paragraph", "Sencha, a note"), ("header", "Kind Degrees")]
    assert [*office.counts(blocks, (("Tea", "Sencha"), ("Sencha",), ("Kind",), ("a note", "rum")))] == [1, 0, 1, 1]
