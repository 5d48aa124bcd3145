"""The costs of the chunks of an abstract, and the cheapest chunks."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from math import isqrt

import numpy as np

from advchunk.building.sizes import Limits, RunSizes
from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.chunkers.biomedical.context import ContextBuilder
from advchunk.chunkers.biomedical.params import BiomedicalAbstractParams as Params
from advchunk.records import Strength, Units

# The costs of breaking a rule, most important first. Each exceeds any total of the less important costs; the distance
# of a window from its target costs less than any of them.
_STRANDS_LABEL, _CUTS_SENTENCE, _IS_SHORT = 10**9, 10**7, 10**4
_MIXES_SECTIONS, _IS_OVER, _SPLITS_CLAIM, _SPLITS_FINDINGS, _IS_OFF, _MERGES = 3000, 1000, 100, 20, 4, 1


class AbstractCosts:
    """Chunk costs of an abstract; ``starts`` are the first units of its sections."""

    def __init__(self, params: Params, units: Units, limits: Limits, contexts: ContextBuilder) -> None:
        self._edges, self._contexts, self._sizes = units.edges.tolist(), contexts, RunSizes(units, limits.counter)
        self._total: list[int] = list(accumulate(units.token_counts().tolist(), initial=0))
        self._min, self._max = params.size("min_tokens"), params.max_tokens
        self._target = max(params.size("target_tokens"), 1)
        self._rule_unit = (max(params.max_tokens, self._target) + 1) ** 2
        n = self._n = len(units)
        firsts = contexts.sections.first_units(self._edges)
        self.starts = frozenset(firsts)
        # The tokens before the text of a chunk that starts at each unit; within a section it repeats whole sentences.
        repeated = np.searchsorted(self._total, np.array(self._total) - limits.overlap_tokens).tolist()
        self._text_starts = [self._total[i if i in self.starts else j] for i, j in enumerate(repeated)]
        borders = [*firsts, n]
        self._is_cut, merges, self._cuts = [False] * n, [0] * n, dict[int, int]()
        for start, end in pairwise(borders):
            self._is_cut[start:end] = [self.size(start, end) > params.max_tokens] * (end - start)
            merges[start] = _MIXES_SECTIONS if self._is_cut[start] or self._is_cut[start - 1] else _MERGES
        if self.tokens(0, n) < params.short_tokens and self.size(0, n) <= params.max_tokens:
            borders = [0, n]
        for (start, middle), end in zip(pairwise(borders), borders[2:], strict=False):
            names = [contexts.sections.names(*self._edges[first : first + 2]) for first in (start, middle)]
            if names == [("Results",), ("Conclusions",)] and self.size(start, end) <= self._target:
                merges[middle], self._cuts[middle] = 0, _SPLITS_FINDINGS
        inside = [place for place in range(1, n) if self._is_cut[place] and place not in self.starts]
        self._places = sorted({*borders, *inside})  # where a cut is allowed, and the end
        self._cuts |= self._cuts_inside(units, inside)
        self._merges = list(accumulate(merges, initial=0))

    def _cuts_inside(self, units: Units, places: Sequence[int]) -> dict[int, int]:
        if not places:
            return {}
        is_inside = np.where(units.strength < Strength.SENTENCE, _CUTS_SENTENCE, 0)
        costs = np.where(units.strength < 0, _STRANDS_LABEL, is_inside)
        for (start, end), _ in numeric_claims(units.text, units):
            costs[bisect_right(self._edges, start) : bisect_left(self._edges, end)] += _SPLITS_CLAIM
        return {place: int(costs[place]) for place in places}

    def tokens(self, start: int, end: int) -> int:
        """Return the tokens of units; whole sections are counted again if token counts are not additive."""
        is_whole = start in self.starts and (end in self.starts or end == self._n)
        return self._sizes.size(start, end) if is_whole else self._total[end] - self._total[start]

    def size(self, start: int, end: int) -> int:
        """Return the tokens of a chunk, with its context and the text that it repeats."""
        names = self._contexts.sections.names(self._edges[start], self._edges[end])
        return self._added(start, names) + self.tokens(start, end)

    def _added(self, start: int, names: tuple[str, ...]) -> int:
        """Return the tokens of the context of a chunk of sections with these names, and of the text that it repeats."""
        return self._contexts.of(start == 0, names)[1] + self._total[start] - self._text_starts[start]

    def _cost(self, start: int, end: int, size: int, tokens: int) -> int:
        """Return the cost of a chunk of a `size`, with ``tokens`` of its own, besides that of its start."""
        cost = self._merges[end] + _IS_SHORT * (tokens < self._min)
        if not (self._is_cut[start] or self._is_cut[end - 1]):
            return cost * self._rule_unit
        cost += _IS_OVER * (size * 100 > self._target * 115)
        cost += _IS_OFF * (not self._target * 250 <= size * 325 <= self._target * 350)
        return cost * self._rule_unit + min((size - self._target) ** 2, self._rule_unit - 1)

    def cheapest(self) -> list[int]:
        """Return the cuts of the cheapest chunks, the end first; ties go to the longest last chunk."""
        places, costs, previous, best, first = self._places, list[int](), dict[int, int](), 0, 0
        names_of = [self._contexts.sections.names(self._edges[a], self._edges[b]) for a, b in pairwise(places)]
        for last, end in enumerate(places[1:]):
            start, names, options = places[last], names_of[last], list[tuple[int, int]]()
            first = last + 1 if start in self.starts else first
            costs.append(best + (self._cuts.get(start, 0) - self._merges[start + 1]) * self._rule_unit)
            inner = self._near_target(costs, range(first, last), end, names)
            for i in chain((last,), inner, range(min(first, last) - 1, -1, -1)):
                start = places[i]
                tokens = self.tokens(start, end)
                if options and tokens > self._max:
                    break
                if names_of[i] != names[:1]:
                    names = tuple(dict.fromkeys((*names_of[i], *names)))
                size = self._added(start, names) + tokens
                if not options or size <= self._max:  # between two places everything fits
                    options.append((costs[i] + self._cost(start, end, size, tokens), start))
            best, previous[end] = min(options)
        cuts = [self._n]
        while cuts[-1]:
            cuts.append(previous[cuts[-1]])
        return cuts

    def _near_target(self, costs: Sequence[int], inner: range, end: int, names: tuple[str, ...]) -> range:
        """Return those places in a section, the last first, at which the cheapest last chunk up to ``end`` may start.

        One d tokens off the target costs d * d or more: at most what the nearest costs beyond the least of any start.
        """
        shift = self._places[inner.start] - inner.start if inner else 0
        if not inner or not self._is_cut[end - 1] or self._places[inner.stop] - inner.stop != shift:
            return inner[::-1]
        stop = inner.stop + shift
        low = bisect_left(self._total, self._total[end] - self._max, inner.start + shift, stop)
        of_target = self._contexts.of(False, names)[1] + self._total[end] - self._target
        nearest = min(bisect_left(self._text_starts, of_target, low, stop), stop - 1)
        size = of_target + self._target - self._text_starts[nearest]
        if size > self._max:
            return range(0)
        cost = self._cost(nearest, end, size, self.tokens(nearest, end)) - self._merges[end] * self._rule_unit
        spare = costs[nearest - shift] + cost - min(costs[low - shift : stop - shift])
        if spare < self._rule_unit - 1:
            low = bisect_left(self._text_starts, of_target - isqrt(spare), low, stop)
            stop = bisect_right(self._text_starts, of_target + isqrt(spare), low, stop)
        return range(low - shift, stop - shift)[::-1]
