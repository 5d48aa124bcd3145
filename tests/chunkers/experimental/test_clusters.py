"""Semantic clusters and graph partition: what they find where the answer is known, and what each parameter does."""

import re
import sys

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN

from advchunk.chunkers.experimental.clusters import SemanticClusterChunker
from advchunk.chunkers.experimental.partition import GraphPartitionChunker
from advchunk.chunkers.numerics import graphs
from advchunk.errors import ConfigurationError, MissingExtra
from advchunk.evaluation import boundary_scores
from advchunk.evaluation.data.segmented_text import join_sentences
from advchunk.models.signals import unit_rows

FINDERS = {
    "hac": (SemanticClusterChunker, {"n_clusters": 4}),
    "hac average": (SemanticClusterChunker, {"n_clusters": 4, "linkage": "average"}),
    "hac complete": (SemanticClusterChunker, {"n_clusters": 4, "linkage": "complete"}),
    "hac by distance": (SemanticClusterChunker, {"distance_threshold": 1.9}),
    "hdbscan": (SemanticClusterChunker, {"method": "hdbscan"}),
    "chain": (SemanticClusterChunker, {"preset": "chain"}),
    "louvain": (GraphPartitionChunker, {}),
    "leiden": (GraphPartitionChunker, {"method": "leiden"}),
    "neighbors": (GraphPartitionChunker, {"preset": "neighbors", "neighbors": 2, "resolution": 0.1}),
}


def embed_rows(rows, seed=0, noise=0.05, dimensions=16):
    """Sentences, and an embedder that gives each the row of its number, with noise."""
    rng = np.random.default_rng(seed)
    noisy = unit_rows(np.eye(dimensions)[rows] + rng.normal(size=(len(rows), dimensions)) * noise)
    sentences = [f"Sentence number {i} is this. " for i in range(len(rows))]

    def embed(texts):
        numbers = [re.search(r"\d+", text) for text in texts]
        return np.array([noisy[int(number[0])] if number else noisy[0] for number in numbers])

    return sentences, embed


def planted(topics, lengths, **noise):
    sentences, embed = embed_rows(np.repeat(topics, lengths), **noise)
    return join_sentences(sentences, np.cumsum([0, *lengths]).tolist()), embed


@pytest.fixture(params=FINDERS)
def finder(request):
    chunker, params = FINDERS[request.param]
    return lambda **more: chunker(**{"fallback": None, **params, **more})


# Boundary accuracy.


@pytest.mark.parametrize("lengths", [[9, 12, 8, 10, 11], [3, 60, 3, 25, 40]], ids=["even", "very short and very long"])
@pytest.mark.parametrize("seed", range(2))
def test_planted_boundaries_are_found(finder, lengths, seed):
    """Four topics, of which one comes back."""
    made, embed = planted([0, 1, 2, 0, 3], lengths, seed=seed)
    scores = boundary_scores(made.cuts, finder(embedder=embed).segmentation(made.units).cuts)
    assert (scores.precision, scores.recall) == (1.0, 1.0)


# From clusters to chunks.


@pytest.mark.parametrize("chunker", [SemanticClusterChunker(n_clusters=2), GraphPartitionChunker()])
def test_members_that_are_apart_are_separate_chunks_in_the_order_of_the_text(chunker):
    made, embed = planted([0, 1, 0], [4, 5, 6])
    chunker.embedder = embed
    chunks = chunker.chunk(made.units.text)
    assert [chunk.text.count(".") for chunk in chunks] == [4, 5, 6]
    assert "".join(chunk.text for chunk in chunks) == made.units.text


@pytest.mark.parametrize(
    "chunker", [SemanticClusterChunker(n_clusters=2, contiguous=False), GraphPartitionChunker(contiguous=False)]
)
def test_or_together_if_chunks_need_not_be_passages(chunker):
    made, embed = planted([0, 1, 0], [4, 5, 6])
    chunker.embedder = embed
    first, second = chunker.chunk(made.units.text)
    assert [chunk.text.count(".") for chunk in (first, second)] == [10, 5]
    assert len(first.spans) == 2
    assert first.start == 0


def test_the_number_of_clusters_follows_from_the_tokens_of_a_segment():
    made, embed = planted([0, 1, 2, 3], [10, 10, 10, 10])
    for tokens, number in ((200, 1), (199, 2), (100, 2), (67, 3), (50, 4)):
        for connectivity in ("none", "chain"):
            params = {"max_tokens_per_segment": tokens, "connectivity": connectivity}
            chunker = SemanticClusterChunker(embedder=embed, tokenizer="words", **params)
            assert chunker.segmentation(made.units).figures["clusters"] == number


