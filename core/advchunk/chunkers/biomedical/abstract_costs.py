"""The costs of the chunks of an abstract."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

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
    """Chunk costs of an abstract; ``places``: units where a cut is allowed (``starts`` if uncut), and the end."""

    def __init__(self, params: Params, units: Units, limits: Limits, contexts: ContextBuilder) -> None:
        self._edges, self._contexts, self._sizes = units.edges.tolist(), contexts, RunSizes(units, limits.counter)
        self._total: list[int] = list(accumulate(units.token_counts().tolist(), initial=0))
        self._overlap, self._min = limits.overlap_tokens, params.size("min_tokens")
        self._target = max(params.size("target_tokens"), 1)
        self._rule_unit = (max(params.max_tokens, self._target) + 1) ** 2
        n = self._n = len(units)
        firsts = contexts.sections.first_units(self._edges)
        self.starts = frozenset(firsts)
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
        self.places = sorted({*borders, *inside})
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
        return self._contexts.of(start == 0, names)[1] + self._repeated(start) + self.tokens(start, end)

    def _repeated(self, start: int) -> int:
        """Return the tokens of the whole sentences that a chunk repeats, 0 at the start of a section."""
        total = self._total[start]
        return 0 if start in self.starts else total - self._total[bisect_left(self._total, total - self._overlap)]

    def cost(self, start: int, end: int, size: int) -> int:
        """Return the cost of a chunk of a `size`, and of the cut before it."""
        cost = self._cuts.get(start, 0) + self._merges[end] - self._merges[start + 1]
        cost += _IS_SHORT * (self.tokens(start, end) < self._min)
        if not (self._is_cut[start] or self._is_cut[end - 1]):
            return cost * self._rule_unit
        cost += _IS_OVER * (size * 100 > self._target * 115)
        cost += _IS_OFF * (not self._target * 250 <= size * 325 <= self._target * 350)
        return cost * self._rule_unit + min((size - self._target) ** 2, self._rule_unit - 1)
