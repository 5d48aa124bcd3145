"""Chunks of LangChain with their places."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray

from advchunk import Chunk
from advchunk.chunkers.frameworks import flatten_spans
from advchunk.errors import require
from advchunk.layout import inherited_metadata
from advchunk.records import Span, write_metadata, written_keys, written_metadata
from advchunk.retrieval import Hit, Passage, Places, Ranking, assemble_passages
from advchunk.retrieval.locating import Finder, find_overlap
from advchunk.retrieval.passages import PassageOrder
from advchunk.retrieval.places import estimate_tokens
from advchunk.text.counters import Counter
from langchain_advchunk.base import chunk_key
from langchain_advchunk.enrich import group_by_source, to_framework_chunk

_log = logging.getLogger("advchunk")

PLAIN = (str, int, float)
"""Types of metadata values that a filter compares."""

_GAP = 3  # characters between chunks that do not overlap, so that no passage joins them


@dataclass(frozen=True, eq=False)
class Collection:
    """Chunks of LangChain with their places.

    Parameters
    ----------
    documents : the chunks.
    chunks : the same; those whose spans are neither known nor estimated have none.
    keys : for each chunk, the text in which it stands.
    names : the document of each text.
    places : of the chunks.
    alone : number of chunks whose place is not known.
    name : returns the name of a chunk's document.
    texts : by key, if they are known.
    estimated : keys of the texts in which no spans are known, only estimated.
    stale : numbers of the chunks that have another text in the store.
    """

    documents: Sequence[Document]
    chunks: list[Chunk]
    keys: list[str]
    names: Mapping[str, str]
    places: Places
    alone: int
    name: Callable[[Document], str]
    texts: Mapping[str, str] = field(default_factory=dict)
    estimated: frozenset[str] = frozenset()
    stale: Sequence[int] = ()

    @classmethod
    def of_hits(cls, documents: Sequence[Document], name: Callable[[Document], str], counter: Counter) -> Collection:
        """Return a collection of hits in any order; one without spans or a name stands alone."""
        chunks = _to_chunks(documents, list(map(_id_in_store, documents)), counter)
        keys = [_text_key(document, name) for document in documents]
        alone = {i for i, chunk in enumerate(chunks) if not (chunk.spans and keys[i])}
        keys = [f"{i}" if i in alone else key for i, key in enumerate(keys)]
        names = {key: name(document) for key, document in zip(keys, documents, strict=True)}
        return cls(documents, chunks, keys, names, Places.of(chunks, keys), len(alone), name)

    @classmethod
    def of_chunks(
        cls,
        documents: Sequence[Document],
        name: Callable[[Document], str],
        counter: Counter,
        texts: Mapping[str, str],
    ) -> Collection:
        """Return a collection of all chunks of documents, in reading order."""
        chunks = _to_chunks(documents, [document.id or "" for document in documents], counter)
        names = [name(document) for document in documents]
        groups: dict[str, list[int]] = {own: [] for own in names if own in texts}
        rest = list[int]()
        for i, own in enumerate(names):
            (groups[own] if own in texts else rest).append(i)
        for own, members in groups.items():
            finder = Finder(texts[own])
            for i in members:
                chunks[i] = _locate(chunks[i], finder, own)
        for number, members in enumerate(group_by_source([documents[i] for i in rest], name)):
            groups[f"\n{number}"] = [rest[i] for i in members]
        keys = [""] * len(chunks)
        placed, estimated = list(chunks), set[str]()
        alone = sum(not chunk.spans for chunk in chunks)
        for key, members in groups.items():
            group = [chunks[i] for i in members]
            are_known = [bool(chunk.spans) for chunk in group]
            for i, chunk in zip(members, group if all(are_known) else _in_order(group), strict=True):
                keys[i], placed[i] = key, chunk
            if not any(are_known):
                estimated.add(key)
        chunks = [placed[i] if keys[i] in estimated else chunk for i, chunk in enumerate(chunks)]
        if alone:
            reason = "%d of %d chunks have no start_index: they are taken in the order in which they are passed, if their document has a name"
            _log.warning(reason, alone, len(chunks))
        places, names_of_texts = Places.of(placed, keys), dict(zip(keys, names, strict=True))
        return cls(documents, chunks, keys, names_of_texts, places, alone, name, texts, frozenset(estimated))

    def joined(self, hits: Collection) -> Collection:
        """Return the collection with hits after its chunks, in texts of their own; chunks with their ids are stale."""
        first = int(self.places.documents.max(initial=-1)) + 1
        numbers = np.concatenate([self.places.documents, hits.places.documents + first])
        keys = [f"\n\n{key}" for key in hits.keys]
        return replace(
            self,
            documents=[*self.documents, *hits.documents],
            chunks=[*self.chunks, *hits.chunks],
            keys=[*self.keys, *keys],
            names={**self.names, **{f"\n\n{key}": name for key, name in hits.names.items()}},
            places=Places(numbers, np.concatenate([self.places.middles, hits.places.middles])),
            stale=[number for hit in hits.chunks if (number := self.number_of_id(hit.id)) is not None],
        )

    def results(self, ranking: Ranking) -> list[Document]:
        """Return chunks with their scores and citations."""
        results = list[Document]()
        for hit, i in zip(self._hits(ranking), ranking.chunks.tolist(), strict=True):
            chunk, document = hit.chunk, self.documents[i]
            passage = self._named(Passage(chunk.text, hit.document, chunk.spans, (hit,), hit.score, chunk.tokens))
            values = {"relevance_score": hit.score, "citation": passage.citation}
            metadata = write_metadata(document.metadata, values)
            results.append(document.model_copy(update={"id": chunk.id or None, "metadata": metadata}))
        return results

    def passages(self, ranking: Ranking, budget: int, counter: Counter, order: PassageOrder) -> list[Document]:
        """Return passages as documents."""
        results = list[Document]()
        passages = assemble_passages(self._hits(ranking), budget, counter, order=order, texts=self.texts)
        for passage in map(self._named, passages):
            metadata = dict(passage.hits[0].chunk.metadata)
            ids = [hit.chunk.id for hit in passage.hits if hit.chunk.id]
            values: dict[str, Any] = {
                "relevance_score": passage.score,
                "citation": passage.citation,
                "token_count": passage.tokens,
                "chunk_ids": ids,
            }
            if passage.spans:
                if "start_index" not in written_keys(metadata):
                    metadata.pop("start_index", None)  # another splitter's, of the chunk
                values |= {"start_index": passage.spans[0].start, "end_index": passage.spans[-1].end}
            if len(passage.spans) > 1:
                values["spans"] = flatten_spans(passage.spans)
            own_id = str(uuid5(NAMESPACE_OID, repr((ids, passage.citation, passage.text))))
            metadata = write_metadata(inherited_metadata(metadata), values)
            results.append(Document(passage.text, id=own_id, metadata=metadata))
        return results

    def _named(self, passage: Passage) -> Passage:
        """Return a passage with the name of its document, and without spans that are estimated."""
        spans = () if passage.document in self.estimated else passage.spans
        return replace(passage, document=self.names[passage.document], spans=spans)

    def _hits(self, ranking: Ranking) -> list[Hit]:
        pairs = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        return [Hit(self.chunks[i], self.keys[i], score) for i, score in pairs]

    def having(self, conditions: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return the chunks whose metadata has these keys and values, and that are not stale, as n flags."""
        flags = np.ones(len(self.documents), bool)
        flags[list(self.stale)] = False
        for key, value in conditions.items():
            same = np.zeros(len(self.documents), bool)
            same[self._numbers_by_value(key).get(value, [])] = True
            flags &= same
        return flags

    def _numbers_by_value(self, key: str) -> Mapping[Any, list[int]]:
        if key not in self._values:
            numbers = dict[Any, list[int]]()
            for i, document in enumerate(self.documents):
                if isinstance(value := document.metadata.get(key), PLAIN):
                    numbers.setdefault(value, []).append(i)
            self._values[key] = numbers
        return self._values[key]

    @cached_property
    def _values(self) -> dict[str, dict[Any, list[int]]]:
        return {}

    def number_of_id(self, name: str | None) -> int | None:
        """Return the number of the chunk with an id, or with a key of `chunk_key`."""
        return self._by_id[name] if name in self._by_id else self._by_key.get(name)

    def numbers_of(self, hits: Sequence[Document]) -> list[int | None]:
        """Return the numbers of the chunks that a store returned, by their ids, or else by their texts and places.

        A hit that has the id of a chunk, but another text, has none.
        """
        numbers = list[int | None]()
        for hit in hits:
            number = self.number_of_id(_id_in_store(hit))
            if number is not None:
                is_same = self.documents[number].page_content == hit.page_content
                number = number if is_same else None
            else:
                same = [i for i in self._by_text.get((self.name(hit), hit.page_content), ()) if i not in numbers]
                spans = to_framework_chunk(hit).spans if len(same) > 1 else ()
                number = next((i for i in same if self.chunks[i].spans == spans), same[0] if same else None)
            numbers.append(number)
        return numbers

    @cached_property
    def _by_id(self) -> dict[str | None, int]:
        return {chunk.id: i for i, chunk in reversed(list(enumerate(self.documents))) if chunk.id}

    @cached_property
    def _by_key(self) -> dict[str | None, int]:
        return {chunk_key(self.documents[i]): i for i in self._by_id.values()}

    @cached_property
    def _by_text(self) -> dict[tuple[str, str], list[int]]:
        numbers = dict[tuple[str, str], list[int]]()
        for i, chunk in enumerate(self.documents):
            numbers.setdefault((self.name(chunk), chunk.page_content), []).append(i)
        return numbers


