import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest

from advchunk import Chunk, ConfigurationError, RecursiveChunker, Span, UniversalSemanticChunker
from advchunk.building.positions import DocumentPlaces
from advchunk.models.cache import with_cache
from advchunk.models.embedders import as_embedder
from advchunk.models.static import default_embedder
from advchunk.retrieval import PassageCutter, Retriever, Search, StoredRetriever
from advchunk.retrieval.lexical_index import _Part
from growing import check_growth
from servers import LONG

TEXTS = {
    "tea.txt": "Green tea is made of leaves. It is drunk hot. The leaves stand for two minutes. Then they are "
    "taken out.",
    "ships.txt": "Sailors drank rum. The captain kept the barrels. He opened them on Sundays. Nobody else had the key.",
    "law.txt": "Judges sit in court. They read the files. Appeals take a year. The file number is K-77.",
}
MODES = ["dense", "lexical", "hybrid"]


def chunks(**parameters):
    chunker = RecursiveChunker(max_tokens=10, **parameters)
    return {name: chunker.chunk(text) for name, text in TEXTS.items()}


@pytest.mark.parametrize("mode", MODES)
def test_a_planted_answer_is_found(mode):
    retriever = Retriever(chunks(), mode=mode, neighbors=False)
    assert retriever.search("Which file number?")[0].chunk.text == "The file number is K-77."
    assert retriever.search("Which file number?")[0].document == "law.txt"


def test_the_answer_beside_the_hit_is_found_by_neighbors():
    question = "Who kept the barrels of the sailors' rum, and when did the captain open them?"
    plain, neighbors = (Retriever(chunks(), mode="lexical", neighbors=value) for value in (False, True))
    assert "Nobody else had the key." not in [hit.chunk.text.strip() for hit in plain.search(question)]
    assert "Nobody else had the key." in [hit.chunk.text.strip() for hit in neighbors.search(question, 4)]


@pytest.mark.parametrize("mode", MODES)
def test_async_equals_sync(mode):
    retriever = Retriever(chunks(), mode=mode)
    assert asyncio.run(retriever.asearch("hot tea", 3)) == retriever.search("hot tea", 3)
    assert asyncio.run(retriever.apassages("hot tea", 30)) == retriever.passages("hot tea", 30)


def test_other_tasks_run_while_a_scorer_scores():
    started, other_ran = Event(), Event()

    def slow(_question, texts):
        started.set()
        assert other_ran.wait(LONG)
        return [1.0] * len(texts)

    async def other():
        while not started.is_set():
            await asyncio.sleep(0)
        other_ran.set()

    async def both():
        retriever = Retriever(chunks(), mode="lexical", cutter=PassageCutter(scorer=slow))
        await asyncio.gather(retriever.apassages("hot tea", 30), other())

    asyncio.run(both())


@pytest.mark.parametrize("mode", MODES)
def test_documents_are_added_async_as_they_are_added(mode):
    class Awaited:
        def embed(self, texts):
            return default_embedder().embed(texts)

        async def aembed(self, texts):
            batches.append(len(texts))
            return self.embed(texts)

    async def fill(retriever):
        await retriever.aadd_many(chunks(), TEXTS)
        await retriever.aadd_many({"law.txt": chunks()["tea.txt"]}, {"law.txt": TEXTS["tea.txt"]})
        with pytest.raises(ConfigurationError, match="chunks must have the text at their spans"):
            await retriever.aadd_many({"law.txt": chunks()["law.txt"]}, {"law.txt": "Other."})

    batches, awaited, plain = [], Retriever(embedder=Awaited(), mode=mode), Retriever(embedder=Awaited(), mode=mode)
    asyncio.run(fill(awaited))
    assert bool(batches) == (mode != "lexical")
    plain.add_many(chunks(), TEXTS)
    plain.add("law.txt", chunks()["tea.txt"], text=TEXTS["tea.txt"])
    assert awaited.documents == plain.documents == ["tea.txt", "ships.txt", "law.txt"]
    assert awaited.search("hot tea") == plain.search("hot tea")
    assert awaited.passages("hot tea", 60) == plain.passages("hot tea", 60)


