"""Graphs of units, in blocks: memory does not grow with the number of pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from advchunk.records import Floats, Ints

_AT_ONCE = 2_000_000  # edges kept before they are reduced to those that matter


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
