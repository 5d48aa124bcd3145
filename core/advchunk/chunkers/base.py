"""What every chunker is: parameters, resources, a plan, and the ways to run it.

A chunker is made of two parts, in this order:

    class UniversalSemanticChunker(UniversalSemanticParams, EmbeddingChunker): ...

`Params` are its JSON-able hyper-parameters, which both adapters inherit too; the base says
which resource it asks for. What is left to write is `segment`.
"""

from __future__ import annotations

import copy
import hashlib
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from os.path import commonprefix
from pathlib import Path
from typing import Any, Literal

import numpy as np

from advchunk import sizes
from advchunk.chunkers.ids import IdGenerator
from advchunk.chunkers.params import OPERATION, RESOURCE, Params, resources
from advchunk.chunkers.results import Failure, OnError, OnFailure, Progress, ProgressReporter, Results, error_handler
from advchunk.engine import Job, Plan, adrive, completed, drive
from advchunk.errors import ConfigurationError, Unreadable, first_line, require
from advchunk.layout import Contexts, Headings, Pages, TableHeads, keep_headings, split_levels, tile_prose, with_blocks
from advchunk.models.cache import with_cache
from advchunk.models.counters import as_counter
from advchunk.models.embedders import as_embedder
from advchunk.models.identity import identity
from advchunk.models.long_texts import embed_long_texts
from advchunk.numerics import context_vectors
from advchunk.readers import files, formats
from advchunk.records import Chunk, Document, Explanation, Floats, Segmentation, Span, Units
from advchunk.sizes import Limits
from advchunk.text import splitters, tiling
from advchunk.text.counters import Counter

_log = logging.getLogger("advchunk")


