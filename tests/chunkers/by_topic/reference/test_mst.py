"""MST Semantic Chunker, version 2: what the published code gave on the same input, and its formulas by double loop.

The golden figures come from the unmodified ``mstchunker.py`` by way of tools/pack_mst.py.
"""

from dataclasses import replace
from math import exp, inf, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.building import sizes
from advchunk.building.sizes import Limits
from advchunk.chunkers.by_topic import mst
from advchunk.chunkers.by_topic.mst import MSTSemanticChunker, MSTSemanticParams
from advchunk.chunkers.numerics.graphs import Edges
from advchunk.chunkers.params import parameters
from advchunk.models import signals
from advchunk.records import Units
from advchunk.text.counters import WORDS

GOLDEN = np.load(Path(__file__).parents[3] / "data/golden_mst.npz")
NAMES = sorted({key.partition("/")[0] for key in GOLDEN if "/" in key})
PUBLISHED = MSTSemanticParams(preset="published")


def units_of(lengths):
    """Pieces of so many words, and therefore tokens."""
    text = "".join("w " * size for size in lengths)
    return Units(text, np.r_[0, 2 * np.cumsum(lengths)], np.array(lengths))


def limits_of(most):
    return Limits(most, 0, 0, WORDS)


def joined(blocks):
    """All edges of all blocks, in reading order."""
    edges = Edges(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    order = np.lexsort((edges.right, edges.left))
    return Edges(*(part[order] for part in edges))


def segmented(vectors, lengths, **params):
    chunker = MSTSemanticChunker(preset="published", **params)
    return chunker.segment(units_of(lengths), vectors, limits_of(10**9))


class Golden:
    def __init__(self, name):
        self.name = name

    def __getattr__(self, key):
        return GOLDEN[f"{self.name}/{key}"]


@pytest.fixture(params=NAMES)
def golden(request):
    return Golden(request.param)


def test_the_published_figures(golden):
    assert mst.document_stats(golden.vectors, golden.sizes, PUBLISHED) == pytest.approx(golden.figures, abs=1e-6)


def test_the_published_distance_of_every_pair(golden):
    of = mst.document_stats(golden.vectors, golden.sizes, PUBLISHED)
    edges = joined(mst.edges_within(golden.vectors, golden.sizes, of, inf, PUBLISHED))
    assert edges.weight == pytest.approx(golden.edges, abs=1e-6)


def test_the_published_components_also_at_other_lambdas(golden):
    assert segmented(golden.vectors, golden.sizes.tolist()).labels.tolist() == golden.labels.tolist()
    for lambda_, expected in zip(golden.lambdas.tolist(), golden.labels_at, strict=True):
        just_over = lambda_ + 1e-6  # some are the very weight of an edge, which float32 may put on either side
        segmentation = segmented(golden.vectors, golden.sizes.tolist(), lambda_=just_over)
        assert segmentation.labels.tolist() == expected.tolist()


def test_the_published_tree(golden):
    tree = segmented(golden.vectors, golden.sizes.tolist()).figures["tree"]()
    assert tree.weight == pytest.approx(golden.tree, abs=1e-6)


def test_the_published_chunks(golden):
    units = units_of(golden.sizes.tolist())
    expected = [np.flatnonzero(golden.chunks == first).tolist() for first in np.unique(golden.chunks)]
    assert pieces(sizes.assemble_groups(units, golden.labels, limits_of(400)), units) == expected


def test_the_published_lambda_of_a_mean():
    mean, expected = GOLDEN["lambda_of_mean"].T
    assert [mst.adaptive_lambda(m, PUBLISHED) for m in mean] == pytest.approx(expected, rel=1e-6, abs=1e-12)


# The formulas, pair by pair.


def slow(rows, lengths, p):
    """Return profile and the distance of every pair, as the paper writes them."""
    n = len(rows)
    reach = min(max(p.base_threshold, int(n * p.scaling_factor)), n)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, min(i + reach, n))]
    cosine = {(i, j): 1 - float(rows[i] @ rows[j]) for i, j in pairs}
    rho = 1 - sum(cosine.values()) / len(pairs)
    phi = sum(size < p.short_factor * sum(lengths) / n for size in lengths) / n
    semantic = p.semantic_base + p.semantic_density * rho
    locality = p.locality_base + exp(-p.locality_density * rho - p.locality_fragmentation * phi)
    vicinity = p.vicinity_base + p.vicinity_scale * exp(p.vicinity_rate * (phi - p.vicinity_pivot))
    distance = {}
    for i, j in pairs:
        d, a, b, reward = j - i, max(lengths[i], p.min_len), max(lengths[j], p.min_len), 0.0
        if d <= p.long_term_window and a < p.short_threshold and b < p.short_threshold:
            reward -= p.vicinity_reward * exp(-min(a, b) / p.short_threshold)
        if d == p.immediate_window and a < p.short_threshold:
            reward -= p.heading_reward * exp(-a / p.short_threshold)
        penalty = p.gamma * d * log(1 + d / 2)
        distance[i, j] = cosine[i, j] * semantic + penalty * locality + reward * vicinity
    mean = sum(distance.values()) / len(pairs)
    if p.lambda_ is not None:
        lambda_ = p.lambda_
    elif 1 - rho < 1e-6:
        lambda_ = inf
    elif mean <= 0:
        lambda_ = 0.0
    else:
        lambda_ = mean ** (p.alpha_slope * mean + p.alpha_base) * exp(-p.lambda_decay / mean)
    return (reach, rho, phi, semantic, locality, vicinity, mean, lambda_), distance


