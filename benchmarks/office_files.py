"""Write small Office files: Word, slides, spreadsheets, e-books, OpenDocument, RTF, and messages of Outlook."""

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

HEAD, ROWS = ("Kind", "Degrees"), (("Green", "80"), ("Black", "95"))
NOTE = "A note on rum."


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of texts by their names."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def png() -> bytes:
    """Return a picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


# Word.

_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_KINDS = {"document": "document.main", "styles": "styles", "numbering": "numbering", "footnotes": "footnotes"}


def word(body: str, *, notes: Sequence[str] = ()) -> bytes:
    """Return a Word file of the XML of its body, with headings, two lists, and footnotes."""
    styles = [("Title", "Title"), *((f"Heading{level}", f"heading {level}") for level in range(1, 7))]
    style = "".join(
        f'<w:style w:type="paragraph" w:styleId="{id}"><w:name w:val="{name}"/></w:style>' for id, name in styles
    )
    levels = "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{{form}}"/><w:lvlText w:val="{{sign}}"/></w:lvl>'
        for level in range(3)
    )
    numbering = "".join(
        f'<w:abstractNum w:abstractNumId="{i}">{levels.format(form=form, sign=sign)}</w:abstractNum>'
        for i, (form, sign) in enumerate((("bullet", "•"), ("decimal", "%1.")))
    ) + "".join(f'<w:num w:numId="{i + 1}"><w:abstractNumId w:val="{i}"/></w:num>' for i in range(2))
    foot = "".join(f'<w:footnote w:id="{i}">{paragraph(note)}</w:footnote>' for i, note in enumerate(notes, 2))
    parts = {
        "document": f"<w:document {{}}><w:body>{body}</w:body></w:document>",
        "styles": f"<w:styles {{}}>{style}</w:styles>",
        "numbering": f"<w:numbering {{}}>{numbering}</w:numbering>",
        "footnotes": f"<w:footnotes {{}}>{foot}</w:footnotes>",
    }
    names = f'xmlns:w="{_WORD}" xmlns:r="{_OFFICE}"'
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml."
    types = "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{main}{kind}+xml"/>' for name, kind in _KINDS.items()
    )
    relations = "".join(
        f'<Relationship Id="r{name}" Type="{_OFFICE}/{name}" Target="{name}.xml"/>' for name in [*_KINDS][1:]
    )
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Default Extension="xml" ContentType="application/xml"/>{types}</Types>',
            "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>',
            **{f"word/{name}.xml": xml.format(names) for name, xml in parts.items()},
        }
    )


def paragraph(text: str, style: str = "", *, list_id: int = 0, level: int = 0, note: int = 0, inner: str = "") -> str:
    """Return the XML of a paragraph."""
    properties = f'<w:pStyle w:val="{style}"/>' if style else ""
    if list_id:
        properties += f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'
    reference = f'<w:r><w:footnoteReference w:id="{note}"/></w:r>' if note else ""
    run = f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'
    return f"<w:p><w:pPr>{properties}</w:pPr>{run}{reference}{inner}</w:p>"


def word_table(rows: Iterable[Sequence[str]], *, marks_head: bool = False) -> str:
    """Return the XML of a table, whose first row repeats on each page if it marks its head."""
    made = ""
    for number, row in enumerate(rows):
        mark = "<w:trPr><w:tblHeader/></w:trPr>" if marks_head and not number else ""
        made += f"<w:tr>{mark}{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>"
    return f"<w:tbl><w:tblPr/><w:tblGrid/>{made}</w:tbl>"


def report(*, marks_head: bool = True, sections: int = 1) -> bytes:
    """Return a Word file with headings, lists, a table, and a footnote."""
    body = paragraph("Tea report", "Title")
    for number in range(1, sections + 1):
        body += paragraph(f"Kinds {number}", "Heading1") + paragraph("Tea is made of leaves.", note=2)
        body += (
            paragraph("Steamed", "Heading2")
            + paragraph("Sencha", list_id=1)
            + paragraph("from Uji", list_id=1, level=1)
        )
        body += paragraph("Gyokuro", list_id=1) + paragraph("Heat", list_id=2) + paragraph("Pour", list_id=2)
        body += paragraph("Temperatures", "Heading2") + word_table([HEAD, *ROWS], marks_head=marks_head)
    return word(body, notes=[NOTE])


# Slides and spreadsheets, by their libraries.


def slides(number: int = 2, *, table: bool = True, notes: bool = True) -> bytes:
    """Return slides with titles, lists of two levels, a table, and notes."""
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    for count in range(1, number + 1):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = f"Kinds {count}"
        frame = slide.placeholders[1].text_frame
        frame.text = f"Green {count}"
        for text, level in (("Sencha", 1), ("Black", 0)):
            own = frame.add_paragraph()
            own.text, own.level = text, level
        if notes:
            slide.notes_slide.notes_text_frame.text = NOTE
    if table:
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = "Temperatures"
        cells = slide.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(6), Inches(2)).table
        for i, row in enumerate([HEAD, *ROWS]):
            for j, cell in enumerate(row):
                cells.cell(i, j).text = cell
        slide.shapes.add_picture(BytesIO(png()), Inches(1), Inches(5))
    file = BytesIO()
    made.save(file)
    return file.getvalue()


def workbook(sheets: Mapping[str, Iterable[Sequence[Any]]] | None = None) -> bytes:
    """Return a spreadsheet of rows by the names of its sheets."""
    from openpyxl import Workbook

    made = Workbook()
    made.remove(made.active)
    for name, rows in (sheets or {"Tea": [HEAD, ("Green", 80), ("Black", 95)], "Shops": [("City",), ("Uji",)]}).items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = BytesIO()
    made.save(file)
    return file.getvalue()


# E-books, OpenDocument, RTF.

BODY = (
    "<h1>Kinds</h1><p>Tea is made of <b>leaves</b>.</p><h2>Steamed</h2><ul><li>Sencha<ul><li>from Uji</li></ul></li>"
    "<li>Gyokuro</li></ul><h2>Temperatures</h2><table><tr><th>Kind</th><th>Degrees</th></tr>"
    "<tr><td>Green</td><td>80</td></tr><tr><td>Black</td><td>95</td></tr></table>"
)


def ebook(chapters: Sequence[str] = (BODY,), title: str = "Tea report") -> bytes:
    """Return an e-book of the XHTML of its chapters."""
    items = "".join(
        f'<item id="c{i}" href="c{i}.xhtml" media-type="application/xhtml+xml"/>' for i in range(len(chapters))
    )
    refs = "".join(f'<itemref idref="c{i}"/>' for i in range(len(chapters)))
    head = '<?xml version="1.0" encoding="utf-8"?>'
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'{head}<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:'
            'container"><rootfiles><rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/>'
            "</rootfiles></container>",
            "OPS/book.opf": f'{head}<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
            f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">7</dc:identifier>'
            f"<dc:title>{title}</dc:title><dc:creator>Ann Lee</dc:creator><dc:language>en</dc:language></metadata>"
            f"<manifest>{items}</manifest><spine>{refs}</spine></package>",
            **{
                f"OPS/c{i}.xhtml": f'{head}<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{title}</title>'
                f"</head><body>{chapter}</body></html>"
                for i, chapter in enumerate(chapters)
            },
        }
    )


def open_text() -> bytes:
    """Return a text of OpenDocument with headings, a list, a table, and a footnote."""
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "style")
    )
    rows = [
        "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
        for row in (HEAD, *ROWS)
    ]
    body = (
        '<text:h text:outline-level="1">Kinds</text:h><text:p>Tea is made of leaves.<text:note '
        'text:note-class="footnote">'
        f"<text:note-citation>1</text:note-citation><text:note-body><text:p>{NOTE}</text:p></text:note-body></text:note>"
        '</text:p><text:h text:outline-level="2">Steamed</text:h><text:list><text:list-item><text:p>Sencha</text:p>'
        "<text:list><text:list-item><text:p>from Uji</text:p></text:list-item></text:list></text:list-item>"
        "<text:list-item><text:p>Gyokuro</text:p></text:list-item></text:list>"
        '<text:h text:outline-level="2">Temperatures</text:h><table:table><table:table-column '
        "/><table:table-column/><table:table-header-rows>"
        f"<table:table-row>{rows[0]}</table:table-row></table:table-header-rows>"
        f"{''.join(f'<table:table-row>{row}</table:table-row>' for row in rows[1:])}</table:table>"
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    kind = "application/vnd.oasis.opendocument.text"
    return zipped(
        {
            "mimetype": kind,
            "META-INF/manifest.xml": f'{head}<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
            f'manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
            '<manifest:file-entry manifest:full-path="content.xml" '
            'manifest:media-type="text/xml"/></manifest:manifest>',
            "styles.xml": f"{head}<office:document-styles {names}><office:styles/><office:automatic-styles/>"
            "<office:master-styles/></office:document-styles>",
            "content.xml": f"{head}<office:document-content {names}><office:body><office:text>{body}</office:text>"
            "</office:body></office:document-content>",
        }
    )


def rich_text() -> bytes:
    """Return a text of RTF with headings, a list, a table, a footnote, and signs of Windows."""
    row = "\\trowd\\cellx2000\\cellx4000 {}\\intbl\\cell {}\\intbl\\cell\\row\n"
    rows = "".join(row.format(*cells) for cells in (HEAD, *ROWS))
    return (
        "{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0 Times;}}{\\stylesheet{\\s0 Normal;}{\\s1 heading 1;}{\\s2 "
        "heading 2;}}\n"
        "{\\pard\\s1\\outlinelevel0\\b Kinds\\par}\n"
        f"{{\\pard Tea is made of leaves\\'85{{\\footnote\\pard {NOTE}}}\\par}}\n"
        "{\\pard\\s2\\outlinelevel1\\b Steamed\\par}\n{\\pard\\bullet\\tab Sencha\\par}\n{\\pard\\bullet\\tab "
        "Gyokuro\\par}\n"
        f"{{\\pard\\s2\\outlinelevel1\\b Temperatures\\par}}\n{rows}\\pard End.\\par\n}}"
    ).encode("ascii")


# Messages of Outlook: a compound file.

_LARGE = 4096  # bytes: smaller streams share sectors
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound(streams: Mapping[str, Any]) -> bytes:
    """Return a compound file (MS-CFB) of streams by their names, of which mappings are folders; small ones share
    sectors.
    """
    minis, mini_fat, entries, fat, body = bytearray(), list[int](), [b""], list[int](), bytearray()

    def store(data: bytes) -> int:
        """Add sectors of 512 bytes, and return the place of the first."""
        start, count = len(fat), -(-len(data) // 512)
        fat.extend([*range(start + 1, start + count), _END] if count else [])
        body.extend(data.ljust(512 * count, b"\0"))
        return start if count else _END

    def add(folder: Mapping[str, Any]) -> int:
        """Add the entries of a folder, each to the right of the one before, and return the place of the first."""
        first = len(entries)
        entries.extend([b""] * len(folder))
        items = sorted(folder.items(), key=lambda item: (len(item[0]), item[0].upper()))
        for place, (name, data) in enumerate(items, first):
            right = place + 1 if place < first + len(folder) - 1 else _FREE
            if isinstance(data, Mapping):
                entries[place] = _entry(name, 1, 0, 0, right, add(data))
                continue
            if len(data) >= _LARGE:
                entries[place] = _entry(name, 2, store(data), len(data), right, _FREE)
                continue
            start, count = len(minis) // 64, -(-len(data) // 64)
            mini_fat.extend([*range(start + 1, start + count), _END] if count else [])
            minis.extend(data.ljust(64 * count, b"\0"))
            entries[place] = _entry(name, 2, start if count else _END, len(data), right, _FREE)
        return first

    child = add(streams)
    minis_at = store(bytes(minis))
    entries[0] = _entry("Root Entry", 5, minis_at, len(minis), _FREE, child)
    entries_at = store(b"".join(entries))
    table = struct.pack(f"<{len(mini_fat)}I", *mini_fat)
    table_at = store(table.ljust(-(-len(table) // 512) * 512, b"\xff"))
    sectors = -(-(len(fat)) // 127)  # of the table of sectors, which has an entry for each of its own
    places = range(len(fat), len(fat) + sectors)
    fat += [_FAT] * sectors
    head = struct.pack(
        "<8s16sHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 62, 3, 0xFFFE, 9, 6, 0, sectors, entries_at, 0,  # noqa: E501
        _LARGE, table_at, -(-len(table) // 512), _END, 0,
    )  # fmt: skip
    head += struct.pack(f"<{sectors}I", *places)
    head += struct.pack("<I", _FREE) * ((512 - len(head)) // 4)
    return head + bytes(body) + struct.pack(f"<{len(fat)}I", *fat).ljust(512 * sectors, b"\xff")


def _entry(name: str, kind: int, start: int, size: int, right: int, child: int) -> bytes:
    words = (name + "\0").encode("utf-16-le")
    return words.ljust(64, b"\0") + struct.pack(
        "<HBBIII16sIQQIQ", len(words), kind, 1, _FREE, right, child, b"", 0, 0, 0, start, size
    )


def message_streams(
    strings: Mapping[str, str], *, sent: int = 0, attached: Sequence[Mapping[str, Any]] = (), is_inner: bool = False
) -> dict[str, Any]:
    """Return the streams of a message of Outlook: strings by their tags, when it was sent, and the streams of
    attachments.

    Parameters
    ----------
    sent : in units of 100 ns since 1601; 0 if it was not.
    is_inner : it is in another message.
    """
    time = struct.pack("<HHIQ", 0x0040, 0x0039, 6, sent) if sent else b""
    return {
        "__properties_version1.0": b"\0" * (24 if is_inner else 32) + time,
        **{f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in strings.items()},
        **{f"__attach_version1.0_#{number:08X}": streams for number, streams in enumerate(attached)},
    }


def attachment(name: str, data: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Return the streams of an attachment: its bytes, or the streams of a message."""
    kind = "0102" if isinstance(data, bytes) else "000D"
    return {"__substg1.0_3707001F": name.encode("utf-16-le"), f"__substg1.0_3701{kind}": data}


def outlook(subject: str = "Tea for two", body: str = "Green tea?\r\n\r\nYes.", **more: Any) -> bytes:
    """Return a message of Outlook; ``more`` as in `message_streams`."""
    return compound(message_streams({"0037": subject, "0C1F": "ann@tea.org", "0E04": "Bob", "1000": body}, **more))


SAMPLES: Mapping[str, Any] = {
    ".docx": report, ".pptx": slides, ".xlsx": workbook, ".epub": ebook, ".odt": open_text, ".rtf": rich_text, ".msg": outlook,  # noqa: E501
}  # fmt: skip
