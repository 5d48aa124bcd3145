"""Write references of TEI in one line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from advchunk.readers.tei.elements import date_of, every, person_of, tag_of, text_of
from advchunk.readers.writing import squeezed

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_TAKEN = frozenset({"author", "biblScope", "date", "editor", "idno", "ptr", "title"})  # as it is


def reference_of(source: Element) -> str:
    """Return a reference in one line."""
    printed = next((text_of(note) for note in every(source, "note") if note.get("type") == "raw_reference"), "")
    ids = list(dict.fromkeys(filter(None, map(_identifier, every(source, "idno")))))
    if printed:
        return " ".join([printed, *(each for each in ids if each.startswith("doi:") and each[4:] not in printed)])
    people = [[person_of(each) for each in every(source, role)] for role in ("author", "editor")]
    authors, editors = (", ".join(filter(None, each)) for each in people)
    date = next(filter(None, map(date_of, every(source, "date"))), "")
    titles = dict.fromkeys(text_of(each) for each in every(source, "title") if each.get("type") != "abbrev")
    *others, last = [*titles] or [""]
    scopes = {each.get("unit", ""): text_of(each) or _range(each) for each in every(source, "biblScope")}
    issue = scopes.pop("volume", "") + (f"({scopes.pop('issue')})" if scopes.get("issue") else "")
    issue = ": ".join(filter(None, [issue, scopes.pop("page", "")]))
    links = [each.get("target", "") for each in every(source, "ptr")]
    pieces = [
        f"{authors} ({date})" if authors and date else authors or date,
        *others,
        f"{last} {issue}",
        f"Edited by {editors}" if editors else "",
        *(f"{unit} {said}" for unit, said in scopes.items()),
        *_rest(source),
        *ids,
        *links,
    ]
    return " ".join(piece if piece[-1] in ".?!" else f"{piece}." for piece in map(squeezed, pieces) if piece)


def _rest(element: Element) -> Iterator[str]:
    """Yield what a reference says besides."""
    for each in element:
        if tag_of(each) not in _TAKEN:
            yield (each.text or "") if len(each) else text_of(each)
            yield from _rest(each)
        yield each.tail or ""


def _identifier(element: Element) -> str:
    kind, said = element.get("type", ""), text_of(element)
    if not said or "ISSN" in kind.upper():
        return ""
    kind = "doi" if kind.upper() == "DOI" else kind
    return f"{kind}:{said}" if kind and not said.casefold().startswith(f"{kind}:".casefold()) else said


def _range(scope: Element) -> str:
    """Return the pages of a reference, whose element has no text if they are several."""
    return "–".join(dict.fromkeys(filter(None, [scope.get("from"), scope.get("to")])))
