"""What retrievers, compressor, and postprocessor promise: the answers of the core, each text once, and odd hits."""

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

import langchain_advchunk
import llamaindex_advchunk
from advchunk import Chunk, Document, RecursiveChunker, Span
from advchunk.retrieval import Hit, PassageCutter, Retriever, Search

FILLER = [f"Shed {i} holds rope, nets and tar, and its door is painted in color {i * i}." for i in range(8)]
PLANTED = ["The ferry to the island leaves daily.", "At half past nine.", "The ferry to the island takes cars."]
TEXTS = {"town": " ".join([*FILLER[:4], *PLANTED]), "sheds": " ".join(FILLER[4:])}
QUESTION = "When does the ferry to the island leave?"


class Answer(NamedTuple):
    """A chunk or a passage, and what is stated of it."""

    text: str
    citation: str
    tokens: int | None


@dataclass
class LangChain:
    """Chunks and retrievers of LangChain."""

    size = "k"

    def chunks(self, texts=TEXTS, max_tokens=20):
        splitter = langchain_advchunk.RecursiveSplitter(max_tokens=max_tokens)
        return splitter.split_documents(self.documents(texts))

    def documents(self, texts):
        return [LangChainDocument(text, id=name, metadata={"source": name}) for name, text in texts.items()]

    def of_another_splitter(self, texts, overlap, placed):
        splitter = RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=overlap, add_start_index=placed)
        return splitter.split_documents(self.documents(texts))

    def over(self, stored, chunks=None, **options):
        store = InMemoryVectorStore.from_documents(stored, langchain_advchunk.DefaultEmbeddings())
        return langchain_advchunk.AdvchunkRetriever(vectorstore=store, chunks=chunks, **options)

    def finding(self, hits, chunks, **options):
        class Found(LangChainRetriever):
            def _get_relevant_documents(self, query, *, run_manager):
                return hits

        return langchain_advchunk.AdvchunkRetriever(retriever=Found(), chunks=chunks, **options)

    def ask(self, retriever, question=QUESTION):
        results = retriever.invoke(question)
        assert asyncio.run(retriever.ainvoke(question)) == results
        return [Answer(hit.page_content, hit.metadata["citation"], hit.metadata.get("token_count")) for hit in results]

    def cut(self, hits, question=QUESTION, **options):
        passages = langchain_advchunk.PassageCompressor(**options).compress_documents(hits, question)
        return [Answer(hit.page_content, hit.metadata["citation"], hit.metadata["token_count"]) for hit in passages]

    def bare(self, text, **metadata):
        return LangChainDocument(text, metadata=metadata)

    def changed(self, chunk, text):
        return chunk.model_copy(update={"page_content": text})

    def text(self, chunk):
        return chunk.page_content


