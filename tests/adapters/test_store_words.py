"""Words that stores search themselves, through the classes of both frameworks: what they find, and how it is cut."""

import asyncio
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from advchunk import ConfigurationError
from advchunk.retrieval import LexicalIndex, SparseWords
from langchain_advchunk import (
    AdvchunkRetriever,
    DefaultEmbeddings,
    PassageCompressor,
    RecursiveSplitter,
    milvus_words,
    qdrant_words,
)
from servers import nodes_in_postgres, postgres_of_vectors

TOWN = (Path(__file__).parents[1] / "data" / "harbour_town.md").read_text(encoding="utf-8")
TEA = "Tea is grown in the hills above the harbor. Green tea is steamed. Black tea is dried in the sun. " * 3
QUESTIONS = ["When does the ferry to the island leave?", "How is tea made?", "Why do millers fall asleep in church?"]
TEXTS = {"town": TOWN, "tea": TEA}
SIZE = 256  # of the vectors of the embedded default

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set:UserWarning"),
    pytest.mark.filterwarnings("ignore:The 'ranker_type' and:DeprecationWarning"),  # LangChain's Milvus
    pytest.mark.filterwarnings("ignore:create_fts_index is:DeprecationWarning"),  # both classes for LanceDB
    pytest.mark.filterwarnings("ignore:table_names:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
]


def split(texts=TEXTS):
    splitter = RecursiveSplitter(max_tokens=50, markup="plain")
    return splitter.split_documents([Document(text, metadata={"source": name}) for name, text in texts.items()])


def texts_of(chunks):
    return [chunk.page_content for chunk in chunks]


CHUNKS = split()
LATER = split({"rum": TEA.replace("tea", "rum").replace("Tea", "Rum")})


def scores_by_words(words, chunks, question):
    """Return the text of each chunk that has a word of a question with its score, the best first."""
    weights = dict(zip(*words.embed_query(question), strict=True))
    vectors = words.embed(texts_of(chunks))
    scores = [sum(weights.get(i, 0) * value for i, value in zip(*vector, strict=True)) for vector in vectors]
    return sorted((pair for pair in zip(scores, texts_of(chunks), strict=True) if pair[0] > 0), reverse=True)


# LangChain.


@contextmanager
def qdrant(folder, mode, words):
    qdrant_client = pytest.importorskip("qdrant_client")
    from langchain_qdrant import QdrantVectorStore, RetrievalMode
    from qdrant_client.models import Distance, Modifier, SparseVectorParams, VectorParams

    client = qdrant_client.QdrantClient(path=str(folder))
    client.create_collection(
        "chunks",
        vectors_config=VectorParams(size=SIZE, distance=Distance.COSINE),
        sparse_vectors_config={"words": SparseVectorParams(modifier=Modifier.IDF)},
    )
    yield QdrantVectorStore(
        client,
        "chunks",
        DefaultEmbeddings(),
        retrieval_mode=RetrievalMode(mode),
        sparse_embedding=qdrant_words(words),
        sparse_vector_name="words",
    )
    client.close()


@contextmanager
def milvus(folder, mode, words):
    pytest.importorskip("milvus_lite")
    from langchain_milvus import Milvus

    dense, sparse = {"metric_type": "COSINE", "params": {}}, {"metric_type": "IP", "params": {}}
    indexes = [{"index_type": "FLAT", **dense}, {"index_type": "SPARSE_INVERTED_INDEX", **sparse}]
    which = slice(0 if mode == "hybrid" else 1, 2)
    store = Milvus(
        embedding_function=[DefaultEmbeddings(), milvus_words(words)][which],
        vector_field=["dense", "words"][which],
        index_params=indexes[which],
        search_params=[dense, sparse][which],  # the default leaves out small weights
        connection_args={"uri": str(folder / "chunks.db")},
        auto_id=True,
    )
    yield store
    store.client.close()


def test_qdrant_ranks_our_words_as_our_index_does_and_follows_later_chunks(tmp_path):
    words = SparseWords.of(texts_of(CHUNKS), rarity="store")
    with qdrant(tmp_path, "sparse", words) as store:
        ids = store.add_documents(CHUNKS)
        index = LexicalIndex(texts_of(CHUNKS))
        for question in QUESTIONS:
            hits = store.similarity_search_with_score(question, 10)
            expected = index.search(question, 10)
            assert [score for _, score in hits] == pytest.approx(expected.scores[: len(hits)].tolist(), rel=1e-4)
            best = CHUNKS[expected.chunks[0]].page_content
            assert hits[0][0].page_content == best
        store.add_documents(LATER)
        store.delete(ids[:3])
        now = SparseWords(words.mean)
        now.add(texts_of([*CHUNKS[3:], *LATER]))
        for question in [*QUESTIONS, "How is rum dried?"]:
            hits = [(score, hit.page_content) for hit, score in store.similarity_search_with_score(question, 10)]
            expected = scores_by_words(now, [*CHUNKS[3:], *LATER], question)[:10]
            assert [score for score, _ in hits] == pytest.approx([score for score, _ in expected], rel=1e-4)