def kruskal(n, weighted):
    """Return the tree of edges (weight, left, right), lightest first, equal ones in reading order."""
    parent, tree = list(range(n)), []

    def root(i):
        return i if parent[i] == i else root(parent[i])

    for weight, left, right in sorted(weighted):
        a, b = root(left), root(right)
        if a != b:
            parent[max(a, b)] = min(a, b)
            tree.append((weight, left, right))
    return tree, [root(i) for i in range(n)]


def labeled(n, weighted):
    return kruskal(n, weighted)[1]


OTHER = [
    {},
    {"gamma": 0.0},
    {"gamma": 0.0, "vicinity_reward": 0.0, "heading_reward": 0.0},
    {"base_threshold": 2},
    {"base_threshold": 400},
    {"scaling_factor": 0.4, "long_term_window": 4, "immediate_window": 3},
    {"long_term_window": 0, "immediate_window": 0},
    {"long_term_window": 1, "immediate_window": 3},
    {"short_factor": 1.0},
    {"min_len": 40, "short_threshold": 50, "short_factor": 0.9},
    {"semantic_base": 0.9, "semantic_density": 0.1, "vicinity_base": 0.3, "vicinity_rate": -1.0},
    {"alpha_slope": 1.0, "alpha_base": 0.5, "lambda_decay": 0.3, "locality_fragmentation": 0.1},
    {"lambda_": 0.25},
]
params = st.sampled_from(OTHER).map(lambda values: MSTSemanticParams(**values))


@st.composite
def documents(draw, most=40):
    """Unit rows around a few topics, and lengths on both sides of every limit."""
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    topics = rng.normal(size=(draw(st.integers(1, 4)), 3))
    rows = topics[rng.integers(len(topics), size=n)] + draw(st.sampled_from([0.0, 0.1, 1.0])) * rng.normal(size=(n, 3))
    return signals.unit_rows(rows), rng.choice([1, 3, 5, 8, 40, 79, 80, 81, 200], size=n)


@given(documents(), params)
def test_profile(document, p):
    figures, _ = slow(*document, p)
    assert mst.document_stats(*document, p) == pytest.approx(figures, rel=1e-9, abs=1e-9)


