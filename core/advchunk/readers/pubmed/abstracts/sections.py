"""Build the layout of an abstract: each label is a heading, followed by paragraphs."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from advchunk.readers.pubmed.abstracts.labels import Label, find_labels, section_name
from advchunk.readers.pubmed.abstracts.normalization import normalize_abstract
from advchunk.records import Block, Document, Span

_PARAGRAPH = re.compile(r"\S(?:.*?\S)??(?=\s*\Z|\s*?\n[^\S\n]*\n)", re.DOTALL)


def section_blocks(text: str, labels: Iterable[Label], layout: Iterable[Block] = ()) -> tuple[Block, ...]:
    """Return the layout of an abstract: labels are headings, and divide the paragraphs of ``layout`` or of the text."""
    labels, blocks = sorted(labels), list[Block]()
    starts = [label.start for label in labels]
    for block in list(layout) or [Block("paragraph", Span(*match.span())) for match in _PARAGRAPH.finditer(text)]:
        position, end = block.span
        own = labels[bisect_left(starts, position) : bisect_left(starts, end)] if block.kind == "paragraph" else []
        inside = [label for label in own if label.end <= end]
        for label in inside:
            blocks += _strip(text, block, position, label.start)
            blocks.append(Block("heading", Span(label.start, label.end), 1, label.name))
            position = label.end
        blocks += _strip(text, block, position, end) if inside else [block]
    return tuple(blocks)


def _strip(text: str, block: Block, start: int, end: int) -> list[Block]:
    inner = text[start:end].strip()
    start += text[start:end].find(inner)
    return [replace(block, span=Span(start, start + len(inner)))] if inner else []


def from_sections(
    sections: Iterable[tuple[str, str] | tuple[str, str, str]],
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Document:
    r"""Return the document of an abstract with known sections, writing each as a line "LABEL: text".

    Sections are label, text, and optionally the name. A section without a name is named by its label, if possible as in
    the table. The text of a section without a label, "", may contain labels.

    >>> from_sections([("AIM", "To see."), ("Key points", "Seen.")]).text
    'AIM: To see.\nKey points: Seen.'
    """
    text, labels, layout = "", list[Label](), list[Block]()
    for section in sections:
        label, body = (normalize_abstract(part).text for part in section[:2])
        if not body:
            continue
        text += "\n" * bool(text)
        start = len(text)
        text += f"{label}: {body}" if label else body
        if label:
            labels.append(Label(start, start + len(label) + 1, "".join(section[2:]) or section_name(label) or label))
        else:
            labels += [Label(start + a, start + b, name) for a, b, name in find_labels(body)]
        layout.append(Block("paragraph", Span(start, len(text))))
    return Document(text, id, section_blocks(text, labels, layout), dict(metadata or {}), markup="pubmed")
