"""Each document is chunked by the chunker for its format."""

import json
import logging
from pathlib import Path

import pytest

from advchunk import (
    AutoChunker,
    BiomedicalAbstractChunker,
    ConfigurationError,
    Document,
    GrobidSectionChunker,
    LayoutAwareChunker,
    OptimalSemanticChunker,
    RecursiveChunker,
    create,
    settings,
)
from advchunk.chunkers import auto
from advchunk.chunkers.catalog import is_general_purpose
from advchunk.chunkers.sources import chunk_files
from advchunk.readers import formats, markdown
from advchunk.readers.files import read_file
from advchunk.records import write_metadata

TEI = '<TEI><text><body><div><head n="3">Results</head><p>Weight fell by 4 kg.</p></div></body></text></TEI>'
RECORD = "PMID- 7\nTI  - A trial of tea.\nAB  - AIM: To see. RESULTS: It was seen."
NOTES = "# Tea\n\nGreen tea is steamed. Black tea is not."
PAGE = "<!doctype html><title>Tea</title><h1>Tea</h1><p>Green tea is steamed."
DOCLING = json.dumps(
    {
        "schema_name": "DoclingDocument",
        "version": "1.8.0",
        "name": "tea",
        "body": {"self_ref": "#/body", "children": [{"$ref": "#/texts/0"}], "label": "unspecified", "name": "_root_"},
        "texts": [
            {"self_ref": "#/texts/0", "children": [], "label": "text", "prov": [], "orig": "Tea.", "text": "Tea."}
        ],
    }
)
CHUNKERS = {
    TEI: GrobidSectionChunker(),
    DOCLING: LayoutAwareChunker(),
    RECORD: BiomedicalAbstractChunker(),
    NOTES: OptimalSemanticChunker(),
    PAGE: OptimalSemanticChunker(markup="html"),
}


@pytest.mark.parametrize("text", CHUNKERS, ids=[chunker.algorithm for chunker in CHUNKERS.values()])
def test_each_document_gets_the_chunks_of_its_own_chunker(text):
    expected = CHUNKERS[text].chunk(Document(text, "a"))
    own = AutoChunker(experimental=True).chunk(Document(text, "a"))
    assert [(c.id, c.text, c.spans, c.context) for c in own] == [(c.id, c.text, c.spans, c.context) for c in expected]
    chunker = {"chunker": CHUNKERS[text].algorithm}
    assert [chunk.metadata for chunk in own] == [write_metadata(chunk.metadata, chunker) for chunk in expected]


def test_without_experimental_chunkers_the_default_takes_their_documents_which_is_said_once(monkeypatch, caplog):
    monkeypatch.delenv("ADVCHUNK_EXPERIMENTAL", raising=False)
    auto._report_stable.cache_clear()
    results = create("auto").chunk_many([NOTES, TEI, TEI, RECORD, DOCLING], on_error="raise")
    chunkers = [chunks[0].metadata["chunker"] for chunks in results]
    assert chunkers == [*["optimal-semantic"] * 3, "biomedical-abstract", "optimal-semantic"]
    messages = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in messages] == [
        "tei documents are cut by optimal-semantic",
        "docling documents are cut by optimal-semantic",
    ]
    assert create("auto", experimental=True).chunk(TEI)[0].metadata["chunker"] == "grobid-section"


def test_the_setting_is_read_when_a_document_is_chunked(monkeypatch):
    monkeypatch.setenv("ADVCHUNK_EXPERIMENTAL", "0")
    chunker = create("auto")
    settings(experimental=True)
    assert chunker.chunk(TEI)[0].metadata["chunker"] == "grobid-section"
    assert create("auto", experimental=False).chunk(TEI)[0].metadata["chunker"] == "optimal-semantic"


def test_parameters_apply_to_all_chunkers_and_defaults_to_each():
    auto = AutoChunker(overlap_tokens=7, embedder=lambda texts: [[1.0, 0.0] for _ in texts])
    abstracts, texts = auto.chunker_for(RECORD), auto.chunker_for(NOTES)
    assert (abstracts.max_tokens, abstracts.min_tokens, abstracts.overlap_tokens) == (450, 120, 7)
    assert (texts.max_tokens, texts.overlap_tokens, texts.embedder) == (512, 7, auto.embedder)
    with pytest.raises(ConfigurationError, match=r"min_tokens must be in 0\.\.max_tokens"):
        AutoChunker(min_tokens=500).chunk(RECORD)


def test_the_version_depends_on_all_chunkers():
    own = sum(type(chunker).version for text, chunker in CHUNKERS.items() if text != PAGE)
    assert AutoChunker.version == own + RecursiveChunker.version


def test_no_chunk_exceeds_a_maximum_that_is_the_default_of_most_chunkers():
    notes = "Green tea is steamed. Black tea is not. " * 300
    assert max(chunk.tokens for chunk in AutoChunker(max_tokens=512).chunk(notes)) <= 512
    usual = AutoChunker()
    assert all(usual.chunker_for(text).max_tokens <= usual.max_tokens for text in (NOTES, RECORD))


def test_the_format_is_not_detected_if_there_is_a_layout_or_a_markup():
    assert AutoChunker().chunker_for(Document(TEI, blocks=markdown.blocks(TEI))).algorithm == "optimal-semantic"
    assert AutoChunker(markup="plain").chunk(TEI)[0].text == TEI
    assert AutoChunker(markup="pubmed").chunk("AIM: To see.")[0].metadata["chunker"] == "biomedical-abstract"


@pytest.mark.parametrize("text", CHUNKERS, ids=[chunker.algorithm for chunker in CHUNKERS.values()])
def test_a_document_from_a_reader_goes_to_the_same_chunker(text):
    document = Document(text, "a")
    own, expected = (AutoChunker(experimental=True).chunk(d) for d in (formats.read(document, "auto"), document))
    assert [(c.id, c.text, c.metadata) for c in own] == [(c.id, c.text, c.metadata) for c in expected]


def test_a_document_that_cannot_be_read_is_an_error(caplog):
    with caplog.at_level(logging.WARNING, "advchunk"), pytest.raises(ConfigurationError, match="must be well-formed"):
        AutoChunker(experimental=True).chunk(TEI[:60])
    assert not caplog.records


def test_files_of_data_are_read_by_their_names(tmp_path):
    rows = [{"name": f"tea number {i}", "price": i * 37} for i in range(300)]
    (tmp_path / "tea.csv").write_text("name,price\n" + "".join(f"{r['name']},{r['price']}\n" for r in rows), "utf-8")
    (tmp_path / "tea.json").write_text(json.dumps(rows), "utf-8")
    (tmp_path / "tea.xml.txt").write_text(RECORD, "utf-8")
    (tmp_path / "notes.txt").write_text(NOTES, "utf-8")
    got = {Path(document.id).name: chunks for document, chunks in chunk_files(tmp_path)}
    assert {name: chunks[0].metadata["chunker"] for name, chunks in got.items()} == {
        "notes.txt": "optimal-semantic", "tea.csv": "recursive", "tea.json": "recursive", "tea.xml.txt": "biomedical-abstract",
    }  # fmt: skip
    for name in ("tea.csv", "tea.json"):
        expected = RecursiveChunker().chunk(read_file(tmp_path / name))
        assert [chunk.embed_text for chunk in got[name]] == [chunk.embed_text for chunk in expected]
        assert all("price" in chunk.embed_text for chunk in got[name])


def test_it_is_not_general_purpose():
    assert not is_general_purpose("auto")
    assert is_general_purpose("optimal-semantic")
