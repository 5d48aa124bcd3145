"""Cut units that are too long: over the budget, or too coarse to come near a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np

from advchunk import tiling
from advchunk.models.counters import Counter
from advchunk.records import Floats, Ints, Units
from advchunk.sizes.limits import VERBATIM, Limits, Ruler

RUNGS = 8  # more than a ladder has: all edges cut for a target are weaker than given ones


def fit(units: Units, limits: Limits) -> Units:
    """Count the units, and split those over the budget, so that no algorithm sees one.

    What is split is packed again from the left, at the coarsest rung of its ladder that serves.

    Returns
    -------
    Units with ``sizes``.
    """
    sizes = limits.counter.counts(units.strings()) if units.sizes is None else units.sizes
    starts = units.edges[:-1].tolist()
    tight = limits.max_tokens - limits.overlap_tokens
    long = [i for i in np.flatnonzero(sizes > tight // 2).tolist() if sizes[i] > limits.room(starts[i])]
    if not long:
        return Units(units.text, units.edges, sizes, units.strength)
    ends = units.edges[1:].tolist()
    texts = [(units.text[starts[i] : ends[i]], starts[i]) for i in long]
    pieces = (_pieces(text, start, limits, limits.ladder(start)) for text, start in texts)
    return _with_pieces(units, sizes, dict(chain.from_iterable(pieces)))


def finer(units: Units, cuts: Ints, limits: Limits, vectors: Floats | None) -> tuple[Units, Ints, Floats | None]:
    """Return units so short that in prose one ends in every window around the target, with their cuts and vectors.

    Strengths keep their order. The finer a new edge the weaker it is, but weaker still is one after a heading.
    """
    least, most = limits.around
    sizes = limits.counter.counts(units.strings()) if units.sizes is None else units.sizes
    starts, ends = units.edges[:-1].tolist(), units.edges[1:].tolist()
    pieces, rungs = dict[int, int](), dict[int, int]()
    for i in np.flatnonzero(sizes > most - least + 1).tolist():
        ladder = limits.ladder(starts[i])
        if ladder is not VERBATIM:
            text = units.text[starts[i] : ends[i]]
            for end, size, rung in _slivers(text, starts[i], most - least + 1, limits.counter, ladder[:-1]):
                pieces[end], rungs[end] = size, rung
    finer = _with_pieces(units, sizes, pieces)
    strength = np.zeros(len(finer) + 1, dtype=np.int64) if finer.strength is None else finer.strength * RUNGS
    for end in rungs.keys() - set(ends):
        strength[np.searchsorted(finer.edges, end)] = -rungs[end]
    rows = None if vectors is None else vectors[np.searchsorted(units.edges, finer.edges[:-1], "right") - 1]
    return replace(finer, strength=strength), np.searchsorted(finer.edges, units.edges[cuts]), rows


def _with_pieces(units: Units, sizes: Ints, pieces: Mapping[int, int]) -> Units:
    """Return units that end at ``pieces`` too, which gives the tokens of what ends there."""
    size_to = {**dict(zip(units.edges[1:].tolist(), sizes.tolist(), strict=True)), **pieces}
    edges = np.array([0, *sorted(size_to)], dtype=np.int64)
    strength = None
    if units.strength is not None:
        strength = np.zeros(len(edges), dtype=np.int64)
        strength[np.searchsorted(edges, units.edges)] = units.strength
    return Units(units.text, edges, np.array([size_to[end] for end in edges[1:].tolist()], dtype=np.int64), strength)


def _pieces(text: str, offset: int, limits: Limits, ladder: Sequence[tiling.Tiler]) -> Iterable[tuple[int, int]]:
    """Yield end and size of packed pieces of a text that is over the budget and starts at ``offset``."""
    rest = list(ladder)
    units = Units(text, np.array([0, len(text)]))
    while rest and len(units) == 1:
        units = rest.pop(0)(text)
    ruler = Ruler(units, limits.counter)
    edges, i = units.edges.tolist(), 0
    while i < len(units):
        start = offset + edges[i]
        if ruler.size(i, i + 1) > limits.budget(start) and rest:
            yield from _pieces(text[edges[i] : edges[i + 1]], start, limits, rest)
            i += 1
        else:
            end = ruler.furthest(i, len(units), limits.budget(start))
            yield offset + edges[end], ruler.size(i, end)
            i = end


def _slivers(
    text: str, offset: int, most: int, counter: Counter, ladder: Sequence[tiling.Tiler]
) -> Iterable[tuple[int, int, int]]:
    """Yield end, size and rung of pieces of at most ``most`` tokens, each as coarse as that allows."""
    rung, units = 0, Units(text, np.array([0, len(text)]))
    while rung < len(ladder) and len(units) == 1:
        units = ladder[rung](text)
        rung += 1
    for (start, end), size in zip(
        pairwise(units.edges.tolist()), counter.counts(units.strings()).tolist(), strict=True
    ):
        if size > most and rung < len(ladder):
            for at, tokens, finer in _slivers(text[start:end], offset + start, most, counter, ladder[rung:]):
                yield at, tokens, rung if at == offset + end else finer + rung
        else:
            yield offset + end, size, rung
