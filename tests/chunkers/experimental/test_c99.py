"""C99 on texts whose right cut a reader can see, and at the edges of what it is defined for."""

import numpy as np
import pytest

from advchunk.chunkers.experimental.c99 import C99Chunker
from advchunk.errors import ConfigurationError
from advchunk.records import Units

TOPICS = {
    "cats": "Cats purr and nap. The cat naps. Kittens purr at cats. A cat chases kittens. Kittens nap. Cats purr. ",
    "courts": "Courts hear appeals. Judges rule. The court ruled on appeal. A judge heard it. Appeals end. "
    "Judges rule. ",
    "ships": "Ships sail the sea. Sailors sail. The sea carries ships. A sailor at sea. Ships sink. Sailors sail. ",
}
TEXT = "".join(TOPICS.values())
FIVE = [f"{topic}{i % 3} {topic}{(i + 1) % 3}" for topic in ("cat", "law", "sea", "sky", "ore") for i in range(12)]


def segmented(text, sentences=None, **params):
    units = [part + " " for part in sentences] if sentences else [part + ". " for part in text.split(". ") if part]
    edges = np.cumsum([0, *map(len, units)])
    return C99Chunker(**{"min_segment_length": 0, **params}).segmentation(Units("".join(units), edges))


def lengths(segmentation):
    return np.diff(segmentation.cuts).tolist()


# The scenarios of the requirement.


def test_parts_the_planted_topics():
    assert lengths(segmented(TEXT, n_segments=3)) == [6, 6, 6]
    chunks = C99Chunker(n_segments=3, min_segment_length=0, tokenizer=str.split).chunk(TEXT)
    assert [chunk.text for chunk in chunks] == list(TOPICS.values())


def test_finds_how_many_topics_there_are_to_one():
    segmentation = segmented("", FIVE, word_splitter=str.split)
    assert {12, 24, 36, 48} < set(segmentation.cuts.tolist())
    assert lengths(segmentation) == [12, 12, 12, 12, 8, 4]  # the smoothed growth falls a division late


def test_the_matrix_is_of_sentences_within_the_window():
    # Its own topic is all that a sentence is compared with, so the text is parted as well in a window.
    assert lengths(segmented(TEXT, n_segments=3, window=8)) == [6, 6, 6]
    near = segmented(TEXT, window=8).figures["density"]
    assert near[0] > segmented(TEXT, window=None).figures["density"][0], "what is far apart counts"


def test_a_cut_is_where_the_score_is_above_the_threshold():
    segmentation = segmented("", FIVE, word_splitter=str.split)
    assert segmentation.reason == "density"
    assert (np.flatnonzero(segmentation.gaps > segmentation.figures["threshold"]) + 1).tolist() == segmentation.cuts[
        1:-1
    ].tolist()
    assert segmentation.gaps[np.array(segmentation.figures["order"]) - 1].tolist() == sorted(
        segmentation.gaps, reverse=True
    )


@pytest.mark.parametrize("number", [None, 2, 5, 18])
@pytest.mark.parametrize("least", [1, 10, 25, 30, 100])
def test_segments_have_the_minimum_length(number, least):
    segmentation = segmented(TEXT, n_segments=number, min_segment_length=least, tokenizer=str.split)
    tokens = [len(part.split()) for part in TEXT.split(". ") if part]
    assert (
        all(sum(tokens[a:b]) >= least for a, b in zip(segmentation.cuts, segmentation.cuts[1:], strict=False))
        or len(segmentation.cuts) == 2
    )
    assert len(segmentation.gaps) == 17


def test_a_gap_that_cannot_be_cut_scores_no_higher_than_a_loss_of_density():
    segmentation = segmented(
        "",
        ["", "a b", "b c b", "a"],
        min_segment_length=2,
        tokenizer=lambda text: [text],
        word_splitter=str.split,
        stop_words="none",
    )
    assert segmentation.figures["order"].tolist() == [2]
    assert segmentation.gaps[1] < 0
    assert segmentation.gaps.tolist() == [segmentation.gaps[1]] * 3


# Where the paper says nothing.


@pytest.mark.parametrize("n", [3, 10, 40])
def test_equal_sentences_have_no_boundary(n):
    segmentation = segmented("", ["Cats purr."] * n)
    assert lengths(segmentation) == [n]
    assert segmentation.gaps.tolist() == [0.0] * (n - 1)


def test_sentences_without_words_are_like_nothing():
    wordless = ["7."] * 3
    segmentation = segmented("", [*["Cats purr."] * 8, *wordless, *["Courts rule."] * 8], n_segments=2)
    assert 8 <= segmentation.cuts[1] <= 11
    assert lengths(segmented("", wordless)) == [3]


@pytest.mark.parametrize(
    "params", [{"rank_width": 1}, {"rank_width": 10}, {"smoothing_width": 0}, {"smoothing_width": 2}]
)
def test_parameters_out_of_range_raise(params):
    with pytest.raises(ConfigurationError, match=next(iter(params))):
        C99Chunker(**params)


def test_a_square_wider_than_the_text_is_the_whole_text():
    text = "Cats purr. Cats nap. Cats purr and nap. Courts rule. Judges rule courts. Courts judge."
    wide, whole = (C99Chunker(n_segments=2, min_segment_length=0, rank_width=w).explain(text) for w in (99_999_999, 13))
    assert wide.segmentation.gaps.tolist() == whole.segmentation.gaps.tolist()
