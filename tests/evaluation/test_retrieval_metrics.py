import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import Chunk, Span
from advchunk.errors import ConfigurationError
from advchunk.evaluation.data.questions import Question, Reference
from advchunk.evaluation.metrics.retrieval import (
    at_budget,
    at_k,
    find_overlaps,
    precision_omega,
    redundancy,
    similarities,
)
from growing import check_growth


def chunk(*spans, tokens=10):
    return Chunk("", tuple(Span(*span) for span in spans), tokens)


def asked(*spans, document="a"):
    return Question("?", tuple(Reference(document, Span(*span)) for span in spans))


def of(chunks, *questions, **options):
    return find_overlaps({"a": chunks}, questions, **options)


def test_scores_by_hand():
    # Retrieved: 80 characters of which 30 answer, then 20 of another document; of 40 that answer, 10 are not found.
    chunks = {"a": [chunk((0, 80)), chunk((80, 200))], "b": [chunk((0, 20))]}
    scores = at_k(find_overlaps(chunks, [asked((50, 90))]), np.array([[0, 2, 1]]), k=2).means()
    assert scores == {
        "recall": 30 / 40,
        "precision": 30 / 100,
        "iou": 30 / 110,
        "hit": 1,
        "reciprocal_rank": 1,
        "ndcg": pytest.approx(30 / (30 + 10 / np.log2(3))),
        "tokens": 20,
    }
    assert precision_omega(find_overlaps(chunks, [asked((50, 90))])).tolist() == [40 / 200]


def test_a_corpus_without_chunks_scores_nothing():
    overlaps = of([], asked((0, 10)))
    nothing = np.zeros((1, 0), dtype=np.int64)
    assert set(at_k(overlaps, nothing, k=5).means().values()) == {0}
    assert set(at_budget(overlaps, nothing, 100).means().values()) == {0}
    assert precision_omega(overlaps).tolist() == [0]


def test_a_chunk_that_is_all_context_takes_of_the_budget():
    overlaps = of([chunk(tokens=6), chunk((0, 10))], asked((0, 10)))
    assert at_budget(overlaps, np.array([[0, 1]]), 11).means()["recall"] == 5 / 10
    assert at_k(overlaps, np.array([[0, 1]]), k=2).means()["reciprocal_rank"] == 1 / 2


@pytest.mark.parametrize("size", [1, 7, 100, 400])
def test_the_size_of_chunks_that_are_ranked_by_chance_decides_nothing_at_a_budget(size):
    # 4000 tokens of 1 character, a quarter of them within the budget: any chunker should find a quarter.
    rng = np.random.default_rng(0)
    chunks = [chunk((start, min(start + size, 4000)), tokens=min(size, 4000 - start)) for start in range(0, 4000, size)]
    places = rng.integers(0, 3950, 500).tolist()
    ranking = rng.permuted(np.tile(np.arange(len(chunks)), (500, 1)), axis=1)
    scores = at_budget(of(chunks, *(asked((at, at + 50)) for at in places)), ranking, 950)
    assert scores.means()["recall"] == pytest.approx(950 / 4000, abs=0.06)
    assert set(scores.tokens) == {950}


def test_a_larger_budget_never_finds_less():
    rng = np.random.default_rng(1)
    starts = rng.integers(0, 900, 40)
    chunks = [
        chunk((at, at + size), tokens=max(size // 4, 1)) for at, size in zip(starts, starts % 90 + 1, strict=True)
    ]
    overlaps = of(chunks, *(asked((at, at + 60)) for at in range(0, 900, 60)))
    ranking = rng.permuted(np.tile(np.arange(40), (15, 1)), axis=1)
    curve = np.array([at_budget(overlaps, ranking, budget).recall for budget in range(1, 500)])
    assert (np.diff(curve, axis=0) >= 0).all()
    assert curve[-1].min() > curve[0].min()


def test_a_ranking_better_than_the_greedy_one_has_an_ndcg_of_1():
    overlaps = of([chunk((4, 15)), chunk((0, 10)), chunk((10, 20))], asked((0, 20)))
    assert at_k(overlaps, np.array([[1, 2, 0]]), k=2).ndcg.tolist() == [1]
    assert at_k(overlaps, np.array([[0, 2, 1]]), k=2).ndcg.tolist() == [1]
    assert at_k(overlaps, np.array([[0, 1, 2]]), k=2).ndcg.item() < 1


def rank(*vectors):
    return np.argsort(-similarities(*vectors), axis=1, kind="stable")


def test_redundancy_by_hand():
    assert redundancy(of([chunk((0, 10)), chunk((10, 30))], asked((0, 1)))) == 1
    assert redundancy(of([chunk((0, 10), (20, 30)), chunk((5, 25))], asked((0, 1)))) == 40 / 30
    assert redundancy(of([chunk()], asked((0, 1)))) == 0


def test_ranks_by_cosine_whatever_the_length():
    chunks = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [3.0, 4.0]])
    assert rank(np.array([[0.5, 0.0]]), chunks).tolist() == [[0, 3, 1, 2]]
    assert rank(np.zeros((1, 2)), chunks).tolist() == [[0, 1, 2, 3]]


