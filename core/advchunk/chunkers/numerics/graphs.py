"""Graphs of units, built in blocks so that memory does not grow with the number of pairs."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from advchunk.errors import import_extra, require
from advchunk.models.signals import DIGITS
from advchunk.records import Floats, Ints

CommunityMethod: TypeAlias = Literal["louvain", "leiden"]

_BLOCK_SIZE = 2_000_000  # edges collected before they are reduced, and pairs compared at once
_MAX_EDGES = 1_000_000  # in a graph to partition: about 500 MB in NetworkX


class Edges(NamedTuple):
    """Weighted edges ``left[i]``-``right[i]`` between units, left before right."""

    left: Ints
    right: Ints
    weight: Floats

    def lightest(self, n: int) -> "Edges":
        """Return the first ``n`` edges, which must be sorted by weight; none if n is negative."""
        first = slice(max(n, 0))
        return Edges(self.left[first], self.right[first], self.weight[first])


NO_EDGES = Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def components(n: int, blocks: Iterable[Edges]) -> Ints:
    """Return the connected components of n nodes: (n,) labels, each the smallest node of its component."""
    from scipy.sparse.csgraph import connected_components

    label = np.arange(n, dtype=np.int64)
    for edges in _merge_blocks(edges for edges in blocks if len(edges.left)):
        left, right = np.r_[edges.left, np.arange(n)], np.r_[edges.right, label]
        _, component = connected_components(_matrix(n, left, right, np.ones(len(left), np.int8)), directed=False)
        _, first = np.unique(component, return_index=True)
        label = first[component].astype(np.int64)
    return label


def spanning_tree(n: int, blocks: Iterable[Edges]) -> Edges:
    """Return the minimum spanning forest, lightest edge first. Ties keep the edge that comes first in the text."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    tree = NO_EDGES
    for edges in _merge_blocks(blocks):
        left, right, weight = _concatenate([tree, edges])
        order = np.lexsort((right, left, weight))
        # Ranks instead of weights: scipy treats weight 0 as no edge, and ties are broken deterministically.
        rank = np.empty(len(order))
        rank[order] = np.arange(1, len(order) + 1)
        kept = minimum_spanning_tree(_matrix(n, left, right, rank)).data.astype(np.int64)
        chosen = order[np.sort(kept) - 1]
        tree = Edges(left[chosen], right[chosen], weight[chosen])
    return tree


def grow_components(blocks: Iterable[Edges], sizes: Ints, may_join: Callable[[int, int, int], bool]) -> Ints:
    """Return (n,) labels, the smallest node of each component, joined by Kruskal (1956) where ``may_join`` permits.

    Ties keep the first edge. ``may_join`` gets the first node of two components, its component's size, and the other's.
    """
    parent, total = list(range(len(sizes))), sizes.tolist()

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    edges = _concatenate([NO_EDGES, *blocks])
    order = np.lexsort((edges.right, edges.left, edges.weight))
    for left, right in zip(edges.left[order].tolist(), edges.right[order].tolist(), strict=True):
        first, other = sorted((root(left), root(right)))
        if first != other and may_join(first, total[first], total[other]):
            parent[other] = first
            total[first] += total[other]
    return np.array([root(node) for node in range(len(sizes))], dtype=np.int64)


def _matrix(n: int, left: Ints, right: Ints, values: Any) -> Any:
    """Return (n, n) values as scipy's graph functions take them: its versions before 1.12 misread 64-bit indices."""
    from scipy.sparse import csr_array

    return csr_array((values, (left.astype(np.int32), right.astype(np.int32))), shape=(n, n))


