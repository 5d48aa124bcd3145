"""Results of other parsers are read: their JSON, as their own classes write it (tools/parser_results.py), and their
objects."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from advchunk import ConfigurationError, Document, RecursiveChunker, read_file
from advchunk.readers.formats import detect_format
from advchunk.readers.pages.parsers import azure, llamaparse, marker, mineru, unstructured
from advchunk.records import Place
from blocks import blocks_of

pytestmark = pytest.mark.usefixtures("_html")
DATA = Path(__file__).parents[2] / "data" / "parsers"
READERS = {
    "unstructured": unstructured, "mineru_content_list": mineru, "marker_json": marker, "marker_chunks": marker,
    "llamaparse_v1": llamaparse, "llamaparse_v2": llamaparse, "azure_text": azure, "azure_markdown": azure,
}  # fmt: skip
TABLE = "| Tea | Hours | Hours |\n| --- | --- | --- |\n| green | 7.1 | 0.4 |"


@pytest.fixture
def _html():
    pytest.importorskip("selectolax")


def content(name):
    return (DATA / f"{name}.json").read_text(encoding="utf-8")


def value(name):
    return json.loads(content(name))


def only(document, kind):
    [block] = [block for block in document.blocks if block.kind == kind]
    return block, document.text[slice(*block.span)]


# What all have in common.


@pytest.mark.parametrize("name", READERS)
def test_a_file_is_recognized_and_has_headings_tables_and_pages(name):
    document = read_file(DATA / f"{name}.json")
    assert document.markup == name.partition("_")[0] == detect_format(content(name))
    headings = [text.lstrip("# ") for kind, _, text in blocks_of(document) if kind == "heading"]
    assert headings[0].startswith("Tea and sleep")
    assert {place.page for block in document.blocks for place in block.places} == {1, 2}
    assert "Tea Journal" not in document.text or name == "azure_markdown"
    table, text = only(document, "table")
    assert (table.places[0].page, "green" in text) == (1 if name == "llamaparse_v1" else 2, True)
    assert all(block.places for block in document.blocks)
    chunk = next(chunk for chunk in RecursiveChunker().chunk(document) if "green" in chunk.text)
    assert chunk.metadata["page"] in {1, 2}
    if "v1" not in name:
        assert document.text.count("7.1") == 1  # not again as a paragraph


@pytest.mark.parametrize("name", READERS)
def test_objects_are_read_as_their_json(name):
    reader, plain = READERS[name], value(name)
    expected = reader.read(content(name))
    for export in ("as_dict", "model_dump", "to_dict"):
        exported = SimpleNamespace(**{export: lambda **_: plain})
        if isinstance(plain, list):
            items = [SimpleNamespace(**{export: lambda item=item, **_: item}) for item in plain]
            assert blocks_of(reader.document(items)) == blocks_of(expected)
        else:
            assert blocks_of(reader.document(exported)) == blocks_of(expected)
    with pytest.raises(ConfigurationError, match=r"a result must be JSON, or objects with as_dict, .*, got object"):
        reader.document(object())
    document = reader.document(plain, id="a", metadata={"page_count": 9, "note": "x"})
    assert (document.id, document.metadata["page_count"], document.metadata["note"]) == ("a", 9, "x")


def test_values_of_objects_may_be_tuples_and_arrays():
    about = {"page_number": 1, "coordinates": {"points": ((10, np.float32(20)), (30, 40)), "system": "PixelSpace"}}
    element = SimpleNamespace(to_dict=lambda: {"type": "Title", "text": "Tea", "metadata": about})
    assert unstructured.document((element,)).blocks[0].places == (Place(1, (10, 20, 30, 40)),)


@pytest.mark.parametrize("name", READERS)
def test_furniture_is_kept_if_asked_for(name):
    reader = READERS[name]
    kept = [text for kind, _, text in blocks_of(reader.read(content(name), furniture="keep")) if kind == "furniture"]
    has_header = name not in {"llamaparse_v1", "marker_json", "marker_chunks"}  # their results do not have it
    assert any("Tea Journal" in text for text in kept) == has_header
    with pytest.raises(ConfigurationError, match="furniture must be"):
        reader.read(content(name), furniture="some")


@pytest.mark.parametrize("name", READERS)
def test_other_json_is_one_error_that_names_the_place(name):
    reader = READERS[name]
    for wrong in (
        "{}",
        "[{}]",
        '"tea"',
        "[[1]]",
        '{"a": [1]}',
        "[1]",
        '{"pages": 1}',
        '{"children": [{}]}',
        "{",
        "null",
    ):
        with pytest.raises(ConfigurationError):
            reader.read(wrong)


@pytest.mark.parametrize("name", READERS)
def test_a_value_of_any_other_type_is_read_or_an_error_that_names_it(name):
    """Each value is replaced by another in turn; a result is then a document, or an error of ours."""
    plain, paths = value(name), list[list]()

    def walk(item, path):
        paths.append(path)
        children = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        for key, child in children:
            walk(child, [*path, key])

    walk(plain, [])
    for path in paths[1::3]:
        for other in ({}, [], [{}], "x", -1, True, float("nan")):
            changed = json.loads(content(name))
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = other
            try:
                RecursiveChunker().chunk(READERS[name].document(changed))
            except ConfigurationError as error:
                assert str(error)  # noqa: PT017 - either is right


# What each one has.


def test_elements_of_unstructured():
    document = unstructured.read(content("unstructured"))
    assert blocks_of(document) == [
        ("heading", 1, "Tea and sleep"),
        ("paragraph", 0, "We asked 120 sailors about tea."),
        ("item", 1, "- green"),
        ("item", 1, "[x]"),
        ("formula", 0, "E = mc^2"),
        ("heading", 2, "Results"),
        ("table", 0, TABLE),
        ("caption", 0, "Figure 1: a cup."),
        ("code", 0, "brew(80)\n  .pour()"),
    ]
    assert document.blocks[0].places == (Place(1, (100, 100, 900, 150)),)
    assert document.metadata == {"source": "tea.pdf", "filename": "tea.pdf"}


def test_coordinates_of_unstructured_from_below_are_from_above():
    corners = [[10, 700], [10, 690], [90, 690], [90, 700]]
    about = {"page_number": 4, "coordinates": {"points": corners, "system": "PointSpace", "layout_height": 800}}
    elements = [{"type": "Title", "text": "Tea", "metadata": about}, {"type": "Text", "text": "Green."}]
    document = unstructured.document(elements)
    assert [block.places for block in document.blocks] == [(Place(4, (10, 100, 90, 110)),), ()]
    del about["coordinates"]["layout_height"]
    assert unstructured.document(elements).blocks[0].places == (Place(4),)


def test_contents_of_mineru():
    assert blocks_of(mineru.read(content("mineru_content_list"))) == [
        ("heading", 1, "Tea and sleep"),
        ("paragraph", 0, "We asked 120 sailors about tea."),
        ("item", 1, "- green"),
        ("item", 1, "- black"),
        ("formula", 0, "$$\nE = mc^2\n$$"),
        ("footnote", 0, "1 By letter."),
        ("heading", 2, "Results"),
        ("caption", 0, "Table 1: sleep."),
        ("table", 0, TABLE),
        ("footnote", 0, "In hours."),
        ("caption", 0, "Figure 1: a cup."),
        ("figure", 0, "A cup of tea."),
        ("code", 0, "brew(80)\n  .pour()"),
    ]


def test_contents_of_mineru_of_former_versions():
    contents = [
        {"type": "title", "text": "Tea", "text_level": 1, "page_idx": 0},
        {"type": "image", "img_path": "a.jpg", "img_caption": ["A cup."], "img_footnote": ["By us."], "page_idx": 0},
        {"type": "equation", "text": "$$\nx\n$$", "text_format": "latex", "page_idx": 0},
        {"type": "list", "sub_type": "ref_text", "list_items": ["[1] Tea."], "page_idx": 1},
        {"type": "index", "list_items": ["- Tea", "    - Green"], "page_idx": 1},
        {"type": "table", "table_body": "", "img_path": "b.jpg", "page_idx": 1},
    ]
    assert blocks_of(mineru.document(contents)) == [
        ("heading", 1, "Tea"), ("caption", 0, "A cup."), ("footnote", 0, "By us."), ("formula", 0, "$$\nx\n$$"),
        ("reference", 0, "[1] Tea."), ("item", 1, "- Tea"), ("item", 2, "- Green"),
    ]  # fmt: skip


def test_blocks_of_marker():
    expected = [
        ("heading", 1, "Tea and sleep"),
        ("paragraph", 0, "We asked 120 sailors, $10^9$ cups."),
        ("item", 1, "- green"),
        ("item", 1, "- black"),
        ("formula", 0, "$$E = mc^2$$"),
        ("heading", 2, "Results"),
        ("caption", 0, "Table 1: sleep."),
        ("table", 0, TABLE),
        ("code", 0, "brew(80)\n  .pour()"),
        ("footnote", 0, "1 By letter."),
    ]
    assert blocks_of(marker.read(content("marker_json"))) == expected
    flat = blocks_of(marker.read(content("marker_chunks")))  # which has captions within the groups of tables
    assert [text for *_, text in flat] == [text for *_, text in expected]


def test_a_table_of_marker_is_read_once_though_its_cells_are_its_children():
    cells = [{"block_type": "TableCell", "html": f"<td>{text}</td>", "id": "/page/0/TableCell/1"} for text in "ab"]
    table = {"block_type": "Table", "id": "/page/0/Table/0", "children": cells}
    whole = table | {"html": "<table><tr><td>a</td><td>b</td></tr></table>"}
    assert marker.document({"children": [whole]}).text == "| --- | --- |\n| a | b |"
    assert marker.document({"children": [table | {"html": ""}]}).text == "a\n\nb"


def test_pages_of_llamaparse(caplog):
    first, second = (blocks_of(llamaparse.read(content(f"llamaparse_{version}"))) for version in ("v1", "v2"))
    assert first == [
        ("heading", 1, "Tea and sleep"), ("paragraph", 0, "We asked **120** sailors."),
        ("table", 0, "| Tea | Hours |\n| --- | --- |\n| "
                     "green | 7.1 |"), ("heading", 2, "Results"), ("paragraph", 0, "They slept."),
    ]  # fmt: skip
    assert second == [
        ("heading", 1, "Tea and sleep"), ("paragraph", 0, "We asked **120** sailors."), ("item", 1, "- green"), ("item", 1, "- black"),
        ("table", 0, "| Tea | Hours |\n| --- | --- |\n| "
                     "green | 7.1 |"), ("code", 0, "```\nbrew(80)\n```"), ("figure", 0, "a cup"),
    ]  # fmt: skip
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "LlamaParse failed on pages 3" in caplog.text
    several = llamaparse.document([value("llamaparse_v1")] * 2)  # get_json_result returns a list
    assert (several.metadata["page_count"], several.text.count("They slept.")) == (4, 2)
    markdown = {
        "job": {"id": "1"},
        "markdown": {"pages": [{"page_number": 7, "markdown": "# Tea\n\nGreen.", "success": True}]},
    }
    assert [(block.kind, block.places) for block in llamaparse.document(markdown).blocks] == [
        ("heading", (Place(7),)), ("paragraph", (Place(7),))
    ]  # fmt: skip


def test_plain_content_of_azure_has_each_paragraph_once_and_levels_of_sections():
    document = azure.read(content("azure_text"))
    assert blocks_of(document) == [
        ("heading", 1, "Tea and sleep \U0001f375"),
        ("paragraph", 0, "We asked 120 sailors about tea."),
        ("heading", 2, "Results"),
        ("caption", 0, "Table 1: sleep."),
        ("table", 0, TABLE),
        ("footnote", 0, "1 By letter."),
    ]
    assert document.metadata == {"title": "Tea and sleep \U0001f375", "page_count": 2}
    assert document.blocks[1].places == (Place(1, (72, 144, 504, 165.6)),)  # inches are points
    last = RecursiveChunker(max_tokens=40, include_context=True).chunk(document)[-1]
    assert last.context == "Tea and sleep \U0001f375 > Results"


def test_markdown_of_azure_is_unchanged_and_chunks_are_spans_of_it():
    result = value("azure_markdown")
    document = azure.document(result)
    assert document.text == result["content"]
    for chunk in RecursiveChunker(max_tokens=16).chunk(document):
        assert chunk.text == "".join(result["content"][start:end] for start, end in chunk.spans)
    table, _ = only(document, "table")
    assert table.places == (Place(2, (72, 216, 504, 360)),)
    assert [block.kind for block in document.blocks].count("caption") == 1


def test_offsets_of_azure_count_the_units_that_it_says():
    tea, e = "\U0001f375", "e\u0301"
    assert azure._unit_offsets(f"a{tea}{e}b", "utf16CodeUnit").tolist() == [0, 1, 1, 2, 3, 4, 5]
    assert azure._unit_offsets(f"a{tea}{e}b", "textElements").tolist() == [0, 1, 2, 4, 5]
    cell, spans = {"rowIndex": 0, "columnIndex": 0, "content": "inside"}, [{"offset": 5, "length": 6}]
    paragraphs = [
        {"content": f"{tea}{tea}", "spans": [{"offset": 0, "length": 4}]}, {"content": "inside", "spans": spans},
        {"content": "after", "spans": [{"offset": 12, "length": 5}]},
    ]  # fmt: skip
    result = {"content": f"{tea}{tea} inside after", "paragraphs": paragraphs, "stringIndexType": "utf16CodeUnit"}
    result["tables"] = [{"cells": [cell], "spans": spans}]
    assert blocks_of(azure.document({"analyzeResult": result, "status": "succeeded"})) == [
        ("paragraph", 0, tea + tea), ("table", 0, "| --- |\n| inside |"), ("paragraph", 0, "after")
    ]  # fmt: skip


def test_wrong_results_of_azure_are_errors():
    result = {"stringIndexType": "unicodeCodePoint", "content": "Tea"}
    for wrong, message in [
        (
            {"stringIndexType": "bytes"},
            "stringIndexType must be one of unicodeCodePoint, utf16CodeUnit, textElements, got 'bytes'",
        ),
        (
            {"paragraphs": [{"spans": [{"offset": 2, "length": 9}]}]},
            r"paragraphs\[0\].spans\[0\] must be in the content, 0 to 3",
        ),
        (
            {"tables": [{"cells": [{"rowIndex": -1}]}]},
            r"tables\[0\].cells must have rows and columns >= 0, and spans >= 1",
        ),
        ({"tables": [{"cells": [{"rowSpan": 10**9, "columnSpan": 10**9}]}]}, "must have at most 25,000,000 characters"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            azure.document({**result, **wrong})


def test_sections_of_azure_that_contain_each_other_end():
    heading = {"role": "sectionHeading", "content": "Tea", "spans": [{"offset": 0, "length": 3}]}
    sections = [
        {"elements": ["/sections/1"]},
        {"elements": ["/sections/0", "/sections/9", "/sections/x", "/paragraphs/0"]},
    ]
    result = {"stringIndexType": "unicodeCodePoint", "content": "Tea", "paragraphs": [heading], "sections": sections}
    assert blocks_of(azure.document(result)) == [("heading", 1, "Tea")]


# Documents of loaders.


def test_an_element_of_a_loader_is_of_its_kind_and_keeps_its_metadata():
    metadata = {
        "element_id": "a",
        "category": "Table",
        "page_number": 2,
        "text_as_html": "<table><tr><td>a<td>b</table>",
        "mine": 1,
    }
    [chunk] = RecursiveChunker().chunk(Document("a b", metadata=metadata))
    assert chunk.text == "| --- | --- |\n| a | b |"
    assert {key: chunk.metadata[key] for key in metadata} == metadata
    assert chunk.metadata["page"] == 2


def test_metadata_that_only_resemble_those_of_a_loader_change_nothing():
    for metadata in ({"element_id": 7, "category": 3}, {"element_id": "a"}, {"stringIndexType": "x"}):
        assert [chunk.text for chunk in RecursiveChunker().chunk(Document("Tea.", metadata=metadata))] == ["Tea."]
    odd = {"element_id": "a", "category": "Title", "page_number": "iv", "coordinates": "none", "category_depth": None}
    assert [chunk.text for chunk in RecursiveChunker().chunk(Document("Tea.", metadata=odd))] == ["Tea."]


def test_a_document_of_the_loader_of_azure_does_not_carry_the_whole_result():
    result = value("azure_markdown")
    chunks = RecursiveChunker(max_tokens=16).chunk(Document(result["content"], metadata={**result, "mine": 1}))
    assert {chunk.metadata["page"] for chunk in chunks} == {1, 2}
    assert all(chunk.metadata["mine"] == 1 and "paragraphs" not in chunk.metadata for chunk in chunks)
