import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import advchunk
from advchunk.building.contexts import Contexts
from advchunk.building.sizes import Limits, RunSizes, assemble, assemble_groups, fit
from advchunk.models.counters import as_counter
from advchunk.readers import markdown
from advchunk.records import Block, Document, Span, SpanSet, Strength, Units
from advchunk.text import sentences, tables, tiling
from advchunk.text.counters import CHARACTERS, WORDS, CallableCounter, counts_of_distinct
from chats import every_fourth_line
from stand_ins import STAND_INS, merging


def utf8(text):
    return len(text.encode("utf-8", "surrogatepass"))


COUNTERS = [CHARACTERS, WORDS, as_counter("tokens"), CallableCounter(merging), CallableCounter(utf8)]
PIECES = [
    "cat", "cat dog", "dog", " ", ". ", ", ", "\n", "\n\n", "。", "東京", "e\u0301", "👨\u200d👩\u200d👧", "\ud800", "x" * 9, "\f",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=40).map("".join).filter(str.strip)
relaxed = settings(max_examples=250)


def context(offset):
    """Return the context of a heading that begins at character 20."""
    return ("A b", 2) if offset >= 20 else ("", 0)


@st.composite
def cases(draw):
    text, counter = draw(texts), draw(st.sampled_from(COUNTERS))
    top = draw(st.integers(1, 30))
    limits = Limits(top, draw(st.integers(0, top)), draw(st.integers(0, top - 1)), counter)
    tilers = [sentences.sentences, tiling.words, tiling.paragraphs, sentences.plain_sentences]
    units = draw(st.sampled_from(tilers))(text)
    strong = draw(st.booleans())
    strength = np.array(draw(st.lists(st.integers(0, 3), min_size=len(units) + 1, max_size=len(units) + 1)))
    return Units(text, units.edges, strength=strength if strong else None), limits


def cut(data, units):
    inner = data.draw(st.sets(st.integers(1, len(units) - 1))) if len(units) > 1 else set()
    return np.array([0, *sorted(inner), len(units)])


def check_size(chunk, limits):
    size = limits.counter(chunk.embed_text)
    assert chunk.tokens == size
    assert (size > limits.max_tokens) == ("oversize" in chunk.metadata)
    assert size <= limits.max_tokens or len(chunk.text) == 1


def check_order(chunks, units, limits):
    """Check chunks that cover units in order, and return where each begins without what it repeats."""
    covered = [0]
    for chunk in chunks:
        ((start, end),) = chunk.spans
        assert chunk.text == units.text[start:end]
        assert start <= covered[-1] < end
        assert limits.counter(units.text[start : covered[-1]]) <= limits.overlap_tokens or start == covered[-1]
        check_size(chunk, limits)
        covered.append(end)
    assert covered[-1] == len(units.text)
    return covered


@relaxed
@given(cases())
def test_fit_keeps_the_text_and_the_budget(case):
    units, limits = case
    fitted = fit(units, limits)
    assert "".join(fitted.strings()) == units.text
    assert set(units.edges.tolist()) <= set(fitted.edges.tolist())
    assert fitted.token_counts().tolist() == [limits.counter(text) for text in fitted.strings()]
    budgets = [limits.budget(start) for start in fitted.edges[:-1].tolist()]
    for size, budget, text in zip(fitted.token_counts().tolist(), budgets, fitted.strings(), strict=True):
        assert size <= budget or len(text) == 1
    old = dict(zip(units.edges.tolist(), units.strength.tolist(), strict=True))
    new = 1 if set(old.values()) == {1} else 0  # weak, unless all are edges of sentences
    assert fitted.strength.tolist() == [old.get(edge, new) for edge in fitted.edges.tolist()]


@relaxed
@given(cases(), st.data())
def test_chunks_are_bounded_lossless_and_in_order(case, data):
    units, limits = case
    units = fit(units, limits)
    check_order(assemble(units, cut(data, units), limits), units, limits)


