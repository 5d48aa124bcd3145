"""Markups of text, whose places are exact: LaTeX, reStructuredText, AsciiDoc, and Org."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="reader",
        name="latex",
        path="advchunk.markups.rules:LATEX",
        summary="LaTeX",
        suffixes=(".tex", ".ltx"),
        media_types=("application/x-tex",),
        begins=r"\ufeff?(?:\s|%[^\n]*+\n)*+\\documentclass(?![a-zA-Z])",
    ),
    Registration(
        kind="reader",
        name="rst",
        path="advchunk.markups.rules:RST",
        summary="reStructuredText",
        suffixes=(".rst", ".rest"),
        media_types=("text/x-rst",),
    ),
    Registration(
        kind="reader",
        name="asciidoc",
        path="advchunk.markups.rules:ASCIIDOC",
        summary="AsciiDoc",
        suffixes=(".adoc", ".asciidoc"),
        media_types=("text/asciidoc",),
    ),
    Registration(
        kind="reader",
        name="org",
        path="advchunk.markups.rules:ORG",
        summary="Org",
        suffixes=(".org",),
        media_types=("text/org",),
    ),
)
