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
        media_types=(media_type,),
        begins=begins,
    )
    for name, summary, suffixes, media_type, begins in (
        ("latex", "LaTeX", (".tex", ".ltx"), "application/x-tex", _DOCUMENT),
        ("rst", "reStructuredText", (".rst", ".rest"), "text/x-rst", ""),
        ("asciidoc", "AsciiDoc", (".adoc", ".asciidoc"), "text/asciidoc", ""),
        ("org", "Org", (".org",), "text/org", ""),
    )
)
