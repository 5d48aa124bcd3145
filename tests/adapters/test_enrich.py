"""What users of both frameworks rely on when chunks are enriched."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from itertools import pairwise

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_text_splitters import CharacterTextSplitter, RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaDocument
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import HierarchicalNodeParser, TokenTextSplitter
from llama_index.core.schema import ImageDocument, IndexNode, MetadataMode, NodeRelationship, TextNode

from advchunk import ConfigurationError, MissingModel, OpenAIChat
from advchunk.enrich import ContextPrompts, ContextualEnricher, Estimate, Rewriting, Summaries
from advchunk.records import remove_written, written_keys
from langchain_advchunk import MSTSemanticSplitter, RecursiveSplitter, chunk_spans
from langchain_advchunk.enrich import ChunkEnricher
from llamaindex_advchunk import MSTSemanticNodeParser, RecursiveNodeParser
from llamaindex_advchunk.enrich import ChunkEnricher as NodeEnricher

CATS = "# Cats\n\nAda is a cat. She naps all day.\n\n## Meals\n\nShe eats fish.\n"
LAWS = "Judges sit in court. She rules on law."
CATS_AND_LAWS = "Cats purr and nap all day.\n\nJudges sit in court.\n\nCats nap and cats purr."


def tagged(prompt, name):
    return prompt.rpartition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0]


class Scribe:
    """A chat model that answers each stage in a known way, and notes what it was asked."""

    model_name = "scribe"

    def __init__(self):
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        if "<facts>\n" in prompt:
            return json.dumps({"text": tagged(prompt, "passage").replace("She", "Ada the cat")})
        if "<questions>\n" in prompt:
            return json.dumps({"stated": [{"answer": "Ada", "quote": "Ada is a cat"}]})
        if "<needs>\n" in prompt:
            return json.dumps({"summary": tagged(prompt, "says")})
        if '"says"' in prompt:
            return json.dumps({"needs": "", "says": f"S: {tagged(prompt, 'passage').strip()}"})
        if "<beginning>\n" in prompt:
            return f"S: {tagged(prompt, 'passage').strip()}"
        return json.dumps({"missing": ["Who?"] if "She" in tagged(prompt, "passage") else []})

    def documents(self):
        """Return the documents, which are short, of which it was shown the beginning."""
        return {tagged(prompt, "beginning") for prompt in self.prompts if "<beginning>\n" in prompt}


def transformed(enricher, documents, **params):
    return enricher.transform_documents(documents, **params)


def awaited(enricher, documents, **params):
    return asyncio.run(enricher.atransform_documents(documents, **params))


both = pytest.mark.parametrize("transform", [transformed, awaited])

SPLITTERS = {
    "ours": RecursiveSplitter(max_tokens=8),
    "in context": RecursiveSplitter(max_tokens=12, include_context=True),
    "overlapping": RecursiveSplitter(max_tokens=10, overlap_tokens=5),
    "without places": RecursiveSplitter(max_tokens=8, add_start_index=False),
}


# LangChain.


@both
@pytest.mark.parametrize("splitter", SPLITTERS)
def test_documents_are_reassembled_from_chunks(splitter, transform):
    scribe, parents = Scribe(), [Document(CATS), Document(LAWS), Document(LAWS)]
    chunks = SPLITTERS[splitter].split_documents(parents)
    before = copy.deepcopy(chunks)
    enriched = transform(ChunkEnricher(ContextualEnricher(llm=scribe)), chunks)
    assert chunks == before
    assert len(enriched) == len(chunks) > 4
    if splitter != "without places":
        assert scribe.documents() == {CATS, LAWS}
    for old, new in zip(chunks, enriched, strict=True):
        text = old.page_content.rpartition("\n\n")[2] if splitter == "in context" else old.page_content
        assert new.page_content.endswith(text)
        assert new.metadata["added_context"] in new.page_content.partition("\n\n")[0]
        assert new.id == old.id
        for key in ("start_index", "end_index", "chunk_index", "title_path"):
            assert new.metadata.get(key) == old.metadata.get(key)
        assert new.metadata["token_count"] > old.metadata["token_count"]


def test_titles_stand_before_the_summary():
    chunks = SPLITTERS["in context"].split_documents([Document(CATS, metadata={"title": "All of Ada"})])
    scribe = Scribe()
    enriched = ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(chunks)
    text = CATS[enriched[-1].metadata["start_index"] :]
    assert enriched[-1].page_content == f"All of Ada > Cats\nS: {' '.join(text.split())}\n\n{text}"
    assert tagged(scribe.prompts[-1], "place") == "All of Ada > Cats > Meals"


def test_non_contiguous_chunks_keep_their_positions():
    splitter = MSTSemanticSplitter(contiguous=False, max_tokens=30)
    chunks = splitter.split_documents([Document(CATS_AND_LAWS)])
    scribe = Scribe()
    assert any("spans" in chunk.metadata for chunk in chunks)
    ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(chunks)
    assert scribe.documents() == {CATS_AND_LAWS}


def test_pages_of_a_source_are_separate_documents():
    parents = [Document(text, metadata={"source": "a.pdf", "page": i}) for i, text in enumerate([CATS, LAWS])]
    scribe = Scribe()
    ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(SPLITTERS["ours"].split_documents(parents))
    assert scribe.documents() == {CATS, LAWS}


def test_single_chunk_documents_stay_separate():
    scribe = Scribe()
    chunks = SPLITTERS["ours"].split_documents([Document("One."), Document("Two."), Document("Three.")])
    ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(chunks)
    assert scribe.documents() == {"One.", "Two.", "Three."}


def test_shuffled_chunks_are_grouped_by_source_id():
    chunks = SPLITTERS["ours"].split_documents([Document(CATS, id="c"), Document(LAWS, id="l")])
    scribe = Scribe()
    enriched = ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(chunks[::-1])
    assert scribe.documents() == {CATS, LAWS}
    assert [document.id for document in enriched] == [document.id for document in chunks[::-1]]


@both
def test_partial_chunks_are_shown_in_their_parent(transform):
    parents = [Document(CATS, id="c"), Document(LAWS, id="l")]
    chunks = SPLITTERS["in context"].split_documents(parents)[1:2]
    alone, whole = Scribe(), Scribe()
    transform(ChunkEnricher(ContextualEnricher(llm=alone)), chunks)
    (enriched,) = transform(ChunkEnricher(ContextualEnricher(llm=whole)), chunks, parents=parents)
    assert alone.documents() == {CATS[chunks[0].metadata["start_index"] : chunks[0].metadata["end_index"]]}
    assert whole.documents() == {CATS}
    assert "added_context" in enriched.metadata
    unplaced, scribe = SPLITTERS["without places"].split_documents(parents)[1:2], Scribe()
    transform(ChunkEnricher(ContextualEnricher(llm=scribe)), unplaced, parents=parents)
    assert scribe.documents() == {unplaced[0].page_content}
    with pytest.raises(ConfigurationError, match="parents must have ids"):
        transform(ChunkEnricher(ContextualEnricher(llm=alone)), chunks, parents=[Document(CATS)])
    with pytest.raises(ConfigurationError, match="the spans of chunk 0 must give its text"):
        transform(ChunkEnricher(ContextualEnricher(llm=alone)), chunks, parents=[Document(LAWS, id="c")])


@pytest.mark.parametrize(
    "splitter",
    [
        RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=10, add_start_index=True),
        RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0),
        CharacterTextSplitter(separator=" ", chunk_size=30, chunk_overlap=0),
    ],
    ids=["placed", "not placed", "another"],
)
def test_chunks_of_other_splitters(splitter):
    chunks = splitter.split_documents(
        [Document(CATS, metadata={"source": "c"}), Document(LAWS, metadata={"source": "l"})]
    )
    scribe = Scribe()
    enriched = ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(chunks)
    assert [new.page_content.partition("\n\n")[2] for new in enriched] == [old.page_content for old in chunks]
    assert {" ".join(document.split()) for document in scribe.documents()} == {
        " ".join(t.split()) for t in (CATS, LAWS)
    }


def test_chunks_without_metadata_are_separate_documents():
    scribe = Scribe()
    enriched = ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(
        [Document("One."), Document("Two.\n\n"), Document(" ")]
    )
    assert scribe.documents() == {"One.", "Two.\n\n"}
    assert enriched[2] == Document(" ")
    assert enriched[1].page_content == "S: Two.\n\nTwo.\n\n"


def test_rewritten_text_is_in_metadata_or_replaces_the_text():
    chunks = SPLITTERS["in context"].split_documents([Document(CATS)])
    enriched = ChunkEnricher(Rewriting(llm=Scribe(), least_kept=0.5)).transform_documents(chunks)
    assert [document.page_content for document in enriched] == [document.page_content for document in chunks]
    assert enriched[-1].metadata["rewritten"] == "## Meals\n\nAda the cat eats fish."
    assert enriched[0].metadata["rewritten_status"] == "nothing missing"
    placed = ChunkEnricher(Rewriting(llm=Scribe(), least_kept=0.5), rewritten=True).transform_documents(chunks)
    assert placed[-1].page_content == "Cats\n\n## Meals\n\nAda the cat eats fish."
    assert placed[-1].metadata["original_text"] == CATS[placed[-1].metadata["start_index"] :]
    assert "original_text" not in placed[0].metadata
    scribe = Scribe()
    both_ = ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(placed)
    assert scribe.documents() == {CATS}
    assert both_[-1].page_content == "Cats\nS: ## Meals She eats fish.\n\n## Meals\n\nAda the cat eats fish."
    again = ChunkEnricher(Rewriting(llm=Scribe(), least_kept=1)).transform_documents(both_)
    assert again[-1].metadata["rewritten_status"] == "failed: BadModelOutput"


def test_enricher_works_in_a_langchain_pipeline():
    scribe = Scribe()
    compressors = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    pipeline = compressors.DocumentCompressorPipeline(
        transformers=[SPLITTERS["ours"], ChunkEnricher(ContextualEnricher(llm=scribe))]
    )
    enriched = pipeline.compress_documents([Document(CATS)], "cats?")
    assert asyncio.run(pipeline.acompress_documents([Document(CATS)], "cats?")) == enriched
    assert scribe.documents() == {CATS}


def test_langchain_chat_models_are_accepted_and_other_types_refused():
    llm = FakeListChatModel(responses=["Of one."])
    (enriched,) = ChunkEnricher(ContextualEnricher(llm=llm)).transform_documents([Document("One.")])
    assert enriched.page_content == "Of one.\n\nOne."
    with pytest.raises(ConfigurationError, match="enricher must be ContextualEnricher, Summaries, or Rewriting"):
        ChunkEnricher(llm)
    with pytest.raises(MissingModel, match="llm= is missing"):
        ChunkEnricher(Rewriting())
    (enriched,) = ChunkEnricher(ContextualEnricher()).transform_documents([Document("One.", metadata={"title": "Two"})])
    assert enriched.page_content == "Two\n\nOne."


def test_documents_without_an_answer_get_their_own_words():
    chunks = SPLITTERS["in context"].split_documents([Document(CATS)])
    met = []
    enriched = ChunkEnricher(ContextualEnricher(llm=lambda _: ""), on_error=met.append).transform_documents(chunks)
    own = ChunkEnricher(ContextualEnricher()).transform_documents(chunks)
    assert [document.page_content for document in enriched] == [document.page_content for document in own]
    assert {document.metadata["added_context_status"] for document in enriched} == {"failed: BadModelOutput"}
    assert len(met) == len(chunks)
    with pytest.raises(ValueError, match="must answer with text"):
        ChunkEnricher(ContextualEnricher(llm=lambda _: ""), on_error="raise").transform_documents(chunks)


@pytest.mark.parametrize("splitter", SPLITTERS)
def test_the_cost_of_documents_is_told_before(splitter):
    scribe, parents = Scribe(), [Document(CATS, id="c"), Document(LAWS, id="l")]
    chunks = SPLITTERS[splitter].split_documents(parents)
    component = ChunkEnricher(ContextualEnricher(llm=scribe, cache={}, tokenizer="words"))
    for some, more in ((chunks[1:2], {"parents": parents}), (chunks, {})):
        estimate = component.estimate(some, **more)
        assert scribe.prompts == []
        component.transform_documents(some, **more)
        assert estimate.requests == len(scribe.prompts) > 0
        assert estimate.prompt_tokens == sum(len(prompt.split()) for prompt in scribe.prompts)
        assert component.estimate(some, **more) == Estimate()
        scribe.prompts.clear()
        component.enricher.cache.clear()
    with pytest.raises(ConfigurationError, match="the cost of Rewriting cannot be estimated"):
        ChunkEnricher(Rewriting(llm=scribe)).estimate(chunks)


@both
def test_summaries_in_langchain(transform):
    scribe, chunks = Scribe(), SPLITTERS["ours"].split_documents([Document(CATS)])
    component = ChunkEnricher(Summaries(llm=scribe, cache={}))
    assert component.estimate(chunks).requests == 2 * len(chunks)
    for before, after in zip(chunks, transform(component, chunks), strict=True):
        assert after.metadata["summary"] == f"S: {' '.join(before.page_content.split())}"
        assert after.page_content == f"{after.metadata['summary']}\n\n{before.page_content}"
    assert component.estimate(chunks) == Estimate()


# LlamaIndex.


def run(pipeline, documents):
    return pipeline.run(documents=documents)


def arun(pipeline, documents):
    return asyncio.run(pipeline.arun(documents=documents))


runs = pytest.mark.parametrize("run", [run, arun])


def documents():
    return [LlamaDocument(text=text, id_=name, metadata={"k": "v"}) for name, text in (("c", CATS), ("l", LAWS))]


@runs
@pytest.mark.parametrize("params", [{}, {"include_context": True}, {"overlap_tokens": 5}])
def test_nodes_are_enriched_in_a_pipeline(run, params):
    scribe, parser = Scribe(), RecursiveNodeParser(max_tokens=12, **params)
    plain = parser(documents())
    enriched = run(
        IngestionPipeline(transformations=[parser, NodeEnricher(enricher=ContextualEnricher(llm=scribe))]), documents()
    )
    assert scribe.documents() == {CATS, LAWS}
    assert len(enriched) == len(plain) > 3
    for old, new in zip(plain, enriched, strict=True):
        assert (new.node_id, new.text, new.start_char_idx, new.end_char_idx) == (
            old.node_id, old.text, old.start_char_idx, old.end_char_idx,
        )  # fmt: skip
        context = "\n".join(filter(None, (old.metadata.get("context"), new.metadata["added_context"])))
        assert new.metadata["context"] == context
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert context in new.get_content(mode)
            assert "added_context:" not in new.get_content(mode)
        assert new.metadata["token_count"] > old.metadata["token_count"]
        assert new.source_node == old.source_node
    for a, b in pairwise(enriched):
        if a.ref_doc_id == b.ref_doc_id:
            assert a.next_node == b.as_related_node_info()
            assert b.prev_node == a.as_related_node_info()


def test_input_nodes_are_not_modified():
    nodes = RecursiveNodeParser(max_tokens=12)(documents())
    before = [node.model_dump() for node in nodes]
    NodeEnricher(enricher=ContextualEnricher(llm=Scribe()))(nodes)
    assert [node.model_dump() for node in nodes] == before


@runs
def test_pipeline_cache_depends_on_the_enricher(run):
    cache, scribe = IngestionCache(), Scribe()

    def calls(**params):
        parts = [RecursiveNodeParser(max_tokens=12), NodeEnricher(enricher=ContextualEnricher(llm=scribe, **params))]
        before = len(scribe.prompts)
        enriched = run(IngestionPipeline(transformations=parts, cache=cache), documents())
        assert all("added_context" in node.metadata for node in enriched)
        return len(scribe.prompts) - before

    n = calls()
    assert n == len(RecursiveNodeParser(max_tokens=12)(documents()))
    assert calls() == 0
    assert calls(seed=1) == n
    assert calls(prompts=ContextPrompts(version="mine")) == n
    assert calls() == 0


@runs
def test_a_run_that_raises_leaves_the_pipelines_cache_empty_and_its_own_full(run):
    scribe, cache, answers, bad = Scribe(), IngestionCache(), {}, ["fish"]

    class Breaking:
        model_name = "breaking"

        def __call__(self, prompt):
            if any(word in tagged(prompt, "passage") for word in bad):
                msg = "down"
                raise OSError(msg)
            return scribe(prompt)

    enricher = NodeEnricher(enricher=ContextualEnricher(llm=Breaking(), cache=answers), on_error="raise")
    pipeline = IngestionPipeline(transformations=[RecursiveNodeParser(max_tokens=12), enricher], cache=cache)
    with pytest.raises(OSError, match="down"):
        run(pipeline, documents())
    bad.clear()
    before = len(scribe.prompts)
    assert 0 < before == len(answers)
    enriched = run(pipeline, documents())
    assert all("added_context" in node.metadata for node in enriched)
    assert len(scribe.prompts) == len(set(scribe.prompts)) == len(enriched)


@runs
def test_clearing_the_pipeline_cache_retries_failed_nodes(run):
    scribe, cache, bad = Scribe(), IngestionCache(), ["fish"]

    class Moody:
        model_name = "moody"

        def __call__(self, prompt):
            return "" if any(word in tagged(prompt, "passage") for word in bad) else scribe(prompt)

    def lacking():
        enricher = NodeEnricher(enricher=ContextualEnricher(llm=Moody(), cache=answers))
        parts = [RecursiveNodeParser(max_tokens=12), enricher]
        enriched = run(IngestionPipeline(transformations=parts, cache=cache), documents())
        return [node.metadata["added_context_status"] for node in enriched if "added_context_status" in node.metadata]

    answers = {}
    assert lacking() == ["failed: BadModelOutput"]
    bad.clear()
    before = len(scribe.prompts)
    assert lacking() == ["failed: BadModelOutput"]
    assert len(scribe.prompts) == before
    cache.clear()
    assert lacking() == []
    assert len(scribe.prompts) == before + 1


@pytest.mark.parametrize("name", ["plain", "image", "entry"])
def test_other_nodes_pass_unchanged(name):
    node = {
        "plain": TextNode(text=" "),
        "image": ImageDocument(image="aGk="),
        "entry": IndexNode(text="x", index_id="y"),
    }[name]
    scribe = Scribe()
    assert NodeEnricher(enricher=ContextualEnricher(llm=scribe))([node]) == [node]
    assert scribe.prompts == []


def test_nodes_of_another_parser():
    scribe = Scribe()
    parts = [TokenTextSplitter(chunk_size=20, chunk_overlap=0), NodeEnricher(enricher=ContextualEnricher(llm=scribe))]
    long = " ".join(f"Sentence {i} says what it says." for i in range(12))
    enriched = IngestionPipeline(transformations=parts).run(documents=[LlamaDocument(text=long)])
    assert len(enriched) > 3
    assert {" ".join(document.split()) for document in scribe.documents()} == {long}
    assert all(long[node.start_char_idx : node.end_char_idx] == node.text for node in enriched)


def test_nodes_without_offsets_are_joined_in_order():
    scribe = Scribe()
    source = LlamaDocument(text="x", id_="d").as_related_node_info()
    nodes = [TextNode(text=text, relationships={NodeRelationship.SOURCE: source}) for text in ("One.", "Two.")]
    NodeEnricher(enricher=ContextualEnricher(llm=scribe))(nodes)
    assert scribe.documents() == {"One.\n\nTwo."}


def test_a_hierarchy_keeps_its_links():
    nodes = HierarchicalNodeParser.from_defaults(chunk_sizes=[64, 24], chunk_overlap=0)(documents())
    enriched = NodeEnricher(enricher=ContextualEnricher(llm=Scribe()))(nodes)
    fresh = {node.node_id: node.as_related_node_info() for node in enriched}
    below = [child for node in enriched for child in node.child_nodes or []]
    assert below == [fresh[child.node_id] for child in below]
    assert below
    assert all(node.parent_node in (None, fresh.get(getattr(node.parent_node, "node_id", ""))) for node in enriched)
    assert all(child.metadata["added_context"] for child in below)


def test_embedding_is_dropped_if_the_content_changes():
    nodes = MSTSemanticNodeParser(max_tokens=12, vectors="plain")(documents())
    assert all(node.embedding for node in nodes)
    kept = NodeEnricher(enricher=Rewriting(llm=Scribe(), least_kept=0.5))(nodes)
    assert all(node.embedding for node in kept)
    assert any("rewritten" in node.metadata for node in kept)
    assert not any(node.embedding for node in NodeEnricher(enricher=ContextualEnricher(llm=Scribe()))(nodes))


def test_rewritten_text_replaces_the_node_text():
    nodes = RecursiveNodeParser(max_tokens=12)(documents())
    enriched = NodeEnricher(enricher=Rewriting(llm=Scribe(), least_kept=0.5), rewritten=True)(nodes)
    assert any("Ada the cat eats fish." in node.text for node in enriched)
    for old, new in zip(nodes, enriched, strict=True):
        assert new.metadata.get("original_text", new.text) == old.text
        assert "original_text" not in new.get_content(MetadataMode.EMBED)
        assert (new.start_char_idx, new.end_char_idx) == (old.start_char_idx, old.end_char_idx)
    scribe = Scribe()
    again = NodeEnricher(enricher=ContextualEnricher(llm=scribe))(enriched)
    assert scribe.documents() == {CATS, LAWS}
    assert [node.text for node in again] == [node.text for node in enriched]


def test_serialization_omits_keys_and_pickling_keeps_them(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    component = NodeEnricher(enricher=ContextualEnricher(llm=OpenAIChat("http://localhost/v1", "m")))
    data = component.to_json()
    assert "sk-planted" not in data
    assert component.enricher.fingerprint() in data
    assert component.class_name() == "advchunk.ChunkEnricher"
    again = NodeEnricher.from_dict(component.to_dict(), enricher=component.enricher)
    copied = pickle.loads(pickle.dumps(component))
    assert again.to_dict() == copied.to_dict() == component.to_dict()
    with pytest.raises(ValueError, match="has no parameter 'enrichr'"):
        NodeEnricher(enricher=component.enricher, enrichr=1)


def test_the_cost_of_nodes_is_told_before():
    scribe, nodes = Scribe(), RecursiveNodeParser(max_tokens=12)(documents())
    component = NodeEnricher(enricher=ContextualEnricher(llm=scribe, cache={}, tokenizer="words"))
    estimate = component.estimate([*nodes, IndexNode(text="An index.", index_id="i")])
    assert scribe.prompts == []
    component(nodes)
    assert estimate.requests == len(scribe.prompts) == len(nodes)
    assert estimate.prompt_tokens == sum(len(prompt.split()) for prompt in scribe.prompts)
    assert component.estimate(nodes) == Estimate()


@pytest.mark.parametrize("call", [lambda enricher, nodes: enricher(nodes), lambda *own: asyncio.run(acall(*own))])
def test_summaries_in_llamaindex(call):
    nodes = RecursiveNodeParser(max_tokens=12)(documents())
    component = NodeEnricher(enricher=Summaries(llm=Scribe(), cache={}))
    assert component.estimate(nodes).requests == 2 * len(nodes)
    for before, after in zip(nodes, call(component, nodes), strict=True):
        assert after.metadata["context"].endswith(f"S: {' '.join(before.text.split())}")
        assert after.metadata["context"] in after.get_content(MetadataMode.EMBED)
        assert after.text == before.text
    assert component.estimate(nodes) == Estimate()


async def acall(enricher, nodes):
    return await enricher.acall(nodes)


def test_an_llm_of_llamaindex():
    class Answering(MockLLM):
        def chat(self, messages, **kwargs):
            enriched = super().chat(messages, **kwargs)
            enriched.message.content = Scribe()(messages[-1].content)
            return enriched

    enriched = NodeEnricher(enricher=ContextualEnricher(llm=Answering()))(
        RecursiveNodeParser(max_tokens=12)(documents())
    )
    assert all("added_context" in node.metadata for node in enriched)


def test_pieces_of_an_enriched_chunk_do_not_inherit_its_summary():
    text = "Cats nap. " * 20
    chunks = RecursiveSplitter(max_tokens=40).split_documents([Document(text, metadata={"user": 1})])
    enriched = ChunkEnricher(ContextualEnricher(llm=Scribe())).transform_documents(chunks)
    assert all("added_context" in chunk.metadata for chunk in enriched)
    for piece in RecursiveSplitter(max_tokens=20).split_documents(enriched):
        assert piece.metadata["user"] == 1
        assert "added_context" not in piece.metadata


USERS = {
    key: [key, "of the user"]
    for name in ("added_context", "summary", "rewritten")
    for key in (
        name,
        f"{name}_status",
        "original_text",
        "context",
        "token_count",
        "start_index",
        "spans",
        "source_id",
        "page",
    )
}
enrichers = pytest.mark.parametrize(
    "enricher",
    [ContextualEnricher(llm=Scribe()), Summaries(llm=Scribe()), Rewriting(llm=Scribe(), least_kept=0.5)],
    ids=["contextual", "summaries", "rewriting"],
)


def list_identities(metadata):
    return {id(value) for value in metadata.values() if isinstance(value, list)}


def check_users_metadata(before, after):
    """Check that the metadata of enriched chunks has that of the user, with lists of its own."""
    seen = set().union(*map(list_identities, before), list_identities(USERS))
    for metadata in after:
        assert remove_written(metadata, written_keys(metadata)) == USERS
        assert not list_identities(metadata) & seen
        seen |= list_identities(metadata)
    assert any({"added_context", "summary", "rewritten"} & written_keys(metadata).keys() for metadata in after)


@both
@enrichers
def test_documents_keep_the_users_metadata(enricher, transform):
    chunks = SPLITTERS["in context"].split_documents([Document(CATS, id="c", metadata=USERS)])
    component = ChunkEnricher(enricher, rewritten=True)
    enriched = transform(component, transform(component, chunks))
    check_users_metadata([chunk.metadata for chunk in chunks], [chunk.metadata for chunk in enriched])
    assert [chunk_spans(chunk) for chunk in enriched] == [chunk_spans(chunk) for chunk in chunks]
    for piece in SPLITTERS["ours"].split_documents(enriched):
        assert not {"added_context", "rewritten", "original_text"} & written_keys(piece.metadata).keys()
        assert {**piece.metadata, **USERS} == piece.metadata


@enrichers
def test_nodes_keep_the_users_metadata(enricher):
    parser = RecursiveNodeParser(max_tokens=12, include_context=True)
    nodes = parser([LlamaDocument(text=CATS, id_="c", metadata=USERS)])
    component = NodeEnricher(enricher=enricher, rewritten=True)
    enriched = component(component(nodes))
    check_users_metadata([node.metadata for node in nodes], [node.metadata for node in enriched])
    for node in enriched:
        shown = node.metadata.keys() - node.excluded_embed_metadata_keys
        assert shown == node.metadata.keys() - node.excluded_llm_metadata_keys
        assert shown == USERS.keys() | ({"advchunk_context"} & node.metadata.keys())
    for piece in parser(enriched):
        assert not {"added_context", "rewritten", "original_text"} & written_keys(piece.metadata).keys()
        assert {**piece.metadata, **USERS} == piece.metadata


def test_chunks_of_other_splitters_keep_the_users_metadata():
    users = {"source_id": [1], "chunk_index": "the user's", "end_index": "the user's", "spans": "the user's"}
    chunks = RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0, add_start_index=True).split_documents(
        [Document(CATS, metadata=users)]
    )
    scribe = Scribe()
    enriched = ChunkEnricher(ContextualEnricher(llm=scribe)).transform_documents(chunks)
    assert {" ".join(document.split()) for document in scribe.documents()} == {" ".join(CATS.split())}
    assert all({**new.metadata, **old.metadata} == new.metadata for old, new in zip(chunks, enriched, strict=True))
