"""MST semantic clustering: paragraphs tied by a distance that also weighs place and length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.mst.pieces import tile_pieces
from advchunk.chunkers.params import RESOURCE, GroupedParams, at_least, one_at_most
from advchunk.errors import require
from advchunk.numerics import graphs, search, signals
from advchunk.numerics.graphs import Edges
from advchunk.records import Document, Floats, Ints, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text import splitters

_IDENTICAL = 1e-6  # mean cosine distance under which all units of a text say the same
_PAIRS = 2**15  # compared at once: 64 MB of vectors
_SLACK = 1e-5  # what float32 may add to or take from a cosine


@dataclass(kw_only=True)
class MSTSemanticParams(GroupedParams):
    """Group paragraphs by the minimum spanning tree of a distance that also weighs place and length.

    Version 2 of the published algorithm. Every pair of pieces less than max(5, 3 %) apart is an
    edge. Its weight is the cosine distance, plus a penalty for the pieces between, less a reward
    for short pieces in a row and for a heading before its text; the weights of the three, and the
    threshold lambda, adapt to the document's own density and fragmentation. The tree is cut
    above lambda; what still holds together is one chunk, packed to ``max_tokens`` in order.

    Give it paragraphs: over single sentences a spanning tree chains nearly everything together.
    And give it documents of up to some hundreds of them: the place penalty grows with 3 % of the
    pieces, so in a book the mean distance passes 1, where the published lambda runs away and
    everything is connected; chunks are then paragraphs packed in order. Fix ``lambda_`` there, or
    lower ``scaling_factor``. Absolute thresholds do not transfer between embedders; the adaptive one
    does better, and ``center`` and ``n_segments`` are there besides.

    Departs from the published code: sizes are enforced; text is verbatim; no tree is built to be
    cut, since the edges within lambda connect the same pieces (the tree is drawn on request).
    Where its formulas are undefined: one piece is one chunk; if all pieces say the same, they are
    one chunk; at a mean distance of 0 or less lambda is its limit, 0 (the original's is nan, and
    cuts everything).

    Parameters
    ----------
    max_tokens : tokens that no chunk exceeds, context included, >= 1; the published default is 400.
    contiguous : True makes chunks passages; False, as published, puts distant pieces together.
    granularity : the pieces: "paragraph" (headings, list items, quotes, code, tables and paragraphs
        are one each) or "sentence".
    center : subtract the document's mean vector first.
    lambda_ : the greatest distance that connects, instead of the adaptive one.
    lambda_percentile : or this percentile (0..100) of the tree's own edges, whatever the embedder.
    n_segments : or the number of components (before packing), >= 1.
    base_threshold, scaling_factor : pieces that are max(base_threshold, scaling_factor * n) or more
        apart are never compared.
    short_factor : a piece counts as a fragment under this many mean lengths.
    semantic_base, semantic_density : weight of the cosine distance, base + slope * density.
    locality_base, locality_density, locality_fragmentation : weight of the place penalty,
        base + exp(-density' * density - fragmentation' * fragmentation).
    vicinity_base, vicinity_scale, vicinity_pivot, vicinity_rate : weight of the rewards,
        base + scale * exp(rate * (fragmentation - pivot)).
    gamma : place penalty gamma * d * ln(1 + d / 2) of pieces d apart.
    min_len : tokens that a piece has at least, in the rewards.
    short_threshold : tokens under which a piece is short, in the rewards.
    long_term_window : short pieces up to this far apart are rewarded, >= 0.
    immediate_window : a short piece is rewarded with the one exactly this far after it, >= 0.
    vicinity_reward, heading_reward : the two rewards, of short pieces and of a heading.
    alpha_slope, alpha_base, lambda_decay : lambda = m ** (slope * m + base) * exp(-decay / m), m the
        mean distance.

    References
    ----------
    Haruno19, "MST Semantic Chunker", version 2, ``mstchunker.py``, 2025.
    """

    algorithm: ClassVar[str] = "mst-semantic"
    max_tokens: int = 400
    contiguous: bool = False
    granularity: Literal["paragraph", "sentence"] = "paragraph"
    center: bool = False
    lambda_: float | None = None
    lambda_percentile: float | None = None
    n_segments: int | None = None
    base_threshold: int = 5
    scaling_factor: float = 0.03
    short_factor: float = 1.55
    semantic_base: float = 0.85
    semantic_density: float = 0.75
    locality_base: float = 0.20
    locality_density: float = 0.25
    locality_fragmentation: float = 0.5
    vicinity_base: float = 0.125
    vicinity_scale: float = 0.60
    vicinity_pivot: float = 0.8
    vicinity_rate: float = 0.85
    gamma: float = 0.0275
    min_len: int = 5
    short_threshold: int = 80
    long_term_window: int = 2
    immediate_window: int = 1
    vicinity_reward: float = 0.275
    heading_reward: float = 0.85
    alpha_slope: float = 1.8
    alpha_base: float = 0.85
    lambda_decay: float = 0.15

    def check(self) -> None:
        """Add the rules for what must be positive."""
        super().check()
        at_least(1, self, "n_segments", "min_len", "short_threshold")
        at_least(2, self, "base_threshold")
        share = self.lambda_percentile
        require(share is None or 0 <= share <= 100, "lambda_percentile must be in 0..100 or None", share)
        one_at_most(self, "lambda_", "lambda_percentile", "n_segments")
        at_least(0, self, "scaling_factor", "gamma", "long_term_window", "immediate_window")
        at_least(0, self, "vicinity_reward", "heading_reward")
        rule = "semantic_base >= semantic_density >= 0"
        weights = (self.semantic_base, self.semantic_density)
        require(weights[0] >= weights[1] >= 0, rule, weights)  # a density is in -1..1, a weight is not negative


class DocumentStats(NamedTuple):
    """What the published algorithm computes of a document before it clusters.

    ``reach`` is the number of pieces from which on two are too far apart to be compared.
    """

    reach: int
    semantic_density: float
    fragmentation: float
    semantic_weight: float
    locality_weight: float
    vicinity_weight: float
    mean_distance: float
    lambda_: float


def document_stats(vectors: Floats, sizes: Ints, p: MSTSemanticParams) -> DocumentStats:
    """Return the figures of at least two pieces: (n, d) unit vectors, (n,) tokens.

    The means over all pairs come from sums over pieces, so this is O(n d), not O(pairs).
    """
    n = len(vectors)
    reach = min(max(p.base_threshold, int(n * p.scaling_factor)), n)
    apart = np.arange(1, reach)
    pairs = n - apart
    cosine = 1 - _summed_similarity(vectors, reach) / pairs.sum()
    density = 1 - cosine
    fragmentation = float((sizes < sizes.mean() * p.short_factor).mean())
    semantic = p.semantic_base + p.semantic_density * density
    locality = p.locality_base + np.exp(-p.locality_density * density - p.locality_fragmentation * fragmentation)
    vicinity = p.vicinity_base + p.vicinity_scale * np.exp((fragmentation - p.vicinity_pivot) * p.vicinity_rate)
    penalty = (_penalty(apart, p) * pairs).sum() / pairs.sum()
    rewarded = [d for d in range(1, reach) if d <= p.long_term_window or d == p.immediate_window]
    reward = sum(_reward(sizes[:-d], sizes[d:], d, p).sum() for d in rewarded) / pairs.sum()
    mean = float(cosine * semantic + penalty * locality + reward * vicinity)
    if p.lambda_ is not None:
        greatest = p.lambda_
    elif cosine < _IDENTICAL:
        greatest = np.inf
    else:
        greatest = adaptive_lambda(mean, p)
    return DocumentStats(
        reach, float(density), fragmentation, float(semantic), float(locality), float(vicinity), mean, greatest
    )


def adaptive_lambda(mean: float, p: MSTSemanticParams) -> float:
    """Return lambda, the greatest distance that connects, for a mean distance; 0 if that is not positive."""
    if mean <= 0:
        return 0.0
    with np.errstate(over="ignore"):  # past any distance: everything connects
        return float(np.float64(mean) ** (p.alpha_slope * mean + p.alpha_base) * np.exp(-p.lambda_decay / mean))


def edges_within(
    vectors: Floats, sizes: Ints, of: DocumentStats, limit: float, p: MSTSemanticParams, runs: Ints | None = None
) -> Iterator[Edges]:
    """Yield all pairs whose distance is at most ``limit``, in blocks; of different ``runs`` only, if given.

    No cosine distance is negative, so pieces whose place penalty less the greatest reward is
    over the limit need not be compared: on most texts that leaves a dozen of neighbors.
    """
    n = len(vectors)
    runs = np.arange(n) if runs is None else runs
    apart = np.arange(1, of.reach)
    fixed = _penalty(apart, p) * of.locality_weight + _greatest_reward(apart, p) * of.vicinity_weight
    possible = np.flatnonzero(fixed <= limit + _SLACK)
    if not len(possible):
        return
    band = int(possible[-1]) + 1
    # The least cosine similarity that a pair so far apart needs, for a first and quick look.
    enough = np.maximum(1 - (limit - fixed[:band]) / of.semantic_weight - _SLACK, -2).astype(vectors.dtype)
    height = max(64, min(band, 1024))
    for top in range(0, n - 1, height):
        if runs[top] == runs[min(top + height + band, n) - 1]:
            continue
        rows = vectors[top : top + height]
        similar = np.full((len(rows), len(rows) + band), -np.inf, dtype=vectors.dtype)
        others = vectors[top : top + len(rows) + band]
        np.matmul(rows, others.T, out=similar[:, : len(others)])
        similar[:, len(others) :] = np.nan  # past the end of the text: like nothing
        (step,) = similar.strides[1:]
        diagonal = np.lib.stride_tricks.as_strided(
            similar[:, 1:], (len(rows), band), (similar.strides[0] + step, step), writeable=False
        )  # row i, column k: piece i and the piece k + 1 after it
        i, k = np.nonzero(diagonal >= enough)
        other = runs[top + i] != runs[top + i + k + 1]
        every_left, every_right = (top + i)[other], (top + i + k + 1)[other]
        for at in range(0, len(every_left), _PAIRS):
            left, right = every_left[at : at + _PAIRS], every_right[at : at + _PAIRS]
            weight = pair_distances(vectors, sizes, left, right, of, p)
            keep = weight <= limit
            yield Edges(left[keep], right[keep], weight[keep])


def pair_distances(
    vectors: Floats, sizes: Ints, left: Ints, right: Ints, of: DocumentStats, p: MSTSemanticParams
) -> Floats:
    """Return the published distance of pieces ``left[i]`` < ``right[i]``."""
    d = right - left
    cosine = 1 - np.einsum("ij,ij->i", vectors[left], vectors[right], dtype=np.float64)
    reward = _reward(sizes[left], sizes[right], d, p)
    return np.asarray(cosine * of.semantic_weight + _penalty(d, p) * of.locality_weight + reward * of.vicinity_weight)


def _penalty(apart: Ints, p: MSTSemanticParams) -> Floats:
    return np.asarray(p.gamma * apart * np.log1p(apart / 2))


def _reward(left: Ints, right: Ints, apart: Ints | int, p: MSTSemanticParams) -> Floats:
    """Return the (negative) reward of pieces of ``left`` and ``right`` tokens."""
    a, b = np.maximum(left, p.min_len), np.maximum(right, p.min_len)
    short = p.short_threshold
    both = (a < short) & (b < short) & (np.asarray(apart) <= p.long_term_window)
    heading = (a < short) & (np.asarray(apart) == p.immediate_window)  # only the left one: a heading comes before
    return np.asarray(
        -p.vicinity_reward * np.exp(-np.minimum(a, b) / short) * both - p.heading_reward * np.exp(-a / short) * heading
    )


def _greatest_reward(apart: Ints, p: MSTSemanticParams) -> Floats:
    return np.asarray(
        -p.vicinity_reward * (apart <= p.long_term_window) - p.heading_reward * (apart == p.immediate_window)
    )


def _summed_similarity(vectors: Floats, reach: int) -> float:
    """Return the summed similarity of all pairs less than ``reach`` apart."""
    n, block, found = len(vectors), max(4096, reach), 0.0
    for top in range(0, n - 1, block):
        rows = vectors[top : top + block].astype(np.float64)
        upto = np.cumsum(vectors[top : top + block + reach - 1], axis=0, dtype=np.float64)
        last = np.minimum(np.arange(len(rows)) + reach - 1, len(upto) - 1)
        found += float(np.einsum("ij,ij->", rows, upto[last] - upto[: len(rows)]))
    return found


@dataclass(kw_only=True)
class MSTSemanticChunker(MSTSemanticParams, EmbeddingChunker):
    r"""Group paragraphs by their minimum spanning tree (`MSTSemanticParams`).

    Parameters
    ----------
    prechunker : what cuts the text into pieces, instead of ``granularity`` (see `tiling.as_tiler`).

    >>> text = "Cats purr and nap all day.\n\nJudges sit in court.\n\nCats nap and cats purr."
    >>> [c.spans for c in MSTSemanticChunker(n_segments=2).chunk(text)]
    [(Span(start=0, end=28), Span(start=50, end=73)), (Span(start=28, end=50),)]
    """

    prechunker: Any = field(default=None, repr=False, metadata=RESOURCE)

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return many short, well separated pieces."""
        if self.prechunker is not None:
            return self.fit_units(document, splitters.as_tiler(self.prechunker)(document.text), limits)
        sentences = splitters.as_tiler(self.sentence_splitter, self.language)
        return self.fit_units(document, tile_pieces(document, self.granularity, sentences, limits), limits)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Connect what is near."""
        rows = signals.center_rows(vectors) if self.center else vectors
        n, lengths = len(units), units.token_counts()
        of = document_stats(rows, lengths, self)

        first = np.arange(n - 1)
        beside = pair_distances(rows, lengths, first, first + 1, of, self)

        def tree() -> Edges:
            # Neighbors connect everything, so nothing longer than the longest of those is in the tree.
            return graphs.spanning_tree(n, edges_within(rows, lengths, of, float(beside.max()), self))

        if self.n_segments is not None:
            labels = graphs.components(n, [tree().lightest(n - self.n_segments)])
        else:
            if self.lambda_percentile is not None:
                of = of._replace(lambda_=float(np.percentile(tree().weight, self.lambda_percentile)))
            # Neighbors within lambda are runs; what is left to find is which runs hold together.
            runs = np.r_[0, np.cumsum(beside > of.lambda_)]
            begin = np.flatnonzero(np.diff(runs, prepend=-1))
            bridges = edges_within(rows, lengths, of, of.lambda_, self, runs)
            joined = (Edges(runs[some.left], runs[some.right], some.weight) for some in bridges)
            labels = begin[graphs.components(len(begin), joined)][runs]
        return Segmentation(
            search.run_cuts(labels),
            labels=None if self.contiguous else labels,
            reason="label",
            figures={**of._asdict(), "labels": labels, "tree": tree},
        )
