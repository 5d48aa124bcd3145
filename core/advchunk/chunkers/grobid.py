"""Scientific papers: no chunk crosses a section, and each knows its part of Introduction, Methods, Results, Discussion."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.params import Params
from advchunk.chunkers.sections import SectionedChunker
from advchunk.engine import Plan
from advchunk.layout import block_spans
from advchunk.readers.formats import Markup
from advchunk.readers.markdown import heading_text
from advchunk.readers.papers import IMRAD, SectionHeading, parse_heading
from advchunk.records import Block, Chunk, Document, Explanation, Span, Strength, Units
from advchunk.sizes import Limits
from advchunk.text import tiling

_WHOLE = frozenset({"caption", "reference"})
_REFERENCES = frozenset({"references", "bibliography", "literature cited", "works cited", "literature"})


@dataclass(kw_only=True)
class GrobidSectionParams(Params):
    """Chunk a paper by its sections, as GROBID finds them in a PDF, and by IMRaD.

    A document is GROBID's TEI (`readers.tei`), or has a layout. No chunk crosses a heading; within a section ``inner``
    decides, which is `OptimalSemanticChunker` unless another is given. A table in Results is never cut, whatever its
    size; then its chunk is ``oversize``. Other tables, formulas and figures stay whole while they fit.

    By its head (`readers.papers`) a section is Introduction, Methods, Results or Discussion, or several of them: each of
    its chunks has ``imrad``, such as "Results, Discussion". What stands under it is the same, unless its own head names
    one of several. The names begin ``title_path``, and the context if it is wanted: what heads a section as its name
    does is replaced by it, and others follow it. So "3 Results" and "3.1 Accuracy" give "Results > 3.1 Accuracy", but "2
    Patients and Methods" gives "Methods > 2 Patients and Methods". What is none of these, such as the abstract,
    has no ``imrad``.

    Parameters
    ----------
    min_tokens : smaller sections share a chunk with a neighbor where the result still fits, but only under one
        outermost heading, and with the same ``imrad``; 0..max_tokens.
    markup : how a text that comes without a layout is read; what is no TEI is an error, unless it is said here.
    references : "keep" gives the list of references chunks of its own; "drop" leaves it out of the text.

    References
    ----------
    GROBID, https://grobid.readthedocs.io. Sollaci & Pereira 2004, "The introduction, methods, results, and discussion
    (IMRAD) structure: a fifty-year survey", J Med Libr Assoc 92.
    """

    algorithm: ClassVar[str] = "grobid-section"

    markup: Markup = "tei"
    references: Literal["keep", "drop"] = "keep"


@dataclass(kw_only=True)
class GrobidSectionChunker(GrobidSectionParams, ExperimentalChunker, SectionedChunker):
    r"""Chunk a paper by its sections (`GrobidSectionParams`).

    >>> paper = '<TEI><text><body><div><parse_heading n="3">Results</head><p>Weight fell.</p></div></body></text></TEI>'
    >>> (chunk,) = GrobidSectionChunker().chunk(paper)
    >>> chunk.text, chunk.metadata["imrad"]
    ('3 Results\n\nWeight fell.', 'Results')
    """

    def read(self, document: Document) -> Document:
        """Return the paper with its sections named, and without its references if they are not wanted."""
        found = super().read(document)
        if self.references == "drop":
            origin = np.arange(len(found.text) + 1) if found.text == document.text else None
            found = _without(replace(found, offsets=origin if found.offsets is None else found.offsets))
        return replace(found, blocks=_Sections(found).named())

    def hard_breaks(self, document: Document) -> Iterable[int]:
        """Return where sections start."""
        return _Sections(document).starts

    def limits(self, document: Document) -> Limits:
        """Return the token budget, by which tables in Results are not cut."""
        sections = _Sections(document)
        tables = [
            block
            for block in document.blocks or ()
            if block.kind == "table" and "Results" in sections.names_at(block.span.start)
        ]
        return replace(super().limits(document), atomic=block_spans(document, tables))

    def fit_units(self, document: Document, units: Units, limits: Limits) -> Units:
        """Return units within the budget: captions and references are whole while they fit, and captions lead to tables."""
        blocks = document.blocks or ()
        units = super().fit_units(document, _joined(units, blocks), limits)
        below = [
            table.span.start for above, table in pairwise(blocks) if (above.kind, table.kind) == ("caption", "table")
        ]
        if not below:
            return units
        return replace(units, strength=np.where(np.isin(units.edges, below), Strength.KEEP_WITH_NEXT, units.strength))

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return units with a wall before each section, but for one that joins a neighbor because it is short."""
        units = super().tile(document, limits)
        if not self.min_tokens:
            return units
        strength, sections = units.strength.copy(), _Sections(document)
        walls = units.hard_breaks().tolist()
        sizes = np.add.reduceat(units.token_counts(), walls).tolist()
        groups = [
            sections.group_at(max(edge, tiling.next_non_space(units.text, 0))) for edge in units.edges[walls].tolist()
        ]
        kept = _rooms(sizes, groups, self.min_tokens)
        strength[[wall for i, wall in enumerate(walls) if i not in kept]] = Strength.HEADING
        return replace(units, strength=strength)

    def postprocess(self, found: Explanation) -> Plan[list[Chunk]]:
        """Write what each chunk is a part of."""
        chunks = yield from super().postprocess(found)
        sections, first = _Sections(found.document), tiling.next_non_space(found.document.text, 0)
        return [_told(chunk, sections.names_at(max(chunk.start, first))) for chunk in chunks]


