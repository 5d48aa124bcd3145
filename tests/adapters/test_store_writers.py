"""Chunks of the core in vector stores: as splitters and node parsers make them, once, without being embedded again."""

import pickle

import pyarrow as pa
import pyarrow.parquet
import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaDocument
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.tables import chunk_batches, store_shards
from langchain_advchunk import ChunkWriter, DefaultEmbeddings, RecursiveSplitter
from llamaindex_advchunk import DefaultEmbedding, NodeWriter, RecursiveNodeParser

TEXTS = {"tea": "# Tea\n\nGreen tea. Green tea.\n\nIt is drunk hot.", "rum": "Sailors drank rum. They had barrels."}
METADATA = {"tea": {"year": 2025}, "rum": {"year": 2026}}
OPTIONS = {"max_tokens": 8, "include_context": True}


def groups(**options):
    documents = [Document(text, name, metadata=METADATA[name]) for name, text in TEXTS.items()]
    return dict(zip(TEXTS, RecursiveChunker(**OPTIONS, **options).chunk_many(documents), strict=True))


class Counting(DefaultEmbeddings):
    """Counts the texts that it embeds."""

    number = 0

    def embed_documents(self, texts):
        """Count, and embed."""
        type(self).number += len(texts)
        return super().embed_documents(texts)


def test_a_store_of_langchain_gets_the_documents_of_a_splitter():
    sources = [LangChainDocument(text, id=name, metadata=METADATA[name]) for name, text in TEXTS.items()]
    pieces = RecursiveSplitter(**OPTIONS).split_documents(sources)
    for options, number in [({"vectors": "plain"}, 0), ({}, len({piece.page_content for piece in pieces}))]:
        Counting.number = 0
        write = pickle.loads(pickle.dumps(ChunkWriter(InMemoryVectorStore, Counting())))
        for _ in range(2):
            write(groups(**options))
        assert write.store.get_by_ids([piece.id for piece in pieces]) == pieces
        assert len(write.store.store) == len(pieces)
        assert Counting.number == 2 * number
        vectors = [row["vector"] for row in write.store.store.values()]
        expected = DefaultEmbeddings().embed_documents([row["text"] for row in write.store.store.values()])
        assert vectors == [pytest.approx(row, abs=1e-6) for row in expected]
        assert write.store.similarity_search("Who drank rum?", k=1)[0].metadata["source_id"] == "rum"


def test_a_store_of_llamaindex_gets_the_nodes_of_a_parser():
    sources = [LlamaDocument(text=text, id_=name, metadata=METADATA[name]) for name, text in TEXTS.items()]
    parsers = [
        ({"vectors": "plain"}, RecursiveNodeParser(**OPTIONS, vectors="plain").get_nodes_from_documents(sources))
    ]
    parsers.append(({}, DefaultEmbedding()(RecursiveNodeParser(**OPTIONS).get_nodes_from_documents(sources))))

    class Kept(SimpleVectorStore):
        """Keeps the nodes that it gets."""

        def add(self, nodes, **kwargs):
            """Keep nodes."""
            kept.extend(nodes)
            return super().add(nodes, **kwargs)

    for options, nodes in parsers:
        kept = []
        write = NodeWriter(Kept)
        for _ in range(2):
            write(groups(**options))
        assert len(write.store.data.embedding_dict) == len(nodes)
        assert [as_dict(node) for node in kept] == [as_dict(node) for node in nodes] * 2
        for node, own in zip(nodes, kept, strict=False):
            assert own.embedding == pytest.approx(node.embedding, abs=1e-6)
    assert pickle.loads(pickle.dumps(NodeWriter(SimpleVectorStore))).store


def as_dict(node):
    """Return a node without its vector, and without the hash of the whole text, which chunks do not have."""
    values = node.to_dict()
    values.pop("embedding")
    values["relationships"]["1"].pop("hash")
    return values


def test_a_store_that_cannot_replace_nodes_is_refused():
    class Adding(SimpleVectorStore):
        """Deletes nothing by ids."""

        delete_nodes = BasePydanticVectorStore.delete_nodes

    with pytest.raises(ConfigurationError, match="a store must delete nodes by their ids, got 'Adding'"):
        NodeWriter(Adding)(groups())


def test_nothing_is_written_for_documents_without_chunks():
    for write in (ChunkWriter(InMemoryVectorStore), NodeWriter(SimpleVectorStore)):
        write({"blank": []})
        assert "store" not in vars(write)


@pytest.mark.parametrize("make", [ChunkWriter, NodeWriter])
def test_shards_go_into_a_store(make, tmp_path):
    chunker = RecursiveChunker(**OPTIONS, vectors="plain")
    for name, text in TEXTS.items():
        rows = chunk_batches(pa.table({"id": [name], "text": [text]}), chunker)
        pa.parquet.write_table(pa.Table.from_batches(rows), tmp_path / f"{name}.parquet")
    write = make(InMemoryVectorStore if make is ChunkWriter else SimpleVectorStore)
    counts = store_shards(tmp_path, write, records=tmp_path / "_stored")
    rows = write.store.store if make is ChunkWriter else write.store.data.embedding_dict
    assert counts == (2, 0, len(rows), 0)
    assert store_shards(tmp_path, write, records=tmp_path / "_stored") == (2, 2, 0, 0)
