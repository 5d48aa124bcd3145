"""The reader of PubMed: MEDLINE records, and the XML of EFetch."""

import pytest

from advchunk import BiomedicalAbstractChunker, ConfigurationError
from advchunk.readers.pubmed import reader as abstracts
from advchunk.readers.pubmed import records as pubmed

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


def sections(document):
    """Return each section's name and text."""
    sections = [("", [])]
    for block in document.blocks:
        if block.kind == "heading":
            sections.append((block.title, []))
        else:
            sections[-1][1].append(document.text[slice(*block.span)])
    return [(name, " ".join(texts)) for name, texts in sections if name or texts]


def test_medline_is_read_with_its_offsets():
    first, second = pubmed.read_medline(MEDLINE)
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
    assert [record.id for record in pubmed.read_records(PUBMED)] == ["pubmed:12345", "pubmed:2"]
    assert [record.id for record in pubmed.read_records(MEDLINE)] == ["pubmed:12345", "pubmed:2"]
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
        (
            '<!DOCTYPE PubmedArticleSet [<!ENTITY a SYSTEM "file:///etc/passwd">]><PubmedArticleSet>&a;',
            "define entities",
        ),
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
