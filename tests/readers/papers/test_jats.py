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
from advchunk.building.layout import Headings
from advchunk.readers.papers import jats

ARTICLE = (Path(__file__).parents[2] / "data" / "tea_jats.xml").read_text(encoding="utf-8")


def blocks_of(document):
    return [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]


def body(xml, **options):
    spaces = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML"'
    return blocks_of(jats.read(f"<article {spaces}><body>{xml}</body></article>", **options))


def back(xml):
    return blocks_of(jats.read(f"<article><back>{xml}</back></article>"))


# --- an article ---------------------------------------------------------------------------------------------------------


def test_the_front_is_metadata():
    document = jats.read(ARTICLE)
    assert document.id == "10.5555/cups.1"
    assert document.metadata == {
        "title": "Tea and rain: a made-up trial",
        "authors": "Ada B Leaf; Bo Kettle Jr; The Cup Group",
        "journal": "Journal of Invented Cups",
        "doi": "10.5555/cups.1",
        "pmid": "7000001",
        "pmcid": "PMC7000002",
        "published_at": "2020-03-07",
        "keywords": "tea; rain",
        "license": "https://example.org/by/4.0/",
        "language": "en",
        "article_type": "research-article",
    }
    renamed = jats.read(ARTICLE, id="mine", metadata={"title": "Other", "n": 1})
    assert (renamed.id, renamed.metadata["title"], renamed.metadata["n"], renamed.metadata["pmid"]) == (
        "mine",
        "Other",
        1,
        "7000001",
    )


def test_an_article_is_read_block_by_block():
    assert blocks_of(jats.read(ARTICLE)) == [
        ("heading", 1, "Abstract"),
        ("heading", 2, "Background"),
        ("paragraph", 0, "Rain comes with tea, in 10⁹ cups."),
        ("heading", 2, "Results"),
        ("paragraph", 0, "It rained (p = 0.03)."),
        ("heading", 1, "Plain language summary"),
        ("paragraph", 0, "Tea makes no rain."),
        ("heading", 1, "1 Introduction"),
        ("paragraph", 0, "Cups are old [1], see the cup page. Most are round."),
        ("footnote", 0, "* Older than mugs."),
        ("paragraph", 0, "We ask:"),
        ("item", 1, "1. Who drinks?"),
        ("item", 1, "2. Who pours?"),
        ("item", 2, "- By day."),
        ("paragraph", 0, "And by night."),
        ("paragraph", 0, "and answer."),
        ("quote", 0, "Tea is tea."),
        ("quote", 0, "A saying"),
        ("heading", 1, "2 Methods"),
        ("heading", 2, "2.1 Weather"),
        ("paragraph", 0, "The rate was"),
        ("formula", 0, r"$$r = \frac{n}{t}$$ (1)"),
        ("paragraph", 0, "where t > 0 is time."),
        ("paragraph", 0, "Counts are in Table 1 and on."),
        ("caption", 0, "Table 1. Cups by group. Counted twice."),
        (
            "table",
            0,
            "| Group | Cups | Cups |\n| Group | Mean | SD |\n| --- | --- | --- |\n| Tea | 7 | 1a |\n| Adults |  |  |",
        ),
        ("footnote", 0, "a Estimated."),
        ("footnote", 0, "SD, deviation."),
        ("caption", 0, "Fig. 1. The kettle. (A) Lid. (B) Spout."),
        ("figure", 0, "A kettle on a stove"),
        ("heading", 2, "Software"),
        ("paragraph", 0, "We ran pour:"),
        ("code", 0, "for cup in cups:\n    pour(cup)"),
        ("caption", 0, "Box 1. Kinds of cups."),
        ("paragraph", 0, "Two are known."),
        ("caption", 0, "Mugs"),
        ("paragraph", 0, "Mugs have handles."),
        ("paragraph", 0, "After the box."),
        ("item", 1, "BMI: body mass index"),
        ("heading", 1, "Supporting information"),
        ("caption", 0, "S1 File. All cups."),
        ("caption", 0, "A table of cups."),
        ("heading", 1, "Acknowledgments"),
        ("paragraph", 0, "We thank the rain."),
        ("heading", 1, "Footnotes"),
        ("footnote", 0, "Nothing to declare."),
        ("heading", 1, "Appendix A More cups"),
        ("paragraph", 0, "Even more."),
        ("heading", 2, "Saucers"),
        ("paragraph", 0, "Some."),
        ("heading", 1, "References"),
        ("reference", 0, "1. Leaf AB, et al. On cups. J Cups. 1999;6:1-9."),
        (
            "reference",
            0,
            "Kettle B, Pot T, et al. (2001) Boiling? Kitchen 2(3): 10–12. doi:10.5555/k. In print. A classic.",
        ),
        ("heading", 1, "Decision letter"),
        ("paragraph", 0, "Well poured."),
        ("heading", 2, "Major points"),
        ("paragraph", 0, "None."),
    ]


