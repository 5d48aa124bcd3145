"""JATS: what an article says, where it says it; against an independent walk over its tree."""

import re
from collections import Counter
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from advchunk import ConfigurationError
from advchunk.readers.papers import jats
from blocks import CASES, blocks_of, check_paper, check_unknown_elements, outline

ARTICLE = (Path(__file__).parents[2] / "data" / "tea_jats.xml").read_text(encoding="utf-8")


def body(xml, **options):
    spaces = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML"'
    return blocks_of(jats.read(f"<article {spaces}><body>{xml}</body></article>", **options))


def back(xml):
    return blocks_of(jats.read(f"<article><back>{xml}</back></article>"))


def test_an_article_is_read_block_by_block():
    check_paper(jats.read(ARTICLE), "tea_jats")
    renamed = jats.read(ARTICLE, id="mine", metadata={"title": "Other", "n": 1})
    assert (renamed.id, renamed.metadata["title"], renamed.metadata["n"]) == ("mine", "Other", 1)
    assert renamed.metadata["pmid"] == "7000001"


def test_notes_of_the_front_are_read_after_the_article():
    notes = (
        "<author-notes><corresp>Write to Ann.</corresp><fn "
        "fn-type='coi-statement'><label>*</label><p>None.</p></fn></author-notes>"
        "<funding-group><funding-statement>The tea board paid.</funding-statement></funding-group>"
        "<custom-meta-group><custom-meta id='data-availability'><meta-name>Data Availability</meta-name>"
        "<meta-value>On request.</meta-value></custom-meta>"
        "<custom-meta><meta-name>figures</meta-name><meta-value>3</meta-value></custom-meta></custom-meta-group>"
    )
    article = f"<article><front><article-meta>{notes}</article-meta></front><body><p>Tea.</p></body></article>"
    assert blocks_of(jats.read(article)) == [
        ("paragraph", 0, "Tea."),
        ("heading", 1, "Author notes"),
        ("paragraph", 0, "Write to Ann."),
        ("footnote", 0, "* None."),
        ("heading", 1, "Funding"),
        ("paragraph", 0, "The tea board paid."),
        ("heading", 1, "Data Availability"),
        ("paragraph", 0, "On request."),
    ]


def test_titles_and_letters_are_those_that_lxml_finds():
    root, document = etree.fromstring(ARTICLE.encode()), jats.read(ARTICLE)
    shown = "ancestor::body or ancestor::back or ancestor::sub-article[not(ancestor::front-stub)]"
    titles = root.xpath(f"//*[self::sec or self::app or self::ack][not(ancestor::boxed-text)][{shown}]/title")
    headings = " ".join(text for _, text in outline(document))
    assert titles
    assert all(" ".join("".join(title.itertext()).split()) in headings for title in titles)
    read = Counter(filter(str.isalpha, normalize("NFKC", document.text)))
    unread = "ancestor::alternatives or ancestor::object-id or ancestor::front-stub or ancestor::tex-math"
    texts = root.xpath(f"//text()[ancestor::body or ancestor::back][not({unread})]")
    assert not Counter(filter(str.isalpha, normalize("NFKC", "".join(texts)))) - read


def test_text_in_elements_that_are_not_known_is_read():
    body = re.sub(r"(?s)<front>.*?</front>|<front-stub>.*?</front-stub>|<\?.*?\?>|<!.*?>", "", ARTICLE)
    check_unknown_elements(body, jats.read)


MIXED = """ack app attrib back bold boxed-text caption code def-item disp-formula disp-quote ext-link fig fig-group fn
    fn-group glossary graphic inline-formula italic label list-item media mixed-citation monospace named-content p
    preformat ref ref-list sec speaker speech statement sub sup supplementary-material table-wrap table-wrap-foot term title
    x xref"""
FILLED = [
    *(f"<{tag}>{{}}</{tag}>" for tag in MIXED.split()),
    "<array><tr><td>{}</td><td/></tr></array>",
    "<def-list><title>{}</title><def-item><term>x</term><def>{}</def></def-item></def-list>",
    "<element-citation><person-group><name>{}</name><etal/></person-group><pub-id>{}</pub-id></element-citation>",
    "<list><label>{}</label><list-item>{}</list-item><list-item><p>{}</p></list-item></list>",
    "<table><thead><tr><th colspan='2'>{}</th></tr></thead><tbody><tr><td rowspan='2'>{}</td></tr></tbody></table>",
    "<verse-group><verse-line>{}</verse-line></verse-group>",
    "{}<break/>",
]
TREES = st.recursive(
    st.text("abcde \n", max_size=6),
    lambda inner: st.tuples(st.sampled_from(FILLED), st.lists(inner, max_size=4).map("".join)).map(
        lambda tree: tree[0].replace("{}", tree[1])
    ),
    max_leaves=30,
)


