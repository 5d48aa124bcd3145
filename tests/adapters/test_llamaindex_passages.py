"""Passages that are cut for a query from the nodes of any retriever of LlamaIndex."""

import asyncio

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter, SentenceWindowNodeParser, TokenTextSplitter
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore

from advchunk import ConfigurationError, RecursiveChunker, Span
from advchunk.records import with_context
from advchunk.retrieval import PassageCutter
from llamaindex_advchunk import DefaultEmbedding, PassagePostprocessor, RecursiveNodeParser, chunk_spans
from llamaindex_advchunk.base import users_metadata

FERRY = "The ferry to the island leaves the harbor at nine. Dogs ride free."
SHEEP = " ".join(f"Sheep number {i} grazes on hill {i * i}." for i in range(60))
TOWN = f"# Harbor\n\n{SHEEP}\n\n## Ferry\n\n{FERRY}\n\n{SHEEP.replace('Sheep', 'Goat')}"
TEA = " ".join(f"Tea of the sort {i} is steamed." for i in range(40))
TEXTS = {"town": TOWN, "tea": TEA}
QUESTION = "When does the ferry leave for the island?"
PEERS = {
    "sentence": lambda: SentenceSplitter(chunk_size=60, chunk_overlap=20),
    "token": lambda: TokenTextSplitter(chunk_size=60, chunk_overlap=20),
    "window": SentenceWindowNodeParser.from_defaults,
    "ours": lambda: RecursiveNodeParser(max_tokens=40),
}


def documents(texts=TEXTS, **metadata):
    hidden = {"excluded_embed_metadata_keys": [*metadata], "excluded_llm_metadata_keys": [*metadata]}
    return [Document(text=text, id_=name, metadata=metadata, **hidden) for name, text in texts.items()]


def index_of(nodes, **options):
    return VectorStoreIndex(nodes, embed_model=DefaultEmbedding(), **options)


def store_of(nodes):
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    return store


def scored(nodes, scores=None):
    scores = scores or [1 - i / 100 for i in range(len(nodes))]
    return [NodeWithScore(node=node, score=score) for node, score in zip(nodes, scores, strict=True)]


def cut(hits, question=QUESTION, **options):
    return PassagePostprocessor(**options).postprocess_nodes(hits, query_str=question)


def answers(passages):
    return [(hit.text, hit.metadata["citation"], hit.metadata["token_count"]) for hit in passages]


@pytest.fixture
def nodes():
    return RecursiveNodeParser(max_tokens=40).get_nodes_from_documents(documents(year=2020))


@pytest.mark.usefixtures("tiktoken_cache")
@pytest.mark.parametrize("peer", PEERS)
def test_a_query_engine_over_an_existing_index_reads_passages(peer):
    index = index_of(PEERS[peer]().get_nodes_from_documents(documents()))
    processor = PassagePostprocessor(texts=index.docstore, budget=60)
    engine = index.as_query_engine(similarity_top_k=50, llm=MockLLM(), node_postprocessors=[processor])
    response = engine.query(QUESTION)
    first = response.source_nodes[0]
    assert FERRY[:20] in first.text
    assert "leaves the harbor at nine" in str(response)  # which repeats the prompt
    assert "citation" not in str(response)
    assert sum(hit.metadata["token_count"] for hit in response.source_nodes) <= 60
    for hit in response.source_nodes:
        spans = chunk_spans(hit.node)
        assert "".join(TEXTS[hit.node.ref_doc_id][slice(*span)] for span in spans) == hit.text
    again = asyncio.run(engine.aquery(QUESTION)).source_nodes
    assert answers(again) == answers(response.source_nodes)


def test_hits_come_in_any_order_and_may_be_distances(nodes):
    hits = scored(nodes[:9])
    distant = [NodeWithScore(node=hit.node, score=1 - hit.score) for hit in hits]
    expected = cut(hits, budget=60)
    assert cut(hits[::-1], budget=60) == expected
    assert answers(cut(distant, budget=60, distances=True)) == answers(expected)