@dataclass
class LlamaIndex:
    """Nodes and retrievers of LlamaIndex."""

    size = "similarity_top_k"

    def chunks(self, texts=TEXTS, max_tokens=20):
        parser = llamaindex_advchunk.RecursiveNodeParser(max_tokens=max_tokens)
        return parser.get_nodes_from_documents(self.documents(texts))

    def documents(self, texts):
        return [LlamaIndexDocument(text=text, id_=name) for name, text in texts.items()]

    def of_another_splitter(self, texts, overlap, placed):
        nodes = SentenceSplitter(chunk_size=40, chunk_overlap=overlap // 3)(self.documents(texts))
        for node in nodes if not placed else []:
            node.start_char_idx = node.end_char_idx = None
        return nodes

    def over(self, stored, chunks=None, **options):
        index = VectorStoreIndex(stored, embed_model=llamaindex_advchunk.DefaultEmbedding())
        return llamaindex_advchunk.AdvchunkRetriever(index, nodes=chunks, **options)

    def finding(self, hits, chunks, **options):
        class Found(LlamaIndexRetriever):
            def _retrieve(self, query_bundle):
                return [NodeWithScore(node=node, score=1 / rank) for rank, node in enumerate(hits, 1)]

        return llamaindex_advchunk.AdvchunkRetriever(retriever=Found(), nodes=chunks, **options)

    def ask(self, retriever, question=QUESTION):
        results = retriever.retrieve(question)
        assert asyncio.run(retriever.aretrieve(question)) == results
        return [Answer(hit.text, hit.metadata["citation"], hit.metadata.get("token_count")) for hit in results]

    def cut(self, hits, question=QUESTION, **options):
        hits = [NodeWithScore(node=node, score=1 / rank) for rank, node in enumerate(hits, 61)]
        passages = llamaindex_advchunk.PassagePostprocessor(**options).postprocess_nodes(hits, query_str=question)
        return [Answer(hit.text, hit.metadata["citation"], hit.metadata["token_count"]) for hit in passages]

    def bare(self, text, source=""):
        links = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {}
        return TextNode(text=text, relationships=links)

    def changed(self, chunk, text):
        return chunk.model_copy(update={"text": text})

    def text(self, chunk):
        return chunk.text


@pytest.fixture(params=[LangChain(), LlamaIndex()], ids=lambda end: type(end).__name__)
def end(request):
    return request.param


SEARCHES = [
    Search("dense", neighbors=True),
    Search("lexical", neighbors=True),
    Search("hybrid", neighbors=True),
    Search("hybrid"),
    Search("hybrid", fusion="reciprocal", lexical_weight=1),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.label)
def test_answers_are_those_of_the_core(end, search):
    groups = {name: RecursiveChunker(max_tokens=20).chunk(Document(text, name)) for name, text in TEXTS.items()}
    cutter = PassageCutter(min_tokens=12, max_passages=2)
    how = {"mode": search.mode, "neighbors": search.neighbors, "fusion": search.fusion}
    core = Retriever(groups, **how, lexical_weight=search.lexical_weight)
    few = Retriever(groups, **how, lexical_weight=search.lexical_weight, cutter=cutter)
    chunks = end.chunks()
    indexed = None if search.mode == "dense" else chunks
    for question in (QUESTION, "Which door has color 9, and which 36?"):
        hits = end.ask(end.over(chunks, indexed, search=search, **{end.size: 4}), question)
        assert [hit.text for hit in hits] == [hit.chunk.text for hit in core.search(question, 4)]
        for options, expected in [
            ({}, core.passages(question, 50)),
            ({"whole_chunks": True}, core.passages(question, 50, whole_chunks=True)),
            ({"order": "document"}, core.passages(question, 50, order="document")),
            ({"cutter": cutter}, few.passages(question, 50)),
        ]:
            passages = end.ask(end.over(chunks, indexed, search=search, budget=50, **options), question)
            assert passages == [(passage.prompt_text, passage.citation, passage.tokens) for passage in expected]
            assert sum(passage.tokens for passage in passages) <= 50


def test_rows_are_cut_under_the_head_of_their_table(end):
    rows = "".join(f"| A-{10000 + i} | Customer {i % 37} | {['gift', 'urgent', ''][i % 3]} |\n" for i in range(40))
    chunks = end.chunks({"orders": f"| order_id | customer | note |\n| --- | --- | --- |\n{rows}"}, max_tokens=80)
    question = "Which note has order A-10017?"
    for passages in (end.ask(end.over(chunks, budget=80), question), end.cut(chunks, question, budget=80)):
        assert "A-10017" in passages[0].text


def test_the_answer_beside_the_hits_is_found_by_its_neighbors(end):
    chunks = end.chunks(max_tokens=9)
    for stored, indexed in [
        (chunks, chunks),
        (chunks, None),
        ([c for c in chunks if "half" not in end.text(c)], chunks),
    ]:
        hits = end.ask(end.over(stored, indexed, **{end.size: 4}))
        assert any(PLANTED[1] in hit.text for hit in hits)
    hits = end.ask(end.over(chunks, chunks, search=Search("hybrid"), **{end.size: 4}))
    assert not any(PLANTED[1] in hit.text for hit in hits)


@pytest.mark.parametrize("whole_chunks", [True, False], ids=["whole", "cut"])
@pytest.mark.parametrize("placed", [True, False], ids=["placed", "plain"])
@pytest.mark.usefixtures("tiktoken_cache")
def test_overlapping_chunks_of_another_splitter_become_passages_without_repeated_text(end, placed, whole_chunks):
    text = " ".join([*FILLER, *PLANTED])
    chunks = end.of_another_splitter({"town": text}, 50, placed)
    retriever = end.over(chunks, chunks, budget=1000, whole_chunks=whole_chunks)
    passages = end.ask(retriever, "ferry shed rope door")
    assert sum(len(passage.text) for passage in passages) <= len(text)
    for passage in passages:
        assert passage.text in text
        places = passage.citation.rpartition(" characters ")[2].split(", ")
        if placed:
            assert " ".join(text[slice(*map(int, place.split("-")))] for place in places) == passage.text
        else:
            assert passage.citation == "town"


@pytest.mark.parametrize("whole_chunks", [True, False], ids=["whole", "cut"])
@pytest.mark.parametrize("placed", [True, False], ids=["placed", "located"])
@pytest.mark.usefixtures("tiktoken_cache")
def test_chunks_between_which_is_only_white_space_are_one_range_of_a_known_text(end, placed, whole_chunks):
    text = "  \n".join(FILLER)
    chunks = end.of_another_splitter({"town": text}, 0, placed)
    assert sum(len(end.text(chunk)) for chunk in chunks) < len(text)
    retriever = end.over(chunks, chunks, texts={"town": text}, budget=1000, whole_chunks=whole_chunks)
    (passage,) = end.ask(retriever, "shed")
    assert passage.text == text
    assert passage.citation.endswith(f"characters 0-{len(text)}")


@pytest.mark.parametrize("source", [{"town": TEXTS["town"]}, TEXTS.get], ids=["mapping", "function"])
def test_what_stands_around_hits_comes_from_the_texts(end, source):
    hits = [chunk for chunk in end.chunks(max_tokens=9) if PLANTED[0] in end.text(chunk)]
    (passage,) = end.ask(end.over(hits, budget=30, texts=source, search=Search()))
    assert PLANTED[1] in passage.text
    assert passage.text in TEXTS["town"]
    assert not any(PLANTED[1] in own.text for own in end.ask(end.over(hits, budget=30, search=Search())))


def test_hits_that_are_not_among_the_chunks_are_ranked_with_them_and_logged_once(end, warnings):
    chunks = end.chunks()
    retriever = end.over(chunks, chunks[:-1], **{end.size: 50})
    question = f"door in color {7 * 7}"
    hits = end.ask(retriever, question)
    assert end.ask(retriever, question) == hits
    assert sorted(hit.text for hit in hits) == sorted(map(end.text, chunks))
    (message,) = warnings()
    assert f"1 of {len(chunks)} hits are not among" in message


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_hit_with_another_text_than_the_chunk_with_its_id_is_ranked_itself(end, mode, warnings):
    chunks = end.chunks()
    changed = end.changed(chunks[0], "The ferry to the island leaves at noon.")
    search = Search(mode, neighbors=True)
    retriever = end.finding([changed, chunks[-1]], chunks, search=search, **{end.size: 50})
    for _ in range(2):
        texts = [hit.text for hit in end.ask(retriever)]
        assert end.text(changed) in texts
        assert end.text(chunks[0]) not in texts
    (message,) = warnings()
    assert message.startswith("1 of 2 hits")
    assert "have another text" in message


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_as_many_are_returned_as_asked_for(end, mode):
    chunks = end.chunks({f"{i}": f"Ferry number {i}." for i in range(300)})
    indexed = None if mode == "dense" else chunks
    search = Search(mode, neighbors=True)
    assert len(end.ask(end.over(chunks, indexed, search=search, depth=10, **{end.size: 250}), "ferry")) == 250
    assert len(end.ask(end.over(chunks, indexed, search=search, depth=10), "ferry")) == 5


def test_nothing_in_nothing_out(end):
    for options in ({}, {"budget": 10}):
        assert end.ask(end.over([], **options)) == end.ask(end.over([], [], **options)) == []
        assert end.ask(end.finding([], None, **options)) == []


def place_of(answer):
    """Return the first and the last offset in a citation."""
    return [int(edge) for edge in answer.citation.rpartition(" characters ")[2].split("-")]


@pytest.mark.parametrize("texts", [None, TEXTS], ids=["alone", "texts"])
@pytest.mark.usefixtures("tiktoken_cache")
def test_hits_are_cut_as_by_the_core_and_no_text_is_there_twice(end, texts):
    hits = end.of_another_splitter(TEXTS, 50, placed=True)
    places = {end.text(hit): name for name in TEXTS for hit in hits if end.text(hit) in TEXTS[name]}
    spans = [(TEXTS[places[end.text(hit)]].index(end.text(hit)), end.text(hit)) for hit in hits]
    own_hits = [
        Hit(Chunk(text, (Span(start, start + len(text)),), 0), places[text], 1 / rank)
        for rank, (start, text) in enumerate(spans, 61)
    ]
    for budget in (15, 60, 1000):
        for question in (QUESTION, "color 9", "the of and", ""):
            expected = PassageCutter().cut(question, own_hits, budget, texts=texts)
            passages = end.cut(hits, question, budget=budget, texts=texts)
            assert passages == [(passage.prompt_text, passage.citation, passage.tokens) for passage in expected]
            assert sum(passage.tokens for passage in passages) <= budget
    nested = end.bare(end.text(hits[0])[:40], source=places[end.text(hits[0])])
    passages = end.cut([*hits, *hits, nested], "ferry shed", budget=1000, texts=TEXTS)
    assert sum(len(passage.text) for passage in passages) <= sum(map(len, TEXTS.values()))
    assert "".join(passage.text for passage in passages).count(PLANTED[1]) == 1


@pytest.mark.usefixtures("tiktoken_cache")
def test_hits_without_a_place_are_found_in_the_text_or_cited_by_name(end):
    placed, plain = (end.of_another_splitter(TEXTS, 0, placed=own) for own in (True, False))
    expected = [(passage.text, place_of(passage)) for passage in end.cut(placed, budget=30, texts=TEXTS)]
    assert [(passage.text, place_of(passage)) for passage in end.cut(plain, budget=30, texts=TEXTS)] == expected != []
    assert {passage.citation for passage in end.cut(plain, budget=1000)} == TEXTS.keys()


@pytest.mark.usefixtures("tiktoken_cache")
def test_hits_of_documents_that_changed_are_found_again_or_stand_alone(end):
    later = {"town": f"News. {TEXTS['town'].replace('half past nine', 'noon')}"}
    passages = end.cut(end.chunks({"town": TEXTS["town"]}, max_tokens=9), budget=1000, texts=later)
    stale = [passage for passage in passages if "half past nine" in passage.text]
    assert [passage.citation for passage in stale] == ["town"]
    for passage in passages:
        assert passage in stale or later["town"][slice(*place_of(passage))] == passage.text


def test_few_and_empty_hits_are_cut(end):
    assert end.cut([]) == end.cut([end.bare(""), end.bare(" \n")]) == []
    (passage,) = end.cut([end.bare(""), end.bare("Dogs ride free.", source="rules")], "zzz " * 9999)
    assert passage[:2] == ("Dogs ride free.", "rules")


def test_the_cutter_has_the_language_the_tokenizer_and_the_number_of_passages(end):
    german = end.bare("Die Fähren fahren täglich. Der Turm ist hoch und rot. Das Haus ist alt.", source="dorf")
    for question in ("Fähre", "Wann fährt die Fähre?"):
        (passage,) = end.cut([german], question, budget=4, cutter=PassageCutter(language="de", tokenizer="words"))
        assert (passage.text, passage.tokens) == ("Die Fähren fahren täglich.", 4)
    assert len(end.cut(end.chunks(), budget=400, cutter=PassageCutter(max_passages=1, min_tokens=5))) == 1