# --- an independent walk
# ------------------------------------------------------------------------------------------------

SECTIONS = {
    "sec",
    "abstract",
    "trans-abstract",
    "ack",
    "app",
    "ref-list",
    "fn-group",
    "glossary",
    "notes",
    "sub-article",
    "response",
}
UNTITLED = {"abstract": "Abstract", "ack": "Acknowledgments", "ref-list": "References", "fn-group": "Footnotes"}
BLOCKS = {
    "p",
    "list",
    "disp-formula",
    "fig",
    "table-wrap",
    "boxed-text",
    "code",
    "inline-formula",
    "fn",
    "element-citation",
}
SET = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
UNREAD = {"object-id", "front", "front-stub", "graphic", "annotation"}


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


def ink(text):
    return "".join(normalize("NFKC", text).split())


def local(element):
    return etree.QName(element).localname


def titled(element):
    heads = [child for child in element.iterchildren(tag=etree.Element) if local(child) in {"label", "title"}]
    if local(element) in {"sub-article", "response"}:
        heads = element.xpath("*[local-name()='front-stub']//*[local-name()='article-title']")
    title = " ".join(" ".join("".join(head.itertext()).split()) for head in heads)
    if element.get("abstract-type") == "plain-language-summary":
        return "Plain language summary"
    return title or (UNTITLED.get(local(element)) if element.getparent().tag != "sec" else None)


def walk(element, path, tables_seen, paragraphs):
    """Note the letters under each path of titles, and the paragraphs without blocks, as lxml has them."""
    boxed = any(True for _ in element.iterancestors("{*}boxed-text"))
    if local(element) in SECTIONS and not boxed and (title := titled(element)):
        path = (*path, title)
        tables_seen[path] = Counter()
    inside = {local(node) for node in element.iterdescendants(tag=etree.Element)}
    if local(element) == "p" and not inside & BLOCKS:
        paragraphs.append((path, ink("".join(element.itertext()))))
    children = [child for child in element.iterchildren(tag=etree.Element) if local(child) not in UNREAD]
    content = [element.text, *(child.tail for child in element)]
    if local(element) == "tex-math" and (formula := SET.search(element.text)):
        content = [formula[1]]
    if local(element) == "alternatives" and any(local(child) == "tex-math" for child in children):
        children = [child for child in children if local(child) != "math"]
    tables_seen.setdefault(path, Counter()).update(
        letter for text in content for letter in ink(text or "") if letter.isalpha()
    )
    for child in children:
        walk(child, path, tables_seen, paragraphs)


def check_against_lxml(text):
    """Compare a reading with the walk; return how many sections, paragraphs and letters were compared."""
    document = jats.read(text)
    root = etree.fromstring(text.encode())
    tables_seen, paragraphs = {}, []
    for part in root.xpath("/*/*/*/*[local-name()='abstract'] | /*/*[not(local-name()='front')]"):
        walk(part, (), tables_seen, paragraphs)

    headings = Headings(document.text, document.blocks)
    paths = [headings.path(block.span.start) for block in document.blocks if block.kind == "heading"]
    assert paths == [path for path in tables_seen if path]

    read, written = {}, Counter()
    for block in document.blocks:
        content = document.text[slice(*block.span)]
        path = headings.path(block.span.start)
        read.setdefault(path, Counter()).update(filter(str.isalpha, ink(content)))
        written[path, ink(content)] += 1
    for path, letters in tables_seen.items():
        assert not letters - read.get(path, Counter()), path

    for path, content in paragraphs:
        assert written[path, content] or any(where == path and content in node for where, node in written)
    exact = sum(key in written for key in paragraphs)
    assert "\n\n".join(document.text[slice(*block.span)] for block in document.blocks) == document.text
    return len(paths), len(paragraphs), exact, sum(sum(letters.values()) for letters in tables_seen.values())


def test_sections_paragraphs_and_letters_are_those_that_lxml_finds():
    sections, paragraphs, exact, letters = check_against_lxml(ARTICLE)
    assert (sections, paragraphs) == (16, 27)
    assert exact == 17
    assert letters == 663


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


