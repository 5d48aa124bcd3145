"""Retrieval by levels: sections score with the chunks in them, take their place, or give way to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import checked, require
from advchunk.records import Chunk, Ints, written_metadata
from advchunk.retrieval.rankings import DEPTH, Ranking, standardize


@dataclass(frozen=True, eq=False)
class ChunkHierarchy:
    """The chunk above each of n chunks.

    *Leaves* are the chunks with no other below, so those of a flat chunker are all leaves; *sections* are the others.
    Raises `ConfigurationError` for a chunk above itself.

    Parameters
    ----------
    parents : (n,) number of the chunk above; -1 without one.

    >>> hierarchy = ChunkHierarchy(np.array([-1, 0, 0, -1, 3]))
    >>> [np.flatnonzero(part).tolist() for part in hierarchy.parts]
    [[1, 2, 4], [0, 3]]
    """

    parents: Ints

    def __post_init__(self) -> None:
        require(
            isinstance(self.parents, np.ndarray) and self.parents.ndim == 1, "parents must be an array", self.parents
        )
        _ = self.depths  # raises if a chunk is above itself

    @classmethod
    @checked
    def of_chunks(cls, chunks: Sequence[Chunk], documents: Sequence[Hashable]) -> Self:
        """Return the hierarchy of the chunks of documents of these names, as chunkers return them.

        The parent of a chunk is the one with its index in the document or, of a corpus, the one with its id.
        """
        numbers: dict[Hashable, int] = {(documents[n], chunk.index): n for n, chunk in enumerate(chunks)}
        numbers |= {chunk.id: n for n, chunk in enumerate(chunks) if chunk.id}
        above = [
            None if chunk.parent is None else written_metadata(chunk.metadata).get("parent_id") or (name, chunk.parent)
            for chunk, name in zip(chunks, documents, strict=True)
        ]
        return cls(np.array([-1 if key is None else numbers.get(key, -1) for key in above], dtype=np.int64))

    @classmethod
    @checked
    def of(cls, ids: Sequence[str], parent_ids: Sequence[str | None]) -> Self:
        """Return the hierarchy of chunks with these ids, by the id above each; an unknown one is none."""
        numbers = {own: number for number, own in enumerate(ids) if own}
        return cls(np.array([-1 if own is None else numbers.get(own, -1) for own in parent_ids], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def is_flat(self) -> bool:
        """True if no chunk is above another."""
        return not bool((self.parents >= 0).any())

    @cached_property
    def leaves(self) -> NDArray[np.bool_]:
        """True for each chunk with no other below: (n,)."""
        flags = np.ones(len(self), dtype=bool)
        flags[self.parents[self.parents >= 0]] = False
        return flags

    @cached_property
    def depths(self) -> Ints:
        """The number of chunks above each chunk: (n,)."""
        depths, above = np.zeros(len(self), dtype=np.int64), self.parents
        while (is_below := above >= 0).any():
            depths += is_below
            require(int(depths.max()) < len(self), "a chunk must not be above itself", self.parents)
            above = np.where(is_below, self.parents[above], -1)
        return depths

    @cached_property
    def parts(self) -> list[NDArray[np.bool_]]:
        """Flags of the leaves, and then of the sections of each depth from the top: (n,) each."""
        depths = np.unique(self.depths[~self.leaves])
        return [self.leaves, *(~self.leaves & (self.depths == depth) for depth in depths)]

    @property
    def nearest(self) -> NDArray[np.bool_]:
        """True for each section right above a leaf, and for each leaf without a section: (n,)."""
        above = self.parents[self.leaves]
        flags = self.leaves & (self.parents < 0)
        flags[above[above >= 0]] = True
        return flags

    def among(self, allowed: NDArray[np.bool_]) -> ChunkHierarchy:
        """Return the hierarchy of the ``allowed`` chunks, (n,) flags, without links to and from the others."""
        is_linked = (self.parents >= 0) & allowed & allowed[self.parents]
        return ChunkHierarchy(np.where(is_linked, self.parents, -1))

    def extended(self, count: int) -> ChunkHierarchy:
        """Return the hierarchy with ``count`` >= 0 chunks after the others, none of which is above or below another."""
        return ChunkHierarchy(np.concatenate([self.parents, np.full(count, -1)]))

    def above(self, chunk: int) -> Iterator[int]:
        """Yield the chunks above a chunk, from its parent to the top."""
        while (chunk := int(self.parents[chunk])) >= 0:
            yield chunk


@checked
def add_sections(
    leaves: Ranking,
    sections: Sequence[Ranking],
    hierarchy: ChunkHierarchy,
    weight: float,
    *,
    hits_only: bool = True,
    depth: int = DEPTH,
) -> Ranking:
    """Add the scores of sections to those of the first ``depth`` leaves.

    With z the scores of a ranking, standardized among its first ``depth`` chunks (`rankings.standardize`), and 0 for a
    chunk that is not among them,

        y_i = z(s_i) + weight * sum of z(s_a) over all sections a above i

    So a leaf in a section about the question comes before one that matches as well elsewhere. Ours; see
    benchmarks/STRUCTURE.md. Raises `ConfigurationError` for a weight out of range.

    Parameters
    ----------
    leaves, sections : rankings of the leaves, and of the sections of each depth.
    weight : weight of a section, >= 0; a leaf has 1.
    hits_only : do not let in the leaves of the sections that were found if they were not found themselves.

    >>> hierarchy = ChunkHierarchy(np.array([-1, 0, -1, 2, 2]))
    >>> leaves = Ranking(np.array([1, 3]), np.array([1.0, 0.9]), floor=0.0)
    >>> sections = Ranking(np.array([2, 0]), np.array([1.0, 0.5]), floor=0.0)
    >>> [add_sections(leaves, [sections], hierarchy, 0.6, hits_only=only).chunks.tolist() for only in (True, False)]
    [[3, 1], [3, 1, 4]]
    """
    require(0 <= weight < np.inf, "weight must be finite and >= 0", weight)
    scores, depths = np.zeros(len(hierarchy)), hierarchy.depths
    for ranking in sections:
        first = ranking.first(depth)
        scores[first.chunks] = weight * standardize(first, depth)
    for level in range(1, int(depths.max(initial=0)) + 1):  # from the top, so that all chunks above are added
        below = np.flatnonzero(depths == level)
        scores[below] += scores[hierarchy.parents[below]]
    first = leaves.first(depth)
    is_let_in = (scores > 0) & hierarchy.leaves & (not hits_only)
    is_let_in[first.chunks] = True
    scores[first.chunks] += standardize(first, depth)
    hits = np.flatnonzero(is_let_in)
    best = Ranking.from_scores(scores[hits])
    return Ranking(hits[best.chunks], best.scores, floor=0.0)


@checked
def merge_upward(ranking: Ranking, hierarchy: ChunkHierarchy, sizes: Ints, share: float) -> Ranking:
    """Put each section before the first chunk of it in a ranking, if more than a share of its text is in the ranking.

    A section that is put in counts as found whole for the one above it. Its score is that of its first chunk, and its
    chunks stay behind it, for a budget into which it does not fit. A summary has no text, so it takes no place. Raises
    `ConfigurationError` for a share out of range.

    Parameters
    ----------
    sizes : (n,) characters of each chunk.
    share : 0..1, exclusive.

    >>> hierarchy = ChunkHierarchy(np.array([-1, 0, 0, 0, -1]))
    >>> hits = Ranking(np.array([4, 3, 1]), np.array([0.9, 0.8, 0.7]))
    >>> merge_upward(hits, hierarchy, np.array([30, 10, 10, 10, 10]), 0.5).chunks.tolist()
    [4, 0, 3, 1]
    """
    require(0 < share < 1, "share must be between 0 and 1", share)
    retrieved = Counter({chunk: int(sizes[chunk]) for chunk in ranking.chunks.tolist()})
    full = set[int]()
    touched = {number for chunk in retrieved for number in (chunk, *hierarchy.above(chunk))}
    for chunk in sorted(touched, key=lambda chunk: -int(hierarchy.depths[chunk])):  # from the bottom
        if not hierarchy.leaves[chunk] and retrieved[chunk] > share * sizes[chunk] > 0:
            full.add(chunk)
            retrieved[chunk] = int(sizes[chunk])
        retrieved[int(hierarchy.parents[chunk])] += retrieved[chunk]
    return _replaced(
        ranking, lambda chunk: [*reversed([above for above in hierarchy.above(chunk) if above in full]), chunk]
    )


def _replaced(ranking: Ranking, parts: Callable[[int], Iterable[int]]) -> Ranking:
    """Return a ranking with others in place of each chunk, each once, with the score of the first that it is for."""
    scores = dict[int, float]()
    for chunk, score in zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True):
        for number in parts(chunk):
            scores.setdefault(number, score)
    return Ranking(np.array(list(scores), dtype=np.int64), np.array(list(scores.values())), ranking.floor)


def merge_within(
    ranking: Ranking, hierarchy: ChunkHierarchy, sizes: Ints, share: float, tokens: Ints, budget: int
) -> Ranking:
    """Return a ranking with those of its first chunks that fill ``budget`` tokens (>= 1) merged upward
    (`merge_upward`), if they fit into it. ``tokens`` (n,) are those of each chunk.
    """
    count = int(np.searchsorted(np.cumsum(tokens[ranking.chunks]), budget, "right"))
    fitting = np.where(hierarchy.leaves | (tokens <= budget), sizes, 0)
    first = merge_upward(ranking.first(count), hierarchy, fitting, share)
    rest = ~np.isin(ranking.chunks, first.chunks)
    chunks = np.concatenate([first.chunks, ranking.chunks[rest]])
    return Ranking(chunks, np.concatenate([first.scores, ranking.scores[rest]]), ranking.floor)


def expand_downward(ranking: Ranking, hierarchy: ChunkHierarchy, leaves: Ranking) -> Ranking:
    """Put the leaves right below each section behind it, best first, for a budget into which it does not fit. They have
    the section's score; those that are not in ``leaves`` follow in their order.
    """
    places = np.full(len(hierarchy), len(leaves))
    places[leaves.chunks] = np.arange(len(leaves))
    members = np.flatnonzero(hierarchy.leaves & np.isin(hierarchy.parents, ranking.chunks))
    below = dict[int, list[int]]()
    for leaf in members[np.argsort(places[members], kind="stable")].tolist():
        below.setdefault(int(hierarchy.parents[leaf]), []).append(leaf)
    return _replaced(ranking, lambda section: [section, *below.get(section, [])])


def without_parts(ranking: Ranking, hierarchy: ChunkHierarchy) -> Ranking:
    """Return a ranking without the chunks of sections that come before them."""
    seen, kept = set[int](), np.ones(len(ranking), dtype=bool)
    for i, chunk in enumerate(ranking.chunks.tolist()):
        kept[i] = seen.isdisjoint(hierarchy.above(chunk))
        seen.add(chunk)
    return Ranking(ranking.chunks[kept], ranking.scores[kept], ranking.floor)
