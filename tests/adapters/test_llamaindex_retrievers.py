"""The retriever and the postprocessor for LlamaIndex, on nodes of any parser."""

import asyncio

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter, get_leaf_nodes
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import IndexNode, MetadataMode, NodeRelationship, NodeWithScore, TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from advchunk import ConfigurationError
from advchunk.retrieval import Search
from llamaindex_advchunk import AdvchunkRetriever, DefaultEmbedding, RecursiveNodeParser
from llamaindex_advchunk.base import users_metadata

BY_NEIGHBORS = Search("dense", neighbors=True)
# The passage that a question names, the answer beside it, which shares no word with the question, and other places.
ASKED = "The harbor ferry to the island is small and old, and the harbor is proud of its island ferry."
ANSWER = "Departures are at nine and at noon, weather permitting, and never after dusk in the winter months."
FILLER = "Sheep graze on the hills, and bread is baked every morning by two brothers and their aunt."
QUESTION = "When does the ferry leave the harbor for the island?"
TEXT = "\n\n".join([f"{FILLER} It is page {i}." for i in range(9)] + [ASKED, ANSWER, "The museum is closed."])
OTHER = "\n\n".join(f"An island in the north, number {i}, is without a ferry, and without people." for i in range(8))


class Found(BaseRetriever):
    """Returns the same nodes to every question."""

    def __init__(self, hits):
        self.hits = hits
        super().__init__()

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=score) for node, score in self.hits]


def documents():
    metadata = {"town": {"year": 2020, "lang": "en"}, "north": {"year": 2021, "lang": "en"}}
    hidden = {"excluded_embed_metadata_keys": ["year", "lang"], "excluded_llm_metadata_keys": ["year", "lang"]}
    texts = {"town": TEXT, "north": OTHER}
    return [Document(text=text, id_=name, metadata=metadata[name], **hidden) for name, text in texts.items()]


def index_of(nodes, **options):
    return VectorStoreIndex(nodes, embed_model=DefaultEmbedding(), **options)


@pytest.fixture
def nodes():
    return RecursiveNodeParser(max_tokens=30).get_nodes_from_documents(documents())


def texts(hits):
    return [hit.node.get_content() for hit in hits]


def lines_of(text, start, end):
    """Return the lines of a part of a text as a citation has them."""
    first, last = (text[:offset].count("\n") + 1 for offset in (start, start + len(text[start:end].rstrip())))
    return f"lines {first}-{last}" if first < last else f"line {first}"


def test_nodes_come_back_with_a_citation_that_no_model_sees(nodes):
    index = index_of(nodes)
    before = {node.node_id: node.model_copy(deep=True) for node in nodes}
    hits = AdvchunkRetriever(index).retrieve(QUESTION)
    for hit in hits:
        own = before[hit.node_id]
        start, end = own.start_char_idx, own.end_char_idx
        lines = lines_of({"town": TEXT, "north.pdf": OTHER}[own.ref_doc_id], start, end)
        assert hit.metadata["citation"] == f"{own.ref_doc_id}, {lines}, characters {start}-{end}"
        assert users_metadata(hit.metadata) == users_metadata(own.metadata)
        for seen in (MetadataMode.EMBED, MetadataMode.LLM):
            assert hit.node.get_content(seen) == own.get_content(seen)
        assert index.docstore.get_node(hit.node_id) == own


@pytest.mark.usefixtures("tiktoken_cache")
def test_nodes_of_another_parser_are_cited_by_name_page_and_heading():
    metadata = {"file_path": "north.pdf", "page_label": "7", "title_path": "Isles > North", "citation": "mine"}
    nodes = SentenceSplitter().get_nodes_from_documents([Document(text=OTHER, id_="x", metadata=metadata)])
    (hit,) = AdvchunkRetriever(nodes=nodes).retrieve("island")
    assert hit.metadata["citation"] == "mine"
    assert hit.metadata["advchunk_citation"] == f"north.pdf, Isles > North, page 7, characters 0-{len(OTHER)}"


