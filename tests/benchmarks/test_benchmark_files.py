"""The benchmark of files writes what it says, ours keeps it, and it counts what is missing."""

import file_forms
import files
import pytest
from file_forms import FORMS, Part, Source
from files import Piece, Tally

TEXT = """# Tea

Tea is made of *leaves*, and of `water` that
is hot. ![a cup](cup.png)

* Green
* Black

  steamed

## How hot

| Kind | Degrees |
|---|---|
| Green | 80 |

```python
boil()
# wait
```
"""
LIBRARIES = {
    ".md",
    ".txt",
    ".docx",
    ".odt",
    ".rtf",
    ".epub",
    ".pdf",
    ".ipynb",
    ".tex",
    ".rst",
    ".adoc",
    ".org",
}  # of Pandoc, and ReportLab
ROOMS = {".pptx": "pptx", ".xlsx": "openpyxl", ".msg": "olefile", ".yaml": "yaml", ".html": "selectolax"}


def source():
    rows = [
        ["town", "mortality"],
        *([f"East {name}", str(i)] for i, name in enumerate(("Ayr", "Wick", "Oban") * 9, 100)),
    ]
    table = Part("table", rows=rows, heading="Towns")
    return Source("tea", [*file_forms.markdown_parts(TEXT), Part("heading", "Towns", level=2), table], table)


def test_the_parts_of_a_text():
    assert list(file_forms.markdown_parts(TEXT)) == [
        Part("heading", "Tea", level=1),
        Part("paragraph", "Tea is made of leaves, and of water that is hot.", heading="Tea"),
        Part("item", "Green", heading="Tea"),
        Part("item", "Black", heading="Tea"),
        Part("item", "steamed", heading="Tea"),
        Part("heading", "How hot", level=2),
        Part("table", rows=[["Kind", "Degrees"], ["Green", "80"]], heading="How hot"),
        Part("code", "boil()\n# wait", heading="How hot"),
    ]


@pytest.mark.parametrize("suffix", sorted(FORMS.keys() - LIBRARIES))
def test_ours_keeps_all_that_is_written(suffix, tmp_path):
    pytest.importorskip(ROOMS.get(suffix, "json"))
    written, tally = source(), Tally()
    form, path = FORMS[suffix], file_forms.write_file(source(), suffix, tmp_path)
    missed = files.measure(
        tally, list(files.ours()(path)), written, file_forms.parts_in(written, form), form.has_headings
    )
    assert list(missed) == []
    shares = {name: tally.share(name) for name in files.MEASURES}
    assert shares.pop("foreign") < 12  # a cell of a notebook, or the header of a mail
    assert set(shares.values()) <= {100, None}
    assert shares["kept"] == 100


def counted(pieces):
    tally, written = Tally(), source()
    missed = list(files.measure(tally, pieces, written, written.parts, has_headings=True))
    return tally, missed


def test_what_is_not_there_is_counted():
    tally, missed = counted([])
    assert tally.share("kept") == tally.share("rows") == tally.share("headings") == 0
    assert len(missed) == tally.there["kept"] == 8 + 1 + 27
    whole = "\n".join(text for part in source().parts for text in part.texts())
    tally, missed = counted([Piece(whole, "", True), Piece("sugar", "", None)])
    assert missed == []
    assert tally.share("places") == 50
    assert tally.counts["foreign"] == 1


def test_a_row_needs_its_header_and_a_part_its_heading():
    rows = [" ".join(row) for row in source().table.rows]
    tally, _ = counted([Piece(row, "", None) for row in rows[1:]])
    assert (tally.counts["rows"], tally.counts["headers"]) == (27, 0)
    tally, _ = counted([Piece(row, "town, mortality", None) for row in rows[1:]])
    assert (tally.counts["rows"], tally.counts["headers"]) == (27, 27)
    tally, _ = counted([Piece("Green", "", None), Piece("Black Tea", "", None), Piece("steamed", "About Tea", None)])
    assert tally.counts["headings"] == 1


def test_words_of_a_row_are_close_together_in_any_order():
    assert files.together(["a", "b", "b"], ["b", "x", "a", "b"])
    assert not files.together(["a", "b", "b"], ["b", "x", "a"])
    assert not files.together(["a", "b"], ["a", *"x" * 30, "b"])
    assert files.together(["a", "b"], [*"x" * 30, "a", "x", "b", *"x" * 30])


def test_the_tables_name_the_best_of_the_peers():
    tallies = {}
    for name, kept in (("advchunk", 9), ("LangChain", 8), ("unstructured", 10)):
        tally = tallies[name, ".md"] = Tally()
        tally.add("kept", kept, 10)
        tally.files, tally.seconds = 8, kept
    assert files.compare(tallies, ["LangChain", "unstructured"], ".md", "kept") == "90.0 / 100 unstructured"
    tallies["LangChain", ".md"].add("kept", 90, 88)
    assert files.compare(tallies, ["LangChain", "unstructured"], ".md", "kept") == "90.0 / 100 2"
    assert files.compare(tallies, ["LangChain"], ".md", "rows") == ""
