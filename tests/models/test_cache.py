import asyncio
import logging
import pickle
import sqlite3
import sys
import threading
import time
import zlib
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
import pytest
from pydantic import BaseModel

from advchunk import BadModelOutput, ConfigurationError, MissingExtra, SemanticThresholdChunker
from advchunk.engine import ChatRequest, Choose, Complete, Embed, Job, Score, adrive, drive
from advchunk.models.cache import FileStore, RedisStore, with_cache
from advchunk.models.causal import as_causal
from advchunk.models.chat import Chat, Reply, Usage, as_chat, usable_answer
from advchunk.models.embedders import as_embedder
from advchunk.models.endpoint import OpenAIChat
from servers import Redis

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


@pytest.fixture(scope="session")
def running_redis(tmp_path_factory):
    with Redis(tmp_path_factory.mktemp("redis")) as redis:
        yield redis


@pytest.fixture(params=["path", "str", "dict", "store", pytest.param("redis", marks=pytest.mark.slow)])
def cache(request, tmp_path):
    if request.param == "redis":
        redis = request.getfixturevalue("running_redis")
        redis.empty()
        return redis.url
    path = tmp_path / "not" / "yet" / "there.db"
    return {"path": path, "str": str(path), "dict": {}, "store": Shelf()}[request.param]


def test_a_second_run_asks_only_about_what_is_new(cache):
    model, other = Model(), Model()
    first = SemanticThresholdChunker(embedder=model, cache=cache, buffer_size=0)
    chunks = first.chunk(TEXT)
    assert len(model.shown) == 5
    second = SemanticThresholdChunker(embedder=other, cache=cache, buffer_size=0)
    assert second.chunk(TEXT) == chunks
    assert other.shown == []
    second.chunk("A new one. " + TEXT)
    assert other.shown == ["A new one. "]


@dataclass(frozen=True)
class Scaled:
    """A model whose vectors depend on a setting."""

    angle: float
    model_name: str = "scaled"

    def embed(self, texts):
        return [[1.0, self.angle] for _ in texts]


def test_looking_up_does_not_hold_up_the_event_loop():
    class Where(Shelf):
        threads = frozenset()

        def get_many(self, keys):
            self.threads |= {threading.get_ident()}
            return super().get_many(keys)

        def set_many(self, values):
            self.threads |= {threading.get_ident()}
            super().set_many(values)

    asyncio.run(SemanticThresholdChunker(embedder=Model(), cache=(store := Where())).achunk(TEXT))
    assert store.threads
    assert threading.get_ident() not in store.threads


def test_a_model_without_a_name_is_refused():
    with pytest.raises(ConfigurationError, match="a cache needs a model with a model_name"):
        SemanticThresholdChunker(embedder=lambda texts: [[1.0]] * len(texts), cache={})
    with pytest.raises(ConfigurationError, match="a cache needs a model with a model_name"):
        with_cache(as_chat(lambda prompt: prompt), {})


@pytest.fixture(params=["file", pytest.param("redis", marks=pytest.mark.slow)])
def store(request, tmp_path):
    if request.param == "file":
        return FileStore(str(tmp_path / "new" / "a.db"))
    redis = request.getfixturevalue("running_redis")
    redis.empty()
    return RedisStore(redis.url)


def test_a_store_keeps_bytes(store):
    values = {f"k{i}": bytes([i % 256]) * (i % 7) for i in range(2100)}  # more keys than one statement takes
    assert store.get_many(list(values)) == {}
    store.set_many(values)
    assert store.get_many([*values, "absent"]) == values
    store.set_many({"k1": b"new"})
    assert store.get_many(["k1"]) == {"k1": b"new"}
    assert store.get_many([]) == {}
    assert pickle.loads(pickle.dumps(store)) == store


