"""An embedder behind an endpoint: a real server on loopback that speaks OpenAI's protocol."""

import asyncio
import json
import pickle

import numpy as np
import pytest

from advchunk import (
    BadModelOutput,
    ConfigurationError,
    ModelUnavailable,
    OpenAIEmbedder,
    SemanticThresholdChunker,
    create,
)
from advchunk.models.cache import with_cache
from advchunk.models.embedders import as_embedder
from servers import LONG, Endpoint, breaks_off, fails, free_port, hangs, reading, replies, resets

pytestmark = pytest.mark.slow

TEXT = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."


def row(text, width=2):
    return [float(len(text)), *[text.count("a") + 1.0] * (width - 1)]


@reading
def embeds(body, order=1, width=2):
    """Answer as an embedding model does."""
    items = [
        {"object": "embedding", "index": i, "embedding": row(text, body.get("dimensions", width))}
        for i, text in enumerate(body["input"])
    ]
    answer = {"object": "list", "model": "m", "data": items[::order], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return replies(200, json.dumps(answer))


def reply(*rows):
    data = [{"object": "embedding", "index": i, "embedding": values} for i, values in rows]
    return replies(200, json.dumps({"object": "list", "model": "m", "data": data, "usage": None}))


def at(endpoint, **params):
    return OpenAIEmbedder(endpoint.url, "small", **{"timeout": 20, "backoff": 0.01, "retries": 2, **params})


def called(embedder, texts):
    return as_embedder(embedder).embed(texts)


def awaited(embedder, texts):
    return asyncio.run(as_embedder(embedder).aembed(texts))


both = pytest.mark.parametrize("embed", [called, awaited])


@both
def test_rows_are_in_the_order_of_the_texts(embed):
    texts = ["a", "bb", "", "a cat", "\ud800"]
    with Endpoint(reading(lambda body: embeds(body, order=-1))) as endpoint:
        rows = embed(at(endpoint), texts)
    expected = np.array([row(text) for text in ("a", "bb", " ", "a cat", "\ufffd")])
    assert rows == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert endpoint.asked == [
        {"model": "small", "input": ["a", "bb", " ", "a cat", "\ufffd"], "encoding_format": "float"}
    ]


@both
def test_texts_are_sent_in_batches_with_dimensions_and_options(embed):
    with Endpoint(embeds) as endpoint:
        embedder = at(endpoint, batch_size=3, dimensions=5, options={"user": "me"})
        assert embed(embedder, list("abcdefgh")).shape == (8, 5)
    assert [len(body["input"]) for body in endpoint.asked] == [3, 3, 2]
    assert (endpoint.asked[0]["dimensions"], endpoint.asked[0]["user"]) == (5, "me")


def test_chunkers_send_batches_and_cache_the_rows():
    kept = {}
    with Endpoint(embeds) as endpoint:
        chunkers = [SemanticThresholdChunker(embedder=at(endpoint, batch_size=2), cache=kept) for _ in range(2)]
        first, second = (chunker.chunk(TEXT) for chunker in chunkers)
    assert first == second
    assert [len(body["input"]) for body in endpoint.asked] == [2, 2]


@both
def test_temporary_failures_are_retried(embed):
    troubles = [fails(503), fails(429), resets, breaks_off, replies(200, "no json")]
    with Endpoint(*troubles, embeds) as endpoint:
        assert embed(at(endpoint, retries=5), ["a"]).shape == (1, 2)
    assert len(endpoint.asked) == 6


@both
def test_refusals_and_silence_are_reported_without_the_key(embed, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-secret")
    for trouble, message in [
        (fails(401, "bad key {key}"), "HTTP 401"),
        (fails(400, "no such model"), "no such model"),
        (hangs(LONG), "no answer in 0.5 s"),
    ]:
        with Endpoint(trouble) as endpoint, pytest.raises(ModelUnavailable, match=message) as caught:
            embed(at(endpoint, timeout=0.5 if "no answer" in message else 20, retries=0), ["a"])
        assert "planted" not in str(caught.value)
        assert caught.value.__context__ is None or "planted" not in repr(caught.value.__context__)
    with pytest.raises(ModelUnavailable, match="small at http"):
        embed(OpenAIEmbedder(f"http://127.0.0.1:{free_port()}/v1", "small", retries=0), ["a"])


@both
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, [1.0, 2.0])], "answered 2 texts with 1 vectors"),
        ([(0, [1.0]), (2, [1.0])], "answered 2 texts with 2 vectors"),
        ([(0, [1.0, 2.0]), (1, [1.0, 2.0])], r"must return vectors of length 3, got \[2\]"),
    ],
)
def test_wrong_answers_are_refused(embed, rows, message):
    with Endpoint(reply(*rows)) as endpoint, pytest.raises(BadModelOutput, match=message):
        embed(at(endpoint, dimensions=3), ["a", "b"])


def test_another_model_dimension_or_option_is_another_in_a_cache():
    kept, url = {}, "http://localhost:1/v1"
    others = [OpenAIEmbedder(url, "n"), OpenAIEmbedder("http://localhost:2/v1", "m")]
    variants = [OpenAIEmbedder(url, "m", **params) for params in ({}, {"dimensions": 3}, {"options": {"task": "x"}})]
    variants += others
    same = [OpenAIEmbedder(url, "m", timeout=3, retries=0, batch_size=7), pickle.loads(pickle.dumps(variants[0]))]
    keys = [with_cache(as_embedder(embedder), kept)._look_up("embed", ["a"])[0][0] for embedder in [*variants, *same]]
    assert len(set(keys)) == len(variants)
    assert keys[-2:] == [keys[0]] * 2
    prints = {SemanticThresholdChunker(embedder=embedder).fingerprint() for embedder in variants}
    assert len(prints) == len(variants)


def test_settings_are_checked():
    for name, value in (("batch_size", 0), ("dimensions", 0), ("max_tokens", 1.5)):
        with pytest.raises(ConfigurationError, match=f"{name} must be a whole number >= 1"):
            OpenAIEmbedder("http://localhost:1/v1", "m", **{name: value})


@pytest.mark.parametrize("name", ["text-embedding-3-small", "http://localhost:11434/v1"])
def test_names_of_hosted_models_lead_to_the_endpoint(name):
    with pytest.raises((ConfigurationError, ModelUnavailable), match=r"advchunk\.OpenAIEmbedder"):
        create("semantic-threshold", embedder=name).chunk(TEXT)
