"""advchunk chunkers as LangChain text splitters, with exact offsets and stable ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from uuid import UUID, uuid5

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import TextSplitter

from advchunk import Chunk, Chunker, ConfigurationError, Failure
from advchunk import Document as Source
from advchunk.chunkers.frameworks import chunk_files, flatten_places, flatten_spans, mark_written, user_metadata
from advchunk.chunkers.params import ALIASES, RESOURCE, parameters, resources
from advchunk.engine.runner import error_handler
from advchunk.errors import MissingExtra, require
from advchunk.models.cache import CacheLike
from advchunk.models.causal import CausalLMLike
from advchunk.models.counters import TokenizerLike
from advchunk.models.embedders import Embedder, EmbedderLike, as_embedder
from advchunk.records import Floats
from advchunk.text.splitters import SplitterLike
from advchunk.text.terms import WordSplitter

# LangChain's names for resources of the core.
_NAMES = {"tokenizer": "length_function", "embedder": "embeddings"}


@dataclass(kw_only=True, eq=False)
class AdvchunkSplitter(TextSplitter, ABC):
    """Split documents with a core chunker, and add its metadata to each chunk.

    Metadata is flat: ``start_index`` and ``end_index`` (in the input ``page_content``, unless a different text was
    derived from it), ``spans`` if a chunk has several, ``chunk_index``, ``token_count``, ``level``, ``section`` and
    ``title_path`` under headings, ``page``, ``pages`` if there are several, and ``boxes`` if the layout has them
    ("3 4", "3:left,top,right,bottom ..."), ``parent_id`` in a hierarchy, ``source_id`` if the document has an id, the
    metadata of the algorithm, and ``advchunk_keys``, which lists these keys, so that a chunk that is split again does
    not pass them on.

    Parameters
    ----------
    add_start_index : add ``start_index`` and ``end_index`` to the metadata.
    show_progress : show a progress bar.
    on_error : how to handle a document that fails: "raise"; "skip" it, with a warning in the log; or a callable that takes
        each `advchunk.Failure`, such as ``failures.append``.
    """

    add_start_index: bool = field(default=True, repr=False, metadata=RESOURCE)
    show_progress: bool = field(default=False, repr=False, metadata=RESOURCE)
    on_error: Literal["raise", "skip"] | Callable[[Failure], None] = field(
        default="raise", repr=False, metadata=RESOURCE
    )

    def __post_init__(self) -> None:
        error_handler(self.on_error)  # raises on anything else
        core = self.core()  # built here, so that a bad parameter raises at once
        TextSplitter.__init__(
            self,
            chunk_size=core.max_tokens,
            chunk_overlap=core.overlap_tokens,
            length_function=self._length,
            add_start_index=self.add_start_index,
            strip_whitespace=False,
        )

    @abstractmethod
    def core(self) -> Chunker:
        """Return the core chunker that this splitter runs."""

    def split_text(self, text: str) -> list[str]:
        """Return the chunk texts, which join to ``text`` if chunks are contiguous, plain and do not overlap."""
        return [document.page_content for document in self.create_documents([text])]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Return the chunks of ``texts``, with metadata."""
        count = len(texts) if metadatas is None else len(metadatas)
        require(count == len(texts), f"metadatas must have one entry per text, {len(texts)}", count)
        pairs = zip(texts, metadatas or [{} for _ in texts], strict=True)
        return self.split_documents([Document(text, metadata=metadata) for text, metadata in pairs])

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return the chunks of ``documents``; a chunk keeps its ``id`` while its text is unchanged."""
        documents = list(documents)
        return self._convert(documents, self._chunk(self.core(), documents))

    def split_files(self, paths: Iterable[str | Path]) -> list[Document]:
        """Return the chunks of files in any format that `advchunk.read_file` reads, with their layout.

        ``start_index`` is an offset in the text that was read. Metadata is that of the file, with its path as ``source``. A
        splitter of papers, pages or abstracts uses its own reader.
        """
        sources, chunks = chunk_files(self.core(), paths, "source", on_error=self.on_error, progress=self.show_progress)
        return self._convert([Document(source.text, metadata=dict(source.metadata)) for source in sources], chunks)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Await `split_documents`, with the async methods of the models."""
        sources = [_source(document) for document in documents]
        results = await self.core().achunk_many(sources, on_error=self.on_error, progress=self.show_progress)
        return self._convert(documents, results)

    def _chunk(self, core: Chunker, documents: Iterable[Document]) -> list[list[Chunk]]:
        return core.chunk_many(
            [_source(document) for document in documents], on_error=self.on_error, progress=self.show_progress
        )

    def _convert(self, documents: Sequence[Document], results: list[list[Chunk]]) -> list[Document]:
        """Return the chunks of each document as LangChain documents."""
        with_context = self.core().include_context
        return [
            Document(
                chunk.embed_text if with_context else chunk.text,
                id=chunk.id,
                metadata=self._metadata(document, chunk, chunks),
            )
            for document, chunks in zip(documents, results, strict=True)
            for chunk in chunks
        ]

    def _metadata(self, document: Document, chunk: Chunk, chunks: list[Chunk]) -> dict[str, Any]:
        metadata = {
            **flatten_places(chunk.metadata),
            "chunk_index": chunk.index,
            "token_count": chunk.tokens,
            "level": chunk.level,
        }
        spans = chunk.spans_in(document.page_content)
        if self.add_start_index and spans:
            metadata |= {"start_index": spans[0].start, "end_index": spans[-1].end}
        if len(spans) > 1:
            metadata["spans"] = flatten_spans(spans)
        if chunk.parent is not None:
            metadata["parent_id"] = chunks[chunk.parent].id
        metadata = mark_written(metadata, user_metadata(document.metadata))
        return metadata | {"source_id": document.id} if document.id else metadata

    def _length(self, text: str) -> int:
        return self.core().counter(text)


