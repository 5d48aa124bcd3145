"""TextTiling: every scenario of its requirement, planted shifts, and what is not a text with topics."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental.texttiling import TextTilingChunker
from advchunk.errors import ConfigurationError
from advchunk.evaluation import boundary_scores, synthetic
from advchunk.records import Units
from advchunk.text.terms import terms_of

SIXTY = synthetic(4, segments=8, sentences=(10, 15), overlap=0.2)  # all alike in form: words alone tell


def of(sentences):
    texts = [sentence + ". " for sentence in sentences]
    return Units("".join(texts), np.cumsum([0, *map(len, texts)]))


# Lexical cohesion computation


def test_depth_and_cutoff_worked_out_by_hand():
    units = of(["cat nap", "cat purr", "cat fish", "court law", "court rule", "court law"])
    segmentation = TextTilingChunker(preset="fine", block_size=1).segmentation(units)
    # Cohesion 1/2 1/2 0 1/2 1/2, so depth 0 0 1 0 0; mean 1/5, standard deviation 2/5.
    assert segmentation.figures["cohesion"] == pytest.approx([0.5, 0.5, 0, 0.5, 0.5])
    assert segmentation.gaps == pytest.approx([0, 0, 1, 0, 0])
    assert segmentation.figures["threshold"] == pytest.approx(0.2)
    assert segmentation.cuts.tolist() == [0, 3, 6]
    for z, cuts in ((1.9, [0, 3, 6]), (2.1, [0, 6])):  # 1 is two standard deviations above the mean
        strict = TextTilingChunker(preset="fine", block_size=1, cutoff_z=z)
        assert strict.segmentation(units).cuts.tolist() == cuts


def test_smoothing_is_before_depth():
    units = of(["cat nap", "cat purr", "cat fish", "court law", "court rule", "court law"])
    segmentation = TextTilingChunker(preset="hearst", block_size=1).segmentation(units)
    # Means of three: 1/2 1/3 1/3 1/3 1/2. The valley is flat, and its middle the boundary.
    assert segmentation.gaps == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0])
    assert segmentation.cuts.tolist() == [0, 3, 6]


def test_the_defaults_find_what_stands_at_a_multiple_of_the_step():
    made = synthetic(1, segments=4, sentences=(20, 20), overlap=0.1)
    segmentation = TextTilingChunker().segmentation(made.units)
    assert boundary_scores(made.cuts, segmentation.cuts).f1 == 1


# Parameter configuration


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_only_gaps_a_step_apart_have_scores_and_cuts(step):
    chunker = TextTilingChunker(step=step, cutoff_z=-1.0, spacing=0)
    segmentation = chunker.segmentation(SIXTY.units)
    others = np.arange(1, len(SIXTY.units)) % step != 0
    assert not segmentation.gaps[others].any()
    assert segmentation.gaps[~others].any()
    assert len(segmentation.cuts) > 3
    assert not (segmentation.cuts[1:-1] % step).any()


def test_spacing_is_in_sentences_for_every_step():
    units = of([f"{topic} is {topic}" for topic in ("cat", "court", "car", "cake", "coin") for _ in range(4)])
    chunker = TextTilingChunker(preset="fine", block_size=2, step=2, spacing=3)
    assert chunker.segmentation(units).cuts.tolist() == [0, 4, 8, 12, 16, 20]
    for spacing, cuts in ((4, [0, 8, 20]), (1, [0, 4, 8, 12, 16, 20])):
        assert replace(chunker, spacing=spacing).segmentation(units).cuts.tolist() == cuts
    late = Units(units.text[: units.edges[18]], units.edges[:19])  # 16 is two sentences from its end
    assert replace(chunker, spacing=1).segmentation(late).cuts.tolist() == [0, 4, 8, 12, 16, 18]
    later = Units(units.text[: units.edges[17]], units.edges[:18])
    assert replace(chunker, spacing=1).segmentation(later).cuts.tolist() == [0, 4, 8, 12, 17]


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ({"smooth_width": 2}, "smooth_width must be odd and >= 1, got 2"),
        ({"smooth_width": -1}, "smooth_width must be odd and >= 1, got -1"),
        ({"target_tokens": 0}, r"target_tokens must be in 1..\(max_tokens - overlap_tokens\) / 1.2 = 426, or None"),
        ({"target_tokens": 427}, "= 426, or None, got 427"),
        ({"target_tokens": 400, "overlap_tokens": 40}, "= 393, or None, got 400"),
        ({"target_tokens": 99, "min_tokens": 100}, "target_tokens must be at least min_tokens = 100, got 99"),
    ],
)
def test_errors_state_rule_and_value(bad, rule):
    with pytest.raises(ConfigurationError, match=rule):
        TextTilingChunker(**bad)


# Post-processing to target tokens


def test_small_segments_join_and_large_ones_are_cut_to_the_target():
    document = synthetic(4, segments=12, sentences=(3, 20), overlap=0.2).document()
    chunker = TextTilingChunker(preset="fine", tokenizer="words")
    segments = chunker.explain(document)
    assert min(chunk.tokens for chunk in segments.chunks) < 60
    assert max(chunk.tokens for chunk in segments.chunks) > 120
    aimed = replace(chunker, target_tokens=100, min_tokens=60).explain(document)
    assert "".join(chunk.text for chunk in aimed.chunks) == document.text
    ends = set(segments.units.edges[segments.segmentation.cuts].tolist())
    assert aimed.segmentation.cuts.tolist() == segments.segmentation.cuts.tolist()
    for chunk in aimed.chunks:
        assert chunk.tokens <= 120
        assert chunk.tokens >= 80 or chunk.end in ends
    short = [pair for pair in pairwise(chunk.tokens for chunk in aimed.chunks) if min(pair) < 60]
    assert all(sum(pair) > 120 for pair in short)
    inside = [cut for cut in aimed.cuts if cut.offset not in ends]
    assert inside
    assert {cut.reason for cut in inside} == {"size"}


# What is not a text with topics


@pytest.mark.parametrize("preset", [None, "hearst", "fine"])
@pytest.mark.parametrize(
    "sentences",
    [
        ["cats purr"],
        ["cats purr", "courts rule"],
        ["cats purr"] * 40,
        ["the and of"] * 40,  # stop words only
        ["12 34"] * 40,
        [f"{chr(97 + i // 26)}{chr(97 + i % 26)}ko" for i in range(40)],  # none is said twice
    ],
    ids=["one", "two", "equal", "stop words", "numbers", "all different"],
)
def test_without_a_valley_there_is_no_boundary(preset, sentences):
    segmentation = TextTilingChunker(preset=preset, cutoff_z=-1.0).segmentation(of(sentences))
    assert segmentation.cuts.tolist() == [0, len(sentences)]
    assert segmentation.gaps is None or not segmentation.gaps.any()
    assert TextTilingChunker(preset=preset).chunk(of(sentences).text)[0].text == of(sentences).text


@pytest.mark.parametrize("n", range(2, 9))
def test_a_text_shorter_than_its_blocks_has_shorter_ones(n):
    units = of((["cat nap purr"] * 4 + ["court law rule"] * 4)[8 - n :])
    chunker = TextTilingChunker(preset="fine", block_size=100, spacing=0)
    assert chunker.segmentation(units).cuts.tolist() == ([0, n - 4, n] if n > 5 else [0, n] if n < 5 else [0, 1, 5])


def test_ten_thousand_sentences_with_many_words_take_little_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    texts = [[f"w{i}" for i in row] for row in rng.integers(0, 40_000, (10_000, 12))]
    words = terms_of(texts)
    tracemalloc.start()
    segmentation = TextTilingChunker(preset="fine").segment_terms(of(["a"] * 10_000), words, Limits(512, 0, 0, len))  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(segmentation.gaps) == 9_999
    assert peak < 50e6  # a table of the counts has 3.2e9 bytes
