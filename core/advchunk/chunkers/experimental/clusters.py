"""Semantic clusters: sentences clustered by meaning, and clusters projected to passages."""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, inf
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from advchunk.building.sizes import Limits
from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.numerics import runs
from advchunk.chunkers.params import AS_PUBLISHED, Bounds, GroupedParams, is_given, one_at_most
from advchunk.chunkers.windows import WindowedParams, segment_windows
from advchunk.errors import import_extra, require
from advchunk.models import signals
from advchunk.records import Floats, Ints, Segmentation, Units

Linkage: TypeAlias = Literal["ward", "average", "complete"]

_DIGITS = 9  # to which distances are rounded, so that ties are broken deterministically
_IDENTICAL = 1e-6  # distance up to which sentences are identical and never separated
_HDBSCAN = "sklearn.cluster", "cluster"  # module and extra


@dataclass(kw_only=True)
class SemanticClusterParams(WindowedParams, GroupedParams):
    """Cluster sentences by their vectors, and cut where the cluster changes.

    Hierarchical agglomerative clustering (HAC) merges the two nearest clusters, starting from single sentences, down to
    ``n_clusters``, up to ``distance_threshold`` or, if neither is given, down to ceil(tokens / max_tokens_per_segment)
    clusters. The distance of two clusters of unit vectors depends on ``linkage``, with d(a, b) = 1 - a.b:

        ward      sqrt(2 |A| |B| / (|A| + |B|)) * ||mean A - mean B||   (of single sentences, their Euclidean distance)
        average   mean of d over all pairs
        complete  maximum of d over all pairs

    HDBSCAN finds clusters of varying density and determines their number; sentences outside clusters are noise.

    Clusters ignore order, so they alternate in the text. Runs of fewer than ``min_cluster_size`` sentences are merged
    with the more similar neighbor (ties go to the left), shortest first; noise joins the run around it
    (`runs.assign_noise`). ``connectivity="chain"`` merges neighbors only, by ward, so clusters are passages from the
    start. It is better if the order of sentences matters, and for long texts: 10,000 sentences take 0.2 seconds.

    Unrestricted HAC takes O(n^2) memory and time, so texts of more than ``max_units`` sentences are first merged along
    the chain, to as many runs (5,000 take 200 MB). HDBSCAN takes O(n^2) time, and works in windows beyond
    ``max_units``. The chain stops at the first above ``distance_threshold``. Identical sentences stay together.

    Departs from the specification by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end
    where blocks do (``markup``), and texts over ``max_units`` are first merged. ``preset="published"`` sets this back.

    Ward 1963, "Hierarchical grouping to optimize an objective function"; Murtagh & Legendre 2014, whose Ward2 this is.
    On the chain: Grimm 1987, "CONISS"; Randriamihamison, Vialaneix & Neuvial 2021. Campello, Moulavi & Sander 2013,
    "Density-based clustering based on hierarchical density estimates".

    Parameters
    ----------
    preset : "published", the specification on plain text; "chain", the best setting on Choi's group 3-11; or "coarse",
        for real text (benchmarks/CUTS.md). ``n_clusters`` replaces the distance of the last two.
    max_tokens : maximum tokens of a chunk, context included, >= 1; if not given, or more, ``max_tokens_per_segment``.
    max_tokens_per_segment : maximum tokens of a segment, >= 1, for the number of clusters; default: >= ``max_tokens``.
    method : "hac" or "hdbscan" (needs ``advchunk[cluster]``).
    linkage : distance of two clusters in HAC: "ward", "average" or "complete"; "ward" alone on the chain.
    connectivity : clusters that HAC may merge: "none" for any two, "chain" for neighbors in the text only.
    n_clusters : number of clusters of HAC, before projection to passages, >= 1.
    distance_threshold : maximum distance of merged clusters, >= 0, instead of ``n_clusters``.
    min_cluster_size : minimum sentences of a passage (unless ``contiguous``, of a cluster), >= 1, or >= 2 with HDBSCAN.
    center : True subtracts the document's mean vector first.
    max_units : maximum number of sentences, >= 8, that are clustered one by one. More are first merged along the chain
        or, with HDBSCAN, clustered in windows (`windows.segment_windows`). None is unlimited.
    """

    algorithm: ClassVar[str] = "semantic-cluster"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "max_units": None},
        "chain": {"connectivity": "chain", "center": True, "distance_threshold": 1.75},
        "coarse": {"connectivity": "chain", "center": True, "distance_threshold": 2.5, "min_cluster_size": 16},
    }
    preset: Literal["published", "chain", "coarse"] | None = None
    max_tokens: int = 800
    max_tokens_per_segment: Annotated[int, Bounds(1)] = 800
    method: Literal["hac", "hdbscan"] = "hac"
    linkage: Linkage = "ward"
    connectivity: Literal["none", "chain"] = "none"
    n_clusters: Annotated[int | None, Bounds(1)] = None
    distance_threshold: Annotated[float | None, Bounds(0)] = None
    min_cluster_size: Annotated[int, Bounds(1)] = 3
    center: bool = False

    def check(self) -> None:
        """Check clusters too; set ``max_tokens``, so that it limits contexts and the fallback as well."""
        if self.preset and self.n_clusters is not None and "distance_threshold" not in (self._arguments or ()):
            self.distance_threshold = None  # the number overrides the threshold of the preset
        if not is_given(self, "max_tokens_per_segment"):
            self.max_tokens_per_segment = max(self.max_tokens, SemanticClusterParams.max_tokens)
        if self._arguments is not None and not is_given(self, "max_tokens"):
            self.max_tokens = self.max_tokens_per_segment
        self.max_tokens = min(self.max_tokens, self.max_tokens_per_segment)
        super().check()
        is_enough = self.method == "hac" or self.min_cluster_size > 1
        require(is_enough, "min_cluster_size must be >= 2 with method='hdbscan'", self.min_cluster_size)
        options = [*one_at_most(self, "n_clusters", "distance_threshold")]
        options += ["connectivity"] * (self.connectivity != "none") + ["linkage"] * (self.linkage != "ward")
        rule = f"{', '.join(options)} can be given with method='hac' only"
        require(self.method == "hac" or not options, rule, self.method)
        rule = "linkage must be 'ward' with connectivity='chain'"
        require(self.connectivity == "none" or self.linkage == "ward", rule, self.linkage)