def test_only_its_owner_reads_a_new_file_and_another_keeps_its_permissions(tmp_path):
    path, other = tmp_path / "new" / "a.db", tmp_path / "b.db"
    other.touch(0o644)
    for file in (path, other):
        FileStore(str(file)).set_many({"a": b"x"})
    assert {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {"a.db": 0o600}
    assert other.stat().st_mode & 0o777 == 0o644


def write(store, name):
    for i in range(10):
        store.set_many({f"{name} {i}": name.encode(), "shared": b"same"})
        assert store.get_many([f"{name} {i}", "shared"]) == {f"{name} {i}": name.encode(), "shared": b"same"}
    return name


def test_threads_share_a_store(store):
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(write, [store] * 8, map(str, range(8))))
    assert len(store.get_many([f"{name} {i}" for name in names for i in range(10)])) == 80


@pytest.mark.slow
def test_processes_make_and_share_a_file(tmp_path):
    store = FileStore(str(tmp_path / "new" / "a.db"))
    values = [{f"{name} {i}": name.encode(), "shared": b"same"} for name in "ab" for i in range(20)]
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        list(pool.map(FileStore.set_many, [store] * 40, values))
        result = list(pool.map(FileStore.get_many, [store] * 2, [[key for batch in values for key in batch]] * 2))
    assert [len(some) for some in result] == [41, 41]


def test_a_file_may_be_removed(tmp_path, caplog):
    path, plain = tmp_path / "a.db", chunks_of(None)
    assert chunks_of(path) == plain
    path.unlink()
    asked, kept = Model(), Model()
    assert chunks_of(path, model=asked) == chunks_of(path, model=kept) == plain
    assert (len(asked.shown) > 0, kept.shown) == (True, [])
    assert not warnings_in(caplog)


def test_rows_of_another_length_than_those_kept_are_refused():
    kept, model = {}, Model()
    with_cache(as_embedder(model), kept).embed(["a"])
    model.rows = lambda texts: [[1.0, 2.0, 3.0]] * len(texts)
    with pytest.raises(BadModelOutput, match=r"got lengths \[2, 3\]"):
        with_cache(as_embedder(model), kept).embed(["a", "b"])


# Every kind of answer.


class Writer:
    """A chat model that notes its prompts, and refuses some."""

    model_name = "writer"

    def __init__(self, refuses=()):
        self.prompts, self.refuses = [], refuses

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return "" if prompt in self.refuses else f"{prompt}: \u00fc\ud800"


class Reader:
    """A language model that notes what it is shown."""

    def __init__(self, model_name="reader"):
        self.model_name, self.shown = model_name, []

    def surprise(self, text):
        self.shown.append(text)
        return np.arange(1, len(text) + 1), np.linspace(0.1, 3, len(text))

    def choose(self, prompt, options):
        self.shown.append(prompt)
        return np.full(len(options), 0.3)


def ask_for_rows(ask):
    rows = yield ask
    return [row if isinstance(row, str) else row.tolist() for row in rows]


def answers(asks, awaited):
    async def run():
        return [result async for result in adrive(jobs)]

    jobs = [Job(ask_for_rows(ask)) for ask in asks]
    return asyncio.run(run()) if awaited else list(drive(jobs))


@pytest.mark.parametrize("awaited", [False, True])
def test_every_kind_of_answer_is_kept(cache, awaited):
    def asks(chat, lm, embedder, cache):
        return [
            Complete((ChatRequest((("user", "a"),)), ChatRequest((("user", "b"),))), with_cache(as_chat(chat), cache)),
            Score((("some text", (0, 5, 9)), ("text", (0, 4))), with_cache(as_causal(lm), cache)),
            Choose((("Split?", ("yes", "no")),), with_cache(as_causal(lm), cache)),
            Embed(("a", "bb"), with_cache(as_embedder(embedder), cache)),
        ]

    plain = answers(asks(Writer(), Reader(), Model(), None), awaited)
    chat, lm, model = Writer(), Reader(), Model()
    assert answers(asks(chat, lm, model, cache), awaited) == plain
    assert [len(chat.prompts), len(lm.shown), len(model.shown) + len(model.awaited)] == [2, 3, 2]
    chat, lm, model = Writer(), Reader(), Model()
    assert answers(asks(chat, lm, model, cache), not awaited) == plain
    assert chat.prompts == lm.shown == model.shown == model.awaited == []


ASKED = ChatRequest((("user", "u"),))


class Named(BaseModel):
    """As the embedders of frameworks are."""

    model: str = "small"
    dimensions: int = 2

    def embed(self, texts):
        return [[1.0] * self.dimensions] * len(texts)


