"""Turn segments into chunks that respect a token budget. The only place that enforces sizes.

Every character is tokenized once, as part of its unit. Where counts add up (see
`models.counters.Counter`) the size of any run of units is then a difference of prefix sums;
for other tokenizers that is the first guess, and a run is counted itself before it is
trusted. Either way the characters tokenized grow linearly with the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from advchunk.errors import require
from advchunk.records import HARD_BREAK, Chunk, Floats, Ints, Segmentation, Span, Units, with_context
from advchunk.text import sentences, tiling
from advchunk.text.counters import Counter

# What a unit that is over the budget is cut into, coarsest first: of prose, and of code, tables and formulas.
PROSE: tuple[tiling.Tiler, ...] = (
    tiling.paragraphs,
    sentences.sentences,
    tiling.clauses,
    tiling.words,
    tiling.graphemes,
    tiling.characters,
)
VERBATIM: tuple[tiling.Tiler, ...] = (
    tiling.paragraphs,
    tiling.lines,
    tiling.words,
    tiling.graphemes,
    tiling.characters,
)
ATOMIC: tuple[tiling.Tiler, ...] = ()  # of what is never cut, whatever its size


RUNGS = 8  # more than a ladder has: all edges cut for a target are weaker than given ones
_SPACE = " \t\n\r"  # white space to everybody; BERT, for one, reads a form feed as nothing at all


class Limits(NamedTuple):
    """Token budget of a chunk, measured by ``counter`` on context and text (see `Params`).

    ``context`` gives what a chunk that starts at an offset is embedded under, and its tokens; ``ladder`` what a unit
    there is cut into if it is too long, coarsest first; ``target`` is how many tokens its own text should have, if any.
    """

    max_tokens: int
    min_tokens: int
    overlap_tokens: int
    counter: Counter
    context: Callable[[int], tuple[str, int]] = lambda offset: ("", 0)  # noqa: ARG005
    ladder: Callable[[int], Sequence[tiling.Tiler]] = lambda offset: PROSE  # noqa: ARG005
    target: int | None = None

    def budget(self, offset: int) -> int:
        """Return the tokens that a chunk starting at ``offset`` has for text of its own, besides what it repeats."""
        return max(self.max_tokens - self.overlap_tokens - self.context(offset)[1], 1)

    def window(self, offset: int) -> tuple[int, int]:
        """Return the least and the most tokens of its own that a chunk starting at ``offset`` should have."""
        least, most = self.around
        budget = self.budget(offset)
        return min(least, budget), min(most, budget)

    @property
    def around(self) -> tuple[int, int]:
        """The least and the most tokens that are within a fifth of the target; any will do where there is none."""
        return (0, self.max_tokens) if self.target is None else (-(-self.target * 4 // 5), self.target * 6 // 5)

    def room(self, offset: int) -> int:
        """Return the most tokens of a unit at ``offset``: code, tables and formulas may take the room for overlap."""
        return self.budget(offset) + (self.overlap_tokens if self.ladder(offset) is VERBATIM else 0)


class RunSizes:
    """Sizes of runs of units."""

    def __init__(self, units: Units, counter: Counter) -> None:
        sizes = counter.counts(units.strings()) if units.sizes is None else units.sizes
        self.units, self._counter, self._counted = units, counter, dict[tuple[int, int], int]()
        self._total = np.r_[0, np.cumsum(sizes)]
        # How many of the edges up to each are not at white space: across those, counts need not add up.
        text, glued = units.text, np.ones(len(units), dtype=np.int64)
        if counter.adds_up:
            glued[1:] = [text[edge - 1] not in _SPACE for edge in units.edges[1:-1].tolist()]
        glued[:1] = 0
        self._glued = np.cumsum(glued)

    def size(self, start: int, end: int) -> int:
        """Return the tokens of units ``start`` to ``end``."""
        if end - start == 1 or self._adds_up(start, end):
            return self.sum(start, end)
        if (start, end) not in self._counted:
            run = self.units.text[self.units.edges[start] : self.units.edges[end]]
            self._counted[start, end] = self._counter(run)
        return self._counted[start, end]

    def sum(self, start: int, end: int) -> int:
        """Return the tokens that units ``start`` to ``end`` have one by one."""
        return int(self._total[end] - self._total[start])

    def furthest(self, start: int, end: int, budget: int) -> int:
        """Return the last end, up to ``end``, of a run from ``start`` that is within ``budget``; one unit always is."""
        probe = min(self.about(start, budget), end)
        if self._adds_up(start, min(probe + 1, end)):
            return max(probe, start + 1)
        fits, too_far, tries = start + 1, end + 1, 0
        while too_far - fits > 1:
            probe = min(max(probe, fits + 1), too_far - 1)
            size = self.size(start, probe)
            fits, too_far = (probe, too_far) if size <= budget else (fits, probe)
            tries += 1
            if tries < 4:  # as if all units shrank alike when they are joined
                probe = self.about(start, int(budget * (self._total[probe] - self._total[start]) / max(size, 1)))
            else:  # halve, but look no further than twice as far as is known to fit: a look costs what it covers
                probe = min((fits + too_far) // 2, 2 * fits - start)
        return fits

    def furthest_back(self, end: int, budget: int, floor: int = 0) -> int:
        """Return the first start, from ``floor`` on, of a run to ``end`` that is within ``budget``; ``end`` if none is."""
        start = max(int(np.searchsorted(self._total, self._total[end] - budget)), floor)
        while start < end and self.size(start, end) > budget:
            start += 1
        return start

    def _adds_up(self, start: int, end: int) -> bool:
        return bool(self._glued[end - 1] == self._glued[start])

    def about(self, start: int, budget: int) -> int:
        """Return the last end of a run from ``start`` that sums up to ``budget`` at most."""
        return int(np.searchsorted(self._total, self._total[start] + budget, "right")) - 1


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


def refine(units: Units, cuts: Ints, limits: Limits, vectors: Floats | None) -> tuple[Units, Ints, Floats | None]:
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
    ruler = RunSizes(units, limits.counter)
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


def pack(
    ruler: RunSizes, start: int, end: int, limits: Limits, *, full: bool = False, at: Ints | None = None
) -> Iterable[tuple[int, int]]:
    """Yield runs of units ``start`` to ``end`` that are within the budget, packed from the left.

    A run ends at the strongest edge of its second half, the last of equals, or to be ``full`` at
    the last that fits; before that if it would leave a heading without its text. The units begin
    ``at`` these offsets of the document, if not at their edges.
    """
    units = ruler.units
    starts = units.edges if at is None else at
    while start < end:
        budget = limits.budget(int(starts[start]))
        stop = ruler.furthest(start, end, budget)
        if stop < end and units.strength is not None and full:
            stop = next((edge for edge in range(stop, start, -1) if units.strength[edge] >= 0), stop)
        elif stop < end and units.strength is not None:
            middle = min(ruler.about(start, (budget - 1) // 2) + 1, stop)
            while middle > start + 1 and units.strength[middle : stop + 1].max() < 0:
                middle -= 1
            best = sorted(range(stop, middle - 1, -1), key=units.strength.__getitem__, reverse=True)
            # To some tokenizers less text is more tokens: "cat dog" may be one, "cat " two.
            stop = next(edge for edge in best if edge == stop or ruler.size(start, edge) <= budget)
        yield start, stop
        start = stop


def pack_near_target(ruler: RunSizes, start: int, end: int, limits: Limits) -> Iterable[tuple[int, int]]:
    """Yield runs of units ``start`` to ``end`` within a fifth of the target, from the left, and what is left.

    A run ends at the strongest edge there is within a fifth, of equals at the nearest to the target. Where there is
    none but one after a heading, as before a protected block, it ends as near the target as it can.
    """
    strength, target = np.asarray(ruler.units.strength), limits.target or 0
    while start < end:
        offset = int(ruler.units.edges[start])
        (least, most), budget = limits.window(offset), limits.budget(offset)
        stop = ruler.furthest(start, end, most)
        if stop < end:
            aim = ruler.furthest(start, stop, target)
            near = range(ruler.furthest(start, stop, least - 1), stop + 1)
            best = sorted(near, key=lambda edge: (-strength[edge], abs(ruler.sum(aim, edge))))
            good = (e for e in best if strength[e] > -RUNGS and least <= ruler.size(start, e) <= most)
            stop = next(good, 0) or _nearest(ruler, start, ruler.furthest(start, end, budget), budget, target)
        yield start, stop
        start = stop


def _nearest(ruler: RunSizes, start: int, end: int, budget: int, target: int) -> int:
    """Return the end, up to ``end``, of the run from ``start`` that is nearest the target, best not at a heading."""
    strength = np.asarray(ruler.units.strength)
    edges = range(start + 1, end + 1)
    best = sorted(edges, key=lambda edge: (strength[edge] <= -RUNGS, abs(ruler.sum(start, edge) - target)))
    return next(edge for edge in best if edge == end or ruler.size(start, edge) <= budget)


def assemble(units: Units, cuts: Ints, limits: Limits, vectors: Floats | None = None) -> list[Chunk]:
    """Build the chunks of a segmentation: split what is too long, join what is too short, overlap.

    ``vectors`` (n, d), when known, let a short piece join the more similar of its neighbors.
    """
    if limits.target is not None:
        units, cuts, vectors = refine(units, cuts, limits, vectors)
    ruler, divided = RunSizes(units, limits.counter), pack if limits.target is None else pack_near_target
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


def check_segmentation(units: Units, found: Segmentation) -> None:
    """Raise `ConfigurationError` unless a decision fits the units: text would be lost."""
    n, cuts = len(units), found.cuts
    right = len(cuts) > 1 and cuts[0] == 0 and cuts[-1] == n and bool(np.all(np.diff(cuts) > 0))
    require(right, f"cuts must rise strictly from 0 to {n}", cuts)
    require(found.labels is None or len(found.labels) == n, f"labels must be {n} numbers", found.labels)
    require(found.gaps is None or len(found.gaps) == n - 1, f"gaps must be {n - 1} numbers", found.gaps)


def build_chunks(units: Units, found: Segmentation, limits: Limits) -> list[Chunk]:
    """Build the chunks of what an algorithm decided."""
    if found.labels is None:
        return assemble(units, found.cuts, limits, found.rows)
    return assemble_groups(units, found.labels, limits, found.rows)


def assemble_groups(units: Units, labels: Ints, limits: Limits, vectors: Floats | None = None) -> list[Chunk]:
    """Build the chunks of a grouping: the units of a label, in reading order, packed to ``max_tokens``.

    Chunks are ordered by their first character. They do not overlap, and know no target.
    """
    limits = limits._replace(target=None)
    ruler = RunSizes(units, limits.counter)
    pieces: list[Sequence[int]] = []
    order = np.argsort(labels, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        members = group.tolist()
        if members[-1] - members[0] + 1 == len(members):
            runs = pack(ruler, members[0], members[-1] + 1, limits, full=True)
            pieces += [range(a, b) for a, b in runs]
        else:
            together = RunSizes(_together(units, members), limits.counter)
            pieces += [
                members[a:b] for a, b in pack(together, 0, len(members), limits, full=True, at=units.edges[members])
            ]
    chunks = []
    for piece in _join_short(ruler, sorted(pieces, key=lambda piece: piece[0]), limits, vectors):
        spans = _spans(units, piece)
        tokens = ruler.size(piece[0], piece[-1] + 1) if len(spans) == 1 else None
        chunks.append(_chunk(units, spans, limits, spans[0].start, tokens))
    return sorted(chunks, key=lambda chunk: chunk.spans)


def _join_short(
    ruler: RunSizes, pieces: Sequence[Sequence[int]], limits: Limits, vectors: Floats | None
) -> list[Sequence[int]]:
    """Join every piece under ``min_tokens`` with a neighbor that has room for it.

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
        np.zeros(1, dtype=np.int64)
        if units.strength is None
        else np.union1d(0, np.flatnonzero(units.strength >= HARD_BREAK))
    )


