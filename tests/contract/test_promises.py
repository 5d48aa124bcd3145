"""The contract of every chunker: exact, bounded, total, stable; and the front ends, which give equal chunks."""

import asyncio
import copy
import pickle
import re
from collections import Counter
from dataclasses import fields, replace
from functools import partial
from inspect import signature
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.schema import MetadataMode
from promises import inexact, merged_spans

import langchain_advchunk
import llamaindex_advchunk
from advchunk import (
    ConfigurationError,
    Document,
    MSTSemanticChunker,
    RecursiveChunker,
    create,
    describe,
    names,
    registry,
)
from advchunk import settings as gate
from advchunk.chunkers import catalog
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.params import Params
from advchunk.models.counters import as_counter
from advchunk.readers.noise import without_controls
from front_ends import classes, every_chunker, numbered, possible
from stand_ins import STAND_INS, merging

relaxed = settings(max_examples=12, suppress_health_check=list(HealthCheck))
few = settings(relaxed, max_examples=6)  # for what hardly depends on the text
words = st.lists(
    st.sampled_from(["cat", "dog", "tax", "law", "née", "東京", "🦛", "👨\u200d👩\u200d👧", "a", "`x`", "| b |"]),
    max_size=9,
).map(" ".join)
ends = st.sampled_from(
    [". ", "!  ", "\n\n", "?", " ", ", ", "。", "\r\n", "\n```\n", "\n- ", "\n\n# ", "\x0c", "\n|-|\n"]
)
prose = st.lists(st.tuples(words, ends), max_size=20).map(lambda parts: "".join(map("".join, parts)))
texts = prose | st.text(max_size=60)

ROWS = "| n/a | n/a | 0 |\n" * 30
HARD = {
    "lone surrogates": "a \ud800. b. " * 20,
    "repetitive": "A. x A. A. B. A. " * 30,
    "crlf": "One. Two.\r\n\r\nThree\r\nfour. Five.\r\n" * 9,
    "emoji": "👨\u200d👩\u200d👧 naps! 🦛🦛 run. " * 20,
    "cjk": "東京は雨です。大阪は晴れ！京都は？" * 20,
    "no punctuation": "lorem ipsum dolor sit amet " * 60,
    "no spaces": "x" * 999,
    "table": "Intro.\n\n| a | b | c |\n|---|---|---|\n" + ROWS + "\nEnd.",
    "code": "Intro.\n\n```python\n" + "x = 1. + 2.\n\n" * 20 + "```\n\nEnd.",
}


def build(name, **params):
    return create(name, experimental=True, **{**STAND_INS.get(name, {}), **params})


def whole(text):
    return [(0, len(text))] if text.strip() else []


@relaxed
@given(text=texts)
def test_exact(split, text, name):
    pieces = split([text], **({"overlap_tokens": 0} if name == "sliding-window" else {}))
    assert inexact(text, pieces) == []
    assert all(piece.tokens == as_counter()(piece.embed_text) for piece in pieces)
    assert merged_spans(pieces) == whole(text)


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
@pytest.mark.parametrize("count", [None, len, merging], ids=["tokens", "characters", "merging"])
def test_exact_and_bounded_on_hard_texts(split, text, count, linear):
    for params in ({}, linear) if linear else ({},):
        pieces = split([text], max_tokens=30, overlap_tokens=0, tokenizer=count, **params)
        assert merged_spans(pieces) == whole(text)
        assert inexact(text, pieces) == []
        assert all(piece.tokens == (count or as_counter())(piece.embed_text) <= 30 for piece in pieces)


@relaxed
@given(text=texts, top=st.integers(1, 30), count=st.sampled_from([len, merging, None, "words"]), data=st.data())
def test_bounded(split, linear, text, top, count, data):
    low, overlap = data.draw(st.integers(0, top)), data.draw(st.integers(0, top - 1))
    pieces = split([text], max_tokens=top, min_tokens=low, overlap_tokens=overlap, tokenizer=count, **linear)
    counted, covered = as_counter(count), 0
    for before, piece in zip([None, *pieces], pieces, strict=False):  # no gaps, and no more overlap than requested
        ((start, end),) = piece.spans
        is_blank = before is None or not before.text.strip()
        assert is_blank or text[before.spans[0].start : start].strip()  # it is not all of the piece before
        assert counted(piece.embed_text) == piece.tokens
        assert piece.tokens <= top or len(piece.text) == 1
        assert start <= covered < end
        assert counted(text[start:covered]) <= overlap
        covered = end
    assert covered == (len(text) if text.strip() else 0)