@pytest.mark.parametrize("mode", MODES)
def test_saved_and_loaded(mode, tmp_path):
    retriever = Retriever(chunks(add_scores=True), mode=mode, neighbors=False, lexical_weight=3.0, texts=TEXTS)
    retriever.save(tmp_path / "index")
    loaded = Retriever.load(tmp_path / "index")
    assert loaded.settings == Search(mode, lexical_weight=3.0)
    for question in ("rum", "hot tea", "file number"):
        assert loaded.search(question) == retriever.search(question)
        assert loaded.passages(question, 40) == retriever.passages(question, 40)
    loaded.add("new.txt", RecursiveChunker().chunk("Coffee."))
    assert loaded.search("coffee", 1)[0].document == "new.txt"


def test_an_index_of_another_embedder_or_damaged_is_refused(tmp_path):
    class Other:
        model_name = "other"

        def embed(self, texts):
            return np.ones((len(texts), 256))

    path = tmp_path / "index"
    Retriever(chunks()).save(path)
    with pytest.raises(ConfigurationError, match=r"embedder must be .*, as when the index was made, got 'other'"):
        Retriever.load(path, embedder=Other())
    with pytest.raises(ConfigurationError, match=r"that a retriever has saved, got .*none"):
        Retriever.load(tmp_path / "none")
    with pytest.raises(ConfigurationError, match="must be made again"):
        Retriever(chunks()).save(tmp_path)
    path.write_text("no index" * 1000)
    with pytest.raises(ConfigurationError, match=r"that a retriever has saved.*not a database"):
        Retriever.load(path)


@pytest.mark.parametrize("value", [object(), (1, 2), {1: "a"}, {"a": [{"b": {2}}]}, np.float64(1)])
def test_metadata_that_json_would_change_is_refused_and_the_file_stays(value, tmp_path):
    (chunk,) = RecursiveChunker().chunk("Tea.")
    retriever = Retriever({"a": [chunk]})
    retriever.save(tmp_path / "index")
    retriever.add("b", [replace(chunk, metadata={"value": value})])
    with pytest.raises(ConfigurationError, match="metadata must be JSON to be saved"):
        retriever.save(tmp_path / "index")
    assert Retriever.load(tmp_path / "index").documents == ["a"]
    assert [item.name for item in tmp_path.iterdir()] == ["index"]


def test_adding_and_removing_take_linear_time():
    (chunk,) = RecursiveChunker().chunk("Green tea is hot.")

    def fill_and_empty(count):
        retriever = Retriever(mode="lexical")
        for i in range(count):
            retriever.add(f"{i}", [chunk])
        for i in range(count):
            retriever.add(f"{i}", [chunk])
        for i in range(count):
            retriever.remove(f"{i}")

    check_growth(fill_and_empty, int, 200)


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_search_after_an_addition_reads_what_was_added(is_stored, tmp_path, monkeypatch):
    def counting(cls):
        make = cls.of
        monkeypatch.setattr(cls, "of", lambda rows, *args: read.append(len(own := [*rows])) or make(own, *args))

    read, (chunk,) = list[int](), RecursiveChunker().chunk("Green tea is hot.")
    retriever = StoredRetriever(tmp_path / "a", mode="lexical") if is_stored else Retriever(mode="lexical")
    counting(DocumentPlaces)
    counting(_Part)
    for i in range(128):
        retriever.add(f"{i}", [chunk])
        assert len(retriever.rank("tea")) == min(i + 1, 100)
    assert sum(read) < 128 * 8  # to read all of them each time takes ten times as much