@pytest.mark.parametrize("whole_chunks", [True, False])
def test_passages_keep_to_the_budget_and_are_cited(whole_chunks, nodes):
    (first, *rest) = AdvchunkRetriever(index_of(nodes), budget=90, whole_chunks=whole_chunks).retrieve(QUESTION)
    assert f"{ASKED}\n\n{ANSWER}" in first.text
    start, end = first.node.start_char_idx, first.node.end_char_idx
    assert TEXT[start:end] == first.text
    assert first.metadata["citation"] == f"town, {lines_of(TEXT, start, end)}, characters {start}-{end}"
    assert f"{first.metadata['start_line']}-{first.metadata['end_line']}" in first.metadata["citation"]
    inside = [node for node in nodes if node.ref_doc_id == "town" and start < node.end_char_idx <= end + 2]
    assert first.metadata["node_ids"] == [node.node_id for node in inside]
    assert first.metadata["year"] == 2020
    assert first.node.ref_doc_id == "town"
    assert sum(hit.metadata["token_count"] for hit in [first, *rest]) <= 90
    assert "citation" not in first.node.get_metadata_str("embed")
    pages = [Document(text=OTHER, id_="x", metadata={"file_path": "north.pdf", "page_label": "7"})]
    index = index_of(RecursiveNodeParser(max_tokens=30).get_nodes_from_documents(pages))
    (best, *_) = AdvchunkRetriever(index, budget=20).retrieve("island")
    assert best.metadata["citation"].startswith("north.pdf, page 7,")


def filters(*conditions, condition=FilterCondition.AND):
    return MetadataFilters(filters=[*conditions], condition=condition)


NORTH = MetadataFilter(key="ref_doc_id", value="north")
LATE = MetadataFilter(key="year", value=2020, operator=FilterOperator.GT)


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
@pytest.mark.parametrize("by", [filters(NORTH), filters(LATE)], ids=["document", "metadata"])
def test_filters_restrict_vectors_words_and_neighbors(mode, by, nodes):
    retriever = AdvchunkRetriever(index_of(nodes), search=Search(mode, neighbors=True), filters=by, similarity_top_k=30)
    assert {hit.node.ref_doc_id for hit in retriever.retrieve(QUESTION)} == {"north"}


def test_filters_may_be_nested(nodes):
    by = filters(filters(NORTH, LATE, condition=FilterCondition.OR), filters(NORTH, condition=FilterCondition.NOT))
    assert AdvchunkRetriever(nodes=nodes, filters=by).retrieve(QUESTION) == []
    by = filters(filters(NORTH, condition=FilterCondition.NOT), MetadataFilter(key="lang", value="en"))
    hits = AdvchunkRetriever(nodes=nodes, filters=by, similarity_top_k=30).retrieve(QUESTION)
    assert {hit.node.ref_doc_id for hit in hits} == {"town"}


def test_a_chunk_is_returned_once_and_ranked_by_its_best_row(nodes):
    rows = [
        IndexNode(text=sentence, index_id=chunk.node_id, obj=chunk, relationships=dict(chunk.relationships))
        for chunk in nodes
        for sentence in chunk.text.split(",")
    ]
    expected = {chunk.node_id for chunk in nodes}
    for index in (index_of(rows), VectorStoreIndex(objects=rows, embed_model=DefaultEmbedding())):
        hits = AdvchunkRetriever(index, similarity_top_k=100).retrieve(QUESTION)
        assert len(hits) == len({hit.node_id for hit in hits})
        assert {hit.node_id for hit in hits} <= expected
        assert any("Departures" in text for text in texts(hits[:3]))


def test_rows_without_their_chunk_find_it_among_the_nodes(nodes):
    rows = [
        IndexNode(text=sentence, index_id=node.node_id, relationships=dict(node.relationships))
        for node in nodes
        for sentence in node.text.split(",")
    ]
    hits = AdvchunkRetriever(index_of(rows), nodes=[*nodes, *rows], similarity_top_k=100).retrieve(QUESTION)
    assert len(hits) == len({hit.node_id for hit in hits})
    assert {hit.node_id for hit in hits} <= {node.node_id for node in nodes}


def test_hits_alone_are_re_ranked_and_the_log_says_so(nodes, warnings):
    index = index_of(nodes)
    hits = index.as_retriever(similarity_top_k=10).retrieve(QUESTION)
    retriever = AdvchunkRetriever(retriever=index.as_retriever(similarity_top_k=10), similarity_top_k=10)
    results = retriever.retrieve(QUESTION)
    retriever.retrieve(QUESTION)
    assert {hit.node_id for hit in results} == {hit.node_id for hit in hits}
    (warning,) = warnings()
    assert warning.startswith("no nodes are known, so hits are re-ranked among themselves")


