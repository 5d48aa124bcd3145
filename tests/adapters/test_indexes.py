"""`IndexRetriever` in both frameworks: documents in, passages with citations out, from a file that others search,
too."""

import asyncio

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

import langchain_advchunk
import llamaindex_advchunk
from advchunk import ConfigurationError, RecursiveChunker
from advchunk.retrieval import Retriever, StoredRetriever

TEXTS = {
    "tea.md": "# Tea\n\nBoil the water. Add tea. Wait two minutes. Pour it.",
    "rum.md": "# Rum\n\nSailors drank rum on Sundays. The captain had the key.",
}
QUESTION = "How long should I wait?"


def langchain(index, **options):
    return langchain_advchunk.IndexRetriever(index=index, **options)


def llamaindex(index, **options):
    return llamaindex_advchunk.IndexRetriever(index, **options)


def add(retriever, names=tuple(TEXTS)):
    if isinstance(retriever, langchain_advchunk.IndexRetriever):
        documents = [LangChainDocument(TEXTS[name], metadata={"source": name, "year": 7}) for name in names]
    else:
        documents = [LlamaIndexDocument(text=TEXTS[name], id_=name, metadata={"year": 7}) for name in names]
    retriever.add_documents(documents)


def ask(retriever):
    """Return text, metadata and score of each result."""
    if isinstance(retriever, langchain_advchunk.IndexRetriever):
        hits, awaited = retriever.invoke(QUESTION), asyncio.run(retriever.ainvoke(QUESTION))
        assert hits == awaited
        return [(document.page_content, document.metadata) for document in hits]
    hits, awaited = retriever.retrieve(QUESTION), asyncio.run(retriever.aretrieve(QUESTION))
    assert [hit.node.node_id for hit in hits] == [hit.node.node_id for hit in awaited]
    return [(hit.node.text, hit.node.metadata) for hit in hits]


@pytest.mark.parametrize("make", [langchain, llamaindex])
def test_documents_are_added_found_replaced_and_removed(make, tmp_path):
    path = tmp_path / "my.index"
    retriever = make(path, budget=8)
    add(retriever)
    text, metadata = ask(retriever)[0]
    assert "Wait two minutes." in text
    assert metadata["citation"].startswith("tea.md, Tea, line 3, characters ")
    assert metadata["year"] == 7
    own = StoredRetriever(path)
    assert own.documents == [*TEXTS]
    assert own.passages(QUESTION, 8)[0].citation == metadata["citation"]
    add(make(path), ["tea.md"])
    assert own.documents == ["rum.md", "tea.md"]


@pytest.mark.parametrize("make", [langchain, llamaindex])
def test_chunks_of_an_index_in_memory(make):
    size = {langchain: "k", llamaindex: "similarity_top_k"}[make]
    chunker = RecursiveChunker(max_tokens=8)
    retriever = make(Retriever(), budget=None, chunker=chunker, **{size: 2})
    add(retriever)
    results = ask(retriever)
    assert len(results) == 2
    assert results[0][0] in [chunk.text for chunk in chunker.chunk(TEXTS["tea.md"])]


def test_a_document_without_a_name_is_refused():
    with pytest.raises(ConfigurationError, match="documents must have names or ids"):
        langchain(Retriever()).add_documents([LangChainDocument("Tea.")])


def test_nothing_that_is_passed_is_ignored(tmp_path):
    pages = [LangChainDocument(f"Page {page}.", metadata={"source": "a.pdf", "page": page}) for page in range(3)]
    retriever = langchain(str(tmp_path / "a.index"))
    with pytest.raises(ConfigurationError, match=r"must have different names: join the pages .* got .'a.pdf'"):
        retriever.add_documents(pages)
    retriever.add_documents(pages[:1])
    with pytest.raises(ConfigurationError, match=r"a query takes k alone.* got 'filter'"):
        retriever.invoke("page", filter={"tenant": "A"})
    with pytest.raises(ConfigurationError, match=r"a query takes k alone.* got 'budget'"):
        asyncio.run(retriever.ainvoke("page", budget=10))
    with pytest.raises(ConfigurationError, match="chunker must be a chunker of the core"):
        langchain(Retriever(), chunker=langchain_advchunk.RecursiveSplitter()).add_documents(pages[:1])
