"""Graph partition: communities in a graph of similar sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.numerics import graphs, runs
from advchunk.chunkers.numerics.graphs import CommunityMethod
from advchunk.chunkers.params import AS_PUBLISHED, Bounds, GroupedParams
from advchunk.chunkers.windows import WindowedParams, segment_windows
from advchunk.models import signals
from advchunk.records import Floats, Segmentation, Units


@dataclass(kw_only=True)
class GraphPartitionParams(WindowedParams, GroupedParams):
    """Find communities of similar sentences, and cut where the community changes.

    Sentences are the nodes of a graph, connected if their cosine similarity exceeds ``threshold``, which is the weight
    of the edge. Louvain or Leiden searches for the partition of maximum modularity, where m is the total edge weight,
    W_c the weight within community c, and K_c the summed degrees of its sentences:

        Q = sum over c of W_c / m - resolution * (K_c / 2m)^2

    Chunks are the runs of sentences of one community.

    An absolute threshold does not transfer between embedders, and at 0.6 seven out of eight sentences have no edge.
    Such a sentence joins the run around it (`runs.assign_noise`). ``neighbors`` connects each sentence to its nearest
    neighbors instead; ``preset="neighbors"`` is far better. Communities alternate; ``min_run`` merges short runs.

    Departs from the specification by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end
    where blocks do (``markup``), ``threshold`` is .6, a sentence without edges joins the run around it
    (``join_isolated``), and texts over ``max_units`` are segmented in windows. ``preset="published"`` sets this back.

    Comparing n sentences takes O(n^2) time, up to ``max_units`` (in proportion to the text beyond), and memory grows
    with sentences and edges. More than a million edges in a window raise an error, and the fallback takes over: raise
    ``threshold``, lower ``max_units``, or use ``neighbors``.

    Blondel, Guillaume, Lambiotte & Lefebvre 2008, "Fast unfolding of communities in large networks". Traag, Waltman &
    van Eck 2019, "From Louvain to Leiden". Newman 2004, "Analysis of weighted networks".

    Parameters
    ----------
    preset : "published", the specification; "neighbors", best on Choi's group 3-11; or "coarse", for real text.
    method : community detection: "louvain" (needs ``advchunk[graph]``) or "leiden" (``advchunk[leiden]``).
    threshold : cosine similarity above which two sentences are connected, 0..1. Poor with static embedders (Pk .43 on
        planted topics, no cut .44): take ``preset="neighbors"`` (.12).
    neighbors : nearest neighbors that a sentence is connected to, >= 1; None connects all above ``threshold``.
    resolution : resolution of the modularity, 1e-6..1e6; higher values give smaller communities.
    seed : seed of the order in which nodes are visited, 0..2^32 - 1.
    center : True subtracts the document's mean vector first.
    min_run : minimum sentences of a passage (of a community, unless ``contiguous``), >= 1; shorter ones are merged with
        the more similar neighbor (ties go to the left).
    join_isolated : True joins a sentence without edges to the run around it; False makes it a community of its own.
    """

    algorithm: ClassVar[str] = "graph-partition"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "threshold": 0.7, "join_isolated": False, "max_units": None},
        "neighbors": {"neighbors": 5, "threshold": 0.0, "center": True, "min_run": 3},
        "coarse": {"neighbors": 10, "threshold": 0.0, "center": True, "min_run": 32},
    }
    preset: Literal["published", "neighbors", "coarse"] | None = None
    method: CommunityMethod = "louvain"
    threshold: Annotated[float, Bounds(0, 1)] = 0.6
    neighbors: Annotated[int | None, Bounds(1)] = None
    resolution: Annotated[float, Bounds(1e-6, 1e6)] = 1.0
    seed: Annotated[int, Bounds(0, 2**32 - 1)] = 0
    center: bool = False
    min_run: Annotated[int, Bounds(1)] = 1
    join_isolated: bool = True


@dataclass(kw_only=True)
class GraphPartitionChunker(GraphPartitionParams, ExperimentalChunker, EmbeddingChunker):
    """Cut where the community of the sentences changes (`GraphPartitionParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in GraphPartitionChunker(threshold=0.3).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def load(self) -> None:
        """Load the library too, so that a missing extra raises instead of triggering the fallback."""
        super().load()
        graphs.import_library(self.method)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Partition the units at once or in windows."""
        return segment_windows(self, len(units), lambda start, end: self._partition(vectors[start:end]))

    def _partition(self, vectors: Floats) -> Segmentation:
        """Connect similar sentences, detect communities, and project them to passages."""
        n, rows = len(vectors), signals.center_rows(vectors) if self.center else vectors
        k, threshold = self.neighbors, self.threshold
        edges = graphs.similarity_edges(rows, threshold) if k is None else graphs.neighbor_edges(rows, k, threshold)
        labels = graphs.detect_communities(n, edges, self.method, self.resolution, self.seed)
        connected = np.bincount(np.r_[edges.left, edges.right], minlength=n) > 0
        kept = np.where(connected, labels, -1) if self.join_isolated else labels
        projected = runs.project_labels(kept, rows, self.min_run, contiguous=self.contiguous)
        numbers = {"communities": len(np.unique(labels[connected])), "isolated": int(n - connected.sum())}
        figures = {**numbers, "labels": labels, "edges": edges}
        return runs.segment_labels(projected, contiguous=self.contiguous, figures=figures, least=self.min_run)
