"""TEI: what is read of GROBID's and of others', that none of its text is lost, and what is refused."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from advchunk import ConfigurationError
from advchunk.readers.imrad import parse_heading
from advchunk.readers.papers import tei
from blocks import CASES, blocks_of, check_paper, check_unknown_elements, outline, texts_of
from growing import check_growth

DATA = Path(__file__).parents[2] / "data"
SOURCES = {name: (DATA / f"{name}.tei.xml").read_text("utf-8") for name in ("seals", "flat", "letters")}
SEALS, EVERY = SOURCES["seals"], pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def paper(body, back="", header=""):
    return f"<TEI>{header}<text><body>{body}</body><back>{back}</back></text></TEI>"


# Against lxml, which knows nothing of how this reader works.


def lxml_root(source):
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(source.encode(), parser)


def flat(text):
    return re.sub(r"\s+", "", text)


def found_heads(source):
    """Return number and text of the heads of divisions and of lists of references."""
    where = "|".join(f"//*[local-name()='{name}']/*[local-name()='head']" for name in ("div", "listBibl"))
    heads = lxml_root(source).xpath(where)
    skipped = ".//text()[not(ancestor::*[local-name()='note'])]"
    return [" ".join(f"{item.get('n') or ''} {''.join(item.xpath(skipped))}".split()) for item in heads]


def found_ink(source):
    """Return what the text says, piece by piece, but of references that are printed too."""
    printed = "ancestor::*[local-name()='biblStruct'][*[local-name()='note'][@type='raw_reference']]"
    left_out = [f"{printed}", "parent::*[local-name()='idno'][contains(@type, 'ISSN')]", "parent::*[@type='abbrev']"]
    rule = " and ".join(f"not({item})" for item in left_out)
    return list(filter(None, map(flat, lxml_root(source).xpath(f"//*[local-name()='text']//text()[{rule}]"))))


@pytest.mark.parametrize("name", SOURCES)
def test_papers_are_read_block_by_block(name):
    check_paper(tei.read(SOURCES[name]), name)


@EVERY
def test_sections_are_those_that_lxml_finds(source):
    ours = {
        "Abstract",
        "Main text",
        "References",
        "Figures and tables",
        "Notes",
        "Funding",
        "Data availability",
        "Preface",
    }
    assert [title for _, title in outline(tei.read(source)) if title not in ours] == found_heads(source)


@EVERY
def test_no_text_is_lost(source):
    written = flat(tei.read(source).text).replace("\\|", "|")
    for piece in found_ink(source):
        assert piece in written or (piece.isdigit() and len(piece) < 3), piece  # "23" is the label of "Fig. 2 Fig. 3"


def test_text_in_elements_that_are_not_known_is_read():
    check_unknown_elements(SOURCES["letters"].partition("?>")[2], tei.read)


NAMES = """div p head list item label table row cell figure figDesc note formula quote s ref hi lb lg l eg bibl listBibl sp ab
    cit floatingText body front back group text opener""".split()  # noqa: SIM905


@st.composite
def trees(draw, depth=0):
    name = draw(st.sampled_from(NAMES))
    children = draw(st.lists(trees(depth + 1), max_size=4)) if depth < 4 else []
    key = draw(st.integers(0, 3))
    mark = f' xml:id="f{key}"'
    marks = {"figure": mark, "note": mark, "ref": f' target="#f{key}"', "cell": f' rows="{key}"'}
    return name, marks.get(name, ""), draw(st.booleans()), [(child, draw(st.booleans())) for child in children]


def written(tree, words):
    name, marks, has_text, children = tree
    inner = f" {next(words)} " * has_text + "".join(
        written(c, words) + f" {next(words)} " * tail for c, tail in children
    )
    return f"<{name}{marks}>{inner}</{name}>"


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(trees=st.lists(trees(), min_size=1, max_size=6), body=st.booleans())
def test_each_word_is_read_once_in_any_markup(trees, body):
    words = (f"word{i}x" for i in range(10**6))
    inner = "".join(written(tree, words) for tree in trees)
    source = f"<TEI><text>{f'<body>{inner}</body>' if body else inner}</text></TEI>"
    document = tei.read(source)
    actual = Counter[str]()
    for kind, _, text in blocks_of(document):
        every = re.findall(r"word\d+x", text)
        actual.update(set(every) if kind == "table" else every)  # what a cell says is in every row that it covers
    assert actual == Counter(re.findall(r"word\d+x", source))


def test_arguments_override_the_header():
    document = tei.read(SEALS, id="mine", metadata={"title": "Mine", "shelf": 3})
    assert (document.id, document.metadata["title"], document.metadata["shelf"]) == ("mine", "Mine", 3)
    assert document.metadata["doi"] == "10.5555/seals.7"


def test_keywords_may_be_loose():
    header = "<teiHeader><profileDesc><textClass><keywords>sea, salt</keywords></textClass></profileDesc></teiHeader>"
    assert tei.read(paper("", header=header)).metadata == {"keywords": "sea, salt"}


def test_an_introduction_takes_in_no_section_without_number():
    heads = ["Introduction", "Deep sea vents", "Results", "Shallow seas"]
    body = "".join(f"<div><head>{item}</head><p>Text.</p></div>" for item in heads)
    assert [level for level, _ in outline(tei.read(paper(body)))] == [1, 1, 1, 2]


def test_nested_divisions_nest():
    body = "<div><head>Methods</head><p>A.</p><div><head>Sea</head><p>B.</p><div><head>Salt</head></div></div></div>"
    body += "<div><head>Elsewhere</head><p>C.</p></div>"
    assert outline(tei.read(paper(body))) == [(1, "Methods"), (2, "Sea"), (3, "Salt"), (1, "Elsewhere")]


@pytest.mark.parametrize(("numbers", "levels"), CASES["levels of headings of TEI"])
def test_levels_follow_numbers(numbers, levels):
    body = "".join(f'<div><head n="{n}">Lorem</head><p>Text.</p></div>' for n in numbers)
    assert [level for level, _ in outline(tei.read(paper(body)))] == levels


def test_a_number_may_stand_in_the_text_of_a_head_and_is_not_written_twice():
    body = '<div><head n="1">1. Sea</head></div><div><head>1.1 Salt</head></div><div><head n="2"/><p>Text.</p></div>'
    assert outline(tei.read(paper(body))) == [(1, "1. Sea"), (2, "1.1 Salt"), (1, "2")]


def test_a_figure_within_a_division_stays_there():
    body = "<div><head>Sea</head><p>One.</p><figure><head>Fig. 1</head></figure><p>Two.</p></div><div><p>End.</p></div>"
    assert texts_of(tei.read(paper(body))) == ["Sea", "One.", "Fig. 1", "Two.", "End."]


def test_a_figure_without_text_leaves_nothing():
    body = (
        '<div><head>Sea</head><p>Text.</p></div><figure><head/><label/><figDesc/></figure><note place="foot" '
        'n="4"> </note>'
    )
    assert texts_of(tei.read(paper(body))) == ["Sea", "Text."]


@pytest.mark.parametrize(
    ("heading", "label", "caption"),
    [
        ("Fig. 3 Fig. 4", "34", "Fig. 3 Fig. 4 It."),
        ("Table 1 :", "1", "Table 1 : It."),
        ("Waves", "Figure 2", "Waves Figure 2 It."),
        ("Waves", "2", "Waves 2 It."),
        ("", "2", "2 It."),
    ],
)
def test_a_label_is_left_out_where_the_heading_says_it(heading, label, caption):
    body = f"<figure><head>{heading}</head><label>{label}</label><figDesc>It.</figDesc></figure>"
    assert texts_of(tei.read(paper(body)), "caption") == [caption]


@pytest.mark.parametrize(("marked", "line"), CASES["rewritten markup of TEI"])
def test_rewritten_markup_is_read(marked, line):
    assert texts_of(tei.read(paper(f"<p>{marked}</p>"))) == [line]


def test_sentences_are_parted_by_a_space():
    assert texts_of(tei.read(paper("<div><p><s>One.</s><s>Two.</s> <s>Three.</s></p></div>"))) == ["One. Two. Three."]


def test_references_have_the_heading_that_is_theirs():
    listed = "<listBibl><bibl>A.</bibl></listBibl>"
    assert texts_of(tei.read(paper("", f"<div><head>Sources</head>{listed}</div>"))) == ["Sources", "A."]
    assert texts_of(tei.read(paper("", f"<listBibl><head>Sources</head>{listed}</listBibl>"))) == ["Sources", "A."]
    assert texts_of(tei.read(paper("", listed + listed))) == ["References", "A.", "A."]


@pytest.mark.parametrize(
    ("coords", "pages"),
    [
        ("1,10,10,50,9;1,70,10,50,9", [1]),  # two sentences in one line
        ("1,10,700,50,9;2,10,60,50,9", [1, 2]),
        ("1,10,10,50,9;1,10,200,50,9", [1, 1]),  # what lies between is not its own
        ("1,10,700,50,9;1,10,60,50,9", [1, 1]),
        ("1,2,3", []),
        ("x,1,2,3,4;;", []),
        ("1,nan,2,3,4", []),
        ("1,1e9,2,3,4", []),
        ("", []),
    ],
)
def test_coordinates_as_they_come(coords, pages):
    document = tei.read(paper(f'<div><p coords="{coords}">Text.</p></div>'))
    assert [place.page for place in document.blocks[0].places] == pages


def test_a_corpus_of_one_is_that_one():
    single = paper("<div><p>Sea.</p></div>")
    assert tei.read(f"<teiCorpus><teiHeader/>{single}</teiCorpus>").text == "Sea."
    with pytest.raises(ConfigurationError, match="not a teiCorpus of several, got 2"):
        tei.read(f"<teiCorpus>{single}{single}</teiCorpus>")


@pytest.mark.parametrize("source", [paper(""), "<TEI/>", "<TEI><teiHeader/></TEI>", paper("<div><head/></div>")])
def test_a_tei_without_text_is_blank(source):
    assert (tei.read(source).text, tei.read(source).blocks) == ("", ())


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha"}">' for i in range(30))


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (f"<!DOCTYPE TEI [{LAUGHS}]>{paper('<p>&l29;</p>')}", "must not define entities, got 'l0', at line 1"),
        (
            f'<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]>{paper("<p>&x;</p>")}',
            "must not define entities, got 'x', at line 1",
        ),
        (paper("<div>" * 10_000 + "</div>" * 10_000), "nested at most 200 levels deep, at line 1"),
        (SEALS[: len(SEALS) // 2], "must be well-formed: .*, at line 74, column 1"),
        ("Just prose.", "must be TEI, such as GROBID's output for a PDF, got 'Just prose.'"),
        ("PK\x03\x04", "must be TEI, such as GROBID's output for a PDF, got 'PK"),
        ("", "must be TEI, such as GROBID's output for a PDF, got ''"),
        ("<article><body/></article>", "must be TEI, such as GROBID's output for a PDF, got '<article>'"),
        ("<html><body>TEI</body></html>", "got '<html>'"),
    ],
    ids=["laughs", "external", "deep", "cut", "prose", "zip", "empty", "jats", "html"],
)
def test_hostile_or_foreign_xml_is_refused(source, rule):
    with pytest.raises(ConfigurationError, match=rule):
        tei.read(source)


def test_collected_floats_without_a_name_are_kept():
    body = "<div><head>Sea</head><p>Text.</p></div><figure><figDesc>Waves.</figDesc></figure><note>Salt.</note>"
    assert texts_of(tei.read(paper(body))) == ["Sea", "Text.", "Figures and tables", "Waves.", "Notes", "Salt."]


def test_a_cell_may_cover_several_rows():
    rows = (
        '<row><cell>a</cell><cell rows="3">b</cell><cell>c</cell></row>' + "<row><cell>d</cell><cell>e</cell></row>" * 3
    )
    (table,) = texts_of(tei.read(paper(f"<table>{rows}</table>")))
    assert table.splitlines()[2:] == ["| d | b | e |", "| d | b | e |", "| d | e |  |"]


def test_numbers_of_cells_that_are_none_count_one():
    odd = (
        '<row><cell cols="x" rows="-1">a</cell><cell cols="0" '
        'rows="99999999999999">b</cell></row><row><cell>c</cell></row>'
    )
    (table,) = texts_of(tei.read(paper(f"<table>{odd}</table>")))
    assert table.splitlines()[-1] == "| c |  |"


def test_as_deep_as_is_allowed():
    deep = 190
    source = paper("".join(f"<div><head>h{i}</head>" for i in range(deep)) + "<p>Text.</p>" + "</div>" * deep)
    assert outline(tei.read(source))[-1] == (deep, f"h{deep - 1}")


def test_many_figures_take_no_longer_each_than_few():
    def source(count):
        calls = "".join(f'<ref target="#f{i}">*</ref>' for i in range(count))
        figures = "".join(f'<figure xml:id="f{i}"><head>{i}</head></figure>' for i in range(count))
        return paper(f"<div><p>{calls}</p></div>{figures}")

    assert len(tei.read(source(500)).blocks) == 1 + 500
    check_growth(tei.read, source, 2500)


def test_time_grows_with_the_number_of_sentences():
    sentence = '<s coords="1,1,1,1,1">Seals rest on banks when the tide is low &amp; the wind is weak.</s>'
    section = f'<div><head n="1">Bank</head>{f"<p>{sentence * 9}</p>" * 4}</div>'
    assert len(tei.read(paper(section * 9)).blocks) == 9 * 5
    check_growth(tei.read, lambda sections: paper(section * sections), 25)


@pytest.mark.parametrize(("text", "number", "names"), CASES["heads"])
def test_heads_are_parsed(text, number, names):
    actual = parse_heading(text)
    assert (actual.number, " ".join(actual.names)) == (number, names)


def test_ranks_of_heads():
    ranks = [
        parse_heading(text).role
        for text in ("Results", "Results and outlook", "Outlook", "References", "Deep sea vents")
    ]
    assert ranks == ["section", "section", "part", "matter", ""]


def test_words_divided_at_line_ends_are_joined_in_references():
    note = (
        "<note type='raw_reference'>Ann. Exam- ples of long- term pre- and post-war tea. J. Tea-\nHouses, 12- "
        "14.</note>"
    )
    document = tei.read(paper(f"<div/></body><back><listBibl><biblStruct>{note}</biblStruct></listBibl></back><body>"))
    assert document.text.endswith("Ann. Examples of long-term pre- and post-war tea. J. Tea-Houses, 12- 14.")
