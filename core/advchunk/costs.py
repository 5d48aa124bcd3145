"""Additive costs of a segment, for `boundaries.cheapest`.

A cost is called as ``cost(first)`` with the first unit, never falling, that a segment ending after each
unit may start at: (n,). For end = 1..n it yields the costs of the segments of units that end at ``end`` and
start at ``first[end - 1]``, ..., ``end - 1``. So a cost may build each row from the row before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from advchunk.records import Floats, Ints
from advchunk.terms import Terms

Cost: TypeAlias = Callable[[Ints], Iterator[Floats]]


def scatter(rows: Floats) -> Cost:
    """Within-segment scatter: the summed squared distance of rows to their segment's mean.

    With unit rows this is kernel change-point detection with the cosine kernel (Truong,
    Oudre & Vayatis 2020, "Selective review of offline change point detection methods",
    section 4.2.3). Prefix sums make it O(d) a segment and O(n d) in memory: no Gram matrix.
    """
    total = np.zeros((len(rows) + 1, rows.shape[1]))
    np.cumsum(rows, axis=0, dtype=np.float64, out=total[1:])
    squares = np.r_[0.0, np.cumsum(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))]
    counts = np.arange(len(total), dtype=np.float64)

    def cost(first: Ints) -> Iterator[Floats]:
        for end, start in enumerate(first.tolist(), start=1):
            inside = total[end] - total[start:end]
            spread = np.einsum("ij,ij->i", inside, inside) / counts[end - start : 0 : -1]
            yield squares[end] - squares[start:end] - spread

    return cost


def dirichlet(terms: Terms, strength: float) -> Cost:
    """Minus the log-likelihood of a segment's terms, their distribution integrated out.

    The Dirichlet compound multinomial with a symmetric prior: of counts n_w that sum to N, over W terms,

        ln G(W a) - ln G(N + W a) + sum over w of (ln G(n_w + a) - ln G(a))

    Parameters
    ----------
    strength : a, the prior's pseudo-count of each term, > 0.

    References
    ----------
    Eisenstein & Barzilay 2008, "Bayesian Unsupervised Topic Segmentation", EMNLP, section 3.1.
    """
    from scipy.special import gammaln

    counts, mass = np.arange(len(terms.ids) + 1), terms.size * strength
    value = gammaln(counts + strength) - gammaln(strength)
    return _counted(terms, value, gammaln(counts + mass) - gammaln(mass))


def utiyama_isahara(terms: Terms) -> Cost:
    """Minus the log-probability of a segment and its terms, with Laplace's estimate; it has no parameter.

    Of counts n_w that sum to N, in a text of M that are of V kinds:

        ln M + sum over w of n_w ln((N + V) / (n_w + 1))

    References
    ----------
    Utiyama & Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation", ACL, section 3.
    """
    counts, types, whole = np.arange(len(terms.ids) + 1.0), len(np.unique(terms.ids)), max(len(terms.ids), 1)
    return _counted(terms, counts * np.log1p(counts), np.log(whole) + counts * np.log(np.maximum(counts + types, 1)))


def _counted(terms: Terms, value: Floats, price: Floats) -> Cost:
    """Return ``price[N] - sum over w of value[n_w]`` of a segment with N terms, n_w of them w; ``value[0]`` is 0.

    One more w, where a segment has k, adds value[k + 1] - value[k]. As the segment's start moves back, k
    grows by one at each earlier occurrence of w. So a new end costs as much as its terms have earlier
    occurrences, and a sum over starts: no loop over the vocabulary, and none over pairs of units.
    """
    step = np.diff(value)
    growth = np.diff(step)
    order = np.argsort(terms.ids, kind="stable")
    place = np.repeat(np.arange(len(terms)), np.diff(terms.edges))[order]  # the unit of each occurrence, term by term
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.arange(len(order))
    rank = found - np.searchsorted(terms.ids[order], terms.ids)  # how many of it came before

    def cost(first: Ints) -> Iterator[Floats]:
        worth = np.zeros(len(terms))
        for end, start in enumerate(first.tolist(), start=1):
            new = slice(terms.edges[end - 1], terms.edges[end])
            earlier = rank[new]
            back = np.arange(earlier.sum()) - np.repeat(np.cumsum(earlier) - earlier, earlier)
            there = place[np.repeat(found[new] - 1, earlier) - back]
            more = np.bincount(there, growth[back], minlength=end)
            worth[:end] += np.cumsum(more[::-1])[::-1] + step[:1].sum() * len(earlier)
            yield price[terms.edges[end] - terms.edges[start:end]] - worth[start:end]

    return cost


def with_lengths(cost: Cost, price: Floats) -> Cost:
    """Add ``price[m]``, (n + 1,), to the cost of every segment of m units."""

    def added(first: Ints) -> Iterator[Floats]:
        for end, (start, value) in enumerate(zip(first.tolist(), cost(first), strict=True), start=1):
            yield value + price[end - start : 0 : -1]

    return added
