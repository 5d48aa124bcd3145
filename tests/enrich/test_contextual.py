"""The place of each chunk in its document: prompts and their cost, answers, edits, budgets, and the document's own
words."""

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from advchunk import Budget, Chunk, ConfigurationError, Document, OpenAIChat, RecursiveChunker, Span
from advchunk.enrich import ContextPrompts, ContextualEnricher, Estimate
from advchunk.enrich.contextual import leading_sentences, unwrapped_sentences
from advchunk.enrich.document_context import first_words
from advchunk.records import Block, write_metadata, written_metadata
from growing import check_growth
from servers import Endpoint, reading, says

GUIDE = """\
# Guide to Ada

This guide is about Ada, a cat of 4 kg.

## Naps

She naps all day. She snores.

## Meals

She eats 2 meals a day. They are of fish.
"""
WORDS = {"tokenizer": "words"}


def tagged(prompt, name):
    return prompt.rpartition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0]


class Model:
    """A chat model that notes its prompts."""

    model_name = "noted"

    def __init__(self, answer="From the guide to Ada."):
        self.prompts, self.answer = [], answer

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return self.answer(prompt) if callable(self.answer) else self.answer

    def passages(self):
        return [tagged(prompt, "passage") for prompt in self.prompts]


def cut(text=GUIDE, **params):
    return RecursiveChunker(**{"max_tokens": 12, **params}).chunk(text)


def manual(sections=40, edited=None):
    """Return a manual of sections of 60 words each, of which one may have another word."""
    return "# Pump manual\n\nThis manual is about pumps.\n\n" + "".join(
        f"## Part {i}\n\n" + " ".join("edited" if i == edited and j == 30 else f"p{i}w{j}" for j in range(58)) + ".\n\n"
        for i in range(sections)
    )


def pieces(text):
    return RecursiveChunker(max_tokens=90, tokenizer="words").chunk(text)


# Prompts.


def test_a_prompt_has_the_beginning_the_headings_the_neighbors_and_the_chunk():
    text, model = manual(), Model()
    chunks = pieces(text)
    ContextualEnricher(llm=model, beginning_tokens=20, neighbor_tokens=10, **WORDS).enrich(text, chunks)
    assert len(model.prompts) == len(chunks) == 40
    prompt = model.prompts[20]
    assert tagged(prompt, "passage") == chunks[20].text
    assert tagged(prompt, "place") == "Pump manual > Part 20"
    assert tagged(prompt, "beginning") == first_words(text, 20, lambda text: len(text.split()))
    before, after = tagged(prompt, "before"), tagged(prompt, "after")
    assert chunks[19].text.endswith(before)
    assert chunks[21].text.startswith(after)
    assert [8 < len(some.split()) <= 10 for some in (before, after)] == [True, True]
    assert len({prompt[: prompt.index("\n</beginning>")] for prompt in model.prompts}) == 1  # the prefix
    assert "at most 70 words" in prompt


def test_neighbors_do_not_repeat_the_beginning():
    model = Model()
    chunks = cut()
    ContextualEnricher(llm=model).enrich(GUIDE, chunks)
    for chunk, prompt in zip(chunks, model.prompts, strict=True):
        assert tagged(prompt, "beginning") == GUIDE
        assert (tagged(prompt, "before"), tagged(prompt, "after")) == ("", "")
        assert tagged(prompt, "passage") == chunk.text


def test_neighbors_are_of_the_same_level_and_around_all_of_a_chunk():
    text = "One. Two. Three. Four. Five."
    parent = Chunk(text, (Span(0, 28),), 5, level=0)
    children = [Chunk(text[a:b], (Span(a, b),), 1, level=1, parent=0) for a, b in ((0, 5), (10, 17), (23, 28))]
    apart = Chunk("Two. Four. ", (Span(5, 10), Span(17, 23)), 2, level=1)
    model = Model()
    ContextualEnricher(llm=model, beginning_tokens=0).enrich(text, [parent, *children, apart])
    shown = [(tagged(p, "before"), tagged(p, "after")) for p in model.prompts]
    before, after = zip(*shown, strict=True)
    assert before == ("", "", "Two. ", "Three. Four. ", "One. ")
    assert after == ("", "Two. Three. Four. ", "Four. Five.", "", "")


