"""Hierarchical chunking: several levels of chunks, each of which divides the one above."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from advchunk.building import sizes
from advchunk.building.sizes import Limits
from advchunk.chunkers.base import Chunker, LinearChunker, SegmentingChunker
from advchunk.chunkers.catalog import chunker_class, cuts_by_embeddings
from advchunk.chunkers.explanations import Cut, Explanation
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import RESOURCE, Params
from advchunk.chunkers.sections import decide_between_breaks
from advchunk.engine import Plan
from advchunk.errors import did_you_mean, is_integer, require
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.records import Chunk, Document, Ints, Segmentation, Strength, Units
from advchunk.text.counters import Counter

Granularity: TypeAlias = Literal["document", "section", "paragraph", "sentence"]
Level: TypeAlias = SegmentingChunker | str | int

_UNLIMITED: Final = 2**62  # tokens
_LEAST: Final = 32  # tokens of the default chunk below a section


@dataclass(kw_only=True)
class HierarchicalParams(Params):
    """Divide a document into sections, sections into chunks, and chunks into sentences; or into any other levels.

    The chunks of all levels are in one list, in reading order, parents before their children. ``level`` counts from 0,
    the coarsest; ``parent`` is the index of the chunk above (`retrieval.chunk_tree.ChunkTree`). The chunks of every
    level cover the whole document, and children exactly cover their parent, so an edit that moves no edge changes the
    ids on the path to the edited sentence alone. In the metadata, ``granularity`` is "document", "section" or
    "sentence" for levels of that name. Of the other levels, the finest is "paragraph", and those above are "section".

    Ours; after LlamaIndex's HierarchicalNodeParser and AutoMergingRetriever.

    Parameters
    ----------
    max_tokens : maximum tokens of a chunk at any level but "document", context included, >= 1.
    min_tokens : a smaller chunk joins a neighbor of its parent if both fit, 0..max_tokens; not for levels that are
        chunkers.
    overlap_tokens : 0, because children cover their parent exactly.
    """

    algorithm: ClassVar[str] = "hierarchical"
    max_tokens: int = 2048

    def check(self) -> None:
        """Add the rule for overlap."""
        super().check()
        rule = "overlap_tokens must be 0: the chunks of a level cover their parent exactly"
        require(not self.overlap_tokens, rule, self.overlap_tokens)


@dataclass(kw_only=True)
class _DocumentChunker(LinearChunker):
    """Returns the whole text."""

    layout_weight: float = 0.0

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Return one segment."""
        return Segmentation(np.array([0, len(units)]))


class _SectionChunker(_DocumentChunker):
    """Cuts before the highest headings of a text, and before lower ones in sections over the limit."""

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Cut before headings; where there are none, the token budget divides the text at its strongest edges."""
        total = np.r_[0, np.cumsum(units.token_counts())]
        cuts, parts = list[int](), [(0, len(units))]
        while parts:
            start, end = parts.pop()
            is_long = total[end] - total[start] > limits.budget(int(units.edges[start]))
            if is_long or end - start == len(units):
                heads = _highest_headings(units.strength, start, end).tolist()
                cuts += heads
                parts += pairwise([start, *heads, end]) if heads else []
        return Segmentation(cutting.cuts_at(np.array(sorted(cuts), dtype=np.int64), len(units)), reason="heading")


class _SentenceChunker(_DocumentChunker):
    """Returns each sentence; a heading or caption stays with the sentence below it."""

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Cut everywhere."""
        return Segmentation(np.arange(len(units) + 1), reason="sentence")


_BUILT_IN: Mapping[str, type[SegmentingChunker]] = {
    "document": _DocumentChunker,
    "section": _SectionChunker,
    "sentence": _SentenceChunker,
}
_BY_NAME = (*_BUILT_IN, "recursive", "sliding-window", "semantic-threshold", "universal-semantic", "optimal-semantic")


