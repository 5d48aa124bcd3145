"""Hierarchical chunking: every level keeps the promises, children cover their parent, and edits stay on their path."""

import asyncio
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from promises import inexact, lost

from advchunk import (
    ChunkTree,
    ConfigurationError,
    Document,
    HierarchicalChunker,
    MSTSemanticChunker,
    OptimalSemanticChunker,
    RecursiveChunker,
    SlidingWindowChunker,
    UniversalSemanticChunker,
    create,
    names,
)
from advchunk.building.sizes import Limits
from advchunk.models.counters import as_counter
from advchunk.records import Strength, Units

GUIDE = """# Guide

Tea is a drink. It is old.

## Kinds

### Green

Green tea is steamed. It is light.

### Black

Black tea is oxidized. It is strong. Many drink it with milk.

## Water

Boil it once. Let it cool for green tea.

| tea | degrees |
|---|---|
| green | 75 |
| black | 95 |
"""
PLAIN = "".join(f"Fact {i} is about cats. They nap {i * i} times.\n\n" for i in range(60))
LEVELS = [
    None,
    ["document", "section", "sentence"],
    [60, 20, 8],
    ["universal-semantic", "sentence"],
    ["section", OptimalSemanticChunker(max_tokens=40), SlidingWindowChunker(max_tokens=9)],
    ["sliding-window", "semantic-threshold", "optimal-semantic", "recursive"],
]
if "discourse" in names():
    LEVELS.append(["document", create("discourse", experimental=True, target_tokens=20, max_tokens=60), "sentence"])
parts = st.sampled_from(
    ["# Cats\n\n", "## Cats nap\n\n", "A cat naps. Dogs run, and purr! ", "Née 🦛. ", "\n\n", "- one\n- two\n", "x" * 70,
     "\n\n| a | b |\n|---|---|\n" + "| cat | 1 |\n" * 9 + "\n", "```\n" + "x = 1\n" * 12 + "```\n", "東京は雨です。"]
)  # fmt: skip
texts = st.lists(parts, max_size=14).map("".join)
relaxed = settings(max_examples=40, suppress_health_check=list(HealthCheck))


def levels_of(chunks):
    return ChunkTree(chunks).levels()


def check_tree(text, chunks):
    """Fail unless every level covers the text, children cover their parent, and parents come before children."""
    assert inexact(text, chunks) == []
    tree = ChunkTree(chunks)
    for level in tree.levels() if text.strip() else ():
        assert lost(text, level) == []
        assert (level[0].start, level[-1].end) == (0, len(text))
        assert all(a.end == b.start for a, b in pairwise(level))
    for chunk in chunks:
        below = tree.children(chunk)
        assert not below or "".join(child.text for child in below) == chunk.text
        assert all(child.level == chunk.level + 1 and tree.parent(child) is chunk for child in below)
    assert [(c.start, c.level) for c in chunks] == sorted((c.start, c.level) for c in chunks)


@relaxed
@given(
    text=texts, levels=st.sampled_from(LEVELS), most=st.integers(60, 90), count=st.sampled_from([None, len, "words"])
)
def test_every_level_is_exact_and_bounded_and_covers_its_parent(text, levels, most, count):
    chunker = HierarchicalChunker(levels=levels, max_tokens=most, tokenizer=count, include_context=True)
    chunks = chunker.chunk(Document(text, "d", metadata={"title": "Pets"}))
    check_tree(text, chunks)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        assert chunk.tokens == as_counter(count)(chunk.embed_text)
        is_whole = chunk.metadata["granularity"] == "document"
        assert chunk.tokens <= most or (is_whole and chunk.metadata["oversize"])


def test_the_default_is_sections_chunks_and_sentences():
    chunks = HierarchicalChunker(max_tokens=128).chunk(GUIDE)
    sections, paragraphs, sentences = levels_of(chunks)
    assert [chunk.text.partition("\n")[0] for chunk in sections] == ["# Guide", "## Kinds", "## Water"]
    starts = ["# Guide", "## Kinds", "### Black", "## Water", "Let it cool for green tea."]
    assert [chunk.text.partition("\n")[0] for chunk in paragraphs] == starts
    assert max(chunk.tokens for chunk in paragraphs) <= 32 < max(chunk.tokens for chunk in sections)
    assert [chunk.text for chunk in sentences[2:5]] == [
        "## Kinds\n\n### Green\n\nGreen tea is steamed. ", "It is light.\n\n", "### Black\n\nBlack tea is oxidized. "
    ]  # fmt: skip
    for level, kind in zip([sections, paragraphs, sentences], ["section", "paragraph", "sentence"], strict=True):
        assert {chunk.metadata["granularity"] for chunk in level} == {kind}


