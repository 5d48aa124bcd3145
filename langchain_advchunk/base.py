"""advchunk chunkers as LangChain text splitters: exact offsets, stable ids, nothing re-found in the text."""

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
from advchunk.chunkers.files import chunk_files
from advchunk.chunkers.params import ALIASES, RESOURCE, parameters, resources
from advchunk.chunkers.results import error_handler
from advchunk.errors import MissingExtra, require
from advchunk.models.embedders import Embedder, as_embedder
from advchunk.records import Floats, flat_places, flat_spans, inherited

# What the core calls a resource, and LangChain otherwise.
_NAMES = {"tokenizer": "length_function", "embedder": "embeddings"}


@dataclass(kw_only=True, eq=False)
class AdvchunkSplitter(TextSplitter, ABC):
    """Split documents with a core chunker, and write down what it knows of each chunk.

    Metadata is flat: ``start_index`` and ``end_index`` (into the ``page_content`` that came in, unless another
    text was derived from it), ``spans`` if a chunk has several, ``chunk_index``, ``token_count``, ``level``,
    ``section`` and ``title_path`` under headings, ``page``, ``pages`` if they are several and ``boxes`` where the
    layout has them ("3 4", "3:left,top,right,bottom ..."), ``parent_id`` in a hierarchy, ``source_id`` if the
    document had an id, and what the algorithm adds.

    Parameters
    ----------
    add_start_index : whether metadata has ``start_index`` and ``end_index``.
    show_progress : whether to show a bar while splitting documents.
    on_error : what to do about a document that fails: "raise", "skip" it (with a warning in the log),
        or a callable that is given each `advchunk.Failure`, such as ``failures.append``.
    """

    add_start_index: bool = field(default=True, repr=False, metadata=RESOURCE)
    show_progress: bool = field(default=False, repr=False, metadata=RESOURCE)
    on_error: Literal["raise", "skip"] | Callable[[Failure], None] = field(
        default="raise", repr=False, metadata=RESOURCE
    )

    def __post_init__(self) -> None:
        error_handler(self.on_error)  # raises on anything else
        core = self.core()  # built once here, so that a bad parameter is an error at once
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
        """Return the chunk texts; joined, they are ``text`` if chunks are contiguous, plain and do not overlap."""
        return [document.page_content for document in self.create_documents([text])]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Return the chunks of ``texts``, with the metadata of each."""
        many = len(texts) if metadatas is None else len(metadatas)
        require(many == len(texts), f"metadatas must be as many as texts, {len(texts)}", many)
        pairs = zip(texts, metadatas or [{} for _ in texts], strict=True)
        return self.split_documents([Document(text, metadata=metadata) for text, metadata in pairs])

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return the chunks of ``documents``; their ``id`` is the same as long as their text is."""
        documents = list(documents)
        sources = [_source(document) for document in documents]
        found = self.core().chunk_many(sources, on_error=self.on_error, progress=self.show_progress)
        return self._written(documents, found)

    def split_files(self, paths: Iterable[str | Path]) -> list[Document]:
        """Return the chunks of files of any kind that `advchunk.read_file` reads, with the layout that these have.

        ``start_index`` is into the text that was read. Metadata is what the file says of itself, and ``source``, its path.
        A splitter of papers, pages or abstracts reads files its own way.
        """
        read, found = chunk_files(self.core(), paths, "source", on_error=self.on_error, progress=self.show_progress)
        return self._written([Document(said.text, metadata=dict(said.metadata)) for said in read], found)

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Await `split_documents`, with the models' own async methods."""
        sources = [_source(document) for document in documents]
        found = await self.core().achunk_many(sources, on_error=self.on_error, progress=self.show_progress)
        return self._written(documents, found)

    def _written(self, documents: Sequence[Document], found: list[list[Chunk]]) -> list[Document]:
        in_context = self.core().include_context
        return [
            Document(
                chunk.embed_text if in_context else chunk.text,
                id=chunk.id,
                metadata=self._metadata(document, chunk, chunks),
            )
            for document, chunks in zip(documents, found, strict=True)
            for chunk in chunks
        ]

    def _metadata(self, document: Document, chunk: Chunk, chunks: list[Chunk]) -> dict[str, Any]:
        ours = {
            **flat_places(chunk.metadata),
            "chunk_index": chunk.index,
            "token_count": chunk.tokens,
            "level": chunk.level,
        }
        spans = chunk.spans_in(document.page_content)
        if self.add_start_index and spans:
            ours |= {"start_index": spans[0].start, "end_index": spans[-1].end}
        if len(spans) > 1:
            ours["spans"] = flat_spans(spans)
        if chunk.parent is not None:
            ours["parent_id"] = chunks[chunk.parent].id
        if document.id:
            ours["source_id"] = document.id
        return ours

    def _length(self, text: str) -> int:
        return self.core().counter(text)


