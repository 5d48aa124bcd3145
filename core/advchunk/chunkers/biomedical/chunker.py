"""Biomedical abstracts: sections stay whole while they fit, and numbers with what they are compared with."""

from __future__ import annotations

import copy
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar
from uuid import UUID, uuid5

import numpy as np

from advchunk import sizes
from advchunk.chunkers.base import LinearChunker
from advchunk.chunkers.biomedical.costs import Headers, Prices, mesh_lines, title_lines
from advchunk.chunkers.biomedical.quantities import keeping
from advchunk.chunkers.params import Params, at_least
from advchunk.engine import Plan, completed
from advchunk.errors import ConfigurationError, require
from advchunk.layout import tile_prose
from advchunk.readers import abstracts
from advchunk.readers.formats import compose_offsets, detect_format
from advchunk.records import Chunk, Document, Explanation, Segmentation, Span, SpanSet, Units
from advchunk.sizes import Limits, RunSizes
from advchunk.text import splitters, tiling
from advchunk.text.counters import Counter

NAMESPACE = "1b2c3d4e-0000-0000-0000-000000000000"
"""Bio-MCP's own, of the ids of its chunks."""


@dataclass(kw_only=True)
class BiomedicalAbstractParams(Params):
    """Chunk a PubMed abstract so that a claim, its numbers and their comparator stand in one chunk.

    The text is normalized (`readers.abstracts`). A section is a chunk; neighbors of less than ``min_tokens`` are merged,
    and so are Results and Conclusions that are within ``target_tokens`` together; a section that is over ``max_tokens``
    is cut between sentences into windows that aim at ``target_tokens``, 250-350 for 325, and repeat the end of the window
    before. So is an abstract without sections, unless it fits whole. No window parts a sentence with a statistic from the one
    with its comparator (`claims.numeric_claims`), if that takes it no further than 15 % over the target; and nothing is
    cut within a quantity, a comparison of numbers, or parentheses with a number in them. Of all the ways to do so the best
    is found by dynamic programming: the rules have prices, and of any two the weightier decides.

    A chunk's context is ``[Section]`` and, for the first, ``[Title]``; it counts. Metadata has ``chunk_id`` ("s0", "s1" ...
    under sections, else "w0" ...), ``uuid`` of the parent and that, ``parent_uid`` (if not given, "pubmed:<pmid>", else the
    document's id, else a hash of what it says), ``source``, ``chunk_idx``, ``title``, ``section`` (several are parted by
    commas), ``tokens``, ``n_sentences``, ``published_at`` and ``chunker_version``. An article without abstract gets one
    chunk without text, whose context is its title.

    Departs from the strategy: its heading pattern takes "Double-blind" for a heading, so only known names are headings; it
    leaves labels out of the text, here they stay; its MeSH suffix stands in the context, before the text; and what its
    prose leaves open (which neighbor to merge with, where windows end) is decided for the whole abstract at once.

    Parameters
    ----------
    max_tokens : tokens that no chunk exceeds, context included, >= 1.
    min_tokens : smaller sections are merged with a neighbor where the result still fits, 0..max_tokens; its default
        gives way to a smaller max_tokens.
    overlap_tokens : at most this many tokens of the window before are repeated in the next, in whole sentences;
        0..max_tokens - 1.
    include_context : give each chunk its context; without, an article without abstract has no chunk.
    target_tokens : tokens of a window, context and repeated text included, 1..max_tokens; its default gives way to a
        smaller max_tokens. A larger one needs a larger max_tokens.
    short_tokens : an abstract of fewer tokens is one chunk, whatever its sections, >= 0.
    title_chunk : give the title a chunk of its own, without text, before the others; a short abstract keeps it.
    mesh : add the ``mesh`` terms in the metadata to the context of a short abstract, and of an article without one.
    normalize : False takes the text as it is, with the layout that ``markup`` says.
    namespace : UUID that ``uuid`` is made in.
    chunker_version : is written into the metadata.

    References
    ----------
    Bio-MCP, "Chunking Strategy", v1.2.0, 2025.
    """

    algorithm: ClassVar[str] = "biomedical-abstract"

    max_tokens: int = 450
    min_tokens: int = 120
    overlap_tokens: int = 50
    include_context: bool = True
    target_tokens: int = 325
    short_tokens: int = 80
    title_chunk: bool = False
    mesh: bool = False
    normalize: bool = True
    namespace: str = NAMESPACE
    chunker_version: str = "v1.2.0"

    def check(self) -> None:
        """Add the rules for the target, and let the default of ``min_tokens`` give way."""
        settled = copy.copy(self)
        settled.min_tokens = self.least
        super(BiomedicalAbstractParams, settled).check()
        at_least(1, self, "target_tokens")
        at_least(0, self, "short_tokens")
        usual = self.target_tokens == BiomedicalAbstractParams.target_tokens
        rule = f"target_tokens must be at most max_tokens = {self.max_tokens}"
        require(usual or self.target_tokens <= self.max_tokens, rule, self.target_tokens)
        try:
            UUID(self.namespace)
        except ValueError:
            msg = f"namespace must be a UUID, got {self.namespace!r}"
            raise ConfigurationError(msg) from None

    @property
    def least(self) -> int:
        """``min_tokens``, unless it is a default that is over ``max_tokens``."""
        usual = self.min_tokens == BiomedicalAbstractParams.min_tokens
        return min(self.min_tokens, self.max_tokens) if usual else self.min_tokens

    @property
    def aim(self) -> int:
        """``target_tokens``, unless it is a default that is over ``max_tokens``: then as large a share of that."""
        if self.target_tokens <= self.max_tokens:
            return self.target_tokens
        usual = BiomedicalAbstractParams
        return max(self.max_tokens * usual.target_tokens // usual.max_tokens, 1)


_NO_ABSTRACTS = frozenset({"tei", "jats", "docling"})

# What a sentence that is too long is cut into.
_LADDER = (keeping(tiling.clauses), keeping(tiling.words), tiling.words, tiling.graphemes, tiling.characters)


@dataclass(kw_only=True)
class BiomedicalAbstractChunker(BiomedicalAbstractParams, LinearChunker):
    """Chunk an abstract by its sections (`BiomedicalAbstractParams`).

    >>> text = "AIM: To test X. RESULTS: X lowered weight by 4.1 kg (p = 0.03). CONCLUSION: X works."
    >>> [chunk] = BiomedicalAbstractChunker().chunk(Document(text, "pubmed:7", metadata={"title": "A trial of X"}))
    >>> print(chunk.context)
    [Title] A trial of X
    [Section] Objective, Results, Conclusions
    >>> chunk.metadata["chunk_id"], chunk.metadata["uuid"]
    ('s0', '52de1187-5753-548c-aa75-3cf262ecadbb')
    """

    def read(self, document: Document) -> Document:
        """Return the normalized abstract with its sections, unless it comes with a layout."""
        if document.blocks is not None:
            return document
        if not self.normalize:
            layout, labels = super().read(document).blocks or (), abstracts.find_labels(document.text)
            return replace(document, blocks=abstracts.section_blocks(document.text, labels, layout))
        if (written := detect_format(document.text)) in _NO_ABSTRACTS:
            msg = f"biomedical-abstract must be given an abstract or a PubMed record, got {written}: see markup= of other chunkers"
            raise ConfigurationError(msg)
        return compose_offsets(document, abstracts.read(document.text, id=document.id, metadata=document.metadata))

    def chunk_empty(self, document: Document) -> list[Chunk]:
        """Return one chunk, which is all context, of an article with a title and no abstract."""
        chunk = self._title_chunk(document, mesh=self.mesh)
        return [] if chunk is None else [replace(chunk, metadata=self._metadata(document, chunk, 0, "title"))]

    def limits(self, document: Document) -> Limits:
        """Return the token budget, under the context of a chunk that starts at an offset."""
        return self._limits(document, Headers(self, document))

    def _limits(self, document: Document, headers: Headers) -> Limits:
        sections = headers.sections
        return replace(
            super().limits(document),
            min_tokens=0,  # short sections are merged by section
            context=lambda offset: headers(sections.is_first(offset), sections.within(offset, offset + 1)),
            prose=_LADDER,
        )

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return labels and sentences, none of which ends within what belongs to a number."""
        sentences = keeping(splitters.as_tiler(self.sentence_splitter, self.language))
        return self.fit_units(document, tile_prose(document, sentences), limits)

    def plan(self, document: Document) -> Plan[Explanation]:
        """Decide on the whole abstract, then build each chunk, with what it repeats of the one before."""
        headers = Headers(self, document)
        limits = self._limits(document, headers)
        units = self.tile(document, limits)
        found = self._decided(units, limits, headers)
        return completed(Explanation(document, _built(units, found.cuts.tolist(), limits, headers), units, found))

    def segment(self, units: Units, limits: Limits) -> Segmentation:
        """Decide on given units, by the labels in their text."""
        layout = abstracts.section_blocks(units.text, abstracts.find_labels(units.text))
        return self._decided(units, limits, Headers(self, Document(units.text, blocks=layout)))

    def _decided(self, units: Units, limits: Limits, headers: Headers) -> Segmentation:
        """Return the cheapest segmentation; of equals, the one whose last chunk is longest."""
        prices = Prices(self, units, limits, headers)
        best, before = {0: 0}, dict[int, int]()
        for place, end in enumerate(prices.places[1:], start=1):
            options = list[tuple[int, int]]()
            for start in prices.places[place - 1 :: -1]:
                if options and prices.tokens(start, end) > self.max_tokens:
                    break
                if not options or prices.size(start, end) <= self.max_tokens:  # what is between two places is within it
                    options.append((best[start] + prices.of(start, end), start))
            best[end], before[end] = min(options)
        cuts = [len(units)]
        while cuts[-1]:
            cuts.append(before[cuts[-1]])
        reasons = ["section" if cut in prices.starts else "target" for cut in cuts[-2:0:-1]]
        return Segmentation(np.array(cuts[::-1]), reason=reasons)

    def postprocess(self, found: Explanation) -> Plan[list[Chunk]]:
        """Write the metadata of each chunk, and put the title before them, if it has a chunk of its own."""
        document, headers = found.document, Headers(self, found.document)
        title = None if headers.with_title else self._title_chunk(document)
        chunks = [] if title is None else [replace(title, metadata=self._metadata(document, title, 0, "title"))]
        kind, before = "s" if headers.sections.labels else "w", 0
        edges = [] if found.units is None else found.units.edges.tolist()
        sentences = np.array([edge not in headers.sections.labels for edge in edges])
        for number, chunk in enumerate(found.chunks):
            held = sentences[bisect_right(edges, chunk.start) - 1 : bisect_left(edges, chunk.end)]
            names = headers.sections.within(before, chunk.end)  # of what it does not repeat
            said = {"section": ", ".join(names), "n_sentences": int(held.sum())}
            known = self._metadata(document, chunk, len(chunks), f"{kind}{number}")
            chunks.append(replace(chunk, metadata={**chunk.metadata, **known, **said}))
            before = chunk.end
        return completed(chunks)

    def _title_chunk(self, document: Document, *, mesh: bool = False) -> Chunk | None:
        lines = [*title_lines(document), *(mesh_lines(document) if mesh else [])]
        if not self.include_context or not title_lines(document):
            return None
        counter = self.counter
        fitting = (text for text in ("\n".join(lines), lines[0]) if counter(text) <= self.max_tokens)
        context = next(fitting, None) or _beginning(lines[0], self.max_tokens, counter)
        return Chunk("", (), counter(context), context=context) if context else None

    def _metadata(self, document: Document, chunk: Chunk, index: int, chunk_id: str) -> dict[str, Any]:
        given = dict(document.metadata)
        pmid = given.get("pmid")
        parent = str(given.get("parent_uid") or (f"pubmed:{pmid}" if pmid else document.id or _hashed(document)))
        return given | {
            "chunk_id": chunk_id,
            "uuid": str(uuid5(UUID(self.namespace), f"{parent}:{chunk_id}")),
            "parent_uid": parent,
            "source": given.get("source") or "pubmed",
            "chunk_idx": index,
            "tokens": chunk.tokens,
            "chunker_version": self.chunker_version,
        }


def _built(units: Units, cuts: Sequence[int], limits: Limits, headers: Headers) -> list[Chunk]:
    """Build each chunk; one that starts within a section repeats the end of the one before."""
    chunks, edges = list[Chunk](), units.edges.tolist()
    fresh = set(headers.sections.units(edges))
    for before, start, end in zip([0, *cuts], cuts, cuts[1:], strict=False):
        first = start if start in fresh else before
        origin, names = edges[first], headers.sections.within(edges[start], edges[end])
        here = _moved(limits, origin, edges[start], headers(start == 0, names), headers(False, names))
        here = replace(here, overlap_tokens=0) if first == start else here
        made = sizes.assemble(units.part(first, end), np.array([start - first, end - first]), here)
        chunks += [replace(chunk, spans=tuple(Span(a + origin, b + origin) for a, b in chunk.spans)) for chunk in made]
    return chunks


def _moved(limits: Limits, origin: int, start: int, own: tuple[str, int], other: tuple[str, int]) -> Limits:
    """Return limits of a text that begins at ``origin``, with a chunk of it at ``start``; it repeats whole sentences only."""
    whole = SpanSet([Span(0, sys.maxsize)])
    return replace(limits, context=lambda at: own if at + origin == start else other, verbatim=whole)


def _hashed(document: Document) -> str:
    """Name a document by what it says: else the chunks of all that have no name would have the same ids."""
    said = f"{document.metadata.get('title', '')}\n{document.text}".encode("utf-8", "surrogatepass")
    return f"sha256:{sha256(said).hexdigest()}"


def _beginning(text: str, most: int, counter: Counter) -> str:
    """Return as many words of a text as are within ``most`` tokens."""
    words = tiling.words(text)
    end = RunSizes(words, counter).furthest(0, len(words), most)
    fitting = text[: words.edges[end]].rstrip()
    return fitting if counter(fitting) <= most else ""
