"""Chunk vectors that know what stands around them: the kernel, and the ways to them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeRelationship

from advchunk import Chunk, Document, MSTSemanticChunker, OptimalSemanticChunker, Span, UniversalSemanticChunker
from advchunk.models.context_vectors import add_context, chunk_vectors, neighbor_sums, sentence_rows, units_in
from advchunk.models.signals import unit_rows
from advchunk.models.static import default_embedder
from advchunk.records import Units
from growing import check_growth
from langchain_advchunk import OptimalSemanticSplitter, vectors_for
from llamaindex_advchunk import OptimalSemanticNodeParser

TEXT = "Cats purr. Cats nap all day. A cat eats fish.\n\nJudges sit in court. Courts rule. A judge ruled.\n\n" * 3


@st.composite
def placed(draw):
    n, seed = draw(st.integers(1, 12)), draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    return unit_rows(rng.normal(size=(n, 4))), np.sort(rng.integers(0, 900, n)).astype(float)


@given(placed(), st.sampled_from([0.0, 0.3, 2.0]), st.sampled_from([1.0, 50.0, 200.0]))
def test_context_is_the_sum_of_other_rows_weighted_by_distance(given_rows, weight, reach):
    rows, positions = given_rows
    kernel = np.exp(-np.abs(positions[:, None] - positions[None]) / reach)
    np.fill_diagonal(kernel, 0)
    assert neighbor_sums(rows, positions, reach) == pytest.approx(kernel @ rows, abs=1e-9)
    actual = add_context(rows, positions, weight=weight, reach=reach)
    assert actual == pytest.approx(unit_rows(rows + weight * kernel @ rows), abs=1e-9)
    turned = add_context(rows[::-1], -positions[::-1], weight=weight, reach=reach)[::-1]
    assert turned == pytest.approx(actual, abs=1e-9)


def test_context_takes_time_in_proportion_to_the_rows():
    check_growth(lambda rows: add_context(rows, np.arange(len(rows))), lambda count: np.ones((count, 4)), 1500)


def test_chunks_of_several_passages_stand_at_their_mean():
    # Of ten characters and five tokens each: middles at 5, 25, and (5 * 10 + 95 * 10) / 20 = 50 characters.
    spans = [(Span(0, 10),), (Span(20, 30),), (Span(0, 10), Span(90, 100))]
    chunks = [Chunk("x" * sum(b - a for a, b in some), some, 5 * len(some)) for some in spans]
    rows = np.eye(3)
    expected = add_context(rows, np.array([2.5, 12.5, 25.0]))
    assert chunk_vectors(chunks, rows) == pytest.approx(expected)
    turned = chunk_vectors(chunks[::-1], rows[::-1])
    assert turned[::-1] == pytest.approx(expected)
    alone = chunk_vectors([Chunk("", (), 3)], np.eye(1))
    assert alone.tolist() == [[1.0]]


@st.composite
def cut_and_grouped(draw):
    # Chunks of passages of a text, which may overlap and cut units.
    edges = [0, *sorted(draw(st.sets(st.integers(1, 29), max_size=8))), 30]
    bounds = st.sets(st.integers(0, 30), min_size=2, max_size=6).map(sorted)
    groups = [list(zip(b[::2], b[1::2], strict=False)) for b in draw(st.lists(bounds, min_size=1, max_size=4))]
    chunks = [Chunk("x" * sum(b - a for a, b in group), tuple(Span(*span) for span in group), 1) for group in groups]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    units = Units("x" * 30, np.array(edges), rng.integers(1, 200, len(edges) - 1))
    rows, vectors = (unit_rows(rng.normal(size=(n, 4))) for n in (len(units), len(chunks)))
    return chunks, vectors, units, rows


@given(cut_and_grouped(), st.sampled_from([0.0, 0.3, 1.0]))
def test_sentence_rows_mix_units_with_context_and_chunk(drawn, share):
    chunks, vectors, units, rows = drawn
    starts = [sum(units.sizes[:i]) for i in range(len(units))]
    middles = [start + size / 2 for start, size in zip(starts, units.sizes, strict=True)]
    actual = sentence_rows(chunks, vectors, units, rows, share=share)
    for chunk, vector, some in zip(chunks, vectors, actual, strict=True):
        characters = {place for span in chunk.spans for place in range(*span)}
        expected = []
        for i in range(len(units)):
            if characters & set(range(units.edges[i], units.edges[i + 1])):
                around = sum(np.exp(-abs(middles[i] - middles[j]) / 100) * rows[j] for j in range(len(units)) if j != i)
                mixed = rows[i] + 0.3 * around
                row = (1 - share) * vector + share * mixed / np.linalg.norm(mixed)
                expected.append(row / np.linalg.norm(row))
        assert some == pytest.approx(np.array(expected), abs=1e-9)


def asking(asked):
    def embed(texts):
        asked.append(list(texts))
        return default_embedder().embed(texts)

    return embed


def test_chunks_have_rows_on_request():
    mixed, fine = (OptimalSemanticChunker(max_tokens=20, vectors=v).explain(TEXT) for v in ("context", "units"))
    assert fine.chunks == mixed.chunks
    assert all(chunk.rows is None and not chunk.row_spans for chunk in mixed.chunks)
    assert [c.vector.tolist() for c in fine.chunks] == [c.vector.tolist() for c in mixed.chunks]
    own = default_embedder().embed(fine.units.strings())
    expected = sentence_rows(fine.chunks, np.array([c.vector for c in mixed.chunks]), fine.units, own)
    for chunk, rows in zip(fine.chunks, expected, strict=True):
        assert chunk.rows == pytest.approx(rows, abs=1e-6)
        assert len(chunk.rows) > 1
        assert "".join(TEXT[a:b] for a, b in chunk.row_spans) == chunk.text
        assert "".join(chunk.row_texts) == chunk.text


def test_rows_are_sentences_for_every_algorithm():
    asked = []
    (group, *_) = chunks = MSTSemanticChunker(
        granularity="paragraph", n_segments=2, vectors="units", embedder=asking(asked)
    ).chunk(TEXT)
    assert len(group.spans) == 3
    assert [TEXT[a:b] for a, b in group.row_spans] == ["Cats purr. ", "Cats nap all day. ", "A cat eats fish.\n\n"] * 3
    texts = [text for call in asked for text in call]
    assert len(texts) == len(set(texts))
    paragraphs = {text + "\n\n" for text in TEXT.split("\n\n") if text}
    assert set(texts) == paragraphs | {c.text for c in chunks} | {TEXT[a:b] for c in chunks for a, b in c.row_spans}
    plain = UniversalSemanticChunker(vectors="units", min_chunk_size=1, threshold=0.9).chunk("Dr. Smith naps. Cats eat")
    assert [chunk.row_spans[0] for chunk in plain][:2] == [Span(0, 16)] * 2  # "Dr. " is a unit there, and a chunk


def test_overlapping_chunks_each_have_the_sentences_that_they_repeat():
    chunks = OptimalSemanticChunker(max_tokens=20, overlap_tokens=5, vectors="units").chunk(TEXT)
    repeats = [(a, b, set(a.row_spans) & set(b.row_spans)) for a, b in pairwise(chunks)]
    assert any(both for _, _, both in repeats)
    for before, after, both in repeats:
        assert bool(both) == (after.start < before.end)
    lone = OptimalSemanticChunker(vectors="units").chunk("One sentence.")[0]
    assert lone.rows == pytest.approx(lone.vector[None], abs=1e-6)
    halves = Units("abcdef", np.array([0, 6]))
    assert [units_in(Chunk("abc", (span,), 1), halves).tolist() for span in (Span(0, 3), Span(3, 6))] == [[0], [0]]


ZEBRAS = "Zebras graze. "
DAYS = "Cats nap. Cats purr. " + ZEBRAS + "Cats eat. Cats sleep. Courts rule. Judges sit. Laws bind. Trials end. "


def by_first_word(texts):
    topics = {"Cats": 0, "Courts": 1, "Judges": 1, "Laws": 1, "Trials": 1, "Zebras": 2}
    # Courts are a little like zebras, so that whoever goes by whole chunks finds them instead.
    rows = np.eye(4)[[topics.get(text.split()[0].rstrip("."), 3) for text in texts]]
    return unit_rows(rows + 0.2 * rows[:, [1]] * np.eye(4)[2])


def test_langchain_tells_equal_sentences_of_two_chunks_apart():
    documents = [LangChainDocument("Yes. Cats nap. Cats purr."), LangChainDocument("Yes. Courts rule. Laws bind.")]
    pieces = OptimalSemanticSplitter(by_first_word).split_documents(documents)
    chunks, rows, embeddings = vectors_for(pieces, "units", by_first_word, documents)
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    store = InMemoryVectorStore.from_documents(rows, embeddings)
    retriever = retrievers.MultiVectorRetriever(vectorstore=store, docstore=InMemoryStore(), search_kwargs={"k": 1})
    retriever.docstore.mset([(chunk.id, chunk) for chunk in chunks])
    first, second = (i for i, row in enumerate(rows) if row.page_content == "Yes. ")
    served = embeddings.embed_documents([row.page_content for row in rows])
    assert served[first] != served[second]
    assert [document.id for document in retriever.invoke("Courts")] == [chunks[1].id]
    assert embeddings.embed_documents(["Yes. "]) == [served[first]]


class ByFirstWord(BaseEmbedding):
    def _get_query_embedding(self, query):
        return by_first_word([query])[0].tolist()

    async def _aget_query_embedding(self, query):
        raise AssertionError(query)

    def _get_text_embedding(self, text):
        raise AssertionError(text)


def test_llama_index_finds_chunks_by_their_sentences():
    parser = OptimalSemanticNodeParser(embed_model=by_first_word, n_segments=2, vectors="units")
    document = LlamaIndexDocument(text=DAYS, id_="a", metadata={"source": "days.txt"})
    nodes = parser([document])
    chunks = list({node.index_id: node.obj for node in nodes}.values())
    plain = OptimalSemanticNodeParser(embed_model=by_first_word, n_segments=2)([document])
    assert [chunk.to_dict() for chunk in chunks] == [node.to_dict() for node in plain]
    core = OptimalSemanticChunker(n_segments=2, embedder=by_first_word, vectors="units").chunk(Document(DAYS, "a"))
    assert [node.embedding for node in nodes] == [row.tolist() for chunk in core for row in chunk.rows]
    assert [node.text for node in nodes] == [DAYS[node.start_char_idx : node.end_char_idx] for node in nodes]
    assert {node.ref_doc_id for node in nodes} == {"a"}
    assert {node.relationships[NodeRelationship.PARENT].node_id for node in nodes} == {c.node_id for c in chunks}
    assert nodes[0].metadata == {"source": "days.txt"}
    assert len({node.node_id for node in nodes}) == len(nodes)

    index = VectorStoreIndex(nodes, embed_model=ByFirstWord())
    results = index.as_retriever(similarity_top_k=9).retrieve("Zebras")
    assert [result.node.node_id for result in results] == [chunk.node_id for chunk in chunks]  # each once
    assert results[0].node.text == chunks[0].text
    best = core[0].rows[core[0].row_spans.index((DAYS.index("Z"), DAYS.index("Cats eat")))]
    assert results[0].score == pytest.approx(best @ by_first_word(["Zebras"])[0])
