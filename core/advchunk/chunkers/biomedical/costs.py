"""What the chunks of an abstract stand under, and what each of them costs (`biomedical`)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from advchunk.chunkers.biomedical.claims import numeric_claims
from advchunk.readers import abstracts
from advchunk.records import Document, Strength, Units
from advchunk.sizes import Limits, RunSizes
from advchunk.text import tiling

if TYPE_CHECKING:
    from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker

# What is paid for breaking a rule, weightiest first. Each weighs more than all that can come of keeping it; how far a window is
# from its target weighs less than any.
_STRANDS_LABEL, _CUTS_SENTENCE, _IS_SHORT = 10**9, 10**7, 10**4
_MIXES_SECTIONS, _IS_OVER, _PARTS_CLAIM, _PARTS_FINDINGS, _IS_OFF, _MERGES = 3000, 1000, 100, 20, 4, 1


class Sections:
    """The sections of an abstract by offset: what stands before the first label is one without."""

    def __init__(self, document: Document) -> None:
        text = document.text
        heads = [block for block in document.blocks or () if block.kind == "heading"]
        self._ink = tiling.next_non_space(text, 0)
        self.labels = frozenset(block.span.start for block in heads)
        self.starts = sorted(self.labels)
        self.names = [self._name(block.title or text[slice(*block.span)].strip()) for block in heads]
        if not heads or self.starts[0] > self._ink:
            self.starts.insert(0, 0)
            self.names.insert(0, abstracts.UNSTRUCTURED)
        self.starts[0] = 0

    @staticmethod
    def _name(title: str) -> str:
        return abstracts.section_name(title) or title

    def units(self, edges: Sequence[int]) -> list[int]:
        """Return the units that sections start with."""
        return sorted({bisect_right(edges, start) - 1 for start in self.starts})

    def is_first(self, offset: int) -> bool:
        """Whether a chunk that starts there is the first."""
        return offset <= self._ink

    def within(self, start: int, end: int) -> tuple[str, ...]:
        """Return the names of the sections of which something stands between two offsets, each once."""
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end)
        return tuple(dict.fromkeys(self.names[first : max(last, first + 1)]))


class Headers:
    """What chunks are embedded under, by their sections; what takes more than half of a chunk is left out."""

    def __init__(self, chunker: BiomedicalAbstractChunker, document: Document) -> None:
        self.sections = Sections(document)
        self._wanted, self._count = chunker.include_context, chunker.counter
        short = (chunker.title_chunk or chunker.mesh) and self._count(document.text) < chunker.short_tokens
        self.with_title = short or not chunker.title_chunk
        self._title = title_lines(document) if self.with_title else []
        self._mesh = mesh_lines(document) if short and chunker.mesh else []
        self._most = (chunker.max_tokens - chunker.overlap_tokens) // 2
        self._known: dict[tuple[bool, tuple[str, ...]], tuple[str, int]] = {}

    def __call__(self, first: bool, names: tuple[str, ...]) -> tuple[str, int]:
        """Return the context of a chunk of these sections, and its tokens."""
        if (first, names) not in self._known:
            self._known[first, names] = self._said(first, names) if self._wanted else ("", 0)
        return self._known[first, names]

    def _said(self, first: bool, names: tuple[str, ...]) -> tuple[str, int]:
        section = [f"[Section] {', '.join(names)}"]
        title, mesh = (self._title, self._mesh) if first else ([], [])
        for lines in ([*title, *mesh, *section], [*title, *section], section):
            context = "\n".join(lines)
            tokens = self._count(f"{context}\n\n")
            if tokens <= self._most:
                return context, tokens
        return "", 0


class Prices:
    """What each chunk of an abstract costs, and where it may end: ``places``, between sections and in those that are divided."""

    def __init__(self, chunker: BiomedicalAbstractChunker, units: Units, limits: Limits, headers: Headers) -> None:
        self._edges, self._headers, self._ruler = units.edges.tolist(), headers, RunSizes(units, limits.counter)
        self._total: list[int] = list(accumulate(units.token_counts().tolist(), initial=0))
        self._least, self._aim, self._overlap = chunker.least, chunker.aim, limits.overlap_tokens
        self._unit = (max(chunker.max_tokens, chunker.aim) + 1) ** 2
        n = self._units = len(units)
        firsts = headers.sections.units(self._edges)
        self.starts = frozenset(firsts)
        borders = [*firsts, n]
        self._divided, self._merges, self._cuts = [False] * n, [0] * n, dict[int, int]()
        for start, end in pairwise(borders):
            self._divided[start:end] = [self.size(start, end) > chunker.max_tokens] * (end - start)
            mixed = self._divided[start] or self._divided[start - 1]
            self._merges[start] = _MIXES_SECTIONS if mixed else _MERGES
        if self.tokens(0, n) < chunker.short_tokens and self.size(0, n) <= chunker.max_tokens:
            borders = [0, n]
        for (start, middle), end in zip(pairwise(borders), borders[2:], strict=False):
            names = [headers.sections.within(*self._edges[first : first + 2]) for first in (start, middle)]
            if names == [("Results",), ("Conclusions",)] and self.size(start, end) <= self._aim:
                self._merges[middle], self._cuts[middle] = 0, _PARTS_FINDINGS
        inside = [place for place in range(1, n) if self._divided[place] and place not in self.starts]
        self.places = sorted({*borders, *inside})
        self._cuts |= self._within(units, inside)
        self._merged = list(accumulate(self._merges, initial=0))

    def _within(self, units: Units, places: Sequence[int]) -> dict[int, int]:
        """Return what it costs to cut at places within sections."""
        if not places:
            return {}
        strength = units.strength
        prices = np.where(strength < 0, _STRANDS_LABEL, np.where(strength < Strength.SENTENCE, _CUTS_SENTENCE, 0))
        for start, end in (claim.span for claim in numeric_claims(units.text, units)):
            prices[bisect_right(self._edges, start) : bisect_left(self._edges, end)] += _PARTS_CLAIM
        return {place: int(prices[place]) for place in places}

    def tokens(self, start: int, end: int) -> int:
        """Return the tokens of a run of units; where counts do not add up, those of sections are counted."""
        whole = start in self.starts and (end in self.starts or end == self._units)
        return self._ruler.size(start, end) if whole else self._total[end] - self._total[start]

    def size(self, start: int, end: int) -> int:
        """Return the tokens of a chunk, with its context and what it repeats."""
        names = self._headers.sections.within(self._edges[start], self._edges[end])
        return self._headers(start == 0, names)[1] + self._repeated(start) + self.tokens(start, end)

    def _repeated(self, start: int) -> int:
        """Return how many tokens a chunk repeats: whole sentences, and none where a section starts."""
        if start in self.starts:
            return 0
        total = self._total[start]
        return total - self._total[bisect_left(self._total, total - self._overlap)]

    def of(self, start: int, end: int) -> int:
        """Return the price of a chunk, and of the cut before it."""
        price = self._cuts.get(start, 0) + self._merged[end] - self._merged[start + 1]
        price += _IS_SHORT * (self.tokens(start, end) < self._least)
        if not (self._divided[start] or self._divided[end - 1]):
            return price * self._unit
        size = self.size(start, end)
        price += _IS_OVER * (size * 100 > self._aim * 115)
        price += _IS_OFF * (not self._aim * 250 <= size * 325 <= self._aim * 350)
        return price * self._unit + min((size - self._aim) ** 2, self._unit - 1)


def title_lines(document: Document) -> list[str]:
    """Return the line of a document's title; none if it has none."""
    title, pmid = document.metadata.get("title"), document.metadata.get("pmid")
    return [f"[Title] {title}" + (f" (pmid:{pmid})" if pmid else "")] if title else []


def mesh_lines(document: Document) -> list[str]:
    """Return the line of its MeSH terms; none if it has none."""
    terms = document.metadata.get("mesh")
    return [f"[MeSH] {terms if isinstance(terms, str) else '; '.join(terms)}"] if terms else []
