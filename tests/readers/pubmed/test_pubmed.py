"""PubMed: abstracts with offsets and sections by labels, MEDLINE records, and the XML of EFetch."""

import textwrap
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advchunk import BiomedicalAbstractChunker, ConfigurationError
from advchunk.readers.pubmed import reader as abstracts
from advchunk.readers.pubmed import records as pubmed
from advchunk.readers.pubmed.labels import section_name
from blocks import CASES, texts_of
from growing import check_growth, repeated


def sections(document):
    """Return each section's name and text."""
    sections = [("", [])]
    for block in document.blocks:
        if block.kind == "heading":
            sections.append((block.title, []))
        else:
            sections[-1][1].append(document.text[slice(*block.span)])
    return [(name, " ".join(texts)) for name, texts in sections if name or texts]


@pytest.mark.parametrize(("raw", "clean"), CASES["normalized abstracts"])
def test_normalized(raw, clean):
    assert abstracts.normalize_abstract(raw).text == clean
    assert abstracts.normalize_abstract(clean).text == clean


@pytest.mark.parametrize("part", ["a", "\n", "<!--", "word-\n", "가ᄀ", "A, ", "Results: ", "²", "x. A "])  # fmt: skip
def test_reading_takes_linear_time(part):
    check_growth(abstracts.read, repeated(part))


def test_offsets_lead_back():
    raw = "Loss of\u2009ﬁbrin was <b>12%</b>\n  in the pla-\ncebo   group"
    aligned = abstracts.normalize_abstract(raw)
    for word, there in (("fibrin", "ﬁbrin"), ("12%", "12%"), ("placebo", "pla-\ncebo"), ("group", "group")):
        start = aligned.text.index(word)
        first, last = aligned.offsets[start], aligned.offsets[start + len(word) - 1]
        assert raw[first : last + 1] == there
    assert aligned.offsets[-1] == len(raw)


characters = (
    st.sampled_from("aB1 .-\n\t<>&;é\u0301ﬁ²½각ᄀ가가\u1100\u1161\u11a8ﾡￂㄱㅏがｶﾞ\u200b\u00ad：Δµ℃\ud800")
    | st.characters()
)


@given(st.text(characters, max_size=60))
@example("Results\n\nx")
def test_offsets_are_valid_for_any_text(text):
    aligned = abstracts.normalize_abstract(text)
    assert len(aligned.offsets) == len(aligned.text) + 1
    assert np.all(np.diff(aligned.offsets) >= 0)
    assert all(0 <= place <= len(text) for place in aligned.offsets.tolist())
    where = zip(aligned.text, aligned.offsets.tolist(), strict=False)
    assert all(
        c == text[at] for c, at in where if c.isascii() and c.isalpha() and text[at].isascii() and text[at] != "&"
    )


@given(st.text(characters.filter(lambda c: c not in "<&\u00ad\u200b\ufeff"), max_size=40))
def test_nfkc_by_pieces_equals_nfkc_of_the_whole(text):
    text = " ".join(text.split()).replace("-", "")
    kept = [c for c in text if unicodedata.decomposition(c).startswith(("<super>", "<sub>", "<fraction>"))]
    if not kept:
        whole = unicodedata.normalize("NFKC", text)
        assert "".join(abstracts.normalize_abstract(text).text.split()) == "".join(whole.split())


@pytest.mark.parametrize(
    ("label", "name"),
    [
        *[(label, "Background") for label in ("background", "Introduction", "RATIONALE", "Context")],
        *[(label, "Objective") for label in ("objective", "objectives", "aim", "Aims", "PURPOSE", "goal", "goals")],
        *[(label, "Methods") for label in ("methods", "method", "materials", "design", "setting", "participants")],
        *[(label, "Methods") for label in ("interventions", "measures", "Patients & methods", "MAIN OUTCOME MEASURES")],
        *[(label, "Results") for label in ("results", "result", "findings", "outcomes", "Methods and Results")],
        *[(label, "Conclusions") for label in ("conclusions", "conclusion", "interpretation", "implications")],
        *[(label, "Conclusions") for label in ("limitations", "Results and discussion")],
        *[(label, None) for label in ("Double", "Study", "In", "ICU LOS", "Main drug", "")],
    ],
)
def test_section_names(label, name):
    assert section_name(label) == name


@pytest.mark.parametrize(("text", "names"), CASES["labels of abstracts"])
def test_labels(text, names):
    assert [name for _, _, name in abstracts.find_labels(text)] == names
    document = abstracts.read(text)
    assert [block.title for block in document.blocks if block.kind == "heading"] == names


PUBLISHED = ["background", "rationale", "objective", "aims", "methods", "design", "results", "findings", "conclusion"]


