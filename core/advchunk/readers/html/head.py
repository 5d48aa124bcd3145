"""What an HTML page says of itself, as metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from advchunk.readers.html.guard import as_written
from advchunk.readers.writing import squeezed

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

# Where each is said, the better place first: Open Graph, plain HTML, Highwire (as journals have it), Dublin Core.
_NAMES: Mapping[str, Sequence[str]] = {
    "title": ("og:title", "<title>", "citation_title", "dc.title"),
    "authors": ("citation_author", "author", "article:author", "dc.creator"),
    "description": ("description", "og:description", "dc.description"),
    "keywords": ("keywords", "citation_keywords"),
    "published_at": ("article:published_time", "citation_publication_date", "citation_date", "date", "dc.date"),
    "journal": ("citation_journal_title",),
    "doi": ("citation_doi",),
    "language": ("<lang>",),
    "url": ("<canonical>", "og:url"),
}
_DATE = re.compile(r"\s*(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?(?!\d)", re.ASCII)


def metadata(tree: LexborHTMLParser) -> dict[str, str]:
    """Return what there is of `_NAMES`; of authors all, else the first."""
    said = dict[str, list[str]]()

    def note(name: str | None, value: str | None) -> None:
        if name and (line := squeezed(as_written(value or ""))):
            said.setdefault(name.lower(), []).append(line)

    for meta in tree.css("meta"):
        attributes = meta.attributes
        note(attributes.get("property") or attributes.get("name"), attributes.get("content"))
    for name, selector, attribute in (("<lang>", "html", "lang"), ("<canonical>", "link[rel=canonical]", "href")):
        if (node := tree.css_first(selector)) is not None:
            note(name, node.attributes.get(attribute))
    title = tree.css_first("head > title")
    note("<title>", title.text() if title is not None else "")

    known = dict[str, str]()
    for key, names in _NAMES.items():
        values = next((said[name] for name in names if name in said), [])
        if key == "authors":
            values = [value for value in values if not value.startswith(("http:", "https:"))]
        line = "; ".join(dict.fromkeys(values)) if key == "authors" else "".join(values[:1])
        if key == "published_at":
            line = _date(line)
        if line:
            known[key] = line
    return known


def _date(said: str) -> str:
    """Return a date in ISO 8601, as far as it goes.

    >>> _date("2020-06-01T10:00:00Z"), _date("2020/6"), _date("June 1")
    ('2020-06-01', '2020-06', '')
    """
    found = _DATE.match(said)
    return "-".join(part.zfill(2) for part in found.groups() if part) if found else ""
