"""Chunks of LangChain with their places, and passages as documents of LangChain."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from langchain_core.documents import Document

from advchunk import Chunk
from advchunk.building.layout import inherited_metadata
from advchunk.records import remove_written, write_metadata, written_keys, written_metadata
from advchunk.retrieval import Hit, Passage
from advchunk.retrieval.collection import Collection
from advchunk.retrieval.hierarchies import ChunkHierarchy
from advchunk.retrieval.locating import Finder, place_by_overlap, place_in_text
from advchunk.retrieval.surroundings import Neighborhood
from advchunk.text.counters import Counter
from langchain_advchunk.base import chunk_key
from langchain_advchunk.reassembly import group_by_source, to_framework_chunk

_log = logging.getLogger("advchunk")

Naming = Callable[[Document], str]
"""Returns the name of a chunk's document, "" if it has none."""

UNPLACED = (
    "%d of %d hits have no start_index or no name of a document, or are not in its text, so nothing beside "
    "them is known: pass texts, or document_key"
)
"""What is logged of hits that stand alone."""

_NAMES = ("source", "document_id", "doc_id", "file_path")  # metadata keys of the document's name


def document_name(document: Document, key: str | Callable[[Document], str] | None) -> str:
    """Return the name of a chunk's document, by its metadata key or a function, "" if it has none."""
    if callable(key):
        return str(key(document))
    own_key = name_key(document.metadata, key)
    return "" if own_key is None else str(document.metadata[own_key])


def name_key(metadata: Mapping[str, Any], key: str | None) -> str | None:
    """Return the key in the metadata of a chunk that has the name of its document, None if none has."""
    keys = (name for name in (_NAMES if key is None else (key,)) if metadata.get(name))
    return next(keys, None) or written_keys(metadata).get("source_id")


def to_hit(document: Document, name: Naming) -> Hit:
    """Return a chunk as a hit in the document of its name."""
    return Hit(_to_chunk(document, _id_in_store(document)), name(document), 0.0)


def read_chunks(
    documents: Sequence[Document], name: Naming, counter: Counter, texts: Mapping[str, str]
) -> Collection[Document]:
    """Return the collection of all chunks of documents, in reading order, which are located in the texts of their
    names.
    """
    keys = [name(document) for document in documents]
    names = dict[str, str]()
    rest = [i for i, own in enumerate(keys) if own not in texts]
    for number, members in enumerate(group_by_source([documents[i] for i in rest], name)):
        for i in (rest[member] for member in members):
            names[f"\n{number}"] = keys[i]
            keys[i] = f"\n{number}"
    chunks = [_to_chunk(document, document.id or "") for document in documents]
    above = [written_metadata(document.metadata).get("parent_id") for document in documents]
    hierarchy = ChunkHierarchy.of([document.id or "" for document in documents], above)
    collection = Collection.of(
        documents, chunks, keys, names, counter, texts=texts, must_match=True, hierarchy=hierarchy
    )
    unplaced = sum(
        bool(chunk.text) and not chunk.spans and key not in texts for chunk, key in zip(chunks, keys, strict=True)
    )
    if unplaced:
        reason = (
            "%d of %d chunks have no start_index: they are taken in the order in which they are passed, if their "
            "document has a name"
        )
        _log.warning(reason, unplaced, len(chunks))
    return collection


def read_hits(
    hits: Sequence[Hit], documents: Sequence[Document], name: Naming, counter: Counter, around: Neighborhood
) -> tuple[Collection[Document], int]:
    """Return the collection of hits in any order, with the chunks around them, and how many stand alone.

    Hits have the places that they state or, if the text of their document is known, those where they are found there.
    Of the others, those that overlap stand over each other. Those without a place or a name stand alone.

    ``documents``: the hits as LangChain has them.
    """
    texts, beside = around.texts, [(hit, item or _to_document(hit)) for hit, item in around.pairs]
    by_name = {hit.document: _text_key(document, name) for hit, document in zip(hits, documents, strict=True)}
    made = {i: by_name.get(hit.document) for i, (hit, item) in enumerate(around.pairs, len(hits)) if item is None}
    chunks, names = [hit.chunk for hit in (*hits, *around.beside)], [hit.document for hit in (*hits, *around.beside)]
    documents, keys = [*documents, *(document for _, document in beside)], list[str]()
    finders, unplaced = {own: Finder(text) for own, text in texts.items()}, dict[str, list[int]]()
    for i, (document, own) in enumerate(zip(documents, names, strict=True)):
        chunk = chunks[i] if document.page_content.strip() else replace(chunks[i], text="", spans=())
        chunks[i] = chunk = place_in_text(chunk, finders[own]) if own in texts else chunk
        if chunk.spans:  # those without a name are in one text only if they are the same
            key = own if own in texts else made.get(i) or _text_key(document, name)
            keys.append(key or f"\n{chunk.spans}\n{chunk.text}")
        else:
            keys.append(f"\n{i}")
            unplaced.setdefault(own if chunk.text else keys[i], []).append(i)
    alone = sum(bool(chunk.text) and key.startswith("\n") for chunk, key in zip(chunks, keys, strict=True))
    for members in unplaced.values():
        for i, (first, span) in zip(members, place_by_overlap([chunks[i].text for i in members]), strict=True):
            keys[i] = f"\n{members[first]}"
            chunks[i] = replace(chunks[i], spans=(span,))
    estimated = {keys[i] for members in unplaced.values() for i in members}
    collection = Collection.of(documents, chunks, keys, dict(zip(keys, names, strict=True)), counter, texts=texts)
    return replace(collection, estimated=collection.estimated | estimated), alone


