"""Text, dates and names of TEI elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advchunk.readers.writing import squeeze

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def plain_text(element: Element) -> str:
    """Return the text of an element in one line."""
    return squeeze("".join(element.itertext()))


def date_text(element: Element) -> str:
    """Return a date in ISO 8601, or else as it is printed."""
    return element.get("when") or plain_text(element)


def person_name(element: Element) -> str:
    """Return the name of a person: forenames, link, surname, generation."""
    named = next(element.iter("persName"), element)
    parts = [plain_text(part) for tag in ("forename", "nameLink", "surname", "genName") for part in named.iter(tag)]
    if parts:
        return " ".join(parts)
    return plain_text(named) if named.tag == "persName" or not len(named) else squeeze(named.text or "")
