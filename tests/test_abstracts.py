"""Abstracts are read: normalised with a way back, divided by their labels, from text, MEDLINE and PubMed's XML."""

import time
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advchunk import ConfigurationError
from advchunk.readers import abstracts

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
<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1000/xyz</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>2</PMID><Article><ArticleTitle>Erratum</ArticleTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""


def sections(document):
    """Return each section's name and text."""
    found = [("", [])]
    for block in document.blocks:
        if block.kind == "heading":
            found.append((block.title, []))
        else:
            found[-1][1].append(document.text[slice(*block.span)])
    return [(name, " ".join(said)) for name, said in found if name or said]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("two   spaces\tand a\nline", "two spaces and a line"),
        ("\u2009thin\u00a0spaces ", "thin spaces"),
        ("ﬁbrin in 5 ㎎", "fibrin in 5 mg"),
        ("<p>HTML <b>goes</b><br/>away<!-- so --></p>", "HTML goes away"),
        ("p<0.05 and n>3 stay", "p<0.05 and n>3 stay"),
        ("a &lt; b &amp; c&nbsp;d &unknown; &#945;", "a < b & c d &unknown; α"),  # noqa: RUF001
        ("hyper-\ntension", "hypertension"),
        ("double-\nblind and 12-\n week GLP-\n1, p-\nvalue", "double-blind and 12-week GLP-1, p-value"),
        ("drug-\nresistant; as drug-resistant", "drug-resistant; as drug-resistant"),
        ("e.g.\nmice", "e.g. mice"),
        ("soft\u00adhyphen, zero\u200bwidth, so\u00ad\n ft", "softhyphen, zerowidth, soft"),
        ("12.4% vs 2.1% (Δ=−10.3 pp; p = 0.03, 1.5 mg/kg)", "12.4% vs 2.1% (Δ=−10.3 pp; p = 0.03, 1.5 mg/kg)"),
        ("10⁹/L, ½ dose, kg/m², 10<sup>-9</sup> M, CO<sub>2</sub>", "10⁹/L, ½ dose, kg/m², 10⁻⁹ M, CO2"),
        ("One.\n\n\nTwo.", "One.\n\nTwo."),
        ("One.\n Results:\n two", "One.\nResults: two"),
        ("<jats:title>Results</jats:title><jats:p>Two.</jats:p>", "Results\n\nTwo."),
    ],
)
def test_normalised(raw, clean):
    assert abstracts.normalised(raw).text == clean
    assert abstracts.normalised(clean).text == clean


@pytest.mark.parametrize("part", ["a", "\n", "<!--", "word-\n", "가ᄀ", "A, ", "Results: ", "²", "x. A "])  # fmt: skip
def test_reading_takes_linear_time(part):
    start = time.process_time()
    abstracts.read(part * (60_000 // len(part)))
    assert time.process_time() - start < 3  # a quadratic one takes 10 and more


def test_offsets_lead_back():
    raw = "Loss of\u2009ﬁbrin was <b>12%</b>\n  in the pla-\ncebo   group"
    said = abstracts.normalised(raw)
    for word, there in (("fibrin", "ﬁbrin"), ("12%", "12%"), ("placebo", "pla-\ncebo"), ("group", "group")):
        start = said.text.index(word)
        first, last = said.offsets[start], said.offsets[start + len(word) - 1]
        assert raw[first : last + 1] == there
    assert said.offsets[-1] == len(raw)


characters = (
    st.sampled_from("aB1 .-\n\t<>&;é\u0301ﬁ²½각ᄀ가가\u1100\u1161\u11a8ﾡￂㄱㅏがｶﾞ\u200b\u00ad：Δµ℃\ud800")
    | st.characters()
)


@given(st.text(characters, max_size=60))
@example("Results\n\nx")
def test_every_text_has_a_way_back(text):
    said = abstracts.normalised(text)
    assert len(said.offsets) == len(said.text) + 1
    assert np.all(np.diff(said.offsets) >= 0)
    assert all(0 <= place <= len(text) for place in said.offsets.tolist())
    where = zip(said.text, said.offsets.tolist(), strict=False)
    assert all(
        c == text[at] for c, at in where if c.isascii() and c.isalpha() and text[at].isascii() and text[at] != "&"
    )


@given(st.text(characters.filter(lambda c: c not in "<&\u00ad\u200b\ufeff"), max_size=40))
def test_nfkc_by_pieces_is_nfkc_of_the_whole(text):
    text = " ".join(text.split()).replace("-", "")
    kept = [c for c in text if unicodedata.decomposition(c).startswith(("<super>", "<sub>", "<fraction>"))]
    if not kept:
        whole = unicodedata.normalize("NFKC", text)
        assert "".join(abstracts.normalised(text).text.split()) == "".join(whole.split())


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
    assert abstracts.section_name(label) == name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Background: a. Methods: b. Results: c. Conclusions: d.", ["Background", "Methods", "Results", "Conclusions"]),
        ("BACKGROUND: a.\nPATIENTS AND METHODS: b.\nRESULTS: c.", ["Background", "Methods", "Results"]),
        ("Objective - a.\nResults — b.\nConclusion—We c.", ["Objective", "Results", "Conclusions"]),
        ("Background\nIt is so.\nResults\nIt was so.", ["Background", "Results"]),
        ("Results： it is so.", ["Results"]),
        ("Double-blind trials: a. We saw the following methods: b.", []),
        ("A trial with\nmethods: a and b.", []),
        ("We report\nresults - as they are.", []),
        ("A trial. methods: a.", []),
        ("A trial (n = 3). Methods: a.", ["Methods"]),
        ("A trial.\nmethods: a.", ["Methods"]),
        ("Results", []),
        ("", []),
    ],
)
def test_labels(text, names):
    assert [name for _, _, name in abstracts.labels(text)] == names
    document = abstracts.read(text)
    assert [block.title for block in document.blocks if block.kind == "heading"] == names


