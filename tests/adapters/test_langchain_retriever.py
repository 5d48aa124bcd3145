"""The retriever for LangChain: neighbors, words, filters, rows, places and errors."""

import asyncio
import logging
import threading

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from advchunk import ConfigurationError
from advchunk.retrieval import Search
from langchain_advchunk import AdvchunkRetriever, DefaultEmbeddings, OptimalSemanticSplitter, vectors_for

FILLER = [
    f"Shed {i} holds rope, nets and tar, and its door is painted {color}."
    for i, color in enumerate(["red", "blue", "green", "white", "black", "brown", "gray", "pink"])
]
# The chunk between two that match the question answers it in other words.
PLANTED = ["The ferry to the island leaves daily.", "At half past nine.", "The ferry to the island takes cars."]
QUESTION = "When does the ferry to the island leave?"
ANSWER = PLANTED[1]


def chunked(sentences, **metadata):
    """Return a chunk for each sentence, as LangChain's splitters make them, with ``add_start_index``."""
    starts = [sum(len(sentence) + 1 for sentence in sentences[:i]) for i in range(len(sentences))]
    return [
        Document(sentence, id=f"{metadata.get('source')} {i}", metadata={**metadata, "start_index": start})
        for i, (sentence, start) in enumerate(zip(sentences, starts, strict=True))
    ]


CHUNKS = chunked([*FILLER[:4], *PLANTED], source="town") + chunked(FILLER[4:], source="sheds")


def stored(chunks):
    return InMemoryVectorStore.from_documents(chunks, DefaultEmbeddings())


def texts(documents):
    return [document.page_content for document in documents]


def place_of_answer(retriever):
    return texts(retriever.invoke(QUESTION, k=len(CHUNKS))).index(ANSWER)


class Listed(BaseRetriever):
    """Returns the chunks that it has."""

    documents: list

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


class Distances(InMemoryVectorStore):
    """Returns distances, which fall with similarity."""

    def similarity_search_with_score(self, query, k=4, **kwargs):
        return [(hit, 1 - score) for hit, score in super().similarity_search_with_score(query, k, **kwargs)]


def test_distances_rank_as_similarities_do():
    chunks = [
        AdvchunkRetriever(vectorstore=cls.from_documents(CHUNKS, DefaultEmbeddings()))
        for cls in (InMemoryVectorStore, Distances)
    ]
    assert texts(chunks[0].invoke(QUESTION)) == texts(chunks[1].invoke(QUESTION))


def test_results_keep_the_metadata_and_the_ids():
    chunks = [
        Document(chunk.page_content, id=chunk.id, metadata={**chunk.metadata, "citation": "mine"}) for chunk in CHUNKS
    ]
    before = [chunk.model_copy(deep=True) for chunk in chunks]
    (best, *_) = AdvchunkRetriever(vectorstore=stored(chunks), chunks=chunks).invoke(QUESTION)
    assert best.id == "town 4"
    assert best.metadata["citation"] == "mine"
    assert best.metadata["advchunk_citation"] == "town, characters 253-290"
    assert best.metadata["relevance_score"] > 0
    assert chunks == before


def test_equal_chunks_without_ids_keep_their_own_places():
    text = "Ask at the pier. One. Ask at the pier. Two."
    chunks = [
        Document(text[a:b], metadata={"source": "s", "start_index": a})
        for a, b in [(0, 16), (17, 21), (22, 38), (39, 43)]
    ]
    retriever = AdvchunkRetriever(vectorstore=stored(chunks), chunks=chunks, search=Search("dense"))
    results = retriever.invoke("Ask at the pier.", k=2)
    assert [chunk.metadata["start_index"] for chunk in results] == [0, 22]


def test_a_filter_also_restricts_words_and_neighbors():
    store = stored(CHUNKS)

    def is_shed(chunk):
        return chunk.metadata["source"] == "sheds"

    retriever = AdvchunkRetriever(
        vectorstore=store, chunks=CHUNKS, k=20, search_kwargs={"filter": is_shed}, chunk_filter=is_shed
    )
    assert {chunk.metadata["source"] for chunk in retriever.invoke(QUESTION)} == {"sheds"}
    lexical = AdvchunkRetriever(chunks=CHUNKS, search=Search("lexical"), k=20)
    assert {chunk.metadata["source"] for chunk in lexical.invoke("door", filter={"source": "sheds"})} == {"sheds"}
    with pytest.raises(ConfigurationError, match="chunk_filter must be given"):
        retriever.invoke(QUESTION, filter=lambda _: True)  # the filter of chunks belongs to the other one
    with pytest.raises(ConfigurationError, match="chunk_filter must be given"):
        AdvchunkRetriever(vectorstore=store, chunks=CHUNKS, search_kwargs={"filter": {"page": {"$gt": 3}}})


