"""Read Office files and e-books as blocks, by the format that their bytes have."""

import logging
import re
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, NoReturn

from advchunk.errors import ConfigurationError, MissingExtra, Unreadable, first_line
from advchunk.readers import magic
from advchunk.readers.office.books import read_book
from advchunk.readers.office.flow import Flow
from advchunk.readers.office.open_document import read_open_document
from advchunk.readers.office.package import Package
from advchunk.readers.office.rich_text import read_rich_text
from advchunk.readers.office.sheets import read_sheets
from advchunk.readers.office.slides import read_slides
from advchunk.readers.office.word import read_word
from advchunk.records import Document

# By a part that only such files have: the reader, and the main part, unless a file names another.
_READERS: Mapping[str, tuple[Callable[[Package, Flow], bool], str]] = {
    "word/": (read_word, "word/document.xml"),
    "ppt/": (read_slides, "ppt/presentation.xml"),
    "xl/": (read_sheets, "xl/workbook.xml"),
    "meta-inf/container.xml": (read_book, ""),
    "content.xml": (read_open_document, ""),
}
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_OPEN_KINDS = ("text", "spreadsheet", "presentation")
_TEXTS, _TAG = re.compile(r"ppt/slides/[^/]+\.xml|content\.xml"), re.compile(rb"<[^<>]*>")
_MESSAGE, _ENCRYPTED = (name.encode("utf-16-le") for name in ("__properties_version1.0", "EncryptedPackage"))
_KNOWN = "a Word, PowerPoint, or Excel file (.docx, .pptx, .xlsx), OpenDocument (.odt, .ods, .odp), RTF, or an EPUB"

_log = logging.getLogger("advchunk")


def read(
    data: bytes, *, id: str = "", metadata: Mapping[str, Any] | None = None, hidden: bool = False, links: bool = False
) -> Document:
    """Read Word, PowerPoint, Excel, OpenDocument, RTF, or EPUB, told by its bytes; the text is what a person sees.

    Headings and items have their numbers, and notes are ``[^1]``. A slide is a ``page``, with its notes; a sheet begins
    with its name as heading, which is also its ``sheet``. A table that marks no header has its first row as header.
    ``left_out`` in the metadata counts the comments, deletions, pictures, headers ... that are not in the text. Nothing
    in the file is run, and nothing outside it is read. ``hidden`` adds hidden text, sheets, rows, columns, and slides.
    Raise `Unreadable` if the file is in no such format, damaged, encrypted, or would unpack to too much (`Package`),
    `MissingExtra` without lxml, or selectolax for an EPUB.
    """
    name, flow = id or "the file", Flow(hidden=hidden, links=links)
    try:
        if zipfile.is_zipfile(BytesIO(data)):
            _read_archive(Package(data), flow)
        elif data.startswith(b"{\\rtf"):
            read_rich_text(data, flow)
        else:
            _refuse(_description(data))
        flow.finish()
        if not flow.blocks and flow.left_out["damaged parts"]:
            msg = "must not be damaged, got none of its text"
            raise Unreadable(msg)
    except MissingExtra:
        raise
    except Exception as error:  # a damaged file leads to errors of many kinds
        reason = first_line(error)
        if not isinstance(error, ConfigurationError):
            reason = f"must not be damaged, got {type(error).__name__}: {reason}"
        msg = f"{name} {reason}" if reason.startswith("must") else f"{name}: {reason}"
        raise Unreadable(msg) from error
    document = flow.document(id, {**flow.fields, **(metadata or {})})
    if left_out := document.metadata.get("left_out"):
        _log.info("%s: left out %s", name, left_out)
    return document


def _read_archive(package: Package, flow: Flow) -> None:
    kind = (package.read("mimetype") or b"").decode("latin-1")
    if kind.startswith(_OPEN_DOCUMENT):
        key = "content.xml" if kind.removeprefix(_OPEN_DOCUMENT).startswith(_OPEN_KINDS) else ""
    else:
        key = next((start for start in _READERS if any(name.startswith(start) for name in package.names)), "")
    if not key:
        _refuse(kind or f"an archive of {', '.join([*package.names.values()][:3]) or 'nothing'}")
    read_parts, main = _READERS[key]
    declared = package.target("", "officeDocument")
    package.main = declared if declared.lower() in package.names else main
    if package.main.endswith(".bin"):
        _refuse("a binary workbook (.xlsb), which Excel saves as .xlsx")
    flow.fields = package.properties()
    is_whole = read_parts(package, flow)
    flow.finish()
    if not flow.blocks and not flow.left_out.total():  # there may be text in elements that are not known
        texts = (package.read(name) or b"" for name in package.names if _TEXTS.fullmatch(name))
        is_whole &= not any(_TAG.sub(b"", text.partition(b":body>")[2] or text).strip() for text in texts)
    flow.left_out["damaged parts"] = len(package.damaged) or not is_whole


def _description(data: bytes) -> str:
    """Return a description of what is neither an archive nor RTF."""
    if not data.startswith(b"\xd0\xcf\x11\xe0"):
        return "a damaged archive" if data.startswith(b"PK\x03\x04") else magic.file_type(data) or repr(data[:16])
    if _MESSAGE in data:
        return "a message of Outlook, which is read if its suffix is .msg"
    return "an encrypted one" if _ENCRYPTED in data else "one in the format before 2007, such as .doc"


def _refuse(got: str) -> NoReturn:
    msg = f"must be {_KNOWN}, got {got}"
    raise Unreadable(msg)
