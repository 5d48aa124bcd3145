"""The text of an XML element that has other elements within its lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LOWERED = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
_NUMBER = re.compile(r"\s*[+−-]?\d+(?:\s*[.,;–-]\s*\d+)*\s*")  # or several, as references are cited


def inline_text(element: Element) -> str:
    """Return the text of an element with its powers raised: "10<sup>9</sup>" is not 109."""
    said = element.text or ""
    for child in element:
        tail = child.tail or ""
        said += scripted(str(child.tag), inline_text(child), said[-1:], tail[:1]) + tail
    return said


def scripted(tag: str, said: str, before: str, after: str) -> str:
    """Return what an element says, raised or lowered where it would make another number on the line.

    Parameters
    ----------
    tag : "sup", "sub", or any other, whose text stays.
    before, after : the characters beside it.

    >>> scripted("sup", "9", before="0", after=" "), scripted("sub", "10", before="g", after="2"), scripted("sub", "2", "O", "")
    ('⁹', '₁₀', '2')
    """
    if tag not in {"sup", "sub"} or not _NUMBER.fullmatch(said):
        return said
    if tag == "sup":
        return said.translate(RAISED) if before.isdigit() else said
    return said.translate(_LOWERED) if before.isdigit() or after.isdigit() else said
