"""What chunks are like, whatever one asks of them: their sizes, how alike their sentences are, why and where they end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from advchunk.evaluation.metrics.boundaries import boundary_scores, pk, window_diff
from advchunk.evaluation.metrics.ranges import apart
from advchunk.records import Chunk, Document, Floats, Ints, Units

FORCED = ("size", "forced")  # what `explain` says of cuts that the token budget made, or an algorithm's own maximum
_NONE: Ints = np.array([], dtype=np.int64)


class Cohesion(NamedTuple):
    """How alike sentences are, -1..1: within chunks, and between neighboring ones; None where there are none."""

    within: float | None
    between: float | None


def forced(chunks: Sequence[Sequence[Chunk]]) -> float | None:
    """Return the share of cuts that a size made, and no algorithm; None if nothing says why they were made.

    Chunks say it if they were made with ``add_scores``; the end of a document is no cut.
    """
    reasons = [chunk.metadata["cut"] for several in chunks for chunk in several if "cut" in chunk.metadata]
    return sum(reason in FORCED for reason in reasons) / len(reasons) if reasons else None


def off_target(tokens: Ints, settings: Mapping[str, Any]) -> tuple[float, float] | tuple[None, None]:
    """Return the shares of chunks over and under the size that was aimed at; None without one.

    The aim is ``target_tokens``, which a fifth more or less still meets, as the size engine has it; else ``max_tokens``,
    which a fifth less still meets and nothing more.

    Parameters
    ----------
    tokens : (n,) sizes of the chunks, by the counter that kept them in bounds.

    >>> off_target(np.array([70, 100, 110, 130]), {"target_tokens": 100}), off_target(np.array([70, 101]), {"max_tokens": 100})
    ((0.25, 0.25), (0.5, 0.5))
    """
    target = settings.get("target_tokens")
    aim = target or settings.get("max_tokens")
    if not aim:
        return None, None
    return float(np.mean(tokens > (aim * 1.2 if target else aim))), float(np.mean(tokens < aim * 0.8))


def coverage(documents: Sequence[Document], chunks: Sequence[Sequence[Chunk]]) -> float:
    """Return the share of characters, white space left out, that are in a chunk: 1 for chunkers that lose nothing."""
    ink = held = 0
    for document, several in zip(documents, chunks, strict=True):
        inked = np.cumsum([0, *(not character.isspace() for character in document.text)])
        spans = np.array([span for chunk in several for span in chunk.spans], dtype=np.int64).reshape(-1, 2)
        once = apart(np.zeros(len(spans), dtype=np.int64), spans, len(document.text) + 1)
        ink += int(inked[-1])
        held += int(np.sum(inked[once[:, 2]] - inked[once[:, 1]]))
    return held / max(ink, 1)


def cohesion(sentences: Sequence[Units], rows: Sequence[Floats], chunks: Sequence[Sequence[Chunk]]) -> Cohesion:
    """Return the mean similarity of the sentences of a chunk, and of those of neighboring chunks.

    A sentence is a chunk's if its middle is. A chunk's figure is the mean over its pairs of sentences, that of
    neighbors the mean over a sentence of either, a sentence that both have not with itself; then the mean over chunks,
    or neighbors, of those that have a pair. So both are of one kind, and topics that are cut well have more within.

    Parameters
    ----------
    sentences : of each document.
    rows : (n, d) unit rows of the sentences of each.
    chunks : of each document, in reading order.
    """
    within, between = list[float](), list[float]()
    for units, vectors, several in zip(sentences, rows, chunks, strict=True):
        if len(units) == 0:
            continue
        members = _members(units, several)
        own = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        sums = [vectors[of].sum(axis=0, dtype=np.float64) for of in members]
        for of, total in zip(members, sums, strict=True):
            if len(of) > 1:
                within.append(float(total @ total - own[of].sum()) / (len(of) * (len(of) - 1)))
        for (left, one), (right, other) in pairwise(zip(members, sums, strict=True)):
            both = np.intersect1d(left, right)
            if (pairs := len(left) * len(right) - len(both)) > 0:
                between.append(float(one @ other - own[both].sum()) / pairs)
    return Cohesion(float(np.mean(within)) if within else None, float(np.mean(between)) if between else None)


def boundary_means(
    sentences: Mapping[str, Units], chunks: Mapping[str, Sequence[Chunk]], places: Mapping[str, Sequence[int]]
) -> dict[str, float]:
    """Return how well the ends of chunks meet true boundaries, as means over documents; nothing without boundaries.

    Both are moved to the end of the nearest sentence, so that one within a sentence, or within white space, is not lost.

    Parameters
    ----------
    places : by document, the characters where its true segments meet.

    Returns
    -------
    ``pk`` and ``window_diff``, in sentences, lower is better; ``f1`` of exact boundaries, and ``f1_near`` of those at most
    one sentence away.
    """
    found: dict[str, list[float]] = {"pk": [], "window_diff": [], "f1": [], "f1_near": []}
    for name, true in places.items():
        edges = sentences[name].edges
        ends = [span.end for chunk in chunks.get(name, ()) for span in chunk.spans]
        wanted, given = nearest_cuts(edges, true), nearest_cuts(edges, ends)
        found["pk"].append(pk(wanted, given))
        found["window_diff"].append(window_diff(wanted, given))
        found["f1"].append(boundary_scores(wanted, given).f1)
        found["f1_near"].append(boundary_scores(wanted, given, tolerance=1).f1)
    return {name: float(np.mean(scores)) for name, scores in found.items() if scores}


def nearest_cuts(edges: Ints, places: Sequence[int]) -> Ints:
    """Return the cuts (see `records`) whose edges are nearest to some characters; of two as near, the first.

    >>> nearest_cuts(np.array([0, 10, 20, 30]), [11, 16, 30]).tolist()
    [0, 1, 2, 3]
    """
    at = np.asarray(places, dtype=np.int64)
    right = np.clip(np.searchsorted(edges, at), 1, len(edges) - 1)
    nearest = right - (at - edges[right - 1] <= edges[right] - at)
    cuts: Ints = np.unique(np.r_[0, nearest, len(edges) - 1])
    return cuts


def _members(units: Units, chunks: Sequence[Chunk]) -> list[Ints]:
    """Return the sentences of each chunk, ascending."""
    ends = [start + len(text.rstrip()) for start, text in zip(units.edges.tolist(), units.strings(), strict=False)]
    middles = (units.edges[:-1] + np.array(ends, dtype=np.int64)) // 2
    spans = [np.searchsorted(middles, np.array(chunk.spans, dtype=np.int64).reshape(-1, 2)) for chunk in chunks]
    return [np.unique(np.concatenate([_NONE, *(np.arange(a, b) for a, b in of)])) for of in spans]
