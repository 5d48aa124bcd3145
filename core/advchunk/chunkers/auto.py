"""Chunk each document with the chunker for its format."""

import logging
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, ClassVar

from advchunk import registry
from advchunk.building.sizes import Limits
from advchunk.chunkers import gate
from advchunk.chunkers.base import Chunker, VectorsChunker
from advchunk.chunkers.catalog import chunker_class, create_default, default_chunker
from advchunk.chunkers.explanations import Explanation
from advchunk.chunkers.params import Params, parameters, resources
from advchunk.chunkers.vectors import ChunkVectors
from advchunk.engine import Job, Plan, completed
from advchunk.engine.runner import Failure, OnFailure
from advchunk.errors import ConfigurationError
from advchunk.readers import formats
from advchunk.records import Document, Segmentation, Units, evolve, write_metadata, written_metadata

_log = logging.getLogger("advchunk")


@cache
def _report_stable(name: str, markup: str, experimental: str) -> None:
    """Log once that a stable chunker takes the documents of a format, and how the one for them is allowed."""
    message = "%s documents are cut by %s: %s, which is for them, is experimental (experimental=True, --experimental)"
    _log.warning(message, markup, name, experimental)


@dataclass(kw_only=True)
class AutoParams(Params):
    """Chunk each document with the chunker for its format, recorded in the metadata as ``chunker``.

    GROBID's TEI goes to ``grobid-section``, Docling's JSON and pages to ``layout-aware``, PubMed's records to
    ``biomedical-abstract``; tables of separated values, and records of JSON and YAML to ``recursive``; Markdown, plain
    text, source code, HTML, JATS and other XML to ``optimal-semantic``, with chunks of 64 tokens or more. The first two
    are experimental: unless experimental chunkers are allowed, such a document goes to ``optimal-semantic``, too, which
    the log says once. Chunkers of other packages may name the formats that they are for (`registry`). A document from a
    reader is dispatched by its ``markup``; any other document with a layout is treated as text, or as separated values
    if it has tables alone. A parameter left at its default here takes the default of the document's chunker.

    Parameters
    ----------
    markup : the format of all documents; "auto" detects it for each (`readers.formats.detect_document_format`).
    experimental : allow experimental chunkers; None follows `advchunk.settings`.
    """

    algorithm: ClassVar[str] = "auto"
    version: ClassVar[int] = 15  # the sum of those of the chunkers
    markup: str = "auto"
    experimental: bool | None = None


@dataclass(kw_only=True)
class AutoChunker(AutoParams, VectorsChunker):
    r"""Chunk each document with the chunker for its format (`AutoParams`).

    >>> record = "PMID- 7\nTI  - A trial of tea.\nAB  - AIM: To see. RESULTS: It was seen."
    >>> [chunk.metadata["chunker"] for text in ("# Tea", record) for chunk in AutoChunker().chunk(text)]
    ['optimal-semantic', 'biomedical-abstract']
    """

    def chunker_for(self, document: str | Document) -> Chunker:
        """Return the chunker for a document."""
        document = document if isinstance(document, Document) else Document(document)
        markup, options = document.markup, dict[str, Any]()
        if document.blocks and all(block.kind == "table" for block in document.blocks):
            markup = markup or "csv"  # whose reader leaves the text as it is
        if document.blocks is None:
            markup = formats.detect_document_format(document) if self.markup == "auto" else self.markup
            options["markup"] = markup
        special = next((row.name for row in registry.rows_of("chunker") if markup in row.formats), None)
        chunker: Any = chunker_class(special) if special else default_chunker()
        if chunker.group == "experimental" and not gate.allows_experimental(self.experimental):
            _report_stable(default_chunker().algorithm, markup, chunker.algorithm)
            chunker = default_chunker()
        # Resources may have no useful ==.
        arguments = {name: value for name, value in parameters(self).items() if value != getattr(AutoChunker, name)}
        lent = {name: getattr(self, name) for name in resources(self)}
        arguments |= {name: value for name, value in lent.items() if value is not getattr(AutoChunker, name)}
        accepted = {field.name for field in fields(chunker)}
        arguments = {name: value for name, value in {**arguments, **options}.items() if name in accepted}
        chosen: Chunker = create_default(**arguments) if chunker is default_chunker() else chunker(**arguments)
        return chosen

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Decide on units as the default chunker does."""
        options = {name: getattr(self, name) for name in ("embedder", "batch_size", "cache", "max_tokens")}
        chunker: Any = create_default(**options)
        plan: Plan[Segmentation] = chunker.decide(units, limits)
        return plan

    def job(
        self,
        index: int,
        document: str | Document,
        on_failure: OnFailure,
        failed: str = "",
        vectors: ChunkVectors | None = None,
    ) -> Job[Explanation]:
        """Return the job of the document's chunker."""
        try:
            chunker = self.chunker_for(document)
        except ConfigurationError as error:
            source = document.source if isinstance(document, Document) else ""
            on_failure(Failure(index, source, error))
            return Job(completed(Explanation(Document("", id=source), [])))
        job = chunker.job(index, document, on_failure, failed, vectors)

        def add_chunker() -> Plan[Explanation]:
            explanation, name = (yield from job.plan), chunker.algorithm
            own = {"chunker": name}  # a fallback has written its own name
            written = (write_metadata(c.metadata, own | written_metadata(c.metadata)) for c in explanation.chunks)
            chunks = [evolve(c, metadata=metadata) for c, metadata in zip(explanation.chunks, written, strict=True)]
            return replace(explanation, chunks=chunks)

        return replace(job, plan=add_chunker())
