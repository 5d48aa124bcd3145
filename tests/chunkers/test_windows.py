"""Windows: where a long text is cut in them, what each chunker finds in them, and what they cost."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import create
from advchunk.building.sizes import check_segmentation
from advchunk.chunkers.experimental.partition import GraphPartitionChunker
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.windows import segment_windows
from advchunk.evaluation import boundary_scores, synthetic
from advchunk.models.signals import unit_rows
from advchunk.records import Segmentation

CHUNKER = GraphPartitionChunker(max_units=16)


def cut_at(*inner, scores=None):
    """Return a function that cuts a part of a text at those of the ``inner`` cuts of the whole that are in it."""

    def segment(start, end):
        cuts = cutting.cuts_at(np.array([cut - start for cut in inner if start < cut < end]), end - start)
        gaps = None if scores is None else np.array(scores[start : end - 1])
        return Segmentation(cuts, reason=[f"at {start + cut}" for cut in cuts[1:-1]], gaps=gaps)

    return segment


# What is made of the windows.


@given(st.sets(st.integers(1, 99)), st.integers(8, 120))
def test_an_algorithm_that_sees_what_is_near_cuts_as_at_once(inner, most):
    segmentation = segment_windows(GraphPartitionChunker(max_units=most), 100, cut_at(*inner, scores=np.arange(99.0)))
    assert segmentation.cuts.tolist() == [0, *sorted(inner), 100]
    assert segmentation.gaps.tolist() == list(range(99))
    if len(inner) > 1:
        assert [*segmentation.reason] == [f"at {cut}" for cut in sorted(inner)]


def test_a_window_starts_at_the_last_cut_before_the_last_quarter_of_the_one_before():
    segmentation = segment_windows(CHUNKER, 40, cut_at(3, 9, 11, 14, 29))
    places = [(window["start"], window["stop"]) for window in segmentation.figures["windows"]]
    assert places == [(0, 11), (11, 23), (23, 35), (35, 40)]  # there is no cut from unit 19 to 23, and from 31 to 35
    assert segmentation.cuts.tolist() == [0, 3, 9, 11, 14, 29, 40]


def test_cuts_in_the_last_quarter_of_a_window_are_discarded():
    def segment(start, end):
        return Segmentation(np.array([0, end - start - 2, end - start]))

    assert segment_windows(CHUNKER, 40, segment).cuts.tolist() == [0, 38, 40]


@pytest.mark.parametrize("inner", [(), (1,), range(1, 1000, 50), range(1, 1000)])
@pytest.mark.parametrize("most", [8, 9, 31, 400])
def test_windows_repeat_less_than_the_text(inner, most):
    seen = []

    def segment(start, end):
        seen.append(end - start)
        return cut_at(*inner)(start, end)

    segment_windows(GraphPartitionChunker(max_units=most), 1000, segment)
    assert max(seen) == most
    assert sum(seen) < 2 * 1000 + most


def test_labels_of_two_windows_differ():
    def segment(start, end):
        labels = np.arange(start, end) // 5 % 2
        return Segmentation(cutting.run_cuts(labels), labels, reason="label")

    segmentation = segment_windows(CHUNKER, 30, segment)
    assert segmentation.labels.tolist() == np.repeat(np.arange(6), 5).tolist()
    assert segmentation.cuts.tolist() == [*range(0, 31, 5)]
    assert segmentation.reason == "label"


@pytest.mark.parametrize("name", ["bayesseg", "c99"])
def test_a_number_of_segments_is_not_divided_among_windows(name, caplog):
    text = synthetic(5, segments=3, sentences=(30, 30), overlap=0.1)
    chunker = create(name, experimental=True, n_segments=3, max_units=30, min_tokens=0, fallback=None)
    assert chunker.segmentation(text.units).cuts.tolist() == text.cuts.tolist()
    assert f"{name} segments 90 sentences at once, because n_segments is given" in caplog.text


def test_windows_are_logged_and_a_text_of_max_units_has_none(caplog):
    text = synthetic(0, segments=10, sentences=(4, 4), overlap=0.0)
    whole = create("bayesseg", experimental=True, max_units=None, min_segment_tokens=0).segmentation(text.units)
    at_once = create("bayesseg", experimental=True, max_units=40, min_segment_tokens=0).segmentation(text.units)
    assert not caplog.records
    assert at_once.cuts.tolist() == whole.cuts.tolist()
    assert at_once.figures["log_likelihood"] == whole.figures["log_likelihood"]
    create("bayesseg", experimental=True, max_units=39, min_segment_tokens=0).segmentation(text.units)
    assert caplog.messages == ["bayesseg segments 40 sentences in windows of max_units = 39"]


# What is found in them.


def near_topics(text):
    """Return an embedder that gives each sentence a vector near that of its topic."""
    rng, n = np.random.default_rng(0), len(text.units)
    topics = np.repeat(rng.standard_normal((len(text.cuts) - 1, 64)), np.diff(text.cuts), axis=0)
    rows = dict(zip(text.units.strings(), unit_rows(topics + 0.5 * rng.standard_normal((n, 64))), strict=True))
    return lambda asked: np.array([rows.get(sentence, topics[0]) for sentence in asked])


FINDERS = {
    "bayesseg": {"min_segment_tokens": 0},
    "bayesseg of n": {"min_segment_tokens": 0, "n_segments": 40},
    "c99": {"min_segment_length": 0},
    "lda-topic": {"preset": "depth", "samples": 3},
    "semantic-cluster by hdbscan": {"method": "hdbscan"},
    "semantic-cluster on the chain": {"connectivity": "chain", "n_clusters": 40},
    "semantic-cluster": {"preset": "chain"},
    "graph-partition": {"preset": "neighbors"},
}


@pytest.mark.slow
@pytest.mark.parametrize("label", FINDERS)
def test_planted_topics_are_found_in_windows(label):
    name = re.match(r"[a-z0-9-]+", label)[0]
    text = synthetic(3, segments=40, sentences=(10, 20), overlap=0.1)
    embeds = name in ("semantic-cluster", "graph-partition")
    params = FINDERS[label] | ({"embedder": near_topics(text)} if embeds else {})
    segmentation = create(name, experimental=True, fallback=None, max_units=150, **params).segmentation(text.units)
    check_segmentation(text.units, segmentation, "windows")
    is_whole = label == "semantic-cluster" or "n_segments" in params or "n_clusters" in params
    assert ("windows" in segmentation.figures) != is_whole
    assert boundary_scores(text.cuts, segmentation.cuts, tolerance=1).f1 > 0.9


@pytest.mark.parametrize("contiguous", [True, False])
def test_chunks_of_a_text_in_windows_hold_all_of_it(contiguous):
    text = synthetic(4, segments=12, sentences=(6, 10), overlap=0.1)
    chunker = GraphPartitionChunker(
        embedder=near_topics(text), preset="neighbors", max_units=30, contiguous=contiguous, fallback=None
    )
    spans = sorted(span for chunk in chunker.chunk(text.units.text) for span in chunk.spans)
    assert [0, *(end for _, end in spans)] == [*(start for start, _ in spans), len(text.units.text)]
