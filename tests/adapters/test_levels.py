"""Retrieval by levels over the stores of both frameworks equals that of the core."""

import asyncio

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.node_parser import get_leaf_nodes

from advchunk import ConfigurationError, HierarchicalChunker
from advchunk.retrieval import Retriever, Search
from langchain_advchunk import AdvchunkRetriever, DefaultEmbeddings, GraphRAGSplitter, HierarchicalSplitter
from llamaindex_advchunk import AdvchunkRetriever as NodeRetriever
from llamaindex_advchunk import DefaultEmbedding, GraphRAGNodeParser, HierarchicalNodeParser

CATS = "# Cats\n\nCats purr softly. Cats nap in the sun. Kittens chase mice. Cats eat fish.\n\n"
COURTS = "# Courts\n\nJudges sit in court. Courts rule on law. Lawyers argue appeals. The court adjourns.\n\n"
BOATS = "# Boats\n\nBoats are moored in harbors. Sails catch the wind. Sailors tie knots. Anchors hold boats."
TEXTS = {"a": CATS + COURTS, "b": BOATS}
LEVELS = {"levels": ["section", "sentence"]}
QUESTIONS = ["Where are boats moored, and what holds boats?", "Who argues appeals in court?", "mice"]
WAYS = [
    {},
    {"levels": "local"},
    {"levels": "global"},
    {"answer": "long"},
    {"section_weight": 2.0, "neighbors": False},
    {"merge": 0.4},
    {"levels": "global", "merge": 0.4},
]
SEA = "Captain Ahab hunts Moby Dick. Captain Ahab sails with Mr Starbuck. Mr Starbuck fears Moby Dick."
LAW = "Judge Judy fined Emil Egan. Emil Egan sued Dora Dunn. Judge Judy heard Dora Dunn."


def core(**how):
    chunks = {name: HierarchicalChunker(**LEVELS).chunk(text) for name, text in TEXTS.items()}
    return Retriever(chunks, texts=TEXTS, **how)


def pieces(splitter=None):
    splitter = splitter or HierarchicalSplitter(**LEVELS)
    documents = [LangChainDocument(text, id=name, metadata={"source": name}) for name, text in TEXTS.items()]
    return splitter.split_documents(documents)


def nodes():
    return HierarchicalNodeParser(**LEVELS)([Document(text=text, id_=name) for name, text in TEXTS.items()])


def store_of(chunks):
    return InMemoryVectorStore.from_documents(chunks, DefaultEmbeddings())


def texts(results):
    return [result.page_content.strip() for result in results]


def search(**way):
    return Search(**{"mode": "hybrid", "neighbors": True, **way})


@pytest.mark.parametrize("way", WAYS)
def test_langchain_returns_what_the_core_returns(way):
    chunks = pieces()
    retriever = AdvchunkRetriever(vectorstore=store_of(chunks), chunks=chunks, texts=TEXTS, k=4, search=search(**way))
    for question in QUESTIONS:
        hits = core(**way).search(question, 4)
        assert texts(retriever.invoke(question)) == [hit.chunk.text.strip() for hit in hits]
        passages = core(**way).passages(question, 30)
        assert texts(retriever.invoke(question, budget=30)) == [passage.text.strip() for passage in passages]
        assert retriever.invoke(question) == asyncio.run(retriever.ainvoke(question))


@pytest.mark.parametrize("way", WAYS)
def test_llama_index_returns_what_the_core_returns(way):
    index = VectorStoreIndex(nodes(), embed_model=DefaultEmbedding())
    retriever = NodeRetriever(index, similarity_top_k=4, search=search(**way))
    within = NodeRetriever(index, budget=30, search=search(**way))
    for question in QUESTIONS:
        hits = core(**way).search(question, 4)
        assert [hit.text.strip() for hit in retriever.retrieve(question)] == [hit.chunk.text.strip() for hit in hits]
        passages = core(**way).passages(question, 30)
        assert [hit.text.strip() for hit in within.retrieve(question)] == [p.text.strip() for p in passages]
    assert retriever.retrieve(QUESTIONS[0]) == asyncio.run(retriever.aretrieve(QUESTIONS[0]))


def test_sections_that_are_not_in_the_store_score_by_their_words():
    chunks = pieces()
    leaves = [chunk for chunk in chunks if chunk.metadata["level"] == 1]
    retriever = AdvchunkRetriever(vectorstore=store_of(leaves), chunks=chunks, search=search(levels="global"), k=1)
    assert texts(retriever.invoke("Who argues appeals in court?")) == [COURTS.strip()]
    index = VectorStoreIndex(get_leaf_nodes(nodes()), embed_model=DefaultEmbedding())
    index.docstore.add_documents(nodes())
    (hit,) = NodeRetriever(index, search=search(levels="global"), similarity_top_k=1).retrieve(
        "Who argues appeals in court?"
    )
    assert hit.text.strip() == COURTS.strip()


def test_one_search_may_expect_a_long_answer():
    chunks = pieces()
    short = AdvchunkRetriever(vectorstore=store_of(chunks), chunks=chunks, k=4)
    long = short.model_copy(update={"search": search(answer="long")})
    assert short.invoke(QUESTIONS[0], search=search(answer="long")) == long.invoke(QUESTIONS[0])
    with pytest.raises(ConfigurationError, match="search must be a Search, got 'long'"):
        short.invoke(QUESTIONS[0], search="long")


def test_merged_sections_keep_their_citations():
    chunks = pieces()
    retriever = AdvchunkRetriever(vectorstore=store_of(chunks), chunks=chunks, search=search(merge=0.4), k=4)
    best = retriever.invoke(QUESTIONS[0])[0]
    assert best.page_content == BOATS
    assert best.metadata["granularity"] == "section"
    assert best.metadata["citation"] == f"b, Boats, lines 1-3, characters 0-{len(BOATS)}"


def test_communities_of_a_corpus_come_first_in_both_frameworks():
    sizes = {"max_tokens": 16, "summary_tokens": 16}
    documents = [LangChainDocument(text, id=name) for name, text in {"sea": SEA, "law": LAW}.items()]
    chunks = GraphRAGSplitter(**sizes).split_documents(documents)
    retriever = AdvchunkRetriever(vectorstore=store_of(chunks), chunks=chunks, search=search(levels="global"), k=1)
    (best,) = retriever.invoke("What did Judge Judy do?")
    assert "Judge Judy" in best.metadata["community"]
    assert all(text in SEA + LAW for text in texts(retriever.invoke("What did Judge Judy do?", budget=16)))
    assert all(
        chunk.metadata["granularity"] == "paragraph" for chunk in retriever.invoke("Judge Judy", k=9, search=search())
    )
    parsed = GraphRAGNodeParser(**sizes).get_nodes_from_documents(
        [Document(text=text, id_=name) for name, text in {"sea": SEA, "law": LAW}.items()]
    )
    index = VectorStoreIndex(parsed, embed_model=DefaultEmbedding())
    (hit,) = NodeRetriever(index, search=search(levels="global"), similarity_top_k=1).retrieve(
        "What did Judge Judy do?"
    )
    assert hit.node.node_id == best.id
    leaves = NodeRetriever(index, similarity_top_k=9).retrieve("Judge Judy")
    assert {leaf.node.metadata["granularity"] for leaf in leaves} == {"paragraph"}
