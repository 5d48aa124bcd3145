"""MST semantic chunking: paragraphs grouped by a minimum spanning tree."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from advchunk.building.layout import fit_to_blocks, keep_headings, protected, tile_prose
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.by_topic.mst.distances import MSTSemanticParams, document_stats, edges_within, pair_distances
from advchunk.chunkers.numerics import graphs, runs
from advchunk.chunkers.numerics.graphs import Edges
from advchunk.models import signals
from advchunk.records import Document, Floats, Ints, Segmentation, Span, Strength, Units
from advchunk.text import tiling
from advchunk.text.tiling import Tiler

_HARD_WRAP = 120  # characters: if no line of a paragraph is longer, its line breaks carry no meaning


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
