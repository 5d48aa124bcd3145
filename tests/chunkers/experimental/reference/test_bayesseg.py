"""BayesSeg against the published Java program, and its parts against loops and all segmentations."""

from dataclasses import replace
from itertools import combinations, pairwise
from math import exp, lgamma, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advchunk.chunkers.experimental.bayesseg import BayesSegChunker, PriorParameters, fit_prior, log_duration
from advchunk.chunkers.numerics import costs, cutting
from advchunk.records import Units
from advchunk.text.terms import Terms, bigrams, terms_of

GOLDEN = np.load(Path(__file__).parents[3] / "data" / "golden_bayesseg.npz")
DOCUMENTS = sorted({name.rsplit("/ids")[0] for name in GOLDEN.files if name.endswith("/ids")} - {"em"})
MODES = ["known", "unknown_nodur", "unknown_dur"]

# The worked example of the program: sentences x words.
TOY = [[2, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 2, 0], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]]

texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=4), min_size=1, max_size=6)


def of_counts(rows):
    return terms_of([[str(w) for w, count in enumerate(row) for _ in range(count)] for row in rows])


def divided(chunker, words):
    n = len(words)
    return chunker.segment_terms(Units("x" * n, np.arange(n + 1), np.ones(n, dtype=np.int64)), words, None)


def cheapest(cost, n, **how):
    return cutting.cheapest_cuts(cost, np.ones(n, dtype=np.int64), np.full(n, n), **how)


def bags(words, start, end):
    """Return how often each term stands in a segment."""
    ids = words.ids[words.edges[start] : words.edges[end]].tolist()
    return {term: ids.count(term) for term in set(ids)}


def dirichlet(words, strength, start, end):
    counts, prior = bags(words, start, end), np.broadcast_to(strength, words.size).tolist()
    mass = sum(prior)
    value = lgamma(sum(counts.values()) + mass) - lgamma(mass) if mass else 0.0
    return value - sum(lgamma(n + prior[w]) - lgamma(prior[w]) for w, n in counts.items())


def utiyama_isahara(words, start, end):
    counts, types = bags(words, start, end), len(set(words.ids.tolist()))
    inside = sum(counts.values())
    return log(len(words.ids)) + sum(n * log((inside + types) / (n + 1)) for n in counts.values())


def every(n):
    return [(0, *inner, n) for k in range(n) for inner in combinations(range(1, n), k)]


@given(texts, st.sampled_from([0.1, 0.5, 3.0]), st.booleans())
def test_costs_are_those_of_a_loop_over_words(sentences, strength, bounded):
    words = terms_of(sentences, left_out={"d"})
    assume(len(words.ids))
    first = np.arange(len(words)) // 2 if bounded else np.zeros(len(words), dtype=np.int64)
    uneven = strength * np.arange(1, words.size + 1)
    for cost, slow in (
        (costs.dirichlet(words, strength), lambda a, b: dirichlet(words, strength, a, b)),
        (costs.dirichlet(words, uneven), lambda a, b: dirichlet(words, uneven, a, b)),
        (costs.utiyama_isahara(words), lambda a, b: utiyama_isahara(words, a, b)),
    ):
        for end, row in enumerate(cost(first), start=1):
            assert row == pytest.approx([slow(start, end) for start in range(first[end - 1], end)], abs=1e-9)


@given(texts, st.lists(st.floats(-3, 3), min_size=7, max_size=7))
def test_lengths_add_their_price(sentences, price):
    words = terms_of(sentences)
    first = np.zeros(len(words), dtype=np.int64)
    plain, added = costs.dirichlet(words, 0.5), costs.add_length_cost(costs.dirichlet(words, 0.5), np.array(price))
    for end, (before, other) in enumerate(zip(plain(first), added(first), strict=True), start=1):
        assert other - before == pytest.approx([price[end - start] for start in range(end)], abs=1e-9)


