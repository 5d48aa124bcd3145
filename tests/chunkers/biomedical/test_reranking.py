"""Search results are reranked by section, quality and age, in both frameworks."""

from datetime import date
from functools import partial

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.schema import NodeWithScore, TextNode

from advchunk import Chunk, ConfigurationError
from advchunk.chunkers.biomedical.reranking import Boosts, rerank

TODAY = date(2026, 6, 1)


@pytest.mark.parametrize(
    ("metadata", "boost"),
    [
        ({}, 0.0),
        ({"section": "Results"}, 0.15),
        ({"section": "Conclusions"}, 0.12),
        ({"section": "Methods"}, 0.05),
        ({"section": "Background"}, 0.02),
        ({"section": "Unstructured"}, 0.0),
        ({"section": "Background, Results"}, 0.15),
        ({"quality_total": 1.0}, 0.1),
        ({"quality_total": 0.3}, 0.03),
        ({"published_at": "2026-05-01"}, 0.1),
        ({"published_at": "2024"}, 0.1),
        ({"published_at": "2023-12-31"}, 0.05),
        ({"published_at": "2021"}, 0.05),
        ({"year": 2020}, 0.02),
        ({"year": 2016}, 0.02),
        ({"year": 2015}, 0.0),
        ({"published_at": "n.d."}, 0.0),
        ({"section": "Results", "quality_total": 1, "year": 2026}, 0.35),
    ],
)
def test_boosts(metadata, boost):
    assert Boosts().boost(metadata, TODAY.year) == pytest.approx(boost)
    ((_, score),) = rerank([(Chunk("", (), 0, metadata=metadata), 0.5)], on=TODAY)
    assert score == pytest.approx(0.5 * (1 + boost))


def test_both_frameworks_are_ranked_alike():
    rows = [("Methods", 0.52), ("Results", 0.5), ("", 0.51)]
    documents = rerank([(Document(name, metadata={"section": name}), score) for name, score in rows], on=TODAY)
    nodes = rerank(
        [NodeWithScore(node=TextNode(text=name, metadata={"section": name}), score=score) for name, score in rows],
        on=TODAY,
    )
    assert [document.page_content for document, _ in documents] == ["Results", "Methods", ""]
    assert [(node.text, node.score) for node in nodes] == [(d.page_content, score) for d, score in documents]


def test_reranking_in_a_chain():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(name, metadata={"section": name}) for name in ("Methods", "Results", "Aim")])
    results = store.similarity_search_with_score("Methods")
    assert results[0][0].page_content == "Methods"
    chain = RunnableLambda(store.similarity_search_with_score) | partial(
        rerank, boosts=Boosts(sections={"Aim": 1e6, "Results": 1e3}), on=TODAY
    )
    assert (
        chain.invoke("Methods") == rerank(results, Boosts(sections={"Aim": 1e6, "Results": 1e3}), on=TODAY) != results
    )


def test_a_negative_score_rises_too_and_equals_keep_their_order():
    chunks = [Chunk(text, (), 0, metadata={"section": text}) for text in ("a", "Results", "b")]
    results = rerank([(chunk, -0.5) for chunk in chunks], on=TODAY)
    assert [(chunk.text, score) for chunk, score in results] == [("Results", -0.425), ("a", -0.5), ("b", -0.5)]


def test_the_day_is_today_by_default():
    chunk = Chunk("", (), 0, metadata={"year": date.today().year})
    assert rerank([(chunk, 1.0)])[0][1] == pytest.approx(1.1)


def test_a_node_without_a_score_stays_last():
    nodes = [NodeWithScore(node=TextNode(text="x")), NodeWithScore(node=TextNode(text="y"), score=0.1)]
    assert [node.text for node in rerank(nodes, on=TODAY)] == ["y", "x"]


@pytest.mark.parametrize(
    "bad", [{"quality": -1.0}, {"sections": {"Results": float("nan")}}, {"recency": ((5, 0.1), (2, 0.2))}]
)
def test_a_bad_boost_is_an_error(bad):
    with pytest.raises(ConfigurationError, match=r"boosts must be finite|increasing whole"):
        Boosts(**bad)
