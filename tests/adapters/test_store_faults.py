"""A real Postgres is stopped, killed, slow, full, and loses or damages rows, while it is asked and while it is
filled."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from llama_index.core import Document as LlamaDocument
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.storage.docstore import SimpleDocumentStore

from advchunk import ConfigurationError
from advchunk.errors import StoreUnavailable
from advchunk.retrieval import PassageCutter, as_surroundings
from chunk_table import COLUMNS, ChunkTable
from langchain_advchunk import DefaultEmbeddings, RecursiveSplitter, StoreChunks, record_key
from langchain_advchunk.collection import to_hit as chunk_to_hit
from langchain_advchunk.surroundings import mapping_filter
from llamaindex_advchunk import DefaultEmbedding, RecursiveNodeParser, StoreNodes
from llamaindex_advchunk.collection import to_hit as node_to_hit
from servers import Postgres

FILLER = [f"Shed {i} holds {thing} and tar." for i, thing in enumerate(["rope", "nets", "oars", "sails"] * 4)]
PLANTED = ["The ferry to the island leaves daily.", "At half past nine.", "The ferry to the island takes cars."]
TEXTS = {"town": " ".join([*FILLER[:8], *PLANTED, *FILLER[8:]]), "tea": "Boil the water. Add tea. Wait. Pour it."}
QUESTION = "When does the ferry to the island leave?"
SIZE = 256  # of the vectors of the embedded default
WAIT = "ALTER ROLE postgres SET lock_timeout = '300ms'"

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set:UserWarning")]


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg")
    with Postgres() as running:
        run(running, WAIT)
        yield running


def run(server, command, *values):
    """Run a command in a connection of its own."""
    import psycopg

    with psycopg.connect(server.uri(), autocommit=True) as connection:
        cursor = connection.execute(command, values or None)
        return cursor.fetchall() if cursor.description else []


@dataclass
class Kept:
    """Chunks in a table of a store.

    Parameters
    ----------
    source : of what stands around hits.
    hits : some of the chunks.
    table, text : the name of the table, and of its column of texts.
    damages : assignments of SQL that make nonsense of a row.
    close : ends the connections of the store.
    """

    source: Any
    hits: list
    table: str
    text: str
    damages: tuple
    close: Callable[[], Any] = lambda: None

    def cut(self, **options):
        return shown(PassageCutter().cut(QUESTION, self.hits, 40, texts=as_surroundings(self.source, **options)))

    def alone(self):
        return shown(PassageCutter().cut(QUESTION, self.hits, 40))


def shown(passages):
    return [(passage.text, passage.document, passage.spans) for passage in passages]


def chunks_of_texts():
    documents = [Document(text, id=name, metadata={"source": name}) for name, text in TEXTS.items()]
    return RecursiveSplitter(max_tokens=9).split_documents(documents)


def parsed():
    documents = [LlamaDocument(text=text, id_=name) for name, text in TEXTS.items()]
    return RecursiveNodeParser(max_tokens=9).get_nodes_from_documents(documents)


def in_table(server):
    import psycopg

    run(server, f"DROP TABLE IF EXISTS chunks; CREATE TABLE chunks ({COLUMNS})")
    chunks = chunks_of_texts()
    for chunk in chunks:
        place = chunk.metadata["start_index"], chunk.metadata["end_index"]
        row = (chunk.metadata["source"], *place, chunk.page_content, chunk.id, json.dumps(chunk.metadata))
        run(server, "INSERT INTO chunks VALUES (%s, %s, %s, %s, %s, %s)", *row)
    source = ChunkTable(lambda: psycopg.connect(server.uri()), "%s")
    damages = (
        '"end" = "start" - 5', '"start" = -"start"', "metadata = '[1]'", "metadata = 'x'", "\"text\" = NULL", "\"text\" = 'else'"
    )  # fmt: skip
    return Kept(source, chosen(chunks), "chunks", '"text"', damages)


def chosen(chunks):
    hits = [chunk for chunk in chunks if "ferry" in chunk.page_content]
    return [chunk_to_hit(chunk, lambda own: own.metadata["source"]) for chunk in hits]


def langchain_store(server):
    from langchain_postgres import PGEngine, PGVectorStore

    run(server, "DROP TABLE IF EXISTS own_chunks")
    engine = PGEngine.from_connection_string(server.uri("psycopg"))
    engine.init_vectorstore_table("own_chunks", SIZE)
    store = PGVectorStore.create_sync(engine, DefaultEmbeddings(), "own_chunks")
    return store, lambda: asyncio.run_coroutine_threadsafe(engine._pool.dispose(), engine._loop).result()


def in_langchain(server):
    (store, close), chunks = langchain_store(server), chunks_of_texts()
    store.add_documents(chunks, ids=[chunk.id for chunk in chunks])
    own = "langchain_metadata = jsonb_set(langchain_metadata::jsonb, '{start_index}', '%s')"
    damages = (*(own % value for value in ("-7", "3.5", "true", '"x"')), "langchain_metadata = '[1]'", "content = ''")
    source = StoreChunks(lambda ranges: store.similarity_search("text", k=1000, filter=mapping_filter(ranges)))
    return Kept(source, chosen(chunks), "own_chunks", "content", damages, close)


def llamaindex_store(server):
    from llama_index.vector_stores.postgres import PGVectorStore

    run(server, "DROP TABLE IF EXISTS data_own_nodes")
    uris = [server.uri(driver) for driver in ("psycopg2", "asyncpg")]
    return PGVectorStore(*uris, table_name="own_nodes", embed_dim=SIZE, use_jsonb=True)


def in_llamaindex(server):
    store = llamaindex_store(server)
    nodes = DefaultEmbedding()(parsed())
    store.add(nodes)
    damages = ("metadata_ = '{}'", "metadata_ = '[1]'", "node_id = 'x'", "text = ''", "metadata_ = NULL")
    hits = [node_to_hit(node) for node in nodes if "ferry" in node.text]
    return Kept(StoreNodes(store), hits, "data_own_nodes", "text", damages, store._engine.dispose)


@pytest.fixture(params=[in_table, in_langchain, in_llamaindex], ids=lambda make: make.__name__)
def kept(request, server):
    chunks = request.param(server)
    assert PLANTED[1] in " ".join(text for text, *_ in chunks.cut())
    yield chunks
    chunks.close()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_store_that_is_gone_is_one_clear_error_and_answers_when_it_is_back(kept, server, end):
    before = kept.cut()
    getattr(server, end)()
    try:
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match=f"{kept.source.name} failed for hits of 'town'"):
                kept.cut()
        assert kept.cut(partial=True) == kept.alone()
    finally:
        server.start()
    assert kept.cut() == before


def test_a_store_that_is_slow_is_a_clear_error_within_its_limit(kept, server):
    import psycopg

    before = kept.cut()
    with psycopg.connect(server.uri()) as other:
        other.execute(f"LOCK TABLE {kept.table} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match=f"{kept.source.name} failed for hits of 'town'.*lock timeout"):
            kept.cut()
        assert kept.cut(partial=True) == kept.alone()
        other.rollback()
    assert kept.cut() == before


def test_rows_that_are_lost_leave_the_hits_as_they_are(kept, server, caplog):
    run(server, f"DELETE FROM {kept.table} WHERE {kept.text} NOT LIKE '%%ferry%%'")
    assert kept.cut() == kept.alone()
    run(server, f"DELETE FROM {kept.table}")
    with caplog.at_level(logging.WARNING, "advchunk"):
        assert kept.cut() == kept.alone()
    assert any("such as one of 'town'" in message for message in caplog.messages)


def test_rows_of_nonsense_are_left_out_or_a_clear_error(kept, server):
    expected = {text for hit in kept.hits for text in [hit.chunk.text.strip()]}
    run(server, f"DROP TABLE IF EXISTS saved; CREATE TABLE saved AS TABLE {kept.table}")
    for damage in kept.damages:
        run(server, f"UPDATE {kept.table} SET {damage}")
        with suppress(ConfigurationError, StoreUnavailable):
            passages = kept.cut()
            assert all(any(text in own for own, *_ in passages) for text in expected), damage
            places = [(text, span) for text, _, spans in passages for span in spans]
            assert all(span.start >= 0 and span.end - span.start == len(text) for text, span in places), damage
        run(server, f"DELETE FROM {kept.table}; INSERT INTO {kept.table} SELECT * FROM saved")


@pytest.mark.parametrize(
    ("make", "columns"),
    [
        (in_table, 'document, "start", "end", "text", id, metadata'),
        (in_llamaindex, "text, metadata_, node_id, embedding"),
    ],
    ids=["table", "links"],
)
def test_rows_that_are_twice_change_no_answer(server, make, columns):
    """As LlamaIndex leaves them where a process dies after the store has its nodes, and before its docstore is
    saved."""
    kept = make(server)
    before = kept.cut()
    run(server, f"INSERT INTO {kept.table} ({columns}) SELECT {columns} FROM {kept.table}")
    assert kept.cut() == before
    kept.hits = kept.hits + kept.hits
    assert kept.cut() == before
    kept.close()


FULL = """
CREATE OR REPLACE FUNCTION fill() RETURNS trigger AS $$ BEGIN
    IF (SELECT count(*) FROM {0}) > 6 THEN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NEW;
