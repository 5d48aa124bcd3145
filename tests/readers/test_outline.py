"""Which numbered units are recognized, and which lists, references and tables of contents are not."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, RecursiveChunker
from advchunk.readers import markdown
from advchunk.readers.outline import outlined
from growing import check_growth

BODY = "The seller delivers the goods to the buyer on the agreed day, and the buyer pays the agreed price at once."


def read(text, *, plain=False):
    return outlined(Document(text, blocks=() if plain else markdown.blocks(text)))


def clauses(text, *, plain=False):
    """Return the clauses of a text in order, each once."""
    metadata = [block.metadata or {} for block in read(text, plain=plain).blocks or ()]
    return list(dict.fromkeys(values["clause"] for values in metadata if values.get("clause")))


DATA = tomllib.loads(Path(__file__).parents[1].joinpath("data", "outlines.toml").read_text(encoding="utf-8"))
UNITS, OTHERS = DATA["units"], DATA["others"]


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("plain", [False, True])
def test_units_are_recognized(name, plain):
    text, expected = UNITS[name]["text"], UNITS[name]["clauses"]
    if plain and "#" in text:
        pytest.skip("headings of Markdown")
    assert clauses(text, plain=plain) == list(dict.fromkeys(expected.split()))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("plain", [False, True])
def test_other_numbers_are_left_alone(name, plain):
    document = Document(OTHERS[name], blocks=() if plain else markdown.blocks(OTHERS[name]))
    if plain and name in {"code", "quotes", "a table"}:
        pytest.skip("nothing is code in plain text")
    assert outlined(document) is document


def test_levels_and_titles():
    text = "# Law\n\nArticle 5\n\nScope\n\n(1) Tea:\n(a) hot,\n(b) green.\n(2) Ice.\n\nArticle 6: Milk\n\nIt is cold."
    shown = [(block.kind, block.level, block.title) for block in read(text).blocks]
    assert shown == [
        ("heading", 1, "Law"),
        ("heading", 2, "Article 5 Scope"),
        ("paragraph", 3, "(1)"),
        ("paragraph", 4, "(a)"),
        ("paragraph", 4, "(b)"),
        ("paragraph", 3, "(2)"),
        ("heading", 2, "Article 6: Milk"),
        ("paragraph", 0, None),
    ]


def test_headings_of_the_format_keep_their_levels():
    text = "### Article 1\n\n1. Tea is hot.\n2. Milk is cold.\n\n## Article 2\n\nWater is wet."
    shown = [(block.kind, block.level) for block in read(text).blocks]
    assert shown == [("heading", 3), ("paragraph", 4), ("paragraph", 4), ("heading", 2), ("paragraph", 0)]


def test_numbers_that_begin_again_are_ambiguous():
    text = "Article 1\n\n(1) Tea.\n(2) Milk.\n\n(1) Water.\n(2) Ice.\n\nArticle 2\n\nSnow falls."
    assert clauses(text) == ["1", "1(1)", "1(2)", "2"]
    assert [(block.metadata or {}).get("clause") for block in read(text).blocks if block.title == "(1)"] == [
        "1(1)",
        None,
    ]


def test_a_format_heading_ends_a_unit():
    text = "# Law\n\nArticle 1\n\nTea is hot.\n\nArticle 2\n\nMilk is cold.\n\nArticle 3\n\nIce.\n\n# Notes\n\nWater is wet."
    assert [(block.metadata or {}).get("clause") for block in read(text).blocks][-2:] == [None, None]


LINES = st.sampled_from(
    [*"ABC", "", "", "Article {}", "Article {}: Tea", "{}. Tea", "1.{} Milk is cold.", "({}) It is hot.", "(a) One.", "(b) Two.",
     "(i) x", "# {} Head", "## Article {}", "- item", "```", "| a |", "|---|", "§ {}", "第{}条 茶", BODY, "  ({}) x", "> 1.{} q"]
)  # fmt: skip


@given(st.lists(LINES, max_size=40), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_text_and_layout_hold(lines, plain, end):
    numbers = iter(range(1, 99))
    text = end.join(line.format(next(numbers)) if "{}" in line else line for line in lines)
    before = Document(text, blocks=() if plain else markdown.blocks(text))
    after = outlined(before)
    spans = [block.span for block in after.blocks]
    assert after.text == text
    assert all(a.end <= b.start for a, b in pairwise(spans))
    if after is before:
        return
    covered = {i for start, stop in spans for i in range(start, stop)}
    kept = {i for block in before.blocks for i in range(*block.span)} or set(range(len(text)))
    assert {i for i in kept if not text[i].isspace()} <= covered
    assert outlined(after).blocks == after.blocks
    whole = {block for block in before.blocks if block.kind in {"code", "table", "quote"}}
    assert {block.span for block in whole} <= {block.span for block in after.blocks}


@pytest.mark.parametrize(
    "line",
    ["{}. tea\n", "(a) tea\n", "Article {}\n", "1.{} Tea is hot.\n", "(i) a\n(a) b\n1. c\n", "第{}条 茶\n", "I I I ", "((((", "1.1.1.1."],
)  # fmt: skip
def test_time_is_linear(line):
    def numbered(n):
        return "".join(line.format(i % 999 + 1) for i in range(n // len(line)))

    check_growth(lambda text: outlined(Document(text, blocks=())), numbered, 20_000)


# The user's own structure.

CONTRACT = "Article 5\n\n(1) Tea is hot.\n(2) Milk is cold.\n\nArticle 6\n\nWater is wet."
HEADINGS = {"article": r"^Article (\d+)", "paragraph": r"^\((\d+)\)"}


def own(text, headings, **options):
    chunks = RecursiveChunker(max_tokens=8, tokenizer="words", headings=headings, **options).chunk(text)
    return [(chunk.metadata.get("clause"), chunk.metadata.get("title_path")) for chunk in chunks]


def test_own_headings():
    assert own(CONTRACT, HEADINGS) == [("5", "Article 5"), ("5(2)", "Article 5 > (2)"), ("6", "Article 6")]
    assert own(CONTRACT, list(HEADINGS.values())) == own(CONTRACT, HEADINGS)
    explanation = RecursiveChunker(headings=HEADINGS).explain(CONTRACT)
    assert explanation.figures["outline"] == {"article": 2, "paragraph": 2}


def test_own_headings_without_numbers():
    text = "PART TEA\n\nIt is hot and green and black.\n\nPART MILK\n\nIt is cold and white and good."
    assert list(dict.fromkeys(own(text, r"^PART .+$"))) == [(None, "PART TEA"), (None, "PART MILK")]


def test_own_headings_below_those_of_the_format():
    text = "## Tea\n\n@1 Hot\n\nIt is so.\n\n## Article 7\n\n@1 Cold\n\nIt is so."
    headings = {"article": r"^Article (\d+)", "at": r"^@(\d)"}
    chunker = RecursiveChunker(max_tokens=4, tokenizer="words", headings=headings)
    paths = [chunk.metadata["title_path"] for chunk in chunker.chunk(text)]
    assert set(paths) == {"Tea", "Tea > @1 Hot", "Article 7", "Article 7 > @1 Cold"}
    assert chunker.chunk(text)[-1].metadata["clause"] == "7(1)"


def test_own_headings_replace_recognition():
    chunks = RecursiveChunker(headings=r"^Article (\d+)").explain(CONTRACT)
    assert chunks.figures["outline"] == {r"^Article (\d+)": 2}


def test_own_headings_are_not_in_code():
    assert "clause" not in RecursiveChunker(headings=HEADINGS).chunk("```\nArticle 5\n```\n")[0].metadata


def test_recognition_can_be_switched_off():
    on, off = RecursiveChunker().explain(CONTRACT), RecursiveChunker(outline=False).explain(CONTRACT)
    assert on.figures["outline"] == {"article": 2, "(1)": 2}
    assert on.chunks[0].metadata["clause"] == "5"
    assert "outline" not in off.figures
    assert "clause" not in off.chunks[0].metadata


def test_context_has_the_labels_above():
    chunks = RecursiveChunker(max_tokens=8, tokenizer="words", include_context=True).chunk(CONTRACT)
    assert [chunk.context for chunk in chunks] == ["", "Article 5", ""]


def test_order_of_headings_is_part_of_the_fingerprint():
    other = dict(reversed(HEADINGS.items()))
    assert RecursiveChunker(headings=HEADINGS).fingerprint() != RecursiveChunker(headings=other).fingerprint()


HOSTILE = {"evil": r"(a|aa)+$"}


@pytest.mark.slow
@pytest.mark.parametrize("parameter", ["headings", "boundaries"])
def test_a_hostile_pattern_is_stopped(parameter):
    value = HOSTILE if parameter == "headings" else [HOSTILE["evil"]]
    with pytest.raises(ConfigurationError, match=r"in (headings|boundaries).* took more than 2 s on a text of 61 char"):
        RecursiveChunker(**{parameter: value}).chunk("a" * 60 + "b")


BAD = {
    "the pattern of 'article' in headings is not a regular expression: missing )": {"headings": {"article": "("}},
    "a pattern in boundaries, 'x*', must not match the empty text": {"boundaries": "x*"},
    "headings must be valid JSON": {"headings": r'{"a": "^A (\d)"}'},
    "headings must be a mapping of strings to a string or": {"headings": 3},
    "boundaries must be regular expressions as text": {"boundaries": [3]},
    "outline must be True or False": {"outline": "yes"},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_patterns(message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        RecursiveChunker(**BAD[message])
