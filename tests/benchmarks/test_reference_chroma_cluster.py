"""The Chroma cluster chunker among the peers, beside its published loops and what they made of two corpora.

`golden_chroma_cluster.npz` holds numbers only: how alike pieces are that may share a cluster, the mean of all pairs,
and where clusters met. The likeness is of all-MiniLM-L6-v2.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

ROOT = Path(__file__).parents[2]
GOLDEN = np.load(ROOT / "tests/data/golden_chroma_cluster.npz")


@pytest.fixture(scope="module")
def peers():
    spec = importlib.util.spec_from_file_location("peers", ROOT / "benchmarks/peers.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = module  # where its dataclasses look for their own types
    spec.loader.exec_module(module)
    yield module
    del sys.modules["peers"]


def published(matrix, most):
    """Where clusters start and end, by the loops of chunking_evaluation; the mean is taken off before."""
    n = len(matrix)
    dp, segmentation = np.zeros(n), np.zeros(n, dtype=int)
    for i in range(n):
        for size in range(1, most + 1):
            if i - size + 1 >= 0:
                reward = matrix[i - size + 1 : i + 1, i - size + 1 : i + 1].sum()
                if i - size + 1 > 0:
                    reward += dp[i - size]
                if reward > dp[i]:
                    dp[i], segmentation[i] = reward, i - size + 1
    cuts, i = [], n - 1
    while i >= 0:
        cuts.append((segmentation[i], i))
        i = segmentation[i] - 1
    return cuts[::-1]


def band(matrix, most):
    n = len(matrix)
    return np.array([[matrix[i, i + d] if i + d < n else 0 for d in range(1, most)] for i in range(n)]).reshape(n, -1)


@pytest.mark.parametrize("corpus", ["state_of_the_union", "wikitexts"])
def test_clusters_equal_the_published_code(peers, corpus):
    actual = peers.clusters(GOLDEN[f"{corpus}/near"].astype(np.float64), float(GOLDEN[f"{corpus}/mean"]))
    np.testing.assert_array_equal(actual, GOLDEN[f"{corpus}/cuts"])


@given(st.data(), st.integers(1, 14), st.integers(1, 6), st.integers(-2, 2))
def test_clusters_as_in_the_published_loops(peers, data, n, most, mean):
    half = np.triu(data.draw(arrays(np.int64, (n, n), elements=st.integers(-4, 4))), 1)  # whole, so that ties are ties
    alike = half + half.T
    loops = published((alike - mean) * (1 - np.eye(n)), most)
    assert peers.clusters(band(alike, most), mean).tolist() == [0, *(last + 1 for _, last in loops)]


@pytest.mark.parametrize(("n", "likeness"), [(10, -1.0), (12, 0.0)])
def test_a_start_that_is_unlike_itself_is_one_cluster_of_any_length(peers, n, likeness):
    assert peers.clusters(np.full((n, 7), likeness), 0.0).tolist() == [0, n]


@given(
    arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(-3, 3)),
    st.integers(1, 15),
)
def test_likeness_is_that_of_all_pairs(peers, rows, most):
    alike, n = rows @ rows.T, len(rows)
    np.testing.assert_allclose(peers.near(rows, most), band(alike, most))
    pairs = alike[np.triu_indices(n, k=1)]
    assert peers.mean_similarity(rows) == pytest.approx(pairs.mean() if n > 1 else 0)


def test_chunks_are_whole_pieces_in_order_and_no_more_than_the_limit_has_pieces(peers):
    pytest.importorskip("langchain_text_splitters")
    text = " ".join(f"{word} naps and {word} purrs." for word in ("Cat", "Kitten", "Judge", "Lawyer") for _ in range(3))

    def likes(texts):
        return np.array([[1.0, 0.2] if "Cat" in text or "Kitten" in text else [0.2, 1.0] for text in texts])

    tools = peers.Tools(lambda piece: len(piece.split()), likes)
    chunks = list(peers.chroma(tools, 24, 6)(text))
    assert " ".join(chunks).replace(" ", "") == text.replace(" ", "")
    assert max(len(chunk.split()) for chunk in chunks) <= 24
    assert not any("Cat" in chunk and "Judge" in chunk for chunk in chunks)
