"""Build chunks that respect size limits. No other module enforces sizes.

Every character is tokenized once, as part of its unit. If counts add up (see `text.counters.Counter`), the size of any
run of units is a difference of prefix sums. For other tokenizers that difference is an estimate, and a run is counted
as a whole before it is accepted. Either way the work grows linearly with the text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise, repeat
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from advchunk.errors import InvalidSegmentation
from advchunk.records import Chunk, Floats, Ints, Segmentation, Span, SpanSet, Strength, Units, evolve, with_context
from advchunk.text import tiling
from advchunk.text.counters import CHARACTERS, Counter, count_units
from advchunk.text.patterns import lazy_pattern
from advchunk.text.sentences import sentences

Levels: TypeAlias = tuple[tiling.Tiler, ...]
"""Tilers, coarsest first, that split a unit over the limits."""

_FINE: Levels = (tiling.words, tiling.syllables, tiling.graphemes, tiling.characters)
VERBATIM: Levels = (tiling.paragraphs, tiling.lines, *_FINE)
"""The levels of code, tables and formulas."""
CODE: Levels = (tiling.outermost(tiling.paragraphs), *[tiling.outermost(tiling.lines)] * 3, tiling.lines, *_FINE)
"""The levels of source code: statements rather than lines."""
ATOMIC: Levels = ()
"""The levels of text that is never split."""
WITHIN_SENTENCE: Levels = (tiling.clauses, *_FINE)
"""The levels of a sentence."""
PROSE: Levels = (tiling.paragraphs, sentences, *WITHIN_SENTENCE)

SCRAP = 8
"""Most tokens of a piece that says nothing alone, such as "NOTE" or "Yeah." """
_STOPS = ".!?\u2026\u3002\uff01\uff1f"
_LEVELS = 10  # more than any `Levels` has, so that edges added for a target are weaker than those of the units
LONG = 16  # characters per token of a text that is not worth counting, because it is hardly within its limit
_LETTER = lazy_pattern(r"[^\W_]")  # or a digit
_SPACE = " \t\n\r"  # white space for every tokenizer; BERT, for one, drops form feeds


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The limits on the size of a chunk, in tokens of context and text, and in any other units.

    ``context`` returns the context of a chunk that starts at an offset, and its tokens. ``target`` is for the text
    alone, as are ``more``, pairs of a counter (of words, for example) and a maximum. Over the limits, prose is split at
    the levels of ``prose``, spans of ``verbatim`` at ``verbatim_levels`` (`VERBATIM` or `CODE`), a table or formula at
    what ``own_levels`` returns for its offset (`building.contexts.OwnLevels`), and those of ``atomic`` never.
    ``joins_scraps`` joins pieces of at most `SCRAP` tokens, or below the algorithm's own minimum, with a neighbor.
    ``alone`` are the offsets at which a chunk repeats nothing, and needs no room for an overlap (`for_units`).
    """

    max_tokens: int
    min_tokens: int
    overlap_tokens: int
    counter: Counter
    context: Callable[[int], tuple[str, int]] | None = None
    target: int | None = None
    more: tuple[tuple[Counter, int], ...] = ()
    prose: Levels = PROSE
    verbatim: SpanSet = SpanSet()  # noqa: RUF009 - immutable
    verbatim_levels: Levels = VERBATIM
    own_levels: Callable[[int], Levels | None] | None = None
    atomic: SpanSet = SpanSet()  # noqa: RUF009
    joins_scraps: bool = False
    alone: frozenset[int] = frozenset({0})

    def for_units(self, units: Units) -> "Limits":
        """Return the limits with ``alone`` for units: the first, those after hard breaks, and those after code and the
        like that is too long to be repeated.
        """
        if not self.overlap_tokens:
            return self
        edges = units.edges.tolist()
        alone = {edges[i] for i in units.hard_breaks().tolist()}
        long = [] if units.sizes is None else np.flatnonzero(units.sizes > self.overlap_tokens).tolist()
        alone |= {edges[i + 1] for i in long if edges[i] in self.verbatim or edges[i] in self.atomic}
        return replace(self, alone=frozenset(alone))

    @property
    def max_context(self) -> int:
        """The most tokens that a context may have."""
        return (self.max_tokens - self.overlap_tokens) // 2

    def levels(self, offset: int) -> Levels:
        """Return the levels at which a unit at ``offset`` is split if it is over the limits."""
        if offset in self.atomic:
            return ATOMIC
        if self.own_levels and (levels := self.own_levels(offset)) is not None:
            return levels
        return self.verbatim_levels if offset in self.verbatim else self.prose

    def is_verbatim(self, offset: int) -> bool:
        """Return True if a unit at ``offset`` is split at ``verbatim_levels``."""
        return offset in self.verbatim and offset not in self.atomic

    def room(self, offset: int, overlap: int = 0) -> int:
        """Return the tokens available to a chunk that starts at ``offset``, besides its context and an overlap."""
        of_context = self.context(offset)[1] if self.context else 0
        return max(self.max_tokens - overlap - of_context, 1)

    def budget(self, offset: int) -> int:
        """Return the tokens available to a chunk that starts at ``offset``, besides context and overlap, if any."""
        return self.room(offset, 0 if offset in self.alone else self.overlap_tokens)

    def window(self, offset: int) -> tuple[int, int]:
        """Return the least and the most tokens that a chunk starting at ``offset`` should have, besides overlap."""
        least, most = self.target_range
        budget = self.budget(offset)
        return min(least, budget), min(most, budget)

    @property
    def target_range(self) -> tuple[int, int]:
        """The least and the most tokens within 20% of the target; without a target, the whole range."""
        return (0, self.max_tokens) if self.target is None else (-(-self.target * 4 // 5), self.target * 6 // 5)

    def is_divisible(self, offset: int, size: int) -> bool:
        """Return True if even parts of a text are near the target: one in its window, several in half of it.

        Several need room, because a part can end at edges only.
        """
        least, most = self.window(offset)
        parts = max(round(2 * size / (least + most)), 1)
        return abs(2 * size / parts - least - most) <= (most - least) / min(parts, 2)

    def max_unit(self, offset: int) -> int:
        """Return the most tokens of a unit at ``offset``: code, tables and formulas may use the room for overlap."""
        return self.room(offset) if self.is_verbatim(offset) else self.budget(offset)

    def exceeds_more(self, text: str) -> bool:
        """Return True if a text is over one of the further limits."""
        return any(len(text) > most and counter(text) > most for counter, most in self.more)


class RunSizes:
    """The sizes of runs of units."""

    def __init__(self, units: Units, counter: Counter, more: Sequence[tuple[Counter, int]] = ()) -> None:
        self.units, self._counter, self._cache = count_units(units, counter), counter, dict[tuple[int, int], int]()
        self.edges: list[int] = units.edges.tolist()
        self.strength: list[int] = units.strength.tolist()
        self._more = [(type(self)(replace(units, sizes=None), other), most) for other, most in more]
        self._shrinkage = 1.0  # of the last run that was counted and fit: the sum of its units over its size
        self._total: list[int] = [0, *accumulate(self.units.token_counts().tolist())]
        # The number of edges so far that are not at white space: across those, counts may not add up.
        text, inner = units.text, self.edges[1:-1]
        is_glued: Iterable[bool] = repeat(counter is not CHARACTERS, len(inner))
        if counter.adds_up and counter is not CHARACTERS:
            is_glued = [text[edge - 1] not in _SPACE for edge in inner]
        self._glued = [0, *accumulate(is_glued)]

    def size(self, start: int, end: int) -> int:
        """Return the tokens of units ``start`` to ``end``."""
        if self._adds_up(start, end):
            return self.sum(start, end)
        if (start, end) not in self._cache:
            run = self.units.text[self.edges[start] : self.edges[end]]
            self._cache[start, end] = self._counter(run)
        return self._cache[start, end]

    def sum(self, start: int, end: int) -> int:
        """Return the sum of the tokens of units ``start`` to ``end``, counted one by one."""
        return self._total[end] - self._total[start]

    def fits(self, start: int, end: int, budget: int) -> bool:
        """Return True if units ``start`` to ``end`` are within ``budget`` tokens and within the further limits."""
        if self.size(start, end) > budget:
            return False
        return not self._more or all(sizes.size(start, end) <= most for sizes, most in self._more)

    def furthest(self, start: int, end: int, budget: int) -> int:
        """Return the last end, up to ``end``, of a run from ``start`` within all limits, or of one unit."""
        last = self._furthest(start, end, budget)
        if self._more:
            for sizes, most in self._more:
                last = sizes.furthest(start, last, most)
            last = self._furthest(start, last, budget)  # less text may have more tokens
        return last

    def _furthest(self, start: int, end: int, budget: int) -> int:
        probe = min(self.about(start, budget), end)
        if self._adds_up(start, min(probe + 1, end)):
            return max(probe, start + 1)
        fits, too_far, tries, probe = start + 1, end + 1, 0, self.about(start, int(budget * self._shrinkage))
        while too_far - fits > 1:
            probe = min(max(probe, fits + 1), too_far - 1)
            size = self.size(start, probe)
            fits, too_far = (probe, too_far) if size <= budget else (fits, probe)
            tries += 1
            shrinkage = self.sum(start, probe) / max(size, 1)
            if size <= budget:
                self._shrinkage = shrinkage
            if tries < 4:  # assume that all units shrink alike when they are joined
                probe = self.about(start, int(budget * shrinkage))
            else:  # bisect, but at most twice as far as a run that fits: counting takes time linear in the length
                probe = min((fits + too_far) // 2, 2 * fits - start)
        return fits

    def furthest_back(self, end: int, budget: int, floor: int = 0) -> int:
        """Return the first start, from ``floor`` on, of a run to ``end`` within ``budget``, else ``end``."""
        start = max(bisect_left(self._total, self._total[end] - budget), floor)
        while start < end and self.size(start, end) > budget:
            start += 1
        return start

    def about(self, start: int, budget: int) -> int:
        """Return the last end of a run from ``start`` whose units sum up to ``budget`` at most."""
        return bisect_right(self._total, self._total[start] + budget) - 1

    def _adds_up(self, start: int, end: int) -> bool:
        return self._glued[end - 1] == self._glued[start]


class _CharacterSizes(RunSizes):
    """The sizes of runs of characters; only runs are counted, and single characters estimated by their length."""

    def __init__(self, units: Units, counter: Counter, more: Sequence[tuple[Counter, int]] = ()) -> None:
        super().__init__(evolve(units, sizes=np.diff(units.edges)), counter, more)

    def _adds_up(self, start: int, end: int) -> bool:  # noqa: ARG002 - not even for one
        return False


# Units within the limits.


def fit(units: Units, limits: Limits) -> Units:
    """Return units with ``sizes``, those over the limits split at the coarsest level that suffices, from the left."""
    units = count_units(units, limits.counter)
    limits, edges, sizes = limits.for_units(units), units.edges, units.token_counts()

    def text(i: int) -> str:
        return units.text[edges[i] : edges[i + 1]]

    least = (limits.max_tokens - limits.overlap_tokens) // (2 if limits.context else 1)
    long = [i for i, size in enumerate(sizes.tolist()) if size > least and size > limits.max_unit(int(edges[i]))]
    if limits.more:
        maybe_over = np.flatnonzero(np.diff(edges) > min(most for _, most in limits.more)).tolist()
        long += [i for i in maybe_over if limits.exceeds_more(text(i))]
    if not long:
        return units
    if moved := {i + 1: end for i in long if (end := _end_without_space(units, i, limits))}:
        edges = edges.copy()
        edges[list(moved)] = list(moved.values())
        return fit(Units(units.text, edges, None, units.strength), limits)
    starts = ((i, int(edges[i])) for i in dict.fromkeys(long))
    parts = (_split(text(i), at, limits, limits.levels(at), _room_above(units, i, limits)) for i, at in starts)
    return _add_edges(units, dict(chain.from_iterable(parts)))


def _end_without_space(units: Units, i: int, limits: Limits) -> int:
    """Return the end of a table or the like that fits without the white space after it, which moves on; else 0."""
    start, end = units.edges[i : i + 2].tolist()
    inner = units.text[start:end].rstrip()
    if i + 1 == len(units) or len(inner) == end - start or not limits.is_verbatim(start):
        return 0
    below = units.text[start + len(inner) : int(units.edges[i + 2])]
    if limits.counter(inner) > limits.max_unit(start) or limits.exceeds_more(inner):
        return 0
    most, is_own = limits.max_unit(end), limits.own_levels is not None and limits.own_levels(end) is not None
    has_room = limits.counter(below) <= most and not limits.exceeds_more(below)
    return start + len(inner) if has_room or (is_own and limits.counter(below.strip()) > most) else 0


def _room_above(units: Units, i: int, limits: Limits) -> int:
    """Return the tokens of the headings above unit ``i`` that share its chunk; 0 if over half of one."""
    first = i
    while first and units.strength[first] < 0:
        first -= 1
    room = int(units.token_counts()[first:i].sum())
    return room if room <= limits.budget(int(units.edges[i])) // 2 else 0


def refine(units: Units, cuts: Ints, limits: Limits, vectors: Floats | None) -> tuple[Units, Ints, Floats | None]:
    """Split units so that prose has an edge in each half of a window around the target, where each text that
    `Limits.is_divisible` is then divided. Strengths keep their order. The finer the level of a new edge, the weaker it
    is; edges after headings are weakest.
    """
    least, most = limits.target_range
    units = count_units(units, limits.counter)
    starts, ends = units.edges[:-1].tolist(), units.edges[1:].tolist()
    parts, levels, longest = dict[int, int](), dict[int, int](), (most - least) // 2 + 1
    for i in np.flatnonzero(units.token_counts() > longest).tolist():
        if not limits.is_verbatim(starts[i]):
            tilers = limits.levels(starts[i])
            text = units.text[starts[i] : ends[i]]
            for end, size, level in _split_to_size(text, starts[i], longest, limits.counter, tilers[:-1]):
                parts[end], levels[end] = size, level
    fine = _add_edges(replace(units, strength=units.strength * _LEVELS), parts)
    strength = fine.strength.copy()
    for end in levels.keys() - set(ends):
        strength[np.searchsorted(fine.edges, end)] = -levels[end]
    rows = None if vectors is None else vectors[np.searchsorted(units.edges, fine.edges[:-1], "right") - 1]
    return replace(fine, strength=strength), np.searchsorted(fine.edges, units.edges[cuts]), rows


def _add_edges(units: Units, parts: Mapping[int, int]) -> Units:
    """Return counted units that also end at ``parts``, which maps offsets to the tokens before them."""
    edges, strength = units.edges.tolist(), units.strength.tolist()
    size_to = {**dict(zip(edges[1:], units.token_counts().tolist(), strict=True)), **parts}
    strength_at, ends = dict(zip(edges, strength, strict=True)), sorted(size_to)
    new = Strength.SENTENCE if {*strength} == {Strength.SENTENCE} else Strength.WITHIN_SENTENCE
    sizes = np.array([size_to[end] for end in ends], dtype=np.int64)
    strengths = np.array([strength_at.get(edge, new) for edge in (0, *ends)], dtype=np.int64)
    return evolve(tiling.from_ends(units.text, ends), sizes=sizes, strength=strengths)


def _split(text: str, offset: int, limits: Limits, levels: Levels, room: int) -> Iterable[tuple[int, int]]:
    """Yield the end and the size of each packed part of a text that starts at ``offset`` and is over the limits.

    The first part leaves ``room`` tokens free. A part that needs a finer level is split together with the small parts
    beside it, such as the fence of a code block; but no row or cell is split that fits, and the part after a small one
    leaves room.
    """
    rest = list(levels)
    units = tiling.from_ends(text, ())
    tiler: tiling.Tiler = tiling.paragraphs
    while rest and len(units) == 1:
        tiler = rest.pop(0)
        units = tiler(text)
    finest = getattr(tiler, "tiler", tiler)  # of one that keeps links and the like whole
    sizes_of = _CharacterSizes if finest in (tiling.graphemes, tiling.characters) else RunSizes
    sizes = sizes_of(units, limits.counter, limits.more)
    edges, parts = sizes.edges, list[_Part]()
    while (start := parts[-1].end if parts else 0) < len(units):
        budget = limits.max_unit(offset + edges[start]) - (0 if start else room)
        is_long = bool(rest) and not sizes.fits(start, start + 1, budget)
        end = start + 1 if is_long else sizes.furthest(start, len(units), budget)
        part = _Part(start, end, is_long, is_small=2 * sizes.size(start, end) < budget)
        while not isinstance(tiler, tiling.RowTiler) and parts and part.needs(parts[-1]):
            part = _Part(parts.pop().start, part.end, is_long=True, is_small=False)
        parts.append(part)
    for start, end, is_long, is_small in parts:
        if is_long:
            inner, at = text[edges[start] : edges[end]], offset + edges[start]
            yield from _split(inner, at, limits, tuple(rest), room)
        else:
            yield offset + edges[end], sizes.size(start, end)
        room = sizes.size(start, end) if is_small else 0


class _Part(NamedTuple):
    """A run of units; a long one is split at a finer level, a small one takes less than half of a chunk."""

    start: int
    end: int
    is_long: bool
    is_small: bool

    def needs(self, last: "_Part") -> bool:
        """Return True if one of two neighbors is long, and the other small."""
        return (self.is_long and last.is_small) or (self.is_small and last.is_long)


def _split_to_size(
    text: str, offset: int, most: int, counter: Counter, levels: Levels
) -> Iterable[tuple[int, int, int]]:
    """Yield the end, the size and the level of parts of at most ``most`` tokens, each as coarse as possible."""
    level, units = 0, tiling.from_ends(text, ())
    while level < len(levels) and len(units) == 1:
        units = levels[level](text)
        level += 1
    sizes = counter.counts(units.strings()).tolist()
    for (start, end), size in zip(pairwise(units.edges.tolist()), sizes, strict=True):
        if size > most and level < len(levels):
            for at, tokens, finer in _split_to_size(text[start:end], offset + start, most, counter, levels[level:]):
                yield at, tokens, level if at == offset + end else finer + level
        else:
            yield offset + end, size, level


# Runs of units within the limits.


def pack(
    sizes: RunSizes, start: int, end: int, limits: Limits, *, full: bool = False, at: Ints | None = None
) -> Iterable[tuple[int, int]]:
    """Yield runs of units ``start`` to ``end`` within the limits, packed from the left.

    A run ends at the strongest edge of its second half (the last if tied), or, if ``full``, at the last edge within the
    limits; earlier if it would separate a heading from its text, or cut a line that fits into the next. ``at`` gives
    the offsets of the units in the document, if they are not their edges.
    """
    strength, starts = sizes.strength, sizes.edges if at is None else at.tolist()
    alike = len({*strength[start + 1 : end]}) < 2
    while start < end:
        budget = limits.budget(starts[start])
        stop = sizes.furthest(start, end, budget)
        if stop == end or alike:
            pass
        elif full:
            stop = next((edge for edge in range(stop, start, -1) if strength[edge] >= 0), stop)
        else:
            middle = min(sizes.about(start, (budget - 1) // 2) + 1, stop)
            while middle > start + 1 and max(strength[middle : stop + 1]) < 0:
                middle -= 1
            if max(strength[middle : stop + 1]) < Strength.LINE:
                middle = _line_start(sizes, start, middle, stop, end, budget)
            best = sorted(range(stop, middle - 1, -1), key=strength.__getitem__, reverse=True)
            # For some tokenizers less text has more tokens: "cat dog" may be one, "cat " two.
            stop = next(edge for edge in best if edge == stop or sizes.fits(start, edge, budget))
        yield start, stop
        start = stop


def _line_start(sizes: RunSizes, start: int, middle: int, stop: int, end: int, budget: int) -> int:
    """Return the start of the line around ``middle`` to ``stop`` if a chunk holds all of it, else ``middle``."""
    strength = sizes.strength
    first = next((edge for edge in range(middle - 1, start, -1) if strength[edge] >= Strength.LINE), middle)
    last = sizes.about(first, budget)
    has_end = last >= end or any(strength[edge] >= Strength.LINE for edge in range(stop + 1, last + 1))
    return first if first < middle and has_end else middle


def pack_near_target(sizes: RunSizes, start: int, end: int, limits: Limits) -> Iterable[tuple[int, int]]:
    """Yield runs of units ``start`` to ``end`` within 20% of the target, from the left; the last takes the rest.

    A run ends at the strongest edge in that range (the nearest to the target if tied) after which the rest can be
    divided into such runs too. If it cannot, as in a text between one and two such runs, it ends where the rest is
    nearest to that. If the only edges there follow headings, as before a protected block, it ends as near as possible.
    """
    strength, edges, target = sizes.strength, sizes.edges, limits.target or 0
    divisible = _ends_near_target(sizes, start, end, limits)
    while start < end:
        offset = edges[start]
        (least, most), budget = limits.window(offset), limits.budget(offset)
        stop = sizes.furthest(start, end, most)
        if stop < end:
            aim = sizes.furthest(start, stop, target)
            near = range(sizes.furthest(start, stop, least - 1), stop + 1)
            whole = [edge for edge in near if strength[edge] >= 0]
            even = divisible.intersection(near)
            even = even or {e for e in whole if limits.is_divisible(edges[e], sizes.sum(e, end))}
            best = sorted(near, key=lambda edge: (edge not in even, -strength[edge], abs(sizes.sum(aim, edge))))
            good = (e for e in best if strength[e] > -_LEVELS and least <= sizes.size(start, e) <= most)
            stop = next(good, 0) or _nearest(sizes, start, sizes.furthest(start, end, budget), budget, target)
        yield start, stop
        start = stop


def _ends_near_target(sizes: RunSizes, start: int, end: int, limits: Limits) -> set[int]:
    """Return the edges after which the units up to ``end`` can be divided into runs within 20 % of the target."""
    divisible, at_most = {end}, [1] * (end - start + 1)  # number of these edges from each edge on
    for edge in range(end - 1, start - 1, -1):
        first, last = _window_edges(sizes, edge, end, limits)
        here = first <= last and at_most[first - start] > (at_most[last + 1 - start] if last < end else 0)
        if here and sizes.strength[edge] > -_LEVELS:
            divisible.add(edge)
        at_most[edge - start] = at_most[edge + 1 - start] + (edge in divisible)
    return divisible


def _window_edges(sizes: RunSizes, start: int, end: int, limits: Limits) -> tuple[int, int]:
    """Return the first and the last end of a run from ``start`` within 20 % of the target, by sums."""
    least, most = limits.window(sizes.edges[start])
    return sizes.about(start, least - 1) + 1, min(sizes.about(start, most), end)


def _divisible_cuts(sizes: RunSizes, cuts: Ints, limits: Limits) -> Ints:
    """Drop cuts, but no hard breaks, so that each segment can be divided into runs within 20% of the target."""
    breaks, reach = {*sizes.units.hard_breaks().tolist(), len(sizes.units)}, _Reach(sizes, limits)
    kept = [0]
    for cut in cuts[1:].tolist():
        while cut in breaks and kept[-1] not in breaks and not reach(kept[-1], cut):
            kept.pop()
        if cut in breaks or reach(kept[-1], cut):
            kept.append(cut)
    return np.array(kept, dtype=np.int64)


class _Reach:
    """Says whether units can be divided into runs within 20 % of the target, in linear time as ends rise."""

    def __init__(self, sizes: RunSizes, limits: Limits) -> None:
        self._sizes, self._limits = sizes, limits
        self._start = self._done = self._last = -1
        self._ends = set[int]()

    def __call__(self, start: int, end: int) -> bool:
        """Return True if the units from ``start`` to ``end`` can be divided."""
        if start != self._start or end < self._done:
            self._start, self._done, self._last, self._ends = start, start, start, {start}
        sizes, strength = self._sizes, self._sizes.strength
        for edge in range(self._done, end):
            if edge in self._ends and (edge == start or strength[edge] > -_LEVELS):
                first, last = _window_edges(sizes, edge, len(strength) - 1, self._limits)
                self._ends.update(range(max(first, self._last + 1), last + 1))
                self._last = max(self._last, last)
        self._done = max(self._done, end)
        return end in self._ends


def _nearest(sizes: RunSizes, start: int, end: int, budget: int, target: int) -> int:
    """Return the end of the run from ``start`` nearest to the target, if possible not after a heading."""
    strength = sizes.strength
    edges = range(start + 1, end + 1)
    best = sorted(edges, key=lambda edge: (strength[edge] <= -_LEVELS, abs(sizes.sum(start, edge) - target)))
    return next(edge for edge in best if edge == end or sizes.fits(start, edge, budget))


# Chunks.


def check_segmentation(units: Units, segmentation: Segmentation, chunker: str) -> None:
    """Raise `InvalidSegmentation` unless a segmentation of a chunker fits the units; otherwise text would be lost."""
    for is_kept, rule, value in _segmentation_rules(len(units), segmentation):
        if not is_kept:
            msg = f"{chunker}: {rule}, got {value!r}"
            raise InvalidSegmentation(msg)


def _segmentation_rules(n: int, segmentation: Segmentation) -> Iterator[tuple[bool, str, Any]]:
    """Yield each rule after True if it is kept, and before the value; later rules need the earlier ones."""
    yield isinstance(segmentation, Segmentation), "its decision must be a Segmentation", segmentation
    cuts, reason, origins = segmentation.cuts, segmentation.reason, segmentation.origins
    yield _is_array(cuts, "iu", 1), "cuts must be an array of integers", cuts
    increases = len(cuts) > 1 and cuts[0] == 0 and cuts[-1] == n and bool((cuts[1:] > cuts[:-1]).all())
    yield increases, f"cuts must be strictly increasing from 0 to {n}", cuts
    for name, kinds, length in (("labels", "iu", n), ("gaps", "iuf", n - 1), ("unknown", "b", n)):
        value = getattr(segmentation, name)
        fits = value is None or (_is_array(value, kinds, 1) and len(value) == length)
        yield fits, f"{name} must be an array of {length} {'truth values' if kinds == 'b' else 'numbers'}", value
    rows = segmentation.rows
    fits = rows is None or (_is_array(rows, "f", 2) and len(rows) == n and bool(np.isfinite(rows).all()))
    yield fits, f"rows must be an array of {n} finite rows", rows
    for name, words in (("reason", reason), ("origins", origins)):
        fits = words is None or isinstance(words, str) or len(words) == len(cuts) - 2
        yield fits, f"{name} must be one word, or one for each of {len(cuts) - 2} cuts", words


def _is_array(value: Any, kinds: str, dimensions: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == dimensions


def build_chunks(units: Units, segmentation: Segmentation, limits: Limits) -> list[Chunk]:
    """Build the chunks of a segmentation, contiguous or grouped."""
    rows, least = segmentation.rows, segmentation.least
    if segmentation.labels is None:
        return assemble(units, segmentation.cuts, limits, rows, least)
    return assemble_groups(units, segmentation.labels, limits, rows, least)


def assemble(
    units: Units, cuts: Ints, limits: Limits, vectors: Floats | None = None, least: tuple[Ints, int] | None = None
) -> list[Chunk]:
    """Build the chunks of contiguous segments: split long ones, join short ones (to the more similar neighbor by
    ``vectors``, (n, d)), add overlap. ``least`` is a further minimum (`Segmentation`), for texts without a target.
    """
    if limits.target is not None:
        units, cuts, vectors = refine(units, cuts, limits, vectors)
    limits = limits.for_units(units)
    if len(units.edges) == 2:
        tokens = None if units.sizes is None else int(units.sizes[0])
        return [_chunk(units.text, (Span(0, len(units.text)),), limits, tokens)]
    sizes, divide = RunSizes(units, limits.counter, limits.more), pack if limits.target is None else pack_near_target
    cuts = cuts if limits.target is None else _divisible_cuts(sizes, cuts, limits)
    pieces: Sequence[Sequence[int]]
    pieces = [range(a, b) for start, end in pairwise(cuts.tolist()) for a, b in divide(sizes, start, end, limits)]
    minimum = _Minimum.of(sizes, pieces, limits, least if limits.target is None else None)
    if minimum or _wordless(sizes, pieces):
        pieces = _join_short(sizes, pieces, limits, vectors, minimum)
    edges, chunks, last = sizes.edges, list[Chunk](), 0
    breaks = {*units.hard_breaks().tolist()} if limits.overlap_tokens else set()
    for piece in pieces:
        start, end = piece[0], piece[-1] + 1
        first = edges[start]
        if limits.overlap_tokens and start not in breaks:
            floor = max(last, first_repeated(units.text, edges, chunks[-1])) if chunks else 0
            starts = _overlap_starts(sizes, min(floor, start), start, limits)
            first = next((at for at in starts if _is_within(sizes, at, end, limits)), first)
        tokens = sizes.size(start, end) if first == edges[start] else None
        chunks.append(_chunk(units.text, (Span(first, edges[end]),), limits, tokens))
        last = start
    return chunks


def assemble_groups(
    units: Units, labels: Ints, limits: Limits, vectors: Floats | None = None, least: tuple[Ints, int] | None = None
) -> list[Chunk]:
    """Build chunks of each label's units, packed to the limits, ordered by first character; no overlap, no target."""
    limits = replace(limits, target=None)
    sizes = RunSizes(units, limits.counter, limits.more)
    pieces: list[Sequence[int]] = []
    order = np.argsort(labels, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        members = group.tolist()
        if members[-1] - members[0] + 1 == len(members):
            pieces += [range(a, b) for a, b in pack(sizes, members[0], members[-1] + 1, limits, full=True)]
        else:
            adjacent = RunSizes(_make_adjacent(units, members), limits.counter, limits.more)
            runs = pack(adjacent, 0, len(members), limits, full=True, at=units.edges[members])
            pieces += [members[a:b] for a, b in runs]
    chunks = []
    pieces.sort(key=lambda piece: piece[0])
    for piece in _join_short(sizes, pieces, limits, vectors, _Minimum.of(sizes, pieces, limits, least)):
        spans = _spans(sizes.edges, piece)
        tokens = sizes.size(piece[0], piece[-1] + 1) if len(spans) == 1 else None
        chunks.append(_chunk(units.text, spans, limits, tokens))
    return sorted(chunks, key=lambda chunk: chunk.spans)


class _Minimum(NamedTuple):
    """The minimum of a piece: in tokens, and in ``own``, the sums of sizes in the algorithm's unit up to each edge, (n
    + 1,), with its minimum. A piece of up to ``scrap`` tokens joins a neighbor with room, but takes no text from it.
    """

    sizes: RunSizes
    limits: Limits
    own: tuple[Sequence[int], int]
    scrap: int

    @classmethod
    def of(
        cls, sizes: RunSizes, pieces: Sequence[Sequence[int]], limits: Limits, least: tuple[Ints, int] | None
    ) -> Self:
        """Return the minimum of the pieces of a text.

        Scraps are joined if the mean piece has more than twice their tokens: where all pieces are short, they are what
        was asked for. A minimum in another unit than tokens counts if a chunk can hold as much.
        """
        total = sizes.sum(0, len(sizes.units))
        scrap = SCRAP if limits.joins_scraps and total > 2 * SCRAP * len(pieces) else 0
        own = ([0], 0)
        if least is not None and limits.joins_scraps:
            before = [0, *accumulate(least[0].tolist())]
            own = (before, least[1]) if least[1] * total <= limits.max_tokens * before[-1] else own
        return cls(sizes, limits, own, scrap)

    def __bool__(self) -> bool:
        return bool(self.limits.min_tokens or self.own[1] or self.scrap)

    def is_short(self, piece: Sequence[int]) -> bool:
        """Return True if a piece is short; the last may be below the minimum of the algorithm."""
        (before, least), end = self.own, piece[-1] + 1
        is_last = end == len(self.sizes.units) or self.sizes.strength[end] >= Strength.HARD_BREAK
        if least and not is_last and sum(before[i + 1] - before[i] for i in piece) < least:
            return True
        return self._is_below(piece, self.limits.min_tokens)

    def is_scrap(self, piece: Sequence[int]) -> bool:
        """Return True for a piece that says nothing alone."""
        return self.scrap > 0 and self._is_below(piece, self.scrap + 1)

    def _is_below(self, piece: Sequence[int], least: int) -> bool:
        """Return True for a piece of fewer tokens, unless its units sum up to twice as many.

        Some counters count one word in a page without spaces, and pieces would be joined, and counted, without end.
        """
        is_less = least > 0 and _piece_size(self.sizes, piece, self.limits) < least
        return is_less and sum(self.sizes.sum(i, i + 1) for i in piece) < 2 * least

    def leads(self, piece: Sequence[int]) -> bool:
        """Return True for a scrap that does not end a sentence, such as the name of what is below it."""
        return self.is_scrap(piece) and _text(self.sizes.units, piece[-1:]).rstrip()[-1:] not in _STOPS


def _join_short(
    sizes: RunSizes, pieces: Sequence[Sequence[int]], limits: Limits, vectors: Floats | None, minimum: _Minimum
) -> list[Sequence[int]]:
    """Join each piece under the minimum, or without a word, with a neighbor that has room, but not across a hard break.

    A neighbor is preferred if joining it separates no heading from its text; then the one below a scrap that leads to
    it; then one that is short too, because the mean of a long piece is similar to everything; then the more similar
    one; then the smaller. If none has room, a short piece takes text from one of them.
    """
    joined, i, units = list(pieces), 0, sizes.units
    breaks = units.hard_breaks().tolist()

    def section(piece: Sequence[int]) -> int:
        return bisect_right(breaks, piece[0])

    def fits(piece: Sequence[int]) -> bool:
        within = _piece_size(sizes, piece, limits) <= limits.window(sizes.edges[piece[0]])[1]
        return within and not (limits.more and limits.exceeds_more(_text(units, piece)))

    def preference(
        left: int, whole: Sequence[int], neighbor: Sequence[int], leads: bool
    ) -> tuple[bool, bool, bool, float, int]:
        ends_well = sizes.strength[whole[-1] + 1] >= 0
        similarity = _similarity(vectors, joined[left], joined[left + 1])
        is_led_to = leads and left == i
        return ends_well, is_led_to, minimum.is_short(neighbor), similarity, -_piece_size(sizes, whole, limits)

    while i < len(joined):
        wholes, too_short = dict[int, Sequence[int]](), minimum.is_short(joined[i])
        if too_short or minimum.is_scrap(joined[i]) or _wordless(sizes, joined[i : i + 1]):
            pairs = [left for left in (i - 1, i) if 0 <= left < len(joined) - 1]
            pairs = [left for left in pairs if section(joined[left]) == section(joined[left + 1])]
            wholes = {left: _union(joined[left], joined[left + 1]) for left in pairs}
        roomy = {left: whole for left, whole in wholes.items() if fits(whole)}
        if roomy:
            leads = minimum.leads(joined[i])
            neighbors = {left: joined[left if left < i else left + 1] for left in roomy}
            i = max(roomy, key=lambda left: preference(left, roomy[left], neighbors[left], leads))
            joined[i : i + 2] = [roomy[i]]  # which may still be short: look at it again
            continue
        i += 1
        short = wholes if too_short else ()
        divided = ((left, _halves(sizes, joined[left], joined[left + 1], limits, minimum)) for left in short)
        if division := next((pair for pair in divided if pair[1]), None):
            left, halves = division
            joined[left : left + 2] = halves
            i = max(left - 1, 0)  # the piece before may have room beside it now
    return joined


def _wordless(sizes: RunSizes, pieces: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the pieces without a letter or digit; most have one in their first unit."""
    text, edges, search = sizes.units.text, sizes.edges, _LETTER.search
    wordless = (piece for piece in pieces if not search(text, edges[piece[0]], edges[piece[0] + 1]))
    return [piece for piece in wordless if not any(search(text, edges[i], edges[i + 1]) for i in piece)]


def _piece_size(sizes: RunSizes, piece: Sequence[int], limits: Limits) -> int:
    is_run = piece[-1] - piece[0] + 1 == len(piece)
    return sizes.size(piece[0], piece[-1] + 1) if is_run else limits.counter(_text(sizes.units, piece))


def _halves(
    sizes: RunSizes, left: Sequence[int], right: Sequence[int], limits: Limits, minimum: _Minimum
) -> list[range]:
    """Divide two runs at the strongest, then most even, edge that leaves none short or below a target; else []."""
    whole = _union(left, right)
    if not isinstance(whole, range):
        return []
    strength, first, last = sizes.strength, whole.start, whole.stop
    floors = limits.target_range[0], min(limits.target_range[0], sizes.size(right[0], last))

    def is_good(part: range, floor: int) -> bool:
        (least, most), size = limits.window(sizes.edges[part.start]), sizes.size(part.start, part.stop)
        is_short = size < max(limits.min_tokens, min(floor, least)) or minimum.is_short(part)
        return not is_short and sizes.fits(part.start, part.stop, most)

    edges = [edge for edge in range(first + 1, last) if strength[edge] >= 0]
    edges = [edge for edge in edges if min(sizes.sum(first, edge), sizes.sum(edge, last)) >= limits.min_tokens]
    best = sorted(edges, key=lambda edge: (-strength[edge], abs(sizes.sum(first, edge) - sizes.sum(edge, last))))
    divided = ([range(first, edge), range(edge, last)] for edge in best)
    return next((parts for parts in divided if all(map(is_good, parts, floors))), [])


def _similarity(vectors: Floats | None, left: Sequence[int], right: Sequence[int]) -> float:
    if vectors is None:
        return 0.0  # all equal: the left neighbor wins
    a, b = vectors[list(left)].mean(axis=0), vectors[list(right)].mean(axis=0)
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))


def _union(left: Sequence[int], right: Sequence[int]) -> Sequence[int]:
    if isinstance(left, range) and isinstance(right, range) and left.stop == right.start:
        return range(left.start, right.stop)
    return sorted([*left, *right])


def first_repeated(text: str, edges: Sequence[int], chunk: Chunk) -> int:
    """Return the first unit that the next chunk may repeat, so that all of ``chunk`` is not in it."""
    return bisect_right(edges, tiling.next_non_space(text, chunk.start))


def _is_within(sizes: RunSizes, start: int, end: int, limits: Limits) -> bool:
    """Return True if a chunk from an offset to the end of a unit is within the limits, with its context there."""
    text, context = sizes.units.text[start : sizes.edges[end]], limits.context(start)[0] if limits.context else ""
    return limits.counter(with_context(context, text)) <= limits.max_tokens and not limits.exceeds_more(text)


def _overlap_starts(sizes: RunSizes, floor: int, start: int, limits: Limits) -> Iterable[int]:
    """Yield offsets before unit ``start`` within the overlap: whole units from ``floor`` on, else sentences or words of
    the unit before if it is prose, at most half of one that is within the overlap.
    """
    text, edges = sizes.units.text, sizes.edges
    first = sizes.furthest_back(start, limits.overlap_tokens, floor)
    yield from edges[first:start]
    if first == start:  # the unit before is itself too long, or all of the chunk before
        last, size = edges[start - 1], sizes.size(start - 1, start)
        most, levels = limits.overlap_tokens if size > limits.overlap_tokens else -(-size // 2), limits.levels(last)
        last = tiling.next_non_space(text, last)
        for tiler in () if levels is ATOMIC or limits.is_verbatim(edges[start - 1]) else (levels[1], tiling.words):
            before = tiler(text[last : edges[start]])
            part = RunSizes(before, limits.counter).furthest_back(len(before), most, floor=1)
            if part < len(before):
                yield last + int(before.edges[part])
                break


def _chunk(source: str, spans: Sequence[Span], limits: Limits, tokens: int | None) -> Chunk:
    """Build the chunk of some spans, with the context of its start; ``tokens`` are those of its text, if counted."""
    text = source[spans[0].start : spans[0].end] if len(spans) == 1 else "".join([source[a:b] for a, b in spans])
    context = limits.context(spans[0].start)[0] if limits.context else ""
    if context or tokens is None:
        tokens = limits.counter(with_context(context, text))
        if tokens > limits.max_tokens and context:  # the context has more tokens than expected
            context, tokens = "", limits.counter(text)
    is_over = tokens > limits.max_tokens or (limits.more and limits.exceeds_more(text))
    return Chunk(text, tuple(spans), tokens, context=context, metadata={"oversize": True} if is_over else {})


def _text(units: Units, members: Sequence[int]) -> str:
    return "".join(units.text[units.edges[i] : units.edges[i + 1]] for i in members)


def _make_adjacent(units: Units, members: Sequence[int]) -> Units:
    """Return distant units as adjacent units of a new text."""
    lengths = np.diff(units.edges)[members]
    sizes = None if units.sizes is None else units.sizes[members]
    strength = np.r_[units.strength[members], units.strength[-1]]
    return Units(_text(units, members), np.r_[0, np.cumsum(lengths)], sizes, strength)


def _spans(edges: Sequence[int], members: Sequence[int]) -> list[Span]:
    starts = [i for before, i in pairwise([-2, *members]) if i > before + 1]
    ends = [i + 1 for i, after in pairwise([*members, members[-1] + 2]) if after > i + 1]
    return [Span(edges[a], edges[b]) for a, b in zip(starts, ends, strict=True)]