@given(texts, st.sampled_from([0.0, 0.7]))
def test_probabilities_of_boundaries_are_sums_over_all_segmentations(sentences, penalty):
    words = terms_of(sentences)
    n = len(words)
    weights = {cuts: exp(-sum(dirichlet(words, 0.5, a, b) + penalty for a, b in pairwise(cuts))) for cuts in every(n)}
    whole = sum(weights.values())
    expected = [sum(w for cuts, w in weights.items() if i in cuts) / whole for i in range(1, n)]
    cost, backwards = costs.dirichlet(words, 0.5), costs.dirichlet(words.backwards(), 0.5)
    assert cutting.boundary_probabilities(cost, backwards, n, penalty) == pytest.approx(expected, abs=1e-9)


@given(texts)
def test_pairs_are_of_neighbors_in_a_sentence(sentences):
    actual = bigrams(terms_of(sentences))
    expected = terms_of([[f"{a}{b}" for a, b in pairwise(sentence)] for sentence in sentences])
    assert actual.edges.tolist() == expected.edges.tolist()
    same = [(actual.ids[i] == actual.ids[j]) == (expected.ids[i] == expected.ids[j])
            for i in range(len(actual.ids)) for j in range(i)]  # fmt: skip
    assert all(same)
    assert actual.size == expected.size == len(set(actual.ids.tolist()))


# The published program.


@pytest.mark.parametrize(
    ("segments", "cuts", "log_likelihood"),
    [
        (1, [0, 6], -30.343179),
        (2, [0, 3, 6], -23.971568),
        (3, [0, 2, 3, 6], -23.699634),
        (4, [0, 2, 3, 4, 6], -24.844766),
        (None, [0, 2, 3, 6], -23.699634),
    ],
)
def test_toy(segments, cuts, log_likelihood):
    actual, cost = cheapest(costs.dirichlet(of_counts(TOY), 0.2), 6, segments=segments)
    assert actual.tolist() == cuts
    assert -cost == pytest.approx(log_likelihood, abs=1e-6)


@pytest.mark.parametrize(
    ("segments", "mean", "log_likelihood"), [(2, 3, -27.684164), (3, 2, -28.839346), (None, 2, -28.130451)]
)
def test_toy_with_durations(segments, mean, log_likelihood):
    prior = -log_duration(np.arange(7), mean, 1.0)
    _, cost = cheapest(costs.add_length_cost(costs.dirichlet(of_counts(TOY), 0.2), prior), 6, segments=segments)
    assert -cost == pytest.approx(log_likelihood, abs=1e-6)


def test_durations_of_the_program():
    expected = [-1.386294, -1.386294, -1.673976, -2.079442, -2.549445, -3.060271, -3.599267]
    assert log_duration(np.arange(7), 2.0, 1.0) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_segmentations_and_likelihoods_of_the_program(name, mode):
    golden = {key: GOLDEN[f"{name}/{key}"] for key in ("ids", "edges", "size", "mean")}
    words = Terms(golden["ids"].astype(np.int64), golden["edges"].astype(np.int64), int(golden["size"][0]))
    cuts = GOLDEN[f"{name}/{mode}/cuts"]
    cost = costs.dirichlet(words, 0.2)
    if mode == "unknown_dur":
        cost = costs.add_length_cost(cost, -log_duration(np.arange(len(words) + 1), float(golden["mean"][0]), 1.0))
    actual, spent = cheapest(cost, len(words), segments=len(cuts) - 1 if mode == "known" else None)
    assert -spent == pytest.approx(GOLDEN[f"{name}/{mode}/log_likelihood"][0], rel=1e-8)
    # A sentence without words costs nothing, so the program may cut after it or not.
    worded = [np.unique(words.edges[at]).tolist() for at in (actual, cuts)]
    assert worded[0] == worded[1]


