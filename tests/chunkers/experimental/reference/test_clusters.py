"""Clusters against slow and readable twins, SciPy and scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from advchunk.chunkers.experimental import clusters
from advchunk.chunkers.numerics import cutting, runs
from advchunk.models.signals import unit_rows

LINKAGES = ["ward", "average", "complete"]
rows = hnp.arrays(
    float, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.sampled_from([-1.0, 0.0, 1.0, 3.0])
).map(unit_rows)
labels = st.lists(st.integers(-1, 2), min_size=1, max_size=12)


def scatter(x):
    return ((x - x.mean(axis=0)) ** 2).sum()


def apart(x, y):
    """The distance of two clusters by ward, from the definition."""
    more = scatter(np.r_[x, y]) - scatter(x) - scatter(y)
    return round(float(np.sqrt(2 * max(more, 0.0))), 7)


def slow_chain(x, count, threshold):
    cuts, gaps = list(range(len(x) + 1)), [np.nan] * (len(x) + 1)
    while len(cuts) > 2:
        distances = [(apart(x[a:b], x[b:c]), b) for a, b, c in zip(cuts, cuts[1:], cuts[2:], strict=False)]
        for distance, place in distances:
            gaps[place] = distance
        least, place = min(distances)
        if least > max(threshold if len(cuts) - 1 > count else 0.0, 1e-6):
            break
        cuts.remove(place)
    return cuts, gaps[1:-1]


@given(rows, st.integers(1, 4), st.sampled_from([0.0, 0.5, 1.1, np.inf]))
def test_chain_is_the_brute_force_over_neighbors(x, count, threshold):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "_DIGITS", 7)
        cuts, gaps = clusters.agglomerate_chain(x, clusters=count, threshold=threshold)
    expected_cuts, expected_gaps = slow_chain(x, count, threshold)
    assert cuts.tolist() == expected_cuts
    assert gaps == pytest.approx(expected_gaps, abs=2e-7)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("count", [1, 3, 20])
def test_unrestricted_clusters_are_scikit_learns(linkage, count):
    x = unit_rows(np.random.default_rng(7).normal(size=(60, 5)))
    metric = "euclidean" if linkage == "ward" else "cosine"
    expected = AgglomerativeClustering(count, linkage=linkage, metric=metric).fit_predict(x)
    assert adjusted_rand_score(expected, clusters.agglomerate(x, linkage, clusters=count)) == 1.0


@pytest.mark.parametrize("linkage", LINKAGES)
def test_long_texts_are_merged_along_the_chain_first(linkage):
    topic = np.repeat([0, 1, 0, 2, 1], [20, 14, 9, 30, 11])
    x = unit_rows(np.eye(3)[topic] + np.random.default_rng(0).normal(size=(84, 3)) * 0.1)
    assert adjusted_rand_score(topic, clusters.agglomerate(x, linkage, clusters=3, max_rows=20)) == 1.0
    assert len(set(clusters.agglomerate(x, linkage, threshold=0.0, max_rows=20))) == 20


# From clusters to passages.


def direction(x):
    return x / max(np.linalg.norm(x), 1e-12)


def slow_around(given_labels, x):
    assigned, cuts = list(given_labels), cutting.run_cuts(np.array(given_labels)).tolist()
    stretches = [range(a, b) for a, b in pairwise(cuts)]
    for i, stretch in enumerate(stretches):
        if given_labels[stretch[0]] >= 0:
            continue
        left, right = stretches[i - 1 : i], stretches[i + 1 : i + 2]
        best, best_worth = None, -np.inf
        for place in range(len(stretch), -1, -1):
            if (place and not left) or (place < len(stretch) and not right):
                continue
            worth = sum(x[k] @ direction(sum(x[j] for j in left[0])) for k in stretch[:place])
            worth += sum(x[k] @ direction(sum(x[j] for j in right[0])) for k in stretch[place:])
            if worth > best_worth + 1e-7:
                best, best_worth = place, worth
        for k, unit in enumerate(stretch):
            assigned[unit] = 0 if best is None else given_labels[left[0][0] if k < best else right[0][0]]
    return assigned


def slow_long_enough(given_labels, x, least):
    stretches = [[given_labels[a], list(range(a, b))] for a, b in pairwise(cutting.run_cuts(np.array(given_labels)))]

    def likeness(i, j):
        first, other = (direction(x[stretches[k][1]].sum(axis=0)) for k in (i, j))
        return round(float(first @ other), 6)

    while len(stretches) > 1:
        size, i = min((len(units), i) for i, (_, units) in enumerate(stretches))
        if size >= least:
            break
        sides = [j for j in (i - 1, i + 1) if 0 <= j < len(stretches)]
        into = max(sides, key=lambda j: (likeness(i, j), -j))
        if len(sides) == 2 and stretches[i - 1][0] == stretches[i + 1][0]:
            whole, span = stretches[i - 1][0], (i - 1, i + 2)
        else:
            whole, span = stretches[into][0], (min(i, into), max(i, into) + 1)
        stretches[slice(*span)] = [[whole, [unit for _, units in stretches[slice(*span)] for unit in units]]]
    return [label for label, units in stretches for _ in units]


def tie_free(seed, n):
    return unit_rows(np.random.default_rng(seed).normal(size=(n, 4)))


@given(labels, st.integers(0, 9))
def test_noise_joins_the_run_around_it(given_labels, seed):
    x = tie_free(seed, len(given_labels))
    result = runs.assign_noise(np.array(given_labels), x).tolist()
    assert result == slow_around(given_labels, x)
    assert all(a == b for a, b in zip(result, given_labels, strict=True) if b >= 0)


@given(labels.map(lambda some: [abs(label) for label in some]), st.integers(0, 9), st.integers(1, 6))
def test_runs_are_long_enough(given_labels, seed, least):
    x = tie_free(seed, len(given_labels))
    actual = runs.merge_short_runs(np.array(given_labels), x, least)
    assert actual.tolist() == slow_long_enough(given_labels, x, least)
    assert np.diff(cutting.run_cuts(actual)).min() >= min(least, len(actual))


@pytest.mark.parametrize(
    ("given_labels", "least", "expected"),
    [
        ([-1, -1, -1], 1, [0, 0, 0]),  # all is noise: one segment
        ([4, -1, -1, 4], 1, [4, 4, 4, 4]),
        ([-1, 4, 5, -1], 1, [4, 4, 5, 5]),
        ([4, -1, -1, 5], 1, [4, 4, 4, 5]),  # alike to both: the left
        ([4, 4, 5, 6, 6], 2, [4, 4, 4, 6, 6]),
        ([4, 4, 5, 4, 4], 2, [4, 4, 4, 4, 4]),
        ([4, 5], 9, [5, 5]),
    ],
)
def test_of_equals_it_is_the_left(given_labels, least, expected):
    x = np.ones((len(given_labels), 1))
    assert runs.project_labels(np.array(given_labels), x, least, contiguous=True).tolist() == expected


def test_distant_units_of_a_small_cluster_join_the_runs_around_them():
    given_labels, x = np.array([0, 0, 1, 0, 2, 2, 1, 2]), np.ones((8, 1))
    actual = runs.project_labels(given_labels, x, 3, contiguous=False)
    assert actual.tolist() == [0, 0, 0, 0, 2, 2, 2, 2]
    assert runs.project_labels(given_labels, x, 2, contiguous=False).tolist() == given_labels.tolist()
