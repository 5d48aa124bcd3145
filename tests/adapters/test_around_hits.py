"""What stands around hits, in both frameworks: from tables, stores and texts, under filters, at several levels, after
failures."""

import asyncio
import json
import logging
import sqlite3
from contextlib import closing

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

import langchain_advchunk
import llamaindex_advchunk
from advchunk.errors import StoreUnavailable
from advchunk.retrieval import Search, as_surroundings
from chunk_table import ChunkTable, fill
from langchain_advchunk import (
    DefaultEmbeddings,
    HierarchicalSplitter,
    PassageCompressor,
    RecursiveSplitter,
    StoreChunks,
)
from langchain_advchunk.surroundings import mapping_filter
from llamaindex_advchunk import DefaultEmbedding, RecursiveNodeParser, StoreNodes

FILLER = [f"Shed {i} holds {thing} and tar." for i, thing in enumerate(["rope", "nets", "oars", "sails"] * 6)]
PLANTED = ["The ferry to the island leaves daily.", "At half past nine.", "The ferry to the island takes cars."]
TEXTS = {"town": " ".join([*FILLER[:12], *PLANTED, *FILLER[12:]]), "tea": "Boil the water. Add tea. Wait. Pour it."}
QUESTION = "When does the ferry to the island leave?"


def chunked(**metadata):
    documents = [Document(text, id=name, metadata={"source": name, **metadata}) for name, text in TEXTS.items()]
    return RecursiveSplitter(max_tokens=9).split_documents(documents)


def stored(chunks):
    return InMemoryVectorStore.from_documents(chunks, DefaultEmbeddings())


def retrieved(store, question=QUESTION, **options):
    results = langchain_advchunk.AdvchunkRetriever(vectorstore=store, depth=3, k=8, **options).invoke(question)
    return [(chunk.page_content, chunk.metadata["citation"]) for chunk in results]


def table(path, chunks):
    with closing(sqlite3.connect(path)) as file:
        fill(file, chunks)
    return ChunkTable(lambda: sqlite3.connect(path))


def rows(chunks):
    for chunk in chunks:
        place = chunk.metadata["start_index"], chunk.metadata["end_index"]
        yield (chunk.metadata["source"], *place, chunk.page_content, chunk.id, json.dumps(chunk.metadata))


class Recorder:
    """Counts how often it is asked, and returns what another source does."""

    def __init__(self, source):
        self.source, self.asked = as_surroundings(source), []

    def read(self, hits, reach):
        self.asked.append(len(hits))
        return self.source.read(hits, reach)


