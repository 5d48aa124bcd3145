"""Build chunks of segments or of groups: divided, joined, overlapping."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from advchunk import tiling
from advchunk.errors import require
from advchunk.explain import Segmentation
from advchunk.records import WALL, Chunk, Floats, Ints, Span, Units, in_context
from advchunk.sizes.limits import ATOMIC, VERBATIM, Limits, Ruler
from advchunk.sizes.runs import packed, windows
from advchunk.sizes.units import finer


def assemble(units: Units, cuts: Ints, limits: Limits, vectors: Floats | None = None) -> list[Chunk]:
    """Build the chunks of a segmentation: split what is too long, join what is too short, overlap.

    ``vectors`` (n, d), when known, let a short piece join the more similar of its neighbours.
    """
    if limits.target is not None:
        units, cuts, vectors = finer(units, cuts, limits, vectors)
    ruler, divided = Ruler(units, limits.counter), packed if limits.target is None else windows
    pieces = [range(a, b) for start, end in pairwise(cuts.tolist()) for a, b in divided(ruler, start, end, limits)]
    joined = _join_short(ruler, pieces, limits, vectors)
    walls = _walls(units)
    chunks, floor = [], 0
    for piece in joined:
        start, end = piece[0], piece[-1] + 1
        floor = max(floor, int(walls[np.searchsorted(walls, start, "right") - 1]))
        reached = _reach_back(ruler, floor, start, end, limits)
        span = Span(reached, int(units.edges[end]))
        tokens = ruler.size(start, end) if reached == units.edges[start] else None
        chunks.append(_chunk(units, [span], limits, int(units.edges[start]), tokens))
        floor = start
    return chunks


def check(units: Units, found: Segmentation) -> None:
    """Raise `ConfigurationError` unless a decision fits the units: text would be lost."""
    n, cuts = len(units), found.cuts
    right = len(cuts) > 1 and cuts[0] == 0 and cuts[-1] == n and bool(np.all(np.diff(cuts) > 0))
    require(right, f"cuts must rise strictly from 0 to {n}", cuts)
    require(found.labels is None or len(found.labels) == n, f"labels must be {n} numbers", found.labels)
    require(found.gaps is None or len(found.gaps) == n - 1, f"gaps must be {n - 1} numbers", found.gaps)


def built(units: Units, found: Segmentation, limits: Limits) -> list[Chunk]:
    """Build the chunks of what an algorithm decided."""
    if found.labels is None:
        return assemble(units, found.cuts, limits, found.rows)
    return gather(units, found.labels, limits, found.rows)


def gather(units: Units, labels: Ints, limits: Limits, vectors: Floats | None = None) -> list[Chunk]:
    """Build the chunks of a grouping: the units of a label, in reading order, packed to ``max_tokens``.

    Chunks are ordered by their first character. They do not overlap, and know no target.
    """
    limits = limits._replace(target=None)
    ruler = Ruler(units, limits.counter)
    pieces: list[Sequence[int]] = []
    order = np.argsort(labels, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        members = group.tolist()
        if members[-1] - members[0] + 1 == len(members):
            runs = packed(ruler, members[0], members[-1] + 1, limits, full=True)
            pieces += [range(a, b) for a, b in runs]
        else:
            together = Ruler(_together(units, members), limits.counter)
            pieces += [
                members[a:b] for a, b in packed(together, 0, len(members), limits, full=True, at=units.edges[members])
            ]
    chunks = []
    for piece in _join_short(ruler, sorted(pieces, key=lambda piece: piece[0]), limits, vectors):
        spans = _spans(units, piece)
        tokens = ruler.size(piece[0], piece[-1] + 1) if len(spans) == 1 else None
        chunks.append(_chunk(units, spans, limits, spans[0].start, tokens))
    return sorted(chunks, key=lambda chunk: chunk.spans)


def _join_short(
    ruler: Ruler, pieces: Sequence[Sequence[int]], limits: Limits, vectors: Floats | None
) -> list[Sequence[int]]:
    """Join every piece under ``min_tokens`` with a neighbour that has room for it.

    That is the more similar one, or the one that leaves no heading without its text. None crosses a wall.
    """
    joined, i = list(pieces), 0
    strength, walls = ruler.units.strength, _walls(ruler.units)

    def size(piece: Sequence[int]) -> int:
        if piece[-1] - piece[0] + 1 == len(piece):
            return ruler.size(piece[0], piece[-1] + 1)
        return limits.counter(_text(ruler.units, piece))

    def room(piece: Sequence[int]) -> int:
        return int(np.searchsorted(walls, piece[0], "right"))

    def has_room(whole: Sequence[int]) -> bool:
        return size(whole) <= limits.window(int(ruler.units.edges[whole[0]]))[1]

    while limits.min_tokens and i < len(joined):
        wholes: dict[int, Sequence[int]] = {}
        if size(joined[i]) < limits.min_tokens:
            pairs = [left for left in (i - 1, i) if 0 <= left < len(joined) - 1]
            pairs = [left for left in pairs if room(joined[left]) == room(joined[left + 1])]
            wholes = {left: _union(joined[left], joined[left + 1]) for left in pairs}
            wholes = {left: whole for left, whole in wholes.items() if has_room(whole)}
        if wholes:
            stranded = {left: strength is not None and strength[whole[-1] + 1] < 0 for left, whole in wholes.items()}
            i = max(wholes, key=lambda left: (not stranded[left], _likeness(vectors, joined[left], joined[left + 1])))
            joined[i : i + 2] = [wholes[i]]  # which may still be short: look again
        else:
            i += 1
    return joined


def _walls(units: Units) -> Ints:
    """Return the indices of the edges that no chunk crosses, the first edge among them."""
    return (
        np.zeros(1, dtype=np.int64) if units.strength is None else np.union1d(0, np.flatnonzero(units.strength >= WALL))
    )


def _likeness(vectors: Floats | None, left: Sequence[int], right: Sequence[int]) -> float:
    if vectors is None:
        return 0.0  # all alike: the first, that is the left, neighbour
    a, b = vectors[list(left)].mean(axis=0), vectors[list(right)].mean(axis=0)
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


def _union(left: Sequence[int], right: Sequence[int]) -> Sequence[int]:
    if isinstance(left, range) and isinstance(right, range) and left.stop == right.start:
        return range(left.start, right.stop)
    return sorted([*left, *right])


def _reach_back(ruler: Ruler, floor: int, start: int, end: int, limits: Limits) -> int:
    """Return the offset from which a chunk repeats the one before: whole units, else sentences or words of prose."""
    units = ruler.units
    here = int(units.edges[start])
    if not limits.overlap_tokens or start == floor:
        return here
    reached = ruler.furthest_back(start, limits.overlap_tokens, floor)
    offset = int(units.edges[reached])
    if reached == start:  # the unit before is itself too long
        last = int(units.edges[start - 1])
        rungs = limits.ladder(last)
        for finer in () if rungs in (VERBATIM, ATOMIC) else (rungs[1], tiling.words):
            before = finer(units.text[last:here])
            first = Ruler(before, limits.counter).furthest_back(len(before), limits.overlap_tokens)
            offset = last + int(before.edges[first])
            if offset < here:
                break
    context, _ = limits.context(here)
    whole = in_context(context, units.text[offset : units.edges[end]])
    return offset if limits.counter(whole) <= limits.max_tokens else here


def _chunk(units: Units, spans: Sequence[Span], limits: Limits, start: int, tokens: int | None) -> Chunk:
    """Build the chunk that covers ``spans``; ``tokens`` of its text if they are known already."""
    text = "".join(units.text[a:b] for a, b in spans)
    context, _ = limits.context(start)
    if context or tokens is None:
        tokens = limits.counter(in_context(context, text))
        if tokens > limits.max_tokens and context:  # the context did not count as expected
            context, tokens = "", limits.counter(text)
    oversize = {"oversize": True} if tokens > limits.max_tokens else {}
    return Chunk(text, tuple(spans), tokens, context=context, metadata=oversize)


def _text(units: Units, members: Sequence[int]) -> str:
    return "".join(units.text[units.edges[i] : units.edges[i + 1]] for i in members)


def _together(units: Units, members: Sequence[int]) -> Units:
    """Return distant units as if they stood side by side."""
    lengths = np.diff(units.edges)[members]
    sizes = None if units.sizes is None else units.sizes[members]
    strength = None if units.strength is None else np.r_[units.strength[members], units.strength[-1]]
    return Units(_text(units, members), np.r_[0, np.cumsum(lengths)], sizes, strength)


def _spans(units: Units, members: Sequence[int]) -> list[Span]:
    index = np.asarray(members)
    breaks = np.flatnonzero(np.diff(index) > 1)
    first, last = index[np.r_[0, breaks + 1]], index[np.r_[breaks, len(index) - 1]]
    return [Span(int(a), int(b)) for a, b in zip(units.edges[first], units.edges[last + 1], strict=True)]
