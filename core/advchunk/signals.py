"""Numbers about units and the gaps between them. Pure numpy: no text, no models."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from advchunk.records import Floats

_ROUNDING = 1e-6  # of a unit row in float32

ThresholdRule: TypeAlias = Literal["percentile", "standard_deviation", "interquartile", "gradient"]


def unit_rows(x: Floats) -> Floats:
    """Scale rows to length 1, leaving zero rows zero, so that ``a @ b`` is their cosine."""
    norm = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(np.divide(x, norm, out=np.zeros_like(x), where=norm > 0))


def centred(x: Floats) -> Floats:
    """Return unit rows of ``x`` less its mean row: takes out what all units of a document share.

    Rows that differ from the mean by rounding only become zero, not that rounding blown up.
    """
    rest = x - x.mean(axis=0)
    rest[np.linalg.norm(rest, axis=1) < _ROUNDING] = 0
    return unit_rows(rest)


def neighbour_similarity(vectors: Floats) -> Floats:
    """Return the (n - 1,) cosines of neighbouring unit rows.

    >>> neighbour_similarity(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(np.einsum("ij,ij->i", vectors[:-1], vectors[1:], dtype=np.float64))


def breakpoint_threshold(distances: Floats, rule: ThresholdRule, amount: float) -> tuple[Floats, float]:
    """Return what is compared, and the threshold above which it is a break.

    The four rules of LangChain's SemanticChunker: a percentile of the distances; mean plus
    ``amount`` standard deviations; mean plus ``amount`` interquartile ranges; a percentile
    of the distances' gradient.
    """
    if rule == "percentile":
        return distances, float(np.percentile(distances, amount))
    if rule == "standard_deviation":
        return distances, float(distances.mean() + amount * distances.std())
    if rule == "interquartile":
        low, high = np.percentile(distances, [25, 75])
        return distances, float(distances.mean() + amount * (high - low))
    gradient = np.gradient(distances) if len(distances) > 1 else np.zeros_like(distances)
    return gradient, float(np.percentile(gradient, amount))


def threshold_for_chunks(distances: Floats, number: int) -> float:
    """Return the threshold above which ``number`` - 1 of the distances lie (fewer, where some are equal).

    LangChain goes by way of a percentile, where rounding can make it one more or one less.
    """
    if number > len(distances):
        return -np.inf
    return float(np.sort(distances)[len(distances) - number])
