"""Vectors for the chunks of any splitter."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langchain_core.documents import Document

from advchunk import Chunk
from advchunk.building.ids import IdGenerator
from advchunk.chunkers.frameworks import TextPlace, level_of
from advchunk.chunkers.vectors import add_vectors
from advchunk.errors import checked, require
from advchunk.models.cache import CacheLike
from advchunk.models.embedders import EmbedderLike
from advchunk.records import remove_written, written_keys
from advchunk.retrieval.locating import Finder, place_in_order
from langchain_advchunk.base import check_id_key, sentence_rows, serve_rows, source_of
from langchain_advchunk.embeddings import ChunkEmbeddings
from langchain_advchunk.reassembly import group_by_source, to_framework_chunk


@checked
def vectors_for(
    chunks: Sequence[Document],
    kind: Literal["plain", "context", "units", "late"] = "units",
    embeddings: EmbedderLike = None,
    documents: Sequence[Document] | None = None,
    *,
    batch_size: int | None = None,
    cache: CacheLike = None,
    id_key: str = "doc_id",
) -> tuple[list[Document], list[Document], ChunkEmbeddings]:
    """Return the chunks of any splitter, what to store in a vector store, and the embeddings for it.

    For "units", sentences are stored, whose vectors contain some of their chunk and of the text around it
    (`advchunk.models.context_vectors.sentence_rows`), and LangChain's ``MultiVectorRetriever`` returns each chunk
    once. Else the chunks are stored, with their own vectors ("plain"), with these mixed with those of the chunks
    around them ("context"), or with those of their tokens in the document ("late").

    Parameters
    ----------
    chunks : in the order in which the splitter returned them; those without an ``id`` get one.
    kind : see `advchunk.chunkers.vectors.ChunkVectors`.
    embeddings : LangChain ``Embeddings`` or anything else that embeds; None is the built-in default.
    documents : the documents that were split, in order, whose metadata the chunks have. A chunk is located by its
        ``start_index``, else by its text, ignoring white space. Without documents, text is known from the chunks
        alone, and without ``start_index`` they are taken to follow one another.
    batch_size, cache : see `EmbeddingSplitter`.
    id_key : metadata key of a sentence that holds the id of its chunk; no key of the chunks' metadata.

    Raises
    ------
    ConfigurationError : a chunk is not part of the documents.
    """
    check_id_key(id_key, chunks)
    groups = list(_group(chunks) if documents is None else _group_in(documents, chunks))
    located, texts = [group.chunks for group in groups], None if documents is None else [group.text for group in groups]
    results = add_vectors(located, kind, embeddings, documents=texts, batch_size=batch_size, cache=cache)
    ids, rows, pieces = IdGenerator(), list[tuple[Document, Any]](), list[Document]()
    for group, result in zip(groups, results, strict=True):
        for chunk, piece in zip(ids.assign(group.source, result), group.pieces, strict=True):
            pieces.append(piece if piece.id else piece.model_copy(update={"id": chunk.id}))
            if kind == "units":
                bare = Document(piece.page_content, id=pieces[-1].id, metadata=_without_start(piece.metadata))
                rows += sentence_rows(bare, chunk, TextPlace(None if group.is_located else ()), id_key)
            else:
                rows.append((pieces[-1], chunk.vector))
    served = serve_rows(((row.page_content, vector) for row, vector in rows), embeddings, batch_size)
    return pieces, [row for row, _ in rows], served


@dataclass
class _Group:
    """The chunks of one document; ``is_located`` if their spans are known."""

    source: str
    text: str = ""
    is_located: bool = True
    pieces: list[Document] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)


def _group_in(documents: Sequence[Document], chunks: Iterable[Document]) -> Iterator[_Group]:
    """Yield the chunks of each document that has any, located in its text."""
    groups = [_Group(source_of(document).source, document.page_content) for document in documents]
    finders = [Finder(group.text) for group in groups]
    current = 0
    for piece in chunks:
        is_done = bool(groups) and bool(groups[current].pieces) and finders[current].done
        order = [*range(current + is_done, len(groups)), *([current] if is_done else [])]
        own = _users(piece.metadata).items()
        order = [place for place in order if _users(documents[place].metadata).items() <= own]
        match: Any = _find(piece, [(place, finders[place]) for place in order])
        require(match is not None, "chunks must be parts of the documents, in order", piece.page_content[:80])
        current, chunk = match
        groups[current].pieces.append(piece)
        groups[current].chunks.append(chunk)
    yield from (group for group in groups if group.pieces)


def _find(piece: Document, finders: Sequence[tuple[int, Finder]]) -> tuple[int, Chunk] | None:
    """Return the first document that has a chunk where its metadata says or else anywhere, and the chunk; None if none
    has.
    """
    chunk = _to_chunk(piece)
    for place, finder in finders:
        if chunk.spans and finder.has(chunk.text, chunk.spans):
            return place, chunk
    for place, finder in finders:
        if span := finder.find(piece.page_content):
            return place, Chunk(finder.text[span.start : span.end], (span,), 0, level=chunk.level)
    return None


def _users(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without that of splitters."""
    return _without_start(remove_written(metadata, written_keys(metadata)))


def _without_start(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the offset that a splitter of LangChain wrote."""
    ours = written_keys(metadata).values()
    return {key: value for key, value in metadata.items() if key != "start_index" or key in ours}


def _to_chunk(piece: Document) -> Chunk:
    part = to_framework_chunk(piece)
    return Chunk(part.text, part.spans, 0, level=level_of(piece.metadata), context=part.context)


def _group(pieces: Sequence[Document]) -> Iterator[_Group]:
    """Yield the chunks of each document where their metadata says, or one after the other."""
    for members in group_by_source(pieces):
        own = [pieces[i] for i in members]
        chunks = list(map(_to_chunk, own))
        is_located = all(chunk.spans for chunk in chunks)
        if not is_located:
            chunks = place_in_order(replace(chunk, spans=()) for chunk in chunks)
        yield _Group(source_of(own[0]).source, "", is_located, own, chunks)
