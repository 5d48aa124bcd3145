"""Properties of chunks that need no questions: their sizes, the similarity of their sentences, and their boundaries."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from advchunk.evaluation.metrics.boundaries import boundary_scores, pk, window_diff
from advchunk.evaluation.metrics.retrieval import merge_ranges
from advchunk.records import Chunk, Document, Floats, Ints, Units, written_metadata

_SIZE_REASONS = ("size", "forced")  # reasons for cuts by the token budget, or by an algorithm's own maximum


class Cohesion(NamedTuple):
    """Mean similarity of sentences, -1..1, within chunks and between neighboring ones; None without such pairs."""

    within: float | None
    between: float | None


def forced_share(chunks: Sequence[Sequence[Chunk]]) -> float | None:
    """Return the share of cuts, without document ends, made by a size limit; None without reasons (``add_scores``)."""
    written = (written_metadata(chunk.metadata) for group in chunks for chunk in group)
    reasons = [metadata["cut"] for metadata in written if "cut" in metadata]
    return sum(reason in _SIZE_REASONS for reason in reasons) / len(reasons) if reasons else None


def off_target_shares(tokens: Ints, settings: Mapping[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """Return the shares of chunks, of (n,) ``tokens``, over and under the target size; None without a target.

    The target is ``target_tokens`` plus or minus 20 %, as in `sizes`; else ``max_tokens`` minus up to 20 %.
    """
    target = settings.get("target_tokens")
    size = target or settings.get("max_tokens")
    if not size:
        return None, None
    return float(np.mean(tokens > (size * 1.2 if target else size))), float(np.mean(tokens < size * 0.8))


def coverage(documents: Sequence[Document], chunks: Sequence[Sequence[Chunk]]) -> float:
    """Return the share of non-space characters that are in a chunk: 1 if nothing is lost."""
    total = held = 0
    for document, group in zip(documents, chunks, strict=True):
        counts = np.cumsum([0, *(not character.isspace() for character in document.text)])
        spans = np.array([span for chunk in group for span in chunk.spans], dtype=np.int64).reshape(-1, 2)
        merged = merge_ranges(np.zeros(len(spans), dtype=np.int64), spans, len(document.text) + 1)
        total += int(counts[-1])
        held += int(np.sum(counts[merged[:, 2]] - counts[merged[:, 1]]))
    return held / max(total, 1)


def cohesion(sentences: Sequence[Units], rows: Sequence[Floats], chunks: Sequence[Sequence[Chunk]]) -> Cohesion:
    """Return the mean similarity of the sentences within a chunk, and across neighboring chunks.

    A sentence is in every chunk that contains its middle, never paired with itself. Pairs are averaged per chunk or
    pair of neighbors, then over those with a pair. ``rows`` are (n, d) unit rows; chunks are in reading order.
    """
    within, between = list[float](), list[float]()
    for units, vectors, group in zip(sentences, rows, chunks, strict=True):
        if len(units) == 0:
            continue
        middles = units.edges[:-1] + np.array([len(text.rstrip()) for text in units.strings()]) // 2
        members = list[Ints]()
        for chunk in group:
            ranges = np.searchsorted(middles, np.array(chunk.spans, dtype=np.int64).reshape(-1, 2))
            members.append(np.unique(np.concatenate([np.arange(0), *(np.arange(a, b) for a, b in ranges)])))
        own = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        sums = [vectors[indices].sum(axis=0, dtype=np.float64) for indices in members]
        for indices, total in zip(members, sums, strict=True):
            if len(indices) > 1:
                within.append(float(total @ total - own[indices].sum()) / (len(indices) * (len(indices) - 1)))
        for (left, left_sum), (right, right_sum) in pairwise(zip(members, sums, strict=True)):
            shared = np.intersect1d(left, right)
            if (pairs := len(left) * len(right) - len(shared)) > 0:
                between.append(float(left_sum @ right_sum - own[shared].sum()) / pairs)
    return Cohesion(float(np.mean(within)) if within else None, float(np.mean(between)) if between else None)


def boundary_means(
    sentences: Mapping[str, Units], chunks: Mapping[str, Sequence[Chunk]], places: Mapping[str, Sequence[int]]
) -> dict[str, float]:
    """Return scores of chunk ends against true boundaries (``places``), averaged over documents; {} without any.

    Both are moved to the nearest end of a sentence, so that none inside one is lost. ``pk`` and ``window_diff`` are in
    sentences, lower is better; ``f1`` is of exact boundaries, ``f1_near`` of those at most one sentence away.
    """
    rows = list[tuple[float, ...]]()
    for name, boundaries in places.items():
        ends = [span.end for chunk in chunks.get(name, ()) for span in chunk.spans]
        pair = [nearest_cuts(sentences[name].edges, own) for own in (boundaries, ends)]
        exact, near = boundary_scores(*pair), boundary_scores(*pair, tolerance=1)
        rows.append((pk(*pair), window_diff(*pair), exact.f1, near.f1))
    means = np.mean(rows, axis=0).tolist() if rows else ()
    return dict(zip(("pk", "window_diff", "f1", "f1_near"), means, strict=False))


def nearest_cuts(edges: Ints, places: Sequence[int]) -> Ints:
    """Return the cuts (see `records`) at the edges nearest to some characters; on ties, the first edge.

    >>> nearest_cuts(np.array([0, 10, 20, 30]), [11, 16, 30]).tolist()
    [0, 1, 2, 3]
    """
    at = np.asarray(places, dtype=np.int64)
    right = np.clip(np.searchsorted(edges, at), 1, len(edges) - 1)
    nearest = right - (at - edges[right - 1] <= edges[right] - at)
    return np.unique(np.r_[0, nearest, len(edges) - 1])
