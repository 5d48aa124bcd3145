"""What users pass to other processes can be pickled (multiprocessing, Ray, joblib), and does the same there."""

import pickle
from inspect import isabstract, isclass

import pytest
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import Document as Root
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore

import langchain_advchunk as lc
import llamaindex_advchunk as li
from advchunk import RecursiveChunker
from advchunk.enrich import ContextualEnricher
from advchunk.retrieval import FolderTexts, PassageCutter, Retriever, StoredRetriever

TEXT = "# Pets\n\nCats purr at noon. Dogs bark at night.\n\n# Courts\n\nJudges sit in court. Courts rule on law."
QUESTION = "Who barks at night?"
CHUNKS = lc.RecursiveSplitter(max_tokens=8).split_documents([Document(TEXT, metadata={"source": "pets.md"})])
NODES = li.RecursiveNodeParser(max_tokens=8)([Root(text=TEXT, id_="pets.md")])


class HalvesChunker(RecursiveChunker):
    """A chunker that is in no table."""


def vector_store():
    return InMemoryVectorStore.from_documents(CHUNKS, lc.DefaultEmbeddings())


def open_store(embeddings):
    return InMemoryVectorStore(embeddings)


def documents_in(cls, **items):
    store = cls()
    store.mset([*items.items()])
    return store


def index():
    return VectorStoreIndex(NODES, embed_model=li.DefaultEmbedding())


def docstore():
    store = SimpleDocumentStore()
    store.add_documents([Root(text=TEXT, id_="pets.md")])
    return store


def stored(folder):
    retriever = StoredRetriever(folder / "pets.index")
    retriever.add("pets.md", RecursiveChunker(max_tokens=8).chunk(TEXT))
    return retriever


def invoke(retriever):
    return [(piece.page_content, piece.metadata) for piece in retriever.invoke(QUESTION)]


def retrieve(retriever):
    return [(hit.node.text, hit.node.metadata, hit.score) for hit in retriever.retrieve(QUESTION)]


def compress(compressor):
    return [(piece.page_content, piece.metadata) for piece in compressor.compress_documents(CHUNKS, QUESTION)]


def process(processor):
    hits = [NodeWithScore(node=node, score=1 / rank) for rank, node in enumerate(NODES, 1)]
    return [(hit.node.text, hit.score) for hit in processor.postprocess_nodes(hits, QueryBundle(QUESTION))]


def embed(model):
    return (getattr(model, "embed_query", None) or model.get_query_embedding)(QUESTION)


