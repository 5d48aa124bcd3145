"""Chunk vectors that know what stands around them: the kernel, and the ways to them."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaIndexDocument

from advchunk import Chunk, ConfigurationError, Document, OptimalSemanticChunker, RecursiveChunker, Span
from advchunk.models.static import default_embedder
from advchunk.signals import unit_rows
from advchunk.vectors import in_context, of_chunks, surroundings
from langchain_advchunk import MSTSemanticSplitter, OptimalSemanticSplitter
from llamaindex_advchunk import OptimalSemanticNodeParser

TEXT = (
    "Cats purr. Cats nap all day. A cat eats fish.\n\nJudges sit in court. Courts rule on law. A judge ruled.\n\n" * 3
)


@st.composite
def placed(draw):
    n, seed = draw(st.integers(1, 12)), draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    return unit_rows(rng.normal(size=(n, 4))), np.sort(rng.integers(0, 900, n)).astype(float)


@given(placed(), st.sampled_from([0.0, 0.3, 2.0]), st.sampled_from([1.0, 50.0, 200.0]))
def test_each_row_gets_all_others_faded_by_distance(given_rows, weight, reach):
    rows, positions = given_rows
    kernel = np.exp(-np.abs(positions[:, None] - positions[None]) / reach)
    np.fill_diagonal(kernel, 0)
    assert surroundings(rows, positions, reach) == pytest.approx(kernel @ rows, abs=1e-9)
    found = in_context(rows, positions, weight=weight, reach=reach)
    assert found == pytest.approx(unit_rows(rows + weight * kernel @ rows), abs=1e-9)
    turned = in_context(rows[::-1], -positions[::-1], weight=weight, reach=reach)[::-1]
    assert turned == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(
    ("params", "rule"),
    [({"weight": -0.1}, "weight must be >= 0"), ({"reach": 0.0}, "reach must be > 0")],
)
def test_what_makes_no_sense_is_refused(params, rule):
    with pytest.raises(ConfigurationError, match=rule):
        in_context(np.eye(2), np.array([0, 5]), **params)
    with pytest.raises(ConfigurationError, match="positions must never fall"):
        in_context(np.eye(2), np.array([5, 0]))


def test_chunks_of_several_passages_stand_at_their_mean():
    # Of ten characters and five tokens each: middles at 5, 25, and (5 * 10 + 95 * 10) / 20 = 50 characters.
    spans = [(Span(0, 10),), (Span(20, 30),), (Span(0, 10), Span(90, 100))]
    chunks = [Chunk("x" * sum(b - a for a, b in some), some, 5 * len(some)) for some in spans]
    rows = np.eye(3)
    expected = in_context(rows, np.array([2.5, 12.5, 25.0]))
    assert of_chunks(chunks, rows) == pytest.approx(expected)
    turned = of_chunks(chunks[::-1], rows[::-1])
    assert turned[::-1] == pytest.approx(expected)
    alone = of_chunks([Chunk("", (), 3)], np.eye(1))
    assert alone.tolist() == [[1.0]]


def test_chunks_have_vectors_when_they_are_asked_for():
    plain, mixed, none = (OptimalSemanticChunker(max_tokens=20, vectors=v) for v in ("plain", "context", "none"))
    chunks = plain.chunk(TEXT)
    own = default_embedder().embed([chunk.embed_text for chunk in chunks])
    assert np.array([chunk.vector for chunk in chunks]) == pytest.approx(own, abs=1e-6)
    expected = of_chunks(chunks, own)
    assert np.array([chunk.vector for chunk in mixed.chunk(TEXT)]) == pytest.approx(expected, abs=1e-6)
    assert [chunk.vector for chunk in none.chunk(TEXT)] == [None] * len(chunks)
    awaited = asyncio.run(mixed.achunk_many([TEXT, " ", "One."]))
    assert [len(some) for some in awaited] == [len(chunks), 0, 1]
    assert np.array([chunk.vector for chunk in awaited[0]]) == pytest.approx(expected, abs=1e-6)
    assert chunks == mixed.chunk(TEXT) == none.chunk(TEXT)  # the same chunks, whatever their vectors


def test_vectors_change_the_fingerprint_and_bad_ones_are_refused():
    prints = {OptimalSemanticChunker(vectors=v).fingerprint() for v in ("none", "plain", "context")}
    assert len(prints) == 3
    with pytest.raises(ConfigurationError, match="vectors must be one of"):
        OptimalSemanticChunker(vectors="mixed")


def test_a_fallback_has_no_vectors():
    def refuses(texts):
        raise RuntimeError(texts[0])

    found = OptimalSemanticChunker(vectors="context", embedder=refuses, fallback=RecursiveChunker()).chunk(TEXT)
    assert found[0].vector is None


def test_llama_index_has_them_as_embeddings():
    parser = OptimalSemanticNodeParser(max_tokens=20, vectors="context")
    nodes = parser([LlamaIndexDocument(text=TEXT, id_="a")])
    chunks = OptimalSemanticChunker(max_tokens=20, vectors="context").chunk(Document(TEXT, "a"))
    assert [node.embedding for node in nodes] == [chunk.vector.tolist() for chunk in chunks]
    again = OptimalSemanticNodeParser.from_dict(parser.to_dict())
    assert [node.embedding for node in again([LlamaIndexDocument(text=TEXT, id_="a")])] == [n.embedding for n in nodes]
    assert OptimalSemanticNodeParser()([LlamaIndexDocument(text=TEXT)])[0].embedding is None


def test_langchain_hands_them_to_any_store():
    documents = [LangChainDocument(TEXT, id="a"), LangChainDocument("Ships sail. Boats float on water.", id="b")]
    splitter = OptimalSemanticSplitter(max_tokens=20)
    pieces, embeddings = splitter.split_with_vectors(documents)
    assert [piece.page_content for piece in pieces] == [d.page_content for d in splitter.split_documents(documents)]
    store = InMemoryVectorStore.from_documents(pieces, embeddings)
    (best,) = store.similarity_search("Boats on the water", k=1)
    assert "Boats" in best.page_content
    chunks = OptimalSemanticChunker(max_tokens=20, vectors="context").chunk(
        Document("Ships sail. Boats float on water.", "b")
    )
    assert embeddings.embed_documents([best.page_content])[0] == chunks[0].vector.tolist()
    own = default_embedder().embed(["Boats on the water", "unknown"])
    assert embeddings.embed_query("Boats on the water") == pytest.approx(own[0].tolist(), abs=1e-6)
    assert embeddings.embed_documents(["unknown", best.page_content])[0] == pytest.approx(own[1].tolist(), abs=1e-6)
    cats = pieces[0].page_content  # a query is no chunk, even if it reads like one
    assert embeddings.embed_query(cats) != pytest.approx(embeddings.embed_documents([cats])[0], abs=1e-3)


def test_langchain_mixes_chunks_of_several_spans_too():
    splitter = MSTSemanticSplitter(granularity="paragraph", n_chunks=2)
    pieces, embeddings = splitter.split_with_vectors([LangChainDocument(TEXT)])
    assert any("spans" in piece.metadata for piece in pieces)
    own = default_embedder().embed([piece.page_content for piece in pieces])
    mixed = np.array(embeddings.embed_documents([piece.page_content for piece in pieces]))
    assert not np.allclose(mixed, own)
    assert np.linalg.norm(mixed, axis=1) == pytest.approx(1)


def test_langchain_hands_on_plain_ones_and_asks_for_none_unasked():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return default_embedder().embed(texts)

    splitter = OptimalSemanticSplitter(embed, max_tokens=20)
    pieces = splitter.split_documents([LangChainDocument(TEXT)])
    assert not {piece.page_content for piece in pieces} & set(asked)
    pieces, embeddings = splitter.split_with_vectors([LangChainDocument(TEXT)], vectors="plain")
    own = default_embedder().embed([piece.page_content for piece in pieces])
    assert np.array(embeddings.embed_documents([piece.page_content for piece in pieces])) == pytest.approx(
        own, abs=1e-6
    )
