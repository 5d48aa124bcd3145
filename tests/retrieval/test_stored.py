"""`StoredRetriever`: the same answers as in memory, whatever was added and removed, and a file that nothing breaks."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk import ConfigurationError, HierarchicalChunker, RecursiveChunker
from advchunk.models.static import default_embedder
from advchunk.retrieval import Retriever, StoredRetriever, index_file, lexical_index

TEXTS = {
    "tea": "Green tea is made of leaves. It is drunk hot. The leaves stand for two minutes. Don't boil them.",
    "ships": "Sailors drank rum. The captain kept the barrels. He opened them on Sundays. Nobody else had the key.",
    "law": "Judges sit in court. They read the files. Appeals take a year. The file number is K-77.",
    "weather": "天気予報です。雨が降る。 Tea and rum: \ud800 the key.",
}
QUESTIONS = ["rum", "hot tea for two", "K-77", "don't", "予報", "Who had the key of the key?"]
MODES = ["dense", "lexical", "hybrid"]


def chunks_of(name, size=10):
    return RecursiveChunker(max_tokens=size, overlap_tokens=2).chunk(TEXTS[name])


def assert_alike(stored, memory):
    assert stored.documents == memory.documents
    assert len(stored) == len(memory)
    for question in QUESTIONS:
        actual, expected = stored.search(question), memory.search(question)
        assert [(hit.document, hit.chunk) for hit in actual] == [(hit.document, hit.chunk) for hit in expected]
        assert [hit.score for hit in actual] == pytest.approx([hit.score for hit in expected], rel=1e-4)
        for whole in False, True:
            passages = (retriever.passages(question, 30, whole_chunks=whole) for retriever in (stored, memory))
            actual, expected = ([(passage.citation, passage.text) for passage in own] for own in passages)
            assert actual == expected


CHANGES = st.lists(st.tuples(st.sampled_from(sorted(TEXTS)), st.sampled_from([0, 6, 10, 30])), max_size=8)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15, deadline=None)
@given(changes=CHANGES)
def test_answers_are_those_of_memory_after_any_changes(mode, tmp_path_factory, changes):
    path = tmp_path_factory.mktemp("stored") / "my.index"
    memory, stored, open_before = (
        Retriever(mode=mode),
        StoredRetriever(path, mode=mode),
        StoredRetriever(path, mode=mode),
    )
    kept = dict[str, int]()
    for name, size in changes:
        kept.pop(name, None)
        kept |= {name: size} if size else {}
        open_before.search("rum tea key file", 20)  # the chunks that it remembers are those of now
        for retriever in memory, stored:
            if size:
                retriever.add(name, chunks_of(name, size), text=TEXTS[name])
            else:
                retriever.remove(name)
            retriever.search("rum")  # which remembers what the next change makes old
    at_once = Retriever({name: chunks_of(name, size) for name, size in kept.items()}, mode=mode)
    for question in QUESTIONS:
        expected = at_once.rank(question)
        for actual in memory.rank(question), stored.rank(question):
            assert actual.chunks.tolist() == expected.chunks.tolist()
            assert actual.scores == pytest.approx(expected.scores, rel=1e-12)
    assert_alike(StoredRetriever(path, mode=mode), memory)
    assert_alike(open_before, memory)


@pytest.mark.parametrize("most", [2, 1000])
def test_a_file_is_what_a_retriever_in_memory_saves_and_loads(tmp_path, monkeypatch, most):
    monkeypatch.setattr(lexical_index, "_MOST_TEXTS", most)  # that may have a piece of a word
    memory = Retriever({name: chunks_of(name) for name in TEXTS}, texts=TEXTS)
    memory.save(tmp_path / "a.index")
    stored = StoredRetriever(tmp_path / "a.index")
    assert_alike(stored, memory)
    with monkeypatch.context() as reading:
        reading.setattr(index_file, "chunk_from_dict", None)  # chunks are read once
        assert_alike(stored, memory)
    monkeypatch.setattr(index_file, "_BLOCK", 0)  # bytes of what is remembered
    stored.remove("tea", "law")
    memory.remove("tea", "law")
    assert_alike(stored, memory)
    assert_alike(stored, Retriever.load(tmp_path / "a.index"))


def test_chunks_with_several_rows(tmp_path):
    def embed(texts):  # not the built-in model by name, whose vectors are not used in the cut
        return default_embedder().embed(texts)

    rng, chunker = np.random.default_rng(0), RecursiveChunker(max_tokens=20, vectors="units", embedder=embed)
    groups = {name: chunker.chunk(text) for name, text in TEXTS.items()}
    groups["tea"] = [
        replace(c, rows=rng.normal(size=(1 + i % 3, 256)), row_spans=()) for i, c in enumerate(groups["tea"])
    ]
    memory, stored = Retriever(groups, embedder=embed), StoredRetriever(tmp_path / "a.index", embedder=embed)
    stored.add_many(groups)
    for retriever in memory, stored:
        retriever.remove("ships")
        retriever.add("ships", groups["ships"])
    memory.save(tmp_path / "b.index")
    for other in stored, Retriever.load(tmp_path / "b.index", embedder=embed):
        assert_alike(other, memory)
        for question in QUESTIONS:
            hits, expected = (own.passages(question, 50)[0].hits for own in (other, memory))
            assert [hit.row_scores for hit in hits] == [hit.row_scores for hit in expected]
    assert any(hit.row_scores for hit in hits)


def test_an_index_of_words_and_vectors_serves_every_mode(tmp_path):
    StoredRetriever(tmp_path / "a.index").add("tea", chunks_of("tea"))
    by_words = StoredRetriever(tmp_path / "a.index", mode="lexical")
    by_words.add("ships", chunks_of("ships"))
    assert by_words.search("rum", 1)[0].document == "ships"
    by_vectors = StoredRetriever(tmp_path / "a.index", mode="dense")
    assert len(by_vectors.search("xyzzy", 50)) == len(by_words)


@pytest.mark.parametrize(
    ("made", "opened", "rule"),
    [
        ({"mode": "lexical"}, {"mode": "hybrid"}, r"mode must be one of \('lexical',\)"),
        ({"language": "de"}, {"language": "en"}, "language must be 'de'"),
        ({"embedder": "hybrid"}, {"embedder": lambda texts: np.ones((len(texts), 4))}, None),
    ],
)
def test_an_index_is_opened_as_it_was_made(made, opened, rule, tmp_path):
    StoredRetriever(tmp_path / "a.index", **made)
    if rule is None:  # a function has no name that could differ
        StoredRetriever(tmp_path / "a.index", **opened)
        return
    with pytest.raises(ConfigurationError, match=rule):
        StoredRetriever(tmp_path / "a.index", **opened)
    assert StoredRetriever(tmp_path / "a.index").language == made.get("language", "auto")


def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path):
    stored = StoredRetriever(tmp_path / "a.index")
    stored.add("tea", chunks_of("tea"))
    before = stored.passages("hot tea", 20)
    (chunk, *_) = chunks_of("law")
    for chunks, rule in (
        ([replace(chunk, vector=np.ones(3))], "vectors must have the dimensions"),
        ([replace(chunk, metadata={"place": (1, 2)})], "metadata must be JSON"),
        (HierarchicalChunker().chunk("# Tea\n\nHot."), "must be of one level"),
    ):
        with pytest.raises(ConfigurationError, match=rule):
            stored.change({"tea": chunks}, removed=["tea"], notes={"a": 1})
    with pytest.raises(ConfigurationError, match="removed must be a collection of strings, got 'tea'"):
        stored.change({}, removed="tea")
    assert (stored.passages("hot tea", 20), stored.notes) == (before, {})


def test_notes_are_kept_with_the_documents(tmp_path):
    stored = StoredRetriever(tmp_path / "a.index")
    stored.change({"tea": chunks_of("tea")}, notes={"tea.md": [1, "x"], "é": None})
    stored.change({}, removed=["tea"], notes={"tea.md": None, "b": {"c": []}})
    assert StoredRetriever(tmp_path / "a.index").notes == {"b": {"c": []}}
    assert stored.documents == []


def test_no_index_is_overwritten_or_taken_for_one(tmp_path):
    for name, content in (("text", b"Tea. " * 999), ("empty.db", None)):
        path = tmp_path / name
        if content is None:
            with closing(sqlite3.connect(path)) as file:
                file.execute("CREATE TABLE t (x)")
        else:
            path.write_bytes(content)
        before = path.read_bytes()
        with pytest.raises(ConfigurationError, match="path must be an index that a retriever has saved"):
            StoredRetriever(path)
        assert path.read_bytes() == before
    with pytest.raises(ConfigurationError, match="path must name a file"):
        StoredRetriever(tmp_path)
    os.mkfifo(tmp_path / "pipe")  # as a device, it is not replaced
    with pytest.raises(ConfigurationError, match="path must name a file"):
        Retriever(mode="lexical").save(tmp_path / "pipe")


def test_damage_is_an_error_or_is_not_in_what_is_read(tmp_path):
    path, rng = tmp_path / "a.index", np.random.default_rng(1)
    Retriever({name: chunks_of(name) for name in TEXTS}, texts=TEXTS).save(path)
    content, expected = path.read_bytes(), StoredRetriever(path).passages("hot tea", 30)
    refused = 0
    for _ in range(120):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 20):
            damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            for hit in StoredRetriever(path).search("hot tea", 3):
                assert hit.chunk in [chunk for name in TEXTS for chunk in chunks_of(name)]
        except (ConfigurationError, OSError) as error:
            assert str(path) in str(error) or "as when the index was made" in str(error)  # noqa: PT017
            refused += 1
    path.write_bytes(content)
    assert StoredRetriever(path).passages("hot tea", 30) == expected
    assert refused > 20


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("UPDATE texts SET text = CAST(replace(CAST(text AS TEXT), 'hot', 'OFF') AS BLOB)", "tea"),
        ("UPDATE chunks SET value = CAST(replace(CAST(value AS TEXT), 'hot', 'OFF') AS BLOB)", "tea"),
        ("DELETE FROM chunks WHERE number = 1", "tea"),
        ("UPDATE vectors SET rows = zeroblob(length(rows)) WHERE document = 2", "ships"),
        ("DELETE FROM vectors WHERE document = 2", "ships"),
        ("UPDATE documents SET length = 999999999 WHERE number = 1", ""),
        ("UPDATE documents SET words = zeroblob(length(words)) WHERE number = 1", ""),
        ("UPDATE settings SET value = CAST('{}' AS BLOB)", None),
        ("INSERT INTO words (rowid, terms) VALUES (3, 'rum')", ""),
        ("INSERT INTO words (rowid, terms) VALUES (99, 'hot')", ""),
    ],
)
def test_a_changed_value_is_told_when_it_is_read_and_by_a_check(tmp_path, change, named):
    path = tmp_path / "a.index"
    stored = StoredRetriever(path)
    stored.add_many({name: chunks_of(name) for name in ("tea", "ships")}, {"tea": TEXTS["tea"]})
    with stored._file.reading() as index:
        assert list(index.damages()) == []
    with closing(sqlite3.connect(path)) as file:
        file.execute(change)
        file.execute("UPDATE changes SET number = number + 1")
        file.commit()
    if "'rum'" not in change:
        with pytest.raises(ConfigurationError, match=r"a\.index.*its \w+ are (damaged|not complete)|lacks vectors"):
            StoredRetriever(path).passages("Is tea hot?", 30)
    if named is not None:
        with stored._file.reading() as index:
            assert [name for name, _ in index.damages()] == [named]


def after_a_kill(path, folder):
    """Return the path of an index as a process leaves it that is killed after it has changed it."""
    with StoredRetriever(path, mode="lexical")._file.reading():  # so that the change stays in a file of its own
        StoredRetriever(path).add("tea", chunks_of("tea"))
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, folder)
    return folder / path.name


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("was_killed", [False, True])
def test_what_is_saved_is_what_is_read(tmp_path, is_read, was_killed):
    path, memory = tmp_path / "a.index", Retriever({"ships": chunks_of("ships")}, mode="lexical")
    StoredRetriever(path, mode="lexical").add("law", chunks_of("law"))
    if was_killed:
        (tmp_path / "copy").mkdir()
        path = after_a_kill(path, tmp_path / "copy")
    stored = StoredRetriever(path)
    with stored._file.reading() if is_read else nullcontext() as index:
        before = index and index.places.documents["name"].tolist()
        memory.save(path)
        assert before == (index and [*index.documents()])
    for retriever in stored, StoredRetriever(path), Retriever.load(path):
        assert retriever.documents == ["ships"]
        assert retriever.search("rum", 1)[0].document == "ships"
    assert [file.name for file in path.parent.glob("a.index*")] == ["a.index"]


def test_a_file_that_was_left_by_a_former_index_is_not_read_into_a_new_one(tmp_path):
    (tmp_path / "copy").mkdir()
    path = after_a_kill(tmp_path / "a.index", tmp_path / "copy")
    path.unlink()
    Retriever({"ships": chunks_of("ships")}, mode="lexical").save(path)
    assert StoredRetriever(path).documents == ["ships"]
    path.write_text("Notes")
    with pytest.raises(ConfigurationError, match="it is no index, and is not overwritten"):
        Retriever({"ships": chunks_of("ships")}, mode="lexical").save(path)


def test_an_index_that_cannot_be_written_can_be_searched(tmp_path, monkeypatch):
    path = tmp_path / "a.index"
    StoredRetriever(path, mode="lexical").add("tea", chunks_of("tea"))
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    monkeypatch.setattr(os, "access", lambda *_: False)  # also for the user that may do everything
    assert StoredRetriever(path).search("hot tea", 1)[0].document == "tea"
    assert [file.name for file in tmp_path.iterdir()] == ["a.index"]
    tmp_path.chmod(0o755)


def test_threads_write_and_read_at_once(tmp_path):
    path = tmp_path / "a.index"
    StoredRetriever(path, mode="lexical").add("law", chunks_of("law"))

    def work(number):
        retriever = StoredRetriever(path)
        for i in range(6):
            retriever.add(f"{number}-{i}", chunks_of("tea"))
            assert retriever.search("hot tea", 1)[0].document.count("-") == 1
            if i % 2:
                retriever.remove(f"{number}-{i}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    expected = {"law", *(f"{number}-{i}" for number in range(4) for i in (0, 2, 4))}
    assert {*StoredRetriever(path).documents} == expected


WRITER = """
import sys
from advchunk import RecursiveChunker
from advchunk.retrieval import StoredRetriever