@pytest.mark.slow
@settings(max_examples=500)
@given(st.lists(TREES, max_size=4).map("".join))
def test_no_letter_is_lost_in_malformed_trees(trees):
    document = jats.read(f"<article><body>{trees}</body></article>")
    letters = Counter(filter("abcde".__contains__, re.sub(r"<[^>]*>", "", trees)))
    assert not letters - Counter(document.text)
    assert "\n\n".join(document.text[slice(*block.span)] for block in document.blocks) == document.text


@pytest.mark.parametrize(("line", "read"), CASES["lines of JATS"])
def test_lines(line, read):
    assert body(f"<p>{line}</p>") == [("paragraph", 0, read)]


@pytest.mark.parametrize(("xml", "line"), CASES["MathML"])
def test_mathml_is_read_in_a_line(xml, line):
    assert body(f"<disp-formula><mml:math>{xml}</mml:math></disp-formula>") == [("formula", 0, line)]


@pytest.mark.parametrize(
    ("kind", "marks"),
    [("order", "1. 2."), ("alpha-lower", "a. b."), ("roman-upper", "I. II."), ("bullet", "- -"), ("simple", " ")],
)
def test_items_are_marked_as_the_list_says(kind, marks):
    blocks = body(f"<list list-type='{kind}'><list-item><p>x</p></list-item><list-item><p>x</p></list-item></list>")
    assert [text.removesuffix("x").strip() for _, _, text in blocks] == marks.split(" ")


def test_a_label_without_text_stands_by_itself():
    item = "<list-item><label>(a)</label><disp-formula><tex-math>x</tex-math></disp-formula></list-item>"
    assert body(f"<list><title>Two</title>{item}<list-item/></list>") == [
        ("paragraph", 0, "Two"),
        ("item", 1, "(a)"),
        ("formula", 0, "x"),
    ]


def test_verse_speech_and_statements():
    verse = "<verse-group><title>Song</title><verse-line>Rain,</verse-line><verse-line>go</verse-line></verse-group>"
    speech = "<speech><speaker>Ada:</speaker><p>Tea?</p><p>Yes.</p></speech>"
    statement = "<statement><label>Lemma 1</label><p>All is tea.</p><p>Proof.</p></statement>"
    assert body(verse + speech + statement) == [
        ("quote", 0, "Song\nRain,\ngo"),
        ("paragraph", 0, "Ada: Tea?"),
        ("paragraph", 0, "Yes."),
        ("paragraph", 0, "Lemma 1. All is tea."),
        ("paragraph", 0, "Proof."),
    ]


def test_figures_in_groups_and_captions_with_blocks():
    group = "<fig-group><caption><title>Both</title></caption><fig><label>A</label></fig><fig><label>B</label></fig></fig-group>"
    assert [text for _, _, text in body(group)] == ["Both.", "A.", "B."]
    data = "<supplementary-material><label>Data 1</label></supplementary-material>"
    assert body(f"<fig><label>F.</label><caption><p>Cups.</p><p>{data}</p></caption></fig><p>x</p>") == [
        ("caption", 0, "F. Cups."),
        ("caption", 0, "Data 1."),
        ("paragraph", 0, "x"),
    ]


def test_tables_of_both_models():
    cals = """<table-wrap><table><tgroup cols="3"><colspec colname="a"/><colspec colname="b"/><colspec colname="c"/>
        <thead><row><entry>x</entry><entry namest="b" nameend="c">y</entry></row></thead>
        <tbody><row><entry morerows="1">1</entry><entry>2</entry><entry>3</entry></row><row><entry>4</entry><entry>5</entry></row></tbody>
        </tgroup></table></table-wrap>"""
    assert body(cals) == [("table", 0, "| x | y | y |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |")]
    assert body(
        '<array><tr><th rowspan="2">a</th><th>b</th></tr><tr><td>1</td></tr><tr><td>c</td><td>2</td></tr></array>'
    ) == [("table", 0, "| a | b |\n| --- | --- |\n| a | 1 |\n| c | 2 |")]
    assert body(
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><th>1</th><th>2</th></tr></tbody>"
        '<tbody><tr><td rowspan="3">3</td><td>4</td></tr></tbody><tfoot><tr><td>5</td><td>6</td></tr></tfoot></table>'
    ) == [("table", 0, "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |")]
    assert body("<array><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></array>") == [
        ("table", 0, "| a | b |\n| --- | --- |\n| 1 | 2 |")
    ]


