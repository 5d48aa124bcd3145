"""Text of inline XML elements, with superscripts and subscripts."""

import re
from collections.abc import Iterable
from itertools import groupby
from xml.etree.ElementTree import Element

SUPERSCRIPTS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_SUBSCRIPTS = str.maketrans("0123456789+-−", "₀₁₂₃₄₅₆₇₈₉₊₋₋")
_FORMULA = re.compile(r"[^\W\d_]|\(?\w{1,3}(?:\s*[+−*/=-]\s*\w{1,3})+\)?")
_ORDINALS = frozenset("aeoºª")
_NUMBER = re.compile(r"\s*[+−-]?\d+(?:\s*[.,;–-]\s*\d+)*\s*")  # or several, as in citations
# A number of a note is raised after a word or the end of a sentence; an exponent after a unit or a function.
_NOTED = re.compile(r"(?:[^\W\d_]{4,}|[.,;:!?%”\"])\Z")
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


def join_scripts(pieces: Iterable[tuple[str, str]]) -> str:
    """Join pieces of text, each with "sup", "sub", or "", and format what is raised or lowered (`format_script`)."""
    runs = [("".join(text for text, _ in run), tag) for tag, run in groupby(pieces, lambda piece: piece[1])]
    line = ""
    for (text, tag), (following, _) in zip(runs, [*runs[1:], ("", "")], strict=False):
        line += format_script(tag, text, line, following[:1])
    return line


def format_script(tag: str, text: str, before: str, after: str) -> str:
    """Write a number in superscript or subscript digits where plain digits would change a neighboring number. A number
    of a note is in brackets; a raised letter, and a raised or lowered formula, has "^" or "_". ``before`` is the text
    before, and ``after`` the character after.

    >>> format_script("sup", "12,13", before="work", after=" "), format_script("sup", "2", before="m", after=" ")
    ('[12,13]', '2')
    >>> format_script("sup", "n+1", "x", ""), format_script("sub", "n-1", "x", " "), format_script("sub", "d", "K", " ")
    ('^(n+1)', '_(n-1)', 'd')
    """
    if tag not in {"sup", "sub"}:
        return text
    if not _NUMBER.fullmatch(text):
        return _mark_script(tag, text, before[-1:])
    is_after_digit, last = before[-1:].isdigit(), before[-_BEFORE:]
    if tag == "sup" and text.lstrip()[:1].isdigit() and _NOTED.search(last) and not _POWERED.search(last):
        return f"[{text.strip()}]"
    if tag == "sup":
        return text.translate(SUPERSCRIPTS) if is_after_digit else text
    return text.translate(_SUBSCRIPTS) if is_after_digit or after.isdigit() else text


def _mark_script(tag: str, text: str, last: str) -> str:
    own = text.strip()
    is_plain = len(own) == 1 and (tag == "sub" or (last.isdigit() and own in _ORDINALS))  # "Kd", "1º"
    if is_plain or not _FORMULA.fullmatch(own) or not (last.isalnum() or last in {")", "]"}):
        return text
    return text.replace(own, ("^" if tag == "sup" else "_") + (own if len(own) == 1 else f"({own})"), 1)
