"""advchunk chunkers as LangChain text splitters, with exact offsets and stable ids."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Unpack
from uuid import UUID, uuid5

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from advchunk import Chunk, Chunker, Failure
from advchunk import Document as Source
from advchunk.building.ids import hashed_id
from advchunk.building.layout import inherited_metadata
from advchunk.chunkers.docstrings import with_inherited_parameters
from advchunk.chunkers.frameworks import TextPlace, flatten_spans, framework_metadata, is_of_corpus, parent_id
from advchunk.chunkers.params import ALIASES, RESOURCE, apply_preset, explicit_parameters, is_given, resources
from advchunk.chunkers.sources import Paths, chunk_files
from advchunk.engine.runner import error_handler
from advchunk.engine.workers import check_workers
from advchunk.errors import checked, require
from advchunk.models.cache import CacheLike
from advchunk.models.causal import CausalLMLike
from advchunk.models.counters import TokenizerLike
from advchunk.models.embedders import EmbedderLike, as_embedder
from advchunk.readers.noise import without_controls
from advchunk.readers.parts import join_parts
from advchunk.readers.writing import ReadingOptions
from advchunk.records import Floats, write_metadata, written_metadata
from advchunk.text.splitters import SplitterLike
from advchunk.text.terms import WordSplitter
from langchain_advchunk.embeddings import ChunkEmbeddings
from langchain_advchunk.reassembly import text_place

# LangChain's names for resources of the core; vectors are asked for by methods of their own.
RESOURCE_NAMES = {"tokenizer": "length_function", "embedder": "embeddings"}


@dataclass(kw_only=True, eq=False)
class AdvchunkSplitter(TextSplitter, ABC):
    """Split documents with a core chunker, and add its metadata to each chunk.

    A chunk has the metadata of its document, unchanged, and our own, which is flat: ``start_index`` and ``end_index``
    (in the input ``page_content``, unless a different text was derived from it), ``spans`` if a chunk has several,
    ``chunk_index``, ``token_count``, ``level``, ``section`` and ``title_path`` under headings, ``page``, ``pages`` if
    there are several, and ``boxes`` if the layout has them ("3 4", "3:left,top,right,bottom ..."), ``parent_id`` in a
    hierarchy, ``source_id`` if the document has an id, and the metadata of the algorithm. A key of ours that the
    document has too is preceded by ``advchunk_``: ``advchunk_level``. ``advchunk_keys`` lists our keys, so that a chunk
    that is split again does not pass them on.

    The pieces of a chunk that is split again have the places and the ``source_id`` of its document, if the chunk states
    its own, and no ``chunk_index``.

    ``page_content`` is ``text[start_index:end_index]`` of the document's text only if the chunk has one span and no
    context; `chunk_spans` returns the spans of any chunk.

    Parameters
    ----------
    add_start_index : add ``start_index`` and ``end_index`` to the metadata.
    show_progress : show a progress bar.
    on_error : how to handle a document that fails: "raise"; "skip" it, with a warning in the log; or a callable that
        takes each `advchunk.Failure`, such as ``failures.append``.
    workers : number of processes that split, >= 1, with the results of one (`advchunk.Chunker.chunk_many`). What is
        awaited runs in this process.
    """

    add_start_index: bool = field(default=True, repr=False, metadata=RESOURCE)
    show_progress: bool = field(default=False, repr=False, metadata=RESOURCE)
    on_error: Literal["raise", "skip"] | Callable[[Failure], None] = field(
        default="raise", repr=False, metadata=RESOURCE
    )
    workers: int = field(default=1, repr=False, metadata=RESOURCE)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        rule = "split_text must not be overridden, as documents are not split by it: override core, or write a chunker"
        require(cls.split_text is AdvchunkSplitter.split_text, rule, cls.__name__)
        cls.__doc__ = with_inherited_parameters(cls)

    def __post_init__(self) -> None:
        error_handler(self.on_error)  # raises on anything else
        check_workers(self.workers)
        core = self.core()  # built here, so that a bad parameter raises at once
        TextSplitter.__init__(
            self,
            chunk_size=core.max_tokens,
            chunk_overlap=core.size("overlap_tokens"),
            length_function=self._length,
            add_start_index=self.add_start_index,
            strip_whitespace=False,
        )

    @abstractmethod
    def core(self) -> Chunker:
        """Return the core chunker that this splitter runs."""

    @checked
    def split_text(self, text: str) -> list[str]:
        """Return the chunk texts, which join to ``text`` if chunks are contiguous, plain and do not overlap."""
        return [document.page_content for document in self.create_documents([text])]

    @checked
    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Return the chunks of ``texts``, with metadata."""
        count = len(texts) if metadatas is None else len(metadatas)
        require(count == len(texts), f"metadatas must have one entry per text, {len(texts)}", count)
        pairs = zip(texts, metadatas or [{} for _ in texts], strict=True)
        return self.split_documents([Document(text, metadata=metadata) for text, metadata in pairs])

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return the chunks of ``documents``; a chunk keeps its ``id`` while its text is unchanged."""
        return list(self.lazy_split_documents(documents))

    def lazy_split_documents(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the chunks of ``documents``, such as ``loader.lazy_load()``, as soon as they are ready, in constant
        memory.
        """
        waiting = deque[Document]()
        results = self.core().stream(_sources(documents, waiting), on_error=self.on_error, workers=self.workers)
        for chunks in self._shown(results, documents):
            yield from self._convert(waiting.popleft(), chunks)

    def split_files(self, paths: Paths, **reading: Unpack[ReadingOptions]) -> list[Document]:
        """Return the chunks of files in any format, folders, and archives (`advchunk.chunk_files`).

        ``start_index`` is an offset in the text that was read. Metadata is that of the file, with its path as
        ``source``, also ``source_id``; a line of a .jsonl file has ``source_id`` "docs.jsonl:ID", with its own id.
        ``content="main"`` keeps of web pages only what they are about; see `advchunk.read_file` for the other options.
        """
        return list(self.lazy_split_files(paths, **reading))

    def lazy_split_files(self, paths: Paths, **reading: Unpack[ReadingOptions]) -> Iterator[Document]:
        """Yield the chunks of `split_files` as soon as they are ready, in constant memory."""
        options: dict[str, Any] = {"on_error": self.on_error, "progress": self.show_progress, "workers": self.workers}
        for source, chunks in chunk_files(paths, self.core(), metadata_key="source", **options, **reading):
            yield from self._convert(Document(source.text, id=source.id), chunks)

    @checked
    def split_parts(self, documents: Iterable[Document]) -> list[Document]:
        """Return the chunks of pages or elements, which are joined to their sources (`readers.parts.join_parts`).

        ``start_index`` is an offset in the joined text. Metadata are those that all parts have in common; ``page``,
        ``pages`` and ``boxes`` are those of the chunk.
        """
        sources = list(join_parts(map(source_of, documents)))
        options: dict[str, Any] = {"on_error": self.on_error, "progress": self.show_progress, "workers": self.workers}
        results = self.core().chunk_many(sources, **options)
        pairs = zip(sources, results, strict=True)
        return [piece for source, chunks in pairs for piece in self._convert(Document(source.text), chunks)]

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Await `split_documents`, with the async methods of the models."""
        waiting, pieces = deque[Document](), list[Document]()
        results = self.core().astream(_sources(documents, waiting), on_error=self.on_error)
        async for chunks in self._shown(results, documents):
            pieces += self._convert(waiting.popleft(), chunks)
        return pieces

    def _shown(self, results: Any, documents: Iterable[Document]) -> Any:
        """Return results, or the awaited ones, with a progress bar if there is to be one."""
        if not self.show_progress:
            return results
        from tqdm.auto import tqdm

        return tqdm(results, total=len(documents) if isinstance(documents, Sized) else None, unit="doc")

    def _convert(self, document: Document, chunks: list[Chunk]) -> list[Document]:
        """Return the chunks of a document as LangChain documents."""
        place = text_place(document) if document.metadata else TextPlace()
        return [
            Document(chunk.embed_text, id=chunk.id, metadata=self._metadata(document, place, chunk, chunks))
            for chunk in chunks
        ]

    def _metadata(self, document: Document, place: TextPlace, chunk: Chunk, chunks: list[Chunk]) -> dict[str, Any]:
        is_whole, source = place.spans is None, document.id
        values: dict[str, Any] = {"chunk_index": chunk.index, "token_count": chunk.tokens, "level": chunk.level}
        spans = chunk.spans_in(document.page_content)
        if not is_whole:
            del values["chunk_index"]
            spans, source = place.spans_of(spans), written_metadata(document.metadata).get("source_id")
            chunk = place.with_lines(chunk, document.page_content)
        if self.add_start_index and spans:
            values["start_index"], values["end_index"] = spans[0].start, spans[-1].end
        if len(spans) > 1:
            values["spans"] = flatten_spans(spans)
        if chunk.parent is not None:
            values["parent_id"] = parent_id(chunk, chunks)
        if source and not is_of_corpus(chunk):
            values["source_id"] = source
        return framework_metadata(chunk, values)

    def _length(self, text: str) -> int:
        return self.core().counter(text)


AdvchunkSplitter.__init__.__doc__ = "Take the parameters that the class documents."  # else `help` shows LangChain's


@dataclass(kw_only=True, eq=False)
class ChunkerSplitter(AdvchunkSplitter):
    """Split with any core chunker: ``ChunkerSplitter(MyChunker())``."""

    chunker: Chunker = field(kw_only=False)

    def core(self) -> Chunker:
        """Return the wrapped chunker."""
        require(isinstance(self.chunker, Chunker), "chunker must be a chunker of the core", self.chunker)
        return self.chunker


@dataclass(kw_only=True, eq=False)
class LinearSplitter(AdvchunkSplitter):
    """Base of the splitters that need no model.

    Parameters
    ----------
    chunk_size, chunk_overlap : LangChain's names for ``max_tokens`` and ``overlap_tokens``.
    length_function : counts tokens: a name ("words", "characters", a tiktoken encoding ...), a tokenizer, or a
        callable; None is the built-in WordPiece, or the embeddings' tokenizer if the splitter cuts by embeddings.
    sentence_splitter : splits sentences (see `advchunk.text.splitters.as_tiler`).
    fallback : a core chunker for documents on which this one fails or takes too long; "auto" means no fallback, except
        for an experimental splitter, where it means `advchunk.OptimalSemanticChunker`; None raises the error.
    embeddings : LangChain ``Embeddings`` or anything else that embeds (a name, a callable, a SentenceTransformer ...),
        if the splitter cuts by them; None is the built-in default, which needs no key or download.
    batch_size : texts per model call; None uses the model's own setting, else 1024.
    cache : keeps embeddings between runs: the path of a file, a ``dict``, or an `advchunk.models.cache.Store`.
    """

    chunker_class: ClassVar[type[Chunker]]
    chunk_size: int | None = field(default=None, repr=False, metadata=RESOURCE)
    chunk_overlap: int | None = field(default=None, repr=False, metadata=RESOURCE)
    length_function: TokenizerLike = field(default=None, repr=False, metadata=RESOURCE)
    sentence_splitter: SplitterLike = field(default=None, repr=False, metadata=RESOURCE)
    fallback: Chunker | Literal["auto"] | None = field(default="auto", repr=False, metadata=RESOURCE)
    embeddings: EmbedderLike = field(default=None, repr=False, metadata=RESOURCE)
    batch_size: int | None = field(default=None, repr=False, metadata=RESOURCE)
    cache: CacheLike = field(default=None, repr=False, metadata=RESOURCE)

    def core(self) -> Chunker:
        """Return the core chunker with the parameters and resources of this splitter."""
        if "_core" not in self.__dict__:
            self.__dict__["_core"] = self._build_core()
        core: Chunker = self.__dict__["_core"]
        return core

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; after a parameter, the core chunker is built again when it is next needed."""
        super().__setattr__(name, value)
        if not name.startswith("_"):  # as LangChain's own do
            self.__dict__.pop("_core", None)

    def _build_core(self) -> Chunker:
        own = {f.name for f in fields(self)}
        names = {name: RESOURCE_NAMES.get(name, name) for name in resources(self.chunker_class)}
        lent = {name: getattr(self, alias) for name, alias in names.items() if alias in own}
        aliased = {name: getattr(self, name) for alias, name in ALIASES.items() if getattr(self, alias) is not None}
        return self.chunker_class(**{**explicit_parameters(self, self.chunker_class), **aliased, **lent})

    def __post_init__(self) -> None:
        for alias, name in ALIASES.items():
            value = getattr(self, alias)
            if value is not None:
                rule = f"{alias} is another name for {name}: pass only one"
                same = not is_given(self, name) or getattr(self, name) == value
                require(same, rule, (value, getattr(self, name)))
                setattr(self, name, value)
        apply_preset(self)
        super().__post_init__()


