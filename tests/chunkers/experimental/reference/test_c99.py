"""C99: what the original Java code gave on the same words, and its three steps by plain loops.

The golden figures come from the unmodified C99 1.2 by way of tools/pack_c99.py.
"""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental.c99 import C99Chunker
from advchunk.chunkers.numerics import bands, cutting
from advchunk.records import Units
from advchunk.text.counters import WORDS
from advchunk.text.terms import Terms

GOLDEN = dict(np.load(Path(__file__).parents[3] / "data/golden_c99.npz"))
LIMITS = Limits(10**9, 0, 0, WORDS)


def parted(name):
    """Return the rows of an array of which the lengths were packed beside it."""
    return np.split(GOLDEN[name].astype(np.int64), np.cumsum(GOLDEN[f"{name}_each"].ravel(), dtype=np.int64)[:-1])


SENTENCES, DOCUMENTS = parted("terms"), parted("sentences")
TRUE, FOUND, OF_TEN = (parted("cuts")[i::3] for i in range(3))
INSIDE = int(GOLDEN["inside"])


def words_of(document):
    sentences = [SENTENCES[i] for i in DOCUMENTS[document]]
    edges = np.cumsum([0, *map(len, sentences)])
    return Terms(np.concatenate(sentences), edges, int(GOLDEN["terms"].max()) + 1)


def units_of(n, size=1):
    return Units("w " * n, np.arange(0, 2 * n + 1, 2), np.full(n, size))


def found_in(words, size=1, **params):
    return C99Chunker(**{"min_segment_length": 0, **params}).segment_terms(units_of(len(words), size), words, LIMITS)


def diagonals(dense):
    """Return the upper half of a matrix as a band."""
    n = len(dense)
    band = np.full((n, n), np.nan, dtype=dense.dtype)
    for d in range(n):
        band[d, : n - d] = np.diagonal(dense, d)
    return band


def square(band):
    n = band.shape[1]
    return np.array([[band[abs(i - j), min(i, j)] for j in range(n)] for i in range(n)])


def within(band):
    """Return the values of a band that mean something."""
    n = band.shape[1]
    return np.concatenate([row[: n - d] for d, row in enumerate(band)])


@pytest.mark.slow
@pytest.mark.parametrize(("expected", "number"), [(FOUND, None), (OF_TEN, 10)], ids=["unknown", "known"])
def test_the_boundaries_of_the_original_on_every_document(expected, number):
    for i, cuts in enumerate(expected):
        assert found_in(words_of(i), n_segments=number).cuts.tolist() == cuts.tolist(), i


def test_the_matrices_of_the_original_to_the_last_bit():
    n = len(DOCUMENTS[INSIDE])
    similarity = bands.cosine_band(words_of(INSIDE), n)
    rank = bands.local_rank(similarity, 11, n)
    upper = np.triu_indices(n)
    for name, band in {"sim": similarity, "rank": rank, "sum": bands.block_sums(rank)}.items():
        assert square(band)[upper].tolist() == GOLDEN[name].tolist(), name


def test_a_window_that_holds_the_text_changes_nothing():
    for document in range(0, 200, 20):
        words = words_of(document)
        whole, windowed = (found_in(words, window=window) for window in (None, len(words)))
        assert whole.gaps.tolist() == windowed.gaps.tolist()
        assert whole.cuts.tolist() == windowed.cuts.tolist()


# The steps, by plain loops.


@st.composite
def matrices(draw, most=14):
    """Symmetric matrices of few values, so that many are equal."""
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    half = rng.integers(0, draw(st.integers(1, 9)) + 1, size=(n, n)).astype(np.float64)
    return np.triu(half) + np.triu(half, 1).T


def around(dense, i, j, width):
    n, half = len(dense), width // 2
    rows, columns = (range(max(at - half, 0), min(at + half, n - 1) + 1) for at in (i, j))
    return [dense[a, b] for a in rows for b in columns]


def slow_rank(dense, width):
    rank = np.zeros_like(dense)
    for i, j in np.ndindex(*dense.shape):
        others = around(dense, i, j, width)
        rank[i, j] = sum(dense[i, j] > other for other in others) / (len(others) - 1)
    return rank


