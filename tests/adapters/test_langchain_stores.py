"""The retriever for LangChain gives the same answers, ids and citations with every vector store."""

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from advchunk import Chunk, RecursiveChunker, Span
from advchunk import Document as Source
from advchunk.building.ids import hashed_id
from advchunk.retrieval import Hit, Passage, PassageCutter, Retriever, Search
from langchain_advchunk import AdvchunkRetriever, DefaultEmbeddings, PassageCompressor, RecursiveSplitter, chunk_key
from langchain_advchunk.surroundings import StoreChunks, mapping_filter
from servers import postgres_of_vectors

TOWN = (Path(__file__).parents[1] / "data" / "harbour_town.md").read_text(encoding="utf-8")
TEA = "Tea is grown in the hills above the harbor. Green tea is steamed. Black tea is dried in the sun. " * 3
QUESTIONS = ["When does the ferry to the island leave?", "How is tea made?", "Why do millers fall asleep in church?"]
BEFORE = {"town": TOWN, "tea": TEA}  # one is edited, one deleted, one added
AFTER = {"town": "The town has a new pier. " + TOWN, "rum": TEA.replace("tea", "rum").replace("Tea", "Rum")}
SIZE = 256  # of the vectors of the embedded default
SPLIT = {"max_tokens": 50, "markup": "plain"}


@contextmanager
def memory(folder):
    path = folder / "store.json"
    is_new = not path.exists()
    store = InMemoryVectorStore(DefaultEmbeddings())
    yield (store := store if is_new else store.load(str(path), DefaultEmbeddings()))
    store.dump(str(path))


@contextmanager
def chroma(folder):
    chromadb = pytest.importorskip("chromadb")
    from chromadb.api.shared_system_client import SharedSystemClient
    from langchain_chroma import Chroma

    client = chromadb.PersistentClient(str(folder))
    yield Chroma(client=client, embedding_function=DefaultEmbeddings())
    client.close()
    SharedSystemClient.clear_system_cache()


@contextmanager
def faiss_flat(folder):
    faiss = pytest.importorskip("faiss")
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    if any(folder.iterdir()):
        store = FAISS.load_local(str(folder), DefaultEmbeddings(), allow_dangerous_deserialization=True)
    else:
        store = FAISS(DefaultEmbeddings(), faiss.IndexFlatL2(SIZE), InMemoryDocstore(), {})
    yield store
    store.save_local(str(folder))


@contextmanager
def qdrant(folder):
    qdrant_client = pytest.importorskip("qdrant_client")
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client.models import Distance, VectorParams

    client = qdrant_client.QdrantClient(path=str(folder))
    if not client.collection_exists("chunks"):
        client.create_collection("chunks", vectors_config=VectorParams(size=SIZE, distance=Distance.COSINE))
    yield QdrantVectorStore(client, "chunks", DefaultEmbeddings())
    client.close()


@contextmanager
def lance(folder):
    lancedb = pytest.importorskip("lancedb")
    from langchain_community.vectorstores import LanceDB

    yield LanceDB(lancedb.connect(str(folder)), DefaultEmbeddings(), mode="append")


@contextmanager
def postgres(folder):
    from langchain_postgres import PGEngine, PGVectorStore

    with postgres_of_vectors(folder) as server:
        engine = PGEngine.from_connection_string(server.get_uri(driver="psycopg"))
        if "langchain_id" not in server.psql("SELECT column_name FROM information_schema.columns"):
            engine.init_vectorstore_table("chunks", SIZE)
        yield PGVectorStore.create_sync(engine, DefaultEmbeddings(), "chunks")
        asyncio.run_coroutine_threadsafe(engine._pool.dispose(), engine._loop).result()


STORES = [memory, chroma, faiss_flat, qdrant, lance, postgres]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set:UserWarning"),
]


@pytest.mark.parametrize("opened", STORES, ids=lambda opened: opened.__name__)
def test_every_store_answers_as_the_core_does(opened, tmp_path):
    splitter, records = RecursiveSplitter(**SPLIT), InMemoryRecordManager("store")
    records.create_schema()
    with opened(tmp_path) as store:
        for texts in (BEFORE, AFTER):
            chunks = splitter.split_documents(
                [Document(text, id=name, metadata={"source": name}) for name, text in texts.items()]
            )
            index(chunks, records, store, cleanup="full", source_id_key="source", key_encoder=chunk_key)
        before = answers(store, chunks)
    with opened(tmp_path) as store:
        assert filtered(store, chunks, opened) == {"rum"}
        assert answers(store, chunks) == before == expected_answers()
        assert hits_alone(store) == expected_hits(has_ids=opened is not lance)