def test_blocks_cover_what_is_not_white_space():
    document = abstracts.read("Lead.\n\nAIM: To see.\n\nMore.\nRESULTS:\nSeen.")
    assert sections(document) == [("", "Lead."), ("Objective", "To see. More."), ("Results", "Seen.")]
    covered = "".join(document.text[slice(*block.span)] for block in document.blocks)
    assert covered.split() == document.text.split() or "".join(covered.split()) == "".join(document.text.split())


def test_structured_sections_keep_labels_of_their_own():
    document = abstracts.structured([("KEY POINTS", "One."), ("", "Two. RESULTS: Three."), ("AIM", " ")], id="x")
    assert document.text == "KEY POINTS: One.\nTwo. RESULTS: Three."
    assert sections(document) == [("KEY POINTS", "One. Two."), ("Results", "Three.")]
    assert document.id == "x"


def test_medline_is_read_with_its_offsets():
    first, second = abstracts.medline(MEDLINE)
    assert first.metadata == {
        "title": "Once-weekly XYZ versus placebo in obesity.",
        "pmid": "12345",
        "parent_uid": "pubmed:12345",
        "source": "pubmed",
        "published_at": "2021-03-05",
        "journal": "Journal of Trials",
        "doi": "10.1000/xyz",
        "mesh": "Obesity; Humans",
    }
    assert sections(first) == [("Background", "Obesity is common."), ("Results", "Weight fell by 12.4% (p<0.001).")]
    start = first.text.index("(p<")
    assert MEDLINE[first.offsets[start] :].startswith("(p<0.001).\nJT")
    assert (second.id, second.text, second.metadata["published_at"]) == ("pubmed:2", "", "2021")


def test_pubmeds_xml_is_read():
    first, second = abstracts.pubmed(PUBMED)
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


def test_one_record_is_a_document_and_several_are_not():
    one = MEDLINE.partition("\n\n")[0]
    document = abstracts.read(one, metadata={"journal": "mine"})
    assert (document.id, document.metadata["journal"]) == ("pubmed:12345", "mine")
    assert abstracts.read(one, id="x").id == "x"
    for several in (MEDLINE, PUBMED):
        with pytest.raises(ConfigurationError, match=r"must be one abstract; .* got 2"):
            abstracts.read(several)
    with pytest.raises(ConfigurationError, match="well-formed: unclosed token, at line 11"):
        abstracts.read(PUBMED[:900])


@pytest.mark.parametrize(
    ("said", "date"),
    [("2011 Nov 23", "2011-11-23"), ("2011 11 3", "2011-11-03"), ("2011 Nov-Dec", "2011-11"), ("2011", "2011"), ("n.d.", "")],
)  # fmt: skip
def test_dates(said, date):
    (document,) = abstracts.medline(f"PMID- 1\nDP  - {said}\n")
    assert document.metadata.get("published_at", "") == date
