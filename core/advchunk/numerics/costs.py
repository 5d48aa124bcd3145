"""Additive costs of a segment, for `boundaries.cheapest`.

A cost is called as ``cost(first)`` with the first unit, never falling, that a segment ending after each
unit may start at: (n,). For end = 1..n it yields the costs of the segments of units that end at ``end`` and
start at ``first[end - 1]``, ..., ``end - 1``. So a cost may build each row from the row before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from advchunk.numerics.signals import deviations, neighbor_similarity
from advchunk.records import Floats, Ints
from advchunk.text.terms import Terms

Cost: TypeAlias = Callable[[Ints], Iterator[Floats]]

_LEAST_SHARED = 0.01  # of spread / n, which is chance: with so little, n rows are one segment


def evidence(rows: Floats) -> Cost:
    """Minus the log evidence, in nats, for a segment whose rows share a mean of their own.

    One-way analysis of variance with random effects, all of it estimated from the rows: row = mean of the
    document + mean of the segment + noise. Segments' means vary by the covariance of neighbors, which nearly
    always share a segment; the noise is the rest of the spread. With the segment's mean integrated out, m rows x
    cost, but for a constant of each row,

        c/2 ((sum of |x|^2 - |sum of x|^2 / (m + noise/shared)) / noise + ln(1 + m shared/noise))

    Rows count for c independent coordinates: as many as make two rows as alike, by their mean squared product,
    as these are. Where few topics make rows alike, c is too small, which is evidence forgone. Prefix sums make a
    segment O(d): no Gram matrix.

    References
    ----------
    Searle, Casella & McCulloch 1992, "Variance Components", chapter 3.
    """
    n, width = rows.shape
    rows = deviations(rows.astype(np.float64))
    squares = np.einsum("ij,ij->i", rows, rows)
    spread = float(squares.mean()) or 1.0
    shared = max(float(neighbor_similarity(rows).sum()) / n, _LEAST_SHARED * spread / n)
    noise = spread - shared
    products = rows @ rows.T if n < width else rows.T @ rows  # of one Frobenius norm
    alike = (np.square(products).sum() - squares @ squares) / max(n * (n - 1), 1)
    half = spread**2 / max(alike, spread**2 / width) / 2
    total = np.vstack([np.zeros(width), np.cumsum(rows, axis=0)])
    powers = np.r_[0.0, np.cumsum(squares)]
    counts = np.arange(n + 1, dtype=np.float64)
    learnt = np.log1p(counts * shared / noise)

    def cost(first: Ints) -> Iterator[Floats]:
        for end, start in enumerate(first.tolist(), start=1):
            inside = total[end] - total[start:end]
            m = slice(end - start, 0, -1)
            about_mean = np.einsum("ij,ij->i", inside, inside) / (counts[m] + noise / shared)
            yield half * ((powers[end] - powers[start:end] - about_mean) / noise + learnt[m])

    return cost


def dirichlet(terms: Terms, pseudo: float | Floats) -> Cost:
    """Minus the log-likelihood of a segment's terms, their distribution integrated out.

    The Dirichlet compound multinomial: of counts n_w that sum to N, where the prior counts a_w sum to A,

        ln G(A) - ln G(N + A) + sum over w of (ln G(n_w + a_w) - ln G(a_w))

    Parameters
    ----------
    pseudo : a_w, the prior's pseudo-counts: one for all terms, or (size,), > 0.

    References
    ----------
    Eisenstein & Barzilay 2008, "Bayesian Unsupervised Topic Segmentation", EMNLP, section 3.1.
    """
    from scipy.special import gammaln

    prior = np.broadcast_to(np.asarray(pseudo, dtype=np.float64), max(terms.size, 1))
    counts, mass = np.arange(len(terms.ids) + 1), prior.sum()

    def growth(before: Ints, term: Ints) -> Floats:
        return np.asarray(np.log1p(1 / (prior[term] + before)))

    return _counted(terms, np.log(prior), growth, gammaln(counts + mass) - gammaln(mass))


def utiyama_isahara(terms: Terms) -> Cost:
    """Minus the log-probability of a segment and its terms, with Laplace's estimate; it has no parameter.

    Of counts n_w that sum to N, in a text of M that are of V kinds:

        ln M + sum over w of n_w ln((N + V) / (n_w + 1))

    References
    ----------
    Utiyama & Isahara 2001, "A Statistical Model for Domain-Independent Text Segmentation", ACL, section 3.
    """
    counts, types, whole = np.arange(len(terms.ids) + 2.0), len(np.unique(terms.ids)), max(len(terms.ids), 1)
    value = np.diff(counts * np.log1p(counts))
    price = np.log(whole) + counts[:-1] * np.log(np.maximum(counts[:-1] + types, 1))
    steps = np.diff(value)
    return _counted(terms, np.full(terms.size, value[0]), lambda before, _: steps[before], price)


def _counted(terms: Terms, once: Floats, growth: Callable[[Ints, Ints], Floats], price: Floats) -> Cost:
    """Return ``price[N] - sum over w of worth(w, n_w)`` of a segment with N terms, n_w of them w.

    The first w is worth ``once[w]``, and each adds ``growth(k, w)`` more than the one before, which was number k
    from 0. As the segment's start moves back, n_w grows by one at each earlier occurrence. So a new end costs as much
    as its terms have earlier occurrences, and a sum over starts: no loop over the vocabulary, and none over pairs of
    units.
    """
    order = np.argsort(terms.ids, kind="stable")
    place = np.repeat(np.arange(len(terms)), np.diff(terms.edges))[order]  # the unit of each occurrence, term by term
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.arange(len(order))
    rank = found - np.searchsorted(terms.ids[order], terms.ids)  # how many of it came before

    def cost(first: Ints) -> Iterator[Floats]:
        worth = np.zeros(len(terms))
        for end, start in enumerate(first.tolist(), start=1):
            new = slice(terms.edges[end - 1], terms.edges[end])
            ids, earlier = terms.ids[new], rank[new]
            before = np.arange(earlier.sum()) - np.repeat(np.cumsum(earlier) - earlier, earlier)
            there = place[np.repeat(found[new] - 1, earlier) - before]
            more = np.bincount(there, growth(before, np.repeat(ids, earlier)), minlength=end)
            worth[:end] += np.cumsum(more[::-1])[::-1] + once[ids].sum()
            yield price[terms.edges[end] - terms.edges[start:end]] - worth[start:end]

    return cost


def with_lengths(cost: Cost, price: Floats) -> Cost:
    """Add ``price[m]``, (n + 1,), to the cost of every segment of m units."""

    def added(first: Ints) -> Iterator[Floats]:
        for end, (start, value) in enumerate(zip(first.tolist(), cost(first), strict=True), start=1):
            yield value + price[end - start : 0 : -1]

    return added
