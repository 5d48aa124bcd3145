"""What a text is written in, and reading it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, RecursiveChunker, Span
from advchunk.readers import formats
from advchunk.readers.formats import detect_file_format, detect_format, read
from advchunk.records import Block

TEI = '<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0"><text/></TEI>'
JATS = '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96)//EN" "x.dtd"><article article-type="research-article">'
TEXTS = {
    "tei": [TEI, '<tei:TEI xmlns:tei="http://www.tei-c.org/ns/1.0">', "\ufeff <TEI>", "<TEI.2>", "<!-- by GROBID --><TEI\n xml:id='a'>"],
    "jats": [JATS, "<article><front>", '<article xmlns:xlink="u"\n dtd-version="1.2">', "<pmc-articleset><article>", "<article><?open?>\n<front>",
             '<!DOCTYPE letter PUBLIC "-//NLM//DTD JATS (Z39.96)//EN"><letter>'],
    "pubmed": ["PMID- 7\nTI  - Tea.", "\ufeffPMID-  7\r\n", "<PubmedArticleSet>", '<?xml version="1.0"?>\n<!DOCTYPE PubmedArticleSet>\n<PubmedArticle>'],
    "html": ["<!doctype html><p>", "<html lang='en'>", "<!-- a --><HTML>", '<?xml version="1.0"?><!DOCTYPE html><html>'],
    "docling": [json.dumps({"schema_name": "DoclingDocument", "version": "1.8.0"}), '{"texts": [], "schema_name" : "DoclingDocument"}'],
    "markdown": [
        "", "Tea.", "# Tea", '<p align="center"><img src="a.png"></p>\n\n# Tea', "<div>\n\n# Tea", "<article>\n\nTea", "<TEAM>",
        '{"schema_name": "Other"}', "{not json", "PMID: 7", "He wrote <TEI> by hand.", "<", "<!-- ",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_formats_are_told_apart(name, text):
    assert detect_format(text) == name


@given(st.text() | st.text('<>!-?[]{}" \narticleTEI', max_size=300))
def test_any_text_has_a_format(text):
    assert detect_format(text) in formats._READERS.keys() | {"markdown"}


def test_telling_takes_no_longer_for_a_longer_text():
    for hostile in ("<!--" * 10**6, "<?" * 10**6, "<!DOCTYPE [" * 10**6, " " * 10**7, "<article " * 10**6):
        assert detect_format(hostile) in ("markdown", "jats")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.md", TEI, "markdown"),
        ("a.txt", TEI, "plain"),
        ("a.XML", TEI, "tei"),
        ("a.xml", "<note>Tea</note>", "plain"),
        ("a.html", "Tea", "html"),
        ("a.json", "{}", "plain"),
        ("a.nbib", "PMID- 7\n", "pubmed"),
        ("README", "# Tea", "plain"),
    ],
)
def test_files_go_by_their_names_first(name, text, found):
    assert detect_file_format(name, text) == found


def test_a_document_that_has_a_layout_keeps_it():
    given = Document(TEI, blocks=(Block("paragraph", Span(0, 4)),))
    assert read(given, "tei") is given


def test_markdown_and_plain_text_stay_as_they_are():
    given = Document("# Tea\n\nGreen.")
    assert [block.kind for block in read(given, "auto").blocks] == ["heading", "paragraph"]
    assert read(given, "plain").blocks == ()
    assert read(given, "plain").text == read(given, "markdown").text == given.text


def test_what_was_derived_twice_leads_to_the_original():
    first = Document("AIM: To  see.", offsets=np.arange(14) + 100)
    found = read(first, "pubmed")
    assert found.text == "AIM: To see."
    assert found.offsets[[0, 8, 12]].tolist() == [100, 109, 113]


def test_a_wrong_markup_is_one_clear_error():
    with pytest.raises(ConfigurationError, match=r"markup must be one of 'auto', 'markdown', .* got 'htm'"):
        RecursiveChunker(markup="htm")
    with pytest.raises(ConfigurationError, match=r"markup must be one of auto, .* got 'htm'; did you mean 'html'"):
        read(Document("Tea"), "htm")


def test_every_chunker_reads_records():
    record = "PMID- 7\nTI  - Tea.\nAB  - AIM: To see.\n"
    chunks = RecursiveChunker(markup="auto").chunk(record)
    said = [(chunk.text, chunk.metadata["title"], chunk.metadata["section"]) for chunk in chunks]
    assert said == [("AIM: To see.", "Tea.", "Objective")]
    assert chunks[0].source_spans == (Span(25, 37),)
