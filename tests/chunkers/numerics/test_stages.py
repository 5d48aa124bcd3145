"""Each stage on an input small enough to check by eye."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.building.contexts import Contexts
from advchunk.building.layout import fit_to_blocks
from advchunk.building.sizes import Limits
from advchunk.chunkers.by_topic.mst.chunker import tile_pieces
from advchunk.chunkers.numerics import costs, cutting, graphs
from advchunk.chunkers.numerics.graphs import Edges
from advchunk.models import signals
from advchunk.readers import markdown
from advchunk.records import Block, Document, Span, Strength
from advchunk.text import sentences, tiling
from advchunk.text.counters import WORDS

GUIDE = """\
# Tea

Green is steamed. Black is not.

- Mint
- Dill

> Quoted. Words.

```py
a = 1.  # One. Two.

b = 2
```

| a | b |
|---|---|
| 1. | 2. Two |

### Milk

Whole."""


def limits(most):
    return Limits(most, 0, 0, WORDS)


def edges(*triples):
    left, right, weight = zip(*triples, strict=True)
    return Edges(np.array(left), np.array(right), np.array(weight, dtype=float))


def scattered(rows):
    """Cost a segment the summed squared distance of its rows to their mean."""
    return lambda first: (
        np.array([((rows[i:end] - rows[i:end].mean(axis=0)) ** 2).sum() for i in range(start, end)])
        for end, start in enumerate(first.tolist(), start=1)
    )


# Boundaries.


def test_cuts_at_are_sorted_and_unique():
    assert cutting.cuts_at(np.array([3, 1, 3]), 5).tolist() == [0, 1, 3, 5]
    assert cutting.cuts_at(np.array([0, 5]), 5).tolist() == [0, 5]
    assert cutting.cuts_at(np.array([], dtype=np.int64), 2).tolist() == [0, 2]


def test_above_does_not_cut_at_the_threshold_itself():
    assert cutting.cuts_above(np.array([0.1, 0.9, 0.2]), 0.2).tolist() == [0, 2, 4]
    assert cutting.cuts_above(np.array([0.1, 0.1]), 0.1).tolist() == [0, 3]


def test_runs_end_where_the_label_changes_though_it_comes_again():
    assert cutting.run_cuts(np.array([4, 4, 1, 4])).tolist() == [0, 2, 3, 4]
    assert cutting.run_cuts(np.array([7])).tolist() == [0, 1]


def test_cheapest_cuts_where_the_rows_change():
    rows = np.array([[0.0], [0.0], [5.0], [5.0], [5.0], [9.0]])
    lengths, room = np.ones(6, dtype=int), np.full(6, 9)
    assert cutting.cheapest_cuts(scattered(rows), lengths, room, penalty=1.0)[0].tolist() == [0, 2, 5, 6]
    assert cutting.cheapest_cuts(scattered(rows), lengths, room, segments=2)[0].tolist() == [0, 2, 6]
    assert cutting.cheapest_cuts(scattered(rows), lengths, room, penalty=1.0, minimum=2)[0].tolist() == [0, 2, 4, 6]
    assert cutting.cheapest_cuts(scattered(rows), lengths, np.full(6, 2), penalty=1.0)[0].tolist() == [0, 2, 3, 5, 6]


def test_cheapest_minds_the_budget_of_each_start():
    """Only what starts at the first unit may have three."""
    rows, budget = np.zeros((5, 1)), np.array([3, 2, 2, 2, 2])
    assert cutting.cheapest_cuts(scattered(rows), np.ones(5, int), budget, penalty=1.0)[0].tolist() == [0, 3, 5]


def test_cheapest_always_allows_one_unit():
    cuts, _ = cutting.cheapest_cuts(scattered(np.zeros((3, 1))), np.array([1, 9, 1]), np.full(3, 4), segments=1)
    assert cuts.tolist() == [0, 1, 2, 3]


def test_evidence_of_rows_about_two_means():
    """A quarter of the spread, which is 1, is shared; the only coordinate counts for one."""
    rows = np.array([[4.0], [4.0], [2.0], [2.0]])
    *_, ending_last = costs.evidence(rows)(np.zeros(4, dtype=np.int64))
    assert ending_last == pytest.approx(
        [
            (4 / 0.75 + log(1 + 4 / 3)) / 2,
            ((3 - 1 / (3 + 3)) / 0.75 + log(1 + 3 / 3)) / 2,
            ((2 - 4 / (2 + 3)) / 0.75 + log(1 + 2 / 3)) / 2,
            ((1 - 1 / (1 + 3)) / 0.75 + log(1 + 1 / 3)) / 2,
        ]
    )


@pytest.mark.parametrize("length", [0.0, 1.0])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_equal_rows_are_one_segment_at_any_price(n, length):
    rows = np.full((n, 2), length / np.sqrt(2), dtype=np.float32)
    rows[: n // 2, 0] *= 1 + 2 * np.finfo(np.float32).eps
    cuts, _ = cutting.cheapest_cuts(costs.evidence(rows), np.ones(n, dtype=int), np.full(n, n))
    assert cuts.tolist() == [0, n]


# Graphs.


def test_components_are_named_after_their_first_node():
    assert graphs.components(6, [edges((4, 5, 0), (1, 2, 0)), edges((2, 4, 0))]).tolist() == [0, 1, 1, 3, 1, 1]
    assert graphs.components(3, []).tolist() == [0, 1, 2]


def test_a_spanning_tree_takes_of_equal_edges_the_first_in_the_text():
    tree = graphs.spanning_tree(4, [edges((1, 2, 0.5), (0, 2, 0.5), (2, 3, -1), (0, 1, 0.5), (1, 3, 0))])
    assert list(zip(*(part.tolist() for part in tree), strict=True)) == [(2, 3, -1), (1, 3, 0), (0, 1, 0.5)]
    assert tree.lightest(2).right.tolist() == [3, 3]


def test_a_disconnected_graph_has_a_spanning_forest():
    tree = graphs.spanning_tree(5, [edges((0, 1, 2)), edges((2, 4, 1))])
    assert list(zip(*(part.tolist() for part in tree), strict=True)) == [(2, 4, 1), (0, 1, 2)]
    assert len(graphs.spanning_tree(3, []).weight) == 0


# Signals.


def test_unit_rows_leave_a_zero_row_zero():
    assert signals.unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_centering_removes_the_mean_row():
    rows = np.array([[9.0, 1.0], [9.0, -1.0]])
    assert signals.center_rows(rows).tolist() == [[0.0, 1.0], [0.0, -1.0]]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_prefix_sums_are_cumulative_sums(kind):
    rows = np.random.default_rng(1).normal(0, 9, (200, 7)).astype(kind)
    sums = signals.prefix_sums(rows)
    assert not sums[0].any()
    assert np.array_equal(sums[1:], np.cumsum(rows, axis=0, dtype=np.float64))


def test_neighbor_similarity():
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, -0.8], [0.0, 0.0]])
    assert signals.neighbor_similarity(rows) == pytest.approx([0.6, -1.0, 0.0])


@pytest.mark.parametrize(
    ("rule", "amount", "threshold", "cut"),
    [
        ("percentile", 75, 4.0, [4]),
        ("percentile", 50, 2.0, [3, 4]),
        ("percentile", 100, 10.0, []),
        ("standard_deviation", 1.0, 3.4 + 12.64**0.5, [4]),  # mean 3.4, variance 12.64
        ("standard_deviation", 0.1, 3.4 + 0.1 * 12.64**0.5, [3, 4]),
        ("interquartile", 1.5, 3.4 + 1.5 * 3.0, [4]),  # quartiles 1 and 4
        ("interquartile", 0.1, 3.4 + 0.1 * 3.0, [3, 4]),
        ("gradient", 75, 4.0, [4]),
    ],
)
def test_breakpoint_rules(rule, amount, threshold, cut):
    distances = np.array([0.0, 1.0, 2.0, 4.0, 10.0])  # its gradient is 1, 1, 1.5, 4, 6
    gaps, actual = signals.breakpoint_threshold(distances, rule, amount)
    assert actual == pytest.approx(threshold)
    assert np.flatnonzero(gaps > actual).tolist() == cut


def test_the_gradient_is_another_curve_than_the_distances():
    gaps, _ = signals.breakpoint_threshold(np.array([0.0, 4.0, 4.0, 5.0]), "gradient", 50)
    assert gaps.tolist() == [4.0, 2.0, 0.5, 1.0]
    assert signals.breakpoint_threshold(np.array([0.3]), "gradient", 50) == (np.array([0.0]), 0.0)


# Layout.


def test_fit_to_blocks_says_how_good_a_place_each_edge_is():
    units = fit_to_blocks(sentences.sentences(GUIDE), markdown.read(GUIDE))
    strengths = dict(zip(units.strings(), units.strength.tolist(), strict=False))
    assert strengths == {
        "# Tea\n\n": Strength.HEADING + 5,
        "Green is steamed. ": Strength.KEEP_WITH_NEXT,
        "Black is not.\n\n": Strength.SENTENCE,
        "- Mint\n": Strength.ITEM,
        "- Dill\n\n": Strength.ITEM,
        "> Quoted. ": Strength.BLOCK,
        "Words.\n\n": Strength.SENTENCE,
        "```py\na = 1.  # One. Two.\n\nb = 2\n```\n\n": Strength.BLOCK,
        "| a | b |\n|---|---|\n| 1. | 2. Two |\n\n": Strength.BLOCK,
        "### Milk\n\n": Strength.HEADING + 3,
        "Whole.": Strength.KEEP_WITH_NEXT,
    }
    assert len(units.strength) == len(units) + 1


def test_a_text_without_blocks_keeps_its_units():
    text = "One. Two. Three."
    units = fit_to_blocks(sentences.sentences(text), Document(text, blocks=()))
    assert units.strings() == ["One. ", "Two. ", "Three."]
    assert units.strength.tolist() == [Strength.SENTENCE] * 4


def test_white_space_before_the_first_block_has_no_unit_of_its_own():
    text = "\n\n  \n# Tea\n\nGreen."
    assert fit_to_blocks(sentences.sentences(text), markdown.read(text)).strings() == ["\n\n  \n# Tea\n\n", "Green."]


def test_indentation_stays_with_its_block():
    text = "1. Do:\n\n   ```sh\n   make\n   ```\n\n   Then.\n\n   ***\n\n       so"
    units = fit_to_blocks(tiling.words(text), markdown.read(text))
    assert units.strings() == [
        "1. ",
        "Do:\n\n",
        "   ```sh\n   make\n   ```\n\n",
        "   Then.\n\n",
        "   ***\n\n",
        "       so",
    ]


@pytest.mark.parametrize("tiler", [tiling.words, sentences.sentences, tiling.characters])
@given(
    st.lists(st.sampled_from(["a. B", "- ", "```", "|a|\n|-|", "# ", "> ", "***", " ", "   ", "\n", "\n\n", "\r\n"]))
)
def test_no_unit_ends_in_the_white_space_before_a_block(tiler, pieces):
    text = "".join(pieces)
    document = markdown.read(text)
    edges = fit_to_blocks(tiler(text), document).edges.tolist()
    assert [0, len(text)] == [edges[0], edges[-1]] or not text
    leading = len(text) - len(text.lstrip())
    for start, _ in (block.span for block in document.blocks):
        space = range(len(text[:start].rstrip()), len(text) - len(text[start:].lstrip()) + 1)
        assert [edge for edge in edges if edge in space] == [start if start > leading else 0]


@pytest.mark.parametrize("tiler", [tiling.words, sentences.sentences, tiling.characters])
@given(
    st.lists(st.sampled_from(["a. B", "- ", "```", "\n```\n", "|a|\n|-|\n", "# ", "Table 1. ", "   ", "\n", "\n\n"]))
)
def test_each_edge_of_a_unit_is_kept_unless_it_is_in_a_protected_block_or_above_one(tiler, pieces):
    text = "".join(pieces)
    document, units = markdown.read(text), tiler(text)

    def text_end(end):
        return len(text[:end].rstrip())

    spans, edges, ends = [range(len(text) - len(text.lstrip()) + 1)], {0, len(text)}, set()
    for block in document.blocks:
        start, end = block.span
        is_whole = block.kind in ("code", "table", "formula", "figure", "heading")
        below = len(text) - len(text[start:].lstrip())
        spans.append(range(text_end(start), max(below + 1, end if is_whole else 0)))
        edges |= {start} if start not in spans[0] else set()
        ends |= {tiling.unit_end(text, text_end(end))} if is_whole and block.kind != "heading" else set()
    edges |= {edge for edge in {*units.edges.tolist(), *ends} if not any(edge in span for span in spans)}
    assert fit_to_blocks(units, document).edges.tolist() == sorted(edges)


def test_blocks_without_their_indentation_have_no_white_space_before_them_cut_off():
    text = "One.\n\n    a = 1\n\n  Two."
    code, two = (Span(text.index(start), text.index(end) + 1) for start, end in [("a", "1"), ("T", "o.")])
    document = Document(text, blocks=(Block("code", code), Block("paragraph", two)))
    assert fit_to_blocks(tiling.words(text), document).strings() == ["One.\n\n    ", "a = 1\n\n  ", "Two."]


def test_text_around_a_protected_block_is_cut_at_its_edges_only():
    text = "Before. So.\n```\na. B. C.\n```\nAfter. So."
    units = fit_to_blocks(tiling.words(text), markdown.read(text))
    assert units.strings() == ["Before. ", "So.\n", "```\na. B. C.\n```\n", "After. ", "So."]


@pytest.mark.parametrize("after", ["", "\n", "\n\n  "])
def test_a_protected_block_may_end_the_text(after):
    text = f"Before.\n\n```\na. B.\n```{after}"
    assert fit_to_blocks(sentences.sentences(text), markdown.read(text)).strings() == [
        "Before.\n\n",
        f"```\na. B.\n```{after}",
    ]


# Context.


def contexts(text, most, **metadata):
    document = Document(text, blocks=markdown.blocks(text), metadata=metadata)
    context = Contexts(document, limits(most))
    return lambda word: context(text.index(word))


def test_context_is_the_title_and_the_headings_above():
    context = contexts("# Tea\n\nGreen.\n\n## Brew\n\nHot.\n\n# Milk\n\nWhole.", 40, title="Drinks")
    assert context("Green") == ("Drinks > Tea", 3)
    assert context("Hot") == ("Drinks > Tea > Brew", 5)
    assert context("Whole") == ("Drinks > Milk", 3)


def test_a_heading_is_not_its_own_context():
    context = contexts("# Tea\n\nGreen.\n\n## Brew\n\nHot.", 40, title="Drinks")
    assert context("# Tea") == ("Drinks", 1)
    assert context("## Brew") == ("Drinks > Tea", 3)


def test_a_heading_is_not_under_the_section_before_it():
    context = contexts("# Tea\n\nGreen.\n\n## Brew\n\nHot.\n\n## Cool\n\nIced.\n\n# Milk\n\nWhole.", 40, title="Drinks")
    assert context("## Cool") == ("Drinks > Tea", 3)
    assert context("# Milk") == ("Drinks", 1)


def test_context_is_dropped_from_the_outside_until_it_takes_half_of_the_chunk():
    text = "# Tea leaves\n\n## Brew\n\nHot."
    actual = [contexts(text, most, title="All my drinks")("Hot") for most in (16, 15, 8, 7, 2, 1)]
    assert actual == [
        ("All my drinks > Tea leaves > Brew", 8),
        ("Tea leaves > Brew", 4),
        ("Tea leaves > Brew", 4),
        ("Brew", 1),
        ("Brew", 1),
        ("", 0),
    ]


# Pieces for clustering.


def cut(text, granularity="paragraph", most=30):
    return tile_pieces(markdown.read(text), granularity, sentences.sentences, limits(most)).strings()


def test_every_block_is_a_piece():
    assert cut(GUIDE) == [
        "# Tea\n\n",
        "Green is steamed. Black is not.\n\n",
        "- Mint\n",
        "- Dill\n\n",
        "> Quoted. Words.\n\n",
        "```py\na = 1.  # One. Two.\n\nb = 2\n```\n\n",
        "| a | b |\n|---|---|\n| 1. | 2. Two |\n\n",
        "### Milk\n\n",
        "Whole.",
    ]


def test_prose_may_be_cut_into_sentences_but_never_code_or_tables():
    pieces = cut(GUIDE, "sentence")
    assert pieces[1:3] == ["Green is steamed. ", "Black is not.\n\n"]
    assert "```py\na = 1.  # One. Two.\n\nb = 2\n```\n\n" in pieces
    assert "| a | b |\n|---|---|\n| 1. | 2. Two |\n\n" in pieces


UNWRAPPED = (
    "A line so long that nobody would have wrapped it there. It goes on and on, well past what " * 2 + "is usual.\n"
)


def test_a_long_paragraph_of_lines_falls_back_to_its_lines():
    lines = [UNWRAPPED, "A second line. Of two.\n", "A third."]
    text = "".join(lines)
    assert cut(text, most=WORDS(text)) == [text]
    assert cut(text, most=WORDS(text) - 1) == lines


def test_a_line_that_is_still_too_long_falls_back_to_its_sentences():
    before = ["# Head\n\n", "A first line. Of two.\n"]
    pieces = cut("".join(before) + UNWRAPPED, most=24)
    assert pieces[:3] == [*before, "A line so long that nobody would have wrapped it there. "]
    assert len(pieces) == 5
    assert "".join(pieces) == "".join(before) + UNWRAPPED


def pieces_one_by_one(text, most):
    """Return the pieces of plain paragraphs, each split by itself."""
    for paragraph in tiling.paragraphs(text).strings():
        parts = tiling.lines(paragraph).strings() if max(map(len, paragraph.splitlines())) > 120 else [paragraph]
        for part in parts if WORDS(paragraph) > most else [paragraph]:
            yield from sentences.sentences(part).strings() if WORDS(part) > most else [part]


@given(
    st.lists(st.sampled_from([UNWRAPPED, "One two. Three four.\n", "Five.\n", "\n"]), min_size=1), st.integers(1, 50)
)
def test_long_paragraphs_are_split_together_as_one_by_one(lines, most):
    text = "Zero.\n\n" + "".join(lines) + "End."
    assert cut(text, most=most) == list(pieces_one_by_one(text, most))


def test_a_long_hard_wrapped_paragraph_falls_back_to_its_sentences():
    wrapped = "One two three. Four\nfive six seven. Eight\nnine ten."
    assert cut(wrapped, most=4) == ["One two three. ", "Four\nfive six seven. ", "Eight\nnine ten."]


def test_code_that_is_too_long_is_left_to_the_token_budget():
    code = "```\n" + "a = 1\n\n" * 20 + "```\n"
    assert cut(f"Before.\n\n{code}", most=10) == ["Before.\n\n", code]


def test_as_many_segments_as_units_are_the_units():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    cuts, cost = cutting.cheapest_cuts(costs.evidence(rows), np.ones(6, int), np.full(6, 6), segments=99, penalty=0.5)
    assert cuts.tolist() == list(range(7))
    alone = [float(row[-1]) for row in costs.evidence(rows)(np.zeros(6, dtype=np.int64))]
    assert cost == pytest.approx(sum(alone) + 3.0)


def test_unit_rows_of_values_whose_squares_overflow():
    rows = np.array([[3e30, 4e30], [0, 0], [3, 4]], dtype=np.float32)
    assert signals.unit_rows(rows) == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0.6, 0.8]]))
