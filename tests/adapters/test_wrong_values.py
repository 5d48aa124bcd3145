"""Values of a wrong type are refused with the rule and the value, and never by a bare TypeError or AttributeError."""

from inspect import Parameter, signature

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import Document as Root
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.simple import SimpleVectorStore
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


def over_store(**options):
    return lc.AdvchunkRetriever(**{"vectorstore": STORE, **options})


def over_nodes(**options):
    return li.AdvchunkRetriever(**{"nodes": [], **options})


class OtherStore(VectorStore):
    """A store of which nothing is known."""

    from_texts = similarity_search = None


RETRIEVER = VectorStoreIndex([], embed_model=EMBEDDING).as_retriever()
GET_NODES = "store must be a docstore, or a vector store that keeps the text of nodes and has get_nodes"
MISTAKES = [
    (lc.AdvchunkRetriever, {}, "vectorstore, retriever or chunks must be given"),
    (lc.AdvchunkRetriever, {"chunks": CHUNKS, "search": Search("hybrid")}, "'lexical' without a vectorstore"),
    (over_store, {"search": Search("hybrid")}, "'dense' without chunks"),
    (over_store, {"k": 5, "budget": 100}, "k and budget must not both be given"),
    (over_store, {"k": 2.5}, "k must be a whole number >= 1, got 2.5"),
    (over_store, {"budget": True}, "budget must be a whole number >= 1, got True"),
    (over_store, {"depth": 0}, "depth must be a whole number >= 1, got 0"),
    (over_store, {"search": "dense"}, "search: Input should be .*Search, got 'dense'"),
    (over_store, {"order": "best"}, "order: Input should be 'rank' or 'document', got 'best'"),
    (over_store, {"top_k": 3}, "AdvchunkRetriever has no parameter 'top_k'"),
    (over_store, {"serch": None}, "did you mean 'search'"),
    (over_store, {"search_kwargs": {"k": 3}}, "search_kwargs of a vectorstore must not have 'k'"),
    (over_store, {"retriever": STORE.as_retriever()}, "must not both be given"),
    (over_store, {"texts": 3}, "texts must be a mapping, .*, Surroundings, or several of these, got 3"),
    (over_store, {"cutter": 3}, "cutter must be a PassageCutter or None, got 3"),
    (over_store, {"chunks": CHUNKS, "texts": {"a": "Text."}}, "chunks of 'a' must be parts"),
    (lc.PassageCompressor, {"budget": "9"}, "budget must be a whole number >= 1, got '9'"),
    (lc.PassageCompressor, {"order": "best"}, "order: Input should be 'rank' or 'document', got 'best'"),
    (lc.PassageCompressor, {"texts": "town"}, "texts must be a folder that exists, if it is a path, got 'town'"),
    (lc.PassageCompressor, {"cutter": "words"}, "cutter must be a PassageCutter or None, got 'words'"),
    (lc.PassageCompressor, {"cutter": PassageCutter(tokenizer=3)}, "a tokenizer must be a name"),
    (lc.PassageCompressor, {"buget": 9}, "did you mean 'budget'"),
    (lc.StoreChunks, {"store": 3}, "InMemoryVectorStore, Chroma, QdrantVectorStore, or a function that returns chunks"),
    (lc.StoreChunks, {"store": OtherStore()}, "or a function that returns chunks, got 'the store OtherStore'"),
    (lc.StoreChunks, {"store": STORE, "document_key": len}, "document_key must be a metadata key"),
    (lc.RecursiveSplitter, {"workers": 0}, "workers must be a whole number >= 1, and at most 1024, got 0"),
    (li.RecursiveNodeParser, {"workers": 0}, "workers must be a whole number >= 1, and at most 1024, got 0"),
    (lc.IndexRetriever, {"index": 7}, "index must be a path, a StoredRetriever or a Retriever"),
    (lc.IndexRetriever, {"index": Retriever(), "order": "best"}, "order"),
    (li.AdvchunkRetriever, {}, "an index, a retriever or nodes must be given"),
    (li.AdvchunkRetriever, {"index": RETRIEVER}, "index must be a VectorStoreIndex; pass a retriever as retriever="),
    (li.AdvchunkRetriever, {"retriever": "x"}, "retriever must be a BaseRetriever"),
    (li.AdvchunkRetriever, {"retriever": RETRIEVER, "search": Search("hybrid")}, "nodes must be given for this mode"),
    (over_nodes, {"search": Search()}, "mode must be 'lexical' without an index or a retriever, got 'dense'"),
    (over_nodes, {"search": "sparse"}, "search must be a Search, got 'sparse'"),
    (over_nodes, {"nodes": ["a"]}, r"nodes must be documents or nodes of LlamaIndex.*, got \['a'\]"),
    (over_nodes, {"similarity_top_k": 2.5}, "similarity_top_k must be a whole number >= 1, got 2.5"),
    (over_nodes, {"similarity_top_k": 1, "budget": 1}, "similarity_top_k and budget must not both be given"),
    (over_nodes, {"budget": "9"}, "budget must be a whole number >= 1, got '9'"),
    (over_nodes, {"order": "page"}, "order must be one of"),
    (over_nodes, {"cutter": "x"}, "cutter must be a PassageCutter or None, got 'x'"),
    (over_nodes, {"depth": True}, "depth must be a whole number >= 1, got True"),
    (over_nodes, {"filters": {"kind": "t"}}, "filters must be MetadataFilters, such as"),
    (li.PassagePostprocessor, {"bugdet": 3}, "PassagePostprocessor has no parameter 'bugdet'; did you mean 'budget'?"),
    (li.PassagePostprocessor, {"budget": 0}, "budget: .*greater than or equal to 1, got 0"),
    (li.PassagePostprocessor, {"budget": None}, "budget: .*got None"),
    (li.PassagePostprocessor, {"depth": 201}, "depth: .*less than or equal to 200, got 201"),
    (li.PassagePostprocessor, {"order": "page"}, "order: .*got 'page'"),
    (li.PassagePostprocessor, {"texts": "a.txt"}, "texts must be a folder that exists, if it is a path, got 'a.txt'"),
    (li.PassagePostprocessor, {"cutter": {"language": "english"}}, "language must be a code, such as 'en', or 'auto'"),
    (li.StoreNodes, {"store": SimpleVectorStore()}, f"{GET_NODES}, got 'SimpleVectorStore'"),
    (li.StoreNodes, {"store": 3}, f"{GET_NODES}, got 'int'"),
    (li.IndexRetriever, {"index": 7}, "index must be a path, a StoredRetriever or a Retriever"),
    (li.IndexRetriever, {"index": Retriever(), "budget": 0}, "budget must be a whole number >= 1, got 0"),
]


@pytest.mark.parametrize(("make", "options", "rule"), MISTAKES)
def test_mistakes_are_named(make, options, rule):
    with pytest.raises(ConfigurationError, match=rule):
        make(**options)


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
