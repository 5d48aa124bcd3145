"""The retriever for LlamaIndex gives the same answers, ids and citations with every vector store."""

import asyncio
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

from advchunk import Chunk, RecursiveChunker, Span
from advchunk import Document as Source
from advchunk.retrieval import Hit, PassageCutter, Retriever, Search
from llamaindex_advchunk import AdvchunkRetriever, DefaultEmbedding, PassagePostprocessor, RecursiveNodeParser
from servers import nodes_in_postgres

TOWN = (Path(__file__).parents[1] / "data" / "harbour_town.md").read_text(encoding="utf-8")
TEA = "Tea is grown in the hills above the harbor. Green tea is steamed. Black tea is dried in the sun. " * 3
QUESTIONS = ["When does the ferry to the island leave?", "How is tea made?", "Why do millers fall asleep in church?"]
BEFORE = {"town": TOWN, "tea": TEA}
AFTER = {"town": "The town has a new pier. " + TOWN, "rum": TEA.replace("tea", "rum").replace("Tea", "Rum")}
RUM = MetadataFilters(filters=[MetadataFilter(key="ref_doc_id", value="rum")])
SIZE = 256  # of the vectors of the embedded default
SPLIT = {"max_tokens": 50, "markup": "plain"}


@contextmanager
def memory(folder):
    yield open_local(folder, None)


@contextmanager
def faiss(folder):
    flat = pytest.importorskip("faiss").IndexFlatL2
    from llama_index.vector_stores.faiss import FaissVectorStore

    stored = any(folder.iterdir())
    yield open_local(folder, FaissVectorStore.from_persist_dir(str(folder)) if stored else FaissVectorStore(flat(SIZE)))


@contextmanager
def chroma(folder):
    chromadb = pytest.importorskip("chromadb")
    from chromadb.api.shared_system_client import SharedSystemClient
    from llama_index.vector_stores.chroma import ChromaVectorStore

    client = chromadb.PersistentClient(str(folder))
    yield index_over(ChromaVectorStore(client.get_or_create_collection("nodes")))
    client.close()
    SharedSystemClient.clear_system_cache()


@contextmanager
def qdrant(folder):
    qdrant_client = pytest.importorskip("qdrant_client")
    from llama_index.vector_stores.qdrant import QdrantVectorStore

    client = qdrant_client.QdrantClient(path=str(folder))
    yield index_over(QdrantVectorStore("nodes", client))
    client.close()


@contextmanager
def postgres(folder):
    with nodes_in_postgres(folder) as store:
        yield index_over(store)


def open_local(folder, store):
    if any(folder.iterdir()):
        context = StorageContext.from_defaults(vector_store=store, persist_dir=str(folder))
        return load_index_from_storage(context, embed_model=DefaultEmbedding())
    return index_over(store)


def index_over(store):
    context = StorageContext.from_defaults(vector_store=store)
    parser = RecursiveNodeParser(**SPLIT)
    return VectorStoreIndex([], storage_context=context, embed_model=DefaultEmbedding(), transformations=[parser])


LOCAL = [memory, faiss]  # their nodes are in the docstore of the index
STORES = [*LOCAL, chroma, qdrant, postgres]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set:UserWarning"),
]


@pytest.mark.parametrize("opened", STORES, ids=lambda opened: opened.__name__)
def test_every_store_answers_as_the_core_does(opened, tmp_path):
    with opened(tmp_path) as index:
        if opened is faiss:  # which cannot remove nodes
            add(index, AFTER)
        else:
            edit(index)
        nodes = None if opened in LOCAL else parsed(AFTER)
        before = answers(index, nodes)
        if opened in LOCAL:
            index.storage_context.persist(str(tmp_path))
    with opened(tmp_path) as index:
        assert answers(index, nodes) == before == expected_answers()
        if opened is not faiss:
            assert filtered(index, nodes) == {"rum"}


@pytest.mark.usefixtures("tiktoken_cache")
@pytest.mark.parametrize("opened", STORES, ids=lambda opened: opened.__name__)
def test_hits_of_every_store_are_cut_as_by_the_core(opened, tmp_path):
    with opened(tmp_path) as index:
        index._transformations = [SentenceSplitter(chunk_size=60, chunk_overlap=20)]
        add(index, BEFORE)
        engine = index.as_retriever(similarity_top_k=12)
        options = {"budget": 100, "distances": opened is faiss}
        for question in QUESTIONS:
            hits = engine.retrieve(question)
            for texts in (None, BEFORE):
                passages = PassagePostprocessor(**options, texts=texts).postprocess_nodes(hits, query_str=question)
                results = [(hit.text, hit.metadata["citation"]) for hit in passages]
                sign = -1 if opened is faiss else 1
                expected = PassageCutter().cut(question, [as_hit(hit, sign) for hit in hits], 100, texts=texts)
                assert results == [(passage.text, passage.citation) for passage in expected]