@dataclass(kw_only=True)
class SemanticClusterChunker(SemanticClusterParams, ExperimentalChunker, EmbeddingChunker):
    """Cut where the cluster of the sentences changes (`SemanticClusterParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in SemanticClusterChunker(n_clusters=2, min_cluster_size=2).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def load(self) -> None:
        """Load HDBSCAN too, so that a missing extra raises instead of triggering the fallback."""
        super().load()
        if self.method == "hdbscan":
            import_extra(*_HDBSCAN)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Cluster the units at once or in windows."""
        sizes = units.token_counts()

        def segment(start: int, end: int) -> Segmentation:
            rows = signals.center_rows(vectors[start:end]) if self.center else vectors[start:end]
            labels, gaps = self._cluster(rows, int(sizes[start:end].sum()))
            figures = {"labels": labels, "clusters": int(labels.max()) + 1, "noise": int((labels < 0).sum())}
            least, contiguous = self.min_cluster_size, self.contiguous
            projected = runs.project_labels(labels, rows, least, contiguous=contiguous)
            return runs.segment_labels(projected, contiguous=contiguous, gaps=gaps, figures=figures, least=least)

        n = len(units)
        return segment_windows(self, n, segment, number="n_clusters") if self.method == "hdbscan" else segment(0, n)

    def _cluster(self, rows: Floats, tokens: int) -> tuple[Ints, Floats | None]:
        if self.method == "hdbscan":
            return hdbscan(rows, self.min_cluster_size), None
        clusters, threshold = 1, self.distance_threshold
        if threshold is None:
            clusters, threshold = max(self.n_clusters or ceil(tokens / self.max_tokens_per_segment), 1), inf
        if self.connectivity == "none":
            most = self.max_units or len(rows)
            return agglomerate(rows, self.linkage, clusters=clusters, threshold=threshold, max_rows=most), None
        cuts, gaps = agglomerate_chain(rows, clusters=clusters, threshold=threshold)
        return np.repeat(np.arange(len(cuts) - 1), np.diff(cuts)), gaps