@dataclass(kw_only=True)
class HierarchicalChunker(HierarchicalParams, SegmentingChunker):
    r"""Divide a document into chunks of several levels (`HierarchicalParams`).

    Parameters
    ----------
    levels : the levels, coarsest first; None is "section", a size of a quarter of ``max_tokens`` (at least 32), and
        "sentence". A number is the size of recursive chunks, in tokens, 1..max_tokens, smaller than those above.
        "section" is the text below each of the highest headings, or below lower ones where that is over ``max_tokens``;
        a single highest heading is the title; without headings, it ends at the strongest edge of its second half.
        "sentence", the last level, keeps a sentence with the heading above it, and a table or code whole. "document",
        the first level, is the whole text, flagged ``oversize`` if it is over ``max_tokens``. "recursive",
        "sliding-window", "semantic-threshold", "universal-semantic" and "optimal-semantic" have their default size, or
        ``max_tokens`` if that is less. Of any other chunker, with contiguous chunks without overlap, only the decisions
        count; resources that it has not been given are those of this chunker.

    Examples
    --------
    >>> chunks = HierarchicalChunker().chunk("# Tea\n\nBoil water. Add tea.\n\n# Milk\n\nWarm it.")
    >>> [(chunk.level, chunk.parent, chunk.text[-9:]) for chunk in chunks[:4]]
    [(0, None, 'dd tea.\n\n'), (1, 0, 'dd tea.\n\n'), (2, 1, 'l water. '), (2, 1, 'dd tea.\n\n')]
    >>> [chunk.metadata["granularity"] for chunk in HierarchicalChunker(levels=["universal-semantic", "sentence"]).chunk("Tea.")]
    ['paragraph', 'sentence']
    """  # noqa: E501

    is_flat: ClassVar[bool] = False

    levels: Sequence[Level] | None = field(default=None, repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rules for ``levels``."""
        super().check()
        levels, most = self._levels, self.max_tokens
        is_list = isinstance(levels, (list, tuple)) and len(levels) > 0
        require(is_list, "levels must be a list of chunkers, names and sizes, coarsest first, or None", self.levels)
        for level in levels:
            if isinstance(level, str):
                names = ", ".join(_BY_NAME)
                rule = f"a level must be one of {names}, a chunker or a size{did_you_mean(level, _BY_NAME)}"
                require(level in _BY_NAME, rule, level)
            elif isinstance(level, Chunker):
                _check_chunker(level, most)
            else:
                rule = f"a level must be a chunker, a name, or a size in 1..max_tokens = {most}"
                require(is_integer(level, 1) and level <= most, rule, level)
        numbers = [level for level in levels if isinstance(level, int)]
        require(all(a > b for a, b in pairwise(numbers)), "sizes of levels must decrease", numbers)
        require("document" not in levels[1:], 'only the first level can be "document"', levels)
        require("sentence" not in levels[:-1], 'only the last level can be "sentence"', levels)
        self.level_chunkers()

    @property
    def _levels(self) -> Sequence[Level]:
        middle = min(max(self.max_tokens // 4, _LEAST), self.max_tokens)
        return ("section", middle, "sentence") if self.levels is None else self.levels

    @property
    def granularities(self) -> list[Granularity]:
        """The granularity of each level."""
        kinds: list[Any] = [level if level in tuple(_BUILT_IN) else "paragraph" for level in self._levels]
        for above in [i for i, kind in enumerate(kinds) if kind == "paragraph"][:-1]:
            kinds[above] = "section"
        return kinds

    def level_chunkers(self) -> list[SegmentingChunker]:
        """Return the chunker of each level."""
        chunkers, most, counter = list[SegmentingChunker](), self.max_tokens, self.counter
        for level in self._levels:
            chunkers.append(self._level_chunker(level, most, counter))
            most = min(most, chunkers[-1].max_tokens)
        return chunkers

    def _level_chunker(self, level: Level, most: int, counter: Counter) -> SegmentingChunker:
        """Return the chunker of a level; ``most`` is the maximum of the level above."""
        shared = ("sentence_splitter", "embedder", "batch_size", "cache")
        lent: dict[str, Any] = {"tokenizer": counter} | {name: getattr(self, name) for name in shared}
        if isinstance(level, SegmentingChunker):
            return replace(level, **{name: value for name, value in lent.items() if getattr(level, name) is None})
        name = "recursive" if isinstance(level, int) else level
        cls: Any = _BUILT_IN.get(name) or chunker_class(name)
        if level == "document":
            most = _UNLIMITED
        elif isinstance(level, int):
            most = level
        elif level not in _BUILT_IN:
            most = min(most, cls.max_tokens)
        least = min(self.size("min_tokens"), most)
        lent |= {"include_context": self.include_context, "language": self.language}
        chunker: SegmentingChunker = cls(max_tokens=most, min_tokens=least, **lent)
        return chunker

    @property
    def embeds(self) -> bool:
        """True if a level embeds, or chunks have vectors."""
        own = any(isinstance(level, Chunker) and level.embeds for level in self._levels)
        return own or self._is_lent_embedder or super().embeds

    @property
    def _is_lent_embedder(self) -> bool:
        """True if a level given by name cuts by embeddings."""
        named = {level for level in self._levels if isinstance(level, str)} - {*_BUILT_IN}
        return any(map(cuts_by_embeddings, named))

    @property
    def counter(self) -> Counter:
        """The token counter: ``tokenizer``, or by default that of the embedder if a level given by name embeds."""
        return as_counter(self.tokenizer, as_embedder(self.embedder)) if self._is_lent_embedder else super().counter

    def load(self) -> None:
        """Load the chunkers of all levels too."""
        super().load()
        for chunker in self.level_chunkers():
            chunker.load()

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return the units of the coarsest level."""
        return self.level_chunkers()[0].tile(document, limits)

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Decide on units as the coarsest level does."""
        return self.level_chunkers()[0].decide(units, limits)

    def plan(self, document: Document) -> Plan[Explanation]:
        """Cut each level within the chunks of the level above."""
        levels, edges = list[Explanation](), np.array([0, len(document.text)], dtype=np.int64)
        for chunker in self.level_chunkers():
            limits = chunker.limits(document)
            units = _break_at(chunker.tile(document, limits), edges, limits)
            segmentation = yield from decide_between_breaks(chunker, units, limits)
            sizes.check_segmentation(units, segmentation, self.algorithm)
            segmentation = chunker.fit_to_layout(units, segmentation)
            built = enumerate(sizes.build_chunks(units, segmentation, limits))
            chunks = [replace(c, metadata={**c.metadata, **chunker.chunk_metadata(c, i)}) for i, c in built]
            by_size = chunker.by_size or isinstance(chunker, _DocumentChunker)
            levels.append(Explanation(document, chunks, units, segmentation, by_size=by_size))
            edges = np.array([0, *(chunk.end for chunk in chunks)], dtype=np.int64)
        chunks = _link([level.chunks for level in levels])
        return Explanation(document, chunks, units, _merge(levels, units), levels=tuple(levels))

    def chunk_metadata(self, chunk: Chunk, index: int) -> dict[str, Any]:
        """Return the granularity of a chunk, and a flag if it is over the limit."""
        oversize = {"oversize": True} if chunk.tokens > self.max_tokens else {}
        return {"granularity": self.granularities[chunk.level], **oversize}


def _check_chunker(chunker: Chunker, most: int) -> None:
    """Raise `ConfigurationError` unless a chunker can cut a level."""
    rule = "a level must be a chunker of units, such as RecursiveChunker"
    require(isinstance(chunker, SegmentingChunker), rule, chunker)
    require(getattr(chunker, "contiguous", True), "a level must have contiguous chunks (contiguous=True)", chunker)
    require(not chunker.overlap_tokens, "a level must be without overlap: children cover their parent exactly", chunker)
    rule = f"max_tokens of a level must be at most max_tokens = {most}"
    require(chunker.max_tokens <= most, rule, chunker.max_tokens)


def _highest_headings(strength: Ints, start: int, end: int) -> Ints:
    """Return the edges inside a range before its highest headings, and those of the next level if it has only one."""
    inside = strength[start:end]
    heads = start + np.flatnonzero((inside >= Strength.HEADING) & (inside < Strength.HARD_BREAK))
    ranks = np.sort(strength[heads])[::-1][:2]
    highest: Ints = heads[(strength[heads] >= ranks.min(initial=Strength.HARD_BREAK)) & (heads > start)]
    return highest


def _break_at(units: Units, edges: Ints, limits: Limits) -> Units:
    """Return units that also end at ``edges``, with hard breaks there."""
    every = np.union1d(units.edges, edges)
    strength = np.full(len(every), Strength.WITHIN_SENTENCE, dtype=np.int64)
    strength[np.searchsorted(every, units.edges)] = units.strength
    strength[np.searchsorted(every, edges[1:-1])] = Strength.HARD_BREAK
    if len(every) == len(units.edges):
        return replace(units, strength=strength)
    return sizes.fit(Units(units.text, every, None, strength), limits)


def _link(levels: Sequence[Sequence[Chunk]]) -> list[Chunk]:
    """Return the chunks of all levels in reading order, parents first, each with its level and parent."""
    placed = [replace(chunk, level=level) for level, chunks in enumerate(levels) for chunk in chunks]
    linked, last = list[Chunk](), dict[int, int]()
    for chunk in sorted(placed, key=lambda chunk: (chunk.start, chunk.level)):
        last[chunk.level] = len(linked)
        linked.append(replace(chunk, parent=last.get(chunk.level - 1)))
    return linked


def _merge(levels: Sequence[Explanation], units: Units) -> Segmentation:
    """Return the segmentation of the finest level's units; each cut has reason and score of the coarsest with it."""
    cuts, edges = dict[int, Cut](), set(units.edges.tolist())
    for level in levels:
        cuts = {cut.offset: cut for cut in level.cuts} | cuts
    cuts = {int(np.searchsorted(units.edges, offset)): cut for offset, cut in sorted(cuts.items()) if offset in edges}
    gaps = np.full(len(units) - 1, np.nan)
    for place, cut in cuts.items():
        gaps[place - 1] = np.nan if cut.score is None else cut.score
    reasons = [cut.reason for cut in cuts.values()]
    return Segmentation(np.array([0, *cuts, len(units)]), reason=reasons, gaps=None if np.isnan(gaps).all() else gaps)
