"""MST semantic chunking: paragraphs grouped by a minimum spanning tree over the published distance."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from advchunk.building.layout import fit_to_blocks, keep_headings, protected, tile_prose
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.numerics import graphs, runs
from advchunk.chunkers.numerics.graphs import Edges
from advchunk.chunkers.params import Bounds, GroupedParams, one_at_most
from advchunk.errors import require
from advchunk.models import signals
from advchunk.models.signals import prefix_sums
from advchunk.records import Document, Floats, Ints, Segmentation, Span, Strength, Units
from advchunk.text import tiling
from advchunk.text.tiling import Tiler

_IDENTICAL = 1e-6  # mean cosine distance below which all pieces of a text are considered equal
_BLOCK_PAIRS = 2**15  # compared at once: 64 MB of vectors
_TOLERANCE = 1e-5  # error of a float32 cosine
_HARD_WRAP = 120  # characters: if no line of a paragraph is longer, its line breaks carry no meaning


@dataclass(kw_only=True)
class MSTSemanticParams(GroupedParams):
    """Group paragraphs by a minimum spanning tree over semantic distance, position and length.

    Version 2 of the published algorithm (Haruno19, "MST Semantic Chunker", ``mstchunker.py``, 2025). Every pair of
    pieces less than max(base_threshold, scaling_factor * n) apart is an edge. Its weight is the cosine distance, plus a
    penalty for the pieces in between, minus a reward for short pieces close together and for a heading before its text.
    The weights of these three terms and the threshold lambda adapt to the document's density and fragmentation. The
    tree is cut above lambda; each connected component is a chunk, packed to ``max_tokens`` in order.

    The published ``scaling_factor`` is .03. The mean distance, from which lambda is computed, then grows with the
    document, and from some 300 pieces on everything is connected: chunks are paragraphs packed in order. The default,
    0, gives the same result below 200 pieces, and a lambda that does not depend on the number of pieces
    (benchmarks/CUTS.md). `explain` shows ``labels``, the component of each piece before headings join the text below
    them, and the share of the largest as ``largest_component``.

    ``preset="even"`` needs no lambda: it connects the nearest pieces first (Kruskal's order), as long as the component
    fits into ``max_tokens`` with its context, so no component has to be divided by size.

    Use it on paragraphs: on single sentences a spanning tree connects nearly everything. It does not improve
    retrieval: at equal size the default is level with `recursive` or up to 5 points behind, and "even" is level.

    Departs from the published code by default: components grow to the layout (``layout_weight``, ``outline``); a
    heading stays with the piece below it, and list items that lambda leaves in short components join the nearest of the
    items beside them (``structure``); and ``scaling_factor``. ``preset="published"`` sets all of this back. Always:
    pieces are the blocks of the text, not those of the original's splitter; pieces over ``max_tokens`` are split; text
    is verbatim. Where the formulas are undefined: one piece is one chunk; identical pieces are one chunk; at a mean
    distance <= 0 lambda is its limit, 0 (the original's is nan, which cuts everything).

    Parameters
    ----------
    max_tokens : maximum tokens of a chunk, context included, >= 1; the published default is 400.
    contiguous : True makes chunks passages; False, as published, groups distant pieces.
    preset : "published" for the original, or "even" (``rule`` "capacity").
    granularity : pieces: "paragraph" (every heading, list item, quote, code block, table and paragraph) or "sentence".
    structure : True keeps headings and lists together; False treats them like any pieces.
    center : True subtracts the document's mean vector first.
    rule : "lambda" connects pieces within a distance; "capacity" the nearest pieces that fit into one chunk.
    lambda_ : maximum distance that connects, instead of the adaptive one.
    n_segments : number of components before packing, >= 1, instead of lambda.
    base_threshold, scaling_factor : pieces max(base_threshold, scaling_factor * n) or more apart are never compared.
    short_factor : multiple of the mean length below which a piece counts as a fragment.
    semantic_base, semantic_density : weight of the cosine distance, base + slope * density.
    locality_base, locality_density, locality_fragmentation : weight of the locality penalty,
        base + exp(-density' * density - fragmentation' * fragmentation).
    vicinity_base, vicinity_scale, vicinity_pivot, vicinity_rate : weight of the rewards,
        base + scale * exp(rate * (fragmentation - pivot)).
    gamma : factor of the locality penalty, gamma * d * ln(1 + d / 2) for pieces d apart.
    min_len : minimum length of a piece in tokens, in the rewards.
    short_threshold : length in tokens below which a piece is short, in the rewards, and a component of list items.
    long_term_window : maximum distance in pieces at which two short pieces are rewarded, >= 0.
    immediate_window : distance in pieces at which a short piece is rewarded with a later one, >= 0.
    vicinity_reward, heading_reward : rewards of two short pieces, and of a heading.
    alpha_slope, alpha_base, lambda_decay : lambda = m ** (slope * m + base) * exp(-decay / m) for a mean distance m.
    """

    algorithm: ClassVar[str] = "mst-semantic"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {"outline": False, "layout_weight": 0.0, "structure": False, "scaling_factor": 0.03},
        "even": {"rule": "capacity"},
    }
    max_tokens: int = 400
    contiguous: bool = False
    preset: Literal["published", "even"] | None = None
    granularity: Literal["paragraph", "sentence"] = "paragraph"
    structure: bool = True
    center: bool = False
    rule: Literal["lambda", "capacity"] = "lambda"
    lambda_: float | None = None
    n_segments: Annotated[int | None, Bounds(1)] = None
    base_threshold: Annotated[int, Bounds(2)] = 5
    scaling_factor: Annotated[float, Bounds(0)] = 0.0
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
    gamma: Annotated[float, Bounds(0)] = 0.0275
    min_len: Annotated[int, Bounds(1)] = 5
    short_threshold: Annotated[int, Bounds(1)] = 80
    long_term_window: Annotated[int, Bounds(0)] = 2
    immediate_window: Annotated[int, Bounds(0)] = 1
    vicinity_reward: Annotated[float, Bounds(0)] = 0.275
    heading_reward: Annotated[float, Bounds(0)] = 0.85
    alpha_slope: float = 1.8
    alpha_base: float = 0.85
    lambda_decay: float = 0.15

    def check(self) -> None:
        """Check what excludes each other, and the weight of the cosine distance, too."""
        super().check()
        one_at_most(self, *["rule"] * (self.rule != "lambda"), "lambda_", "n_segments")
        base, slope = self.semantic_base, self.semantic_density
        # The density is in -1..1, and the weight must not be negative.
        require(base >= slope >= 0, "semantic_base must be >= semantic_density, and both >= 0", (base, slope))


@dataclass(kw_only=True)
class MSTSemanticChunker(MSTSemanticParams, EmbeddingChunker):
    r"""Group paragraphs by a minimum spanning tree (`MSTSemanticParams`).

    >>> text = "Cats purr and nap all day.\n\nJudges sit in court.\n\nCats nap and cats purr."
    >>> [c.spans for c in MSTSemanticChunker(n_segments=2).chunk(text)]
    [(Span(start=0, end=28), Span(start=50, end=73)), (Span(start=28, end=50),)]
    """

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return pieces: paragraphs or sentences."""
        pieces = tile_pieces(document, self.granularity, self.sentence_tiler, limits)
        units = _weaken_lists(self.fit_units(document, pieces, limits), document)
        return units if self.structure else Units(units.text, units.edges, units.sizes)

    def fit_to_layout(self, units: Units, segmentation: Segmentation) -> Segmentation:
        """Return a segmentation with cuts where the layout is strong, unless components are filled to the limit."""
        fits = keep_headings if self.rule == "capacity" else super().fit_to_layout
        return fits(units, segmentation)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Group the pieces that edges connect: those within lambda, or the shortest that the size allows."""
        rows = signals.center_rows(vectors) if self.center else vectors
        n, lengths = len(units), units.token_counts()
        stats = document_stats(rows, lengths, self)
        first = np.arange(n - 1)
        adjacent = pair_distances(rows, lengths, first, first + 1, stats, self)

        def tree() -> Edges:
            # Adjacent pieces connect everything, so no edge of the tree is longer than the longest of their edges.
            return graphs.spanning_tree(n, edges_within(rows, lengths, stats, float(adjacent.max()), self))

        if self.rule == "capacity":
            stats = stats._replace(lambda_=np.inf)
            labels = fill_components(units, edges_within(rows, lengths, stats, np.inf, self), limits)
        elif self.n_segments is not None:
            labels = graphs.components(n, [tree().lightest(n - self.n_segments)])
        else:
            # Adjacent pieces within lambda form runs; the remaining edges connect runs.
            run = np.r_[0, np.cumsum(adjacent > stats.lambda_)]
            begin = np.flatnonzero(np.diff(run, prepend=-1))
            bridges = edges_within(rows, lengths, stats, stats.lambda_, self, run)
            run_edges = (Edges(run[edges.left], run[edges.right], edges.weight) for edges in bridges)
            labels = begin[graphs.components(len(begin), run_edges)][run]
            labels = join_items(labels, adjacent, units, self.short_threshold)
        largest = float(np.bincount(labels).max() / n)
        figures = {**stats._asdict(), "largest_component": largest, "labels": labels, "tree": tree}
        return runs.segment_labels(labels, contiguous=self.contiguous, figures=figures)


def fill_components(units: Units, blocks: Iterable[Edges], limits: Limits) -> Ints:
    """Connect pieces, lightest edges first, while they fit into a chunk; a heading counts with the piece below it."""
    part = np.r_[0, np.cumsum(units.strength[1:-1] >= 0)]
    begin = np.flatnonzero(np.diff(part, prepend=-1))
    budgets = [limits.budget(offset) for offset in units.edges[begin].tolist()]
    edges = (Edges(part[block.left], part[block.right], block.weight) for block in blocks)
    sizes = np.add.reduceat(units.token_counts(), begin)
    filled = graphs.grow_components(edges, sizes, lambda first, size, other: size + other <= budgets[first])
    return np.asarray(begin[filled][part])


def join_items(labels: Ints, adjacent: Floats, units: Units, short: int) -> Ints:
    """Join components of fewer than ``short`` tokens in lists, the lightest of (n - 1,) ``adjacent`` edges first."""
    items = np.flatnonzero(units.strength[1:-1] == Strength.WITHIN_SENTENCE)
    first, component = np.unique(labels, return_inverse=True)
    edges = Edges(component[items], component[items + 1], adjacent[items])
    sizes = np.bincount(component, units.token_counts())
    joined = graphs.grow_components([edges], sizes, lambda _, size, other: min(size, other) < short)
    return np.asarray(first[joined][component])


def _weaken_lists(units: Units, document: Document) -> Units:
    """Return units whose edges between items of a list are as weak as those within a sentence."""
    items = [below.span.start for above, below in pairwise(document.blocks or ()) if above.kind == below.kind == "item"]
    weak = np.isin(units.edges, items) & (units.strength == Strength.ITEM)
    return replace(units, strength=np.where(weak, Strength.WITHIN_SENTENCE, units.strength)) if weak.any() else units


def tile_pieces(
    document: Document, granularity: Literal["paragraph", "sentence"], sentences: Tiler, limits: Limits
) -> Units:
    """Return a piece for every heading, list item, quote, code block, table, formula and paragraph, with its tokens.

    With granularity "sentence", prose is split into sentences as well. A paragraph over ``max_tokens`` is split into
    lines, unless it is hard-wrapped, and a line over ``max_tokens`` into sentences.
    """
    tiler = sentences if granularity == "sentence" else tiling.paragraphs
    pieces = fit_to_blocks(tile_prose(document, tiler), document)
    units = Units(document.text, pieces.edges, limits.counter.counts(pieces.strings()))
    whole = {start for start, _ in protected(document).spans}
    return _split_long(_split_long(units, _soft_lines, whole, limits), sentences, whole, limits)


def _split_long(units: Units, tiler: Tiler, whole: Collection[int], limits: Limits) -> Units:
    """Split units over ``max_tokens``, except those that start at offsets in ``whole``; return them with tokens."""
    text, edges, parts = units.text, units.edges.tolist(), list[Span]()
    size_to = dict(zip(edges[1:], units.token_counts().tolist(), strict=True))
    for start, end in pairwise(edges):
        if size_to[end] > limits.max_tokens and start not in whole:
            inner = (tiler(text[start:end]).edges + start).tolist()
            parts += [Span(*part) for part in pairwise(inner) if len(inner) > 2]
    counts = limits.counter.counts([text[start:end] for start, end in parts])
    size_to |= zip((end for _, end in parts), counts.tolist(), strict=True)
    ends = sorted(size_to)
    return Units(text, np.array([0, *ends], dtype=np.int64), np.array([size_to[end] for end in ends], dtype=np.int64))


def _soft_lines(paragraph: str) -> Units:
    """Return the lines of a paragraph, or all of it if it is hard-wrapped."""
    lines = tiling.lines(paragraph)
    is_wrapped = max(map(len, lines.strings())) <= _HARD_WRAP
    return Units(paragraph, lines.edges[[0, -1]]) if is_wrapped else lines


class DocumentStats(NamedTuple):
    """Statistics of a document that the published algorithm adapts to."""

    reach: int  # distance in pieces at which two are no longer compared
    semantic_density: float
    fragmentation: float
    semantic_weight: float
    locality_weight: float
    vicinity_weight: float
    mean_distance: float
    lambda_: float


def document_stats(vectors: Floats, sizes: Ints, p: MSTSemanticParams) -> DocumentStats:
    """Return the statistics of at least two pieces with (n, d) unit vectors and (n,) tokens, in O(n d)."""
    n = len(vectors)
    reach = min(max(p.base_threshold, int(n * p.scaling_factor)), n)
    offsets = np.arange(1, reach)
    pairs = n - offsets
    cosine = 1 - _summed_similarity(vectors, reach) / pairs.sum()
    density = 1 - cosine
    fragmentation = float((sizes < sizes.mean() * p.short_factor).mean())
    semantic = p.semantic_base + p.semantic_density * density
    locality = p.locality_base + np.exp(-p.locality_density * density - p.locality_fragmentation * fragmentation)
    vicinity = p.vicinity_base + p.vicinity_scale * np.exp((fragmentation - p.vicinity_pivot) * p.vicinity_rate)
    penalty = (_penalty(offsets, p) * pairs).sum() / pairs.sum()
    rewarded = [d for d in range(1, reach) if d <= p.long_term_window or d == p.immediate_window]
    reward = sum(_reward(sizes[:-d], sizes[d:], d, p).sum() for d in rewarded) / pairs.sum()
    mean = float(cosine * semantic + penalty * locality + reward * vicinity)
    adaptive = np.inf if cosine < _IDENTICAL else adaptive_lambda(mean, p)
    limit = adaptive if p.lambda_ is None else p.lambda_
    weights = float(semantic), float(locality), float(vicinity)
    return DocumentStats(reach, float(density), fragmentation, *weights, mean, limit)


def adaptive_lambda(mean: float, p: MSTSemanticParams) -> float:
    """Return lambda, the maximum distance that connects, for a mean distance; 0 if the mean is not positive."""
    if mean <= 0:
        return 0.0
    with np.errstate(over="ignore"):  # infinity connects everything
        return float(np.float64(mean) ** (p.alpha_slope * mean + p.alpha_base) * np.exp(-p.lambda_decay / mean))


def edges_within(
    vectors: Floats, sizes: Ints, stats: DocumentStats, limit: float, p: MSTSemanticParams, runs: Ints | None = None
) -> Iterator[Edges]:
    """Yield the pairs of pieces at most ``limit`` apart, in blocks; if given, of different ``runs`` only."""
    n = len(vectors)
    runs = np.arange(n) if runs is None else runs
    offsets = np.arange(1, stats.reach)
    fixed = _penalty(offsets, p) * stats.locality_weight + _reward(0, 0, offsets, p) * stats.vicinity_weight
    possible = np.flatnonzero(fixed <= limit + _TOLERANCE)
    if not len(possible):
        return
    band = int(possible[-1]) + 1
    # The minimum similarity that a pair at each offset needs, for a fast first comparison in float32.
    required = np.maximum(1 - (limit - fixed[:band]) / stats.semantic_weight - _TOLERANCE, -2).astype(vectors.dtype)
    height = max(64, min(band, 1024))
    for top in range(0, n - 1, height):
        if runs[top] == runs[min(top + height + band, n) - 1]:
            continue
        i, k = np.nonzero(_diagonal_similarity(vectors, top, height, band) >= required)
        pairs = np.array([top + i, top + i + k + 1])
        pairs = pairs[:, runs[pairs[0]] != runs[pairs[1]]]
        for first in range(0, pairs.shape[1], _BLOCK_PAIRS):
            left, right = pairs[:, first : first + _BLOCK_PAIRS]
            weight = pair_distances(vectors, sizes, left, right, stats, p)
            keep = weight <= limit
            yield Edges(left[keep], right[keep], weight[keep])


def _diagonal_similarity(vectors: Floats, top: int, height: int, band: int) -> Floats:
    """Return the cosines of ``height`` pieces from ``top``: row i, column k for pieces i and i + k + 1, or nan."""
    rows = vectors[top : top + height]
    similarity = np.full((len(rows), len(rows) + band), -np.inf, dtype=vectors.dtype)
    others = vectors[top : top + len(rows) + band]
    np.matmul(rows, others.T, out=similarity[:, : len(others)])
    similarity[:, len(others) :] = np.nan
    step, item = similarity.strides
    return np.lib.stride_tricks.as_strided(similarity[:, 1:], (len(rows), band), (step + item, item), writeable=False)


def pair_distances(
    vectors: Floats, sizes: Ints, left: Ints, right: Ints, stats: DocumentStats, p: MSTSemanticParams
) -> Floats:
    """Return the published distances of the pieces ``left[i]`` < ``right[i]``."""
    d = right - left
    cosine = 1 - np.einsum("ij,ij->i", vectors[left], vectors[right], dtype=np.float64)
    reward = _reward(sizes[left], sizes[right], d, p) * stats.vicinity_weight
    return np.asarray(cosine * stats.semantic_weight + _penalty(d, p) * stats.locality_weight + reward)


def _penalty(offset: Ints, p: MSTSemanticParams) -> Floats:
    return np.asarray(p.gamma * offset * np.log1p(offset / 2))


def _reward(left: Ints | int, right: Ints | int, offset: Ints | int, p: MSTSemanticParams) -> Floats:
    """Return the (negative) reward of pieces of ``left`` and ``right`` tokens; the shortest have the most."""
    a, b = np.maximum(left, p.min_len), np.maximum(right, p.min_len)
    short = p.short_threshold
    both = (a < short) & (b < short) & (np.asarray(offset) <= p.long_term_window)
    heading = (a < short) & (np.asarray(offset) == p.immediate_window)  # only the left piece: a heading comes first
    vicinity = -p.vicinity_reward * np.exp(-np.minimum(a, b) / short) * both
    return np.asarray(vicinity - p.heading_reward * np.exp(-a / short) * heading)


def _summed_similarity(vectors: Floats, reach: int) -> float:
    """Return the summed similarity of all pairs less than ``reach`` apart."""
    n, block, total = len(vectors), max(4096, reach), 0.0
    for top in range(0, n - 1, block):
        rows = vectors[top : top + block].astype(np.float64)
        sums = prefix_sums(vectors[top : top + block + reach - 1])
        last = np.minimum(np.arange(len(rows)) + reach, len(sums) - 1)
        total += float(np.einsum("ij,ij->", rows, sums[last] - sums[1 : len(rows) + 1]))
    return total
