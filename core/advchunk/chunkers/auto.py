"""Chunk each document as what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from advchunk.chunkers import gate
from advchunk.chunkers.base import Chunker, VectorsChunker
from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.grobid import GrobidSectionChunker
from advchunk.chunkers.layout_aware import LayoutAwareChunker
from advchunk.chunkers.params import Params, parameters, resources
from advchunk.chunkers.universal import UniversalSemanticChunker, UniversalSemanticParams
from advchunk.engine import Job, Plan, completed
from advchunk.engine.runner import Failure, OnFailure
from advchunk.errors import ConfigurationError
from advchunk.readers.formats import Markup, detect_format
from advchunk.records import Document, Explanation, Segmentation, Units
from advchunk.sizes import Limits

_FOR: Mapping[str, type[Chunker]] = {
    "tei": GrobidSectionChunker,
    "docling": LayoutAwareChunker,
    "pages": LayoutAwareChunker,
    "pubmed": BiomedicalAbstractChunker,
}


@dataclass(kw_only=True)
class AutoParams(Params):
    """Chunk each document as what it is written in asks for; its metadata says by which ``chunker``.

    GROBID's TEI goes to `GrobidSectionChunker`, Docling's JSON and pages to `LayoutAwareChunker` (both are experimental:
    while they are not allowed, such a document is an error that says how to allow them), PubMed's records to
    `BiomedicalAbstractChunker`; Markdown, plain text, HTML and JATS to `UniversalSemanticChunker`. So does a document that a
    reader has read, by its ``markup``; another one with a layout is a text. A parameter that has its default here has
    that of the chunker there.

    Parameters
    ----------
    max_tokens : tokens that no chunk exceeds, context included, >= 1; the default is the largest of theirs.
    markup : what all documents are written in; "auto" tells it from the text of each (`readers.formats.detect_format`).
    experimental : whether experimental chunkers are allowed; None is what `advchunk.settings` says.
    """

    algorithm: ClassVar[str] = "auto"
    version: ClassVar[int] = UniversalSemanticChunker.version + sum(chunker.version for chunker in set(_FOR.values()))
    max_tokens: int = UniversalSemanticParams.max_tokens
    markup: Markup = "auto"
    experimental: bool | None = None


@dataclass(kw_only=True)
class AutoChunker(AutoParams, VectorsChunker):
    r"""Chunk each document as what it is written in asks for (`AutoParams`).

    >>> record = "PMID- 7\nTI  - A trial of tea.\nAB  - AIM: To see. RESULTS: It was seen."
    >>> [chunk.metadata["chunker"] for text in ("# Tea", record) for chunk in AutoChunker().chunk(text)]
    ['universal-semantic', 'biomedical-abstract']
    """

    def chunker_for(self, document: str | Document) -> Chunker:
        """Return the chunker of a document.

        Raises
        ------
        ConfigurationError : it is experimental, and that is not allowed.
        """
        said = document if isinstance(document, Document) else Document(document)
        told = detect_format(said.text) if self.markup == "auto" else self.markup
        markup, known = (told, {"markup": told}) if said.blocks is None else (said.markup, {})
        chosen = _FOR.get(markup, UniversalSemanticChunker)
        if issubclass(chosen, ExperimentalChunker):
            gate.require_experimental(f"{chosen.algorithm}, which {markup} documents need,", self.experimental)
        given = {name: value for name, value in parameters(self).items() if value != getattr(AutoChunker, name)}
        lent = {name: getattr(self, name) for name in resources(self)}
        given |= {name: value for name, value in lent.items() if value is not getattr(AutoChunker, name)}
        theirs = {field.name for field in fields(chosen)}
        return chosen(**{name: value for name, value in {**given, **known}.items() if name in theirs})

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Decide on given units, which are of a text."""
        return UniversalSemanticChunker(
            embedder=self.embedder, batch_size=self.batch_size, cache=self.cache, max_tokens=self.max_tokens
        ).decide(units, limits)

    def job(self, index: int, document: str | Document, on_failure: OnFailure, failed: str = "") -> Job[Explanation]:
        """Return the job of the chunker that suits the document."""
        try:
            chosen = self.chunker_for(document)
        except ConfigurationError as error:
            source = document.source if isinstance(document, Document) else ""
            on_failure(Failure(index, source, error))
            return Job(completed(Explanation(Document("", id=source), [])))
        job = chosen.job(index, document, on_failure, failed)
        return replace(job, plan=_said(job.plan, chosen.algorithm))


def _said(plan: Plan[Explanation], chunker: str) -> Plan[Explanation]:
    """Write into the metadata of each chunk which chunker made it."""
    found = yield from plan
    named = [replace(chunk, metadata={"chunker": chunker, **chunk.metadata}) for chunk in found.chunks]
    return replace(found, chunks=named)
