"""What stands around hits, from wherever it is kept: the passages of the index in memory, also after edits and
failures."""

import json
import logging
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk import Chunk, ConfigurationError, RecursiveChunker, Span
from advchunk.errors import StoreUnavailable
from advchunk.retrieval import FolderTexts, Hit, Neighborhood, PassageCutter, Retriever, as_surroundings
from chunk_table import ChunkTable, fill

FILLER = [f"Shed {i} holds {thing} and tar." for i, thing in enumerate(["rope", "nets", "oars", "sails"] * 12)]
TEXTS = {
    "town": " ".join([*FILLER[:20], "The ferry leaves at nine.", "Dogs ride free.", *FILLER[20:]]),
    "tea": "Boil the water. Add green tea. Wait two minutes. Pour it into cups. Sailors drink rum in the shed.",
}
QUESTION = "When does the ferry leave, and do dogs ride?"
WORDS = st.sampled_from(["tea", "rum", "ferry", "shed", "dog", "rope", "boils", "leaves", "green", "the", "of"])
SENTENCES = st.lists(WORDS, min_size=2, max_size=7).map(lambda words: f"{' '.join(words).capitalize()}.")
RANDOM_TEXTS = st.dictionaries(
    st.sampled_from(["a.txt", "b", "c'; DROP TABLE chunks; --"]),
    st.lists(SENTENCES, min_size=1, max_size=40).map(" ".join),
    min_size=1,
)


def chunked(texts, size=8):
    return {name: RecursiveChunker(max_tokens=size).chunk(text) for name, text in texts.items()}


def hits_of(texts, *phrases):
    """Return the chunks that have a phrase, as hits."""
    pairs = [(name, chunk) for name, chunks in chunked(texts).items() for chunk in chunks]
    return [Hit(chunk, name, 1.0) for name, chunk in pairs if any(phrase in chunk.text for phrase in phrases)]


def filled(path, chunks):
    """Return a table in a file of SQLite that has chunks."""
    with closing(sqlite3.connect(path)) as file:
        fill(file, rows(chunks))
    return ChunkTable(lambda: sqlite3.connect(path))


def rows(chunks):
    for name, group in chunks.items():
        for chunk in group:
            yield name, chunk.start, chunk.end, chunk.text, chunk.id, json.dumps(chunk.metadata)


def shown(passages):
    return [(passage.text, passage.citation, passage.context) for passage in passages]


@pytest.fixture
def warnings(caplog):
    caplog.set_level(logging.WARNING, "advchunk")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "advchunk"]


@settings(max_examples=25, deadline=None)
@given(texts=RANDOM_TEXTS, question=SENTENCES, around=st.sampled_from([0, 5, 20, 350]), size=st.sampled_from([6, 15]))
def test_passages_are_those_of_the_index_in_memory(tmp_path_factory, texts, question, around, size):
    chunks, cutter = chunked(texts, size), PassageCutter(around=around)
    table = filled(tmp_path_factory.mktemp("table") / "chunks.db", chunks)
    for kept, source in ({}, table), (texts, texts), (texts, [table, texts.get]):
        memory = Retriever(mode="lexical", neighbors=False, cutter=cutter)
        memory.add_many(chunks, kept)
        hits = memory.search(question, 200)
        for budget in (8, 60):
            expected = shown(memory.passages(question, budget))
            assert shown(cutter.cut(question, hits, budget, texts=source)) == expected


@given(reach=st.integers(0, 90), texts=RANDOM_TEXTS)
@settings(max_examples=15, deadline=None)
def test_a_table_returns_all_within_reach_and_no_hits(tmp_path_factory, reach, texts):
    chunks = chunked(texts)
    table = as_surroundings(filled(tmp_path_factory.mktemp("table") / "chunks.db", chunks))
    for name, group in chunks.items():
        hits = [Hit(chunk, name, 1.0) for chunk in group[::5]]
        near = {
            chunk.id
            for chunk in group
            if any(chunk.start < hit.chunk.end + reach and chunk.end > hit.chunk.start - reach for hit in hits)
        }
        around = table.read(hits, reach).beside
        assert {hit.chunk.id for hit in around} == near - {hit.chunk.id for hit in hits}
        assert all((hit.chunk.text, hit.document) == (texts[name][slice(*hit.chunk.spans[0])], name) for hit in around)


