"""Tell what a document is written in, and read it with the reader for that."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pathlib import PurePath
from typing import Literal, TypeAlias, get_args

from advchunk.errors import ConfigurationError, did_you_mean
from advchunk.readers import markdown
from advchunk.records import Document

Format: TypeAlias = Literal["markdown", "plain", "html", "tei", "jats", "pubmed", "docling"]
Markup: TypeAlias = Literal["auto", "markdown", "plain", "html", "tei", "jats", "pubmed", "docling"]
"""A format, or "auto" to have it told from the text."""

_READERS = {"html": "html", "tei": "tei", "jats": "jats", "pubmed": "abstracts", "docling": "docling"}

_LOOKED_AT = 4096  # characters of a text: what it is written in shows early
_PROLOGUE = re.compile(
    r"[\ufeff\s]*(?:<\?xml[^>]*>\s*|<\?[^>]*\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>\s*)*+", re.DOTALL
)
_ROOTS: tuple[tuple[re.Pattern[str], Format], ...] = (
    (re.compile(r"<(?:[\w.-]+:)?(?:TEI(?:\.2)?|teiCorpus)(?=[\s/>])"), "tei"),
    (re.compile(r"<Pubmed(?:Book)?Article(?:Set)?\b"), "pubmed"),
    (re.compile(r"<(?:article|pmc-articleset|sub-article)\b(?=[^>]*(?:article-type|dtd-version|xmlns:xlink|xmlns:mml|>(?:\s|<[?!][^>]*>)*<(?:front|article)\b))"), "jats"),
    (re.compile(r"<OAI-PMH\b(?s:.)*?<article\b"), "jats"),
    (re.compile(r"<(?:html|head|body)\b", re.IGNORECASE), "html"),  # pieces of HTML, such as <p align=...>, begin many a README
)  # fmt: skip
_HTML_TYPE = re.compile(r"[\ufeff\s]*<!DOCTYPE\s+html\b", re.IGNORECASE)
_JATS_TYPE = re.compile(r"<!DOCTYPE\s+\w+\s+PUBLIC\s+[\"']-//NLM//DTD (?:JATS|Journal)")
_MEDLINE = re.compile(r"[\ufeff\s]*PMID- *\d")
_DOCLING = re.compile(r'"schema_name"\s*:\s*"DoclingDocument"|"main-text"\s*:\s*\[')  # the second is of old ones

_SUFFIXES: dict[str, Format | None] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".qmd", ".rmd"), "markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".xml", ".nxml", ".tei", ".jats", ".json", ".nbib", ".medline"), None),  # told from the text
}


def detect_format(text: str) -> Format:
    r"""Tell what a text is written in, by how it begins; "markdown" if it is nothing else, for that holds of prose too.

    >>> detect_format('<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/></TEI>'), format_of("# Tea\n\nGreen.")
    ('tei', 'markdown')
    """
    head = text[:_LOOKED_AT]
    if _HTML_TYPE.match(head):
        return "html"
    if (prologue := _PROLOGUE.match(head)) and head.startswith("<", prologue.end()):
        for root, name in _ROOTS:
            if root.match(head, prologue.end()):
                return name
        if _JATS_TYPE.search(head, 0, prologue.end()):
            return "jats"
    if _MEDLINE.match(head):
        return "pubmed"
    if head.lstrip("\ufeff \t\r\n").startswith("{") and _DOCLING.search(text):
        return "docling"
    return "markdown"


def detect_file_format(name: str, text: str) -> Format:
    """Tell what a file is written in, by its suffix, or by its text where that may be several; else "plain".

    >>> detect_file_format("notes.md", "Tea."), format_of_file("notes.txt", "# Tea")
    ('markdown', 'plain')
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in _SUFFIXES:
        return "plain"
    said = _SUFFIXES[suffix] or detect_format(text)
    return "plain" if said == "markdown" != _SUFFIXES[suffix] else said


def read(document: Document, markup: str) -> Document:
    """Read a document that comes without a layout.

    Markdown and plain text stay as they are. Of what else there is another text is derived, which chunks are of: without
    tags, with blocks, and with what the source says of itself in the metadata, where the document does not say otherwise.

    Raises
    ------
    ConfigurationError : no such format, or a text that is not in it.
    MissingExtra : a reader whose parser is not installed.
    """
    if markup not in get_args(Markup):
        msg = f"markup must be one of {', '.join(get_args(Markup))}, got {markup!r}{did_you_mean(markup, get_args(Markup))}"
        raise ConfigurationError(msg)
    if document.blocks is not None:
        return document
    if {"dl_meta", "schema_name"} & document.metadata.keys() and markup in {"auto", "markdown"}:
        from advchunk.readers import docling

        if docling.is_chunk(document.metadata):
            return docling.chunk(document)
    name = detect_format(document.text) if markup == "auto" else markup
    if name == "plain":
        return replace(document, blocks=())
    if name == "markdown":
        return replace(document, blocks=markdown.blocks(document.text))
    reader = import_module(f"advchunk.readers.{_READERS[name]}")
    return compose_offsets(document, reader.read(document.text, id=document.id, metadata=document.metadata))


def compose_offsets(document: Document, found: Document) -> Document:
    """Return what a reader made of a document, whose text may be derived already: offsets then lead to its original."""
    if document.offsets is None or found.offsets is None:
        return found
    return replace(found, offsets=document.offsets[found.offsets])