@dataclass(kw_only=True)
class Chunker(Params, ABC):
    """Anything that turns a text into chunks of it. It keeps nothing between calls.

    A subclass writes `plan`, usually by way of one of the bases below.

    Parameters
    ----------
    tokenizer : what counts tokens (see `models.counters.as_counter`); None follows the embedder.
    sentence_splitter : what finds sentences (see `tiling.as_tiler`); None is the accurate default.
    fallback : a chunker for the documents on which this one fails or takes too long; "auto" is none, but
        for an experimental chunker `UniversalSemanticChunker`; None raises the error.
    """

    tokenizer: Any = field(default=None, repr=False, metadata=RESOURCE)
    sentence_splitter: Any = field(default=None, repr=False, metadata=RESOURCE)
    fallback: Chunker | Literal["auto"] | None = field(default="auto", repr=False, metadata=RESOURCE)

    @abstractmethod
    def plan(self, document: Document) -> Plan[Explanation]:
        """Yield asks, be sent answers, return the chunks of a document that is not blank, and why."""

    def check(self) -> None:
        """Add the rule for ``fallback``."""
        super().check()
        right = self.fallback in (None, "auto") or isinstance(self.fallback, Chunker)
        require(right, "fallback must be a Chunker, 'auto' or None", self.fallback)

    # Running it.

    def chunk(self, document: str | Document) -> list[Chunk]:
        """Return the chunks of a text, in reading order; a blank one has none."""
        return self.chunk_many([document])[0]

    async def achunk(self, document: str | Document) -> list[Chunk]:
        """Await `chunk`."""
        return (await self.achunk_many([document]))[0]

    def explain(self, document: str | Document) -> Explanation:
        """Return the chunks of a text with the scores, thresholds and reasons behind them."""
        (found,) = drive(self.jobs([document]))
        return replace(found, chunks=IdGenerator().name(found.document.source, found.chunks))

    def chunk_many(
        self,
        documents: Iterable[str | Document],
        *,
        on_error: OnError | Literal["collect"] = "raise",
        progress: Progress = None,
    ) -> Results:
        """Return the chunks of each document; ids are unique over all of them.

        Models get the texts of many documents in full batches, and each distinct text once.

        Parameters
        ----------
        on_error : what to do about a document that fails: "raise"; "skip" it, with a warning in the
            log; "collect" it in the result's ``failures``; or a callable that is given each `Failure`.
        progress : called with the number of documents done; True shows a bar.
        """
        results = Results()
        with ProgressReporter(progress, documents) as tick:
            results.extend(map(tick, self.stream(documents, on_error=results.handler(on_error))))
        return results

    async def achunk_many(
        self,
        documents: Iterable[str | Document],
        *,
        on_error: OnError | Literal["collect"] = "raise",
        progress: Progress = None,
        concurrency: int | None = None,
    ) -> Results:
        """Await `chunk_many`, with at most ``concurrency`` (>= 1) model calls under way; None is what each model allows."""
        results = Results()
        handler = results.handler(on_error)
        with ProgressReporter(progress, documents) as tick:
            async for chunks in self.astream(documents, on_error=handler, concurrency=concurrency):
                results.append(tick(chunks))
        return results

    def stream(self, documents: Iterable[str | Document], *, on_error: OnError = "raise") -> Iterator[list[Chunk]]:
        """Yield the chunks of each document as soon as they are known, in memory that does not grow."""
        return self._named(drive(self.jobs(documents, on_error)))

    async def astream(
        self, documents: Iterable[str | Document], *, on_error: OnError = "raise", concurrency: int | None = None
    ) -> AsyncIterator[list[Chunk]]:
        """Await `stream`."""
        namer = IdGenerator()
        async for found in adrive(self.jobs(documents, on_error), concurrency):
            yield namer.name(found.document.source, found.chunks)

    @staticmethod
    def _named(explained: Iterable[Explanation]) -> Iterator[list[Chunk]]:
        namer = IdGenerator()
        return (namer.name(found.document.source, found.chunks) for found in explained)

    def jobs(self, documents: Iterable[str | Document], on_error: OnError = "raise") -> Iterator[Job[Explanation]]:
        """Yield the job of chunking each document, for `engine.drive`; `stream` is what most want."""
        handle = error_handler(on_error)
        several = isinstance(documents, Iterable) and not isinstance(documents, (str, Document))
        require(several, "documents must be several; for one there is chunk", documents)
        self.load()
        return (self._job(i, document, handle) for i, document in enumerate(documents))

    def _job(self, index: int, document: str | Document, handle: OnFailure, instead_of: str = "") -> Job[Explanation]:
        """Return the job of chunking one document; if it fails, the fallback's; if that fails, what is asked for."""
        source = document.source if isinstance(document, Document) else ""

        def recover(error: Exception) -> Job[Explanation]:
            # Else no other chunker could do better.
            usable = isinstance(document, (str, Document)) and not isinstance(error, Unreadable)
            instead = self.fallback_chunker() if usable else None
            if instead is not None:
                _log.warning(
                    "document %d (%r): %s failed (%s: %s), trying %s",
                    index, source, self.algorithm, type(error).__name__, first_line(error), instead.algorithm,
                )  # fmt: skip
                return instead._job(index, document, handle, self.algorithm)
            handle(Failure(index, source, error))
            return Job(completed(Explanation(Document("", id=source), [])))

        return Job(self._laid_out(document, instead_of), self.timeout, recover)

    def _laid_out(self, given: str | Document, instead_of: str) -> Plan[Explanation]:
        document = given if isinstance(given, Document) else Document(given)
        if document.text.strip():
            try:
                document = self.read(document)
            except ConfigurationError as error:
                raise Unreadable(*error.args) from error
        if not document.text.strip():
            return Explanation(document, self.chunk_empty(document))
        found = yield from self.plan(document)
        found = replace(found, chunks=self._described(found, instead_of))
        return replace(found, chunks=(yield from self.postprocess(found)))

    def _described(self, found: Explanation, instead_of: str) -> list[Chunk]:
        """Return the chunks with what the document, its headings and the algorithm say of each."""
        document = found.document
        headings, first = Headings(document.text, document.blocks or ()), tiling.next_non_space(document.text, 0)
        pages = Pages(document.blocks or ())
        ran = {"chunker": self.algorithm, "fallback_from": instead_of} if instead_of else {}
        chunks = []
        for index, chunk in enumerate(found.chunks):
            metadata = copy.deepcopy(dict(document.metadata)) if document.metadata else {}
            metadata |= chunk.metadata
            # Of distant passages, what they share; "prefix" is of tuples here.
            if path := commonprefix([headings.path(max(span.start, first)) for span in chunk.spans]):  # noqa: RUF071
                metadata |= {"section": path[-1], "title_path": " > ".join(path)}
            metadata |= pages(chunk.spans)
            if self.add_scores and 0 < chunk.end < len(document.text):
                cut = found.cut_at(chunk.end)
                metadata |= {"cut": cut.reason}
                metadata |= {} if cut.score is None else {"cut_score": round(cut.score, 4)}
            metadata |= {**self.chunk_metadata(chunk, index), **ran}
            chunks.append(replace(chunk, metadata=metadata, source_spans=document.source_spans(chunk.spans)))
        return chunks

    # What subclasses use, and may override.

    def fallback_chunker(self) -> Chunker | None:
        """Return the chunker for documents on which this one fails, if there is one."""
        return self.fallback if isinstance(self.fallback, Chunker) else None

    def load(self) -> None:
        """Load what is given by name, so that an error comes before any work."""
        _ = self.counter
        if isinstance(self.fallback, Chunker):
            self.fallback.load()
        splitters.as_tiler(self.sentence_splitter, self.language)

    def read(self, document: Document) -> Document:
        """Return a document with its layout, which is read from its text if it comes without one.

        A chunker that knows a format better may derive another text from what it is given; its chunks are of that.
        """
        return formats.read(document, self.markup)

    @classmethod
    def reads_all_formats(cls) -> bool:
        """Return whether it leaves it to others to read documents; one of abstracts, papers or pages has its own way."""
        return cls.read is Chunker.read and cls.markup == Chunker.markup

    def read_file(
        self, path: str | Path, *, by_name: bool = True, metadata: Mapping[str, Any] | None = None
    ) -> Document:
        """Return a file for `chunk`: read as its name says (`readers.files.read_file`), but text as it stands if ``markup``
        is set, this chunker reads it its own way, or the name is not to count.
        """
        if files.is_pdf(path) or (by_name and self.reads_all_formats() and self.markup == Chunker.markup):
            return files.read_file(path, metadata=metadata)
        return Document(files.decoded(Path(path).read_bytes()), str(path), metadata=metadata or {})

    def chunk_empty(self, document: Document) -> list[Chunk]:
        """Return the chunks of a document that is blank: none, unless its metadata alone is worth one."""
        return []

    def postprocess(self, found: Explanation) -> Plan[list[Chunk]]:
        """Return the chunks of a document with what can be known only now."""
        return completed(found.chunks)

    def chunk_metadata(self, chunk: Chunk, index: int) -> dict[str, Any]:
        """Return what this algorithm writes into the metadata of its chunk number ``index``."""
        return {}

    @property
    def counter(self) -> Counter:
        """What counts tokens."""
        return as_counter(self.tokenizer)

    def limits(self, document: Document) -> Limits:
        """Return the token budget of the chunks of a document."""
        rungs = split_levels(document, splitters.as_tiler(self.sentence_splitter, self.language))
        limits = Limits(self.max_tokens, self.min_tokens, self.overlap_tokens, self.counter, ladder=rungs)
        if not self.include_context:
            return limits
        limits = limits._replace(context=Contexts(document, limits))
        return limits._replace(context=TableHeads(document, limits))

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return the units the algorithm reasons about (sentences), each within the token budget, with strengths."""
        units = tile_prose(document, splitters.as_tiler(self.sentence_splitter, self.language))
        return self.fit_units(document, units, limits)

    def fit_units(self, document: Document, units: Units, limits: Limits) -> Units:
        """Return units that also end where blocks do, leave protected blocks whole, and are within the budget."""
        return sizes.fit(with_blocks(units, document), limits)

    def fingerprint(self) -> str:
        """Return 16 hex digits that change whenever the chunks may, by parameters or resources."""
        named = [_identity(getattr(self, name)) for name in resources(self, changing=True)]
        return hashlib.sha256("|".join([super().fingerprint(), *named]).encode()).hexdigest()[:16]


@dataclass(kw_only=True)
class SegmentingChunker(Chunker):
    """Cuts or groups the units of a text: a subclass writes `decide`, usually by way of the bases below."""

    def plan(self, document: Document) -> Plan[Explanation]:
        """Tile the text, decide where it is cut, build chunks."""
        limits = self.limits(document)
        units = self.tile(document, limits)
        found = (yield from self.decide(units, limits)) if len(units) > 1 else Segmentation(np.array([0, 1]))
        sizes.check_segmentation(units, found)
        found = keep_headings(units, found)
        return Explanation(document, sizes.build_chunks(units, found, limits), units, found)

    def segmentation(self, units: Units) -> Segmentation:
        """Decide on given units, such as an annotator's; their sizes are counted, but not enforced."""
        require(isinstance(units, Units), "units must be Units", units)
        limits = Limits(self.max_tokens, self.min_tokens, self.overlap_tokens, self.counter)
        counted = replace(units, sizes=limits.counter.counts(units.strings()))
        if len(units) < 2:
            return Segmentation(np.arange(len(units) + 1))
        (found,) = drive([Job(self.decide(counted, limits))])
        return found

    @abstractmethod
    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Yield asks, be sent answers, return the segmentation of at least two units, wherever they come from."""


@dataclass(kw_only=True)
class LinearChunker(SegmentingChunker):
    """Needs no model: a subclass writes `segment` of the units."""

    @abstractmethod
    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Return the segmentation of at least two units."""

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Segment the units."""
        return completed(self.segment(units, limits))


@dataclass(kw_only=True)
class VectorsChunker(SegmentingChunker):
    """Has an embedder, and vectors of its chunks: a subclass writes `decide`, for which it has `embed_units`.

    Parameters
    ----------
    embedder : anything `models.embedders.as_embedder` takes; None is the embedded default.
    batch_size : texts a model call, >= 1; None is the model's own choice, else 1024.
    cache : keeps embeddings between runs: the path of a file, a ``dict``, or a `cache.Store`.
    vectors : what each chunk's ``vector`` is: "none"; "plain", that of its ``embed_text``; "context", mixed with those of
        the chunks around it (`vectors.in_context`), by which more is found; "units", the same, and ``rows`` for its
        sentences (`context_vectors.sentence_rows`), by which still more is found of chunks of several. The model is asked for each
        chunk once more; for "units" also for each sentence, but not again where the algorithm has asked for it, as
        most do, whose units are sentences. A fallback's chunks have none.
    """

    embedder: Any = field(default=None, repr=False, metadata=RESOURCE)
    batch_size: int | None = field(default=None, repr=False, metadata=OPERATION)
    cache: Any = field(default=None, repr=False, metadata=OPERATION)
    vectors: Literal["none", "plain", "context", "units"] = field(default="none", repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rules for the embedder."""
        super().check()
        size = self.batch_size
        right = size is None or (isinstance(size, int) and size >= 1)
        require(right, "batch_size must be a whole number >= 1 or None", size)
        kinds = ("none", "plain", "context", "units")
        require(self.vectors in kinds, f"vectors must be one of {kinds}", self.vectors)
        if not isinstance(self.embedder, str):  # a name is looked up when it is needed
            with_cache(as_embedder(self.embedder), self.cache)

    def postprocess(self, found: Explanation) -> Plan[list[Chunk]]:
        """Ask for the vectors of each chunk, and of its sentences, if they are wanted."""
        chunks = found.chunks
        if self.vectors == "none" or not chunks:
            return chunks
        own = yield from self.embed_texts([chunk.embed_text for chunk in chunks])
        if self.vectors != "plain":
            own = context_vectors.chunk_vectors(chunks, own)
        chunks = [replace(chunk, vector=vector) for chunk, vector in zip(chunks, own, strict=True)]
        if self.vectors != "units":
            return chunks
        units = self._sentences(found)
        texts, spans = units.strings(), [Span(*edges) for edges in pairwise(units.edges.tolist())]
        each = context_vectors.sentence_rows(chunks, own, units, (yield from self.embed_texts(texts)))
        held = [context_vectors.units_in(chunk, units).tolist() for chunk in chunks]
        return [
            replace(chunk, rows=rows, row_spans=tuple(spans[i] for i in mine), row_texts=tuple(texts[i] for i in mine))
            for chunk, rows, mine in zip(chunks, each, held, strict=True)
        ]

    def _sentences(self, found: Explanation) -> Units:
        """Return the sentences of a document: those the algorithm saw, unless it reasons about other units."""
        if found.units is not None and type(self).tile is Chunker.tile:
            return found.units
        return Chunker.tile(self, found.document, self.limits(found.document))

    def load(self) -> None:
        """Load the embedder too."""
        super().load()
        _ = self.model

    @property
    def model(self) -> Any:
        """The embedder that is asked."""
        return with_cache(as_embedder(self.embedder, self.batch_size), self.cache)

    @property
    def counter(self) -> Counter:
        """What counts tokens: the embedder's own tokenizer, unless another is given."""
        return as_counter(self.tokenizer, as_embedder(self.embedder))

    def embed_units(self, units: Units) -> Plan[Floats]:
        """Ask for the vector of each unit."""
        return self.embed_texts(units.strings())

    def embed_texts(self, texts: Sequence[str]) -> Plan[Floats]:
        """Ask for the vector of each text, (n, d) unit rows; what the embedder could not read whole is read in parts."""
        return embed_long_texts(texts, as_embedder(self.embedder), self.model)


@dataclass(kw_only=True)
class EmbeddingChunker(VectorsChunker):
    """Needs an embedder: a subclass writes `segment` of the units, given their vectors."""

    @abstractmethod
    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Return the segmentation of at least two units, from their (n, d) unit vectors."""

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Embed the units, then segment them."""
        vectors = yield from self.embed_units(units)
        return replace(self.segment(units, vectors, limits), rows=vectors)


def _identity(resource: Any) -> str:
    return resource.fingerprint() if isinstance(resource, Chunker) else identity(resource)