def test_what_is_far_does_not_change_passages():
    hits = hits_of(TEXTS, "ferry")
    beside = [Hit(chunk, "town", 0.0) for chunk in chunked(TEXTS)["town"]]
    cutter = PassageCutter(around=20)
    near = [hit for hit in beside if abs(hit.chunk.middle - hits[0].chunk.middle) < 130]
    assert 0 < len(near) < len(beside)
    assert shown(cutter.cut(QUESTION, hits, 30, beside=near)) == shown(cutter.cut(QUESTION, hits, 30, beside=beside))


def test_a_source_is_asked_once_for_all_hits():
    class Source:
        calls = ()

        def read(self, hits, reach):
            self.calls += ((len(hits), reach),)
            return Neighborhood([Hit(chunk, "town", 0.0) for chunk in chunked(TEXTS)["town"]])

    source, hits = Source(), hits_of(TEXTS, "ferry", "tea")
    (passage, *_) = PassageCutter().cut(QUESTION, hits, 30, texts=source)
    assert "Dogs ride free." in passage.text
    assert [count for count, _ in source.calls] == [len(hits)]
    assert source.calls[0][1] == PassageCutter().reach(hits) > 350


def test_chunks_whose_offsets_moved_are_found_by_their_text(warnings):
    hits = hits_of(TEXTS, "ferry", "Dogs")
    edited = {"town": "The town has a new pier. " + TEXTS["town"].replace("Dogs ride free.", "Cats ride free.")}
    cutter = PassageCutter()
    passages = cutter.cut(QUESTION, hits, 40, texts=edited)
    cutter.cut(QUESTION, hits, 40, texts=edited)
    placed = [passage for passage in passages if passage.spans]
    assert any("The ferry leaves at nine." in passage.text for passage in placed)
    assert all(edited["town"][slice(*passage.spans[0])] == passage.text for passage in placed)
    stale = [passage for passage in passages if not passage.spans]
    assert [passage.citation for passage in stale] == ["town"] * len(stale) != []
    assert len([message for message in warnings() if "are not in the text of 'town'" in message]) == 1


def test_stale_missing_and_foreign_hits_are_used_and_the_log_says_so_once(tmp_path, warnings):
    table = filled(tmp_path / "chunks.db", chunked({"town": TEXTS["town"]}))
    (hit,) = hits_of(TEXTS, "ferry")
    stale = replace(hit, chunk=replace(hit.chunk, text=hit.chunk.text.replace("nine", "noon")))
    foreign = Hit(Chunk("The ferry leaves the moon.", (Span(0, 26),), 6), "moon", 1.0)
    gone = Hit(Chunk("The ferry to Inch leaves.", (Span(9000, 9025),), 6, id="gone"), "town", 1.0)
    nameless = Hit(Chunk("No ferry leaves.", (), 4), "", 1.0)
    cutter = PassageCutter()
    for _ in range(2):
        passages = cutter.cut(QUESTION, [stale, foreign, gone, nameless], 200, texts=table)
    text = "\n".join(passage.text for passage in passages)
    assert all(part in text for part in ("at noon", "the moon", "to Inch", "No ferry", "Dogs ride free."))
    assert "at nine" not in text
    messages = warnings()
    assert len([message for message in messages if "have another text in the table 'chunks'" in message]) == 1
    assert len([message for message in messages if "such as one of 'moon'" in message]) == 1


