"""Markups of text, whose places are exact: LaTeX, reStructuredText, AsciiDoc, and Org."""

from advchunk.readers import row

_DOCUMENT = r"\ufeff?(?:\s|%[^\n]*+\n)*+\\documentclass(?![a-zA-Z])"
REGISTRATIONS = (
    row("latex", "markups.rules:LATEX", "LaTeX", suffixes=(".tex", ".ltx"), begins=_DOCUMENT),
    row("rst", "markups.rules:RST", "reStructuredText", suffixes=(".rst", ".rest")),
    row("asciidoc", "markups.rules:ASCIIDOC", "AsciiDoc", suffixes=(".adoc", ".asciidoc")),
    row("org", "markups.rules:ORG", "Org", suffixes=(".org",)),
)