class _Sections:
    """The sections of a paper: where each starts, what it is a part of, and its outermost heading."""

    def __init__(self, document: Document) -> None:
        self._document, self.starts = document, list[int]()
        self._names, self._outermost, self._is_first = list[tuple[str, ...]](), list[int](), list[bool]()
        outer = self._outer([block for block in document.blocks or () if block.kind == "heading"])
        above: list[tuple[int, tuple[str, ...], bool]] = []
        for block in document.blocks or ():
            if block.kind == "heading":
                above = [each for each in above if each[0] < block.level]
                within, said = above[-1][1] if above else (), parse_heading(self._said(block))
                is_matter = said.rank == "matter" or any(each[2] for each in above)
                names = () if is_matter else _narrowed(said, within, is_outer=block.level <= outer)
                is_new = block.level <= outer or not self.starts
                self._outermost.append(len(self.starts) if is_new else self._outermost[-1])
                self._is_first.append(bool(names) and not within)
                self._names.append(names)
                self.starts.append(block.span.start)
                above.append((block.level, names, is_matter))
        self._texts = self._below()

    def _outer(self, headings: Sequence[Block]) -> int:
        """Return the level of the sections of the paper, above which its title may stand."""
        levels = [block.level for block in headings]
        if not levels:
            return 0
        first = parse_heading(self._said(headings[0]))
        has_title = not (first.rank or first.number) and levels[0] < min(levels[1:], default=0)
        return min(levels[has_title:])

    def _said(self, block: Block) -> str:
        return heading_text(self._document.text[slice(*block.span)])

    def _below(self) -> list[int]:
        """Return the section of the text that follows each heading: of headings that follow each other, the last one's."""
        blocks = self._document.blocks or ()
        stacked = {below.span.start for above, below in pairwise(blocks) if above.kind == below.kind == "heading"}
        texts = list(range(len(self.starts)))
        for i in reversed(range(len(texts) - 1)):
            if self.starts[i + 1] in stacked:
                texts[i] = texts[i + 1]
        return texts

    def _at(self, offset: int) -> int:
        """Return the section of a character, or of the text that follows if it stands in a heading; -1 before all."""
        place = bisect_right(self.starts, offset) - 1
        return self._texts[place] if place >= 0 else -1

    def names_at(self, offset: int) -> tuple[str, ...]:
        """Return what a character is a part of."""
        place = self._at(offset)
        return self._names[place] if place >= 0 else ()

    def group_at(self, offset: int) -> tuple[int, tuple[str, ...]]:
        """Return what sections must have in common to share a chunk."""
        place = self._at(offset)
        return (self._outermost[place], self._names[place]) if place >= 0 else (-1, ())

    def named(self) -> tuple[Block, ...]:
        """Return the blocks; the title of the outermost heading that names a part begins with that name."""
        found, place = list[Block](), 0
        for block in self._document.blocks or ():
            if block.kind == "heading":
                if self._is_first[place]:
                    block = replace(block, title=_titled(self._said(block), self._names[place]))  # noqa: PLW2901
                place += 1
            found.append(block)
        return tuple(found)


