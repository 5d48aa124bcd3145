"""Perplexity chunking: the minima, chunks and merging of the published code, on its figures and by its own loops."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.building.sizes import Limits
from advchunk.chunkers.by_topic.perplexity import PerplexityChunker, minimum_drops
from advchunk.chunkers.model_bases import join_segments
from advchunk.models.causal import per_unit
from advchunk.records import Units
from advchunk.text.counters import WORDS

GOLDEN = json.loads((Path(__file__).parents[3] / "data/golden_perplexity.json").read_text(encoding="utf-8"))
RUNS = [(name, joining, x) for name, both in GOLDEN.items() for joining, run in both.items() for x in run["minima"]]


def find_minima(values, threshold):
    """The function of that name in ``perplexity_chunking.py``."""
    minima = []
    for i in range(1, len(values) - 1):
        if values[i] < values[i - 1] and values[i] < values[i + 1]:
            if (values[i - 1] - values[i] >= threshold) or (values[i + 1] - values[i] >= threshold):
                minima.append(i)
        elif values[i] < values[i - 1] and values[i] == values[i + 1] and values[i - 1] - values[i] >= threshold:
            minima.append(i)
    return minima


def groups(minima, n):
    """Its chunks: each ends with a minimum."""
    ends = [-1, *minima, n - 1]
    return [list(range(a + 1, b + 1)) for a, b in pairwise(ends)]


def merged(groups, words, most):
    """Its dynamic merging, less the empty chunk that it puts before a first one that is too long."""
    joined = [groups[0]]
    for group in groups[1:]:
        if sum(words[i] for i in joined[-1] + group) <= most:
            joined[-1] = joined[-1] + group
        else:
            joined.append(group)
    return joined


class Known:
    """A language model that knows how surprising each sentence is, and says so at its end."""

    model_name = "known"

    def __init__(self, surprise):
        self.surprises = surprise

    def surprise(self, text):
        ends = [i + 1 for i, letter in enumerate(text) if letter == "."]
        return ends, self.surprises


def text_of(words):
    """Sentences of so many words."""
    return "".join("w " * (count - 1) + "w. " for count in words)


def indices(chunks, words):
    starts = np.cumsum([0, *(2 * count + 1 for count in words)]).tolist()
    return [list(range(starts.index(c.start), starts.index(c.end))) for c in chunks]


def chunked(surprise, words, **params):
    chunker = PerplexityChunker(
        layout_weight=0.0, lm=Known(surprise), tokenizer="words", sentence_splitter="plain", **params
    )
    return indices(chunker.chunk(text_of(words)), words)


@pytest.mark.parametrize(("name", "joining", "theta"), RUNS)
def test_the_minima_of_the_published_runs(name, joining, theta):
    run = GOLDEN[name][joining]
    gaps = minimum_drops(np.array(run["surprise"]))
    assert np.flatnonzero((gaps > 0) & (gaps >= float(theta))).tolist() == run["minima"][theta]


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("theta", ["0", "0.3", "0.5"])
def test_the_chunks_of_the_published_runs(name, theta):
    run = GOLDEN[name]["published"]
    words = [3] * len(run["surprise"])
    chunks = chunked(run["surprise"], words, threshold=float(theta), combine=False)
    assert chunks == run["groups"][theta] == groups(run["minima"][theta], len(words))


levels = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.5, 4.0])
documents = st.lists(st.tuples(levels, st.integers(1, 6)), min_size=2, max_size=25)


@given(documents, st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_minima_by_the_published_loop(document, threshold):
    surprise, words = map(list, zip(*document, strict=True))
    minima = find_minima(surprise, threshold)
    assert chunked(surprise, words, threshold=threshold, combine=False) == groups(minima, len(words))


@given(documents, st.integers(1, 40))
def test_merging_by_the_published_loop(document, most):
    surprise, words = map(list, zip(*document, strict=True))
    pieces = groups(find_minima(surprise, 0.0), len(words))
    sizes = np.array(words)
    units = Units(text_of(words), np.r_[0, np.cumsum(2 * sizes + 1)], sizes)
    cuts = np.array([0, *(piece[-1] + 1 for piece in pieces)])
    joined = join_segments(cuts, units, Limits(most, 0, 0, WORDS))
    assert [list(range(a, b)) for a, b in pairwise(joined.tolist())] == merged(pieces, words, most)


@given(
    st.lists(st.integers(0, 30), max_size=12),
    st.lists(st.integers(1, 29), max_size=6, unique=True),
    st.data(),
    st.sampled_from(["cross-entropy", "perplexity"]),
)
def test_surprise_of_units_by_hand(ends, inner, data, measure):
    ends, edges = sorted(ends), [0, *sorted(inner), 30]
    nats = [data.draw(st.sampled_from([np.nan, 0.0, 0.25, 1.0, 3.0])) for _ in ends]
    of = []
    for left, right in pairwise(edges):
        values = [x for end, x in zip(ends, nats, strict=True) if left < end <= right or end == left == 0]
        values = [np.exp(x) if measure == "perplexity" else x for x in values if not np.isnan(x)]
        of.append(sum(values) / len(values) if values else None)
    expected, following = [], None
    for value in reversed(of):
        following = following if value is None else value
        expected.insert(0, following)
    last = next((value for value in reversed(of) if value is not None), 0.0)
    expected = [last if value is None else value for value in expected]
    assert per_unit(np.array(ends, dtype=int), np.array(nats), np.array(edges), measure) == pytest.approx(expected)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_percentile_keeps_its_share_of_the_minima(name):
    """The published threshold is the least drop of all so far, in this document and in those before: it nears 0."""
    run = GOLDEN[name]["published"]
    chunks = chunked(run["surprise"], [3] * len(run["surprise"]), threshold_percentile=50, combine=False)
    assert len(chunks) - 1 == (len(run["minima"]["0"]) + 1) // 2
