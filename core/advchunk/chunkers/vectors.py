"""The vectors of chunks: of their own text, with their context, with a row for each sentence, or pooled from tokens."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from advchunk.building import sizes
from advchunk.building.layout import fit_to_blocks, plain_levels, tile_prose
from advchunk.building.long_texts import embed_long_texts
from advchunk.building.positions import count_tokens
from advchunk.building.sizes import WITHIN_SENTENCE, Limits
from advchunk.engine import EmbedTokens, Job, Plan, adrive, completed, drive
from advchunk.errors import checked, require
from advchunk.models import context_vectors
from advchunk.models.cache import CacheLike, with_cache
from advchunk.models.counters import as_counter
from advchunk.models.embedders import EmbedderLike, as_embedder
from advchunk.models.hashed_words import HashedWords
from advchunk.models.token_embedders import CheckedDocumentEmbedder, as_token_embedder
from advchunk.readers import formats
from advchunk.records import Chunk, Document, Floats, Span, Units, evolve
from advchunk.text.detection import AUTO
from advchunk.text.splitters import SplitterLike, as_tiler
from advchunk.text.tiling import Tiler, paragraphs

Vectors: TypeAlias = Literal["none", "plain", "context", "units", "late"]
KINDS: tuple[str, ...] = get_args(Vectors)
_DIMENSIONS = 2048  # of vectors of words: few enough to hold, and little noise (benchmarks/LANGUAGES.md)


@dataclass(frozen=True)
class ChunkVectors:
    """The kind of the vectors of chunks, and the embedder that they come from.

    "plain" embeds a chunk's ``embed_text``; "context" mixes in the vectors of the chunks around it
    (`models.context_vectors.add_context`); "units" also has ``rows`` for its sentences; "late" is the mean of its
    tokens' vectors in the document (`models.context_vectors.pool_tokens`), or from a model that reads all chunks
    together (`models.token_embedders.DocumentEmbedder`). ``batch_size`` is in texts, or windows of tokens; None uses
    the model's own. ``cache`` does not keep the embeddings of tokens.
    """

    kind: Vectors
    embedder: EmbedderLike = None
    batch_size: int | None = None
    cache: CacheLike = None

    def check(self, *, embeds: bool) -> None:
        """Raise `ConfigurationError` for a wrong kind, embedder, or cache; a name is resolved when it is needed."""
        require(isinstance(self.kind, str) and self.kind in KINDS, f"vectors must be one of {KINDS}", self.kind)
        if not isinstance(self.embedder, str):
            if self.embedder is not None or (self.cache is not None and embeds):
                _ = self.model
            if self.kind == "late":
                as_token_embedder(self.embedder)

    def load(self) -> None:
        """Load the embedder; raise the errors of `as_embedder` and `as_token_embedder`."""
        _ = self.model
        if self.kind == "late":
            as_token_embedder(self.embedder)

    @property
    def model(self) -> Any:
        """The embedder with its cache."""
        return with_cache(as_embedder(self.embedder, self.batch_size), self.cache)

    def embed(self, texts: Sequence[str], language: str | None = None) -> Plan[Floats]:
        """Ask for the vector of each text, (n, d) unit rows; texts too long for the embedder are embedded in parts.

        In a ``language`` that the embedder does not know, they are vectors of words (`HashedWords`).
        """
        embedder = as_embedder(self.embedder)
        if language is None or embedder.knows(language):
            return embed_long_texts(texts, embedder, self.model)
        return completed(HashedWords(_DIMENSIONS, language).embed(texts))

    def add(self, chunks: list[Chunk], text: str, units: Callable[[], Units]) -> Plan[list[Chunk]]:
        """Add vectors to chunks, whose spans index ``text``; ``units`` (sentences) is called for "units" only."""
        if self.kind == "none" or not chunks:
            return chunks
        if self.kind == "late":
            rows = yield from self._pool(chunks, text)
        else:
            rows = yield from self.embed([chunk.embed_text for chunk in chunks])
            if self.kind != "plain":
                rows = context_vectors.chunk_vectors(chunks, rows)
        chunks = [evolve(chunk, vector=row) for chunk, row in zip(chunks, rows, strict=True)]
        return (yield from self._add_rows(chunks, rows, units())) if self.kind == "units" and text.strip() else chunks

    def _add_rows(self, chunks: list[Chunk], vectors: Floats, units: Units) -> Plan[list[Chunk]]:
        """Add the rows of sentences; a chunk of context alone has none."""
        texts, spans = units.strings(), [Span(*edges) for edges in pairwise(units.edges.tolist())]
        rows = context_vectors.sentence_rows(chunks, vectors, units, (yield from self.embed(texts)))
        members = [context_vectors.units_in(chunk, units).tolist() for chunk in chunks]
        added = list[Chunk]()
        for chunk, own, places in zip(chunks, rows, members, strict=True):
            parts = {"row_spans": tuple(spans[i] for i in places), "row_texts": tuple(texts[i] for i in places)}
            added.append(evolve(chunk, rows=own, **parts) if places else chunk)
        return added

    def _pool(self, chunks: Sequence[Chunk], text: str) -> Plan[Floats]:
        """Return the mean of the vectors of each chunk's tokens; a chunk without tokens is embedded by itself."""
        model = as_token_embedder(self.embedder, self.batch_size)
        if isinstance(model, CheckedDocumentEmbedder):
            together: list[Floats] = yield EmbedTokens((tuple(chunk.embed_text for chunk in chunks),), model)
            return together[0]
        ids, ends = model.tokenize(text)
        rows: Floats = np.zeros((len(chunks), 0), np.float32)
        if windows := context_vectors.token_windows(len(ids), model.max_tokens):
            answers = yield EmbedTokens(tuple(ids[start:end] for start, end, _, _ in windows), model)
            own = (some[w.first - w.start : w.last - w.start] for some, w in zip(answers, windows, strict=True))
            rows = context_vectors.pool_tokens(chunks, ends, np.concatenate(list(own)))
        without = np.flatnonzero(~rows.any(axis=1)).tolist()
        if without:
            alone = yield from self.embed([chunks[i].embed_text for i in without])
            rows = rows if rows.shape[1] else np.zeros((len(chunks), alone.shape[1]), np.float32)
            rows[without] = alone
        return rows


