"""Values of a wrong type are refused with the rule and the value, and never by a bare TypeError or AttributeError."""

from inspect import Parameter, signature

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import Document as Root
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ValidationError

import langchain_advchunk as lc
import llamaindex_advchunk as li
from advchunk import ConfigurationError, MissingExtra, RecursiveChunker
from advchunk.enrich import ContextualEnricher
from advchunk.retrieval import FolderTexts, Hit, LexicalIndex, PassageCutter, Retriever, Search, StoredRetriever

TEXT = "Cats purr. Dogs bark at night."
CHUNKS = lc.RecursiveSplitter(max_tokens=5).split_documents([Document(TEXT, metadata={"source": "a"})])
NODES = li.RecursiveNodeParser(max_tokens=5)([Root(text=TEXT)])
CORE = RecursiveChunker(max_tokens=5).chunk(TEXT)
HIT = Hit(CORE[0], "a", 1.0)


class Nonsense:
    """A class that is no function, and whose instances do nothing."""


STORE = InMemoryVectorStore.from_documents(CHUNKS, lc.DefaultEmbeddings())
WRONG = [None, float("nan"), -1, 10**30, 7.5, b"bytes", {}, {"a": 1}, [], [1], ["x"], [None], Nonsense(), Nonsense]
WRONG += [lc.DefaultEmbeddings, STORE, CHUNKS, NODES, CORE]
# Of the frameworks, or functions of the user, which may do anything.
OTHERS = {"callback_manager", "callbacks", "tags", "metadata", "name", "embeddings_cache", "rate_limiter", "verbose"}
OTHERS |= {"document_key", "on_error", "id_func", "open_store", "callback", "workers", "num_workers"}
OTHERS |= {"cache", "embeddings_cache", "show_progress"}
ALLOWED = (ConfigurationError, MissingExtra, ValidationError, OSError)
EMBEDDING = li.DefaultEmbedding()


def asked(query, budget=9, search=None, chunk_filter=None):
    options = {"budget": budget, "search": search, "chunk_filter": chunk_filter}
    return lc.AdvchunkRetriever(vectorstore=STORE, chunks=CHUNKS).invoke(query, **options)


def postprocessed(nodes, query_bundle=QueryBundle("cats")):  # noqa: B008 - it is not changed
    return li.PassagePostprocessor().postprocess_nodes(nodes, query_bundle)


