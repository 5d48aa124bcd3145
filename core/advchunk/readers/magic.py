"""Identify files by their first bytes, to reject files that are not PDFs or not text."""

from collections.abc import Mapping

from advchunk.errors import ConfigurationError

_PDF_HEAD = 1024  # bytes in which %PDF- must occur
_MAGIC: Mapping[bytes, str] = {
    b"%PDF-": "a PDF", b"PK\x03\x04": "a zip archive, such as an Office document or EPUB", b"\x1f\x8b": "gzip",
    b"7z\xbc\xaf": "a 7z archive", b"Rar!": "a RAR archive", b"%!PS": "PostScript", b"{\\rtf": "RTF",
    b"\xd0\xcf\x11\xe0": "an old Office document", b"\x89PNG": "a PNG image", b"\xff\xd8\xff": "a JPEG image",
    b"II*\x00": "a TIFF image", b"MM\x00*": "a TIFF image", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16",
}  # fmt: skip


def file_type(data: bytes) -> str:
    """Return the type of a file that is not UTF-8 text, by its first bytes; "" if unknown."""
    return next((name for magic, name in _MAGIC.items() if data.startswith(magic)), "")


def require_pdf(data: bytes, name: str = "this") -> None:
    """Raise `ConfigurationError`, naming the actual type, unless the data begins like a PDF."""
    if b"%PDF-" not in data[:_PDF_HEAD]:
        actual = "XML or HTML" if data.lstrip().startswith(b"<") else file_type(data)
        msg = f"{name} must be a PDF, got {actual or (repr(data[:16]) if data else 'nothing')}"
        raise ConfigurationError(msg)
