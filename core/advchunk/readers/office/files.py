"""Read Office files and e-books as blocks, by the format that their bytes have."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from advchunk.errors import ConfigurationError, MissingExtra, Unreadable, first_line
from advchunk.readers.office.books import read_book
from advchunk.readers.office.containers import holds_text, kind_of
from advchunk.readers.office.flow import Flow
from advchunk.readers.office.open_document import read_open_document
from advchunk.readers.office.package import Package
from advchunk.readers.office.rich_text import read_rich_text
from advchunk.readers.office.sheets import read_sheets
from advchunk.readers.office.slides import read_slides
from advchunk.readers.office.word import read_word
from advchunk.records import Document

_READERS: Mapping[str, tuple[Callable[[Package, Flow], bool], str]] = {  # and the main part, unless a file names it
    "docx": (read_word, "word/document.xml"),
    "pptx": (read_slides, "ppt/presentation.xml"),
    "xlsx": (read_sheets, "xl/workbook.xml"),
    "odt": (read_open_document, "content.xml"),
    "epub": (read_book, ""),
}

_log = logging.getLogger("advchunk")


def read(data: bytes, *, id: str = "", metadata: Mapping[str, Any] | None = None, hidden: bool = False) -> Document:
    """Read a file of Word, PowerPoint, Excel, or OpenDocument, RTF, or an EPUB; its bytes decide which.

    The text is what a person sees: headings and items with their numbers, tables in Markdown, raised numbers as such,
    and notes as ``[^1]``. A slide is a ``page``, with its notes; a sheet begins with its name as heading, which is also
    its ``sheet``. A table that marks no header has its first row as header. The metadata have the file's ``title`` and
    ``authors``, and ``left_out`` counts the comments, deletions, pictures, headers ... that are not in the text, as the
    log does. Nothing in the file is run, and nothing outside it is read.

    Parameters
    ----------
    hidden : read what the file hides, too: text, sheets, rows, columns, and slides.

    Raises
    ------
    Unreadable : the file is in none of these formats, damaged, encrypted, or would unpack to too much.
    MissingExtra : lxml, or selectolax for an EPUB, is not installed.
    """
    name, flow = id or "the file", Flow(hidden=hidden)
    try:
        if (kind := kind_of(data, name)) == "rtf":
            read_rich_text(data, flow)
        else:
            read_parts, main = _READERS[kind]
            package = Package(data, main)
            flow.fields = package.properties()
            is_whole = read_parts(package, flow)
            flow.left_out["damaged parts"] = len(package.damaged) or not is_whole
        flow.finish()
        if not flow.blocks and (flow.left_out["damaged parts"] or (not flow.left_out.total() and holds_text(data))):
            msg = "must not be damaged, got none of its text"
            raise Unreadable(msg)
    except MissingExtra:
        raise
    except Exception as error:  # a damaged file leads to errors of many kinds
        reason = first_line(error)
        if not isinstance(error, ConfigurationError):
            reason = f"must not be damaged, got {type(error).__name__}: {reason}"
        before = "" if reason.startswith(name) else f"{name} " if reason.startswith("must") else f"{name}: "
        raise Unreadable(before + reason) from error
    document = flow.document(id, {**flow.fields, **(metadata or {})})
    if left_out := document.metadata.get("left_out"):
        _log.info("%s: left out %s", name, left_out)
    return document
