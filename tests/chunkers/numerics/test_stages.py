"""Each stage on an input small enough to check by eye."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.building.contexts import Contexts
from advchunk.building.layout import fit_to_blocks
from advchunk.building.sizes import Limits
from advchunk.chunkers.by_topic.mst import tile_pieces
from advchunk.chunkers.numerics import costs, cutting
from advchunk.models import signals
from advchunk.readers import markdown
from advchunk.records import Document
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


# Boundaries.


@pytest.mark.parametrize("length", [0.0, 1.0])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_equal_rows_are_one_segment_at_any_price(n, length):
    rows = np.full((n, 2), length / np.sqrt(2), dtype=np.float32)
    rows[: n // 2, 0] *= 1 + 2 * np.finfo(np.float32).eps
    cuts, _ = cutting.cheapest_cuts(costs.evidence(rows), np.ones(n, dtype=int), np.full(n, n))
    assert cuts.tolist() == [0, n]


# Layout.


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


def test_prose_may_be_cut_into_sentences_but_never_code_or_tables():
    pieces = cut(GUIDE, "sentence")
    assert pieces[1:3] == ["Green is steamed. ", "Black is not.\n\n"]
    assert "```py\na = 1.  # One. Two.\n\nb = 2\n```\n\n" in pieces
    assert "| a | b |\n|---|---|\n| 1. | 2. Two |\n\n" in pieces


def test_unit_rows_of_values_whose_squares_overflow():
    rows = np.array([[3e30, 4e30], [0, 0], [3, 4]], dtype=np.float32)
    assert signals.unit_rows(rows) == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0.6, 0.8]]))
