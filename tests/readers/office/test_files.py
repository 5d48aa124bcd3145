"""Office files: what is kept of each kind, what is left out and said, and that nothing hostile or damaged gets
through."""

import logging
from datetime import datetime
from email.message import EmailMessage
from io import BytesIO

import pytest
from click.testing import CliRunner
from office_files import (
    BODY,
    NOTE,
    SAMPLES,
    compound,
    ebook,
    open_text,
    outlook,
    paragraph,
    report,
    rich_text,
    slides,
    word,
    workbook,
    zipped,
)  # fmt: skip

import langchain_advchunk
import llamaindex_advchunk
import one_text
from advchunk import ConfigurationError, RecursiveChunker, chunk_files, read_file
from advchunk.cli import main
from advchunk.errors import Unreadable
from advchunk.readers.office.files import read
from advchunk.readers.office.word_styles import kind_of_style
from blocks import blocks_of, check_unknown_elements, damaged, part, replaced, texts_of

pytest.importorskip("lxml")
READ = [suffix for suffix in SAMPLES if suffix != ".msg"]
TABLE = "| Kind | Degrees |\n| --- | --- |\n| Green | 80 |\n| Black | 95 |"


@pytest.mark.parametrize("marks_head", [True, False])
def test_word_has_headings_lists_tables_with_heads_and_notes(marks_head):
    assert blocks_of(read(report(marks_head=marks_head))) == [
        ("heading", 1, "Tea report"), ("heading", 1, "Kinds 1"), ("paragraph", 0, "Tea is made of leaves.[^1]"),
        ("heading", 2, "Steamed"), ("item", 1, "- Sencha"), ("item", 2, "- from Uji"), ("item", 1, "- Gyokuro"),
        ("item", 1, "1. Heat"), ("item", 1, "2. Pour"), ("heading", 2, "Temperatures"), ("table", 0, TABLE),
        ("footnote", 0, f"[^1]: {NOTE}"),
    ]  # fmt: skip


def test_slides_are_pages_with_lists_tables_and_notes():
    document = read(slides())
    assert blocks_of(document) == [
        ("heading", 1, "Kinds 1"), ("item", 1, "- Green 1"), ("item", 2, "- Sencha"), ("item", 1, "- Black"),
        ("heading", 2, "Notes"), ("paragraph", 0, NOTE),
        ("heading", 1, "Kinds 2"), ("item", 1, "- Green 2"), ("item", 2, "- Sencha"), ("item", 1, "- Black"),
        ("heading", 2, "Notes"), ("paragraph", 0, NOTE),
        ("heading", 1, "Temperatures"), ("table", 0, TABLE),
    ]  # fmt: skip
    assert [block.places[0].page for block in document.blocks] == [1] * 6 + [2] * 6 + [3] * 2
    pages = [chunk.metadata["page"] for chunk in RecursiveChunker(max_tokens=12).chunk(document)]
    assert pages == sorted(pages)
    assert {*pages} == {1, 2, 3}


def test_sheets_are_tables_whose_chunks_have_the_head_and_the_name(tmp_path):
    path, since = tmp_path / "tea.xlsx", datetime(2026, 3, 1)
    rows = [("Prices of tea",), (), ("Kind", "Price", "Since"), *(("Green", i, since) for i in range(30))]
    path.write_bytes(workbook({"Blank": [], "Tea": rows, "Shops": [(None, "City"), (None, "Uji")]}))
    ((document, chunks),) = chunk_files(path, RecursiveChunker(max_tokens=60))
    assert [kind for kind, _, _ in blocks_of(document)] == ["heading", "paragraph", "table", "heading", "table"]
    assert "| Green | 29 | 2026-03-01 |" in document.text
    assert document.text.endswith("Shops\n\n| City |\n| --- |\n| Uji |")
    tables = [chunk for chunk in chunks if "| Green" in chunk.text]
    assert len(tables) > 3
    assert all("| Kind | Price | Since |" in chunk.embed_text for chunk in tables)
    assert {chunk.metadata["sheet"] for chunk in tables} == {"Tea"}
    assert "Shops\n\n| City |" in chunks[-1].text  # also if rows of the sheet before fit in


