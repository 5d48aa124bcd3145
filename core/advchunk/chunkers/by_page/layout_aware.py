"""Chunk documents by the regions that a detector finds on their pages: columns, paragraphs, tables and figures."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from advchunk.building.contexts import Contexts
from advchunk.building.layout import protected
from advchunk.building.sizes import Limits
from advchunk.chunkers.experimental_base import ExperimentalChunker
from advchunk.chunkers.params import RESOURCE, Params
from advchunk.chunkers.sections import SectionedChunker
from advchunk.errors import ConfigurationError, require
from advchunk.readers import formats
from advchunk.readers.pages import docling
from advchunk.records import Block, BlockKind, Document, Place, Strength, Units

_WHOLE: frozenset[BlockKind] = frozenset({"table", "figure"})
_SOURCES = ("docling", "layoutparser", "doctr")
_DETECTORS = ("auto", *_SOURCES, "rapid")
_TABLE = re.compile(r"\W*tab", re.IGNORECASE)
_MAX_OVERLAP = 3.0  # points by which a block may begin above the one before in the same column


@dataclass(kw_only=True)
class LayoutAwareParams(Params):
    """Chunk a document by the regions of its pages, which no chunk crosses.

    A document is a PDF (`Chunker.read_file`, `readers.pages.pdf`), the output of Docling, layoutparser or docTR,
    or has a layout. Columns are read one after the other, between the blocks that span them. A region is a paragraph, a
    list, or a table or figure with its captions; a heading belongs to the region below it, and a paragraph that
    continues in the next column or on the next page is one region. ``inner``, by default an `OptimalSemanticChunker`,
    cuts each region. Tables and figures are never cut; their chunk may be ``oversize``.

    With ``hard_stops="region"``, as specified, most chunks are single paragraphs. "column" gives topic-sized chunks.

    Departs from the specification by default: cuts of ``inner`` move to the layout (``layout_weight``, ``outline``),
    and short regions of a column share a chunk (``min_tokens``). ``preset="published"`` sets this back.

    Parameters
    ----------
    preset : "published", the specification.
    min_tokens : a smaller region joins a neighbor if both fit, and no heading, table, figure or end of a column or page
        is between them, 0..max_tokens; the default shrinks in proportion to a smaller max_tokens.
    hard_stops : boundaries that no chunk crosses: "section" stops at headings; "column" also at the ends of columns and
        pages; "region" also at those of all regions of ``min_tokens``. Tables and figures have their own chunks.
    split_tables : cut an oversize table between its rows; later pieces have its head as context, up to half a chunk.
    furniture : "drop" or "keep" headers, footers and page numbers; a document that has a layout keeps all its blocks.
    markup : format of a text that is not a detector's; "auto" accepts HTML, TEI and JATS, not Markdown and plain text.

    References
    ----------
    The regions are the detector's. Captions, splitting and reading order: ours.
    """

    algorithm: ClassVar[str] = "layout-aware"
    version: ClassVar[int] = 4
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {"outline": False, "layout_weight": 0.0, "min_tokens": 0}
    }
    preset: Literal["published"] | None = None
    min_tokens: int = 32
    hard_stops: Literal["region", "column", "section"] = "region"
    split_tables: bool = False
    furniture: Literal["drop", "keep"] = "drop"
    markup: str = "auto"


@dataclass(kw_only=True)
class LayoutAwareChunker(LayoutAwareParams, ExperimentalChunker, SectionedChunker):
    r"""Chunk a document by the regions of its pages (`LayoutAwareParams`).

    Parameters
    ----------
    detector : the source of a JSON text, "docling", "layoutparser" or "doctr"; or the detector for a PDF, "rapid", a
        callable, or None to read its lines (`readers.pages.pdf.read`). "auto" detects the format, and tries "rapid".

    >>> boxes = [("Text", 0, 20, 40, "Cats nap."), ("Text", 50, 20, 90, "Courts rule."), ("Title", 0, 0, 90, "News")]
    >>> blocks = [dict(block_type="rectangle", type=t, x_1=a, y_1=b, x_2=c, y_2=b + 9, text=s) for t, a, b, c, s in boxes]
    >>> import json
    >>> layout = json.dumps({"page_data": {"height": 99, "width": 99}, "blocks": blocks})
    >>> [chunk.text for chunk in LayoutAwareChunker().chunk(layout)]
    ['News\n\nCats nap.\n\n', 'Courts rule.']
    """  # noqa: E501

    detector: Any = field(default="auto", repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rule for ``detector``."""
        super().check()
        is_name = isinstance(self.detector, str) and self.detector in _DETECTORS
        rule = f"detector must be a callable, None, or one of {', '.join(_DETECTORS)}"
        require(is_name or self.detector is None or callable(self.detector), rule, self.detector)

    @property
    def reader_options(self) -> Mapping[str, Any]:
        """The detector and the furniture of a PDF."""
        return {"detector": self.detector, "furniture": self.furniture}

    def read(self, document: Document) -> Document:
        """Return a document with its regions as blocks."""
        is_plain = document.blocks is None and formats.detect_format(document.text) in {"markdown", "plain"}
        if self.markup == "auto" and is_plain and not docling.is_chunk(document.metadata):
            msg = "layout-aware needs regions: a PDF (read_file), the JSON of Docling, layoutparser or docTR, or a "
            msg += f'Document with blocks; for a text without pages pass markup="markdown"; got {document.text[:40]!r}'
            raise ConfigurationError(msg)
        named = isinstance(self.detector, str) and self.detector in _SOURCES
        return formats.read(document, self.detector if named else self.markup, self.reader_options)

    def hard_breaks(self, document: Document) -> Iterator[int]:
        """Return the offsets of hard stops."""
        regions = self.hard_stops == "region"
        return (start for start, is_wall in self._stops(document) if is_wall or regions)

    def groups(self, document: Document, offsets: Sequence[int]) -> Sequence[object]:
        """Return the number of headings, tables, figures and ends of columns before each region."""
        walls = [start for start, is_wall in self._stops(document) if is_wall]
        return [bisect_right(walls, offset) for offset in offsets]

    def _stops(self, document: Document) -> Iterator[tuple[int, bool]]:
        """Yield the start of each region after the first, and True if not even short regions are joined across it."""
        for above, group in pairwise(_group_regions(document.text, document.blocks or ())):
            first = group[0]
            is_wall = first.kind == "heading" or _has_whole(above) or _has_whole(group)
            is_elsewhere = self.hard_stops != "section" and _is_elsewhere(above[-1].places, first.places)
            yield first.span.start, is_wall or is_elsewhere

    def limits(self, document: Document) -> Limits:
        """Return limits that keep tables and figures whole, and give pieces of tables their heads."""
        kinds: set[BlockKind] = {"figure"} if self.split_tables else {"table", "figure"}
        limits = replace(super().limits(document), atomic=protected(document, kinds))
        if not self.split_tables:
            return limits
        return replace(limits, context=Contexts(document, limits, titled=self.include_context))

    def fit_units(self, document: Document, units: Units, limits: Limits) -> Units:
        """Return units within the limits; a table or figure stays with its captions if they fit."""
        units = super().fit_units(document, units, limits)
        strength = units.strength.copy()
        groups = _group_regions(document.text, document.blocks or ())
        apart = [below[0].span.start for above, below in pairwise(groups) if above[-1].kind == "caption"]
        strength[np.isin(units.edges, apart)] = Strength.BLOCK
        for group in groups:
            if _has_whole(group) and len(group) > 1:
                inside = (units.edges > group[0].span.start) & (units.edges < group[-1].span.end)
                for start, end in (block.span for block in group if block.kind in _WHOLE):
                    inside &= (units.edges <= start) | (units.edges >= end)  # rows of a cut table may end chunks
                strength[inside] = Strength.KEEP_WITH_NEXT
        return replace(units, strength=strength)