def _to_chunk(document: Document, own_id: str) -> Chunk:
    metadata, written = document.metadata, written_metadata(document.metadata)
    if "sources" in written:  # a summary, which belongs to no document
        return Chunk("", (), written["token_count"], id=own_id, context=document.page_content, metadata=metadata)
    part, tokens = to_framework_chunk(document, written), written.get("token_count", 0)
    return Chunk(part.text, part.spans, tokens, id=own_id, context=part.context, metadata=metadata)


def _to_document(hit: Hit) -> Document:
    """Return a chunk that is from no store of LangChain."""
    place = {"start_index": hit.chunk.start, "end_index": hit.chunk.end}
    metadata = write_metadata({"source": hit.document, **hit.chunk.metadata}, place)
    return Document(hit.chunk.embed_text, id=hit.chunk.id or None, metadata=metadata)


def _id_in_store(hit: Document) -> str:
    """Return the id of a hit, which Qdrant writes to the metadata; "" if it has none."""
    return str(hit.id or (hit.metadata.get("_id") if "_collection_name" in hit.metadata else None) or "")


def _text_key(document: Document, name: Naming) -> str:
    """Return a name of the text in which a hit stands: a document, or a page that a loader made a document of."""
    keys = written_keys(document.metadata)
    own_id = document.metadata[keys["source_id"]] if "source_id" in keys else name(document)
    page = None if keys.get("page") == "page" else document.metadata.get("page")
    return f"{own_id}\n{page}" if own_id else ""


def sort_key(hit: Hit, document: Document, name: Naming) -> tuple[Any, ...]:
    """Return a key that orders hits by their text and place."""
    return _text_key(document, name), hit.chunk.spans, document.page_content


class ChunkTable:
    """Finds the numbers of chunks by what a store returns."""

    def __init__(self, collection: Collection[Document], name: Naming) -> None:
        self.documents, self._chunks, self._name = collection.items, collection.chunks, name

    def number_of_id(self, name: str | None) -> int | None:
        """Return the number of the chunk with an id, or with a key of `chunk_key`."""
        return self._by_id[name] if name in self._by_id else self._by_key.get(name)

    def numbers_of(self, hits: Sequence[Document], id_key: str | None = None) -> list[int | None]:
        """Return the numbers of the chunks that a store returned, by their ids, or else by their texts and places.

        A hit that has the id of a chunk, but another text, has none. With ``id_key``, hits are rows that have the id of
        their chunk under this key.
        """
        if id_key is not None:
            return [self.number_of_id(hit.metadata.get(id_key)) for hit in hits]
        numbers = list[int | None]()
        for hit in hits:
            number = self.number_of_id(_id_in_store(hit))
            if number is not None:
                is_same = self.documents[number].page_content == hit.page_content
                number = number if is_same else None
            else:
                same = [i for i in self._by_text.get((self._name(hit), hit.page_content), ()) if i not in numbers]
                spans = to_framework_chunk(hit).spans if len(same) > 1 else ()
                number = next((i for i in same if self._chunks[i].spans == spans), same[0] if same else None)
            numbers.append(number)
        return numbers

    def stale(self, hits: Iterable[Document]) -> list[int]:
        """Return the numbers of the chunks that hits replace, since they have their ids."""
        numbers = (self.number_of_id(_id_in_store(hit)) for hit in hits)
        return [number for number in numbers if number is not None]

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
            numbers.setdefault((self._name(chunk), chunk.page_content), []).append(i)
        return numbers


def to_result(passage: Passage, document: Document) -> Document:
    """Return a chunk with its score and citation."""
    values = {"relevance_score": passage.score, "citation": passage.citation}
    metadata = write_metadata(document.metadata, values)
    return document.model_copy(update={"id": passage.hits[0].chunk.id or None, "metadata": metadata})


def to_document(passage: Passage) -> Document:
    """Return a passage as a document."""
    metadata, ids = passage.hits[0].chunk.metadata, [hit.chunk.id for hit in passage.hits if hit.chunk.id]
    values = {"relevance_score": passage.score, **passage.values, "chunk_ids": list(dict.fromkeys(ids))}
    if "start_index" not in written_keys(metadata):
        metadata = {key: value for key, value in metadata.items() if key != "start_index"}  # another splitter's
    if passage.spans:
        values |= {"start_index": passage.spans[0].start, "end_index": passage.spans[-1].end}
    if passage.section is not None:  # of its own
        metadata = remove_written(metadata, ["section", "title_path"])
    return Document(passage.prompt_text, id=passage.id, metadata=write_metadata(inherited_metadata(metadata), values))
