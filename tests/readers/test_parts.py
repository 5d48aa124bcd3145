"""Pages and elements that loaders return one by one are joined."""

import json
from pathlib import Path

import pytest

from advchunk import Document, RecursiveChunker
from advchunk.readers.parts import join_parts
from advchunk.records import Place


def pages(*metadata, text="Tea {}."):
    return [Document(text.format(i), metadata={"source": "a.pdf", **own}) for i, own in enumerate(metadata)]


def seen(documents):
    return [[place.page for block in document.blocks for place in block.places] for document in join_parts(documents)]


def test_parts_of_a_source_are_one_document_and_others_are_apart():
    parts = [Document(text, metadata={"file_path": path}) for text, path in zip("abcd", "xxyx", strict=True)]
    assert [(document.text, document.id) for document in join_parts(parts)] == [("a\n\nb", "x"), ("c", ""), ("d", "")]
    assert [document.text for document in join_parts([Document("a"), Document("b")])] == [
        "a\n\nb"
    ]  # as of Azure's loader
    assert list(join_parts([])) == []


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ([{"page_number": 3}, {"page_number": 4}], [3, 4]),
        ([{"page": 0}, {"page": 1}], [1, 2]),
        ([{"page": 4, "total_pages": 9}, {"page": 5, "total_pages": 9}], [5, 6]),
        ([{"page": 1}, {"page": 2}], [1, 2]),
        ([{"page_label": "7"}, {"page_label": "iv"}], [7]),
        ([{"page": True}, {"page_number": -1}, {"page_number": "9" * 99}, {"page": None}], []),
    ],
)
def test_pages_count_from_one(metadata, expected):
    assert seen(pages(*metadata)) == [expected]


def test_a_text_is_whole_and_blocks_are_at_their_places():
    parts = [
        Document("# Tea\n\nGreen\n", metadata={"page_number": 1, "a": 1, "b": [1]}),
        Document("  \n"),
        Document("Black."),
    ]
    parts = [Document(part.text, metadata={"source": "s", "a": 1, "b": [1], **part.metadata}) for part in parts]
    [document] = join_parts(parts)
    assert document.text == "# Tea\n\nGreen\n\n\nBlack."
    assert [document.text[slice(*block.span)] for block in document.blocks] == ["# Tea", "Green", "Black."]
    assert [block.places for block in document.blocks] == [(Place(1),), (Place(1),), ()]
    assert document.metadata == {"source": "s", "a": 1, "b": [1]}
    chunks = RecursiveChunker(max_tokens=3).chunk(document)
    assert "".join(chunk.text for chunk in chunks) == document.text
    assert "start_line" not in chunks[0].metadata  # which would be that of no file


def test_elements_have_their_kinds_and_running_headers_are_left_out():
    pytest.importorskip("selectolax")
    path = Path(__file__).parents[1] / "data" / "parsers" / "loaders.json"
    loaded = json.loads(path.read_text(encoding="utf-8"))["unstructured"]
    [document] = join_parts(Document(part["page_content"], metadata=part["metadata"]) for part in loaded)
    assert [(block.kind, block.level) for block in document.blocks] == [
        ("heading", 1), ("paragraph", 0), ("item", 1), ("formula", 0), ("heading", 2), ("table", 0), ("caption", 0), ("code", 0)
    ]  # fmt: skip
    assert "Tea Journal" not in document.text
    assert document.metadata == {"source": "docs/tea.pdf", "filename": "tea.pdf"}
