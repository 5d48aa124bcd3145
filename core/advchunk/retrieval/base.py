"""The base of retrievers: what is asked and what is added, whatever keeps the chunks."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, TypeAlias, TypeVar

import numpy as np

from advchunk.building.long_texts import embed_long_texts
from advchunk.building.positions import count_tokens
from advchunk.engine import Job, Plan, adrive, run_job
from advchunk.errors import checked, require
from advchunk.models.counters import TokenizerLike, as_counter
from advchunk.models.embedders import CheckedEmbedder, EmbedderLike, as_embedder
from advchunk.models.identity import model_name, own_identity
from advchunk.models.static import StaticEmbedder
from advchunk.records import Chunk, Floats, check_chunk, evolve
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.cutting import DEPTH_TO_CUT, PassageCutter, as_cutter
from advchunk.retrieval.index_file import IndexedDocument
from advchunk.retrieval.locating import is_verbatim
from advchunk.retrieval.passages import Hit, Passage, PassageOrder, check_sizes
from advchunk.retrieval.query_language import fit_to_language
from advchunk.retrieval.rankings import Ranking
from advchunk.retrieval.search import AnswerLength, Search
from advchunk.retrieval.warning_log import WarningLog
from advchunk.text.counters import Counter

_Answer = TypeVar("_Answer")
_Asked: TypeAlias = tuple[Job[Floats | None], Callable[[Floats | None], _Answer]]


class BaseRetriever(ABC):
    """Finds chunks by their vectors and words, and cuts passages. A subclass keeps the chunks."""

    def __init__(
        self,
        search: Search,
        depth: int,
        language: str,
        embedder: EmbedderLike,
        tokenizer: TokenizerLike,
        cutter: PassageCutter | None,
    ) -> None:
        check_sizes(depth=depth)
        self._search, self._depth, self._language, self._warnings = search, depth, language, WarningLog()
        self._embedder, self._tokenizer, self._own_cutter = embedder, tokenizer, as_cutter(cutter)

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of chunks."""

    @property
    @abstractmethod
    def documents(self) -> list[str]:
        """The names of the documents, in the order in which they were added."""

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[Collection[Chunk]]:
        """Return the chunks as they are now."""

    @abstractmethod
    def _change(self, added: Mapping[str, IndexedDocument], removed: Iterable[str], notes: Mapping[str, Any]) -> None:
        """Remove documents, add or replace others, and keep notes: all of this, or nothing."""

    @property
    def _keeps_vectors(self) -> bool:
        """True if chunks are kept with vectors."""
        return self._search.mode != "lexical"

    @property
    def language(self) -> str:
        """The code of the language."""
        return self._language

    @property
    def settings(self) -> Search:
        """The way of search."""
        return self._search

    @checked
    def add(self, document: str, chunks: Sequence[Chunk], *, text: str | None = None) -> None:
        """Add the chunks of a document, in place of those that it has; ``text`` is as in ``texts``.

        Chunks of context alone, such as a title, can be found but are in no passage.
        """
        self.add_many({document: chunks}, None if text is None else {document: text})

    @checked
    def add_many(self, chunks: Mapping[str, Sequence[Chunk]], texts: Mapping[str, str] | None = None) -> None:
        """Add chunks of documents, in place of those that they have, with full batches for the embedder.

        Nothing changes if the embedder fails, dimensions differ, or a chunk is not its text in ``texts``.
        """
        run_job(Job(self._adding(chunks, texts)))

    @checked
    async def aadd_many(self, chunks: Mapping[str, Sequence[Chunk]], texts: Mapping[str, str] | None = None) -> None:
        """Await `add_many`, with the async method of the embedder."""
        await anext(adrive([Job(self._adding(chunks, texts))]))

    @checked
    def remove(self, *documents: str) -> None:
        """Remove documents, those that are there."""
        self._change({}, documents, {})

    def _adding(
        self,
        chunks: Mapping[str, Sequence[Chunk]],
        texts: Mapping[str, str] | None,
        removed: Iterable[str] = (),
        notes: Mapping[str, Any] | None = None,
    ) -> Plan[None]:
        groups = self._checked(chunks, texts := texts or {})
        removed = [*removed]
        are_names = all(isinstance(name, str) for name in removed)
        require(are_names, "names of documents to remove must be a collection of strings", removed)
        rows = iter((yield from self._rows_of(groups)))
        added = {
            name: IndexedDocument(
                [_without_vectors(chunk) for chunk in group], list(islice(rows, len(group))), texts.get(name)
            )
            for name, group in groups.items()
        }
        self._change(added, removed, notes or {})

    def _checked(self, chunks: Mapping[str, Sequence[Chunk]], texts: Mapping[str, str]) -> dict[str, list[Chunk]]:
        """Return the chunks of each document that can be found, with their tokens."""
        for chunk in chain.from_iterable(chunks.values()):
            check_chunk(chunk)
        groups = {name: [chunk for chunk in group if chunk.embed_text] for name, group in chunks.items()}
        for name, text in texts.items():
            wrong = [chunk.text for chunk in groups.get(name, []) if chunk.spans and not is_verbatim(chunk, text)]
            require(not wrong, f"chunks must have the text at their spans; in {name!r} they have another", wrong[:1])
        counted = iter(count_tokens([chunk for group in groups.values() for chunk in group], self._counter))
        return {name: list(islice(counted, len(group))) for name, group in groups.items()}

    @checked
    def search(
        self, query: str, k: int = 10, *, answer: AnswerLength | None = None, highlights: bool = False
    ) -> list[Hit]:
        """Return the ``k`` >= 1 best chunks for a query, or all that are found.

        ``answer`` replaces the retriever's; ``highlights`` finds the sentences that matter most (`Hit.highlights`).
        """
        return _run(self._finding(query, k, answer, highlights))

    @checked
    async def asearch(
        self, query: str, k: int = 10, *, answer: AnswerLength | None = None, highlights: bool = False
    ) -> list[Hit]:
        """Await `search`, with the async method of the embedder; the rest is done in a thread."""
        return await _arun(self._finding(query, k, answer, highlights))

    def _finding(self, query: str, k: int, answer: AnswerLength | None, highlights: bool) -> _Asked[list[Hit]]:
        check_sizes(k=k)

        def use(chunks: Collection[Chunk], ranking: Ranking, search: Search, _: Floats | None) -> list[Hit]:
            hits = chunks.hits(chunks.first(ranking, k, search.merge))
            return self._cutter.highlights(query, hits) if highlights else hits

        return self._asking(query, answer, max(self._depth, k), use)

    @checked
    def passages(
        self,
        query: str,
        budget: int = 1000,
        *,
        order: PassageOrder = "rank",
        answer: AnswerLength | None = None,
        whole_chunks: bool = False,
        min_coverage: float | None = None,
    ) -> list[Passage]:
        """Return passages for a prompt, of at most ``budget`` >= 1 tokens in all.

        They are cut for the query from the text of the best chunks and those beside them (`PassageCutter`). With
        ``whole_chunks``, and always over several levels, they are whole chunks, joined where they touch
        (`assemble_passages`). ``order`` "rank" sorts by best sentence or chunk, "document" by document and place;
        ``answer`` replaces the retriever's. ``min_coverage`` replaces that of the cutter.
        """
        options = {"order": order, "whole_chunks": whole_chunks, "min_coverage": min_coverage}
        return _run(self._cutting(query, budget, answer, options))

    @checked
    async def apassages(
        self,
        query: str,
        budget: int = 1000,
        *,
        order: PassageOrder = "rank",
        answer: AnswerLength | None = None,
        whole_chunks: bool = False,
        min_coverage: float | None = None,
    ) -> list[Passage]:
        """Await `passages`, with the async method of the embedder; the rest, with any scorer, is done in a thread."""
        options = {"order": order, "whole_chunks": whole_chunks, "min_coverage": min_coverage}
        return await _arun(self._cutting(query, budget, answer, options))

    def _cutting(
        self, query: str, budget: int, answer: AnswerLength | None, options: Mapping[str, Any]
    ) -> _Asked[list[Passage]]:
        check_sizes(budget=budget)

        def use(chunks: Collection[Chunk], ranking: Ranking, search: Search, vector: Floats | None) -> list[Passage]:
            own = budget, self._counter, self._cutter
            return chunks.passages(query, ranking, *own, merge=search.merge, vector=vector, **options)

        return self._asking(query, answer, max(self._depth, DEPTH_TO_CUT), use)

    def rank(self, query: str, depth: int | None = None, *, answer: AnswerLength | None = None) -> Ranking:
        """Return the ranking of chunks, numbered by document; ``depth`` and ``answer`` replace the retriever's."""
        return _run(self._asking(query, answer, depth or self._depth, lambda _, ranking, __, ___: ranking))

    def _asking(
        self,
        query: str,
        answer: AnswerLength | None,
        depth: int,
        use: Callable[[Collection[Chunk], Ranking, Search, Floats | None], _Answer],
    ) -> _Asked[_Answer]:
        """Return a job that embeds a query, and a function that, given its vector, calls ``use`` with the chunks, their
        ranking, the search, and the vector, if it knows more than words, and returns its result.
        """
        search = self._search if answer is None else replace(self._search, answer=answer)

        def embedding() -> Plan[Floats | None]:
            if search.mode == "lexical":
                return None
            vectors = yield from embed_long_texts([query], self._model.for_questions())
            return np.asarray(vectors[0])

        def respond(vector: Floats | None) -> _Answer:
            with self._snapshot() as chunks:
                own = fit_to_language(search, query, chunks.languages, self._model, self._warnings)
                ranking = self._rank(chunks, query, vector, own, depth)
                has_meaning = own.mode != "lexical" and StaticEmbedder.model_name not in self._model_name
                return use(chunks, ranking, search, vector if has_meaning else None)

        return Job(embedding()), respond

    @property
    def _name(self) -> str:
        """The name in messages."""
        return type(self).__name__

    def _rank(
        self, chunks: Collection[Chunk], query: str, vector: Floats | None, search: Search, depth: int
    ) -> Ranking:
        if not len(chunks):
            self._warnings.warn("empty", "%s has no chunks, so nothing is found", self._name)
        depth = min(depth, max(len(chunks), self._depth, DEPTH_TO_CUT))  # without more chunks than there are
        most = depth if chunks.hierarchy.is_flat else None  # of each level, so all
        dense = None
        if vector is not None and chunks.vectors is not None and search.mode != "lexical":
            dense = chunks.vectors.search(vector, most)
        return chunks.rank(query, dense, search, depth)

    @cached_property
    def _cutter(self) -> PassageCutter:
        return self._own_cutter.within(self._language, self._model, self._tokenizer)

    def _rows_of(self, groups: Mapping[str, Sequence[Chunk]]) -> Plan[list[Floats]]:
        """Return the rows of each chunk, and embed those without; none for a search by words alone."""
        if not self._keeps_vectors:
            return []
        chunks = [chunk for group in groups.values() for chunk in group]
        missing = [chunk.embed_text for chunk in chunks if chunk.vector is None and chunk.rows is None]
        rows = iter((yield from embed_long_texts(missing, self._model)) if missing else ())
        vectors = [chunk.vector if chunk.rows is None else chunk.rows for chunk in chunks]
        return [np.atleast_2d(next(rows) if vector is None else vector) for vector in vectors]

    @property
    def _model(self) -> CheckedEmbedder:
        return as_embedder(self._embedder)

    @property
    def _counter(self) -> Counter:
        return as_counter(self._tokenizer, self._model)

    @property
    def _model_name(self) -> str:
        if not self._keeps_vectors:
            return ""
        return own_identity(self._model.model) or model_name(self._model.model)

    def _check_embedder(self, made_by: str) -> None:
        """Raise `ConfigurationError` if the embedder has another name than the one that an index was made with."""
        name, rule = self._model_name, f"embedder must be {made_by!r}, as when the index was made"
        require(name == made_by or not (name and made_by), rule, name)


def _without_vectors(chunk: Chunk) -> Chunk:
    """Return a chunk without its vectors, which an index keeps, but with the spans of its rows, if it has these."""
    has_rows = chunk.rows is not None and len(chunk.rows) == len(chunk.row_spans)
    return evolve(chunk, vector=None, rows=None, row_texts=(), row_spans=chunk.row_spans if has_rows else ())


def _run(asked: _Asked[_Answer]) -> _Answer:
    embedding, respond = asked
    return respond(run_job(embedding))


async def _arun(asked: _Asked[_Answer]) -> _Answer:
    embedding, respond = asked
    return await asyncio.to_thread(respond, await anext(adrive([embedding])))
