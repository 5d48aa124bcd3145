"""The shape of chunks: each figure by hand, and as a slow reading of its definition says."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, Document, Span, create
from advchunk.evaluation import boundary_scores, pk, window_diff
from advchunk.evaluation.metrics.shape import (
    boundary_means,
    cohesion,
    coverage,
    forced_share,
    nearest_cuts,
    off_target_shares,
)
from advchunk.models.signals import unit_rows
from advchunk.records import Units, write_metadata

TEXT = "One. Two. Three.  \n Four. Five."
UNITS = Units(TEXT, np.array([0, 5, 10, 19, 26, 31]))


def chunk(*spans, **fields):
    return Chunk(
        "".join(TEXT[a:b] for a, b in spans),
        tuple(Span(*span) for span in spans),
        1,
        metadata=write_metadata({}, fields),
    )


def slow_cohesion(units, rows, chunks):
    within, between, members = [], [], []
    for chunk_ in chunks:
        members_ = []
        for i, (a, b) in enumerate(zip(units.edges[:-1], units.edges[1:], strict=True)):
            ink = units.text[a:b].rstrip()
            middle = (a + a + len(ink)) // 2
            if any(s <= middle < e for s, e in chunk_.spans):
                members_.append(i)
        members.append(members_)
        pairs = [rows[i] @ rows[j] for i in members_ for j in members_ if i != j]
        if pairs:
            within.append(np.mean(pairs))
    for left, right in pairwise(members):
        pairs = [rows[i] @ rows[j] for i in left for j in right if i != j]
        if pairs:
            between.append(np.mean(pairs))
    return (np.mean(within) if within else None), (np.mean(between) if between else None)


spans = (
    st.lists(st.integers(0, 31), min_size=2, max_size=6, unique=True)
    .map(sorted)
    .map(lambda at: [*zip(at[::2], at[1::2], strict=False)])
)


@given(st.lists(spans, max_size=4), st.integers(0, 99))
def test_cohesion_is_what_pairs_say(chunks, seed):
    rows = unit_rows(np.random.default_rng(seed).normal(size=(5, 3)))
    rows[seed % 7 :][:1] = 0  # of a sentence that the embedder knows no word of
    made = [chunk(*of) for of in chunks]
    score = cohesion([UNITS], [rows], [made])
    assert score == tuple(
        figure if figure is None else pytest.approx(figure) for figure in slow_cohesion(UNITS, rows, made)
    )


@given(st.lists(spans, max_size=4))
def test_coverage_is_the_share_of_ink(chunks):
    held = {i for of in chunks for a, b in of for i in range(a, b)}
    ink = [i for i, character in enumerate(TEXT) if not character.isspace()]
    score = coverage([Document(TEXT)], [[chunk(*of) for of in chunks]])
    assert score == pytest.approx(sum(i in held for i in ink) / len(ink))


def test_forced_cuts_are_those_of_a_size():
    assert forced_share(
        [[chunk((0, 5), cut="size"), chunk((5, 10), cut="valley"), chunk((10, 31))], [chunk((0, 9), cut="forced")]]
    ) == pytest.approx(2 / 3)
    assert forced_share([[chunk((0, 5))]]) is None
    text = "Cats purr all day. " * 40
    assert forced_share([create("recursive", max_tokens=20, add_scores=True).chunk(text)]) == 1
    assert forced_share([create("recursive", max_tokens=512, add_scores=True).chunk(text)]) is None


@pytest.mark.parametrize(
    ("settings", "shares"),
    [
        ({"max_tokens": 100}, (0.2, 0.4)),
        ({"max_tokens": 200, "target_tokens": 100}, (0, 0.4)),
        ({"max_tokens": 200, "target_tokens": None}, (0, 1)),
        ({}, (None, None)),
    ],
)
def test_sizes_are_held_against_the_aim(settings, shares):
    assert off_target_shares(np.array([10, 79, 80, 100, 120]), settings) == shares


def test_ends_of_chunks_are_moved_to_sentences():
    chunks = [chunk((0, 9)), chunk((9, 18)), chunk((18, 31))]
    score = boundary_means({"a": UNITS, "b": UNITS}, {"a": chunks, "b": []}, {"a": (19,), "b": (5,)})
    cut, none = [0, 2, 3, 5], [0, 5]
    scores = [boundary_scores([0, 3, 5], cut).f1, boundary_scores([0, 1, 5], none).f1]
    assert score["f1"] == pytest.approx(np.mean(scores))
    assert score["pk"] == pytest.approx((pk([0, 3, 5], cut) + pk([0, 1, 5], none)) / 2)
    assert score["window_diff"] == pytest.approx((window_diff([0, 3, 5], cut) + window_diff([0, 1, 5], none)) / 2)
    near = boundary_means({"a": UNITS}, {"a": [chunk((0, 26)), chunk((26, 31))]}, {"a": (19,)})
    assert (near["f1"], near["f1_near"]) == (0, 1)
    assert boundary_means({"a": UNITS}, {"a": chunks}, {}) == {}


@given(st.sets(st.integers(1, 40), min_size=1), st.lists(st.integers(0, 40), max_size=8))
def test_the_nearest_edge_is_taken(inner, places):
    edges = sorted({0, *inner})
    places = [min(at, edges[-1]) for at in places]
    slow = {min(range(len(edges)), key=lambda i: (abs(edges[i] - at), i)) for at in places} | {0, len(edges) - 1}
    assert nearest_cuts(np.array(edges), places).tolist() == sorted(slow)