@pytest.mark.parametrize("has_start", [True, False], ids=["start_index", "located"])
@pytest.mark.parametrize("opened", STORES, ids=lambda opened: opened.__name__)
def test_what_every_store_finds_is_cut_alike(opened, has_start, tmp_path):
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    with opened(tmp_path) as store:
        store.add_documents(split_by_langchain(has_start))
        retriever = retrievers.ContextualCompressionRetriever(
            base_compressor=PassageCompressor(budget=150, texts={"town": TOWN}),
            base_retriever=store.as_retriever(search_kwargs={"k": 20}),
        )
        results = [retriever.invoke(question) for question in QUESTIONS]
        assert asyncio.run(retriever.ainvoke(QUESTIONS[0])) == results[0]
        hits = store.similarity_search(QUESTIONS[0], 20)
    assert [cut_texts(passages) for passages in results] == expected_cuts()
    for passage in chain.from_iterable(results):
        start, end = passage.metadata["start_index"], passage.metadata["end_index"]
        assert passage.page_content.endswith(TOWN[start:end])
    alone = PassageCompressor(budget=150).compress_documents(hits, QUESTIONS[0])
    assert 0 < sum(passage.metadata["token_count"] for passage in alone) <= 150
    assert all(("start_index" in passage.metadata) == has_start for passage in alone)


ASKED = [memory, chroma, qdrant]  # which find chunks by their metadata without more being said
SMALL = {"max_tokens": 12, "markup": "plain"}


def small_chunks(texts):
    documents = [Document(text, id=name, metadata={"source": name}) for name, text in texts.items()]
    return RecursiveSplitter(**SMALL).split_documents(documents)


def asking(opened, store):
    """Return how a store is asked for chunks around hits; None for one that needs no telling."""
    if opened in ASKED:
        return None
    if opened is faiss_flat:
        return StoreChunks(
            lambda ranges: store.similarity_search(
                "text", k=1000, fetch_k=1000, filter=lambda metadata: any(own.has(metadata) for own in ranges)
            )
        )
    return StoreChunks(lambda ranges: store.similarity_search("text", k=1000, filter=mapping_filter(ranges)))


@pytest.mark.parametrize("opened", [*ASKED, faiss_flat, postgres], ids=lambda opened: opened.__name__)
def test_a_store_says_what_stands_around_its_hits(opened, tmp_path):
    chunks = small_chunks(AFTER)
    with opened(tmp_path) as store:
        store.add_documents(chunks, ids=[chunk.id for chunk in chunks])
        source, reference = asking(opened, store), {"chunks": chunks}
        for question in QUESTIONS:
            for options in ({"k": 6, "depth": 6}, {"k": 20, "depth": 3}, {"k": 6, "depth": 3, "search": Search()}):
                size = {"search": Search("dense", neighbors=True), **options}
                alone = AdvchunkRetriever(vectorstore=store, texts=source, **size)
                expected = AdvchunkRetriever(vectorstore=store, **reference, **size).invoke(question)
                results = alone.invoke(question)
                assert places_of(results) == places_of(expected)
                assert asyncio.run(alone.ainvoke(question)) == results
            assert len({chunk.page_content for chunk in expected}) == 6
            hits = store.similarity_search(question, 4)
            compressor = PassageCompressor(budget=60, texts=source or store)
            passages = compressor.compress_documents(hits, question)
            assert cut_texts(passages) == cut_with_all(hits, chunks, question)
            assert asyncio.run(compressor.acompress_documents(hits, question)) == passages


def places_of(results):
    return [(chunk.page_content, chunk.metadata["start_index"], chunk.metadata["citation"]) for chunk in results]


def cut_with_all(hits, chunks, question):
    """Cut hits in the presence of all chunks."""
    hits = [as_hit(hit, 1 / rank) for rank, hit in enumerate(hits, 61)]
    passages = PassageCutter().cut(question, hits, 60, beside=[as_hit(chunk, 0) for chunk in chunks])
    return [(passage.prompt_text, passage.citation) for passage in passages]


