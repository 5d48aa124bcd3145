"""Texts of OpenDocument and RTF, and e-books: what other formats do not test."""

import re

import pytest
from office_files import ebook

import one_text
from advchunk.readers.office.files import read
from blocks import blocks_of, part, replaced, texts_of
from one_text import ODF, epub, zipped

NAMES = (
    f'{ODF} xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
)


def odt(body, styles="", **parts):
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "styles.xml": f"<office:document-styles {NAMES}>{styles}</office:document-styles>",
            "content.xml": "<office:document-content "
            f"{NAMES}><office:body><office:text>{body}</office:text></office:body></office:document-content>",
            **parts,
        }
    )


def p(text, style=""):
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def items(*texts, more=""):
    made = "".join(f"<text:list-item>{p(text)}</text:list-item>" for text in texts)
    return f'<text:list text:style-name="N" {more}>{made}</text:list>'


NUMBERS = (
    '<text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="I" '
    'style:num-prefix="(" '
    'style:num-suffix=")"/></text:list-style>'
)


def test_lists_go_on_and_begin_again():
    body = items("a", "b", more='xml:id="x"') + p("between") + items("c", more='text:continue-list="x"') + items("d")
    assert texts_of(read(odt(body, NUMBERS))) == ["(I) a", "(II) b", "between", "(III) c", "(I) d"]


def test_formulas_boxes_and_pictures_are_at_their_places():
    math = '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mi>a</mi><mi>b</mi></mfrac></math>'
    formula = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    picture = "<draw:frame><draw:image/><svg:desc>A cup</svg:desc></draw:frame>"
    box = f"<draw:frame><draw:text-box>{p('In a box')}</draw:text-box></draw:frame>"
    body = (
        p(f"Let {formula} be\n  small.{box}")
        + p(formula)
        + p(picture)
        + p("a<text:s text:c='3'/>b", "Preformatted_20_Text")
    )
    document = read(odt(body, **{"Object 1/content.xml": math}))
    assert blocks_of(document) == [
        ("paragraph", 0, "Let a/b be small."), ("paragraph", 0, "In a box"), ("formula", 0, "a/b"), ("figure", 0, "A cup"), ("code", 0, "a   b")
    ]  # fmt: skip
    assert document.metadata["left_out"] == "pictures: 1"


def test_what_open_document_does_not_show_is_counted():
    changes = "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion></text:changed-region></text:tracked-changes>"
    section = f'<text:section text:display="none">{p("secret")}</text:section>'
    header = f"<office:master-styles><style:master-page><style:header>{p('Draft')}</style:header></style:master-page></office:master-styles>"
    data = odt(changes + section + p("seen"), header)
    document = read(data)
    assert document.text == "seen"
    assert document.metadata == {"left_out": "deletions: 1; headers: 1; hidden texts: 1"}
    assert read(data, hidden=True).text == "secret\n\nseen"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (rb"\ansicpg1251 \'d7\'e0\'e9", "Чай"),
        (rb"{\fonttbl{\f1\fcharset128 Mincho;}}\f1 \'92\'83", "茶"),
        (rb"\uc2 \u33590 ?? tea", "茶 tea"),
        (rb"{\stylesheet{\s3 heading 2;}}\pard\s3 Kinds\par", "Kinds"),
        (rb"{\listtext o\tab}\ilvl1 tea\par", "- tea"),
        (rb"a{\header Draft}{\*\unknown no}{\pict 00ff}{\bin3 }}}\par", "a"),
    ],
)
def test_signs_styles_and_groups_of_rich_text(source, text):
    document = read(rb"{\rtf1\ansi " + source + b"}")
    assert document.text == text
    assert document.blocks[0].level == {"Kinds": 2, "- tea": 2}.get(text, 0)


LINKED = {
    "odt": odt(
        p('See <text:a xlink:href="https://tea.org/a b">shop</text:a>, <text:a xlink:href="#x">above</text:a>.')
    ),
    "rtf": rb'{\rtf1 See {\field{\*\fldinst{HYPERLINK "https://tea.org/a b"}}{\fldrslt{\ul shop}}}, above.\par}',
    "epub": epub([one_text.Part("paragraph", [("See ", ""), ("shop", "link"), (", above.", "")])]),
}


@pytest.mark.parametrize("kind", LINKED)
def test_links_have_their_targets_on_request(kind):
    target = one_text.SITE if kind == "epub" else "<https://tea.org/a b>"
    assert read(LINKED[kind], links=True).text == f"See [shop]({target}), above."
    assert read(LINKED[kind]).text == "See shop, above."


def test_a_word_has_its_reading_in_parentheses():
    ruby = "<text:ruby><text:ruby-base>漢字</text:ruby-base><text:ruby-text>かんじ</text:ruby-text></text:ruby>"
    assert read(odt(p(f"In {ruby}."))).text == "In 漢字 (かんじ)."


def test_pages_of_books_say_what_was_left_out_of_them():
    pages = "<nav><p>Home</p></nav><p>Hot.</p><img src='a.png'/>", "<p>Cold.</p><img src='b.png'/>"
    assert read(ebook(pages)).metadata["left_out"] == "menus: 1; pictures: 2"


def test_pages_of_books_that_are_missing_or_pictures_are_counted():
    data = replaced(ebook(), "OPS/book.opf", part(ebook(), "OPS/book.opf").replace(
        "</spine>", '<itemref idref="gone"/><itemref idref="svg"/></spine>').replace(
        "</manifest>", '<item id="svg" href="a.svg" media-type="image/svg+xml"/></manifest>'))  # fmt: skip
    assert read(data).metadata["left_out"] == "missing pages: 1; pages in other formats: 1"


def test_a_page_that_a_book_names_again_and_again_is_read_once():
    package = re.sub(r"<itemref[^>]*/>", r"\g<0>" * 9, part(ebook(), "OPS/book.opf"))
    assert read(replaced(ebook(), "OPS/book.opf", package)).text == read(ebook()).text


def test_a_book_whose_package_is_lost_is_refused_and_one_without_a_spine_is_read():
    data = epub([])
    with pytest.raises(Exception, match="must not be damaged, got none of its text"):
        read(data)
    pages = {
        "META-INF/container.xml": "<container",
        "b.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item href="c.xhtml" '
        'media-type="application/xhtml+xml"/></manifest></package>',
        "c.xhtml": "<html><body><h1>Tea</h1><p>Hot.</p></body></html>",
    }
    assert blocks_of(read(zipped(pages))) == [("heading", 1, "Tea"), ("paragraph", 0, "Hot.")]
