"""Hashed words beside any embedder, in the stores of both frameworks."""

import asyncio
import pickle

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode

from advchunk import HybridEmbedder
from advchunk.models.identity import identity
from langchain_advchunk import DefaultEmbeddings, HybridEmbeddings, MSTSemanticSplitter
from llamaindex_advchunk import DefaultEmbedding, HybridEmbedding, MSTSemanticNodeParser

TEXTS = [
    "The pump of the boiler is broken and has to be replaced.",
    "Valve QZ-91 leaks when it is cold.",
    "A valve that leaks should be closed at once.",
    "Taxes on tea were raised again.",
]
QUESTION = "What is wrong with QZ-91?"
MIXED = ["Cats purr.", "a \ud800", ""]


class Questions(Embeddings):
    """Embeds queries in another way than documents."""

    model_name = "questions"

    def embed_documents(self, texts):
        return [[1.0, 0.0]] * len(texts)

    def embed_query(self, _):
        return [0.0, 2.0]


class QuestionsToo(BaseEmbedding):
    """The same for LlamaIndex."""

    model_name: str = "questions"

    def _get_text_embedding(self, _):
        return [1.0, 0.0]

    def _get_query_embedding(self, _):
        return [0.0, 2.0]

    async def _aget_query_embedding(self, _):
        return [0.0, 2.0]


def test_a_rare_word_is_found_in_a_store_of_langchain():
    store = InMemoryVectorStore.from_texts(TEXTS, HybridEmbeddings())
    ((best, similarity),) = store.similarity_search_with_score(QUESTION, k=1)
    assert best.page_content == TEXTS[1]
    rows = HybridEmbedder().embed([QUESTION, TEXTS[1]])
    assert similarity == pytest.approx(float(rows[0] @ rows[1]), abs=1e-6)
    assert asyncio.run(store.asimilarity_search(QUESTION, k=4)) == store.similarity_search(QUESTION, k=4)


def test_a_rare_word_is_found_in_an_index_of_llamaindex(tmp_path):
    model, nodes = HybridEmbedding(), [TextNode(id_=str(i), text=text) for i, text in enumerate(TEXTS)]
    index = VectorStoreIndex(nodes, embed_model=model)
    (hit,) = index.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    assert hit.node.text == TEXTS[1]
    index.storage_context.persist(str(tmp_path))
    stored = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(tmp_path)), embed_model=model)
    (again,) = stored.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    assert (again.node_id, again.score) == (hit.node_id, hit.score)


@pytest.mark.parametrize("inner", [None, "default", "function"])
def test_the_vectors_are_those_of_the_core(inner):
    def function(texts):
        return [[1.0, len(text)] for text in texts]

    core = HybridEmbedder(None if inner == "default" else function if inner else None, 64, 0.3)
    lent = {None: (None, None), "default": (DefaultEmbeddings(), DefaultEmbedding()), "function": (function, function)}
    langchain, llamaindex = lent[inner]
    in_langchain = HybridEmbeddings(langchain, 64, 0.3)
    in_llamaindex = HybridEmbedding(embed_model=llamaindex, dimensions=64, weight=0.3)
    expected = core.embed(MIXED).tolist()
    for embed, awaited, texts, vectors in (
        (in_langchain.embed_documents, in_langchain.aembed_documents, MIXED, expected),
        (in_langchain.embed_query, in_langchain.aembed_query, MIXED[0], expected[0]),
        (in_llamaindex.get_text_embedding_batch, in_llamaindex.aget_text_embedding_batch, MIXED, expected),
        (in_llamaindex.get_text_embedding, in_llamaindex.aget_text_embedding, MIXED[0], expected[0]),
        (in_llamaindex.get_query_embedding, in_llamaindex.aget_query_embedding, MIXED[0], expected[0]),
    ):
        assert embed(texts) == asyncio.run(awaited(texts)) == vectors
    assert in_langchain.embed_documents([]) == asyncio.run(in_langchain.aembed_documents([])) == []


def test_queries_are_embedded_as_the_embedder_inside_embeds_them():
    words = HybridEmbedder(lambda texts: [[0.0, 1.0]] * len(texts), 8).embed(["tea"])[0].tolist()
    langchain, llamaindex = HybridEmbeddings(Questions(), 8), HybridEmbedding(embed_model=QuestionsToo(), dimensions=8)
    assert langchain.embed_query("tea") == asyncio.run(langchain.aembed_query("tea")) == words
    assert llamaindex.get_query_embedding("tea") == asyncio.run(llamaindex.aget_query_embedding("tea")) == words
    assert langchain.embed_documents(["tea"])[0] == llamaindex.get_text_embedding("tea") != words


def test_copies_are_equal_and_need_the_embedder_inside():
    langchain = HybridEmbeddings(dimensions=32)
    copy = pickle.loads(pickle.dumps(langchain))
    assert copy.embed_query("Tea.") == langchain.embed_query("Tea.")
    llamaindex = HybridEmbedding(dimensions=32, language="de")
    for same in (HybridEmbedding.from_dict(llamaindex.to_dict()), pickle.loads(pickle.dumps(llamaindex))):
        assert same.to_dict() == llamaindex.to_dict()
        assert same.get_text_embedding("Die Boote") == llamaindex.get_text_embedding("Die Boote")
    inside = HybridEmbedding(embed_model=QuestionsToo())
    with pytest.raises(ValueError, match="pass the embed_model that the embedding was made with"):
        HybridEmbedding.from_dict(inside.to_dict())


def test_parameters_and_names_differ():
    names = {
        identity(model)
        for kind in (HybridEmbeddings, HybridEmbedding)
        for model in (kind(), kind(dimensions=8), kind(weight=0.4), kind(language="de"))
    }
    assert len(names) == 8
    for kind in (HybridEmbeddings, HybridEmbedding):
        with pytest.raises(ValueError, match=r"weight must be in 0\.\.1, got 2"):
            kind(weight=2)


def test_chunkers_accept_them():
    text = "Cats purr. Cats nap.\n\nTaxes rise. Taxes are paid."
    for chunks in (
        MSTSemanticSplitter(HybridEmbeddings()).split_text(text),
        MSTSemanticNodeParser(embed_model=HybridEmbedding()).split_text(text),
    ):
        assert "".join(chunks).split() == text.split()
    assert np.isfinite(HybridEmbedder().embed([text])).all()