def test_custom_prompts_are_used():
    model = Model()
    prompts = ContextPrompts("IN {beginning}|{passage}|{place}", "mine-1")
    ContextualEnricher(llm=model, prompts=prompts).enrich("Cats {passage} nap.", cut("Cats {passage} nap."))
    assert model.prompts == ["IN Cats {passage} nap.|Cats {passage} nap.|unknown"]


# Answers.


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("How courts rule.", "How courts rule."),
        (" How\ncourts rule. ", "How courts rule."),
        ('"How courts rule."', "How courts rule."),
        ("„Wie Gerichte urteilen.“", "Wie Gerichte urteilen."),
        ("Here is the context:\n\nHow courts rule.", "How courts rule."),
        ("Here's a short succinct context for this chunk: How courts rule.", "How courts rule."),
        ("Sure! Here is the context:\n“How courts rule.”", "How courts rule."),
        ("**Context:** How courts rule.", "How courts rule."),
        ("Hier ist der Kontext:\n\nWie Gerichte urteilen.", "Wie Gerichte urteilen."),
        ("```text\nHow courts rule.\n```", "How courts rule."),
        ("<context>How courts rule.</context>", "How courts rule."),
        ('{"context": "How courts rule."}', "How courts rule."),
        ("<think>Courts?</think>\nHow courts rule.", "How courts rule."),
        # What is no preamble stays.
        ("Here is how courts rule.", "Here is how courts rule."),
        ("It is about courts: how they rule.", "It is about courts: how they rule."),
        ("The rules of courts:\n- one\n- two", "The rules of courts: - one - two"),
        ('"Law" and "order"', '"Law" and "order"'),
        ("Okay, courts.", "Okay, courts."),
        ('{"a": "b", "c": "d"}', '{"a": "b", "c": "d"}'),
    ],
)
def test_a_plain_sentence_is_taken_and_what_is_around_it_removed(answer, plain):
    (enriched,) = ContextualEnricher(llm=Model(answer)).enrich("Cats nap.", cut("Cats nap."))
    assert enriched.context == written_metadata(enriched.metadata)["added_context"] == plain
    assert "added_context_status" not in enriched.metadata
    assert unwrapped_sentences(plain) == plain


@pytest.mark.parametrize("bad", ["", " \n", '""', "<think>hm", "word " * 101])
def test_an_unusable_answer_is_said_once_and_replaced_by_the_documents_own_words(bad, caplog):
    model, cache = Model(bad), {}
    chunks = cut()
    enriched = ContextualEnricher(llm=model, cache=cache, **WORDS).enrich(GUIDE, chunks)
    assert len(model.prompts) == len(chunks)  # asked once
    assert not cache
    plain = ContextualEnricher(**WORDS).enrich(GUIDE, chunks)
    assert [chunk.context for chunk in enriched] == [chunk.context for chunk in plain]
    assert {chunk.metadata["added_context_status"] for chunk in enriched} == {"failed: BadModelOutput"}
    assert len(caplog.messages) == 1
    assert "others that fail so are marked in their metadata alone" in caplog.text


def test_whole_sentences_of_a_long_answer_are_kept():
    sentences = ["One two three.", "Four five six seven.", "Eight nine."]
    for most, kept in ((9, 3), (8, 2)):
        enricher = ContextualEnricher(llm=Model(" ".join(sentences)), context_tokens=most, **WORDS)
        assert enricher.enrich("Cats nap.", cut("Cats nap."))[0].context == " ".join(sentences[:kept])
    assert leading_sentences("z" * 30, lambda text: len(text) < 9) == ""
    assert leading_sentences("and on " * 90, lambda text: len(text) < 200) == ""


