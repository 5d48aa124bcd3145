"""Inline text of JATS elements, including formulas and citations."""

import json
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any
from xml.etree.ElementTree import Element

from advchunk.readers.inline import format_script
from advchunk.readers.mathml import formula_text
from advchunk.readers.writing import squeeze

ELEMENTS: Mapping[str, Any] = json.loads(files(__package__).joinpath("elements.json").read_text("utf-8"))
"""Names of elements, by how the reader handles them."""

_INVISIBLE, _FORMULAS = frozenset(ELEMENTS["invisible"]), frozenset(ELEMENTS["formulas"])
# Elements that never have spaces around them, and elements that always do; others only where no text separates them.
_CLOSE, _SPACED = frozenset(ELEMENTS["close"]), frozenset(ELEMENTS["spaced"])
_TEX_BODY = re.compile(r".*\\begin\{document\}(?P<formula>.*?)(?:\\end\{document\}.*)?", re.DOTALL)


def line_text(element: Element, before: str = "") -> str:
    """Return the text of an element in a line after ``before``, with its white space.

    >>> from xml.etree.ElementTree import fromstring
    >>> line_text(fromstring("<p>10<sup>9</sup> in <name><surname>Li</surname><given-names>A</given-names></name></p>"))
    '10⁹ in Li A'
    """
    line, touching = element.text or "", False
    for child in element:
        tail = child.tail or ""
        line += child_text(child, line or before, touching) + tail
        touching = not tail.strip()
    return line


def child_text(child: Element, before: str, touching: bool = False) -> str:
    """Return the text that an element adds to a line; ``touching`` if no text is between it and the element before."""
    tag = child.tag
    if tag in _INVISIBLE:
        return ""
    text = formula_line(child) if tag in _FORMULAS else line_text(child, before)
    if tag == "rt":  # the reading of a word
        return f" ({text.strip()})" if text.strip() else ""
    if tag in _SPACED:
        return f" {text} "
    if tag in _CLOSE:
        return format_script(tag, text, before, (child.tail or "")[:1])
    if tag == "etal":
        text = text or "et al."
    return f" {text}" if touching and before[-1:].strip() else text


def formula_line(element: Element) -> str:
    """Return a formula and its label: TeX without the document around it, else MathML in a line, else its text."""
    if element.tag == "tex-math":
        tex = element.text or ""
        return squeeze(match["formula"] if (match := _TEX_BODY.fullmatch(tex)) else tex)
    if element.tag == "math":
        return formula_text(element)
    forms = [form for tag in ("tex-math", "math") for form in element.findall(tag)]
    if element.tag == "alternatives" and forms:
        return formula_line(forms[0])
    labels = element.findall("label")
    skipped = {id(child) for child in (*labels, *(form for form in forms if form.tag != forms[0].tag))}
    line = element.text or ""
    for child in element:
        line += ("" if id(child) in skipped else child_text(child, line)) + (child.tail or "")
    return " ".join([line, *map(line_text, labels)])


def label_text(elements: Iterable[Element]) -> str:
    """Return labels, titles or terms in one line."""
    return squeeze(" ".join(map(line_text, elements)))


def punctuated(texts: Iterable[str], ends: str) -> str:
    """Join texts to sentences, with a period after each that ends with none of the signs ``ends``."""
    return " ".join(text if text[-1] in ends else f"{text}." for text in texts if text)


def citation_text(citation: Element) -> str:
    """Return a citation in one line; one that has only fields is punctuated."""
    if citation.tag in {"citation-alternatives", "alternatives"} and len(citation):
        return citation_text(citation[0])
    has_text = (citation.text or "").strip() or any((child.tail or "").strip() for child in citation)
    if citation.tag == "mixed-citation" or not len(citation) or has_text:
        return line_text(citation)
    fields = dict[str, list[str]]()
    for child in citation:
        members = child if child.tag == "person-group" else [child]
        text = ", ".join(filter(None, (squeeze(child_text(member, "")) for member in members)))
        if child.tag == "pub-id" and text:
            text = f"{child.get('pub-id-type', 'id')}:{text}"
        fields.setdefault(child.tag, []).extend([text] if text else [])

    def take(*tags: str, separator: str = ", ") -> str:
        return separator.join(text for tag in tags for text in fields.pop(tag, ()))

    people, year = take("person-group", "name", "string-name", "collab", "anonymous", "etal"), take("year")
    titles = take("article-title", "chapter-title", "part-title", "data-title", separator=". ")
    source, volume, issue = take("source", "series", "edition"), take("volume"), take("issue")
    pages = take("fpage", "lpage", separator="–") or take("page-range", "elocation-id")
    source = f"{source} {volume}".strip() + (f"({issue})" if issue else "") + (f": {pages}" if pages else "")
    publisher, ids = take("publisher-name", "publisher-loc"), take("pub-id")
    rest = ". ".join(filter(None, [take(tag) for tag in list(fields)]))
    return punctuated([people, f"({year})" if year else "", titles, source, publisher, ids, rest], ".)?!")
