"""What models may not answer, and objects that are no models: one table for every kind, called and awaited."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from advchunk import BadModelOutput, ConfigurationError
from advchunk.engine import ChatRequest
from advchunk.models.cache import with_cache
from advchunk.models.causal import as_causal
from advchunk.models.chat import as_chat
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder

NAN, INF = np.nan, np.inf


def count(answer):
    return as_counter(lambda _: answer).counts(["a"])


def embed(answer):
    return as_embedder(lambda _: answer).embed(["a", "b"])


def aembed(answer):
    return asyncio.run(as_embedder(lambda _: answer).aembed(["a", "b"]))


def complete(answer):
    raise as_chat(lambda _: answer).complete([ChatRequest((("user", "hello"),))])[0]


def acomplete(answer):
    raise asyncio.run(as_chat(lambda _: answer).acomplete([ChatRequest((("user", "hello"),))]))[0]


def score(answer):
    return as_causal(SimpleNamespace(surprise=lambda _: answer)).score([("abc", (0, 3))])


def choose(answer):
    return as_causal(SimpleNamespace(choose=lambda *_: answer)).choose([("?", ("1", "2"))])


NO_ROWS = [
    [[1.0]], [1.0, 2.0], [[1.0], [1.0, 2.0]], [["a"], ["b"]], "ab", None, [[NAN], [1.0]], [[INF], [1.0]], [[None], [1.0]],
    [[[1.0]], [[1.0]]], [[], []], 7.0,
]  # fmt: skip
NO_TEXTS = [None, 7, b"text", ["a", 7], "", " \n"]
NO_SURPRISE = [
    None, 3, ([1], [1.0, 2.0]), ([2, 1], [1.0, 2.0]), ([1, 4], [1.0, 2.0]), ([1, 2], [1.0, INF]), (["a"], [1.0]),
    ([1, 2], [NAN, -1.5]),
]  # fmt: skip
NO_PROBABILITIES = [None, (0.5,), (0.9, 0.9), (-0.1, 0.2), ("a", "b"), (NAN, 0.5)]
FAULTY = [
    (count, [None, 2.5, -1], "a tokenizer must return the tokens of a text or their number"),
    (embed, NO_ROWS, "an embedder must return 2"),
    (aembed, NO_ROWS, "an embedder must return 2"),
    (complete, NO_TEXTS, "a chat model must answer with text"),
    (acomplete, NO_TEXTS, "a chat model must answer with text"),
    (score, NO_SURPRISE, "a language model's surprise must be"),
    (choose, NO_PROBABILITIES, "a language model must return 2 probabilities"),
]


@pytest.mark.parametrize(("call", "answers", "rule"), FAULTY, ids=lambda value: getattr(value, "__name__", ""))
def test_a_faulty_answer_is_an_error_that_names_the_rule(call, answers, rule):
    for answer in answers:
        with pytest.raises(BadModelOutput, match=rule):
            call(answer)


@pytest.mark.parametrize(
    ("coerce", "rule"),
    [
        (as_counter, "a tokenizer must be a name, a callable, or have encode"),
        (as_embedder, "an embedder must be a name, a callable, or have one of"),
        (as_chat, "an llm must be an OpenAIChat"),
        (as_causal, "lm must be the name or path of a causal language model"),
        (lambda bad: with_cache(as_embedder(), bad), "a cache must be a path, a Redis URL, a dict, or have get_many"),
    ],
)
def test_objects_that_are_no_models_are_refused(coerce, rule):
    for bad in (7, object(), ["a"]):
        with pytest.raises(ConfigurationError, match=rule):
            coerce(bad)
