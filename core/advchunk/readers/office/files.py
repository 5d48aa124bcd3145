"""Read Office files as Markdown: by markitdown, spreadsheets by openpyxl, RTF by striprtf, and OpenDocument by its XML."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from html import escape, unescape
from io import BytesIO
from typing import Any, NamedTuple
from zipfile import ZipFile

from advchunk.errors import ConfigurationError, MissingExtra, Unreadable, first_line, import_extra
from advchunk.readers import markdown
from advchunk.readers.office.containers import kind_of
from advchunk.readers.office.open_document import read_open_document
from advchunk.readers.office.rich_text import read_rich_text
from advchunk.readers.office.sheets import read_sheets
from advchunk.readers.office.slides import mark_paragraphs
from advchunk.readers.writing import as_prose, squeeze
from advchunk.readers.xml import parse_xml
from advchunk.records import Block, Document, Span

_CONVERTERS = {"pptx": "PptxConverter", "epub": "EpubConverter"}
_OWN: Mapping[str, Callable[[bytes], tuple[str, dict[str, Any]]]] = {"odt": read_open_document, "rtf": read_rich_text}
_CODE = ("Source Code", "HTML Preformatted", "Preformatted Text", "Code", "Macro Text")  # names of styles
_STYLES = "\n".join(
    [
        "p[style-name='Title'] => h1:fresh",
        "p[style-name='Subtitle'] => p:fresh",
        *(f"p[style-name='{name}'] => pre:separator('\\n')" for name in _CODE),
    ]
)
_PARAGRAPH = re.compile(
    r"</?(?P<cell>t[dh])\b[^<>]*>|(?P<start><p\b[^<>]*>\s*(?:<[a-z][^<>]*>)*)(?P<text>[^<]+)", re.IGNORECASE
)
_WEB_PAGE = (".xhtml", ".html", ".htm")
_VERBATIM = {"escape_underscores": False, "escape_asterisks": False}
_PROPERTIES = "docProps/core.xml"
_NO_TITLE = re.compile(r"(?i)\s*|untitled.*|powerpoint presentation|(?:document|presentation|book|workbook)\s?\d*")

_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\[\]\n]*)\]\([^()\n]*\)")
_NO_HEAD = re.compile(r"^\|(?:[ ]+\|)+\n(\|(?: --- \|)+\n)(\|[^\n]*)(?:\n|\Z)", re.MULTILINE)
_NEXT_TABLE = re.compile(r"(?<=\|\n)(?=\|[^\n]*\n\|(?: --- \|)+$)", re.MULTILINE)
_ONE_LINE = re.compile(r"^[#|].*$", re.MULTILINE)
_NOTE_SIGN = re.compile(r"\[\[(\d+)\]\]\(#(?:foot|end)note-\d+\)")
_NOTE = re.compile(r"^(\d+)\. ([^\n]*?) ?\[↑\]\(#(?:foot|end)note-ref-\d+\)$", re.MULTILINE)
_NOTE_END = re.compile(r" ?\[↑\]\(#(?:foot|end)note-ref-\d+\)$", re.MULTILINE)
_FIELD = re.compile(r"\*\*([A-Z][a-z]+):\*\* ([^\n]*)\n*")
_FIELDS = {"Title": "title", "Authors": "authors", "Language": "language", "Description": "description"}

_log = logging.getLogger("advchunk")


class _Part(NamedTuple):
    """A part of a file: its Markdown, and the slide or the sheet that it is."""

    text: str
    page: int | None = None
    sheet: str = ""


def read(data: bytes, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read a Word, PowerPoint or Excel file, a text of OpenDocument, RTF or an EPUB; its bytes decide which.

    The text is Markdown with headings, lists, tables and footnotes, and places are those in it. A slide is a ``page``, with its notes;
    a sheet begins with its name as heading, which is also its ``sheet``. A table that marks no header has its first row as header. Pictures are
    only their descriptions, which the log says, as does ``left_out``. The metadata have the file's ``title`` and ``authors``. Nothing in the file is run, and nothing outside it is read.

    Raises
    ------
    Unreadable : the file is in none of these formats, damaged, encrypted, or would unpack to too much.
    MissingExtra : markitdown, openpyxl, or striprtf is not installed.
    """
    name = id or "the file"
    try:
        kind = kind_of(data, name)
        properties = _properties(data) if kind in {"docx", "pptx", "xlsx"} else {}
        if kind == "xlsx":
            parts = [_Part(f"# {title}\n\n{table}", sheet=title) for title, table in read_sheets(data)]
        elif kind in _OWN:
            text, fields = _OWN[kind](data)
            properties |= fields
            parts = [_Part(text)]
        else:
            text, fields = _convert(data, kind)
            properties |= fields
            parts = [*_slides(text)] if kind == "pptx" else [_Part(text)]
    except MissingExtra:
        raise
    except Exception as error:  # libraries raise whatever a damaged file leads them to
        if isinstance(error, Unreadable):
            raise
        own = isinstance(error, ConfigurationError)
        reason = first_line(error) if own else f"must not be damaged, got {type(error).__name__}: {first_line(error)}"
        msg = f"{name}: {reason}" if own else f"{name} {reason}"
        raise Unreadable(msg) from error
    pictures = sum(len(_PICTURE.findall(part.text)) for part in parts)
    if pictures:
        properties["left_out"] = [f"{pictures} picture{'s' * (pictures > 1)}"]
    if left_out := properties.get("left_out"):
        _log.info("%s: left out %s", name, ", ".join(left_out))
    return _document(parts, id, {**properties, **(metadata or {})})