@dataclass(kw_only=True, eq=False)
class ChunkerSplitter(AdvchunkSplitter):
    """Split with any core chunker: ``ChunkerSplitter(MyChunker())``."""

    chunker: Chunker = field(kw_only=False)

    def core(self) -> Chunker:
        """Return the wrapped chunker."""
        return self.chunker


@dataclass(kw_only=True, eq=False)
class LinearSplitter(AdvchunkSplitter):
    """Base of the splitters that need no model.

    `core` returns the core chunker, with the parameters that a ``preset`` sets.

    Parameters
    ----------
    chunk_size, chunk_overlap : LangChain's names for ``max_tokens`` and ``overlap_tokens``.
    length_function : counts tokens: a name ("words", "characters", a tiktoken encoding ...), a tokenizer, or a
        callable; None uses the embeddings' tokenizer, else the embedded WordPiece.
    sentence_splitter : splits sentences (see `advchunk.text.splitters.as_tiler`).
    fallback : a core chunker for documents on which this one fails or takes too long; "auto" means no fallback, except
        for an experimental splitter, where it means `advchunk.UniversalSemanticChunker`; None raises the error.
    """

    chunker_class: ClassVar[type[Chunker]]
    chunk_size: int | None = field(default=None, repr=False, metadata=RESOURCE)
    chunk_overlap: int | None = field(default=None, repr=False, metadata=RESOURCE)
    length_function: TokenizerLike = field(default=None, repr=False, metadata=RESOURCE)
    sentence_splitter: SplitterLike = field(default=None, repr=False, metadata=RESOURCE)
    fallback: Chunker | Literal["auto"] | None = field(default="auto", repr=False, metadata=RESOURCE)

    def core(self) -> Chunker:
        """Return the core chunker with the parameters and resources of this splitter."""
        own = {f.name for f in fields(self)}
        names = {name: _NAMES.get(name, name) for name in resources(self.chunker_class)}
        lent = {name: getattr(self, alias) for name, alias in names.items() if alias in own}
        return self.chunker_class(**parameters(self, self.chunker_class), **lent)

    def __post_init__(self) -> None:
        for alias, name in ALIASES.items():
            value = getattr(self, alias)
            if value is not None:
                rule = f"{alias} is another name for {name}: pass only one"
                require(getattr(self, name) in {value, getattr(type(self), name)}, rule, (value, getattr(self, name)))
                setattr(self, name, value)
        super().__post_init__()

    @classmethod
    def from_tiktoken_encoder(
        cls,
        encoding_name: str = "gpt2",
        model_name: str | None = None,
        allowed_special: Literal["all"] | Set[str] | None = None,
        disallowed_special: Literal["all"] | Collection[str] = "all",
        **kwargs: Any,
    ) -> Self:
        """Build a splitter that counts tokens with tiktoken, and can be pickled.

        Unlike in LangChain, text that looks like a special token is never an error: it is counted as ordinary text, unless
        ``allowed_special`` names it.
        """
        try:
            import tiktoken
        except ImportError:
            raise MissingExtra("tiktoken", "tiktoken") from None  # noqa: EM101
        encoding = tiktoken.encoding_for_model(model_name) if model_name else tiktoken.get_encoding(encoding_name)
        length: Any = _WithSpecial(encoding, allowed_special) if allowed_special else encoding
        return cls(length_function=length, **kwargs)

    @classmethod
    def from_huggingface_tokenizer(cls, tokenizer: Any, **kwargs: Any) -> Self:
        """Build a splitter that counts tokens with a Hugging Face tokenizer."""
        return cls(length_function=tokenizer, **kwargs)


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
    """Base of the splitters that need an embedder.

    Parameters
    ----------
    embeddings : LangChain ``Embeddings`` or anything else that embeds (a name, a callable, a SentenceTransformer ...);
        None is the embedded default, which needs no key or download.
    batch_size : texts per model call; None uses the model's own setting, else 1024.
    cache : keeps embeddings between runs: the path of a file, a ``dict``, or an `advchunk.models.cache.Store`.
    """

    embeddings: EmbedderLike = field(default=None, kw_only=False, repr=False, metadata=RESOURCE)
    batch_size: int | None = field(default=None, repr=False, metadata=RESOURCE)
    cache: CacheLike = field(default=None, repr=False, metadata=RESOURCE)

    def split_with_vectors(
        self, documents: Iterable[Document], vectors: Literal["plain", "context"] = "context"
    ) -> tuple[list[Document], ChunkEmbeddings]:
        """Return the chunks of ``documents``, with embeddings to pass to a vector store along with them.

        With ``InMemoryVectorStore.from_documents(*splitter.split_with_vectors(documents))``, chunks are searched by their
        own vectors ("plain"), or by these mixed with the vectors of the chunks around them
        (`advchunk.numerics.context_vectors.add_context`).
        """
        documents = list(documents)
        results = self._chunk_with(vectors, documents)
        pieces = self._convert(documents, results)
        chunks = (chunk for chunks in results for chunk in chunks)
        rows = zip((piece.page_content for piece in pieces), (chunk.vector for chunk in chunks), strict=True)
        return pieces, self._embeddings(rows)

    def split_with_rows(
        self, documents: Iterable[Document], id_key: str = "doc_id"
    ) -> tuple[list[Document], list[Document], ChunkEmbeddings]:
        """Return the chunks of ``documents``, their sentences, and embeddings for the vector store of the sentences.

        A chunk is retrieved by its nearest sentence, whose vector contains some of its chunk and of the text around it
        (`advchunk.numerics.context_vectors.sentence_rows`): "small to big". The sentences go into any vector store, the
        chunks into a document store, and LangChain's ``MultiVectorRetriever`` returns each chunk once::

            chunks, rows, embeddings = splitter.split_with_rows(documents)
            retriever = MultiVectorRetriever(
                vectorstore=InMemoryVectorStore.from_documents(rows, embeddings),
                docstore=InMemoryStore(),
                search_kwargs={"k": 20},  # sentences, from fewer chunks
            )
            retriever.docstore.mset([(chunk.id, chunk) for chunk in chunks])

        A chunk from a fallback has no vectors: it is its own single row, embedded when it is stored.

        Parameters
        ----------
        id_key : metadata key of a row that holds the id of its chunk.
        """
        documents = list(documents)
        results = self._chunk_with("units", documents)
        pieces = self._convert(documents, results)
        pairs = [(document, chunk) for document, chunks in zip(documents, results, strict=True) for chunk in chunks]
        rows, vectors = list[Document](), list[Floats | None]()
        for (document, chunk), piece in zip(pairs, pieces, strict=True):
            if chunk.rows is None:
                rows.append(Document(piece.page_content, id=piece.id, metadata={**piece.metadata, id_key: piece.id}))
                vectors.append(None)
                continue
            vectors.extend(chunk.rows)
            is_verbatim = self.add_start_index and chunk.spans_in(document.page_content) == chunk.spans
            for number, ((start, end), text) in enumerate(zip(chunk.row_spans, chunk.row_texts, strict=True)):
                place = {"start_index": start, "end_index": end} if is_verbatim else {}
                metadata = {**user_metadata(piece.metadata), **place, id_key: piece.id}
                row_id = str(uuid5(UUID(chunk.id), str(number)))
                rows.append(Document(text, id=row_id, metadata=metadata))
        return pieces, rows, self._embeddings(zip((row.page_content for row in rows), vectors, strict=True))

    def _chunk_with(self, vectors: str, documents: Iterable[Document]) -> list[list[Chunk]]:
        return self._chunk(replace(self.core(), vectors=vectors), documents)  # type: ignore[call-arg]

    def _embeddings(self, rows: Iterable[tuple[str, Floats | None]]) -> ChunkEmbeddings:
        pairs = [(text, row) for text, row in rows if row is not None]
        return ChunkEmbeddings(as_embedder(self.embeddings, self.batch_size), pairs)


