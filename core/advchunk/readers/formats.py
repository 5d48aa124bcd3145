"""Detect the format of a document, and read it with the reader for that format."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from inspect import signature
from pathlib import Path, PurePath
from typing import Any

from advchunk import registry
from advchunk.errors import ConfigurationError, MissingExtra, Unreadable, did_you_mean, first_line, require
from advchunk.readers import PROLOGUE
from advchunk.readers.noise import MARK, without_data
from advchunk.records import Document
from advchunk.registry import Registration
from advchunk.text.patterns import lazy_pattern

_HEAD = 4096  # characters in which the format is detected
_DECLARED_XML = lazy_pattern(rf"(?=[\ufeff\s]*<\?xml){PROLOGUE}<")


def detect_format(text: str) -> str:
    """Detect the format of a text from its beginning; the default is "markdown", which covers prose too."""
    head = text[:_HEAD]
    for row, begins in _beginnings():
        if begins.match(head) and (markup := _detect(row, text, "", {}) if row.detect else row.name):
            return markup
    return "xml" if _DECLARED_XML.match(head) else "markdown"


def detect_document_format(document: Document) -> str:
    """Detect the format of a document from its text, and source code from the name of its file and the like."""
    markup = detect_format(document.text)
    return (markup == "markdown" and _ask(document.text, document.source, document.metadata)) or markup


def detect_file_format(name: str, text: str) -> str:
    """Detect the format of a file from its suffix, or from its text if several share that; the default is "plain".

    Source code without a suffix is detected by its first line; without the extra "code", it is "plain".
    """
    suffix = PurePath(name).suffix.lower()
    row = _by_suffix().get(suffix)
    shared = _shared_suffixes().get(suffix, ())
    if row and not row.detect:
        markup = detect_format(text) if shared else row.name
        return markup if markup in shared else row.name
    if (markup := _ask(text, name, {})) or not shared:
        return markup or "plain"
    if (markup := detect_format(text)) != "markdown":
        return markup
    generic = {"<": "xml", "{": "json", "[": "json"}.get(text.lstrip("\ufeff \t\r\n")[:1], "")
    return generic if generic in shared else "plain"


def is_supported(name: str) -> bool:
    """Return True if the suffix of a file is that of a format."""
    suffix = PurePath(name).suffix.lower()
    return suffix in _by_suffix() or suffix in _shared_suffixes()


def tells_format(name: str) -> bool:
    """Return True if the suffix of a file tells its format, alone or with the beginning of the text."""
    suffix = PurePath(name).suffix.lower()
    row = _by_suffix().get(suffix)
    return row.name != "plain" if row else suffix in _shared_suffixes()


def unchanged_format(name: str) -> str:
    """Return the format of a file, by its suffix, if its reader adds a layout to the text as it is; "" for others."""
    row = _by_suffix().get(PurePath(name).suffix.lower())
    return row.name if row and hasattr(row.load(), "blocks") else ""


def binary_format(path: str | Path) -> str:
    """Return the format of a file whose reader takes bytes, by its suffix; "" if it is text."""
    row = _by_suffix().get(PurePath(path).suffix.lower())
    return row.name if row and takes_bytes(row) else ""


def takes_bytes(row: Registration) -> bool:
    """Return True if a reader takes the bytes of a file."""
    return (getattr(row.load(), "takes", "text") if row.takes is None else row.takes) == "bytes"


def _ask(text: str, name: str, metadata: Mapping[str, Any]) -> str:
    """Return the format that a text has by other signs than its beginning; "" if unknown."""
    rows = (row for row in _rows() if row.detect and not row.begins)
    return next(filter(None, (_detect(row, text, name, metadata) for row in rows)), "")


def _detect(row: Registration, text: str, name: str, metadata: Mapping[str, Any]) -> str:
    """Return the format that a row detects in a text; "" if unknown, or if its function fails."""
    detect = registry.load_path(row.detect) if row.is_ours else row._replace(path=row.detect).load()
    try:
        return str(detect(text, name, metadata)) if detect else ""
    except (Exception, SystemExit) as error:
        if row.is_ours:
            raise
        row.reject(f"its function detect failed: {type(error).__name__}: {first_line(error)}")
        return ""


@cache
def _rows(column: str = "name") -> list[Registration]:
    """Return the readers that have a value in a column of the table."""
    return [row for row in registry.rows_of("reader") if getattr(row, column)]


@cache
def _beginnings() -> tuple[tuple[Registration, re.Pattern[str]], ...]:
    """Return the readers of formats that are detected by their beginning, with the patterns of these."""
    return tuple((row, re.compile(row.begins)) for row in _rows("begins"))


@cache
def _by_suffix() -> Mapping[str, Registration]:
    """Return the reader of each suffix that decides on the format."""
    suffixes = dict[str, Registration]()
    for row in _rows():
        own = getattr(row.load(), "suffixes", ()) if row.suffixes is None else row.suffixes
        taken = suffixes.keys() | _shared_suffixes().keys()
        are_new = (suffix == f".{suffix[1:].lower()}" and suffix not in taken for suffix in own)
        if row.is_ours or (not isinstance(own, str) and all(are_new)):
            suffixes |= dict.fromkeys(own, row)
        else:
            row.reject(f"its suffixes must be a tuple of new ones with a dot, in lower case, got {own!r}")
    return suffixes


@cache
def _shared_suffixes() -> Mapping[str, list[str]]:
    """Return the formats of each suffix that does not decide among them."""
    shared = dict[str, list[str]]()
    for row in _rows():
        for suffix in row.shared_suffixes:
            shared.setdefault(suffix, []).append(row.name)
    return shared


@cache
def check_markup(markup: str) -> None:
    """Raise `ConfigurationError` unless ``markup`` is "auto", or the name of a format."""
    if markup != "auto" and registry.find("reader", markup) is None:
        names = "auto", *registry.names_of("reader")
        msg = f"markup must be one of {', '.join(names)}, got {markup!r}{did_you_mean(str(markup), names)}"
        raise ConfigurationError(msg)


def read(document: Document, markup: str, options: Mapping[str, Any] | None = None) -> Document:
    """Add a layout to a document that does not have one, and metadata from its text, which its own overrides.

    Markdown, plain text and source code stay; other formats become a new text without tags, of which chunks are spans.
    Raise `ConfigurationError` if the format is unknown, or not that of the text, `MissingExtra` without its parser.
    """
    check_markup(markup)
    if document.blocks is not None:
        return document
    if MARK in document.text:
        document = without_data(document)
    if markup in {"auto", "markdown"} and document.metadata and (restored := _restore_layout(document)):
        return restored
    name = detect_document_format(document) if markup == "auto" else markup
    reader = find_reader(name)
    if hasattr(reader, "blocks"):  # the text stays as it is
        if _is_ours(name):
            layout = reader.blocks(document.text)
        else:
            with report_reader(name, document.id):
                layout = reader.blocks(document.text)
        metadata = document.metadata
        if layout and layout[0].kind == "code" and hasattr(reader, "read_metadata"):  # front matter
            metadata = {**reader.read_metadata(document.text), **metadata}
        own = document.offsets, document.markup, document.above, document.outline
        document = Document(document.text, document.id, layout, metadata, *own)
        for row, begins in _refining(name):
            if begins.match(document.text[:_HEAD]):
                with report_reader(row.name, document.id):
                    document = check_read(row.load().refine_layout(document), row.name, document.text)
        return document
    rule = f"markup must be a format of text: {name}, which read_file reads from the bytes of a file, is none"
    require(not is_binary(name), rule, markup)
    with report_reader(name, document.id):
        own_options = accepted(reader.read, options)
        derived = reader.read(document.text, id=document.id, metadata=document.metadata, **own_options)
    return compose_offsets(document, check_read(derived, name, document.text))


def accepted(read: Callable[..., Any], options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options that a reader has."""
    return {name: value for name, value in options.items() if name in signature(read).parameters} if options else {}


