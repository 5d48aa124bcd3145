from __future__ import annotations

import asyncio
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from advchunk import BadModelOutput, ConfigurationError, SemanticThresholdChunker
from advchunk.cache import CachedEmbedder, DictStore, FileStore, with_cache
from advchunk.models.embedders import as_embedder

TEXT = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law. \ud800 too."


class Model:
    """Counts the texts it is shown."""

    batch_size = 3

    def __init__(self, model_name="named"):
        self.model_name, self.shown, self.awaited = model_name, [], []

    def rows(self, texts):
        return [[len(text), text.count("a") + 1.0] for text in texts]

    def embed(self, texts):
        self.shown += texts
        return self.rows(texts)

    async def aembed(self, texts):
        self.awaited += texts
        return self.rows(texts)


class Shelf:
    """A store of one's own."""

    def __init__(self):
        self.kept, self.asked = {}, 0

    def get_many(self, keys):
        self.asked += 1
        return {key: self.kept[key] for key in keys if key in self.kept}

    def set_many(self, values):
        assert all(isinstance(key, str) and isinstance(value, bytes) for key, value in values.items())
        self.kept.update(values)


@pytest.fixture(params=["path", "str", "dict", "store"])
def cache(request, tmp_path):
    path = tmp_path / "not" / "yet" / "there.db"
    return {"path": path, "str": str(path), "dict": {}, "store": Shelf()}[request.param]


def test_a_second_run_calls_no_model(cache):
    model, other = Model(), Model()
    first = SemanticThresholdChunker(embedder=model, cache=cache).chunk(TEXT)
    assert len(model.shown) == 5
    assert SemanticThresholdChunker(embedder=other, cache=cache).chunk(TEXT) == first
    assert other.shown == []


def test_the_cache_changes_no_row(cache):
    plain = as_embedder(Model())
    texts = ["a", "bb", "a", "\ud800", "", "e\u0301"]
    cached = with_cache(plain, cache)
    for _ in range(2):
        rows = cached.embed(texts)
        assert rows.dtype == np.float32
        assert rows.tolist() == plain.embed(texts).tolist()


def test_only_what_is_new_is_asked(cache):
    model = Model()
    chunker = SemanticThresholdChunker(embedder=model, cache=cache, buffer_size=0)
    chunker.chunk(TEXT)
    model.shown.clear()
    chunker.chunk("A new one. " + TEXT)
    assert model.shown == ["A new one. "]


def test_another_model_name_is_another_model(cache):
    one, two = Model("one"), Model("two")
    SemanticThresholdChunker(embedder=one, cache=cache).chunk(TEXT)
    SemanticThresholdChunker(embedder=two, cache=cache).chunk(TEXT)
    assert len(two.shown) == len(one.shown) == 5


def test_awaited_and_called_share_what_is_kept(cache):
    model = Model()
    chunker = SemanticThresholdChunker(embedder=model, cache=cache)
    found = asyncio.run(chunker.achunk(TEXT))
    assert len(model.awaited) == 5
    assert chunker.chunk(TEXT) == found == asyncio.run(chunker.achunk(TEXT))
    assert len(model.awaited) == 5
    assert model.shown == []


def test_looking_up_does_not_hold_up_the_event_loop():
    class Where(Shelf):
        threads = frozenset()

        def get_many(self, keys):
            self.threads |= {threading.get_ident()}
            return super().get_many(keys)

        def set_many(self, values):
            self.threads |= {threading.get_ident()}
            super().set_many(values)

    store = Where()
    asyncio.run(SemanticThresholdChunker(embedder=Model(), cache=store).achunk(TEXT))
    assert store.threads
    assert threading.get_ident() not in store.threads


def test_a_model_without_a_name_is_refused():
    with pytest.raises(ConfigurationError, match="a cache needs an embedder with a model_name"):
        SemanticThresholdChunker(embedder=lambda texts: [[1.0]] * len(texts), cache={})


def test_a_refusal_tells_no_secret():
    class Hosted:
        api_key = "sk-secret"

        def __repr__(self):
            return f"Hosted(api_key={self.api_key!r})"

        def embed(self, texts):
            return [[1.0]] * len(texts)

    with pytest.raises(ConfigurationError) as caught:
        SemanticThresholdChunker(embedder=Hosted(), cache={})
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("bad", [7, object(), ["a"]])
def test_what_is_no_cache_is_refused(bad):
    with pytest.raises(ConfigurationError, match="a cache is a path, a dict, or has get_many and set_many"):
        SemanticThresholdChunker(embedder=Model(), cache=bad)


def test_a_file_keeps_bytes(tmp_path):
    store = FileStore(str(tmp_path / "a.db"))
    values = {f"k{i}": bytes([i % 256]) * (i % 7) for i in range(2100)}  # more keys than one statement takes
    assert store.get_many(list(values)) == {}
    store.set_many(values)
    assert store.get_many([*values, "absent"]) == values
    store.set_many({"k1": b"new"})
    assert store.get_many(["k1"]) == {"k1": b"new"}
    assert store.get_many([]) == {}
    assert pickle.loads(pickle.dumps(store)) == store


def write(store, name):
    for i in range(10):
        store.set_many({f"{name} {i}": name.encode(), "shared": b"same"})
        assert store.get_many([f"{name} {i}", "shared"]) == {f"{name} {i}": name.encode(), "shared": b"same"}
    return name


def test_threads_share_a_file(tmp_path):
    store = FileStore(str(tmp_path / "new" / "a.db"))
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(write, [store] * 8, map(str, range(8))))
    assert len(store.get_many([f"{name} {i}" for name in names for i in range(10)])) == 80


def test_processes_share_a_file(tmp_path):
    store = FileStore(str(tmp_path / "new" / "a.db"))
    values = [{f"{name} {i}": name.encode(), "shared": b"same"} for name in "ab" for i in range(20)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(FileStore.set_many, [store] * 40, values))
        found = list(pool.map(FileStore.get_many, [store] * 2, [[key for some in values for key in some]] * 2))
    assert [len(some) for some in found] == [41, 41]


def test_a_cached_embedder_is_told_apart_by_model_and_store():
    one, two = as_embedder(Model()), as_embedder(Model("two"))
    store = Shelf()
    cached = CachedEmbedder(one, store)
    assert cached == CachedEmbedder(one, store)
    assert hash(cached) == hash(CachedEmbedder(one, store))
    assert cached != CachedEmbedder(two, store)
    assert cached != CachedEmbedder(one, DictStore({}))
    assert cached.batch_size == 3


def test_rows_of_another_length_than_those_kept_are_refused():
    kept, model = {}, Model()
    with_cache(as_embedder(model), kept).embed(["a"])
    model.rows = lambda texts: [[1.0, 2.0, 3.0]] * len(texts)
    with pytest.raises(BadModelOutput, match=r"got lengths \[2, 3\]"):
        with_cache(as_embedder(model), kept).embed(["a", "b"])