URL, USER = "http://localhost:1/v1", (("user", "u"),)
# Requests of a kind that no answer may be shared by; of each pair the first model is the usual one.
APART = {
    "complete": [
        *((as_chat(Writer()), request) for request in (
            ASKED, ChatRequest((("user", "v"),)), ChatRequest((("system", "u"),)), ChatRequest(USER * 2),
            ChatRequest(USER, schema="{}"), ChatRequest(USER, max_tokens=9), ChatRequest(USER, temperature=0.5),
            ChatRequest(USER, seed=0), ChatRequest(USER, version="2"),
        )),
        *((OpenAIChat(*address, **options), ASKED) for *address, options in (
            (URL, "m", {}), (URL, "n", {}), ("http://localhost:2/v1", "m", {}), (URL, "m", {"options": {"top_p": 0.5}}),
        )),
    ],
    "score": [
        (as_causal(Reader()), ("text", (0, 4))), (as_causal(Reader("other")), ("text", (0, 4))),
        (as_causal(Reader(), measure="perplexity"), ("text", (0, 4))), (as_causal(Reader()), ("Text", (0, 4))),
        (as_causal(Reader()), ("text", (0, 2, 4))), (as_causal(Reader()), ("a", ())),
    ],
    "choose": [(as_causal(Reader()), ("a", ()))],
    "embed": [
        (as_embedder(Model()), "a"), (as_embedder(Model("two")), "a"), (as_embedder(Scaled(0)), "a"),
        (as_embedder(Scaled(1)), "a"), (as_embedder(Named()), "a"),
        (as_embedder(Named(dimensions=3)), "a"), (as_embedder(Named(model="large")), "a"),
    ],
}  # fmt: skip


def test_another_model_setting_or_request_is_asked_again():
    def key(kind, model, item):
        return with_cache(model, {})._look_up(kind, [item])[0][0]

    keys = [key(kind, *pair) for kind, pairs in APART.items() for pair in pairs]
    assert len(set(keys)) == len(keys)
    assert key("score", as_causal(Reader()), ("text", (0, np.int64(4)))) in keys
    assert key("complete", as_chat(Writer()), ChatRequest(USER)) in keys


def is_good(answer):
    if not answer.startswith("good"):
        raise BadModelOutput


@pytest.mark.parametrize("awaited", [False, True])
def test_only_answers_that_pass_the_check_are_kept(cache, awaited):
    def asked(*prompts, check):
        chat = Writer()
        requests = tuple(ChatRequest((("user", prompt),), check=check) for prompt in prompts)
        (rows,) = answers([Complete(requests, with_cache(as_chat(chat), cache))], awaited)
        assert [row.partition(":")[0] for row in rows] == [*prompts]
        return chat.prompts

    assert asked("good", "bad", "good", check=is_good) == ["good", "bad"]
    assert asked("good", "bad", check=is_good) == ["bad"]
    assert asked("good", "bad", check=None) == ["bad"]
    assert asked("good", "bad", check=None) == []
    assert asked("good", "bad", check=is_good) == ["bad"]  # as if another reader had kept it


def test_an_answer_after_some_attempts_is_that_of_the_request():
    seeds, cache, good = [], {}, "good"

    class Moody(Chat):
        concurrency, budget, identity, usage = 1, None, "moody", Usage()

        def ask(self, request):
            seeds.append(request.seed)
            return Reply(good if len(seeds) > 2 else "")

    def plan():
        request = ChatRequest((("user", "u"),), seed=7)
        return (yield from usable_answer(with_cache(Moody(), cache), request, str.upper, 3))

    for _ in range(2):
        assert list(drive([Job(plan())])) == ["GOOD"]
    assert seeds == [7, 8, 9]


# What may be wrong with a cache.


