"""Biomedical abstracts: sections stay whole if they fit, and numbers stay with their comparators."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid5

import numpy as np

from advchunk.building import sizes
from advchunk.building.layout import tile_prose
from advchunk.building.sizes import Limits, RunSizes
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.biomedical.abstract_costs import AbstractCosts
from advchunk.chunkers.biomedical.context import ContextBuilder, mesh_lines, title_lines
from advchunk.chunkers.biomedical.params import BiomedicalAbstractParams
from advchunk.chunkers.biomedical.quantities import QuantityTiler
from advchunk.chunkers.explanations import Explanation
from advchunk.engine import Plan, completed
from advchunk.errors import require
from advchunk.readers.formats import compose_offsets, detect_format
from advchunk.readers.pubmed import reader
from advchunk.readers.pubmed.labels import find_labels, section_blocks
from advchunk.records import Chunk, Document, Origin, Segmentation, Span, SpanSet, Units, write_metadata
from advchunk.text import splitters, tiling
from advchunk.text.counters import Counter

_NOT_ABSTRACTS = frozenset({"tei", "jats", "docling"})
# How a sentence that is too long is split.
_WITH_QUANTITIES = QuantityTiler(tiling.clauses), QuantityTiler(tiling.words)
_SPLIT_LEVELS = (*_WITH_QUANTITIES, tiling.words, tiling.graphemes, tiling.characters)


@dataclass(kw_only=True)
class BiomedicalAbstractChunker(BiomedicalAbstractParams, LinearChunker):
    """Chunk an abstract by its sections (`BiomedicalAbstractParams`).

    >>> text = "AIM: To test X. RESULTS: X lowered weight by 4.1 kg (p = 0.03). CONCLUSION: X works."
    >>> [chunk] = BiomedicalAbstractChunker().chunk(Document(text, "pubmed:7", metadata={"title": "A trial of X"}))
    >>> print(chunk.context)
    [Title] A trial of X
    [Section] Objective, Results, Conclusions
    [Text]
    >>> chunk.metadata["chunk_id"], chunk.metadata["uuid"]
    ('s0', '52de1187-5753-548c-aa75-3cf262ecadbb')
    """

    def read(self, document: Document) -> Document:
        """Return the normalized abstract with its sections, unless it has a layout already."""
        if document.blocks is not None:
            return document
        if not self.normalize:
            layout, labels = super().read(document).blocks or (), find_labels(document.text)
            return replace(document, blocks=section_blocks(document.text, labels, layout))
        markup = detect_format(document.text)
        require(markup not in _NOT_ABSTRACTS, "biomedical-abstract needs an abstract or a PubMed record", markup)
        return compose_offsets(document, reader.read(document.text, id=document.id, metadata=document.metadata))

    def chunk_empty(self, document: Document) -> list[Chunk]:
        """Return one chunk of context alone for an article with a title but no abstract."""
        return self._title_chunks(document, [*title_lines(document), *(mesh_lines(document) if self.mesh else [])])

    def limits(self, document: Document) -> Limits:
        """Return the limits, with the context of a chunk that starts at an offset."""
        return self._limits(document, ContextBuilder(self, document, self.counter))

    def _limits(self, document: Document, contexts: ContextBuilder) -> Limits:
        limits = super().limits(document)  # short sections are merged by their cost, not by a minimum
        return replace(limits, min_tokens=0, context=contexts.at, prose=_SPLIT_LEVELS)

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return labels and sentences; none ends within a quantity."""
        sentences = QuantityTiler(splitters.as_tiler(self.sentence_splitter, self.language))
        return self.fit_units(document, tile_prose(document, sentences), limits)

    def plan(self, document: Document) -> Plan[Explanation]:
        """Decide on the whole abstract, then build each chunk with the text that it repeats."""
        contexts = ContextBuilder(self, document, self.counter)
        limits = self._limits(document, contexts)
        units = self.tile(document, limits)
        segmentation = self._cheapest(units, limits, contexts)
        chunks = _build_chunks(units, segmentation.cuts.tolist(), limits, contexts)
        return completed(Explanation(document, chunks, units, segmentation))

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Decide on units by the labels in their text."""
        layout = section_blocks(units.text, find_labels(units.text))
        return self._cheapest(units, limits, ContextBuilder(self, Document(units.text, blocks=layout), self.counter))

    def _cheapest(self, units: Units, limits: Limits, contexts: ContextBuilder) -> Segmentation:
        costs = AbstractCosts(self, units, limits, contexts)
        cuts = costs.cheapest()
        reasons = ["section" if cut in costs.starts else "target" for cut in cuts[-2:0:-1]]
        origins: list[Origin] = ["structure" if reason == "section" else "size" for reason in reasons]
        return Segmentation(np.array(cuts[::-1]), reason=reasons, origins=origins)

    def postprocess(self, explanation: Explanation) -> Plan[list[Chunk]]:
        """Add the metadata of each chunk, and put the title's chunk first."""
        document, contexts = explanation.document, ContextBuilder(self, explanation.document, self.counter)
        sections, previous_end, prefix = contexts.sections, 0, "s" if contexts.sections.labels else "w"
        parent = _parent(document)
        chunks = [] if contexts.with_title else self._title_chunks(document, title_lines(document))
        edges = [] if explanation.units is None else explanation.units.edges.tolist()
        is_sentence = np.array([edge not in sections.labels for edge in edges])
        for number, chunk in enumerate(explanation.chunks):
            first, last = bisect_right(edges, chunk.start) - 1, bisect_left(edges, chunk.end)
            written = self._metadata(document, parent, chunk, len(chunks), f"{prefix}{number}")
            written["section"] = ", ".join(sections.names(previous_end, chunk.end))  # without those of repeated text
            written["n_sentences"] = int(is_sentence[first:last].sum())
            chunks.append(replace(chunk, metadata=write_metadata(chunk.metadata, written)))
            previous_end = chunk.end
        return completed(chunks)

    def _title_chunks(self, document: Document, lines: Sequence[str]) -> list[Chunk]:
        """Return the chunk without text whose context is the first line, the title, and others that fit; [] if none."""
        if not self.include_context or not title_lines(document):
            return []
        counter = self.counter
        fitting = (text for text in ("\n".join(lines), lines[0]) if counter(text) <= self.max_tokens)
        context = next(fitting, None) or _truncate_words(lines[0], self.max_tokens, counter)
        chunk = Chunk("", (), counter(context), context=context)
        metadata = write_metadata(document.metadata, self._metadata(document, _parent(document), chunk, 0, "title"))
        return [replace(chunk, metadata=metadata)] if context else []

    def _metadata(self, document: Document, parent: str, chunk: Chunk, index: int, chunk_id: str) -> dict[str, Any]:
        """Return the metadata of a chunk; a parent or source that the document names is not repeated."""
        of_document = {"parent_uid": parent, "source": "pubmed"}
        return {key: value for key, value in of_document.items() if not document.metadata.get(key)} | {
            "chunk_id": chunk_id,
            "uuid": str(uuid5(UUID(self.namespace), f"{parent}:{chunk_id}")),
            "chunk_idx": index,
            "tokens": chunk.tokens,
            "chunker_version": self.chunker_version,
        }