def test_runs_of_fewer_than_min_cluster_size_join_the_more_similar_neighbor():
    rows = np.array([0] * 6 + [1] * 6)
    rows[2], rows[8] = 1, 0
    sentences, embed = embed_rows(rows)
    made = join_sentences(sentences, [0, 12])
    options = {"embedder": embed, "n_clusters": 2}
    assert SemanticClusterChunker(**options).segmentation(made.units).cuts.tolist() == [0, 6, 12]
    single = SemanticClusterChunker(**options, min_cluster_size=1).segmentation(made.units).cuts.tolist()
    assert single == [0, 2, 3, 6, 8, 9, 12]
    options = {"embedder": embed}
    assert GraphPartitionChunker(**options, min_run=2).segmentation(made.units).cuts.tolist() == [0, 6, 12]
    assert len(GraphPartitionChunker(**options).segmentation(made.units).cuts) == 7


def test_hdbscan_keeps_to_min_cluster_size():
    made, embed = planted([0, 1, 2], [9, 4, 9], noise=0.02)
    counts = {
        size: SemanticClusterChunker(embedder=embed, method="hdbscan", min_cluster_size=size).segmentation(made.units)
        for size in (3, 6)
    }
    assert counts[3].cuts.tolist() == [0, 9, 13, 22]
    assert counts[6].figures["clusters"] == 2
    labels = HDBSCAN(min_cluster_size=6, copy=True).fit(embed(made.units.strings())).labels_
    assert counts[6].figures["labels"].tolist() == labels.tolist()


@pytest.mark.parametrize("chunker", [SemanticClusterChunker(distance_threshold=1.9), GraphPartitionChunker()])
def test_centering_removes_the_mean_vector(chunker):
    rng = np.random.default_rng(0)
    rows = np.eye(6)[np.repeat([0, 1], 8)] + 3 * np.eye(6)[5] + rng.normal(size=(16, 6)) * 0.05
    made = join_sentences([f"Sentence {i}. " for i in range(16)], [0, 8, 16])
    chunker.embedder = lambda _: rows
    assert chunker.segmentation(made.units).cuts.tolist() == [0, 16]
    chunker.center = True
    assert chunker.segmentation(made.units).cuts.tolist() == [0, 8, 16]


def test_edges_connect_cosines_above_the_threshold():
    rows = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0], [0.0, 0.65, 0.76]])
    made = join_sentences(["Aa. ", "Bb. ", "Cc. ", "Dd. "], [0, 4])
    segmentation = GraphPartitionChunker(embedder=lambda _: rows).segmentation(made.units)
    left, right, weight = segmentation.figures["edges"]
    assert (left.tolist(), right.tolist()) == ([0, 2], [1, 3])
    assert weight == pytest.approx([0.8, 0.76 / np.hypot(0.65, 0.76)], abs=1e-6)
    assert segmentation.cuts.tolist() == [0, 2, 4]
    assert (segmentation.figures["communities"], segmentation.figures["isolated"]) == (2, 0)
    alone = GraphPartitionChunker(embedder=lambda _: rows, threshold=0.79).segmentation(made.units)
    assert (alone.figures["communities"], alone.figures["isolated"]) == (1, 2)


def test_the_seed_is_of_the_order_in_which_communities_grow():
    made, embed = planted([0, 1, 2, 3], [12] * 4, noise=0.9)
    partitions = {}
    for seed in range(5):
        chunker = GraphPartitionChunker(embedder=embed, neighbors=4, threshold=0.0, resolution=1.2, seed=seed)
        figures = chunker.segmentation(made.units).figures
        partitions[seed] = tuple(figures["labels"].tolist())
        assert partitions[seed] == tuple(graphs.detect_communities(48, figures["edges"], "louvain", 1.2, seed).tolist())
    assert len(set(partitions.values())) > 1


# What can be wrong with the input.


@pytest.mark.parametrize("number", [2, 3, 4, 30])
def test_identical_sentences_are_never_separated(finder, number):
    made = join_sentences([f"Sentence {i}. " for i in range(number)], [0, number])
    chunker = finder(embedder=lambda texts: np.array([[0.6, 0.8]] * len(texts)))
    assert chunker.segmentation(made.units).cuts.tolist() == [0, number]


