"""Read messages (RFC 5322, MIME) and mailboxes: headers as metadata, quoted replies apart, attachments as documents."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import groupby
from typing import Any

from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.readers import formats
from advchunk.readers.encodings import UTF_8, Decoded, contradicts, decode
from advchunk.readers.files import read_documents
from advchunk.readers.writing import Writer, squeeze
from advchunk.records import Document

_HEADERS = {"subject": "title", "from": "from", "to": "to", "cc": "cc", "date": "date", "message-id": "message_id", "in-reply-to": "in_reply_to"}  # fmt: skip  # noqa: E501
# Of a message in a mailbox.
_START = re.compile(rb"(?:\A|\r?\n\r?\n)From (?=[^\r\n]*\d{4})[^\r\n]*+\r?\n(?=[A-Za-z-]+:)")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_QUOTED = re.compile(r"[ \t]*>")
# RFC 3676, 4.3: after the last such line; more lines are text.
_SIGNATURE = re.compile(r"\n-- ?\n((?:(?!-- ?\n)[^\n]*\n){0,9}[^\n]*)\Z")
_BOUNDARY = re.compile(rb"^--(?! )([!#-\[\]-~][ !#-\[\]-~]{0,198}?)(?:--)?[ \t]*\r?$", re.MULTILINE)
_WORD = re.compile(r"\w+")
MAX_DEPTH = 3
"""Depth to which messages in messages are read."""


def read(data: bytes, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a message, or a mailbox of one message, without attachments; see `read_all`."""
    return next(iter(read_all(data, id=id, metadata=metadata)), Document("", id, (), metadata or {}, markup="mail"))


def read_all(
    data: bytes, *, id: str = "", metadata: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
) -> list[Document]:
    """Read the messages of a file, each followed by its attachments, which are read by their names.

    A message is its text, or its HTML if that says more; paragraphs quoted from the message that it answers are blocks
    "quote". Metadata are the subject as ``title``, ``from``, ``to``, ``cc``, ``date`` (ISO 8601), ``message_id``,
    ``in_reply_to``, ``signature``, the ``encoding`` if not the declared one, and the names in ``attachments`` and
    ``unread_attachments``; attachments have ``attached_to``. ``options`` are for the readers of HTML and attachments.
    Raise `ConfigurationError` if the data are no message.
    """
    starts = list(_START.finditer(data)) if data.startswith(b"From ") else []
    ends = [*(start.start() for start in starts[1:]), len(data)]
    parts = [_ESCAPED.sub(rb"\1", data[start.end() : end]) for start, end in zip(starts, ends, strict=False)] or [data]
    documents = list[Document]()
    for number, part in enumerate(parts, 1):
        name = f"{id}, message {number}" if len(parts) > 1 else id
        documents += read_message(_parse(part), name, metadata or {}, options)
    return documents


def _parse(data: bytes) -> EmailMessage:
    """Parse a message; parts that are not found by its boundary are found by the line that begins them."""
    message = message_from_bytes(data, policy=policy.default)
    for part in message.walk():
        body = part.get_payload(decode=True) if part.get_content_maintype() == "multipart" else None
        if isinstance(body, bytes) and (line := _BOUNDARY.search(body)):
            kind = b"digest" if part.get_content_subtype() == "digest" else b"mixed"  # whose parts are messages
            head = b'Content-Type: multipart/%b; boundary="%b"\n\n' % (kind, line[1])
            parsed = message_from_bytes(head + body, policy=policy.default)
            if parsed.is_multipart():  # then its parts are next
                part.set_payload(parsed.get_payload())
    return message


