"""Formulas of Office files as MathML."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from advchunk.readers.mathml import formula_text
from advchunk.readers.office.package import child_at, every, short, value

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
    if element is None:
        return Element("mrow")
    name = short(element.tag).removeprefix("m:")
    if name in _WRITERS:
        return _WRITERS[name](element)
    if name in _ELEMENTS:
        tag, *names = _ELEMENTS[name]
        return _made(tag, *(_part(element, own) for own in names))
    skipped = ("Pr", ":del", ":moveFrom")
    return _made("mrow", *(_mathml(child) for child in element if not short(child.tag).endswith(skipped)))


def _part(element: Any, name: str) -> Element:
    return _mathml(child_at(element, f"m:{name}"))


def _run(run: Any) -> Element:
    text = "".join(t.text or "" for t in run if short(t.tag) in {"m:t", "w:t"})
    if child_at(run, "m:rPr/m:nor") is not None:
        return _made("mtext", text=text)
    return _made("mrow", *(_made("mi" if t[0].isalpha() else "mo", text=t) for t in _TOKEN.findall(text)))


def _root(root: Any) -> Element:
    degree, inner = _part(root, "deg"), _part(root, "e")
    return _made("mroot", inner, degree) if len(degree) else _made("msqrt", inner)


def _fence(fence: Any) -> Element:
    made = _made("mfenced", *map(_mathml, every(fence, "m:e")))
    made.attrib.update({key: value(fence, f"m:dPr/m:{own}", "m:val", usual) for key, own, usual in _FENCE})
    return made


def _sum(nary: Any) -> Element:
    parts = {own: made for own in ("sub", "sup") if len(made := _part(nary, own))}
    tag = "munderover" if len(parts) == 2 else f"m{next(iter(parts))}" if parts else "mrow"
    whole = _made(tag, _made("mi", text=value(nary, "m:naryPr/m:chr", "m:val", "∫")), *parts.values())
    return _made("mrow", whole, Element("mspace"), _part(nary, "e"))


def _table(table: Any) -> Element:
    rows = (row for row in table if short(row.tag) in {"m:mr", "m:e"})
    return _made("mtable", *(_made("mtr", *map(_mathml, row)) for row in rows))


_WRITERS: Mapping[str, Callable[[Any], Element]] = {
    "r": _run,
    "rad": _root,
    "d": _fence,
    "nary": _sum,
    "acc": lambda own: _made(
        "mover", _part(own, "e"), _made("mo", text=value(own, "m:accPr/m:chr", "m:val", "\u0302"))
    ),
    "bar": lambda own: _made("mover", _part(own, "e"), _made("mo", text="¯")),
    "m": _table,
    "eqArr": _table,
    "func": lambda own: _made("mrow", _part(own, "fName"), Element("mspace"), _part(own, "e")),
}


def _made(tag: str, *children: Element, text: str = "") -> Element:
    element = Element(tag)
    element.text = text
    element.extend(children)
    return element
