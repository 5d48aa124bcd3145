"""Text of inline XML elements, with superscripts and subscripts."""

import re
from xml.etree.ElementTree import Element

SUPERSCRIPTS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_SUBSCRIPTS = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
_NUMBER = re.compile(r"\s*[+−-]?\d+(?:\s*[.,;–-]\s*\d+)*\s*")  # or several, as in citations


def inline_text(element: Element) -> str:
    """Return the text of an element with its superscripts and subscripts formatted (`format_script`)."""
    text = element.text or ""
    for child in element:
        tail = child.tail or ""
        text += format_script(child.tag, inline_text(child), text[-1:], tail[:1]) + tail
    return text


def format_script(tag: str, text: str, before: str, after: str) -> str:
    """Write a number in superscript or subscript digits where plain digits would change a neighboring number.

    Text in tags other than "sup" and "sub" does not change. ``before`` and ``after`` are the adjacent characters.

    >>> format_script("sup", "9", before="0", after=" "), format_script("sub", "10", "g", "2"), format_script("sub", "2", "O", "")
    ('⁹', '₁₀', '2')
    """
    if tag not in {"sup", "sub"} or not _NUMBER.fullmatch(text):
        return text
    if tag == "sup":
        return text.translate(SUPERSCRIPTS) if before.isdigit() else text
    return text.translate(_SUBSCRIPTS) if before.isdigit() or after.isdigit() else text
