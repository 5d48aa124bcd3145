import numpy as np
import pytest

from advchunk.errors import ConfigurationError
from advchunk.evaluation import boundary_scores, even_split, pk, window_diff
from advchunk.evaluation.metrics.boundaries import check_cuts


def test_pk_by_hand():
    # k = round(9 / 6) = 2, half to even; of the pairs (0, 2) ... (6, 8) the reference parts 1, 2 and 4, 5.
    # A boundary one late parts 2, 3 and 4, 5.
    assert pk([0, 3, 6, 9], [0, 4, 6, 9]) == 2 / 7
    assert pk([0, 3, 6, 9], [0, 9]) == 4 / 7
    assert pk([0, 3, 6, 9], range(10)) == 3 / 7
    assert pk([0, 3, 6, 9], [0, 3, 6, 9]) == 0


def test_each_convention_rounds_half_a_segment_in_its_own_way():
    # T / 2S is 2.5 for ten units of two segments, 3.5 for fourteen.
    for n, k in ((10, {"nltk": 2, "choi": 3, "bayesseg": 2}), (14, {"nltk": 4, "choi": 4, "bayesseg": 3})):
        reference, hypothesis = [0, n // 2, n], [0, 1, n // 2 + 1, n]
        for convention, expected in k.items():
            scores = [pk(reference, hypothesis, k=k, convention=convention) for k in range(1, n)]
            same = pk(reference, hypothesis, convention=convention)
            assert same == scores[expected - 1]
            assert scores.count(same) == 1


@pytest.mark.parametrize("convention", ["nltk", "choi", "bayesseg"])
def test_a_window_is_never_nothing(convention):
    assert pk(range(9), [0, 8], convention=convention) == 1
    assert pk([0, 1], [0, 1], convention=convention) == window_diff([0, 1], [0, 1], convention=convention) == 0


@pytest.mark.parametrize("metric", [pk, window_diff, boundary_scores])
@pytest.mark.parametrize(
    ("reference", "hypothesis", "message"),
    [
        ([0, 3, 3, 9], [0, 9], r"reference must be .* increase strictly from 0, got \[0, 3, 3, 9\]"),
        ([0, 9], [0, 5, 3, 9], "hypothesis must be .* increase strictly"),
        ([0, 9], [1, 9], "hypothesis must be .* from 0"),
        ([0, 9], [0, 4.5, 9], "hypothesis must be a collection of whole numbers"),
        ([0, 9], [0], "at least two"),
        ([], [0, 9], "at least two"),
        ([[0, 9]], [0, 9], "reference must be a collection"),
        ([0, 9], [0, 4, 8], "hypothesis must end at 9 as the reference does, got 8"),
    ],
)
def test_refuses_cuts_that_are_none(metric, reference, hypothesis, message):
    with pytest.raises(ConfigurationError, match=message):
        metric(reference, hypothesis)


@pytest.mark.parametrize("metric", [pk, window_diff])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k must be in 1..8, got 0"),
        ({"k": 9}, "k must be in 1..8, got 9"),
        ({"k": 18, "weights": [2] * 9}, "k must be in 1..17, got 18"),
        ({"weights": [1, 2]}, "weights must be 9 whole numbers"),
        ({"weights": [1.5] * 9}, "weights must be a collection of whole numbers"),
        ({"weights": [1] * 8 + [-1]}, ">= 0"),
        ({"weights": [0] * 9}, "not all 0"),
        ({"convention": "segeval"}, "convention must be one of .*, got 'segeval'"),
    ],
)
def test_refuses_windows_that_are_none(metric, settings, message):
    with pytest.raises(ConfigurationError, match=message):
        metric([0, 4, 9], [0, 9], **settings)


def test_unsigned_numbers_are_numbers_like_any():
    assert pk([0, 1, 3], [0, 2, 3], weights=np.array([2, 1, 3], dtype=np.uint64)) == 2 / 4
    with pytest.raises(ConfigurationError):
        check_cuts(np.array([0, 5, 3, 9], dtype=np.uint8))


def test_boundary_scores_by_hand():
    exact = boundary_scores([0, 4, 8, 12], [0, 4, 7, 9, 12])
    assert exact == (1 / 3, 1 / 2, 2 / 5, 3, 4)
    near = boundary_scores([0, 4, 8, 12], [0, 4, 7, 9, 12], tolerance=1)
    assert near == (2 / 3, 1, 4 / 5, 3, 4)


def test_boundary_scores_without_boundaries():
    assert boundary_scores([0, 5], [0, 5]) == (1, 1, 1, 1, 1)
    assert boundary_scores([0, 3, 5], [0, 5]) == (0, 0, 0, 2, 1)
    assert boundary_scores([0, 5], [0, 3, 5]) == (0, 0, 0, 1, 2)


def test_refuses_a_negative_tolerance():
    with pytest.raises(ConfigurationError, match="tolerance must be >= 0, got -1"):
        boundary_scores([0, 5], [0, 5], tolerance=-1)


def test_an_even_split_differs_by_a_unit_at_most():
    for n in range(1, 40):
        for segments in range(1, n + 1):
            cuts = even_split(n, segments)
            lengths = np.diff(cuts)
            assert (cuts[0], cuts[-1], len(lengths)) == (0, n, segments)
            assert lengths.min() >= 1
            assert lengths.max() - lengths.min() <= (n % segments > 0) + 1
            assert np.abs(cuts - np.arange(segments + 1) * n / segments).max() <= 0.5


@pytest.mark.parametrize(("n", "segments", "message"), [(0, 1, "in 1..0"), (3, 4, "in 1..3, got 4"), (3, 0, "got 0")])
def test_refuses_segments_that_units_cannot_make(n, segments, message):
    with pytest.raises(ConfigurationError, match=message):
        even_split(n, segments)
