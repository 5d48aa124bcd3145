import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from advchunk.retrieval import Ranking, VectorIndex, fuse

SCORES = st.integers(0, 12).flatmap(
    lambda n: arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]))
)


def ranking(**scores):
    chunks = [int(name[1:]) for name in scores]
    return Ranking(np.array(chunks, dtype=np.int64), np.array(list(scores.values()), dtype=np.float64))


@given(SCORES, st.integers(1, 15), st.sampled_from([-np.inf, 0.0, 1.0]))
def test_the_best_are_first_and_ties_are_ordered_by_index(scores, depth, above):
    best = Ranking.from_scores(scores, depth, above=above)
    expected = sorted((i for i in range(len(scores)) if scores[i] > above), key=lambda i: (-scores[i], i))[:depth]
    assert best.chunks.tolist() == expected
    assert best.scores.tolist() == [scores[i] for i in expected]


def slow_fusion(rankings, weights, method):
    total = {}
    for ranked, weight in zip(rankings, weights, strict=True):
        missing = 0 if ranked.floor is None else 100 - len(ranked)
        scores = [*ranked.scores, *[ranked.floor] * missing]
        spread = np.std(scores) if scores else 0
        for place, (chunk, score) in enumerate(zip(ranked.chunks.tolist(), ranked.scores.tolist(), strict=True)):
            standardized = (score - scores[-1]) / spread if spread else 1
            part = 1 / (61 + place) if method == "reciprocal" else standardized
            total[chunk] = total.get(chunk, 0) + weight * part
    return total


@given(st.lists(SCORES, min_size=1, max_size=3), st.sampled_from(["standardized", "reciprocal"]), st.booleans())
def test_fusion_equals_its_definition(lists, method, has_floor):
    rankings = [Ranking.from_scores(scores, above=0 if has_floor else -np.inf) for scores in lists]
    weights = [1.0, 2.0, 0.5][: len(rankings)]
    fused = fuse(rankings, weights, method=method)
    expected = slow_fusion(rankings, weights, method)
    assert fused.scores.tolist() == pytest.approx(sorted(expected.values(), reverse=True))
    assert {i: pytest.approx(expected[i]) for i in expected} == dict(
        zip(fused.chunks.tolist(), fused.scores, strict=True)
    )


def test_only_the_first_chunks_are_used():
    assert sorted(fuse([ranking(c1=3.0, c2=2.0, c3=1.0), ranking(c4=1.0)], depth=2).chunks.tolist()) == [1, 2, 4]


def test_an_empty_ranking_adds_nothing():
    empty = Ranking.from_scores(np.zeros(0))
    assert fuse([empty, ranking(c4=1.0, c2=0.5)]).chunks.tolist() == [4, 2]
    assert not len(fuse([empty]))


def test_vectors_rank_by_the_best_row_of_each_chunk():
    rng = np.random.default_rng(0)
    rows, query = [rng.normal(size=(n, 8)) for n in (1, 3, 2, 1)], rng.normal(size=8)
    cosines = [max(float(row @ query) / np.linalg.norm(row) / np.linalg.norm(query) for row in group) for group in rows]
    best = VectorIndex(rows).search(query)
    assert best.chunks.tolist() == np.argsort(cosines)[::-1].tolist()
    assert best.scores == pytest.approx(sorted(cosines, reverse=True), abs=2e-6)


@pytest.mark.parametrize("sign", [1, -1], ids=["similarities", "distances"])
def test_hits_of_a_store_rank_by_their_best_score(sign):
    rng = np.random.default_rng(0)
    for _ in range(50):
        chunks = rng.integers(0, 8, 12)
        scores = np.sort(rng.integers(0, 6, 12) / 4)[::-1]
        best = {}
        for chunk, score in zip(chunks.tolist(), scores.tolist(), strict=True):
            best.setdefault(chunk, score)
        expected = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))
        result = Ranking.from_hits(chunks.tolist(), (sign * scores).tolist())
        assert list(zip(result.chunks.tolist(), result.scores.tolist(), strict=True)) == expected


def test_last_bits_of_the_scores_of_hits_do_not_order_them():
    assert Ranking.from_hits([2, 1, 0], [0.9, 0.9 - 1e-7, 0.2]).chunks.tolist() == [1, 2, 0]


def test_hits_without_scores_rank_in_their_order():
    assert Ranking.from_hits([5, 3, 5, 4]).chunks.tolist() == [5, 3, 4]


def test_a_part_of_a_ranking_keeps_its_order_and_floor():
    part = Ranking(np.array([3, 0, 1]), np.array([9.0, 5.0, 2.0]), 0.0).keep(np.array([False, True, True, True]))
    assert (part.chunks.tolist(), part.scores.tolist(), part.floor) == ([3, 1], [9.0, 2.0], 0.0)
