"""The lines of JATS: what an element says in running text, formulas and references among it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from advchunk.readers.inline import scripted
from advchunk.readers.mathml import readable
from advchunk.readers.writing import squeezed

_UNSEEN = frozenset(["alt-text", "long-desc", "object-id", "sec-meta"])

_FORMULAE = frozenset(["alternatives", "chem-struct", "disp-formula", "inline-formula", "math", "tex-math"])

# Within a line: the first stand close to their neighbors, the second never; others do where text parts them.
_CLOSE = frozenset(
    """abbrev alternatives bold email ext-link inline-formula inline-graphic italic math monospace named-content
    overline private-char roman sans-serif sc strike styled-content sub sup tex-math underline uri x xref""".split()  # noqa: SIM905
)
_APART = frozenset(
    """attrib break caption def def-item disp-formula fn label list list-item p sec speaker speech td term th title tr
    verse-group verse-line""".split()  # noqa: SIM905
)
_SET = re.compile(r".*\\begin\{document\}(?P<formula>.*?)(?:\\end\{document\}.*)?", re.DOTALL)


def said(element: Element, before: str = "") -> str:
    """Return the text of an element in a line, its white space as it comes.

    Parameters
    ----------
    before : what stands before it in the line.

    >>> from xml.etree.ElementTree import fromstring
    >>> said(fromstring("<p>10<sup>9</sup> in <name><surname>Li</surname><given-names>A</given-names></name></p>"))
    '10⁹ in Li A'
    """
    line, touching = element.text or "", False
    for child in element:
        tail = child.tail or ""
        line += piece(child, line or before, touching) + tail
        touching = not tail.strip()
    return line


def piece(child: Element, before: str, touching: bool = False) -> str:
    """Return what an element adds to a line.

    Parameters
    ----------
    before : the line so far.
    touching : whether no text stands between it and the element before it.
    """
    tag = str(child.tag)
    if tag in _UNSEEN:
        return ""
    line = formula(child) if tag in _FORMULAE else said(child, before if tag in _CLOSE else "")
    if tag in _APART:
        return f" {line} "
    if tag in _CLOSE:
        return scripted(tag, line, before[-1:], (child.tail or "")[:1])
    if tag == "etal":
        line = line or "et al."
    return f" {line}" if touching and before[-1:].strip() else line


def formula(element: Element) -> str:
    r"""Return a formula and its label: in TeX, without the document that it is set in; else MathML in a line; else text."""
    if element.tag == "tex-math":
        whole = element.text or ""
        return squeezed(found["formula"] if (found := _SET.fullmatch(whole)) else whole)
    if element.tag == "math":
        return readable(element)
    forms = [form for tag in ("tex-math", "math") for form in element.findall(tag)]
    if element.tag == "alternatives" and forms:
        return formula(forms[0])
    labels = element.findall("label")
    left_out = {id(each) for each in (*labels, *(form for form in forms if form.tag != forms[0].tag))}
    line = element.text or ""
    for child in element:
        line += ("" if id(child) in left_out else piece(child, line)) + (child.tail or "")
    return " ".join([line, *map(said, labels)])


def dotted(heads: Iterable[Element]) -> str:
    """Return labels and titles as a line begins with them.

    >>> from xml.etree.ElementTree import fromstring
    >>> dotted([fromstring("<label>Table 1</label>"), fromstring("<title>Who drank?</title>")])
    'Table 1. Who drank?'
    """
    lines = [squeezed(said(head)) for head in heads]
    return " ".join(line if line[-1] in ".:;!?—–" else f"{line}." for line in lines if line)


def cited(citation: Element) -> str:
    """Return a reference in a line: as it is set, or, if it is but fields, with the points that part them."""
    if citation.tag in {"citation-alternatives", "alternatives"} and len(citation):
        return cited(citation[0])
    is_set = (citation.text or "").strip() or any((child.tail or "").strip() for child in citation)
    if citation.tag == "mixed-citation" or not len(citation) or is_set:
        return said(citation)
    fields = dict[str, list[str]]()
    for child in citation:
        line = squeezed(_people(child) if child.tag == "person-group" else piece(child, ""))
        if child.tag == "pub-id" and line:
            line = f"{child.get('pub-id-type', 'id')}:{line}"
        fields.setdefault(str(child.tag), []).extend([line] if line else [])

    def take(*tags: str, between: str = ", ") -> str:
        return between.join(line for tag in tags for line in fields.pop(tag, ()))

    people, year = take("person-group", "name", "string-name", "collab", "anonymous", "etal"), take("year")
    titles = take("article-title", "chapter-title", "part-title", "data-title", between=". ")
    source, volume, issue = take("source", "series", "edition"), take("volume"), take("issue")
    pages = take("fpage", "lpage", between="–") or take("page-range", "elocation-id")
    where = f"{source} {volume}".strip() + (f"({issue})" if issue else "") + (f": {pages}" if pages else "")
    printed, ids = take("publisher-name", "publisher-loc"), take("pub-id")
    rest = ". ".join(filter(None, [take(tag) for tag in list(fields)]))
    lines = [people, f"({year})" if year else "", titles, where, printed, ids, rest]
    return " ".join(line if line[-1] in ".)?!" else f"{line}." for line in lines if line)


def _people(group: Element) -> str:
    return ", ".join(line for child in group if (line := squeezed(piece(child, ""))))
