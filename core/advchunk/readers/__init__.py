"""Readers, which convert formats to documents, and the formats that need no other package."""

from typing import Any

from advchunk.registry import Registration

PROLOGUE = r"[\ufeff\s]*(?:<\?xml[^>]*>\s*|<\?[^>]*\?>\s*|<!--(?s:.*?)-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>\s*)*+"
"""Regular expression for what may stand before the root element of XML and HTML."""

# Tags other than these, such as <p align=...>, begin READMEs.
_HTML = rf"[\ufeff\s]*<!(?i:DOCTYPE\s+html)\b|{PROLOGUE}<(?i:html|head|body)\b"
_ROWS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("markdown", "markdown", "Markdown, and prose", {"suffixes": (".md", ".markdown", ".mdx", ".qmd", ".rmd")}),
    ("plain", "plain", "plain text", {"suffixes": (".txt",)}),
    ("html", "html", "web pages", {"extra": "html", "suffixes": (".html", ".htm", ".xhtml"), "begins": _HTML}),
    ("xml", "generic", "any other XML", {"shared_suffixes": (".xml", ".nxml", ".tei", ".jats")}),
)
REGISTRATIONS = tuple(
    Registration(kind="reader", name=name, path=f"{__name__}.{module}", summary=summary, **more)
    for name, module, summary, more in _ROWS
)
