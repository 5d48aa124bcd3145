"""Open PDFs with PDFium, and read the lines of their pages, with boxes, fonts, and images."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import closing, contextmanager
from ctypes import addressof, byref, c_float, c_int, create_string_buffer
from itertools import groupby, islice, pairwise, takewhile
from operator import itemgetter
from os import PathLike
from pathlib import Path
from string import ascii_lowercase
from threading import Lock
from typing import Any, NamedTuple, TypeAlias
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import ConfigurationError, import_extra, require
from advchunk.readers.inline import join_scripts
from advchunk.readers.magic import require_pdf
from advchunk.readers.pages.regions.grids import FEWEST_PATHS, Grid
from advchunk.readers.pages.regions.prose import is_on_row
from advchunk.readers.pages.regions.shapes import Box, Font, Line, Sheet, bounding_box, box_area, interval_overlap
from advchunk.readers.writing import squeeze
from advchunk.records import Floats

Image: TypeAlias = NDArray[np.uint8]
"""(h, w, 3), red, green and blue."""

LARGEST, MOST_PAGES = 200_000_000, 5_000
"""Maximum bytes of a file, and pages read at once."""
MOST_CHARACTERS, MOST_LINES = 200_000, 5_000
"""Maximum characters and lines of a page."""
MOST_PATHS = 5_000
"""Lines and other shapes of a page that may have tables; more are a drawing."""

_UNMAPPED = "\ufffd"  # a character whose code has no Unicode character
_UNREADABLE = frozenset({"Co", "Cn", "Cc", "Cs"})  # private use, unassigned, control characters, half of a pair
_BULLET = "•"
_PDFIUM = Lock()  # PDFium must not be called from two threads
_MOST_PAIRS = 1_000_000  # of a line and a value of a form; more are no form
_PIXELS, _SCALE = 2000, 2.0  # maximum of the longer side; pixels per point
_FINE, _FAR = 1000, 1000  # coordinates are requested in 1/1000 point; points between the probes of the page's axes
_INTO = 1.0  # points by which a letter reaches over the side of its cell
_GAP, _STOP = 1.0, 0.5  # in line heights: a wider gap ends a line, or a cell; a space is 0.2 to 0.3
_HIDDEN = re.compile("[\x00\ufffe\uffff\u00ad\u200b\ufeff]")
_LIGATURES = re.compile("[\ufb00-\ufb06]")
_ALEFS, _LAM = frozenset("\u0622\u0623\u0625\u0627"), "\u0644"
_HYPHEN = "\x02"  # PDFium's character for the hyphen of a divided word
_NAME = 128  # bytes of a font's name
_BOLD_WEIGHT = 600
_BOLD_NAME = re.compile(r"(?i)bold|black|heavy|demi|cmb|[.-]b$")
_MONO_NAME = re.compile(r"(?i)mono|courier|typewriter|cmtt|consol|menlo")
_NARROW = frozenset("fijlt")  # lower-case letters narrower than the others, unless the font is monospaced
_LETTERS = frozenset(ascii_lowercase)
# Words and numbers, as codes spell them that are characters in fonts without a map, such as those of figures by
# matplotlib.
_SPELT = re.compile(
    r"[(\[]?(?:[A-Z]?[a-z]+|[A-Z]+|[-+−]?\d[\d.,/%:−–]*[A-Za-z]{0,2})(?:[-/'][A-Za-z\d]+)*[)\].,:;?!%]*"
)
_MOSTLY = 0.7  # of the words
_TILTED = 2.0  # times the height of its letters: a higher line runs up or down the page
_PURE = 0.9  # of a monospaced line; the rest may be symbols
_SMALL, _RAISED, _BESIDE = 0.92, 0.15, 0.3  # of the height of the character before: raised or lowered ones, a gap
_SCRIPT = re.compile(r"(?:[^\W\d_][+−–-])?[+−–-]?\d[\d,.;–\s+−-]{0,12}")


class _Characters(NamedTuple):
    """The characters of a page in the file's order, their boxes, and their fonts."""

    values: list[str]
    boxes: list[Box]
    fonts: list[Font]

    def part(self, start: int, end: int | None) -> "_Characters":
        """Return the characters from ``start`` to ``end``, or to the last."""
        return _Characters(self.values[start:end], self.boxes[start:end], self.fonts[start:end])


class Scan(NamedTuple):
    """A page: its size and lines; numbers of unreadable characters and drawn shapes; its image, if any, and scale."""

    sheet: Sheet
    lines: list[Line]
    unreadable: int = 0
    grids: Sequence[Grid] = ()
    image: Image | None = None
    scale: float = 1.0


