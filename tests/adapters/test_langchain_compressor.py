"""The compressor for LangChain: passages for a question from the hits of any retriever, with places, texts and odd hits."""

import asyncio
import logging
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from advchunk import ConfigurationError, RecursiveChunker
from advchunk.retrieval import PassageCutter, Retriever
from langchain_advchunk import DefaultEmbeddings, PassageCompressor, RecursiveSplitter, chunk_spans
from langchain_advchunk.reassembly import to_framework_chunk

TOWN = (Path(__file__).parents[1] / "data" / "harbour_town.md").read_text(encoding="utf-8")
QUESTION = "When does the ferry to the island leave?"
QUESTIONS = [QUESTION, "Why do millers fall asleep in church?", "the of and", ""]
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


@pytest.mark.parametrize("texts", [None, {"town": TOWN}], ids=["alone", "texts"])
@pytest.mark.parametrize("order", ["rank", "document"])
def test_passages_are_those_of_the_core(texts, order):
    hits = Retriever({"town": RecursiveChunker(max_tokens=60).chunk(TOWN)}).search(QUESTION, 20)
    (doc,) = [Document(TOWN, metadata={"source": "town"})]
    by_text = {chunk.page_content: chunk for chunk in RecursiveSplitter(max_tokens=60).split_documents([doc])}
    chunks = [by_text[hit.chunk.embed_text] for hit in hits]
    hits = [replace(hit, score=1 / rank) for rank, hit in enumerate(hits, 61)]  # as of a fused ranking
    results = compress(chunks, budget=300, order=order, texts=texts)
    expected = PassageCutter().cut(QUESTION, hits, 300, order=order, texts=texts)
    assert len(expected) > 1
    assert places(results) == [(passage.prompt_text, passage.citation) for passage in expected]
    assert [result.metadata["token_count"] for result in results] == [passage.tokens for passage in expected]
    assert [chunk_spans(result) for result in results] == [passage.spans for passage in expected]
    scores = [passage.score for passage in expected]
    assert [result.metadata["relevance_score"] for result in results] == pytest.approx(scores, rel=1e-3)


@pytest.mark.parametrize("question", QUESTIONS)
def test_passages_fit_the_budget_and_are_exact(question):
    for passage in compress(hits_of(split(), question or "a"), question, budget=150, texts={"town": TOWN}):
        first, last = stated(passage)
        assert passage.page_content.endswith(TOWN[first:last])
        assert passage.metadata["citation"].endswith(f"characters {first}-{last}")
    assert (
        0 < sum(passage.metadata["token_count"] for passage in compress(hits_of(split()), question, budget=150)) <= 150
    )


def test_chunks_without_a_start_are_located_in_the_texts():
    with_start, without = (hits_of(split(start=start), k=8) for start in (True, False))
    texts = {"town": TOWN}
    passages = compress(with_start, texts=texts, budget=200)
    assert places(passages) == places(compress(without, texts=texts, budget=200)) != []


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


def test_async_reads_and_computes_in_another_thread():
    def text_of(name):
        threads.add(threading.current_thread())
        return {"town": TOWN}[name]

    threads, hits = set(), hits_of(split())
    results = [
        asyncio.run(PassageCompressor(texts=texts).acompress_documents(hits, QUESTION))
        for texts in (text_of, {"town": TOWN})
    ]
    assert results[0] == results[1]
    assert threads
    assert threading.main_thread() not in threads


def test_the_headings_above_are_context_before_the_text():
    text = "# Ferries\n\nAll boats are white.\n\n## To the island\n\nThe ferry leaves daily. It takes bicycles."
    (hit,) = split(1000, text=text)
    (passage,) = compress([hit], "bicycles", budget=14, texts={"town": text})
    own = to_framework_chunk(passage)
    assert own.text == text[slice(*stated(passage))] == "It takes bicycles."
    assert passage.page_content == f"{own.context}\n\n{own.text}"
    assert "Ferries" in own.context
    assert passage.metadata["section"] == "To the island"
    assert passage.metadata["title_path"] in passage.metadata["citation"]
    again = compress([passage], "bicycles", budget=14, texts={"town": text})
    assert places(again) == places([passage])
    (bare,) = compress([hit], "bicycles", budget=14, texts={"town": text}, cutter=PassageCutter(context=False))
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


@pytest.mark.parametrize("texts", [None, {"town": TOWN}], ids=["alone", "texts"])
@pytest.mark.parametrize("metadata", [{}, {"source": "town"}], ids=["nameless", "named"])
@pytest.mark.parametrize("start", [True, False], ids=["start_index", "plain"])
def test_no_text_is_repeated(start, metadata, texts):
    """Duplicates, overlapping chunks, and chunks in others are there once, if it can be known."""
    chunks = hits_of(split(start=start), k=12)
    nested = Document(chunks[0].page_content[:60])
    if start:
        nested.metadata["start_index"] = chunks[0].metadata["start_index"]
    hits = [
        chunk.model_copy(update={"metadata": {k: v for k, v in chunk.metadata.items() if k != "source"}})
        for chunk in [*chunks, nested, *chunks]
    ]
    for hit in hits:
        hit.metadata.update(metadata)
    passages = compress(hits, budget=10_000, texts=texts, cutter=PassageCutter(context=False))
    content = "".join("".join(passage.page_content.split()) for passage in passages)
    if metadata or not start:  # places in documents without a name are those of any document
        assert len(content) <= len("".join(TOWN.split()))
        assert all(
            content.count("".join(sentence.split())) == TOWN.count(sentence)
            for sentence in ["Tickets for the crossing to Inch Moray are then good for a year"]
        )
    assert len({passage.page_content for passage in passages}) == len(passages)


