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
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from advchunk import sizes, tiling
from advchunk.cache import with_cache
from advchunk.chunkers.params import RESOURCE, Params
from advchunk.chunkers.results import Failure, OnError, Progress, Results, Ticker
from advchunk.engine import Embed, Job, Plan, adrive, drive, finished
from advchunk.errors import require
from advchunk.explain import Explanation, Segmentation
from advchunk.headings import Headings
from advchunk.ids import Namer
from advchunk.layout import Contexts, tiled, with_blocks
from advchunk.models.counters import Counter, as_counter
from advchunk.models.embedders import as_embedder, identity
from advchunk.readers import markdown
from advchunk.records import Chunk, Document, Floats, Units
from advchunk.sizes import Limits

_log = logging.getLogger("advchunk")


@dataclass(kw_only=True)
class Chunker(Params, ABC):
    """Anything that turns a text into chunks of it. It keeps nothing between calls.

    A subclass writes `plan`, usually by way of one of the bases below.

    Parameters
    ----------
    tokenizer : what counts tokens (see `models.counters.as_counter`); None follows the embedder.
    sentence_splitter : what finds sentences (see `tiling.as_tiler`); None is the accurate default.
    fallback : a chunker for the documents on which this one fails or takes too long.
    """

    tokenizer: Any = field(default=None, repr=False, metadata=RESOURCE)
    sentence_splitter: Any = field(default=None, repr=False, metadata=RESOURCE)
    fallback: Chunker | None = field(default=None, repr=False, metadata=RESOURCE)

    @abstractmethod
    def plan(self, document: Document) -> Plan[Explanation]:
        """Yield asks, be sent answers, return the chunks of a document that is not blank, and why."""

    def check(self) -> None:
        """Add the rule for ``fallback``."""
        super().check()
        rule = "fallback must be a Chunker or None"
        require(self.fallback is None or isinstance(self.fallback, Chunker), rule, self.fallback)

    # Running it.

    def chunk(self, document: str | Document) -> list[Chunk]:
        """Return the chunks of a text, in reading order; a blank one has none."""
        return self.chunk_many([document])[0]

    async def achunk(self, document: str | Document) -> list[Chunk]:
        """Await `chunk`."""
        return (await self.achunk_many([document]))[0]

    def explain(self, document: str | Document) -> Explanation:
        """Return the chunks of a text with the scores, thresholds and reasons behind them."""
        (found,) = drive([self._job(0, document, "raise", [])])
        return replace(found, chunks=Namer().name(found.document.source, found.chunks))

    def chunk_many(
        self, documents: Iterable[str | Document], *, on_error: OnError = "raise", progress: Progress = None
    ) -> Results:
        """Return the chunks of each document; ids are unique over all of them.

        Models get the texts of many documents in full batches, and each distinct text once.

        Parameters
        ----------
        on_error : what to do about a document that fails: "raise"; "skip" it, with a warning in the
            log; "collect" it in the result's ``failures``; or a callable that is given each `Failure`.
        progress : called with the number of documents done; True shows a bar.
        """
        results, failures = Results(), list[Failure]()
        with Ticker(progress, documents) as tick:
            results.extend(tick(found) for found in self._stream(documents, on_error, failures))
        results.failures = failures
        return results

    async def achunk_many(
        self,
        documents: Iterable[str | Document],
        *,
        on_error: OnError = "raise",
        progress: Progress = None,
        concurrency: int = 4,
    ) -> Results:
        """Await `chunk_many`, with at most ``concurrency`` (>= 1) model calls under way."""
        results, failures, namer = Results(), list[Failure](), Namer()
        with Ticker(progress, documents) as tick:
            async for found in adrive(self._jobs(documents, on_error, failures), concurrency):
                results.append(tick(namer.name(found.document.source, found.chunks)))
        results.failures = failures
        return results

    def stream(self, documents: Iterable[str | Document], *, on_error: OnError = "raise") -> Iterator[list[Chunk]]:
        """Yield the chunks of each document as soon as they are known, in memory that does not grow."""
        return self._stream(documents, on_error, [])

    async def astream(
        self, documents: Iterable[str | Document], *, on_error: OnError = "raise", concurrency: int = 4
    ) -> AsyncIterator[list[Chunk]]:
        """Await `stream`."""
        namer = Namer()
        async for found in adrive(self._jobs(documents, on_error, []), concurrency):
            yield namer.name(found.document.source, found.chunks)

    def _stream(
        self, documents: Iterable[str | Document], on_error: OnError, failures: list[Failure]
    ) -> Iterator[list[Chunk]]:
        namer = Namer()
        for found in drive(self._jobs(documents, on_error, failures)):
            yield namer.name(found.document.source, found.chunks)

    def _jobs(
        self, documents: Iterable[str | Document], on_error: OnError, failures: list[Failure]
    ) -> Iterator[Job[Explanation]]:
        rule = "on_error must be 'raise', 'skip', 'collect' or a callable"
        require(
            on_error in {"raise", "skip", "collect"} if isinstance(on_error, str) else callable(on_error),
            rule,
            on_error,
        )
        require(
            not isinstance(documents, (str, Document)), "documents must be several; for one there is chunk", documents
        )
        self.open()
        return (self._job(i, document, on_error, failures) for i, document in enumerate(documents))

    def _job(
        self, index: int, document: str | Document, on_error: OnError, failures: list[Failure], instead_of: str = ""
    ) -> Job[Explanation]:
        """Return the job of chunking one document; if it fails, the fallback's; if that fails, what is asked for."""
        source = document.source if isinstance(document, Document) else ""

        def recover(error: Exception) -> Job[Explanation]:
            if self.fallback is not None:
                _log.warning(
                    "document %d (%r): %s failed (%s: %s), chunked with %s",
                    index, source, self.algorithm, type(error).__name__, error, self.fallback.algorithm,
                )  # fmt: skip
                return self.fallback._job(index, document, on_error, failures, self.algorithm)
            if on_error == "raise":
                error.add_note(f"in document {index} ({source!r})")
                raise error
            failure = Failure(index, source, error)
            if callable(on_error):
                on_error(failure)
            elif on_error == "collect":
                failures.append(failure)
            else:
                _log.warning("document %d (%r) skipped: %s: %s", index, source, type(error).__name__, error)
            return Job(finished(Explanation(Document("", id=source), [])))

        return Job(self._checked(document, instead_of), self.timeout, recover)

    def _checked(self, given: str | Document, instead_of: str) -> Plan[Explanation]:
        document = given if isinstance(given, Document) else Document(given)
        if not document.text.strip():
            return Explanation(document, [])
        if document.blocks is None:
            layout = markdown.blocks(document.text) if self.markup == "markdown" else ()
            document = replace(document, blocks=layout)
        found = yield from self.plan(document)
        return replace(found, chunks=self._described(found, instead_of))

    def _described(self, found: Explanation, instead_of: str) -> list[Chunk]:
        """Return the chunks with what the document, its headings and the algorithm say of each."""
        document = found.document
        headings = Headings(document.text, document.blocks or ())
        ran = {"chunker": self.algorithm, "fallback_from": instead_of} if instead_of else {}
        chunks = []
        for index, chunk in enumerate(found.chunks):
            metadata = copy.deepcopy(dict(document.metadata)) if document.metadata else {}
            metadata |= chunk.metadata
            if path := headings.path(chunk.start):
                metadata |= {"section": path[-1], "title_path": " > ".join(path)}
            if self.add_scores and chunk.end < len(document.text):
                cut = found.cut_at(chunk.end)
                metadata |= {"cut": cut.reason}
                metadata |= {} if cut.score is None else {"cut_score": round(cut.score, 4)}
            metadata |= {**self.remarks(chunk, index), **ran}
            chunks.append(replace(chunk, metadata=metadata, source_spans=document.source_spans(chunk.spans)))
        return chunks

    # What subclasses use, and may override.

    def open(self) -> None:
        """Load what is given by name, so that an error comes before any work."""
        _ = self.counter
        if self.fallback is not None:
            self.fallback.open()
        tiling.as_tiler(self.sentence_splitter, self.language)

    def remarks(self, chunk: Chunk, index: int) -> dict[str, Any]:
        """Return what this algorithm writes into the metadata of its chunk number ``index``."""
        return {}

    @property
    def counter(self) -> Counter:
        """What counts tokens."""
        return as_counter(self.tokenizer)

    def limits(self, document: Document) -> Limits:
        """Return the token budget of the chunks of a document."""
        limits = Limits(self.max_tokens, self.min_tokens, self.overlap_tokens, self.counter)
        return limits._replace(context=Contexts(document, limits)) if self.include_context else limits

    def tile(self, document: Document) -> Units:
        """Return the units the algorithm reasons about (sentences), each within the token budget, with strengths."""
        return self.fitted(document, tiled(document, tiling.as_tiler(self.sentence_splitter, self.language)))

    def fitted(self, document: Document, units: Units) -> Units:
        """Return units that also end where blocks do, leave protected blocks whole, and are within the budget."""
        protected = np.array(markdown.protected(document.blocks or ()), dtype=np.int64).reshape(-1, 2)
        ladder = (tiling.paragraphs, tiling.as_tiler(self.sentence_splitter, self.language), *sizes.PROSE[2:])

        def rungs(offset: int) -> Sequence[tiling.Tiler]:
            inside = np.searchsorted(protected[:, 0], offset, "right") - 1
            return sizes.VERBATIM if inside >= 0 and offset < protected[inside, 1] else ladder

        return sizes.fit(with_blocks(units, document), self.limits(document), rungs)

    def fingerprint(self) -> str:
        """Return 16 hex digits that change whenever the chunks may, by parameters or resources."""
        resources = [_identity(getattr(self, f.name)) for f in fields(self) if f.metadata.get("resource")]
        return hashlib.sha256("|".join([super().fingerprint(), *resources]).encode()).hexdigest()[:16]