@relaxed
@given(text=texts, low=st.integers(2, 30))
def test_bounded_below_if_a_neighbor_has_room(split, linear, unwalled, text, low):
    pieces = split([text], max_tokens=30, min_tokens=low, overlap_tokens=0, tokenizer=len, **linear, **unwalled)
    sizes = [piece.tokens for piece in pieces]
    assert all(min(pair) >= low or sum(pair) > 30 for pair in pairwise(sizes))


@every_chunker
@relaxed
@given(text=texts, top=st.integers(4, 40), count=st.sampled_from([len, merging, None]))
def test_bounded_with_its_context(name, text, top, count):
    document = Document("# Here\n\n" + text, metadata={"title": "A title"})
    chunker = build(name, max_tokens=top, overlap_tokens=0, include_context=True, tokenizer=count)
    for chunk in chunker.chunk(document):
        assert chunk.tokens == as_counter(count)(chunk.embed_text)
        assert chunk.tokens <= top


blocks = st.sampled_from(
    [
        "# Cats",
        "## Cats that nap in the sun all day",
        "### `cat dog`",
        "A cat dog naps. Dogs run, cat and dog; they tax the law! " * 3,
        "Née.",
        "- one cat\n- two dogs",
        "| animal | n |\n| :----- | ---: |\n" + "| cat dog | 12 |\n" * 9,
        "```python\n" + "x = cat + dog + 1\n" * 9 + "```",
        "東京は雨です。大阪は晴れ！" * 4,
    ]
)


def embedded(name, text, title, tokenizer, **params):
    """Return the texts that each front end gives the embedder for the chunks of a document."""
    _, splitter, parser = classes(name)
    params = {**STAND_INS.get(name, {}), **params}
    splitter, parser = splitter(length_function=tokenizer, **params), parser(tokenizer=tokenizer, **params)
    chunks = build(name, tokenizer=tokenizer, **params).chunk(Document(text, metadata={"title": title}))
    pieces = splitter.split_documents([LangChainDocument(text, metadata={"title": title})])
    document = LlamaIndexDocument(text=text, metadata={"title": title}, excluded_embed_metadata_keys=["title"])
    nodes = parser.get_nodes_from_documents([document])
    return (
        [chunk.embed_text for chunk in chunks],
        [piece.page_content for piece in pieces],
        [node.get_content(MetadataMode.EMBED) for node in nodes],
    )


