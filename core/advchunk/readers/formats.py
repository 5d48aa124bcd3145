"""Detect the format of a document, and read it with the reader for that format."""

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import Literal, TypeAlias, get_args

from advchunk.errors import ConfigurationError, MissingExtra, did_you_mean, require
from advchunk.plugins import Plugins
from advchunk.readers import markdown
from advchunk.readers.code.languages import detect_language, is_installed
from advchunk.records import Document

Format: TypeAlias = Literal["markdown", "plain", "html", "tei", "jats", "pubmed", "docling", "xml", "code"]
Markup: TypeAlias = Literal["auto", Format]
"""A format, or "auto" to detect it (`detect_document_format`)."""

_log = logging.getLogger("advchunk")
_PLUGINS = Plugins("readers", get_args(Markup))
_READERS = {
    "code": "code", "html": "html", "tei": "tei", "jats": "jats", "pubmed": "abstracts", "docling": "docling", "xml": "generic",
}  # fmt: skip

_HEAD = 4096  # characters in which the format is detected
_PROLOGUE = re.compile(
    r"[\ufeff\s]*(?:<\?xml[^>]*>\s*|<\?[^>]*\?>\s*|<!--.*?-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>\s*)*+", re.DOTALL
)
_ROOTS: tuple[tuple[re.Pattern[str], Format], ...] = (
    (re.compile(r"<(?:[\w.-]+:)?(?:TEI(?:\.2)?|teiCorpus)(?=[\s/>])"), "tei"),
    (re.compile(r"<Pubmed(?:Book)?Article(?:Set)?\b"), "pubmed"),
    (re.compile(r"<(?:article|pmc-articleset|sub-article)\b(?=[^>]*(?:article-type|dtd-version|xmlns:xlink|xmlns:mml|>(?:\s|<[?!][^>]*>)*<(?:front|article)\b))"), "jats"),
    (re.compile(r"<OAI-PMH\b(?s:.)*?<article\b"), "jats"),
    (re.compile(r"<(?:html|head|body)\b", re.IGNORECASE), "html"),  # other tags, such as <p align=...>, begin READMEs
)  # fmt: skip
_HTML_TYPE = re.compile(r"[\ufeff\s]*<!DOCTYPE\s+html\b", re.IGNORECASE)
_JATS_TYPE = re.compile(r"<!DOCTYPE\s+\w+\s+PUBLIC\s+[\"']-//NLM//DTD (?:JATS|Journal)")
_MEDLINE = re.compile(r"[\ufeff\s]*PMID- *\d")
_DOCLING = re.compile(r'"schema_name"\s*:\s*"DoclingDocument"|"main-text"\s*:\s*\[')  # the second in old versions

_XML = (".xml", ".nxml", ".tei", ".jats")
_SUFFIXES: dict[str, Format | None] = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".qmd", ".rmd"), "markdown"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((*_XML, ".json", ".nbib", ".medline"), None),  # detected from the text
}


def detect_format(text: str) -> Format:
    r"""Detect the format of a text from its beginning; the default is "markdown", which covers prose too.

    >>> detect_format('<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/></TEI>'), detect_format("# Tea\n\nGreen.")
    ('tei', 'markdown')
    """
    head = text[:_HEAD]
    if _HTML_TYPE.match(head):
        return "html"
    if (prologue := _PROLOGUE.match(head)) and head.startswith("<", prologue.end()):
        names = [name for root, name in _ROOTS if root.match(head, prologue.end())]
        names += ["jats"] if _JATS_TYPE.search(head, 0, prologue.end()) else []
        names += ["xml"] if "<?xml" in prologue[0] else []
        if names:
            return names[0]
    if _MEDLINE.match(head):
        return "pubmed"
    if head.lstrip("\ufeff \t\r\n").startswith("{") and _DOCLING.search(text):
        return "docling"
    return "markdown"


def detect_document_format(document: Document) -> Format:
    """Detect the format of a document from its text, and source code from the name of its file and the like.

    See `code.languages.detect_language`. Without the extra "code", code is "plain", which is logged once.

    >>> detect_document_format(Document("# Tea", metadata={"source": "tea.md"}))
    'markdown'
    """
    name = detect_format(document.text)
    language = detect_language(document.source, document.text, document.metadata) if name == "markdown" else ""
    return _code_format(language) if language else name


