"""Plots show the numbers of the explanation."""

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color
from matplotlib.patches import Rectangle

from advchunk import ConfigurationError, MissingExtra, create
from advchunk.cli.viewer import plots

TEXT = (Path(__file__).parents[2] / "data" / "harbour_town.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def no_windows():
    mpl.use("agg")
    yield
    pyplot.close("all")


def explain(name, **params):
    allowed = True if name in {"bayesseg", "graph-partition"} else None
    return create(name, experimental=allowed, **params).explain(TEXT)


def lines_at_cuts(ax, style):
    return [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == style and len(line.get_xdata()) == 2]


def test_a_signal_has_scores_cuts_and_threshold():
    explanation = explain("semantic-threshold", max_tokens=250)
    ax = plots.plot_signal(explanation)
    signal = next(line for line in ax.lines if len(line.get_xdata()) > 2)
    assert signal.get_xdata().tolist() == explanation.units.edges[1:-1].tolist()
    assert signal.get_ydata().tolist() == explanation.segmentation.gaps.tolist()
    by_size = [cut.offset for cut in explanation.cuts if cut.reason == "size"]
    assert by_size
    assert lines_at_cuts(ax, ":") == by_size
    assert lines_at_cuts(ax, "-") == [cut.offset for cut in explanation.cuts if cut.reason != "size"]
    (threshold,) = [line for line in ax.lines if line.get_label() == "threshold"]
    assert threshold.get_ydata()[0] == explanation.figures["threshold"]


def test_a_signal_can_be_a_figure():
    explanation = explain("semantic-threshold")
    ax = plots.plot_signal(explanation, "distances")
    signal = next(line for line in ax.lines if len(line.get_xdata()) > 2)
    assert signal.get_ydata().tolist() == explanation.figures["distances"].tolist()
    assert ax.get_ylabel() == "distances"


def test_a_figure_of_units_is_in_their_middles():
    explanation = explain("semantic-threshold")
    units, segmentation = explanation.units, explanation.segmentation
    changed = replace(explanation, segmentation=replace(segmentation, figures={"own": np.arange(len(units))}))
    signal = next(line for line in plots.plot_signal(changed, "own").lines if len(line.get_xdata()) > 2)
    assert signal.get_xdata()[0] == units.edges[:2].mean()


@pytest.mark.parametrize(
    ("figure", "message"),
    [("", "scores no gaps"), ("likelihood", "figure must be one of log_likelihood"), ("segments", "each unit or gap")],
)
def test_a_signal_that_is_not_there_is_an_error(figure, message):
    with pytest.raises(ConfigurationError, match=message):
        plots.plot_signal(explain("bayesseg"), figure)


def test_a_similarity_matrix_has_a_square_for_each_segment():
    explanation = explain("optimal-semantic")
    ax = plots.plot_similarity(explanation)
    rows, cuts = explanation.segmentation.rows, explanation.segmentation.cuts.tolist()
    assert np.allclose(ax.images[0].get_array(), rows @ rows.T)
    squares = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [(square.get_x(), square.get_y() + square.get_height()) for square in squares] == [
        (start, end) for start, end in pairwise(cuts)
    ]


def test_similarity_needs_vectors():
    with pytest.raises(ConfigurationError, match="needs vectors"):
        plots.plot_similarity(explain("recursive"))


def test_a_tree_has_an_arc_for_each_edge_as_high_as_its_distance():
    explanation = explain("mst-semantic")
    ax = plots.plot_tree(explanation)
    tree, labels, threshold = (explanation.figures[name] for name in ("tree", "labels", "lambda_"))
    (arcs,) = [artist for artist in ax.collections if isinstance(artist, LineCollection)]
    heights = [segment[:, 1].max() for segment in arcs.get_segments()]
    assert np.allclose(sorted(heights), sorted(tree.weight))
    inside = labels[tree.left] == labels[tree.right]
    gray = [same_color(color[:3], "0.55") for color in arcs.get_colors()]
    assert sum(gray) == np.count_nonzero(~inside)
    assert all(height > threshold for height, shade in zip(heights, gray, strict=True) if shade)
    assert ax.lines[0].get_ydata()[0] == threshold


def test_chunks_are_boxes_by_level():
    explanation = explain("hierarchical")
    ax = plots.plot_chunks(explanation)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["level 0", "level 1", "level 2"]
    boxes = [box.vertices[[0, 2], 0].tolist() for artist in ax.collections for box in artist.get_paths()]
    assert sorted(boxes) == sorted([start, end] for chunk in explanation.chunks for start, end in chunk.spans)


def test_passages_of_a_chunk_have_one_color():
    explanation = explain("mst-semantic", n_segments=12)
    grouped = [len(chunk.spans) for chunk in explanation.chunks]
    assert max(grouped) > 1
    assert [len(artist.get_paths()) for artist in plots.plot_chunks(explanation).collections] == grouped


@pytest.mark.parametrize("name", ["plot_signal", "plot_similarity", "plot_chunks"])
def test_a_plot_is_drawn_where_it_is_told(name):
    _, ax = pyplot.subplots()
    assert getattr(plots, name)(explain("semantic-threshold"), ax=ax) is ax


def test_one_unit_has_no_signal():
    with pytest.raises(ConfigurationError, match="several units"):
        plots.plot_signal(create("semantic-threshold").explain("Short."))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    explanation = explain("semantic-threshold")
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"matplotlib is not installed: pip install 'advchunk\[viz\]'"):
        plots.plot_signal(explanation)
