"""Read XML of any other kind: titles become headings, other elements paragraphs; attributes are dropped."""

import logging
import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from advchunk.readers import formats
from advchunk.readers.writing import Writer, squeeze
from advchunk.readers.xml import parse_xml
from advchunk.records import Document

_log = logging.getLogger("advchunk")
_TITLES = frozenset(["title", "head", "heading", "h1", "h2", "h3", "h4", "h5", "h6"])
_FEED_TEXTS = frozenset(["description", "summary", "content", "encoded"])  # of RSS and Atom
_HTML = re.compile(r"</[a-zA-Z]\w*\s*>|<[bh]r\b|&#?\w+;")
_PRESERVED = "{http://www.w3.org/XML/1998/namespace}space"


def read(text: str, *, id: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
    """Read XML whose elements are unknown, and log that. For errors, see `parse_xml`.

    An element right before or after text is part of a paragraph, any other a paragraph. Titles are at the level of
    their element among those with a title. Text with ``xml:space="preserve"`` is code. HTML in a feed is read as HTML.
    """
    root, writer = parse_xml(text, namespaces=False), Writer("xml")
    _log.warning("%s: <%s> is XML of an unknown kind; its text is read as paragraphs", id or "XML", root.tag)
    writer.add("paragraph", squeeze(_write(root, writer, 0)))
    return writer.document(id, metadata)


def _write(element: Element, writer: Writer, level: int) -> str:
    """Write an element's blocks, and return the text after the last one."""
    if element.tag.lower() in _TITLES:
        writer.add("heading", squeeze("".join(element.itertext())), max(level, 1))
        return ""
    if element.get(_PRESERVED) == "preserve":
        writer.add("code", "".join(element.itertext()))
        return ""
    if element.tag in _FEED_TEXTS and not len(element) and _HTML.search(element.text or ""):
        writer.add_document(formats.read(Document(element.text or ""), "html"))
        return ""
    level += any(child.tag.lower() in _TITLES for child in element)
    line = before = element.text or ""
    for child in element:
        after = child.tail or ""
        if (before.strip() or after.strip()) and (not len(child) or (child.text or "").strip()):  # within a line
            line += "".join(child.itertext())
        else:
            writer.add("paragraph", squeeze(line))
            writer.add("paragraph", squeeze(_write(child, writer, level)))
            line = ""
        line, before = line + after, after
    return line
