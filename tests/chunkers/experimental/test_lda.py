"""LDA topics: what is planted is found; what a topic model keeps; and what is degenerate."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from advchunk.chunkers.experimental import topics
from advchunk.chunkers.experimental.lda import LDATopicChunker
from advchunk.chunkers.experimental.topics import TopicModel, Topics, train
from advchunk.errors import ConfigurationError, MissingExtra, NotConverged
from advchunk.evaluation import synthetic
from advchunk.records import Units
from advchunk.text.terms import Wording, terms_of

CATS = "Cats purr. A cat naps. My cat purrs and naps. Kittens nap. A kitten purrs. "
COURTS = "Courts rule. A judge rules. The court and its judge ruled. Lawyers appeal. The judge heard the appeal. "


@pytest.fixture(scope="module")
def model():
    return TopicModel.fit([CATS, COURTS] * 5, num_topics=2)


def cuts(text, sentences, **options):
    """Return where a text is cut, of which the first ``sentences`` are units that end in a full stop."""
    edges = np.cumsum([0, *(len(part) + 2 for part in text.split(". ")[:-1])])
    assert len(edges) == sentences + 1
    return LDATopicChunker(**options).segmentation(Units(text, edges)).cuts.tolist()


def divergence(shares, prior, units, **options):
    """Return the gaps between units of words, by their numbers."""
    model = TopicModel(Topics(np.array(shares), np.array(prior)), ("a", "b", "c"), Wording(stemmer="none"))
    chunker = LDATopicChunker(model=model, stemmer="none", **options)
    words = terms_of(units)
    return chunker.segment_terms(Units("x" * len(units), np.arange(len(units) + 1)), words, None)


# The topic model of a document.


def test_a_document_has_num_topics_topics():
    seen = []

    def spied(words, **options):
        seen.append((options["num_topics"], len(words)))
        return train(words, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topics, "train", spied)
        LDATopicChunker(num_topics=7).chunk(CATS + COURTS)
        LDATopicChunker(samples=3).chunk(CATS + COURTS)
    assert seen == [(7, 10), (50, 10), (50, 10), (50, 10)]


# Divergence, threshold, peaks: one word a topic, so that words are topics.

CERTAIN = ([[1 - 2e-9, 1e-9, 1e-9], [1e-9, 1 - 2e-9, 1e-9], [1e-9, 1e-9, 1 - 2e-9]], [1e-6] * 3)


def test_divergence_is_of_the_blocks_beside_a_gap_in_bits():
    scores = divergence(*CERTAIN, [["a"], ["a"], ["b"], ["b"]], block_size=1)
    assert scores.gaps == pytest.approx([0, 1, 0], abs=1e-4)
    scores = divergence(*CERTAIN, [["a"], ["a"], ["b"], ["b"]], block_size=2)
    # (1, 0) against (1/2, 1/2): 0.5 log2(4/3) + 0.25 log2(2/3) + 0.25 log2(2)
    assert scores.gaps == pytest.approx([0.311278, 1, 0.311278], abs=1e-4)
    assert scores.cuts.tolist() == [0, 2, 4]


def test_the_prior_counts_as_words():
    scores = divergence(CERTAIN[0], [1.0] * 3, [["a"], ["b"]], block_size=1)
    # (2, 1, 1) / 4 against (1, 2, 1) / 4
    assert scores.gaps == pytest.approx([0.5 * np.log2(4 / 3) + 0.25 * np.log2(2 / 3)], abs=1e-4)


def test_cosine_is_of_likeliest_topics():
    scores = divergence(*CERTAIN, [["a"], ["a"], ["b"], ["b"]], block_size=2, measure="cosine")
    assert scores.gaps == pytest.approx([1 - 2**-0.5, 1, 1 - 2**-0.5])


@pytest.mark.parametrize("measure", ["divergence", "cosine"])
def test_a_block_without_words_has_no_divergence(measure):
    scores = divergence(*CERTAIN, [["a"], [], [], ["a"]], block_size=1, measure=measure)
    assert scores.gaps[1] == 0
    if measure == "cosine":
        assert scores.gaps.tolist() == [0, 0, 0]


def chosen(gaps, **options):
    peaks, _, _ = LDATopicChunker(**options)._select(np.array(gaps))
    return peaks.tolist()


def test_of_a_run_above_the_threshold_its_maxima_are_boundaries():
    gaps = [0.1, 0.5, 0.9, 0.5, 0.7, 0.4, 0.2, 0.25, 0.2, 0.6, 0.6, 0.6, 0.0]
    assert chosen(gaps) == [2, 4, 10]
    assert chosen(gaps, divergence_threshold=0.8) == [2]
    assert chosen(gaps, divergence_threshold=0.2) == [2, 4, 7, 10]


def test_depth_is_relative_to_the_valleys():
    gaps = [0.5, 0.6, 0.5, 0.9, 0.5, 0.55, 0.5]  # depths 0.2, 0.8, 0.1: mean 0.367, deviation 0.309
    assert chosen(gaps, rule="depth") == [3]
    assert chosen(gaps, rule="depth", cutoff_z=-0.6) == [1, 3]
    assert chosen(gaps, rule="depth", cutoff_z=-1.0) == [1, 3, 5]
    assert chosen([0.0, 0.2, 0.0], rule="depth") == [1]  # alone it is the mean


def test_a_known_number_of_segments_takes_the_deepest():
    gaps = [0.5, 0.6, 0.5, 0.9, 0.5, 0.55, 0.5, 0.6, 0.5]
    assert [chosen(gaps, n_segments=n) for n in (1, 2, 3, 4, 9)] == [[], [3], [1, 3], [1, 3, 7], [1, 3, 5, 7]]


# What is degenerate.


@pytest.mark.parametrize("preset", [None, "depth", "topictiling"])
@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("The of and. It is. We are. ", 3),  # no words
        ("Cat. Cat. Cat. Cat. Cat. ", 5),  # one
        ("Cats purr and nap. " * 12, 12),
        ("Cat. The. Of. And. ", 4),
    ],
)
def test_a_uniform_text_is_not_cut(preset, text, sentences):
    assert cuts(text, sentences, preset=preset) == [0, sentences]


# Models that are kept.


def test_a_model_tells_other_texts_apart(model):
    text = "A kitten naps. Cats nap. The judge appeals. A court ruled. "
    assert cuts(text, 4, model=model) == [0, 2, 4]


def test_a_model_survives_its_file(model, tmp_path):
    path = tmp_path / "topics"
    path.write_bytes(pickle.dumps(model))
    code = (
        "import pickle, sys; from advchunk.chunkers.experimental.lda import LDATopicChunker\n"
        f"chunker = LDATopicChunker(model=pickle.load(open({str(path)!r}, 'rb')))\n"
        f"print(chunker.fingerprint(), chunker.explain({CATS + COURTS!r}).segmentation.gaps.tolist())\n"
        "assert 'tomotopy' not in sys.modules"
    )
    here = LDATopicChunker(model=model)
    expected = f"{here.fingerprint()} {here.explain(CATS + COURTS).segmentation.gaps.tolist()}\n"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == expected


def test_a_chunker_of_other_words_refuses_a_model(model):
    for options in ({"stemmer": "porter"}, {"lowercase": False}, {"stop_words": "none"}, {"language": "de"}):
        with pytest.raises(ConfigurationError, match="words must be normalized as the model's"):
            LDATopicChunker(model=model, **options)
    with pytest.raises(ConfigurationError, match="model must be a TopicModel"):
        LDATopicChunker(model="topics.npz")


def test_a_model_is_part_of_the_fingerprint(model):
    other = TopicModel.fit([CATS, COURTS], num_topics=2)
    prints = {LDATopicChunker(model=candidate).fingerprint() for candidate in (None, model, other)}
    assert len(prints) == 3


# What fails.


def test_topics_that_have_not_converged_are_an_error():
    made = synthetic(0, segments=20, sentences=(10, 10))
    with pytest.raises(NotConverged, match=r"in 8 iterations: the last quarter adds 0\.\d+ nats"):
        LDATopicChunker(fallback=None, iterations=8, tolerance=0.01).segmentation(made.units)
    LDATopicChunker(fallback=None, iterations=8, tolerance=10.0).segmentation(made.units)


def test_without_tomotopy_the_extra_is_named(monkeypatch):
    topics.sampler.cache_clear()
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(MissingExtra, match=r"advchunk\[lda\]"):
        LDATopicChunker().chunk(CATS)
