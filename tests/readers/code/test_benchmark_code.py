"""The comparison of chunkers of source code measures what it says."""

import source_code as script

TEXT = (
    "# é\nclass Pot:\n    def boil(self):\n        return 1\n\n    @final\n    def pour(self):\n        def "
    "sip():\n            ...\n\n        return 2\n"
)


def test_both_parsers_find_the_same_functions():
    expected = ["boil", "pour", "sip"]
    result = script.functions(TEXT, "python")
    assert [names[-1][0] for _, _, names in result] == expected
    assert [TEXT[start:].startswith(f"def {name}") for name, (start, _, _) in zip(expected, result, strict=True)] == [
        True
    ] * 3
    assert result[2].names == (("Pot", TEXT.index("Pot")), ("pour", TEXT.index("pour")), ("sip", TEXT.index("sip")))
    assert script.tree_functions(TEXT, "python") == result


def test_counts_of_chunks():
    edge = TEXT.index("    @final")
    pieces = [script.Piece(TEXT[:edge], (0, edge)), script.Piece(TEXT[edge:], (edge + 1, len(TEXT)))]
    row = script.measure(TEXT, "python", pieces, 100)
    assert (row["chunks"], row["exact"], row["over"], row["kept"] == row["letters"]) == (2, 1, 0, True)
    assert (row["fitting"], row["whole"], row["parts"], row["named"]) == (3, 3, 3, 1)
    named = [pieces[0], pieces[1]._replace(place="Pot.pour")]
    assert script.measure(TEXT, "python", named, 100)["named"] == 3
    split = [script.Piece(TEXT[:edge], (0, edge)), script.Piece(TEXT[edge:-3], (edge, len(TEXT) - 3))]
    assert script.measure(TEXT, "python", split, 100)["whole"] == 2


def test_files_are_compared(tmp_path, monkeypatch):
    (tmp_path / "tea.py").write_text(TEXT)
    monkeypatch.setattr(script, "CHUNKERS", {"advchunk recursive": script.CHUNKERS["advchunk recursive"]})
    figures = script.run({"python": [tmp_path / "tea.py"]}, 60)
    row = figures["chunkers"]["advchunk recursive"]
    assert row["exact"] == row["chunks"]
    assert row["kept"] == row["letters"]
    assert "advchunk recursive" in script.table(figures)
