from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, ConfigurationError, Span
from advchunk.retrieval import ChunkPositions, Ranking, rerank_by_neighbors


def ranked(chunks, scores):
    return Ranking(np.array(chunks, dtype=np.int64), np.array(scores, dtype=np.float64))


def slow_rule(ranking, documents, middles, *, temperature=0.2, reach=200.0, weight=0.2, depth=100):
    """The formula of the docstring, chunk by chunk."""
    hits = list(zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True))[:depth]
    top, last = hits[0][1], hits[-1][1]
    if ranking.floor is not None and len(hits) < depth:
        last = ranking.floor
    p = {i: exp((score - top) / (temperature * (top - last))) if top > last else 1.0 for i, score in hits}
    scores = {}
    for i in range(len(documents)):
        near = [j for j in p if documents[j] == documents[i] and abs(middles[i] - middles[j]) <= 3 * reach]
        if i in p or near:
            others = (j for j in p if documents[j] == documents[i] and middles[j] != middles[i])
            support = sum(p[j] * exp(-abs(middles[i] - middles[j]) / reach) for j in others)
            scores[i] = p.get(i, 0) + weight * support
    return scores


@st.composite
def searches(draw):
    n = draw(st.integers(1, 12))
    documents = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    middles = draw(st.lists(st.integers(0, 3000).map(float), min_size=n, max_size=n))
    chunks = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True))
    scores = sorted(draw(st.lists(st.integers(-50, 50), min_size=len(chunks), max_size=len(chunks))), reverse=True)
    floor = draw(st.sampled_from([None, min(0, scores[-1]) - 1.0]))
    ranking = ranked(chunks, scores)
    return np.array(documents), np.array(middles), Ranking(ranking.chunks, ranking.scores, floor)


@given(searches(), st.integers(1, 12))
def test_the_rule_equals_its_formula(search, depth):
    documents, middles, ranking = search
    result = rerank_by_neighbors(ranking, ChunkPositions(documents, middles), depth=depth)
    expected = slow_rule(ranking, documents, middles, depth=depth)
    got = dict(zip(result.chunks.tolist(), result.scores.tolist(), strict=True))
    assert {i: got[i] for i in expected} == pytest.approx(expected)
    assert set(got) == set(expected) | set(ranking.chunks.tolist())
    assert len(got) == len(result)
    assert np.all(np.diff(result.scores) <= 0)


@given(searches())
def test_the_scale_of_scores_changes_nothing(search):
    documents, middles, ranking = search
    positions = ChunkPositions(documents, middles)
    floor = None if ranking.floor is None else 0.001 * ranking.floor - 7
    moved = Ranking(ranking.chunks, 0.001 * ranking.scores - 7, floor)
    scores = [rerank_by_neighbors(r, positions).scores for r in (ranking, moved)]
    if ranking.scores[0] > ranking.scores[-1]:
        assert scores[0] == pytest.approx(scores[1])


@given(searches())
def test_hits_only_returns_the_hits(search):
    documents, middles, ranking = search
    result = rerank_by_neighbors(ranking, ChunkPositions(documents, middles), hits_only=True)
    assert sorted(result.chunks.tolist()) == sorted(ranking.chunks.tolist())


def test_chunks_of_other_documents_do_not_count():
    scores = ranked([0, 1, 2, 3], [1.0, 0.99, 0.98, 0.0])
    shared = ChunkPositions(np.array([0, 1, 1, 2]), np.array([0.0, 0.0, 9.0, 0.0]))
    assert rerank_by_neighbors(scores, shared).chunks[0] == 1
    apart = ChunkPositions(np.array([0, 1, 2, 3]), np.zeros(4))
    assert rerank_by_neighbors(scores, apart).chunks.tolist() == [0, 1, 2, 3]


def test_a_chunk_between_two_hits_is_found():
    positions = ChunkPositions(np.zeros(9, dtype=int), 100.0 * np.arange(9))
    result = rerank_by_neighbors(ranked([3, 5, 8], [1.0, 0.98, 0.0]), positions)
    assert result.chunks[:3].tolist() == [3, 5, 4]


def test_duplicates_do_not_support_each_other():
    positions = ChunkPositions(np.zeros(4, dtype=int), np.array([0.0, 0.0, 900.0, 5000.0]))
    assert rerank_by_neighbors(ranked([2, 0, 1, 3], [1.0, 0.99, 0.99, 0.0]), positions).chunks[0] == 2


def test_without_weight_the_order_stays():
    positions = ChunkPositions(np.zeros(4, dtype=int), 10.0 * np.arange(4))
    assert rerank_by_neighbors(ranked([2, 0, 3], [3.0, 2.0, 1.0]), positions, weight=0).chunks.tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"temperature": 0}, "temperature must be > 0"),
        ({"reach": 0}, "reach must be > 0"),
        ({"reach": float("inf")}, "reach must be a finite number"),
        ({"weight": -1}, "weight must be finite and >= 0"),
        ({"depth": 0}, "depth must be >= 1"),
    ],
)
def test_bad_parameters_are_refused(parameters, rule):
    with pytest.raises(ConfigurationError, match=rule):
        rerank_by_neighbors(ranked([0], [1.0]), ChunkPositions(np.zeros(1, dtype=int), np.zeros(1)), **parameters)


def test_a_ranking_of_chunks_without_places_is_refused():
    with pytest.raises(ConfigurationError, match="must be of the 1 chunks with positions"):
        rerank_by_neighbors(ranked([1], [1.0]), ChunkPositions(np.zeros(1, dtype=int), np.zeros(1)))


def test_places_count_tokens_of_the_document():
    chunks = [Chunk("a" * 40, (Span(0, 40),), 10), Chunk("b" * 40, (Span(120, 160),), 10)]
    positions = ChunkPositions.of([*chunks, chunks[0]], ["x", "x", "y"])
    assert positions.documents.tolist() == [0, 0, 1]
    assert positions.middles.tolist() == [5.0, 35.0, 5.0]  # a token for four characters, gaps included


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 500)), min_size=1, max_size=20), st.integers(0, 300), st.data()
)
def test_near_equals_a_search_of_all(positions, distance, data):
    documents, middles = (np.array(values) for values in zip(*positions, strict=True))
    hits = data.draw(st.lists(st.integers(0, len(positions) - 1), min_size=1, unique=True))
    expected = [
        i
        for i in range(len(positions))
        if any(documents[i] == documents[j] and abs(int(middles[i]) - int(middles[j])) <= distance for j in hits)
    ]
    assert ChunkPositions(documents, middles.astype(float)).near(np.array(hits), distance).tolist() == expected