class SlowDivision:
    """Sums and densities in fractions, of pairs less than ``reach`` apart."""

    def __init__(self, dense, sizes, minimum, reach):
        self.dense, self.sizes, self.minimum, self.reach = dense, sizes, minimum, reach

    def density(self, cuts):
        inside = [
            (i, j) for a, b in pairwise(cuts) for i in range(a, b) for j in range(a, b) if abs(i - j) < self.reach
        ]
        return Fraction(sum(int(self.dense[pair]) for pair in inside), len(inside))

    def best_cuts(self, start, end):
        """Return the best cut of a segment, if it may be cut."""
        sizes, least = self.sizes, self.minimum
        possible = [i for i in range(start + 1, end) if min(sum(sizes[start:i]), sum(sizes[i:end])) >= least]
        return [max(possible, key=lambda cut: (self.density([start, cut, end]), cut))] if possible else []

    def run(self):
        """Return the cuts in the order they are made, and the density before the first and after each."""
        cuts, order = [0, len(self.dense)], []
        densities = [self.density(cuts)]
        while candidates := [cut for ends in pairwise(cuts) for cut in self.best_cuts(*ends)]:
            density, cut = max((self.density(sorted([*cuts, cut])), cut) for cut in candidates)
            cuts = sorted([*cuts, cut])
            order.append(cut)
            densities.append(density)
        return order, densities


@given(matrices(), st.sampled_from([3, 5, 11, 17]), st.data())
def test_local_rank(dense, width, data):
    n = len(dense)
    reach = data.draw(st.integers(1, n))
    band = diagonals(dense)[: min(n, reach + width - 1)]
    rank = bands.local_rank(band, width, reach)
    assert within(rank).tolist() == within(diagonals(slow_rank(dense, width))[:reach]).tolist()


@given(matrices(), st.sampled_from([1, 3, 5]), st.data())
def test_smoothed(dense, width, data):
    n = len(dense)
    reach = data.draw(st.integers(1, n))
    slow = np.array([[np.mean(around(dense, i, j, width)) for j in range(n)] for i in range(n)])
    mean = bands.local_mean(diagonals(dense)[: min(n, reach + width - 1)], width, reach)
    assert within(mean) == pytest.approx(within(diagonals(slow)[:reach]))


@given(matrices(10), st.data())
def test_division(dense, data):
    n = len(dense)
    reach, minimum = data.draw(st.integers(1, n)), data.draw(st.integers(0, 8))
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    order, density = cutting.divisive_cuts(bands.block_sums(diagonals(dense)[:reach]), np.array(sizes), minimum)
    expected, densities = SlowDivision(dense, sizes, minimum, reach).run()
    assert order.tolist() == expected
    assert density == pytest.approx([float(value) for value in densities], rel=1e-12)


def test_ranks_are_the_same_in_blocks(monkeypatch):
    dense = np.random.default_rng(5).integers(0, 50, size=(30, 30))
    band = diagonals((dense + dense.T).astype(np.float32))
    whole = bands.local_rank(band, 5, 30)
    monkeypatch.setattr(bands, "_BLOCK_VALUES", 30 * 7)
    assert within(bands.local_rank(band, 5, 30)).tolist() == within(whole).tolist()


def test_cosines_are_the_same_in_blocks(monkeypatch):
    words = words_of(0)
    whole = bands.cosine_band(words, 9)
    monkeypatch.setattr(bands, "_BLOCK_ROWS", 7)
    assert bands.cosine_band(words, 9).tolist() == whole.tolist()
    assert whole.tolist() == bands.cosine_band(words, len(words))[:9].tolist()


@pytest.mark.parametrize("smoothing", [1, 3, 5])
def test_values_within_the_window_are_those_of_the_whole_matrix(smoothing):
    words, chunker = words_of(3), C99Chunker(smoothing_width=smoothing)
    whole, windowed = (within(chunker._ranks(words, reach)[:8]) for reach in (len(words), 8))
    assert windowed.tolist() == whole.tolist()
