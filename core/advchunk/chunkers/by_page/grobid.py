"""Scientific papers by section: each chunk has its part of Introduction, Methods, Results and Discussion."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

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

    Departs from the specification without ``preset="published"``: the layout counts (``layout_weight``, ``outline``).

    Parameters
    ----------
    preset : "published", the specification.
    min_tokens : a smaller section joins a neighbor of its outermost heading and ``imrad`` if both fit, 0..max_tokens.
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
        """Return the paper with the parts in its headings and blocks, and without references if they are dropped."""
        paper = super().read(document)
        if self.references == "drop":
            origin = np.arange(len(paper.text) + 1) if paper.text == document.text else None
            paper = _drop_references(replace(paper, offsets=origin if paper.offsets is None else paper.offsets))
        return replace(paper, blocks=tuple(_with_parts(paper)))

    def hard_breaks(self, document: Document) -> Iterable[int]:
        """Return the starts of sections."""
        return [block.span.start for block in document.blocks or () if block.kind == "heading"]

    def limits(self, document: Document) -> Limits:
        """Return limits that keep tables in Results whole."""
        tables = (block for block in document.blocks or () if block.kind == "table")
        atomic = [table for table in tables if "Results" in (table.metadata or {}).get("imrad", "")]
        return replace(super().limits(document), atomic=block_spans(document, atomic))

    def fit_units(self, document: Document, units: Units, limits: Limits) -> Units:
        """Return units within the budget: captions and references are whole if they fit."""
        return super().fit_units(document, _join_whole(units, document.blocks or ()), limits)

    def groups(self, document: Document, offsets: Sequence[int]) -> Sequence[object]:
        """Return the outermost heading and the parts of each section."""
        starts, sections = [*self.hard_breaks(document)], _sections(document)
        return [(place := bisect_right(starts, offset)) and sections[place - 1][1:] for offset in offsets]

    def postprocess(self, explanation: Explanation) -> Plan[list[Chunk]]:
        """Name the section of each chunk as in the paper, without its parts."""
        return [_rename_section(chunk) for chunk in (yield from super().postprocess(explanation))]


class _Section(NamedTuple):
    """The parts that a heading adds to its title; the outermost heading, and the parts, of the text below it."""

    titled: tuple[str, ...]
    outermost: int
    parts: tuple[str, ...]


def _sections(document: Document) -> list[_Section]:
    blocks, sections, outermost = document.blocks or (), list[_Section](), 0
    headings = [(block, parse_heading(_title(document, block))) for block in blocks if block.kind == "heading"]
    levels = [block.level for block, _ in headings]
    # The title of the paper may be above the outermost sections.
    has_title = len(levels) > 1 and levels[0] < min(levels[1:]) and not (headings[0][1].role or headings[0][1].number)
    top = min(levels[has_title:], default=0)
    above: list[tuple[int, tuple[str, ...], bool]] = []  # level, parts, front or back matter
    for i, (block, heading) in enumerate(headings):
        above = [section for section in above if section[0] < block.level]
        outer_parts = above[-1][1] if above else ()
        is_matter = (heading.role == "matter" and not outer_parts) or any(matter for _, _, matter in above)
        parts = () if is_matter else _narrow(heading, outer_parts, is_top=block.level <= top)
        outermost = i if block.level <= top else outermost
        sections.append(_Section(() if outer_parts else parts, outermost, parts))
        above.append((block.level, parts, is_matter))
    # Text below consecutive headings belongs to the last one.
    stacked = {id(below) for over, below in pairwise(blocks) if over.kind == below.kind == "heading"}
    for i in reversed(range(1, len(headings))):
        if id(headings[i][0]) in stacked:
            sections[i - 1] = _Section(sections[i - 1].titled, *sections[i][1:])
    return sections


def _with_parts(document: Document) -> Iterator[Block]:
    """Yield the blocks, with their parts; titles of the outermost headings that name parts begin with these."""
    sections, about = iter(_sections(document)), dict[str, str]()
    for block in document.blocks or ():
        title = block.title
        if block.kind == "heading":
            section = next(sections)
            title = _add_title(_title(document, block), section.titled) if section.titled else title
            about = {"imrad": ", ".join(section.parts)} if section.parts else {}
        yield replace(block, title=title, metadata={**(block.metadata or {}), **about} or None)


def _title(document: Document, block: Block) -> str:
    return heading_text(document.text[slice(*block.span)])


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


def _rename_section(chunk: Chunk) -> Chunk:
    first, _, own = str(written_metadata(chunk.metadata).get("section", "")).partition(" > ")
    is_added = own and "imrad" in written_metadata(chunk.metadata) and {*first.split(" and ")} <= {*IMRAD}
    return replace(chunk, metadata=write_metadata(chunk.metadata, {"section": own})) if is_added else chunk


def _drop_references(document: Document) -> Document:
    """Return a document without its references and their headings, and the white space before them."""
    text, blocks, kept, level, last, size = document.text, list[Block](), list[Span](), 0, 0, 0
    for block in document.blocks or ():
        if block.kind == "heading" and (not level or block.level <= level):
            title = parse_heading(_title(document, block)).title.casefold().strip(" .:")
            level = block.level if title in _REFERENCES else 0
        start, end = block.span
        if not level and block.kind != "reference":
            kept.append(Span(last, end))
            blocks.append(replace(block, span=Span(start - last + size, end - last + size)))
            size += end - last
        last = end
    if kept and kept[-1].end == last:  # else the white space at the end goes, too
        kept.append(Span(last, len(text)))
    offsets = document.offsets
    if offsets is not None:
        ends = [offsets[kept[-1].end :][:1]] if kept else [offsets[:1]]
        offsets = np.concatenate([*(offsets[slice(*span)] for span in kept), *ends])
    return replace(document, text="".join(text[slice(*span)] for span in kept), blocks=tuple(blocks), offsets=offsets)


def _join_whole(units: Units, blocks: Iterable[Block]) -> Units:
    """Return units that do not end within captions and references."""
    whole = np.array([block.span for block in blocks if block.kind in _WHOLE], dtype=np.int64).reshape(-1, 2)
    if not len(whole):
        return units
    block = np.searchsorted(whole[:, 0], units.edges) - 1  # the last that starts before the edge
    return Units(units.text, units.edges[(block < 0) | (units.edges >= whole[block, 1])])
