"""The collection of chunks of any origin: their positions, their ranking, and what is cited."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, ConfigurationError, RecursiveChunker, Span
from advchunk.retrieval import LexicalIndex, PassageCutter, Ranking, Search, combine
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.locating import find_overlap, locate_chunks, place_in_order
from advchunk.text.counters import WORDS

TEXT = "".join(f"Word{i} is here.{' ' if i % 4 else chr(10)}" for i in range(40))
FORMS = [Search(mode, neighbors) for mode in ("dense", "lexical", "hybrid") for neighbors in (False, True)]


def chunk(start, end, text=TEXT):
    return Chunk(text[start:end], (Span(start, end),), 0)


def bare(text):
    return Chunk(text, (), 0)


def collected(chunks, keys=None, **options):
    keys = keys or ["a"] * len(chunks)
    return Collection.of([c.text for c in chunks], chunks, keys, {"a": "guide.md"}, WORDS, **options)


def everything(collection):
    return Ranking(np.arange(len(collection)), -np.arange(len(collection), dtype=float))


def cited(collection):
    return [passage.citation for passage in collection.results(everything(collection))]


def test_chunks_stand_where_they_say():
    collection = collected([chunk(16, 31), chunk(0, 15)])
    assert cited(collection) == ["guide.md, characters 16-31", "guide.md, characters 0-15"]
    assert collection.positions.middles[0] > collection.positions.middles[1]


def test_chunks_without_spans_are_located_in_a_known_text_or_stand_in_order():
    chunks = [bare(" ".join(TEXT[:31].split())), bare(TEXT[31:60].strip())]
    located = collected(chunks, texts={"a": TEXT})
    assert [passage.text for passage in located.results(everything(located))] == [
        TEXT[:31].strip(),
        TEXT[31:60].strip(),
    ]
    assert cited(located)[0] == f"guide.md, characters 0-{len(TEXT[:31].rstrip())}"
    in_order = collected(chunks[::-1], order=[1, 0])
    assert cited(in_order) == ["guide.md", "guide.md"]
    assert in_order.positions.middles[1] < in_order.positions.middles[0]


def test_a_text_without_some_chunk_is_not_used():
    chunks = [chunk(0, 15), bare("Nowhere.")]
    collection = collected(chunks, texts={"a": TEXT})
    assert collection.texts == {}
    assert cited(collection) == ["guide.md, characters 0-15", "guide.md"]
    assert collection.positions.middles[1] > collection.positions.middles[0]
    with pytest.raises(
        ConfigurationError, match=r"chunks of 'a' must be parts of its text, in order, got \['Nowhere.'\]"
    ):
        collected(chunks, texts={"a": TEXT}, must_match=True)


def test_a_chunk_that_is_not_as_long_as_its_spans_has_a_place_but_no_offsets():
    collection = collected([Chunk("Bold", (Span(100, 108),), 1), chunk(0, 15)])
    assert cited(collection) == ["guide.md", "guide.md, characters 0-15"]
    assert collection.positions.middles[0] > collection.positions.middles[1]


@pytest.mark.parametrize("search", FORMS, ids=lambda search: search.label)
def test_a_ranking_is_that_of_the_allowed_chunks(search):
    chunks = RecursiveChunker(max_tokens=12).chunk(TEXT)
    words = LexicalIndex(chunk.text for chunk in chunks)
    allowed = np.arange(len(chunks)) % 3 > 0
    positions = collected(chunks).positions
    collection = Collection(chunks, chunks, ["a"] * len(chunks), positions, words=words, allowed=allowed)
    dense = everything(collection)
    lexical = Ranking.from_scores(np.where(allowed, words.scores("word7 word12 word17 word30"), 0), above=0)
    expected = combine(
        dense.keep(allowed) if search.mode != "lexical" else None,
        lexical if search.mode != "dense" else None,
        search,
        positions,
    )
    ranking = collection.rank("word7 word12 word17 word30", dense, search)
    assert ranking.chunks.tolist() == [i for i in expected.chunks.tolist() if allowed[i]]
    assert len(ranking) > 0


def test_joined_chunks_stand_in_texts_of_their_own():
    chunks = [chunk(0, 15), chunk(16, 31)]
    first, others = collected(chunks, texts={"a": TEXT}), collected([chunk(0, 15), bare("Else.")], ["a", "b"])
    joined = first.joined(others, stale=[1])
    assert cited(joined) == [*cited(first), "guide.md, characters 0-15", "b"]
    assert joined.items == [*first.items, *others.items]
    assert [c.index for c in joined.chunks] == [0, 1, 2, 3]
    assert joined.allowed.tolist() == [True, False, True, True]
    assert len(set(joined.positions.documents.tolist())) == 3
    assert (
        len(
            joined.passages("", everything(joined).keep(joined.allowed), 100, WORDS, PassageCutter(), whole_chunks=True)
        )
        == 3
    )
    assert first.allowed.all()
    assert cited(collected([]).joined(first)) == cited(first)


def test_an_empty_collection_has_no_results():
    for search in FORMS:
        empty = Collection.of([], [], [], {}, WORDS)
        if search.mode != "dense":
            empty = Collection([], [], [], empty.positions, words=LexicalIndex())
        assert len(empty.rank("word", Ranking.from_hits([]), search)) == 0


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60), st.booleans()), max_size=8))
def test_located_chunks_are_the_text_of_their_spans(parts):
    parts = sorted(parts)
    chunks = [
        Chunk(TEXT[start : start + size], (Span(start, start + size),) if stated else (), 0)
        for start, size, stated in parts
    ]
    for before, after in zip(chunks, locate_chunks(TEXT, chunks), strict=True):
        assert not before.spans or after.spans == before.spans
        assert "".join(after.text.split()) == "".join(before.text.split())
        assert not after.spans or after.text == "".join(TEXT[slice(*span)] for span in after.spans)


@given(st.lists(st.tuples(st.text("ab ", min_size=1, max_size=30), st.booleans()), max_size=6))
def test_chunks_in_order_overlap_as_their_texts_do(parts):
    chunks = [
        Chunk(text, (Span(100 * i, 100 * i + len(text)),) if stated else (), 0)
        for i, (text, stated) in enumerate(parts)
    ]
    placed = place_in_order(chunks)
    for i, (before, after) in enumerate(zip(chunks, placed, strict=True)):
        if before.spans:
            assert after == before
        elif i:
            overlap = find_overlap(chunks[i - 1].text, before.text)
            assert placed[i - 1].end - after.start == (overlap or -3)
