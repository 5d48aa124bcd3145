"""Graph partition: sentences tied by their similarity, and the communities among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.params import GroupedParams, at_least
from advchunk.errors import require
from advchunk.numerics import graphs, runs, search, signals
from advchunk.numerics.graphs import CommunityMethod
from advchunk.records import Floats, Segmentation, Units
from advchunk.sizes import Limits


@dataclass(kw_only=True)
class GraphPartitionParams(GroupedParams):
    """Find communities of sentences that are alike; a passage ends where the community changes.

    Experimental: its results may change in any release, and `universal-semantic` stands in where it fails.

    Sentences are the nodes of a graph, joined where their cosine is above ``threshold``, with the cosine as
    weight. Louvain or Leiden looks for the partition of greatest modularity, with m the weight of all edges, W_c of
    those within community c, K_c the summed degrees of its sentences:

        Q = sum over c of W_c / m - resolution * (K_c / 2m)^2

    The runs of a community's sentences are the chunks.

    An absolute threshold does not transfer between embedders, and at 0.7 four sentences in five have no
    edge: such a sentence joins the run around it (`runs.assign_noise`), and a text without any edge is one
    segment. ``neighbors`` ties each sentence to those most like it instead, whatever the embedder:
    ``preset="neighbors"`` is far better (on the Choi set, group 3-11, Pk .13 and not .44). A graph does not
    know the order of the text, so communities alternate; ``min_run`` joins what is too short to be a passage.

    Similarities are computed in blocks, so memory grows with sentences and edges. Above a million edges it
    raises, and the fallback takes over: raise ``threshold``, or use ``neighbors``.

    Parameters
    ----------
    preset : "neighbors" is ``neighbors=5``, ``threshold=0``, ``center=True`` and ``min_run=3`` (where those have their defaults), found best
        on the Choi set (group 3-11).
    method : what finds communities: "louvain" (needs ``advchunk[graph]``) or "leiden" (``advchunk[leiden]``).
    threshold : the cosine above which two sentences are joined, 0..1; no weight is negative.
    neighbors : join a sentence only to so many of those most like it, >= 1; None is to all above ``threshold``.
    resolution : 1e-6..1e6; with more, communities are smaller.
    seed : of the order in which communities grow, >= 0.
    center : subtract the document's mean vector first.
    min_run : sentences of a passage at least (if not ``contiguous``, of a community), >= 1; a shorter one joins
        the neighboring run that is more like it, of equals the left.

    References
    ----------
    Blondel, Guillaume, Lambiotte & Lefebvre 2008, "Fast unfolding of communities in large networks". Traag,
    Waltman & van Eck 2019, "From Louvain to Leiden: guaranteeing well-connected communities". Newman 2004,
    "Analysis of weighted networks".
    """

    algorithm: ClassVar[str] = "graph-partition"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"neighbors": {"neighbors": 5, "threshold": 0.0, "center": True, "min_run": 3}}
    )
    preset: Literal["neighbors"] | None = None
    method: CommunityMethod = "louvain"
    threshold: float = 0.7
    neighbors: int | None = None
    resolution: float = 1.0
    seed: int = 0
    center: bool = False
    min_run: int = 1

    def check(self) -> None:
        """Add the rules for the graph and its communities."""
        super().check()
        require(0 <= self.threshold <= 1, "threshold must be in 0..1", self.threshold)
        at_least(1, self, "neighbors", "min_run")
        require(1e-6 <= self.resolution <= 1e6, "resolution must be in 1e-6..1e6", self.resolution)
        require(0 <= self.seed < 2**32, "seed must be in 0..2^32 - 1", self.seed)


@dataclass(kw_only=True)
class GraphPartitionChunker(GraphPartitionParams, ExperimentalChunker, EmbeddingChunker):
    """Cut where the community of the sentences changes (`GraphPartitionParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in GraphPartitionChunker(threshold=0.3).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def load(self) -> None:
        """Load what finds communities too: without it every document would go to the fallback."""
        super().load()
        graphs.import_library(self.method)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Join what is alike, find communities, project them to the text."""
        n, rows = len(units), signals.center_rows(vectors) if self.center else vectors
        if self.neighbors is None:
            edges = graphs.similarity_edges(rows, self.threshold)
        else:
            edges = graphs.neighbor_edges(rows, self.neighbors, self.threshold)
        labels = graphs.detect_communities(n, edges, self.method, self.resolution, self.seed)
        joined = np.bincount(np.r_[edges.left, edges.right], minlength=n) > 0
        found = runs.project_labels(np.where(joined, labels, -1), rows, self.min_run, contiguous=self.contiguous)
        figures = {
            "modularity": graphs.modularity(edges, labels, self.resolution),
            "communities": len(np.unique(labels[joined])),
            "isolated": int(n - joined.sum()),
            "labels": labels,
            "edges": edges,
        }
        return Segmentation(
            search.run_cuts(found), labels=None if self.contiguous else found, reason="label", figures=figures
        )