@cache
def _is_ours(name: str) -> bool:
    row = registry.find("reader", name)
    return row is None or row.is_ours


@cache
def find_reader(name: str) -> Any:
    """Return the reader of a format, an object with ``read``, or with ``blocks`` if it changes no text."""
    check_markup(name)
    row = registry.find("reader", name)
    reader = row.load() if row else None
    rule = "a reader of another package must load, and have a function read"
    require(hasattr(reader, "read") or hasattr(reader, "blocks"), rule, name)
    return reader


def is_binary(name: str) -> bool:
    """Return True if the reader of a format takes the bytes of a file."""
    row = registry.find("reader", name)
    return row is not None and takes_bytes(row)


@contextmanager
def report_reader(name: str, id: str) -> Iterator[None]:
    """Raise `Unreadable` for whatever a reader of another package raises, so that one file does not end a run."""
    try:
        yield
    except (ConfigurationError, MissingExtra):
        raise
    except RecursionError as error:
        msg = f"a file must not be nested so deeply that Python cannot read it, got {id!r} as {name!r}"
        raise Unreadable(msg) from error
    except (Exception, SystemExit) as error:
        row = registry.find("reader", name)
        if row is None or row.is_ours:
            raise
        where = f" on {id!r}" if id else ""
        msg = f"the reader of {name!r} ({row.source}) failed{where}: {type(error).__name__}: {first_line(error)}"
        raise Unreadable(msg) from error


def check_read(derived: Any, name: str, text: str | None = None) -> Document:
    """Return the document of a reader, whose ``markup`` says so if its text is not that of the file."""
    require(isinstance(derived, Document), f"the reader of {name!r} must return a Document", derived)
    document: Document = derived
    return document if document.markup or document.text == text else replace(document, markup=name)


def _restore_layout(document: Document) -> Document | None:
    """Return a document with the layout that its metadata describe; None if they describe none."""
    for row in _rows("metadata_keys"):
        if not document.metadata.keys().isdisjoint(row.metadata_keys):
            with report_reader(row.name, document.id):
                restored: Document | None = row.load().restore_layout(document)
            if restored:
                return restored
    return None


@cache
def _refining(name: str) -> list[tuple[Registration, re.Pattern[str]]]:
    """Return the readers that may find more blocks in the texts of a format, with patterns of their beginnings."""
    rows = registry.rows_of("reader", ours=True)
    return [(row, re.compile(row.begins)) for row in rows if name in row.refines]


def compose_offsets(document: Document, derived: Document) -> Document:
    """Return the derived document with offsets into the original of ``document``, if both have offsets."""
    if document.offsets is None or derived.offsets is None:
        return derived
    return replace(derived, offsets=document.offsets[derived.offsets])