@pytest.mark.parametrize("name", ["hac", "hac by distance", "hdbscan", "chain", "louvain", "leiden", "neighbors"])
def test_zero_vectors_are_never_separated(name):
    chunker, params = FINDERS[name]
    made = join_sentences([f"Sentence {i}. " for i in range(30)], [0, 30])
    instance = chunker(embedder=lambda texts: np.zeros((len(texts), 2)), fallback=None, **params)
    assert instance.segmentation(made.units).cuts.tolist() == [0, 30]


@pytest.mark.parametrize("linkage", ["average", "complete"])
def test_a_row_of_zeros_is_unlike_all_by_cosine(linkage):
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    made = join_sentences(["Aa. ", "Bb. ", "Cc. ", "Dd. "], [0, 4])
    chunker = SemanticClusterChunker(
        embedder=lambda _: rows, linkage=linkage, distance_threshold=0.5, min_cluster_size=1
    )
    assert chunker.segmentation(made.units).cuts.tolist() == [0, 2, 3, 4]


# Configuration.


@pytest.mark.parametrize(
    ("chunker", "params", "rule"),
    [
        (
            SemanticClusterChunker,
            {"min_cluster_size": 1, "method": "hdbscan"},
            "min_cluster_size must be >= 2 with method='hdbscan', got 1",
        ),
        (SemanticClusterChunker, {"max_tokens_per_segment": 9, "min_tokens": 10}, "min_tokens must be in 0"),
        (SemanticClusterChunker, {"n_clusters": 2, "distance_threshold": 1.0}, "only one of n_clusters and"),
        (SemanticClusterChunker, {"n_clusters": 2, "method": "hdbscan"}, "n_clusters can be given with method='hac'"),
        (SemanticClusterChunker, {"connectivity": "chain", "linkage": "average"}, "linkage must be 'ward'"),
        (SemanticClusterChunker, {"connectivity": "chain", "method": "hdbscan"}, "connectivity can be given with"),
    ],
)
def test_a_bad_parameter_states_rule_and_value(chunker, params, rule):
    with pytest.raises(ConfigurationError, match=re.escape(rule)):
        chunker(**params)


@pytest.mark.parametrize(
    ("module", "chunker", "extra"),
    [
        ("sklearn.cluster", SemanticClusterChunker(method="hdbscan"), "cluster"),
        ("networkx", GraphPartitionChunker(), "graph"),
        ("graspologic_native", GraphPartitionChunker(method="leiden"), "leiden"),
    ],
)
def test_a_missing_library_is_an_error_that_names_the_extra_and_no_case_for_the_fallback(
    monkeypatch, module, chunker, extra
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"advchunk\[{extra}\]"):
        chunker.chunk("One. Two. Three.")


# Where they fail.


def test_too_many_edges_are_left_to_the_fallback(monkeypatch, caplog):
    made, embed = planted([0, 1], [5, 5])
    monkeypatch.setattr(graphs, "_MAX_EDGES", 19)
    (chunk,) = GraphPartitionChunker(embedder=embed).chunk(made.units.text)
    assert chunk.metadata["fallback_from"] == "graph-partition"
    assert "threshold must leave at most 19 pairs" in caplog.text
    assert len(GraphPartitionChunker(embedder=embed, fallback=None, neighbors=2).chunk(made.units.text)) == 2


REPEATED = """Road rain stock. Rain cat oven. Court sun snow. Sun bread king. Road court sun. Tax bread ship.
Court king sail. Tree rain ship. Law tax snow. Bread cat queen. Snow court sail. Oven dog sail. Tax king ice. Stock rain tree.
Cat bread ship. Tax ship sun. Rain cat queen. Oven snow law. Tree king rain. Sail tree ship. Oven leaf stock. Cat snow leaf.
Snow king wheel. Sun ship ice. Tax ship sail."""


def test_louvain_terminates_on_equal_weights():
    chunker = GraphPartitionChunker(preset="neighbors", timeout=20, fallback=None)
    assert chunker.chunk(" ".join([REPEATED.replace("\n", " ")] * 3))


def test_neighbors_are_held_to_as_many_pairs_as_a_threshold():
    with pytest.raises(ConfigurationError, match="neighbors must leave at most 1,000,000 pairs of 2,000 sentences"):
        graphs.neighbor_edges(np.eye(2000, 3), 1500)


def test_rows_that_are_alike_are_one_cluster_however_many_they_are():
    text = "".join("The cat naps on the sofa. " for _ in range(30))
    chunker = SemanticClusterChunker(fallback=None, max_units=10, max_tokens=1000)
    assert len(chunker.chunk(text)) == 1
