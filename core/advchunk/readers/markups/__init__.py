"""Markups of text, whose places are exact: LaTeX, reStructuredText, AsciiDoc, and Org."""

from advchunk.readers import reader

_DOCUMENT = r"\ufeff?(?:\s|%[^\n]*+\n)*+\\documentclass(?![a-zA-Z])"
REGISTRATIONS = (
    reader("latex", "markups.rules:LATEX", "LaTeX", suffixes=(".tex", ".ltx"), begins=_DOCUMENT),
    reader("rst", "markups.rules:RST", "reStructuredText", suffixes=(".rst", ".rest")),
    reader("asciidoc", "markups.rules:ASCIIDOC", "AsciiDoc", suffixes=(".adoc", ".asciidoc")),
    reader("org", "markups.rules:ORG", "Org", suffixes=(".org",)),
)