@given(
    st.lists(st.tuples(st.sampled_from(PUBLISHED), st.sampled_from([str.upper, str.title])), min_size=1, max_size=6),
    st.sampled_from(["\n", " ", "\n\n"]),
    st.sampled_from(
        ["Fell by 1.5 mg/kg (p = 0.03).", "Is 3.2 vs. 4.1 fine?", "Double-blind: so e.g. it (95% CI 1-2)."]
    ),
)
def test_every_labeled_section_is_recovered(drawn, between, body):
    text = between.join(f"{case(label)}: {body}" for label, case in drawn)
    document = abstracts.read(text)
    assert sections(document) == [(section_name(label), body) for label, _ in drawn]


ENDS = [": ", ":", " : ", ":\n", "- ", " - ", "-", "–", " – ", "— ", "—", ". "]


@pytest.mark.parametrize("case", [str.upper, str.title, str.capitalize, str.lower])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("between", ["\n", "\n\n", " "])
def test_labels_of_all_forms_are_read_alike(case, end, between):
    labels = ["background", "aim of the study", "patients and methods", "results", "conclusions"]
    bodies = ["A double-blind trial.", "To see (n = 3).", "Two of 10.", "We saw 1.5 mg/kg\nor less.", "Tea works."]
    first = str.lower if case is str.lower else str
    text = between.join(f"{case(label)}{end}{first(body)}" for label, body in zip(labels, bodies, strict=True))
    names = ["Background", "Objective", "Methods", "Results", "Conclusions"]
    expected = [(name, " ".join(first(body).split())) for name, body in zip(names, bodies, strict=True)]
    assert sections(abstracts.read(text)) == expected


@pytest.mark.parametrize("case", [str.upper, str.title, str.lower])
@pytest.mark.parametrize("end", [end for end in ENDS if "\n" not in end])
def test_line_ends_within_labels_change_nothing(case, end):
    labels = ["background and aim of the study", "materials and methods", "results and limitations", "main conclusions"]
    body = "it was two of ten mice (p = .03)." if case is str.lower else "It was two of ten mice (p = .03)."
    text = " ".join(f"{case(label)}{end}{body}" for label in labels)
    whole = sections(abstracts.read(text))
    assert [name for name, _ in whole] == ["Objective", "Methods", "Conclusions", "Conclusions"]
    for width in range(45, 110):
        lines = textwrap.wrap(text, width, break_on_hyphens=False)
        assert sections(abstracts.read("\n      ".join(lines))) == whole


def test_blocks_cover_what_is_not_white_space():
    document = abstracts.read("Lead.\n\nAIM: To see.\n\nMore.\nRESULTS:\nSeen.")
    assert sections(document) == [("", "Lead."), ("Objective", "To see. More."), ("Results", "Seen.")]
    assert "".join("".join(texts_of(document)).split()) == "".join(document.text.split())


def test_structured_sections_keep_labels_of_their_own():
    document = pubmed.from_sections([("KEY POINTS", "One."), ("", "Two. RESULTS: Three."), ("AIM", " ")], id="x")
    assert document.text == "KEY POINTS: One.\nTwo. RESULTS: Three."
    assert sections(document) == [("KEY POINTS", "One. Two."), ("Results", "Three.")]
    assert document.id == "x"


MEDLINE = """
PMID- 12345
TI  - Once-weekly XYZ versus placebo
      in obesity.
DP  - 2021 Mar 5
AB  - BACKGROUND: Obesity is common. RESULTS: Weight fell by 12.4%
      (p<0.001).
JT  - Journal of Trials
MH  - Obesity/*drug therapy
MH  - Humans
AID - 10.1000/xyz [doi]

PMID- 2
TI  - An editorial.
DP  - 2021 Spring
"""

