"""Look into elements of TEI, by their names without the namespace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from advchunk.readers.writing import squeezed

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def tag_of(element: Element) -> str:
    """Return what an element is called."""
    return element.tag.rpartition("}")[2]


def every(element: Element, called: str) -> Iterator[Element]:
    """Return the elements of a name within an element, itself too."""
    return (each for each in element.iter() if tag_of(each) == called)


def text_of(element: Element) -> str:
    """Return the text of an element in one line."""
    return squeezed("".join(element.itertext()))


def date_of(element: Element) -> str:
    """Return a date in ISO 8601, as far as it goes, or as it is printed."""
    return element.get("when") or text_of(element)


def person_of(element: Element) -> str:
    """Return a name with its parts in the order in which they are said."""
    named = next(every(element, "persName"), element)
    parts = {
        part: [text_of(each) for each in every(named, part)] for part in ("forename", "nameLink", "surname", "genName")
    }
    if any(parts.values()):
        return " ".join(chain.from_iterable(parts.values()))
    return text_of(named) if tag_of(named) == "persName" or not len(named) else squeezed(named.text or "")