def test_what_stands_around_hits_comes_from_anywhere(nodes):
    files = RecursiveNodeParser(max_tokens=40).get_nodes_from_documents(documents(file_path="isles/town.md"))
    number = next(i for i, node in enumerate(nodes) if FERRY[:20] in node.text)
    hits = scored([nodes[number + 1]])
    for source in (TEXTS, TEXTS.get, store_of(documents()), store_of(nodes), store_of([*documents(), *nodes])):
        passages = cut(hits, texts=source, budget=60)
        assert "leaves the harbor at nine" in passages[0].text, source
    named = cut(scored([files[number + 1]]), texts={"isles/town.md": TOWN}, budget=60)
    assert named[0].metadata["citation"].startswith("isles/town.md, Harbor, lines 3-9, characters")
    assert not any("nine" in hit.text for hit in cut(hits, budget=60))
    near = cut(hits, texts=TEXTS, budget=60, cutter=PassageCutter(around=0))
    assert answers(near) == answers(cut(hits, budget=60, cutter=PassageCutter(around=0)))


def test_the_language_model_sees_headings_before_the_text(nodes):
    hits = scored([node for node in nodes if "leaves the harbor" in node.text])
    (passage,) = cut(hits, budget=25, question="When does it leave?", cutter=PassageCutter(context=True))
    assert passage.metadata["section"] == "Ferry"
    alone = [node for node in nodes if "Goat number 50" in node.text]
    (passage, *_) = cut(scored(alone), "Where does goat number 50 graze?", budget=30)
    start, end = passage.node.start_char_idx, passage.node.end_char_idx
    context = passage.metadata["context"]
    assert passage.text == TOWN[start:end]
    assert passage.metadata["title_path"] == "Harbor > Ferry"
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert passage.node.get_content(mode) == with_context(context, passage.text)
    counter = RecursiveChunker().counter
    assert passage.metadata["token_count"] == counter(passage.node.get_content(MetadataMode.LLM)) <= 30
    assert chunk_spans(passage.node) == (Span(start, end),)
    bare = cut(scored(alone), "Where does goat number 50 graze?", budget=30, cutter=PassageCutter(context=False))
    assert "context" not in bare[0].metadata


def test_metadata_of_the_user_is_untouched_and_ours_is_hidden():
    own = {"citation": "mine", "context": "yours", "title_path": "A > B", "page_label": "7", "tags": ["a"]}
    sources = documents(**own)
    nodes = RecursiveNodeParser(max_tokens=40).get_nodes_from_documents(sources)
    before = [node.model_copy(deep=True) for node in nodes]
    passages = cut(scored(nodes), budget=100)
    assert nodes == before
    for passage in passages:
        assert users_metadata(passage.metadata) == own
        assert passage.node.get_metadata_str(MetadataMode.LLM) == passage.metadata.get("advchunk_context", "")
        assert ", page 7, characters " in passage.metadata["advchunk_citation"]
        assert passage.node.ref_doc_id in TEXTS
    (shown,) = RecursiveNodeParser(max_tokens=40)([Document(text=FERRY, id_="x", metadata={"lang": "en"})])
    (passage,) = cut(scored([shown]))
    assert passage.node.get_content(MetadataMode.LLM) == f"lang: en\n\n{FERRY}"


def test_a_query_must_be_given_and_may_be_blank(nodes):
    rule = "a query must be given, for which passages are cut: pass query_str or query_bundle, got None"
    with pytest.raises(ConfigurationError, match=rule):
        PassagePostprocessor().postprocess_nodes(scored(nodes))
    for question in ("", "  ", "xylophones"):
        (first, *_) = cut(scored(nodes[5:]), question, budget=30)
        assert nodes[5].node_id in first.metadata["node_ids"]
    bundle = PassagePostprocessor(budget=60).postprocess_nodes(scored(nodes), QueryBundle(QUESTION))
    assert bundle == cut(scored(nodes), budget=60)


def test_a_postprocessor_follows_its_fields_and_is_serialized(nodes):
    hits = scored(nodes[10:11])
    processor = PassagePostprocessor(budget=300, cutter=PassageCutter(language="de"))
    (before,) = processor.postprocess_nodes(hits, query_str="sheep")
    processor.texts = TEXTS
    assert len(processor.postprocess_nodes(hits, query_str="sheep")[0].text) > len(before.text)
    read = PassagePostprocessor.from_dict(processor.to_dict())
    assert (read.budget, read.cutter, read.texts) == (300, processor.cutter, processor.texts)
