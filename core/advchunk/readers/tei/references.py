"""Write bibliographic references of TEI in one line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from advchunk.readers.tei.elements import date_text, person_name, plain_text
from advchunk.readers.writing import squeeze

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_FORMATTED = frozenset({"author", "biblScope", "date", "editor", "idno", "ptr", "title"})


def format_reference(source: Element) -> str:
    """Return a reference as it was printed, if GROBID has that, or else its parts with punctuation."""
    printed = next((plain_text(note) for note in source.iter("note") if note.get("type") == "raw_reference"), "")
    ids = list(dict.fromkeys(filter(None, map(_identifier, source.iter("idno")))))
    if printed:
        return " ".join([printed, *(id for id in ids if id.startswith("doi:") and id[4:] not in printed)])
    authors, editors = (", ".join(filter(None, map(person_name, source.iter(role)))) for role in ("author", "editor"))
    date = next(filter(None, map(date_text, source.iter("date"))), "")
    titles = dict.fromkeys(plain_text(title) for title in source.iter("title") if title.get("type") != "abbrev")
    *others, last = [*titles] or [""]
    scopes = {scope.get("unit", ""): plain_text(scope) or _range(scope) for scope in source.iter("biblScope")}
    issue = scopes.pop("volume", "") + (f"({scopes.pop('issue')})" if scopes.get("issue") else "")
    issue = ": ".join(filter(None, [issue, scopes.pop("page", "")]))
    parts = [
        f"{authors} ({date})" if authors and date else authors or date,
        *others,
        f"{last} {issue}",
        f"Edited by {editors}" if editors else "",
        *(f"{unit} {text}" for unit, text in scopes.items()),
        *_rest(source),
        *ids,
        *(link.get("target", "") for link in source.iter("ptr")),
    ]
    return " ".join(part if part[-1] in ".?!" else f"{part}." for part in map(squeeze, parts) if part)


def _rest(element: Element) -> Iterator[str]:
    """Yield the text of other elements."""
    for child in element:
        if child.tag not in _FORMATTED:
            yield (child.text or "") if len(child) else plain_text(child)
            yield from _rest(child)
        yield child.tail or ""


def _identifier(element: Element) -> str:
    kind, text = element.get("type", ""), plain_text(element)
    if not text or "ISSN" in kind.upper():
        return ""
    kind = "doi" if kind.upper() == "DOI" else kind
    return f"{kind}:{text}" if kind and not text.casefold().startswith(f"{kind}:".casefold()) else text


def _range(scope: Element) -> str:
    """Return the pages of a reference, whose element has no text if there are several."""
    return "–".join(dict.fromkeys(filter(None, [scope.get("from"), scope.get("to")])))
