"""Boundary metrics against nltk, slow and readable twins, and what published scorers said of published segmenters.

`golden_boundaries.json` holds numbers only: cuts of Choi's and clinical texts, words of their sentences, and scores by
Choi's Beeferman.java (single precision in C99's logs), bayes-seg's SegmentationScore and nltk's formula.
"""

from __future__ import annotations

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
    reference, found = ([0, *sorted(draw(inner)), n] for _ in range(2))
    words = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(lambda words: sum(words) > 1))
    k = draw(st.integers(1, n - 1))
    return reference, found, words, k


def expanded(cuts, words):
    """Segment of each word."""
    return [i for i, (a, b) in enumerate(pairwise(cuts)) for _ in range(sum(words[a:b]))]


def starts(cuts, words):
    """Position that each boundary stands before."""
    return [sum(words[:cut]) for cut in cuts[1:-1]]


def pairs(reference, found, words, k):
    """Pk and WindowDiff, window by window, in the convention of nltk and Choi."""
    true, said = expanded(reference, words), expanded(found, words)
    windows = [(true[i + k] - true[i], said[i + k] - said[i]) for i in range(len(true) - k)]
    return share([(a == 0) != (b == 0) for a, b in windows]), share([a != b for a, b in windows])


def inclusive(reference, found, words, k):
    """Pk and WindowDiff, window by window, as bayes-seg has them."""
    true, said = starts(reference, words), starts(found, words)
    windows = [
        (sum(i <= at <= i + k for at in true), sum(i <= at <= i + k for at in said)) for i in range(sum(words) - k)
    ]
    return share([(a > 0) != (b > 0) for a, b in windows]), share([a != b for a, b in windows])


def share(wrong):
    return sum(wrong) / len(wrong)


def largest_matching(reference, found, tolerance):
    """Kuhn's augmenting paths."""
    partner = {}

    def placed(boundary, tried):
        for other in found:
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
    reference, found, _, k = case
    n = reference[-1]
    true, said = ("".join("01"[i in cuts] for i in range(1, n)) for cuts in (reference, found))
    assert pk(reference, found, k=k) == nltk.pk(true, said, k)
    assert window_diff(reference, found, k=k) == nltk.windowdiff(true, said, k)
    k = max(round(n / (2 * (len(reference) - 1))), 1)
    assert pk(reference, found) == nltk.pk(true, said, k)
    assert window_diff(reference, found) == nltk.windowdiff(true, said, k)


@given(cases(), st.sampled_from(["nltk", "choi"]))
def test_pairs_of_words(case, convention):
    reference, found, words, k = case
    k = min(k, sum(words) - 1)
    said = tuple(metric(reference, found, k=k, weights=words, convention=convention) for metric in METRICS.values())
    assert said == pairs(reference, found, words, k)


@given(cases())
def test_inclusive_windows_of_words(case):
    reference, found, words, k = case
    k = min(k, sum(words) - 1)
    said = tuple(metric(reference, found, k=k, weights=words, convention="bayesseg") for metric in METRICS.values())
    assert said == inclusive(reference, found, words, k)


@given(cases(), st.integers(0, 6))
def test_largest_matching(case, tolerance):
    reference, found, _, _ = case
    scores = boundary_scores(reference, found, tolerance=tolerance)
    wanted, given_ = len(reference) - 2, len(found) - 2
    right = largest_matching(reference[1:-1], found[1:-1], tolerance)
    if wanted or given_:
        assert scores.recall * wanted == pytest.approx(right)
        assert scores.precision * given_ == pytest.approx(right)
        assert scores.f1 * (wanted + given_) == pytest.approx(2 * right)
    assert scores[3:] == (wanted + 1, given_ + 1)


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row['mode']} {row['file']}")
def test_published_scorers(row):
    for name, expected in row["scores"].items():
        metric, convention = name.split()
        words = None if convention == "nltk" else np.array(row["words"])
        said = METRICS[metric](row["reference"], row["found"], weights=words, convention=convention)
        assert said == pytest.approx(expected, abs=4e-8 if row["mode"].startswith("c99java") else 1e-15)