def test_an_answer_of_any_length_takes_time_in_proportion():
    def enrich(answer):
        ContextualEnricher(llm=Model(answer)).enrich("Cats nap.", cut("Cats nap."))

    for piece in ("It goes on, and on. ", "and on ", "<a>", '"', "{", "Sure: ", "```\n"):
        check_growth(enrich, lambda n, piece=piece: (piece * n)[:n], 40_000)
    check_growth(enrich, lambda n: "<a>" * (n // 7) + "</a>" * (n // 7), 40_000)


@pytest.mark.parametrize(
    ("most", "context", "status"),
    [
        (None, "Guide > Ada\nOne two. Three four.", None),
        (11, "Guide > Ada\nOne two. Three four.", None),
        (10, "Guide > Ada\nOne two.", "shortened"),
        (9, "Guide > Ada\nOne two.", "shortened"),
        (8, "Guide > Ada", "over max_tokens"),
    ],
)
def test_a_context_leaves_a_chunk_within_its_limit(most, context, status):
    text = "She naps all day."
    chunk = Chunk(text, (Span(0, len(text)),), 7, context="Guide > Ada")
    enricher = ContextualEnricher(llm=Model("One two. Three four."), max_tokens=most, **WORDS)
    (enriched,) = enricher.enrich(text, [chunk])
    assert (enriched.text, enriched.context, enriched.metadata.get("added_context_status")) == (text, context, status)
    assert enriched.tokens == len(enriched.embed_text.split()) <= (most or 11)


def test_a_context_follows_titles_and_never_changes_the_text():
    chunks = cut(include_context=True, max_tokens=20)
    enriched = ContextualEnricher(llm=Model(), **WORDS).enrich(GUIDE, chunks)
    assert any(chunk.context for chunk in chunks)
    for before, after in zip(chunks, enriched, strict=True):
        assert after.context == "\n".join(filter(None, (before.context, "From the guide to Ada.")))
        assert after.metadata == write_metadata(before.metadata, {"added_context": "From the guide to Ada."})
        assert after.tokens == len(after.embed_text.split())
        assert (after.text, after.spans, after.id, after.index) == (before.text, before.spans, before.id, before.index)


# The document's own words.


def test_without_a_model_the_context_is_headings_caption_and_first_sentence():
    text = (
        "Pumps are machines that move water. They hum.\n\nTable 1: Sizes of pumps\n\n| a | b |\n\nTurn it "
        "on.\n\nTurn it off."
    )
    at = text.index
    blocks = (
        Block("paragraph", Span(0, at("Table 1") - 2)),
        Block("caption", Span(at("Table 1"), at("| a") - 2)),
        Block("table", Span(at("| a"), at("Turn it on") - 2)),
        Block("heading", Span(at("Turn it on"), at("Turn it off") - 2), level=1, title="Use"),
        Block("paragraph", Span(at("Turn it off"), len(text))),
    )
    document = Document(text, "p", blocks, {"title": "Pump manual"})
    spans = [blocks[0].span, Span(blocks[2].span.start, blocks[3].span.start), Span(blocks[3].span.start, len(text))]
    chunks = [Chunk(text[a:b], (Span(a, b),), 5, i) for i, (a, b) in enumerate(spans)]
    first, table, use = ContextualEnricher().enrich(document, chunks)
    lead = "Pumps are machines that move water."
    assert first.context == "Pump manual"  # it has the first sentence
    assert table.context == f"Pump manual\nTable 1: Sizes of pumps\n{lead}"
    assert use.context == f"Pump manual\n{lead}"
    again = ContextualEnricher().enrich(document, [first, table, use])
    assert again == [first, table, use]
    short = ContextualEnricher(max_tokens=12, **WORDS).enrich(document, chunks)
    assert short[1].context == "Pump manual\nTable 1: Sizes of pumps"
    titled = [Chunk(chunk.text, chunk.spans, 5, chunk.index, context="Pump manual > Use") for chunk in chunks]
    assert ContextualEnricher().enrich(document, titled)[2].context == f"Pump manual > Use\n{lead}"


@pytest.mark.parametrize(
    ("kinds", "captions"),
    [
        ("caption table caption figure", {1: "0", 3: "2"}),
        ("table caption paragraph", {0: "1"}),
        ("figure caption table", {2: "1"}),
        ("paragraph table figure", {}),
    ],
)
def test_a_caption_is_of_what_is_below_it_else_of_what_is_above(kinds, captions):
    names = kinds.split()
    text = "".join(f"Block {i}.\n\n" for i in range(len(names)))
    blocks = tuple(Block(kind, Span(10 * i, 10 * i + 8)) for i, kind in enumerate(names))
    chunks = [Chunk(f"Block {i}.\n\n", (Span(10 * i, 10 * i + 10),), 2, i) for i in range(len(names))]
    enriched = ContextualEnricher().enrich(Document(text, "t", blocks), chunks)
    written = {i: chunk.context.removeprefix("Block ")[:1] for i, chunk in enumerate(enriched) if chunk.context}
    assert written == captions


# Cost.


def test_an_estimate_is_what_is_asked_then():
    text, model = manual(), Model()
    pairs = [(text, pieces(text)), (GUIDE, cut())]
    enricher = ContextualEnricher(llm=model, **WORDS)
    estimate = enricher.estimate(pairs)
    assert model.prompts == []
    enricher.enrich_many(pairs)
    assert estimate.requests == len(model.prompts)
    assert estimate.prompt_tokens == sum(len(prompt.split()) for prompt in model.prompts)
    prefixes = [prompt[: prompt.index("\n</beginning>")] for prompt in model.prompts]
    shared = sum(len(prefix.split()) for i, prefix in enumerate(prefixes) if prefix in prefixes[:i])
    assert shared <= estimate.prefix_tokens < shared + 5 * len(prefixes)  # what follows is the same for some
    assert estimate.completion_tokens == 200 * len(model.prompts)
    assert estimate.cost(2, 0) == 2 * estimate.prompt_tokens / 1e6
    assert estimate.cost(2, 0, cached=0) < estimate.cost(2, 0)
    with pytest.raises(ConfigurationError, match="prices must be numbers >= 0"):
        estimate.cost(-1, 0)


@pytest.mark.parametrize("edited", [10, 20, 39])
def test_an_edited_word_asks_for_its_chunk_and_its_neighbors(edited):
    before, after, cache = manual(), manual(edited=edited), {}
    ContextualEnricher(llm=Model(), cache=cache).enrich(before, pieces(before))
    model, chunks = Model(), pieces(after)
    enricher = ContextualEnricher(llm=model, cache=cache)
    estimate = enricher.estimate([(after, chunks)])
    enricher.enrich(after, chunks)
    near = [i for i in range(40) if abs(i - edited) <= 1]
    assert model.passages() == [chunks[i].text for i in near]
    assert estimate.requests == len(near)
    model.prompts.clear()
    assert enricher.estimate([(after, chunks)]) == Estimate()
    enricher.enrich(after, chunks)
    assert model.prompts == []


def test_the_cache_depends_on_the_request_alone():
    cache = {}

    def calls(answer="A.", **params):
        model = Model(answer)
        ContextualEnricher(llm=model, cache=cache, **params).enrich(GUIDE, cut())
        return len(model.prompts)

    n = len(cut())
    own = {"prompts": ContextPrompts(version="mine")}
    for params in ({}, {"seed": 1}, {"temperature": 0.5}, own, {"context_tokens": 50}):
        assert (calls(**params), calls(**params)) == (n, 0)
    assert calls(max_tokens=500, attempts=3, budget=Budget(requests=1)) == 0


@pytest.mark.parametrize("kind", ["function", "langchain", "endpoint"])
def test_a_budget_stops_any_model_and_keeps_what_is_done(kind, caplog):
    chunks, cache = cut(), {}
    with Endpoint(reading(lambda _: says("From the guide."))) as endpoint:
        llm = {
            "function": Model("From the guide."),
            "langchain": GenericFakeChatModel(messages=iter([AIMessage("From the guide.")] * 9)),
            "endpoint": OpenAIChat(endpoint.url, "m", concurrency=1),
        }[kind]
        cached = {} if kind == "langchain" else {"cache": cache}
        enricher = ContextualEnricher(llm=llm, budget=Budget(requests=2), **cached)
        enriched = enricher.enrich(GUIDE, chunks)
        again = ContextualEnricher(llm=llm, **cached)
        assert again.estimate([(GUIDE, chunks)]).requests == len(chunks) - 2 * bool(cached)
        assert {c.metadata["added_context"] for c in again.enrich(GUIDE, chunks)} == {"From the guide."}
    assert enricher.budget.spent.requests == 2
    statuses = [chunk.metadata.get("added_context_status") for chunk in enriched]
    assert sorted(map(str, statuses)) == ["None"] * 2 + ["failed: BudgetExceeded"] * (len(chunks) - 2)
    assert caplog.text.count("the budget of 2 requests is spent") == 1
