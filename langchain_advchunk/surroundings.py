"""Texts and chunks around hits, from the stores of LangChain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import ceil
from statistics import median
from typing import Any, NamedTuple, TypeAlias

from langchain_core.documents import Document
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from advchunk.errors import require
from advchunk.records import written_keys, written_metadata
from advchunk.retrieval.passages import Hit
from advchunk.retrieval.surroundings import (
    CheckedSurroundings,
    Neighborhood,
    SurroundingsLike,
    TextSource,
    as_surroundings,
    ranges_around,
)
from advchunk.retrieval.warning_log import WarningLog
from langchain_advchunk.collection import document_name, name_key, to_hit

AnySource: TypeAlias = SurroundingsLike | BaseStore[str, Any] | VectorStore
"""A source of texts or chunks as in the core, a store of texts, or a vector store that has the chunks."""

_MOST = 10_000  # chunks that a vector store returns for a question
_START = "start_index"


class MetadataRange(NamedTuple):
    """A part of a document, by the metadata of its chunks: those with ``start`` <= ``metadata[start_key]`` < ``end``.

    Parameters
    ----------
    key : of the document's name in the metadata, such as "source".
    start_key : of the offset, "advchunk_start_index" where documents have a "start_index" of their own.
    """

    key: str
    document: Any
    start: int
    end: int
    start_key: str = _START


def mapping_filter(ranges: Sequence[MetadataRange], prefix: str = "") -> dict[str, Any]:
    """Return a filter of mappings with operators, as Chroma, PGVectorStore, Pinecone and others take it.

    >>> mapping_filter([MetadataRange("source", "guide", 0, 90)])
    {'$and': [{'source': {'$eq': 'guide'}}, {'start_index': {'$gte': 0}}, {'start_index': {'$lt': 90}}]}
    """
    filters = [
        {
            "$and": [
                {f"{prefix}{own.key}": {"$eq": own.document}},
                {f"{prefix}{own.start_key}": {"$gte": own.start}},
                {f"{prefix}{own.start_key}": {"$lt": own.end}},
            ]
        }
        for own in ranges
    ]
    return filters[0] if len(filters) == 1 else {"$or": filters}


def qdrant_filter(ranges: Sequence[MetadataRange], prefix: str = "metadata.") -> Any:
    """Return a filter of Qdrant.

    Parameters
    ----------
    prefix : of the keys of metadata in the payload.
    """
    from qdrant_client import models

    def condition(own: MetadataRange) -> Any:
        name = models.FieldCondition(key=f"{prefix}{own.key}", match=models.MatchValue(value=own.document))
        place = models.FieldCondition(key=f"{prefix}{own.start_key}", range=models.Range(gte=own.start, lt=own.end))
        return models.Filter(must=[name, place])

    return models.Filter(should=list(map(condition, ranges)))


class StoreChunks:
    """The chunks around hits, from the vector store that has them, with one call for all hits of a question.

    Chunks are recognized by the name of their document and by ``start_index`` in their metadata, which our splitters write, and
    LangChain's with ``add_start_index=True``. Of chunks of several levels, those of the levels of hits count.

    Parameters
    ----------
    store : an `InMemoryVectorStore`, `Chroma` or `QdrantVectorStore`, or any other with ``filter`` or ``ids``.
    filter : returns the filter of the store for the chunks in any of some ranges, such as `mapping_filter`. The store is then
        searched with it by a vector, of a word that is embedded once; an index that is approximate may miss chunks.
    ids : returns the id of a chunk by the name of its document and its ``chunk_index``, which our splitters write, for a store
        that has such ids and ``get_by_ids``.
    document_key : metadata key of the name of a chunk's document, or a function that returns it, as in `AdvchunkRetriever`; a
        function only with ``ids``, or for an `InMemoryVectorStore`.

    Raises
    ------
    ConfigurationError : the store has no such method, or parameters contradict each other.
    """

    def __init__(
        self,
        store: VectorStore,
        filter: Callable[[Sequence[MetadataRange]], Any] | None = None,
        *,
        ids: Callable[[str, int], str] | None = None,
        document_key: str | Callable[[Document], str] | None = None,
    ) -> None:
        require(isinstance(store, VectorStore), "store must be a vector store of LangChain", store)
        require(filter is None or ids is None, "filter and ids must not both be given", ids)
        self._store, self._filter, self._ids, self._key = store, filter, ids, document_key
        self._vector: list[float] | None = None
        self._warnings = WarningLog()
        rule = "filter or ids must be given for a store that is not InMemoryVectorStore, Chroma or QdrantVectorStore"
        require(bool(filter or ids) or can_find(store), rule, type(store).__name__)
        by_key = not callable(document_key) or ids is not None or isinstance(store, InMemoryVectorStore)
        require(by_key, "document_key must be a metadata key for a store that is filtered", document_key)

    @property
    def name(self) -> str:
        """The class of the store, for messages."""
        return f"the store {type(self._store).__name__}"

    def read(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Return the chunks within ``reach`` characters of hits, and the hits themselves."""
        if not hits:
            return Neighborhood()
        if self._ids is not None:
            return self._around(hits, self._store.get_by_ids(self._ids_around(hits, reach)))
        ranges = self._ranges(hits, reach)
        if not ranges:
            return Neighborhood()
        if self._filter is None:
            return self._around(hits, self._find(ranges))
        self._vector = self._vector or self._store.embeddings.embed_query("text")  # type: ignore[union-attr]
        chunks = self._store.similarity_search_by_vector(self._vector, k=_MOST, filter=self._filter(ranges))
        return self._around(hits, chunks)

    async def aread(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Await `read`, with the async methods of the store."""
        if not hits:
            return Neighborhood()
        if self._ids is not None:
            return self._around(hits, await self._store.aget_by_ids(self._ids_around(hits, reach)))
        if self._filter is None:
            return await asyncio.to_thread(self.read, hits, reach)
        ranges = self._ranges(hits, reach)
        if not ranges:
            return Neighborhood()
        self._vector = self._vector or await self._store.embeddings.aembed_query("text")  # type: ignore[union-attr]
        chunks = await self._store.asimilarity_search_by_vector(self._vector, k=_MOST, filter=self._filter(ranges))
        return self._around(hits, chunks)

    def _name(self, document: Document) -> str:
        return document_name(document, self._key)

    def _around(self, hits: Sequence[Hit], chunks: Iterable[Document]) -> Neighborhood:
        chunks, levels = list(chunks), {_level(hit.chunk.metadata) for hit in hits}
        if len(chunks) >= _MOST:
            reason = "%s has %d chunks or more around %d hits, and others are left out"
            self._warnings.warn("most", reason, self.name, _MOST, len(hits))
        own_chunks = [chunk for chunk in chunks if _level(chunk.metadata) in levels]
        return Neighborhood([to_hit(chunk, self._name) for chunk in own_chunks], items=own_chunks)

    def _ids_around(self, hits: Sequence[Hit], reach: float) -> list[str]:
        """Return the ids of as many chunks on either side of hits as are long enough, by the median length of hits."""
        steps = ceil(reach / max(median(len(hit.chunk.text) for hit in hits), 1)) + 1
        indices = [(hit.document, written_metadata(hit.chunk.metadata).get("chunk_index")) for hit in hits]
        around = {
            (document, number): None
            for document, index in indices
            if index is not None
            for number in range(max(index - steps, 0), index + steps + 1)
        }
        return [self._ids(*place) for place in around] if self._ids else []

    def _ranges(self, hits: Sequence[Hit], reach: float) -> list[MetadataRange]:
        """Return the ranges around hits in which chunks start, even those that reach into them."""
        longest = max(len(hit.chunk.text) for hit in hits)
        key = None if callable(self._key) else self._key
        places = [
            (
                (
                    own_key,
                    hit.document if own_key is None else hit.chunk.metadata[own_key],
                    _start_key(hit.chunk.metadata),
                ),
                hit.chunk.spans,
            )
            for hit in hits
            if hit.chunk.spans
            for own_key in [None if callable(self._key) else name_key(hit.chunk.metadata, key)]
            if own_key is not None or callable(self._key)
        ]
        around = ranges_around(places, reach + longest)
        return [MetadataRange(own_key or "", name, *span, start_key) for (own_key, name, start_key), span in around]

    def _find(self, ranges: Sequence[MetadataRange]) -> list[Document]:
        """Return the chunks in ranges, by the method of the store that needs no vector."""
        store: Any = self._store
        if isinstance(store, InMemoryVectorStore):
            return self._find_in_memory(store, ranges)
        if hasattr(store, "content_payload_key"):
            return _find_in_qdrant(store, ranges)
        rows = store.get(where=mapping_filter(ranges))
        return [
            Document(text, id=name, metadata=metadata or {})
            for name, text, metadata in zip(rows["ids"], rows["documents"], rows["metadatas"], strict=True)
            if text is not None
        ]

    def _find_in_memory(self, store: InMemoryVectorStore, ranges: Sequence[MetadataRange]) -> list[Document]:
        by_name = dict[str, list[MetadataRange]]()
        for own in ranges:
            by_name.setdefault(str(own.document), []).append(own)
        chunks = list[Document]()
        for row in list(store.store.values()):
            chunk = Document(row["text"], id=row["id"], metadata=row["metadata"])
            start = chunk.metadata.get(_start_key(chunk.metadata))
            if start is not None and any(own.start <= start < own.end for own in by_name.get(self._name(chunk), ())):
                chunks.append(chunk)
        return chunks


def can_find(store: VectorStore) -> bool:
    """Return True if a store finds chunks by their metadata without a vector, by a method that is known."""
    names = {cls.__name__ for cls in type(store).__mro__}
    return not names.isdisjoint(("InMemoryVectorStore", "Chroma", "QdrantVectorStore"))


def _find_in_qdrant(store: Any, ranges: Sequence[MetadataRange]) -> list[Document]:
    condition = qdrant_filter(ranges, f"{store.metadata_payload_key}.")
    points, _ = store.client.scroll(store.collection_name, scroll_filter=condition, limit=_MOST, with_payload=True)
    return [
        Document(
            point.payload.get(store.content_payload_key, ""),
            metadata={
                **(point.payload.get(store.metadata_payload_key) or {}),
                "_id": point.id,  # as in hits
                "_collection_name": store.collection_name,
            },
        )
        for point in points
    ]


def _start_key(metadata: dict[str, Any]) -> str:
    """Return the key of the offset in a chunk's metadata, where the document may have one of that name."""
    return written_keys(metadata).get(_START, _START)


def _level(metadata: dict[str, Any]) -> Any:
    return written_metadata(metadata).get("level", 0)


def surroundings_of(
    source: AnySource | None,
    document_key: str | Callable[[Document], str] | None,
    warnings: WarningLog,
) -> CheckedSurroundings:
    """Coerce a source of the texts or chunks around hits; see `as_surroundings` of the core.

    Parameters
    ----------
    source : besides those of the core, a ``BaseStore`` of strings or documents by name, or a vector store (`StoreChunks`).
    """
    own: Any = source
    if isinstance(source, BaseStore):
        own = _text_source(source)
    elif isinstance(source, VectorStore):
        own = StoreChunks(source, document_key=document_key)
    elif isinstance(source, (list, tuple)):
        own = [surroundings_of(part, document_key, warnings) for part in source]
    return as_surroundings(own, warnings)


def _text_source(store: BaseStore[str, Any]) -> TextSource:
    name = f"the store {type(store).__name__}"
    return TextSource(partial(_find, store), afind=partial(_afind, store), name=name, listed=store.yield_keys)


def _find(store: BaseStore[str, Any], names: list[str]) -> Iterable[Any]:
    return map(_text, store.mget(names))


async def _afind(store: BaseStore[str, Any], names: list[str]) -> Iterable[Any]:
    return map(_text, await store.amget(names))


def _text(value: Any) -> Any:
    return value.page_content if isinstance(value, Document) else value