def _id_in_store(hit: Document) -> str:
    """Return the id of a hit, which Qdrant writes to the metadata; "" if it has none."""
    return str(hit.id or (hit.metadata.get("_id") if "_collection_name" in hit.metadata else None) or "")


def _to_chunks(documents: Sequence[Document], ids: Sequence[str], counter: Counter) -> list[Chunk]:
    """Return chunks with their own tokens, or else estimated ones."""
    parts = [to_framework_chunk(document) for document in documents]
    estimates = estimate_tokens([part.text for part in parts], counter)
    chunks = list[Chunk]()
    for i, (document, part, estimate) in enumerate(zip(documents, parts, estimates, strict=True)):
        tokens = written_metadata(document.metadata).get("token_count", estimate)
        chunks.append(Chunk(part.text, part.spans, tokens, i, ids[i], part.context, metadata=document.metadata))
    return chunks


def _text_key(document: Document, name: Callable[[Document], str]) -> str:
    """Return a name of the text in which a hit stands: a document, or a page that a loader made a document of."""
    keys = written_keys(document.metadata)
    own_id = document.metadata[keys["source_id"]] if "source_id" in keys else name(document)
    page = None if keys.get("page") == "page" else document.metadata.get("page")
    return f"{own_id}\n{page}" if own_id else ""


def sort_key(document: Document, name: Callable[[Document], str]) -> tuple[Any, ...]:
    """Return a key that orders hits by their text and place."""
    return _text_key(document, name), to_framework_chunk(document).spans, document.page_content


def _locate(chunk: Chunk, finder: Finder, name: str) -> Chunk:
    """Return a chunk with its spans in the text of its document."""
    if not chunk.text.strip() or (chunk.spans and finder.has(chunk.text, chunk.spans)):
        return chunk
    span = finder.find(chunk.text)
    require(span is not None, f"chunks of {name!r} must be parts of its text, in order", chunk.text[:60])
    return replace(chunk, text=finder.text[slice(*span)], spans=(span,)) if span else chunk


def _in_order(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return chunks as if each stood after the one before, or over the end that it repeats."""
    placed, last, end = list[Chunk](), "", -_GAP
    for chunk in chunks:
        start = end - (find_overlap(last, chunk.text) or -_GAP)
        last, end = chunk.text, start + len(chunk.text)
        placed.append(replace(chunk, spans=(Span(start, end),)))
    return placed