def test_overlapping_chunks_without_places_are_joined():
    text = " ".join([*TEA, "It is then left in oak barrels for years."])
    edges = [(0, 60), (35, 95), (71, len(text))]
    hits = [Document(text[a:b]) for a, b in edges]
    for order in ([0, 1, 2], [2, 0, 1]):
        (passage,) = compress([hits[i] for i in order], "What is made of molasses?")
        assert passage.page_content == text
        assert "start_index" not in passage.metadata


def test_a_hit_of_another_version_of_its_text_stands_alone(caplog):
    edited = TOWN.replace("ferry", "boat")
    hits = [*hits_of(split(text=edited), k=4), *hits_of(split(), k=4)]
    compressor = PassageCompressor(texts={"town": edited}, budget=400)
    with caplog.at_level(logging.WARNING, "advchunk"):
        passages = compressor.compress_documents(hits, QUESTION)
        assert compressor.compress_documents(hits, QUESTION) == passages
    assert ["are not in its text" in message for message in caplog.messages] == [True]
    stale = [passage for passage in passages if "ferry" in passage.page_content]
    assert stale
    for passage in passages:
        assert ("start_index" in passage.metadata) == (passage not in stale)
        if passage not in stale:
            assert passage.page_content.endswith(edited[slice(*stated(passage))])


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


def test_pages_of_a_loader_are_texts_of_their_own_unless_their_text_is_known():
    pages = [split(60, 0, name="tea.pdf", text=" ".join(TEA)) for _ in range(2)]
    for number, page in enumerate(pages, 1):
        for chunk in page:
            chunk.metadata["page"] = number
    passages = compress(pages[0] + pages[1], "tea or rum", budget=100)
    assert sorted(passage.metadata["citation"] for passage in passages) == [
        f"tea.pdf, page {page}, characters {place}" for page in (1, 2) for place in ("0-59", "60-96")
    ]
    (passage,) = compress(pages[0] + pages[1], "tea or rum", budget=100, texts={"tea.pdf": " ".join(TEA)})
    assert passage.page_content == " ".join(TEA)


def test_few_and_empty_hits():
    assert compress([]) == asyncio.run(PassageCompressor().acompress_documents([], QUESTION)) == []
    assert (
        compress([Document(""), Document(" \n"), Document("", metadata={"source": "town"})], texts={"town": TOWN}) == []
    )
    (passage,) = compress([Document("", metadata={"source": "a"}), Document(TEA[0])], "tea")
    assert passage.page_content == TEA[0]
    (passage,) = compress([Document(TEA[0], metadata={"source": "tea", "start_index": 7})], "tea")
    assert passage.metadata["citation"] == "tea, characters 7-41"
    assert compress([Document(TEA[0])], "tea " * 10_000)[0].page_content == TEA[0]


def test_a_key_or_function_names_the_documents():
    hits = [Document(TEA[0], metadata={"title": "Tea", "source": "a", "start_index": 0})]
    for key in ("title", lambda chunk: chunk.metadata["title"]):
        (passage,) = compress(hits, "tea", document_key=key, texts={"Tea": " ".join(TEA)})
        assert passage.metadata["citation"].startswith("Tea, characters 0-")


def test_the_cutter_decides_language_and_tokens():
    text = "Die Fähren fahren täglich. Der Turm ist hoch und rot. Das Haus ist alt."
    (passage,) = compress([Document(text)], "Fähre", budget=4, cutter=PassageCutter(language="de", tokenizer="words"))
    assert passage.page_content == "Die Fähren fahren täglich."
    assert passage.metadata["token_count"] == 4
    assert len(compress(hits_of(split()), budget=400, cutter=PassageCutter(max_passages=1, min_tokens=50))) == 1


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"budget": 0}, "budget must be a whole number >= 1, got 0"),
        ({"budget": "9"}, "budget must be a whole number >= 1, got '9'"),
        ({"order": "best"}, "order: Input should be 'rank' or 'document', got 'best'"),
        ({"texts": "town"}, "texts must be a folder that exists, if it is a path, got 'town'"),
        ({"cutter": "words"}, "cutter must be a PassageCutter or None, got 'words'"),
        ({"cutter": PassageCutter(tokenizer=3)}, "a tokenizer must be a name"),
        ({"buget": 9}, "did you mean 'budget'"),
    ],
    ids=str,
)
def test_bad_parameters_are_clear_errors(options, rule):
    with pytest.raises(ConfigurationError, match=rule):
        PassageCompressor(**options)


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
