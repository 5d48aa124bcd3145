"""What LlamaIndex asks of node parsers and of the steps of an ingestion pipeline; its tests are not in its package."""

import asyncio

import pytest
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import Document, NodeRelationship, TransformComponent
from llama_index.core.storage.docstore import SimpleDocumentStore

import llamaindex_advchunk
from advchunk import names
from algorithms import ALGORITHMS
from front_ends import adapter
from stand_ins import STAND_INS

TEXTS = {"pets": "# Pets\n\nCats purr at noon. Dogs bark at night.", "law": "Judges sit in court. Courts rule on law."}
PER_DOCUMENT = [name for name in names() if not ALGORITHMS[name].corpus]


def documents(**changed):
    return [Document(text=text, id_=name, metadata={"file": name}) for name, text in (TEXTS | changed).items()]


def make(name, **params):
    return adapter(name, llamaindex_advchunk, "NodeParser").from_defaults(**STAND_INS.get(name, {}), **params)


@pytest.mark.parametrize("name", names())
def test_a_node_parser(name):
    events = LlamaDebugHandler(print_trace_on_end=False)
    parser = make(name)
    parser.callback_manager = CallbackManager([events])
    sources = documents()
    nodes = parser.get_nodes_from_documents(sources)
    assert asyncio.run(parser.aget_nodes_from_documents(sources)) == nodes
    assert sources == documents()  # they are not changed
    assert len(events.get_event_pairs(CBEventType.NODE_PARSING)) == 2
    assert len({node.node_id for node in nodes}) == len(nodes)
    by_id = {node.node_id: node for node in nodes}
    for node in nodes:
        if node.source_node:
            assert node.metadata["file"] == node.ref_doc_id
            assert node.source_node.metadata == {"file": node.ref_doc_id}
        if node.next_node:
            assert by_id[node.next_node.node_id].prev_node.node_id == node.node_id
            assert node.next_node.hash == by_id[node.next_node.node_id].hash
    assert {node.ref_doc_id for node in nodes} - {None} == TEXTS.keys()
    assert make(name).get_nodes_from_documents([]) == make(name).get_nodes_from_documents([Document(text=" ")]) == []


@pytest.mark.parametrize("name", names())
def test_what_a_node_parser_leaves_out(name):
    plain = make(name, include_metadata=False, include_prev_next_rel=False).get_nodes_from_documents(documents())
    assert all("file" not in node.metadata for node in plain)
    assert not any({NodeRelationship.NEXT, NodeRelationship.PREVIOUS} & node.relationships.keys() for node in plain)


class Counted(TransformComponent):
    """Counts the nodes that a pipeline does not take from its cache."""

    def __call__(self, nodes, **kwargs):
        COUNTED.extend(nodes)
        return nodes


COUNTED = []


@pytest.mark.parametrize("name", PER_DOCUMENT)
def test_a_step_of_a_pipeline(name, tmp_path):
    nodes = make(name)(documents())
    pipeline = IngestionPipeline(transformations=[make(name), Counted()])
    assert pipeline.run(documents=documents()) == nodes
    assert asyncio.run(IngestionPipeline(transformations=[make(name)]).arun(documents=documents())) == nodes
    pipeline.persist(str(tmp_path))
    again = IngestionPipeline(transformations=[make(name), Counted()])
    again.load(str(tmp_path))
    COUNTED.clear()
    assert again.run(documents=documents()) == nodes
    assert COUNTED == []


@pytest.mark.parametrize("name", PER_DOCUMENT)
def test_a_pipeline_parses_only_documents_that_changed(name):
    options = {"docstore": SimpleDocumentStore(), "docstore_strategy": DocstoreStrategy.DUPLICATES_ONLY}
    pipeline = IngestionPipeline(transformations=[make(name)], **options)
    assert pipeline.run(documents=documents()) == make(name)(documents())
    assert pipeline.run(documents=documents()) == []
    changed = pipeline.run(documents=documents(law="Judges sit in court."))
    assert {node.ref_doc_id for node in changed} == {"law"}
