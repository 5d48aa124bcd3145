"""MST semantic chunking: paragraphs grouped by a minimum spanning tree."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.mst.distances import MSTSemanticParams, document_stats, edges_within, pair_distances
from advchunk.chunkers.params import RESOURCE
from advchunk.layout import fit_to_blocks, protected, tile_prose
from advchunk.numerics import graphs, runs, signals
from advchunk.numerics.graphs import Edges
from advchunk.records import Document, Floats, Segmentation, Units
from advchunk.sizes import Limits
from advchunk.text import splitters, tiling
from advchunk.text.splitters import SplitterLike
from advchunk.text.tiling import Tiler

_HARD_WRAP = 120  # characters: if no line of a paragraph is longer, its line breaks carry no meaning


@dataclass(kw_only=True)
class MSTSemanticChunker(MSTSemanticParams, EmbeddingChunker):
    r"""Group paragraphs by a minimum spanning tree (`MSTSemanticParams`).

    Parameters
    ----------
    prechunker : splitter of the text into pieces, instead of ``granularity`` (see `text.splitters.as_tiler`).

    >>> text = "Cats purr and nap all day.\n\nJudges sit in court.\n\nCats nap and cats purr."
    >>> [c.spans for c in MSTSemanticChunker(n_segments=2).chunk(text)]
    [(Span(start=0, end=28), Span(start=50, end=73)), (Span(start=28, end=50),)]
    """

    prechunker: SplitterLike = field(default=None, repr=False, metadata=RESOURCE)

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return pieces: paragraphs or sentences, or those of ``prechunker``."""
        if self.prechunker is not None:
            return self.fit_units(document, splitters.as_tiler(self.prechunker)(document.text), limits)
        return self.fit_units(document, tile_pieces(document, self.granularity, self.sentence_tiler, limits), limits)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Group the pieces that edges within lambda connect."""
        rows = signals.center_rows(vectors) if self.center else vectors
        n, lengths = len(units), units.token_counts()
        stats = document_stats(rows, lengths, self)
        first = np.arange(n - 1)
        adjacent = pair_distances(rows, lengths, first, first + 1, stats, self)

        def tree() -> Edges:
            # Adjacent pieces connect everything, so no edge of the tree is longer than the longest of their edges.
            return graphs.spanning_tree(n, edges_within(rows, lengths, stats, float(adjacent.max()), self))

        if self.n_segments is not None:
            labels = graphs.components(n, [tree().lightest(n - self.n_segments)])
        else:
            if self.lambda_percentile is not None:
                stats = stats._replace(lambda_=float(np.percentile(tree().weight, self.lambda_percentile)))
            # Adjacent pieces within lambda form runs; the remaining edges connect runs.
            run = np.r_[0, np.cumsum(adjacent > stats.lambda_)]
            begin = np.flatnonzero(np.diff(run, prepend=-1))
            bridges = edges_within(rows, lengths, stats, stats.lambda_, self, run)
            run_edges = (Edges(run[edges.left], run[edges.right], edges.weight) for edges in bridges)
            labels = begin[graphs.components(len(begin), run_edges)][run]
        figures = {**stats._asdict(), "labels": labels, "tree": tree}
        return runs.segment_labels(labels, contiguous=self.contiguous, figures=figures)


def tile_pieces(
    document: Document, granularity: Literal["paragraph", "sentence"], sentences: Tiler, limits: Limits
) -> Units:
    """Return a piece for every heading, list item, quote, code block, table, formula and paragraph, with its tokens.

    With granularity "sentence", prose is split into sentences as well. A paragraph over ``max_tokens`` is split into
    lines, unless it is hard-wrapped, and a line over ``max_tokens`` into sentences.
    """
    tiler = sentences if granularity == "sentence" else tiling.paragraphs
    pieces = fit_to_blocks(tile_prose(document, tiler), document)
    protected_starts = {start for start, _ in protected(document).spans}
    counts = limits.counter.counts(pieces.strings())
    edges, sizes = [0], list[int]()
    for (start, end), size in zip(pairwise(pieces.edges.tolist()), counts.tolist(), strict=True):
        if size <= limits.max_tokens or start in protected_starts:
            edges.append(end)
            sizes.append(size)
        else:
            parts = _split_paragraph(document.text[start:end], sentences, limits)
            edges += (parts.edges[1:] + start).tolist()
            sizes += parts.token_counts().tolist()
    return Units(document.text, np.array(edges, dtype=np.int64), np.array(sizes, dtype=np.int64))


def _split_paragraph(paragraph: str, sentences: Tiler, limits: Limits) -> Units:
    """Return the pieces of a long paragraph, with their tokens."""
    lines = tiling.lines(paragraph)
    if max(map(len, lines.strings())) <= _HARD_WRAP:
        lines = Units(paragraph, lines.edges[[0, -1]])
    sizes = limits.counter.counts(lines.strings())
    long = np.flatnonzero(sizes > limits.max_tokens).tolist()
    if not long:
        return Units(paragraph, lines.edges, sizes)
    inner = [sentences(paragraph[a:b]).edges + a for a, b in (lines.edges[i : i + 2].tolist() for i in long)]
    parts = Units(paragraph, np.unique(np.concatenate([lines.edges, *inner])))
    return Units(paragraph, parts.edges, limits.counter.counts(parts.strings()))