def load(source: str | PathLike[str] | bytes, name: str) -> bytes:
    """Return the bytes of a file, which must begin and end like a PDF."""
    size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
    require(size <= LARGEST, f"a PDF must be at most {LARGEST:,} bytes", size)
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    require_pdf(data, name)
    require(b"%%EOF" in data[-2048:], "a PDF must end with %%EOF, and this one is truncated", data[-16:])
    return data


@contextmanager
def open_pdf(data: bytes, password: str | None) -> Iterator[Any]:
    """Open a PDF, or raise `ConfigurationError` with the reason why it cannot be opened."""
    pdfium = import_extra("pypdfium2", "pdf")
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


def page_numbers(count: int, pages: Iterable[int] | None) -> list[int]:
    """Return the numbers of the pages to read, ascending; all of ``count`` pages if ``pages`` is None."""
    numbers = list(range(1, count + 1)) if pages is None else sorted(set(pages))
    valid = bool(numbers) and all(isinstance(page, int) and 1 <= page <= count for page in numbers)
    require(valid, f"pages must be numbers in 1..{count}", numbers)
    require(len(numbers) <= MOST_PAGES, f"at most {MOST_PAGES:,} pages are read at once: pass pages=", len(numbers))
    return numbers


def properties(pdf: Any) -> dict[str, str]:
    """Return the properties of a file, such as ``Title`` and ``Author``."""
    with _PDFIUM:
        return dict(pdf.get_metadata_dict(skip_empty=True))


def scan_page(pdf: Any, number: int, find_grids: Callable[[int], list[Grid]], *, render: bool) -> Scan:
    """Return a page's size and lines, the grids drawn on it, and its image if ``render`` is true and it has lines."""
    pdfium, raw = import_extra("pypdfium2", "pdf"), import_extra("pypdfium2.raw", "pdf")
    with _PDFIUM:
        try:
            page, own = _load_page(raw, pdf, number)
        except pdfium.PdfiumError:
            msg = f"page {number} of the PDF is damaged"
            raise ConfigurationError(msg) from None
        with closing(page), closing(page.get_textpage()) as textpage:
            width, height = page.get_size()
            shapes = page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH])
            paths, characters = sum(1 for _ in islice(shapes, MOST_PATHS + 1)), _characters(page, textpage, number)
            grids = find_grids(number) if characters.values and FEWEST_PATHS <= paths <= MOST_PATHS else []
            parts = characters.part(0, own), characters.part(own, None)
            sheet, (lines, values) = Sheet(number, width, height), [_split_lines(part, grids) for part in parts]
            rule = f"page {number} must have at most {MOST_LINES:,} lines"
            require(len(lines) + len(values) <= MOST_LINES, rule, len(lines) + len(values))
            lines, unreadable = clean(_with_values(lines, values))
            if not (render and lines):
                return Scan(sheet, lines, unreadable, grids)
            scale = min(_SCALE, _PIXELS / max(width, height))
            with closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
                return Scan(sheet, lines, unreadable, grids, bitmap.to_numpy().copy(), scale)


def _load_page(raw: Any, pdf: Any, number: int) -> tuple[Any, int]:
    """Return a page with what its form is filled in with, and the number of its other characters, which are first."""
    page = pdf[number - 1]
    if pdf.get_formtype() == raw.FORMTYPE_NONE or not raw.FPDFPage_GetAnnotCount(page):
        return page, MOST_CHARACTERS
    with closing(page), closing(page.get_textpage()) as textpage:
        own = textpage.count_chars()
        raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
    return pdf[number - 1], own


def _with_values(lines: list[Line], values: Sequence[Line]) -> list[Line]:
    """Return lines with those that are filled in, each after the label on its row; those without one are last."""
    if len(lines) * len(values) > _MOST_PAIRS:
        return [*lines, *values]
    for value in values:
        labels = [i for i, line in enumerate(lines) if is_on_row(line, value) and line.box[0] <= value.box[0]]
        lines.insert(max(labels, key=lambda i: lines[i].box[0]) + 1 if labels else len(lines), value)
    return lines


def clean(lines: Iterable[Line]) -> tuple[list[Line], int]:
    """Replace unreadable characters with spaces, and leave out lines that are mostly made of them; count both. One at
    the start, before a space or nothing, is a bullet: word processors take bullets from fonts of symbols.
    """
    kept, left_out = list[Line](), 0
    for line in lines:
        is_bullet = line.text[0] != _UNMAPPED and _is_unreadable(line.text[0]) and not line.text[1:2].strip()
        text = _BULLET + line.text[1:] if is_bullet else line.text
        visible, lost = sum(not c.isspace() for c in text), sum(map(_is_unreadable, text))
        left_out += visible if 2 * lost > visible else lost
        if 2 * lost <= visible:
            readable = "".join(" " if _is_unreadable(c) else c for c in text)  # without, words would run together
            whole = re.sub(" {2,}", " ", readable).lstrip() if lost else text
            kept.append(line._replace(text=whole, cells=tuple(clean(line.cells)[0])))
    return kept, left_out


