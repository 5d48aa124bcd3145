"""Chunks that are chunked again stand in their document, in both frameworks."""

import re

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
from llama_index.core.schema import Document as Root

from advchunk.records import written_metadata
from langchain_advchunk import AdvchunkRetriever, HierarchicalSplitter, RecursiveSplitter
from langchain_advchunk import MSTSemanticSplitter as Grouping
from langchain_advchunk import chunk_spans as spans_of
from llamaindex_advchunk import MSTSemanticNodeParser, RecursiveNodeParser, chunk_spans

TEXT = """# Cats

Cats purr and nap all day.


Judges sit in court.
They hear both sides.

# Dogs

Cats nap and cats purr. Dogs bark at night, and judges sleep.
"""
LINES = ("start_line", "end_line")


def lines(spans):
    """Return the first and last line of what is not white space in spans of the text."""
    at = [i for start, end in spans for i in range(start, end) if not TEXT[i].isspace()]
    return TEXT.count("\n", 0, at[0]) + 1, TEXT.count("\n", 0, at[-1]) + 1


def check(text, spans, metadata):
    if not spans:  # it is of the context alone
        assert text.strip() in {"Cats", "Dogs"}
        return
    assert text.endswith("".join(TEXT[start:end] for start, end in spans))
    own = written_metadata(metadata)
    assert tuple(own[key] for key in LINES if key in own) in ((), lines(spans))


@pytest.mark.parametrize(
    "first",
    [
        RecursiveSplitter(max_tokens=20),
        RecursiveSplitter(max_tokens=20, overlap_tokens=5),
        RecursiveSplitter(max_tokens=14, include_context=True),
        HierarchicalSplitter(levels=[20, 10]),
        Grouping(n_segments=2),
        RecursiveCharacterTextSplitter(chunk_size=70, chunk_overlap=10, add_start_index=True),
    ],
)
def test_langchain(first):
    once = first.split_documents([Document(TEXT, id="of the document", metadata={"source": "pets.md"})])
    for twice in (RecursiveSplitter(max_tokens=7).split_documents(once), RecursiveSplitter().split_documents(once)):
        again = RecursiveSplitter(max_tokens=5).split_documents(twice)
        for piece in [*twice, *again]:
            check(piece.page_content, spans_of(piece), piece.metadata)
            own = written_metadata(piece.metadata)
            is_ours = "token_count" in written_metadata(once[0].metadata)
            assert own.get("source_id") == ("of the document" if is_ours else None)
            assert "chunk_index" not in own


def test_lines_are_told_where_the_chunk_tells_its_own():
    once = RecursiveSplitter(max_tokens=20).split_documents([Document(TEXT)])
    twice = RecursiveSplitter(max_tokens=7).split_documents(once)
    assert all({*LINES} <= written_metadata(piece.metadata).keys() for piece in twice)


def test_a_citation_is_of_the_document():
    once = RecursiveSplitter(max_tokens=20).split_documents([Document(TEXT, metadata={"source": "pets.md"})])
    retriever = AdvchunkRetriever(chunks=RecursiveSplitter(max_tokens=12).split_documents(once))
    at = TEXT.index("Dogs bark")
    [passage] = retriever.invoke("Who barks at night?", budget=12)
    assert passage.metadata["citation"] == f"pets.md, Dogs, line 11, characters {at}-{len(TEXT) - 1}"


@pytest.mark.parametrize(
    "first",
    [
        RecursiveSplitter(max_tokens=20, add_start_index=False),
        RecursiveCharacterTextSplitter(chunk_size=40, chunk_overlap=0),  # of our chunks: it keeps their metadata
    ],
)
def test_unknown_places_are_not_made_up(first):
    ours = RecursiveSplitter(max_tokens=20).split_documents([Document(TEXT, metadata={"source": "pets.md"})])
    is_ours = isinstance(first, RecursiveSplitter)
    once = first.split_documents([Document(TEXT)] if is_ours else ours)
    for piece in RecursiveSplitter(max_tokens=5).split_documents(once):
        assert not spans_of(piece) or "".join(TEXT[slice(*span)] for span in spans_of(piece)) == piece.page_content
        assert bool(spans_of(piece)) >= (LINES[0] in written_metadata(piece.metadata))


def test_files_that_are_loaded_as_chunks_are_split_again(tmp_path):
    (tmp_path / "pets.md").write_text(TEXT)
    small, splitter = RecursiveNodeParser(max_tokens=5), RecursiveSplitter(max_tokens=5)
    for piece in splitter.split_documents(RecursiveSplitter(max_tokens=20).split_files(tmp_path)):
        check(piece.page_content, spans_of(piece), piece.metadata)
    for node in small(RecursiveNodeParser(max_tokens=20).get_nodes_from_files(tmp_path)):
        check(node.text, chunk_spans(node), node.metadata)


@pytest.mark.parametrize(
    "first",
    [
        RecursiveNodeParser(max_tokens=20),
        MSTSemanticNodeParser(n_segments=2),
        SentenceSplitter(chunk_size=20, chunk_overlap=5),
        MarkdownNodeParser(),  # whose nodes say no lines
    ],
)
def test_llama_index(first):
    once = first([Root(text=TEXT, id_="of the document")])
    twice = RecursiveNodeParser(max_tokens=7)(once)
    again = RecursiveNodeParser(max_tokens=5)(twice)
    for node in [*twice, *again]:
        check(node.text, chunk_spans(node), node.metadata)
        assert node.ref_doc_id == "of the document"


def test_parts_of_a_chunk_over_pages_are_on_any_of_them():
    metadata = {"page": 3, "pages": "3 4", "advchunk_keys": "page pages"}
    for piece in RecursiveSplitter(max_tokens=5).split_documents([Document(re.sub("#", "", TEXT), metadata=metadata)]):
        assert written_metadata(piece.metadata)["pages"] == "3 4"
