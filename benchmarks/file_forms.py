"""Write one document in 25 formats, as common programs do: Pandoc, ReportLab, and the libraries of Python.

What is in a document is known, so it is known what readers must find in each file.
"""

from __future__ import annotations

import csv
import io
import json
import mailbox
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import EmailMessage
from html import escape
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import office_files
from markdown_it import MarkdownIt
from markdown_it.token import Token

Rows: TypeAlias = Sequence[Sequence[str]]
LONGEST = 9000  # characters of the parts of a description that are taken, without tables
LONGEST_CELL = 30  # characters before a cell of a PDF is wrapped
MOST_ROWS, MOST_COLUMNS = 60, 12
NO_BULLET = '<a:buNone xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"/>'
SIGN = re.compile(r"[^ \w]")
SENTENCE = re.compile(r"(?<=[.!?]) ")


class Part(NamedTuple):
    """A heading, a paragraph, an item of a list, code, or a table, whose first row is its header.

    Parameters
    ----------
    kind : "heading", "paragraph", "item", "code", or "table".
    heading : the text of the heading that it is below.
    level : of a heading, 1 to 6.
    """

    kind: str
    text: str = ""
    rows: Rows = ()
    heading: str = ""
    level: int = 0

    def texts(self) -> Iterator[str]:
        """Yield the text, and those of the cells."""
        yield self.text
        for row in self.rows:
            yield from row


class Source(NamedTuple):
    """A document to write: its title, its parts, and a table of records, which is one of the parts."""

    title: str
    parts: Sequence[Part]
    table: Part


# Real documents: descriptions of packages, with a table of real records.


def described(package: str, name: str, table: Rows) -> Source:
    """Return the description of an installed package, which is in Markdown, with a table at its end."""
    payload = distribution(package).metadata.get_payload()  # type: ignore[attr-defined]
    parts = list(markdown_parts(payload))
    at = [0]
    for part in parts:
        at.append(at[-1] + len(part.text))
    kept = [part for start, part in zip(at, parts, strict=False) if start < LONGEST]
    data = Part("table", rows=[row[:MOST_COLUMNS] for row in table[: MOST_ROWS + 1]], heading=name)
    return Source(package, [*kept, Part("heading", name, level=2), data], data)