def _is_unreadable(character: str) -> bool:
    return character == _UNMAPPED or (category(character) in _UNREADABLE and not character.isspace())


def _characters(page: Any, textpage: Any, number: int) -> _Characters:
    """Return the characters of a page, with boxes from the top left; those whose code has none are `_UNMAPPED`."""
    raw, count = import_extra("pypdfium2.raw", "pdf"), textpage.count_chars()
    require(count <= MOST_CHARACTERS, f"page {number} must have at most {MOST_CHARACTERS:,} characters", count)
    values, boxes, rect = list[str](), np.zeros((count, 4)), raw.FS_RECTF()
    handles, unmapped, guesses = list[Any](), False, list[str]()  # of fonts; codes without a character, between spaces
    for i in range(count):
        values.append(chr(raw.FPDFText_GetUnicode(textpage, i)))
        if raw.FPDFText_GetLooseCharBox(textpage, i, rect):
            boxes[i] = rect.left, rect.top, rect.right, rect.bottom
        if not i or values[i - 1].isspace():  # a word has one font
            text_object = raw.FPDFText_GetTextObject(textpage, i)
            font = raw.FPDFTextObj_GetFont(text_object) if text_object else None
            unmapped = bool(font) and raw.FPDFText_HasUnicodeMapError(textpage, i) == 1
        handles.append(font)
        guesses.append(values[i] if unmapped else " ")
    words = "".join(guesses).split()
    if sum(bool(_SPELT.fullmatch(word)) for word in words) < _MOSTLY * len(words):  # else the codes are characters
        values = [value if guess.isspace() else _UNMAPPED for value, guess in zip(values, guesses, strict=True)]
    # A page may be rotated and cropped: three mapped points determine the transformation.
    origin = _to_device(raw, page, 0, 0)
    axes = np.array([_to_device(raw, page, _FAR, 0) - origin, _to_device(raw, page, 0, _FAR) - origin]) / _FAR
    corners = np.stack([boxes[:, :2] @ axes, boxes[:, 2:] @ axes]) + origin
    low, high = corners.min(axis=0), corners.max(axis=0)
    fonts = _fonts(raw, values, handles)
    return _Characters(values, list(map(tuple, np.concatenate([low, high], axis=1).tolist())), fonts)


def _fonts(raw: Any, values: Sequence[str], handles: Sequence[Any]) -> list[Font]:
    """Return the font of each character, read once for each font of the page."""
    addresses = [addressof(handle.contents) if handle else 0 for handle in handles]
    letters = defaultdict[int, set[str]](set)
    for before, value, address in zip(["\n", *values], values, addresses, strict=False):
        if before.isspace():  # the font of other letters is a guess
            letters[address].add(value)
    unique = dict(zip(addresses, handles, strict=True))
    fonts = {address: _font(raw, handle, letters[address] & _LETTERS) for address, handle in unique.items()}
    return [fonts[address] for address in addresses]


def _font(raw: Any, handle: Any, letters: Set[str]) -> Font:
    """Return a font that has some lower-case letters; it is monospaced if narrow letters are as wide as the others."""
    if not handle:
        return Font()
    buffer, width = create_string_buffer(_NAME), c_float()
    raw.FPDFFont_GetBaseFontName(handle, buffer, _NAME)
    name = buffer.value.decode("utf-8", "replace")
    widths = {round(width.value, 2) for c in letters if raw.FPDFFont_GetGlyphWidth(handle, ord(c), 1.0, width)}
    # The name decides if there are too few letters. The flags of fonts are often wrong.
    is_mono = len(widths) == 1 if letters & _NARROW and letters - _NARROW else bool(_MONO_NAME.search(name))
    return Font(name, is_mono, raw.FPDFFont_GetWeight(handle) >= _BOLD_WEIGHT or bool(_BOLD_NAME.search(name)))


def _to_device(raw: Any, page: Any, x: float, y: float) -> Floats:
    """Convert a point from PDF coordinates to the page as displayed, in points, origin top left."""
    across, down = c_int(), c_int()
    width, height = (round(side * _FINE) for side in page.get_size())
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, byref(across), byref(down))
    return np.array([across.value, down.value]) / _FINE