def _convert(data: bytes, kind: str) -> tuple[str, dict[str, Any]]:
    """Return a file as Markdown, without the fields that are metadata, and these."""
    library, converters = import_extra("markitdown", "office"), import_extra("markitdown.converters", "office")
    if kind == "docx":
        prepare = import_extra("markitdown.converter_utils.docx.pre_process", "office").pre_process_docx
        page = import_extra("mammoth", "office").convert_to_html(prepare(BytesIO(data)), style_map=_STYLES).value
        text = converters.HtmlConverter().convert_string(_with_prose(page), strict=True, **_VERBATIM).markdown
    else:
        made = mark_paragraphs(data) if kind == "pptx" else _with_prose_in_pages(data)
        converter = getattr(converters, _CONVERTERS[kind])()
        text = converter.convert(
            BytesIO(made), library.StreamInfo(extension=f".{kind}"), strict=True, **_VERBATIM
        ).markdown
    if kind == "pptx":  # a line break is a vertical tab; it ends no title and no row
        text = _ONE_LINE.sub(lambda line: line[0].replace("\v", " "), _NEXT_TABLE.sub("\n", text)).replace("\v", "\n")
    text = text.replace("\r\n", "\n")
    fields = dict[str, Any]()
    if kind == "epub":
        while field := _FIELD.match(text):
            if (own := _FIELDS.get(field[1])) and field[2].strip():
                fields[own] = squeeze(field[2])
            text = text[field.end() :]
    text = _NO_HEAD.sub(r"\2\n\1", text)
    text = _NOTE_END.sub("", _NOTE.sub(r"[^\1]: \2", _NOTE_SIGN.sub(r"[^\1]", text)))
    return text, fields


def _with_prose(page: str) -> str:
    """Return HTML whose paragraphs Markdown reads as paragraphs (`as_prose`); cells of tables need no marks."""
    depth = 0

    def marked(match: re.Match[str]) -> str:
        nonlocal depth
        if match["cell"] and not match[0].endswith("/>"):
            depth = max(depth + (-1 if match[0].startswith("</") else 1), 0)
        if match["cell"] or depth:
            return match[0]
        return match["start"] + escape(as_prose(unescape(match["text"])), quote=False)

    return _PARAGRAPH.sub(marked, page)


def _with_prose_in_pages(data: bytes) -> bytes:
    """Return an archive with its pages of HTML as `_with_prose`; those that are not in UTF-8 are left."""
    made = BytesIO()
    with ZipFile(BytesIO(data)) as old, ZipFile(made, "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename.lower().endswith(_WEB_PAGE):
                with suppress(UnicodeDecodeError):
                    content = _with_prose(content.decode()).encode()
            new.writestr(member, content)
    return made.getvalue()


def _slides(text: str) -> Iterator[_Part]:
    _, *pieces = _SLIDE.split(text)
    for number, piece in zip(pieces[::2], pieces[1::2], strict=True):
        yield _Part(piece.strip("\n"), int(number))


def _properties(data: bytes) -> dict[str, Any]:
    """Return the title and the authors that a file declares."""
    with ZipFile(BytesIO(data)) as archive:
        if _PROPERTIES not in archive.namelist():
            return {}
        root = parse_xml(archive.read(_PROPERTIES).decode("utf-8-sig"), namespaces=False)
    title, authors = (squeeze(root.findtext(tag) or "") for tag in ("title", "creator"))
    return {
        **({} if _NO_TITLE.fullmatch(title) else {"title": title}),
        **({"authors": "; ".join(map(squeeze, authors.split(";")))} if authors else {}),
    }


def _document(parts: list[_Part], id: str, metadata: Mapping[str, Any]) -> Document:
    """Return the document of parts, with pictures as their descriptions."""
    texts, layout, start = list[str](), list[Block](), 0
    for part in parts:
        text = _PICTURE.sub(lambda picture: f"![{picture[1]}]()" if picture[1].strip() else "", part.text)
        about = {"sheet": part.sheet} if part.sheet else None
        layout += (
            replace(block, span=Span(block.span.start + start, block.span.end + start), metadata=about)
            for block in markdown.blocks(text, is_start=False, page=part.page)
        )
        texts.append(text)
        start += len(text) + 2
    return Document("\n\n".join(texts), id, tuple(layout), metadata, markup="office")