@dataclass(kw_only=True, eq=False)
class LexicalSplitter(LinearSplitter):
    """Base of the splitters that count words.

    Parameters
    ----------
    word_splitter : a callable that returns the words of a text in order; None is `advchunk.text.terms.word_tokens`.
    """

    word_splitter: WordSplitter | None = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class LanguageModelSplitter(LinearSplitter):
    """Base of the splitters that use a causal language model.

    Parameters
    ----------
    lm : a name or path that Hugging Face transformers knows, a (model, tokenizer) pair, LangChain's
        ``HuggingFacePipeline``, or an object of your own (see `advchunk.models.causal.as_causal`). There is no default.
    """

    lm: CausalLMLike | None = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class EmbeddingSplitter(LinearSplitter):
    """Base of the splitters that cut by embeddings."""

    embeddings: EmbedderLike = field(default=None, kw_only=False, repr=False, metadata=RESOURCE)


def sentence_rows(
    piece: Document, chunk: Chunk, place: TextPlace, id_key: str
) -> Iterator[tuple[Document, Floats | None]]:
    """Yield the sentences of a chunk, as documents that refer to it, with their vectors.

    A chunk of context alone is its own row.

    ``place``: of the text of the chunk's spans, from which follow ``start_index`` and ``end_index``. ``id_key``:
    metadata key for the id of the chunk.
    """
    if chunk.rows is None:
        metadata = write_metadata(piece.metadata, {id_key: piece.id})
        yield Document(piece.page_content, id=piece.id, metadata=metadata), chunk.vector
        return
    source = {name: value for name, value in written_metadata(piece.metadata).items() if name == "source_id"}
    sentences = zip(chunk.row_spans, chunk.row_texts, chunk.rows, strict=True)
    for number, (own, text, row) in enumerate(sentences):
        span = place.span_of(own)
        offsets = {"start_index": span.start, "end_index": span.end} if span else {}
        metadata = write_metadata(inherited_metadata(piece.metadata), {id_key: piece.id, **source, **offsets})
        yield Document(text, id=str(uuid5(UUID(chunk.id), str(number))), metadata=metadata), row