CASES = {
    "lc.AdvchunkRetriever": (lc.AdvchunkRetriever, {"vectorstore": STORE, "chunks": CHUNKS}),
    "lc.PassageCompressor": (lc.PassageCompressor, {}),
    "lc.IndexRetriever": (lc.IndexRetriever, {"index": Retriever()}),
    "lc.StoreChunks": (lc.StoreChunks, {"store": STORE}),
    "lc.RecursiveSplitter": (lc.RecursiveSplitter, {}),
    "lc.MSTSemanticSplitter": (lc.MSTSemanticSplitter, {}),
    "lc.create_documents": (lc.RecursiveSplitter().create_documents, {"texts": [TEXT]}),
    "lc.split_documents": (lc.RecursiveSplitter().split_documents, {"documents": CHUNKS}),
    "lc.split_parts": (lc.RecursiveSplitter().split_parts, {"documents": CHUNKS}),
    "lc.embed_documents": (lc.DefaultEmbeddings().embed_documents, {"texts": [TEXT]}),
    "lc.embed_query": (lc.HybridEmbeddings().embed_query, {"text": TEXT}),
    "lc.chunk_key": (lc.chunk_key, {"document": CHUNKS[0]}),
    "lc.chunk_spans": (lc.chunk_spans, {"document": CHUNKS[0]}),
    "lc.splitter_class": (lc.splitter_class, {"chunker": RecursiveChunker}),
    "lc.vectors_for": (lc.vectors_for, {"chunks": CHUNKS}),
    "lc.compress_documents": (lc.PassageCompressor().compress_documents, {"documents": CHUNKS, "query": "cats"}),
    "lc.estimate": (lc.ChunkEnricher(ContextualEnricher()).estimate, {"documents": CHUNKS}),
    "lc.add_documents": (lc.IndexRetriever(index=Retriever()).add_documents, {"documents": CHUNKS}),
    "lc.invoke": (asked, {"query": "cats"}),
    "li.get_nodes_from_documents": (li.RecursiveNodeParser().get_nodes_from_documents, {"documents": NODES}),
    "li.from_dict": (li.RecursiveNodeParser.from_dict, {"data": {}}),
    "li.chunk_spans": (li.chunk_spans, {"node": NODES[0]}),
    "li.node_parser_class": (li.node_parser_class, {"chunker": RecursiveChunker}),
    "li.vectors_for": (li.vectors_for, {"nodes": NODES}),
    "li.get_text_embedding": (li.HybridEmbedding().get_text_embedding, {"text": TEXT}),
    "li.postprocess_nodes": (postprocessed, {"nodes": [NodeWithScore(node=NODES[0], score=1)]}),
    "li.estimate": (li.ChunkEnricher(enricher=ContextualEnricher()).estimate, {"nodes": NODES}),
    "li.add_documents": (li.IndexRetriever(Retriever()).add_documents, {"documents": NODES}),
    "li.update_nodes": (li.update_nodes, {"index": VectorStoreIndex([], embed_model=EMBEDDING), "nodes": NODES}),
    "lc.ChunkerSplitter": (lc.ChunkerSplitter, {"chunker": RecursiveChunker()}),
    "lc.HybridEmbeddings": (lc.HybridEmbeddings, {}),
    "lc.ChunkEnricher": (lc.ChunkEnricher, {"enricher": None}),
    "li.AdvchunkRetriever": (li.AdvchunkRetriever, {"nodes": NODES}),
    "li.PassagePostprocessor": (li.PassagePostprocessor, {}),
    "li.IndexRetriever": (li.IndexRetriever, {"index": Retriever()}),
    "li.StoreNodes": (li.StoreNodes, {"store": VectorStoreIndex(NODES, embed_model=EMBEDDING).docstore}),
    "li.RecursiveNodeParser": (li.RecursiveNodeParser, {}),
    "li.HybridEmbedding": (li.HybridEmbedding, {}),
    "Retriever": (Retriever, {}),
    "StoredRetriever": (StoredRetriever, {"path": "a.index"}),
    "PassageCutter": (PassageCutter, {}),
    "cut": (PassageCutter().cut, {"question": "cats", "hits": [HIT]}),
    "FolderTexts": (FolderTexts, {"path": "."}),
    "LexicalIndex": (LexicalIndex, {}),
    "Search": (Search, {}),
}


def parameters(make):
    """Return the names of the parameters of a constructor or method."""
    if fields := getattr(make, "model_fields", None):
        return fields.keys() - OTHERS
    own = signature(make).parameters.values()
    return {item.name for item in own if item.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)} - OTHERS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_wrong_types(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, required = CASES[name]
    bare = list[str]()
    for parameter in sorted(parameters(make)):
        for value in WRONG:
            try:
                make(**{**required, parameter: value})
            except ALLOWED:
                continue
            except Exception as error:  # noqa: BLE001 - these are what the test looks for
                bare.append(f"{parameter}={value!r:.40}: {type(error).__name__}: {error!s:.60}")
    assert bare == []


def test_a_class_is_not_taken_for_its_instance():
    for make in (
        lambda: lc.RecursiveSplitter(length_function=Nonsense).split_text(TEXT),
        lambda: lc.AdvchunkRetriever(chunks=CHUNKS, cutter=PassageCutter(tokenizer=Nonsense)),
    ):
        with pytest.raises(ConfigurationError, match="a tokenizer must be an instance, not a class, got <class"):
            make()
    with pytest.raises(ConfigurationError, match=r"an embedder must be an instance, not a class, got .*DefaultEmbed"):
        Retriever({"a": CORE}, embedder=lc.DefaultEmbeddings)
    assert lc.RecursiveSplitter(length_function=list, max_tokens=10).split_text("Cats purr.") == ["Cats purr."]


def test_chunks_and_texts_of_documents_are_named():
    for chunks in ({"a": TEXT}, {"a": 3}, {"a": CORE[0]}, {"a": CHUNKS}):
        with pytest.raises(ConfigurationError, match="chunks must be a mapping of strings to a collection of Chunk"):
            Retriever(chunks)
    with pytest.raises(ConfigurationError, match="texts must be a mapping of strings to a string"):
        Retriever({"a": CORE}, texts=TEXT)
    for hits in (TEXT, CORE, CORE[0], [3], 3):
        with pytest.raises(ConfigurationError, match="hits must be a collection of Hit, got"):
            PassageCutter().cut("cats", hits)
    for text in (3, b"bytes", None, [TEXT], CHUNKS[0]):
        with pytest.raises(ConfigurationError, match="text must be a string, got"):
            lc.RecursiveSplitter().split_text(text)