def test_books_have_metadata_and_chapters_in_order():
    document = read(ebook([BODY, "<h1>Black</h1><p>Hot.</p>"]))
    assert document.metadata == {"title": "Tea report", "authors": "Ann Lee", "language": "en"}
    assert texts_of(document, "heading") == ["Kinds", "Steamed", "Temperatures", "Black"]
    assert ("item", 2, "- from Uji") in blocks_of(document)
    assert ("table", 0, TABLE) in blocks_of(document)


def test_declared_properties_are_metadata_and_the_users_win():
    core = '<p xmlns:dc="x"><dc:title>On tea</dc:title><dc:creator>Ann;Bob</dc:creator></p>'
    data = replaced(report(), "docProps/core.xml", core)
    assert read(data, metadata={"title": "Mine"}).metadata == {"title": "Mine", "authors": "Ann; Bob"}
    assert "title" not in read(replaced(report(), "docProps/core.xml", core.replace("On tea", "Document1"))).metadata


def test_pictures_are_their_descriptions_and_said(caplog):
    with caplog.at_level(logging.INFO, "advchunk"):
        document = read(slides(1), id="tea.pptx")
    assert document.metadata["left_out"] == "pictures: 1"
    assert caplog.messages == ["tea.pptx: left out pictures: 1"]
    assert "image/" not in document.text


@pytest.mark.parametrize("suffix", READ)
def test_what_a_file_is_its_bytes_decide_and_all_text_is_in_blocks(suffix, tmp_path):
    path = tmp_path / f"tea{suffix}"
    path.write_bytes(SAMPLES[suffix]())
    document = read_file(path)
    assert document.markup == "office"
    assert document.text == read(path.read_bytes(), id="lying.docx").text
    within = "".join(document.text[slice(*block.span)] for block in document.blocks)
    assert "".join(within.split()) == "".join(document.text.split()) != ""
    assert "".join(chunk.text for chunk in RecursiveChunker(max_tokens=20).chunk(document)) == document.text