def test_the_filter_of_a_retriever_also_restricts_words_and_neighbors():
    class Equal(InMemoryVectorStore):
        """Takes metadata keys with their values as a filter."""

        def similarity_search(self, query, k=4, filter=None, **kwargs):
            return super().similarity_search(query, k, filter=lambda chunk: chunk.metadata | filter == chunk.metadata)

    store = Equal.from_documents(CHUNKS, DefaultEmbeddings())
    inner = store.as_retriever(search_kwargs={"filter": {"source": "sheds"}})
    results = AdvchunkRetriever(retriever=inner, chunks=CHUNKS, k=20).invoke(QUESTION)
    assert {chunk.metadata["source"] for chunk in results} == {"sheds"}


@pytest.mark.parametrize("key", ["title", lambda chunk: chunk.metadata["title"]], ids=["key", "function"])
def test_the_name_of_a_document_is_where_the_user_says(key):
    chunks = chunked(PLANTED, title="Ferries", source="a")
    for whole, places in (True, ["0-37, 38-56, 57-92"]), (False, ["0-37", "38-56", "57-92"]):
        options = {"budget": 100, "document_key": key, "whole_chunks": whole}
        passages = AdvchunkRetriever(vectorstore=stored(chunks), **options).invoke(QUESTION)
        citations = sorted(passage.metadata["citation"] for passage in passages)
        assert citations == [f"Ferries, characters {place}" for place in places]


def test_rows_rank_their_chunks():
    documents = [Document(" ".join([*FILLER, *PLANTED]), id="town", metadata={"source": "town"})]
    chunks = OptimalSemanticSplitter(max_tokens=40).split_documents(documents)
    chunks, rows, embeddings = vectors_for(chunks, "units", documents=documents)
    store = InMemoryVectorStore.from_documents(rows, embeddings)
    retriever = AdvchunkRetriever(vectorstore=store, chunks=chunks, id_key="doc_id")
    results = retriever.invoke(QUESTION, k=20)
    assert sorted(chunk.id for chunk in results) == sorted(chunk.id for chunk in chunks)
    assert PLANTED[0] in results[0].page_content
    assert asyncio.run(retriever.ainvoke(QUESTION, k=20)) == results


def test_a_retriever_is_re_ranked_by_its_order():
    hits = stored(CHUNKS).similarity_search(QUESTION, k=len(CHUNKS))
    assert place_of_answer(AdvchunkRetriever(retriever=Listed(documents=hits))) < texts(hits).index(ANSWER)


def test_unknown_places_are_logged_once(caplog):
    plain = [Document(chunk.page_content, metadata={"source": chunk.metadata["source"]}) for chunk in CHUNKS]
    with caplog.at_level(logging.WARNING, "advchunk"):
        in_order = AdvchunkRetriever(vectorstore=stored(plain), chunks=plain)
        assert ["in the order in which" in message for message in caplog.messages] == [True]
        assert place_of_answer(in_order) == 2
        caplog.clear()
        alone = AdvchunkRetriever(vectorstore=stored(plain))
        assert texts(alone.invoke(QUESTION)) == texts(stored(plain).similarity_search(QUESTION, k=5))
        alone.invoke(QUESTION)
    assert ["no start_index" in message for message in caplog.messages] == [True]


def test_pages_of_a_loader_are_texts_of_their_own():
    pages = [chunked(PLANTED, source="town.pdf", page=page) for page in (1, 2)]
    chunks = [chunk.model_copy(update={"id": None}) for page in pages for chunk in page]
    for options in ({}, {"chunks": chunks}):
        passages = AdvchunkRetriever(vectorstore=stored(chunks), budget=200, **options).invoke(QUESTION)
        assert sorted(passage.metadata["citation"] for passage in passages) == [
            f"town.pdf, page {page}, characters {place}" for page in (1, 2) for place in ("0-37", "38-56", "57-92")
        ]


def test_parameters_change_in_copies_only():
    lexical = {"chunks": CHUNKS, "search": Search("lexical")}
    retriever = AdvchunkRetriever(vectorstore=stored(CHUNKS), k=2, search=Search())
    for name, value in {**lexical, "k": 9}.items():
        with pytest.raises(ConfigurationError, match=f"cannot be assigned: call model_copy.*'{name}'"):
            setattr(retriever, name, value)
    lexical = retriever.model_copy(update=lexical)
    assert texts(lexical.invoke("pink")) == [FILLER[-1]]
    assert texts(lexical.model_copy(update={"chunks": CHUNKS[:2]}).invoke("pink")) == []
    assert lexical.model_copy().invoke("pink") == lexical.model_copy(deep=True).invoke("pink") == lexical.invoke("pink")
    with pytest.raises(ConfigurationError, match="no parameter 'size'"):
        retriever.model_copy(update={"size": 9})