@dataclass(kw_only=True)
class LinearChunker(Chunker):
    """Needs no model: a subclass writes `segment` of the units."""

    @abstractmethod
    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Return the segmentation of at least two units."""

    def plan(self, document: Document) -> Plan[Explanation]:
        """Segment the units."""
        yield from ()  # asks for nothing
        units, limits = self.tile(document), self.limits(document)
        found = self.segment(units, limits) if len(units) > 1 else Segmentation(np.array([0, 1]))
        return Explanation(document, sizes.assemble(units, found.cuts, limits), units, found)


@dataclass(kw_only=True)
class EmbeddingChunker(Chunker):
    """Needs an embedder: a subclass writes `segment` of the units, given their vectors.

    Parameters
    ----------
    embedder : anything `models.embedders.as_embedder` takes; None is the embedded default.
    batch_size : texts a model call, >= 1; None is the model's own choice, else 1024.
    cache : keeps embeddings between runs: the path of a file, a ``dict``, or a `cache.Store`.
    """

    embedder: Any = field(default=None, repr=False, metadata=RESOURCE)
    batch_size: int | None = field(default=None, repr=False, metadata=RESOURCE)
    cache: Any = field(default=None, repr=False, metadata=RESOURCE)

    @abstractmethod
    def segment(self, units: Units, vectors: Floats, limits: Limits) -> Segmentation:
        """Return the segmentation of at least two units, from their (n, d) unit vectors."""

    def check(self) -> None:
        """Add the rules for the embedder."""
        super().check()
        require(self.batch_size is None or self.batch_size >= 1, "batch_size must be >= 1 or None", self.batch_size)
        if not isinstance(self.embedder, str):  # a name is looked up when it is needed
            with_cache(as_embedder(self.embedder), self.cache)

    def open(self) -> None:
        """Load the embedder too."""
        super().open()
        _ = self.model

    @property
    def model(self) -> Any:
        """The embedder that is asked."""
        return with_cache(as_embedder(self.embedder, self.batch_size), self.cache)

    @property
    def counter(self) -> Counter:
        """What counts tokens: the embedder's own tokenizer, unless another is given."""
        return as_counter(self.tokenizer, as_embedder(self.embedder))

    def plan(self, document: Document) -> Plan[Explanation]:
        """Embed the units, then build chunks."""
        units, limits = self.readable(document, self.tile(document)), self.limits(document)
        if len(units) == 1:
            found = Segmentation(np.array([0, 1]))
            return Explanation(document, sizes.assemble(units, found.cuts, limits), units, found)
        vectors = yield from self.vectors(units)
        found = self.segment(units, vectors, limits)
        if found.labels is None:
            return Explanation(document, sizes.assemble(units, found.cuts, limits, vectors), units, found)
        return Explanation(document, sizes.gather(units, found.labels, limits, vectors), units, found)

    def vectors(self, units: Units) -> Plan[Floats]:
        """Ask for the vector of each unit."""
        answer: Floats = yield Embed(tuple(units.strings()), self.model)
        return answer

    def readable(self, document: Document, units: Units) -> Units:
        """Split the units that the embedder could not read whole; most would cut them off without a word."""
        embedder = as_embedder(self.embedder)
        if embedder.max_tokens is None:
            return units
        counter = embedder.counter
        if counter is self.counter and units.sizes is not None and units.sizes.max(initial=0) <= embedder.max_tokens:
            return units
        finer = sizes.fit(replace(units, sizes=None), Limits(embedder.max_tokens, 0, 0, counter))
        return sizes.fit(replace(finer, sizes=None), self.limits(document))


def _identity(resource: Any) -> str:
    return resource.fingerprint() if isinstance(resource, Chunker) else identity(resource)
