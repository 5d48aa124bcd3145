"""What is drawn, hashed or put into sets gives the same results in every process."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from advchunk.chunkers.experimental import Edus
from advchunk.chunkers.experimental.discourse import DiscourseSegmenterChunker
from advchunk.chunkers.experimental.lda import LDATopicChunker
from advchunk.chunkers.numerics import graphs
from planted import CATS, COURTS
rows = np.random.default_rng(0).normal(size=(200, 8))
edges = graphs.neighbor_edges(rows / np.linalg.norm(rows, axis=1, keepdims=True), 4)
for method in ("louvain", "leiden"):
    print(graphs.detect_communities(200, edges, method, seed=3).tolist())
print(Edus()(CATS + COURTS).edges.tolist(), DiscourseSegmenterChunker(sentence_splitter=Edus()).fingerprint())
for seed in (0, 1):
    print(LDATopicChunker(num_topics=5, seed=seed).explain(CATS + COURTS).segmentation.gaps.tolist())
"""


def test_results_are_the_same_in_every_process():
    path = os.pathsep.join(sys.path)
    outputs = {
        subprocess.check_output(
            [sys.executable, "-c", CODE], text=True, env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": path}
        )
        for hashes in ("1", "2")
    }
    (output,) = outputs
    assert len({*output.splitlines()[-2:]}) == 2  # the seed counts
