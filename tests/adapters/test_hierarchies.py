"""Hierarchies, of documents and of a corpus, in both frameworks: parents and children are real, and the frameworks' own
retrievers understand them."""

import asyncio
import json
from itertools import chain, pairwise

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import get_leaf_nodes, get_root_nodes
from llama_index.core.node_parser.relational.hierarchical import get_child_nodes, get_deeper_nodes
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever
from llama_index.core.schema import IndexNode, MetadataMode, NodeRelationship, NodeWithScore
from llama_index.core.storage.docstore import SimpleDocumentStore

from advchunk import Document as Source
from advchunk import GraphRAGChunker, HierarchicalChunker, UniversalSemanticChunker
from langchain_advchunk import ChunkerSplitter, GraphRAGSplitter, HierarchicalSplitter
from llamaindex_advchunk import DefaultEmbedding, GraphRAGNodeParser, HierarchicalNodeParser

CATS = "# Cats\n\nCats purr softly. Cats nap in the sun. Kittens chase mice. Cats eat fish.\n\n"
COURTS = "# Courts\n\nJudges sit in court. Courts rule on law. Lawyers argue appeals. The court adjourns.\n\n"
BOATS = "# Boats\n\nBoats are moored in harbors. Sails catch the wind. Sailors tie knots. Anchors hold boats."
TEXT = CATS + COURTS + BOATS
PARAMS = [
    {"max_tokens": 64},
    {"levels": ["document", "section", "sentence"]},
    {"levels": ["universal-semantic", "sentence"]},
    {"levels": [64, 32, 8], "include_context": True, "max_tokens": 64},
]


def parse(**params):
    return HierarchicalNodeParser(**params)([Document(text=TEXT, id_="a"), Document(text=COURTS * 3, id_="b")])


@pytest.mark.parametrize("params", PARAMS)
def test_nodes_are_linked_as_the_chunks_are(params):
    nodes = parse(**params)
    by_id = {node.node_id: node for node in nodes}
    assert len(by_id) == len(nodes)
    core = HierarchicalChunker(**params).chunk_many([Source(TEXT, "a"), Source(COURTS * 3, "b")])
    parents = [None if c.parent is None else chunks[c.parent].id for chunks in core for c in chunks]
    assert [node.node_id for node in nodes] == [chunk.id for chunks in core for chunk in chunks]
    assert [node.parent_node and node.parent_node.node_id for node in nodes] == parents
    for node in nodes:
        text = {"a": TEXT, "b": COURTS * 3}[node.ref_doc_id]
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        assert node.source_node.node_id == node.ref_doc_id
        for related in (node.parent_node, node.prev_node, node.next_node, *(node.child_nodes or ())):
            assert related is None or related == by_id[related.node_id].as_related_node_info()  # id, hash and metadata
        children = [by_id[child.node_id] for child in node.child_nodes or ()]
        assert not children or "".join(child.text for child in children) == node.text
        assert all(child.parent_node.node_id == node.node_id for child in children)
        assert NodeRelationship.CHILD not in node.relationships or children  # a leaf has no empty list
    for document, above in {(node.ref_doc_id, node.parent_node and node.parent_node.node_id) for node in nodes}:
        row = [n for n in nodes if n.ref_doc_id == document and (n.parent_node and n.parent_node.node_id) == above]
        assert row[0].prev_node is None is row[-1].next_node
        assert all(b.prev_node.node_id == a.node_id for a, b in pairwise(row))
        assert all(a.next_node.node_id == b.node_id for a, b in pairwise(row))


def test_roots_leaves_and_levels_are_those_of_llama_index():
    nodes = parse(max_tokens=64)
    levels = [[node for node in nodes if node.metadata["level"] == level] for level in range(3)]
    assert get_root_nodes(nodes) == levels[0]
    assert get_leaf_nodes(nodes) == levels[2]
    assert get_child_nodes(levels[0], nodes) == levels[1]
    assert get_deeper_nodes(nodes, depth=2) == levels[2]
    kinds = [{node.metadata["granularity"] for node in level} for level in levels]
    assert kinds == [{"section"}, {"paragraph"}, {"sentence"}]


def merging_retriever(nodes, k):
    storage = StorageContext.from_defaults(docstore=SimpleDocumentStore())
    storage.docstore.add_documents(nodes)
    index = VectorStoreIndex(get_leaf_nodes(nodes), storage_context=storage, embed_model=DefaultEmbedding())
    return AutoMergingRetriever(index.as_retriever(similarity_top_k=k), storage)