@every_chunker
@few
@given(parts=st.lists(blocks, max_size=12), count=st.sampled_from([len, merging, None, "words"]), data=st.data())
def test_bounded_by_all_limits_at_once_as_the_front_ends_embed_it(name, linear, parts, count, data):
    top = data.draw(st.integers(12, 120))
    params = {"max_tokens": top, "min_tokens": data.draw(st.integers(0, top)), **linear}
    params = possible(name, params | {"overlap_tokens": data.draw(st.integers(0, top // 2))})
    params["include_context"] = data.draw(st.booleans())
    words = data.draw(st.integers(5, 40)) if name == "universal-semantic" else None
    params |= {"max_chunk_size": words} if words else {}
    text, counted = "\n\n".join(parts), as_counter(count)
    own, *framed = embedded(name, text, "A title of cats", count, **params)
    assert all(counted(shown) <= top for shown in own)
    for other in framed:
        assert [shown.strip() for shown in other] == [shown.strip() for shown in own]
        assert all(counted(shown) <= top for shown in other)
    if words:
        assert all(len(c.text.split()) <= words for c in build(name, tokenizer=count, **params).chunk(text))


@every_chunker
@pytest.mark.parametrize("least", [40, 100])
def test_a_minimum_gives_chunks_near_it_not_near_the_maximum(name, linear, unwalled, least):
    text = "".join(f"The {'cat naps' if i % 7 else 'court rules'} on {i} of {i * i % 31}. " for i in range(150))
    params = {"max_tokens": 2000, "overlap_tokens": 0, "markup": "plain", **linear, **unwalled}
    free, bounded = (
        [chunk.tokens for chunk in build(name, min_tokens=low, **params).chunk(text)] for low in (0, least)
    )
    assert max(bounded) <= max(free) + 2 * least
    assert len(bounded) >= sum(size >= least for size in free)  # no two that are long enough are joined


@pytest.mark.parametrize("text", ["", " ", "\n\n\t"])
def test_total_blank_text_has_no_chunks(split, text):
    assert split([text]) == []


def test_total_unsplittable_character_is_kept_and_flagged(name):
    chunks = build(name, max_tokens=1, overlap_tokens=0, tokenizer=lambda text: len(text.encode())).chunk("aé")
    assert [(c.text, c.metadata.get("oversize")) for c in name.chunks(chunks)] == [("a", None), ("é", True)]


@every_chunker
def test_total_one_bad_document_does_not_affect_others(name):
    chunker = build(name)
    results = chunker.chunk_many(["One. Two.", None, "Three."], on_error="collect")
    assert [len(chunks) > 0 for chunks in results] == [True, False, True]
    ((failure),) = results.failures
    assert (failure.index, type(failure.error)) == (1, ConfigurationError)
    with pytest.raises(ConfigurationError, match=r"text must be a string, got None"):
        chunker.chunk_many([None])


@relaxed
@given(first=texts, second=texts)
def test_stable(split, first, second):
    pieces = split([first, second, first])
    assert pieces == split([first, second, first])  # no state, no randomness
    assert len({piece.id for piece in pieces}) == len(pieces)  # unique in a call
    shapes = [(piece.text, piece.spans) for text in (first, second, first) for piece in split([text])]
    assert [(piece.text, piece.spans) for piece in pieces] == shapes  # no document sees another


def test_stable_ids_survive_an_insertion(split, linear):
    text = "".join(f"Fact {i} is here. " for i in range(40))
    before, after = (split([t], max_tokens=5, overlap_tokens=0, **linear) for t in (text, "A new one now. " + text))
    assert len({p.id for p in before} & {p.id for p in after}) == len(before)
    assert Counter(p.text for p in after) - Counter(p.text for p in before) == {"A new one now. ": 1}


@every_chunker
@few
@given(text=texts, top=st.integers(1, 40), count=st.sampled_from([len, merging, None, "words"]), data=st.data())
def test_all_front_ends_agree(front_ends, linear, name, text, top, count, data):
    low, overlap = data.draw(st.integers(0, top)), data.draw(st.integers(0, top - 1))
    params = {"max_tokens": top, "min_tokens": low, "overlap_tokens": overlap, "tokenizer": count, **linear}
    text = without_controls(Document(text)).text  # as the frameworks' documents have it
    first, *rest = (split(name, [text, "", text], **params) for split in front_ends.values())
    assert rest == [first, first]


@every_chunker
@few
@given(documents=st.lists(texts, max_size=5))
def test_async_and_streaming_give_equal_chunks(name, documents):
    chunker, done = build(name, max_tokens=90), []
    results = chunker.chunk_many(documents, progress=done.append)
    assert results == asyncio.run(chunker.achunk_many(documents)) == list(chunker.stream(documents))
    assert done == list(range(1, len(documents) + 1))
    for chunks in numbered(name, results):
        assert [chunk.index for chunk in chunks] == [*range(len(chunks))]


@every_chunker
def test_a_chunker_copies_and_pickles(name):
    chunker = build(name, max_tokens=70)
    assert pickle.loads(pickle.dumps(chunker)) == copy.deepcopy(chunker) == chunker


@pytest.mark.parametrize("overlap", [0, 30])
@pytest.mark.parametrize("kind", ["code", "table"])
def test_protected_blocks_are_whole_while_they_fit(split, kind, overlap, linear, unwalled):
    intro, end = "Before it is said. " * 9 + "\n\n", "\n\n" + "After it is said. " * 9
    block = HARD[kind].removeprefix("Intro.\n\n").removesuffix("End.").rstrip("\n")
    params = {
        "max_tokens": as_counter()(block) + 9,
        "overlap_tokens": overlap,
        **linear,
        **unwalled,
        "markup": "markdown",
    }
    pieces = split([intro + block + end], **params)
    fence = block[-9:]
    assert any(block in piece.text for piece in pieces)
    assert all(block in piece.text or fence not in piece.text for piece in pieces)  # overlap does not cut it either


@every_chunker
def test_front_ends_have_the_same_parameters_and_defaults(name):
    chunker, splitter, parser = classes(name)
    params = catalog.params_of(chunker)
    assert params.algorithm == name
    assert issubclass(params, Params)
    for field in fields(params):
        for front_end in (chunker, splitter, parser):
            assert signature(front_end).parameters[field.name].default == field.default
    assert describe(name)["parameters"] == {field.name: field.default for field in fields(params)}
    others = {f.name for f in fields(chunker) if f.metadata.get("resource")} - {"tokenizer", "embedder", "vectors"}
    assert others | {"length_function"} <= signature(splitter).parameters.keys()
    assert others | {"tokenizer"} <= signature(parser).parameters.keys()


@every_chunker
def test_fingerprints_depend_on_parameters_and_resources(name):
    prints = {build(name, **p).fingerprint() for p in ({}, {"max_tokens": 99}, {"tokenizer": len})}
    assert len(prints) == 3
    assert build(name).fingerprint() == build(name).fingerprint()
    if "cache" in describe(name)["resources"]:
        assert build(name, cache={}, batch_size=7).fingerprint() == build(name).fingerprint()


def test_names_are_gated_and_typos_get_a_hint(monkeypatch):
    monkeypatch.delenv("ADVCHUNK_EXPERIMENTAL", raising=False)
    for name in names("stable"):
        create(name)
    monkeypatch.setattr(registry, "_ROWS", dict(registry._ROWS))
    catalog.register(type("Trial", (ExperimentalChunker, RecursiveChunker), {"algorithm": "trial"}))
    assert "trial" in names("experimental")
    assert describe("trial")["experimental"] is True
    assert describe("trial")["warnings"]
    with pytest.raises(ConfigurationError, match="trial is experimental: pass experimental=True"):
        create("trial")
    assert create("trial", experimental=True).max_tokens == 512
    monkeypatch.setenv("ADVCHUNK_EXPERIMENTAL", "0")
    gate(experimental=True)
    assert create("trial").max_tokens == 512
    with pytest.raises(ConfigurationError, match=r"no chunker 'recursiv'; did you mean 'recursive'\?"):
        create("recursiv")
    with pytest.raises(ConfigurationError, match=r"has no parameter 'max_token'; did you mean 'max_tokens'\?"):
        create("recursive", max_token=5)


@pytest.mark.parametrize(
    ("param", "hint"),
    [
        ("max_token", r"; did you mean 'max_tokens'\?"),
        ("min_chunk_size", "; here this is min_tokens: it counts tokens"),
        ("sentence_split_regex", "; here this is sentence_splitter"),
        ("separators", ": there are no separators"),
        ("keep_separator", ": a chunk is always exactly a part of the text"),
        ("zzzz", "; it has max_tokens, min_tokens, "),
    ],
)
def test_every_front_end_explains_misspelled_and_foreign_parameters(param, hint):
    builds = [
        RecursiveChunker,
        partial(create, "recursive"),
        partial(replace, RecursiveChunker()),
        langchain_advchunk.RecursiveSplitter,
        llamaindex_advchunk.RecursiveNodeParser,
        llamaindex_advchunk.RecursiveNodeParser.from_defaults,
    ]
    for front_end in builds:
        with pytest.raises(ConfigurationError, match=f"has no parameter '{param}'{hint}"):
            front_end(**{param: 3})


def test_each_front_end_has_its_name_for_a_resource():
    for front_end, param, ours in [
        (MSTSemanticChunker, "embed_model", "embedder"),
        (langchain_advchunk.MSTSemanticSplitter, "embed_model", "embeddings"),
        (llamaindex_advchunk.MSTSemanticNodeParser, "embeddings", "embed_model"),
        (langchain_advchunk.MSTSemanticSplitter, "tokenizer", "length_function"),
        (llamaindex_advchunk.MSTSemanticNodeParser, "length_function", "tokenizer"),
    ]:
        with pytest.raises(ConfigurationError, match=f"has no parameter '{param}'; here this is {ours}$"):
            front_end(**{param: len})


@every_chunker
def test_help_explains_every_parameter_and_repr_shows_changed_ones(name):
    for front_end in classes(name):
        for field in fields(catalog.params_of(catalog.chunker_class(name))):
            assert len(re.findall(rf"(?m)^(\w+, )*{field.name}(, \w+)* :", front_end.__doc__)) == 1, field.name
        assert repr(front_end(max_tokens=70)) == f"{front_end.__name__}(max_tokens=70)"
    assert "length_function :" in classes(name)[1].__doc__
