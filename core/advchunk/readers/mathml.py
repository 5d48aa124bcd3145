"""Write MathML as a line of text."""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from advchunk.readers.writing import squeeze

_INVISIBLE = re.compile("[\u2061-\u2064\u200b]")  # function application, invisible times ...
_RELATIONS = frozenset("= < > ≤ ≥ ≠ ≈ ≃ ≅ ≡ ∼ ~ ∝ → ← ↔ ⇒ ⇔ ∈ ⊂ ⊆ := ≪ ≫".split())  # noqa: RUF001, SIM905
_ACCENTS = frozenset("¯ ‾ ˉ _ ^ ˆ ~ ˜ ˙ ¨ → ⃗ . ´ ` ˇ ˘ ̂ ̅ ̄ ̇ ̃".split())  # noqa: RUF001, SIM905
_ATOM = re.compile(r"√?\w+|\w+\.\w+|\([^()]*\)|.|", re.DOTALL)
_TEX = re.compile(r"(?:application/x-)?(?:la)?tex", re.IGNORECASE)
_PARTS = {"mfrac": 2, "mroot": 2, "msup": 2, "msub": 2, "mover": 2, "munder": 2, "msubsup": 3, "munderover": 3}
_SEPARATORS = {"mtable": "; ", "mtr": ", ", "mlabeledtr": ", ", "mmultiscripts": " ", "apply": " "}


def formula_text(element: Element) -> str:
    """Return the TeX annotation of a formula without namespaces, or else its MathML in one line, as in a/(b+1)."""
    for part in element.iter():
        if part.tag == "annotation" and _TEX.fullmatch(part.get("encoding", "")) and (part.text or "").strip():
            return squeeze(part.text or "")
    return squeeze(_line(element))


def _line(element: Element) -> str:
    tag = element.tag
    parts = [_line(child) for child in element if not child.tag.startswith("annotation")]
    if not parts:
        text = squeeze(_INVISIBLE.sub("", element.text or ""))
        is_word = tag in {"mi", "mtext"} and len(text) > 1
        return f" {text} " if is_word or (tag == "mo" and text in _RELATIONS) or tag == "mspace" else text
    stray = squeeze(" ".join([element.text or "", *(child.tail or "" for child in element)]))
    text = _combine(element, tag, parts)
    return f"{text} {stray}" if stray else text


def _combine(element: Element, tag: str, parts: list[str]) -> str:
    if _PARTS.get(tag) == len(parts):
        return _combine_scripts(tag, [part.strip() for part in parts])
    if tag == "msqrt":
        return f"√{_parenthesize(''.join(parts).strip())}"
    if tag == "mfenced":
        marks = [*element.get("separators", ",").strip()] or [""]
        inner = "".join(part + marks[min(i, len(marks) - 1)] + " " for i, part in enumerate(parts[:-1])) + parts[-1]
        return f"{element.get('open', '(')}{inner.strip()}{element.get('close', ')')}"
    return _SEPARATORS.get(tag, "").join(parts)


def _combine_scripts(tag: str, parts: Sequence[str]) -> str:
    base, *scripts = parts
    if tag == "mfrac":
        return f"{_parenthesize(base)}/{_parenthesize(scripts[0])}"
    if tag == "mroot":
        return f"{_parenthesize(base)}^(1/{_parenthesize(scripts[0])})"
    if tag in {"mover", "munder"} and scripts[0] in _ACCENTS:
        return base + scripts[0]
    marks = "^" if tag in {"msup", "mover"} else "_^"
    pairs = zip(marks, scripts, strict=False)
    return _parenthesize(base) + "".join(mark + _parenthesize(text) for mark, text in pairs if text)


def _parenthesize(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"