# --- pieces -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("10<sup>9</sup> cells, 10<sup><italic>-3</italic></sup>", "10⁹ cells, 10⁻³"),
        ("in 2019<xref ref-type='bibr'><sup>12</sup></xref>", "in 2019¹²"),
        ("below 0.05<sup>1,2</sup>", "below 0.05¹,²"),
        ("log<sub>10</sub>2 and CO<sub>2</sub>", "log₁₀2 and CO2"),
        ("one<break/>two <named-content>three</named-content>s", "one two threes"),
        ("(<xref>A</xref>; <xref>B</xref><xref>C</xref>)", "(A; BC)"),
        ("the <inline-formula><alternatives><tex-math>$x^2$</tex-math><mml:math><mml:mi>x</mml:mi></mml:math></alternatives></inline-formula>th", "the $x^2$th"),
        ("<inline-formula>R<sup>2</sup></inline-formula> fits", "R2 fits"),
        ("run <code>pour()</code> now", "run pour() now"),
        ("<inline-graphic><alt-text>a star</alt-text></inline-graphic>kept", "kept"),
    ],
)  # fmt: skip
def test_lines(line, read):
    assert body(f"<p>{line}</p>") == [("paragraph", 0, read)]


@pytest.mark.parametrize(
    ("xml", "line"),
    [
        ("<mml:mfrac><mml:mi>a</mml:mi><mml:mrow><mml:mi>b</mml:mi><mml:mo>+</mml:mo><mml:mn>1</mml:mn></mml:mrow></mml:mfrac>", "a/(b+1)"),
        ("<mml:msubsup><mml:mo>∑</mml:mo><mml:mi>i</mml:mi><mml:mi>n</mml:mi></mml:msubsup><mml:mi>x</mml:mi>", "∑_i^nx"),
        ("<mml:msqrt><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:msqrt>", "√ab"),
        ("<mml:mroot><mml:mi>a</mml:mi><mml:mn>3</mml:mn></mml:mroot>", "a^(1/3)"),
        ("<mml:mover><mml:mi>x</mml:mi><mml:mo>¯</mml:mo></mml:mover><mml:mo>=</mml:mo><mml:mn>2</mml:mn>", "x¯ = 2"),
        ("<mml:mfenced open='[' separators=';'><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfenced>", "[a; b)"),
        ("<mml:mtable><mml:mtr><mml:mtd><mml:mi>a</mml:mi></mml:mtd><mml:mtd><mml:mi>b</mml:mi></mml:mtd></mml:mtr><mml:mtr><mml:mtd><mml:mi>c</mml:mi></mml:mtd></mml:mtr></mml:mtable>", "a, b; c"),
        ("<mml:mi>sin</mml:mi><mml:mo>&#x2061;</mml:mo><mml:mi>x</mml:mi><mml:mtext>for "
         "all</mml:mtext><mml:mi>y</mml:mi>", "sin x for all y"),
        ("<mml:semantics><mml:mi>x</mml:mi><mml:annotation encoding='application/x-tex'>\\hat "
         "x</mml:annotation></mml:semantics>", "\\hat x"),
        ("<mml:msub><mml:mi>x</mml:mi></mml:msub>", "x"),
    ],
)  # fmt: skip
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
    ) == [
        ("heading", 1, "Read"),
        ("reference", 0, "x"),
        ("heading", 1, "Notes"),
        ("paragraph", 0, "n"),
    ]
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


@pytest.mark.parametrize(
    ("dates", "iso"),
    [
        ("<pub-date><year>2020</year></pub-date>", "2020"),
        ("<pub-date iso-8601-date='2020-01-02'><year>2020</year></pub-date>", "2020-01-02"),
        ("<pub-date><month>Spring</month><year>2020</year></pub-date>", "2020"),
        ("<pub-date pub-type='pmc-release'><year>2021</year></pub-date>", "2021"),
        (
            "<pub-date><year>2020</year><month>4</month></pub-date><pub-date><year>2020</year><month>3</month></pub-date>",
            "2020-03",
        ),
    ],
)
def test_dates_are_iso(dates, iso):
    article = f"<article><front><article-meta>{dates}</article-meta></front></article>"
    assert jats.read(article).metadata == {"published_at": iso}


# --- hostile or broken
# --------------------------------------------------------------------------------------------------

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha"}">' for i in range(10))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            f"<!DOCTYPE article [{LAUGHS}]><article>&l9;</article>",
            "must not define entities, got 'l0', at line 1",
        ),
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
