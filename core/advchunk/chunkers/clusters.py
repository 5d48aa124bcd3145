"""Semantic clusters: sentences grouped by what they say, and the groups projected to passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, inf
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from advchunk.chunkers.base import EmbeddingChunker
from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.params import GroupedParams, at_least, one_at_most
from advchunk.errors import import_extra, require
from advchunk.numerics import runs, search, signals
from advchunk.records import Floats, Ints, Segmentation, Units
from advchunk.sizes import Limits

Linkage: TypeAlias = Literal["ward", "average", "complete"]

_DIGITS = 9  # to which distances are compared, so that ties are broken by rule
_SAME = 1e-6  # a distance up to which two sentences say the same, and are never parted
_MOST = 5_000  # units whose distances to each other are held at once: 200 MB
_PAIRS = 2**20  # of rows, compared at once
_HDBSCAN = "sklearn.cluster", "cluster"  # the module that has it, and the extra that brings that


@dataclass(kw_only=True)
class SemanticClusterParams(GroupedParams):
    """Cluster sentences by their vectors, whatever their place; a passage ends where the cluster changes.

    Experimental: its results may change in any release, and `universal-semantic` stands in where it fails.

    Hierarchical clustering (HAC) merges the two nearest clusters, from single sentences on, and is cut at
    ``n_clusters``, at ``distance_threshold`` or, with neither, at as many clusters as ``max_tokens_per_segment`` needs.
    The distance of two clusters is by ``linkage``, of unit vectors a and b with d(a, b) = 1 - a.b:

        ward      sqrt(2 |A| |B| / (|A| + |B|)) * ||mean A - mean B||   (of single sentences, their Euclidean distance)
        average   mean of d over all pairs
        complete  the greatest d of any pair

    HDBSCAN finds clusters of any density, as many as there are; what is in none is noise.

    Clusters ignore order, so their members alternate in the text. Runs of fewer than ``min_cluster_size``
    sentences join the neighboring run that is more like them (of equals the left), shortest first; noise joins
    the run around it (`runs.assign_noise`); if all is noise, the text is one segment. ``connectivity="chain"``
    merges neighbors only, so clusters are passages to begin with: the better choice where order means
    something, and for long texts: 10,000 sentences take a fifth of a second.

    Unrestricted HAC needs memory and time in n^2, so a text of more than 5,000 sentences is first merged along
    the chain, by ward, to 5,000 runs, which then are what is clustered. ``linkage="complete"`` on the chain takes
    time, but not memory, in n^2. On the chain a merge can be cheaper than one before it; ``distance_threshold``
    then is where merging stops. Sentences that say the same are never parted.

    Parameters
    ----------
    preset : "chain" is ``connectivity="chain"``, ``center=True`` and a ``distance_threshold`` of 1.75 (where those have their defaults), found best on
        the Choi set (group 3-11: Pk .09 and not .25).
    max_tokens : tokens that no chunk exceeds, context included, >= 1; lowered to ``max_tokens_per_segment``.
    max_tokens_per_segment : tokens that no segment exceeds, >= 1; and what the number of clusters follows from,
        ceil(tokens / max_tokens_per_segment), if nothing else says it.
    method : "hac" or "hdbscan" (needs ``advchunk[cluster]``).
    linkage : what HAC takes for the distance of two clusters: "ward", "average" or "complete".
    connectivity : what HAC may merge: "none", any two clusters; "chain", neighbors in the text only.
    n_clusters : how many HAC leaves (before they are projected to passages), >= 1.
    distance_threshold : or the greatest distance that it merges, >= 0.
    min_cluster_size : sentences of a passage at least (if not ``contiguous``, of a cluster), >= 1; for HDBSCAN also
        of what it takes for a cluster, >= 2.
    center : subtract the document's mean vector first.

    References
    ----------
    Ward 1963, "Hierarchical grouping to optimize an objective function"; Murtagh & Legendre 2014, "Ward's
    hierarchical agglomerative clustering method", whose Ward2 this is. On the chain: Grimm 1987, "CONISS";
    Randriamihamison, Vialaneix & Neuvial 2021, "Applicability and interpretability of Ward's hierarchical
    agglomerative clustering with or without contiguity constraints". Campello, Moulavi & Sander 2013,
    "Density-based clustering based on hierarchical density estimates".
    """

    algorithm: ClassVar[str] = "semantic-cluster"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"chain": {"connectivity": "chain", "center": True, "distance_threshold": 1.75}}
    )
    preset: Literal["chain"] | None = None
    max_tokens: int = 800
    max_tokens_per_segment: int = 800
    method: Literal["hac", "hdbscan"] = "hac"
    linkage: Linkage = "ward"
    connectivity: Literal["none", "chain"] = "none"
    n_clusters: int | None = None
    distance_threshold: float | None = None
    min_cluster_size: int = 3
    center: bool = False

    def check(self) -> None:
        """Add the rules for clusters; lower ``max_tokens``, so that contexts and the fallback keep to it too."""
        if self.preset and self.n_clusters is not None:
            self.distance_threshold = None  # the number goes before the preset's threshold
        at_least(1, self, "max_tokens_per_segment")
        self.max_tokens = min(self.max_tokens, self.max_tokens_per_segment)
        super().check()
        at_least(2 if self.method == "hdbscan" else 1, self, "min_cluster_size")
        at_least(1, self, "n_clusters")
        at_least(0, self, "distance_threshold")
        given = [*one_at_most(self, "n_clusters", "distance_threshold")]
        given += ["connectivity"] * (self.connectivity != "none")
        rule = f"{', '.join(given)} can be given with method='hac' only"
        require(self.method == "hac" or not given, rule, self.method)


@dataclass(kw_only=True)
class SemanticClusterChunker(SemanticClusterParams, ExperimentalChunker, EmbeddingChunker):
    """Cut where the cluster of the sentences changes (`SemanticClusterParams`).

    >>> text = "Cats purr. Cats nap all day. Judges sit in court. Courts rule on law."
    >>> [c.text for c in SemanticClusterChunker(n_clusters=2, min_cluster_size=2).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'Judges sit in court. Courts rule on law.']
    """

    def load(self) -> None:
        """Load HDBSCAN too: without it every document would go to the fallback."""
        super().load()
        if self.method == "hdbscan":
            import_extra(*_HDBSCAN)

    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Cluster, and project the clusters to the text."""
        rows = signals.center_rows(vectors) if self.center else vectors
        gaps = None
        if self.method == "hdbscan":
            labels = hdbscan(rows, self.min_cluster_size)
        else:
            known = self.n_clusters or ceil(units.token_counts().sum() / self.max_tokens_per_segment)
            count = max(known, 1) if self.distance_threshold is None else 1
            most = inf if self.distance_threshold is None else self.distance_threshold
            if self.connectivity == "chain":
                cuts, gaps = agglomerate_chain(rows, self.linkage, clusters=count, threshold=most)
                labels = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
            else:
                labels = agglomerate(rows, self.linkage, clusters=count, threshold=most)
        found = runs.project_labels(labels, rows, self.min_cluster_size, contiguous=self.contiguous)
        figures = {"labels": labels, "clusters": int(labels.max()) + 1, "noise": int((labels < 0).sum())}
        return Segmentation(
            search.run_cuts(found),
            labels=None if self.contiguous else found,
            reason="label",
            gaps=gaps,
            figures=figures,
        )


