"""LangChain's own tests of embeddings and retrievers. It has none of text splitters and sparse vectors."""

import pytest

pytest.importorskip("langchain_tests")

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import EmbeddingsIntegrationTests, RetrieversIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from advchunk.models.embedders import as_embedder
from advchunk.retrieval import Retriever
from langchain_advchunk import (
    AdvchunkRetriever,
    ChunkEmbeddings,
    DefaultEmbeddings,
    HybridEmbeddings,
    IndexRetriever,
    RecursiveSplitter,
)

TEXT = "Boil the water. Add green tea. Wait two minutes. Pour it into cups. Drink the tea."
CHUNKS = RecursiveSplitter(max_tokens=8).split_documents([Document(TEXT, metadata={"source": "tea"})])
EMBEDDINGS = {
    DefaultEmbeddings: {},
    HybridEmbeddings: {"dimensions": 32},
    ChunkEmbeddings: {"embedder": as_embedder(None), "rows": ()},
}


@pytest.fixture(params=EMBEDDINGS, ids=lambda cls: cls.__name__)
def embeddings(request):
    """A class of embeddings."""
    return request.param


class OfEmbeddings:
    @pytest.fixture(autouse=True)
    def chosen(self, embeddings):
        self.cls = embeddings

    @property
    def embeddings_class(self):
        return self.cls

    @property
    def embedding_model_params(self):
        return EMBEDDINGS[self.cls]


class TestEmbeddingsUnit(OfEmbeddings, EmbeddingsUnitTests):
    pass


class TestEmbeddingsIntegration(OfEmbeddings, EmbeddingsIntegrationTests):
    pass


class OfRetriever(RetrieversIntegrationTests):
    retriever_query_example = "How long should I wait for the tea?"


class TestAdvchunkRetriever(OfRetriever):
    retriever_constructor = AdvchunkRetriever

    @property
    def retriever_constructor_params(self):
        return {"vectorstore": InMemoryVectorStore.from_documents(CHUNKS, DefaultEmbeddings()), "chunks": CHUNKS}


class TestIndexRetriever(OfRetriever):
    retriever_constructor = IndexRetriever

    @property
    def retriever_constructor_params(self):
        index = IndexRetriever(index=Retriever(), budget=None)
        index.add_documents([Document(text, id=text) for text in TEXT.split(". ")])
        return {"index": index.index, "budget": None}
