"""Write RTF as Markdown, by striprtf."""

import re

from advchunk.errors import import_extra
from advchunk.readers.writing import as_prose, pipe_table

_OUTLINE = re.compile(r"\\outlinelevel([0-5])(?!\d)")
_HEADING = "\x01"  # before the mark of a heading, which is none of the text
_HEADINGS = re.compile(rf"^{_HEADING}(#+)[ \t]*", re.MULTILINE)
_NOTE = re.compile(r"\{\s*(?:\\\*)?\\footnote(?![a-z])")
_BRACE = re.compile(r"\\[\\{}]|[{}]")
_PARAGRAPH = re.compile(r"\\par(?![a-z]) ?")
_SIGN = re.compile(r"^(\[\^\d+\]:)[ \t]+", re.MULTILINE)
_PICTURE = re.compile(r"\\pict\b")
_ROW = re.compile(r"\\trowd(?![a-z]).*?\\row(?![a-z])", re.DOTALL)
_ROWS = re.compile(r"((?:^[^\n]*\|(?:\n|\Z))+)", re.MULTILINE)
_BULLET = re.compile(r"^[•·][ \t]*", re.MULTILINE)


def read_rich_text(data: bytes) -> tuple[str, dict[str, list[str]]]:
    """Return the Markdown of a file of RTF, and what is left out.

    Paragraphs with a level of the outline are headings, rows of cells tables, of which the first is the header, and bullets
    lists. Footnotes are at the end. Pictures are left out.
    """
    source = data.decode("latin-1")
    rows = _ROW.sub(lambda row: _PARAGRAPH.sub(" ", row[0]), _with_notes_last(source))
    marked = _OUTLINE.sub(lambda level: f"{level[0]}{{{_HEADING}{'#' * (int(level[1]) + 1)} }}", rows)
    text: str = import_extra("striprtf.striprtf", "office").rtf_to_text(marked, errors="replace").replace("\r\n", "\n")
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # characters may be pairs of codes
    parts = _ROWS.split(_SIGN.sub(r"\1 ", text))  # prose, and the rows of each table
    text = "".join(_table(part) if place % 2 else _prose(part) for place, part in enumerate(parts))
    pictures = len(_PICTURE.findall(source))
    # A paragraph is a line, but items of lists and rows of tables stay together.
    text = re.sub(r"(?<!\n)\n(?=[^\n])(?!(?:- |\|))|(?<=[^|\n])\n(?=\|)|\n(?=- )(?<!^)", "\n\n", text)
    return text.strip("\n"), {"left_out": [f"{pictures} picture{'s' * (pictures > 1)}"]} if pictures else {}


def _with_notes_last(source: str) -> str:
    """Return RTF with its footnotes, which the library leaves out, as paragraphs at the end, and a sign for each in the text."""
    body, notes, at = "", list[str](), 0
    while note := _NOTE.search(source, at):
        depth = 0
        for brace in _BRACE.finditer(source, note.start()):
            depth += (brace[0] == "{") - (brace[0] == "}")
            if not depth:
                break
        else:  # it is not closed
            break
        notes.append(_PARAGRAPH.sub(" ", source[note.end() : brace.start()]))
        body += f"{source[at : note.start()]}[^{len(notes)}]"
        at = brace.end()
    body, end, rest = (body + source[at:]).rpartition("}")
    paragraphs = "".join(f"\\par\n{{[^{number}]: {note}}}" for number, note in enumerate(notes, 1))
    return f"{body}{paragraphs}{end}{rest}"


def _prose(text: str) -> str:
    return _BULLET.sub("- ", _HEADINGS.sub(r"\1 ", as_prose(text)))


def _table(rows: str) -> str:
    return pipe_table([line.removesuffix("|").split("|") for line in rows.splitlines()]) + "\n"
