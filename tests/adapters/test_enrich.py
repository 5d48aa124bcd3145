"""What users of both frameworks rely on when chunks are enriched."""

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
    """A chat model that answers each stage in a known way, but not about passages with a ``bad`` word."""

    model_name = "scribe"

    def __init__(self, bad=(), failure=""):
        self.prompts, self.bad, self.failure = [], list(bad), failure

    def __call__(self, prompt):
        if any(word in tagged(prompt, "passage") for word in self.bad):
            return self.fail()
        self.prompts.append(prompt)
        return self.answer(prompt)

    @staticmethod
    def answer(prompt):
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

    def fail(self):
        if isinstance(self.failure, Exception):
            raise self.failure
        return self.failure

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


def contextual(documents, scribe=None, **options):
    """Return the documents with contexts, and the documents of which the model was shown the beginning."""
    scribe = scribe or Scribe()
    return ChunkEnricher(ContextualEnricher(llm=scribe), **options).transform_documents(documents), scribe.documents()


def words(texts):
    return {" ".join(text.split()) for text in texts}


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
    enriched, _ = contextual(chunks, scribe := Scribe())
    text = CATS[enriched[-1].metadata["start_index"] :]
    assert enriched[-1].page_content == f"All of Ada > Cats\nS: {' '.join(text.split())}\n\n{text}"
    assert tagged(scribe.prompts[-1], "place") == "All of Ada > Cats > Meals"


GROUPS = {
    "spans": ([Document(CATS_AND_LAWS)], MSTSemanticSplitter(contiguous=False, max_tokens=30), 1),
    "pages": (
        [Document(text, metadata={"source": "a.pdf", "page": i}) for i, text in enumerate([CATS, LAWS])],
        SPLITTERS["ours"],
        1,
    ),
    "one chunk each": ([Document("One."), Document("Two."), Document("Three.")], SPLITTERS["ours"], 1),
    "shuffled": ([Document(CATS, id="c"), Document(LAWS, id="l")], SPLITTERS["ours"], -1),
}


@pytest.mark.parametrize("name", GROUPS)
def test_chunks_are_grouped_by_their_document(name):
    parents, splitter, step = GROUPS[name]
    chunks = splitter.split_documents(parents)[::step]
    enriched, seen = contextual(chunks)
    assert seen == {parent.page_content for parent in parents}
    assert [document.id for document in enriched] == [document.id for document in chunks]
    assert any("spans" in chunk.metadata for chunk in chunks) == (name == "spans")


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
    for wrong, rule in [(Document(CATS), "parents must have ids"), (Document(LAWS, id="c"), "chunk 0 must give its")]:
        with pytest.raises(ConfigurationError, match=rule):
            transform(ChunkEnricher(ContextualEnricher(llm=alone)), chunks, parents=[wrong])


OTHER_SPLITTERS = {
    "placed": RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=10, add_start_index=True),
    "not placed": RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0),
    "another": CharacterTextSplitter(separator=" ", chunk_size=30, chunk_overlap=0),
}


@pytest.mark.parametrize("splitter", OTHER_SPLITTERS.values(), ids=OTHER_SPLITTERS)
def test_chunks_of_other_splitters(splitter):
    parents = [Document(CATS, metadata={"source": "c"}), Document(LAWS, metadata={"source": "l"})]
    chunks = splitter.split_documents(parents)
    enriched, seen = contextual(chunks)
    assert [new.page_content.partition("\n\n")[2] for new in enriched] == [old.page_content for old in chunks]
    assert words(seen) == words([CATS, LAWS])


def test_chunks_of_other_splitters_keep_the_users_metadata():
    users = {"source_id": [1], "chunk_index": "the user's", "end_index": "the user's", "spans": "the user's"}
    splitter = RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0, add_start_index=True)
    chunks = splitter.split_documents([Document(CATS, metadata=users)])
    enriched, seen = contextual(chunks)
    assert words(seen) == words([CATS])
    assert all({**new.metadata, **old.metadata} == new.metadata for old, new in zip(chunks, enriched, strict=True))


def test_chunks_without_metadata_are_separate_documents():
    enriched, seen = contextual([Document("One."), Document("Two.\n\n"), Document(" ")])
    assert seen == {"One.", "Two.\n\n"}
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
    both_, seen = contextual(placed)
    assert seen == {CATS}
    assert both_[-1].page_content == "Cats\nS: ## Meals She eats fish.\n\n## Meals\n\nAda the cat eats fish."
    again = ChunkEnricher(Rewriting(llm=Scribe(), least_kept=1)).transform_documents(both_)
    assert again[-1].metadata["rewritten_status"] == "failed: BadModelOutput"


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


# LlamaIndex.


def run(pipeline, documents):
    return pipeline.run(documents=documents)