def similarity_edges(rows: Floats, threshold: float) -> Edges:
    """Return pairs of unit rows weighted by cosine (6 digits) > ``threshold``; over 1e6 raise `ConfigurationError`."""
    blocks, count = list[Edges](), 0
    for top, cosine in _cosines(rows):
        i, j = np.nonzero(np.triu(cosine > threshold, top + 1))
        count += len(i)
        rule = f"threshold must leave at most {_MAX_EDGES:,} pairs (raise it, or set neighbors)"
        require(count <= _MAX_EDGES, rule, threshold)
        blocks.append(Edges(top + i, j, cosine[i, j]))
    return _concatenate(blocks)


def neighbor_edges(rows: Floats, k: int, threshold: float = 0.0) -> Edges:
    """Return pairs with one in the other's top ``k``, cosine > ``threshold``; ties: nearer in text, then earlier."""
    n, pairs, weights = len(rows), list[Ints](), list[Floats]()
    rule = f"neighbors must leave at most {_MAX_EDGES:,} pairs of {n:,} sentences"
    require(n * min(k, n - 1) <= 2 * _MAX_EDGES, rule, k)
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
    """Yield the index of the first row of each block, and the cosines of the block with all rows."""
    height = max(_BLOCK_SIZE // len(rows), 1)
    for top in range(0, len(rows), height):
        yield top, (rows[top : top + height] @ rows.T).astype(np.float64).round(DIGITS)


def detect_communities(
    n: int, edges: Edges, method: CommunityMethod = "louvain", resolution: float = 1.0, seed: int = 0
) -> Ints:
    """Return (n,) labels of communities of greedily maximized modularity, each the smallest node of its community.

    At a higher ``resolution`` (> 0) communities are smaller; ``seed`` is of the order in which nodes are visited.
    Weights <= 0 raise `ConfigurationError`, and a missing library `MissingExtra`. Sources: `GraphPartitionParams`.
    """
    require(bool(np.all(edges.weight > 0)), "weights must be > 0", float(edges.weight.min(initial=np.inf)))
    label = np.arange(n, dtype=np.int64)
    if len(edges.left):
        groups = _louvain(n, edges, resolution, seed) if method == "louvain" else _leiden(edges, resolution, seed)
        for group in groups:
            label[group] = min(group)
    return label


def import_library(method: CommunityMethod) -> Any:
    """Import the library that implements a method; raise `MissingExtra` if it is not installed."""
    return import_extra("networkx", "graph") if method == "louvain" else import_extra("graspologic_native", "leiden")


def _louvain(n: int, edges: Edges, resolution: float, seed: int) -> Iterable[list[int]]:
    networkx = import_library("louvain")
    graph = networkx.empty_graph(n)
    # With equal weights, gains differ by rounding only, and NetworkX may move a node back and forth forever
    # (networkx#8739, fixed after 3.6).
    unequal = edges.weight * (1 + 1e-7 * np.random.default_rng(seed).random(len(edges.weight)))
    graph.add_weighted_edges_from(zip(edges.left.tolist(), edges.right.tolist(), unequal.tolist(), strict=True))
    return map(list, networkx.community.louvain_communities(graph, resolution=resolution, seed=seed))


def _leiden(edges: Edges, resolution: float, seed: int) -> Iterable[list[int]]:
    left, right, weight = (part.tolist() for part in edges)
    named = list(zip(map(str, left), map(str, right), weight, strict=True))
    _, partition = import_library("leiden").leiden(named, resolution=resolution, seed=seed)
    groups: dict[int, list[int]] = {}
    for node, group in partition.items():
        groups.setdefault(group, []).append(int(node))
    return groups.values()


def _merge_blocks(blocks: Iterable[Edges]) -> Iterable[Edges]:
    """Yield blocks merged to about `_BLOCK_SIZE` edges."""
    pending, count = list[Edges](), 0
    for block in blocks:
        pending.append(block)
        count += len(block.left)
        if count >= _BLOCK_SIZE:
            yield _concatenate(pending)
            pending, count = [], 0
    if pending:
        yield _concatenate(pending)


def _concatenate(blocks: list[Edges]) -> Edges:
    return Edges(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
