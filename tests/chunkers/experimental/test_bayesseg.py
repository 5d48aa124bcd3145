"""BayesSeg: what it finds where the answer is known, and what each parameter does."""

import numpy as np
import pytest

from advchunk import BayesSegChunker, ConfigurationError, Document, NotConverged
from advchunk.evaluation import boundary_scores, synthetic


def free(**params):
    return BayesSegChunker(**{"min_segment_tokens": 0, **params})


@pytest.mark.parametrize("likelihood", ["dirichlet", "utiyama-isahara"])
@pytest.mark.parametrize("seed", range(3))
def test_planted_boundaries_are_found(likelihood, seed):
    made = synthetic(seed, segments=8, overlap=0.2)
    cuts = free(likelihood=likelihood).segmentation(made.units).cuts
    scores = boundary_scores(made.cuts, cuts, tolerance=1)
    assert scores.precision >= 0.8
    assert scores.recall >= 0.8


def test_without_the_price_of_a_segment_the_published_model_cuts_too_often():
    made = synthetic(1, segments=8, overlap=0.5)
    published = free(segment_cost=0.0, prior_strength=0.2).segmentation(made.units)
    assert len(published.cuts) > len(free().segmentation(made.units).cuts)


def test_a_stronger_prior_makes_fewer_segments():
    made = synthetic(2, segments=10, overlap=0.4)
    many = [len(free(prior_strength=a).segmentation(made.units).cuts) for a in (0.05, 0.5, 50.0)]
    assert many[0] >= many[1] >= many[2]
    assert many[0] > many[2]


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_known_number_of_segments_is_kept(number):
    assert len(free(n_segments=number).segmentation(synthetic(3, segments=4).units).cuts) == number + 1


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


@pytest.mark.parametrize("params", [{}, {"mean_length": 6.0}])
def test_learning_makes_the_text_likelier(params):
    made = synthetic(5, segments=6, overlap=0.3)
    taught, fixed = free(learn=True, **params), free(**params)
    after, before = taught.segmentation(made.units).figures, fixed.segmentation(made.units).figures
    assert after["prior_strength"] != before["prior_strength"]
    gain = after["log_likelihood"] - before["log_likelihood"]
    price = 0.5 * np.log(len(fixed.terms(made.units.strings()).ids)) * (after["segments"] - before["segments"])
    assert gain - price > 0


def test_a_prior_is_learned_from_several_texts():
    texts = [synthetic(seed, segments=6, overlap=0.3).units.text for seed in range(4)]
    taught = free(mean_length=6.0).fit(texts)
    assert taught.prior_strength != 0.5
    assert taught.dispersion is not None
    assert taught.fit([texts[0]]).prior_strength != taught.prior_strength
    assert len(taught.chunk(texts[0])) > 1


def test_learning_that_does_not_converge_falls_back(monkeypatch, caplog):
    def gives_up(*_, **__):
        msg = "no maximum"
        raise NotConverged(msg)

    monkeypatch.setattr("advchunk.chunkers.experimental.bayesseg.fit_prior", gives_up)
    text = synthetic(5, segments=4).units.text
    chunks = free(learn=True).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert {chunk.metadata["fallback_from"] for chunk in chunks} == {"bayesseg"}
    assert "NotConverged: no maximum" in caplog.text
    with pytest.raises(NotConverged):
        free(learn=True, fallback=None).chunk(text)


def test_a_boundary_is_probable_where_the_words_change():
    text = "Cats purr. Cats nap. Cats eat. Stocks fell. Stocks rose. Stocks fell."
    probability = free().explain(text).figures["boundary_probability"]
    assert probability.shape == (5,)
    assert probability.argmax() == 2


@pytest.mark.parametrize("text", ["One sentence only.", "7 8. 9 10. 11 12.", "The of and. Is a was.", "!!! ??? ..."])
def test_texts_without_a_choice_are_one_segment(text):
    assert [chunk.text for chunk in free().chunk(text)] == [text]


def test_equal_sentences_are_one_segment():
    assert len(free().chunk("The tide turns at noon. " * 40)) == 1


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"prior_strength": 1e308}, "prior_strength must be 0 or have a magnitude of 1e-100..1e100"),
        ({"n_segments": 2**63}, r"below 2\^63 for a whole number"),
        ({"prior_strength": 0.0}, "prior_strength must be > 0, got 0.0"),
        ({"min_segment_tokens": -1}, "min_segment_tokens must be >= 0"),
        ({"n_segments": 0}, "n_segments must be >= 1 or None"),
        ({"segment_cost": -1.0}, "segment_cost must be >= 0"),
        ({"mean_length": 0.0}, "mean_length must be > 0 or None"),
        ({"dispersion": -1.0, "mean_length": 3.0}, "dispersion must be > 0 or None"),
        ({"dispersion": 1.0}, "dispersion needs mean_length or n_segments"),
        ({"likelihood": "utiyama-isahara", "learn": True}, "learn needs likelihood='dirichlet'"),
        ({"lexical_model": "trigrams"}, "lexical_model must be one of 'unigrams', 'bigrams'"),
        ({"stemmer": "lancaster"}, "stemmer must be one of"),
        ({"word_splitter": "spaces"}, "word_splitter must be a callable or None"),
    ],
)
def test_parameters_out_of_range_are_refused(params, rule):
    with pytest.raises(ConfigurationError, match=rule):
        BayesSegChunker(**params)


def test_long_texts_keep_their_segments_with_their_own_frequencies_as_the_prior():
    made = synthetic(3, segments=80, topics=40, vocabulary=60, overlap=0.3)
    usual, long = (free(**params).segmentation(made.units).cuts for params in ({}, {"preset": "long"}))
    assert boundary_scores(made.cuts, long, tolerance=1).f1 > boundary_scores(made.cuts, usual, tolerance=1).f1 + 0.2
    assert abs(len(long) - len(made.cuts)) < abs(len(usual) - len(made.cuts))


def test_fit_raises_on_unusable_texts_and_skips_blank_ones():
    good = [synthetic(seed, segments=4, overlap=0.3).units.text for seed in range(2)]
    taught = free().fit(good)
    assert free().fit([*good, "1 2 3. 4 5 6.", " ", Document(" ")]) == taught
    assert free().fit([Document(text) for text in good]) == taught
    with pytest.raises(ConfigurationError, match="corpus must be a collection of texts"):
        free().fit(good[0])
    for nothing in ([], ["1 2 3."]):
        with pytest.raises(ConfigurationError, match="corpus must have words that are not stop words, got 'none'"):
            free().fit(nothing)
    for params in ({"preset": "long"}, {"likelihood": "utiyama-isahara"}):
        with pytest.raises(ConfigurationError, match="learn needs"):
            free(**params).fit(good)


@pytest.mark.parametrize(
    "params", [{"mean_length": 2.0}, {"segment_cost": 9.0}, {"prior_strength": 9.0}, {"preset": "long"}]
)
def test_utiyama_and_isaharas_model_takes_no_other_parameter(params):
    with pytest.raises(
        ConfigurationError, match="can be given with likelihood='dirichlet' only, got 'utiyama-isahara'"
    ):
        free(likelihood="utiyama-isahara", **params)


def test_lengths_count_when_they_are_expected():
    units = synthetic(8, segments=6, sentences=(2, 12), overlap=0.6).units
    few, many = (free(mean_length=m, dispersion=50.0).segmentation(units).cuts for m in (30.0, 2.0))
    assert len(few) < len(many)
    assert free(mean_length=4.0).segmentation(units).figures["dispersion"] == 1.0
