"""Make the layout of an abstract of its labels: each is a heading, and what follows it are paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from advchunk.readers.abstracts.labels import Label, find_labels, section_name
from advchunk.readers.abstracts.normalization import normalize_abstract
from advchunk.records import Block, Document, Span

_PARAGRAPH = re.compile(r"\S(?:.*?\S)??(?=\s*\Z|\s*?\n[^\S\n]*\n)", re.DOTALL)


def section_blocks(text: str, found: Iterable[Label], layout: Iterable[Block] = ()) -> tuple[Block, ...]:
    """Return the layout of an abstract: its labels are headings, and divide the paragraphs of the layout it has.

    Parameters
    ----------
    found : its labels, as `find_labels` finds them.
    layout : its blocks so far; none for paragraphs between blank lines.
    """
    known = sorted(found)
    made = list[Block]()
    for block in list(layout) or [Block("paragraph", span) for span in _paragraphs(text)]:
        at, end = block.span
        inside = [each for each in known if at <= each.start and each.end <= end] if block.kind == "paragraph" else []
        for start, stop, name in inside:
            made += _trimmed(text, block, at, start)
            made.append(Block("heading", Span(start, stop), 1, name))
            at = stop
        made += _trimmed(text, block, at, end) if inside else [block]
    return tuple(made)


def _trimmed(text: str, block: Block, start: int, end: int) -> list[Block]:
    inner = text[start:end].strip()
    start += text[start:end].find(inner)
    return [replace(block, span=Span(start, start + len(inner)))] if inner else []


def _paragraphs(text: str) -> Iterator[Span]:
    return (Span(*match.span()) for match in _PARAGRAPH.finditer(text))


def from_sections(
    sections: Iterable[tuple[str, str] | tuple[str, str, str]],
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    r"""Return the document of an abstract whose sections are known: "LABEL: text", one a line.

    Parameters
    ----------
    sections : label and text of each, and the section that the label names, if that is known. Else a label that is not in
        the table names itself; "" is a text without one, which may have labels of its own.

    >>> from_sections([("AIM", "To see."), ("Key points", "Seen.")]).text
    'AIM: To see.\nKey points: Seen.'
    """
    text, found, layout = "", list[Label](), list[Block]()
    for given, said, *name in sections:
        label, body = normalize_abstract(given).text, normalize_abstract(said).text
        if not body:
            continue
        text += "\n" if text else ""
        start = len(text)
        if label:
            text += f"{label}: {body}"
            found.append(Label(start, start + len(label) + 1, "".join(name) or section_name(label) or label))
        else:
            text += body
            found += [Label(start + a, start + b, within) for a, b, within in find_labels(body)]
        layout.append(Block("paragraph", Span(start, len(text))))
    return Document(text, id, section_blocks(text, found, layout), dict(metadata or {}), markup="pubmed")