class TestLangChain:
    def test_a_table_stands_in_for_all_chunks(self, tmp_path):
        chunks = chunked()
        store, bare = stored(chunks), [(*row[:4], None, None) for row in rows(chunks)]
        expected = retrieved(store, chunks=chunks, search=Search("dense", neighbors=True))
        assert ANSWER in [text for text, _ in expected]
        for i, kept in enumerate([rows(chunks), bare]):
            source = Recorder(table(tmp_path / f"{i}.db", list(kept)))
            results = retrieved(store, texts=source)
            assert [text for text, _ in results] == [text for text, _ in expected]
            assert source.asked == [8]  # once for all hits
        assert retrieved(store) == expected != retrieved(store, texts={})

    def test_another_store_is_asked_by_a_function(self):
        for chunks in (chunked(start_index=7), chunked()):
            asked = []

            def find(ranges, asked=asked, chunks=chunks):
                asked.append(mapping_filter(ranges))
                return [chunk for chunk in chunks if any(own.has(chunk.metadata) for own in ranges)]

            assert retrieved(stored(chunks), texts=StoreChunks(find)) == retrieved(stored(chunks))
            assert len(asked) == 1
            assert ("advchunk_start_index" in str(asked)) == ("advchunk_start_index" in chunks[0].metadata)

    def test_chunks_that_are_left_out_are_said(self, monkeypatch, caplog):
        monkeypatch.setattr(langchain_advchunk.surroundings, "_MOST", 4)
        store = stored(chunked())
        retrieved(store)
        retrieved(store, texts=StoreChunks(store))
        assert caplog.messages
        assert all("the store InMemoryVectorStore has 4 chunks or more" in message for message in caplog.messages)

    def test_without_neighbors_or_a_budget_nothing_is_asked(self):
        def fail(*_):
            pytest.fail("asked")

        store = stored(chunked())
        store.store = store.store.copy()
        retriever = langchain_advchunk.AdvchunkRetriever(vectorstore=store, search=Search("dense"), k=3)
        retriever._surroundings = as_surroundings(type("Source", (), {"read": fail})())
        assert len(retriever.invoke(QUESTION)) == 3

    def test_filters_restrict_what_stands_around_hits(self):
        class Equal(InMemoryVectorStore):
            """Takes metadata keys with their values, or a function, as a filter."""

            def similarity_search_with_score(self, query, k=4, filter=None, **kwargs):
                test = filter if filter is None or callable(filter) else lambda d: d.metadata | filter == d.metadata
                return super().similarity_search_with_score(query, k, filter=test)

        chunks = chunked(kind="a")
        for chunk in chunks[::2]:
            chunk.metadata["kind"] = "b"
        store = Equal.from_documents(chunks, DefaultEmbeddings())
        kinds = {chunk.page_content: chunk.metadata["kind"] for chunk in chunks}

        def is_b(chunk):
            return chunk.metadata["kind"] == "b"

        options = {"filter": {"kind": "b"}}, {"filter": is_b, "chunk_filter": is_b}, {"filter": is_b}
        for option in options:
            own = {"search_kwargs": {"filter": option["filter"]}, "chunk_filter": option.get("chunk_filter")}
            results = retrieved(store, **own)
            assert {kinds[text] for text, _ in results} == {"b"}
            is_applied = option["filter"] != is_b or own["chunk_filter"]  # else the store is not asked
            assert (results != retrieved(store, texts={}, **own)) == bool(is_applied)

    def test_of_several_levels_those_of_the_hits_count(self):
        documents = [Document(text, id=name, metadata={"source": name}) for name, text in TEXTS.items()]
        chunks = HierarchicalSplitter(max_tokens=9).split_documents(documents)
        leaves = max(chunk.metadata["level"] for chunk in chunks)
        hits = [chunk for chunk in chunks if chunk.metadata["level"] == leaves][5:6]
        around = StoreChunks(stored(chunks)).read(list(map(to_hit, hits)), 300)
        assert {item.metadata["level"] for item in around.items} == {leaves}
        assert len(around.items) > 3

    def test_sync_and_async_read_a_store_of_texts(self):
        texts = InMemoryStore()
        texts.mset([(name, Document(text)) for name, text in TEXTS.items()])
        hits = [chunk for chunk in chunked() if "daily" in chunk.page_content]
        compressor = PassageCompressor(texts=texts, budget=30)
        (passage,) = compressor.compress_documents(hits, QUESTION)
        assert asyncio.run(compressor.acompress_documents(hits, QUESTION)) == [passage]
        assert ANSWER.strip() in passage.page_content

    def test_moved_chunks_are_placed_by_the_text(self, tmp_path):
        chunks, edited = chunked(), "A pier was built in May. " + TEXTS["town"]
        (tmp_path / "town").write_text(edited, encoding="utf-8")
        options = {"k": None, "budget": 30}
        retriever = langchain_advchunk.AdvchunkRetriever(vectorstore=stored(chunks), texts=str(tmp_path), **options)
        for passage in retriever.invoke(QUESTION):
            start, end = passage.metadata["start_index"], passage.metadata["end_index"]
            assert passage.page_content == edited[start:end]

    def test_a_store_that_fails_is_a_clear_error_or_a_partial_answer(self, caplog):
        chunks = chunked()
        store = stored(chunks)

        class Broken:
            name = "the store Broken"

            def read(self, hits, reach):
                msg = "refused"
                raise ConnectionError(msg)

        with pytest.raises(
            StoreUnavailable, match=r"the store Broken failed for hits of 'town'.*: ConnectionError: refused"
        ):
            retrieved(store, texts=Broken())
        with caplog.at_level(logging.WARNING, "advchunk"):
            assert retrieved(store, texts=as_surroundings(Broken(), partial=True)) == retrieved(store, texts={})
        assert ["answers are partial" in message for message in caplog.messages] == [True]


class Hits(BaseRetriever):
    """Returns the same nodes to every question."""

    def __init__(self, nodes):
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=1 / (i + 1)) for i, node in enumerate(self.nodes)]