def detect_file_format(name: str, text: str) -> str:
    """Detect the format of a file from its suffix, or from its text if the suffix is ambiguous; default "plain".

    The result is a `Format`, or the name of a plugin's reader.

    Source code without a suffix is detected by its first line. Without the extra "code" it is "plain", which is logged once.

    >>> detect_file_format("notes.md", "Tea."), detect_file_format("notes.txt", "# Tea")
    ('markdown', 'plain')
    """
    if language := detect_language(name, text):
        return _code_format(language)
    suffix = PurePath(name).suffix.lower()
    fixed = _SUFFIXES[suffix] if suffix in _SUFFIXES else _plugin_suffixes().get(suffix, "plain")
    if fixed:
        return fixed
    detected = detect_format(text)
    if detected == "markdown" and suffix in _XML and text.lstrip("\ufeff \t\r\n").startswith("<"):
        return "xml"
    return "plain" if detected == "markdown" else detected


def is_supported(name: str) -> bool:
    """Return True if the suffix of a file is that of a format, of plain text, or of a PDF.

    >>> is_supported("tea.py"), is_supported("tea.txt"), is_supported("tea.png")
    (True, True, False)
    """
    suffix = PurePath(name).suffix.lower()
    return suffix in {*_SUFFIXES, ".txt", ".pdf"} or bool(detect_language(name)) or suffix in _plugin_suffixes()


@cache
def _plugin_suffixes() -> Mapping[str, str]:
    suffixes = dict[str, str]()
    for name, point in _PLUGINS.declared.items():
        own = getattr(_PLUGINS.load(name), "suffixes", ())
        taken = {*_SUFFIXES, *suffixes, ".txt", ".pdf"}
        if isinstance(own, str) or any(suffix in taken or not suffix.startswith(".") for suffix in own):
            _PLUGINS.warn(point, f"its suffixes must be a tuple of new ones with a dot, got {own!r}")
        else:
            suffixes |= dict.fromkeys(own, name)
    return suffixes


def _code_format(language: str) -> Format:
    if is_installed(language):
        return "code"
    _report_missing()
    return "plain"


@cache
def _report_missing() -> None:
    _log.warning("source code is read as plain text: %s", MissingExtra("tree-sitter", "code"))


def check_markup(markup: str) -> None:
    """Raise `ConfigurationError` unless ``markup`` is a format, "auto", or the name of a plugin's reader."""
    if markup not in get_args(Markup) and markup not in _PLUGINS.declared:
        names = *get_args(Markup), *_PLUGINS.declared
        msg = f"markup must be one of {', '.join(names)}, got {markup!r}{did_you_mean(str(markup), names)}"
        raise ConfigurationError(msg)


def read(document: Document, markup: str) -> Document:
    """Add a layout to a document that does not have one.

    Markdown, plain text and source code are unchanged. Other formats are converted to a new text without tags, and chunks are spans of
    that text. The result has blocks, and metadata from the source, which the document's own metadata overrides.

    Raises
    ------
    ConfigurationError : the format is unknown, or the text is not in it.
    MissingExtra : the parser for the format is not installed.
    """
    check_markup(markup)
    if document.blocks is not None:
        return document
    if {"dl_meta", "schema_name"} & document.metadata.keys() and markup in {"auto", "markdown"}:
        from advchunk.readers import docling

        if docling.is_chunk(document.metadata):
            return docling.restore_layout(document)
    name = detect_document_format(document) if markup == "auto" else markup
    if name == "plain":
        return replace(document, blocks=())
    if name == "markdown":
        return replace(document, blocks=markdown.blocks(document.text))
    reader = import_module(f"advchunk.readers.{_READERS[name]}") if name in _READERS else _PLUGINS.load(name)
    require(hasattr(reader, "read"), "a reader of a plugin must load, and have a function read", name)
    derived = reader.read(document.text, id=document.id, metadata=document.metadata)
    require(isinstance(derived, Document), f"the reader of {name!r} must return a Document", derived)
    return compose_offsets(document, derived)


def compose_offsets(document: Document, derived: Document) -> Document:
    """Return the derived document with offsets into the original of ``document``, if both have offsets."""
    if document.offsets is None or derived.offsets is None:
        return derived
    return replace(derived, offsets=document.offsets[derived.offsets])
