"""Read PDFs: their own text, in the regions that a detector finds on the picture of each page."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from ctypes import byref, c_int
from dataclasses import replace
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import Any
from unicodedata import normalize

import numpy as np

from advchunk.errors import ConfigurationError, import_extra, require
from advchunk.readers.magic import require_pdf
from advchunk.readers.regions.detectors import as_detector, run_detector
from advchunk.readers.regions.document import Page, build_document
from advchunk.readers.regions.page import build_regions
from advchunk.readers.regions.prose import hyphenated_words, is_right_to_left
from advchunk.readers.regions.shapes import Box, Line, Sheet, bounding_box, box_area, interval_overlap
from advchunk.readers.writing import Furniture, squeezed
from advchunk.records import Document, Floats

LARGEST = 200_000_000
"""Bytes of a file."""
MOST_PAGES = 5_000
"""Pages of a file that are read at once."""
MOST_CHARACTERS, MOST_LINES = 200_000, 5_000
"""Characters and lines of a page."""

_log = logging.getLogger("advchunk")
_PDFIUM = Lock()  # PDFium is not to be called from two threads
_PIXELS, _SCALE = 2000, 2.0  # of the longer side at most; pixels a point
_FINE, _FAR = 1000, 1000  # parts of a point, in which places are asked for; points between those that are
_GAP = 1.0  # of its height: a wider gap ends a line
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\u00ad\u200b\ufeff]")
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_ALEFS, _LAM = frozenset("\u0622\u0623\u0625\u0627"), "\u0644"
_HYPHEN = "\x02"  # what PDFium makes of the hyphen of a divided word
_NO_TITLE = re.compile(
    r"\s*|untitled.*|.*\.(?:docx?|tex|dvi|pdf|indd|qxd|pptx?|odt|rtf)|microsoft word.*", re.IGNORECASE
)


def read(
    source: str | PathLike[str] | bytes,
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    detector: Any = "rapid",
    furniture: Furniture = "drop",
    pages: Iterable[int] | None = None,
    password: str | None = None,
) -> Document:
    """Read a PDF: its text, column by column, with a block and its places for each region.

    The text is the file's own, not that of an OCR. It is the whole of it, each line once, but for headers, footers and
    page numbers that are left out. Words divided at the end of a line are joined. Tables are written as pipe tables,
    their cells by where they stand: what Docling finds of a table is better. Of what the file says of itself ``title`` and
    ``authors`` are metadata; a heading that says the title once more is in no path.

    Parameters
    ----------
    source : the path of a file, or its bytes.
    id, metadata : of the document; metadata given here overrides the file's.
    detector : what finds regions: "rapid" (rapid-layout: 0.3 s a page); a callable, which is given the picture of a page,
        (h, w, 3) uint8, and returns a label, a box in pixels (left, top, right, bottom) and a score for each region; None
        for no regions but the paragraphs and columns that the lines show (0.01 s a page).
    furniture : whether headers, footers and page numbers are left out, or kept as blocks.
    pages : the pages that are read, from 1; None for all.
    password : opens an encrypted file.

    Raises
    ------
    ConfigurationError : a file that is no PDF, damaged, truncated, encrypted or too large, has no pages, or has no text,
        as a scan: run an OCR such as docTR, and give its export to `regions.results`.
    MissingExtra : pypdfium2 or the detector is not installed.
    """
    find = as_detector(detector)
    name, data = ("", source) if isinstance(source, bytes) else (fspath(source), _contents(Path(source)))
    _check(data, name or id or "this")
    with _opened(data, password) as pdf:
        wanted = _wanted(len(pdf), pages)
        found, blank = list[Page](), list[int]()
        for number in wanted:
            sheet, lines, image, scale = _page(pdf, number, drawn=find is not None)
            if not lines:
                blank.append(number)
                continue
            texts = [line.text for line in lines]
            boxes = [] if find is None else run_detector(find, image, scale)
            found.append(
                Page(
                    sheet,
                    build_regions(
                        sheet, lines, boxes, known=hyphenated_words(texts), right_to_left=is_right_to_left(texts)
                    ),
                )
            )
        said = _said(pdf)
    if not found:
        msg = "a PDF must have text, which this one has not: it may be a scan. Read it with an OCR such as docTR, and give its export"
        raise ConfigurationError(msg)
    if blank:
        _log.warning("%s: no text on pages %s, which may be scans", name or "PDF", ", ".join(map(str, blank)))
    document = build_document(found, furniture=furniture)
    origin = {"source": name} if name else {}
    return _titled(document, id, {**said, **origin, "page_count": len(wanted), **(metadata or {})})


def _contents(path: Path) -> bytes:
    size = path.stat().st_size
    require(size <= LARGEST, f"a PDF must be at most {LARGEST:,} bytes", size)
    return path.read_bytes()


def _check(data: bytes, name: str) -> None:
    """Refuse what is no whole PDF, by how it begins and ends."""
    require(len(data) <= LARGEST, f"a PDF must be at most {LARGEST:,} bytes", len(data))
    require_pdf(data, name)
    if b"%%EOF" not in data[-2048:]:
        msg = "a PDF must end with %%EOF, which this one does not: it is truncated"
        raise ConfigurationError(msg)


@contextmanager
def _opened(data: bytes, password: str | None) -> Iterator[Any]:
    pdfium = import_extra("pypdfium2", "layout")
    try:
        with _PDFIUM:
            pdf = pdfium.PdfDocument(data, password=password)
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower() and b"/Encrypt" in data:
            msg = "the PDF is encrypted: give the right password="
            raise ConfigurationError(msg) from None
        msg = "the PDF is damaged or truncated, or has no pages"
        raise ConfigurationError(msg) from None
    try:
        yield pdf
    finally:
        with _PDFIUM:
            pdf.close()


def _wanted(count: int, pages: Iterable[int] | None) -> list[int]:
    """Return the numbers of the pages to read."""
    wanted = list(range(1, count + 1)) if pages is None else sorted(set(pages))
    right = bool(wanted) and all(isinstance(page, int) and 1 <= page <= count for page in wanted)
    require(right, f"pages must be numbers in 1..{count}", wanted)
    rule = f"at most {MOST_PAGES:,} pages are read at once: give pages="
    require(len(wanted) <= MOST_PAGES, rule, len(wanted))
    return wanted


def _page(pdf: Any, number: int, *, drawn: bool) -> tuple[Sheet, list[Line], Any, float]:
    """Return a page's size, its lines, and its picture if it is to be drawn and has lines, with the scale of that."""
    pdfium = import_extra("pypdfium2", "layout")
    with _PDFIUM:
        try:
            page = pdf[number - 1]
        except pdfium.PdfiumError:
            msg = f"page {number} of the PDF is damaged"
            raise ConfigurationError(msg) from None
        with closing(page), closing(page.get_textpage()) as textpage:
            width, height = page.get_size()
            lines = _lines(*_characters(page, textpage, number))
            require(
                len(lines) <= MOST_LINES, f"a page must have at most {MOST_LINES:,} lines, as page {number}", len(lines)
            )
            if not (drawn and lines):
                return Sheet(number, width, height), lines, None, 1.0
            scale = min(_SCALE, _PIXELS / max(width, height))
            with closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
                return Sheet(number, width, height), lines, bitmap.to_numpy().copy(), scale