def _narrowed(said: SectionHeading, within: tuple[str, ...], *, is_outer: bool) -> tuple[str, ...]:
    """Return what a section is a part of: its head may narrow what the one around it is, and not contradict it."""
    if within:
        return tuple(name for name in said.names if name in within) or within
    # "2.1 Background" is no introduction of the paper; but each of several studies may have its methods.
    return said.names if is_outer or (said.rank == "section" and said.names != ("Introduction",)) else ()


def _titled(said: str, names: Sequence[str]) -> str:
    name = " and ".join(names)
    bare = parse_heading(said).title.replace("&", "and").strip(" .:")
    return name if bare.casefold() == name.casefold() else f"{name} > {said}"


def _told(chunk: Chunk, names: Sequence[str]) -> Chunk:
    """Return a chunk with what it is a part of; its section is named as it is in the paper."""
    if not names:
        return chunk
    metadata = {**chunk.metadata, "imrad": ", ".join(names)}
    if " > " in (section := str(metadata.get("section", ""))):
        first, _, own = section.partition(" > ")
        metadata["section"] = own if set(first.split(" and ")) <= set(IMRAD) else section
    return replace(chunk, metadata=metadata)


def _rooms(sizes: Sequence[int], groups: Sequence[object], least: int) -> set[int]:
    """Return which sections begin a room when each short one has joined its smaller neighbor of the same group."""
    rooms, i = list(zip(range(len(sizes)), sizes, groups, strict=True)), 0
    while i < len(rooms):
        pairs = [left for left in (i - 1, i) if 0 <= left < len(rooms) - 1 and rooms[left][2] == rooms[left + 1][2]]
        if rooms[i][1] >= least or not pairs:
            i += 1
            continue
        sums = {left: rooms[left][1] + rooms[left + 1][1] for left in pairs}
        i = min(pairs, key=sums.__getitem__)
        rooms[i : i + 2] = [(rooms[i][0], sums[i], rooms[i][2])]  # which may still be short: look again
    return {first for first, _, _ in rooms}


def _without(document: Document) -> Document:
    """Return a document without its references, and what heads them."""
    text, blocks = document.text, list[Block]()
    kept, last, level, behind = np.ones(len(text) + 1, dtype=bool), 0, 0, False
    for block in document.blocks or ():
        if block.kind == "heading" and (not level or block.level <= level):
            said = parse_heading(heading_text(text[slice(*block.span)])).title.casefold().strip(" .:")
            level = block.level if said in _REFERENCES else 0
        if level or block.kind == "reference":
            kept[last : block.span.end] = False
        else:
            blocks.append(block)
        last = block.span.end
        behind = not kept[last - 1]
    if behind:  # with the white space after it
        kept[last:-1] = False
    if kept.all():
        return document
    edges = [0, *(np.flatnonzero(np.diff(kept)) + 1).tolist(), len(kept)]
    left = "".join(text[start:end] for start, end in pairwise(edges) if kept[start])
    moved, offsets = np.cumsum(kept) - 1, document.offsets
    if offsets is not None:
        stay = np.flatnonzero(kept[:-1])
        offsets = offsets[np.append(stay, stay[-1:] + 1 if len(stay) else 0)]
    spans = [Span(int(moved[block.span.start]), int(moved[block.span.end - 1]) + 1) for block in blocks]
    shifted = tuple(replace(block, span=span) for block, span in zip(blocks, spans, strict=True))
    return replace(document, text=left, blocks=shifted, offsets=offsets)


def _joined(units: Units, blocks: Iterable[Block]) -> Units:
    """Return units that do not end within captions and references."""
    whole = np.array([block.span for block in blocks if block.kind in _WHOLE], dtype=np.int64).reshape(-1, 2)
    if not len(whole):
        return units
    block = np.searchsorted(whole[:, 0], units.edges) - 1  # the last that starts before the edge
    return Units(units.text, units.edges[(block < 0) | (units.edges >= whole[block, 1])])
