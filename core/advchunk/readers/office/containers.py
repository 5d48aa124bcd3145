"""Detect the kind of an Office file by its bytes, and refuse files that are encrypted, or unpack to too much."""

import re
import zipfile
from io import BytesIO

from advchunk.errors import Unreadable
from advchunk.readers import magic
from advchunk.readers.budget import check

_FOLDERS = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx", "META-INF/container.xml": "epub"}
_XML = (".xml", ".rels", ".opf", ".xhtml", ".html", ".htm", ".ncx")
_TEXTS, _TAG = re.compile(r"ppt/slides/[^/]+\.xml|content\.xml"), re.compile(rb"<[^<>]*>")
_ENTITY = re.compile(rb"<!ENTITY", re.IGNORECASE)
_MESSAGE, _ENCRYPTED = (name.encode("utf-16-le") for name in ("__properties_version1.0", "EncryptedPackage"))
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_OPEN_KINDS = ("text", "spreadsheet", "presentation")
_KNOWN = "a Word, PowerPoint, or Excel file (.docx, .pptx, .xlsx), OpenDocument (.odt, .ods, .odp), RTF, or an EPUB"


def kind_of(data: bytes, name: str) -> str:
    r"""Return "docx", "pptx", "xlsx", "odt" (any OpenDocument), "rtf", or "epub", whatever the suffix of a file is.

    The parts of an archive unpack to what `readers.budget` says, and define no entities.

    Raises
    ------
    Unreadable : the file is none of these, damaged, encrypted, or too large unpacked.

    >>> kind_of(b"{\\rtf1 Tea.}", "tea.doc")
    'rtf'
    """
    kind, got = "", "an empty file"
    if zipfile.is_zipfile(BytesIO(data)):
        kind, got = _archive_kind(data, name)
    elif data.startswith(b"{\\rtf"):
        kind = "rtf"
    elif data.startswith(b"\xd0\xcf\x11\xe0"):
        if _MESSAGE in data:
            got = "a message of Outlook, which is read if its suffix is .msg"
        else:
            got = "an encrypted one" if _ENCRYPTED in data else "one in the format before 2007, such as .doc"
    elif data.startswith(b"PK\x03\x04"):
        got = "a damaged archive"
    elif data:
        got = magic.file_type(data) or repr(data[:16])
    if kind:
        return kind
    msg = f"{name} must be {_KNOWN}, got {got}"
    raise Unreadable(msg)


def _archive_kind(data: bytes, name: str) -> tuple[str, str]:
    """Return the kind of an archive, or "" and a description of it."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        if any(member.flag_bits & 1 for member in members):
            msg = f"{name} must not be encrypted"
            raise Unreadable(msg)
        total, texts = sum(member.file_size for member in members), [m for m in members if m.filename.endswith(_XML)]
        largest = max((member.file_size for member in texts), default=0)
        # A part is never read beyond its declared size.
        check("bytes", total, f"{name} must unpack to")
        check("characters", largest, f"a part of {name} must unpack to")
        check("parts", len(members), f"{name} must unpack to")
        for member in texts:  # no Office file needs entities
            part = archive.read(member)
            if _ENTITY.search(part.replace(b"\0", b"") if b"\0" in part[:4] else part):  # in any encoding of Unicode
                msg = f"{name}/{member.filename} must not define entities"
                raise Unreadable(msg)
        names = [member.filename for member in members]
        kind = archive.read("mimetype").decode("latin-1") if "mimetype" in names else ""
        if kind.startswith(_OPEN_DOCUMENT):
            if kind.removeprefix(_OPEN_DOCUMENT).startswith(_OPEN_KINDS):
                return "odt", ""
            return "", kind
    kinds = (kind for start, kind in _FOLDERS.items() if any(member.startswith(start) for member in names))
    return next(kinds, ""), f"an archive of {', '.join(names[:3]) or 'nothing'}"


def holds_text(data: bytes) -> bool:
    """Return True if slides, or the body of OpenDocument, have text, whatever its elements are."""
    if not zipfile.is_zipfile(BytesIO(data)):
        return False
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = (archive.read(name) for name in archive.namelist() if _TEXTS.fullmatch(name))
        bodies = (part.partition(b":body>")[2] or part for part in parts)
        return any(_TAG.sub(b"", body).strip() for body in bodies)
