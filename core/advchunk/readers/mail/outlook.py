"""Read messages of Outlook as mail, by olefile: headers, text, and attachments, also messages in messages."""

import codecs
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email import policy
from email.headerregistry import HeaderRegistry, UniqueUnstructuredHeader
from email.message import EmailMessage
from email.utils import format_datetime
from io import BytesIO
from typing import Any

from advchunk.errors import Unreadable, first_line, import_extra, require
from advchunk.readers.mail.messages import MAX_DEPTH, decode_leniently, read_message
from advchunk.readers.writing import squeeze
from advchunk.records import Document

# Properties of MAPI by their tags (MS-OXPROPS): strings in streams of their own, numbers and times in one stream.
_STRINGS = {"Subject": "0037", "To": "0E04", "Cc": "0E03", "Message-ID": "1035", "In-Reply-To": "1042"}
_PROPERTIES = "__properties_version1.0"
_NAME, _ADDRESSES = "0C1A", ("5D01", "0C1F")  # of the sender
_TEXT, _HTML, _COMPRESSED = "1000", "1013", "1009"
_FILE_NAMES, _MEDIA_TYPE, _DATA = ("3707", "3704"), "370E", "3701"
_TIMES, _CODE_PAGES = (0x0039, 0x0E06), (0x3FDE, 0x3FFD)  # sent, delivered; of the text, of other strings
_ENTRY = struct.Struct("<HHIQ")  # kind, tag, flags, value
_HEADS = (32, 24)  # bytes above the entries: of a message, of one in a message
_SYSTIME, _EPOCH = 0x0040, datetime(1601, 1, 1, tzinfo=UTC)
_CODECS = {20127: "ascii", 20866: "koi8-r", 21866: "koi8-u", 51932: "euc-jp", 51949: "euc-kr", 54936: "gb18030", 65001: "utf-8"}  # fmt: skip  # noqa: E501

_REGISTRY = HeaderRegistry()
for _header in ("from", "to", "cc", "message-id", "in-reply-to"):  # names as they are, without addresses
    _REGISTRY.map_to_type(_header, UniqueUnstructuredHeader)  # type: ignore[arg-type]  # the stub lacks its base
_POLICY = policy.default.clone(header_factory=_REGISTRY)


def read(data: bytes, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a message of Outlook without attachments; see `read_all`."""
    return read_all(data, id=id, metadata=metadata)[0]


def read_all(
    data: bytes, *, id: str = "", metadata: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
) -> list[Document]:
    """Read a message of Outlook and its attachments as mail (`readers.mail.messages.read_all`). A text that is
    compressed RTF alone is in ``unread_attachments``. Raise `Unreadable` for bad data, `MissingExtra` without olefile.
    """
    library = import_extra("olefile", "office")
    try:
        with library.OleFileIO(BytesIO(data)) as file:
            require(file.exists(_PROPERTIES), "it must have the properties of a message", file.listdir()[:3])
            message = _Storage(file, ()).message(0)
    except Exception as error:  # the library raises whatever a damaged file leads it to
        msg = f"{id or 'the file'} must be an Outlook message, got {type(error).__name__}: {first_line(error)}"
        raise Unreadable(msg) from error
    return list(read_message(message, id, metadata or {}, options))


class _Storage:
    """A folder of a compound file: a message, or an attachment."""

    def __init__(self, file: Any, path: tuple[str, ...]) -> None:
        self._file, self._path = file, path
        data = self._stream(_PROPERTIES)[_HEADS[bool(path)] :]
        entries = _ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size])
        self._values = {tag: (kind, value) for kind, tag, _, value in entries}

    def message(self, depth: int) -> EmailMessage:
        """Return the message, with the messages in it up to the depth at which they are read."""
        message = EmailMessage(_POLICY)
        for header, value in self._headers():
            if value := squeeze(value):
                message[header] = value
        text, html = self._string(_TEXT), self._binary(_HTML)
        encoding = self._encoding(_CODE_PAGES[0]) or "utf-8"
        if text.strip() or not (html or self._string(_HTML)):
            message.set_content(text)
        else:
            html = html or self._string(_HTML).encode(encoding := "utf-8")
            message.set_content(html, "text", "html", params={"charset": encoding})
        if not text.strip() and not html and (rich := self._binary(_COMPRESSED)):
            message.add_attachment(rich, "application", "octet-stream", filename="text in compressed RTF")
        for attached in self._attachments() if depth <= MAX_DEPTH else ():
            attached._attach(message, depth)
        return message

    def _attach(self, message: EmailMessage, depth: int) -> None:
        name = self._first(_FILE_NAMES) or None
        if self._file.exists([*self._path, inner := f"__substg1.0_{_DATA}000D"]):
            message.add_attachment(_Storage(self._file, (*self._path, inner)).message(depth + 1), filename=name)
        else:
            kind = "text" if self._string(_MEDIA_TYPE).startswith("text/") else "application"
            message.add_attachment(self._binary(_DATA), kind, "octet-stream", filename=name)

    def _headers(self) -> Iterator[tuple[str, str]]:
        name, address = self._string(_NAME), self._first(_ADDRESSES)
        yield "From", f"{name} <{address}>" if name not in {"", address} else address
        yield from ((header, self._string(tag)) for header, tag in _STRINGS.items())
        entries = (self._values.get(tag, (0, 0)) for tag in _TIMES)
        if moment := next((value for kind, value in entries if kind == _SYSTIME and value), 0):
            yield "Date", format_datetime(_EPOCH + timedelta(microseconds=moment // 10))

    def _attachments(self) -> "Iterator[_Storage]":
        paths = {tuple(entry[: len(self._path) + 1]) for entry in self._file.listdir()}
        start = (*self._path, "__attach_version1.0_")
        return (_Storage(self._file, path) for path in sorted(paths) if "/".join(path).startswith("/".join(start)))

    def _first(self, tags: Iterable[str]) -> str:
        """Return the first of several strings that is there, in one line."""
        return squeeze(next(filter(None, map(self._string, tags)), ""))

    def _string(self, tag: str) -> str:
        """Return a string in UTF-16, or in the code page of the message; "" if there is none."""
        if data := self._stream(f"__substg1.0_{tag}001F"):
            return data.decode("utf-16-le", "replace").rstrip("\0")
        data = self._stream(f"__substg1.0_{tag}001E").rstrip(b"\0")
        own, other = _CODE_PAGES if tag in {_TEXT, _HTML} else _CODE_PAGES[::-1]
        for encoding in filter(None, (self._encoding(own), self._encoding(other))):
            with suppress(UnicodeDecodeError):
                return data.decode(encoding)
        return decode_leniently(data, "a string").text

    def _binary(self, tag: str) -> bytes:
        return self._stream(f"__substg1.0_{tag}0102")

    def _stream(self, name: str) -> bytes:
        path = [*self._path, name]
        return bytes(self._file.openstream(path).read()) if self._file.exists(path) else b""

    def _encoding(self, tag: int) -> str:
        """Return the codec of a code page; "" if it is not known."""
        page = self._values.get(tag, (0, 0))[1] & 0xFFFFFFFF
        try:
            return codecs.lookup(_CODECS.get(page, f"cp{page}")).name if page else ""
        except LookupError:
            return ""