def test_equal_vectors_rank_by_index_wherever_they_stand():
    rng = np.random.default_rng(0)
    different = rng.standard_normal((37, 96)).astype(np.float32)
    chunks = np.tile(different, (5, 1)) * rng.uniform(0.5, 2, (185, 1))
    for order in rank(rng.standard_normal((300, 96)), chunks).tolist():
        for first in range(0, 185, 5):
            same = order[first : first + 5]
            assert same == sorted(same)
            assert len({index % 37 for index in same}) == 1


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=12).map(lambda some: np.unique(some, return_inverse=True)[1]),
    st.integers(0, 99),
)
def test_a_chunk_of_several_vectors_is_as_near_as_the_nearest(owners, seed):
    rng = np.random.default_rng(seed)
    queries, rows = rng.integers(-1, 2, (5, 2)).astype(float), rng.integers(-1, 2, (len(owners), 2)).astype(float)

    def cosine(a, b):
        return round(a @ b / ((np.linalg.norm(a) or 1) * (np.linalg.norm(b) or 1)), 9)

    for query, order in zip(queries, rank(queries, rows, owners).tolist(), strict=True):
        near = {chunk: max(cosine(query, rows[i]) for i in np.flatnonzero(owners == chunk)) for chunk in set(owners)}
        assert order == sorted(near, key=lambda chunk: (-near[chunk], chunk))


def test_scoring_takes_time_in_proportion_to_the_chunks():
    def make(count):
        rng = np.random.default_rng(0)
        chunks = [chunk((at * 100, at * 100 + 150), tokens=30) for at in range(count)]
        questions = [asked(*((at, at + 120) for at in rng.integers(0, 100 * count, 2).tolist())) for _ in range(100)]
        return chunks, questions, rng.permuted(np.tile(np.arange(count), (100, 1)), axis=1)

    def score(task):
        chunks, questions, order = task
        overlaps = of(chunks, *questions)
        at_k(overlaps, order, k=5), at_budget(overlaps, order, 1000), precision_omega(overlaps)

    check_growth(score, make, 3000)


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        ([[0, 0]], "a ranking must not have a chunk twice"),
        ([[0]], "a ranking must (have the first 2 chunks|fill 15 tokens)"),
    ],
)
def test_refuses_rankings_that_are_none(ranking, message):
    overlaps = of([chunk((0, 10)), chunk((10, 20))], asked((0, 10)))
    with pytest.raises(ConfigurationError, match=message):
        at_k(overlaps, np.array(ranking), k=2)
    with pytest.raises(ConfigurationError, match=message):
        at_budget(overlaps, np.array(ranking), 15)


def test_a_ranking_may_end_where_what_is_asked_for_does():
    overlaps = of([chunk((0, 10)), chunk((10, 20))], asked((0, 10)))
    assert at_budget(overlaps, np.array([[0]]), 10).recall.tolist() == [1]
    assert at_k(overlaps, np.array([[0]]), k=1).recall.tolist() == [1]
    assert at_k(overlaps, np.array([[1, 0]]), k=9).recall.tolist() == [1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_overlaps({"a": []}, []), "questions must not be empty"),
        (lambda: of([], asked((0, 5), document="b")), "questions must be about documents with chunks, got 'b'"),
        (lambda: find_overlaps({"notes.md": []}, [asked((0, 5), document="note.md")]), "did you mean 'notes.md'"),
        (lambda: of([chunk((0, 5))], asked((0, 5)), tokens=[1, 2]), "tokens must be 1 numbers"),
        (lambda: at_k(of([], asked((0, 5))), np.zeros((1, 0), dtype=int), 0), "k must be >= 1, got 0"),
        (lambda: at_budget(of([], asked((0, 5))), np.zeros((1, 0), dtype=int), 0), "budget must be >= 1, got 0"),
        (
            lambda: at_budget(of([chunk((0, 5), tokens=0)], asked((0, 5))), np.array([[0]]), 9),
            "chunks with text must have tokens >= 1",
        ),
    ],
)
def test_refuses_what_cannot_be_scored(call, message):
    with pytest.raises(ConfigurationError, match=message):
        call()