@relaxed
@given(cases(), st.data())
def test_grouped_chunks_are_bounded_and_lossless(case, data):
    units, limits = case
    limits = replace(limits, overlap_tokens=0)
    units = fit(units, limits)
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(units), max_size=len(units))))
    chunks = assemble_groups(units, labels, limits)
    spans = sorted(span for chunk in chunks for span in chunk.spans)
    assert "".join(units.text[a:b] for a, b in spans) == units.text
    assert [a for a, _ in spans] == [0, *(b for _, b in spans[:-1])]
    assert [chunk.spans for chunk in chunks] == sorted(chunk.spans for chunk in chunks)
    for chunk in chunks:
        assert all(a.end < b.start for a, b in pairwise(chunk.spans))
        assert chunk.text == "".join(units.text[a:b] for a, b in chunk.spans)
        check_size(chunk, limits)


@relaxed
@given(cases(), st.data())
def test_context_counts(case, data):
    units, limits = case
    limits = replace(limits, max_tokens=limits.max_tokens + 4, context=context)
    units = fit(units, limits)
    for chunk in assemble(units, cut(data, units), limits):
        check_size(chunk, limits)
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(units), max_size=len(units))))
    for chunk in assemble_groups(units, labels, replace(limits, overlap_tokens=0)):
        check_size(chunk, limits)
        if limits.counter is WORDS:  # counts add up, so the context fits as estimated
            assert chunk.context == context(chunk.start)[0]


def pack_slowly(units, limits):
    """Pack units from the left while their joint text fits, as a reference."""
    runs, start = [], 0
    for end in range(1, len(units) + 1):
        text = units.text[units.edges[start] : units.edges[end]]
        budget = limits.max_tokens - (limits.overlap_tokens if start else 0)
        if limits.counter(text) > budget and end - 1 > start:
            runs.append(units.text[units.edges[start] : units.edges[end - 1]])
            start = end - 1
    return [*runs, units.text[units.edges[start] :]]


@relaxed
@given(texts, st.data(), st.sampled_from([CHARACTERS, WORDS, as_counter("tokens"), CallableCounter(utf8)]))
def test_packing_is_greedy(text, data, counter):
    top = data.draw(st.integers(1, 30))
    limits = Limits(top, 0, data.draw(st.integers(0, top - 1)), counter)
    units = fit(tiling.words(text), limits)
    ends = [0, *(chunk.end for chunk in assemble(units, np.array([0, len(units)]), limits))]
    assert [text[start:end] for start, end in pairwise(ends)] == pack_slowly(units, limits)


def test_short_chunks_are_merged_with_the_more_similar_neighbor():
    units = Units("aaaa b cccc", np.array([0, 5, 7, 11]))
    limits = Limits(8, 3, 0, CHARACTERS)
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 1.0]])
    for rows, expected in ((vectors, ["aaaa ", "b cccc"]), (vectors[[1, 1, 0]], ["aaaa b ", "cccc"]), (None, ["aaaa ", "b cccc"])):  # fmt: skip
        assert [c.text for c in assemble(units, np.arange(4), limits, rows)] == expected


@pytest.mark.parametrize(
    ("strength", "expected"),
    [
        ([0, 9, 0, 0, 0, 0, 0, 0, 0], ["a b c d ", "e f g h"]),  # the strongest of all is in the first half
        ([0, 0, 1, 2, 1, 0, 0, 0, 0], ["a b c ", "d e f g ", "h"]),
        ([0, 0, 1, 1, 1, 0, 0, 0, 0], ["a b c d ", "e f g h"]),  # the last of equals
        (None, ["a b c d ", "e f g h"]),
    ],
)
def test_a_chunk_ends_at_the_strongest_edge_of_its_second_half(strength, expected):
    units = Units("a b c d e f g h", np.r_[0:15:2, 15], strength=None if strength is None else np.array(strength))
    assert [c.text for c in assemble(units, np.array([0, 8]), Limits(4, 0, 0, WORDS))] == expected


def test_a_strong_edge_is_skipped_if_less_text_has_more_tokens():
    text = "dog. cat dog cat dog dog cat dog cat dog dog. dog. a dodoa dodog a dog. "
    strength = np.array([0, 2, 3, 1, 2, 3, 1, 3, 3, 3, 1, 1, 3, 0, 2, 2, 3, 3])
    limits = Limits(15, 2, 0, CallableCounter(merging))
    units = fit(Units(text, tiling.words(text).edges, strength=strength), limits)
    for chunk in assemble(units, np.array([0, len(units)]), limits):
        assert chunk.tokens == merging(chunk.text) <= 15