def test_milvus_ranks_our_words_as_our_index_does(tmp_path):
    with milvus(tmp_path, "sparse", SparseWords.of(texts_of(CHUNKS))) as store:
        store.add_documents(CHUNKS)
        for question in QUESTIONS:
            hits = store.similarity_search_with_score(question, 10)
            expected = LexicalIndex(texts_of(CHUNKS)).search(question, 10)
            assert hits[0][0].page_content == CHUNKS[expected.chunks[0]].page_content
            scores = [abs(score) for _, score in hits]
            assert scores == pytest.approx(expected.scores[: len(hits)].tolist(), rel=1e-4)
        assert store.similarity_search("?!") == []
    with pytest.raises(
        ConfigurationError, match="rarity must be 'texts', as Milvus does not weight words, got 'store'"
    ):
        milvus_words(SparseWords(40, rarity="store"))


@contextmanager
def postgres(folder, _mode, _words):
    from langchain_postgres import Column, PGEngine, PGVectorStore
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion

    with postgres_of_vectors(folder) as server:
        engine = PGEngine.from_connection_string(server.get_uri(driver="psycopg"))
        config = HybridSearchConfig(tsv_column="words", fusion_function=reciprocal_rank_fusion)
        engine.init_vectorstore_table(
            "chunks", SIZE, metadata_columns=[Column("source", "TEXT")], hybrid_search_config=config
        )
        store = PGVectorStore.create_sync(
            engine, DefaultEmbeddings(), "chunks", metadata_columns=["source"], hybrid_search_config=config
        )
        yield store
        asyncio.run_coroutine_threadsafe(engine._pool.dispose(), engine._loop).result()


def only_tea(opened):
    """Return a filter for one document, as the store takes it."""
    if opened is milvus:
        return {"expr": "source == 'tea'"}
    if opened is postgres:
        return {"filter": {"source": "tea"}}
    from qdrant_client.models import FieldCondition, Filter, MatchValue

    return {"filter": Filter(must=[FieldCondition(key="metadata.source", match=MatchValue(value="tea"))])}


@pytest.mark.parametrize(("opened", "rarity"), [(qdrant, "store"), (milvus, "texts"), (postgres, None)])
def test_hybrid_hits_of_a_store_are_cut_and_filtered(opened, rarity, tmp_path):
    words = SparseWords.of(texts_of(CHUNKS), rarity=rarity) if rarity else None
    with opened(tmp_path, "hybrid", words) as store:
        store.add_documents(CHUNKS)
        retriever = AdvchunkRetriever(vectorstore=store, texts=TEXTS)
        for question in QUESTIONS:
            for passage in retriever.invoke(question, budget=100):
                start, end = passage.metadata["start_index"], passage.metadata["end_index"]
                assert passage.page_content.endswith(TEXTS[passage.metadata["source"]][start:end])
                assert "line" in passage.metadata["citation"]
        assert "mill" in "".join(texts_of(retriever.invoke(QUESTIONS[2], budget=100)))
        hits = retriever.invoke(QUESTIONS[0], **only_tea(opened))
        assert {hit.metadata["source"] for hit in hits} == {"tea"}
        hits = store.similarity_search(QUESTIONS[1], 20)
        passages = PassageCompressor(budget=100, texts=TEXTS).compress_documents(hits, QUESTIONS[1])
        assert 0 < sum(passage.metadata["token_count"] for passage in passages) <= 100


class LanceWords(BaseRetriever):
    """The retriever of the guide, with a filter."""

    table: Any
    where: str | None = None

    def _get_relevant_documents(self, query, *, run_manager):
        rows = self.table.search(query, query_type="fts").where(self.where).limit(50).to_list()
        return [Document(row["text"], id=row["id"], metadata=row["metadata"]) for row in rows]