@pytest.mark.parametrize("opened", [chroma, qdrant, postgres], ids=lambda opened: opened.__name__)
def test_a_store_says_what_stands_around_its_hits(opened, tmp_path):
    with opened(tmp_path) as index:
        index._transformations = [parser := RecursiveNodeParser(max_tokens=12, markup="plain")]
        edit(index)
        nodes = parser.get_nodes_from_documents(documents(AFTER))
        (kept := SimpleDocumentStore()).add_documents(nodes)
        for question in QUESTIONS:
            for own in ({"depth": 6}, {"similarity_top_k": 20, "depth": 20}, {"search": Search(), "depth": 3}):
                options = {"search": Search("dense", neighbors=True), **own}
                alone = AdvchunkRetriever(index, **options)
                expected = AdvchunkRetriever(index, nodes=nodes, **options).retrieve(question)
                results = alone.retrieve(question)
                assert shown(results) == shown(expected)
                if opened is chroma:  # the others keep the event loop of their first call
                    assert shown(asyncio.run(alone.aretrieve(question))) == shown(results)
            hits = index.as_retriever(similarity_top_k=4).retrieve(question)
            cut = {"budget": 60, "distances": False}
            passages = PassagePostprocessor(texts=index.vector_store, **cut)
            expected = PassagePostprocessor(texts=kept, **cut).postprocess_nodes(hits, query_str=question)
            assert shown(passages.postprocess_nodes(hits, query_str=question)) == shown(expected)


def shown(hits):
    return [(hit.text, hit.metadata["citation"]) for hit in hits]


def as_hit(hit, sign):
    chunk = Chunk(hit.text, (Span(hit.node.start_char_idx, hit.node.end_char_idx),), 0)
    return Hit(chunk, hit.node.ref_doc_id, sign * hit.score)


def test_a_retriever_follows_its_index(tmp_path):
    with memory(tmp_path) as index:
        retriever = AdvchunkRetriever(index, similarity_top_k=9)
        assert retriever.retrieve(QUESTIONS[0]) == []
        add(index, BEFORE)
        assert {hit.node.ref_doc_id for hit in retriever.retrieve(QUESTIONS[1])} == {"town", "tea"}
        index.delete_ref_doc("tea", delete_from_docstore=True)
        assert {hit.node.ref_doc_id for hit in retriever.retrieve(QUESTIONS[1])} == {"town"}


def documents(texts):
    return [Document(text=text, id_=name) for name, text in texts.items()]


def parsed(texts):
    return RecursiveNodeParser(**SPLIT).get_nodes_from_documents(documents(texts))


def add(index, texts):
    for document in documents(texts):
        index.insert(document)


def edit(index):
    """Add documents, edit one, delete one, and add another."""
    add(index, BEFORE)
    town, rum = documents(AFTER)
    index.update_ref_doc(town)
    index.delete_ref_doc("tea", delete_from_docstore=True)
    index.insert(rum)


def answers(index, nodes):
    """Return ids and texts in both modes, and passages with their citations."""
    results = []
    for mode in ("dense", "hybrid"):
        retriever = AdvchunkRetriever(index, nodes=nodes, search=Search(mode, neighbors=True), similarity_top_k=9)
        assembling = AdvchunkRetriever(index, nodes=nodes, search=Search(mode, neighbors=True), budget=200)
        for question in QUESTIONS:
            results += [(hit.node_id, hit.text) for hit in retriever.retrieve(question)]
            results += [(hit.text, hit.metadata["citation"]) for hit in assembling.retrieve(question)]
    return results


@cache
def expected_answers():
    results = []
    for mode in ("dense", "hybrid"):
        chunks = {name: RecursiveChunker(**SPLIT).chunk(Source(text, name)) for name, text in AFTER.items()}
        retriever = Retriever(chunks, mode=mode)
        for question in QUESTIONS:
            results += [(hit.chunk.id, hit.chunk.text) for hit in retriever.search(question, 9)]
            results += [(passage.text, passage.citation) for passage in retriever.passages(question, 200)]
    return results


def filtered(index, nodes):
    """Return the documents of nodes that pass a filter, most of which the questions do not match."""
    retriever = AdvchunkRetriever(index, nodes=nodes, similarity_top_k=50, filters=RUM)
    return {hit.node.ref_doc_id for question in QUESTIONS for hit in retriever.retrieve(question)}
