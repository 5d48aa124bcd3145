"""Graphs of similarity against dense and slow twins, and NetworkX."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from advchunk import ConfigurationError
from advchunk.chunkers.numerics import graphs
from advchunk.chunkers.numerics.graphs import Edges
from advchunk.models.signals import unit_rows

METHODS = ["louvain", "leiden"]
rows = hnp.arrays(
    float, st.tuples(st.integers(2, 9), st.integers(1, 3)), elements=st.sampled_from([-1.0, 0.0, 1.0, 3.0])
).map(unit_rows)


def as_list(edges):
    return sorted(zip(*(part.tolist() for part in edges), strict=True))


def cosines(x):
    return {(i, j): round(float(x[i] @ x[j]), 6) for i, j in combinations(range(len(x)), 2)}


def as_graph(n, edges):
    graph = nx.empty_graph(n)
    graph.add_weighted_edges_from(as_list(edges))
    return graph


def groups(labels):
    return [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]


def tied(seed, n=40):
    """Two halves that are tied within more than to each other, and three nodes without an edge."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if rng.random() < (0.6 if (i < 20) == (j < 20) else 0.04)]
    left, right = np.array(pairs).T
    return n + 3, Edges(left, right, rng.uniform(0.1, 1.0, len(pairs)))


@given(rows, st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.sampled_from([1, 20, 10**6]))
def test_alike_is_the_dense_matrix_above_the_threshold(x, threshold, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "_BLOCK_SIZE", at_once)
        actual = as_list(graphs.similarity_edges(x, threshold))
    assert actual == [(i, j, cosine) for (i, j), cosine in cosines(x).items() if cosine > threshold]


@given(rows, st.integers(1, 10), st.sampled_from([0.0, 0.5]), st.sampled_from([1, 20, 10**6]))
def test_neighbors_are_the_most_alike_of_either(x, k, threshold, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "_BLOCK_SIZE", at_once)
        actual = as_list(graphs.neighbor_edges(x, k, threshold))
    every, expected = cosines(x), set()
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]
        others.sort(key=lambda j: (-every[min(i, j), max(i, j)], abs(j - i), j))
        expected |= {(min(i, j), max(i, j)) for j in others[:k]}
    assert actual == sorted((*pair, every[pair]) for pair in expected if every[pair] > threshold)


def test_louvain_is_networkx():
    n, edges = tied(1)
    expected = nx.community.louvain_communities(as_graph(n, edges), resolution=1.3, seed=5)
    ours = graphs.detect_communities(n, edges, "louvain", 1.3, 5)
    assert sorted(map(sorted, groups(ours))) == sorted(map(sorted, expected))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_communities_are_the_planted_halves_named_by_their_smallest_node(method, seed):
    n, edges = tied(seed)
    labels = graphs.detect_communities(n, edges, method, seed=seed)
    assert labels.tolist() == [0] * 20 + [20] * 20 + [40, 41, 42]
    fine = graphs.detect_communities(n, edges, method, resolution=4.0, seed=seed)
    assert len(groups(fine)) > len(groups(labels))


@pytest.mark.parametrize("method", METHODS)
def test_without_edges_each_node_is_a_community(method):
    none = Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    labels = graphs.detect_communities(3, none, method)
    assert labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weight", [0.0, -0.5])
def test_no_weight_is_zero_or_less(method, weight):
    with pytest.raises(ConfigurationError, match="weights must be > 0"):
        graphs.detect_communities(2, Edges(np.array([0]), np.array([1]), np.array([weight])), method)
