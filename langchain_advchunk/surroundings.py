"""Texts and chunks around hits, from the stores of LangChain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from langchain_core.documents import Document
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from advchunk.chunkers.frameworks import level_of
from advchunk.errors import require
from advchunk.records import written_keys
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

_MOST = 10_000  # chunks for a question
_START = "start_index"


class MetadataRange(NamedTuple):
    """A part of a document, by the metadata of its chunks: those with ``start`` <= ``metadata[start_key]`` < ``end``.

    Parameters
    ----------
    key : metadata key of the document's name, such as "source".
    start_key : metadata key of the offset, "advchunk_start_index" where documents have their own "start_index".
    """

    key: str
    document: Any
    start: int
    end: int
    start_key: str = _START

    def has(self, metadata: Mapping[str, Any]) -> bool:
        """Return True if a chunk with this metadata starts in the range, for stores that filter by a function."""
        start = metadata.get(self.start_key)
        return metadata.get(self.key) == self.document and start is not None and self.start <= start < self.end


def mapping_filter(ranges: Sequence[MetadataRange]) -> dict[str, Any]:
    """Return a filter of mappings with operators, as Chroma, PGVectorStore, Pinecone and others take it.

    >>> mapping_filter([MetadataRange("source", "guide", 0, 90)])
    {'$and': [{'source': {'$eq': 'guide'}}, {'start_index': {'$gte': 0}}, {'start_index': {'$lt': 90}}]}
    """
    filters = []
    for own in ranges:
        tests = (own.key, "$eq", own.document), (own.start_key, "$gte", own.start), (own.start_key, "$lt", own.end)
        filters.append({"$and": [{key: {operator: value}} for key, operator, value in tests]})
    return filters[0] if len(filters) == 1 else {"$or": filters}


class StoreChunks:
    """The chunks around hits, from the vector store that has them, with one call for all hits of a question.

    Chunks are recognized by the name of their document and by ``start_index`` in their metadata, which our splitters
    write, and LangChain's with ``add_start_index=True``. If there are chunks of several levels, only the levels of the
    hits count.

    Parameters
    ----------
    store : an `InMemoryVectorStore`, `Chroma` or `QdrantVectorStore`. Of any other store, a function that returns the
        chunks whose metadata is in some ranges (`MetadataRange`), such as by the store's filter (`mapping_filter`)::

            StoreChunks(lambda ranges: store.similarity_search("text", k=1000, filter=mapping_filter(ranges)))

    document_key : metadata key of the name of a chunk's document; None is the first that `AdvchunkRetriever` knows.

    Raises
    ------
    ConfigurationError : the store is none of these.
    """

    def __init__(
        self,
        store: VectorStore | Callable[[Sequence[MetadataRange]], Iterable[Document]],
        document_key: str | None = None,
    ) -> None:
        rule = "store must be InMemoryVectorStore, Chroma, QdrantVectorStore, or a function that returns chunks"
        self.name = "the store" if callable(store) else f"the store {type(store).__name__}"
        self._find: Any = store if callable(store) else finder_of(store)
        require(self._find is not None, rule, self.name)
        is_key = document_key is None or isinstance(document_key, str)
        require(is_key, "document_key must be a metadata key", document_key)
        self._key, self._warnings, self._name = document_key, WarningLog(), partial(document_name, key=document_key)

    def read(self, hits: Sequence[Hit], reach: float) -> Neighborhood:
        """Return the chunks within ``reach`` characters of hits, and the hits themselves."""
        ranges, levels = self._ranges(hits, reach), {level_of(hit.chunk.metadata) for hit in hits}
        if not ranges:
            return Neighborhood()
        stored = list(self._find(ranges))
        if len(stored) >= _MOST:
            reason = "%s has %d chunks or more around %d hits, and others may be left out"
            self._warnings.warn("most", reason, self.name, _MOST, len(hits))
        chunks = [chunk for chunk in stored if level_of(chunk.metadata) in levels]
        return Neighborhood([to_hit(chunk, self._name) for chunk in chunks], items=chunks)

    def _ranges(self, hits: Sequence[Hit], reach: float) -> list[MetadataRange]:
        """Return the ranges around hits in which chunks start, even those that reach into them."""
        longest = max((len(hit.chunk.text) for hit in hits), default=0)
        places = list[tuple[tuple[str, Any, str], Sequence[Any]]]()
        for chunk in (hit.chunk for hit in hits):
            key = name_key(chunk.metadata, self._key)
            if key is not None and chunk.spans:
                start_key = written_keys(chunk.metadata).get(_START, _START)
                places.append(((key, chunk.metadata[key], start_key), chunk.spans))
        around = ranges_around(places, reach + longest)
        return [MetadataRange(key, name, *span, start_key) for (key, name, start_key), span in around]


def finder_of(store: Any) -> Callable[[Sequence[MetadataRange]], Iterable[Document]] | None:
    """Return a function that finds the chunks of a store in ranges by their metadata; None for a store that is not
    known.
    """
    names = {cls.__name__ for cls in type(store).__mro__}
    finders = {"InMemoryVectorStore": _find_in_memory, "Chroma": _find_in_chroma, "QdrantVectorStore": _find_in_qdrant}
    return next((partial(find, store) for name, find in finders.items() if name in names), None)


def _find_in_memory(store: InMemoryVectorStore, ranges: Sequence[MetadataRange]) -> list[Document]:
    return [
        Document(row["text"], id=row["id"], metadata=row["metadata"])
        for row in list(store.store.values())
        if any(own.has(row["metadata"]) for own in ranges)
    ]


def _find_in_chroma(store: Any, ranges: Sequence[MetadataRange]) -> list[Document]:
    rows = store.get(where=mapping_filter(ranges))
    return [
        Document(text, id=name, metadata=metadata or {})
        for name, text, metadata in zip(rows["ids"], rows["documents"], rows["metadatas"], strict=True)
        if text is not None
    ]


def _find_in_qdrant(store: Any, ranges: Sequence[MetadataRange]) -> list[Document]:
    from qdrant_client import models

    def condition(own: MetadataRange) -> Any:
        keys = [f"{store.metadata_payload_key}.{key}" for key in (own.key, own.start_key)]
        name = models.FieldCondition(key=keys[0], match=models.MatchValue(value=own.document))
        place = models.FieldCondition(key=keys[1], range=models.Range(gte=own.start, lt=own.end))
        return models.Filter(must=[name, place])

    within = models.Filter(should=list(map(condition, ranges)))
    points, _ = store.client.scroll(store.collection_name, scroll_filter=within, limit=_MOST, with_payload=True)
    place = {"_collection_name": store.collection_name}  # as hits have it
    return [
        Document(
            point.payload.get(store.content_payload_key, ""),
            metadata={**(point.payload.get(store.metadata_payload_key) or {}), "_id": point.id, **place},
        )
        for point in points
    ]


def surroundings_of(source: AnySource | None, document_key: Any, warnings: WarningLog) -> CheckedSurroundings:
    """Coerce a source of the texts or chunks around hits; see `as_surroundings` of the core.

    ``source``: besides those of the core, a ``BaseStore`` of strings or documents by name, or a vector store
    (`StoreChunks`).
    """
    own: Any = source
    if isinstance(source, BaseStore):
        own = TextSource(partial(_find_texts, source), name=f"the store {type(source).__name__}")
    elif isinstance(source, VectorStore):
        own = StoreChunks(source, document_key)
    elif isinstance(source, (list, tuple)):
        own = [surroundings_of(part, document_key, warnings) for part in source]
    return as_surroundings(own, warnings)


def _find_texts(store: BaseStore[str, Any], names: list[str]) -> list[Any]:
    return [value.page_content if isinstance(value, Document) else value for value in store.mget(names)]
