"""BayesSeg against the published Java program, and its parts against loops and all segmentations."""

from itertools import pairwise
from math import lgamma, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advchunk.chunkers.experimental.bayesseg import BayesSegChunker
from advchunk.chunkers.numerics import costs, cutting
from advchunk.records import Units
from advchunk.text.terms import Terms, bigrams, terms_of

GOLDEN = np.load(Path(__file__).parents[3] / "data" / "golden_bayesseg.npz")
DOCUMENTS = sorted({name.rsplit("/ids")[0] for name in GOLDEN.files if name.endswith("/ids")} - {"em"})

# The worked example of the program: sentences x words.

texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=4), min_size=1, max_size=6)


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
    "name", sorted({name.rsplit("/", 1)[0] for name in GOLDEN.files if name.startswith("textseg")})
)
def test_segmentations_of_utiyama_and_isaharas_program(name):
    ids, edges = (GOLDEN[f"{name}/{key}"].astype(np.int64) for key in ("words", "edges"))
    cost = costs.utiyama_isahara(Terms(ids, edges, int(ids.max()) + 1))
    for mode, segments in (("auto", None), ("n10", 10)):
        assert cheapest(cost, len(edges) - 1, segments=segments)[0].tolist() == GOLDEN[f"{name}/{mode}"].tolist()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_chunker_without_a_price_is_the_program(name):
    golden = {key: GOLDEN[f"{name}/{key}"] for key in ("ids", "edges", "size")}
    words = Terms(golden["ids"].astype(np.int64), golden["edges"].astype(np.int64), int(golden["size"][0]))
    plain = {"min_segment_tokens": 0, "prior_strength": 0.2, "segment_cost": 0.0}
    number = len(GOLDEN[f"{name}/known/cuts"]) - 1
    for mode, params in {"known": {"n_segments": number, "segment_cost": 9.0}, "unknown_nodur": {}}.items():
        figures = divided(BayesSegChunker(**{**plain, **params}), words).figures
        assert figures["log_likelihood"] == pytest.approx(GOLDEN[f"{name}/{mode}/log_likelihood"][0], rel=1e-8)
