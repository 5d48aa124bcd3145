"""Office files: what is kept of each kind, what is left out and said, and that nothing hostile or damaged gets
through."""

import logging
import random
import zipfile
from datetime import datetime
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
    word_table,
    workbook,
    zipped,
)  # fmt: skip

from advchunk import ConfigurationError, RecursiveChunker, chunk_files, read_file
from advchunk.cli import main
from advchunk.errors import Unreadable
from advchunk.readers.office.files import read

pytest.importorskip("lxml")
READ = [suffix for suffix in SAMPLES if suffix != ".msg"]
TABLE = "| Kind | Degrees |\n| --- | --- |\n| Green | 80 |\n| Black | 95 |"


def layout(document):
    return [(block.kind, block.level, block.title or document.text[slice(*block.span)]) for block in document.blocks]


def replaced(data, name, content):
    """Return an archive with one part replaced."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = {member: archive.read(member) for member in archive.namelist()}
    return zipped({**parts, name: content})


@pytest.mark.parametrize("marks_head", [True, False])
def test_word_has_headings_lists_tables_with_heads_and_notes(marks_head):
    assert layout(read(report(marks_head=marks_head))) == [
        ("heading", 1, "Tea report"), ("heading", 1, "Kinds 1"), ("paragraph", 0, "Tea is made of leaves.[^1]"),
        ("heading", 2, "Steamed"), ("item", 1, "- Sencha"), ("item", 2, "- from Uji"), ("item", 1, "- Gyokuro"),
        ("item", 1, "1. Heat"), ("item", 1, "2. Pour"), ("heading", 2, "Temperatures"), ("table", 0, TABLE),
        ("footnote", 0, f"[^1]: {NOTE}"),
    ]  # fmt: skip


def test_slides_are_pages_with_lists_tables_and_notes():
    document = read(slides())
    assert layout(document) == [
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
    path = tmp_path / "tea.xlsx"
    rows = [
        ("Prices of tea",),
        (),
        ("Kind", "Price", "Since"),
        *(("Green", i, datetime(2026, 3, 1)) for i in range(30)),
    ]
    path.write_bytes(workbook({"Blank": [], "Tea": rows, "Shops": [(None, "City"), (None, "Uji")]}))
    ((document, chunks),) = chunk_files(path, RecursiveChunker(max_tokens=60))
    assert [kind for kind, _, _ in layout(document)] == ["heading", "paragraph", "table", "heading", "table"]
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
    assert [title for kind, _, title in layout(document) if kind == "heading"] == [
        "Kinds",
        "Steamed",
        "Temperatures",
        "Black",
    ]
    assert ("item", 2, "- from Uji") in layout(document)
    assert ("table", 0, TABLE) in layout(document)


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
MUTATIONS = 60
HOSTILE = {
    "empty": (b"", "got an empty file"),
    "PDF": (b"%PDF-1.7", "got a PDF"),
    "prose": (b"Green tea.", "got b'Green tea.'"),
    "half": (report()[:900], "got a damaged archive"),
    "archive": (zipped({"tea.txt": "Tea."}), "got an archive of tea.txt"),
    "a drawing of OpenDocument": (zipped({"mimetype": "application/vnd.oasis.opendocument.graphics"}), "got application/vnd.oasis.opendocument.graphics"),
    "OpenDocument without a text": (
        zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "x.docx must not be damaged"
    ),
    "encrypted": (compound({"EncryptedPackage": b"\0" * 64}), "got an encrypted one"),
    "message": (outlook(), "got a message of Outlook"),
    "old": (compound({"WordDocument": b"\0" * 64}), "got one in the format before 2007"),
    "no document": (zipped({"word/other.xml": "<a/>"}), "x.docx must not be damaged"),
    "bad XML": (replaced(report(), "word/document.xml", "<w:document"), "x.docx must not be damaged"),
    "entities": (
        replaced(report(), "word/document.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        "document.xml must not define entities",
    ),
    "entities in UTF-16": (
        replaced(ebook(), "OPS/c0.xhtml", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a/>'.encode("utf-16")),
        "c0.xhtml must not define entities",
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
    with zipfile.ZipFile(BytesIO(data)) as archive:
        relations = archive.read("word/_rels/document.xml.rels").decode()
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
    generator, data = random.Random(suffix), SAMPLES[suffix]()
    refused = 0
    for _ in range(MUTATIONS):
        damaged = bytearray(data)
        for _ in range(generator.randint(1, 8)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        if generator.random() < 0.3:
            del damaged[generator.randrange(len(damaged)) :]
        try:
            document = read(bytes(damaged), id="x")
        except ConfigurationError as error:
            refused += str(error).startswith("x")
        else:
            assert all(block.span.end <= len(document.text) for block in document.blocks)
    assert refused


def test_texts_of_open_document_have_headings_lists_tables_and_notes():
    document = read(open_text(), metadata={"source": "tea"})
    assert layout(document) == [
        ("heading", 1, "Kinds"), ("paragraph", 0, "Tea is made of leaves.[^1]"), ("heading", 2, "Steamed"), ("item", 1, "- Sencha"),
        ("item", 2, "- from Uji"), ("item", 1, "- Gyokuro"), ("heading", 2, "Temperatures"), ("table", 0, TABLE), ("footnote", 0, f"[^1]: {NOTE}"),
    ]  # fmt: skip
    assert document.metadata == {"source": "tea"}


def test_what_open_document_has_besides():
    with zipfile.ZipFile(BytesIO(open_text())) as archive:
        content = archive.read("content.xml").decode()
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
    assert layout(document) == [
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


def own_texts(document):
    return [document.text[slice(*block.span)] for block in document.blocks if block.kind == "paragraph"]


def test_paragraphs_that_look_like_markdown_are_paragraphs_in_every_format():
    book = word("".join(map(paragraph, LOOKALIKES)))
    rich = b"{\\rtf1\\ansi " + "".join(f"{{\\pard {text}\\par}}\n" for text in LOOKALIKES).encode() + b"}"
    with zipfile.ZipFile(BytesIO(open_text())) as archive:
        content = archive.read("content.xml").decode()
    start, end = content.index("<office:text>") + len("<office:text>"), content.index("</office:text>")
    own = "".join(f"<text:p>{text.replace('>', '&gt;')}</text:p>" for text in LOOKALIKES)
    odt = replaced(open_text(), "content.xml", content[:start] + own + content[end:])
    web = ebook(["".join(f"<p>{text.replace('>', '&gt;')}</p>" for text in LOOKALIKES)])
    for data in (book, rich, odt, web):
        assert own_texts(read(data)) == list(LOOKALIKES)


ROW_HEADS = ("", "1. Heat", "- 5", "> 80")


def test_cells_that_look_like_markdown_are_as_they_were():
    table = [("", "Kind"), *((head, "Green") for head in ROW_HEADS[1:])]
    expected = "\n".join(f"| {head} | Green |" for head in ROW_HEADS[1:])
    rows = "".join(f"\\trowd\\cellx2000\\cellx4000 {a}\\intbl\\cell {b}\\intbl\\cell\\row\n" for a, b in table)
    cells = "".join(f"<tr>{''.join(f'<td><p>{own}</p></td>' for own in row)}</tr>" for row in table)
    web = ebook([f"<table>{cells.replace('> 80', '&gt; 80')}</table><p># of cups</p>"])
    for data in (word(word_table(table, marks_head=True)), f"{{\\rtf1\\ansi {rows}\\pard\\par}}".encode(), web):
        text = read(data).text
        assert expected in text
        assert "\\" not in text


def test_breaks_in_titles_and_cells_of_slides_are_spaces():
    from pptx import Presentation
    from pptx.util import Inches

    book = Presentation()
    slide = book.slides.add_slide(book.slide_layouts[5])
    slide.shapes.title.text = "All\vteas"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(5), Inches(1)).table
    for i, row in enumerate((("Kind", "Degrees\vCelsius"), ("Green\vtea", "80"))):
        for j, cell in enumerate(row):
            table.cell(i, j).text = cell
    file = BytesIO()
    book.save(file)
    table = "| Kind | Degrees Celsius |\n| --- | --- |\n| Green tea | 80 |"
    assert layout(read(file.getvalue())) == [("heading", 1, "All teas"), ("table", 0, table)]


def test_paragraphs_of_slides_are_apart_and_plain():
    from pptx import Presentation
    from pptx.util import Inches

    book = Presentation()
    slide = book.slides.add_slide(book.slide_layouts[5])
    slide.shapes.title.text = "Notes"
    frame = slide.shapes.add_textbox(Inches(1), Inches(2), Inches(5), Inches(2)).text_frame
    frame.text = LOOKALIKES[0]
    for text in (*LOOKALIKES[1:], "boil()\n# twice"):
        frame.add_paragraph().text = text
    file = BytesIO()
    book.save(file)
    assert own_texts(read(file.getvalue())) == [*LOOKALIKES, "boil()\n# twice"]


def test_tables_below_each_other_on_a_slide_are_two():
    from pptx import Presentation
    from pptx.util import Inches

    book = Presentation()
    slide = book.slides.add_slide(book.slide_layouts[6])
    for top in (1, 3):
        table = slide.shapes.add_table(2, 2, Inches(1), Inches(top), Inches(5), Inches(1)).table
        for i, row in enumerate((("Kind", "Degrees"), ("Green", "80"))):
            for j, cell in enumerate(row):
                table.cell(i, j).text = cell
    file = BytesIO()
    book.save(file)
    expected = "| Kind | Degrees |\n| --- | --- |\n| Green | 80 |"
    assert layout(read(file.getvalue())) == [("table", 0, expected)] * 2


@pytest.mark.parametrize("style", ["Source Code", "HTML Preformatted"])
def test_code_of_word_is_code(style):
    made = word(paragraph("Boil:") + paragraph("boil()  # twice", style="C") + paragraph("pour()", style="C"))
    with zipfile.ZipFile(BytesIO(made)) as archive:
        styles = archive.read("word/styles.xml").decode()
    own = f'<w:style w:type="paragraph" w:styleId="C"><w:name w:val="{style}"/></w:style></w:styles>'
    document = read(replaced(made, "word/styles.xml", styles.replace("</w:styles>", own)))
    assert layout(document) == [("paragraph", 0, "Boil:"), ("code", 0, "boil()  # twice\npour()")]


def test_plain_text_of_word_is_no_code():
    made = word(paragraph("A letter,", style="P") + paragraph("in plain text.", style="P"))
    with zipfile.ZipFile(BytesIO(made)) as archive:
        styles = archive.read("word/styles.xml").decode()
    own = '<w:style w:type="paragraph" w:styleId="P"><w:name w:val="Plain Text"/></w:style></w:styles>'
    document = read(replaced(made, "word/styles.xml", styles.replace("</w:styles>", own)))
    assert [kind for kind, *_ in layout(document)] == ["paragraph"] * 2


def test_cells_of_rich_text_that_end_with_a_paragraph_are_cells():
    cell = "{{\\pard\\intbl \\ql %s\\par}\n\\cell}\n"
    row = "{\n\\trowd \\trgaph120\n\\cellx2160\\cellx4320\n\\trkeep\\intbl\n{\n%s%s}\n\\intbl\\row}\n"
    rows = "".join(row % (cell % a, cell % b) for a, b in (("Kind", "Degrees"), ("Green", "80"), ("Black", "95")))
    assert layout(read(f"{{\\rtf1\\ansi {rows}\\pard\\par}}".encode())) == [("table", 0, TABLE)]


def test_characters_beyond_the_first_plane_in_rich_text():
    assert read(rb"{\rtf1\ansi\uc1 Tea \u-10180?\u-8436? hot}").text == "Tea \U0001f30c hot"


def test_hidden_text_is_read_where_files_are_read(tmp_path):
    path = tmp_path / "tea.rtf"
    path.write_bytes(rb"{\rtf1 Tea{\v  is hot}.\par}")
    ((document, _),) = chunk_files(path, RecursiveChunker(), hidden=True)
    run = CliRunner().invoke(main, ["chunk", str(path), "--hidden", "--format", "text"])
    assert [read_file(path).text, read_file(path, hidden=True).text, document.text] == ["Tea.", *["Tea is hot."] * 2]
    assert "Tea is hot." in run.stdout
