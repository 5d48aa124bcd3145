"""Formulas of Office files as MathML."""

import re
from typing import Any
from xml.etree.ElementTree import Element

from advchunk.readers.mathml import formula_text
from advchunk.readers.office.package import every, find, short, value

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|\S")
_ELEMENTS = {  # as those of MathML, with their parts
    "f": ("mfrac", "num", "den"),
    "sSup": ("msup", "e", "sup"),
    "sSub": ("msub", "e", "sub"),
    "sSubSup": ("msubsup", "e", "sub", "sup"),
    "sPre": ("mmultiscripts", "sub", "sup", "e"),
    "limLow": ("munder", "e", "lim"),
    "limUpp": ("mover", "e", "lim"),
}
_FENCE = (("open", "begChr", "("), ("close", "endChr", ")"), ("separators", "sepChr", "|"))


def read_formula(element: Any) -> str:
    """Return a formula (``m:oMath``) in one line."""
    return formula_text(_mathml(element))


def _mathml(element: Any) -> Element:
    """Return a formula as MathML, as far as `formula_text` needs it."""
    name = short(element.tag).removeprefix("m:")

    def part(name: str) -> Element:
        found = find(element, f"m:{name}")
        return Element("mrow") if found is None else _mathml(found)

    def sign(path: str, default: str) -> str:
        return default if find(element, path) is None else value(element, path, "m:val") or ""

    if name == "r":
        text = "".join(t.text or "" for t in element if short(t.tag) in {"m:t", "w:t"})
        if find(element, "m:rPr/m:nor") is not None:
            return _made("mtext", text=text)
        return _made("mrow", *(_made("mi" if t[0].isalpha() else "mo", text=t) for t in _TOKEN.findall(text)))
    if name in _ELEMENTS:
        tag, *names = _ELEMENTS[name]
        return _made(tag, *map(part, names))
    if name == "rad":
        return _made("mroot", part("e"), part("deg")) if len(part("deg")) else _made("msqrt", part("e"))
    if name == "d":
        made = _made("mfenced", *map(_mathml, every(element, "m:e")))
        made.attrib.update({key: sign(f"m:dPr/m:{own}", usual) for key, own, usual in _FENCE})
        return made
    if name == "nary":
        parts = {own: made for own in ("sub", "sup") if len(made := part(own))}
        tag = "munderover" if len(parts) == 2 else f"m{next(iter(parts))}" if parts else "mrow"
        whole = _made(tag, _made("mi", text=sign("m:naryPr/m:chr", "∫")), *parts.values())
        return _made("mrow", whole, Element("mspace"), part("e"))
    if name in {"acc", "bar"}:
        return _made("mover", part("e"), _made("mo", text=sign("m:accPr/m:chr", "\u0302") if name == "acc" else "¯"))
    if name in {"m", "eqArr"}:
        rows = (row for row in element if short(row.tag) in {"m:mr", "m:e"})
        return _made("mtable", *(_made("mtr", *map(_mathml, row)) for row in rows))
    if name == "func":
        return _made("mrow", part("fName"), Element("mspace"), part("e"))
    skipped = ("Pr", ":del", ":moveFrom")
    return _made("mrow", *(_mathml(child) for child in element if not short(child.tag).endswith(skipped)))


def _made(tag: str, *children: Element, text: str = "") -> Element:
    element = Element(tag)
    element.text = text
    element.extend(children)
    return element