@given(documents(), params, st.sampled_from([-0.4, 0.0, 0.2, 0.5, 1.0, inf]))
def test_near_finds_all_pairs_within_the_limit(document, p, limit):
    of = mst.document_stats(*document, p)
    _, distance = slow(*document, p)
    edges = joined([NONE, *mst.edges_within(*document, of, limit, p)])
    pairs = list(zip(edges.left.tolist(), edges.right.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert dict(zip(pairs, edges.weight, strict=True)) == pytest.approx({k: distance[k] for k in pairs}, abs=1e-9)
    assert all(weight <= limit for weight in edges.weight)
    assert all(distance[pair] > limit - 1e-9 for pair in distance.keys() - set(pairs))


NONE = Edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@pytest.mark.parametrize("problem", [{}, {"base_threshold": 150}, {"gamma": 0.0, "base_threshold": 150}], ids=str)
@pytest.mark.parametrize("limit", [0.1, inf])
def test_near_across_blocks_of_rows(problem, limit):
    rng, p = np.random.default_rng(3), MSTSemanticParams(**problem)
    document = signals.unit_rows(rng.normal(size=(200, 3)) + 1).astype(np.float32), rng.integers(1, 200, 200)
    _, distance = slow(*document, p)
    edges = joined(mst.edges_within(*document, mst.document_stats(*document, p), limit, p))
    expected = {pair for pair, weight in distance.items() if weight <= limit}
    assert set(zip(edges.left.tolist(), edges.right.tolist(), strict=True)) == expected


@given(documents(most=199), st.sampled_from([{}, {"gamma": 0.0}]))
def test_below_200_pieces_the_default_is_as_published(document, values):
    rows, lengths = document
    default = MSTSemanticChunker(**values).segment(units_of(lengths), rows, limits_of(10**9))
    published = segmented(rows, lengths.tolist(), **values)
    assert default.labels.tolist() == published.labels.tolist()
    assert default.figures["lambda_"] == published.figures["lambda_"]


@given(documents(), params)
def test_components_are_those_of_the_pruned_tree(document, p):
    """The published way round: build the tree of all pairs, then cut what is over lambda."""
    rows, lengths = document
    of = mst.document_stats(rows, lengths, p)
    every = joined(mst.edges_within(rows, lengths, of, inf, p))
    tree, _ = kruskal(len(rows), zip(every.weight.tolist(), every.left.tolist(), every.right.tolist(), strict=True))
    segmentation = MSTSemanticChunker(**parameters(p)).segment(units_of(lengths), rows, limits_of(10**9))
    assert segmentation.labels.tolist() == labeled(len(rows), [edge for edge in tree if edge[0] <= of.lambda_])
    drawn = segmentation.figures["tree"]()
    assert list(zip(drawn.weight, drawn.left, drawn.right, strict=True)) == tree


@given(documents(), st.integers(40, 500), st.sampled_from([0, 15]), st.randoms())
def test_even_components_join_the_nearest_pieces_that_fit(document, most, context, random):
    """Kruskal over sets of pieces; a heading and the piece below it are together from the start."""
    rows, lengths = document
    n, p = len(rows), MSTSemanticParams()
    is_heading = [random.random() < 0.2 for _ in range(n - 1)]
    strength = np.array([1, *(-1 if heading else 1 for heading in is_heading), 1])
    units = replace(units_of(lengths), strength=strength)
    limits = replace(limits_of(most), context=lambda _: ("", context))

    groups = [{0}]
    for i in range(1, n):
        if is_heading[i - 1]:
            groups[-1].add(i)
        else:
            groups.append({i})
    every = joined(
        mst.edges_within(rows, lengths, mst.document_stats(rows, lengths, p), inf, p)
    )  # so that ties are the same
    for _, i, j in sorted(zip(every.weight.tolist(), every.left.tolist(), every.right.tolist(), strict=True)):
        a, b = (next(group for group in groups if piece in group) for piece in (i, j))
        if a is not b and sum(lengths[piece] for piece in a | b) <= most - context:
            groups = [group for group in groups if group not in (a, b)] + [a | b]

    labels = MSTSemanticChunker(preset="even").segment(units, rows, limits).labels.tolist()
    assert labels == [min(next(group for group in groups if i in group)) for i in range(n)]


@given(documents(most=15), st.integers(1, 17))
def test_n_segments_keeps_the_lightest_edges_of_the_tree(document, number):
    rows, lengths = document
    n = len(rows)
    tree, _ = kruskal(n, [(w, i, j) for (i, j), w in slow(rows, lengths, PUBLISHED)[1].items()])
    segmentation = segmented(rows, lengths.tolist(), n_segments=number)
    assert len(set(segmentation.labels.tolist())) == min(number, n)
    kept = segmentation.figures["tree"]().lightest(n - min(number, n))
    assert kept.weight == pytest.approx([weight for weight, *_ in tree][: len(kept.weight)], abs=1e-9)
    assert segmentation.labels.tolist() == labeled(n, zip(kept.weight, kept.left, kept.right, strict=True))


def pieces(chunks, units):
    """The indices of the units in each chunk."""
    place = {edge: i for i, edge in enumerate(units.edges.tolist())}
    return [[i for a, b in chunk.spans for i in range(place[a], place[b])] for chunk in chunks]


def test_a_short_piece_joins_its_neighbor_in_the_text():
    """And not in the list of components, where the two of the first come before it."""
    units = units_of([5, 2, 5])
    chunks = sizes.assemble_groups(units, np.array([0, 1, 0]), replace(limits_of(7), min_tokens=3))
    assert pieces(chunks, units) == [[0, 1], [2]]


# Where the published formulas are undefined.


@pytest.mark.parametrize(("mean", "expected"), [(0.0, 0), (-0.3, 0), (2000.0, inf)])
def test_lambda_of_no_distance_and_of_a_huge_one(mean, expected):
    assert mst.adaptive_lambda(mean, PUBLISHED) == expected


@pytest.mark.parametrize("size", [8, 300])
def test_identical_pieces_are_one_group(size):
    """The published code makes a chunk of each (failures.json, "ten_identical_short_sentences")."""
    segmentation = segmented(np.tile([[0.6, 0.8]], (10, 1)), [size] * 10)
    assert segmentation.figures["lambda_"] == inf
    assert set(segmentation.labels.tolist()) == {0}


def test_a_negative_mean_distance_connects_negative_distances():
    """The published lambda is nan here (failures.json, "two_short_similar")."""
    rows = np.array([[1.0, 0.0], [0.9043516691288959, (1 - 0.9043516691288959**2) ** 0.5]])
    segmentation = segmented(rows, [8, 8])
    assert segmentation.figures["mean_distance"] < 0
    assert segmentation.figures["lambda_"] == 0
    assert segmentation.labels.tolist() == [0, 0]


def test_a_piece_without_a_vector_leaves_the_others_as_they_are():
    """The published density is nan then, and every piece a chunk of its own."""
    rng = np.random.default_rng(5)
    rows = signals.unit_rows(np.repeat([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 6, axis=0) + 0.05 * rng.normal(size=(12, 3)))
    rows[4] = 0
    lengths = [200] * 12
    segmentation = segmented(rows, lengths)
    assert segmentation.labels.tolist() == [0, 0, 0, 0, 4, 0, 6, 6, 6, 6, 6, 6]
    expected, _ = slow(rows, lengths, PUBLISHED)
    assert [segmentation.figures[name] for name in mst.DocumentStats._fields] == pytest.approx(expected)
