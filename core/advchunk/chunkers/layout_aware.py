"""Chunk documents by the regions of their pages: columns, paragraphs, tables and figures, as a detector finds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

from advchunk.chunkers.experimental import ExperimentalChunker
from advchunk.chunkers.params import RESOURCE, Params
from advchunk.chunkers.sections import SectionedChunker
from advchunk.errors import ConfigurationError, require
from advchunk.layout import TableHeads, protected
from advchunk.readers import files, formats
from advchunk.readers.formats import Markup
from advchunk.records import Block, BlockKind, Chunk, Document, Place, Strength, Units
from advchunk.sizes import Limits

_WHOLE: frozenset[BlockKind] = frozenset({"table", "figure"})
_DETECTORS = ("auto", "docling", "layoutparser", "doctr", "rapid")
_TABLE = re.compile(r"\W*tab", re.IGNORECASE)
_APART = 3.0  # points that a block may begin above the end of the one before, in the same column


@dataclass(kw_only=True)
class LayoutAwareParams(Params):
    """Chunk a document by the regions of its pages, which no chunk crosses.

    A document is a PDF (`LayoutAwareChunker.chunk_file`, `readers.pdf`), or what Docling, layoutparser or docTR found in
    one, or has a layout. Columns are read one after the other, between what runs across them. A region is a paragraph, a
    list, a table or a figure with its captions; a heading belongs to what it heads, and a paragraph that runs on in the next
    column or on the next page is one region. Within each region ``inner`` decides, which is `OptimalSemanticChunker` unless
    another is given. Tables and figures are never cut, whatever their size; then their chunk is ``oversize``.

    With ``hard_stops="region"``, as published, most chunks are a paragraph, for detectors find paragraphs. "column" gives
    chunks of the size of topics.

    Parameters
    ----------
    min_tokens : smaller chunks join a neighbor where the result still fits, and no hard stop is between them,
        0..max_tokens.
    hard_stops : what no chunk crosses: "section", a heading; "column", also the end of a column or page; "region", also
        that of any region. Tables and figures have chunks of their own in any case.
    split_tables : cut a table that is too long between its rows; each further piece has the head of the table as
        context, unless that takes more than half of a chunk.
    furniture : whether headers, footers and page numbers are left out, or kept as regions; what is a block of a document
        that comes with a layout stays.
    markup : how a text that is not what one of the detectors found is read; "auto" takes HTML, TEI and JATS too, but not
        Markdown or plain text, which have no regions unless it is said here.

    References
    ----------
    The regions are the detector's. Captions, splitting and reading order: ours.
    """

    algorithm: ClassVar[str] = "layout-aware"

    hard_stops: Literal["region", "column", "section"] = "region"
    split_tables: bool = False
    furniture: Literal["drop", "keep"] = "drop"
    markup: Markup = "auto"


@dataclass(kw_only=True)
class LayoutAwareChunker(LayoutAwareParams, ExperimentalChunker, SectionedChunker):
    r"""Chunk a document by the regions of its pages (`LayoutAwareParams`).

    Parameters
    ----------
    detector : what found the regions of a JSON text, "docling", "layoutparser" or "doctr", and what finds those of a PDF:
        "rapid", or a callable (`readers.pdf.read`); "auto" is told from the text, and "rapid" for a PDF.

    >>> boxes = [("Text", 0, 20, 40, "Cats nap."), ("Text", 50, 20, 90, "Courts rule."), ("Title", 0, 0, 90, "News")]
    >>> blocks = [dict(block_type="rectangle", type=t, x_1=a, y_1=b, x_2=c, y_2=b + 9, text=s) for t, a, b, c, s in boxes]
    >>> import json
    >>> layout = json.dumps({"page_data": {"height": 99, "width": 99}, "blocks": blocks})
    >>> [chunk.text for chunk in LayoutAwareChunker().chunk(layout)]
    ['News\n\nCats nap.\n\n', 'Courts rule.']
    """

    detector: Any = field(default="auto", repr=False, metadata=RESOURCE)

    def check(self) -> None:
        """Add the rule for ``detector``."""
        super().check()
        right = callable(self.detector) or (isinstance(self.detector, str) and self.detector in _DETECTORS)
        require(right, f"detector must be a callable or one of {', '.join(_DETECTORS)}", self.detector)

    def chunk_file(
        self,
        source: str | PathLike[str] | bytes,
        *,
        id: str = "",
        metadata: Mapping[str, Any] | None = None,
        pages: Iterable[int] | None = None,
        password: str | None = None,
    ) -> list[Chunk]:
        """Return the chunks of a PDF (`readers.pdf.read`)."""
        return self.chunk(self._pages(source, id=id, metadata=metadata, pages=pages, password=password))

    def read_file(
        self, path: str | Path, *, by_name: bool = True, metadata: Mapping[str, Any] | None = None
    ) -> Document:
        """Return a file for `chunk`: the regions of a PDF, another text as it stands."""
        if files.is_pdf(path):
            return self._pages(path, id=str(path), metadata=metadata)
        return super().read_file(path, by_name=by_name, metadata=metadata)

    def _pages(self, source: str | PathLike[str] | bytes, **given: Any) -> Document:
        from advchunk.readers import pdf

        find = "rapid" if self.detector == "auto" else self.detector
        return pdf.read(source, detector=find, furniture=self.furniture, **given)

    def read(self, document: Document) -> Document:
        """Return the regions of a document as its blocks."""
        from advchunk.readers import docling
        from advchunk.readers.regions import results

        if document.blocks is not None:
            return document
        text, said = document.text, self.detector
        source = said if isinstance(said, str) and said in results.READERS else results.detect_source(text)
        if source is not None:
            reader = results.READERS[source]
            return reader(text, id=document.id, metadata=document.metadata, furniture=self.furniture)
        is_plain = formats.detect_format(text) in {"markdown", "plain"} and not docling.is_chunk(document.metadata)
        if self.markup == "auto" and is_plain:
            msg = (
                "layout-aware must be given regions: a PDF (chunk_file), the JSON of Docling, layoutparser or docTR, or a "
                f'Document with blocks; for a text without pages say markup="markdown"; got {text[:40]!r}'
            )
            raise ConfigurationError(msg)
        return super().read(document)

    def hard_breaks(self, document: Document) -> Iterator[int]:
        """Return where hard stops are."""
        for above, group in pairwise(_groups(document.text, document.blocks or ())):
            (last, first), own = (above[-1], group[0]), _is_whole(above) or _is_whole(group)
            if (
                own
                or self.hard_stops == "region"
                or first.kind == "heading"
                or (self.hard_stops == "column" and _is_elsewhere(last.places, first.places))
            ):
                yield first.span.start

    def limits(self, document: Document) -> Limits:
        """Return the token budget, by which tables and figures are not cut, and pieces of tables know their heads."""
        kinds: set[BlockKind] = {"figure"} if self.split_tables else {"table", "figure"}
        limits = replace(super().limits(document), atomic=protected(document, kinds))
        return replace(limits, context=TableHeads(document, limits)) if self.split_tables else limits

    def tile(self, document: Document, limits: Limits) -> Units:
        """Return units with a wall at each hard stop; between a caption and what it is of nothing is cut that fits."""
        units = super().tile(document, limits)
        strength = units.strength.copy()
        for group in _groups(document.text, document.blocks or ()):
            if _is_whole(group) and len(group) > 1:
                start, end = group[0].span.start, group[-1].span.end
                whole = [block.span for block in group if block.kind in _WHOLE]
                within = (units.edges > start) & (units.edges < end)
                for first, last in whole:  # the rows of a table that is cut may end chunks
                    within &= (units.edges <= first) | (units.edges >= last)
                strength[within] = Strength.KEEP_WITH_NEXT
        return replace(units, strength=strength)


def _groups(text: str, blocks: Sequence[Block]) -> list[list[Block]]:
    """Return blocks by the regions that they form: lists, and tables and figures with their captions.

    A caption between two is that of the first, unless that has one above it, or it says itself that it is a table's.
    """
    groups = list[list[Block]]()
    for below, block in enumerate(blocks, start=1):
        above = groups[-1] if groups else []
        if not above:
            joins = False
        elif block.kind == "caption" and _is_whole(above):
            is_last = below == len(blocks)
            heads = not is_last and blocks[below].kind == "table" and bool(_TABLE.match(text, block.span.start))
            joins = above[0].kind != "caption" and not heads
        else:
            pair = above[-1].kind, block.kind
            joins = pair in {("item", "item"), ("caption", "caption")} or (
                pair[0] == "caption" and block.kind in _WHOLE and not _is_whole(above)
            )
        if joins:
            above.append(block)
        else:
            groups.append([block])
    return groups


def _is_whole(group: Iterable[Block]) -> bool:
    return any(block.kind in _WHOLE for block in group)


def _is_elsewhere(above: Sequence[Place], below: Sequence[Place]) -> bool:
    """Whether what follows begins on another page, or higher up: in another column."""
    if not above or not below:
        return False
    last, first = above[-1], below[0]
    if last.page != first.page or last.box is None or first.box is None:
        return last.page != first.page
    return first.box[1] < last.box[1] - _APART or first.box[0] > last.box[2] or first.box[2] < last.box[0]
