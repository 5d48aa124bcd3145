"""Bound the time and memory of parsing HTML, which the standard makes quadratic for hostile pages."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from advchunk.readers.budget import check

ELEMENTS: Mapping[str, Any] = json.loads(files(__package__).joinpath("elements.json").read_text("utf-8"))
"""Names of elements, by how the reader handles them."""

MAX_HTML_DEPTH = 512
"""Nested elements, as in Chrome. Tags of deeper ones are left out: for each, the parser looks at all open ones."""

# Left open, these are opened again in every block that follows: 2,000 <font> in 35 kB make 2,000,000 elements. Under an
# unknown name, they are not. The reader ignores formatting, so it loses nothing.
_FORMATTING = "a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
_PLAIN = re.compile(rf"(</?(?:{_FORMATTING}))(?=[\s/>])", re.IGNORECASE)
_RENAMED = re.compile(rf"(</?(?:{_FORMATTING}))-plain(?=[\s/>])", re.IGNORECASE)

_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
# Empty elements, and those that the next one ends.
_UNNESTED = frozenset(f"{_VOID}|body|dd|dt|head|html|li|option|p|tbody|td|tfoot|th|thead|tr".split("|"))
# End tags of other elements do not end these, and those of these do not end the last.
_BLOCKS, _WALLS, _SVG = (frozenset(ELEMENTS[name]) for name in ("ending", "walls", "svg"))
_TAG = re.compile(
    r"""<!--(?s:.*?)(?:-->|\Z) | <(?P<raw>script|style)\b(?s:.*?)(?:</(?P=raw)|\Z)
      | <(?P<end>/?)(?P<name>[a-z][\w:.-]*+)(?P<rest>(?:\s[^<>]*+)?/?)>""",
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
_LONG_TAG = re.compile(r"<[a-z][^<>]{1000,}", re.IGNORECASE)
# XHTML may close any element in its start tag. HTML treats it as open: <script src="x.js"/> would hide the rest.
_XHTML = re.compile(r"<\?xml\b|<html\b[^<>]*\sxmlns\s*=", re.IGNORECASE)
_SELF_CLOSING = re.compile(rf"(?ia)<(?!(?:{_VOID})\b)(?P<name>[a-z][\w:.-]*+)(?P<rest>(?:\s[^<>]*?)?)/>")
_START = 4096  # characters within which a page declares that it is XHTML


def make_safe(text: str) -> str:
    """Return a page that is parsed in linear time: formatting is renamed (`restore_tags`), tags too deep are left out.

    Self-closing tags of XHTML become pairs. An element with too many attributes raises `ConfigurationError`.
    """
    if _XHTML.search(text, 0, _START):
        text = _SELF_CLOSING.sub(r"<\g<name>\g<rest>></\g<name>>", text)
    for tag in _LONG_TAG.finditer(text):
        check("attributes", max(tag[0].count("="), len(tag[0].split())), "an element of HTML must have")
    if text.count("<") > MAX_HTML_DEPTH:
        text = _TAG.sub(_OpenElements().keep, text)
    return _PLAIN.sub(r"\1-plain", text.encode("utf-8", "replace").decode())  # lone surrogates become "?"


def restore_tags(text: str) -> str:
    """Restore the original tags in text of the page, where they may not be markup."""
    return _RENAMED.sub(r"\1", text) if "-plain" in text else text


class _OpenElements:
    """The open elements, at least those of the parser; it goes by fewer rules, and so may take closed ones for open."""

    def __init__(self) -> None:
        self._names = list[str]()
        self._positions = defaultdict[str, list[int]](lambda: [-1])  # of each name, of blocks and of walls

    def keep(self, tag: re.Match[str]) -> str:
        """Return a tag, or, for an element nested too deep, what separates its text as the element would."""
        name = (tag["name"] or "").lower()
        if not name or name in _UNNESTED or (name in _SVG and tag["rest"].endswith("/")):
            return tag[0]
        at = self._close(name) if tag["end"] else self._open(name)
        return tag[0] if at < MAX_HTML_DEPTH else "<p>" * (name in _BLOCKS)

    def _open(self, name: str) -> int:
        for key in self._keys(name):
            self._positions[key].append(len(self._names))
        self._names.append(name)
        return len(self._names) - 1

    def _close(self, name: str) -> int:
        """Close the last element of this name, with all in it, and return its depth; -1 if there is none to close."""
        at, barrier = self._positions[name][-1], self._positions["#wall" if name in _BLOCKS else "#block"][-1]
        if at < max(barrier, 0):
            return -1
        while len(self._names) > at:
            for key in self._keys(self._names.pop()):
                self._positions[key].pop()
        return at

    @staticmethod
    def _keys(name: str) -> Iterable[str]:
        return name, *(["#block"] if name in _BLOCKS else []), *(["#wall"] if name in _WALLS else [])
