"""Nodes of a whole corpus: an index follows them, also after an interruption, and a part of a corpus is refused."""

import asyncio
from itertools import count

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from advchunk import ConfigurationError
from llamaindex_advchunk import (
    DefaultEmbedding,
    GraphRAGNodeParser,
    HierarchicalNodeParser,
    RecursiveNodeParser,
    update_nodes,
)

SEA = "Captain Ahab hunts Moby Dick. Captain Ahab sails with Mr Starbuck. Mr Starbuck fears Moby Dick."
LAW = "Judge Judy fined Emil Egan. Emil Egan sued Dora Dunn. Judge Judy heard Dora Dunn."
EDITIONS = [  # of a corpus
    {"sea": SEA, "law": LAW},
    {"sea": f"Call me Ishmael. {SEA}", "law": LAW, "tea": "Boil the water. Dora Dunn adds tea."},
    {"sea": SEA, "tea": "Dora Dunn adds tea. Boil the water."},
]
PARSERS = [cls(max_tokens=12) for cls in (RecursiveNodeParser, HierarchicalNodeParser)]
PARSERS.append(GraphRAGNodeParser(max_tokens=12, summary_tokens=12))


def documents(texts):
    return [Document(text=text, id_=name, metadata={"file_path": name}) for name, text in texts.items()]


def arun(pipeline, **options):
    return asyncio.run(pipeline.arun(**options))


class Steps:
    """Ends the process at the next write after a number of them."""

    def __init__(self):
        self.left = None

    def count(self):
        if self.left is not None:
            if self.left == 0:
                raise InterruptedError
            self.left -= 1


def interruptible(kind, methods):
    """Return a class of stores of which each call of some methods is a step."""

    def counted(name):
        def method(self, *args, **kwargs):
            self.__dict__["steps"].count()
            return getattr(kind, name)(self, *args, **kwargs)

        return method

    return type(kind.__name__, (kind,), {name: counted(name) for name in methods})


def open_index():
    """Return an index and the steps of its stores."""
    steps = Steps()
    vectors = interruptible(SimpleVectorStore, ["add", "delete_nodes"])()
    docstore = interruptible(SimpleDocumentStore, ["add_documents", "delete_document"])()
    vectors.__dict__["steps"] = docstore.__dict__["steps"] = steps
    storage = StorageContext.from_defaults(vector_store=vectors, docstore=docstore)
    return VectorStoreIndex([], storage_context=storage, embed_model=DefaultEmbedding()), steps


def contents(index):
    assert index.vector_store.data.embedding_dict.keys() == index.docstore.docs.keys()
    return {name: node.to_dict() for name, node in index.docstore.docs.items()}


def filled(nodes):
    index, _ = open_index()
    update_nodes(index, nodes)
    return contents(index)


@pytest.mark.slow
@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: type(parser).__name__)
def test_an_interrupted_update_is_completed_by_the_next(parser):
    before, during, after = (parser.get_nodes_from_documents(documents(texts)) for texts in EDITIONS)
    for number in count():
        index, steps = open_index()
        update_nodes(index, before)
        assert contents(index) == filled(before)
        steps.left = number
        try:
            update_nodes(index, during)
        except InterruptedError:
            steps.left = None
        else:
            break
        update_nodes(index, after)
        assert contents(index) == filled(after)
    assert number > 5
    assert contents(index) == filled(during)


def test_nodes_that_are_the_same_stay():
    index, steps = open_index()
    nodes = PARSERS[0](documents(EDITIONS[0]))
    update_nodes(index, nodes)
    steps.left = 0  # nothing is written
    update_nodes(index, nodes)
    assert contents(index) == filled(nodes)


def test_documents_in_the_docstore_stay_while_they_have_nodes():
    index, _ = open_index()
    sources = documents(EDITIONS[0])
    index.docstore.add_documents(sources)
    for own in (sources, sources[:1], sources[:1]):
        update_nodes(index, PARSERS[0](own))
        assert {node.node_id for node in index.docstore.docs.values() if isinstance(node, Document)} == {
            document.node_id for document in own
        }


@pytest.mark.parametrize("run", [IngestionPipeline.run, arun])
def test_a_pipeline_that_could_pass_a_part_of_a_corpus_is_refused(run):
    pipeline = IngestionPipeline(transformations=[PARSERS[-1]])
    with pytest.raises(ConfigurationError, match="a parser of a whole corpus must not be a transformation"):
        run(pipeline, documents=documents(EDITIONS[0]))


@pytest.mark.long
@pytest.mark.parametrize("run", [IngestionPipeline.run, arun])
def test_processes_of_a_pipeline_parse_documents_alone(run):
    parser, sources = PARSERS[0], documents(EDITIONS[1])
    nodes = run(IngestionPipeline(transformations=[parser]), documents=sources, num_workers=2)
    assert [node.to_dict() for node in nodes] == [node.to_dict() for node in parser(sources)]