class ChunkEmbeddings(Embeddings):
    """Serves precomputed vectors of chunks or sentences to any vector store; the embedder embeds all other texts.

    A vector store asks by text alone. Equal texts with different vectors therefore get their vectors in turn, in the order
    in which they were made; a store that adds texts in another order may swap them.
    """

    def __init__(self, embedder: Embedder, rows: Iterable[tuple[str, Floats]]) -> None:
        vectors = dict[str, list[Floats]]()
        for text, row in rows:
            vectors.setdefault(text, []).append(row)
        self._embedder, self._vectors = embedder, {text: cycle(rows) for text, rows in vectors.items()}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts, precomputed if there are any."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        embedded = dict(zip(missing, self._embedder.embed(missing), strict=True)) if missing else {}
        return [(embedded[text] if text in embedded else next(self._vectors[text])).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        vector: list[float] = self._embedder.embed([text])[0].tolist()
        return vector


def chunk_key(document: Document) -> str:
    """Return the id of a chunk, so that ``index(..., key_encoder=chunk_key)`` adds again only the chunks that changed.

    A skipped chunk keeps the ``start_index`` that it had when it was added.
    """
    if not document.id:
        msg = "chunk_key needs documents with an id, which advchunk's splitters set"
        raise ConfigurationError(msg)
    return document.id


@dataclass(frozen=True)
class _WithSpecial:
    """Counts with a tiktoken encoding, with some special tokens allowed."""

    encoding: Any
    allowed: Literal["all"] | Set[str]

    def __call__(self, text: str) -> int:
        return len(self.encoding.encode(text, allowed_special=self.allowed, disallowed_special=()))


def _source(document: Document) -> Source:
    # The id omits the page number, which changes when a page is inserted; equal texts are numbered anyway.
    return Source(document.page_content, document.id or "", metadata=user_metadata(document.metadata))