def test_a_call_that_is_cancelled_changes_nothing():
    class Silent:
        embed = staticmethod(default_embedder().embed)

        async def aembed(self, texts):
            await asyncio.Event().wait()

    retriever = Retriever(chunks(), embedder=Silent())
    before = retriever.search("hot tea")
    for call in (retriever.asearch("hot tea"), retriever.aadd_many({"new.txt": chunks()["law.txt"]})):
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(call, 0.01))
    assert retriever.documents == list(TEXTS)
    assert retriever.search("hot tea") == before


def test_a_retriever_can_be_pickled():
    retriever = Retriever(chunks())
    copied = pickle.loads(pickle.dumps(retriever))
    copied.remove("law.txt")
    assert copied.search("hot tea")[0].chunk == retriever.search("hot tea")[0].chunk


def test_threads_add_remove_and_search_at_once():
    retriever, group = Retriever(chunks(), mode="lexical"), chunks()["tea.txt"]

    def work(number):
        for i in range(20):
            retriever.add(f"{number}-{i}", group)
            assert retriever.search("hot tea", 1)[0].chunk.text
            assert retriever.passages("hot tea", 20)
            if i % 2:
                retriever.remove(f"{number}-{i}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    kept = {f"{number}-{i}" for number in range(4) for i in range(0, 20, 2)}
    assert {*retriever.documents} == {*chunks(), *kept}
    fresh = Retriever({**dict.fromkeys(retriever.documents, group), **chunks()}, mode="lexical")
    assert retriever.rank("hot tea").scores == pytest.approx(fresh.rank("hot tea").scores)


def test_a_failed_addition_changes_nothing():
    broken = False

    def embed(texts):
        if broken:
            msg = "down"
            raise OSError(msg)
        return np.ones((len(texts), 4))

    retriever = Retriever(chunks(), embedder=embed)
    before = retriever.search("tea")
    broken = True
    with pytest.raises(OSError, match="down"):
        retriever.add("tea.txt", chunks()["law.txt"])
    broken = False
    assert retriever.search("tea") == before
    (chunk,) = RecursiveChunker().chunk("Tea.")
    with pytest.raises(ConfigurationError, match="rows must be"):
        retriever.add("tea.txt", [replace(chunk, vector=np.ones(3))])
    assert retriever.search("tea") == before


def test_the_embedder_is_called_in_full_batches():
    calls = []

    def embed(texts):
        calls.append(len(texts))
        return np.ones((len(texts), 4))

    Retriever(chunks(), embedder=embed)
    assert calls == [sum(map(len, chunks().values()))]


def test_a_model_of_a_framework_embeds_queries_by_its_own_method():
    class Asymmetric:
        def embed_documents(self, texts):
            return [[1.0, 0.0] if "rum" in text else [0.0, 1.0] for text in texts]

        def embed_query(self, text):
            return [1.0, 0.0]

    retriever = Retriever(chunks(), embedder=Asymmetric(), mode="dense", neighbors=False)
    assert retriever.search("Anything", 1)[0].document == "ships.txt"


def test_as_many_chunks_as_are_asked_for():
    text = "Tea and rum. " * 400
    retriever = Retriever({"a": RecursiveChunker(max_tokens=4).chunk(text)}, mode="lexical", neighbors=False)
    assert len(retriever.search("tea", 300)) == 300


def test_chunks_without_tokens_are_counted():
    bare = {name: [replace(chunk, tokens=0) for chunk in group] for name, group in chunks().items()}
    counted, expected = (Retriever(some, tokenizer="words") for some in (bare, chunks()))
    assert [hit.chunk.text for hit in counted.search("hot tea")] == [
        hit.chunk.text for hit in expected.search("hot tea")
    ]
    assert all(hit.chunk.tokens for hit in counted.search("hot tea"))


def test_vectors_of_chunks_are_kept_and_the_others_embedded():
    asked = []

    def embed(texts):
        asked.extend(texts)
        return [[float(len(text)), 1.0] for text in texts]

    with_rows = UniversalSemanticChunker(max_tokens=20, embedder=embed, vectors="units").chunk(TEXTS["tea.txt"])
    asked.clear()
    plain = RecursiveChunker(max_tokens=10).chunk(TEXTS["law.txt"])
    Retriever({"tea.txt": with_rows, "law.txt": plain}, embedder=embed)
    assert asked == [chunk.embed_text for chunk in plain]


@pytest.mark.parametrize("text", [None, TEXTS["ships.txt"]])
def test_the_sentences_whose_vectors_are_kept_are_found_beyond_words(text):
    def embed(texts):
        return [[float("key" in text or "lock" in text), 1.0] for text in texts]

    def passages(weight):
        cutter = PassageCutter(scorer_weight=weight)
        retriever = Retriever({"ships.txt": own}, embedder=embed, cutter=cutter, tokenizer="words")
        retriever.add("ships.txt", own, text=text)
        return [passage.text for passage in retriever.passages("What fits the lock?", 8)]

    own = RecursiveChunker(max_tokens=60, embedder=embed, tokenizer="words", vectors="units").chunk(TEXTS["ships.txt"])
    assert "key" in passages(0.4)[0]
    assert passages(0.4) != passages(0.0)


ENGLISH = SimpleNamespace(languages=("en",), embed=lambda texts: default_embedder().embed(texts))  # under another name
GERMAN = "Der Mast steht auf dem Deck. Der Koch backt das Brot auf dem Deck."


@pytest.mark.parametrize(
    ("embedder", "text", "question"),
    [
        *((own, TEXTS["ships.txt"], "Rum?") for own in (None, "hybrid", with_cache(as_embedder(None), {}))),
        (ENGLISH, GERMAN, "Welches Deck?"),
    ],
)
def test_vectors_of_sentences_that_say_no_more_than_words_do_not_count(embedder, text, question):
    retriever = Retriever({"a": RecursiveChunker(embedder=embedder, vectors="units").chunk(text)}, embedder=embedder)
    passages = retriever.passages(question, 20)
    assert [hit.row_scores for passage in passages for hit in passage.hits] == [()]


def test_a_chunk_that_was_found_and_is_added_again_has_one_vector():
    own = RecursiveChunker(vectors="units", embedder=ENGLISH).chunk(TEXTS["ships.txt"])
    first = Retriever({"a": own}, embedder=ENGLISH)
    again = Retriever({"a": [first.search("rum")[0].chunk]}, embedder=ENGLISH)
    scores = [retriever.passages("rum", 50)[0].hits[0].row_scores for retriever in (first, again)]
    assert [len(own) for own in scores] == [4, 0]


def test_a_lexical_retriever_calls_no_model():
    retriever = Retriever(chunks(), embedder=lambda _: pytest.fail("it was called"), mode="lexical", tokenizer="words")
    assert retriever.passages("rum", 10)[0].document == "ships.txt"


def test_an_empty_retriever_finds_nothing():
    assert Retriever().search("tea") == []
    assert Retriever({"a": []}).passages("tea") == []


def test_a_document_that_is_edited_loses_its_old_text():
    retriever = Retriever()
    for text in ("Tea is hot. Rum is cold.", "Tea is hot;\nRum is cold;"):
        pieces = [Chunk("Tea is hot", (Span(0, 10),), 3), Chunk("Rum is cold", (Span(12, 23),), 3)]
        retriever.add("a", pieces, text=text if "." in text else None)
    (passage,) = retriever.passages("tea rum", 20, whole_chunks=True)  # the old text would keep them apart
    assert len(passage.hits) == 2


def test_a_text_that_is_not_that_of_the_chunks_is_refused():
    retriever = Retriever(chunks())
    with pytest.raises(
        ConfigurationError, match=r"chunks must have the text at their spans; in 'tea.txt' they have another"
    ):
        retriever.add("tea.txt", chunks()["law.txt"], text=TEXTS["tea.txt"])
    assert retriever.search("hot tea", 1)[0].document == "tea.txt"