def serve_rows(
    rows: Iterable[tuple[str, Floats | None]], embeddings: EmbedderLike, batch_size: int | None
) -> ChunkEmbeddings:
    """Return embeddings that serve precomputed vectors of texts, and embed all other texts."""
    pairs = [(text, row) for text, row in rows if row is not None]
    return ChunkEmbeddings(as_embedder(embeddings, batch_size), pairs)


def check_id_key(id_key: str, documents: Iterable[Document]) -> None:
    """Raise `ConfigurationError` if documents have metadata of their own under ``id_key``."""
    users = any(id_key in inherited_metadata(document.metadata) for document in documents)
    require(not users, "id_key must not be a key of the documents' own metadata", id_key)


@checked
def chunk_key(document: Document) -> str:
    """Return a key of what is embedded, so that ``index(..., key_encoder=chunk_key)`` adds only the chunks that
    changed.

    A skipped chunk keeps its metadata: after an edit above it, its ``start_index`` is that of the former text, and so
    is a citation, unless the retriever is given ``texts``. With `record_key`, metadata is always current.
    """
    return hashed_id(_id_of(document, "chunk_key"), document.page_content)


@checked
def record_key(document: Document) -> str:
    """Return a key of all that a store has of a chunk, so that with ``index(..., key_encoder=record_key)`` its metadata
    is current.

    A chunk that moved, or whose parent or title is another, is added again, in place of what it was; with LangChain's
    ``CacheBackedEmbeddings``, it is not embedded again. The key is a UUID, which all stores take.
    """
    metadata = json.dumps(document.metadata, sort_keys=True, default=str)
    return hashed_id(_id_of(document, "record_key"), document.page_content, metadata)


def _id_of(document: Document, user: str) -> str:
    require(bool(document.id), f"{user} needs documents with an id, which advchunk's splitters set", document.id)
    return str(document.id)


def _sources(documents: Iterable[Document], waiting: deque[Document]) -> Iterator[Source]:
    """Yield documents for a core chunker; each waits for its chunks."""
    require(isinstance(documents, Iterable), "documents must be an iterable of documents", documents)
    for document in documents:
        waiting.append(document)
        yield source_of(document)


def source_of(document: Document) -> Source:
    """Return a document for a core chunker."""
    rule = "documents must be documents of LangChain; pass texts to create_documents"
    require(isinstance(document, Document), rule, document)
    # The id omits the page number, which changes when a page is inserted; equal texts are numbered anyway.
    return without_controls(Source(document.page_content, document.id or "", metadata=document.metadata))