@dataclass(kw_only=True, eq=False)
class ChunkerSplitter(AdvchunkSplitter):
    """Split with any core chunker: ``ChunkerSplitter(MyChunker())``."""

    chunker: Chunker = field(kw_only=False)

    def core(self) -> Chunker:
        """Return the chunker that was given."""
        return self.chunker


@dataclass(kw_only=True, eq=False)
class LinearSplitter(AdvchunkSplitter):
    """Base of the splitters that need no model.

    `core` shows what runs: the parameters that a ``preset`` gives, too.

    Parameters
    ----------
    chunk_size, chunk_overlap : LangChain's names for ``max_tokens`` and ``overlap_tokens``.
    length_function : counts tokens: a name ("words", "characters", of a tiktoken encoding ...), a
        tokenizer, or a callable; None follows the embeddings, else is the embedded WordPiece.
    sentence_splitter : finds sentences (see `advchunk.text.tiling.as_tiler`).
    fallback : a core chunker for the documents on which this one fails or takes too long; "auto" is none, but
        for an experimental splitter `advchunk.UniversalSemanticChunker`; None raises the error.
    """

    chunker_class: ClassVar[type[Chunker]]
    chunk_size: int | None = field(default=None, repr=False, metadata=RESOURCE)
    chunk_overlap: int | None = field(default=None, repr=False, metadata=RESOURCE)
    length_function: Any = field(default=None, repr=False, metadata=RESOURCE)
    sentence_splitter: Any = field(default=None, repr=False, metadata=RESOURCE)
    fallback: Chunker | Literal["auto"] | None = field(default="auto", repr=False, metadata=RESOURCE)

    def core(self) -> Chunker:
        """Return the core chunker with this splitter's parameters, and the resources that it takes."""
        mine = {f.name for f in fields(self)}
        names = {name: _NAMES.get(name, name) for name in resources(self.chunker_class)}
        given = {name: getattr(self, ours) for name, ours in names.items() if ours in mine}
        return self.chunker_class(**parameters(self, self.chunker_class), **given)

    def __post_init__(self) -> None:
        for theirs, ours in ALIASES.items():
            if getattr(self, theirs) is not None:
                usual = {getattr(self, theirs), getattr(type(self), ours)}
                rule = f"{theirs} is another name for {ours}: give one"
                require(getattr(self, ours) in usual, rule, (getattr(self, theirs), getattr(self, ours)))
                setattr(self, ours, getattr(self, theirs))
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
        """Build a splitter that counts with tiktoken; it pickles.

        Unlike in LangChain, text that looks like a special token is never an error: unless
        ``allowed_special`` names it, it is counted as ordinary text.
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
        """Build a splitter that counts with a Hugging Face tokenizer."""
        return cls(length_function=tokenizer, **kwargs)


@dataclass(kw_only=True, eq=False)
class LexicalSplitter(LinearSplitter):
    """Base of the splitters that count words.

    Parameters
    ----------
    word_splitter : a callable that returns the words of a text, in order; None is `advchunk.text.terms.word_tokens`.
    """

    word_splitter: Any = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class LanguageModelSplitter(LinearSplitter):
    """Base of the splitters that ask a causal language model.

    Parameters
    ----------
    lm : a name or path that Hugging Face transformers knows, a (model, tokenizer) pair, LangChain's
        ``HuggingFacePipeline``, or an object of your own (see `advchunk.models.causal.as_causal`). There is no default.
    """

    lm: Any = field(default=None, repr=False, metadata=RESOURCE)


@dataclass(kw_only=True, eq=False)
class EmbeddingSplitter(LinearSplitter):
    """Base of the splitters that need an embedder.

    Parameters
    ----------
    embeddings : LangChain ``Embeddings`` or anything else that embeds (a name, a callable, a
        SentenceTransformer ...); None is the embedded default, which needs no key and no download.
    batch_size : texts a model call; None is the model's own choice, else 1024.
    cache : keeps embeddings between runs: the path of a file, a ``dict``, or an `advchunk.models.cache.Store`.
    """

    embeddings: Any = field(default=None, kw_only=False, repr=False, metadata=RESOURCE)
    batch_size: int | None = field(default=None, repr=False, metadata=RESOURCE)
    cache: Any = field(default=None, repr=False, metadata=RESOURCE)

    def split_with_vectors(
        self, documents: Iterable[Document], vectors: Literal["plain", "context"] = "context"
    ) -> tuple[list[Document], ChunkEmbeddings]:
        """Return the chunks of ``documents``, and the embeddings to give to a vector store with them.

        ``InMemoryVectorStore.from_documents(*splitter.split_with_vectors(documents))`` then finds by the chunks' own
        vectors ("plain"), or by these mixed with those of the chunks around them (`advchunk.numerics.context_vectors.add_context`).
        """
        documents = list(documents)
        found = self._with(vectors, documents)
        written = self._written(documents, found)
        chunks = (chunk for chunks in found for chunk in chunks)
        rows = zip((piece.page_content for piece in written), (chunk.vector for chunk in chunks), strict=True)
        return written, self._serving(rows)

    def split_with_rows(
        self, documents: Iterable[Document], id_key: str = "doc_id"
    ) -> tuple[list[Document], list[Document], ChunkEmbeddings]:
        """Return the chunks of ``documents``, their sentences for a vector store, and the embeddings to give to it.

        A chunk is then found by its nearest sentence, which knows its chunk and what stands around it
        (`advchunk.numerics.context_vectors.sentence_rows`): "small to big". The sentences go into any vector store, the chunks into a document
        store, and LangChain's ``MultiVectorRetriever`` returns each chunk once::

            chunks, rows, embeddings = splitter.split_with_rows(documents)
            retriever = MultiVectorRetriever(
                vectorstore=InMemoryVectorStore.from_documents(rows, embeddings),
                docstore=InMemoryStore(),
                search_kwargs={"k": 20},  # sentences, of fewer chunks
            )
            retriever.docstore.mset([(chunk.id, chunk) for chunk in chunks])

        A fallback's chunk has no vectors: it is its own and only row, and the store asks the embedder for it.

        Parameters
        ----------
        id_key : the metadata of a row in which the id of its chunk stands, beside what it inherits from the chunk.
        """
        documents = list(documents)
        found = self._with("units", documents)
        written = self._written(documents, found)
        pairs = [(document, chunk) for document, chunks in zip(documents, found, strict=True) for chunk in chunks]
        rows, vectors = list[Document](), list[Floats | None]()
        for (document, chunk), piece in zip(pairs, written, strict=True):
            if chunk.rows is None:
                rows.append(Document(piece.page_content, id=piece.id, metadata={**piece.metadata, id_key: piece.id}))
                vectors.append(None)
                continue
            vectors.extend(chunk.rows)
            placed = self.add_start_index and chunk.spans_in(document.page_content) == chunk.spans
            for number, ((start, end), text) in enumerate(zip(chunk.row_spans, chunk.row_texts, strict=True)):
                place = {"start_index": start, "end_index": end} if placed else {}
                metadata = {**inherited(piece.metadata), **place, id_key: piece.id}
                row_id = str(uuid5(UUID(chunk.id), str(number)))
                rows.append(Document(text, id=row_id, metadata=metadata))
        return written, rows, self._serving(zip((row.page_content for row in rows), vectors, strict=True))

    def _with(self, vectors: str, documents: Iterable[Document]) -> list[list[Chunk]]:
        core = replace(self.core(), vectors=vectors)  # type: ignore[call-arg]
        return core.chunk_many(map(_source, documents), on_error=self.on_error, progress=self.show_progress)

    def _serving(self, rows: Iterable[tuple[str, Floats | None]]) -> ChunkEmbeddings:
        known = [(text, row) for text, row in rows if row is not None]
        return ChunkEmbeddings(as_embedder(self.embeddings, self.batch_size), known)


class ChunkEmbeddings(Embeddings):
    """Serves the vectors that chunks or their sentences came with to any vector store; the embedder is asked for the rest.

    A vector store asks by text alone. So texts that are equal, and their vectors not, get these in turn, in the order in
    which they came, from call to call; a store that adds in another order may swap them.
    """

    def __init__(self, embedder: Embedder, rows: Iterable[tuple[str, Floats]]) -> None:
        known = dict[str, list[Floats]]()
        for text, row in rows:
            known.setdefault(text, []).append(row)
        self._embedder, self._turns = embedder, {text: cycle(several) for text, several in known.items()}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts: of those that came with one, or several, these."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._turns]
        asked = dict(zip(unknown, self._embedder.embed(unknown), strict=True)) if unknown else {}
        return [(asked[text] if text in asked else next(self._turns[text])).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, which is no chunk."""
        found: list[float] = self._embedder.embed([text])[0].tolist()
        return found


def chunk_key(document: Document) -> str:
    """Return the id of a chunk: ``index(..., key_encoder=chunk_key)`` then re-adds only what changed.

    A chunk that is skipped keeps the ``start_index`` it had when it was added.
    """
    if not document.id:
        msg = "chunk_key needs documents with an id, as advchunk's splitters give them"
        raise ConfigurationError(msg)
    return document.id


@dataclass(frozen=True)
class _WithSpecial:
    """Counts with a tiktoken encoding that reads some special tokens as such."""

    encoding: Any
    allowed: Literal["all"] | Set[str]

    def __call__(self, text: str) -> int:
        return len(self.encoding.encode(text, allowed_special=self.allowed, disallowed_special=()))


def _source(document: Document) -> Source:
    # Not the page: its number changes when one is inserted, and equal texts are told apart anyway.
    return Source(document.page_content, document.id or "", metadata=inherited(document.metadata))