def _likeness(vectors: Floats | None, left: Sequence[int], right: Sequence[int]) -> float:
    if vectors is None:
        return 0.0  # all alike: the first, that is the left, neighbor
    a, b = vectors[list(left)].mean(axis=0), vectors[list(right)].mean(axis=0)
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


def _union(left: Sequence[int], right: Sequence[int]) -> Sequence[int]:
    if isinstance(left, range) and isinstance(right, range) and left.stop == right.start:
        return range(left.start, right.stop)
    return sorted([*left, *right])


def _reach_back(ruler: RunSizes, floor: int, start: int, end: int, limits: Limits) -> int:
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
            first = RunSizes(before, limits.counter).furthest_back(len(before), limits.overlap_tokens)
            offset = last + int(before.edges[first])
            if offset < here:
                break
    context, _ = limits.context(here)
    whole = with_context(context, units.text[offset : units.edges[end]])
    return offset if limits.counter(whole) <= limits.max_tokens else here


def _chunk(units: Units, spans: Sequence[Span], limits: Limits, start: int, tokens: int | None) -> Chunk:
    """Build the chunk that covers ``spans``; ``tokens`` of its text if they are known already."""
    text = "".join(units.text[a:b] for a, b in spans)
    context, _ = limits.context(start)
    if context or tokens is None:
        tokens = limits.counter(with_context(context, text))
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