FAR = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension '
    'ref="A1:XFD1048576"/><sheetData>{}</sheetData></worksheet>'
)
FAR_ROWS = (f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, 400))
HOSTILE = {
    "empty": (b"", "got b''"),
    "PDF": (b"%PDF-1.7", "got a PDF"),
    "prose": (b"Green tea.", "got b'Green tea.'"),
    "half": (report()[:900], "got a damaged archive"),
    "archive": (zipped({"tea.txt": "Tea."}), "got an archive of tea.txt"),
    "a drawing of OpenDocument": (zipped({"mimetype": "application/vnd.oasis.opendocument.graphics"}), "got application/vnd.oasis.opendocument.graphics"),
    "OpenDocument without a text": (
        zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "x.docx must not be damaged"
    ),
    "encrypted": (compound({"EncryptedPackage": b"\0" * 64}), "got an encrypted one"),
    "binary workbook": (
        zipped({"_rels/.rels": one_text.relations(("r", "officeDocument", "xl/workbook.bin")), "xl/workbook.bin": ""}),
        "got a binary workbook (.xlsb), which Excel saves as .xlsx",
    ),
    "message": (outlook(), "got a message of Outlook"),
    "old": (compound({"WordDocument": b"\0" * 64}), "got one in the format before 2007"),
    "no document": (zipped({"word/other.xml": "<a/>"}), "x.docx must not be damaged"),
    "bad XML": (replaced(report(), "word/document.xml", "<w:document"), "x.docx must not be damaged"),
    "entities": (
        replaced(report(), "word/document.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        "must not define entities, got 'word/document.xml'",
    ),
    "entities in UTF-16": (
        replaced(ebook(), "OPS/c0.xhtml", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a/>'.encode("utf-16")),
        "must not define entities, got 'OPS/c0.xhtml'",
    ),
    "bomb": (replaced(report(), "word/document.xml", b" " * 50_000_001), "must unpack to at most"),
    "many parts": (zipped({f"word/{i}": "" for i in range(10_001)}), "must unpack to at most"),
    "far cells": (replaced(workbook(), "xl/worksheets/sheet1.xml", FAR.format("".join(FAR_ROWS))), "at most 5,000,000 cells"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_or_damaged_is_one_error_that_names_the_file(name):
    data, rule = HOSTILE[name]
    with pytest.raises(Unreadable) as error:
        read(data, id="x.docx")
    assert "x.docx" in str(error.value)
    assert rule in str(error.value)
    assert len(str(error.value)) < 500


def test_members_together_are_limited(monkeypatch):
    monkeypatch.setenv("ADVCHUNK_MAX_BYTES", "1000")
    with pytest.raises(Unreadable, match="at most 1,000 bytes"):
        read(report())


def test_an_encrypted_archive_is_refused():
    data = bytearray(report())
    for mark, at in (b"PK\x03\x04", 6), (b"PK\x01\x02", 8):
        place = data.find(mark)
        data[place + at] |= 1
    with pytest.raises(Unreadable, match="must not be encrypted"):
        read(bytes(data))


def test_one_far_cell_takes_no_time_and_no_memory():
    sheet = FAR.format('<row r="1048576"><c r="B1048576"><v>7</v></c></row>')
    assert read(replaced(workbook(), "xl/worksheets/sheet1.xml", sheet)).text.startswith("Tea\n\n7\n\nShops")


def test_nothing_outside_is_read(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("rum")
    drawing = (
        '<w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
        '<wp:docPr id="1" name="p" descr="A cup"/><a:graphic '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        '<a:graphicData><pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill>'
        '<a:blip r:link="rOut"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>'
    )
    data = word(paragraph("Tea.", inner=drawing))
    relations = part(data, "word/_rels/document.xml.rels")
    link = (
        f'<Relationship Id="rOut" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
        f'Target="{secret.as_uri()}" TargetMode="External"/></Relationships>'
    )
    document = read(replaced(data, "word/_rels/document.xml.rels", relations.replace("</Relationships>", link)))
    assert document.text.startswith("Tea.")
    assert "rum" not in document.text


def test_a_folder_goes_on_after_a_bad_file(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"no")
    (tmp_path / "b.odt").write_bytes(b"PK")
    (tmp_path / "c.xlsx").write_bytes(workbook())
    made = chunk_files(tmp_path, RecursiveChunker())
    assert [document.id for document, _ in made] == [str(tmp_path / "c.xlsx")]
    assert len(made.failures) == 2


@pytest.mark.parametrize("suffix", READ)
def test_damaged_files_are_read_or_refused(suffix):
    refused = 0
    for data in damaged(SAMPLES[suffix](), suffix):
        try:
            document = read(data, id="x")
        except ConfigurationError as error:
            refused += str(error).startswith("x")
        else:
            assert all(block.span.end <= len(document.text) for block in document.blocks)
    assert refused


@pytest.mark.parametrize(
    ("suffix", "name"), [(".docx", "word/document.xml"), (".pptx", "ppt/slides/1.xml"), (".odt", "content.xml")]
)
def test_text_in_elements_that_are_not_known_is_read(suffix, name):
    data = one_text.WRITERS[suffix](one_text.document(5))
    check_unknown_elements(part(data, name), lambda xml: read(replaced(data, name, xml)))


def test_texts_of_open_document_have_headings_lists_tables_and_notes():
    document = read(open_text(), metadata={"source": "tea"})
    assert blocks_of(document) == [
        ("heading", 1, "Kinds"), ("paragraph", 0, "Tea is made of leaves.[^1]"), ("heading", 2, "Steamed"), ("item", 1, "- Sencha"),
        ("item", 2, "- from Uji"), ("item", 1, "- Gyokuro"), ("heading", 2, "Temperatures"), ("table", 0, TABLE), ("footnote", 0, f"[^1]: {NOTE}"),
    ]  # fmt: skip
    assert document.metadata == {"source": "tea"}


def test_what_open_document_has_besides():
    content = part(open_text(), "content.xml")
    extra = (
        '<text:p># no heading</text:p><text:p>a<text:s text:c="2"/>b<text:tab/>c<office:annotation><text:p>rum</text:p>'
        "</office:annotation></text:p><text:p><draw:frame "
        'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0">'
        "<draw:image/></draw:frame></text:p>"
    )
    data = replaced(open_text(), "content.xml", content.replace("</office:text>", f"{extra}</office:text>"))
    meta = '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>All tea</dc:title><dc:creator>Ann</dc:creator></m>'
    document = read(replaced(data, "meta.xml", meta))
    assert "# no heading" in document.text
    assert "a b c" in document.text
    assert "rum" not in document.text.replace(NOTE, "")
    assert document.metadata == {"title": "All tea", "authors": "Ann", "left_out": "comments: 1; pictures: 1"}


def test_rtf_has_headings_lists_tables_and_notes():
    document = read(rich_text())
    assert blocks_of(document) == [
        ("heading", 1, "Kinds"), ("paragraph", 0, "Tea is made of leaves…[^1]"), ("heading", 2, "Steamed"), ("item", 1, "- Sencha"),
        ("item", 1, "- Gyokuro"), ("heading", 2, "Temperatures"), ("table", 0, TABLE), ("paragraph", 0, "End."), ("footnote", 0, f"[^1]: {NOTE}"),
    ]  # fmt: skip
    assert document.metadata == {}


def test_footnotes_of_rich_text_are_last_with_their_paragraphs_and_signs():
    note = rb"{\super\chftn{\footnote\pard\plain{\super\chftn } One \'e4.\par Two \} {\i three}.}}"
    document = read(rb"{\rtf1\ansi A" + note + rb" goes on.\par B{\*\footnote x}\par}")
    assert document.text == "A[^1] goes on.\n\nB[^2]\n\n[^1]: One ä. Two } three.\n\n[^2]: x"
    assert "Tea." in read(rb"{\rtf1 Tea.{\footnote not closed").text


LOOKALIKES = ("# of cups", "- 5 degrees", "2. May was cold", "> 80 degrees", "| a bar", "tea_time *is* tea_time")


def test_paragraphs_that_look_like_markdown_are_paragraphs_in_every_format():
    book = word("".join(map(paragraph, LOOKALIKES)))
    rich = b"{\\rtf1\\ansi " + "".join(f"{{\\pard {text}\\par}}\n" for text in LOOKALIKES).encode() + b"}"
    content = part(open_text(), "content.xml")
    start, end = content.index("<office:text>") + len("<office:text>"), content.index("</office:text>")
    own = "".join(f"<text:p>{text.replace('>', '&gt;')}</text:p>" for text in LOOKALIKES)
    odt = replaced(open_text(), "content.xml", content[:start] + own + content[end:])
    web = ebook(["".join(f"<p>{text.replace('>', '&gt;')}</p>" for text in LOOKALIKES)])
    for data in (book, rich, odt, web):
        assert texts_of(read(data), "paragraph") == list(LOOKALIKES)


def presentation(make):
    """Return a presentation with one slide, which ``make`` fills."""
    from pptx import Presentation

    book = Presentation()
    make(book.slides.add_slide(book.slide_layouts[5]).shapes)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def test_breaks_and_paragraphs_and_tables_of_slides_are_apart():
    def make(shapes):
        shapes.title.text = "All\vteas"
        frame = shapes.add_textbox(0, 0, 9, 9).text_frame
        frame.text = LOOKALIKES[0]
        for text in (*LOOKALIKES[1:], "boil()\n# twice"):
            frame.add_paragraph().text = text
        for _ in range(2):
            table = shapes.add_table(2, 2, 0, 0, 9, 9).table
            for cell, text in zip(table.iter_cells(), ("Kind", "Degrees\vCelsius", "Green\vtea", "80"), strict=True):
                cell.text = text

    table = "| Kind | Degrees Celsius |\n| --- | --- |\n| Green tea | 80 |"
    paragraphs = [("paragraph", 0, text) for text in (*LOOKALIKES, "boil()\n# twice")]
    made = blocks_of(read(presentation(make)))
    assert made == [("heading", 1, "All teas"), *paragraphs, *[("table", 0, table)] * 2]


@pytest.mark.parametrize(
    ("style", "kind"),
    [("Source Code", "code"), ("HTML Preformatted", "code"), ("Plain Text", None), ("Caption", "caption")],
)
def test_the_kind_of_a_paragraph_follows_from_its_style(style, kind):
    assert kind_of_style(style)[0] == kind


def test_cells_of_rich_text_that_end_with_a_paragraph_are_cells():
    cell = "{{\\pard\\intbl \\ql %s\\par}\n\\cell}\n"
    row = "{\n\\trowd \\trgaph120\n\\cellx2160\\cellx4320\n\\trkeep\\intbl\n{\n%s%s}\n\\intbl\\row}\n"
    rows = "".join(row % (cell % a, cell % b) for a, b in (("Kind", "Degrees"), ("Green", "80"), ("Black", "95")))
    assert blocks_of(read(f"{{\\rtf1\\ansi {rows}\\pard\\par}}".encode())) == [("table", 0, TABLE)]


def test_rich_text_of_a_mac():
    items = "".join(
        rf"{{\listtext	\uc0\u8226 	}}{item}\{line}" for item, line in (("hot", "\n"), ("cold", "\r\n"))
    )
    text = (
        rf"{{\rtf1\ansi\cocoartf2639 \f0 Tea is\{chr(10)}\ls1\ilvl0{items}\pard {{\upr{{Green}}{{\*\ud{{Green}}}}}}}}"
    )
    assert read(text.encode()).text.split("\n\n") == ["Tea is", "- hot", "- cold", "Green"]


def test_characters_beyond_the_first_plane_in_rich_text():
    assert read(rb"{\rtf1\ansi\uc1 Tea \u-10180?\u-8436? hot}").text == "Tea \U0001f30c hot"


HIDDEN = rb"{\rtf1 Tea{\v  is hot}.\par}"
LINK = rb'{\rtf1 {\field{\*\fldinst HYPERLINK "https://tea.org"}{\fldrslt Tea}}.\par}'


@pytest.mark.parametrize(
    ("option", "data", "plain", "text"),
    [("hidden", HIDDEN, "Tea.", "Tea is hot."), ("links", LINK, "Tea.", "[Tea](https://tea.org).")],
)
def test_options_of_reading_hold_wherever_files_are_read(option, data, plain, text, tmp_path):
    path, chunker, message = tmp_path / "tea.rtf", RecursiveChunker(), EmailMessage()
    path.write_bytes(data)
    message.add_attachment(data, "application", "rtf", filename="tea.rtf")
    (tmp_path / "note.eml").write_bytes(bytes(message))
    options = {option: True}
    assert [read_file(path).text, read_file(path, **options).text] == [plain, text]
    assert chunker.read_file(path, **options).text == text
    assert [document.text for document, _ in chunk_files(tmp_path, chunker, **options)] == ["", text, text]
    run = CliRunner().invoke(main, ["chunk", str(path), f"--{option}", "-f", "text"])
    assert text in run.stdout
    assert langchain_advchunk.RecursiveSplitter().split_files(path, **options)[0].page_content == text
    assert llamaindex_advchunk.RecursiveNodeParser().get_nodes_from_files(path, **options)[0].text == text


@pytest.mark.parametrize("method", ["auto", "recursive"])
def test_links_of_a_page_on_standard_input(method):
    options = ["-m", method, "--links", *(["--markup", "html"] if method == "recursive" else [])]
    page = "<html><body><p>Hot <a href=https://tea.org>tea</a>.</body></html>"
    assert (
        "[tea](https://tea.org)" in CliRunner().invoke(main, ["chunk", "-", *options, "-f", "text"], input=page).stdout
    )