def arun(pipeline, documents):
    return asyncio.run(pipeline.arun(documents=documents))


runs = pytest.mark.parametrize("run", [run, arun])


def documents():
    return [LlamaDocument(text=text, id_=name, metadata={"k": "v"}) for name, text in (("c", CATS), ("l", LAWS))]


def nodes_of(**params):
    return RecursiveNodeParser(max_tokens=12, **params)(documents())


def pipeline(*, llm, cache=None, options=None, **params):
    """Return a pipeline of a parser and an enricher."""
    enricher = NodeEnricher(enricher=ContextualEnricher(llm=llm, **params), **options or {})
    return IngestionPipeline(transformations=[RecursiveNodeParser(max_tokens=12), enricher], cache=cache)


@runs
@pytest.mark.parametrize("params", [{}, {"include_context": True}, {"overlap_tokens": 5}])
def test_nodes_are_enriched_in_a_pipeline(run, params):
    scribe, parser = Scribe(), RecursiveNodeParser(max_tokens=12, **params)
    plain = parser(documents())
    before = [node.model_dump() for node in plain]
    NodeEnricher(enricher=ContextualEnricher(llm=Scribe()))(plain)
    assert [node.model_dump() for node in plain] == before
    parts = [parser, NodeEnricher(enricher=ContextualEnricher(llm=scribe))]
    enriched = run(IngestionPipeline(transformations=parts), documents())
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


@runs
def test_pipeline_cache_depends_on_the_enricher(run):
    cache, scribe = IngestionCache(), Scribe()

    def calls(**params):
        before = len(scribe.prompts)
        enriched = run(pipeline(llm=scribe, cache=cache, **params), documents())
        assert all("added_context" in node.metadata for node in enriched)
        return len(scribe.prompts) - before

    n = calls()
    assert n == len(nodes_of())
    assert calls() == 0
    assert calls(seed=1) == n
    assert calls(prompts=ContextPrompts(version="mine")) == n
    assert calls() == 0


@runs
def test_a_run_that_raises_leaves_the_pipelines_cache_empty_and_its_own_full(run):
    scribe, answers = Scribe(["fish"], OSError("down")), {}
    parts = pipeline(llm=scribe, cache=IngestionCache(), options={"on_error": "raise"})
    parts.transformations[1].enricher.cache = answers
    with pytest.raises(OSError, match="down"):
        run(parts, documents())
    scribe.bad.clear()
    assert 0 < len(scribe.prompts) == len(answers)
    enriched = run(parts, documents())
    assert all("added_context" in node.metadata for node in enriched)
    assert len(scribe.prompts) == len(set(scribe.prompts)) == len(enriched)


@pytest.mark.parametrize(
    "node", [TextNode(text=" "), ImageDocument(image="aGk="), IndexNode(text="x", index_id="y")], ids=type
)
def test_other_nodes_pass_unchanged(node):
    scribe = Scribe()
    assert NodeEnricher(enricher=ContextualEnricher(llm=scribe))([node]) == [node]
    assert scribe.prompts == []


def test_nodes_of_another_parser():
    scribe = Scribe()
    parts = [TokenTextSplitter(chunk_size=20, chunk_overlap=0), NodeEnricher(enricher=ContextualEnricher(llm=scribe))]
    long = " ".join(f"Sentence {i} says what it says." for i in range(12))
    enriched = IngestionPipeline(transformations=parts).run(documents=[LlamaDocument(text=long)])
    assert len(enriched) > 3
    assert words(scribe.documents()) == {long}
    assert all(long[node.start_char_idx : node.end_char_idx] == node.text for node in enriched)
    source, scribe = LlamaDocument(text="x", id_="d").as_related_node_info(), Scribe()
    nodes = [TextNode(text=text, relationships={NodeRelationship.SOURCE: source}) for text in ("One.", "Two.")]
    NodeEnricher(enricher=ContextualEnricher(llm=scribe))(nodes)
    assert scribe.documents() == {"One.\n\nTwo."}  # without offsets


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
    nodes = nodes_of()
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


def test_an_llm_of_llamaindex():
    class Answering(MockLLM):
        def chat(self, messages, **kwargs):
            enriched = super().chat(messages, **kwargs)
            enriched.message.content = Scribe()(messages[-1].content)
            return enriched

    enriched = NodeEnricher(enricher=ContextualEnricher(llm=Answering()))(nodes_of())
    assert all("added_context" in node.metadata for node in enriched)


# Both.


def acall(component, nodes):
    return asyncio.run(component.acall(nodes))