def _split_lines(page: _Characters, grids: Sequence[Grid]) -> list[Line]:
    """Return the lines of a page, in the file's order; a gap wider than the line is high also ends a line."""
    lines, boxes = list[Line](), (box for grid in grids for row in grid for box in row if box)
    walls = sorted({(side, box[1], box[3]) for box in boxes for side in (box[0], box[2])})
    for part in _split(page, _GAP):
        pieces = [*_split(part, _STOP, walls)]
        cells = tuple(cell for piece in pieces for cell in _build_line(piece)) if len(pieces) > 1 else ()
        lines += (line._replace(cells=cells) for line in _build_line(part))
    return lines


def _split(page: _Characters, widest: float, walls: Sequence[tuple[float, float, float]] = ()) -> Iterator[_Characters]:
    """Yield the parts of a text between line breaks, gaps wider than ``widest`` line heights, and sides of cells."""
    start, last, boxes = 0, -1, page.boxes  # last character that is not white space
    for i, character in enumerate([*page.values, "\n"]):
        visible = not character.isspace()
        before = boxes[last] if visible and last >= start else None
        is_gap = before and (
            -interval_overlap(before[::2], boxes[i][::2]) > widest * (before[3] - before[1])
            or (last < i - 1 and _is_walled(walls, before, boxes[i]))
        )
        if character in "\r\n" or is_gap:
            yield page.part(start, i)
            start = i
        last = i if visible else last


def _is_walled(walls: Sequence[tuple[float, float, float]], before: Box, box: Box) -> bool:
    """Return True if the side of a cell is between two words."""
    middle, start = (box[1] + box[3]) / 2, bisect_left(walls, (before[2] - _INTO, 0.0, 0.0))
    beside = takewhile(lambda wall: wall[0] <= box[0] + _INTO, islice(walls, start, None))
    return any(top <= middle <= bottom for _, top, bottom in beside)


def _build_line(part: _Characters) -> Iterator[Line]:
    characters, boxes, fonts = part
    for i, (box, following) in enumerate(pairwise(boxes)):  # PDFium splits this ligature in the wrong order
        if box == following and characters[i] in _ALEFS and characters[i + 1] == _LAM:
            characters[i : i + 2] = _LAM, characters[i]
    tags = _scripts(characters, boxes)
    raw = _mark_scripts(["-" if character == _HYPHEN else character for character in characters], tags)
    raw = _LIGATURES.sub(lambda match: normalize("NFKC", match[0]), _HIDDEN.sub("", raw))
    text = squeeze(raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))  # PDFium may split pairs
    visible = [i for i, c in enumerate(characters) if not c.isspace() and box_area(boxes[i])]
    if text and visible:
        font = Counter(fonts[i] for i in visible).most_common(1)[0][0]
        is_mono = sum(fonts[i].mono for i in visible) > _PURE * len(visible)
        box = bounding_box(boxes[i] for i in visible)
        _, top, _, bottom = bounding_box(boxes[i] for i in visible if not tags[i])  # the first is
        box, highest = (box[0], top, box[2], bottom), max(boxes[i][3] - boxes[i][1] for i in visible)
        is_level = box[3] - box[1] <= _TILTED * highest
        yield Line(text + " " * raw[-1].isspace(), box, font._replace(mono=is_mono), is_level)


def _scripts(characters: Sequence[str], boxes: Sequence[Box]) -> list[str]:
    """Return "sup" or "sub" for each character that is raised or lowered right beside others of the line, else ""."""
    tags, base, last = list[str](), -1, -1  # the last characters: that is neither raised nor lowered, and any
    for i, (character, box) in enumerate(zip(characters, boxes, strict=True)):
        tag = tags[-1] if tags else ""
        if not character.isspace() and box_area(box):
            tag = _script(boxes[base], boxes[last], box) if base >= 0 else ""
            base, last = base if tag else i, i
        elif box_area(box) and not tag:  # a space that is in the file, as before a fraction
            base = -1
        tags.append(tag)
    return tags


def _mark_scripts(characters: Sequence[str], tags: Sequence[str]) -> str:
    """Return the text of a line, in which numbers that are raised or lowered are marked."""
    marked = list[tuple[str, str]]()
    for tag, run in groupby(zip(characters, tags, strict=True), key=itemgetter(1)):
        text = "".join(character for character, _ in run)
        if tag and _SCRIPT.fullmatch(own := text.rstrip()):
            marked[-1] = marked[-1][0].rstrip(), ""
            marked += [(own, tag), (text[len(own) :], "")]
        else:
            marked.append((text, ""))
    return join_scripts(marked)


def _script(base: Box, last: Box, box: Box) -> str:
    """Return "sup" or "sub" for the box of a character that is raised or lowered right beside another, else ""."""
    height = base[3] - base[1]
    if box[3] - box[1] > _SMALL * height or abs(box[0] - last[2]) > _BESIDE * height:
        return ""
    return "sup" if box[3] < base[3] - _RAISED * height else "sub" if box[3] > base[3] else ""