@pytest.mark.parametrize(
    ("text", "most", "starts"),
    [
        ("# A\n\nOne.\n\n## B\n\nTwo.\n\n# C\n\nThree.", 99, ["# A", "# C"]),
        ("# A\n\nOne.\n\n## B\n\nTwo.\n\n# C\n\nThree.", 5, ["# A", "## B", "# C"]),  # A is over the limit
        ("# Title\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree.", 99, ["# Title", "## B", "## C"]),
        ("Before.\n\n# Title\n\nOne.\n\n## B\n\nTwo.", 99, ["Before.", "# Title", "## B"]),
        ("# Title\n\n## A\n\nOne.\n\n### A1\n\nTwo.\n\n## B\n\nThree.", 99, ["# Title", "## B"]),
        ("# Only\n\nOne. Two.", 99, ["# Only"]),
        ("Before.\n\n# Only\n\nOne. Two.", 99, ["Before.", "# Only"]),
        ("One. Two. Three.\n\nFour. Five. Six. Seven.", 12, ["One. Two. Three.", "Four. Five. Six. Seven."]),
    ],
)
def test_sections_begin_at_the_highest_headings_or_at_the_strongest_edges(text, most, starts):
    chunks = HierarchicalChunker(levels=["section"], max_tokens=most).chunk(text)
    assert [chunk.text.partition("\n")[0] for chunk in chunks] == starts


headings = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3]), min_size=1, max_size=20)


def section_starts(levels, most):
    """Return the places of the sections of a text of one-token lines, given the level of each heading, or 0: a slow
    twin."""

    def divide(start, end, is_top):
        heads = [i for i in range(start, end) if levels[i]]
        if not is_top and end - start <= most:
            return [start]
        limit = max(sorted(levels[i] for i in heads)[:2], default=0)
        starts = [start, *(i for i in heads if i > start and levels[i] <= limit)]
        return [start] if len(starts) == 1 else [s for a, b in pairwise([*starts, end]) for s in divide(a, b, False)]

    return divide(0, len(levels), True)


@relaxed
@given(levels=headings, most=st.integers(1, 20))
def test_sections_equal_those_of_a_recursion(levels, most):
    text = "".join("abcdefghijklmnopqrst"[: len(levels)])
    strength = [Strength.HEADING + 6 - level if level else Strength.SENTENCE for level in levels]
    units = Units(text, np.arange(len(levels) + 1), np.ones(len(levels), dtype=np.int64), np.array([*strength, 1]))
    chunker = HierarchicalChunker(levels=["section"], max_tokens=most).level_chunkers()[0]
    cuts = chunker.segment(units, Limits(most, 0, 0, as_counter(len))).cuts if len(units) > 1 else np.array([0, 1])
    assert cuts[:-1].tolist() == section_starts(levels, most)


@pytest.mark.parametrize("levels", [None, ["universal-semantic", "sentence"], [200, 50], ["document", 100, "sentence"]])
def test_an_edit_changes_only_the_ids_on_the_path_above_it(levels):
    chunker = HierarchicalChunker(levels=levels, max_tokens=256)
    before, after = (chunker.chunk(Document(text, "d")) for text in (PLAIN, PLAIN.replace("Fact 31 is", "Fact 91 is")))
    assert [chunk.spans for chunk in before] == [chunk.spans for chunk in after]
    changed = {chunk.index for chunk, other in zip(before, after, strict=True) if chunk.id != other.id}
    leaf = next(chunk for chunk in reversed(before) if "Fact 31 is" in chunk.text)
    assert changed == {chunk.index for chunk in ChunkTree(before).path(leaf)}


def test_a_document_over_the_limit_is_whole_and_flagged():
    whole, *rest = HierarchicalChunker(levels=["document", "section"], max_tokens=30).chunk(GUIDE)
    assert (whole.text, whole.metadata["granularity"], whole.metadata["oversize"]) == (GUIDE, "document", True)
    assert all("oversize" not in chunk.metadata and chunk.parent == 0 for chunk in rest)
    assert "oversize" not in HierarchicalChunker(levels=["document", "section"]).chunk(GUIDE)[0].metadata


def test_a_small_chunk_joins_a_sibling():
    text = "# A\n\nYes. No. Perhaps it is so, and perhaps it is not.\n\n# B\n\nYes."
    *_, sentences = levels_of(HierarchicalChunker(min_tokens=4, max_tokens=64).chunk(text))
    assert [c.text for c in sentences] == [
        "# A\n\nYes. No. ",
        "Perhaps it is so, and perhaps it is not.\n\n",
        "# B\n\nYes.",
    ]