def test_auto_merging_retriever_returns_the_section_of_most_hits():
    nodes = HierarchicalNodeParser(max_tokens=64)([Document(text=TEXT, id_="a")])
    results = merging_retriever(nodes, 4).retrieve("When do cats and kittens nap, purr, chase mice and eat fish?")
    assert [result.node.text for result in results] == [CATS]
    assert results[0].node.metadata["granularity"] == "section"
    (sentence,) = merging_retriever(nodes, 1).retrieve("Who sits in court?")
    assert sentence.node.text == "# Courts\n\nJudges sit in court. "


class Fixed(BaseRetriever):
    """Retrieves the same nodes for every query."""

    def __init__(self, nodes):
        super().__init__()
        self.nodes = nodes

    def _retrieve(self, _):
        return [NodeWithScore(node=node, score=1.0) for node in self.nodes]


def test_auto_merging_ends_where_the_only_child_of_a_parent_is_between_two_hits():
    text = "# A\n\nOne. Two. Three.\n\n# B\n\nFour.\n\n# C\n\nFive. Six. Seven."
    nodes = HierarchicalNodeParser(levels=["section", "sentence"])([Document(text=text, id_="a")])
    before, after = (node for node in get_leaf_nodes(nodes) if node.text.strip() in ("Three.", "# C\n\nFive."))
    assert (before.next_node, after.prev_node) == (None, None)  # else the node between them is added and merged forever
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents(nodes)
    results = AutoMergingRetriever(Fixed([before, after]), storage).retrieve("?")
    assert {result.node.node_id for result in results} == {before.node_id, after.node_id}


def test_a_hierarchy_survives_a_pipeline_and_its_store(tmp_path):
    pipeline = IngestionPipeline(transformations=[HierarchicalNodeParser(max_tokens=64), DefaultEmbedding()])
    nodes = pipeline.run(documents=[Document(text=TEXT, id_="a")])
    assert [node.node_id for node in nodes] == [node.node_id for node in parse(max_tokens=64)][: len(nodes)]
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    store.persist(str(tmp_path / "docstore.json"))
    loaded = SimpleDocumentStore.from_persist_path(str(tmp_path / "docstore.json"))
    for node in nodes:
        assert loaded.get_document(node.node_id).relationships == node.relationships


def test_chunks_have_the_id_of_their_parent_in_langchain():
    splitter = HierarchicalSplitter(max_tokens=64)
    chunks = splitter.split_documents([LangChainDocument(TEXT, id="a"), LangChainDocument(COURTS * 3, id="b")])
    by_id = {chunk.id: chunk for chunk in chunks}
    assert len(by_id) == len(chunks)
    for chunk in chunks:
        text = {"a": TEXT, "b": COURTS * 3}[chunk.metadata["source_id"]]
        assert chunk.page_content == text[chunk.metadata["start_index"] : chunk.metadata["end_index"]]
        level, kind = chunk.metadata["level"], chunk.metadata["granularity"]
        assert kind == ["section", "paragraph", "sentence"][level]
        assert ("parent_id" in chunk.metadata) == (level > 0)  # no store refuses a None
        if level:
            parent = by_id[chunk.metadata["parent_id"]]
            assert parent.metadata["level"] == level - 1
            assert chunk.page_content in parent.page_content
    levels = ["universal-semantic", "sentence"]
    wrapped = ChunkerSplitter(HierarchicalChunker(levels=levels)).split_documents([LangChainDocument(TEXT, id="a")])
    assert wrapped == HierarchicalSplitter(levels=levels).split_documents([LangChainDocument(TEXT, id="a")])
    assert wrapped[0].page_content == UniversalSemanticChunker().chunk(TEXT)[0].text


# A corpus.

SEA = (
    "Captain Ahab hunts Moby Dick. Captain Ahab sails with Mr Starbuck. Mr Starbuck fears Moby Dick. "
    "Captain Ahab, Moby Dick and Mr Starbuck meet."
)
LAW = "Judge Judy fined Emil Egan. Emil Egan sued Dora Dunn. Judge Judy heard Dora Dunn. Dora Dunn paid Emil Egan."
CORPUS = {"sea": SEA, "law": LAW}
SIZES = {"max_tokens": 16, "summary_tokens": 16}


def corpus_chunks():
    """Return the chunks of the corpus, and the id of the parent of each."""
    documents = [Source(text, name) for name, text in CORPUS.items()]
    chunks = [*chain(*GraphRAGChunker(**SIZES).chunk_many(documents))]
    return chunks, [None if chunk.parent is None else chunks[chunk.parent].id for chunk in chunks]