PUBMED = """<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" "https://dtd.nlm.nih.gov/x.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">12345</PMID><Article>
<Journal><JournalIssue><PubDate><Year>2021</Year><Month>Mar</Month></PubDate></JournalIssue><Title>J Trials</Title></Journal>
<ArticleTitle>XYZ in <i>obesity</i></ArticleTitle>
<Abstract><AbstractText Label="WHAT IS KNOWN" NlmCategory="BACKGROUND">Counts of 10<sup>9</sup>/L.</AbstractText>
<AbstractText Label="KEY POINTS">Weight fell (p&lt;0.001).</AbstractText>
<AbstractText>Nothing else. METHODS: None.</AbstractText></Abstract>
</Article><MeshHeadingList><MeshHeading><DescriptorName>Obesity</DescriptorName></MeshHeading></MeshHeadingList></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1000/xyz</ArticleId></ArticleIdList><ReferenceList><Reference>
<ArticleIdList><ArticleId IdType="doi">10.1000/cited</ArticleId></ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>2</PMID><Article><ArticleTitle>Erratum</ArticleTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""

BOOK = """<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID>3</PMID>
<ArticleIdList><ArticleId IdType="doi">10.1000/book</ArticleId></ArticleIdList>
<Book><BookTitle>All of tea</BookTitle><PubDate><Year>2020</Year></PubDate></Book><ArticleTitle>Tea</ArticleTitle>
<Abstract><AbstractText>Tea is good.</AbstractText></Abstract></BookDocument></PubmedBookArticle></PubmedArticleSet>
"""


def test_medline_is_read_with_its_offsets():
    first, second = pubmed.read_medline(MEDLINE)
    assert first.metadata == {
        "title": "Once-weekly XYZ versus placebo in obesity.", "pmid": "12345", "parent_uid": "pubmed:12345",
        "source": "pubmed", "published_at": "2021-03-05", "journal": "Journal of Trials", "doi": "10.1000/xyz",
        "mesh": "Obesity; Humans",
    }  # fmt: skip
    assert sections(first) == [("Background", "Obesity is common."), ("Results", "Weight fell by 12.4% (p<0.001).")]
    start = first.text.index("(p<")
    assert MEDLINE[first.offsets[start] :].startswith("(p<0.001).\nJT")
    assert (second.id, second.text, second.metadata["published_at"]) == ("pubmed:2", "", "2021")


def test_pubmeds_xml_is_read():
    first, second = pubmed.read_pubmed_xml(PUBMED)
    assert first.id == first.metadata["parent_uid"] == "pubmed:12345"
    assert first.metadata["title"] == "XYZ in obesity"
    assert (first.metadata["published_at"], first.metadata["journal"]) == ("2021-03", "J Trials")
    assert (first.metadata["mesh"], first.metadata["doi"]) == ("Obesity", "10.1000/xyz")
    assert sections(first) == [
        ("Background", "Counts of 10⁹/L."),
        ("KEY POINTS", "Weight fell (p<0.001). Nothing else."),
        ("Methods", "None."),
    ]
    assert (second.text, second.metadata["title"]) == ("", "Erratum")


def test_an_article_of_a_book_is_read():
    (document,) = pubmed.read_records(BOOK)
    assert (document.id, document.text) == ("pubmed:3", "Tea is good.")
    assert {key: document.metadata[key] for key in ("title", "published_at", "doi")} == {
        "title": "Tea", "published_at": "2020", "doi": "10.1000/book",
    }  # fmt: skip
    (untitled,) = pubmed.read_pubmed_xml(BOOK.replace("ArticleTitle>", "Other>"))
    assert untitled.metadata["title"] == "All of tea"


def test_records_are_of_either_format_or_none():
    for text in PUBMED, MEDLINE:
        assert [record.id for record in pubmed.read_records(text)] == ["pubmed:12345", "pubmed:2"]
    assert pubmed.read_records("AIM: To see.") == []


def test_byte_order_mark_and_crlf_change_nothing():
    plain = pubmed.read_medline(MEDLINE)
    exported = pubmed.read_medline("\ufeff" + MEDLINE.lstrip().replace("\n", "\r\n"))
    assert [(record.text, record.metadata, record.blocks) for record in exported] == [
        (record.text, record.metadata, record.blocks) for record in plain
    ]


@pytest.mark.parametrize(
    ("hostile", "rule"),
    [
        ('<!DOCTYPE PubmedArticleSet [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><PubmedArticleSet>&b;', "define entities"),
        ("<PubmedArticleSet>" + "<a>" * 10_000, "nested at most"),
        (PUBMED[:900], "well-formed"),
        ("<PubmedArticleSet/>", "must be one abstract; .* got 0"),
    ],
)
def test_hostile_record_raises_an_error_in_the_chunker(hostile, rule):
    with pytest.raises(ConfigurationError, match=rule):
        BiomedicalAbstractChunker().chunk(hostile)


def test_one_record_is_a_document_and_several_are_not():
    record = MEDLINE.partition("\n\n")[0]
    document = abstracts.read(record, metadata={"journal": "mine"})
    assert (document.id, document.metadata["journal"]) == ("pubmed:12345", "mine")
    assert abstracts.read(record, id="x").id == "x"
    for several in (MEDLINE, PUBMED):
        with pytest.raises(ConfigurationError, match=r"must be one abstract; .* got 2"):
            abstracts.read(several)
    with pytest.raises(ConfigurationError, match="well-formed: no element found, at line 11"):
        abstracts.read(PUBMED[:900])


@pytest.mark.parametrize(
    ("text", "date"),
    [("2011 Nov 23", "2011-11-23"), ("2011 11 3", "2011-11-03"), ("2011 Nov-Dec", "2011-11"), ("2011", "2011"), ("n.d.", "")],
)  # fmt: skip
def test_dates(text, date):
    (document,) = pubmed.read_medline(f"PMID- 1\nDP  - {text}\n")
    assert document.metadata.get("published_at", "") == date