def test_nodes_may_be_read_again(nodes):
    retriever = AdvchunkRetriever(index_of(nodes), nodes=nodes[:-1], search=Search("lexical"), similarity_top_k=30)
    assert nodes[-1].node_id not in {hit.node_id for hit in retriever.retrieve(OTHER[-60:])}
    retriever.refresh(nodes)
    assert nodes[-1].node_id in {hit.node_id for hit in retriever.retrieve(OTHER[-60:])}


def test_scores_may_be_distances_or_missing(nodes, warnings):
    chosen = nodes[:4]
    similar = Found([(node, 1 - i / 10) for i, node in enumerate(chosen)])
    distant = Found([(node, i / 10) for i, node in enumerate(chosen)])
    unsorted = Found([*reversed(similar.hits[2:]), *similar.hits[:2]])
    ranked = [
        [hit.node_id for hit in AdvchunkRetriever(retriever=retriever, search=BY_NEIGHBORS, nodes=nodes).retrieve("")]
        for retriever in (similar, distant, unsorted)
    ]
    assert ranked[0] == ranked[1] == ranked[2]
    assert warnings() == []
    silent = Found([(node, None) for node in chosen])
    hits = AdvchunkRetriever(retriever=silent, search=BY_NEIGHBORS, nodes=nodes).retrieve("")
    assert hits[0].node_id == chosen[0].node_id
    assert "no scores" in warnings()[0]


@pytest.mark.usefixtures("tiktoken_cache")
def test_hierarchical_nodes_are_located_in_their_document(warnings):
    # LlamaIndex counts the characters of these from their parent.
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[256, 64], chunk_overlap=8)
    (town, _) = documents()
    leaves = get_leaf_nodes(parser.get_nodes_from_documents([town]))
    (passage, *_) = AdvchunkRetriever(nodes=[town, *leaves], budget=100).retrieve(QUESTION)
    span = TEXT[passage.node.start_char_idx : passage.node.end_char_idx]
    assert passage.metadata["citation"].startswith("town, characters ")
    assert " ".join(span.split()) == " ".join(passage.text.split())
    assert f"{len(leaves)} are located" in warnings()[0]
    hits = AdvchunkRetriever(nodes=leaves, budget=100).retrieve(QUESTION)
    assert hits[0].metadata["citation"] == "town"  # without a document, its order is all that is known
    assert "0 are located" in warnings()[1]


def test_documents_in_a_docstore_place_nodes_without_offsets(nodes):
    bare = [
        TextNode(text=node.text.strip(), id_=node.node_id, relationships={NodeRelationship.SOURCE: node.source_node})
        for node in nodes
    ]
    context = StorageContext.from_defaults()
    context.docstore.add_documents(documents())
    index = index_of(bare, storage_context=context)
    placed = AdvchunkRetriever(index, budget=60).retrieve(QUESTION)
    expected = AdvchunkRetriever(index_of(nodes), budget=60).retrieve(QUESTION)
    assert placed[0].text.strip() == expected[0].text.strip()
    assert placed[0].node.start_char_idx == expected[0].node.start_char_idx


def test_a_retriever_re_ranks_another_in_a_query_engine(nodes):
    inner = Found([(node, 0.9 if ASKED in node.text else 0.1) for node in nodes if ANSWER not in node.text])
    retriever = AdvchunkRetriever(retriever=inner, nodes=nodes, search=BY_NEIGHBORS, similarity_top_k=3)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    sources = texts(engine.query(QUESTION).source_nodes)
    assert len(sources) == 3
    assert ANSWER in "".join(sources)


def test_a_blank_query_has_no_results(nodes):
    index = index_of(nodes)
    for mode in ("dense", "lexical", "hybrid"):
        for query in ("", "  "):
            retriever = AdvchunkRetriever(index, search=Search(mode, neighbors=True))
            assert retriever.retrieve(query) == asyncio.run(retriever.aretrieve(query)) == []


def test_passages_keep_the_templates_of_their_nodes(nodes):
    templates = {"metadata_template": "{key}={value}", "metadata_separator": "; ", "text_template": "{content}"}
    for node in nodes:
        for name, template in templates.items():
            setattr(node, name, template)
    (passage, *_) = AdvchunkRetriever(nodes=nodes, budget=60).retrieve(QUESTION)
    assert {name: getattr(passage.node, name) for name in templates} == templates


def test_an_index_without_nodes_cannot_search_words():
    with pytest.raises(ConfigurationError, match="mode 'hybrid' needs nodes: the index's docstore has none"):
        AdvchunkRetriever(index_of([]), search=Search("hybrid")).retrieve(QUESTION)
