"""Read MathML as a line of text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from advchunk.readers.writing import squeezed

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_UNSEEN = re.compile("[\u2061-\u2064\u200b]")  # function application, invisible times ...
_RELATIONS = frozenset("= < > ≤ ≥ ≠ ≈ ≃ ≅ ≡ ∼ ~ ∝ → ← ↔ ⇒ ⇔ ∈ ⊂ ⊆ := ≪ ≫".split())  # noqa: RUF001, SIM905
_ACCENTS = frozenset("¯ ‾ ˉ _ ^ ˆ ~ ˜ ˙ ¨ → ⃗ . ´ ` ˇ ˘ ̂ ̅ ̄ ̇ ̃".split())  # noqa: RUF001, SIM905
_ALONE = re.compile(r"√?\w+|\w+\.\w+|\([^()]*\)|.|", re.DOTALL)
_TEX = re.compile(r"(?:application/x-)?(?:la)?tex", re.IGNORECASE)


def readable(element: Element) -> str:
    r"""Return what a formula says: its TeX if it brings that, else its MathML in a line.

    >>> from xml.etree.ElementTree import fromstring
    >>> readable(fromstring("<math><mi>p</mi><mo>=</mo><mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac></math>"))
    'p = a/(b+1)'
    >>> readable(fromstring("<math><msup><mi>R</mi><mn>2</mn></msup></math>"))
    'R^2'
    """
    for each in element.iter():
        if _local(each) == "annotation" and _TEX.fullmatch(each.get("encoding", "")) and (each.text or "").strip():
            return squeezed(each.text or "")
    return squeezed(_line(element))


def _line(element: Element) -> str:
    tag = _local(element)
    parts = [_line(child) for child in element if not _local(child).startswith("annotation")]
    if not parts:
        said = squeezed(_UNSEEN.sub("", element.text or ""))
        name = tag in {"mi", "mtext"} and len(said) > 1
        return f" {said} " if name or (tag == "mo" and said in _RELATIONS) or tag == "mspace" else said
    loose = squeezed(" ".join([element.text or "", *(child.tail or "" for child in element)]))  # where none belongs
    said = _together(element, tag, parts)
    return f"{said} {loose}" if loose else said


def _together(element: Element, tag: str, parts: list[str]) -> str:
    if tag in _LAYOUTS and len(parts) == _LAYOUTS[tag]:
        return _laid_out(tag, [part.strip() for part in parts])
    if tag == "msqrt":
        return f"√{_closed(''.join(parts).strip())}"
    if tag == "mfenced":
        marks = [*element.get("separators", ",").strip()] or [""]
        inner = "".join(part + marks[min(i, len(marks) - 1)] + " " for i, part in enumerate(parts[:-1])) + parts[-1]
        return f"{element.get('open', '(')}{inner.strip()}{element.get('close', ')')}"
    between = {"mtable": "; ", "mtr": ", ", "mlabeledtr": ", ", "mmultiscripts": " ", "apply": " "}.get(tag, "")
    return between.join(parts)


_LAYOUTS = {
    **dict.fromkeys(("mfrac", "mroot", "msup", "msub", "mover", "munder"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}


def _laid_out(tag: str, parts: Sequence[str]) -> str:
    base, *scripts = parts
    if tag == "mfrac":
        return f"{_closed(base)}/{_closed(scripts[0])}"
    if tag == "mroot":
        return f"{_closed(base)}^(1/{_closed(scripts[0])})"
    if tag in {"mover", "munder"} and scripts[0] in _ACCENTS:
        return base + scripts[0]
    marks = "^" if tag in {"msup", "mover"} else "_^"
    return _closed(base) + "".join(mark + _closed(said) for mark, said in zip(marks, scripts, strict=False) if said)


def _closed(said: str) -> str:
    return said if _ALONE.fullmatch(said) else f"({said})"


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
