"""Chunks of any origin with their positions: their ranking for a query, and passages of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from advchunk.building.positions import ChunkPositions, estimate_tokens
from advchunk.errors import require
from advchunk.records import Chunk, Floats, Ints
from advchunk.retrieval.cutting import DEPTH_TO_CUT, PassageCutter
from advchunk.retrieval.hierarchies import ChunkHierarchy, merge_upward, merge_within, without_parts
from advchunk.retrieval.lexical_index import LexicalIndex, PartedIndex
from advchunk.retrieval.locating import is_whole, locate_chunks, place_in_order
from advchunk.retrieval.passages import Hit, Passage, PassageOrder, assemble_passages, with_lines
from advchunk.retrieval.rankings import DEPTH, Ranking
from advchunk.retrieval.search import Search, combine
from advchunk.retrieval.vector_index import VectorIndex, similarity
from advchunk.text.counters import Counter

if TYPE_CHECKING:
    from advchunk.retrieval.index_file import IndexReader

_log = logging.getLogger("advchunk")
_MARGIN = 1.5  # times farther than a cutter reaches, since it counts tokens per character of hits alone
_Item = TypeVar("_Item")


@dataclass(frozen=True, eq=False)
class Collection(Generic[_Item]):
    """Chunks that are searched together, with their positions in texts.

    Another framework's store finds some by their vectors (`Ranking.from_hits`); this adds the search by words and the
    neighbors. ``items`` are the n chunks as their framework has them; ``keys`` name the text of each; ``chunks`` whose
    spans are not known have none. ``names``, by key, are for citations; a key without one is a name itself.
    ``estimated`` are keys of texts whose spans are all estimated, and so not cited. ``words`` and ``vectors`` are None
    if nothing searches by them. ``languages`` returns the codes of the chunks' languages, for embedders that do not
    know them all. ``allowed`` is (n,), True for chunks that may be found.
    """

    items: Sequence[_Item]
    chunks: Sequence[Chunk]
    keys: Sequence[str]
    positions: ChunkPositions
    names: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    estimated: Set[str] = frozenset()
    words: LexicalIndex | PartedIndex | IndexReader | None = None
    vectors: VectorIndex | IndexReader | None = None
    languages: Callable[[], Sequence[str]] | None = None
    allowed: NDArray[np.bool_] = field(default=None)  # type: ignore[arg-type]  # filled in below
    hierarchy: ChunkHierarchy = field(default=None)  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        if self.allowed is None:
            object.__setattr__(self, "allowed", np.ones(len(self), bool))
        if self.hierarchy is None:
            object.__setattr__(self, "hierarchy", ChunkHierarchy(np.full(len(self), -1)))

    @classmethod
    def of(
        cls,
        items: Sequence[_Item],
        chunks: Sequence[Chunk],
        keys: Sequence[str],
        names: Mapping[str, str],
        counter: Counter,
        *,
        order: Iterable[int] | None = None,
        texts: Mapping[str, str] | None = None,
        must_match: bool = False,
        hierarchy: ChunkHierarchy | None = None,
    ) -> Self:
        """Return the collection of chunks, of which some may have neither spans nor tokens.

        Chunks stand at their spans, or where a known text has them (`locating.locate_chunks`), or after one another
        (`locating.place_in_order`). A chunk not as long as its spans, such as one without markup, has its place, but is
        cited without. Tokens are estimated. ``order`` puts each key's chunks in reading order; None if they are so. A
        text that lacks chunks is not used, or with ``must_match`` raises `ConfigurationError`.
        """
        groups = dict[str, list[int]]()
        for i in range(len(chunks)) if order is None else order:
            groups.setdefault(keys[i], []).append(i)
        chunks = [replace(chunk, index=i) for i, chunk in enumerate(estimate_tokens(chunks, counter))]
        placed, found_in, estimated = list(chunks), dict[str, str](), set[str]()
        for key, members in groups.items():
            group = [chunks[i] for i in members]
            if texts and key in texts:
                located = locate_chunks(texts[key], group)
                lost = [chunk.text[:60] for chunk in located if chunk.text.strip() and not chunk.spans]
                require(not (lost and must_match), f"chunks of {key!r} must be parts of its text, in order", lost[:1])
                if not lost:
                    group, found_in[key] = located, texts[key]
            are_known = [bool(chunk.spans) for chunk in group]
            in_order = group if all(are_known) else place_in_order(group)
            if not any(are_known):
                group = in_order
                estimated.add(key)
            for i, chunk, at in zip(members, group, in_order, strict=True):
                chunks[i], placed[i] = chunk if is_whole(chunk) else replace(chunk, spans=()), at
        positions = ChunkPositions.of(placed, keys)
        return cls(items, chunks, keys, positions, names, found_in, estimated, hierarchy=hierarchy)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.chunks)

    def with_words(self, words: LexicalIndex, languages: Callable[[], Sequence[str]] | None = None) -> Self:
        """Return the collection with a search by words, in which the chunks of a level are compared with each other."""
        parts = self.hierarchy.parts
        own = words if len(parts) == 1 else PartedIndex(words, parts)
        return replace(self, words=own, languages=languages)

    def joined(self, others: Collection[_Item], stale: Iterable[int] = ()) -> Self:
        """Return the collection with others after its chunks, in texts of their own, in place of the ``stale`` ones."""
        first = int(self.positions.documents.max(initial=-1)) + 1
        numbers = np.concatenate([self.positions.documents, others.positions.documents + first])
        allowed = np.concatenate([self.allowed, others.allowed])
        allowed[list(stale)] = False
        renamed = {key: f"\n{key}" for key in others.keys}
        return replace(
            self,
            items=[*self.items, *others.items],
            chunks=[*self.chunks, *(replace(chunk, index=chunk.index + len(self)) for chunk in others.chunks)],
            keys=[*self.keys, *map(renamed.__getitem__, others.keys)],
            positions=ChunkPositions(numbers, np.concatenate([self.positions.middles, others.positions.middles])),
            names={**self.names, **{new: others.names.get(key, key) for key, new in renamed.items()}},
            texts={**self.texts, **{renamed[key]: text for key, text in others.texts.items()}},
            estimated=self.estimated | {renamed[key] for key in others.estimated},
            allowed=allowed,
            hierarchy=self.hierarchy.extended(len(others)),
        )

    def rank(self, query: str, dense: Ranking | None, search: Search, depth: int = DEPTH) -> Ranking:
        """Return the ranking of the allowed chunks, using ``depth`` >= 1 chunks of each ranking.

        ``dense`` is by vectors, of several levels ``depth`` of each; a search by words alone does not use it.
        """
        lexical, hierarchy = None, self.hierarchy.among(self.allowed)
        if search.mode != "dense" and self.words is not None:
            scores = self.words.scores(query)
            scores = np.where(self.allowed, np.pad(scores, (0, len(self) - len(scores))), 0)
            lexical = Ranking.from_scores(scores, depth if hierarchy.is_flat else None, above=0).explained(query)
        vectors = dense.keep(self.allowed) if dense is not None and search.mode != "lexical" else None
        ranking = combine(vectors, lexical, search, self.positions, hierarchy=hierarchy, depth=depth)
        if lexical is not None and len(self) and not len(ranking):
            _log.warning(lexical.reason)
            ranking = replace(ranking, reason=lexical.reason)
        return ranking.keep(self.allowed)

    def first(self, ranking: Ranking, k: int, merge: float | None = None) -> Ranking:
        """Return the first ``k`` chunks of a ranking, none in another; fewer if sections replace some."""
        if self.hierarchy.is_flat:
            return ranking.first(k)
        first = without_parts(ranking, self.hierarchy).first(k)
        if merge is not None:
            first = merge_upward(first, self.hierarchy, self._sizes, merge)
        return without_parts(first, self.hierarchy)

    @property
    def _sizes(self) -> Ints:
        """The characters of each allowed chunk."""
        sizes: Ints = np.array([len(chunk.text) for chunk in self.chunks]) * self.allowed
        return sizes

    def results(self, ranking: Ranking) -> list[Passage]:
        """Return each chunk of a ranking as a passage of its own."""
        return list(map(self._cited, with_lines(map(Passage.of, self.hits(ranking)), self.texts.get)))

    def passages(
        self,
        question: str,
        ranking: Ranking,
        budget: int,
        counter: Counter,
        cutter: PassageCutter,
        order: PassageOrder = "rank",
        merge: float | None = None,
        *,
        vector: Floats | None = None,
        whole_chunks: bool = False,
        min_coverage: float | None = None,
    ) -> list[Passage]:
        """Return passages for a question: cut, or ``whole_chunks``, and always these over several levels. ``merge`` is
        as `Search.merge`, of as many chunks as fill the budget; ``vector`` is the question's, with which rows of
        sentences are compared; ``min_coverage`` as in `PassageCutter.cut`.
        """
        if whole_chunks or not self.hierarchy.is_flat:
            if merge is not None and not self.hierarchy.is_flat:
                tokens = np.array([chunk.tokens for chunk in self.chunks])
                ranking = merge_within(ranking, self.hierarchy, self._sizes, merge, tokens, budget)
            passages = assemble_passages(self.hits(ranking), budget, counter, order=order, texts=self.texts)
            passages = cutter.covering(question, self.hits(ranking.first(DEPTH_TO_CUT)), passages, min_coverage)
            return list(map(self._cited, passages))
        first = ranking.first(DEPTH_TO_CUT)
        near = self.positions.near(first.chunks, _MARGIN * cutter.around) if len(first) else np.arange(0)
        near, hits = np.setdiff1d(near[self.allowed[near]], first.chunks), self.hits(first, vector)
        texts = {key: text for key in {hit.document for hit in hits} if (text := self.texts.get(key)) is not None}
        named = texts.keys() - {""}  # of whose documents the texts are read, and no other chunk
        beside = [Hit(self.chunks[i], key, 0.0) for i in near.tolist() if (key := self.keys[i]) not in named]
        around: dict[str, Any] = {"beside": beside, "texts": texts or None, "files": self.names}
        passages = cutter.cut(question, hits, budget, order=order, min_coverage=min_coverage, **around)
        return list(map(self._cited, passages))

    def hits(self, ranking: Ranking, vector: Floats | None = None) -> list[Hit]:
        """Return the chunks of a ranking, with the keys of their texts, and their scores and, given the vector of a
        question, those of their sentences.
        """
        pairs = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        hits = [Hit(self.chunks[i], self.keys[i], score) for i, score in pairs]
        if vector is not None and self.vectors is not None:
            split = [place for place, hit in enumerate(hits) if hit.chunk.row_spans]
            rows = self.vectors.rows_of(ranking.chunks[split])
            scores = iter(similarity(np.concatenate(rows), vector).tolist() if rows else ())  # at once, which is faster
            for place, own in zip(split, rows, strict=True):
                hits[place] = replace(hits[place], row_scores=tuple(islice(scores, len(own))))
        return hits

    def _cited(self, passage: Passage) -> Passage:
        """Return a passage with the name of its document, and without estimated places."""
        key = passage.document
        named = replace(passage, document=self.names.get(key, key))
        return replace(named, spans=(), lines=()) if key in self.estimated else named