END $$ LANGUAGE plpgsql;
CREATE TRIGGER full_disk BEFORE INSERT ON {0} FOR EACH ROW EXECUTE FUNCTION fill()
"""


@pytest.mark.parametrize("fault", ["full", "kill"])
def test_chunks_of_langchain_are_neither_lost_nor_twice(server, fault):
    (store, close), chunks, records = langchain_store(server), chunks_of_texts(), InMemoryRecordManager("store")
    records.create_schema()
    options = {"cleanup": "full", "batch_size": 4, "key_encoder": record_key}

    def dying():
        for i, chunk in enumerate(chunks):
            if fault == "kill" and i == 9:
                server.kill()
            yield chunk

    if fault == "full":
        run(server, FULL.format("own_chunks"))
    try:
        with pytest.raises(Exception, match=r"No space left on device|connection|terminat"):
            index(dying(), records, store, **options)
    finally:
        server.start()
    run(server, "DROP TRIGGER IF EXISTS full_disk ON own_chunks")
    assert 0 < run(server, "SELECT count(*) FROM own_chunks")[0][0] < len(chunks)
    for _ in range(2):
        index(chunks, records, store, **options)
        rows = run(server, "SELECT content FROM own_chunks")
        assert sorted(text for (text,) in rows) == sorted(chunk.page_content for chunk in chunks)
    close()


@pytest.mark.parametrize("fault", ["full", "kill"])
def test_nodes_of_llamaindex_are_neither_lost_nor_twice(server, fault):
    store, documents = llamaindex_store(server), [LlamaDocument(text=text, id_=name) for name, text in TEXTS.items()]
    run_pipeline = IngestionPipeline(
        transformations=[RecursiveNodeParser(max_tokens=9), DefaultEmbedding()],
        docstore=SimpleDocumentStore(),
        vector_store=store,
        docstore_strategy=DocstoreStrategy.UPSERTS,
    ).run
    store.add([])  # makes the table
    if fault == "full":
        run(server, FULL.format("data_own_nodes"))
    else:
        server.kill()
    try:
        with pytest.raises(Exception, match=r"No space left on device|connection|terminat"):
            run_pipeline(documents=documents)
    finally:
        server.start()
    run(server, "DROP TRIGGER IF EXISTS full_disk ON data_own_nodes")
    for _ in range(2):
        run_pipeline(documents=documents)
        rows = run(server, "SELECT text FROM data_own_nodes")
        assert sorted(text for (text,) in rows) == sorted(node.text for node in parsed())
    store._engine.dispose()
