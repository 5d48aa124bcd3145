"""Markups of text, whose places are exact: LaTeX, reStructuredText, AsciiDoc, and Org."""

from advchunk.registry import Registration

_DOCUMENT = r"\ufeff?(?:\s|%[^\n]*+\n)*+\\documentclass(?![a-zA-Z])"

REGISTRATIONS = tuple(
    Registration(
        kind="reader",
        name=name,
        path=f"advchunk.readers.markups.rules:{name.upper()}",
        summary=summary,
        suffixes=suffixes,
        begins=begins,
    )
    for name, summary, suffixes, begins in (
        ("latex", "LaTeX", (".tex", ".ltx"), _DOCUMENT),
        ("rst", "reStructuredText", (".rst", ".rest"), ""),
        ("asciidoc", "AsciiDoc", (".adoc", ".asciidoc"), ""),
        ("org", "Org", (".org",), ""),
    )
)
