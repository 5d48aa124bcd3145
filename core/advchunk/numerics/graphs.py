"""Graphs of units, in blocks: memory does not grow with the number of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from advchunk.errors import import_extra, require
from advchunk.numerics.signals import DIGITS
from advchunk.records import Floats, Ints

Communities: TypeAlias = Literal["louvain", "leiden"]

_AT_ONCE = 2_000_000  # edges kept before they are reduced to those that matter, and pairs compared at once
_MOST = 1_000_000  # edges of a graph to partition: some 500 MB in NetworkX


class Edges(NamedTuple):
    """Weighted edges ``left[i]``-``right[i]`` between units, left before right."""

    left: Ints
    right: Ints
    weight: Floats

    def lightest(self, n: int) -> Edges:
        """Return the first ``n`` of edges that are in order of weight; none if it is negative."""
        n = max(n, 0)
        return Edges(self.left[:n], self.right[:n], self.weight[:n])


def components(n: int, blocks: Iterable[Edges]) -> Ints:
    """Label the connected components of n nodes joined by the edges of all blocks.

    Returns
    -------
    (n,) labels: the smallest node of each component.

    >>> edges = Edges(np.array([0, 1]), np.array([3, 4]), np.zeros(2))
    >>> components(5, [edges]).tolist()
    [0, 1, 2, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    label = np.arange(n, dtype=np.int64)
    for edges in _gathered(edges for edges in blocks if len(edges.left)):
        left, right = np.r_[edges.left, np.arange(n)], np.r_[edges.right, label]
        graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(n, n))
        _, found = connected_components(graph, directed=False)
        _, first = np.unique(found, return_index=True)
        label = first[found].astype(np.int64)
    return label