class TestLlamaIndex:
    @pytest.fixture
    def nodes(self):
        documents = [LlamaDocument(text=text, id_=name, metadata={"kind": "a"}) for name, text in TEXTS.items()]
        return RecursiveNodeParser(max_tokens=9).get_nodes_from_documents(documents)

    def hits(self, nodes):
        return [node for node in nodes if "daily" in node.text or "cars" in node.text]

    def retrieved(self, all_nodes, **options):
        options = {"similarity_top_k": 3} | options
        retriever = llamaindex_advchunk.AdvchunkRetriever(retriever=Hits(self.hits(all_nodes)), **options)
        return [(hit.text, hit.metadata["citation"], hit.node.ref_doc_id) for hit in retriever.retrieve(QUESTION)]

    def test_tables_texts_and_docstores_stand_in_for_all_nodes(self, nodes, tmp_path):
        expected = self.retrieved(nodes, nodes=nodes, search=Search("dense", neighbors=True))
        assert ANSWER in [text for text, *_ in expected]
        docstore = SimpleDocumentStore()
        docstore.add_documents(nodes)
        columns = ("ref_doc_id", "start_char_idx", "end_char_idx", "text", "node_id")
        kept = [(*(getattr(node, name) for name in columns), json.dumps(node.metadata)) for node in nodes]
        for source in (table(tmp_path / "chunks.db", kept), StoreNodes(docstore)):
            recorder = Recorder(source)
            assert self.retrieved(nodes, texts=recorder) == expected
            assert recorder.asked == [2]
        assert ANSWER not in [text for text, *_ in self.retrieved(nodes)]
        whole = SimpleDocumentStore()
        whole.add_documents([LlamaDocument(text=text, id_=name) for name, text in TEXTS.items()])
        cut = {"similarity_top_k": None, "budget": 30}
        by_text = self.retrieved(nodes, texts=TEXTS, **cut)
        assert self.retrieved(nodes, texts=whole, **cut) == by_text
        assert ANSWER.strip() in by_text[0][0]

    def test_filters_restrict_what_stands_around_hits(self, nodes):
        for node in nodes:
            node.metadata["kind"] = "a" if node.text != ANSWER else "b"
        docstore = SimpleDocumentStore()
        docstore.add_documents(nodes)
        filters = MetadataFilters(filters=[MetadataFilter(key="kind", value="a")])
        results = self.retrieved(nodes, texts=StoreNodes(docstore), filters=filters, similarity_top_k=9)
        assert len(results) == 9
        assert ANSWER not in [text for text, *_ in results]

    def test_links_lead_as_far_as_the_reach(self, nodes):
        docstore = SimpleDocumentStore()
        docstore.add_documents(nodes)
        (first, _), source = self.hits(nodes), StoreNodes(docstore)
        for reach in (0, 40, 200, 10**6):
            around = source.read([llamaindex_advchunk.surroundings.to_hit(first)], reach)
            near = [
                node
                for node in nodes
                if node.ref_doc_id == "town"
                and node.start_char_idx < first.end_char_idx + reach
                and node.end_char_idx > first.start_char_idx - reach
            ]
            assert {node.node_id for node in near} <= {hit.chunk.id for hit in around.beside}
            assert len(around.beside) <= len(near) + 2

    def test_links_that_do_not_reach_far_enough_are_said_once(self, nodes, monkeypatch, caplog):
        docstore = SimpleDocumentStore()
        docstore.add_documents(nodes)
        source = StoreNodes(docstore)
        hits = [llamaindex_advchunk.surroundings.to_hit(node) for node in self.hits(nodes)]
        source.read(hits, 10**6)
        assert not caplog.messages
        monkeypatch.setattr(llamaindex_advchunk.surroundings, "_MOST_STEPS", 3)
        for _ in range(2):
            source.read(hits, 10**6)
        assert [message[:41] for message in caplog.messages] == ["the links of nodes were followed 3 steps,"]

    def test_an_index_in_memory_needs_no_store(self, nodes):
        index = VectorStoreIndex(nodes, embed_model=DefaultEmbedding())
        results = llamaindex_advchunk.AdvchunkRetriever(index, similarity_top_k=3).retrieve(QUESTION)
        assert ANSWER in [hit.text for hit in results]


ANSWER = "At half past nine. "


def to_hit(document):
    return langchain_advchunk.collection.to_hit(document, lambda chunk: chunk.metadata["source"])
