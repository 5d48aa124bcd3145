"""Readers, which convert formats to documents, and the formats that need no other package."""

from advchunk.registry import Registration

PROLOGUE = r"[\ufeff\s]*(?:<\?xml[^>]*>\s*|<\?[^>]*\?>\s*|<!--(?s:.*?)-->\s*|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>\s*)*+"
"""Regular expression for what may stand before the root element of XML and HTML."""

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="markdown",
        path="advchunk.readers.markdown",
        summary="Markdown, and prose",
        suffixes=(".md", ".markdown", ".mdx", ".qmd", ".rmd"),
    ),
    Registration(
        kind="reader",
        name="plain",
        path="advchunk.readers.plain",
        summary="plain text",
        suffixes=(".txt",),
    ),
    Registration(
        kind="reader",
        name="html",
        path="advchunk.readers.html",
        summary="web pages",
        extra="html",
        suffixes=(".html", ".htm", ".xhtml"),
        # Other tags, such as <p align=...>, begin READMEs.
        begins=rf"[\ufeff\s]*<!(?i:DOCTYPE\s+html)\b|{PROLOGUE}<(?i:html|head|body)\b",
    ),
    Registration(
        kind="reader",
        name="xml",
        path="advchunk.readers.generic",
        summary="any other XML",
        shared_suffixes=(".xml", ".nxml", ".tei", ".jats"),
    ),
)