def test_each_cut_has_the_reason_of_the_coarsest_level():
    chunks = HierarchicalChunker(max_tokens=128, add_scores=True).chunk(GUIDE)
    sections, paragraphs, sentences = levels_of(chunks)
    assert {chunk.metadata["cut"] for chunk in sections[:-1]} == {"heading"}
    assert [chunk.metadata.get("cut") for chunk in paragraphs] == ["heading", "size", "heading", "size", None]
    assert sentences[1].metadata["cut"] == "heading"
    assert sentences[0].metadata["cut"] == "sentence"
    scored = HierarchicalChunker(levels=["universal-semantic", "sentence"], add_scores=True).chunk(PLAIN)
    assert {chunk.metadata["cut"] for chunk in levels_of(scored)[0][:-1]} <= {"semantic", "size", "forced", "layout"}
    assert all("cut_score" in chunk.metadata for chunk in levels_of(scored)[0][:-1])


def test_resources_and_parameters_reach_the_levels():
    levels = ["section", RecursiveChunker(max_tokens=40), RecursiveChunker(max_tokens=9, tokenizer="words")]
    chunker = HierarchicalChunker(levels=levels, max_tokens=80, min_tokens=50, tokenizer=len, language="de")
    section, middle, finest = chunker.level_chunkers()
    assert (section.max_tokens, section.min_tokens, section.language) == (80, 50, "de")
    assert (middle.max_tokens, middle.min_tokens, middle.counter("abcd")) == (40, 0, 4)
    assert (finest.tokenizer, finest.language) == ("words", "auto")
    for chunk in chunker.chunk(GUIDE):
        assert chunk.tokens <= [80, 40, 9][chunk.level]
        assert chunk.tokens == (len(chunk.embed_text.split()) if chunk.level == 2 else len(chunk.embed_text))


def test_an_embedder_is_used_by_the_levels_that_need_it():
    calls = []

    def embed(texts):
        calls.extend(texts)
        return [[len(text) % 7 - 3.0, 1.0] for text in texts]

    levels = ["section", "universal-semantic", "sentence"]
    chunker = HierarchicalChunker(levels=levels, max_tokens=80, embedder=embed)
    assert chunker.embeds
    assert not HierarchicalChunker(embedder=embed).embeds
    chunks = chunker.chunk_many([GUIDE, PLAIN])
    assert chunks == asyncio.run(chunker.achunk_many([GUIDE, PLAIN]))
    assert calls


def test_fingerprints_depend_on_the_levels():
    chunkers = [HierarchicalChunker(levels=levels) for levels in [*LEVELS[1:], [RecursiveChunker()], [RecursiveChunker(max_tokens=9)]]
                if all(level != "document" for level in levels or ()) or levels[1] == "section"]  # fmt: skip
    prints = [chunker.fingerprint() for chunker in [HierarchicalChunker(), *chunkers]]
    assert len({*prints}) == len(prints)
    assert HierarchicalChunker(levels=[60, 20]).fingerprint() == HierarchicalChunker(levels=[60, 20]).fingerprint()


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"levels": []}, "levels must be a list of chunkers, names and sizes, coarsest first, or None, got []"),
        ({"levels": "section"}, "levels must be a list of chunkers, names and sizes, coarsest first, or None, got "
                                "'section'"),
        ({"levels": ["sections"]}, "did you mean 'section'?, got 'sections'"),
        ({"levels": ["c99"]}, "a level must be one of document, section, sentence, recursive, "),
        ({"levels": [0]}, "a level must be a chunker, a name, or a size in 1..max_tokens = 2048, got 0"),
        ({"levels": [4096]}, "a level must be a chunker, a name, or a size in 1..max_tokens = 2048, got 4096"),
        ({"levels": [True]}, "a level must be a chunker, a name, or a size in 1..max_tokens = 2048, got True"),
        ({"levels": [128, 128]}, "sizes of levels must decrease, got [128, 128]"),
        ({"levels": ["section", "document"]}, 'only the first level can be "document", got '),
        ({"levels": ["sentence", "section"]}, 'only the last level can be "sentence", got '),
        ({"levels": [UniversalSemanticChunker()]}, "max_tokens of a level must be at most max_tokens = 2048, got 3000"),
        ({"levels": [MSTSemanticChunker()]}, "a level must have contiguous chunks (contiguous=True), got "
                                             "MSTSemanticChunker()"),
        ({"levels": [RecursiveChunker(overlap_tokens=9)]}, "a level must be without overlap: children cover their "
                                                           "parent exactly"),
        ({"overlap_tokens": 9}, "overlap_tokens must be 0: the chunks of a level cover their parent exactly, got 9"),
    ],
)  # fmt: skip
def test_impossible_levels_are_refused(params, rule):
    with pytest.raises(ConfigurationError, match=re.escape(rule)):
        HierarchicalChunker(**params)