@pytest.mark.parametrize(
    "name", sorted({name.rsplit("/", 1)[0] for name in GOLDEN.files if name.startswith("textseg")})
)
def test_segmentations_of_utiyama_and_isaharas_program(name):
    ids, edges = (GOLDEN[f"{name}/{key}"].astype(np.int64) for key in ("words", "edges"))
    cost = costs.utiyama_isahara(Terms(ids, edges, int(ids.max()) + 1))
    for mode, segments in (("auto", None), ("n10", 10)):
        assert cheapest(cost, len(edges) - 1, segments=segments)[0].tolist() == GOLDEN[f"{name}/{mode}"].tolist()


@pytest.mark.slow
def test_the_chunker_learns_the_same_prior_as_the_program():
    edges = np.r_[0, np.cumsum(GOLDEN["em/counts"].astype(np.int64))]
    texts, at, ids = [], 0, GOLDEN["em/ids"].astype(np.int64)
    for n, size in GOLDEN["em/sizes"].tolist():
        own_edges = edges[at : at + n + 1]
        texts.append(Terms(ids[own_edges[0] : own_edges[-1]], own_edges - own_edges[0], size))
        at += n
    chunker = BayesSegChunker(n_segments=10, min_segment_tokens=0, prior_strength=0.2, dispersion=1.0)
    prior = chunker._learn_prior([(words, np.ones(len(words), dtype=np.int64)) for words in texts])
    assert prior.strength == pytest.approx(float(GOLDEN["em/strength"]), rel=1e-6)
    taught = replace(chunker, prior_strength=prior.strength, dispersion=prior.dispersion)
    actual = [divided(taught, words).cuts.tolist() for words in texts]
    assert actual == GOLDEN["em/cuts"].tolist()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_chunker_without_a_price_is_the_program(name):
    golden = {key: GOLDEN[f"{name}/{key}"] for key in ("ids", "edges", "size", "mean")}
    words = Terms(golden["ids"].astype(np.int64), golden["edges"].astype(np.int64), int(golden["size"][0]))
    plain = {"min_segment_tokens": 0, "prior_strength": 0.2, "segment_cost": 0.0}
    number = len(GOLDEN[f"{name}/known/cuts"]) - 1
    for mode, params in {
        "known": {"n_segments": number, "segment_cost": 9.0},
        "unknown_nodur": {},
        "unknown_dur": {"mean_length": float(golden["mean"][0])},
    }.items():
        figures = divided(BayesSegChunker(**{**plain, **params}), words).figures
        assert figures["log_likelihood"] == pytest.approx(GOLDEN[f"{name}/{mode}/log_likelihood"][0], rel=1e-8)


# Learning.


def likelihood(prior, words, cuts, mean):
    value = -sum(dirichlet(words, prior.strength, a, b) for a, b in pairwise(cuts.tolist()))
    if prior.dispersion is not None:
        value += log_duration(np.diff(cuts), mean, prior.dispersion).sum()
    return value


@pytest.mark.parametrize("dispersion", [None, 0.5])
def test_the_likeliest_prior_is_better_than_those_near_it(dispersion):
    topics = [[3, 1, 1, 0, 0, 0], [0, 0, 0, 3, 1, 1], [1, 0, 0, 0, 1, 4]]
    cuts = np.array([0, 1, 4, 12, 13, 15, 30])
    words = of_counts([topics[i % 3] for i, m in enumerate(np.diff(cuts)) for _ in range(m)])
    text = (words, cuts, 5.0)
    best = fit_prior(PriorParameters(0.2, dispersion), [text, text])
    assert likelihood(best, *text) > likelihood(PriorParameters(0.2, dispersion), *text) + 0.1
    for change in (0.97, 1.03):
        assert likelihood(best._replace(strength=best.strength * change), *text) < likelihood(best, *text)
        if best.dispersion is not None:
            assert likelihood(best._replace(dispersion=best.dispersion * change), *text) < likelihood(best, *text)
