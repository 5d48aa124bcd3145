"""Read files with the readers for their formats."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from advchunk import registry
from advchunk.errors import ConfigurationError, checked, require
from advchunk.readers import formats
from advchunk.readers.encodings import decode
from advchunk.readers.noise import without_controls
from advchunk.readers.writing import Content
from advchunk.records import Document


@checked
def read_file(
    path: str | Path,
    *,
    markup: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    content: Content = "all",
    hidden: bool = False,
    links: bool = False,
) -> Document:
    """Read a file with its layout; its path is the document's id.

    Parameters
    ----------
    path : a file of text, or of a binary format such as PDF, which needs the extra "pdf" (`readers.pages.pdf`).
    markup : format of the text; None detects it from the suffix, and from the text if the suffix is ambiguous
        (`readers.formats.detect_file_format`); "auto" detects it from the text alone, except source code.
    metadata : overrides the metadata in the file.
    encoding : encoding of the text; None detects it (`readers.encodings.decode`). Unless it is UTF-8, it is kept as
        ``encoding`` in the metadata.
    content : "main" keeps of a web page only what it is about (`readers.html`), which needs the extra "web". What was
        left out is counted in the metadata, ``left_out``.
    hidden : read what the file hides, too, such as text, sheets, rows, and slides (`readers.office`).
    links : write the links of web pages, Office files, and e-books as in Markdown; else just their text.

    Raises
    ------
    OSError : the file cannot be read.
    ConfigurationError : the text is not in the encoding, not valid in its format, or several records.
    MissingExtra : the parser for the format is not installed.
    """
    options = {"content": content, "hidden": hidden, "links": links}
    return only(read_documents(path, markup=markup, metadata=metadata, encoding=encoding, options=options))


def read_documents(
    path: str | Path,
    *,
    markup: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    options: Mapping[str, Any] | None = None,
    data: bytes | None = None,
) -> list[Document]:
    """Read a file as one document (`read_file`), or each record of PubMed, or message and attachment of mail."""
    name = (markup in (None, "auto") and formats.binary_format(path)) or markup
    if name and formats.is_binary(name):
        data, reader = Path(path).read_bytes() if data is None else data, formats.find_reader(name)
        is_many = hasattr(reader, "read_all")
        read = reader.read_all if is_many else reader.read
        own = formats.accepted(read, {**(options or {}), "options": options})
        with formats.report_reader(name, str(path)):
            records = read(data, id=str(path), metadata=metadata, **own)
        return [without_controls(formats.check_read(own, name)) for own in (records if is_many else [records])]
    document = read_text(path, metadata=metadata, encoding=encoding, data=data)
    name = name or formats.detect_file_format(document.id, document.text)
    return split_records(document, name) or [formats.read(document, name, options)]


def split_records(document: Document, markup: str) -> list[Document]:
    """Return a document for each of several records, if the reader of the text's format knows records; else []."""
    name = formats.detect_format(document.text)
    reader: Any = formats.find_reader(name) if markup in {"auto", name} else None
    with formats.report_reader(name, document.id):
        records = reader.read_records(document.text) if hasattr(reader, "read_records") else []
    several = records if len(records) > 1 else []
    return [replace(record, metadata={**record.metadata, **document.metadata}) for record in several]


def only(documents: Sequence[Document]) -> Document:
    """Return the document of a file that must hold just one."""
    rule = "the file must contain one document; split_files and read_documents take several"
    require(len(documents) == 1, rule, len(documents))
    return documents[0]


def read_text(
    path: str | Path,
    *,
    metadata: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    data: bytes | None = None,
) -> Document:
    """Return the text of a file, without a layout; see `read_documents`."""
    decoded = decode(Path(path).read_bytes() if data is None else data, str(path), encoding)
    return without_controls(Document(decoded.text, str(path), metadata={**decoded.about, **(metadata or {})}))


def read_record(
    line: bytes, encoding: str | None = None, metadata: Mapping[str, Any] | None = None, *, name: str = ""
) -> Document:
    """Return the document of a line of JSON: its ``id`` or ``name``, and ``text``; the rest is metadata, NaN null.

    A line without "text" is a record, which is read as JSON is (`readers.data.objects`). Its metadata override others.
    """
    text = decode(line, encoding=encoding).text
    try:
        record = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        msg = f"a line must be JSON ({error})"
        raise ConfigurationError(msg) from None
    require(isinstance(record, dict), "a line must be an object", record)
    own = name if record.get("id") is None else record["id"]
    valid = isinstance(own, str | int) and not isinstance(own, bool) and own != ""
    require(valid, 'a line must have an "id", text or a whole number', own)
    if not isinstance(record.get("text"), str):
        require(registry.find("reader", "json") is not None, 'a line must be an object with "text"', record)
        document: Document = formats.find_reader("json").write(record, "json", str(own), metadata)
        return document
    rest = {key: value for key, value in record.items() if key not in ("id", "text")}
    return Document(record["text"], str(own), metadata={**(metadata or {}), **rest})
