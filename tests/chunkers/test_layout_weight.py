"""The layout decides where cuts are: strengths of edges, the weight of the layout, and cuts by size."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import create
from advchunk.building.layout import fit_to_blocks, prefer_layout, tile_prose
from advchunk.readers import markdown
from advchunk.records import Segmentation, Strength, Units
from advchunk.text.sentences import sentences

NAMES = ("recursive", "optimal-semantic", "semantic-threshold", "universal-semantic", "mst-semantic")
EXPERIMENTAL = ("texttiling", "c99", "bayesseg", "lda-topic", "semantic-cluster", "graph-partition", "discourse")
TOPICS = ("Cats purr and nap all day in the sun", "Judges sit in court and rule on law", "Rivers carry sand to the sea")


def strengths(text):
    document = markdown.read(text)
    units = fit_to_blocks(tile_prose(document, sentences), document)
    return dict(zip(units.strings(), units.strength.tolist(), strict=False))


def structured(sections, seed=0):
    """Return Markdown whose paragraphs and lists have several sentences each, and the spans of its blocks."""
    rng, blocks = np.random.default_rng(seed), []
    for section in range(sections):
        lines = [f"{TOPICS[rng.integers(3)]}, case {i}." for i in range(9)]
        blocks += [f"## Part {section}\n\n{lines[0]} {lines[1]} {lines[2]}\n\n"]
        blocks += [f"{lines[3]} {lines[4]} They say this:\n\n- {lines[5]} {lines[6]}\n- {lines[7]}\n\n{lines[8]}\n\n"]
    return blocks


def test_strengths_tell_headings_from_blocks_items_lines_and_sentences():
    text = (
        "# Tea\n\nGreen. Black.\nWhite. Red.\nBlue.\n\nKinds are:\n\n- Mint. Cool.\n- Dill.\n\nIt is hot.\n\n"
        "and so on\n\n(a) First.\n\n<!-- PageBreak -->\n\nMilk is cold."
    )
    assert strengths(text) == {
        "# Tea\n\n": Strength.HEADING + 5,
        "Green. ": Strength.KEEP_WITH_NEXT,
        "Black.\n": Strength.SENTENCE,
        "White. ": Strength.LINE,
        "Red.\n": Strength.SENTENCE,
        "Blue.\n\n": Strength.LINE,
        "Kinds are:\n\n": Strength.BLOCK,
        "- Mint. ": Strength.KEEP_WITH_NEXT,
        "Cool.\n": Strength.SENTENCE,
        "- Dill.\n\n": Strength.ITEM,
        "It is hot.\n\n": Strength.ITEM,
        "and so on\n\n": Strength.ITEM,
        "(a) First.\n\n": Strength.ITEM,
        "<!-- PageBreak -->\n\n": Strength.ITEM,
        "Milk is cold.": Strength.PAGE,
    }


@pytest.mark.parametrize("after", ["", "Sails fill."])
def test_a_caption_stays_with_the_picture_above_it(after):
    text = "Boats float.\n\n![boat](boat.png)\n\nFigure 1: A boat.\n\n" + after
    assert strengths(text)["Figure 1: A boat.\n\n"] == Strength.KEEP_WITH_NEXT


@pytest.mark.parametrize(
    ("above", "kept"),
    [
        ("Cats purr. Prices are as follows (in euro):\n\n", ["Prices are as follows (in euro):\n\n"]),
        ("Cats purr. The next table has prices.\n\n", ["The next table has prices.\n\n"]),
        ("Cats purr.\n\nStatement of Income\n\n(Unaudited)\n\n", ["Statement of Income\n\n", "(Unaudited)\n\n"]),
        ("Sales:\n\nMay 31, 2023\n\n", ["Sales:\n\n", "May 31, 2023\n\n"]),
        ("Cats purr.\n\n47\n\n", ["47\n\n"]),
        (f"Cats purr. Judges\n\n{'Dogs bark and ' * 20}\n\n", [f"{'Dogs bark and ' * 20}\n\n"]),
        ("Cats purr.\n\n<!-- page 3 -->\n\n", []),
        ("# Tea\n\n", []),
        ("", []),
    ],
)
@pytest.mark.parametrize(
    "table",
    ["| a |\n| - |\n| 1 |\n", "<table><tr><td>a</td></tr></table>\n", "\\begin{tabular}{l}\na \\\\\n\\end{tabular}\n"],
)
def test_the_end_of_the_prose_above_a_table_and_its_labels_stay_with_it(above, kept, table):
    # `strengths` maps each unit to the edge before it, so the edge after a unit is that of the next.
    values = strengths(f"{above}{table}\nMilk is cold.")
    after = dict(zip(values, [*values.values()][1:], strict=False))
    assert [unit for unit, value in after.items() if value == Strength.LEAD_IN] == kept
    assert after.get(f"{table}\n") == Strength.BLOCK


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_its_lead_in_if_both_fit_and_is_whole_if_not(name):
    table = "| name | price |\n| --- | --- |\n" + "".join(f"| kettle {i} | {i} |\n" for i in range(10))
    text = f"{'Cats purr and nap. ' * 20}\n\nOur prices follow:\n\n{table}\nMilk is cold."
    roomy = create(name, max_tokens=len(table) + 30, tokenizer="characters").chunk(text)
    assert any(f"Our prices follow:\n\n{table}" in chunk.text for chunk in roomy)
    tight = create(name, max_tokens=len(table) + 2, tokenizer="characters").chunk(text)
    assert any(table in chunk.text for chunk in tight)


def test_lines_that_wrap_are_no_evidence():
    wrapped = (
        "Cats purr. They nap all\nday. Judges sit. They rule\non law. Rivers flow. Sand\nsinks.\nSeas rise. "
        "Winds turn.\n"
    )
    assert set(strengths(wrapped).values()) == {Strength.SENTENCE, Strength.BLOCK}


@pytest.mark.parametrize("opening", ["He", "It", "These", "They", "Diese", "Elles"])
def test_a_pronoun_is_a_reason_not_to_cut_before_it(opening):
    values = strengths(f"One is here.\n\n{opening} nap.\n\nOthers nap.")
    assert values[f"{opening} nap.\n\n"] == Strength.ITEM < values["Others nap."] == Strength.BLOCK


@st.composite
def segmented(draw):
    n = draw(st.integers(2, 30))
    kinds = [Strength.KEEP_WITH_NEXT, Strength.WITHIN_SENTENCE, Strength.SENTENCE, Strength.ITEM, Strength.BLOCK, 6, 9]
    inner = draw(st.lists(st.sampled_from(kinds), min_size=n - 1, max_size=n - 1))
    sizes = np.array(draw(st.lists(st.integers(1, 90), min_size=n, max_size=n)))
    units = Units("x" * n, np.arange(n + 1), sizes, np.array([1, *inner, 1]))
    places = [i for i in range(1, n) if inner[i - 1] >= 0]
    cuts = draw(st.sets(st.sampled_from(places))) if places else set()
    return units, Segmentation(np.array([0, *sorted(cuts), n]))


@given(segmented(), st.sampled_from([0.5, 1.0, 3.0]))
def test_cuts_are_those_of_a_search_through_all_edges(drawn, weight):
    units, segmentation = drawn
    n, strength, at = len(units), units.strength.tolist(), np.cumsum(units.sizes).tolist()
    alike = [min(max(value, 1), 6) if value >= 0 else -1 for value in strength[1:-1]]
    mean, costs = at[-1] / n, []
    kinds = sorted(set(alike), reverse=True)
    counts = [sum(value >= kind for value in alike) for kind in kinds]
    steps = [0.0, *(min(np.log(more / fewer), 1.0) for fewer, more in pairwise(counts))]
    costs = [np.inf if value < 0 else weight * sum(steps[: kinds.index(value) + 1]) for value in alike]
    moved = prefer_layout(units, segmentation, weight).cuts.tolist()

    def price(cut, edge):
        return costs[edge - 1] + abs(at[edge - 1] - at[cut - 1]) / (16 * mean)

    inner = segmentation.cuts[1:-1].tolist()
    for cut in inner:
        least = min(price(cut, edge) for edge in range(1, n))
        assert any(price(cut, edge) == pytest.approx(least, abs=1e-9) for edge in moved[1:-1])
        headings = [edge for edge in range(1, n) if alike[edge - 1] == 6]
        target = min(moved[1:-1], key=lambda edge: price(cut, edge))
        assert not any(min(cut, target) < heading < max(cut, target) for heading in headings)
    assert len(moved) <= len(segmentation.cuts)
    assert prefer_layout(units, segmentation, 0.0) is segmentation


def test_labels_move_with_their_cuts():
    units = Units("abcdef", np.arange(7), np.ones(6, dtype=np.int64), np.array([1, 1, 4, 1, 1, 1, 1]))
    moved = prefer_layout(units, Segmentation(np.array([0, 3, 6]), labels=np.array([0, 0, 0, 1, 1, 1])), 1.0)
    assert (moved.cuts.tolist(), moved.labels.tolist(), moved.reason) == ([0, 2, 6], [0, 0, 1, 1, 1, 1], ["layout"])


@pytest.mark.parametrize("name", [*NAMES, *EXPERIMENTAL])
def test_no_chunker_cuts_a_section_that_fits_inside_a_paragraph(name):
    blocks = structured(8)
    text = "".join(blocks)
    chunks = create(name, experimental=True, max_tokens=300).chunk(text)
    assert "".join(text[s:e] for s, e in sorted(span for chunk in chunks for span in chunk.spans)) == text
    allowed = {text.index(line) for line in text.split("\n") if line.strip()} | {0}
    assert {span.start for chunk in chunks for span in chunk.spans} <= allowed


def test_a_size_cut_spares_a_line_that_fits_into_the_next_chunk():
    first, second = "One two.", "Alpha beta gamma delta. Epsilon zeta eta theta. Iota kappa.\n"
    text = f"{first}\n\n{second}\nLast words here."
    chunks = create("recursive", max_tokens=11, tokenizer="words").chunk(text)
    assert [chunk.text for chunk in chunks] == [f"{first}\n\n", f"{second}\n", "Last words here."]
