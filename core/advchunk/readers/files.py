"""Read a file with the reader for its format."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from advchunk.errors import ConfigurationError
from advchunk.readers import formats, magic
from advchunk.records import Document

_HEAD = 2048  # bytes within which XML and HTML must declare their encoding
_DECLARED = re.compile(rb"""<(?:\?xml\b[^>]*?\bencoding|meta\b[^>]*?\bcharset)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_EXCLUDED = ("utf", "unicode", "raw", "idna", "punycode")  # a file that is not UTF-8 cannot declare these
_ALIASES = dict.fromkeys(("iso-8859-1", "latin1", "us-ascii", "ascii"), "cp1252")  # as in browsers


def read_file(
    path: str | Path, *, markup: formats.Markup | None = None, metadata: Mapping[str, Any] | None = None
) -> Document:
    """Read a file with its layout; its path is the document's id.

    Parameters
    ----------
    path : UTF-8 text; XML or HTML in its declared encoding; or a PDF, which needs the extra "layout" (`readers.pdf`).
    markup : format of the text; None detects it from the suffix, and from the text if the suffix is ambiguous
        (`readers.formats.detect_file_format`); "auto" detects it from the text alone.
    metadata : overrides the metadata in the file.

    Raises
    ------
    OSError : the file cannot be read.
    ConfigurationError : the file is not UTF-8, or not valid in its format.
    MissingExtra : the parser for the format is not installed.
    """
    data, name = Path(path).read_bytes(), str(path)
    if is_pdf(path):
        from advchunk.readers import pdf

        return pdf.read(data, id=name, metadata=metadata)
    text = decode_text(data)
    markup = markup or formats.detect_file_format(name, text)
    return formats.read(Document(text, name, metadata=metadata or {}), markup)


def is_pdf(path: str | Path) -> bool:
    """Return True if the file name ends in .pdf."""
    return PurePath(path).suffix.lower() == ".pdf"


def decode_text(data: bytes) -> str:
    """Decode the bytes of a file, dropping the byte order mark and keeping line endings, so that spans fit the file.

    Data that is not UTF-8 must be XML or HTML that declares its encoding.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if declared := _DECLARED.search(data, 0, _HEAD):
            name = declared[1].decode("ascii").lower()
            with suppress(LookupError, UnicodeDecodeError):
                if not name.startswith(_EXCLUDED):
                    return data.decode(_ALIASES.get(name, name))
        got = magic.file_type(data) or f"byte {error.object[error.start]:#04x} at {error.start}"
        msg = f"text files must be UTF-8, got {got}"
        raise ConfigurationError(msg) from None