def _build_chunks(units: Units, cuts: Sequence[int], limits: Limits, contexts: ContextBuilder) -> list[Chunk]:
    """Build each chunk; one that starts within a section repeats the end of the one before."""
    chunks, edges = list[Chunk](), units.edges.tolist()
    section_starts = set(contexts.sections.first_units(edges))
    for before, start, end in zip([0, *cuts], cuts, cuts[1:], strict=False):
        repeated = max(before, sizes.first_repeated(units.text, edges, chunks[-1])) if chunks else 0
        first = start if start in section_starts else min(repeated, start)
        origin, names = edges[first], contexts.sections.names(edges[start], edges[end])
        shifted = _shift(limits, origin, edges[start], contexts.of(start == 0, names), contexts.of(False, names))
        shifted = replace(shifted, overlap_tokens=0) if first == start else shifted
        built = sizes.assemble(units.part(first, end), np.array([start - first, end - first]), shifted)
        chunks += [replace(chunk, spans=tuple(Span(a + origin, b + origin) for a, b in chunk.spans)) for chunk in built]
    return chunks


def _shift(limits: Limits, origin: int, start: int, own: tuple[str, int], other: tuple[str, int]) -> Limits:
    """Return limits of a text from ``origin`` on, whose chunk at ``start`` repeats whole sentences only."""
    whole = SpanSet([Span(0, sys.maxsize)])
    return replace(limits, verbatim=whole, own_levels=None, context=lambda at: own if at + origin == start else other)


def _parent(document: Document) -> str:
    """Return the ``parent_uid`` of the chunks of a document; without an id, one by its content, so that they differ."""
    pmid = document.metadata.get("pmid")
    content = f"{document.metadata.get('title', '')}\n{document.text}".encode("utf-8", "surrogatepass")
    name = f"pubmed:{pmid}" if pmid else document.id or f"sha256:{sha256(content).hexdigest()}"
    return str(document.metadata.get("parent_uid") or name)


def _truncate_words(text: str, max_tokens: int, counter: Counter) -> str:
    words = tiling.words(text)
    end = RunSizes(words, counter).furthest(0, len(words), max_tokens)
    fitting = text[: words.edges[end]].rstrip()
    return fitting if counter(fitting) <= max_tokens else ""