@pytest.mark.parametrize(
    ("reference", "line"),
    [
        ("<nlm-citation><collab>WHO</collab><source>Cups</source></nlm-citation>", "WHO. Cups."),
        ("<citation>Leaf, <year>1999</year></citation>", "Leaf, 1999"),
        ("<note><p>Unpublished.</p></note>", "Unpublished."),
        ("<citation-alternatives><mixed-citation>A.</mixed-citation><element-citation/></citation-alternatives>", "A."),
        ("<element-citation><name><surname>Li</surname></name><uri>http://x</uri></element-citation>", "Li. http://x."),
    ],
)
def test_references_are_lines(reference, line):
    assert back(f"<ref-list><ref>{reference}</ref></ref-list>")[1:] == [("reference", 0, line)]


def test_untitled_sections_get_titles_only_in_the_back_matter():
    assert back(
        "<ref-list><title>Read</title><ref-list><ref><note>x</note></ref></ref-list></ref-list><notes><p>n</p></notes>"
    ) == [("heading", 1, "Read"), ("reference", 0, "x"), ("heading", 1, "Notes"), ("paragraph", 0, "n")]
    floats = "<article><body><sec><title>A</title><p>a</p></sec></body><floats-group><fig><label>1</label></fig></floats-group></article>"
    assert blocks_of(jats.read(floats))[2:] == [("heading", 1, "Figures and tables"), ("caption", 0, "1.")]


def test_older_and_wrapped_articles():
    front = (
        "<front><journal-meta><journal-title>J</journal-title></journal-meta><article-meta><article-id "
        "pub-id-type='pmid'>7</article-id></article-meta></front>"
    )
    old = jats.read(f"<article>{front}</article>")
    assert (old.id, old.text, old.blocks, old.metadata) == ("pubmed:7", "", (), {"journal": "J", "pmid": "7"})
    inner = '<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.3/"><body><p>Tea.</p></body></article>'
    oai = f'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><GetRecord><metadata>{inner}</metadata></GetRecord></OAI-PMH>'
    assert jats.read(oai).text == jats.read(f"<pmc-articleset>{inner}</pmc-articleset>").text == "Tea."
    assert [node.text for node in jats.read_articles(f"<pmc-articleset>{inner}{inner}</pmc-articleset>")] == [
        "Tea.",
        "Tea.",
    ]


@pytest.mark.parametrize(("dates", "iso"), CASES["dates of JATS"])
def test_dates_are_iso(dates, iso):
    article = f"<article><front><article-meta>{dates}</article-meta></front></article>"
    assert jats.read(article).metadata == {"published_at": iso}


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha"}">' for i in range(10))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"<!DOCTYPE article [{LAUGHS}]><article>&l9;</article>", "must not define entities, got 'l0', at line 1"),
        (
            '<!DOCTYPE article [<!ENTITY x SYSTEM "file:///etc/passwd">]><article>&x;</article>',
            "must not define entities",
        ),
        ("<article>" + "<sec>" * 10_000, "nested at most 200 levels deep, at line 1, column "),
        (ARTICLE[:3000], "well-formed: .* at line "),
        ("PK\x03\x04", "well-formed"),
        ("<html><body/></html>", "JATS must have an <article>, got '<html>"),
        ("<s><article/><article/></s>", "jats.read_articles reads several, got 2"),
    ],
)
def test_unreadable_input_is_refused(text, error):
    with pytest.raises(ConfigurationError, match=error):
        jats.read(text)


@pytest.mark.parametrize("tag", ["sec", "list><list-item", "p><boxed-text", "disp-quote", "italic", "p", "caption"])
def test_depth_within_the_limit_is_read(tag):
    depth = 190 // (tag.count(">") + 1)
    end = "".join(f"</{name}>" for name in reversed(tag.split("><")))
    assert body(f"<{tag}>" * depth + "x" + end * depth)[-1][2].endswith("x")