# How to make an object of each public class that is no adapter of one chunker, from a folder with pets.md, and what it
# does.
CASES = {
    "lc.AdvchunkRetriever": [
        (lambda _: lc.AdvchunkRetriever(vectorstore=vector_store()), invoke),
        (lambda _: lc.AdvchunkRetriever(chunks=CHUNKS, budget=12, texts={"pets.md": TEXT}), invoke),
    ],
    "lc.ChunkEmbeddings": [(lambda _: lc.vectors_for(CHUNKS, "plain")[2], embed)],
    "lc.ChunkEnricher": [
        (lambda _: lc.ChunkEnricher(ContextualEnricher()), lambda own: own.transform_documents(CHUNKS))
    ],
    "lc.DefaultEmbeddings": [(lambda _: lc.DefaultEmbeddings(), embed)],
    "lc.HybridEmbeddings": [(lambda _: lc.HybridEmbeddings(), embed)],
    "lc.IndexRetriever": [
        (lambda folder: lc.IndexRetriever(index=stored(folder)), invoke),
        (lambda folder: lc.IndexRetriever(index=stored(folder).path), invoke),
    ],
    "lc.MetadataRange": [(lambda _: lc.MetadataRange("source", "pets.md", 0, 9), list)],
    "lc.PassageCompressor": [
        (lambda folder: lc.PassageCompressor(budget=12, texts=folder), compress),
        (lambda folder: lc.PassageCompressor(budget=12, texts=FolderTexts(folder)), compress),
        (lambda _: lc.PassageCompressor(budget=12, texts=documents_in(InMemoryStore, **{"pets.md": TEXT})), compress),
        (lambda folder: lc.PassageCompressor(budget=12, texts=[{}, vector_store(), folder]), compress),
    ],
    "lc.StoreChunks": [(lambda _: lc.StoreChunks(vector_store()), lambda store: store.name)],
    "li.AdvchunkRetriever": [
        (lambda _: li.AdvchunkRetriever(index()), retrieve),
        (lambda _: li.AdvchunkRetriever(nodes=NODES, budget=12, texts=docstore()), retrieve),
    ],
    "li.ChunkEnricher": [
        (lambda _: li.ChunkEnricher(enricher=ContextualEnricher()), lambda own: [node.text for node in own(NODES)])
    ],
    "li.DefaultEmbedding": [(lambda _: li.DefaultEmbedding(), embed)],
    "li.HybridEmbedding": [(lambda _: li.HybridEmbedding(), embed)],
    "li.IndexRetriever": [(lambda folder: li.IndexRetriever(stored(folder)), retrieve)],
    "li.PassagePostprocessor": [
        (lambda folder: li.PassagePostprocessor(budget=12, texts=folder), process),
        (lambda _: li.PassagePostprocessor(budget=12, texts=docstore()), process),
    ],
    "li.StoreNodes": [(lambda _: li.StoreNodes(docstore()), lambda store: store.name)],
    "core.Retriever": [
        (
            lambda _: Retriever({"pets.md": RecursiveChunker().chunk(TEXT)}),
            lambda own: [passage.citation for passage in own.passages(QUESTION, 12)],
        )
    ],
    "core.StoredRetriever": [(stored, lambda own: [passage.citation for passage in own.passages(QUESTION, 12)])],
    "core.PassageCutter": [(lambda _: PassageCutter(max_passages=3), lambda own: own)],
}


def classes(package):
    """Yield the public classes of a package, without the bases and those that other packages define."""
    for name in dir(package):
        value = getattr(package, name)
        if isclass(value) and value.__module__.startswith(package.__name__) and not isabstract(value):
            yield name, value


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pets.md").write_text(TEXT)
    return tmp_path


@pytest.mark.parametrize("make", [lc.splitter_class, li.node_parser_class])
def test_adapters_of_chunkers_that_are_in_no_table(make):
    own = make(HalvesChunker)(max_tokens=8)
    copy = pickle.loads(pickle.dumps(own))
    assert type(copy) is type(own)
    assert copy.split_text(TEXT) == own.split_text(TEXT)
    subclass = type("Mine", (make(HalvesChunker),), {"__module__": __name__})
    with pytest.raises((pickle.PicklingError, AttributeError), match="Mine"):
        pickle.dumps(subclass())


@pytest.mark.parametrize("name", CASES)
def test_public_classes(name, folder):
    for make, use in CASES[name]:
        own = make(folder)
        copy = pickle.loads(pickle.dumps(own))
        assert type(copy) is type(own)
        assert use(copy) == use(own)


def test_each_public_class_is_tried():
    names = {
        f"{short}.{name}"
        for short, package in (("lc", lc), ("li", li))
        for name, cls in classes(package)
        if not (hasattr(cls, "core") or name.endswith(("Splitter", "NodeParser")))
    }
    assert names == {name for name in CASES if not name.startswith("core.")}


def test_a_parser_and_a_splitter_of_ones_own_chunker():
    for own in (lc.ChunkerSplitter(HalvesChunker(max_tokens=8)), li.ChunkerNodeParser(chunker=HalvesChunker())):
        assert pickle.loads(pickle.dumps(own)).split_text(TEXT) == own.split_text(TEXT)


def test_what_cannot_be_pickled_says_so():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(lc.PassageCompressor(texts=lambda _: None))
