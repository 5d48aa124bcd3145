"""Scientific papers by section: each chunk has its part of Introduction, Methods, Results and Discussion."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from advchunk.building.layout import block_spans
from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.explanations import Explanation
from advchunk.chunkers.params import Params
from advchunk.chunkers.sections import SectionedChunker
from advchunk.engine import Plan
from advchunk.readers.imrad import IMRAD, SectionHeading, parse_heading
from advchunk.readers.markdown import heading_text
from advchunk.records import Block, Chunk, Document, Span, Units, write_metadata, written_metadata

_WHOLE = frozenset({"caption", "reference"})
_REFERENCES = frozenset({"references", "bibliography", "literature cited", "works cited", "literature"})


@dataclass(kw_only=True)
class GrobidSectionParams(Params):
    """Chunk a paper by its sections, as GROBID finds them in a PDF, and by IMRaD.

    A document is GROBID's TEI (`readers.papers.tei`), or has a layout. No chunk crosses a heading. ``inner``, by
    default an `OptimalSemanticChunker`, cuts each section. A table in Results is never cut; its chunk may be
    ``oversize``. Other tables, formulas and figures stay whole while they fit.

    The heading of a section (`readers.imrad`) determines its parts (Introduction, Methods, Results, Discussion), which
    its chunks have as ``imrad``, such as "Results, Discussion". Subsections inherit them, unless their heading names
    one of several. ``title_path``, and the context, begin with the parts, which replace a heading of the same name and
    precede any other: "3 Results" and "3.1 Accuracy" give "Results > 3.1 Accuracy", but "2 Patients and Methods" gives
    "Methods > 2 Patients and Methods". Other sections, such as the abstract, have no ``imrad``.

    Departs from the specification by default: cuts of ``inner`` move to the layout (``layout_weight``, ``outline``),
    which ``preset="published"`` sets back.

    Parameters
    ----------
    preset : "published", the specification.
    min_tokens : a smaller section shares a chunk with a neighbor if the result fits and both have the same outermost
        heading and ``imrad``; 0..max_tokens.
    markup : format of a text without a layout; text that is not TEI is an error by default.
    references : "keep" the list of references in chunks of its own, or "drop" it.

    References
    ----------
    GROBID, https://grobid.readthedocs.io. Sollaci & Pereira 2004, "The introduction, methods, results, and discussion
    (IMRAD) structure: a fifty-year survey", J Med Libr Assoc 92.
    """

    algorithm: ClassVar[str] = "grobid-section"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": {"outline": False, "layout_weight": 0.0}}
    preset: Literal["published"] | None = None
    markup: str = "tei"
    references: Literal["keep", "drop"] = "keep"


@dataclass(kw_only=True)
class GrobidSectionChunker(GrobidSectionParams, ExperimentalChunker, SectionedChunker):
    r"""Chunk a paper by its sections (`GrobidSectionParams`).

    >>> paper = '<TEI><text><body><div><head n="3">Results</head><p>Weight fell.</p></div></body></text></TEI>'
    >>> (chunk,) = GrobidSectionChunker().chunk(paper)
    >>> chunk.text, chunk.metadata["imrad"]
    ('3 Results\n\nWeight fell.', 'Results')
    """

    def read(self, document: Document) -> Document:
        """Return the paper with the parts in its headings, and without references if they are dropped."""
        paper = super().read(document)
        if self.references == "drop":
            origin = np.arange(len(paper.text) + 1) if paper.text == document.text else None
            paper = _drop_references(replace(paper, offsets=origin if paper.offsets is None else paper.offsets))
        return replace(paper, blocks=_Sections(paper).titled_blocks())

    def hard_breaks(self, document: Document) -> Iterable[int]:
        """Return the starts of sections."""
        return _Sections(document).starts

    def limits(self, document: Document) -> Limits:
        """Return limits that keep tables in Results whole."""
        sections, tables = _Sections(document), [block for block in document.blocks or () if block.kind == "table"]
        atomic = [table for table in tables if "Results" in sections.parts_at(table.span.start)]
        return replace(super().limits(document), atomic=block_spans(document, atomic))

    def fit_units(self, document: Document, units: Units, limits: Limits) -> Units:
        """Return units within the budget: captions and references are whole if they fit."""
        return super().fit_units(document, _join_whole(units, document.blocks or ()), limits)

    def groups(self, document: Document, offsets: Sequence[int]) -> Sequence[object]:
        """Return the outermost heading and the parts of each section."""
        sections = _Sections(document)
        return [sections.group_at(offset) for offset in offsets]

    def postprocess(self, explanation: Explanation) -> Plan[list[Chunk]]:
        """Write the parts of each chunk into its metadata."""
        chunks, document = (yield from super().postprocess(explanation)), explanation.document
        sections, text_start = _Sections(document), document.text_start
        return [_add_parts(chunk, sections.parts_at(max(chunk.start, text_start))) for chunk in chunks]


class _Sections:
    """The sections of a paper: the start, the parts and the outermost heading of each."""

    def __init__(self, document: Document) -> None:
        self._document, self.starts = document, list[int]()
        self._parts, self._outermost, self._is_first = list[tuple[str, ...]](), list[int](), list[bool]()
        blocks = document.blocks or ()
        top_level = self._top_level([block for block in blocks if block.kind == "heading"])
        above: list[tuple[int, tuple[str, ...], bool]] = []  # level, parts, front or back matter
        for block in blocks:
            if block.kind == "heading":
                above = [section for section in above if section[0] < block.level]
                outer_parts, heading = above[-1][1] if above else (), parse_heading(self._title(block))
                is_matter = (heading.role == "matter" and not outer_parts) or any(matter for _, _, matter in above)
                is_top = block.level <= top_level
                parts = () if is_matter else _narrow(heading, outer_parts, is_top=is_top)
                self._outermost.append(len(self.starts) if is_top or not self.starts else self._outermost[-1])
                self._is_first.append(bool(parts) and not outer_parts)
                self._parts.append(parts)
                self.starts.append(block.span.start)
                above.append((block.level, parts, is_matter))
        # Text below consecutive headings belongs to the last one.
        stacked = {below.span.start for above, below in pairwise(blocks) if above.kind == below.kind == "heading"}
        self._texts = list(range(len(self.starts)))
        for i in reversed(range(len(self._texts) - 1)):
            if self.starts[i + 1] in stacked:
                self._texts[i] = self._texts[i + 1]

    def _top_level(self, headings: Sequence[Block]) -> int:
        """Return the level of the outermost sections; the title of the paper may be above."""
        if not headings:
            return 0
        levels, first = [block.level for block in headings], parse_heading(self._title(headings[0]))
        has_title = not (first.role or first.number) and levels[0] < min(levels[1:], default=0)
        return min(levels[has_title:])

    def _title(self, block: Block) -> str:
        return heading_text(self._document.text[slice(*block.span)])

    def group_at(self, offset: int) -> tuple[int, tuple[str, ...]]:
        """Return the key of the text at or below an offset; only sections with equal keys share a chunk."""
        place = bisect_right(self.starts, offset) - 1
        return (self._outermost[self._texts[place]], self._parts[self._texts[place]]) if place >= 0 else (-1, ())

    def parts_at(self, offset: int) -> tuple[str, ...]:
        """Return the parts of `IMRAD` at an offset."""
        return self.group_at(offset)[1]

    def titled_blocks(self) -> tuple[Block, ...]:
        """Return the blocks; titles of the outermost headings that name parts begin with these."""
        sections, blocks = zip(self._parts, self._is_first, strict=True), list[Block]()
        for block in self._document.blocks or ():
            parts, is_first = next(sections) if block.kind == "heading" else ((), False)
            blocks.append(replace(block, title=_add_title(self._title(block), parts)) if is_first else block)
        return tuple(blocks)


def _narrow(heading: SectionHeading, outer_parts: tuple[str, ...], *, is_top: bool) -> tuple[str, ...]:
    """Return the parts of a section: its heading may narrow those of the outer section, not contradict them."""
    if outer_parts:
        return tuple(name for name in heading.names if name in outer_parts) or outer_parts
    # "2.1 Background" is not the paper's introduction; but each of several studies may have its methods.
    is_part = is_top or (heading.role == "section" and heading.names != ("Introduction",))
    return heading.names if is_part else ()


def _add_title(title: str, parts: Sequence[str]) -> str:
    name = " and ".join(parts)
    bare = parse_heading(title).title.replace("&", "and").strip(" .:")
    return name if bare.casefold() == name.casefold() else f"{name} > {title}"


def _add_parts(chunk: Chunk, parts: Sequence[str]) -> Chunk:
    """Return a chunk with its parts in the metadata; its section has the title in the paper."""
    if not parts:
        return chunk
    written = {"imrad": ", ".join(parts)}
    first, _, own = str(written_metadata(chunk.metadata).get("section", "")).partition(" > ")
    if own and set(first.split(" and ")) <= set(IMRAD):
        written["section"] = own
    return replace(chunk, metadata=write_metadata(chunk.metadata, written))


def _drop_references(document: Document) -> Document:
    """Return a document without its references and their headings."""
    text, blocks = document.text, list[Block]()
    kept, last, level = np.ones(len(text) + 1, dtype=bool), 0, 0
    for block in document.blocks or ():
        if block.kind == "heading" and (not level or block.level <= level):
            title = parse_heading(heading_text(text[slice(*block.span)])).title.casefold().strip(" .:")
            level = block.level if title in _REFERENCES else 0
        if level or block.kind == "reference":
            kept[last : block.span.end] = False
        else:
            blocks.append(block)
        last = block.span.end
    if not kept[last - 1]:  # drop the white space at the end, too
        kept[last:-1] = False
    if kept.all():
        return document
    moved, offsets, places = (np.cumsum(kept) - 1).tolist(), document.offsets, np.flatnonzero(kept[:-1])
    if offsets is not None:
        offsets = offsets[np.append(places, places[-1:] + 1 if len(places) else 0)]
    spans = [Span(moved[start], moved[end - 1] + 1) for start, end in (block.span for block in blocks)]
    shifted = tuple(replace(block, span=span) for block, span in zip(blocks, spans, strict=True))
    return replace(document, text="".join(compress(text, kept)), blocks=shifted, offsets=offsets)


def _join_whole(units: Units, blocks: Iterable[Block]) -> Units:
    """Return units that do not end within captions and references."""
    whole = np.array([block.span for block in blocks if block.kind in _WHOLE], dtype=np.int64).reshape(-1, 2)
    if not len(whole):
        return units
    block = np.searchsorted(whole[:, 0], units.edges) - 1  # the last that starts before the edge
    return Units(units.text, units.edges[(block < 0) | (units.edges >= whole[block, 1])])
