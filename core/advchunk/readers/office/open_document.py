"""Write a text of OpenDocument as Markdown."""

from collections.abc import Iterator
from io import BytesIO
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from advchunk.readers.writing import as_prose, squeeze
from advchunk.readers.xml import parse_xml

_ATTRIBUTE = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}%s"
_MAX_REPEATED = 100  # columns and rows; spreadsheets repeat empty ones up to their size
_SPACES = {"tab": "\t", "line-break": "\n"}


def read_open_document(data: bytes) -> tuple[str, dict[str, str | list[str]]]:
    """Return the Markdown of a text of OpenDocument (ODF 1.2, part 1), and its title, author, and numbers of what is left out."""
    with ZipFile(BytesIO(data)) as archive:
        content = parse_xml(archive.read("content.xml").decode("utf-8-sig"), namespaces=False)
        names = archive.namelist()
        about = (
            parse_xml(archive.read("meta.xml").decode("utf-8-sig"), namespaces=False) if "meta.xml" in names else None
        )
    writer = _Writer()
    body = content.find("body/text")
    parts = list(writer.blocks(body if body is not None else content))
    notes = [f"[^{number}]: {note}" for number, note in enumerate(writer.notes, 1)]
    fields: dict[str, str | list[str]] = {}
    for name, tag in ("title", ".//title"), ("authors", ".//creator"):
        if about is not None and (value := squeeze(about.findtext(tag) or "")):
            fields[name] = value
    if writer.left_out:
        fields["left_out"] = [f"{number} {kind}{'s' * (number > 1)}" for kind, number in writer.left_out.items()]
    return "\n\n".join([*parts, *notes]), fields


class _Writer:
    """Writes blocks, and collects notes and what is left out."""

    def __init__(self) -> None:
        self.notes, self.left_out = list[str](), dict[str, int]()

    def blocks(self, parent: Element) -> Iterator[str]:
        """Yield the headings, paragraphs, lists, and tables in an element."""
        for element in parent:
            if element.tag == "h":
                level = _number(element, "text", "outline-level")
                yield f"{'#' * min(level, 6)} {squeeze(self.inline(element))}"
            elif element.tag == "p":
                if text := self.inline(element).strip():
                    yield as_prose(text)
            elif element.tag == "list":
                yield "\n".join(self.items(element, 0))
            elif element.tag == "table":
                yield self.table(element)
            elif element.tag not in {"sequence-decls", "forms", "tracked-changes"}:
                yield from self.blocks(element)

    def items(self, parent: Element, depth: int) -> Iterator[str]:
        """Yield the items of a list, and of those in it."""
        for item in parent:
            texts = [squeeze(self.inline(own)) for own in item if own.tag in {"p", "h"}]
            if any(texts):
                yield f"{'  ' * depth}- {' '.join(filter(None, texts))}"
            for own in item:
                if own.tag == "list":
                    yield from self.items(own, depth + 1)

    def table(self, element: Element) -> str:
        """Return a table whose first row is its header."""
        rows = []
        for row in element.iter("table-row"):
            cells = list[str]()
            for cell in row:
                text = " ".join(
                    filter(None, (squeeze(self.inline(own)) for own in cell.iter() if own.tag in {"p", "h"}))
                )
                times = min(_number(cell, "table", "number-columns-repeated"), _MAX_REPEATED if text else 1)
                cells += [text.replace("|", "\\|")] * times
            rows.append(cells)
        width = max(map(len, rows), default=0)
        lines = [f"| {' | '.join([*cells, *[''] * (width - len(cells))])} |" for cells in rows if any(cells)]
        return "\n".join([*lines[:1], f"|{' --- |' * width}", *lines[1:]])

    def inline(self, element: Element) -> str:
        """Return the text in an element, with signs of notes."""
        parts = [element.text or ""]
        for child in element:
            if child.tag == "note":
                body = child.find("note-body")
                self.notes.append(squeeze("" if body is None else " ".join(map(self.inline, body))))
                parts.append(f"[^{len(self.notes)}]")
            elif child.tag in {"annotation", "frame", "image"}:
                kind = "comment" if child.tag == "annotation" else "picture"
                self.left_out[kind] = self.left_out.get(kind, 0) + 1
            else:
                parts.append(" " * _number(child, "text", "c") if child.tag == "s" else _SPACES.get(child.tag, ""))
                parts.append(self.inline(child))
            parts.append(child.tail or "")
        return "".join(parts)


def _number(element: Element, prefix: str, name: str) -> int:
    value = element.get(_ATTRIBUTE % (prefix, name), "1")
    return max(min(int(value), 1000), 1) if value.isdecimal() else 1