def as_hit(chunk, score):
    spans = (Span(chunk.metadata["start_index"], chunk.metadata["end_index"]),)
    return Hit(Chunk(chunk.page_content, spans, 0, metadata=chunk.metadata), chunk.metadata["source"], score)


def split_by_langchain(has_start):
    splitter = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=60, add_start_index=has_start)
    return splitter.create_documents([TOWN], [{"source": "town"}])


def cut_texts(passages):
    return [(passage.page_content, passage.metadata["citation"]) for passage in passages]


@cache
def expected_cuts():
    """Cut what the core finds by the vectors of the same chunks."""
    splitter, chunks = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=60, add_start_index=True), []
    for piece in splitter.create_documents([TOWN]):
        start, text = piece.metadata["start_index"], piece.page_content
        chunks.append(Chunk(text, (Span(start, start + len(text)),), 0))
    retriever, results = Retriever({"town": chunks}, mode="dense", neighbors=False), []
    for question in QUESTIONS:
        hits = [replace(hit, score=1 / (60 + rank)) for rank, hit in enumerate(retriever.search(question, 20), 1)]
        passages = PassageCutter().cut(question, hits, 150, texts={"town": TOWN})
        results.append([(passage.prompt_text, passage.citation) for passage in passages])
    return results


def answers(store, chunks):
    """Return texts, ids and citations in both modes, and passages, to sync and async calls."""
    results = []
    for mode in ("dense", "hybrid"):
        retriever = AdvchunkRetriever(vectorstore=store, chunks=chunks, search=Search(mode, neighbors=True), k=9)
        for question in QUESTIONS:
            hits = retriever.invoke(question)
            assert asyncio.run(retriever.ainvoke(question)) == hits
            passages = retriever.invoke(question, budget=200)
            results += [(chunk.id, chunk.page_content, chunk.metadata["citation"]) for chunk in hits]
            results += [(passage.page_content, passage.metadata["citation"]) for passage in passages]
    return results


@cache
def expected_answers():
    results = []
    for mode in ("dense", "hybrid"):
        retriever = in_core(mode)
        for question in QUESTIONS:
            results += [(hit.chunk.id, hit.chunk.text, citation(hit)) for hit in retriever.search(question, 9)]
            results += [(passage.text, passage.citation) for passage in retriever.passages(question, 200)]
    return results


def filtered(store, chunks, opened):
    """Return the sources of chunks that come through a store's own filter."""

    def is_rum(chunk):
        return chunk.metadata["source"] == "rum"

    options = {"filter": {"source": "rum"}}
    if opened is memory:
        options = {"filter": is_rum, "chunk_filter": is_rum}
    if opened is lance:
        options = {"filter": "metadata.source = 'rum'", "chunk_filter": is_rum}
    if opened is qdrant:
        from qdrant_client.models import FieldCondition, Filter, MatchValue

        own = Filter(must=[FieldCondition(key="metadata.source", match=MatchValue(value="rum"))])
        options = {"filter": own, "chunk_filter": is_rum}
    retriever = AdvchunkRetriever(vectorstore=store, chunks=chunks, k=50)
    return {chunk.metadata["source"] for question in QUESTIONS for chunk in retriever.invoke(question, **options)}


def hits_alone(store):
    """Return texts and keys of what a store alone returns, re-ranked."""
    hits = AdvchunkRetriever(vectorstore=store, k=9).batch(QUESTIONS)
    return [(chunk.id, chunk.page_content) for chunks in hits for chunk in chunks]


@cache
def expected_hits(has_ids):
    """As many chunks as there are, or fewer, are hits, so that these are all neighbors."""
    retriever = in_core("dense")
    hits = [hit for question in QUESTIONS for hit in retriever.search(question, 9)]
    return [(hashed_id(hit.chunk.id, hit.chunk.text) if has_ids else None, hit.chunk.text) for hit in hits]


def in_core(mode):
    chunks = {name: RecursiveChunker(**SPLIT).chunk(Source(text, name)) for name, text in AFTER.items()}
    return Retriever(chunks, mode=mode)


def citation(hit):
    return Passage.of(hit).citation
