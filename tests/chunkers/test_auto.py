"""Each document is chunked as what it is written in."""

import json
import logging

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from advchunk import (
    AutoChunker,
    BiomedicalAbstractChunker,
    ConfigurationError,
    Document,
    GrobidSectionChunker,
    LayoutAwareChunker,
    UniversalSemanticChunker,
    create,
    settings,
)
from advchunk.chunkers.registry import is_general_purpose
from advchunk.readers import formats, markdown
from langchain_advchunk import AutoSplitter
from llamaindex_advchunk import AutoNodeParser

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
WANTED = {
    TEI: GrobidSectionChunker(),
    DOCLING: LayoutAwareChunker(),
    RECORD: BiomedicalAbstractChunker(),
    NOTES: UniversalSemanticChunker(),
    PAGE: UniversalSemanticChunker(markup="html"),
}


@pytest.mark.parametrize("text", WANTED, ids=[chunker.algorithm for chunker in WANTED.values()])
def test_each_document_gets_the_chunks_of_its_own_chunker(text):
    theirs = WANTED[text].chunk(Document(text, "a"))
    mine = AutoChunker(experimental=True).chunk(Document(text, "a"))
    assert [(c.id, c.text, c.spans, c.context) for c in mine] == [(c.id, c.text, c.spans, c.context) for c in theirs]
    assert {chunk.metadata.pop("chunker") for chunk in mine} == {WANTED[text].algorithm}
    assert [chunk.metadata for chunk in mine] == [chunk.metadata for chunk in theirs]


def test_many_documents_come_in_their_order():
    found = AutoChunker(experimental=True).chunk_many(list(WANTED))
    assert [chunks[0].metadata["chunker"] for chunks in found] == [chunker.algorithm for chunker in WANTED.values()]


def test_what_is_experimental_must_be_allowed(monkeypatch):
    monkeypatch.delenv("ADVCHUNK_EXPERIMENTAL", raising=False)
    with pytest.raises(ConfigurationError, match="grobid-section, which tei documents need, is experimental: pass exp"):
        create("auto").chunk(TEI)
    failures = create("auto").chunk_many([NOTES, TEI, RECORD, DOCLING], on_error="collect").failures
    assert [(failure.index, type(failure.error)) for failure in failures] == [
        (1, ConfigurationError),
        (3, ConfigurationError),
    ]
    assert create("auto", experimental=True).chunk(TEI)


def test_the_switch_counts_when_a_document_is_chunked(monkeypatch):
    monkeypatch.setenv("ADVCHUNK_EXPERIMENTAL", "0")
    chunker = create("auto")
    settings(experimental=True)
    assert chunker.chunk(TEI)
    with pytest.raises(ConfigurationError, match="experimental"):
        create("auto", experimental=False).chunk(TEI)


def test_what_is_set_is_set_for_all_and_what_is_left_is_each_chunkers_own():
    auto = AutoChunker(overlap_tokens=7, embedder=lambda texts: [[1.0, 0.0] for _ in texts])
    abstracts, texts = auto.chunker_for(RECORD), auto.chunker_for(NOTES)
    assert (abstracts.max_tokens, abstracts.min_tokens, abstracts.overlap_tokens) == (450, 120, 7)
    assert (texts.max_tokens, texts.overlap_tokens, texts.embedder) == (3000, 7, auto.embedder)
    with pytest.raises(ConfigurationError, match=r"min_tokens must be in 0\.\.max_tokens"):
        AutoChunker(min_tokens=500).chunk(RECORD)


def test_a_later_version_of_any_of_them_is_one_of_this():
    assert AutoChunker.version == sum(type(chunker).version for text, chunker in WANTED.items() if text != PAGE)


def test_no_chunk_exceeds_the_maximum_that_is_said_even_if_it_is_that_of_most_chunkers():
    notes = "Green tea is steamed. Black tea is not. " * 300
    assert max(chunk.tokens for chunk in AutoChunker(max_tokens=512).chunk(notes)) <= 512
    usual = AutoChunker()
    assert all(usual.chunker_for(text).max_tokens <= usual.max_tokens for text in (NOTES, RECORD))


def test_a_document_with_a_layout_and_a_markup_that_is_said_are_not_looked_at():
    assert AutoChunker().chunker_for(Document(TEI, blocks=markdown.blocks(TEI))).algorithm == "universal-semantic"
    assert AutoChunker(markup="plain").chunk(TEI)[0].text == TEI
    assert AutoChunker(markup="pubmed").chunk("AIM: To see.")[0].metadata["chunker"] == "biomedical-abstract"


@pytest.mark.parametrize("text", WANTED, ids=[chunker.algorithm for chunker in WANTED.values()])
def test_a_document_that_was_read_goes_to_the_same_chunker(text):
    given, read = Document(text, "a"), formats.read(Document(text, "a"), "auto")
    mine, theirs = (AutoChunker(experimental=True).chunk(document) for document in (read, given))
    assert [(c.id, c.text, c.metadata) for c in mine] == [(c.id, c.text, c.metadata) for c in theirs]


def test_a_document_that_cannot_be_read_is_an_error_and_no_chunks_of_markup(caplog):
    with (
        caplog.at_level(logging.WARNING, "advchunk"),
        pytest.raises(ConfigurationError, match="XML must be well-formed"),
    ):
        AutoChunker(experimental=True).chunk(TEI[:60])
    assert not caplog.records


def test_both_frameworks_have_it():
    documents = [LangChainDocument(text, id=str(i)) for i, text in enumerate(WANTED)]
    split = AutoSplitter(experimental=True).split_documents(documents)
    parsed = AutoNodeParser(experimental=True)(
        [LlamaIndexDocument(text=text, id_=str(i)) for i, text in enumerate(WANTED)]
    )
    core = AutoChunker(experimental=True).chunk_many(Document(text, str(i)) for i, text in enumerate(WANTED))
    ids = [chunk.id for chunks in core for chunk in chunks]
    assert (
        [piece.page_content for piece in split] == [node.text for node in parsed] == [c.text for cs in core for c in cs]
    )
    assert [piece.id for piece in split] == [node.node_id for node in parsed] == ids
    placed = ["start_index" in piece.metadata for piece in split]
    assert placed == [node.start_char_idx is not None for node in parsed]
    assert placed == [False, False, *[True] * (len(placed) - 3), False]  # where the text is in what came in
    assert split[0].metadata["imrad"] == parsed[0].metadata["imrad"] == "Results"


def test_it_is_no_candidate_of_its_own():
    assert not is_general_purpose("auto")
    assert is_general_purpose("universal-semantic")