def test_lance_searches_words(tmp_path):
    lancedb = pytest.importorskip("lancedb")
    from lancedb.index import FTS
    from langchain_community.vectorstores import LanceDB

    connection = lancedb.connect(str(tmp_path), read_consistency_interval=timedelta(0))
    store = LanceDB(connection, DefaultEmbeddings(), mode="append")
    store.add_documents(CHUNKS)
    with pytest.raises(TypeError, match="multiple values for keyword argument 'name'"):  # as the guide says
        store.similarity_search(QUESTIONS[1], query_type="fts")
    table = store.get_table()
    table.create_index("text", config=FTS(language="English"))
    words = LanceWords(table=table)
    retriever = AdvchunkRetriever(retriever=words, texts=TEXTS)
    assert retriever.invoke(QUESTIONS[1])[0].metadata["source"] == "tea"
    assert {hit.metadata["source"] for hit in words.invoke("tea ferry")} == {"town", "tea"}
    assert {
        hit.metadata["source"] for hit in LanceWords(table=table, where="metadata.source = 'tea'").invoke("tea ferry")
    } == {"tea"}
    store.add_documents(LATER)
    assert {hit.metadata["source"] for hit in words.invoke("rum")} == {"rum"}


# LlamaIndex.


def nodes():
    from llama_index.core import Document as Source

    from llamaindex_advchunk import RecursiveNodeParser

    parser = RecursiveNodeParser(max_tokens=50, markup="plain")
    return parser.get_nodes_from_documents([Source(text=text, id_=name) for name, text in TEXTS.items()])


def index_over(store):
    from llama_index.core import StorageContext, VectorStoreIndex

    from llamaindex_advchunk import DefaultEmbedding

    context = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes(), storage_context=context, embed_model=DefaultEmbedding())


@contextmanager
def qdrant_of_llamaindex(folder):
    qdrant_client = pytest.importorskip("qdrant_client")
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client.models import Modifier, SparseVectorParams

    from llamaindex_advchunk import qdrant_words as functions

    encode_texts, encode_queries = functions(SparseWords.of([node.text for node in nodes()], rarity="store"))
    client = qdrant_client.QdrantClient(path=str(folder))
    yield QdrantVectorStore(
        "nodes",
        client,
        enable_hybrid=True,
        sparse_doc_fn=encode_texts,
        sparse_query_fn=encode_queries,
        sparse_config=SparseVectorParams(modifier=Modifier.IDF),
    )
    client.close()


@contextmanager
def lance_of_llamaindex(folder):
    pytest.importorskip("lancedb")
    from llama_index.vector_stores.lancedb import LanceDBVectorStore

    yield LanceDBVectorStore(uri=str(folder), query_type="fts")


STORES = [(qdrant_of_llamaindex, "sparse"), (nodes_in_postgres, "sparse"), (lance_of_llamaindex, "default")]


@pytest.mark.parametrize(("opened", "mode"), STORES, ids=lambda value: getattr(value, "__name__", value))
def test_words_of_a_store_are_fused_with_its_vectors_and_cut(opened, mode, tmp_path):
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

    from llamaindex_advchunk import AdvchunkRetriever as Advchunk
    from llamaindex_advchunk import PassagePostprocessor

    with opened(tmp_path) as store:
        index = index_over(store)
        options = {"vector_store_query_mode": mode, "similarity_top_k": 20, "sparse_top_k": 20}
        by_words, by_vectors = index.as_retriever(**options), index.as_retriever(similarity_top_k=20)
        alone = {"mode": "reciprocal_rerank", "num_queries": 1, "llm": MockLLM(), "use_async": False}
        both = QueryFusionRetriever([by_vectors, by_words], similarity_top_k=20, **alone)
        for question in QUESTIONS:
            hits = both.retrieve(question)
            passages = PassagePostprocessor(budget=100, texts=TEXTS).postprocess_nodes(hits, query_str=question)
            for hit in passages:
                text = TEXTS[hit.node.ref_doc_id or hit.metadata["ref_doc_id"]]
                assert hit.text == text[hit.node.start_char_idx : hit.node.end_char_idx]
            assert Advchunk(retriever=both, budget=100).retrieve(question)
        filters = MetadataFilters(filters=[MetadataFilter(key="ref_doc_id", value="tea")])
        if opened is not lance_of_llamaindex:
            hits = index.as_retriever(filters=filters, **options).retrieve(QUESTIONS[1])
            assert {hit.node.ref_doc_id for hit in hits} == {"tea"}


def test_llamaindex_ranks_our_words_in_qdrant_as_our_index_does(tmp_path):
    own = nodes()
    with qdrant_of_llamaindex(tmp_path) as store:
        retriever = index_over(store).as_retriever(
            vector_store_query_mode="sparse", similarity_top_k=10, sparse_top_k=10
        )
        for question in QUESTIONS:
            hits = retriever.retrieve(question)
            expected = LexicalIndex([node.text for node in own]).search(question, 10)
            assert [hit.score for hit in hits] == pytest.approx(expected.scores[: len(hits)].tolist(), rel=1e-4)
