"""Vectors for the chunks of any splitter."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.documents import Document

from advchunk import Chunk, Span
from advchunk.building.ids import IdGenerator
from advchunk.chunkers.frameworks import TextPlace
from advchunk.chunkers.vectors import aadd_vectors, add_vectors
from advchunk.errors import require
from advchunk.models.cache import CacheLike
from advchunk.models.embedders import EmbedderLike
from advchunk.records import remove_written, written_keys, written_metadata
from advchunk.retrieval.locating import Finder
from langchain_advchunk.base import check_id_key, sentence_rows, serve_rows, source_of
from langchain_advchunk.embeddings import ChunkEmbeddings
from langchain_advchunk.reassembly import chunk_spans


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
    around them ("context"), or with those of their tokens in the document ("late")::

        chunks, rows, embeddings = vectors_for(splitter.split_documents(documents), "units", documents=documents)
        retriever = MultiVectorRetriever(
            vectorstore=InMemoryVectorStore.from_documents(rows, embeddings),
            docstore=InMemoryStore(),
            search_kwargs={"k": 20},  # sentences, from fewer chunks
        )
        retriever.docstore.mset([(chunk.id, chunk) for chunk in chunks])

    Parameters
    ----------
    chunks : in the order in which the splitter returned them; those without an ``id`` get one.
    kind : see `advchunk.chunkers.vectors.ChunkVectors`.
    embeddings : LangChain ``Embeddings`` or anything else that embeds; None is the built-in default.
    documents : the documents that were split, in order, whose metadata the chunks have. A chunk is located by its
        ``start_index``, else by its text, ignoring white space. Without documents, text is known from the chunks
        alone, and without ``start_index`` they are taken to follow one another; a change of metadata starts a new
        document.
    batch_size, cache : see `EmbeddingSplitter`.
    id_key : metadata key of a sentence that holds the id of its chunk; no key of the chunks' metadata.

    Raises
    ------
    ConfigurationError : a chunk is not part of the documents.
    """
    groups, texts = _groups(chunks, documents, id_key)
    located = [group.chunks for group in groups]
    results = add_vectors(located, kind, embeddings, documents=texts, batch_size=batch_size, cache=cache)
    return _stored(groups, results, kind, embeddings, batch_size, id_key)


async def avectors_for(
    chunks: Sequence[Document],
    kind: Literal["plain", "context", "units", "late"] = "units",
    embeddings: EmbedderLike = None,
    documents: Sequence[Document] | None = None,
    *,
    batch_size: int | None = None,
    cache: CacheLike = None,
    id_key: str = "doc_id",
    concurrency: int | None = None,
) -> tuple[list[Document], list[Document], ChunkEmbeddings]:
    """Await `vectors_for`, with at most ``concurrency`` (>= 1) model calls at a time; None leaves it to each model."""
    groups, texts = _groups(chunks, documents, id_key)
    located = [group.chunks for group in groups]
    options: dict[str, Any] = {"batch_size": batch_size, "cache": cache, "concurrency": concurrency}
    results = await aadd_vectors(located, kind, embeddings, documents=texts, **options)
    return _stored(groups, results, kind, embeddings, batch_size, id_key)


@dataclass
class _Group:
    """The chunks of one document; ``is_located`` if their spans are known."""

    source: str
    text: str = ""
    is_located: bool = True
    pieces: list[Document] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)

    def add(self, piece: Document, chunk: Chunk) -> None:
        """Add a chunk."""
        self.pieces.append(piece)
        self.chunks.append(chunk)


def _groups(
    chunks: Sequence[Document], documents: Sequence[Document] | None, id_key: str
) -> tuple[list[_Group], list[str] | None]:
    """Return the chunks of each document, and the texts if they are known."""
    check_id_key(id_key, chunks)
    if documents is None:
        return list(_group(chunks)), None
    groups = list(_group_in(documents, chunks))
    return groups, [group.text for group in groups]


def _stored(
    groups: Iterable[_Group],
    results: Iterable[Sequence[Chunk]],
    kind: str,
    embeddings: EmbedderLike,
    batch_size: int | None,
    id_key: str,
) -> tuple[list[Document], list[Document], ChunkEmbeddings]:
    """Return the chunks, what to store, and the embeddings for it."""
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


def _group_in(documents: Sequence[Document], chunks: Iterable[Document]) -> Iterator[_Group]:
    """Yield the chunks of each document that has any, located in its text."""
    groups = [_Group(source_of(document).source, document.page_content) for document in documents]
    finders = [Finder(group.text) for group in groups]
    current = 0
    for piece in chunks:
        is_done = bool(groups) and bool(groups[current].pieces) and finders[current].done
        order = [*range(current + is_done, len(groups)), *([current] if is_done else [])]
        order = [
            place for place in order if _users(documents[place].metadata).items() <= _users(piece.metadata).items()
        ]
        match = _find(piece, [(place, finders[place]) for place in order])
        require(match is not None, "chunks must be parts of the documents, in order", piece.page_content[:80])
        if match:
            current, chunk = match
            groups[current].add(piece, chunk)
    yield from (group for group in groups if group.pieces)


def _find(piece: Document, finders: Sequence[tuple[int, Finder]]) -> tuple[int, Chunk] | None:
    """Return the first document that has a chunk where its metadata says or else anywhere, and the chunk; None if none has."""
    if spans := _spans(piece):
        chunk = _chunk(piece, spans)
        for place, finder in finders:
            if finder.has(chunk.text, spans):
                return place, chunk
    for place, finder in finders:
        if span := finder.find(piece.page_content):
            return place, Chunk(finder.text[span.start : span.end], (span,), 0, level=_level(piece))
    return None


def _users(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without that of splitters."""
    return _without_start(remove_written(metadata, written_keys(metadata)))


def _without_start(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without the offset that a splitter of LangChain wrote."""
    ours = written_keys(metadata).values()
    return {key: value for key, value in metadata.items() if key != "start_index" or key in ours}


def _spans(piece: Document) -> tuple[Span, ...]:
    """Return the spans of a chunk in its document, by its metadata; () if unknown."""
    start = piece.metadata.get("start_index")
    if (spans := chunk_spans(piece)) or not isinstance(start, int) or start < 0:  # LangChain's if it has not found it
        return spans
    return (Span(start, start + len(piece.page_content)),)


def _chunk(piece: Document, spans: tuple[Span, ...]) -> Chunk:
    """Return a chunk at its spans; what precedes its text is context."""
    at = len(piece.page_content) - sum(end - start for start, end in spans)
    context = piece.page_content[:at].removesuffix("\n\n")
    return Chunk(piece.page_content[at:], spans, 0, level=_level(piece), context=context)


def _level(piece: Document) -> int:
    """Return the level of a chunk of ours; 0 for those of other splitters."""
    level = written_metadata(piece.metadata).get("level")
    return level if isinstance(level, int) else 0


def _group(chunks: Iterable[Document]) -> Iterator[_Group]:
    """Yield the chunks of each document, located by what their metadata says."""
    group, users = _Group(""), None
    for piece in chunks:
        spans, is_same = _spans(piece), users == _users(piece.metadata)
        if not is_same or group.is_located != bool(spans) or (spans and spans[0].start <= group.chunks[-1].start):
            if group.pieces:
                yield group
            group, users = _Group(source_of(piece).source, is_located=bool(spans)), _users(piece.metadata)
        end = group.chunks[-1].end + 2 if group.chunks else 0
        group.add(piece, _chunk(piece, spans or (Span(end, end + len(piece.page_content)),)))
    if group.pieces:
        yield group
