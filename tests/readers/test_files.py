"""Files are read as what they are."""

import json

import pytest

from advchunk import BiomedicalAbstractChunker, ConfigurationError, RecursiveChunker, read_file
from advchunk.readers import encodings
from pdfs import Paper

FILES = {
    "guide.md": ("# Tea\n\nGreen.", "# Tea\n\nGreen.", ["heading", "paragraph"]),
    "guide.txt": ("# Tea\n\nGreen.", "# Tea\n\nGreen.", []),
    "page.html": ("<h2>Tea</h2><p>Green.", "Tea\n\nGreen.", ["heading", "paragraph"]),
    "paper.xml": ("<TEI><text><body><p>Green.</p></body></text></TEI>", "Green.", ["paragraph"]),
    "record.nbib": ("PMID- 7\nAB  - AIM: To see.", "AIM: To see.", ["heading", "paragraph"]),
    "note.xml": ("<note><title>Tea</title><a>Green.</a></note>", "Tea\n\nGreen.", ["heading", "paragraph"]),
    "some.json": (json.dumps({"a": 1}), "a: 1", ["code"]),
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_by_their_names(name, tmp_path):
    path, (content, text, kinds) = tmp_path / name, FILES[name]
    path.write_text(content, encoding="utf-8")
    document = read_file(path, metadata={"shelf": "3"})
    assert (document.text, [block.kind for block in document.blocks]) == (text, kinds)
    assert (document.id, document.metadata["shelf"]) == (str(path), "3")


def test_a_pdf_is_read_with_its_pages(tmp_path):
    path = tmp_path / "tea.PDF"
    path.write_bytes(Paper().page().lines(60, 120, ["Green tea is steamed.", "Black tea is not."]).data())
    document = read_file(str(path))
    assert document.text == "Green tea is steamed. Black tea is not."
    assert [place.page for block in document.blocks for place in block.places] == [1]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "tea.txt",
            "Thé, thé".encode() + b"\xe9",
            "text files must be UTF-8 unless encoding is given, got byte 0xe9 at 10",
        ),
        (
            "tea.dotx",
            b"PK\x03\x04\x14\xff",
            "text files must be UTF-8 unless encoding is given, got a zip archive, such as an Office document",
        ),
        ("tea.txt", "Tea".encode("utf-16")[:-1], "the file must be utf-16, got byte 0x61 at 6"),
        ("tea", b"%PDF-1.7\n%\xe2\xe3", "text files must be UTF-8 unless encoding is given, got a PDF"),
        pytest.param("tea.pdf", b"PK\x03\x04\x14\xff", "tea.pdf must be a PDF, got a zip"),
    ],
)
def test_wrong_file_type_raises_an_error_that_names_it(name, data, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ConfigurationError) as caught:
        read_file(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "start", "encoding"),
    [
        ("a.html", "<meta charset=iso-8859-1>", "cp1252"),
        ("a.html", "<meta charset=ISO-8859-1>", "cp1252"),
        ("a.html", '<meta http-equiv="Content-Type" content="text/html; charset=windows-1250">', "cp1250"),
        ("a.html", "<META CHARSET='shift_jis'>", "shift_jis"),
        ("a.xml", '<?xml version="1.0" encoding="ISO-8859-15"?><TEI><text><p>', "iso8859-15"),
    ],
)
def test_declared_encoding_is_used(tmp_path, name, start, encoding):
    text = "東京" if encoding == "shift_jis" else "Škoda" if encoding == "cp1250" else "10 €: thé"
    end = "</p></text></TEI>" if name == "a.xml" else ""
    (tmp_path / name).write_bytes(f"{start}{text}{end}".encode(encoding))
    assert read_file(tmp_path / name).text == text


@pytest.mark.parametrize("declared", ["utf-8", "utf-16", "no-such-code", "shift_jis", "rot13"])
@pytest.mark.parametrize("has_library", [True, False])
def test_an_encoding_that_is_declared_wrongly_is_found_or_an_error(tmp_path, monkeypatch, declared, has_library):
    (tmp_path / "a.html").write_bytes(
        f"<meta charset={declared}>".encode() + "Ein Tee für die Gäste.\xff".encode("cp1252")
    )
    if has_library:
        pytest.importorskip("chardet")
        assert read_file(tmp_path / "a.html").text == "Ein Tee für die Gäste.\xff"
    else:
        monkeypatch.setattr(encodings, "_chardet", lambda: None)
        with pytest.raises(
            ConfigurationError, match=r"must be UTF-8 .*, got byte 0xfc at .*; pip install 'advchunk\[encodings\]'"
        ):
            read_file(tmp_path / "a.html")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.xml"])
@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(name, mark, tmp_path):
    text = "<a>Thé 東京</a>" if name in {"a.html", "a.xml"} else "Thé 東京"
    (tmp_path / name).write_bytes(text.encode(mark))
    assert read_file(tmp_path / name).text == "Thé 東京"


@pytest.mark.parametrize(("name", "start"), [("a.html", "<p>"), ("a.htm", "<html><p>"), ("a.xhtml", "<p>")])
def test_html_without_a_declaration_is_read_as_in_browsers(name, start, tmp_path):
    (tmp_path / name).write_bytes(start.encode() + "“Thé”, 10 €".encode("cp1252") + b" \x81.")
    assert read_file(tmp_path / name).text == "“Thé”, 10 € \x81."


def test_a_byte_order_mark_is_not_part_of_a_text_whose_encoding_is_known(tmp_path):
    (path := tmp_path / "a.txt").write_bytes("Tea".encode("utf-8-sig"))
    assert read_file(path, encoding="utf-8").text == "Tea"


def test_a_given_encoding_is_used(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Škoda".encode("cp1250"))
    assert (
        read_file(path, encoding="cp1250").text == RecursiveChunker().read_file(path, encoding="cp1250").text == "Škoda"
    )
    with pytest.raises(ConfigurationError, match="the file must be ascii, got byte 0x8a at 0"):
        read_file(path, encoding="ascii")
    for wrong in ("latin-2000", "rot13"):
        with pytest.raises(ConfigurationError, match=f"encoding must be the name of a text encoding, .* got '{wrong}'"):
            read_file(path, encoding=wrong)


@pytest.mark.parametrize("chunker", [RecursiveChunker(), BiomedicalAbstractChunker(), RecursiveChunker(markup="auto")])
def test_each_of_several_records_is_a_document(chunker, tmp_path):
    (path := tmp_path / "records.nbib").write_text(
        "PMID- 7\nAB  - AIM: To see.\n\nPMID- 8\nAB  - RESULTS: It was seen.\n"
    )
    documents = chunker.read_documents(path, metadata={"shelf": 3, "source": "ours"})
    assert [document.id for document in documents] == ["pubmed:7", "pubmed:8"]
    assert {(document.metadata["shelf"], document.metadata["source"]) for document in documents} == {(3, "ours")}
    assert [[chunk.text for chunk in chunks] for chunks in chunker.chunk_many(documents)] == [
        ["AIM: To see."],
        ["RESULTS: It was seen."],
    ]
    with pytest.raises(ConfigurationError, match=r"must contain one document; .* got 2"):
        chunker.read_file(path)
