from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, RecursiveChunker, SlidingWindowChunker, Span
from advchunk.records import write_metadata
from advchunk.retrieval import Hit, assemble_passages
from advchunk.text.counters import WORDS

TEXT = "".join(f"Word{i} is here.{' ' if i % 4 else chr(10)}" for i in range(40))


def chunk(start, end, text=TEXT, **metadata):
    return Chunk(text[start:end], (Span(start, end),), WORDS(text[start:end]), metadata=metadata)


def hits(*chunks, document="a"):
    return [Hit(chunk, document, 1.0 / (i + 1)) for i, chunk in enumerate(chunks)]


@st.composite
def placed_chunks(draw):
    places = draw(st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 80)), min_size=1, max_size=10))
    return [(chunk(start, min(start + length, len(TEXT))), draw(st.sampled_from("ab"))) for start, length in places]


@given(placed_chunks(), st.integers(1, 60), st.sampled_from(["rank", "document"]), st.booleans())
def test_passages_are_exact_within_the_budget_and_never_repeat_text(placed, budget, order, knows_text):
    ranked = [Hit(chunk, document, 1 / (i + 1)) for i, (chunk, document) in enumerate(placed)]
    texts = {"a": TEXT, "b": TEXT} if knows_text else None
    passages = assemble_passages(ranked, budget, WORDS, order=order, texts=texts)
    assert sum(passage.tokens for passage in passages) <= budget
    covered = {(passage.document, at) for passage in passages for span in passage.spans for at in range(*span)}
    assert len(covered) == sum(end - start for passage in passages for start, end in passage.spans)
    for passage in passages:
        assert passage.tokens == WORDS(passage.text)
        retrieved = {
            at for hit in passage.hits for at in range(hit.chunk.start, hit.chunk.end)
        }  # not what lies between
        assert "".join(passage.text.split()) == "".join("".join(TEXT[at] for at in sorted(retrieved)).split())
        if knows_text:
            assert not "".join(TEXT[at] for span in passage.spans for at in {*range(*span)} - retrieved).strip()
            assert passage.text == "\n\n".join(TEXT[slice(*span)] for span in passage.spans)
        assert passage.score == max(hit.score for hit in passage.hits)
    kept = {id(hit) for passage in passages for hit in passage.hits}
    for hit in ranked:  # a hit is left out only if it does not fit, or repeats another
        if id(hit) not in kept and hit.chunk.text.strip():
            places = {(hit.document, at) for at in range(hit.chunk.start, hit.chunk.end)}
            assert places <= covered or WORDS(hit.chunk.text) + sum(p.tokens for p in passages) > budget


def test_neighbors_become_one_passage_in_reading_order():
    chunks = RecursiveChunker(max_tokens=8).chunk(TEXT)
    (passage,) = assemble_passages(hits(chunks[2], chunks[0], chunks[1]), 100, WORDS)
    assert passage.text == TEXT[: chunks[2].end]
    assert passage.spans == (Span(0, chunks[2].end),)
    assert [hit.chunk.index for hit in passage.hits] == [0, 1, 2]


def test_overlaps_occur_once():
    chunks = SlidingWindowChunker(max_tokens=12, overlap_tokens=6).chunk(TEXT)
    (passage,) = assemble_passages(hits(*chunks), 1000, WORDS)
    assert passage.text == TEXT


def test_peers_strip_white_space_between_chunks():
    text = "One two.\n\nThree four."
    pieces = chunk(0, 8, text), chunk(10, 21, text)
    (passage,) = assemble_passages(hits(*pieces), 10, WORDS)
    assert (passage.text, len(passage.spans)) == (text, 2)
    assert assemble_passages(hits(*pieces), 10, WORDS, texts={"a": text})[0].spans == (Span(0, 21),)
    wide = "One two.\n\n\n\nThree four."
    pieces = chunk(0, 8, wide), chunk(12, 23, wide)
    assert len(assemble_passages(hits(*pieces), 10, WORDS)) == 2
    assert [passage.text for passage in assemble_passages(hits(*pieces), 10, WORDS, texts={"a": wide})] == [wide]


def test_a_hit_that_does_not_fit_leaves_room_for_smaller_ones():
    long, short = chunk(0, 150), chunk(200, 230)
    assert [passage.spans for passage in assemble_passages(hits(long, short), 8, WORDS)] == [short.spans]


def test_a_budget_that_is_too_small_for_all_hits_is_said(caplog):
    assert assemble_passages(hits(chunk(0, 150)), 3, WORDS) == []
    assert "no chunk fits into a budget of 3 tokens; the best has 30" in caplog.text


def test_order():
    ranked = [Hit(chunk(100, 115), "b", 0.9), Hit(chunk(0, 15), "a", 0.8), Hit(chunk(0, 15), "b", 0.7)]
    assert [passage.score for passage in assemble_passages(ranked, 100, WORDS)] == [0.9, 0.8, 0.7]
    by_place = assemble_passages(ranked, 100, WORDS, order="document")
    assert [(passage.document, passage.spans[0].start) for passage in by_place] == [("b", 0), ("b", 100), ("a", 0)]


def test_parts_of_two_texts_of_one_name_stay_apart():
    pieces = [
        Chunk("Name: Ann", (Span(0, 9),), 2),
        Chunk("Name: Bob", (Span(0, 9),), 2),
        Chunk("Ann sails", (Span(6, 15),), 2),
    ]
    texts = [passage.text for passage in assemble_passages(hits(*pieces), 100, WORDS)]
    assert texts == ["Name: Ann sails", "Name: Bob"]


def test_citations():
    written = write_metadata({"page": "mine"}, {"page": 3, "title_path": ["Guide", "Install"]})
    hit = [Hit(chunk(0, 15, **written), "guide.pdf", 1.0)]
    assert assemble_passages(hit, 10, WORDS)[0].citation == "guide.pdf, Guide > Install, page 3, characters 0-15"
    assert assemble_passages([Hit(chunk(0, 15), "a", 1.0)], 10, WORDS)[0].citation == "a, characters 0-15"
    pages = chunk(0, 15, page=0, page_label="1")  # as readers of PDFs count
    assert assemble_passages([Hit(pages, "a", 1.0)], 10, WORDS)[0].page == "1"


def test_a_chunk_of_several_passages_stays_whole():
    group = Chunk(TEXT[:15] + TEXT[32:47], (Span(0, 15), Span(32, 47)), 6)
    (passage,) = assemble_passages(hits(group), 20, WORDS)
    assert passage.text == f"{TEXT[:15]}\n\n{TEXT[32:47]}"
    (passage,) = assemble_passages(hits(group, chunk(15, 32)), 20, WORDS)
    assert passage.text == TEXT[:47]


def test_chunks_without_a_place_are_passages_of_their_own():
    lost = [
        Chunk("One two.", (), 2),
        Chunk("Three four.", (), 2),
        Chunk("One two.", (), 2),
        Chunk("", (), 0, context="Head"),
    ]
    assert [passage.text for passage in assemble_passages(hits(*lost), 10, WORDS)] == ["One two.", "Three four."]