def test_of_several_sources_each_may_lack_documents_that_another_has(tmp_path, warnings):
    tables = [filled(tmp_path / f"{name}.db", chunked({name: text})) for name, text in TEXTS.items()]
    hits = hits_of(TEXTS, "ferry", "tea")
    around = as_surroundings(tables).read(hits, 100)
    assert {hit.document for hit in around.beside} == TEXTS.keys()
    assert warnings() == []
    foreign = Hit(Chunk("The ferry leaves the moon.", (Span(0, 26),), 6), "moon", 1.0)
    as_surroundings(tables).read([*hits, foreign], 100)
    assert ["such as one of 'moon'" in message for message in warnings()] == [True]


def test_documents_all_of_whose_chunks_are_hits_are_not_missing(tmp_path, warnings):
    tables = [filled(tmp_path / f"{name}.db", chunked({name: text})) for name, text in TEXTS.items()]
    hits = [Hit(chunk, name, 1.0) for name, chunks in chunked(TEXTS).items() for chunk in chunks]
    assert as_surroundings(tables).read(hits, 100).beside == []
    assert warnings() == []


def test_a_source_that_fails_is_one_error_with_its_name_and_the_document(tmp_path):
    def broken(name):
        msg = f"no connection\nfor {name}"
        raise TimeoutError(msg)

    empty = ChunkTable(lambda: sqlite3.connect(tmp_path / "empty.db"))
    hits = hits_of(TEXTS, "ferry")
    for source, message in [
        (broken, "texts failed for hits of 'town': TimeoutError: no connection$"),
        ([{}, broken], "texts failed for hits of 'town': TimeoutError"),
        (empty, "the table 'chunks' failed for hits of 'town': OperationalError: no such table: chunks"),
    ]:
        with pytest.raises(StoreUnavailable, match=message):
            PassageCutter().cut(QUESTION, hits, texts=source)


def test_answers_may_be_partial_if_asked_for(warnings):
    source = as_surroundings([{}.__getitem__, TEXTS], partial=True)
    hits = hits_of(TEXTS, "ferry")
    for _ in range(2):
        (passage,) = PassageCutter().cut(QUESTION, hits, 16, texts=source)
    assert "Dogs ride free." in passage.text
    assert source.read(hits, 9).texts == {"town": TEXTS["town"]}
    assert [message.partition(":")[0] for message in warnings()] == ["answers are partial"]


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (None, "must return a Neighborhood, got None"),
        (Neighborhood(texts={"town": 3}), "texts must be strings or documents, got 3"),
        (Neighborhood([Hit(Chunk(None, (), 0), "town", 0.0)]), "must return hits that have a text"),
        (Neighborhood([Hit(Chunk("Tea.", (), 0, metadata=["a"]), "town", 0.0)]), "and metadata by name"),
        (Neighborhood([Hit(Chunk("Tea.", (), 0, context=7), "town", 0.0)]), "must return hits that have a text"),
        (Neighborhood([3]), "must return hits that have a text, and metadata by name, got 3"),
    ],
    ids=["none", "number", "no-text", "list-of-metadata", "number-as-context", "no-hit"],
)
def test_nonsense_of_a_source_is_a_clear_error(answer, rule):
    class Source:
        def read(self, hits, reach):
            return answer

    with pytest.raises(ConfigurationError, match=rule):
        as_surroundings(Source()).read(hits_of(TEXTS, "ferry"), 9)


EDGES = st.one_of(st.none(), st.integers(-90, 90), st.floats(), st.sampled_from(["6", 10**30, [1]]))


