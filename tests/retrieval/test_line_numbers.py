"""Lines of chunks and passages, against a count of the line ends before them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument

from advchunk import Chunk, Document, HierarchicalChunker, RecursiveChunker, Span
from advchunk.records import Block, evolve, write_metadata, written_metadata
from advchunk.retrieval import Hit, Passage, PassageCutter, assemble_passages
from advchunk.retrieval.line_numbers import line_ranges
from advchunk.text.counters import WORDS
from langchain_advchunk import RecursiveSplitter

PARTS = st.sampled_from(
    ["Tea is green.", " Milk.", "\n", "\n\n", "\r\n", "\r", "  ", "\n\n# Cats\n\n", "- nap", "\u2028", "\f", "Why?"]
)
TEXTS = st.lists(PARTS, max_size=30).map("".join)


def line_of(text, offset):
    """Return the line of an offset, from 1: one more than the line ends before it."""
    return 1 + len(re.findall(r"\r\n|\r|\n", text[:offset]))


def lines_of(text, start, end):
    part = text[start:end]
    return line_of(text, end - len(part.lstrip())), line_of(text, start + len(part.rstrip()) - 1)


@given(TEXTS, st.integers(2, 9), st.sampled_from([RecursiveChunker, HierarchicalChunker]))
def test_lines_of_chunks_are_those_before_their_first_and_last_characters(text, most, kind):
    options = {"max_tokens": most} if kind is RecursiveChunker else {}
    for chunk in kind(tokenizer="words", **options).chunk(text):
        own = written_metadata(chunk.metadata)
        if chunk.text.strip():
            assert (own["start_line"], own["end_line"]) == lines_of(text, chunk.start, chunk.end)


@given(TEXTS, st.integers(2, 9), st.data())
def test_lines_of_parts_of_chunks_are_those_in_the_text(text, most, data):
    chunks = RecursiveChunker(tokenizer="words", max_tokens=most, markup="plain").chunk(text)
    if not chunks:
        return
    first = data.draw(st.integers(0, len(chunks) - 1))
    some = chunks[first : first + data.draw(st.integers(1, 3))]
    start = data.draw(st.integers(some[0].start, some[0].end - 1))
    end = data.draw(st.integers(some[-1].start + 1, some[-1].end))
    if (
        start >= end
        or not text[start:end].strip()
        or text[start - 1 : start + 1] == "\r\n"
        or text[end - 1 : end + 1] == "\r\n"
    ):
        return
    place = [((Span(start, end),), some)]
    (in_text,) = line_ranges(place, text)
    assert in_text == (lines_of(text, start, end),)
    (in_chunks,) = line_ranges(place, None)
    assert in_chunks in ((), in_text)
    if text[start : some[0].end].strip() and text[some[-1].start : end].strip():
        assert in_chunks == in_text


@given(TEXTS, st.integers(1, 9), st.booleans())
def test_passages_have_their_lines_with_and_without_the_text(text, budget, knows_text):
    chunks = RecursiveChunker(tokenizer="words", max_tokens=4, markup="plain").chunk(text)
    hits = [Hit(chunk, "a", 1 / (i + 1)) for i, chunk in enumerate(chunks)]
    for passage in assemble_passages(hits, budget, WORDS, texts={"a": text} if knows_text else None):
        assert passage.lines == tuple(lines_of(text, start, end) for start, end in passage.spans)
        assert "line" in passage.citation


def test_a_passage_that_is_cut_has_its_own_lines():
    text = "# Tea\n\nGreen tea is steamed.\nIt is green.\n\nBlack tea is withered.\nIt is black.\n"
    (chunk,) = RecursiveChunker().chunk(text)
    for texts in (None, {"a.md": text}):
        (passage,) = PassageCutter().cut("Is black tea withered?", [Hit(chunk, "a.md", 1.0)], budget=8, texts=texts)
        assert passage.lines == ((6, 6),)
        assert passage.citation.startswith("a.md, Tea, line 6, characters ")


def test_lines_of_another_text_are_not_cited():
    (chunk,) = RecursiveChunker().chunk("One.\nTwo.")
    hits = [Hit(chunk, "a", 1.0)]
    assert assemble_passages(hits, 9, WORDS, texts={"a": "One.\nTwo."})[0].lines == ((1, 2),)
    (passage,) = PassageCutter().cut("two", hits, texts={"a": "New line.\nOne.\nTwo."})
    assert (passage.lines, "line" in passage.citation) == ((), False)
    derived = RecursiveChunker(markup="html").chunk("<p>One.\n</p><p>Two.</p>")
    assert not any("start_line" in own.metadata for own in derived)
    # A reader that gives lines of the original; only the whole block has them.
    block = Block("turn", Span(0, 9), metadata={"start_line": 7, "end_line": 11})
    (own,) = RecursiveChunker().chunk(Document("One.\nTwo.", blocks=(block,), markup="vtt"))
    assert line_ranges([((Span(0, 9),), [own]), ((Span(5, 9),), [own])], None) == [((7, 11),), ()]


def test_source_code_has_columns():
    pytest.importorskip("tree_sitter_language_pack")
    text = "def a():\n    return 1\n\n\nclass B:\n    def b(self):\n        return 2\n"
    for chunk in RecursiveChunker(markup="code", max_tokens=9).chunk(Document(text, metadata={"source": "a.py"})):
        own, lines = written_metadata(chunk.metadata), text.split("\n")
        assert chunk.text.strip()[0] == lines[own["start_line"] - 1][own["start_column"] - 1]
        assert chunk.text.rstrip()[-1] == lines[own["end_line"] - 1][own["end_column"] - 1]


def test_both_front_ends_have_flat_lines_and_speakers():
    (piece, *_) = RecursiveSplitter(max_tokens=4).split_documents([LangChainDocument("One two.\n\nThree four.\nFive.")])
    assert (piece.metadata["start_line"], piece.metadata["end_line"]) == (1, 1)


WRITTEN = {
    "clause": "5(1)",
    "speakers": ["Ann", "Bob"],
    "sheet": "Costs",
    "page": 3,
    "pages": [3, 4],
    "title_path": "Article 5",
}


@pytest.mark.parametrize("flat", [False, True])
def test_a_citation_says_what_is_certain(flat):
    own = {**WRITTEN, "speakers": "Ann; Bob", "pages": "3 4"} if flat else WRITTEN
    chunk = Chunk(
        "Pay now.\nOr later.", (Span(10, 28),), 4, metadata=write_metadata({}, own | {"start_line": 40, "end_line": 41})
    )
    whole = Passage.of(Hit(chunk, "terms.md", 1.0))
    assert whole.citation == (
        "terms.md, Article 5, clause 5(1), Ann, Bob, sheet Costs, lines 40-41, pages 3-4, characters 10-28"
    )
    (part,) = PassageCutter(context=False).cut("later", [Hit(chunk, "terms.md", 1.0)], budget=3)
    assert part.spans == (Span(19, 28),)
    assert part.citation == "terms.md, Article 5, sheet Costs, line 41, pages 3-4, characters 19-28"
    untitled = evolve(chunk, metadata=write_metadata({}, {"clause": "1"}))  # which may begin above the clause
    (part,) = PassageCutter(context=False).cut("pay", [Hit(untitled, "terms.md", 1.0)], budget=3)
    assert part.citation == "terms.md, characters 10-18"
    alone = evolve(chunk, metadata=write_metadata({}, {"speakers": "Ann" if flat else ["Ann"]}))
    (part,) = PassageCutter(context=False).cut("later", [Hit(alone, "call.vtt", 1.0)], budget=3)
    assert part.citation == "call.vtt, Ann, characters 19-28"
    users = evolve(chunk, metadata={"clause": "mine", "speakers": 3, "pages": 10, "sheet": 1})
    assert Passage.of(Hit(users, "a", 1.0)).citation == "a, characters 10-28"