def _characters(page: Any, textpage: Any, number: int) -> tuple[list[str], list[Box]]:
    """Return the characters of a page, and their boxes, origin top left."""
    raw = import_extra("pypdfium2.raw", "layout")
    count = textpage.count_chars()
    require(
        count <= MOST_CHARACTERS, f"a page must have at most {MOST_CHARACTERS:,} characters, as page {number}", count
    )
    characters, boxes, rect = list[str](), np.zeros((count, 4)), raw.FS_RECTF()
    for i in range(count):
        characters.append(chr(raw.FPDFText_GetUnicode(textpage, i)))
        if raw.FPDFText_GetLooseCharBox(textpage, i, rect):
            boxes[i] = rect.left, rect.top, rect.right, rect.bottom
    # A page may be turned, and be cut out of a larger one: what becomes of three points says how.
    origin = _on_paper(raw, page, 0, 0)
    axes = np.array([_on_paper(raw, page, _FAR, 0) - origin, _on_paper(raw, page, 0, _FAR) - origin]) / _FAR
    corners = np.stack([boxes[:, :2] @ axes, boxes[:, 2:] @ axes]) + origin
    low, high = corners.min(axis=0), corners.max(axis=0)
    return characters, list(map(tuple, np.concatenate([low, high], axis=1).tolist()))


def _on_paper(raw: Any, page: Any, x: float, y: float) -> Floats:
    """Return where a point of PDF's coordinates is on the page as it is seen, in points, origin top left."""
    across, down = c_int(), c_int()
    width, height = (round(side * _FINE) for side in page.get_size())
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, byref(across), byref(down))
    return np.array([across.value, down.value]) / _FINE


def _lines(characters: list[str], boxes: Sequence[Box]) -> list[Line]:
    """Return the lines of a page, in the file's order; a gap wider than the line is high ends one too."""
    lines, start, last = list[Line](), 0, -1  # the last with ink
    for i, character in enumerate([*characters, "\n"]):
        inked = not character.isspace()
        if character in "\r\n" or (inked and last >= start and _is_gap(boxes[last], boxes[i])):
            lines += _line(characters[start:i], boxes[start:i])
            start = i
        last = i if inked else last
    return lines


def _is_gap(before: Box, after: Box) -> bool:
    return -interval_overlap(before[::2], after[::2]) > _GAP * (before[3] - before[1])


def _line(characters: list[str], boxes: Sequence[Box]) -> Iterator[Line]:
    for i, (box, following) in enumerate(pairwise(boxes)):  # a ligature, which PDFium takes apart the wrong way round
        if box == following and characters[i] in _ALEFS and characters[i + 1] == _LAM:
            characters[i : i + 2] = _LAM, characters[i]
    said = "".join("-" if character == _HYPHEN else character for character in characters)
    said = _LIGATURES.sub(lambda match: normalize("NFKC", match[0]), _HIDDEN.sub("", said))
    text = squeezed(said.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))  # PDFium's may be halves
    inked = [box for box, character in zip(boxes, characters, strict=True) if not character.isspace() and box_area(box)]
    if text and inked:
        yield Line(text + " " * said[-1].isspace(), bounding_box(inked))


def _said(pdf: Any) -> dict[str, str]:
    """Return what a file says of itself: its title, unless that is the name of a file, and its authors."""
    with _PDFIUM:
        known = pdf.get_metadata_dict(skip_empty=True)
    title, authors = squeezed(known.get("Title", "")), squeezed(known.get("Author", ""))
    said = {"title": "" if _NO_TITLE.fullmatch(title) else title, "authors": authors}
    return {key: value for key, value in said.items() if value}


def _titled(document: Document, id: str, metadata: dict[str, Any]) -> Document:
    """Return a document with its metadata; a heading that says its title is no title of what follows once more."""
    title = squeezed(str(metadata.get("title") or "")).casefold()
    blocks = tuple(
        replace(block, title="") if block.kind == "heading" and (block.title or "").casefold() == title else block
        for block in document.blocks or ()
    )
    return replace(document, id=id, blocks=blocks, metadata=metadata)