def parse_corpus(**params):
    documents = [Document(text=text, id_=name, metadata={"file": name}) for name, text in CORPUS.items()]
    return GraphRAGNodeParser(**SIZES, **params).get_nodes_from_documents(documents)


def test_all_levels_of_a_corpus_are_split_once_in_langchain():
    chunks, parents = corpus_chunks()
    documents = [LangChainDocument(text, id=name, metadata={"file": name}) for name, text in CORPUS.items()]
    splitter = GraphRAGSplitter(**SIZES)
    pieces = splitter.split_documents(documents)
    assert pieces == asyncio.run(splitter.atransform_documents(documents))
    assert [(piece.id, piece.page_content) for piece in pieces] == [(chunk.id, chunk.embed_text) for chunk in chunks]
    assert [piece.metadata.get("parent_id") for piece in pieces] == parents
    assert [piece.metadata["chunk_index"] for piece in pieces] == [*range(len(chunks))]
    assert {piece.metadata["granularity"] for piece in pieces} == {"document", "section", "paragraph"}
    assert {type(value) for piece in pieces for value in piece.metadata.values()} == {int, str}  # flat, for any store
    for piece, chunk in zip(pieces, chunks, strict=True):
        if chunk.spans:
            text = CORPUS[piece.metadata["source_id"]]
            assert piece.page_content == text[piece.metadata["start_index"] : piece.metadata["end_index"]]
            assert piece.metadata["file"] == piece.metadata["source_id"]
        else:  # belongs to no document
            assert not {"source_id", "file", "start_index"} & piece.metadata.keys()
            sources = json.loads(piece.metadata["sources"])
            assert "\n".join(CORPUS[name][start:end] for name, start, end in sources) == piece.page_content
    by_hand = ChunkerSplitter(GraphRAGChunker(**SIZES))
    assert by_hand.split_documents(documents) == pieces


def test_nodes_of_a_corpus_are_linked_across_documents():
    chunks, parents = corpus_chunks()
    nodes = parse_corpus()
    by_id = {node.node_id: node for node in nodes}
    assert [node.node_id for node in nodes] == [chunk.id for chunk in chunks]
    assert [node.parent_node and node.parent_node.node_id for node in nodes] == parents
    assert nodes[0].parent_node is None
    for node, chunk in zip(nodes, chunks, strict=True):
        children = [child.node_id for child in node.child_nodes or ()]
        assert children == [other.id for other, above in zip(chunks, parents, strict=True) if above == chunk.id]
        for related in (node.parent_node, node.prev_node, node.next_node, *(node.child_nodes or ())):
            assert related is None or related == by_id[related.node_id].as_related_node_info()
        for sibling in (node.prev_node, node.next_node):
            assert sibling is None or by_id[sibling.node_id].parent_node == node.parent_node
        if chunk.spans:
            assert node.text == CORPUS[node.ref_doc_id][node.start_char_idx : node.end_char_idx]
        else:  # belongs to no document
            assert node.source_node is None
            assert "file" not in node.metadata
            assert node.get_content(MetadataMode.EMBED).strip() == chunk.embed_text
            sources = json.loads(node.metadata["sources"])
            assert "\n".join(CORPUS[name][start:end] for name, start, end in sources) == chunk.embed_text
    documents = [Document(text=text, id_=name, metadata={"file": name}) for name, text in CORPUS.items()]
    assert nodes == asyncio.run(GraphRAGNodeParser(**SIZES).aget_nodes_from_documents(documents))


def test_a_corpus_survives_a_pipeline_and_a_document_that_fails():
    documents = [Document(text=text, id_=name, metadata={"file": name}) for name, text in CORPUS.items()]
    nodes = GraphRAGNodeParser(**SIZES).get_nodes_from_documents(documents)
    nodes = IngestionPipeline(transformations=[DefaultEmbedding()]).run(nodes=nodes)
    assert [node.node_id for node in nodes] == [node.node_id for node in parse_corpus()]
    assert all(node.embedding for node in nodes)
    empty = Document(text=" ", id_="empty")
    again = GraphRAGNodeParser(**SIZES).get_nodes_from_documents([empty, *documents])
    assert [node.node_id for node in again] == [n.node_id for n in nodes]
    rows = parse_corpus(vectors="units")
    assert {row.index_id if isinstance(row, IndexNode) else row.node_id for row in rows} == {n.node_id for n in nodes}
