"""Texts are found in their document, ignoring white space, in order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Span
from advchunk.retrieval.locating import Finder, find_overlap, locate


@given(st.text("ab \n", min_size=1, max_size=40), st.data())
def test_parts_are_found_whatever_their_white_space(text, data):
    cuts = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text)), max_size=5))})
    parts = [text[a:b] for a, b in pairwise(cuts)]
    spans = locate(text, [" ".join(part.split()) for part in parts])
    contents = ["".join(text[start:end].split()) for start, end in spans]
    assert contents == ["".join(part.split()) for part in parts if part.strip()]
    assert spans == sorted(spans)
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


def test_repeated_text_is_first_looked_for_at_the_end_of_the_part_before():
    assert locate("Yes. No. Yes. No.", ["Yes.", "No.", "Yes.", "No."]) == [
        Span(0, 4),
        Span(5, 8),
        Span(9, 13),
        Span(14, 17),
    ]
    assert locate("one two three four", ["one two three", "two three four"]) == [Span(0, 13), Span(4, 18)]


def test_known_spans_are_checked():
    finder = Finder("Yes. Yes. Yes.")
    assert finder.has("Yes.", [Span(5, 9)])
    assert not finder.done
    assert not finder.has("Yes.", [Span(7, 11)])
    assert not finder.has("Yes.", [Span(0, 4)])  # it goes back
    assert finder.has("Yes.Yes", [Span(5, 9), Span(10, 13)])
    assert not finder.done
    assert finder.find("Yes.") == Span(10, 14)
    assert finder.done
    assert finder.find("Yes.") is None
    assert finder.find("  ") is None


def test_a_text_that_is_not_there_is_an_error():
    with pytest.raises(ConfigurationError, match=r"texts must be parts of their document, in order, got 'Three.'"):
        locate("One. Two.", ["One.", "Three."])


@given(before=st.text("ab", max_size=40), after=st.text("ab", max_size=40))
def test_the_overlap_is_the_longest_of_ten_characters_or_more(before, after):
    lengths = range(10, min(len(before), len(after)) + 1)
    longest = max((n for n in lengths if before.endswith(after[:n])), default=0)
    assert find_overlap(before, after) == longest
    same = before + "0123456789" + after
    assert find_overlap(same, same) == len(same)
