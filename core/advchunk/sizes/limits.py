"""How many tokens a chunk may have, and how many runs of units have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from advchunk import tiling
from advchunk.models.counters import Counter
from advchunk.records import Units

# What a unit that is over the budget is cut into, coarsest first: of prose, and of code, tables and formulae.
PROSE: tuple[tiling.Tiler, ...] = (
    tiling.paragraphs,
    tiling.sentences,
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
        """Return the most tokens of a unit at ``offset``: code, tables and formulae may take the room for overlap."""
        return self.budget(offset) + (self.overlap_tokens if self.ladder(offset) is VERBATIM else 0)


class Ruler:
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