def spanning_tree(n: int, blocks: Iterable[Edges]) -> Edges:
    """Return the minimum spanning forest of the edges of all blocks, lightest edge first.

    Of equal weights the edge that comes first in the text is kept.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    tree = Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    for edges in _gathered(blocks):
        left, right = np.r_[tree.left, edges.left], np.r_[tree.right, edges.right]
        weight = np.r_[tree.weight, edges.weight]
        order = np.lexsort((right, left, weight))
        # Ranks, because scipy takes a weight of zero for no edge, and to break ties by rule.
        rank = np.empty(len(order))
        rank[order] = np.arange(1, len(order) + 1)
        kept = minimum_spanning_tree(csr_array((rank, (left, right)), shape=(n, n))).data.astype(np.int64)
        chosen = order[np.sort(kept) - 1]
        tree = Edges(left[chosen], right[chosen], weight[chosen])
    return tree


def similarity_edges(rows: Floats, threshold: float) -> Edges:
    """Return the pairs of unit rows whose cosine, to six digits, is above ``threshold``; it is their weight.

    Raises
    ------
    ConfigurationError : more than a million pairs.

    >>> edges = similarity_edges(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), 0.7)
    >>> edges.left.tolist(), edges.right.tolist(), edges.weight.tolist()
    ([0], [1], [0.8])
    """
    found, held = list[Edges](), 0
    for top, cosine in _cosines(rows):
        i, j = np.nonzero(np.triu(cosine > threshold, top + 1))
        held += len(i)
        rule = f"threshold must leave at most {_MOST:,} pairs (raise it, or tie nearest neighbors only)"
        require(held <= _MOST, rule, threshold)
        found.append(Edges(top + i, j, cosine[i, j]))
    return _joined(found)


def neighbor_edges(rows: Floats, k: int, threshold: float = 0.0) -> Edges:
    """Return the pairs of which one is among the ``k`` most alike of the other, if their cosine is above ``threshold``.

    Of those as much alike, the nearest in place, and of these the one before.
    """
    n, pairs, weights = len(rows), list[Ints](), list[Floats]()
    rule = f"neighbors must leave at most {_MOST:,} pairs of {n:,} sentences"
    require(n * min(k, n - 1) <= 2 * _MOST, rule, k)
    for top, cosine in _cosines(rows):
        own = np.arange(len(cosine))
        cosine[own, top + own] = -np.inf
        least = np.partition(cosine, max(n - k, 0), axis=1)[:, max(n - k, 0), None]
        i, j = np.nonzero((cosine >= least) & (cosine > threshold))
        order = np.lexsort((j, abs(j - top - i), -cosine[i, j], i))
        i, j = i[order], j[order]
        first = np.arange(len(i)) - np.searchsorted(i, i) < k
        i, j = i[first], j[first]
        pairs.append(np.minimum(top + i, j) * n + np.maximum(top + i, j))
        weights.append(cosine[i, j])
    pair, once = np.unique(np.concatenate(pairs), return_index=True)
    return Edges(pair // n, pair % n, np.concatenate(weights)[once])


def _cosines(rows: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield the cosines of blocks of unit rows with all rows, each with its first row."""
    height = max(_AT_ONCE // len(rows), 1)
    for top in range(0, len(rows), height):
        yield top, (rows[top : top + height] @ rows.T).astype(np.float64).round(DIGITS)


def communities(n: int, edges: Edges, method: Communities = "louvain", resolution: float = 1.0, seed: int = 0) -> Ints:
    """Label the communities of n nodes: a partition of high modularity, found greedily.

    Louvain moves nodes to the neighboring community that gains most, then takes communities for nodes, until
    nothing gains (Blondel, Guillaume, Lambiotte & Lefebvre 2008, "Fast unfolding of communities in large
    networks"). Leiden also splits communities that do not hold together (Traag, Waltman & van Eck 2019, "From
    Louvain to Leiden").

    Parameters
    ----------
    edges : without repeats; weights > 0.
    resolution : > 0; more than 1 makes smaller communities.
    seed : of the order in which nodes are visited, >= 0.

    Returns
    -------
    (n,) labels: the smallest node of each community. A node without an edge is one by itself.

    Raises
    ------
    ConfigurationError : weights that are not positive.
    MissingExtra : without ``advchunk[graph]``, or ``advchunk[leiden]``.

    >>> communities(5, Edges(np.array([0, 0, 1, 3]), np.array([1, 2, 2, 4]), np.ones(4))).tolist()
    [0, 0, 0, 3, 3]
    """
    require(bool(np.all(edges.weight > 0)), "weights must be > 0", float(edges.weight.min(initial=np.inf)))
    label = np.arange(n, dtype=np.int64)
    if not len(edges.left):
        return label
    groups = _louvain(n, edges, resolution, seed) if method == "louvain" else _leiden(edges, resolution, seed)
    for group in groups:
        label[group] = min(group)
    return label


def library(method: Communities) -> Any:
    """Return the module that finds communities; raise `MissingExtra` if it is not installed."""
    return import_extra("networkx", "graph") if method == "louvain" else import_extra("graspologic_native", "leiden")


def _louvain(n: int, edges: Edges, resolution: float, seed: int) -> Iterable[list[int]]:
    networkx = library("louvain")
    graph = networkx.empty_graph(n)
    # Equal weights give gains that differ by rounding, over which NetworkX may move a node to and fro for ever
    # (networkx#8739, mended after 3.6).
    unequal = edges.weight * (1 + 1e-7 * np.random.default_rng(seed).random(len(edges.weight)))
    graph.add_weighted_edges_from(zip(edges.left.tolist(), edges.right.tolist(), unequal.tolist(), strict=True))
    return map(list, networkx.community.louvain_communities(graph, resolution=resolution, seed=seed))


def _leiden(edges: Edges, resolution: float, seed: int) -> Iterable[list[int]]:
    left, right, weight = (part.tolist() for part in edges)
    named = list(zip(map(str, left), map(str, right), weight, strict=True))
    _, found = library("leiden").leiden(named, resolution=resolution, seed=seed)
    groups: dict[int, list[int]] = {}
    for node, group in found.items():
        groups.setdefault(group, []).append(int(node))
    return groups.values()


def modularity(edges: Edges, labels: Ints, resolution: float = 1.0) -> float:
    """Return how much more of the edges' weight is within communities than chance would put there.

    With m the weight of all edges, W_c that of those within c, and K_c the summed degrees of its nodes:

        Q = sum over c of W_c / m - resolution * (K_c / 2m)^2

    Returns
    -------
    At most 1; 0 without edges, where it is undefined.

    References
    ----------
    Newman 2004, "Analysis of weighted networks"; with a resolution, Reichardt & Bornholdt 2006.
    """
    total = float(edges.weight.sum())
    if not total:
        return 0.0
    left, right = labels[edges.left], labels[edges.right]
    within = float(edges.weight[left == right].sum())
    degree = np.bincount(left, edges.weight, len(labels)) + np.bincount(right, edges.weight, len(labels))
    return within / total - resolution * float(((degree / (2 * total)) ** 2).sum())


def _gathered(blocks: Iterable[Edges]) -> Iterable[Edges]:
    """Yield blocks joined to about `_AT_ONCE` edges."""
    some, held = list[Edges](), 0
    for block in blocks:
        some.append(block)
        held += len(block.left)
        if held >= _AT_ONCE:
            yield _joined(some)
            some, held = [], 0
    if some:
        yield _joined(some)


def _joined(blocks: list[Edges]) -> Edges:
    return Edges(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
