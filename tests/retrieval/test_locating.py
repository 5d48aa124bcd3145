"""Texts are found in their document, ignoring white space, in order."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Span
from advchunk.retrieval.locating import Finder, find_overlap, locate, place_by_overlap
from growing import check_growth


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


@given(st.data())
def test_overlapping_parts_in_any_order_stand_where_they_were(data):
    text = " ".join(f"word{i} is here." for i in range(40))
    starts = sorted(data.draw(st.sets(st.integers(1, 400), max_size=6)) | {0})
    cuts = [(start, min(end + 40, len(text))) for start, end in pairwise([*starts, len(text)])]
    cuts += data.draw(st.lists(st.sampled_from(cuts).map(lambda cut: (cut[0] + 5, cut[1] - 5)), max_size=2))
    cuts = data.draw(st.permutations([*cuts, cuts[0]]))
    places = place_by_overlap([text[start:end] for start, end in cuts])
    assert [tuple(span) for _, span in places] == cuts
    assert {text[slice(*cuts[first])] for first, _ in places} == {text[: starts[1] + 40] if starts[1:] else text}


@given(st.lists(st.text("ab ", max_size=60), max_size=8))
def test_parts_that_stand_in_one_text_agree_there(texts):
    shared = {}
    for text, (first, span) in zip(texts, place_by_overlap(texts), strict=True):
        assert len(text) == span.end - span.start
        for offset, letter in zip(range(*span), text, strict=True):
            assert shared.setdefault((first, offset), letter) == letter


def test_parts_that_share_little_or_no_letters_stand_apart():
    rule, table = "-" * 40, "| --- | --- | --- | --- |"
    for texts in ([f"One {rule}", f"{rule} two"], [f"a {table}", f"{table} b"], ["The end of one", "of one begins"]):
        assert [first for first, _ in place_by_overlap(texts)] == [0, 1]


def test_the_time_to_place_parts_grows_in_proportion_to_them():
    def parts(number):
        return [f"Part {i} has words of its own, {i}, and more. " * 20 for i in range(number)]

    check_growth(place_by_overlap, parts, 100)


@given(st.text("ab \n\u3000\ud800", min_size=1, max_size=40), st.data())
def test_a_part_is_found_anywhere_whatever_its_white_space(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start, len(text)))]
    finder, changed = Finder(text), "\t".join(part)
    assert text[slice(*finder.find_anywhere(part))] == part
    span = finder.find_anywhere(changed)
    assert "".join(text[slice(*span)].split() if span else ()) == "".join(part.split())
    assert finder.find_anywhere(part + "c") is None


def test_white_space_ends_where_the_finder_says():
    assert max(i for i in range(0x110000) if chr(i).isspace()) == 0x3000