def agglomerate(rows: Floats, linkage: Linkage, *, clusters: int = 1, threshold: float = inf) -> Ints:
    """Merge the two nearest clusters, until so many are left or none are within ``threshold`` of each other.

    Returns
    -------
    (n,) labels from 0; at most ``clusters`` of them, fewer where distances are equal.
    """
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import pdist

    if len(rows) > _MOST:
        cuts, _ = agglomerate_chain(rows, "ward", clusters=_MOST)
        means = signals.unit_rows(np.add.reduceat(rows, cuts[:-1]))
        return np.repeat(agglomerate(means, linkage, clusters=clusters, threshold=threshold), np.diff(cuts))
    distances = pdist(rows, "euclidean" if linkage == "ward" else "cosine")
    distances[np.isnan(distances)] = 1.0  # of a row of zeros, which has no direction
    distances[distances < _SAME] = 0.0
    tree = hierarchy.linkage(distances, linkage)
    if threshold == inf:
        found = hierarchy.fcluster(tree, min(clusters, len(rows)), "maxclust")
    else:
        found = hierarchy.fcluster(tree, threshold, "distance")
    return np.asarray(found, dtype=np.int64) - 1


def agglomerate_chain(
    rows: Floats, linkage: Linkage, *, clusters: int = 1, threshold: float = inf
) -> tuple[Ints, Floats]:
    """Merge the two nearest neighbors, until so many clusters are left or none are within ``threshold``.

    Exact: a heap holds the distance of every two runs that stand side by side, and a merge changes two of
    them. With summed rows, "ward" and "average" take O(d) each, so O(n (log n + d)) in all. "complete"
    compares two rows once at most, when their runs come to stand side by side: O(n^2 d), in blocks. Of
    equal distances, the first in the text.

    Parameters
    ----------
    rows : (n, d) unit rows.
    linkage, clusters, threshold : see `SemanticClusterParams`.

    Returns
    -------
    The cuts, and the (n - 1,) distances of the runs that met in each gap: when they merged, or in the end.

    >>> cuts, gaps = agglomerate_chain(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), "average", clusters=2)
    >>> cuts.tolist(), gaps.tolist()
    ([0, 2, 3], [0.0, 1.0])
    """
    n = left = len(rows)
    rows = rows.astype(np.float64)
    sums = rows.copy()  # of the run that starts at i
    begin, end = [*range(-1, n)], [*range(1, n + 2)]  # of the run that ends at i, and that starts there
    gaps = [-inf] * (n + 1)

    def apart(a: int, b: int, c: int, new: slice, others: slice) -> float:
        """Return the distance of runs a..b and b..c, whose rows have met but for ``new`` and ``others``."""
        if linkage == "complete":
            return max(gaps[b], _furthest(rows[new], rows[others]))
        x, y = sums[a] / (b - a), sums[b] / (c - b)
        return round(1 - float(x @ y) if linkage == "average" else _ward(x, y, b - a, c - b), _DIGITS)

    for i in range(1, n):
        gaps[i] = apart(i - 1, i, i + 1, slice(i - 1, i), slice(i, i + 1))
    heap = [(gaps[i], i - 1, i, i + 1) for i in range(1, n)]
    heapify(heap)
    while heap:
        gap, a, b, c = heappop(heap)
        if end[a] != b or end[b] != c:
            continue  # one of the two is gone
        if gap > max(threshold if left > clusters else 0.0, _SAME):
            break
        left -= 1
        before, after = begin[a], end[c]
        sums[a] += sums[b]
        end[a], end[b], begin[c] = c, 0, a
        if a > 0:
            gaps[a] = apart(before, a, c, slice(before, a), slice(b, c))
            heappush(heap, (gaps[a], before, a, c))
        if c < n:
            gaps[c] = apart(a, c, after, slice(a, b), slice(c, after))
            heappush(heap, (gaps[c], a, c, after))
    cuts = [0]
    while cuts[-1] < n:
        cuts.append(end[cuts[-1]])
    return np.array(cuts, dtype=np.int64), np.array(gaps[1:-1])


def _ward(x: Floats, y: Floats, p: int, q: int) -> float:
    """Return the distance of p rows with mean x and q rows with mean y: sqrt(2 * what merging adds to the scatter)."""
    return float(np.sqrt(2 * p * q / (p + q)) * np.linalg.norm(x - y))


def _furthest(x: Floats, y: Floats) -> float:
    """Return the greatest cosine distance of two rows, one of each."""
    height = max(_PAIRS // len(y), 1)
    least = min(float((x[top : top + height] @ y.T).min()) for top in range(0, len(x), height))
    return round(1 - least, _DIGITS)


def hdbscan(rows: Floats, least: int) -> Ints:
    """Return the clusters that HDBSCAN finds, of ``least`` (>= 2) rows or more.

    Returns
    -------
    (n,) labels from 0, or -1 for noise.
    """
    if len(rows) < least:
        return np.full(len(rows), -1)
    finder = import_extra(*_HDBSCAN).HDBSCAN(min_cluster_size=least, copy=True)
    return np.asarray(finder.fit(rows).labels_, dtype=np.int64)
