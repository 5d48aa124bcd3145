"""Read a file with the reader for what it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from advchunk.errors import ConfigurationError
from advchunk.readers import formats, magic
from advchunk.records import Document

_LOOKED_AT = 2048  # bytes, in which XML and HTML must declare their encoding
_DECLARED = re.compile(rb"""<(?:\?xml\b[^>]*?\bencoding|meta\b[^>]*?\bcharset)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_NO_CHARSETS = ("utf", "unicode", "raw", "idna", "punycode")  # in none of which a file could say so and not be UTF-8
_MEANT = dict.fromkeys(("iso-8859-1", "latin1", "us-ascii", "ascii"), "cp1252")  # as browsers take it


def read_file(
    path: str | Path, *, markup: formats.Markup | None = None, metadata: Mapping[str, Any] | None = None
) -> Document:
    """Read a file with its layout; its path is the document's id.

    Parameters
    ----------
    path : text in UTF-8, XML or HTML in what it declares, or a PDF, which needs the extra "layout" (`readers.pdf`).
    markup : what the text is written in; None goes by the file's name, and by the text where that leaves several
        (`readers.formats.detect_file_format`), "auto" by the text alone.
    metadata : overrides what the file says of itself.

    Raises
    ------
    OSError : a file that cannot be read.
    ConfigurationError : one that is not UTF-8, or is not written in what it should be.
    MissingExtra : a reader whose parser is not installed.
    """
    data, name = Path(path).read_bytes(), str(path)
    if is_pdf(path):
        from advchunk.readers import pdf

        return pdf.read(data, id=name, metadata=metadata)
    text = decode_text(data)
    return formats.read(Document(text, name, metadata=metadata or {}), markup or formats.detect_file_format(name, text))


def is_pdf(path: str | Path) -> bool:
    """Whether a file is a PDF by its name."""
    return PurePath(path).suffix.lower() == ".pdf"


def decode_text(data: bytes) -> str:
    """Return a file's text as it stands, line ends included, so that spans fit the file; but without a byte order mark.

    What is not UTF-8 must be XML or HTML that declares what it is.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if declared := _DECLARED.search(data, 0, _LOOKED_AT):
            name = declared[1].decode("ascii").lower()
            with suppress(LookupError, UnicodeDecodeError):
                if not name.startswith(_NO_CHARSETS):
                    return data.decode(_MEANT.get(name, name))
        got = magic.file_type(data) or f"byte {error.object[error.start]:#04x} at {error.start}"
        msg = f"a text must be UTF-8, got {got}"
        raise ConfigurationError(msg) from None