def _group_regions(text: str, blocks: Sequence[Block]) -> list[list[Block]]:
    """Group the blocks that form one region: the items of a list, a table or figure with its captions."""
    groups = list[list[Block]]()
    for block, below in zip(blocks, [*blocks[1:], None], strict=False):
        if groups and _joins(groups[-1], block, below, text):
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def _joins(group: Sequence[Block], block: Block, below: Block | None, text: str) -> bool:
    """Return True if a block belongs to the group above.

    A caption between two tables or figures is of the first, unless that has one, or it begins with "Tab" above a table.
    """
    if block.kind == "caption" and _has_whole(group):
        is_next = below is not None and below.kind == "table" and bool(_TABLE.match(text, block.span.start))
        return group[0].kind != "caption" and not is_next
    last = group[-1].kind
    if (last, block.kind) in {("item", "item"), ("caption", "caption")}:
        return True
    return last == "caption" and block.kind in _WHOLE and not _has_whole(group)


def _has_whole(group: Iterable[Block]) -> bool:
    return any(block.kind in _WHOLE for block in group)


def _is_elsewhere(above: Sequence[Place], below: Sequence[Place]) -> bool:
    """Return True if the place below is on another page or in another column: higher up, or beside the one above."""
    if not above or not below:
        return False
    last, first = above[-1], below[0]
    if last.page != first.page or last.box is None or first.box is None:
        return last.page != first.page
    shared = min(last.box[2], first.box[2]) - max(last.box[0], first.box[0])
    narrower = min(last.box[2] - last.box[0], first.box[2] - first.box[0])
    return first.box[1] < last.box[1] - _MAX_OVERLAP or 2 * shared < narrower
