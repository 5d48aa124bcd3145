"""The compressor for LangChain: passages for a question from the hits of any retriever, with places, texts and odd
hits."""

import asyncio
import logging
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from advchunk import ConfigurationError
from advchunk.retrieval import PassageCutter
from langchain_advchunk import DefaultEmbeddings, PassageCompressor
from langchain_advchunk.reassembly import to_framework_chunk

TOWN = (Path(__file__).parents[1] / "data" / "harbour_town.md").read_text(encoding="utf-8")
QUESTION = "When does the ferry to the island leave?"
TEA = ["Green tea is steamed for a minute.", "Black tea is left to dry in the sun.", "Rum is made of molasses."]


def split(size=400, overlap=80, *, start=True, name="town", text=TOWN):
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=start)
    return splitter.create_documents([text], [{"source": name}])


def hits_of(chunks, question=QUESTION, k=50):
    return InMemoryVectorStore.from_documents(chunks, DefaultEmbeddings()).similarity_search(question, k)


def compress(hits, question=QUESTION, **options):
    return PassageCompressor(**options).compress_documents(hits, question)


def places(passages):
    return [(passage.page_content, passage.metadata["citation"]) for passage in passages]


def stated(passage):
    return passage.metadata["start_index"], passage.metadata["end_index"]


@pytest.mark.parametrize("kind", ["function", "strings", "documents"])
def test_texts_come_from_anywhere(kind):
    stored = {"strings": InMemoryStore(), "documents": InMemoryStore()}
    stored["strings"].mset([("town", TOWN)])
    stored["documents"].mset([("town", Document(TOWN))])
    texts = {"town": TOWN}.get if kind == "function" else stored[kind]
    hits = [*hits_of(split(start=False), k=5), Document("Rum is brown.", metadata={"source": "unknown"})]
    compressor = PassageCompressor(texts=texts, budget=200)
    expected = compress(hits, texts={"town": TOWN}, budget=200)
    assert compressor.compress_documents(hits, QUESTION) == expected
    assert asyncio.run(compressor.acompress_documents(hits, QUESTION)) == expected


def test_the_headings_above_are_context_before_the_text():
    text = "# Ferries\n\nAll boats are white.\n\n## To the island\n\nThe ferry leaves daily. "
    text += "It takes bicycles and dogs on its upper deck."
    (hit,) = split(1000, text=text)
    (passage,) = compress([hit], "bicycles", budget=20, texts={"town": text})
    own = to_framework_chunk(passage)
    assert own.text == text[slice(*stated(passage))] == "It takes bicycles and dogs on its upper deck."
    assert passage.page_content == f"{own.context}\n\n{own.text}"
    assert "Ferries" in own.context
    assert passage.metadata["section"] == "To the island"
    assert passage.metadata["title_path"] in passage.metadata["citation"]
    again = compress([passage], "bicycles", budget=20, texts={"town": text})
    assert places(again) == places([passage])
    (bare,) = compress([hit], "bicycles", budget=20, texts={"town": text}, cutter=PassageCutter(context=False))
    assert bare.page_content == text[slice(*stated(bare))]


def test_metadata_of_the_chunks_stays():
    hits = [
        Document(chunk.page_content, id=f"{i}", metadata={**chunk.metadata, "citation": "mine", "tags": ["a"]})
        for i, chunk in enumerate(hits_of(split()))
    ]
    before = [hit.model_copy(deep=True) for hit in hits]
    results = compress(hits, budget=100)
    assert hits == before
    for passage in results:
        assert passage.metadata["citation"] == "mine"
        assert passage.metadata["tags"] == ["a"]
        assert passage.metadata["advchunk_citation"].startswith("town, ")
        assert set(passage.metadata["chunk_ids"]) <= {hit.id for hit in hits}
        assert passage.metadata["chunk_ids"]
    assert len({passage.id for passage in results}) == len(results)


def test_hits_without_a_place_are_logged_once(caplog):
    hits = [Document(text) for text in TEA]
    compressor = PassageCompressor(budget=100)
    with caplog.at_level(logging.WARNING, "advchunk"):
        passages = compressor.compress_documents(hits, "green tea")
        assert compressor.compress_documents(hits, "green tea") == passages
        assert compress(split(), budget=100)
    assert ["3 of 3 hits have no start_index" in message for message in caplog.messages] == [True]
    assert sorted(passage.page_content for passage in passages) == sorted(TEA)
    assert not any("start_index" in passage.metadata for passage in passages)


def test_texts_that_are_none_are_clear_errors():
    with pytest.raises(ConfigurationError, match="texts must be strings or documents, got 3"):
        compress(split(), texts={"town": 3})


def test_parameters_change_in_copies_only():
    compressor = PassageCompressor(budget=50)
    with pytest.raises(ConfigurationError, match=r"cannot be assigned: call model_copy.*'budget'"):
        compressor.budget = 20
    larger = compressor.model_copy(update={"budget": 500, "cutter": PassageCutter(tokenizer="words")})
    assert larger.compress_documents(split(), QUESTION) == compress(
        split(), budget=500, cutter=PassageCutter(tokenizer="words")
    )
    with pytest.raises(ConfigurationError, match="budget must be"):
        compressor.model_copy(update={"budget": 0})


def test_it_compresses_what_any_retriever_finds():
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    store = InMemoryVectorStore.from_documents(split(), DefaultEmbeddings())
    retriever = retrievers.ContextualCompressionRetriever(
        base_compressor=PassageCompressor(budget=100), base_retriever=store.as_retriever(search_kwargs={"k": 50})
    )
    assert places(retriever.invoke(QUESTION)) == places(compress(hits_of(split()), budget=100)) != []
    assert asyncio.run(retriever.ainvoke(QUESTION)) == retriever.batch([QUESTION])[0] == retriever.invoke(QUESTION)
