"""Bound the time and memory of parsing HTML, which the standard makes quadratic for hostile pages."""

import re

from advchunk.errors import require

MAX_HTML_DEPTH = 20_000
"""Nested elements: the parser takes half a second for this many, and 1,000 times that for 30 times as many."""
MAX_ATTRIBUTES = 10_000
"""Attributes of an element."""

# Left open, these are opened again in every block that follows: 2,000 <font> in 35 kB make 2,000,000 elements. Under an
# unknown name, they are not. The reader ignores formatting, so it loses nothing.
_FORMATTING = "a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
_PLAIN = re.compile(rf"(</?(?:{_FORMATTING}))(?=[\s/>])", re.IGNORECASE)
_RENAMED = re.compile(rf"(</?(?:{_FORMATTING}))-plain(?=[\s/>])", re.IGNORECASE)

_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
# Empty elements, and those that the next one ends.
_UNNESTED = frozenset(f"{_VOID}|body|dd|dt|head|html|li|optgroup|option|p|rp|rt|tbody|td|tfoot|th|thead|tr".split("|"))
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z][\w:.-]*+)(?P<rest>(?:\s[^<>]*+)?/?)>", re.IGNORECASE | re.ASCII)
_LONG_TAG = re.compile(rf"<[a-z][^<>]{{{2 * MAX_ATTRIBUTES},}}", re.IGNORECASE)
# XHTML may close any element in its start tag. HTML treats it as open: <script src="x.js"/> would hide the rest.
_XHTML = re.compile(r"<\?xml\b|<html\b[^<>]*\sxmlns\s*=", re.IGNORECASE)
_SELF_CLOSING = re.compile(rf"(?ia)<(?!(?:{_VOID})\b)(?P<name>[a-z][\w:.-]*+)(?P<rest>(?:\s[^<>]*?)?)/>")
_START = 4096  # characters within which a page declares that it is XHTML
_SVG = frozenset("circle ellipse g image line path polygon polyline rect stop text tspan use".split())  # noqa: SIM905


def make_safe(text: str) -> str:
    """Return a page that can be parsed in linear time, with formatting tags renamed (`restore_tags` undoes it).

    Self-closing tags of XHTML become pairs of tags. Elements nested too deep, or one with too many attributes, raise
    `ConfigurationError`.
    """
    if _XHTML.search(text, 0, _START):
        text = _SELF_CLOSING.sub(r"<\g<name>\g<rest>></\g<name>>", text)
    for tag in _LONG_TAG.finditer(text):
        count = max(tag[0].count("="), len(tag[0].split()))
        require(count <= MAX_ATTRIBUTES, f"an element of HTML must have at most {MAX_ATTRIBUTES:,} attributes", count)
    if text.count("<") > MAX_HTML_DEPTH:
        depth = _max_depth(text)
        require(depth <= MAX_HTML_DEPTH, f"HTML must be nested at most {MAX_HTML_DEPTH:,} levels deep", depth)
    return _PLAIN.sub(r"\1-plain", text.encode("utf-8", "replace").decode())  # lone surrogates become "?"


def restore_tags(text: str) -> str:
    """Restore the original tags in text of the page, where they may not be markup.

    >>> restore_tags(make_safe("The <b> tag"))
    'The <b> tag'
    """
    return _RENAMED.sub(r"\1", text) if "-plain" in text else text


def _max_depth(text: str) -> int:
    depth = deepest = 0
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if name in _UNNESTED or (name in _SVG and tag["rest"].endswith("/")):
            continue
        depth = max(depth - 1, 0) if tag["end"] else depth + 1
        deepest = max(deepest, depth)
    return deepest