def agglomerate(
    rows: Floats, linkage: Linkage, *, clusters: int = 1, threshold: float = inf, max_rows: int = 5_000
) -> Ints:
    """Merge the two nearest clusters until ``clusters`` remain or none are within ``threshold``: (n,) labels from 0.

    There are fewer than ``clusters`` if distances are tied. More than ``max_rows`` are first merged along the chain.
    """
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import pdist

    if len(rows) > max_rows:
        cuts, _ = agglomerate_chain(rows, clusters=max_rows)
        means = signals.unit_rows(np.add.reduceat(rows, cuts[:-1]))
        labels = agglomerate(means, linkage, clusters=clusters, threshold=threshold, max_rows=max_rows)
        return np.repeat(labels, np.diff(cuts))
    if len(rows) == 1:  # of rows that are alike, the chain may leave one
        return np.zeros(1, dtype=np.int64)
    distances = pdist(rows, "euclidean" if linkage == "ward" else "cosine")
    distances[np.isnan(distances)] = 1.0  # rows of zeros have no direction
    distances[distances < _IDENTICAL] = 0.0
    tree = hierarchy.linkage(distances, linkage)
    limit = (min(clusters, len(rows)), "maxclust") if threshold == inf else (threshold, "distance")
    return np.asarray(hierarchy.fcluster(tree, *limit), dtype=np.int64) - 1


def agglomerate_chain(rows: Floats, *, clusters: int = 1, threshold: float = inf) -> tuple[Ints, Floats]:
    """Merge the two nearest adjacent runs, by ward, until ``clusters`` remain or none are within ``threshold``.

    Return the cuts, and by gap (n - 1,) the distance at which its runs merged, or at the end. Ties go to the first.
    """
    n = left = len(rows)
    sums = rows.astype(np.float64)  # indexed by the start of a run
    begin, end = [*range(-1, n)], [*range(1, n + 2)]  # of the run that ends at i; of the run that starts at i, else 0
    gaps = [-inf] * (n + 1)

    def distance(a: int, b: int, c: int) -> float:
        p, q = b - a, c - b
        return round(float(np.sqrt(2 * p * q / (p + q)) * np.linalg.norm(sums[a] / p - sums[b] / q)), _DIGITS)

    for i in range(1, n):
        gaps[i] = distance(i - 1, i, i + 1)
    heap = [(gaps[i], i - 1, i, i + 1) for i in range(1, n)]
    heapify(heap)
    while heap:
        gap, a, b, c = heappop(heap)
        if end[a] != b or end[b] != c:
            continue  # one of the runs no longer exists
        if gap > max(threshold if left > clusters else 0.0, _IDENTICAL):
            break
        left -= 1
        before, after = begin[a], end[c]
        sums[a] += sums[b]
        end[a], end[b], begin[c] = c, 0, a
        if a > 0:
            gaps[a] = distance(before, a, c)
            heappush(heap, (gaps[a], before, a, c))
        if c < n:
            gaps[c] = distance(a, c, after)
            heappush(heap, (gaps[c], a, c, after))
    return np.flatnonzero(end), np.array(gaps[1:-1])


def hdbscan(rows: Floats, least: int) -> Ints:
    """Cluster by HDBSCAN, with at least ``least`` (>= 2) rows in a cluster: (n,) labels from 0, or -1 for noise."""
    if len(rows) < least:
        return np.full(len(rows), -1)
    model = import_extra(*_HDBSCAN).HDBSCAN(min_cluster_size=least, copy=True)
    return np.asarray(model.fit(rows).labels_, dtype=np.int64)
