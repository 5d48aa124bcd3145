"""Segments that start with connectives, and clauses grouped between them; exact, against all segmentations."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document
from advchunk.chunkers.experimental import Edus
from advchunk.chunkers.experimental.discourse import DiscourseSegmenterChunker, segment_costs
from advchunk.chunkers.numerics.costs import evidence
from advchunk.models.signals import unit_rows

FILLER = "The boats lay in port and nobody sailed. Snow fell on the quay. "
CATS = "The cat naps on the sofa when it rains. The kitten purrs because it is warm. Cats and kittens eat fish. "
COURTS = "The court heard the appeal after the judge came. Judges rule on law. The lawyer argued that the law was old. "


def alike(texts):
    return [[1.0, 0.0]] * len(texts)


def texts_of(text, **params):
    return [chunk.text for chunk in DiscourseSegmenterChunker(**params).chunk(text)]


# The scenarios of the requirement.


def test_units_are_found_and_never_cut():
    text = "When the wind turned, the tug left, and the harbour master said that it was late. " * 12
    explanation = DiscourseSegmenterChunker(max_tokens=60).explain(text)
    assert explanation.units.strings()[:4] == [
        "When the wind turned, ",
        "the tug left, ",
        "and the harbour master said ",
        "that it was late. ",
    ]
    assert len(explanation.chunks) > 4
    assert {chunk.end for chunk in explanation.chunks} <= set(explanation.units.edges.tolist())


@pytest.mark.parametrize("connective", ["However", "Therefore", "In contrast", "Nevertheless"])
def test_a_strong_connective_opens_a_segment(connective):
    after = f"{connective}, the ice was thin. It broke at noon. "
    assert texts_of(FILLER + after + FILLER) == [FILLER, after + FILLER]


@pytest.mark.parametrize("connective", ["And", "But", "Or"])
def test_a_weak_one_does_not(connective):
    text = f"{FILLER}{connective} the ice was thin. {FILLER}"
    assert texts_of(text) == [text]


def test_the_lexicon_can_be_changed():
    but, however = "But the ice was thin. ", "However, it was late. "
    text = FILLER + but + FILLER + however + FILLER
    assert texts_of(text, connectives={"but": "strong", "however": "weak"}) == [FILLER, but + FILLER + however + FILLER]
    assert texts_of(text, connectives={"however": "weak"}) == [text]
    assert texts_of(FILLER, connectives={"snow": "strong"}) == [FILLER[:41], FILLER[41:]]


def test_units_are_grouped_to_the_target_between_connectives():
    text = FILLER * 30 + "However, spring came. " + FILLER * 30
    chunks = DiscourseSegmenterChunker(embedder=alike, tokenizer="words", target_tokens=40, max_tokens=80).chunk(text)
    sizes = [chunk.tokens for chunk in chunks]
    assert 36 <= np.mean(sizes) <= 44
    assert max(sizes) <= 52
    assert any(chunk.text.startswith("However") for chunk in chunks)


def test_coherence_decides_where_groups_end():
    text = CATS * 2 + COURTS * 2
    assert texts_of(text, target_tokens=60, max_tokens=200) == [CATS * 2, COURTS * 2]


# Other rules.


def test_after_a_semicolon_it_opens_a_segment_inside_a_sentence():
    assert texts_of("The ice was thick; nevertheless, it broke at noon. ") == [
        "The ice was thick; ",
        "nevertheless, it broke at noon. ",
    ]


def test_a_connective_after_a_comma_opens_nothing():
    text = "The ice broke, because it was thin. It broke because it was thin. "
    assert texts_of(text, connectives={"because": "strong"}) == [text]
    assert texts_of(text + "Because it broke, we left. ", connectives={"because": "strong"}) == [
        text,
        "Because it broke, we left. ",
    ]
    zh = "外面下着大雨，所以我们没有去公园。因此他很失望。"
    assert texts_of(zh, language="zh") == ["外面下着大雨，所以我们没有去公园。", "因此他很失望。"]


def test_small_segments_may_contain_a_connective():
    text = "However, it snowed. " * 8
    assert texts_of(text) == ["However, it snowed. "] * 8
    sizes = [chunk.tokens for chunk in DiscourseSegmenterChunker(min_tokens=10).chunk(text)]
    assert min(sizes) >= 10
    assert len(sizes) > 2
    mixed = FILLER * 3 + "However, it snowed. " + "Therefore, they waited for spring. " + FILLER * 2
    assert texts_of(mixed, min_tokens=12) in (
        [FILLER * 3 + "However, it snowed. ", "Therefore, they waited for spring. " + FILLER * 2],
        [FILLER * 3, "However, it snowed. Therefore, they waited for spring. " + FILLER * 2],
    )


def test_a_subordinate_clause_stays_with_what_it_depends_on():
    # Any cut but one inside a sentence is further from the target; it is not made.
    sentence = "The old tug left the wide harbour because the cold wind had turned at last. "
    chunks = DiscourseSegmenterChunker(embedder=alike, tokenizer="words", target_tokens=22, max_tokens=60).chunk(
        sentence * 12
    )
    assert len(Edus()(sentence * 12)) == 24
    assert all(chunk.text.endswith("last. ") for chunk in chunks)
    assert len(chunks) > 4


def test_a_sentence_is_rather_cut_between_coordinate_clauses():
    # 6 | 11 words with the semicolon; 9 | 8 with the subordinator, which is nearer the target.
    text = "They left the old port; the others stayed there when the sea was calm and blue. "
    params = {"embedder": alike, "tokenizer": "words", "max_tokens": 12}
    assert Edus()(text).strings() == [
        "They left the old port; ",
        "the others stayed there ",
        "when the sea was calm and blue. ",
    ]
    assert texts_of(text, target_tokens=8, **params) == [text[:24], text[24:]]


def test_cuts_name_their_connective():
    text = FILLER + "However, it was late. " + FILLER
    chunks = DiscourseSegmenterChunker(add_scores=True).chunk(text)
    assert [chunk.metadata.get("cut") for chunk in chunks] == ["connective: however", None]
    shift = DiscourseSegmenterChunker(target_tokens=60, max_tokens=200, add_scores=True).chunk(CATS * 2 + COURTS * 2)
    assert shift[0].metadata["cut"] == "coherence"
    assert shift[0].metadata["cut_score"] > 0.5


def test_a_heading_stays_with_the_connective_under_it():
    text = f"# One\n\n{FILLER}\n\n# Two\n\nHowever, it was late. {FILLER}\n"
    place = text.index("# Two")
    assert texts_of(text) == [text[:place], text[place:]]


def test_sentences_may_be_found_otherwise():
    text = "Dr. However, he came. She left, and they slept."
    assert DiscourseSegmenterChunker(sentence_splitter="plain").explain(text).units.strings() == [
        "Dr. ", "However, he came. ", "She left, ", "and they slept.",
    ]  # fmt: skip
    by_name = DiscourseSegmenterChunker(sentence_splitter="edus").explain(text)
    assert by_name.units.strings() == DiscourseSegmenterChunker().explain(text).units.strings()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"connectives": {"and": "loud"}}, "connective 'and' must be 'strong', 'weak' or 'none', got 'loud'"),
        ({"connectives": {"and": {"strength": "weak"}}}, "connective 'and' must be 'strong', 'weak' or 'none'"),
        ({"connectives": {"; and": "weak"}}, "a connective must begin with a letter, got '; and'"),
        ({"connectives": ["and"]}, r"connectives must be a mapping of strings to anything or None, got \['and'\]"),
    ],
)
def test_a_parameter_out_of_range_is_refused(params, message):
    with pytest.raises(ConfigurationError, match=message):
        DiscourseSegmenterChunker(**params)


def test_the_fingerprint_knows_the_lexicon():
    prints = {
        DiscourseSegmenterChunker(**params).fingerprint()
        for params in ({}, {"connectives": {"but": "strong"}}, {"connectives": {"but": "none"}})
    }
    assert len(prints) == 3


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.booleans(), st.sampled_from([0.0, 8.0, 16.0]), st.integers(0, 3)),
        min_size=2,
        max_size=9,
    ),
    st.integers(3, 25),
    st.integers(0, 8),
)
def test_the_best_segmentation_is_the_best_of_all(rows, aim, minimum):
    from advchunk.chunkers.numerics import cutting

    sizes, turns, parting, topics = (np.array(column) for column in zip(*rows, strict=True))
    vectors = unit_rows(np.eye(4)[topics] + 0.1)
    n, scale = len(sizes), 4.0
    base_cost = evidence(vectors)
    table = {
        (s, end): float(value)
        for end, row in enumerate(base_cost(np.zeros(n, dtype=np.int64)), 1)
        for s, value in enumerate(row)
    }
    budget = max(30, int(sizes.max()))

    def price(edges):
        total = small = 0.0
        for start, end in pairwise(edges):
            tokens = int(sizes[start:end].sum())
            if tokens > budget:
                return (np.inf, np.inf)
            small += tokens < minimum
            total += table[start, end] + scale * (tokens / aim - 1) ** 2
            total += 1e6 * int(turns[start + 1 : end].sum()) + float(parting[start])
        return small, total

    ways = [(0, *inner, n) for k in range(n) for inner in combinations(range(1, n), k)]
    best = min(price(way) for way in ways)
    cost = segment_costs(base_cost, sizes, turns, parting, aim, scale)
    cuts, _ = cutting.cheapest_cuts(cost, sizes, np.full(n, budget), minimum=minimum)
    assert price(cuts.tolist()) == pytest.approx(best, rel=1e-9, abs=1e-6)


@given(
    st.lists(
        st.sampled_from(["However, it snowed. ", "It snowed; therefore, he left. ", "He left because it snowed. "]),
        min_size=1,
        max_size=9,
    )
)
def test_every_turn_is_a_boundary_by_default(sentences):
    text = "".join(sentences)
    turns = {i for word in ("However", "therefore") for i in range(1, len(text)) if text.startswith(word, i)}
    chunks = DiscourseSegmenterChunker(embedder=alike, layout_weight=0.0).chunk(Document(text))
    assert {chunk.start for chunk in chunks} - {0} == turns
    assert "".join(chunk.text for chunk in chunks) == text