CALLS = {
    "LangChain": (ChunkEnricher, transformed),
    "LangChain, async": (ChunkEnricher, awaited),
    "LlamaIndex": (lambda enricher, **own: NodeEnricher(enricher=enricher, **own), lambda own, nodes: own(nodes)),
    "LlamaIndex, async": (lambda enricher, **own: NodeEnricher(enricher=enricher, **own), acall),
}
in_all = pytest.mark.parametrize("end", CALLS)


def chunks_for(end, **metadata):
    if end.startswith("LangChain"):
        return SPLITTERS["in context"].split_documents([Document(CATS, id="c", metadata=metadata)])
    parser = RecursiveNodeParser(max_tokens=12, include_context=True)
    return parser([LlamaDocument(text=CATS, id_="c", metadata=metadata)])


@in_all
def test_the_cost_is_told_before(end):
    make, call = CALLS[end]
    scribe, chunks = Scribe(), chunks_for(end)
    component = make(ContextualEnricher(llm=scribe, cache={}, tokenizer="words"))
    others = [] if end.startswith("LangChain") else [IndexNode(text="An index.", index_id="i")]
    estimate = component.estimate([*chunks, *others])
    assert scribe.prompts == []
    call(component, chunks)
    assert estimate.requests == len(scribe.prompts) == len(chunks) > 1
    assert estimate.prompt_tokens == sum(len(prompt.split()) for prompt in scribe.prompts)
    assert component.estimate(chunks) == Estimate()
    with pytest.raises(ConfigurationError, match="the cost of Rewriting cannot be estimated"):
        make(Rewriting(llm=scribe)).estimate(chunks)


def test_the_cost_of_chunks_in_their_parents_is_told_before():
    scribe, parents = Scribe(), [Document(CATS, id="c"), Document(LAWS, id="l")]
    chunks = SPLITTERS["ours"].split_documents(parents)[1:2]
    component = ChunkEnricher(ContextualEnricher(llm=scribe, tokenizer="words"))
    estimate = component.estimate(chunks, parents=parents)
    component.transform_documents(chunks, parents=parents)
    assert estimate.prompt_tokens == sum(len(prompt.split()) for prompt in scribe.prompts)


@in_all
def test_summaries(end):
    make, call = CALLS[end]
    chunks = chunks_for(end)
    component = make(Summaries(llm=Scribe(), cache={}))
    assert component.estimate(chunks).requests == 2 * len(chunks)
    for after in call(component, chunks):
        summary = after.metadata["summary"]
        whole = after.page_content if end.startswith("LangChain") else after.get_content(MetadataMode.EMBED)
        assert whole.startswith(("S: ", "Cats\nS: ", "context: S: ", "context: Cats\nS: ")), whole
        assert summary in whole
    assert component.estimate(chunks) == Estimate()


KEYS = ("original_text", "context", "token_count", "start_index", "spans", "source_id", "page")
NAMES = ("added_context", "summary", "rewritten")
USERS = {key: [key, "of the user"] for key in (*NAMES, *[f"{name}_status" for name in NAMES], *KEYS)}
ENRICHERS = [ContextualEnricher(llm=Scribe()), Summaries(llm=Scribe()), Rewriting(llm=Scribe(), least_kept=0.5)]


def list_identities(metadata):
    return {id(value) for value in metadata.values() if isinstance(value, list)}


@in_all
@pytest.mark.parametrize("enricher", ENRICHERS, ids=lambda enricher: type(enricher).__name__)
def test_the_users_metadata_stays_and_pieces_do_not_inherit_what_was_written(end, enricher):
    make, call = CALLS[end]
    chunks, component = chunks_for(end, **USERS), make(enricher, rewritten=True)
    enriched = call(component, call(component, chunks))
    seen = set().union(*(list_identities(chunk.metadata) for chunk in chunks), list_identities(USERS))
    for chunk in enriched:
        assert remove_written(chunk.metadata, written_keys(chunk.metadata)) == USERS
        assert not list_identities(chunk.metadata) & seen
        seen |= list_identities(chunk.metadata)
        if not end.startswith("LangChain"):
            shown = chunk.metadata.keys() - chunk.excluded_embed_metadata_keys
            assert shown == chunk.metadata.keys() - chunk.excluded_llm_metadata_keys
            assert shown == USERS.keys() | ({"advchunk_context"} & chunk.metadata.keys())
    assert any(set(NAMES) & written_keys(chunk.metadata).keys() for chunk in enriched)
    if end.startswith("LangChain"):
        assert [chunk_spans(chunk) for chunk in enriched] == [chunk_spans(chunk) for chunk in chunks]
        pieces = SPLITTERS["ours"].split_documents(enriched)
    else:
        pieces = RecursiveNodeParser(max_tokens=8)(enriched)
    for piece in pieces:
        assert not {*NAMES, "original_text"} & written_keys(piece.metadata).keys()
        assert {**piece.metadata, **USERS} == piece.metadata
