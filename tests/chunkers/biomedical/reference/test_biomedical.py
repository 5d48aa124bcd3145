"""Biomedical abstracts beside the published heading pattern, and beside every possible way to chunk them."""

import re
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.readers.pubmed import reader as abstracts

# As published (step 2), with the flag without which its ^ finds nothing but the first line.
PUBLISHED = re.compile(
    r"^\s*([A-Za-z\s&/-]+?)\s*[:：\-–—]\s*(.*?)(?=^\s*[A-Za-z\s&/-]+?\s*[:：\-–—]|$)", re.MULTILINE | re.DOTALL
)


def ours(text):
    document = abstracts.read(text)
    blocks = [(block.kind, block.title or document.text[slice(*block.span)]) for block in document.blocks]
    return [(title, blocks[i + 1][1]) for i, (kind, title) in enumerate(blocks) if kind == "heading"]


def test_the_published_pattern_takes_hyphens_for_headings_and_loses_later_lines():
    text = "Double-blind trials are rare.\nRESULTS: Weight fell.\nIt fell by 12%."
    assert PUBLISHED.findall(text) == [("Double", "blind trials are rare."), ("RESULTS", "Weight fell.")]
    assert ours(text) == [("Results", "Weight fell. It fell by 12%.")]


def test_both_find_plain_headings():
    text = "Background: It is so.\nMethods: We looked.\nResults: It was."
    assert PUBLISHED.findall(text) == ours(text)


TOP, LEAST, AIM = 60, 20, 40
NAMES = ["Background", "Objective", "Methods", "Results", "Conclusions"]


def chunker(**params):
    return BiomedicalAbstractChunker(
        tokenizer="words", include_context=False, max_tokens=TOP, min_tokens=LEAST, target_tokens=AIM, overlap_tokens=0,
        short_tokens=0, **params,
    )  # fmt: skip


def every_way(n):
    return ([0, *inner, n] for k in range(n) for inner in combinations(range(1, n), k))


def sections_price(sizes, names, cuts):
    """Count, weightiest first: chunks that are too short, findings parted from conclusions, merges."""
    chunks = [sum(sizes[a:b]) for a, b in pairwise(cuts)]
    findings = [
        i for i in range(1, len(names))
        if names[i - 1 : i + 1] == ["Results", "Conclusions"] and sizes[i - 1] + sizes[i] <= AIM
    ]  # fmt: skip
    merges = len(set(range(1, len(names))) - set(cuts) - set(findings))
    return sum(size < LEAST for size in chunks), len(set(findings) & set(cuts)), merges


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(2, TOP)), min_size=1, max_size=7))
def test_sections_are_merged_as_well_as_can_be(drawn):
    names, sizes = [name for name, _ in drawn], [size for _, size in drawn]
    text = "\n".join(f"{name}: {'word ' * (size - 2)}word." for name, size in drawn)
    explanation = chunker().explain(text)
    starts = [block.span.start for block in explanation.document.blocks if block.kind == "heading"]
    cuts = [starts.index(chunk.start) for chunk in explanation.chunks] + [len(names)]
    allowed = (way for way in every_way(len(names)) if all(sum(sizes[a:b]) <= TOP for a, b in pairwise(way)))
    assert sections_price(sizes, names, cuts) == min(sections_price(sizes, names, way) for way in allowed)


def windows_price(sizes, cuts):
    """Count, weightiest first: windows too short, 15 % over the target, off it; then squares of how far off."""
    windows = [sum(sizes[a:b]) for a, b in pairwise(cuts)]
    off = sum(not AIM * 250 / 325 <= size <= AIM * 350 / 325 for size in windows)
    over = sum(size > AIM * 1.15 for size in windows)
    return sum(size < LEAST for size in windows), over, off, sum((size - AIM) ** 2 for size in windows)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.integers(2, 30), min_size=2, max_size=9).filter(lambda sizes: sum(sizes) > TOP))
def test_windows_are_as_near_the_target_as_can_be(sizes):
    text = " ".join("Word " + "word " * (size - 2) + "word." for size in sizes)
    explanation = chunker().explain(text)
    allowed = (way for way in every_way(len(sizes)) if all(sum(sizes[a:b]) <= TOP for a, b in pairwise(way)))
    assert windows_price(sizes, explanation.segmentation.cuts.tolist()) == min(
        windows_price(sizes, way) for way in allowed
    )