@pytest.mark.parametrize(("overlap", "repeated"), [(0, ""), (2, "four. "), (3, "Three four. "), (6, "Three four. ")])
def test_overlap_repeats_whole_units_then_less(overlap, repeated):
    text = "One two. Three four. Five six."
    units = Units(text, np.array([0, 9, 21, 30]))
    limits = Limits(12, 0, overlap, CallableCounter(lambda text: len(re.findall(r"\w+|\.", text)), adds_up=True))
    second = assemble(units, np.array([0, 2, 3]), limits)[1]
    assert second.text == repeated + "Five six."


@pytest.mark.parametrize(
    ("code", "cuts", "strength", "own"),
    [
        (1, [0, 100], {}, [40, 20, 20, 20]),
        (1, [0, 50, 100], {50: Strength.HARD_BREAK}, [40, 10, 40, 10]),
        (30, [0, 1, 71], {}, [30, 40, 20, 10]),  # code that is too long to be repeated
    ],
)
def test_a_chunk_that_repeats_nothing_may_use_all_tokens(code, cuts, strength, own):
    edges = np.r_[0, 2 * code : 201 : 2]
    units = Units("a " * 100, edges, strength=np.array([strength.get(i, 1) for i in range(len(edges))]))
    limits = Limits(40, 0, 20, WORDS, verbatim=SpanSet([Span(0, 2 * code)] if code > 1 else []))
    chunks = assemble(fit(units, limits), np.array(cuts), limits)
    assert np.diff([0, *(chunk.end // 2 for chunk in chunks)]).tolist() == own


class Counting:
    """A counter that records the number of characters it counts."""

    def __init__(self, count, adds_up):
        self.count, self.adds_up, self.shown = count, adds_up, 0

    def __call__(self, text):
        self.shown += len(text)
        return self.count(text)

    def counts(self, texts):
        return np.array([self(text) for text in texts], dtype=np.int64)


def four_letters(text):
    """Count like a BPE that merges adjacent text, so that the parts have more tokens than the whole."""
    return -(-len(text) // 4)


SENTENCE = "The cat sat on the mat, and the dogs of parliament slept; nobody minded. "
LONG = {
    "prose": lambda n: ((SENTENCE * 7 + "\n\n") * n)[:n],
    "one word": lambda n: "abcdefgh" * (n // 8),
    "no spaces": lambda n: ("今天天气很好，我们去公园。" * n)[:n],
    "one grapheme": lambda n: "a" + "\u0301" * (n - 1),
    "surrogates": lambda n: "\ud800" * n,
    "short words": lambda n: ("a " * n)[:n],
}


def shown_per_character(name, text, count, adds_up, **params):
    counter = Counting(count, adds_up)
    resources = {"embedder": lambda texts: [[len(t) % 7 - 3.0, 1.0] for t in texts]}
    spare = {"contiguous": True} if "overlap_tokens" in params and name == "mst-semantic" else {}
    spare |= {"threshold": 1.0} if name == "graph-partition" else {}  # equal vectors would give a million edges
    spare |= {"min_segment_length": 0} if name == "c99" else {}  # short segments are counted again when they are joined
    spare |= {"support": 100.0, "llm": every_fourth_line} if name == "llm-chaptering" else {}
    kwargs = {"max_tokens": 64, "overlap_tokens": 0, "tokenizer": counter, **resources, **params, **spare}
    chunker = advchunk.create(name, experimental=True, **{**STAND_INS.get(name, {}), **kwargs})
    chunks = chunker.explain(Document(text, blocks=())).chunks  # without summaries of a corpus, whose size is limited
    assert all(chunk.tokens <= 64 for chunk in chunks)
    return counter.shown / len(text)


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("name", advchunk.names())
@pytest.mark.parametrize(
    ("count", "adds_up", "most"), [(lambda text: len(text.split()), True, 4.1), (four_letters, False, 8.5)]
)
def test_token_counting_is_linear(name, kind, count, adds_up, most):
    shown = [shown_per_character(name, LONG[kind](n), count, adds_up) for n in (2000, 8000)]
    assert max(shown) <= most * (1.5 if name == "hierarchical" else 1)  # whose levels are each kept above a minimum
    assert shown[-1] <= shown[0] * 1.25
    if (
        kind == "prose" and adds_up and name != "mst-semantic"
    ):  # which counts its pieces before they are units, and groups
        assert shown[-1] <= 1.0


@pytest.mark.parametrize("name", [name for name in advchunk.names() if name != "hierarchical"])  # without overlap
@pytest.mark.parametrize(
    ("count", "adds_up", "most"), [(lambda text: len(text.split()), True, 6.5), (len, False, 13.0)]
)
def test_overlap_costs_a_bit_more(name, count, adds_up, most):
    assert shown_per_character(name, LONG["prose"](8000), count, adds_up, overlap_tokens=8) <= most


def test_the_work_for_a_wide_table_grows_with_its_columns(monkeypatch):
    cells, read = tables.cells, list[int]()
    monkeypatch.setattr(tables, "cells", lambda text, kind: read.append(len(text)) or cells(text, kind))

    def characters_read(columns):
        """Return how often a character is counted, or searched for cells."""
        read.clear()
        counter = Counting(lambda text: len(text.split()), adds_up=True)
        rows = [[f"{name}{i}" for i in range(columns)] for name in ("column", *"abc")]
        rows.insert(1, ["---"] * columns)
        text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        document = Document(text, blocks=(Block("table", Span(0, len(text))),))
        assert advchunk.RecursiveChunker(max_tokens=64, tokenizer=counter).chunk(document)[-1].context
        return (counter.shown + sum(read)) / len(text)

    assert characters_read(2000) < 1.2 * characters_read(500)


@st.composite
def cases_with_target(draw):
    """Draw units, cuts, and limits with a target such that no grapheme exceeds a fifth of it."""
    counter = draw(st.sampled_from([CHARACTERS, WORDS]))
    target = draw(st.integers(10, 30))
    high = target * 6 // 5
    overlap = draw(st.integers(0, 9))
    top = high + overlap + draw(st.integers(0, 20))
    limits = Limits(top, draw(st.integers(0, target)), overlap, counter, target=target)
    text = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=90).map("".join).filter(str.strip))
    units = draw(st.sampled_from([sentences.sentences, tiling.words, tiling.paragraphs]))(text)
    strength = np.array(draw(st.lists(st.integers(0, 3), min_size=len(units) + 1, max_size=len(units) + 1)))
    units = fit(Units(text, units.edges, strength=strength if draw(st.booleans()) else None), limits)
    inner = draw(st.sets(st.integers(1, len(units) - 1), max_size=3)) if len(units) > 1 else set()
    vectors = np.eye(len(units)) if draw(st.booleans()) else None
    return units, np.array([0, *sorted(inner), len(units)]), limits, vectors


@relaxed
@given(cases_with_target())
def test_all_but_the_last_chunk_of_a_segment_are_within_20_percent_of_the_target(case):
    units, cuts, limits, vectors = case
    for start, end in pairwise(check_order(assemble(units, cuts, limits, vectors), units, limits)):
        own = limits.counter(units.text[start:end])
        assert own <= 1.2 * limits.target
        assert own >= 0.8 * limits.target or end in units.edges[cuts]


def test_segments_that_can_be_divided_near_the_target_keep_their_ends():
    units, cuts = Units("a " * 94, np.arange(0, 189, 2)), np.array([0, 20, 31, 43, 73, 94])
    sizes = [chunk.tokens for chunk in assemble(units, cuts, Limits(99, 0, 0, WORDS, target=10))]
    assert {20, 31, 43, 73} <= set(np.cumsum(sizes).tolist())


@relaxed
@given(cases_with_target())
def test_with_a_target_short_chunks_have_no_neighbor_with_room(case):
    units, cuts, limits, vectors = case
    limits = replace(limits, overlap_tokens=0)
    sizes = [chunk.tokens for chunk in assemble(units, cuts, limits, vectors)]
    assert all(min(pair) >= limits.min_tokens or sum(pair) > limits.target * 6 // 5 for pair in pairwise(sizes))


@relaxed
@given(cases(), st.integers(1, 25), st.data())
def test_any_target_keeps_chunks_bounded_lossless_and_in_order(case, target, data):
    units, limits = case
    limits = replace(limits, target=target, max_tokens=limits.max_tokens + 4)
    others = [limits, replace(limits, context=context), replace(limits, verbatim=EVERYWHERE)]
    limits = data.draw(st.sampled_from(others))
    units = fit(units, limits)
    if units.strength is not None and data.draw(st.booleans()):
        units = replace(units, strength=np.minimum(units.strength, 0) - 1)
    check_order(assemble(units, cut(data, units), limits), units, limits)


def windows(text, target, units=sentences.sentences, top=99, **kwargs):
    tiled = units(text) if callable(units) else units
    limits = Limits(top, kwargs.pop("low", 0), kwargs.pop("overlap", 0), WORDS, target=target, **kwargs)
    return [chunk.text for chunk in assemble(fit(tiled, limits), np.array([0, len(tiled)]), limits)]


@pytest.mark.parametrize(
    ("strength", "expected"),
    [
        ([0, 9, 9, 9, 1, 1, 1, 9, 0, 0, 0, 0], ["a b c d e ", "f g h i j k"]),  # the nearest of equals
        ([0, 9, 9, 9, 1, 1, 2, 9, 0, 0, 0, 0], ["a b c d e f ", "g h i j k"]),
        ([0, 9, 9, 9, 2, 1, 1, 0, 0, 0, 3, 4], ["a b c d e ", "f g h i j k"]),  # "k" would be too small
        (None, ["a b c d e ", "f g h i j k"]),
    ],
)
def test_a_window_ends_at_the_strongest_edge_within_20_percent_of_the_target(strength, expected):
    strength = None if strength is None else np.array(strength)
    units = Units("a b c d e f g h i j k", np.r_[0:21:2, 21], strength=strength)
    assert windows(units.text, 5, units) == expected


def test_a_long_sentence_is_cut_at_a_clause_and_a_long_clause_at_a_word():
    clauses = "One two three four, five six seven eight nine ten, " + "eleven " * 9 + "eleven."
    assert windows(clauses, 10) == [clauses[:51], clauses[51:]]
    plain = clauses.replace(",", "")
    assert [len(text.split()) for text in windows(plain, 6)] == [6, 7, 7]
    assert windows("Go on. " + plain, 10)[0].split()[-1] == "eight"  # ten words, because no clause ends at 8 to 12


@pytest.mark.parametrize(("target", "first"), [(6, 5), (9, 8), (10, 8)])
def test_the_minimum_is_20_percent_below_the_target(target, first):
    strong = np.r_[0, np.arange(28, 0, -1)]  # the earlier, the stronger
    units = Units("a " * 28, np.r_[0:57:2], strength=strong)
    assert len(windows(units.text, target, units)[0].split()) == first


EVERYWHERE = SpanSet([Span(0, 10**9)])


def spans(start, end):
    return SpanSet([Span(start, end)])


def test_a_protected_block_is_not_cut_for_a_target():
    text, edges = "a a a " + "t " * 13 + "b b b b b b b", np.array([0, 2, 4, 6, 32, 34, 36, 38, 40, 42, 44, 45])
    units, code = Units(text, edges), spans(6, 32)
    assert windows(text, 10, units, top=16, verbatim=code) == [
        "a a a " + "t " * 13,
        "b b b b b b b",
    ]  # 16 is nearer than 3
    assert windows(text, 10, units, top=15, verbatim=code) == ["a a a ", "t " * 13, "b b b b b b b"]
    assert windows(text, 6, units, top=15, verbatim=code) == ["a a a ", "t " * 13, "b b b b b b b"]
    assert (
        windows(text, 10, units, top=16)[0] == "a a a " + "t " * 8
    )  # prose of the same words, 11 and 12 of which are near the target


def test_text_without_spaces_is_cut_between_graphemes_for_a_target():
    for text, expected in (("今天天气很好我们去公园" * 3, [10, 11, 12]), ("e" + "\u0301" * 30, [31])):
        units, limits = Units(text, np.array([0, len(text)])), Limits(99, 0, 0, CHARACTERS, target=10)
        assert [chunk.tokens for chunk in assemble(units, np.array([0, 1]), limits)] == expected


def test_a_heading_is_not_separated_from_its_table_for_a_target():
    units = Units("a " * 8 + "h " + "t " * 9, np.array([*range(0, 19, 2), 36]), strength=np.r_[[0] * 7, 1, 3, -1, 0])
    assert windows(units.text, 9, units, verbatim=spans(18, 36)) == ["a " * 8, "h " + "t " * 9]
    # Edges within 20 % of the target separate the heading.
    units = Units("a " * 7 + "h " + "t " * 12, np.array([*range(0, 17, 2), 40]), strength=np.r_[[0] * 7, 1, -1, 0])
    assert windows(units.text, 9, units, verbatim=spans(16, 40)) == ["a " * 7, "h " + "t " * 12]


def test_target_respects_the_budget_if_less_text_has_more_tokens():
    counter = CallableCounter(lambda text: 9 if text == "ab" else len(text))
    limits = Limits(4, 0, 0, counter, verbatim=EVERYWHERE, target=2)
    units = Units("abcd", np.arange(5), strength=np.full(5, -1))
    assert [chunk.text for chunk in assemble(units, np.array([0, 4]), limits)] == ["a", "bc", "d"]


def test_groups_of_distant_units_ignore_the_target():
    units = Units("a b c d e f", np.r_[0:11:2, 11])
    limits = Limits(4, 2, 0, WORDS)
    labels = np.array([0, 1, 0, 1, 0, 2])
    assert assemble_groups(units, labels, replace(limits, target=2)) == assemble_groups(units, labels, limits)
    assert [chunk.tokens for chunk in assemble_groups(units, labels, limits)] == [3, 3]


@given(cases(), st.data())
def test_characters_have_the_sizes_that_any_counter_of_them_finds(case, data):
    units, limits = case
    fast, slow = (replace(limits, counter=c) for c in (CHARACTERS, CallableCounter(lambda text: sum(map(len, text)))))
    fit_fast, fit_slow = fit(units, fast), fit(units, slow)
    assert [fit_fast.edges.tolist(), fit_fast.sizes.tolist()] == [fit_slow.edges.tolist(), fit_slow.sizes.tolist()]
    cuts = cut(data, fit_fast)
    assert assemble(fit_fast, cuts, fast) == assemble(fit_slow, cuts, slow)


@given(st.lists(st.sampled_from(["", "a", "bb", "ccc"])))
def test_many_equal_texts_are_counted_once(texts):
    counted = list[str]()

    def count(text):
        counted.append(text)
        return len(text)

    assert counts_of_distinct(CallableCounter(count), texts).tolist() == [*map(len, texts)]
    assert len(counted) <= max(2 * len({*texts}), 1)


@relaxed
@given(cases(), st.booleans(), st.data())
def test_a_minimum_joins_short_pieces_only(case, similar, data):
    units, limits = case
    units, least = fit(units, limits), limits.min_tokens
    cuts, limits = cut(data, units), replace(limits, overlap_tokens=0)
    pieces = assemble(units, cuts, replace(limits, min_tokens=0))
    for chunk in assemble(units, cuts, limits, np.ones((len(units), 2)) if similar else None):
        touched = [piece.tokens for piece in pieces if piece.start < chunk.end and chunk.start < piece.end]
        assert chunk.tokens <= max([least, *touched]) + 3 * least


@pytest.mark.parametrize("sizes", [(50, 3), (3, 50), (45, 3, 45), (50, 9, 50, 2)])
def test_a_short_piece_without_room_beside_it_takes_text_from_a_neighbor(sizes):
    units = Units("a " * sum(sizes), np.arange(0, 2 * sum(sizes) + 1, 2))
    chunks = assemble(units, np.r_[0, np.cumsum(sizes)], Limits(50, 10, 0, WORDS))
    assert min(chunk.tokens for chunk in chunks) >= 10


@pytest.mark.parametrize("count", [CHARACTERS, WORDS, CallableCounter(four_letters)])
@pytest.mark.parametrize("line", ["x1 = " + "y + " * 400 + "0", "x" * 2000, '"a b", ' * 300])
@pytest.mark.parametrize("after", ["", "z = 1\n"])
def test_the_fence_of_a_code_block_is_not_a_chunk(line, after, count):
    block = f"```python\n{line}\n{after}```\n"
    limits = Limits(64, 0, 0, count, verbatim=EVERYWHERE)
    parts = fit(Units(block, np.array([0, len(block)])), limits).strings()
    assert "".join(parts) == block
    assert parts[0].removeprefix("```python\n")
    assert parts[-1].strip() not in {"```", "z = 1\n```"}
    assert max(map(count, parts)) <= 64


def test_overlap_is_what_the_words_allow():
    text = "One two. Three four five. Six seven eight nine. " * 3
    limits = Limits(1000, 0, 60, CHARACTERS, more=((WORDS, 7),))
    units = sentences.sentences(text)
    chunks = assemble(fit(units, limits), np.arange(0, len(units) + 1), limits)
    assert max(WORDS(chunk.text) for chunk in chunks) == 7
    assert all(later.start < earlier.end for earlier, later in pairwise(chunks))


def test_a_context_counts_with_the_blank_line_after_it():
    text = "# Tea\n\nGreen."
    context = Contexts(Document(text, blocks=markdown.blocks(text)), Limits(40, 0, 0, CHARACTERS))
    assert context(text.index("Green")) == ("Tea", len("Tea\n\n"))


def test_a_chunk_of_the_minimum_stays():
    chunks = assemble(Units("a b c d e f ", np.arange(0, 13, 2)), np.array([0, 3, 6]), Limits(6, 3, 0, WORDS))
    assert [chunk.tokens for chunk in chunks] == [3, 3]


def test_the_context_counts_where_text_is_repeated():
    def count(text):
        return len(text) + 9 * ("Tea\n\ncde" in text)  # what a context and the text after it have together

    units = Units("abcdefgh", np.arange(0, 9, 2))
    limits = Limits(12, 0, 3, CallableCounter(count), lambda _: ("Tea", 5))
    chunks = assemble(fit(units, limits), np.array([0, 2, 4]), limits)
    assert [(chunk.context, chunk.text) for chunk in chunks] == [("Tea", "abcd"), ("Tea", "efgh")]
    assert all(chunk.tokens == count(chunk.embed_text) <= 12 for chunk in chunks)


@pytest.mark.parametrize("counter", COUNTERS)
@given(texts, st.data())
def test_a_run_fits_if_its_tokens_are_at_most_the_budget(counter, text, data):
    units = tiling.words(text)
    sizes = RunSizes(units, counter)
    start = data.draw(st.integers(0, len(units) - 1))
    end = data.draw(st.integers(start + 1, len(units)))
    tokens = sizes.size(start, end)
    assert sizes.fits(start, end, tokens)
    assert not sizes.fits(start, end, tokens - 1)


WORDLESS = ("---\n\n", "* * *\n\n", "\x84\n\n\x84\n\n", "- ", "```\n", "… ", "| --- |\n")


@given(
    st.lists(st.sampled_from([*WORDLESS, "Tea is green. ", "Milk.\n\n", "## Cats\n\n"]), min_size=1, max_size=20),
    st.integers(14, 40),
    st.integers(0, 12),
    st.data(),
)
def test_a_chunk_without_a_word_has_no_room_beside_it(parts, most, least, data):
    ends = sorted(data.draw(st.sets(st.integers(1, len(parts)), max_size=6)) | {len(parts)})
    units = tiling.from_ends("".join(parts), np.cumsum([len(part) for part in parts]).tolist())
    chunks = assemble(units, np.array([0, *ends]), Limits(most, min(least, most // 2), 0, CHARACTERS))
    assert "".join(chunk.text for chunk in chunks) == units.text
    for first, second in pairwise(chunks):
        if not all(any(map(str.isalnum, chunk.text)) for chunk in (first, second)):
            assert first.tokens + second.tokens > most
