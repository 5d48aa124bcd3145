"""The chunks of a candidate, ranked for the questions of a task."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from advchunk.building.positions import ChunkPositions
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics import retrieval
from advchunk.evaluation.metrics.metering import Meter, RunCost, measure_cost
from advchunk.records import Chunk, Floats, Ints
from advchunk.retrieval.hierarchies import ChunkHierarchy, merge_within, without_parts
from advchunk.retrieval.lexical_index import LexicalIndex, PartedIndex
from advchunk.retrieval.rankings import DEPTH, Ranking
from advchunk.retrieval.search import Search, combine

_NO_COST = RunCost(calls=0, tokens=0)


class RankedChunks(NamedTuple):
    """The (q, c) scores of all chunks for each question, and the cost of the index."""

    scores: Floats
    cost: RunCost

    def first(self, question: int, depth: int | None = DEPTH, *, above: float = -np.inf) -> Ranking:
        """Return the first chunks for a question, as a retriever does, or all, with scores higher than ``above``."""
        return Ranking.from_scores(self.scores[question], depth, above=above)


@dataclass(frozen=True, eq=False)
class ChunkIndex:
    """Ranks chunks for the questions of a task; vectors and words are indexed once, when a search first uses them.
    Chunks without vectors are embedded: their ``row_texts`` if they have any, else their ``embed_text``.
    """

    chunks: Sequence[Chunk]
    documents: Sequence[str]
    tokens: Ints
    task: EvaluationTask

    def part(self, chunks: Ints) -> Self:
        """Return an index of some of the chunks."""
        part, documents = ([own[i] for i in chunks.tolist()] for own in (self.chunks, self.documents))
        return replace(self, chunks=part, documents=documents, tokens=self.tokens[chunks])

    def rank(self, search: Search) -> tuple[Ints, RunCost]:
        """Return all chunks, best first for each question, (q, c), and the cost of the index. First what a retriever
        finds (`retrieval.search.combine`) within the budget, then the others by vectors, else words; sections last.
        """
        dense = None if search.mode == "lexical" else self.dense
        lexical = None if search.mode == "dense" else self.lexical
        used = [ranked for ranked in (dense, lexical) if ranked is not None]
        depth = DEPTH if self.hierarchy.is_flat else None  # of each level, so all
        positions, orders = self.positions if search.neighbors else None, list[Ints]()
        for question in range(len(self.task.questions)):
            by_vectors = dense and dense.first(question, depth)
            by_words = lexical and lexical.first(question, depth, above=0)
            ranking = combine(by_vectors, by_words, search, positions, hierarchy=self.hierarchy)
            first, others = self._shown(ranking, search).chunks, used[0].first(question, None).chunks
            rest = others[~np.isin(others, first)]
            orders.append(np.concatenate([first, rest[np.argsort(~self.hierarchy.leaves[rest], kind="stable")]]))
        return np.stack(orders), sum((ranked.cost for ranked in used), _NO_COST)

    def _shown(self, ranking: Ranking, search: Search) -> Ranking:
        """Return a ranking after merging, without sections over the budget, and without the chunks of the others."""
        if self.hierarchy.is_flat:
            return ranking
        ranking = ranking.keep(self.hierarchy.leaves | (self.tokens <= self.task.budget))
        if search.merge is not None:
            sizes, budget = np.array([len(chunk.text) for chunk in self.chunks]), self.task.budget
            ranking = merge_within(ranking, self.hierarchy, sizes, search.merge, self.tokens, budget)
        return without_parts(ranking, self.hierarchy)

    @cached_property
    def hierarchy(self) -> ChunkHierarchy:
        """The chunk above each chunk."""
        return ChunkHierarchy.of_chunks(self.chunks, self.documents)

    @cached_property
    def dense(self) -> RankedChunks:
        """The ranking by vectors."""
        vectors = [chunk.vector if chunk.rows is None else chunk.rows for chunk in self.chunks]
        missing = [chunk for chunk, rows in zip(self.chunks, vectors, strict=True) if rows is None]
        texts, meter, cost = [chunk.row_texts or (chunk.embed_text,) for chunk in missing], Meter(), _NO_COST
        rows: Any = iter(())
        if flat := [text for several in texts for text in several]:
            made, cost = measure_cost(lambda: self.task.embed_texts(flat, meter), meter, self.task.counter)
            rows = iter(np.split(made, np.cumsum([len(several) for several in texts])[:-1]))
        matrices = [np.atleast_2d(next(rows) if own is None else own) for own in vectors]
        owners = np.repeat(np.arange(len(matrices)), [len(own) for own in matrices])
        scores = retrieval.similarities(self.task.question_vectors, np.concatenate(matrices), owners)
        return RankedChunks(scores, cost)

    @cached_property
    def lexical(self) -> RankedChunks:
        """The ranking by words."""
        texts, parts = [chunk.embed_text for chunk in self.chunks], self.hierarchy.parts
        index, cost = measure_cost(lambda: PartedIndex(LexicalIndex(texts), parts), Meter(), self.task.counter)
        return RankedChunks(np.stack([index.scores(q.text) for q in self.task.questions]), cost)

    @cached_property
    def positions(self) -> ChunkPositions:
        """The positions of the chunks."""
        pairs = zip(self.chunks, self.tokens.tolist(), strict=True)
        counted = [chunk if chunk.tokens else replace(chunk, tokens=tokens) for chunk, tokens in pairs]
        return ChunkPositions.of(counted, self.documents)
