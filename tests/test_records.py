"""Records: spans searched by offset, and parts of units."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advchunk.records import Span, SpanSet, Strength, Units


@given(st.lists(st.integers(0, 60), max_size=12, unique=True).map(sorted), st.integers(-1, 61))
def test_a_span_set_contains_the_offsets_in_its_spans(edges, offset):
    spans = [Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    assert (offset in SpanSet(spans)) == any(start <= offset < end for start, end in spans)


def test_a_part_of_units_keeps_sizes_and_strengths():
    strength = np.array([1, Strength.HARD_BREAK, 0, Strength.KEEP_WITH_NEXT, 1])
    part = Units("aabbccdd", np.arange(0, 9, 2), np.array([1, 2, 3, 4]), strength).part(1, 3)
    assert (part.text, part.edges.tolist(), part.token_counts().tolist()) == ("bbcc", [0, 2, 4], [2, 3])
    assert part.strength.tolist() == [100, 0, -1]
    assert part.hard_breaks().tolist() == [0]


def test_units_are_alike_by_default():
    assert Units("abc", np.array([0, 1, 3])).strength.tolist() == [Strength.SENTENCE] * 3