def warnings_in(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def chunks_of(cache, documents=4, model=None):
    chunker = SemanticThresholdChunker(embedder=model or Model(), cache=cache)
    return [chunker.chunk(f"{i}. {TEXT}") for i in range(documents)]


@pytest.mark.parametrize(
    "damage",
    [lambda _: b"", lambda _: b"abc", lambda v: v[:-1], lambda v: v[:9] + b"!" + v[10:], str, lambda _: 7, list],
)
def test_foreign_entries_are_asked_again(damage, caplog):
    plain = chunks_of(kept := {})
    good = dict(kept)
    kept.update((key, damage(value)) for key, value in good.items())
    assert chunks_of(kept, 1) == plain[:1]
    assert len(warnings_in(caplog)) == 1
    assert "holds foreign or damaged values" in warnings_in(caplog)[0]
    assert chunks_of(kept) == plain
    assert kept == good  # mended


@pytest.mark.parametrize(
    ("kind", "item", "value"),
    [
        ("complete", ASKED, b"\xff" * 24),
        ("score", ("text", (0, 4)), np.zeros(3).tobytes()),
        ("choose", ("Split?", ("yes", "no")), np.zeros(3).tobytes()),
        *(("embed", "a", np.array(row, "<f4").tobytes()) for row in ([np.nan, 1.0], [np.inf, 1.0], [])),
        ("embed", "a", b"odd"),
    ],
)
def test_stored_answers_that_no_model_gives_are_asked_again(kind, item, value, caplog):
    def answer():
        model = as_chat(Writer()) if kind == "complete" else as_causal(Reader())
        (row,) = getattr(with_cache(as_embedder(Model()) if kind == "embed" else model, kept), kind)([item])
        return row if kind == "complete" else row.tolist()

    kept = {}
    plain, good = answer(), dict(kept)
    kept.update((key, zlib.crc32(value).to_bytes(4, "big") + value) for key in good)
    assert answer() == plain
    assert (kept, len(warnings_in(caplog))) == (good, 1)


def test_a_cache_that_blocks_takes_a_small_share_of_the_time(monkeypatch):
    clock, waited = 0.0, 0.0

    class Locked(Shelf):
        def get_many(self, keys):
            nonlocal clock, waited
            clock, waited = clock + 5, waited + 5
            msg = "database is locked"
            raise sqlite3.OperationalError(msg)

    monkeypatch.setattr("time.monotonic", lambda: clock)
    cached = with_cache(as_embedder(Model()), Locked())
    while clock < 3600:
        cached.embed(["a"])
        clock += 1
    assert 0 < waited <= 0.06 * clock


def test_a_locked_file_is_waited_for_briefly(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("advchunk.models.cache._LOCK_TIMEOUT", 0.01)
    path = tmp_path / "a.db"
    plain = chunks_of(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        assert chunks_of(path, 6)[:4] == plain
    assert len(warnings_in(caplog)) == 1
    assert "locked" in warnings_in(caplog)[0]


def unreadable(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("No database at all. " * 500)
    return path


def torn(tmp_path):
    path = tmp_path / "a.db"
    chunks_of(path, 40)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)
    return path


def in_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    return tmp_path / "file" / "a.db"


def of_another_shape(tmp_path):
    file = sqlite3.connect(tmp_path / "a.db")
    file.execute("CREATE TABLE kv (name TEXT)")
    file.close()
    return tmp_path / "a.db"


@pytest.mark.parametrize("make", [unreadable, torn, in_a_file, of_another_shape, lambda tmp_path: tmp_path])
def test_a_file_that_is_not_a_cache_gives_a_warning(make, tmp_path, caplog):
    plain = chunks_of(None)
    path = make(tmp_path)
    before = path.read_bytes() if path.is_file() else None
    assert chunks_of(path) == plain
    assert len(warnings_in(caplog)) == 1
    assert str(path) in warnings_in(caplog)[0]
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    ("pragma", "phrase"), [("max_page_count=3", "full"), ("query_only=1", "readonly"), ("no_such_pragma", None)]
)
def test_a_read_only_cache_is_read(pragma, phrase, tmp_path, monkeypatch, caplog):
    path, opened = tmp_path / "a.db", FileStore._open
    plain = chunks_of(path, 2)

    def limited(place):
        file = opened(place)
        file.execute(f"PRAGMA {pragma}")
        return file

    monkeypatch.setattr(FileStore, "_open", limited)
    model = Model()
    long = " ".join(f"Sentence {i} on cats and courts." for i in range(300))
    SemanticThresholdChunker(embedder=model, cache=path).chunk(long)
    SemanticThresholdChunker(embedder=model, cache=path).chunk(long[:-1])
    assert [phrase in warning for warning in warnings_in(caplog)] == [True] * bool(phrase)
    model.shown.clear()
    assert chunks_of(path, 2, model) == plain
    assert model.shown == []


class Faulty(Shelf):
    """A store that raises or answers wrongly while it has a fault."""

    fault, calls = (), 0

    def get_many(self, keys):
        self.calls += 1
        if isinstance(self.fault, Exception):
            raise self.fault
        return super().get_many(keys) if self.fault == () else self.fault


@pytest.mark.parametrize("fault", [OSError("gone"), TimeoutError("late"), None, 7, "text", [1]])
def test_a_store_of_ones_own_may_fail(fault, caplog):
    store = Faulty()
    chunks_of(store, 2)
    store.fault, store.calls = fault, 0
    assert chunks_of(store, 6) == chunks_of(None, 6)
    assert len(warnings_in(caplog)) == 1
    assert store.calls == 1  # then it rests


def test_a_cache_that_works_again_is_used_again(monkeypatch, caplog):
    store, model, now = Faulty(), Model(), time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now)
    chunks_of(store)
    for i in range(1, 4):
        store.fault = OSError()
        chunks_of(store)
        chunks_of(store)
        assert len(warnings_in(caplog)) == i
        store.fault, now = (), now + 60
        model.shown.clear()
        chunks_of(store, model=model)
        assert model.shown == []
        before = len(store.kept)
        chunks_of(store, 5 + i)
        assert len(store.kept) > before


# Redis.


@pytest.mark.parametrize("awaited", [False, True])
def test_redis_may_stop_in_the_middle_of_a_run(tmp_path, caplog, monkeypatch, awaited):
    documents = [f"{i}. {TEXT}" for i in range(30)]

    def until(n, redis):
        for i, document in enumerate(documents):
            if i == n:
                redis.stop()
            yield document

    async def run():
        return [chunks async for chunks in chunker.astream(until(10, redis), concurrency=1)]

    plain = SemanticThresholdChunker(embedder=Model()).chunk_many(documents)
    with Redis(tmp_path) as redis:
        chunker = SemanticThresholdChunker(embedder=Model(), cache=redis.url, batch_size=1)
        assert (asyncio.run(run()) if awaited else list(chunker.stream(until(10, redis)))) == plain
        assert len(warnings_in(caplog)) == 1
        assert f"cache redis://127.0.0.1:{redis.port} failed, calling the models instead" in warnings_in(caplog)[0]
        redis.start()
        now = time.monotonic() + 60
        monkeypatch.setattr("time.monotonic", lambda: now)
        for _ in range(2):
            model = Model()
            again = SemanticThresholdChunker(embedder=model, cache=redis.url)
            assert again.chunk(documents[0]) == plain[0]
        assert model.shown == []
    assert len(warnings_in(caplog)) == 1


def test_a_redis_that_never_answers_is_waited_for_once(tmp_path, caplog, monkeypatch):
    plain, calls, execute = chunks_of(None), [], RedisStore._execute
    monkeypatch.setattr(RedisStore, "_execute", lambda *args: calls.append(args) or execute(*args))
    with Redis(tmp_path) as redis:
        redis.freeze()
        assert chunks_of(redis.url) == plain
    assert len(calls) == 1
    assert len(warnings_in(caplog)) == 1


def test_urls_that_the_client_does_not_take_are_refused_at_once():
    for url in (
        *("redis://localhost:port/0", "redis://user:planted/word@localhost", "redis://localhost?socket_timeout=soon"),
        *("redis://localhost?no_such_option=1", "reddis://localhost", "http://localhost:6379", "s3://bucket/cache.db"),
    ):
        with pytest.raises(ConfigurationError, match="the URL of a cache must be redis://HOST") as caught:
            SemanticThresholdChunker(embedder=Model(), cache=url)
        assert "planted" not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_missing_client_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtra, match=r"redis is not installed: pip install 'advchunk\[redis\]'"):
        SemanticThresholdChunker(embedder=Model(), cache="redis://localhost:6/3")
