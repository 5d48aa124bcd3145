"""Plots of chunks and of the decisions behind them, with matplotlib (the extra ``viz``).

Each function draws into ``ax``, or into a new figure, and returns the axes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from advchunk.chunkers.explanations import Explanation
from advchunk.errors import import_extra, require
from advchunk.records import Units

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRAY, _RED, _BLUE, _ORANGE = "0.55", "tab:red", "tab:blue", "tab:orange"  # show on light and dark
_COLORS = (_BLUE, _ORANGE, *(f"tab:{name}" for name in ("green", "purple", "brown", "pink", "olive", "cyan")))
_MOST_UNITS = 5000  # of a similarity matrix: 100 MB
_STEPS = np.linspace(0, np.pi, 33)  # of an arc


def plot_signal(explanation: Explanation, figure: str = "", *, ax: Axes | None = None) -> Axes:
    """Plot how strongly the text breaks at each offset, with the cuts and the threshold.

    Cuts of the algorithm are solid lines, those that only the size limits forced are dotted. ``figure`` is the name of
    one of ``explanation.figures`` instead of the scores of the gaps. Raises `ConfigurationError` if the algorithm
    computes no scores, or the figure does not have one for each unit or gap.

    >>> from advchunk import SemanticThresholdChunker
    >>> ax = plot_signal(SemanticThresholdChunker().explain("Cats purr. Cats nap. Judges sit. Courts rule."))
    >>> ax.get_ylabel()
    'score of the gap'
    """
    units = _units(explanation)
    figures, segmentation, threshold = explanation.figures, explanation.segmentation, None
    if figure:
        require(figure in figures, f"figure must be one of {', '.join(figures) or 'none'}", figure)
        scores = np.asarray(figures[figure], dtype=float)
    else:
        has_scores = segmentation is not None and segmentation.gaps is not None
        require(has_scores, "the algorithm scores no gaps; pass the name of a figure", sorted(figures))
        scores, threshold = np.asarray(segmentation.gaps), segmentation.threshold  # type: ignore[union-attr]
    is_along = scores.shape in {(len(units) - 1,), (len(units),)}
    require(is_along, f"{figure or 'gaps'} must have a number for each unit or gap", scores)
    edges = units.edges
    offsets = edges[1:-1] if len(scores) < len(units) else (edges[:-1] + edges[1:]) / 2
    ax = _axes(ax)
    for cut in explanation.cuts:
        by_size = cut.reason == "size"
        ax.axvline(cut.offset, color=_GRAY if by_size else _RED, linestyle=":" if by_size else "-", linewidth=0.8)
    ax.plot(offsets, scores, color=_BLUE, linewidth=1.2, marker=".", markersize=3)
    if threshold is not None and np.isfinite(threshold):
        ax.axhline(threshold, color=_ORANGE, linestyle="--", linewidth=1, label="threshold")
        ax.legend(loc="upper right")
    return _along_text(ax, explanation, figure.replace("_", " ") or "score of the gap")


def plot_similarity(explanation: Explanation, *, ax: Axes | None = None) -> Axes:
    """Plot the cosine similarity of all pairs of units, with the segments of the algorithm as squares.

    Raises `ConfigurationError` if the algorithm has no vectors of units, or there are more than 5,000 units.
    """
    units = _units(explanation)
    segmentation = explanation.segmentation
    rows = None if segmentation is None else segmentation.rows
    require(rows is not None, "similarity needs vectors of units, which the algorithm must compute", rows)
    require(len(units) <= _MOST_UNITS, f"a similarity matrix has at most {_MOST_UNITS} units", len(units))
    matrix = np.asarray(rows) @ np.asarray(rows).T
    patches = import_extra("matplotlib.patches", "viz")
    ax = _axes(ax)
    inside = matrix[np.triu_indices(len(units), 1)]
    low, high = np.percentile(inside, [5, 99]) if len(inside) else (0.0, 1.0)
    n = len(units)
    image = ax.imshow(matrix, vmin=low, vmax=high, extent=(0, n, n, 0), interpolation="nearest")
    for start, end in pairwise(segmentation.cuts.tolist() if segmentation else []):
        square = patches.Rectangle((start, start), end - start, end - start, fill=False, edgecolor=_RED, linewidth=1.2)
        ax.add_patch(square)
    ax.figure.colorbar(image, ax=ax, label="cosine similarity", shrink=0.8)
    ax.set(xlabel="unit", ylabel="unit")
    return ax


def plot_tree(explanation: Explanation, *, ax: Axes | None = None) -> Axes:
    """Plot the spanning tree of `MSTSemanticChunker`: an arc for each edge, as high as its distance.

    Edges within a component have its color; those between components, which are cut, are gray. The dashed line is
    lambda. Raises `ConfigurationError` if the chunker computes no tree.
    """
    units, figures = _units(explanation), explanation.figures
    require("tree" in figures, "only mst-semantic has a tree", sorted(figures))
    edges, labels, threshold = figures["tree"], figures["labels"], figures["lambda_"]
    collections, ax = import_extra("matplotlib.collections", "viz"), _axes(ax)
    base = min(0.0, float(edges.weight.min(initial=0.0)))
    _, group, counts = np.unique(labels, return_inverse=True, return_counts=True)
    place = np.cumsum(counts > 1) - 1  # of the groups that have a color
    colors = [_COLORS[place[label] % len(_COLORS)] if counts[label] > 1 else _GRAY for label in group.tolist()]
    places = (units.edges[:-1] + units.edges[1:]) / 2
    left, right = places[edges.left], places[edges.right]
    xs = (left + right)[:, None] / 2 - (right - left)[:, None] / 2 * np.cos(_STEPS)
    ys = base + np.asarray(edges.weight - base)[:, None] * np.sin(_STEPS)
    joined = group[edges.left] == group[edges.right]
    order = np.argsort(joined, kind="stable")  # gray arcs lie below
    arcs, shades = np.stack([xs, ys], axis=-1)[order], np.where(joined, np.array(colors)[edges.left], _GRAY)[order]
    widths = np.where(joined, 1.2, 0.6)[order]
    ax.add_collection(collections.LineCollection(arcs, colors=shades, linewidths=widths, alpha=0.7))
    ax.scatter(places, np.full(len(places), base), c=colors, s=12, zorder=3)
    ax.autoscale_view()
    if np.isfinite(threshold):
        ax.axhline(threshold, color=_ORANGE, linestyle="--", linewidth=1, label="lambda")
        ax.legend(loc="upper right")
    return _along_text(ax, explanation, "distance")


def plot_chunks(explanation: Explanation, *, ax: Axes | None = None) -> Axes:
    """Plot the chunks as boxes along the text, one row for each level of a hierarchy.

    Neighbors differ in color; the passages of one chunk have the same.
    """
    ax = _axes(ax)
    levels = sorted({chunk.level for chunk in explanation.chunks if chunk.spans})
    for row, level in enumerate(levels):
        chunks = [chunk for chunk in explanation.chunks if chunk.level == level and chunk.spans]
        for place, chunk in enumerate(chunks):
            boxes = [(start, end - start) for start, end in chunk.spans]
            color = _COLORS[place % len(_COLORS)]
            ax.broken_barh(boxes, (row - 0.4, 0.8), facecolor=color, edgecolor="white", linewidth=0.5)
    named = levels if len(levels) > 1 else []
    ax.set_yticks(range(len(named)), [f"level {level}" for level in named])
    ax.invert_yaxis()
    return _along_text(ax, explanation, "")


def _axes(ax: Axes | None) -> Any:
    pyplot = import_extra("matplotlib.pyplot", "viz")
    return pyplot.subplots(figsize=(9, 3), layout="constrained")[1] if ax is None else ax


def _units(explanation: Explanation) -> Units:
    units = explanation.units
    require(units is not None and len(units) > 1, "the explanation must have several units", units)
    return units  # type: ignore[return-value]


def _along_text(ax: Axes, explanation: Explanation, label: str) -> Axes:
    ax.set(xlabel="characters", ylabel=label, xlim=(0, len(explanation.document.text)))
    ax.spines[["top", "right"]].set_visible(False)
    return ax