def markdown_parts(text: str) -> Iterator[Part]:
    """Yield the parts of a text in Markdown, as plain text; pictures and HTML are left out."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    heading, rows, inside = "", list[list[str]](), list[str]()
    for token in tokens:
        inside = [*inside, token.type] if token.nesting > 0 else inside[: len(inside) + token.nesting]
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            yield Part("table", rows=rows, heading=heading)
            rows = []
        elif token.type in ("fence", "code_block"):
            yield Part("code", token.content.rstrip("\n"), heading=heading)
        elif token.type == "inline":
            own = plain(token)
            if inside[-1] in ("td_open", "th_open"):
                rows[-1].append(own)
            elif own and inside[-1] == "heading_open":
                heading = own
                yield Part("heading", own, level=int(tokens[tokens.index(token) - 1].tag[1:]))
            elif own:
                yield Part("item" if "list_item_open" in inside else "paragraph", own, heading=heading)


def plain(token: Token) -> str:
    """Return the text of the content of a block without its marks."""
    children = token.children or ()
    text = "".join(" " if child.type == "softbreak" else child.content for child in children if _is_text(child))
    return " ".join(text.split())


def _is_text(child: Token) -> bool:
    return child.type in ("text", "code_inline", "softbreak")


# Formats.


def html(source: Source) -> str:
    """Return the document in HTML, from which Pandoc writes its formats."""
    body, in_list = "", False
    for part in source.parts:
        if in_list != (part.kind == "item"):
            body += "</ul>\n" if in_list else "<ul>\n"
            in_list = not in_list
        body += _element(part) + "\n"
    end = "</ul>\n" if in_list else ""
    head = f'<meta charset="utf-8"><title>{escape(source.title)}</title>'
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>\n{body}{end}</body></html>\n"


def _element(part: Part) -> str:
    if part.kind == "table":
        head, *rows = part.rows
        body = "\n".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
        return f"<table><thead><tr>{_cells('th', head)}</tr></thead><tbody>\n{body}\n</tbody></table>"
    if part.kind == "code":
        return f"<pre><code>{escape(part.text)}</code></pre>"
    tag = {"heading": f"h{part.level}", "item": "li"}.get(part.kind, "p")
    return f"<{tag}>{escape(part.text)}</{tag}>"


def _cells(tag: str, row: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def by_pandoc(form: str) -> Callable[[Source], bytes]:
    """Return a function that writes a format by Pandoc, from pypandoc_binary."""

    def write(source: Source) -> bytes:
        pandoc = import_module("pypandoc").get_pandoc_path()
        command = [pandoc, "--standalone", "--from=html", f"--to={form}", "--output=-"]
        return subprocess.run(command, input=html(source).encode(), capture_output=True, check=True).stdout

    return write


def pdf(source: Source) -> bytes:
    """Write a PDF by ReportLab, whose tables repeat their header on each page; every other one has lines around its
    cells.
    """
    colors, platypus = import_module("reportlab.lib.colors"), import_module("reportlab.platypus")
    sizes = import_module("reportlab.lib.pagesizes")
    styles, is_ruled = import_module("reportlab.lib.styles").getSampleStyleSheet(), len(source.title) % 2 == 0

    def printable(text: str) -> str:  # by the fonts
        return text.encode("cp1252", "ignore").decode("cp1252")

    def marked(text: str) -> str:
        return escape(printable(text))

    def flowable(part: Part) -> Any:
        if part.kind == "table":
            line = 0.5, colors.grey
            grid = [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                *([("GRID", (0, 0), (-1, -1), *line)] if is_ruled else [("LINEABOVE", (0, 0), (-1, 1), *line)]),
            ]
            small = styles["BodyText"].clone("cell", fontSize=7, leading=8, splitLongWords=0)
            cells = [[platypus.Paragraph(marked(cell), small) for cell in row] for row in part.rows]
            widest = [min(max(map(len, column)), LONGEST_CELL) + 4 for column in zip(*part.rows, strict=True)]
            widths = [700 * width / max(sum(widest), 180) for width in widest]
            return platypus.Table(cells, widths, repeatRows=1, splitInRow=1, style=grid)
        if part.kind == "code":
            return platypus.Preformatted(printable(part.text), styles["Code"], maxLineLength=140)
        if part.kind == "item":
            return platypus.ListFlowable(
                [platypus.Paragraph(marked(part.text), styles["BodyText"])], bulletType="bullet"
            )
        style = f"Heading{min(part.level, 6)}" if part.kind == "heading" else "BodyText"
        return platypus.Paragraph(marked(part.text), styles[style])

    file = io.BytesIO()
    platypus.SimpleDocTemplate(file, pagesize=sizes.landscape(sizes.A4), title=source.title).build(
        [flowable(part) for part in source.parts]
    )
    return file.getvalue()


def slides(source: Source) -> bytes:
    """Write a slide for each heading by python-pptx: items as bullets, and tables below the text."""
    from pptx import Presentation
    from pptx.util import Inches

    book = Presentation()
    slide = None
    for part in source.parts:
        if part.kind == "heading" or slide is None:
            slide = book.slides.add_slide(book.slide_layouts[1])  # a title and contents
            slide.shapes.title.text = part.text if part.kind == "heading" else source.title
            body, is_empty = slide.placeholders[1].text_frame, True
            if part.kind == "heading":
                continue
        if part.kind == "table":
            size = len(part.rows), len(part.rows[0])
            table = slide.shapes.add_table(*size, Inches(1), Inches(3), Inches(8), Inches(3)).table
            for i, row in enumerate(part.rows):
                for j, cell in enumerate(row):
                    table.cell(i, j).text = cell
            continue
        paragraph = body.paragraphs[0] if is_empty else body.add_paragraph()
        paragraph.text, is_empty = part.text, False
        if part.kind != "item":
            etree = import_module("lxml.etree")
            paragraph._p.get_or_add_pPr().insert(0, etree.fromstring(NO_BULLET))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def workbook(source: Source) -> bytes:
    """Write the tables, each on a sheet with the name of its heading."""
    tables = [part for part in source.parts if part.kind == "table"]
    sheets = {sheet_name(i, part): [list(map(number, row)) for row in part.rows] for i, part in enumerate(tables, 1)}
    return office_files.workbook(sheets)


def sheet_name(i: int, table: Part) -> str:
    """Return a name that Excel allows."""
    return f"{i} {SIGN.sub('', table.heading)}"[:31].strip()


def separated(separator: str) -> Callable[[Source], str]:
    """Return a function that writes the records in lines, their values apart by a separator."""

    def write(source: Source) -> str:
        file = io.StringIO()
        csv.writer(file, delimiter=separator, lineterminator="\n").writerows(source.table.rows)
        return file.getvalue()

    return write


def records(source: Source) -> list[dict[str, Any]]:
    """Return the records, with numbers as such."""
    head, *rows = source.table.rows
    return [{name: number(value) for name, value in zip(head, row, strict=True)} for row in rows]


def number(value: str) -> Any:
    """Return the number that JSON writes as a value, or the value."""
    try:
        parsed = json.loads(value)
    except ValueError:
        return value
    return (
        parsed if isinstance(parsed, int | float) and not isinstance(parsed, bool) and str(parsed) == value else value
    )


def yaml(source: Source) -> str:
    """Write the records as a list."""
    text: str = import_module("yaml").safe_dump(records(source), allow_unicode=True, sort_keys=False)
    return text


def mail(source: Source) -> EmailMessage:
    """Return a message with all parts but tables as plain text, as programs write it."""
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = source.title, "Ann <ann@a.org>", "bob@b.org"
    message["Date"] = "Thu, 26 Nov 2026 10:00:00 +0000"
    message.set_content(plain_text(source))
    return message


def plain_text(source: Source) -> str:
    """Return all parts but tables in paragraphs."""
    return "\n\n".join(part.text for part in source.parts if part.text) + "\n"


def mbox(source: Source) -> bytes:
    """Write a box of two messages, whose second quotes the first."""
    first, second = mail(source), EmailMessage()
    second["Subject"], second["From"], second["To"] = f"Re: {source.title}", "bob@b.org", "Ann <ann@a.org>"
    second["Date"] = "Thu, 26 Nov 2026 11:00:00 +0000"
    quoted = next(part.text for part in source.parts if part.kind == "paragraph")
    second.set_content(f"Thank you.\n\nAnn wrote:\n> {quoted}\n")
    box = io.BytesIO()
    for message in (first, second):
        box.write(b"From ann@a.org Thu Nov 26 10:00:00 2026\n")
        box.write(bytes(mailbox.mboxMessage(message)).replace(b"\nFrom ", b"\n>From ") + b"\n")
    return box.getvalue()


def captions(source: Source, *, web: bool) -> str:
    """Write the sentences of the paragraphs as captions of two seconds."""
    sentences = [own for part in source.parts if part.kind == "paragraph" for own in SENTENCE.split(part.text)]
    text, mark = "WEBVTT\n\n" if web else "", "." if web else ","
    for i, sentence in enumerate(sentences):
        first, last = (f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}{mark}000" for at in (2 * i, 2 * i + 2))
        text += f"{i + 1}\n{first} --> {last}\n{sentence}\n\n"
    return text


ALL = ("heading", "paragraph", "item", "code", "table")
PROSE, TABLES, RECORDS = ALL[:4], ("table",), ("record",)


class Form(NamedTuple):
    """A format.

    Parameters
    ----------
    write : returns the file.
    kinds : of the parts that are in it; "record" is the table of records alone.
    has_headings : the format marks headings, or a name of each sheet.
    """

    write: Callable[[Source], str | bytes]
    kinds: Sequence[str] = ALL
    has_headings: bool = True


FORMS: Mapping[str, Form] = {
    ".md": Form(by_pandoc("gfm")),
    ".html": Form(html),
    ".txt": Form(by_pandoc("plain"), has_headings=False),
    ".docx": Form(by_pandoc("docx")),
    ".pptx": Form(slides),
    ".xlsx": Form(workbook, TABLES),
    ".odt": Form(by_pandoc("odt")),
    ".rtf": Form(by_pandoc("rtf")),
    ".epub": Form(by_pandoc("epub")),
    ".pdf": Form(pdf),
    ".csv": Form(separated(","), RECORDS, has_headings=False),
    ".tsv": Form(separated("\t"), RECORDS, has_headings=False),
    ".json": Form(
        lambda source: json.dumps(records(source), indent=2, ensure_ascii=False), RECORDS, has_headings=False
    ),
    ".jsonl": Form(
        lambda source: "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records(source)),
        RECORDS,
        has_headings=False,
    ),
    ".yaml": Form(yaml, RECORDS, has_headings=False),
    ".ipynb": Form(by_pandoc("ipynb")),
    ".tex": Form(by_pandoc("latex")),
    ".rst": Form(by_pandoc("rst")),
    ".adoc": Form(by_pandoc("asciidoc")),
    ".org": Form(by_pandoc("org")),
    ".eml": Form(lambda source: bytes(mail(source)), PROSE, has_headings=False),
    ".mbox": Form(mbox, PROSE, has_headings=False),
    ".msg": Form(lambda source: office_files.outlook(source.title, plain_text(source)), PROSE, has_headings=False),
    ".vtt": Form(lambda source: captions(source, web=True), ("paragraph",), has_headings=False),
    ".srt": Form(lambda source: captions(source, web=False), ("paragraph",), has_headings=False),
}


def parts_in(source: Source, form: Form) -> list[Part]:
    """Return the parts of a document that are in a file of a format."""
    if form.kinds == RECORDS:
        return [source.table]
    return [part for part in source.parts if part.kind in form.kinds]


def write_file(source: Source, suffix: str, folder: Path) -> Path:
    """Write a file, and return its path."""
    data = FORMS[suffix].write(source)
    path = folder / f"{source.title}{suffix}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