path, name = sys.argv[1:]
retriever = StoredRetriever(path, mode="lexical")
i = retriever.notes.get(name, 0)
while True:
    print(i, flush=True)  # written
    i += 1
    text = f"{name} number {i} is hot. " * 20
    retriever.change({name: RecursiveChunker(max_tokens=10).chunk(text)}, texts={name: text}, notes={name: i})
"""


@pytest.mark.long
@pytest.mark.parametrize("names", [["tea"], ["tea", "rum"]], ids=["one", "two"])
def test_writers_that_are_killed_leave_the_old_or_the_new_state(tmp_path, names):
    path, rng = tmp_path / "a.index", np.random.default_rng(2)
    written = dict.fromkeys(names, 0)
    for _ in range(6):
        open_writer = partial(subprocess.Popen, stdout=subprocess.PIPE)
        writers = {name: open_writer([sys.executable, "-c", WRITER, str(path), name]) for name in names}
        for name, writer in writers.items():  # the other goes on
            with writer:
                for _ in range(int(rng.integers(1, 6))):
                    written[name] = int(writer.stdout.readline())
                time.sleep(float(rng.uniform(0, 0.02)))
                os.kill(writer.pid, signal.SIGKILL)
        stored = StoredRetriever(path)
        for name, number in written.items():
            latest = written[name] = stored.notes.get(name, 0)
            assert latest >= number  # nothing is lost
            texts = [hit.chunk.text for hit in stored.search(f"hot {name}", 99) if hit.document == name]
            assert len(texts) == 20 * (latest > 0)
            assert all(f"{name} number {latest} " in text for text in texts)  # nothing is mixed
        with closing(sqlite3.connect(path)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            file.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    assert all(written.values())


def test_a_full_disk_is_an_error_and_changes_nothing(tmp_path, monkeypatch):
    stored = StoredRetriever(tmp_path / "a.index")
    stored.add("tea", chunks_of("tea"))
    connect = sqlite3.connect

    def small(*args, **kwargs):
        file = connect(*args, **kwargs)
        file.execute(f"PRAGMA max_page_count = {file.execute('PRAGMA page_count').fetchone()[0] + 2}")
        return file

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(OSError, match=r"the index .* cannot be used: database or disk is full"):
        stored.add_many({f"{i}": chunks_of("law") for i in range(40)})
    monkeypatch.undo()
    assert stored.documents == ["tea"]
    assert Path(stored.path).is_file()


def test_an_index_without_chunks_says_once_that_it_finds_nothing(tmp_path, caplog):
    for retriever, name in (
        (StoredRetriever(tmp_path / "new.index"), f"the index in {str(tmp_path / 'new.index')!r}"),
        (Retriever(), "Retriever"),
    ):
        caplog.clear()
        assert retriever.passages("tea") == retriever.search("tea") == []
        assert caplog.messages == [f"{name} has no chunks, so nothing is found"]


def test_an_index_of_another_format_must_be_made_again(tmp_path):
    StoredRetriever(tmp_path / "a.index", mode="lexical").add("a", chunks_of("tea"))
    with closing(sqlite3.connect(tmp_path / "a.index")) as file:
        file.execute("PRAGMA user_version = 1")
    with pytest.raises(ConfigurationError, match="is of another, so index its documents again, got 'format 1'"):
        StoredRetriever(tmp_path / "a.index")


@pytest.mark.parametrize("query", ["xylophone", "?"])
def test_an_empty_result_says_why(tmp_path, caplog, query):
    stored = StoredRetriever(tmp_path / "a.index", mode="lexical")
    stored.add("a", chunks_of("tea"))
    for retriever in (stored, Retriever({"a": chunks_of("tea")}, mode="lexical")):
        caplog.clear()
        reason = retriever.rank(query).reason
        assert f"nothing is found for {query!r}" in reason
        assert caplog.messages == [reason]