def read_message(
    message: Any, name: str, metadata: Mapping[str, Any], options: Mapping[str, Any] | None, depth: int = 0
) -> Iterator[Document]:
    """Yield the documents of a message that is in ``depth`` others; see `read_all`."""
    require(bool(message.keys()), "a message must begin with headers, such as Subject", name or "none")
    headers = {own: value for header, own in _HEADERS.items() if (value := _header(message, header))}
    body = _best_body(message, name)
    attached, unread = list[Document](), list[str]()
    for number, part in enumerate(message.iter_attachments(), 1):
        own = f"{name}/{squeeze(part.get_filename() or '') or f'attachment {number}'}"
        origin = {**metadata, "attached_to": name}
        try:
            if part.get_content_type() == "message/rfc822":
                require(depth < MAX_DEPTH, f"messages must be nested at most {MAX_DEPTH} deep", own)
                attached += read_message(part.get_content(), own, origin, options, depth + 1)
            else:
                attached += _read_attachment(part, own, origin, options)
        except (ConfigurationError, MissingExtra, LookupError, ValueError):
            unread.append(own)
    lists = {"attachments": [document.id for document in attached], "unread_attachments": unread}
    about = {**headers, **{key: names for key, names in lists.items() if names}}
    yield _body(body, name, {**about, **metadata}, options, len(unread))
    yield from attached


def _best_body(message: Any, name: str) -> Any:
    """Return the plain text of a message; its HTML if there is none, or if that has most words of its own."""
    plain, page = message.get_body(("plain",)), message.get_body(("html",))
    if plain is None or page is None:
        return plain or page
    try:
        shown = formats.read(Document(_content(page, name).text), "html").text
    except (ConfigurationError, MissingExtra):
        return plain
    words = {*_WORD.findall(shown)}
    common = words & {*_WORD.findall(_content(plain, name).text)}  # it may only say that the client must show HTML
    return plain if 2 * len(common) >= len(words) else page


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = message[name]
        moment = getattr(value, "datetime", None)
    except (ValueError, LookupError, IndexError, AttributeError, TypeError):  # of a header that is not well-formed
        return ""
    return moment.isoformat() if moment else squeeze(str(value or ""))


def _read_attachment(
    part: EmailMessage, name: str, metadata: Mapping[str, Any], options: Mapping[str, Any] | None
) -> list[Document]:
    data = part.get_payload(decode=True)
    is_mail = name.lower().endswith((".eml", ".mbox"))  # in a message, these are of another type
    is_known = not is_mail and (formats.is_supported(name) or part.get_content_maintype() == "text")
    require(is_known, "an attachment must be in a format with a reader", name)
    return read_documents(name, data=data if isinstance(data, bytes) else b"", metadata=metadata, options=options)


def _body(
    body: EmailMessage | None, name: str, metadata: Mapping[str, Any], options: Mapping[str, Any] | None, unread: int
) -> Document:
    writer = Writer("mail")
    writer.left_out["attachments"] = unread
    if body is None:
        return writer.document(name, metadata)
    content = _content(body, name)
    metadata = {**content.about, **metadata}
    if body.get_content_type() == "text/html":
        page = formats.read(Document(content.text, name, metadata=metadata), "html", options)
        writer.add_document(page)
        return writer.document(name, {key: own for key, own in page.metadata.items() if key != "left_out"})
    text = content.text.replace("\r\n", "\n")
    if signature := _SIGNATURE.search(text):
        metadata = {"signature": signature[1].strip(), **metadata}
        text = text[: signature.start()]
    for part in re.split(r"\n[ \t]*\n", text):
        for is_quoted, lines in groupby(part.split("\n"), lambda line: bool(_QUOTED.match(line))):
            writer.add("quote" if is_quoted else "paragraph", "\n".join(lines))
    return writer.document(name, metadata)


def _content(part: EmailMessage, name: str) -> Decoded:
    """Return the text of a part in the encoding that it declares, or else, as its bytes tell, in another."""
    data, declared = part.get_payload(decode=True), part.get_content_charset() or UTF_8
    data = data if isinstance(data, bytes) else b""
    with suppress(LookupError, UnicodeDecodeError):
        if not contradicts(data, declared):
            return Decoded(data.decode(declared), UTF_8)
    return decode_leniently(data, name)


def decode_leniently(data: bytes, name: str) -> Decoded:
    """Return a text in the encoding that is found, or else in Latin-1, in which nothing is lost."""
    try:
        return decode(data, name)
    except ConfigurationError:
        return Decoded(data.decode("latin-1"), "latin-1")
