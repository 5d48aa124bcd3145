"""Detection of formats, and reading by format."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, RecursiveChunker, Span, registry
from advchunk.readers.formats import detect_file_format, detect_format, read
from advchunk.records import Block

TEI = '<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0"><text/></TEI>'
JATS = '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96)//EN" "x.dtd"><article article-type="research-article">'
TEXTS = {
    "tei": [TEI, '<tei:TEI xmlns:tei="http://www.tei-c.org/ns/1.0">', "\ufeff <TEI>", "<TEI.2>", "<!-- by GROBID "
                                                                                                 "--><TEI\n xml:id='a'>"],
    "jats": [JATS, "<article><front>", '<article xmlns:xlink="u"\n '
                                       'dtd-version="1.2">', "<pmc-articleset><article>", "<article><?open?>\n<front>",
             '<!DOCTYPE letter PUBLIC "-//NLM//DTD JATS (Z39.96)//EN"><letter>'],
    "pubmed": ["PMID- 7\nTI  - Tea.", "\ufeffPMID-  7\r\n", "<PubmedArticleSet>", '<?xml version="1.0"?>\n<!DOCTYPE '
                                                                                  'PubmedArticleSet>\n<PubmedArticle>'],
    "html": ["<!doctype html><p>", "<html lang='en'>", "<!-- a --><HTML>", '<?xml version="1.0"?><!DOCTYPE '
                                                                           'html><html>'],
    "docling": [json.dumps({"schema_name": "DoclingDocument", "version": "1.8.0"}), '{"texts": [], "schema_name" : '
                                                                                    '"DoclingDocument"}'],
    "xml": ['<?xml version="1.0"?>\n<note>Tea</note>', '<?xml version="1.0"?><!-- a --><rss>'],
    "markdown": [
        "", "Tea.", "# Tea", '<p align="center"><img '
                             'src="a.png"></p>\n\n# Tea', "<div>\n\n# Tea", "<article>\n\nTea", "<TEAM>",
        '{"schema_name": "Other"}', "{not json", "PMID: 7", "He wrote <TEI> by hand.", "<", "<!-- ",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_formats_are_detected(name, text):
    assert detect_format(text) == name


@given(st.text() | st.text('<>!-?[]{}" \narticleTEI', max_size=300))
def test_any_text_has_a_format(text):
    assert detect_format(text) in registry.names_of("reader")


def test_detection_takes_constant_time():
    for hostile in ("<!--" * 10**6, "<?" * 10**6, "<!DOCTYPE [" * 10**6, " " * 10**7, "<article " * 10**6):
        assert detect_format(hostile) in ("markdown", "jats")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.md", TEI, "markdown"),
        ("a.txt", TEI, "plain"),
        ("a.XML", TEI, "tei"),
        ("a.xml", "<note>Tea</note>", "xml"),
        ("a.xml", "Tea", "plain"),
        ("a.txt", '<?xml version="1.0"?><note>Tea</note>', "plain"),
        ("a.html", "Tea", "html"),
        pytest.param("a.json", "{}", "json"),
        ("a.nbib", "PMID- 7\n", "pubmed"),
        ("README", "# Tea", "plain"),
    ],
)
def test_file_format_goes_by_the_name_first(name, text, expected):
    assert detect_file_format(name, text) == expected


def test_a_document_that_has_a_layout_keeps_it():
    document = Document(TEI, blocks=(Block("paragraph", Span(0, 4)),))
    assert read(document, "tei") is document


def test_markdown_and_plain_text_stay_as_they_are():
    document = Document("# Tea\n\nGreen.")
    assert [block.kind for block in read(document, "auto").blocks] == ["heading", "paragraph"]
    assert read(document, "plain").blocks == ()
    assert read(document, "plain").text == read(document, "markdown").text == document.text


def test_offsets_of_a_derived_text_are_composed():
    first = Document("AIM: To  see.", offsets=np.arange(14) + 100)
    second = read(first, "pubmed")
    assert second.text == "AIM: To see."
    assert second.offsets[[0, 8, 12]].tolist() == [100, 109, 113]


def test_a_wrong_markup_is_one_clear_error():
    with pytest.raises(ConfigurationError, match=r"markup must be one of auto, markdown, .* got 'htm'"):
        RecursiveChunker(markup="htm")
    with pytest.raises(ConfigurationError, match=r"markup must be one of auto, .* got 'htm'; did you mean 'html'"):
        read(Document("Tea"), "htm")


def test_every_chunker_reads_records():
    record = "PMID- 7\nTI  - Tea.\nAB  - AIM: To see.\n"
    chunks = RecursiveChunker(markup="auto").chunk(record)
    fields = [(chunk.text, chunk.metadata["title"], chunk.metadata["section"]) for chunk in chunks]
    assert fields == [("AIM: To see.", "Tea.", "Objective")]
    assert chunks[0].source_spans == (Span(25, 37),)