def test_an_id_in_the_metadata_is_an_id_only_as_qdrant_writes_it():
    users = [Document(chunk.page_content, metadata=chunk.metadata | {"_id": "page"}) for chunk in CHUNKS]
    assert {chunk.id for chunk in AdvchunkRetriever(chunks=users).invoke(QUESTION)} == {None}
    for metadata, expected in ({"_collection_name": "town", "_id": 7}, "7"), ({"_id": 7}, None):
        hits = [Document(CHUNKS[4].page_content, metadata=CHUNKS[4].metadata | metadata)]
        (best,) = AdvchunkRetriever(retriever=Listed(documents=hits)).invoke(QUESTION)
        assert best.id == expected
        (passage,) = AdvchunkRetriever(retriever=Listed(documents=hits), budget=50).invoke(QUESTION)
        assert passage.metadata["chunk_ids"] == [expected] * bool(expected)


@pytest.mark.parametrize("chunks", [None, CHUNKS], ids=["hits", "chunks"])
def test_passages_have_the_ids_of_their_chunks_one_start_and_an_id_that_lasts(chunks):
    retriever = AdvchunkRetriever(vectorstore=stored(CHUNKS), chunks=chunks)
    passages = retriever.invoke("Which door is painted blue, or pink?", budget=60)
    assert len({passage.id for passage in passages}) == len(passages) > 1
    again = AdvchunkRetriever(vectorstore=stored(CHUNKS), chunks=chunks, budget=60).invoke(
        "Which door is painted blue, or pink?"
    )
    assert [passage.id for passage in again] == [passage.id for passage in passages]
    assert {name for passage in passages for name in passage.metadata["chunk_ids"]} <= {chunk.id for chunk in CHUNKS}
    for passage in passages:
        assert "advchunk_start_index" not in passage.metadata
        places = passage.metadata["citation"].rpartition(" characters ")[2].replace(", ", "-").split("-")
        assert [int(places[0]), int(places[-1])] == [passage.metadata["start_index"], passage.metadata["end_index"]]


def test_a_store_that_filters_after_its_search_filters_enough():
    class Later(InMemoryVectorStore):
        """Filters the first ``fetch_k`` hits, like FAISS."""

        def similarity_search_with_score(self, query, k=4, filter=None, fetch_k=20, **kwargs):
            fetched.append(fetch_k)
            hits = super().similarity_search_with_score(query, fetch_k if filter else k)
            return [hit for hit in hits if filter is None or filter(hit[0])][:k]

    fetched = []
    chunks = chunked([f"The ferry to the island, part {i}." for i in range(30)], source="town") + CHUNKS[-4:]
    retriever = AdvchunkRetriever(vectorstore=Later.from_documents(chunks, DefaultEmbeddings()), depth=5)
    results = retriever.invoke(QUESTION, filter=lambda chunk: chunk.metadata["source"] == "sheds")
    assert sorted(texts(results)) == sorted(FILLER[4:])
    retriever.invoke(QUESTION)
    retriever.invoke(QUESTION, filter=bool, fetch_k=7)
    assert fetched == [50, 20, 7]


def test_async_search_computes_in_another_thread():
    def remember(_):
        threads.add(threading.current_thread())
        return True

    threads = set()
    retriever = AdvchunkRetriever(vectorstore=stored(CHUNKS), chunk_filter=remember)
    assert asyncio.run(retriever.ainvoke(QUESTION))
    assert threads
    assert threading.main_thread() not in threads


def test_a_store_without_scores_is_a_clear_error():
    class UnscoredDocuments(InMemoryVectorStore):
        """Returns documents without scores."""

        def similarity_search_with_score(self, *args, **kwargs):
            return CHUNKS[:2]

        async def asimilarity_search_with_score(self, *args, **kwargs):
            return CHUNKS[:2]

    class Unscored(InMemoryVectorStore):
        """Does not search with scores."""

        similarity_search_with_score = VectorStore.similarity_search_with_score

    rule = r"pass retriever=store.as_retriever\(\), got 'Unscored"
    with pytest.raises(ConfigurationError, match=rule):
        AdvchunkRetriever(vectorstore=Unscored(DefaultEmbeddings()))
    retriever = AdvchunkRetriever(vectorstore=UnscoredDocuments(DefaultEmbeddings()))
    for search in (retriever.invoke, lambda query: asyncio.run(retriever.ainvoke(query))):
        with pytest.raises(ConfigurationError, match=rule):
            search(QUESTION)


def test_chunks_alone_are_searched_by_words():
    lexical = Search("lexical", neighbors=True)
    alone = AdvchunkRetriever(chunks=CHUNKS)
    assert alone.invoke(QUESTION) == alone.invoke(QUESTION, search=lexical) != []


def test_the_sizes_of_one_search_are_whole_numbers():
    retriever = AdvchunkRetriever(chunks=CHUNKS)
    for sizes in ({"k": 2.5}, {"k": 0}, {"budget": "9"}):
        with pytest.raises(ConfigurationError, match="must be a whole number >= 1"):
            retriever.invoke(QUESTION, **sizes)
