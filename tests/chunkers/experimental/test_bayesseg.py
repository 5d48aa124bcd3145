"""BayesSeg: what it finds where the answer is known, and what each parameter does."""

import numpy as np
import pytest

from advchunk import BayesSegChunker, ConfigurationError
from advchunk.evaluation import boundary_scores, synthetic


def free(**params):
    return BayesSegChunker(**{"min_segment_tokens": 0, **params})


def test_a_stronger_prior_makes_fewer_segments():
    made = synthetic(2, segments=10, overlap=0.4)
    many = [len(free(prior_strength=a).segmentation(made.units).cuts) for a in (0.05, 0.5, 50.0)]
    assert many[0] >= many[1] >= many[2]
    assert many[0] > many[2]


def test_segments_have_at_least_their_tokens():
    made = synthetic(4, segments=12, overlap=0.0)
    chunker = BayesSegChunker(min_segment_tokens=150)
    cuts = chunker.segmentation(made.units).cuts
    sizes = np.add.reduceat(chunker.counter.counts(made.units.strings()), cuts[:-1])
    assert sizes.min() >= 150
    assert sizes.min() > np.add.reduceat(chunker.counter.counts(made.units.strings()), made.cuts[:-1]).min()


def test_bigrams_find_boundaries_that_unigrams_miss():
    red, fox = "Red fox barks. " * 6, "Fox red barks. " * 6
    plain = {"stemmer": "none", "stop_words": "none", "n_segments": 2}
    assert [chunk.text for chunk in free(lexical_model="bigrams", **plain).chunk(red + fox)] == [red, fox]
    assert [chunk.text for chunk in free(lexical_model="unigrams", **plain).chunk(red + fox)] != [red, fox]


@pytest.mark.parametrize("text", ["One sentence only.", "7 8. 9 10. 11 12.", "The of and. Is a was.", "!!! ??? ..."])
def test_texts_without_a_choice_are_one_segment(text):
    assert [chunk.text for chunk in free().chunk(text)] == [text]


def test_long_texts_keep_their_segments_with_their_own_frequencies_as_the_prior():
    made = synthetic(3, segments=80, topics=40, vocabulary=60, overlap=0.3)
    usual, long = (free(**params).segmentation(made.units).cuts for params in ({}, {"preset": "long"}))
    assert boundary_scores(made.cuts, long, tolerance=1).f1 > boundary_scores(made.cuts, usual, tolerance=1).f1 + 0.2
    assert abs(len(long) - len(made.cuts)) < abs(len(usual) - len(made.cuts))


@pytest.mark.parametrize("params", [{"segment_cost": 9.0}, {"prior_strength": 9.0}, {"preset": "long"}])
def test_utiyama_and_isaharas_model_takes_no_other_parameter(params):
    with pytest.raises(ConfigurationError, match="be given with likelihood='dirichlet' only, got 'utiyama-isahara'"):
        free(likelihood="utiyama-isahara", **params)
