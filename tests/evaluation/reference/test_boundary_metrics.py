"""Boundary metrics against nltk, slow and readable twins, and what published scorers said of published segmenters.

`golden_boundaries.json` holds numbers only: cuts of Choi's and clinical texts, words of their sentences, and scores by
Choi's Beeferman.java (single precision in C99's logs), bayes-seg's SegmentationScore and nltk's formula.
"""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.evaluation import boundary_scores, pk, window_diff

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "golden_boundaries.json").read_text(encoding="utf-8"))
METRICS = {"pk": pk, "wd": window_diff}


@st.composite
def cases(draw):
    n = draw(st.integers(2, 40))
    inner = st.sets(st.integers(1, n - 1), max_size=12)
    reference, hypothesis = ([0, *sorted(draw(inner)), n] for _ in range(2))
    words = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(lambda words: sum(words) > 1))
    k = draw(st.integers(1, n - 1))
    return reference, hypothesis, words, k


def expanded(cuts, words):
    """Segment of each word."""
    return [i for i, (a, b) in enumerate(pairwise(cuts)) for _ in range(sum(words[a:b]))]


def starts(cuts, words):
    """Position that each boundary stands before."""
    return [sum(words[:cut]) for cut in cuts[1:-1]]


def pairs(reference, hypothesis, words, k):
    """Pk and WindowDiff, window by window, in the convention of nltk and Choi."""
    true, predicted = expanded(reference, words), expanded(hypothesis, words)
    windows = [(true[i + k] - true[i], predicted[i + k] - predicted[i]) for i in range(len(true) - k)]
    return share([(a == 0) != (b == 0) for a, b in windows]), share([a != b for a, b in windows])


def inclusive(reference, hypothesis, words, k):
    """Pk and WindowDiff, window by window, as bayes-seg has them."""
    true, predicted = starts(reference, words), starts(hypothesis, words)
    windows = [
        (sum(i <= at <= i + k for at in true), sum(i <= at <= i + k for at in predicted)) for i in range(sum(words) - k)
    ]
    return share([(a > 0) != (b > 0) for a, b in windows]), share([a != b for a, b in windows])


def share(wrong):
    return sum(wrong) / len(wrong)


def largest_matching(reference, hypothesis, tolerance):
    """Kuhn's augmenting paths."""
    partner = {}

    def placed(boundary, tried):
        for other in hypothesis:
            if abs(boundary - other) <= tolerance and other not in tried:
                tried.add(other)
                if other not in partner or placed(partner[other], tried):
                    partner[other] = boundary
                    return True
        return False

    return sum(placed(boundary, set()) for boundary in reference)


@pytest.fixture(scope="module")
def nltk():
    """Import nltk, which takes longer than a test may."""
    return pytest.importorskip("nltk.metrics.segmentation")


@given(case=cases())
def test_nltk_says_the_same_of_the_gaps(nltk, case):
    reference, hypothesis, _, k = case
    n = reference[-1]
    true, predicted = ("".join("01"[i in cuts] for i in range(1, n)) for cuts in (reference, hypothesis))
    assert pk(reference, hypothesis, k=k) == nltk.pk(true, predicted, k)
    assert window_diff(reference, hypothesis, k=k) == nltk.windowdiff(true, predicted, k)
    k = max(round(n / (2 * (len(reference) - 1))), 1)
    assert pk(reference, hypothesis) == nltk.pk(true, predicted, k)
    assert window_diff(reference, hypothesis) == nltk.windowdiff(true, predicted, k)


@given(cases(), st.sampled_from(["nltk", "choi"]))
def test_pairs_of_words(case, convention):
    reference, hypothesis, words, k = case
    k = min(k, sum(words) - 1)
    predicted = tuple(
        metric(reference, hypothesis, k=k, weights=words, convention=convention) for metric in METRICS.values()
    )
    assert predicted == pairs(reference, hypothesis, words, k)


@given(cases())
def test_inclusive_windows_of_words(case):
    reference, hypothesis, words, k = case
    k = min(k, sum(words) - 1)
    predicted = tuple(
        metric(reference, hypothesis, k=k, weights=words, convention="bayesseg") for metric in METRICS.values()
    )
    assert predicted == inclusive(reference, hypothesis, words, k)


@given(cases(), st.integers(0, 6))
def test_largest_matching(case, tolerance):
    reference, hypothesis, _, _ = case
    scores = boundary_scores(reference, hypothesis, tolerance=tolerance)
    expected, given_ = len(reference) - 2, len(hypothesis) - 2
    right = largest_matching(reference[1:-1], hypothesis[1:-1], tolerance)
    if expected or given_:
        assert scores.recall * expected == pytest.approx(right)
        assert scores.precision * given_ == pytest.approx(right)
        assert scores.f1 * (expected + given_) == pytest.approx(2 * right)
    assert scores[3:] == (expected + 1, given_ + 1)


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row['mode']} {row['file']}")
def test_published_scorers(row):
    for name, expected in row["scores"].items():
        metric, convention = name.split()
        words = None if convention == "nltk" else np.array(row["words"])
        predicted = METRICS[metric](row["reference"], row["found"], weights=words, convention=convention)
        assert predicted == pytest.approx(expected, abs=4e-8 if row["mode"].startswith("c99java") else 1e-15)
