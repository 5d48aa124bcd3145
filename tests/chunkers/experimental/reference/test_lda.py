"""LDA topics: scipy's divergence, TopicTiling's own output, and slow twins of what is fast."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from advchunk.chunkers.experimental.lda import LDATopicChunker
from advchunk.chunkers.experimental.topics import Topics, train
from advchunk.chunkers.numerics import cutting
from advchunk.models import signals
from advchunk.text.terms import Terms

relaxed = settings(max_examples=100)
GOLDEN = Path(__file__).parents[3] / "data" / "golden_topictiling.npz"


def golden(kind, *names):
    """Return TopicTiling's (Java, w=2) figures of twenty of Choi's texts."""
    with np.load(GOLDEN) as stored:
        parts = [np.split(stored[f"{kind}_{name}"], stored[f"{kind}_{name}_edges"][1:-1]) for name in names]
    return zip(*parts, strict=True)


def counts(n):
    return arrays(np.float64, (n, 4), elements=st.integers(0, 5).map(float)).map(lambda x: x + np.eye(4)[0])


@relaxed
@given(st.integers(1, 6).flatmap(lambda n: st.tuples(counts(n), counts(n))))
def test_divergence_is_scipys_in_bits(both):
    p, q = both
    assert signals.jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q, base=2, axis=1) ** 2, abs=1e-12)


@relaxed
@given(st.integers(2, 9).flatmap(counts), st.integers(1, 12))
def test_sums_around_a_gap_are_those_of_the_blocks_beside_it(rows, width):
    before, after = signals.window_sums(rows, width)
    for gap in range(1, len(rows)):
        assert before[gap - 1].tolist() == rows[max(gap - width, 0) : gap].sum(axis=0).tolist()
        assert after[gap - 1].tolist() == rows[gap : gap + width].sum(axis=0).tolist()


def terms(units, size):
    return Terms(np.concatenate(units), np.cumsum([0, *map(len, units)]), size)


def inferred_word_by_word(topics, unit):
    """Infer the topics of one unit, by the formula."""
    shares = [topics.shares[:, word] * topics.prior for word in unit]
    shares = [x / x.sum() for x in shares]
    for _ in range(100):
        before = shares
        shares = [topics.shares[:, w] * (topics.prior + sum(before) - x) for w, x in zip(unit, before, strict=True)]
        shares = [x / x.sum() for x in shares]
        if max(np.abs(x - y).max() for x, y in zip(before, shares, strict=True)) < 1e-9:
            break
    return sum(shares), sum(np.eye(len(topics.prior))[x.argmax()] for x in shares)


def test_topics_are_inferred_as_word_by_word():
    rng = np.random.default_rng(1)
    topics = Topics(rng.dirichlet(np.full(12, 0.1), 3) + 1e-4, np.array([0.2, 0.5, 0.1]))
    units = [rng.integers(0, 12, size) for size in (1, 0, 2, 5, 9)]
    expected, likeliest = topics.infer(terms(units, 12))
    for i, unit in enumerate(units):
        if not len(unit):
            assert expected[i].tolist() == likeliest[i].tolist() == [0, 0, 0]
            continue
        slow, mode = inferred_word_by_word(topics, unit)
        assert expected[i] == pytest.approx(slow, abs=0.02)  # where both stop
        assert likeliest[i].tolist() == mode.tolist()


def test_the_sampler_finds_what_scikit_learn_finds():
    from sklearn.decomposition import LatentDirichletAllocation

    rng = np.random.default_rng(0)
    truth = np.repeat(np.eye(3), 5, axis=1) / 5  # three topics of five words
    words = terms([rng.choice(15, 30, p=truth[i % 3]) for i in range(60)], 15)
    ours = train(words, num_topics=3, iterations=100, seed=0, tolerance=1.0).shares
    peer = LatentDirichletAllocation(3, random_state=0).fit(words.counts()).components_
    peer = peer / peer.sum(axis=1, keepdims=True)
    nearest = [min(np.abs(row - other).sum() for other in peer) for row in ours]
    assert max(nearest) < 0.1
    assert sorted(ours.argmax(axis=1) // 5) == [0, 1, 2]


def test_depths_are_those_of_topictiling():
    for sim, minima, depth in golden("auto", "sim", "minima", "depth"):
        assert signals.depth_scores(sim)[minima] / 2 == pytest.approx(depth, abs=1e-9)


def test_valleys_equal_topictiling_except_outermost_and_flat_ones():
    for sim, minima in golden("auto", "sim", "minima"):
        inner = sim[1:-1]
        flat = np.flatnonzero(np.diff(sim) == 0)
        apart = {int(i) for i in np.r_[flat, flat + 1]}
        ours = set((cutting.find_peaks(-sim)).tolist()) - {0, len(inner) + 1}
        assert ours - apart == set(minima.tolist()) - apart


def test_with_a_number_of_segments_known_the_deepest_valleys_are_topictilings():
    chunker, same = LDATopicChunker(n_segments=10), 0
    for sim, segments in golden("known", "sim", "segments"):
        peaks, _, _ = chunker._select(1 - sim)
        same += len(set(peaks.tolist()) & set(segments[:-1].tolist()))
    assert same / (20 * 9) > 0.8  # the rest: flat valleys, of which it cuts the end, and many ties at depth 1
