"""Keep the HTML standard from taking quadratic time and memory, as it does for pages that few but attackers write."""

from __future__ import annotations

import re

from advchunk.errors import require

DEEPEST = 20_000
"""Elements within each other: the parser takes half a second for so many, and 1,000 times that for 30 times as many."""
MOST = 10_000
"""Attributes of an element."""

# Left open, these are opened again in every block that follows: 2,000 <font> in 35 kB make 2,000,000 elements. Under a name
# that is none they are not. Nothing hangs on them: what they say of looks is not read.
_FORMATTING = "a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
_PLAIN = re.compile(rf"(</?(?:{_FORMATTING}))(?=[\s/>])", re.IGNORECASE)
_RENAMED = re.compile(rf"(</?(?:{_FORMATTING}))-plain(?=[\s/>])", re.IGNORECASE)

_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_UNNESTED = frozenset(_VOID.split("|")) | frozenset(
    "body dd dt head html li optgroup option p rp rt tbody td tfoot th thead tr".split()  # noqa: SIM905
)  # empty, or ended by the next
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z][\w:.-]*+)(?P<rest>(?:\s[^<>]*+)?/?)>", re.IGNORECASE | re.ASCII)
_LONG_TAG = re.compile(rf"<[a-z][^<>]{{{2 * MOST},}}", re.IGNORECASE)
# XHTML may close any element at once, which HTML takes for open: <script src="x.js"/> would hide the rest of the page.
_XHTML = re.compile(r"<\?xml\b|<html\b[^<>]*\sxmlns\s*=", re.IGNORECASE)
_AT_ONCE = re.compile(
    rf"<(?!(?:{_VOID})\b)(?P<name>[a-z][\w:.-]*+)(?P<rest>(?:\s[^<>]*?)?)/>", re.IGNORECASE | re.ASCII
)
_EARLY = 4096  # characters in which a page says that it is XHTML
_CLOSED = frozenset("circle ellipse g image line path polygon polyline rect stop text tspan use".split())  # noqa: SIM905


def harmless(text: str) -> str:
    """Return a page as it can be parsed in time: formatting has other names, which `as_written` takes back.

    What XHTML closes at once is closed as HTML has it.

    Raises
    ------
    ConfigurationError : a page that is too deep, or an element with too many attributes.
    """
    if _XHTML.search(text, 0, _EARLY):
        text = _AT_ONCE.sub(r"<\g<name>\g<rest>></\g<name>>", text)
    for tag in _LONG_TAG.finditer(text):
        count = max(tag[0].count("="), len(tag[0].split()))
        require(count <= MOST, f"an element of HTML must have at most {MOST:,} attributes", count)
    if text.count("<") > DEEPEST:
        require((depth := _depth(text)) <= DEEPEST, f"HTML must be nested at most {DEEPEST:,} deep", depth)
    return _PLAIN.sub(r"\1-plain", text.encode("utf-8", "replace").decode())  # half a character is none


def as_written(text: str) -> str:
    """Return a text of the page with the names that it had: some is not markup.

    >>> as_written(harmless("The <b> tag"))
    'The <b> tag'
    """
    return _RENAMED.sub(r"\1", text) if "-plain" in text else text


def _depth(text: str) -> int:
    """Return about how deep elements are nested."""
    depth = deepest = 0
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if name in _UNNESTED or (name in _CLOSED and tag["rest"].endswith("/")):
            continue
        depth = max(depth - 1, 0) if tag["end"] else depth + 1
        deepest = max(deepest, depth)
    return deepest