@given(
    text=st.one_of(st.none(), st.text(max_size=9), st.integers()),
    spans=st.one_of(EDGES, st.lists(st.tuples(EDGES, EDGES), max_size=3)),
    metadata=st.one_of(st.none(), st.just({}), st.just([1]), st.text(max_size=3)),
    document=st.sampled_from(["town", None, 3, ""]),
)
def test_whatever_a_source_returns_is_left_out_or_a_clear_error(text, spans, metadata, document):
    class Source:
        def read(self, hits, reach):
            return Neighborhood([Hit(Chunk(text, spans, 0, metadata=metadata), document, 0.0)])

    hits = hits_of(TEXTS, "ferry")
    with suppress(ConfigurationError, StoreUnavailable):
        for hit in as_surroundings(Source()).read(hits, 90).beside:
            places = [edge for span in hit.chunk.spans for edge in span]
            assert places == sorted(places)
            assert places[0] >= 0
        assert PassageCutter().cut(QUESTION, hits, 30, texts=Source())


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (3, "texts must be a mapping, a function, the path of a folder, Surroundings, or several of these, got 3"),
        ([3], "or several of these, got 3"),
        ("no-such-folder", "texts must be a folder that exists, if it is a path, got 'no-such-folder'"),
    ],
    ids=str,
)
def test_what_is_no_source_is_a_clear_error(source, rule):
    with pytest.raises(ConfigurationError, match=rule):
        PassageCutter().cut(QUESTION, [], texts=source)


def test_of_several_sources_the_first_with_a_text_counts(tmp_path):
    table = filled(tmp_path / "chunks.db", chunked({"tea": TEXTS["tea"]}))
    source = as_surroundings([{"town": "first"}, None, {"town": "second", "law": "third"}, table])
    hits = [*hits_of(TEXTS, "ferry", "water"), Hit(Chunk("third", (Span(0, 5),), 1), "law", 1.0)]
    around = source.read(hits, 500)
    assert around.texts == {"town": "first", "law": "third"}
    assert {hit.document for hit in around.beside} == {"tea"}
    assert as_surroundings(source) is source


class TestFolder:
    def test_files_are_read_again_after_a_change_and_nothing_outside_is(self, tmp_path):
        folder = tmp_path / "guides"
        (folder / "en").mkdir(parents=True)
        (folder / "en" / "tea.txt").write_text("Boil.", encoding="utf-8")
        (tmp_path / "key.txt").write_text("secret", encoding="utf-8")
        (folder / "link.txt").symlink_to(tmp_path / "key.txt")
        texts = FolderTexts(folder)
        assert texts("en/tea.txt") == texts(str(folder / "en" / "tea.txt")) == texts("en/../en/tea.txt") == "Boil."
        outside = ["../key.txt", str(tmp_path / "key.txt"), "link.txt", "en", "none.txt", "", "a\0b", "x" * 9999]
        assert [texts(name) for name in outside] == [None] * len(outside)
        (folder / "en" / "tea.txt").write_text("Boil it.", encoding="utf-8")
        assert texts("en/tea.txt") == "Boil it."
        hit = Hit(Chunk("Boil", (Span(0, 4),), 1), "en/tea.txt", 1.0)
        for path in (folder, str(folder)):
            assert as_surroundings(path).read([hit], 9).texts == {"en/tea.txt": "Boil it."}


@pytest.mark.parametrize("kind", ["mapping", "folder", "function", "several"])
def test_texts_of_other_names_are_named_once(kind, tmp_path, warnings):
    for i in range(5):
        (tmp_path / f"{i}.md").write_text("Tea.")
    mapping = {f"{i}.md": "Tea." for i in range(5)}
    texts = {"mapping": mapping, "folder": tmp_path, "function": mapping.get, "several": [None, mapping]}[kind]
    hits = [Hit(chunk, f"docs/{name}", 1.0) for name, chunks in chunked(TEXTS).items() for chunk in chunks]
    source = as_surroundings(texts)
    for _ in range(2):
        assert source.read(hits, 100).texts == {}
    [message] = warnings()
    assert f"texts has nothing of {len(hits)} of {len(hits)} hits, such as one of 'docs/" in message
    source.read([replace(hit, document="") for hit in hits], 100)
    assert "none of" in warnings()[-1]
    assert "has the name of a document in its metadata" in warnings()[-1]


def test_texts_of_some_documents_are_enough_and_none_are_none(warnings):
    hits = [Hit(chunk, name, 1.0) for name, chunks in chunked(TEXTS).items() for chunk in chunks]
    for texts in (dict([*TEXTS.items()][:1]), {}, None):
        as_surroundings(texts).read(hits, 100)
    assert warnings() == []