@checked
def add_vectors(
    chunks_by_document: Sequence[Sequence[Chunk]],
    kind: Vectors = "units",
    embedder: EmbedderLike = None,
    *,
    documents: Sequence[str | Document] | None = None,
    batch_size: int | None = None,
    cache: CacheLike = None,
    language: str = AUTO,
    sentence_splitter: SplitterLike = None,
) -> list[list[Chunk]]:
    """Return the chunks of each document, by any splitter, with vectors.

    They are those that a chunker with ``vectors=kind`` gives the same chunks.

    Parameters
    ----------
    kind : "plain", "context", "units" or "late" (`ChunkVectors`).
    embedder : see `models.embedders.as_embedder`; None is the built-in default.
    documents : the documents, or their texts, one for each sequence of chunks; None takes the text from the chunks, and
        between them white space. Only "units" and "late" read it.
    batch_size, cache : see `ChunkVectors`.
    language, sentence_splitter : find the sentences for "units" (`text.splitters.as_tiler`).

    Raises
    ------
    ConfigurationError : the number of documents is not that of the sequences of chunks, or a chunk is not
        ``"".join(text[start:end] for start, end in spans)``.

    >>> chunks = [Chunk("Cats purr. ", (Span(0, 11),), 3), Chunk("They nap.", (Span(11, 20),), 3)]
    >>> ((first, second),) = add_vectors([chunks], "context", documents=["Cats purr. They nap."])
    >>> first.vector.shape
    (256,)
    """
    vectors = ChunkVectors(kind, embedder, batch_size, cache)
    return list(drive(_jobs(chunks_by_document, vectors, documents, as_tiler(sentence_splitter, language))))


@checked
async def aadd_vectors(
    chunks_by_document: Sequence[Sequence[Chunk]],
    kind: Vectors = "units",
    embedder: EmbedderLike = None,
    *,
    documents: Sequence[str | Document] | None = None,
    batch_size: int | None = None,
    cache: CacheLike = None,
    language: str = AUTO,
    sentence_splitter: SplitterLike = None,
    concurrency: int | None = None,
) -> list[list[Chunk]]:
    """Await `add_vectors`, with at most ``concurrency`` (>= 1) model calls at a time; None leaves it to each model."""
    vectors = ChunkVectors(kind, embedder, batch_size, cache)
    jobs = _jobs(chunks_by_document, vectors, documents, as_tiler(sentence_splitter, language))
    return [chunks async for chunks in adrive(jobs, concurrency)]


def _jobs(
    chunks_by_document: Sequence[Sequence[Chunk]],
    vectors: ChunkVectors,
    documents: Sequence[str | Document] | None,
    tiler: Tiler,
) -> Iterator[Job[list[Chunk]]]:
    """Return the job of adding vectors to the chunks of each document."""
    require(vectors.kind in KINDS, f"kind must be one of {KINDS}", vectors.kind)
    count = len(chunks_by_document)
    rule = f"documents must be as many as the sequences of chunks, {count}, or None"
    require(documents is None or len(documents) == count, rule, documents if documents is None else len(documents))
    vectors.load()
    pairs = zip(chunks_by_document, [None] * count if documents is None else documents, strict=True)
    return (Job(_add(vectors, list(chunks), document, tiler)) for chunks, document in pairs)


def _add(
    vectors: ChunkVectors, chunks: list[Chunk], document: str | Document | None, tiler: Tiler
) -> Plan[list[Chunk]]:
    document = _text_of(chunks) if document is None else document
    document = document if isinstance(document, Document) else Document(document)
    for chunk in chunks:
        matches = chunk.text == "".join(document.text[start:end] for start, end in chunk.spans)
        require(matches, "chunks must be the text of their spans in the document", chunk)
    counter = as_counter(None, as_embedder(vectors.embedder))
    chunks = count_tokens(chunks, counter)
    most = max((chunk.tokens for chunk in chunks), default=1)
    limits = Limits(max(most, 1), 0, 0, counter, prose=(paragraphs, tiler, *WITHIN_SENTENCE))
    return (yield from vectors.add(chunks, document.text, partial(_sentences, document, tiler, limits)))


def _sentences(document: Document, tiler: Tiler, limits: Limits) -> Units:
    """Return the sentences of a document, as chunkers do, none larger than its largest chunk."""
    from advchunk.building.contexts import with_own_levels

    document = formats.read(document, "markdown")
    units = fit_to_blocks(tile_prose(document, tiler), document)
    return sizes.fit(units, with_own_levels(replace(limits, **plain_levels(document, tiler)), document))


def _text_of(chunks: Sequence[Chunk]) -> str:
    """Return the text of a document as far as its chunks have it, at its offsets; line feeds fill the rest."""
    text = ["\n"] * max((chunk.end for chunk in chunks), default=0)
    for chunk in chunks:
        for (start, end), passage in zip(chunk.spans, chunk.passages, strict=True):
            require(len(passage) == end - start, "chunks must be as long as their spans", chunk)
            text[start:end] = passage
    return "".join(text)
