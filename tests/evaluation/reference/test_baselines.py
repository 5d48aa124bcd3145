"""The baselines against the retrievers of LangChain and LlamaIndex that they stand for."""

from pathlib import Path

import numpy as np
import pytest

from advchunk import Document, Span
from advchunk.evaluation import EvaluationTask, Question, Reference
from advchunk.evaluation.comparison.baselines import auto_merging, parent_documents, sentence_windows, split_by_levels
from advchunk.evaluation.comparison.index import ChunkIndex
from advchunk.text import sentences

TEXT = (Path(__file__).parents[2] / "data" / "harbour_town.md").read_text(encoding="utf-8")
ASKED = (
    "Who built the tide mill?", "When did the first harbour wall go up?", "How does the lighthouse flash?",
    "Where can visitors stay?", "What does the miller earn?", "Which bakery sells bread?", "When is the regatta?",
    "Who lives in the keeper's cottage?", "How are boats brought in at low water?", "What became of the wool trade?",
)  # fmt: skip


@pytest.fixture(scope="module")
def task():
    questions = tuple(Question(text, (Reference("license", Span(0, 9)),)) for text in ASKED)
    return EvaluationTask((Document(TEXT, "license"),), questions, budget=300, budgets=(300,))


def ranked(candidate, task):
    """Return the chunks of a candidate, and their ranking."""
    (chunks,) = candidate.cut(task.documents)
    tokens = task.counter.counts([chunk.text for chunk in chunks])
    index = ChunkIndex(chunks, ["license"] * len(chunks), tokens, task)
    return chunks, candidate.rank(index, candidate.search)[0]


def squeezed(text):
    return "".join(text.split())


def test_parents_come_in_the_order_of_langchains(task):
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    from langchain_core.documents import Document as Source
    from langchain_core.stores import InMemoryStore
    from langchain_core.vectorstores import InMemoryVectorStore

    from langchain_advchunk import DefaultEmbeddings, RecursiveSplitter

    retriever = retrievers.ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(DefaultEmbeddings()), docstore=InMemoryStore(),
        parent_splitter=RecursiveSplitter(max_tokens=100), child_splitter=RecursiveSplitter(max_tokens=30),
        search_kwargs={"k": 1000},
    )  # fmt: skip
    retriever.add_documents([Source(TEXT)])
    chunks, ranking = ranked(parent_documents(100, child_tokens=30), task)
    assert len(chunks) > 20
    assert max(len(chunk.row_texts) for chunk in chunks) > 3
    for question, order in zip(ASKED, ranking.tolist(), strict=True):
        texts = [document.page_content for document in retriever.invoke(question)]
        assert {*texts} == {chunk.embed_text for chunk in chunks}
        # LangChain divides the head of a later piece of a table, too.
        headless = {chunk.text for chunk in chunks if not chunk.context}
        assert [chunks[i].text for i in order if chunks[i].text in headless] == [t for t in texts if t in headless]


def test_windows_come_in_the_order_of_llamaindexs(task):
    core = pytest.importorskip("llama_index.core")
    from llama_index.core.node_parser import SentenceWindowNodeParser
    from llama_index.core.postprocessor import MetadataReplacementPostProcessor

    from llamaindex_advchunk import DefaultEmbedding

    parser = SentenceWindowNodeParser(
        window_size=3, sentence_splitter=lambda text: [part for part in sentences.sentences(text).strings() if part.strip()]
    )  # fmt: skip
    nodes = parser.get_nodes_from_documents([core.Document(text=TEXT)])
    index = core.VectorStoreIndex(nodes, embed_model=DefaultEmbedding())
    replacement = MetadataReplacementPostProcessor(target_metadata_key="window")
    chunks, ranking = ranked(sentence_windows(), task)
    assert len(chunks) == len(nodes) > 50
    for question, order in zip(ASKED, ranking.tolist(), strict=True):
        hits = replacement.postprocess_nodes(index.as_retriever(similarity_top_k=10).retrieve(question))
        assert [squeezed(chunks[i].text) for i in order[:10]] == [squeezed(hit.node.get_content()) for hit in hits]


def test_chunks_are_merged_as_llamaindex_merges_them(task):
    core = pytest.importorskip("llama_index.core")
    from llama_index.core.node_parser import HierarchicalNodeParser, get_leaf_nodes
    from llama_index.core.retrievers import AutoMergingRetriever
    from llama_index.core.storage.docstore import SimpleDocumentStore

    from llamaindex_advchunk import DefaultEmbedding, RecursiveNodeParser

    candidate = auto_merging(15)
    (sizes,) = candidate.cut.args
    assert (candidate.cut.func, sizes) == (split_by_levels, (240, 60, 15))
    parsers = {str(size): RecursiveNodeParser(max_tokens=size) for size in sizes}
    parser = HierarchicalNodeParser.from_defaults(node_parser_ids=list(parsers), node_parser_map=parsers)
    nodes = parser.get_nodes_from_documents([core.Document(text=TEXT)])
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    storage = core.StorageContext.from_defaults(docstore=docstore)
    leaves = get_leaf_nodes(nodes)
    index = core.VectorStoreIndex(leaves, storage_context=storage, embed_model=DefaultEmbedding())
    chunks, ranking = ranked(candidate, task)
    assert sorted(chunk.text for chunk in chunks) == sorted(node.text for node in nodes)
    merged = 0
    for number, order in enumerate(ranking.tolist()):
        nearest = index.as_retriever(similarity_top_k=len(leaves)).retrieve(ASKED[number])
        spent = np.cumsum(task.counter.counts([hit.node.text for hit in nearest]))
        k = int(np.searchsorted(spent, task.budget)) + 1  # as many as fill the budget
        inner = index.as_retriever(similarity_top_k=k)
        texts = [hit.node.text for hit in AutoMergingRetriever(inner, storage).retrieve(ASKED[number])]
        texts = list(dict.fromkeys(texts))  # a node between two others may be added twice
        assert [chunks[i].text for i in order[: len(texts)]] == texts
        merged += sum(chunks[i].level < 2 for i in order[: len(texts)])
        assert sorted(order) == list(range(len(chunks)))
    assert merged > 3
