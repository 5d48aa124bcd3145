"""Readers, which convert formats to documents, and the formats that need no other package."""

from typing import Any

from advchunk.registry import Registration

PROLOGUE = r"[\ufeff\s]*(?:<\?xml[^>]*>\s*|<\?[^>]*\?>\s*|<!--(?s:.*?)-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>\s*)*+"
"""Regular expression for what may stand before the root element of XML and HTML."""

# Tags other than these, such as <p align=...>, begin READMEs.
_HTML = rf"[\ufeff\s]*<!(?i:DOCTYPE\s+html)\b|{PROLOGUE}<(?i:html|head|body)\b"


def row(name: str, path: str, summary: str, **more: Any) -> Registration:
    """Return the row of a reader."""
    return Registration(kind="reader", name=name, path=f"{__name__}.{path}", summary=summary, **more)


REGISTRATIONS = (
    row("markdown", "markdown", "Markdown, and prose", suffixes=(".md", ".markdown", ".mdx", ".qmd", ".rmd")),
    row("plain", "plain", "plain text", suffixes=(".txt",)),
    row("html", "html", "web pages", extra="html", suffixes=(".html", ".htm", ".xhtml"), begins=_HTML),
    row("xml", "generic", "any other XML", shared_suffixes=(".xml", ".nxml", ".tei", ".jats")),
)
