"""Text of inline XML elements, with superscripts and subscripts."""

import re
from xml.etree.ElementTree import Element

SUPERSCRIPTS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_SUBSCRIPTS = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
_NUMBER = re.compile(r"\s*[+−-]?\d+(?:\s*[.,;–-]\s*\d+)*\s*")  # or several, as in citations
# A number of a note is raised after a word or the end of a sentence; an exponent after a unit or a function.
_NOTED = re.compile(r"(?:[^\W\d_]{4,}|[.,;:!?”\"])\Z")
_POWERED = re.compile(
    r"(?i)\b(?:inch(?:es)?|foot|feet|yards?|miles?|(?:centi|milli|kilo)?met(?:er|re)s?|sec(?:onds?)?|m?mol)\Z"
)
_BEFORE = 40  # characters


def inline_text(element: Element) -> str:
    """Return the text of an element with its superscripts and subscripts formatted (`format_script`)."""
    text = element.text or ""
    for child in element:
        tail = child.tail or ""
        text += format_script(child.tag, inline_text(child), text, tail[:1]) + tail
    return text


def format_script(tag: str, text: str, before: str, after: str) -> str:
    """Write a number in superscript or subscript digits where plain digits would change a neighboring number.

    The number of a note or reference is in brackets, apart from its word. Text in tags other than "sup" and "sub" does not
    change. ``before`` is the text before, and ``after`` the character after.

    >>> format_script("sup", "12,13", before="work", after=" "), format_script("sup", "2", before="m", after=" ")
    ('[12,13]', '2')
    >>> format_script("sup", "9", before="0", after=" "), format_script("sub", "10", "g", "2"), format_script("sub", "2", "O", "")
    ('⁹', '₁₀', '2')
    """
    if tag not in {"sup", "sub"} or not _NUMBER.fullmatch(text):
        return text
    is_after_digit, last = before[-1:].isdigit(), before[-_BEFORE:]
    if tag == "sup" and text.lstrip()[:1].isdigit() and _NOTED.search(last) and not _POWERED.search(last):
        return f"[{text.strip()}]"
    if tag == "sup":
        return text.translate(SUPERSCRIPTS) if is_after_digit else text
    return text.translate(_SUBSCRIPTS) if is_after_digit or after.isdigit() else text
